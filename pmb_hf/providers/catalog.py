"""The providers of this package, as data: one row each.

A row names the module that holds the factory; it is imported when the provider
is created, so a list of providers loads none of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from ..errors import MissingDependencyError
from . import (
    agentmemory_service,
    amem_notes,
    atomicmemory_service,
    chroma_store,
    cognee_pipeline,
    gbrain_pages,
    graphiti_graph,
    hindsight_server,
    langgraph_store,
    llama_index_store,
    mem0_store,
    okf_files,
    supermemory_service,
    tenure_service,
    yourmemory_server,
)
from .engine import ENGINE_OPTIONS
from .environments.places import installed
from .environments.versions import importable, package_version, split
from .http_config import HTTP_OPTIONS
from .hybrid import OPTIONS as HYBRID_OPTIONS
from .protocol import Option
from .structured_options import OPTIONS as STRUCTURED_OPTIONS
from .vector import OPTIONS as VECTOR_OPTIONS


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
        package: The package that brings it and the versions that will do, as
            ``"mem0ai>=2.2,<2.3"``; any version if None.
        environment: The isolated environment that it runs in where what it
            needs is not importable here.
        service: Where to get the service that it talks to, in one sentence.
        interface: The interface of that service that the adapter was written
            for, with its version where there is one; set with ``service``.
        key: The environment variable that must hold a key.
        live: Whether it was ever run against the real system.
    """

    name: str
    summary: str
    target: str
    options: tuple[Option, ...] = ()
    required: frozenset[str] = frozenset()
    needs: str | None = None
    extra: str | None = None
    package: str | None = None
    environment: str | None = None
    service: str | None = None
    interface: str | None = None
    key: str | None = None
    live: bool = True

    @property
    def in_process(self) -> bool:
        """Whether what it needs can be imported in this process, in a version that will do."""
        return self.needs is None or importable(self.needs, self.package)

    @property
    def state(self) -> str:
        """One of the states of `ProviderInfo`."""
        isolated = self.environment is not None and installed(self.environment) is not None
        if not self.in_process and not isolated:
            return "installable"
        if self.key is not None and not os.environ.get(self.key):
            return "needs a key"
        if self.service is not None:
            return "needs a service"
        return "built in" if self.needs is None else "installed"

    @property
    def version(self) -> str | None:
        """The version of the package that would run; None if there is none, or it is ours."""
        if self.needs is not None and self.package is not None and self.in_process:
            return package_version(split(self.package)[0])
        made = None if self.environment is None else installed(self.environment)
        return None if made is None else made.version

    @property
    def hint(self) -> str | None:
        """What to do before it can be run."""
        state = self.state
        if state == "installable":
            return self.remedy
        if state == "needs a key":
            return f"set {self.key}"
        return self.service if state == "needs a service" else None

    @property
    def remedy(self) -> str:
        """The command that brings what it needs."""
        if self.environment is not None:
            return f"pmb providers install {self.environment}"
        package = f"'pmb-hf[{self.extra}]'" if self.extra else "--force-reinstall pmb-hf"
        return f"pip install {package}"

    def factory(self) -> Callable[..., object]:
        """Import the module and return the factory.

        Raises:
            MissingDependencyError: What it needs is not installed.
        """
        path, _, attribute = self.target.partition(":")
        try:
            module = import_module(path, __package__)
        except ImportError as error:
            raise MissingDependencyError(
                f"provider {self.name!r} can't be imported ({error}): {self.remedy}"
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
        "vector",
        "Exact cosine over vectors of the texts; wordllama offline, or another embedder.",
        ".vector:VectorProvider",
        options=VECTOR_OPTIONS,
        needs="wordllama",
        extra="vector",
    ),
    BuiltIn(
        "hybrid",
        "Reciprocal rank fusion of a ranking by words and one by vectors.",
        ".hybrid:HybridProvider",
        options=HYBRID_OPTIONS,
        needs="wordllama",
        extra="vector",
    ),
    BuiltIn(
        "structured",
        "Alias-first: by canonical name and aliases along several lexical paths, no content.",
        ".structured:StructuredProvider",
        options=STRUCTURED_OPTIONS,
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
        "hindsight",
        "Hindsight as its own server with its own PostgreSQL, without a language model.",
        ".hindsight_server:create",
        options=hindsight_server.OPTIONS,
        needs="hindsight_api",
        package="hindsight-api-slim>=1.1,<1.2",
        environment="hindsight",
    ),
    BuiltIn(
        "http",
        "Any service that speaks the HTTP contract; its URL will do as a name.",
        ".http_create:create_http",
        options=HTTP_OPTIONS,
        required=frozenset({"url"}),
    ),
    BuiltIn(
        "mem0",
        "mem0, in process: texts as they are, or facts that a model extracts.",
        ".mem0_store:Mem0Provider",
        options=mem0_store.OPTIONS,
        needs="mem0",
        package="mem0ai>=2.2,<2.3",
        environment="mem0",
    ),
    BuiltIn(
        "langgraph",
        "LangGraph's store in memory with a vector index; langmem uses the same store.",
        ".langgraph_store:LanggraphProvider",
        options=langgraph_store.OPTIONS,
        needs="langgraph",
        package="langgraph>=1.2,<1.3",
        environment="langgraph",
    ),
    BuiltIn(
        "chroma",
        "Chroma in memory, with vectors of our embedder.",
        ".chroma_store:ChromaProvider",
        options=chroma_store.OPTIONS,
        needs="chromadb",
        package="chromadb>=1.5.9,<1.6",
        environment="chroma",
    ),
    BuiltIn(
        "llama-index",
        "LlamaIndex: a VectorStoreIndex in memory.",
        ".llama_index_store:LlamaIndexProvider",
        options=llama_index_store.OPTIONS,
        needs="llama_index.core",
        package="llama-index-core>=0.14.25,<0.15",
        environment="llama-index",
    ),
    BuiltIn(
        "graphiti",
        "Graphiti, the open core of Zep (zep), on FalkorDB; facts are saved without a model.",
        ".graphiti_graph:create",
        options=graphiti_graph.OPTIONS,
        needs="graphiti_core",
        package="graphiti-core>=0.31.2,<0.32",
        environment="graphiti",
    ),
    BuiltIn(
        "a-mem",
        "A-mem: notes in Chroma; a model describes them, by default a stub that does nothing.",
        ".amem_notes:create",
        options=amem_notes.OPTIONS,
        needs="agentic_memory",
        package="a-mem>=0.2.6,<0.3",
        environment="a-mem",
    ),
    BuiltIn(
        "cognee",
        "Cognee: documents in chunks, without a model; access control keeps users apart.",
        ".cognee_pipeline:create",
        options=cognee_pipeline.OPTIONS,
        needs="cognee",
        package="cognee>=1.6.5,<1.7",
        environment="cognee",
    ),
    BuiltIn(
        "yourmemory",
        "YourMemory as its own server with SQLite, without a language model.",
        ".yourmemory_server:create",
        options=yourmemory_server.OPTIONS,
        needs="memory_mcp",
        package="yourmemory>=1.4.87,<1.5",
        environment="yourmemory",
    ),
    BuiltIn(
        "supermemory",
        "Supermemory, hosted or local, over its own HTTP interface.",
        ".supermemory_service:create",
        options=supermemory_service.OPTIONS,
        service=supermemory_service.SERVICE,
        interface=supermemory_service.INTERFACE,
        live=False,
    ),
    BuiltIn(
        "agentmemory",
        "agentmemory's server over its own REST interface.",
        ".agentmemory_service:create",
        options=agentmemory_service.OPTIONS,
        service=agentmemory_service.SERVICE,
        interface=agentmemory_service.INTERFACE,
        live=False,
    ),
    BuiltIn(
        "atomicmemory",
        "AtomicMemory's server over its own HTTP interface; texts as they are.",
        ".atomicmemory_service:create",
        options=atomicmemory_service.OPTIONS,
        service=atomicmemory_service.SERVICE,
        interface=atomicmemory_service.INTERFACE,
        live=False,
    ),
    BuiltIn(
        "gbrain",
        "gbrain over MCP, started as a child; a memory is a page.",
        ".gbrain_pages:create",
        options=gbrain_pages.OPTIONS,
        service=gbrain_pages.SERVICE,
        interface=gbrain_pages.INTERFACE,
        live=False,
    ),
    BuiltIn(
        "open-knowledge-format",
        "Markdown files that a tool-calling model lists and reads; what it read is the answer.",
        ".okf_files:create",
        options=okf_files.OPTIONS,
        service=okf_files.SERVICE,
        interface=okf_files.INTERFACE,
        live=False,
    ),
    BuiltIn(
        "tenure",
        "Tenure behind a wrapper that speaks the HTTP contract; its own interface is not known.",
        ".tenure_service:create",
        options=tenure_service.OPTIONS,
        service=tenure_service.SERVICE,
        interface=tenure_service.INTERFACE,
        live=False,
    ),
)
