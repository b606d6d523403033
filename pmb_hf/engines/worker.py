"""The process of one job: reads it from standard input, writes its outcome to a file."""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path

from ..files import write_atomically
from .jobs import perform_there


def main(arguments: list[str]) -> int:
    """Do one job; ``arguments`` hold the file for its outcome."""
    job = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    write_atomically(Path(arguments[0]), json.dumps(perform_there(job), allow_nan=False))
    return 0


def _end_with_parent() -> None:
    """Nobody waits for the outcome once standard input is closed."""
    sys.stdin.buffer.read()
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
