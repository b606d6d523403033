"""Turns whatever a command raises into one line and an exit code."""

from __future__ import annotations

import io
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any, TextIO, cast

import typer
from typer.core import TyperGroup

from ..ending import INTERRUPTED, ending_in_order, exit_code_of
from ..errors import PmbError
from ..tokens import Covered
from .output import UNREAD, error_line, hint_line

DEBUG_ENV = "PMB_DEBUG"
USAGE, BUG = 2, 70
EXIT_CODES = {
    0: "done",
    1: "a limit or check was not met: --fail-under, --max-regression, `data lint`, `doctor`",
    2: "wrong use or input, or a file that can't be read or written",
    3: "the provider failed, or the run stopped early",
    BUG: f"a bug in pmb-hf; `{DEBUG_ENV}=1` shows where",
    129: "ended by SIGHUP, which is as good as an interrupt",
    INTERRUPTED: "interrupted; a run's journal is kept",
    UNREAD: "whoever read the output stopped reading",
    143: "ended by SIGTERM, which is as good as an interrupt",
}
"""What the exit codes mean."""

# Typer brings its own copy of click or needs the package, depending on its version.
_CLICK_ERROR = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")


class GuardedGroup(TyperGroup):
    """The root command: the same exit codes however it is called."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command; return its exit code, or exit with it in ``standalone_mode``."""
        parent = super().main

        def command() -> Any:
            return parent(
                args=args,
                prog_name=prog_name or "pmb",
                complete_var=complete_var,
                standalone_mode=False,
                windows_expand_args=windows_expand_args,
                **extra,
            )

        code = guarded(command)
        if standalone_mode:
            sys.exit(code)
        return code

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            # Typer would make an exit code of it, in silence.
            raise typer.Abort from error


def guarded(command: Callable[[], Any]) -> int:
    """Call ``command`` and return the exit code that its end stands for."""
    _be_tolerant()
    stderr = sys.stderr
    # Libraries write there, too: what a server warns of, and tracebacks.
    sys.stderr = cast("TextIO", Covered(stderr))
    try:
        with ending_in_order():
            result = command()
    except (KeyboardInterrupt, typer.Abort) as error:
        error_line("interrupted")
        return exit_code_of(error.__cause__ or error)
    except Exception as error:  # noqa: BLE001 - the outermost frame: all becomes an exit code
        return _failed(error)
    finally:
        sys.stderr = stderr
    return result if isinstance(result, int) else 0


def _failed(error: Exception) -> int:
    if isinstance(error, PmbError):
        error_line(str(error))
        return error.exit_code
    if isinstance(error, _CLICK_ERROR):
        return _misused(error)
    if isinstance(error, OSError):
        where = f": {error.filename}" if error.filename else ""
        error_line(f"{error.strerror or error}{where}")
        return USAGE
    if os.environ.get(DEBUG_ENV) == "1":
        traceback.print_exception(error, file=sys.stderr)
    said = ": ".join(filter(None, (type(error).__name__, " ".join(str(error).split()))))
    error_line(
        f"{said}; this is a bug in pmb-hf: run again with {DEBUG_ENV}=1 and report what it prints"
    )
    return BUG


def _misused(error: Any) -> int:
    error_line(error.format_message())
    context = getattr(error, "ctx", None)
    if context is not None:
        hint_line(f"See `{context.command_path} --help`.")
    return int(error.exit_code)


def _be_tolerant() -> None:
    """Let no character that a terminal's encoding lacks end a command, and no output get lost."""
    raw = getattr(sys.stdout, "buffer", None)
    if isinstance(raw, io.RawIOBase):
        # PYTHONUNBUFFERED is set. What a full disk does not take would then be dropped in silence.
        whole = io.BufferedWriter(raw)
        sys.stdout = io.TextIOWrapper(whole, encoding=sys.stdout.encoding, line_buffering=True)
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
