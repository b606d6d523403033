"""What is ours in the adapters to heavy systems, without the systems: settings, options, ids.

That the systems do what the adapters expect is in test_vendors_live.py.
"""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from pmb_hf.errors import InputError, MissingDependencyError, ProviderError
from pmb_hf.providers import (
    amem_notes,
    cognee_pipeline,
    graphiti_graph,
    hindsight_server,
    yourmemory_server,
)
from pmb_hf.providers.catalog import BUILT_IN
from pmb_hf.providers.environments.recipes import recipe
from pmb_hf.providers.joined import JoinedIds
from pmb_hf.providers.protocol import AddRow, Hit
from pmb_hf.providers.registry import convert_options
from pmb_hf.providers.store import Memory, RecordBook
from pmb_hf.providers.yourmemory_server import YourMemoryProvider

ADAPTERS: Mapping[str, Any] = {
    "hindsight": hindsight_server,
    "graphiti": graphiti_graph,
    "a-mem": amem_notes,
    "cognee": cognee_pipeline,
    "yourmemory": yourmemory_server,
}
SPECS = {spec.name: spec for spec in BUILT_IN}


def memory(**metadata: Any) -> Memory:
    row = AddRow(belief_id="b-1", user_id="u", text="gull", aliases=(), metadata=metadata)
    return Memory.of(0, row)


@pytest.mark.parametrize("name", ADAPTERS)
def test_row_of_the_catalog(name: str) -> None:
    spec = SPECS[name]
    assert spec.environment == name
    assert spec.options == ADAPTERS[name].OPTIONS
    assert spec.factory() is ADAPTERS[name].create
    assert spec.package is not None
    wanted = recipe(name)
    assert spec.package in wanted.requirements, "list and environment name one range"
    assert wanted.locked, "the versions that it was run with"


@pytest.mark.parametrize("name", ADAPTERS)
def test_options_are_those_of_the_factory(name: str) -> None:
    import inspect

    factory = ADAPTERS[name].create
    declared = {option.name: option.default for option in ADAPTERS[name].OPTIONS}
    taken = {
        key: parameter.default for key, parameter in inspect.signature(factory).parameters.items()
    }
    assert declared == taken


def test_importing_the_adapters_imports_no_vendor() -> None:
    modules = [module.__name__ for module in ADAPTERS.values()]
    code = (
        f"import importlib, sys; [importlib.import_module(m) for m in {modules!r}]; "
        "print(sorted({m.partition('.')[0] for m in sys.modules} & {'cognee', 'graphiti_core', "
        "'hindsight_api', 'agentic_memory', 'chromadb', 'openai', 'redis', 'httpx', 'numpy'}))"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"


@pytest.mark.parametrize("name", ADAPTERS)
def test_without_its_package_it_says_so(name: str) -> None:
    with pytest.raises(MissingDependencyError, match="is not installed"):
        ADAPTERS[name].create()


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("hindsight", {"threshold": 1.5}, "threshold is 1.5: give a number from 0 to 1"),
        ("hindsight", {"budget": "huge"}, "budget is 'huge': give one of low, mid, high"),
        ("hindsight", {"max_tokens": 0}, "max_tokens is 0: give 1 or more"),
        ("hindsight", {"top_k": 0}, "top_k is 0"),
        ("graphiti", {"threshold": float("nan")}, "threshold is nan"),
        ("yourmemory", {"threshold": -0.1}, "threshold is -0.1"),
        ("a-mem", {"llm_url": "http://127.0.0.1:1/v1"}, "llm_url and llm_model together"),
        ("a-mem", {"llm_model": "m"}, "llm_url and llm_model together"),
    ],
)
def test_wrong_options_are_told_before_anything_starts(
    name: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        ADAPTERS[name].create(**options)


def test_a_floor_can_be_switched_off_where_there_is_none_by_default() -> None:
    options = yourmemory_server.OPTIONS
    assert convert_options("yourmemory", options, {"threshold": "none"}) == {"threshold": None}


# --- hindsight --------------------------------------------------------------------------------


def test_hindsight_gets_no_model_and_only_loopback(tmp_path: Path) -> None:
    variables = hindsight_server.server_variables(
        "postgresql://127.0.0.1:1/postgres", "http://127.0.0.1:2/v1", 0.25, tmp_path
    )
    assert variables["HINDSIGHT_API_LLM_PROVIDER"] == "none"
    assert variables["HINDSIGHT_API_RERANKER_PROVIDER"] == "rrf"
    assert variables["HINDSIGHT_API_SEMANTIC_MIN_SIMILARITY"] == "0.25"
    assert variables["HINDSIGHT_API_OTEL_TRACES_ENABLED"] == "false"
    addresses = [value for value in variables.values() if "://" in value]
    assert addresses
    assert all("://127.0.0.1:" in value for value in addresses)


def test_hindsight_metadata_are_texts() -> None:
    flat = hindsight_server.flat_metadata(
        memory(beliefId="other", scope=["a", "b"], pinned=True, supersededBy=None, type="fact")
    )
    assert flat == {"beliefId": "b-1", "scope": '["a", "b"]', "pinned": "true", "type": "fact"}
    assert json.loads(flat["scope"]) == ["a", "b"]


# --- cognee -----------------------------------------------------------------------------------


def test_cognee_keeps_users_apart(tmp_path: Path) -> None:
    made = cognee_pipeline.settings(tmp_path, "http://127.0.0.1:1/v1", 256, "/tokenizers")
    assert made["ENABLE_BACKEND_ACCESS_CONTROL"] == "true"
    assert made["TELEMETRY_DISABLED"] == "1"
    assert made["EMBEDDING_DIMENSIONS"] == "256"
    assert made["TIKTOKEN_CACHE_DIR"] == "/tokenizers"
    directories = [made[key] for key in made if key.endswith("_DIRECTORY")]
    assert len(directories) == 3
    assert all(Path(place).parent == tmp_path for place in directories)
    assert "TIKTOKEN_CACHE_DIR" not in cognee_pipeline.settings(tmp_path, "http://x", 1, None)


# --- a-mem ------------------------------------------------------------------------------------


def fail_quietly() -> None:
    logger = logging.getLogger("agentic_memory.memory_system")
    with amem_notes._no_silent_failure():
        logger.warning("this is none")
        logger.error("Error in search_agentic: %s", "no such table")


def test_amem_failures_that_it_only_logs_are_raised() -> None:
    with pytest.raises(ProviderError, match="a-mem: Error in search_agentic: no such table"):
        fail_quietly()
    logger = logging.getLogger("agentic_memory.memory_system")
    assert logger.handlers == []
    with amem_notes._no_silent_failure():
        logger.warning("all is well")


# --- yourmemory: against a stand-in that answers as its server does -------------------------------


class StandIn:
    """The server's calls on memories: it joins those that start with one word."""

    def __init__(self) -> None:
        self.held: dict[int, tuple[str, str]] = {}
        self.calls: list[tuple[str, str, Any]] = []

    def answer(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content) if request.content else None
        self.calls.append((request.method, request.url.path, body))
        match request.method, request.url.path.split("/")[1:]:
            case "POST", ["memories"]:
                return self._store(body)
            case "PUT", ["memories", number]:
                self.held[int(number)] = (request.url.params["userId"], body["content"])
                return httpx.Response(200, json={"updated": 1})
            case "DELETE", ["memories", number]:
                del self.held[int(number)]
                return httpx.Response(200, json={"deleted": 1})
            case "DELETE", ["users", name, "memories"]:
                self.held = {k: v for k, v in self.held.items() if v[0] != name}
                return httpx.Response(200, json={"purged": True})
            case "POST", ["retrieve"]:
                found = [
                    {"id": number, "content": text, "score": 0.5}
                    for number, (user, text) in self.held.items()
                    if user == body["userId"]
                ]
                return httpx.Response(200, json={"memories": found[: body["topK"]]})
        return httpx.Response(500, text="boom")

    def _store(self, body: Any) -> httpx.Response:
        text, user = body["content"], body["userId"]
        if text.endswith("?"):
            detail = "Questions are not stored as memories."
            return httpx.Response(422, json={"detail": detail})
        for number, (owner, held) in self.held.items():
            if owner == user and held.split()[0] == text.split()[0]:
                action = "replace" if "not" in text else "merge"
                self.held[number] = (user, text if action == "replace" else f"{held} {text}")
                return httpx.Response(200, json={"id": number, "action": action})
        number = len(self.calls)
        self.held[number] = (user, text)
        return httpx.Response(200, json={"id": number, "action": "new"})


def yourmemory() -> tuple[YourMemoryProvider, StandIn]:
    server = StandIn()
    provider = object.__new__(YourMemoryProvider)
    super(YourMemoryProvider, provider).__init__({"scope_filter": True})
    provider._threshold = 0.25
    provider._names, provider._numbers = {}, iter(range(9))  # type: ignore[assignment]
    provider._ids, provider._refused = JoinedIds(), set()
    transport = httpx.MockTransport(server.answer)
    provider._http = httpx.Client(base_url="http://127.0.0.1:1", transport=transport)
    return provider, server


def add(provider: YourMemoryProvider, belief_id: str, text: str, user_id: str = "Ana") -> None:
    metadata = {"beliefId": belief_id, "scope": ["domain:sea"]}
    provider.add(belief_id=belief_id, user_id=user_id, text=text, aliases=(), metadata=metadata)


def find(provider: YourMemoryProvider, user_id: str = "Ana", limit: int = 20) -> list[Hit]:
    return provider.search(query="x?", user_id=user_id, scopes=("domain:sea",), limit=limit)


def test_yourmemory_writes_scopes_and_sends_its_floor() -> None:
    provider, server = yourmemory()
    add(provider, "b-1", "gulls fly")
    assert server.calls[-1][2] == {
        "userId": "pmb-0",
        "content": "gulls fly",
        "contextPaths": ["domain:sea"],
    }
    assert find(provider, limit=3) == [Hit("b-1", 0.5, "gulls fly")]
    assert server.calls[-1][2] == {
        "userId": "pmb-0",
        "query": "x?",
        "topK": 3,
        "scoreThreshold": 0.25,
        "scope": ["domain:sea"],
    }
    assert find(provider, "nobody") == []


def test_yourmemory_refuses_a_question_and_the_run_goes_on() -> None:
    provider, server = yourmemory()
    add(provider, "b-q", "gulls fly where?")
    provider.wait_ready(belief_id="b-q", user_id="Ana", timeout_s=0)
    assert find(provider) == []
    add(provider, "b-q", "gulls fly here")
    assert [hit.id for hit in find(provider)] == ["b-q"]
    provider.delete(belief_id="b-q", user_id="Ana")
    assert server.held == {}


def test_yourmemory_joined_memories_are_found_by_each_belief() -> None:
    provider, server = yourmemory()
    add(provider, "b-1", "gulls fly")
    add(provider, "b-2", "gulls eat")
    assert find(provider) == [Hit("b-1", 0.5, None), Hit("b-2", 0.5, None)]
    assert [hit.id for hit in find(provider, limit=1)] == ["b-1"]
    provider.delete(belief_id="b-1", user_id="Ana")
    assert list(server.held.values()) == [("pmb-0", "gulls fly gulls eat")]
    assert [hit.id for hit in find(provider)] == ["b-2"]


def test_yourmemory_replaced_memory_is_gone() -> None:
    provider, _ = yourmemory()
    add(provider, "b-1", "gulls fly")
    add(provider, "b-2", "gulls do not fly")
    assert find(provider) == [Hit("b-2", 0.5, "gulls do not fly")]
    provider.delete(belief_id="b-1", user_id="Ana")
    assert [hit.id for hit in find(provider)] == ["b-2"]


def test_yourmemory_update_and_reset() -> None:
    provider, server = yourmemory()
    add(provider, "b-1", "gulls fly")
    add(provider, "b-1", "terns dive", user_id="ben")
    add(provider, "b-1", "gulls rest")
    assert server.calls[-1][:2] == ("PUT", "/memories/1")
    assert find(provider) == [Hit("b-1", 0.5, "gulls rest")]
    assert find(provider, "ben") == [Hit("b-1", 0.5, "terns dive")]
    provider.reset()
    assert server.held == {}
    assert find(provider) == []


def test_yourmemory_failure_is_told_with_its_call() -> None:
    provider, _ = yourmemory()
    provider._names["Ana"] = "x/y"
    with pytest.raises(ProviderError, match="yourmemory: DELETE /users/x/y/memories: 500, boom"):
        provider.reset()


def test_ids_of_a_book_outlive_an_update() -> None:
    # What the adapters build on: a memory that is written again keeps its key.
    book = RecordBook()
    first = book.put(memory().row)
    assert book.put(memory(pinned=True).row).key == first.key
