"""A server that another process of this package starts in an environment of its own.

Standard input holds one line of JSON: ``{"provider", "options", "token"}``.
Standard output gets one line: where the server listens and what it serves, or
why it does not. All else that is printed goes to standard error.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from ..errors import PmbError
from ..faults import describe
from .run import serve


def main() -> int:
    """Serve until SIGTERM; the exit code is 0 then."""
    said = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever a vendor's package prints must not be taken for the line
    hello = json.loads(sys.stdin.readline())
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)

    def announce(line: str) -> None:
        said.write(line + "\n")
        said.close()

    def failed(error: Exception, code: int) -> int:
        if not said.closed:
            told = {"event": "failed", "kind": type(error).__name__, "error": describe(error)}
            if isinstance(error, PmbError):
                told["error"] = str(error)
            announce(json.dumps(told))
        sys.stderr.write(f"{describe(error)}\n")
        return code

    options: dict[str, Any] = hello["options"]
    try:
        serve(
            hello["provider"],
            options,
            port=0,
            announce=announce,
            token=hello["token"],
            details=True,
        )
    except PmbError as error:
        return failed(error, error.exit_code)
    except Exception as error:  # noqa: BLE001 - whoever started this must hear of it
        return failed(error, 1)
    return 0
