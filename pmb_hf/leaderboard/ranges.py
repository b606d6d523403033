"""What a figure can be: reports and boards of others may state anything. Pure."""

from __future__ import annotations

import math
from typing import Any

from ..measures import COUNT_OF, MEASURES

MOST = 10**12
"""More than any count, time in ms or ratio can be."""
_COUNTED = {"count"}
_NS = {name for name in COUNT_OF.values() if name is not None}


def fault(name: str, value: Any) -> str | None:
    """What is wrong with the value of a measure, or of its n; ``None`` if nothing is.

    A name that is no measure's is any finite number. ``None`` is always right: it does not apply.

    >>> fault("mean_precision", 1.5), fault("n_precision", 3)
    ('must be a number from 0 to 1, not 1.5', None)
    """
    measure = MEASURES.get(name)
    if name in _NS or (measure is not None and measure.unit in _COUNTED):
        return count_fault(value)
    if measure is None:
        return between(value, -MOST, MOST)
    return between(value, measure.low, MOST if measure.high is None else measure.high)


def count_fault(value: Any) -> str | None:
    """What is wrong with a count or ``None``."""
    if value is None or (_is_number(value) and 0 <= value <= MOST and value == int(value)):
        return None
    return f"must be a whole number of 0 or more, not {shown(value)}"


def between(value: Any, low: float, high: float) -> str | None:
    """What is wrong with a number of a range, or ``None``."""
    if value is None or (_is_number(value) and low <= value <= high):
        return None
    if high == MOST:
        told = "a number" if low == -MOST else f"a number of {low:g} or more"
        return f"must be {told}, not {shown(value)}"
    return f"must be a number from {low:g} to {high:g}, not {shown(value)}"


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return isinstance(value, int) or math.isfinite(value)


def shown(value: Any) -> str:
    """A value in a message: whole numbers of many digits, lists and objects are only named."""
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, int) and abs(value) > MOST:
        return "a number of many digits"
    text = repr(value)
    return text if len(text) <= 40 else text[:39] + "…"
