"""Adapters to systems that can't be installed here, against stand-ins on loopback.

Nothing here tells whether the systems behave as their documents say; that is why they
are listed as not run live.
"""

from __future__ import annotations

import inspect
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import standins
from servers import standin
from standins import ServiceStandin, WordsProvider, picks_by_words, tool_call

import pmb_hf
from pmb_hf.errors import InputError, NotReadyError, ProviderError, RunStoppedWarning
from pmb_hf.faults import status_of
from pmb_hf.providers import (
    agentmemory_service,
    atomicmemory_service,
    gbrain_pages,
    okf_files,
    registry,
    supermemory_service,
    tenure_service,
)
from pmb_hf.providers.catalog import BUILT_IN
from pmb_hf.providers.children import Child
from pmb_hf.providers.mcp_stdio import McpServer, ToolError
from pmb_hf.providers.protocol import Hit, Provider, provider_options

ADAPTERS: Mapping[str, Any] = {
    "supermemory": supermemory_service,
    "agentmemory": agentmemory_service,
    "atomicmemory": atomicmemory_service,
    "open-knowledge-format": okf_files,
    "gbrain": gbrain_pages,
    "tenure": tenure_service,
}
SYSTEMS: Mapping[str, Callable[[], ServiceStandin]] = {
    "supermemory": standins.Supermemory,
    "agentmemory": standins.AgentMemory,
    "atomicmemory": standins.AtomicMemory,
    "open-knowledge-format": standins.ChatModel,
}
KEYS = {
    "supermemory": "SUPERMEMORY_API_KEY",
    "agentmemory": "AGENTMEMORY_SECRET",
    "atomicmemory": "ATOMICMEMORY_API_KEY",
    "open-knowledge-format": "OPENAI_API_KEY",
    "tenure": "TENURE_API_KEY",
}
FIRST = {
    "supermemory": "POST /v3/documents",
    "agentmemory": "GET /agentmemory/health",
    "atomicmemory": "GET /v1/memories/health",
    "open-knowledge-format": "GET /v1/models",
}
SPECS = {spec.name: spec for spec in BUILT_IN}
SEA = "domain:sea"
made: list[Any] = []


@pytest.fixture(autouse=True)
def nothing_stays_open() -> Iterator[None]:
    yield
    while made:
        made.pop().close()


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in KEYS.values():
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture(params=list(SYSTEMS))
def system(request: pytest.FixtureRequest) -> Iterator[tuple[str, Any]]:
    with SYSTEMS[request.param]().serve() as service:
        yield request.param, service


def make(name: str, url: str, **options: Any) -> Any:
    model = {"model": "stub"} if name == "open-knowledge-format" else {}
    made.append(registry.create(name, {"url": url, "retries": 0, **model, **options}))
    return made[-1]


def gbrain(record: Path, mode: str = "", **options: Any) -> Any:
    program = Path(__file__).with_name("standin_gbrain.py")
    command = shlex.join([sys.executable, "-S", str(program), str(record), *mode.split()])
    made.append(registry.create("gbrain", {"command": command, **options}))
    return made[-1]


def add(provider: Any, belief_id: str, text: str, user_id: str = "Ana", **metadata: Any) -> None:
    told = {"beliefId": belief_id, "scope": [SEA], "type": "entity", "pinned": False}
    told |= {"canonicalName": text, "supersededBy": None, **metadata}
    provider.add(belief_id=belief_id, user_id=user_id, text=text, aliases=(), metadata=told)


def find(provider: Any, query: str, user_id: str = "Ana", limit: int = 20) -> list[str | None]:
    hits = provider.search(query=query, user_id=user_id, scopes=(SEA,), limit=limit)
    return [hit.id for hit in hits]


# ---- the list


@pytest.mark.parametrize("name", ADAPTERS)
def test_row_of_the_catalog(name: str) -> None:
    spec = SPECS[name]
    assert (spec.state, spec.live) == ("needs a service", False)
    assert spec.hint == ADAPTERS[name].SERVICE
    assert spec.interface == ADAPTERS[name].INTERFACE
    assert spec.options == ADAPTERS[name].OPTIONS
    assert spec.factory() is ADAPTERS[name].create


def test_the_list_says_that_they_were_not_run_live() -> None:
    command = [sys.executable, "-m", "pmb_hf", "providers"]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    entries = re.split(r"\n(?=\S)", told)
    marked = {entry.split()[0] for entry in entries if "not run live" in entry}
    assert marked == set(ADAPTERS) == {spec.name for spec in BUILT_IN if not spec.live}


def test_the_page_says_what_each_adapter_is_written_for() -> None:
    page = (Path(__file__).parent.parent / "docs" / "providers.md").read_text(encoding="utf-8")
    for spec in BUILT_IN:
        if spec.package is not None or spec.interface is not None:
            what = spec.interface if spec.package is None else f"`{spec.package}`"
            assert f"| {spec.name} | {what} | {'yes' if spec.live else 'no'} |" in page


@pytest.mark.parametrize("name", [name for name in ADAPTERS if name != "tenure"])
def test_options_are_those_of_the_factory(name: str) -> None:
    declared = {option.name: option.default for option in ADAPTERS[name].OPTIONS}
    taken = inspect.signature(ADAPTERS[name].create).parameters
    assert declared == {key: parameter.default for key, parameter in taken.items()}


def test_no_option_is_a_key() -> None:
    names = {option.name for module in ADAPTERS.values() for option in module.OPTIONS}
    assert not [name for name in names if "key" in name or "secret" in name or name == "token"]


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("supermemory", {}, "needs the option url. Give the option url: https://api"),
        ("supermemory", {"url": "http://x", "search_mode": "all"}, "one of memories, hybrid"),
        ("supermemory", {"url": "http://x", "threshold": 2.0}, "threshold is 2.0"),
        ("supermemory", {"url": "http://u:p@x"}, "user or password"),
        ("atomicmemory", {"threshold": float("nan")}, "finite number"),
        ("atomicmemory", {"timeout": 0.0}, "timeout is 0.0"),
        ("agentmemory", {"top_k": 0}, "top_k is 0"),
        ("agentmemory", {"retries": 11}, "retries is 11"),
        ("open-knowledge-format", {"url": "http://x"}, "needs the options url and model"),
        ("open-knowledge-format", {"url": "http://x", "model": "m", "max_rounds": 0}, "1 to 100"),
        ("open-knowledge-format", {"url": "http://x", "model": "m", "temperature": 3.0}, "0 to 2"),
        ("gbrain", {"command": "'"}, "option command is"),
        ("gbrain", {"command": ""}, "option command is empty"),
        ("gbrain", {"candidates": 0}, "candidates is 0"),
        ("tenure", {}, "needs the option url. Put a wrapper"),
    ],
)
def test_wrong_options_are_told(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        registry.create(name, options)


# ---- a whole run


def answers(provider: Provider) -> list[Any]:
    """What came of every case and turn of the native corpus, and of every change."""
    report = pmb_hf.run(provider, name="x", ready_timeout_s=5.0)
    assert not report.provenance.get("stopped")
    cases = [
        (row.case_id, row.turn_index, row.status, row.relevant, [hit.id for hit in row.results])
        for row in report.records
    ]
    return [*cases, *((row.belief_id, row.status) for row in report.changes)]


@pytest.fixture(scope="module")
def expected() -> list[Any]:
    found = answers(WordsProvider())
    assert sum(bool(row[4]) for row in found if len(row) == 5) > 40
    return found


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("supermemory", {}),
        ("supermemory", {"search_mode": "documents"}),
        ("agentmemory", {}),
        ("atomicmemory", {}),
    ],
)
def test_a_run_gives_what_the_same_search_gives_in_process(
    name: str, options: dict[str, Any], expected: list[Any]
) -> None:
    with SYSTEMS[name]().serve() as service:
        provider = make(name, service.url, **options)
        assert answers(provider) == expected
        provider.reset()
        held = service.documents if name == "supermemory" else service.memories  # type: ignore[attr-defined]
        assert held == {}, "a reset leaves nothing"
        provider.close()


def test_a_run_on_gbrain_gives_what_the_same_search_gives(
    tmp_path: Path, expected: list[Any]
) -> None:
    with closing(gbrain(tmp_path / "calls")) as provider:
        assert answers(provider) == expected


def test_a_run_of_a_reading_model_gives_what_it_read() -> None:
    def title(metadata: Mapping[str, Any], text: str) -> str:
        return str(metadata["canonicalName"])

    with standins.ChatModel().serve() as service:
        provider = make("open-knowledge-format", service.url)
        assert answers(provider) == answers(WordsProvider(title))


def test_a_run_on_tenure_is_one_on_its_wrapper(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENURE_API_KEY", "t0p-secret")
    with standin(WordsWithMetadata(), authorization="Bearer t0p-secret") as service:
        provider = make("tenure", service.url)
        assert answers(provider) == answers(WordsProvider())
        assert {name for name, _ in service.calls} >= {"POST /add", "POST /search", "DELETE /reset"}
        assert "t0p-secret" not in json.dumps(dict(provider.options))


class WordsWithMetadata(WordsProvider):
    """As an engine of the other stand-in: its hits carry text and metadata."""

    def search(self, **asked: Any) -> list[Hit]:
        user = asked["user_id"]
        return [
            Hit(hit.id, hit.score, self._texts[user, str(hit.id)], {"beliefId": hit.id})
            for hit in super().search(**asked)
        ]


# ---- what all services have in common


def test_users_limit_update_delete_reset(system: tuple[str, Any]) -> None:
    name, service = system
    with closing(make(name, service.url)) as provider:
        provider.reset()
        add(provider, "b-1", "gulls fly over water")
        add(provider, "b-2", "terns dive into water")
        add(provider, "b-1", "water belongs to otto", user_id="otto")
        assert sorted(map(str, find(provider, "water"))) == ["b-1", "b-2"]
        assert len(find(provider, "water", limit=1)) == 1
        assert find(provider, "water", limit=0) == find(provider, "  ") == []
        assert find(provider, "water", user_id="otto") == ["b-1"]
        assert find(provider, "water", user_id="nobody") == []
        changed = {"beliefId": "b-1", "scope": [SEA], "canonicalName": "gulls rest"}
        provider.update(
            belief_id="b-1", user_id="Ana", text="gulls rest", aliases=(), metadata=changed
        )
        assert find(provider, "water") == ["b-2"]
        assert find(provider, "rest") == ["b-1"]
        provider.delete(belief_id="b-2", user_id="Ana")
        provider.delete(belief_id="b-2", user_id="Ana")
        assert find(provider, "water") == []
        provider.reset()
        assert find(provider, "rest") == find(provider, "otto", user_id="otto") == []
        add(provider, "b-9", "rest")
        assert find(provider, "rest") == ["b-9"]


def test_leftovers_of_another_run_are_not_found(system: tuple[str, Any]) -> None:
    name, service = system
    with closing(make(name, service.url)) as first, closing(make(name, service.url)) as second:
        add(first, "b-1", "gulls fly over water")
        add(second, "b-2", "terns dive into water")
        second.reset()
        assert find(second, "water") == []
        assert find(first, "water") == ["b-1"]


def test_key_goes_from_the_environment_into_the_header_alone(
    system: tuple[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    name, service = system
    service.key = "s3cret-key"
    monkeypatch.setenv(KEYS[name], "s3cret-key")
    with closing(make(name, service.url)) as provider:
        provider.reset()
        add(provider, "b-1", "gulls fly")
        assert find(provider, "gulls") == ["b-1"]
        assert {call.authorization for call in service.calls} == {"Bearer s3cret-key"}
        assert "s3cret" not in json.dumps(provider_options(provider)) + repr(vars(provider))
    monkeypatch.setenv(KEYS[name], "wr0ng-key")
    with closing(make(name, service.url)) as provider, pytest.raises(ProviderError) as caught:
        use(provider)
    said = str(caught.value)
    assert said.startswith(f"{name}: {FIRST[name].replace('/v1/models', '/models')}: answered 401")
    assert f"set ${KEYS[name]}" in said
    assert "wr0ng-key" not in said
    assert status_of(caught.value) == "http_error"


def use(provider: Any) -> None:
    provider.reset()
    add(provider, "b-1", "gulls fly")
    find(provider, "gulls")


@pytest.mark.parametrize(
    ("fault", "status", "said"),
    [
        ((429, "application/json", '{"error": "slow down"}'), "http_error", "429.*slow down"),
        ((500, "text/plain", "boom"), "http_error", "answered 500: boom"),
        ((200, "text/html", "<!doctype html><p>Sign in"), "bad_answer", "no JSON.*text/html"),
        ((200, "application/json", "[]"), "bad_answer", "the answer"),
        ((200, "application/json", '{"results": 7}'), "bad_answer", "the answer"),
    ],
)
def test_faults_are_told_with_their_call(
    system: tuple[str, Any], fault: tuple[int, str, str], status: str, said: str
) -> None:
    name, service = system
    service.fail["POST"] = fault
    with closing(make(name, service.url)) as provider:
        with pytest.raises(ProviderError, match=said) as caught:
            use(provider)
        assert status_of(caught.value) == status
        assert "\n" not in str(caught.value)


def test_a_call_that_may_be_repeated_is(system: tuple[str, Any]) -> None:
    name, service = system
    with closing(make(name, service.url, retries=2)) as provider:
        add(provider, "b-1", "gulls fly")
        service.fail["POST"] = (503, "text/plain", "busy")
        before = len(service.calls)
        with pytest.raises(ProviderError, match="503: busy"):
            find(provider, "gulls")
        assert len(service.calls) == before + 3
        assert provider.counts["retries"] == 2


def test_a_service_that_is_not_running_is_one_clear_error(system: tuple[str, Any]) -> None:
    name, _ = system
    with closing(make(name, "http://127.0.0.1:9")) as provider:
        with pytest.raises(
            ProviderError, match=r"can.t connect to http://127\.0\.0\.1:9"
        ) as caught:
            use(provider)
        assert "start the service, or set the option url" in str(caught.value)
        assert status_of(caught.value) == "connection_error"


# ---- supermemory


@pytest.mark.parametrize("mode", ["memories", "hybrid", "documents"])
def test_supermemory_speaks_as_its_sdk_does(mode: str) -> None:
    with standins.Supermemory().serve() as service:
        provider = make(
            "supermemory", service.url, search_mode=mode, threshold=0.4, scope_filter=True
        )
        add(provider, "b-1", "gulls fly", supersededBy=None)
        (stored,) = service.bodies("POST /v3/documents")
        tag = stored["containerTag"]
        assert tag.startswith("pmb-")
        metadata = stored["metadata"]
        assert metadata["beliefId"] == "b-1"
        assert metadata["scope"] == [SEA]
        assert "supersededBy" not in metadata, "the service takes no null"
        assert find(provider, "gulls", limit=7) == ["b-1"]
        searched = service.calls[-1]
        rule = {"filterType": "array_contains", "key": "scope", "value": SEA}
        asked = {"q": "gulls", "containerTag": tag, "limit": 7, "rerank": False}
        asked |= {"filters": {"OR": [rule]}}
        if mode == "documents":
            assert searched.name == "POST /v3/search"
            assert searched.body == {**asked, "chunkThreshold": 0.4}
        else:
            more = {"threshold": 0.4, "searchMode": mode, "include": {"documents": True}}
            assert (searched.name, searched.body) == ("POST /v4/search", {**asked, **more})
        provider.delete(belief_id="b-1", user_id="Ana")
        assert service.names()[-1] == "DELETE /v3/documents/doc1"
        assert "threshold" in provider_options(provider)


def test_supermemory_waits_for_the_status_of_all_documents() -> None:
    service = standins.Supermemory()
    service.status = ("queued", "embedding", "done")
    with service.serve():
        provider = make("supermemory", service.url)
        add(provider, "b-1", "gulls fly")
        add(provider, "b-2", "terns dive")
        provider.wait_ready(belief_id="b-2", user_id="Ana", timeout_s=10)
        looked = [name for name in service.names() if name.startswith("GET")]
        assert looked.count("GET /v3/documents/doc1") == 3
        assert looked.count("GET /v3/documents/doc2") == 3
        service.status = ("queued",)
        add(provider, "b-3", "crabs walk")
        with pytest.raises(NotReadyError, match=r"'b-3' was written.*after 0\.1 s.*still 'queued'"):
            provider.wait_ready(belief_id="b-3", user_id="Ana", timeout_s=0.1)
        service.status = ("failed",)
        add(provider, "b-3", "crabs walk again")
        with pytest.raises(ProviderError, match="the document of memory 'b-3' failed"):
            provider.wait_ready(belief_id="b-3", user_id="Ana", timeout_s=5)


def test_supermemory_ids_by_metadata_else_by_documents() -> None:
    with standins.Supermemory().serve() as service:
        provider = make("supermemory", service.url)
        add(provider, "b-1", "gulls fly")
        service.inherits = False  # type: ignore[attr-defined]
        assert find(provider, "gulls") == ["b-1"]
        service.extracts = 2  # type: ignore[attr-defined]
        assert find(provider, "gulls") == ["b-1", "b-1"], "two memories of one document"
        row = {"id": "m", "similarity": 0.5, "metadata": None, "documents": [{"id": "foreign"}]}
        service.fail["POST /v4/search"] = (200, "application/json", json.dumps({"results": [row]}))
        assert find(provider, "gulls") == [None]


def test_supermemory_resets_by_a_hundred_and_believes_no_half_of_it() -> None:
    with standins.Supermemory().serve() as service:
        provider = make("supermemory", service.url)
        for number in range(150):
            add(provider, f"b-{number}", f"gull {number}")
        provider.reset()
        assert [len(body["ids"]) for body in service.bodies("DELETE /v3/documents/bulk")] == [
            100,
            50,
        ]
        add(provider, "b-1", "gull")
        service.fail["DELETE /v3/documents/bulk"] = (
            200,
            "application/json",
            '{"success": false, "deletedCount": 0}',
        )
        with pytest.raises(ProviderError, match="does not say that all documents are deleted"):
            provider.reset()


# ---- agentmemory


def test_agentmemory_speaks_as_its_rest_interface_does() -> None:
    with standins.AgentMemory().serve() as service:
        provider = make("agentmemory", service.url)
        provider.reset()
        assert provider.version == "0.9.29"
        add(provider, "b-1", "gulls fly")
        (stored,) = service.bodies("POST /agentmemory/remember")
        name = stored["agentId"]
        assert stored == {"content": "gulls fly", "agentId": name, "project": name}
        assert find(provider, "gulls", limit=500) == ["b-1"]
        asked = {"query": "gulls", "limit": 100, "format": "narrative"}
        assert service.calls[-1].body == {**asked, "agentId": name, "project": name}
        add(provider, "b-1", "gulls rest")
        assert service.names()[-2:] == ["POST /agentmemory/forget", "POST /agentmemory/remember"]
        assert service.bodies("POST /agentmemory/forget") == [{"memoryId": "mem_1"}]


def test_agentmemory_replaces_what_is_alike_and_a_reset_takes_that_too() -> None:
    with standins.AgentMemory().serve() as service:
        provider = make("agentmemory", service.url)
        add(provider, "b-1", "gulls fly over the cold grey water")
        add(provider, "b-2", "gulls fly over the cold water")
        add(provider, "b-1", "gulls fly over the cold water", user_id="otto")
        assert find(provider, "gulls") == ["b-2"], "the older is gone: the system's own doing"
        assert find(provider, "gulls", user_id="otto") == ["b-1"], "but not another user's"
        provider.wait_ready(belief_id="b-1", user_id="Ana", timeout_s=0)
        add(provider, "b-1", "terns")
        provider.wait_ready(belief_id="b-1", user_id="Ana", timeout_s=1)
        assert find(provider, "terns") == ["b-1"]
        provider.reset()
        assert service.memories == {}  # type: ignore[attr-defined]


def test_a_bad_answer_while_waiting_is_asked_again_until_the_time_is_up() -> None:
    with standins.AgentMemory().serve() as service:
        provider = make("agentmemory", service.url)
        add(provider, "b-1", "gulls fly")
        service.fail["POST /agentmemory/search"] = (200, "text/html", "<p>starting")
        asked = len(service.calls)
        with pytest.raises(NotReadyError, match=r"within 0\.1 s.*last attempt failed:.*no JSON"):
            provider.wait_ready(belief_id="b-1", user_id="Ana", timeout_s=0.1)
        assert len(service.calls) > asked + 1
        service.fail["POST /agentmemory/search"] = (401, "text/plain", "who are you?")
        with pytest.raises(NotReadyError, match=r"within 0\.1 s.*401"):
            provider.wait_ready(belief_id="b-1", user_id="Ana", timeout_s=0.1)
        service.fail.clear()
        provider.wait_ready(belief_id="b-1", user_id="Ana", timeout_s=5)


def test_agentmemory_says_why_nothing_was_stored() -> None:
    with standins.AgentMemory().serve() as service:
        refused = json.dumps({"success": False, "error": "content is required"})
        service.fail["POST /agentmemory/remember"] = (201, "application/json", refused)
        provider = make("agentmemory", service.url)
        with pytest.raises(ProviderError, match=r"no memory\.id: content is required"):
            add(provider, "b-1", " ")
        assert find(provider, "gulls") == []


# ---- atomicmemory


def test_atomicmemory_speaks_as_its_sdk_does() -> None:
    with standins.AtomicMemory().serve() as service:
        provider = make("atomicmemory", service.url)
        provider.reset()
        add(provider, "b-1", "gulls fly")
        (stored,) = service.bodies("POST /v1/memories/ingest/quick")
        user, source = stored["user_id"], stored["source_site"]
        assert stored["conversation"] == "gulls fly"
        assert stored["skip_extraction"] is True
        assert stored["metadata"]["beliefId"] == "b-1"
        (hit,) = provider.search(query="gulls fly", user_id="Ana", scopes=(), limit=5)
        assert hit == Hit("b-1", 3.0, "gulls fly"), "scores may exceed 1"
        asked = {"user_id": user, "query": "gulls fly", "limit": 5, "threshold": 0.3}
        assert service.calls[-1].body == asked
        assert provider_options(provider)["threshold"] == 0.3
        provider.delete(belief_id="b-1", user_id="Ana")
        assert service.calls[-1].name == "DELETE /v1/memories/0198-1"
        assert service.calls[-1].body == {"user_id": user}
        provider.reset()
        reset = service.bodies("POST /v1/memories/reset-source")
        assert reset == [{"user_id": user, "source_site": source}]


def test_atomicmemory_ids_without_metadata_are_mapped() -> None:
    with standins.AtomicMemory().serve() as service:
        service.keeps_metadata = False  # type: ignore[attr-defined]
        provider = make("atomicmemory", service.url)
        add(provider, "b-1", "gulls fly")
        assert find(provider, "gulls") == ["b-1"]


def test_atomicmemory_joined_memories_are_found_by_each_belief() -> None:
    with standins.AtomicMemory().serve() as service:
        service.joins = True  # type: ignore[attr-defined]
        provider = make("atomicmemory", service.url)
        add(provider, "b-1", "gulls fly")
        add(provider, "b-2", "gulls rest")
        hits = provider.search(query="gulls", user_id="Ana", scopes=(), limit=5)
        assert [(hit.id, hit.text) for hit in hits] == [("b-1", None), ("b-2", None)]
        provider.delete(belief_id="b-1", user_id="Ana")
        assert len(service.memories) == 1  # type: ignore[attr-defined]


def test_atomicmemory_what_it_skips_is_not_found_and_the_run_goes_on() -> None:
    with standins.AtomicMemory().serve() as service:
        service.skips = ("gulls fly",)  # type: ignore[attr-defined]
        provider = make("atomicmemory", service.url)
        add(provider, "b-1", "gulls fly")
        provider.wait_ready(belief_id="b-1", user_id="Ana", timeout_s=0)
        assert find(provider, "gulls") == []
        add(provider, "b-1", "gulls rest")
        assert find(provider, "gulls") == ["b-1"]


# ---- gbrain


def test_gbrain_speaks_mcp(tmp_path: Path) -> None:
    record = tmp_path / "calls"
    with closing(gbrain(record)) as provider:
        assert provider.version == "0.10.1"
        add(provider, "b-1", "gulls fly over water")
        add(provider, "b-1", "water of otto", user_id="otto")
        add(provider, "b-1", "gulls rest on water")
        hits = provider.search(query="berth water", user_id="Ana", scopes=(), limit=3)
        assert hits == [Hit("b-1", 0.1)], "no page of another user, of the owner, or twice"
        provider.delete(belief_id="b-1", user_id="otto")
        provider.reset()
        assert find(provider, "water") == []
    sent = [json.loads(line) for line in record.read_text().splitlines()]
    assert all(message["jsonrpc"] == "2.0" for message in sent)
    methods = [message["method"] for message in sent if "method" in message]
    assert methods[:2] == ["initialize", "notifications/initialized"]
    replies = {message["id"]: message for message in sent if "method" not in message}
    assert replies["s1"]["error"]["code"] == -32601
    assert replies["s2"]["result"] == {}
    called = [row["params"] for row in sent if row.get("method") == "tools/call"]
    root = called[0]["arguments"]["slug"].partition("/")[0]
    assert [(row["name"], row["arguments"]) for row in called] == [
        ("put_page", {"slug": f"{root}/u0/m0", "content": "gulls fly over water"}),
        ("put_page", {"slug": f"{root}/u1/m1", "content": "water of otto"}),
        ("put_page", {"slug": f"{root}/u0/m0", "content": "gulls rest on water"}),
        ("search", {"query": "berth water", "limit": 100}),
        ("delete_page", {"slug": f"{root}/u1/m1"}),
        ("delete_page", {"slug": f"{root}/u0/m0"}),
    ]


@pytest.mark.parametrize(
    ("mode", "said"),
    [
        ("no delete", "the server has no tool 'delete_page'. It has: get_page, put_page, search"),
        ("renamed", "its tool 'put_page' takes no slug: this version"),
        ("demands", "its tool 'search' demands brain"),
    ],
)
def test_gbrain_with_other_tools_is_refused_before_a_write(
    tmp_path: Path, mode: str, said: str
) -> None:
    with pytest.raises(InputError, match=said):
        gbrain(tmp_path / "calls", mode)
    assert "tools/call" not in (tmp_path / "calls").read_text()


@pytest.mark.parametrize(
    ("mode", "status", "said"),
    [
        ("dies", "connection_error", "gbrain: put_page: the server ended: out of memory"),
        ("hangs", "timeout", "gbrain: put_page: no answer within 0.3 s"),
        ("floods", "too_large", "gbrain: put_page: more than 8388608 bytes came"),
        ("fails", "tool_error", "gbrain: put_page: the brain is locked"),
    ],
)
def test_gbrain_faults_are_statuses(tmp_path: Path, mode: str, status: str, said: str) -> None:
    seconds = 0.3 if mode == "hangs" else 30.0
    with closing(gbrain(tmp_path / "calls", mode, timeout=seconds)) as provider:
        with pytest.raises(ProviderError, match=said) as caught:
            add(provider, "b-1", "gulls fly")
        assert status_of(caught.value) == status
        assert "\n" not in str(caught.value)


def test_gbrain_that_is_not_there_is_one_clear_error() -> None:
    with pytest.raises(ProviderError, match=r"no program 'no-such-gbrain'\. Get gbrain"):
        registry.create("gbrain", {"command": "no-such-gbrain serve"})


def test_a_child_that_does_not_talk_has_no_pipes(tmp_path: Path) -> None:
    child = Child([sys.executable, "-S", "-c", "print('x')"], tmp_path / "log")
    with pytest.raises(ProviderError, match="was not started to talk"):
        _ = child.pipes
    child.stop()


def test_an_mcp_server_ends_with_its_client(tmp_path: Path) -> None:
    program = Path(__file__).with_name("standin_gbrain.py")
    server = McpServer("x", [sys.executable, "-S", str(program), str(tmp_path / "calls")])
    process = server._child._process
    with pytest.raises(ToolError, match="no page mine/none"):
        server.call("delete_page", {"slug": "mine/none"})
    large = "word " * 400_000  # far more than a pipe holds
    assert server.call("put_page", {"slug": "mine/large", "content": large})["slug"] == "mine/large"
    server.close()
    server.close()
    assert process.poll() is not None
    assert not server._home.exists()


# ---- open-knowledge-format


@pytest.fixture
def model() -> Iterator[Any]:
    with standins.ChatModel().serve() as service:
        yield service


def reader(model: Any, **options: Any) -> Any:
    provider = make("open-knowledge-format", model.url, **options)
    add(provider, "b-1", "Gulls fly", type="preference")
    add(provider, "b-2", "gulls: fly", type="preference", scope=["domain:air"])
    add(provider, "b-3", "terns dive")
    return provider


def test_okf_files_hold_a_type_and_no_belief_id(model: Any) -> None:
    provider = reader(model, temperature=0.0, max_tokens=200)
    assert find(provider, "do gulls eat?") == ["b-1", "b-2"]
    first, second, third = model.bodies("POST")
    assert (first["model"], first["temperature"], first["max_tokens"]) == ("stub", 0.0, 200)
    listed = second["messages"][-1]
    assert listed["role"] == "tool"
    assert listed["tool_call_id"] == "call_list_files_0"
    assert listed["content"].splitlines() == [
        "entity/terns-dive.md - terns dive",
        "preference/gulls-fly-2.md - gulls: fly",
        "preference/gulls-fly.md - Gulls fly",
    ]
    # Two calls of one round, and an answer to each.
    said, *told = third["messages"][-3:]
    assert [call["id"] for call in said["tool_calls"]] == [row["tool_call_id"] for row in told]
    assert told[1]["content"] == (
        '---\ntype: "preference"\ntitle: "gulls: fly"\ntags: ["domain:air"]\n---\n\ngulls: fly'
    )
    assert "b-2" not in json.dumps(model.bodies("POST"))


def test_okf_order_is_that_of_reading_and_a_file_counts_once(model: Any) -> None:
    paths = [
        "entity/terns-dive.md",
        "no/such.md",
        "preference/gulls-fly.md",
        "entity/terns-dive.md",
    ]
    calls = iter([*paths, None])

    def script(messages: list[Any]) -> dict[str, Any]:
        path = next(calls)
        return {"tool_calls": [tool_call("read_file", path=path)]} if path else {"content": "DONE"}

    model.script = script
    provider = reader(model)
    hits = provider.search(query="x", user_id="Ana", scopes=(), limit=9)
    assert [(hit.id, hit.score) for hit in hits] == [("b-3", None), ("b-1", None)]
    assert model.calls[2].body["messages"][-1]["content"] == "There is no file 'no/such.md'."


def test_okf_scope_filter_hides_files_and_a_hidden_file_can_not_be_read(model: Any) -> None:
    provider = reader(model, scope_filter=True)
    assert find(provider, "gulls") == ["b-1"]
    assert "gulls-fly-2" not in json.dumps(model.bodies("POST"))
    asked = len(model.calls)
    hits = provider.search(query="gulls", user_id="Ana", scopes=("domain:none",), limit=9)
    assert (hits, len(model.calls)) == ([], asked), "an empty bundle is not asked about"


def always(**said: Any) -> Callable[[list[Any]], dict[str, Any]]:
    return lambda messages: dict(said)


def raw_call(arguments: Any) -> dict[str, Any]:
    function = {"name": "read_file", "arguments": arguments}
    return {"id": "c", "type": "function", "function": function}


WRONG: Mapping[str, tuple[dict[str, Any], str, str]] = {
    "loop": ({"tool_calls": [tool_call("list_files")]}, "tool_loop", "after 3 rounds.*max_rounds"),
    "many at once": (
        {"tool_calls": [tool_call("list_files", n) for n in range(65)]},
        "tool_loop",
        "called 65 tools at once",
    ),
    "other tool": ({"tool_calls": [tool_call("delete_all")]}, "bad_tool_call", "'delete_all'"),
    "no path": ({"tool_calls": [tool_call("read_file")]}, "bad_tool_call", "without a path"),
    "half JSON": ({"tool_calls": [raw_call("{'path'")]}, "bad_tool_call", "no JSON object"),
    "a list": ({"tool_calls": [raw_call("[]")]}, "bad_tool_call", "no JSON object"),
    "a number": ({"tool_calls": [raw_call(7)]}, "bad_tool_call", "no JSON object"),
    "no function": ({"tool_calls": [{"id": "c"}]}, "bad_tool_call", "no function"),
    "a word": ({"tool_calls": ["read"]}, "bad_tool_call", "no function"),
    "no list": ({"tool_calls": "read"}, "bad_answer", "tool_calls is no list"),
    "refusal": ({"refusal": "I can't do that."}, "refused", "refused: I can't do that"),
    "filter": ({"content": "", "finish_reason": "content_filter"}, "refused", "content filter"),
    "cut off": ({"content": "So", "finish_reason": "length"}, "bad_answer", "ran out of tokens"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_okf_what_a_model_gets_wrong_is_a_status(model: Any, wrong: str) -> None:
    message, status, said = WRONG[wrong]
    model.script = always(**message)
    provider = reader(model, max_rounds=3)
    with pytest.raises(ProviderError, match=said) as caught:
        find(provider, "gulls")
    assert status_of(caught.value) == status
    assert len(model.calls) <= 3
    model.script = picks_by_words
    assert find(provider, "terns") == ["b-3"], "the next case is asked as if nothing had been"


def test_okf_statuses_stand_in_a_report(model: Any) -> None:
    model.script = always(refusal="no")
    provider = make("open-knowledge-format", model.url)
    with pytest.warns(RunStoppedWarning, match="2 cases failed in a row.*the model refused"):
        report = pmb_hf.run(provider, name="x", parts=["retrieval"], max_failures=2)
    refused = [row for row in report.records if row.status == "refused"]
    assert len(refused) == 2
    assert report.provenance["stopped"]


def test_okf_an_endpoint_need_not_list_its_models(model: Any) -> None:
    model.lists_models = False
    provider = make("open-knowledge-format", model.url)
    provider.reset()
    add(provider, "b-1", "gulls")
    assert find(provider, "gulls") == ["b-1"]


def test_okf_a_model_that_reads_nothing_finds_nothing(model: Any) -> None:
    model.script = always(content="I know that already.")
    assert find(reader(model), "gulls") == []
