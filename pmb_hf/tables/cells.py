"""How numbers look in a table: two to four digits, and a dash where there is none."""

from __future__ import annotations

from collections.abc import Callable

from ..summary import round_half_up

Number = float | int | None

NONE = "–"
"""Shown where a value does not apply."""


def rate(value: Number) -> str:
    """A share of 1 with four decimals: those that are stored, so that none is rounded twice.

    >>> rate(0.67649), rate(1), rate(None)
    ('0.6765', '1.0000', '–')
    """
    return NONE if value is None else f"{round_half_up(value):.4f}"


def rank(value: Number) -> str:
    """A mean rank with two decimals."""
    return NONE if value is None else f"{round_half_up(value, 2):.2f}"


def count(value: Number) -> str:
    """A whole number, with commas from 1,000 on."""
    return NONE if value is None else f"{value:,.0f}"


def milliseconds(value: Number) -> str:
    """A time in ms with three digits, but no finer than 0.01 ms.

    >>> [milliseconds(v) for v in (0.0625, 3.14159, 42.42, 1234.5)]
    ['0.06', '3.14', '42.4', '1,235']
    """
    if value is None:
        return NONE
    digits = 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{round_half_up(value, digits):,.{digits}f}"


FORMATS: dict[str, Callable[[Number], str]] = {
    "rate": rate,
    "rank": rank,
    "count": count,
    "ms": milliseconds,
    "ratio": rank,
}
"""The format of each unit of ``measures.MEASURES``."""
