"""Other values in the same words: what makes a near-duplicate or an old version of a belief."""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import blake2b
from typing import TypeVar

T = TypeVar("T")

_CLASSES: tuple[tuple[str, ...], ...] = tuple(
    tuple(words.split())
    for words in (
        "two three four five six seven eight nine ten eleven twelve fifteen twenty thirty forty",
        "first second third fourth fifth sixth",
        "January February March April May June July August September October November December",
        "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
        "red green blue yellow white black grey brown purple orange",
        "left right",
        "north south east west",
        "morning noon evening midnight",
        "spring summer autumn winter midwinter",
        "daily weekly monthly yearly",
        "always never",
        "all none",
    )
)
_CLASS_OF = {word: words for words in _CLASSES for word in words}
_VALUE = re.compile(r"\d+|\b(?:" + "|".join(map(re.escape, _CLASS_OF)) + r")\b")


class Draw:
    """Choices that follow from a seed and a number alone; the same on every machine."""

    def __init__(self, *key: object) -> None:
        """Start the choices of ``key``."""
        text = "\0".join(map(str, key)).encode()
        self._left = int.from_bytes(blake2b(text, digest_size=64).digest(), "big")

    def below(self, limit: int) -> int:
        """A whole number from 0 to below ``limit``."""
        self._left, number = divmod(self._left, limit)
        return number

    def of(self, items: Sequence[T]) -> T:
        """One of ``items``."""
        return items[self.below(len(items))]

    def other(self, items: Sequence[T], item: T) -> T:
        """One of ``items`` that is not ``item``."""
        number = self.below(len(items) - 1)
        return items[number] if items[number] != item else items[-1]


def altered(text: str, draw: Draw) -> str | None:
    """``text`` with other numbers, days, colours and the like; ``None`` if it has none."""

    def change(match: re.Match[str]) -> str:
        old = match[0]
        if old in _CLASS_OF:
            return draw.other(_CLASS_OF[old], old)
        number = int(old[:9])
        return str(number + 1 + draw.below(max(number, 9)))

    new, changed = _VALUE.subn(change, text)
    return new if changed else None
