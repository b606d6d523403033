"""Sentences on ids, retries, repeats and load."""

from __future__ import annotations

import pytest

from pmb_hf.measured import Record
from pmb_hf.report import Report
from pmb_hf.tables.service import service_sentences


def report(*records: Record, **more: object) -> Report:
    return Report("x", "spec", records, **more)  # type: ignore[arg-type]


def test_nothing_to_say_of_a_plain_run() -> None:
    assert list(service_sentences(report(Record("a", "c")))) == []


def test_how_ids_were_told_and_retries() -> None:
    calls = {"calls": 9, "retries": 1, "resolved": {"id": 3, "metadata": 4, "stored": 0, "none": 2}}
    said = list(service_sentences(report(provenance={"calls": calls})))
    assert said == [
        ("1 call had to be made again.", True),
        ("Results were told apart 3 by id, 4 by metadata.", False),
        ("2 results came without an id that is known.", True),
    ]


def test_repeats() -> None:
    same = Record("a", "c", latency_ms=1.0, repeats_ms=(2.0, 4.0), stable=True)
    other = Record("b", "c", latency_ms=1.0, repeats_ms=(1.0,), stable=False)
    ((text, serious),) = service_sentences(report(same))
    assert not serious
    assert text.startswith("Asked 3 times, the list was the same in all 1 case.")
    assert text.endswith("Times of one query spread by 3.00 ms (median).")
    ((text, serious),) = service_sentences(report(same, other))
    assert serious
    assert "the list changed in 1 of 2 cases: b." in text


def test_load() -> None:
    load = {"concurrency": 4, "errors": 0, "perSecond": 812.4, "p95Ms": 3.4}
    assert list(service_sentences(report(load=load))) == [
        ("4 at a time: 812 searches a second, p95 3.40 ms.", False)
    ]
    down = {"concurrency": 4, "errors": 3, "perSecond": None, "p95Ms": None}
    assert list(service_sentences(report(load=down))) == [
        ("4 at a time: nothing answered, 3 errors.", True)
    ]


@pytest.mark.parametrize("odd", ["x", [5], {"a": 1}, None, 1.5, True])
def test_counts_that_are_none_are_left_out(odd: object) -> None:
    calls = {"retries": odd, "resolved": {"id": odd, "metadata": 3, "none": odd}}
    report = Report("x", "spec", (), provenance={"calls": calls})
    assert list(service_sentences(report)) == [("Results were told apart 3 by metadata.", False)]
