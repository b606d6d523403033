"""The providers of this package, as data: one row each.

A row names the module that holds the factory; it is imported when the provider
is created, so a list of providers loads none of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec

from ..errors import MissingDependencyError
from .engine import ENGINE_OPTIONS
from .http_config import HTTP_OPTIONS
from .protocol import Option


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """A provider of this package.

    Attributes:
        name: Its name.
        summary: One sentence.
        target: ``.module:factory``; the module is imported on creation.
        options: What the factory takes.
        required: Names of the options without which it can't be created.
        needs: The module from outside that must be importable, or None.
        extra: The extra of this package that brings it; set with ``needs``.
    """

    name: str
    summary: str
    target: str
    options: tuple[Option, ...] = ()
    required: frozenset[str] = frozenset()
    needs: str | None = None
    extra: str | None = None

    @property
    def state(self) -> str:
        """One of the states of `ProviderInfo`."""
        if self.needs is None:
            return "built in"
        return "installed" if find_spec(self.needs) else "installable"

    def factory(self) -> Callable[..., object]:
        """Import the module and return the factory.

        Raises:
            MissingDependencyError: What it needs is not installed.
        """
        path, _, attribute = self.target.partition(":")
        try:
            module = import_module(path, __package__)
        except ImportError as error:
            package = f"'pmb-hf[{self.extra}]'" if self.extra else "--force-reinstall pmb-hf"
            raise MissingDependencyError(
                f"provider {self.name!r} can't be imported ({error}): pip install {package}"
            ) from error
        factory: Callable[..., object] = getattr(module, attribute)
        return factory


BUILT_IN: tuple[BuiltIn, ...] = (
    BuiltIn(
        "bm25",
        "BM25 with English stems, by tantivy; fast at any size.",
        ".bm25:Bm25Provider",
        options=ENGINE_OPTIONS,
    ),
    BuiltIn(
        "fts5",
        "BM25 with Porter stems, by SQLite's FTS5; needs nothing more.",
        ".fts5:Fts5Provider",
        options=ENGINE_OPTIONS,
    ),
    BuiltIn(
        "empty",
        "Floor: finds nothing.",
        ".controls:EmptyProvider",
    ),
    BuiltIn(
        "everything",
        "Floor: returns all of the user's memories.",
        ".controls:EverythingProvider",
    ),
    BuiltIn(
        "oracle",
        "Ceiling: returns the right answers.",
        ".controls:OracleProvider",
    ),
    BuiltIn(
        "scripted",
        "Plays back the answers of a JSON file {query: [belief ids]}.",
        ".controls:scripted_from_file",
        options=(Option("file", str, None, "The JSON file."),),
        required=frozenset({"file"}),
    ),
    BuiltIn(
        "http",
        "Any service that speaks the HTTP contract; its URL will do as a name.",
        ".http_create:create_http",
        options=HTTP_OPTIONS,
        required=frozenset({"url"}),
    ),
)
