"""How long a run may take."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from time import monotonic

from .errors import InputError, ProviderError


class OutOfTimeError(ProviderError):
    """The time for the run is up, in the middle of something that can't be cut short."""

    status = "timeout"


@dataclass(frozen=True, slots=True)
class Deadline:
    """So many ``seconds`` from now on; ``None`` for no end."""

    seconds: float | None = None
    began: float = field(default_factory=lambda: monotonic())  # noqa: PLW0108 - looked up late

    @property
    def passed(self) -> bool:
        """Whether the time is up."""
        return self.seconds is not None and monotonic() - self.began > self.seconds

    def cap(self, timeout_s: float) -> float:
        """The shorter of ``timeout_s`` and the time that is left, in seconds."""
        if self.seconds is None:
            return timeout_s
        return min(timeout_s, max(self.began + self.seconds - monotonic(), 0.0))

    def __str__(self) -> str:
        """What is said once the time is up."""
        return f"the run took longer than {self.seconds:g} s"

    def check(self, doing: str = "") -> None:
        """Raise OutOfTimeError if the time is up; ``doing`` says in the middle of what."""
        if self.passed:
            raise OutOfTimeError(f"{self}, {doing}" if doing else str(self))


NO_DEADLINE = Deadline()


def seconds(name: str, value: float) -> float:
    """``value`` if it is a number of seconds.

    Raises:
        InputError: If it is NaN or less than 0; names it.
    """
    if math.isnan(value) or value < 0:
        raise InputError(f"{name} must be a number of seconds, 0 or more, not {value:g}")
    return value
