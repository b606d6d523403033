"""WordLlama: the mean of static vectors of tokens, from files inside its package."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from ...errors import MissingDependencyError, ProviderError
from .source import batches

_BATCH, _CHARACTERS = 256, 100_000


class WordLlamaSource:
    """Offline, about 0.1 ms a text; no network is used, not even once."""

    costly = False

    def __init__(self) -> None:
        """Load the vectors (about half a second).

        Raises:
            MissingDependencyError: The package is missing.
            ProviderError: It is there, but can't be loaded.
        """
        self.name = "wordllama"
        self._model, version = _load()
        self.identity = f"wordllama {version}"

    def vectors(self, texts: Sequence[str]) -> Any:
        """Means over tokens; a text without a known token is all zeros."""
        import numpy as np

        out: Any = None
        for batch in batches(texts, most=_BATCH, characters=_CHARACTERS):
            rows = self._model.embed([texts[place] for place in batch], batch_size=len(batch))
            if out is None:
                out = np.empty((len(texts), rows.shape[1]), dtype=np.float32)
            out[batch] = rows
        return out

    def close(self) -> None:
        """Nothing is held but memory."""


@cache
def _load() -> tuple[Any, str]:
    """The model and its version; the model only reads, so one does for the whole process."""
    try:
        with _quiet():
            import wordllama
    except ImportError as error:
        raise MissingDependencyError(
            f"embedder 'wordllama' can't be imported ({error}): pip install 'pmb-hf[vector]'"
        ) from error
    version = metadata.version("wordllama")
    try:
        # Without cache_dir it looks for its tokenizer where the wheel has none.
        home = Path(wordllama.__file__).parent
        return wordllama.WordLlama.load(cache_dir=home, disable_download=True), version
    except (OSError, ValueError) as error:
        raise ProviderError(f"wordllama {version} can't load its vectors: {error}.") from error


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the import from setting up the root logger, which it does unless that is done."""
    root, handler = logging.getLogger(), logging.NullHandler()
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)
