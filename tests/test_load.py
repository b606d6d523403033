"""Asking again and asking several at once, reported apart from the benchmark's figures."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Sequence
from typing import Any

import pytest

from pmb_hf.asking import Asker, queries_of
from pmb_hf.corpus import load_corpus
from pmb_hf.errors import InputError
from pmb_hf.load import measure_load
from pmb_hf.providers.fts5 import Fts5Provider
from pmb_hf.providers.protocol import Hit
from pmb_hf.report import judge
from pmb_hf.report_json import report_json
from pmb_hf.report_reader import parse_report
from pmb_hf.rules import SPEC
from pmb_hf.runner import run
from pmb_hf.states import seed


class Moody(Fts5Provider):
    """A real engine that turns every third answer round."""

    def __init__(self) -> None:
        super().__init__()
        self.number = itertools.count()

    def search(
        self, *, query: str, user_id: str, scopes: Sequence[str], limit: int
    ) -> Sequence[Hit]:
        hits = super().search(query=query, user_id=user_id, scopes=scopes, limit=limit)
        return list(reversed(hits)) if next(self.number) % 3 == 2 else hits


def test_a_deterministic_engine_is_stable() -> None:
    report = run("fts5", parts=["retrieval"], repeat=3)
    asked = [record for record in report.records if record.limit is not None]
    assert {record.stable for record in asked} == {True}
    assert {len(record.repeats_ms) for record in asked} == {2}
    assert {r.stable for r in report.records if r.limit is None} == {None}


def test_an_engine_that_changes_its_mind_is_not() -> None:
    report = run(Moody(), parts=["retrieval"], repeat=3)
    assert False in {record.stable for record in report.records}


def test_repeats_and_load_survive_the_file_and_do_not_move_the_figures() -> None:
    corpus = load_corpus("native")
    plain = run("fts5", corpus)
    measured = run("fts5", corpus, repeat=2, concurrency=4)
    text = report_json(measured, corpus)
    assert report_json(parse_report(json.loads(text)), corpus) == text
    ours, theirs = judge(measured, corpus).retrieval, judge(plain, corpus).retrieval
    assert ours is not None
    assert theirs is not None
    assert {k: v for k, v in ours.items() if "latency" not in k} == {
        k: v for k, v in theirs.items() if "latency" not in k
    }
    assert measured.load is not None
    assert (measured.load["concurrency"], measured.load["errors"]) == (4, 0)
    assert measured.load["searches"] == ours["n_latency"]
    assert measured.load["perSecond"] > 0
    assert plain.load is None


def test_so_many_searches_are_under_way_at_once() -> None:
    together = threading.Barrier(3, timeout=10)

    class Meeting(Fts5Provider):
        def search(self, **call: Any) -> Sequence[Hit]:
            together.wait()
            return super().search(**call)

    corpus = load_corpus("native")
    provider = Meeting()
    for belief in corpus.beliefs:
        provider.add(
            belief_id=belief.id,
            user_id=belief.user_id,
            text=belief.content,
            aliases=(),
            metadata={},
        )
    store = seed(corpus)
    queries = [query for query in queries_of(corpus) if query.text.strip()][:12]
    load = measure_load(Asker(provider, SPEC), queries, store, 3)
    assert (load["searches"], load["errors"]) == (12, 0)


def test_failures_under_load_are_counted() -> None:
    class Down(Fts5Provider):
        def search(self, **call: Any) -> Sequence[Hit]:
            raise ConnectionError("refused")

    corpus = load_corpus("native")
    load = measure_load(Asker(Down(), SPEC), queries_of(corpus), seed(corpus), 2)
    assert load["errors"] == load["searches"] > 0
    assert (load["perSecond"], load["p50Ms"], load["p95Ms"]) == (None, None, None)


@pytest.mark.parametrize("name", ["repeat", "concurrency"])
def test_less_than_one_is_refused(name: str) -> None:
    wrong: dict[str, Any] = {name: 0}
    with pytest.raises(InputError, match=f"{name} must be 1 or more"):
        run("fts5", **wrong)
