"""A provider behind HTTP: the same contract as in process, and the same figures."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from servers import Standin, standin

from pmb_hf.corpus import load_corpus
from pmb_hf.errors import InputError, NotReadyError, ProviderError, RunStoppedWarning
from pmb_hf.measured import Record
from pmb_hf.memories import memory_row
from pmb_hf.providers import protocol
from pmb_hf.providers.controls import EverythingProvider
from pmb_hf.providers.fts5 import Fts5Provider
from pmb_hf.providers.http import HttpProvider
from pmb_hf.providers.http_config import HttpConfig
from pmb_hf.providers.http_errors import (
    AnswerError,
    BrokenConnectionError,
    HttpStatusError,
    LeftoverError,
    UnsupportedError,
)
from pmb_hf.providers.http_secrets import Secrets
from pmb_hf.providers.protocol import AddRow, Provider
from pmb_hf.providers.registry import create
from pmb_hf.report import Report, judge
from pmb_hf.runner import run

HOME, WORK = "domain:home", "domain:work"


def row(belief_id: str, text: str, user_id: str = "ana", scope: str = HOME, **more: Any) -> AddRow:
    metadata = {"beliefId": belief_id, "scope": [scope], **more}
    return AddRow(
        belief_id=belief_id, user_id=user_id, text=text, aliases=["alias"], metadata=metadata
    )


ROWS = (
    row("b-kiln", "kiln: The pottery kiln reaches cone six", supersededBy=None),
    row("b-glaze", "glaze: Celadon glaze needs a slow cooling"),
    row("b-rust", "rust: The parser is written in Rust", scope=WORK),
    row("b-other", "kiln: Rents a kiln at the arts centre", user_id="ben"),
)


def connect(url: str, **options: Any) -> HttpProvider:
    values = {"timeout": 10.0, "retries": 0, **options}
    return HttpProvider(HttpConfig(url=url, **values), Secrets({}))


@pytest.fixture(scope="module")
def service() -> Iterator[Standin]:
    with standin() as running:
        yield running


@pytest.fixture(params=["in process", "over HTTP"])
def system(request: pytest.FixtureRequest, service: Standin) -> Iterator[Any]:
    if request.param == "in process":
        engine = Fts5Provider()
        protocol.add_all(engine, ROWS)
        yield engine
        engine.close()
        return
    provider = connect(service.url)
    provider.reset()
    protocol.add_all(provider, ROWS)
    yield provider
    provider.close()


def find(provider: Provider, query: str, user: str = "ana", *scopes: str, limit: int = 20) -> Any:
    hits = provider.search(query=query, user_id=user, scopes=scopes or (HOME, WORK), limit=limit)
    return [hit.id for hit in hits]


# --- the contract, in process and over HTTP ----------------------------------------------------


def test_fits_the_protocol(system: Any) -> None:
    assert isinstance(system, Provider)
    assert protocol.supports_update(system)
    assert protocol.supports_delete(system)
    assert protocol.supports_wait(system)
    assert protocol.provider_version(system)


def test_finds_what_was_written(system: Any) -> None:
    hit = system.search(query="celadon", user_id="ana", scopes=(HOME,), limit=5)[0]
    assert hit.id == "b-glaze"
    assert hit.text == ROWS[1]["text"]
    assert isinstance(hit.score, float)
    assert hit.metadata["scope"] == [HOME]


def test_users_and_scopes_are_apart(system: Any) -> None:
    assert find(system, "kiln") == ["b-kiln"]
    assert find(system, "kiln", "ben") == ["b-other"]
    assert find(system, "kiln", "cy") == []
    assert find(system, "rust", "ana", HOME) == []
    assert find(system, "rust", "ana", WORK) == ["b-rust"]


def test_limit(system: Any) -> None:
    assert len(find(system, "kiln glaze rust", limit=2)) == 2
    assert find(system, "kiln", limit=0) == []
    assert find(system, "kiln", limit=-1) == []


def test_update_takes_the_place_of_the_old(system: Any) -> None:
    system.update(**row("b-kiln", "oven: Bakes bread"))
    system.wait_ready(belief_id="b-kiln", user_id="ana", timeout_s=5)
    assert find(system, "kiln") == []
    assert find(system, "oven") == ["b-kiln"]


def test_delete_and_reset(system: Any) -> None:
    system.delete(belief_id="b-kiln", user_id="ana")
    assert find(system, "kiln") == []
    assert find(system, "kiln", "ben") == ["b-other"]
    system.reset()
    assert find(system, "kiln", "ben") == []
    system.add(**ROWS[0])
    assert find(system, "kiln") == ["b-kiln"]


@pytest.mark.parametrize(
    "text", ["naïve café 🎉 日本語", "a\0b\ttab\r\nline", "x" * 10_000, "", '"quoted" \\ {json}']
)
def test_any_text_can_be_written_and_asked_for(system: Any, text: str) -> None:
    system.add(**row("b-odd", f"odd {text}"))
    hit = system.search(query="odd", user_id="ana", scopes=(HOME,), limit=1)[0]
    assert (hit.id, hit.text) == ("b-odd", f"odd {text}")
    assert find(system, text)[:1] in ([], ["b-odd"])


# --- the whole benchmark -----------------------------------------------------------------------


def timeless(report: Report) -> tuple[list[Record], list[Any]]:
    return (
        [replace(record, latency_ms=None) for record in report.records],
        [replace(change, latency_ms=None, visible_ms=None) for change in report.changes],
    )


@pytest.mark.parametrize("rules", ["spec", "upstream-2026-06"])
def test_a_run_over_http_gives_what_a_run_in_process_gives(rules: str, tmp_path: Path) -> None:
    with standin() as service:
        out = tmp_path / "report.json"
        over = run(service.url, "native", rules=rules, out=out, options={"retries": 0})
    assert timeless(over) == timeless(run("fts5", "native", rules=rules))
    assert over.can_update
    assert over.provider == service.url
    # One client with one connection for a whole run.
    assert len(service.clients) == 1
    config = over.provenance["config"]
    assert config["providerVersion"] == "7.1"
    assert config["options"]["url"] == service.url
    assert config["options"]["timeout"] == 30.0


@pytest.mark.parametrize(
    ("traits", "resolved"),
    [
        ({"ids": "metadata"}, "metadata"),
        ({"ids": "snake"}, "metadata"),
        ({"ids": "own"}, "stored"),
        ({"ids": "own", "answers_add": "results"}, "stored"),
        ({"texts": False, "answers_add": "nothing"}, "id"),
        ({"wait": True, "visible_after_s": 0.05}, "id"),
    ],
)
def test_ids_are_resolved_however_they_come(traits: dict[str, Any], resolved: str) -> None:
    corpus = load_corpus("native")
    with standin(**traits) as service:
        provider = connect(service.url)
        report = run(provider, corpus)
        counts = provider.counts
        provider.close()
    assert timeless(report) == timeless(run("fts5", corpus))
    assert counts["resolved"][resolved] > 100
    assert sum(counts["resolved"].values()) == counts["resolved"][resolved]
    assert counts["retries"] == 0


def test_results_without_any_id_are_counted_and_kept() -> None:
    with standin(ids="none") as service:
        provider = connect(service.url)
        provider.add(**ROWS[0])
        hits = provider.search(query="kiln", user_id="ana", scopes=(HOME,), limit=5)
        assert [(hit.id, hit.text) for hit in hits] == [(None, ROWS[0]["text"])]
        assert provider.counts["resolved"] == {"id": 0, "metadata": 0, "stored": 0, "none": 1}
        report = run(provider, "native", ready_timeout_s=0, parts=["retrieval"])
        provider.close()
    answered = [record for record in report.records if record.results]
    assert answered
    assert {
        result.id.partition("-")[0] for record in answered for result in record.results or ()
    } == {"unresolved"}


def test_what_is_too_much_is_kept_as_it_came() -> None:
    with standin(repeats=3, ignores_user=True) as service:
        provider = connect(service.url)
        protocol.add_all(provider, ROWS)
        assert find(provider, "kiln", limit=2) == ["b-kiln", "b-other"] * 3
        provider.close()


def test_leaks_duplicates_and_excess_reach_the_report() -> None:
    corpus = load_corpus("native")
    with standin(repeats=2, ignores_user=True) as service:
        report = run(service.url, corpus, parts=["retrieval"], ready_timeout_s=5)
    summary = judge(report, corpus).retrieval
    assert summary is not None
    owners = {belief.id: belief.user_id for belief in corpus.beliefs}
    users = {case.case_id: case.user_id for case in corpus.cases}
    leaks = [
        result.id
        for record in report.records
        for result in record.results or ()
        if owners[result.id] != users[record.case_id]
    ]
    assert leaks
    assert summary["errors"] == 0


def test_three_of_77_searches_answer_503() -> None:
    corpus = load_corpus("native")
    with standin() as service:
        provider = connect(service.url)
        plain = run(provider, corpus, parts=["retrieval"])
        first = service.searches
        for number in (10, 20, 30):
            service.traits.fail[first + number] = (503, {}, '{"error": "overloaded"}')
        report = run(provider, corpus, parts=["retrieval"])
        provider.close()
    failed = [record for record in report.records if record.status != "ok"]
    assert [record.status for record in failed] == ["http_error"] * 3
    assert {record.error for record in failed} == {
        'POST /search: answered 503: {"error": "overloaded"}'
    }
    assert {record.relevant for record in failed} == {()}
    assert [r.status for r in plain.records] == ["ok"] * 77
    evaluation = judge(report, corpus)
    assert evaluation.retrieval is not None
    assert evaluation.retrieval["errors"] == 3
    assert evaluation.retrieval["cases"] == 77


def test_a_service_that_is_not_there() -> None:
    with standin() as service:
        url = service.url
    with pytest.raises(ProviderError, match="reset failed: DELETE /reset: can't connect to http"):
        run(url, "native", options={"retries": 1})
    provider = connect(url)
    assert provider.version is None
    with pytest.raises(BrokenConnectionError):
        find(provider, "kiln")


# --- ready before asked ------------------------------------------------------------------------


@pytest.mark.parametrize("wait", [True, False])
def test_writes_that_show_late_are_waited_for(wait: bool) -> None:
    with standin(visible_after_s=0.2, wait=wait) as service:
        report = run(service.url, "native")
        assert bool(service.names("POST /wait")) is True
        # Without it, it is asked for once only.
        assert (len(service.names("POST /wait")) > 1) is wait
    assert timeless(report) == timeless(run("fts5", "native"))
    assert report.ingestion is not None
    assert (report.ingestion.visible_ms or 0) >= 100
    assert all((change.visible_ms or 0) >= 100 for change in report.changes)


def test_writes_that_never_show_end_the_run() -> None:
    with standin(visible_after_s=3600) as service:
        with pytest.raises(NotReadyError, match=r"belief 'b-.*--ready-timeout"):
            run(service.url, "native", ready_timeout_s=0.2)
        # The setting of the provider comes first.
        with pytest.raises(NotReadyError, match=r"within 0\.1 s"):
            run(service.url, "native", options={"ready_timeout": 0.1})


def test_without_time_to_wait_nothing_is_waited_for() -> None:
    with standin(visible_after_s=3600) as service:
        report = run(service.url, "native", ready_timeout_s=0, parts=["retrieval"])
    assert report.ingestion is not None
    assert report.ingestion.visible_ms is None


def test_an_update_is_waited_for_by_its_text_and_its_state() -> None:
    with standin(visible_after_s=0.15) as service:
        provider = connect(service.url)
        provider.add(**ROWS[0])
        provider.wait_ready(belief_id="b-kiln", user_id="ana", timeout_s=5)
        provider.update(**row("b-kiln", "kiln: Sold the kiln", supersededBy=None))
        provider.wait_ready(belief_id="b-kiln", user_id="ana", timeout_s=5)
        hit = provider.search(query="kiln", user_id="ana", scopes=(HOME,), limit=1)[0]
        assert hit.text == "kiln: Sold the kiln"
        provider.update(**row("b-kiln", "kiln: Sold the kiln", supersededBy="b-new"))
        provider.wait_ready(belief_id="b-kiln", user_id="ana", timeout_s=5)
        hit = provider.search(query="kiln", user_id="ana", scopes=(HOME,), limit=1)[0]
        assert hit.metadata is not None
        assert hit.metadata["supersededBy"] == "b-new"
        with pytest.raises(InputError, match="never written"):
            provider.wait_ready(belief_id="b-nope", user_id="ana", timeout_s=5)
        provider.close()


def test_a_store_may_hide_what_is_superseded() -> None:
    with standin(engine=Fts5Provider(active_filter=True)) as service:
        report = run(service.url, "native", ready_timeout_s=5)
    assert timeless(report) == timeless(run("fts5", "native", options={"active_filter": True}))


def test_a_leftover_store_is_refused() -> None:
    with standin(resets=False) as service:
        # The first run finds it empty, the sessions find what it left: the cases stand.
        with pytest.warns(RunStoppedWarning, match="not empty before it is filled"):
            report = run(service.url, "native", ready_timeout_s=0.3)
        assert (len(report.cases), len(report.turns)) == (77, 0)
        assert "DELETE /reset" in report.provenance["stopped"]
        with pytest.raises(LeftoverError, match="not empty before it is filled") as caught:
            run(service.url, "native", ready_timeout_s=0.3, parts=["retrieval"])
        assert caught.value.status == "not_empty"
        # In a namespace of its own a run has an empty store.
        report = run(service.url, "native", namespace="fresh-", parts=["retrieval"])
        assert {record.status for record in report.records} == {"ok"}


def test_a_store_that_cannot_search_while_empty_is_no_leftover() -> None:
    with standin() as service:
        service.traits.fail = {n: (500, {}, "no index yet") for n in range(1, 5)}
        provider = connect(service.url)
        provider.check_empty(rows=ROWS, timeout_s=1)
        assert service.searches == 3
        provider.close()


def native_rows() -> list[AddRow]:
    return [memory_row(belief, user_id=belief.user_id) for belief in load_corpus("native").beliefs]


HTML: tuple[int, dict[str, str], str] = (200, {"content-type": "text/html"}, "<p>starting</p>")


def test_a_bad_answer_to_a_canary_or_readiness_search_is_asked_again() -> None:
    plain = run("fts5", "native")
    with standin() as service:
        provider = connect(service.url)
        provider.check_empty(rows=native_rows(), timeout_s=1)
        canary, service.searches = service.searches, 0
        provider.close()
        # The canary's first searches, then those for the last belief of the seed.
        service.traits.fail = {1: HTML, 2: (200, {}, "{}"), 3: (200, {}, '{"results": 7}')}
        service.traits.fail |= dict.fromkeys(range(canary + 4, canary + 7), HTML)
        report = run(service.url, "native", ready_timeout_s=5)
    assert timeless(report) == timeless(plain)
    assert report.provenance["stopped"] is None
    assert report.ingestion is not None
    assert report.ingestion.visible_ms is not None
    assert report.ingestion.visible_ms > 20


REFUSALS = [(code, {}, "not now") for code in (400, 401, 403, 404, 405, 409, 501)]


def test_a_search_that_hangs_or_is_refused_once_only_delays() -> None:
    plain = run("fts5", "native")
    with standin() as service:
        provider = connect(service.url)
        provider.check_empty(rows=native_rows(), timeout_s=1)
        canary, service.searches = service.searches, 0
        provider.close()
        ready = canary + 2
        service.traits.hang = {1: 4.0, ready: 4.0}
        service.traits.fail = dict(enumerate(REFUSALS, ready + 1))
        report = run(service.url, "native", ready_timeout_s=6)
        assert service.searches > ready + len(REFUSALS)
    assert timeless(report) == timeless(plain)
    assert report.provenance["stopped"] is None
    assert report.ingestion is not None
    assert report.ingestion.visible_ms is not None
    assert 500 < report.ingestion.visible_ms < 4000


def test_a_user_who_is_not_known_yet_is_asked_for_until_the_time_is_up() -> None:
    with standin() as service:
        provider = connect(service.url)
        provider.add(**ROWS[0])
        service.traits.fail = dict.fromkeys(range(1, 500), (404, {}, "no such user"))
        with pytest.raises(NotReadyError, match=r"'b-kiln' .*within 7 s.* answered 404"):
            provider.wait_ready(belief_id="b-kiln", user_id="ana", timeout_s=7)
        service.traits.fail = dict.fromkeys(range(1, 500), (401, {}, "who?"))
        with pytest.raises(NotReadyError, match=r"'b-kiln' .*within 5 s.* answered 401"):
            provider.wait_ready(belief_id="b-kiln", user_id="ana", timeout_s=60)
        provider.close()


def test_a_store_that_never_gives_a_usable_answer_is_named() -> None:
    with standin() as service:
        service.traits.fail = dict.fromkeys(range(1, 500), HTML)
        with pytest.raises(AnswerError, match="POST /search: answered 200, but") as canary:
            run(service.url, "native", ready_timeout_s=0.2)
        assert canary.value.status == "bad_answer"
        provider = connect(service.url)
        provider.add(**ROWS[0])
        with pytest.raises(NotReadyError, match=r"within 0\.2 s.*last attempt failed: POST"):
            provider.wait_ready(belief_id="b-kiln", user_id="ana", timeout_s=0.2)
        service.traits.fail = dict.fromkeys(range(1, 500), (401, {}, "who are you?"))
        with pytest.raises(NotReadyError, match=r"'b-kiln' .*within 0\.2 s.* answered 401"):
            provider.wait_ready(belief_id="b-kiln", user_id="ana", timeout_s=0.2)
        provider.close()


def test_namespaces_keep_two_runs_apart() -> None:
    corpus = load_corpus("native")
    alone = run(EverythingProvider(), corpus)
    reports: dict[str, Report] = {}
    with standin(engine=EverythingProvider()) as service:

        def go(namespace: str) -> None:
            reports[namespace] = run(
                service.url, corpus, namespace=namespace, options={"reset": "own"}
            )

        threads = [threading.Thread(target=go, args=(name,)) for name in ("a-", "b-")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not service.names("DELETE /reset")
        users = {body["user_id"] for body in service.names("POST /add")}
    assert {user[:2] for user in users} == {"a-", "b-"}
    assert timeless(reports["a-"]) == timeless(reports["b-"]) == timeless(alone)


# --- what a service can't do -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("traits", "action"),
    [
        ({"update": False}, "delete+add"),
        ({"update": False, "delete": False}, "none"),
        ({"health": {"capabilities": {"update": False, "delete": False}}}, "none"),
        ({"delete": False}, "update"),
    ],
)
def test_what_is_missing_is_found_out(traits: dict[str, Any], action: str) -> None:
    with standin(**traits) as service:
        report = run(service.url, "native", parts=["sessions"])
        asked = len(service.names("PUT /update"))
    updates = [change for change in report.changes if change.action != "add"]
    assert {change.action for change in updates} == {action}
    assert {change.status for change in report.changes} == {"ok"}
    assert report.can_update == (action != "none")
    assert asked == {"update": len(service.names("PUT /update"))}.get(
        action, 0 if "health" in traits else 1
    )


def test_told_abilities_are_not_found_out() -> None:
    with standin(update=False, delete=False) as service:
        provider = connect(service.url, supports_update=False, supports_delete=False)
        run(provider, "native", parts=["sessions"], ready_timeout_s=5)
        assert not service.names("PUT /update")
        assert not service.names("DELETE /delete")
        provider.close()


def test_unsupported_is_an_error_of_its_own() -> None:
    with standin(update=False, delete=False) as service:
        provider = connect(service.url)
        provider.add(**ROWS[0])
        with pytest.raises(UnsupportedError, match="PUT /update: answered 404") as caught:
            provider.update(**ROWS[0])
        assert caught.value.status == "unsupported"
        assert not protocol.supports_update(provider)
        with pytest.raises(UnsupportedError):
            provider.delete(belief_id="b-kiln", user_id="ana")
        assert not protocol.supports_delete(provider)
        # Once it has worked, 404 is only about one memory.
        service.traits.update = service.traits.delete = True
        provider.update(**ROWS[0])
        provider.delete(belief_id="b-kiln", user_id="ana")
        service.traits.update = service.traits.delete = False
        with pytest.raises(HttpStatusError, match="404"):
            provider.update(**ROWS[0])
        provider.delete(belief_id="b-kiln", user_id="ana")
        provider.close()


def test_scopes_one_by_one_are_merged_by_rank() -> None:
    with standin() as service:
        provider = connect(service.url, multi_scope=False)
        protocol.add_all(provider, ROWS)
        both = row("b-both", "kiln rust both")
        both = {**both, "metadata": {**both["metadata"], "scope": [HOME, WORK]}}  # type: ignore[typeddict-item]
        provider.add(**both)
        found = find(provider, "kiln rust", "ana", HOME, WORK)
        assert sorted(found) == ["b-both", "b-kiln", "b-rust"]
        assert len(find(provider, "kiln rust", "ana", HOME, WORK, limit=1)) == 1
        assert [body["scope"] for body in service.names("POST /search")] == [HOME, WORK] * 2
        provider.close()


def test_wire_is_what_the_contract_says() -> None:
    with standin(limit_param="top_k", prefix="/api/v1") as service:
        provider = create(service.url + "/", {"limit_param": "top_k"})
        provider.add(**row("b-x", "t", supersededBy="b-y", type="decision", pinned=True))
        provider.search(query="q", user_id="ana", scopes=(HOME,), limit=7)
        provider.search(query="q", user_id="ana", scopes=(HOME, WORK), limit=7)
        protocol.close(provider)
    assert service.names("POST /add") == [
        {
            "text": "t",
            "user_id": "ana",
            "aliases": ["alias"],
            "metadata": {
                "beliefId": "b-x",
                "scope": [HOME],
                "type": "decision",
                "pinned": True,
                "supersededBy": "b-y",
                "superseded_by": "b-y",
            },
        }
    ]
    one, several = service.names("POST /search")
    assert one == {"query": "q", "user_id": "ana", "top_k": 7, "scope": HOME}
    assert several["scope"] == [HOME, WORK]


def test_metadata_that_is_no_json_is_our_fault() -> None:
    with standin() as service:
        provider = connect(service.url)
        with pytest.raises(InputError, match="can't be sent as JSON"):
            provider.add(**row("b-x", "t", when=float("nan")))
        provider.close()


def test_seed_delay_is_kept_only_if_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr("pmb_hf.providers.http.time.sleep", slept.append)
    with standin() as service:
        for honour in (False, True):
            provider = connect(service.url, seed_delay_ms=1500, honour_seed_delay=honour)
            provider.add(**ROWS[0])
            for _ in range(2):
                provider.wait_ready(belief_id="b-kiln", user_id="ana", timeout_s=5)
            provider.close()
            assert slept == ([1.5] if honour else [])
