"""Models of the sentence-transformers library."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from ...errors import MissingDependencyError, ProviderError


class SentenceTransformerSource:
    """A model by its name on the Hub (fetched by the library if need be) or its directory."""

    costly = True

    def __init__(self, model: str) -> None:
        """Load the model.

        Raises:
            MissingDependencyError: The library is missing.
            ProviderError: The model can't be loaded.
        """
        self.name = f"sentence-transformers:{model}"
        try:
            import sentence_transformers
        except ImportError as error:
            raise MissingDependencyError(
                f"embedder {self.name!r} can't be imported ({error}): "
                "pip install 'pmb-hf[sentence-transformers]'"
            ) from error
        version = metadata.version("sentence-transformers")
        try:
            self._model: Any = sentence_transformers.SentenceTransformer(model)
        except Exception as error:
            # The library raises whatever torch, the Hub or a file gives it.
            raise ProviderError(
                f"embedder {self.name!r} can't be loaded: {type(error).__name__}: {error}"
            ) from error
        where = _files(Path(model)) if Path(model).is_dir() else model
        self.identity = f"sentence-transformers {version} {where}"

    def vectors(self, texts: Sequence[str]) -> Any:
        """What the model's ``encode`` gives."""
        return self._model.encode(list(texts), convert_to_numpy=True, show_progress_bar=False)

    def close(self) -> None:
        """Nothing is held but memory."""


def _files(home: Path) -> str:
    """A directory by what its files are called, how large they are, and when they were written."""
    stats = ((path, path.stat()) for path in sorted(home.rglob("*")) if path.is_file())
    told = "\n".join(f"{path} {stat.st_size} {stat.st_mtime_ns}" for path, stat in stats)
    return f"{home} {hashlib.sha256(told.encode()).hexdigest()}"
