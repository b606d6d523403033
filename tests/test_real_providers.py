"""Real memory systems in environments of their own, which pip makes once.

They lie in build/test-environments, or where PMB_TEST_ENVIRONMENTS says, and stay there.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from pmb_hf.corpus import load_corpus
from pmb_hf.errors import InputError, ProviderError
from pmb_hf.providers.environments.install import InstallError, install
from pmb_hf.providers.environments.places import ROOT_ENV
from pmb_hf.providers.environments.recipes import recipe
from pmb_hf.providers.protocol import Hit
from pmb_hf.providers.registry import create
from pmb_hf.report import judge
from pmb_hf.runner import run

pytestmark = pytest.mark.environment
ROOT = Path(__file__).resolve().parent.parent
HOME, WORK = "domain:home", "domain:work"
ANA, BEN = "ana", "ben"


def variant(name: str, *, in_ci: bool = True, **options: object) -> Any:
    marks = [] if in_ci else [pytest.mark.vendor]
    return pytest.param((name, options), marks=marks, id="-".join([name, *options]))


VARIANTS = (
    variant("mem0", threshold=0.0),
    variant("mem0", threshold=0.0, vector_store="faiss"),
    variant("langgraph"),
    variant("chroma", in_ci=False),
    variant("llama-index", in_ci=False),
)
SCOPED = (
    variant("mem0", threshold=0.0, scope_filter=True),
    variant("langgraph", scope_filter=True),
    variant("chroma", scope_filter=True, in_ci=False),
    variant("llama-index", scope_filter=True, in_ci=False),
)


@pytest.fixture(scope="module", autouse=True)
def environments() -> Iterator[None]:
    given = os.environ.get("PMB_TEST_ENVIRONMENTS")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ROOT_ENV, given or str(ROOT / "build" / "test-environments"))
        try:
            for name in ("mem0", "langgraph"):
                ensure(name)
        except InstallError as error:
            if "can't be reached" in str(error):
                pytest.skip("no package index can be reached to install mem0 and langgraph")
            raise
        yield


def ensure(name: str) -> None:
    """Make an environment if it is not there, or was made by another lock."""
    chosen = recipe(name)
    if install(chosen).lock != chosen.lock_hash:
        install(chosen, upgrade=True)


class Store:
    """A provider with fewer words to write."""

    def __init__(self, name: str, options: dict[str, object]) -> None:
        self.inner: Any = create(name, options)

    def row(self, belief: str, text: str, user: str, scopes: Sequence[str]) -> dict[str, Any]:
        return {
            "belief_id": belief,
            "user_id": user,
            "text": text,
            "aliases": (),
            "metadata": {"beliefId": belief, "scope": list(scopes)},
        }

    def add(self, belief: str, text: str, user: str = ANA, scopes: Sequence[str] = (HOME,)) -> None:
        self.inner.add(**self.row(belief, text, user, scopes))

    def update(self, belief: str, text: str, user: str = ANA) -> None:
        self.inner.update(**self.row(belief, text, user, (HOME,)))
        self.inner.wait_ready(belief_id=belief, user_id=user, timeout_s=10)

    def search(
        self, query: str, user: str = ANA, scopes: Sequence[str] = (HOME,), limit: int = 20
    ) -> list[Hit]:
        return list(self.inner.search(query=query, user_id=user, scopes=scopes, limit=limit))

    def ids(self, query: str, **asked: Any) -> list[str | None]:
        return [hit.id for hit in self.search(query, **asked)]


def opened(name: str, options: dict[str, object]) -> Iterator[Store]:
    ensure(name)
    store = Store(name, options)
    yield store
    store.inner.close()


@pytest.fixture(scope="module", params=VARIANTS)
def shared(request: pytest.FixtureRequest, environments: None) -> Iterator[Store]:
    yield from opened(*request.param)


@pytest.fixture
def store(shared: Store) -> Store:
    """A store that is empty."""
    shared.inner.reset()
    return shared


def test_it_tells_its_version_and_options(store: Store) -> None:
    assert store.inner.version.count(".") >= 1
    options = store.inner.options
    assert options["embedder"] == "wordllama"
    assert options["llm"] == "none"
    assert {"threshold", "top_k", "scope_filter"} <= set(options)


def test_ids_texts_and_ranks_come_back(store: Store) -> None:
    store.add("b-kiln", "The pottery kiln in the shed reaches cone six")
    store.add("b-bees", "Keeps two hives of bees behind the orchard")
    store.add("b-bees-2", "Keeps two hives of bees behind the orchard")  # no merging
    hits = store.search("How hot does the kiln get?")
    assert hits[0].id == "b-kiln"
    assert hits[0].text == "The pottery kiln in the shed reaches cone six"
    scores = [hit.score for hit in hits if hit.score is not None]
    assert scores == sorted(scores, reverse=True)
    assert set(store.ids("bee hives")[:2]) == {"b-bees", "b-bees-2"}


def test_users_do_not_see_each_other(store: Store) -> None:
    store.add("b-kiln", "The pottery kiln in the shed reaches cone six")
    store.add("b-kiln", "Rents a kiln at the arts centre", user=BEN)
    assert [hit.text for hit in store.search("kiln", user=BEN)] == [
        "Rents a kiln at the arts centre"
    ]
    assert store.ids("kiln") == ["b-kiln"]
    assert store.ids("kiln", user="nobody") == []
    store.inner.delete(belief_id="b-kiln", user_id=BEN)
    assert store.ids("kiln", user=BEN) == []
    assert store.ids("kiln") == ["b-kiln"]


def test_the_limit_is_honoured_below_and_beyond_any_default(store: Store) -> None:
    # mem0 swallows search(limit=…) and then returns its default of 20.
    for number in range(30):
        store.add(f"b-{number}", f"Boat number {number} lies at berth {number}")
    for limit in (1, 3, 25, 30):
        assert len(store.ids("a boat at its berth", limit=limit)) == limit
    assert len(store.ids("a boat at its berth", limit=50)) == 30
    assert store.ids("boat", limit=0) == []


def test_update_delete_and_adding_again(store: Store) -> None:
    store.add("b-kiln", "The pottery kiln reaches cone six")
    store.add("b-bees", "Keeps two hives of bees")
    store.update("b-kiln", "The kiln was sold to a school")
    assert [hit.text for hit in store.search("kiln") if hit.id == "b-kiln"] == [
        "The kiln was sold to a school"
    ]
    store.add("b-kiln", "The kiln is back")
    assert [hit.text for hit in store.search("kiln") if hit.id == "b-kiln"] == ["The kiln is back"]
    store.inner.delete(belief_id="b-kiln", user_id=ANA)
    store.inner.delete(belief_id="b-kiln", user_id=ANA)
    assert store.ids("kiln") in ([], ["b-bees"])
    with pytest.raises(ProviderError, match="b-kiln"):
        store.update("b-kiln", "Nothing to change")


def test_a_reset_leaves_nothing(store: Store) -> None:
    store.add("b-kiln", "The pottery kiln reaches cone six")
    store.add("b-kiln", "Rents a kiln", user=BEN)
    store.inner.reset()
    assert store.ids("kiln") == store.ids("kiln", user=BEN) == []
    store.inner.reset()
    store.add("b-new", "Another kiln")
    assert store.ids("kiln") == ["b-new"]


def test_odd_texts_are_taken(store: Store) -> None:
    store.add("b-é🍵", "Café in Zürich serves 抹茶, кофе and crème brûlée 🍵 ?!\"'()*")
    assert store.ids("crème brûlée?") == ["b-é🍵"]
    assert store.ids("  ") == []
    for query in ("?", '"', "NEAR(", "a" * 5000):
        store.search(query)


@pytest.mark.parametrize("chosen", SCOPED)
def test_the_scope_filter_is_the_systems_own(chosen: tuple[str, dict[str, object]]) -> None:
    for store in opened(*chosen):
        store.add("b-home", "The parser of the heating is written in Rust")
        store.add("b-work", "The parser is written in Rust", scopes=(WORK,))
        store.add("b-both", "Every parser is documented", scopes=(WORK, HOME))
        assert set(store.ids("parser")) == {"b-home", "b-both"}
        assert set(store.ids("parser", scopes=(WORK,))) == {"b-work", "b-both"}
        assert set(store.ids("parser", scopes=(WORK, HOME))) == {"b-home", "b-work", "b-both"}
        assert len(store.ids("parser", scopes=(WORK, HOME), limit=2)) == 2
        assert store.ids("parser", scopes=("domain:none",)) == []


def test_the_floor_of_mem0_is_what_the_report_says() -> None:
    corpus = load_corpus("native")
    returned = {}
    for threshold in ("0.0", "0.5"):
        report = run("mem0", corpus, parts=["retrieval"], options={"threshold": threshold})
        options = report.provenance["config"]["options"]
        assert options["threshold"] == float(threshold)
        scores = [r.score for record in report.records for r in record.results or ()]
        assert min(score for score in scores if score is not None) >= float(threshold)
        returned[threshold] = len(scores)
    assert returned["0.0"] > returned["0.5"]


@pytest.mark.parametrize("name", ["mem0", "langgraph"])
def test_a_run_has_no_failure_and_no_leak(name: str) -> None:
    corpus = load_corpus("native")
    report = run(name, corpus)
    evaluation = judge(report, corpus)
    assert {record.status for record in report.records} == {"ok"}
    assert {change.status for change in report.changes} == {"ok"}
    assert report.provenance["stopped"] is None
    assert report.can_update
    for summary in (evaluation.retrieval, evaluation.session):
        assert summary is not None
        assert summary["leaks"] == summary["unknown_ids"] == summary["over_limit"] == 0
        assert summary["mean_recall"] == 1.0
        assert summary["duplicates"] == 0
    assert report.ingestion is not None
    assert report.ingestion.visible_ms is not None


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"threshold": 1.5}, "threshold is 1.5"),
        ({"vector_store": "redis"}, "vector_store is 'redis'"),
        ({"infer": True}, "needs llm_model and llm_url"),
        ({"top_k": 0}, "top_k is 0"),
        ({"embedder": "no-such"}, "no-such"),
    ],
)
def test_options_of_mem0_that_are_wrong(options: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        create("mem0", options)


class Extractor(BaseHTTPRequestHandler):
    """A stub that speaks OpenAI's chat interface: each text becomes one fact, as it is."""

    asked: list[str]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        prompt = body["messages"][-1]["content"].partition("## New Messages")[2]
        text = prompt.partition("user: ")[2].partition("\n")[0]
        self.asked.append(text)
        facts = {"memory": [{"id": "0", "text": f"The user says: {text}"}] if text else []}
        message = {"role": "assistant", "content": json.dumps(facts)}
        answer = json.dumps(
            {
                "id": "1",
                "object": "chat.completion",
                "created": 1,
                "model": body["model"],
                "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
            }
        ).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *arguments: object) -> None:
        pass


def test_mem0_with_a_model_keeps_the_ids() -> None:
    asked: list[str] = []
    handler = type("Handler", (Extractor,), {"asked": asked})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/v1"
        options = {"infer": True, "llm_model": "stub", "llm_url": url}
        for store in opened("mem0", options):
            assert store.inner.options["llm"] == "stub"
            assert store.inner.options["infer"] is True
            store.add("b-kiln", "The pottery kiln reaches cone six")
            store.add("b-bees", "Keeps two hives of bees")
            assert asked == ["The pottery kiln reaches cone six", "Keeps two hives of bees"]
            best = store.search("pottery kiln")[0]
            assert (best.id, best.text) == (
                "b-kiln",
                "The user says: The pottery kiln reaches cone six",
            )
            store.update("b-kiln", "The kiln was sold to a school")
            texts = [hit.text for hit in store.search("kiln") if hit.id == "b-kiln"]
            assert texts == ["The user says: The kiln was sold to a school"]
            store.inner.delete(belief_id="b-kiln", user_id=ANA)
            assert "b-kiln" not in store.ids("kiln")
        server.shutdown()
