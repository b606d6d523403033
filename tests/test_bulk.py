"""Writing many memories: in batches where that can be, never more than one batch at hand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmb_hf import bulk
from pmb_hf.corpus import load_corpus
from pmb_hf.deadline import Deadline, OutOfTimeError
from pmb_hf.errors import InputError, ProviderError
from pmb_hf.grow import Grown, Recipe
from pmb_hf.measured import Bulk, Ingestion
from pmb_hf.providers.fts5 import Fts5Provider
from pmb_hf.providers.protocol import AddRow
from pmb_hf.seeding import Seeder
from pmb_hf.wire import read_ingestion

CORPUS = load_corpus("native")


class Store:
    """Keeps what it is given, call by call."""

    def __init__(self) -> None:
        self.calls: list[list[str]] = []
        self.fails = False

    def reset(self) -> None:
        self.calls.clear()

    def add(self, **row: Any) -> None:
        if self.fails:
            raise RuntimeError("full")
        self.calls.append([row["belief_id"]])

    def search(self, **asked: Any) -> list[Any]:
        return []


class BulkStore(Store):
    def add_many(self, rows: Iterable[AddRow]) -> None:
        self.calls.append([row["belief_id"] for row in rows])
        if self.fails:
            raise RuntimeError("full")


def rows(count: int) -> Iterator[AddRow]:
    for number in range(count):
        yield AddRow(belief_id=f"b{number}", user_id="u", text="t", aliases=(), metadata={})


@given(st.integers(0, 25), st.integers(1, 9))
def test_batches_hold_everything_once_and_in_order(count: int, size: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bulk, "BATCH", size)
        store = BulkStore()
        found = bulk.write_many(store, rows(count), count)
    assert [i for call in store.calls for i in call] == [f"b{n}" for n in range(count)]
    assert (found.count, found.calls) == (count, len(store.calls))
    assert all(len(call) == size for call in store.calls[:-1])


def test_without_add_many_each_is_one_call() -> None:
    store = Store()
    found = bulk.write_many(store, rows(4), 4)
    assert (found.count, found.calls) == (4, 4)


def test_no_more_than_a_batch_is_read_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "BATCH", 3)
    read = 0

    def counted() -> Iterator[AddRow]:
        nonlocal read
        for row in rows(10):
            read += 1
            yield row

    class Careful(BulkStore):
        def add_many(self, rows: Iterable[AddRow]) -> None:
            super().add_many(rows)
            assert read <= 3 * len(self.calls)

    bulk.write_many(Careful(), counted(), 10)
    assert read == 10


@pytest.mark.parametrize("kind", [Store, BulkStore])
def test_a_failure_names_the_place(kind: type[Store]) -> None:
    store = kind()
    store.fails = True
    with pytest.raises(ProviderError, match=r"add of distractors from b0 on failed: .*full"):
        bulk.write_many(store, rows(2), 2)


def test_it_ends_in_time() -> None:
    with pytest.raises(OutOfTimeError, match="0 of 2 distractors"):
        bulk.write_many(Store(), rows(2), 2, Deadline(-1.0))


def test_distractors_come_before_the_seed_and_after_the_reset() -> None:
    store = BulkStore()
    store.calls.append(["left over"])
    grown = Grown(CORPUS, Recipe(7))
    ingestion = Seeder(store, distractors=grown).seed(CORPUS.beliefs)
    assert store.calls[0] == [belief.id for belief in grown.beliefs()]
    assert [call[0] for call in store.calls[1:]] == [belief.id for belief in CORPUS.beliefs]
    assert ingestion.bulk
    assert ingestion.bulk.count == 7
    assert len(ingestion.per_belief) == len(CORPUS.beliefs)


def test_a_real_store_holds_both() -> None:
    store = Fts5Provider()
    Seeder(store, namespace="n-", distractors=Grown(CORPUS, Recipe(40))).seed(CORPUS.beliefs)
    found = {
        hit.id
        for query in ("DSM", "hives")
        for hit in store.search(
            query=query, user_id="n-maren", scopes=["domain:theatre", "domain:allotment"], limit=99
        )
    }
    assert {"b-petra", "b-hives"} <= found


@given(st.integers(1, 10**9), st.integers(1, 10**6), st.floats(0, 1e9))
def test_the_wire_form_comes_back(count: int, calls: int, total: float) -> None:
    ingestion = Ingestion((("b", 1.5),), 2.0, Bulk(count, calls, round(total, 2)))
    assert read_ingestion(ingestion.to_wire(), "here") == ingestion
    assert "distractors" not in Ingestion().to_wire()


def test_a_damaged_wire_form_is_named() -> None:
    wire = Ingestion((), None, Bulk(1, 1, 1.0)).to_wire()
    wire["distractors"]["calls"] = "many"
    with pytest.raises(InputError, match=r"here\.distractors\.calls"):
        read_ingestion(wire, "here")
