"""What a provider's failure is called and says, whatever kind of exception it is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .errors import ProviderError
from .records import OK

ERROR = "error"
TIMEOUT = "timeout"

MAX_STATUS = 40
"""The longest status, in characters."""

_ERROR_LENGTH = 300
_READ_LENGTH = 64 * 1024


def is_interrupt(error: BaseException) -> bool:
    """Whether it is no failure of a provider but means that everything shall end.

    ``sys.exit`` in a provider is a failure: nobody but the user ends a run.
    """
    return isinstance(error, KeyboardInterrupt | GeneratorExit)


@contextmanager
def named(what: str, *, ours: bool = True) -> Iterator[None]:
    """Make of whatever is raised inside a ProviderError that says ``what`` failed.

    With ``ours`` false, a ProviderError is left as it is.
    """
    try:
        yield
    except BaseException as error:
        if is_interrupt(error) or (isinstance(error, ProviderError) and not ours):
            raise
        raise ProviderError(f"{what} failed: {describe(error)}") from error


def status_of(error: BaseException) -> str:
    """The status that a failure gives: the one it names itself, else by its kind."""
    # Only our own errors name their status: a stranger's "ok" must not make an answer of it.
    if isinstance(error, ProviderError):
        status = exact(_own_status(error))
        if 0 < len(status) <= MAX_STATUS and status.isprintable() and status != OK:
            return status
    return TIMEOUT if isinstance(error, TimeoutError) else ERROR


def describe(error: BaseException) -> str:
    """The error in one line: its class, unless it is ours, and the first line it says."""
    lines = _said(error)[:_READ_LENGTH].splitlines()
    text = next((line.strip() for line in lines if line.strip()), "")
    if not isinstance(error, ProviderError):
        text = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return text[:_ERROR_LENGTH].encode("utf-8", "backslashreplace").decode()


def exact(text: str) -> str:
    """The characters of ``text`` alone: a subclass of ``str`` may have ways of its own."""
    return str.__str__(text)


def _own_status(error: ProviderError) -> str:
    try:
        status = getattr(error, "status", None)
    except BaseException as failure:
        if is_interrupt(failure):
            raise
        return ""
    return status if isinstance(status, str) else ""


def _said(error: BaseException) -> str:
    try:
        return exact(str(error))
    except BaseException as failure:
        if is_interrupt(failure):
            raise
        return f"(what it says can't be read: {type(failure).__name__})"
