"""How long to ask a service again that has not yet shown what it shall show."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from ..errors import NotReadyError
from .http_errors import HttpFailure, HttpStatusError

GRACE_S = 5.0
"""How long what speaks against waiting is doubted, in seconds: it may be passing, too."""

_PAUSE_S, _PAUSE_TOP_S = 0.02, 0.5
_FIRST_SHARE, _GROWTH, _LEAST_S = 1 / 12, 3, 0.5
_MOST_LATE = 20  # by then the share is all that is left


@dataclass(slots=True)
class Patience:
    """Time to ask again and again in; it runs from now on.

    Attributes:
        seconds: How long, in all.
        answer_s: How long an answer may take at least, in seconds.
    """

    seconds: float
    answer_s: float = 0.0
    _until: float = field(init=False)
    _asked: float = field(init=False)
    _share: float = field(init=False, default=math.inf)
    _pause: float = field(init=False, default=_PAUSE_S)
    _late: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        """Begin."""
        self._asked = time.monotonic()
        self._until = self._asked + self.seconds

    def share(self, most: float) -> float:
        """How long the next answer may take, in seconds, but at most ``most``.

        First a small part of the time, so that one search that hangs leaves some for
        others; after each that was late more, so that a slow service is heard, too.
        """
        self._asked = time.monotonic()
        first = max(self.seconds * _FIRST_SHARE, self.answer_s, _LEAST_S)
        left = max(first, self._until - self._asked)
        self._share = min(most, first * _GROWTH**self._late, left) if self.seconds > 0 else most
        return self._share

    def pause(self) -> bool:
        """Wait a moment before asking again; False, at once, if the time is up."""
        now = time.monotonic()
        if now - self._asked >= self._share:
            self._late = min(self._late + 1, _MOST_LATE)
        if now + self._pause > self._until:
            return False
        time.sleep(self._pause)
        self._pause = min(2 * self._pause, _PAUSE_TOP_S)
        return True


def wait_until(
    look: Callable[[], str | None], patience: Patience, said: Callable[[float], str]
) -> None:
    """Look again and again until what is waited for is there.

    Args:
        look: Returns None once it is there, else what to add to the error, perhaps nothing.
            Where it raises HttpFailure, it is not there yet; a refusal is doubted for 5 s.
        patience: How long to look.
        said: What the error says, given the seconds that were waited.

    Raises:
        NotReadyError: It was not there in time; says how the last look failed, if it did.
    """
    grace: Patience | None = None
    while True:
        refused = False
        try:
            last = look()
        except HttpFailure as failure:
            last = f" The last attempt failed: {failure}"
            refused = _is_refusal(failure)
        if last is None:
            return
        grace = (grace or Patience(min(patience.seconds, GRACE_S))) if refused else None
        waits = grace or patience
        if not waits.pause():
            raise NotReadyError(said(waits.seconds) + last)


def _is_refusal(failure: HttpFailure) -> bool:
    """Whether an answer says that asking again is of no use.

    404 does not: some services know a user only once its first memory is indexed.
    """
    return isinstance(failure, HttpStatusError) and not failure.passing and failure.code != 404
