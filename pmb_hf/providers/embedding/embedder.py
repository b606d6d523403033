"""Texts in, vectors of length 1 out: what is the same whatever computes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...errors import ProviderError
from ..store import engine_text
from .source import Source

if TYPE_CHECKING:
    from .cache import VectorCache
    from .source import Vectors

_PROBE = "dimensions"


class Embedder:
    """Turns texts into vectors of length 1.

    Attributes:
        name: The name that it was made by, such as ``wordllama``.
        computed: How many vectors were computed (not read from disk).
    """

    def __init__(self, source: Source, cache: VectorCache | None = None) -> None:
        """Compute by ``source``, and keep what it computes in ``cache``, if any."""
        self.name = source.name
        self.identity = source.identity
        self.computed = 0
        self._source = source
        self._cache = cache
        self._dimensions: int | None = None if cache is None else cache.dimensions

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has; a service is asked once to find out.

        Raises:
            ProviderError: It couldn't be found out.
        """
        if self._dimensions is None:
            self.embed([_PROBE])
        if self._dimensions is None:
            raise ProviderError(f"embedder {self.name!r} doesn't tell its dimensions.")
        return self._dimensions

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one vector a text: float32, shape (n, dimensions), length 1.

        A text of blanks has the zero vector. A text that occurs twice is
        computed once.

        Raises:
            ProviderError: The vectors couldn't be computed, or are none.
        """
        import numpy as np

        clean = [engine_text(text).strip() for text in texts]
        known: dict[str, Any] = {}
        wanted = [text for text in dict.fromkeys(clean) if text]
        if self._cache is not None and wanted:
            known = self._cache.read(wanted, self._dimensions)
        missing = [text for text in wanted if text not in known]
        if missing:
            fresh = self._computed(missing)
            if self._cache is not None:
                self._cache.write(missing, fresh)
            known.update(zip(missing, fresh, strict=True))
        out = np.zeros((len(clean), self.dimensions), dtype=np.float32)
        for place, text in enumerate(clean):
            if text:
                out[place] = known[text]
        return out

    def close(self) -> None:
        """Let go of connections and files; it may be used again."""
        self._source.close()
        if self._cache is not None:
            self._cache.close()

    def _computed(self, texts: list[str]) -> Vectors:
        import numpy as np

        rows = self._source.vectors(texts)
        try:
            vectors = np.asarray(rows, dtype=np.float32)
        except (TypeError, ValueError, OverflowError) as error:
            raise ProviderError(
                f"embedder {self.name!r} answered what is no table of numbers: vectors of one "
                f"call must have one length ({error})."
            ) from error
        self._check(vectors, len(texts))
        self.computed += len(texts)
        # Doubles, because squares of large numbers overflow the smaller format.
        wide = vectors.astype(np.float64)
        lengths = np.linalg.norm(wide, axis=1, keepdims=True)
        unit: Vectors = np.divide(wide, lengths, out=np.zeros_like(wide), where=lengths > 0)
        return unit.astype(np.float32)

    def _check(self, vectors: Vectors, count: int) -> None:
        import numpy as np

        where = f"embedder {self.name!r}"
        if vectors.ndim != 2 or len(vectors) != count or vectors.shape[1] == 0:
            shape = " x ".join(map(str, vectors.shape))
            raise ProviderError(f"{where} answered {shape} numbers for {count} texts.")
        if not np.isfinite(vectors).all():
            bad = int(np.flatnonzero(~np.isfinite(vectors).all(axis=1))[0])
            raise ProviderError(f"{where}: vector {bad + 1} of {count} holds NaN or infinity.")
        if self._dimensions is None:
            self._dimensions = vectors.shape[1]
        elif vectors.shape[1] != self._dimensions:
            raise ProviderError(
                f"{where} answered vectors of {vectors.shape[1]} numbers, but of "
                f"{self._dimensions} before: the model behind the name has changed. Empty the "
                "cache of vectors (or set $PMB_VECTOR_CACHE=off) and start a new store."
            )
