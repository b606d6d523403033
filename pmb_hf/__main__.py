"""``pmb``, and ``python -m pmb_hf``."""

from __future__ import annotations

import sys


def main() -> int:
    """Run ``pmb`` on the process's arguments and return the exit code."""
    try:
        # Only here: Ctrl-C while this is read shall end in a word, not in a traceback.
        from .cli import main as command

        return command()
    except KeyboardInterrupt:
        sys.stderr.write("error: interrupted\n")
        return 130


if __name__ == "__main__":
    sys.exit(main())
