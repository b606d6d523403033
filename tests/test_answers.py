"""What a provider returns, however odd: within limits, or a named status."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import corpora
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmb_hf.answers import (
    MAX_IDS_TEXT,
    BadAnswerError,
    TooLargeAnswerError,
    hits_of,
    merge_by_rank,
    resolve,
)
from pmb_hf.providers.http_wire import results_of
from pmb_hf.providers.protocol import MAX_ID, MAX_RESULTS, Hit
from pmb_hf.report import MAX_BYTES
from pmb_hf.report_reader import read_report
from pmb_hf.runner import run


class Endless(Sequence[Hit]):
    """It says that it is short and never ends."""

    def __getitem__(self, index: Any) -> Any:
        return Hit(f"b{index}")

    def __len__(self) -> int:
        return 1


class Unshowable:
    def __repr__(self) -> str:
        raise RuntimeError("no")


class Shouting(str):
    def __str__(self) -> str:
        return self.upper()

    def __len__(self) -> int:
        return 0


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (Endless(), "more than 10000 hits"),
        ([Hit("b")] * (MAX_RESULTS + 1), "more than 10000 hits; return at most as many as"),
        ([Hit("a"), Hit("b" * (MAX_ID + 1))], "result 2 has an id of 513 characters"),
        ([Hit("b" * 5_000_000)], "result 1 has an id of 5000000 characters; at most 512 are"),
        ([Hit(None, metadata={"beliefId": "b" * 600})], "result 1 has an id of 600 characters"),
        ([Hit("b" * MAX_ID)] * 1025, "the ids of the first 1021 results take more than 512 KiB"),
        ([Hit("\x00" * MAX_ID)] * 200, "take more than 512 KiB"),
    ],
)
def test_too_much_is_too_large(answer: Any, says: str) -> None:
    with pytest.raises(TooLargeAnswerError, match=says) as caught:
        resolve(answer)
    assert caught.value.status == "too_large"


def test_the_limits_themselves_are_taken() -> None:
    assert len(resolve([Hit("b-123")] * MAX_RESULTS)) == MAX_RESULTS
    assert len(resolve([Hit("b" * MAX_ID)])[0].id) == MAX_ID


def test_a_service_has_the_same_limits() -> None:
    with pytest.raises(Exception, match="10001 results are more than 10000"):
        results_of({"results": [{"id": "b"}] * (MAX_RESULTS + 1)})
    with pytest.raises(Exception, match="over 512 characters"):
        results_of({"results": [{"id": "b" * (MAX_ID + 1)}]})


@pytest.mark.parametrize(
    "answer",
    [
        iter([Hit("a")]),
        {Hit("a")},
        {"results": []},
        bytearray(b"x"),
        [Hit(Unshowable())],  # type: ignore[arg-type]
        [Hit(None, metadata=["beliefId"])],  # type: ignore[arg-type]
        [Hit(None, metadata=5)],  # type: ignore[arg-type]
        [Hit(["x" * 10_000_000])],  # type: ignore[arg-type]
    ],
)
def test_what_is_no_answer_is_a_bad_answer_in_few_words(answer: Any) -> None:
    with pytest.raises(BadAnswerError) as caught:
        resolve(answer)
    assert len(str(caught.value)) < 300


def test_only_the_characters_of_an_id_count() -> None:
    (result,) = resolve([Hit(Shouting("quiet"))])
    assert (type(result.id), result.id) == (str, "quiet")
    with pytest.raises(TooLargeAnswerError):
        resolve([Hit(Shouting("x" * 600))])


@given(st.floats() | st.none() | st.text() | st.booleans() | st.integers() | st.just(10**400))
def test_scores_are_finite_or_null(score: Any) -> None:
    (result,) = resolve([Hit("a", score)])
    assert result.score is None or math.isfinite(result.score)


def test_several_answers_are_read_one_by_one() -> None:
    assert merge_by_rank([]) == []
    with pytest.raises(BadAnswerError):
        hits_of(None)
    with pytest.raises(BadAnswerError, match="result 2 must be a Hit, not str"):
        hits_of([Hit("a"), "b"])


class Flood:
    """As much as is taken of everything, for every query."""

    def reset(self) -> None: ...

    def add(self, **row: Any) -> None: ...

    def search(self, **asked: Any) -> list[Hit]:
        ids = (f"{asked['query'][:5]}-{'x' * 40}-{n}" for n in range(MAX_RESULTS))
        return [Hit(belief, 1 / (n + 3)) for n, belief in enumerate(ids)][: self.fits()]

    def fits(self) -> int:
        return MAX_IDS_TEXT // 60


def test_the_most_that_is_taken_can_be_read_again(tmp_path: Path) -> None:
    corpus, out = corpora.load(tmp_path / "corpus"), tmp_path / "r.json"
    report = run(Flood(), corpus, out=out)
    assert {record.status for record in report.records} == {"ok"}
    assert read_report(out).records == report.records
    asked = sum(record.limit is not None for record in report.records)
    # The official corpus and ours have 89 cases and turns.
    assert out.stat().st_size / asked * 89 < MAX_BYTES


class TooMuch(Flood):
    """More than is taken, of a kind that its turn names."""

    def __init__(self) -> None:
        self.turns: Iterator[list[Hit]] = iter(())

    def search(self, **asked: Any) -> list[Hit]:
        hits = next(self.turns, None)
        if hits is None:
            self.turns = iter(
                [
                    [Hit(str(n)) for n in range(100_000)],
                    [Hit("x" * 5_000_000)],
                    [Hit("y" * 500)] * 5000,
                ]
            )
            return [Hit("fine")]
        return hits


def test_too_much_is_a_status_of_its_case_and_the_report_stays_small(tmp_path: Path) -> None:
    corpus, out = corpora.load(tmp_path / "corpus"), tmp_path / "r.json"
    report = run(TooMuch(), corpus, out=out)
    statuses = [record.status for record in report.records if record.limit is not None]
    assert set(statuses) == {"ok", "too_large"}
    assert statuses.count("too_large") > statuses.count("ok")
    assert out.stat().st_size < 100_000
    assert read_report(out).records == report.records
