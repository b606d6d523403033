"""Embedders by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ...errors import InputError, UnknownNameError
from .embedder import Embedder
from .source import Source

DEFAULT = "wordllama"


@dataclass(frozen=True, slots=True)
class Spec:
    """A kind of embedder: ``kind`` or ``kind:ARGUMENT``.

    Attributes:
        kind: What stands before the colon.
        argument: What stands behind it, for messages; None if nothing does.
        remote: Whether it takes a base URL.
        summary: One sentence.
        make: Makes it of the argument ("" if there is none) and the base URL.
    """

    kind: str
    argument: str | None
    remote: bool
    summary: str
    make: Callable[[str, str | None], Source]

    @property
    def usage(self) -> str:
        """How its name is written."""
        return f"{self.kind}:{self.argument}" if self.argument else self.kind


def _wordllama(argument: str, base_url: str | None) -> Source:
    from .static import WordLlamaSource

    del argument, base_url
    return WordLlamaSource()


def _sentence_transformers(argument: str, base_url: str | None) -> Source:
    from .transformer import SentenceTransformerSource

    del base_url
    return SentenceTransformerSource(argument)


def _onnx(argument: str, base_url: str | None) -> Source:
    from .onnx_model import OnnxSource

    del base_url
    return OnnxSource(argument)


def _ollama(argument: str, base_url: str | None) -> Source:
    from .services import ollama

    return ollama(argument, base_url)


def _openai(argument: str, base_url: str | None) -> Source:
    from .services import openai

    return openai(argument, base_url)


SPECS: tuple[Spec, ...] = (
    Spec(
        "wordllama",
        None,
        False,
        "Static vectors of 256 numbers; offline, no model to run.",
        _wordllama,
    ),
    Spec(
        "sentence-transformers",
        "MODEL",
        False,
        "A model of the sentence-transformers library, by name or directory.",
        _sentence_transformers,
    ),
    Spec(
        "onnx",
        "DIR",
        False,
        "A directory with model.onnx and tokenizer.json; mean pooling.",
        _onnx,
    ),
    Spec("ollama", "MODEL", True, "A model served by Ollama.", _ollama),
    Spec("openai", "MODEL", True, "A service with OpenAI's call /embeddings.", _openai),
)


def create_embedder(
    spec: str,
    *,
    base_url: str | None = None,
    cache_dir: str | None = None,
    cache: bool = True,
) -> Embedder:
    """Make an embedder by its name, such as ``ollama:nomic-embed-text``.

    Args:
        spec: One of `SPECS`.
        base_url: Where the service is, if it is one; else from $OLLAMA_HOST or
            $OPENAI_BASE_URL. A key comes from $OPENAI_API_KEY alone.
        cache_dir: Keep vectors here; None: in the user's cache directory.
        cache: False, or $PMB_VECTOR_CACHE=off: keep none. What is quicker to
            compute than to read (wordllama) is never kept.

    Raises:
        UnknownNameError: There is no such kind.
        InputError: The argument or the base URL can't be used.
        MissingDependencyError: The library isn't installed.
        ProviderError: The model can't be loaded.
    """
    kind, colon, argument = spec.strip().partition(":")
    found = next((known for known in SPECS if known.kind == kind), None)
    if found is None:
        usages = ", ".join(known.usage for known in SPECS)
        raise UnknownNameError(f"no embedder {spec!r}. Known: {usages}.")
    if bool(argument.strip()) != (found.argument is not None) or (colon and not found.argument):
        raise InputError(f"embedder {spec!r}: write {found.usage}.")
    if base_url is not None and not found.remote:
        raise InputError(
            f"embedder {spec!r} is no service: leave out base_url={base_url!r}, "
            "or use ollama:MODEL or openai:MODEL."
        )
    from .cache import VectorCache, file_for, switched_on

    source = found.make(argument.strip(), base_url)
    if not (cache and source.costly and switched_on()):
        return Embedder(source)
    return Embedder(source, VectorCache(file_for(source.identity, cache_dir), source.identity))
