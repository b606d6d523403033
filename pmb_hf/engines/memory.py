"""How much memory this process holds, before a store is filled and after."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

_STATM = Path("/proc/self/statm")


@dataclass(frozen=True, slots=True)
class Memory:
    """Resident memory of a process, in bytes.

    Attributes:
        before: Before the provider was made.
        seeded: When the store was full, before the second query.
        end: After the last query.
    """

    before: int
    seeded: int | None
    end: int

    @property
    def provider(self) -> int | None:
        """What filling the store added; a store in another process is not in it."""
        return None if self.seeded is None else max(self.seeded - self.before, 0)

    def to_wire(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {**asdict(self), "provider": self.provider}


class Meter:
    """Reads the memory of this process at the moments that count."""

    def __init__(self) -> None:
        """Read it before anything is done."""
        self._before = resident_bytes()
        self._seeded: int | None = None

    def seeded(self) -> None:
        """Read it once the store is full; later calls do nothing."""
        if self._seeded is None:
            self._seeded = resident_bytes()

    def read(self) -> Memory | None:
        """What was read, and what it is now; ``None`` where this can't be told."""
        now = resident_bytes()
        if self._before is None or now is None:
            return None
        return Memory(self._before, self._seeded, now)


def resident_bytes() -> int | None:
    """The resident memory of this process; ``None`` if the system does not say."""
    try:
        pages = int(_STATM.read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")
