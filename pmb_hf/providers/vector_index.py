"""Vectors in one growing matrix, and who may see which row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from .engine import Request
from .store import Memory, is_active, scopes_of

if TYPE_CHECKING:
    from .embedding.source import Vectors

_DECIMALS = 6
_CHUNK = 1024
# How far a product of 32-bit numbers may be off; what is nearer than this to
# the cut is computed again with 64 bits.
_SLACK = 1e-5
# Above this share of rows, one product over all is quicker than gathering some.
_MANY = 0.2


class _Group(NamedTuple):
    """Rows that every filter treats alike."""

    code: int
    scopes: frozenset[str]
    active: bool


class VectorIndex:
    """Rows of length 1, by the key of their memory. Not for several threads at once."""

    def __init__(self) -> None:
        """Start empty."""
        self.clear()

    def clear(self) -> None:
        """Forget all rows."""
        self._rows: dict[int, int] = {}  # key -> row
        self._matrix: Any = None
        self._keys: Any = None
        self._codes: Any = None
        self._users: dict[str, dict[tuple[frozenset[str], bool], _Group]] = {}
        self._groups = 0

    def put(self, memories: Sequence[Memory], vectors: Vectors) -> None:
        """Add rows; a key that is there already is replaced."""
        self.remove({memory.key for memory in memories})
        start, stop = len(self._rows), len(self._rows) + len(memories)
        self._grow(stop, vectors.shape[1])
        self._matrix[start:stop] = vectors
        self._keys[start:stop] = [memory.key for memory in memories]
        self._codes[start:stop] = [self._code(memory) for memory in memories]
        self._rows.update((memory.key, start + place) for place, memory in enumerate(memories))

    def remove(self, keys: Iterable[int]) -> None:
        """Take rows out; the last row takes the place of each. Unknown keys do no harm."""
        for key in keys:
            row = self._rows.pop(key, None)
            if row is None:
                continue
            last = len(self._rows)
            if row != last:
                self._matrix[row] = self._matrix[last]
                self._codes[row] = self._codes[last]
                moved = int(self._keys[last])
                self._keys[row] = moved
                self._rows[moved] = row

    def nearest(self, vector: Any, request: Request) -> list[tuple[int, float]]:
        """(key, cosine) of the nearest rows that the request may see, equal ones by key."""
        import numpy as np

        rows = self._visible(request)
        count = len(rows)
        if not count:
            return []
        size = len(self._rows)
        if count > _MANY * size:
            rough = (self._matrix[:size] @ vector)[rows]
        else:
            rough = self._matrix[rows] @ vector
        if count > request.limit:
            cut = np.partition(rough, count - request.limit)[count - request.limit]
            rows = rows[rough >= cut - _SLACK]
        # Row by row with 64 bits: the same whatever else is stored, and where.
        exact = (self._matrix[rows].astype(np.float64) * vector.astype(np.float64)).sum(axis=1)
        scores = np.round(exact, _DECIMALS) + 0.0
        keys = self._keys[rows]
        order = np.lexsort((keys, -scores))[: request.limit]
        return [(int(keys[place]), float(scores[place])) for place in order]

    def _visible(self, request: Request) -> Any:
        import numpy as np

        groups = self._users.get(request.user_id, {}).values()
        asked = None if request.scopes is None else frozenset(request.scopes)
        codes = [
            group.code
            for group in groups
            if (asked is None or asked & group.scopes) and (group.active or not request.active_only)
        ]
        if not codes:
            return np.empty(0, dtype=np.int64)
        allowed = np.zeros(self._groups, dtype=bool)
        allowed[codes] = True
        return np.flatnonzero(allowed[self._codes[: len(self._rows)]])

    def _code(self, memory: Memory) -> int:
        kind = (frozenset(scopes_of(memory.metadata)), is_active(memory.metadata))
        groups = self._users.setdefault(memory.user_id, {})
        if kind not in groups:
            groups[kind] = _Group(self._groups, *kind)
            self._groups += 1
        return groups[kind].code

    def _grow(self, rows: int, dimensions: int) -> None:
        import numpy as np

        have = 0 if self._matrix is None else len(self._matrix)
        if rows <= have:
            return
        # By half again, so that n writes copy each row a few times at most.
        room = max(rows, have + have // 2, _CHUNK)
        room += -room % _CHUNK
        used = len(self._rows)
        matrix = np.zeros((room, dimensions), dtype=np.float32)
        keys, codes = np.zeros(room, dtype=np.int64), np.zeros(room, dtype=np.int64)
        if have:
            matrix[:used] = self._matrix[:used]
            keys[:used], codes[:used] = self._keys[:used], self._codes[:used]
        self._matrix, self._keys, self._codes = matrix, keys, codes
