"""Ends a program that is told to end as Ctrl-C does: with all that is to be put in order."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

INTERRUPTED = 130


class Ended(KeyboardInterrupt):
    """SIGTERM or SIGHUP came; whoever handles Ctrl-C handles this."""

    def __init__(self, number: int) -> None:
        """Take the number of the signal."""
        super().__init__(number)
        self.exit_code = 128 + number


@contextmanager
def ending_in_order(error: Callable[[int], BaseException] = Ended) -> Iterator[None]:
    """Raise an error where SIGTERM or SIGHUP comes, unless somebody handles them already.

    Args:
        error: Makes it of the signal's number.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread can handle signals
        return
    names = (name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
    numbers = [signal.Signals[name] for name in names]
    taken = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]

    def end(number: int, _frame: object) -> None:
        for each in taken:  # a second one shall not interrupt the cleaning up
            signal.signal(each, signal.SIG_IGN)
        raise error(number)

    for number in taken:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


def exit_code_of(error: BaseException | None) -> int:
    """What a program ends with that this interrupted: 130 for Ctrl-C, else 128 and the signal."""
    return error.exit_code if isinstance(error, Ended) else INTERRUPTED
