"""``score``: the metric's numbers without the evaluate library."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

import pmb_hf
from pmb_hf.errors import PmbError, PredictionError
from pmb_hf.evaluation import score, score_cases
from pmb_hf.rules import RULES, SPEC
from pmb_hf.summary import summarize

REFERENCES: list[dict[str, Any]] = [
    {"case_id": "kettle", "relevant_should_only_include": ["b1"], "category": "x"},
    {"case_id": "nothing", "relevant_should_only_include": [], "category": "y"},
]
PREDICTIONS: list[dict[str, Any]] = [
    {"case_id": "nothing", "relevant_beliefs": ["b2"]},
    {"case_id": "kettle", "relevant_beliefs": ["b1", "b2"], "latency_ms": 3},
]


def test_score() -> None:
    found = score(PREDICTIONS, REFERENCES)
    assert (found["cases"], found["passed"], found["mean_precision"]) == (2, 0, 0.5)
    assert (found["n_precision"], found["mean_recall"], found["abstention_rate"]) == (1, 1.0, 0.0)
    assert found["p50_latency_ms"] == 3.0
    assert pmb_hf.score is score


def test_rules_by_name_or_value() -> None:
    assert score(PREDICTIONS, REFERENCES, rules="spec") == score(
        PREDICTIONS, REFERENCES, rules=SPEC
    )
    upstream = score(PREDICTIONS, REFERENCES, rules="upstream-2026-06")
    assert (upstream["mean_precision"], upstream["n_precision"]) == (0.25, 2)


@pytest.mark.parametrize("rules", RULES)
def test_cases_come_in_the_order_of_the_references(rules: str) -> None:
    cases = score_cases(PREDICTIONS, REFERENCES, rules=rules)
    assert [case.case_id for case in cases] == ["kettle", "nothing"]
    assert summarize(cases) == score(PREDICTIONS, REFERENCES, rules=rules)


def test_datasets_rows_are_references(tmp_path: Any) -> None:
    datasets = pytest.importorskip("datasets")
    rows = datasets.Dataset.from_list([*REFERENCES])
    assert score(PREDICTIONS, rows) == score(PREDICTIONS, REFERENCES)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"predictions": PREDICTIONS[:1]}, "no prediction for case 'kettle'"),
        ({"predictions": []}, "no prediction for case 'kettle', case 'nothing'"),
        ({"references": []}, "there are no references"),
        ({"rules": "strict"}, "no rules are called 'strict'"),
        ({"on_missing": "drop"}, "on_missing must be 'error' or 'miss'"),
    ],
)
def test_errors_are_the_packages_own(change: dict[str, Any], message: str) -> None:
    given = {"predictions": PREDICTIONS, "references": REFERENCES} | change
    with pytest.raises(PredictionError, match=message) as error:
        score(**given)
    assert isinstance(error.value, PmbError)
    assert isinstance(error.value, ValueError)


def test_scoring_needs_the_standard_library_only() -> None:
    code = (
        "import sys, pmb_hf; pmb_hf.score([{'case_id': 'a', 'relevant_beliefs': []}],"
        " [{'case_id': 'a', 'relevant_should_only_include': []}]);"
        "print({'datasets', 'evaluate', 'pyarrow', 'numpy', 'httpx'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize(
    ("predictions", "references", "message"),
    [
        (None, [], "predictions must be rows, such as a list of mappings, not NoneType"),
        ([], None, "references must be rows, such as a list of mappings, not NoneType"),
        (5, [], "predictions must be rows, such as a list of mappings, not int"),
        ("ab", [], "a prediction must be a row with named fields, not str"),
        ([], {"case_id": "a"}, "a reference must be a row with named fields, not str"),
    ],
)
def test_what_is_no_list_of_rows_is_one_clear_error(
    predictions: Any, references: Any, message: str
) -> None:
    with pytest.raises(PredictionError, match=message):
        pmb_hf.score(predictions, references)
