"""Heavy memory systems, run for real in their environments. Deselected unless asked for.

    pmb providers install NAME       (each of SYSTEMS)
    pytest -m vendor tests/test_vendors_live.py

A system without its environment fails its tests; `-k NAME` chooses one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

from pmb_hf.errors import ProviderError
from pmb_hf.providers import protocol
from pmb_hf.providers.loopback import Loopback
from pmb_hf.providers.protocol import AddRow
from pmb_hf.providers.registry import create

pytestmark = pytest.mark.vendor

SYSTEMS = ("graphiti", "hindsight", "yourmemory", "a-mem", "cognee")
DISTANCES = ("a-mem", "cognee")  # what they tell is a distance: no score
ANA, BEN = "ana", "Ben Ünï/2"
HOME, WORK = "domain:home", "domain:work"


def row(belief_id: str, text: str, user_id: str = ANA, scope: str = HOME) -> AddRow:
    metadata = {
        "beliefId": belief_id,
        "scope": [scope],
        "type": "preference",
        "canonicalName": belief_id,
        "pinned": False,
        "supersededBy": None,
        "participants": [],
    }
    return AddRow(belief_id=belief_id, user_id=user_id, text=text, aliases=(), metadata=metadata)


BELIEFS = (
    row("b-kiln", "The pottery kiln in the shed reaches cone six"),
    row("b-cello", "Practises the cello every day before breakfast"),
    row("b-bees", "Keeps two hives of bees behind the orchard"),
    row("b-rust", "The parser of the compiler is written in Rust", scope=WORK),
    row("b-kiln", "Rents a pottery kiln at the arts centre in Lisbon", user_id=BEN),
)


@pytest.fixture(scope="module", params=SYSTEMS)
def system(request: pytest.FixtureRequest) -> Iterator[tuple[str, Any]]:
    provider = create(request.param)
    yield request.param, provider
    protocol.close(provider)


@pytest.fixture
def filled(system: tuple[str, Any]) -> Any:
    _, provider = system
    provider.reset()
    for belief in BELIEFS:
        provider.add(**belief)
    provider.wait_ready(belief_id="b-rust", user_id=ANA, timeout_s=30)
    return provider


def find(provider: Any, query: str, user_id: str = ANA, limit: int = 20) -> list[str | None]:
    scopes = (HOME, WORK)
    hits = provider.search(query=query, user_id=user_id, scopes=scopes, limit=limit)
    return [hit.id for hit in hits]


def test_what_is_written_is_found_by_its_id(filled: Any, system: tuple[str, Any]) -> None:
    for belief in BELIEFS[:4]:
        assert find(filled, belief["text"])[0] == belief["belief_id"]
    hits = filled.search(query="pottery kiln", user_id=ANA, scopes=(HOME,), limit=1)
    assert hits[0].id == "b-kiln"
    assert hits[0].text == BELIEFS[0]["text"]
    assert (hits[0].score is None) == (system[0] in DISTANCES)


def test_what_it_is_run_with_is_told(system: tuple[str, Any]) -> None:
    name, provider = system
    assert provider.version
    assert {"embedder", "threshold", "top_k", "scope_filter", "llm"} <= set(provider.options)
    assert provider.options["llm"] == ("stub" if name == "a-mem" else "none")


def test_users_see_only_their_own(filled: Any) -> None:
    # Also the trap of two A-mems in one process, and of cognee without access control.
    hits = filled.search(query="pottery kiln", user_id=BEN, scopes=(HOME,), limit=20)
    assert [(hit.id, hit.text) for hit in hits] == [("b-kiln", BELIEFS[-1]["text"])]
    texts = {
        hit.text
        for query in ("pottery kiln", "arts centre in Lisbon", "cello")
        for hit in filled.search(query=query, user_id=ANA, scopes=(HOME, WORK), limit=20)
    }
    assert BELIEFS[-1]["text"] not in texts
    assert find(filled, "pottery kiln", "nobody") == []


def test_limit_is_honoured(filled: Any) -> None:
    query = "pottery kiln, cello, bees, parser"
    for limit in (0, 1, 2, 50):
        found = find(filled, query, limit=limit)
        assert len(found) <= limit
        assert len(set(found)) == len(found)


def test_update_and_delete(filled: Any) -> None:
    filled.update(**row("b-bees", "Sold the hives and breeds alpacas on the hill"))
    filled.wait_ready(belief_id="b-bees", user_id=ANA, timeout_s=30)
    found = filled.search(query="breeds alpacas on the hill", user_id=ANA, scopes=(HOME,), limit=5)
    assert [hit.id for hit in found].count("b-bees") == 1
    assert found[0].text == "Sold the hives and breeds alpacas on the hill"
    with pytest.raises(ProviderError, match="to update: add it first"):
        filled.update(**row("b-never", "Never written"))
    filled.delete(belief_id="b-bees", user_id=ANA)
    filled.delete(belief_id="b-bees", user_id=ANA)
    assert "b-bees" not in find(filled, "breeds alpacas on the hill")
    filled.delete(belief_id="b-kiln", user_id=ANA)
    assert find(filled, "pottery kiln", BEN) == ["b-kiln"]


def test_two_memories_of_one_text_stay_two_or_are_joined(filled: Any) -> None:
    text = "Bakes rye bread with a sourdough starter"
    filled.add(**row("b-bread", text))
    filled.add(**row("b-loaf", text))
    assert {"b-bread", "b-loaf"} <= set(find(filled, text))


@pytest.mark.parametrize(
    "query", ["kiln?", '"kiln', "AND", "kiln (", "@user:*", "* ^ ~ | \\", "🎉 kiln", "nul \0", " "]
)
def test_no_query_breaks_a_search(filled: Any, query: str) -> None:
    find(filled, query)


def test_texts_that_look_like_addresses_or_questions(filled: Any, system: tuple[str, Any]) -> None:
    texts = {"b-url": "https://example.invalid/page", "b-path": "/etc/hostname", "b-q": "Tea? Why?"}
    for belief_id, text in texts.items():
        filled.add(**row(belief_id, text))
    for belief_id, text in texts.items():
        is_refused = system[0] == "yourmemory" and belief_id == "b-q"
        assert (belief_id in find(filled, text)) != is_refused


def test_reset_leaves_nothing_and_can_start_again(filled: Any) -> None:
    filled.reset()
    for user_id in (ANA, BEN):
        assert find(filled, "pottery kiln", user_id) == []
    filled.reset()
    filled.add(**BELIEFS[0])
    filled.wait_ready(belief_id="b-kiln", user_id=ANA, timeout_s=30)
    assert find(filled, "pottery kiln") == ["b-kiln"]
    assert find(filled, "pottery kiln", BEN) == []


# --- what a floor does, and what is left ------------------------------------------------------


@pytest.mark.parametrize("name", ["graphiti", "hindsight", "yourmemory"])
def test_a_floor_decides_how_much_is_found(name: str) -> None:
    provider = create(name, {"threshold": 0.99})
    try:
        provider.reset()
        for belief in BELIEFS:
            provider.add(**belief)
        options = protocol.provider_options(provider)
        assert options["threshold"] == 0.99
        assert find(provider, "a musician who gets up early") == []
    finally:
        protocol.close(provider)


def test_amem_asks_the_model_that_is_named() -> None:
    service = Loopback()
    provider = create("a-mem", {"llm_url": service.url, "llm_model": "some-model"})
    try:
        provider.reset()
        provider.add(**BELIEFS[0])
        provider.add(**BELIEFS[1])
        assert protocol.provider_options(provider)["llm"] == "some-model"
        assert service.chats == 3, "a description of each, and whether the first should change"
    finally:
        protocol.close(provider)
        service.close()


@pytest.mark.parametrize("name", SYSTEMS)
def test_nothing_is_left_running(name: str) -> None:
    before = descendants()
    provider = create(name)
    try:
        provider.reset()
        provider.add(**BELIEFS[0])
        started = descendants() - before
        assert started
        servers = [pid for pid in started if b"postgres" in command(pid)]
        assert bool(servers) == (name == "hindsight")
        assert all(Path(f"/proc/{pid}").stat().st_uid != 0 for pid in servers)
    finally:
        protocol.close(provider)
    until = monotonic() + 20
    while (left := {pid for pid in started if Path(f"/proc/{pid}").exists()}) and (
        monotonic() < until
    ):
        sleep(0.1)
    assert not left, [command(pid) for pid in left]


def command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def descendants() -> set[int]:
    """All processes below this one."""
    parents: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(path.parent.name)] = int(
                path.read_text("utf-8").rpartition(")")[2].split()[1]
            )
        except OSError:
            continue
    found = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {os.getpid()}
