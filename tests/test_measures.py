"""Measures are declared: one for each number of a summary, with unit, range and definition."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scoring_kit import ALL_RULES, expectations, retrievals

from pmb_hf.measures import COUNT_OF, MEASURES, Measure
from pmb_hf.records import NOISE_KINDS, PASS_KINDS, CaseScore
from pmb_hf.scoring import score_case
from pmb_hf.summary import summarize

MEASURED = [*MEASURES.values()]
scores = st.lists(
    st.builds(score_case, expectations(), retrievals(), st.sampled_from(ALL_RULES)), max_size=5
)


def test_every_number_of_a_summary_is_declared() -> None:
    declared = {*MEASURES, *COUNT_OF.values()}
    assert {*summarize([])} == declared - {"latency_ratio"}  # that one is of two summaries


def test_every_noise_kind_and_pass_kind_is_declared() -> None:
    assert {f"noise_{kind}" for kind in NOISE_KINDS} <= {*MEASURES}
    assert {f"passed_{kind}" for kind in PASS_KINDS} <= {*MEASURES}


@pytest.mark.parametrize("measure", MEASURED, ids=lambda measure: measure.name)
def test_a_declaration_is_whole(measure: Measure) -> None:
    assert measure.name.isidentifier()
    assert measure.label
    assert measure.unit in {"rate", "count", "ms", "ratio", "rank"}
    assert measure.better in {"higher", "lower", "none"}
    assert measure.definition.endswith(".")
    assert measure.null
    assert measure.source
    assert (measure.unit == "ms") == measure.name.endswith("_ms")
    assert measure.unit != "rate" or (measure.low, measure.high) == (0.0, 1.0)


def test_names_and_labels_are_unique() -> None:
    assert len({measure.label for measure in MEASURED}) == len(MEASURED)
    assert all(name == measure.name for name, measure in MEASURES.items())


@given(scores)
def test_values_keep_to_their_declarations(rows: list[CaseScore]) -> None:
    summary = summarize(rows)
    for name in {*MEASURES} - {"latency_ratio"}:
        measure, value = MEASURES[name], summary[name]
        if value is None:
            assert measure.null != "never", name
            assert measure.n is not None, name
            assert summary[measure.n] == 0, name
        else:
            assert measure.low <= value, name
            assert measure.high is None or value <= measure.high, name
            assert measure.unit != "count" or isinstance(value, int), name
