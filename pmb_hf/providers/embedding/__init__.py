"""Texts as vectors: by a library, a model on disk, or a service over HTTP.

:func:`create_embedder` makes one by its name; what they share (clean texts,
unit length, checks, the cache on disk) is in `embedder` and `cache`. Importing
this package loads no model and no library.
"""

from __future__ import annotations

from .create import DEFAULT, SPECS, create_embedder
from .embedder import Embedder

__all__ = ["DEFAULT", "SPECS", "Embedder", "create_embedder"]
