"""Which cases of which run have been seen: none twice, none missing, in little memory.

A run takes a bit a case while it is incomplete, and eight bytes once it is whole, so that
the rows of very many runs can come in any order and on several processes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

Key: TypeAlias = tuple[str, int | None]
Run: TypeAlias = str | None


class Repeated(NamedTuple):
    """Cases that two have seen.

    Attributes:
        run: The run; None where only its hash is known.
        runs: The hashes of the runs that may be meant.
        keys: Cases.
    """

    run: Run
    runs: frozenset[int]
    keys: list[Key]


class Places:
    """The cases in order, with a bit each.

    A run is whole when it has every case of the parts that are asked for.
    """

    def __init__(self, keys: Iterable[Key]) -> None:
        """Number the cases."""
        self.keys = tuple(keys)
        self.bits: Mapping[Key, int] = {key: 1 << place for place, key in enumerate(self.keys)}
        self.all = (1 << len(self.keys)) - 1
        self._turns = self.mask(key for key in self.keys if key[1] is not None)

    def mask(self, keys: Iterable[Key]) -> int:
        """The bits of some cases."""
        return sum(self.bits[key] for key in keys)

    def of(self, mask: int) -> list[Key]:
        """The cases of a mask, in order."""
        return [key for key, bit in self.bits.items() if mask & bit]

    def lacking(self, mask: int) -> list[Key]:
        """What a run with these cases lacks, in the parts (cases, turns) that it covers."""
        covered = 0
        for part in (self._turns, self.all & ~self._turns):
            covered |= part if mask & part else 0
        return self.of(covered & ~mask)


class Seen:
    """The cases that were seen, by run."""

    def __init__(self, places: Places) -> None:
        """Start with none."""
        self._places = places
        self._open: dict[Run, int] = {}
        self._whole: set[int] = set()

    @property
    def runs(self) -> int:
        """How many runs there are."""
        return len(self._open) + len(self._whole)

    def add(self, run: Run, mask: int) -> int:
        """Note cases of a run; returns those that were there before, as a mask."""
        if self._whole and digest(run) in self._whole:
            return mask
        before = self._open.get(run, 0)
        if before | mask == self._places.all:
            self._open.pop(run, None)
            self._whole.add(digest(run))
        else:
            self._open[run] = before | mask
        return before & mask

    def merge(self, other: Seen) -> Repeated | None:
        """Take in what another saw; returns what both have, or None."""
        both = self._whole & other._whole
        if both:
            return Repeated(None, frozenset(both), list(self._places.keys))
        for run, mask in self._open.items():
            if other._whole and digest(run) in other._whole:
                return Repeated(run, frozenset([digest(run)]), self._places.of(mask))
        self._whole |= other._whole
        for run, mask in other._open.items():
            repeated = self.add(run, mask)
            if repeated:
                return Repeated(run, frozenset([digest(run)]), self._places.of(repeated))
        return None

    def lacking(self) -> Iterator[tuple[Run, list[Key]]]:
        """Each run that lacks cases, and which."""
        for run, mask in self._open.items():
            missing = self._places.lacking(mask)
            if missing:
                yield run, missing


def digest(run: Run) -> int:
    """The hash of a run, of 64 bits."""
    text = b"\0" if run is None else run.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big")
