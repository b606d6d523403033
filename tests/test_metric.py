"""The metric through ``evaluate``: the numbers of ``pmb_hf.score``, errors that name places."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import corpora
import datasets
import evaluate
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pmb_hf
from pmb_hf.corpus import load_corpus
from pmb_hf.expectations import expectations
from pmb_hf.leaderboard.answers import answer_rows
from pmb_hf.leaderboard.tables import result_rows
from pmb_hf.records import LOST_KINDS, NOISE_KINDS
from pmb_hf.report import Report, judge
from pmb_hf.report_reader import read_report
from pmb_hf.rows import expectation_from_row, expectation_to_row, retrieval_from_row
from pmb_hf.rules import RULES
from pmb_hf.runner import run

METRIC = Path(__file__).resolve().parent.parent / "metric" / "precisionmembench"

Rows = list[dict[str, Any]]
Load = Callable[[str], Any]

# Every column that a case can require something in.
FULL: dict[str, Any] = {
    "case_id": "full",
    "category": "Ranking stability",
    "pass_kind": "active",
    "relevant_must_include": ["a", "b"],
    "relevant_must_exclude": ["x"],
    "relevant_should_only_include": None,
    "relevant_ordered_before": [["a", "b"]],
    "pinned_must_include": ["p", "q"],
    "pinned_must_exclude": ["r"],
    "pinned_ordered_before": [["p", "q"]],
    "questions_must_include": ["w"],
    "questions_must_exclude": ["v"],
    "questions_should_only_include": ["w"],
    "prelude_non_empty": True,
    "prelude_is_null": None,
    "prelude_contains": ["brief"],
    "prelude_must_not_contain": ["long"],
    "must_not_surface": ["n"],
    "drift_beliefs": ["n"],
    "changed_beliefs": ["a"],
    "retired_beliefs": ["old"],
    "eligible_beliefs": ["a", "b"],
    "drifting_beliefs": ["n"],
    "pinned_beliefs": ["p", "q", "r"],
    "question_beliefs": ["w", "v"],
    "superseded_beliefs": ["old"],
    "resolved_beliefs": ["done"],
    "other_scope_beliefs": ["far"],
    "other_user_beliefs": ["x"],
}


def wanted(case_id: str, *gold: str, **columns: Any) -> dict[str, Any]:
    """A reference row that requires exactly ``gold``."""
    return {"case_id": case_id, "relevant_should_only_include": [*gold], **columns}


def given_(case_id: str, *ids: Any, **fields: Any) -> dict[str, Any]:
    """A prediction row that returned ``ids``."""
    return {"case_id": case_id, "relevant_beliefs": [*ids], **fields}


def references(corpus: Any, config: str) -> Rows:
    """The corpus's reference rows of one config."""
    return [
        expectation_to_row(expected)
        for (_, turn), expected in expectations(corpus).items()
        if (turn is None) == (config == "retrieval")
    ]


@pytest.fixture(scope="module")
def load() -> Load:
    """Loads a config of the metric anew."""
    return lambda config: evaluate.load(str(METRIC), config)


@pytest.fixture(scope="module")
def metric(load: Load) -> Any:
    """The retrieval config."""
    return load("retrieval")


@pytest.fixture(scope="module")
def sessions(load: Load) -> Any:
    """The sessions config."""
    return load("sessions")


# ---------------------------------------------------------------- the same numbers


@pytest.fixture(scope="module")
def official(upstream_dir: Path) -> Any:
    return load_corpus("official", fixtures=upstream_dir / "fixtures")


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("config", ["retrieval", "sessions"])
def test_published_reports_score_alike(
    config: str, rules: str, upstream_dir: Path, official: Any, load: Load
) -> None:
    metric = load(config)
    rows = references(official, config)
    published = json.loads((upstream_dir / "expected.json").read_text(encoding="utf-8"))
    pattern = {"retrieval": "retrieval-report-*.json", "sessions": "session-*.json"}[config]
    files = sorted((upstream_dir / "reports").glob(pattern))
    assert len(files) == 8
    for file in files:
        predictions = [
            {
                "case_id": record.case_id,
                "turn_index": record.turn_index,
                "relevant_beliefs": list(record.relevant),
                "pinned_facts": None if record.pinned is None else list(record.pinned),
                "open_questions": None if record.questions is None else list(record.questions),
                "persona_prelude": record.prelude,
                "latency_ms": record.latency_ms,
                "status": record.status,
                "error": record.error,
            }
            for record in read_report(file).records
        ]
        result = metric.compute(predictions=predictions, references=rows, rules=rules)
        assert result == pmb_hf.score(predictions, rows, rules=rules), file.name
        figures = published[file.stem]
        if rules == "spec":
            assert result["mean_precision"] == figures["spec"]["mean_precision"]
            assert result["n_precision"] == figures["spec"].get("n", 43)
        else:
            assert result["mean_precision"] == figures["upstream"]["meanPrecision"]
        passed = figures.get("turns_passed", figures.get("passed"))
        assert result["passed"] == passed, file.name


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("config", ["retrieval", "sessions"])
def test_native_corpus_scores_alike(config: str, rules: str, load: Load) -> None:
    rows = references(load_corpus("native"), config)
    predictions = [
        {
            "case_id": row["case_id"],
            "turn_index": row.get("turn_index"),
            "relevant_beliefs": (row["gold"] + row["eligible_beliefs"])[: number % 5],
            "pinned_facts": row["pinned_must_include"] if number % 2 else None,
            "open_questions": row["questions_must_include"] if number % 3 else [],
            "persona_prelude": [None, "", "Brief answers."][number % 3],
            "latency_ms": number or None,
        }
        for number, row in enumerate(rows)
    ]
    scored = load(config).compute(
        predictions=predictions[::-1], references=rows, rules=rules, return_cases=True
    )
    cases = scored.pop("cases")
    expected = pmb_hf.score(predictions, rows, rules=rules)
    assert len(cases) == expected.pop("cases")
    assert scored == expected
    assert [(c["case_id"], c["turn_index"]) for c in cases] == [
        (r["case_id"], r.get("turn_index")) for r in rows
    ]
    for case in cases:
        assert case["passed"] == (not case["failures"])
    for kind in NOISE_KINDS:
        assert sum(c[f"noise_{kind}"] for c in cases) == scored[f"noise_{kind}"]
    for kind in LOST_KINDS:
        assert sum(c[f"lost_{kind}"] for c in cases) == scored[f"lost_{kind}"]
    assert json.loads(json.dumps(cases, allow_nan=False)) == cases


@pytest.mark.parametrize("provider", ["bm25", "everything", "empty"])
@pytest.mark.parametrize("config", ["retrieval", "sessions"])
def test_the_rows_of_a_run_come_to_the_figures_of_its_report(
    config: str, provider: str, load: Load
) -> None:
    corpus = load_corpus("native")
    report = run(provider, corpus)
    evaluation = judge(report, corpus)
    turns = config == "sessions"
    rows = [
        row for row in result_rows_of(report, corpus) if (row["turn_index"] is not None) == turns
    ]
    if not turns:
        rows = [{k: v for k, v in row.items() if k != "turn_index"} for row in rows]
    result = load(config).compute(predictions=rows, references=references(corpus, config))
    assert result == (evaluation.session if turns else evaluation.retrieval)
    assert sum(result[f"lost_{kind}"] for kind in LOST_KINDS) > 0
    assert result["lost_not_in_tier"] == 0


def result_rows_of(report: Report, corpus: Any) -> Rows:
    """The rows that an export publishes of a run."""
    evaluations = {"spec": judge(report, corpus)}
    answers = answer_rows("run", evaluations, corpus)
    row = {"id": "run", "provider": report.provider, "corpus": "native"}
    every = (*evaluations["spec"].cases, *evaluations["spec"].turns)
    return result_rows(row, "spec", every, answers, texts=True)


ANSWERS = st.fixed_dictionaries(
    {"relevant_beliefs": st.lists(st.sampled_from("abnxpé∅"), max_size=6)},
    optional={
        "pinned_facts": st.none() | st.lists(st.sampled_from("pqr"), max_size=3),
        "open_questions": st.none() | st.lists(st.sampled_from("wv"), max_size=2),
        "persona_prelude": st.none() | st.sampled_from(["", "brief", "LONG and brief"]),
        "latency_ms": st.none() | st.floats(0, 1e6) | st.integers(0, 10**6),
        "returned_beliefs": st.none() | st.lists(st.sampled_from("abnxpé∅"), max_size=4),
        "limit": st.none() | st.integers(0, 5),
        "status": st.sampled_from([None, "ok", "error", "timeout"]),
        "error": st.none() | st.text(st.characters(codec="utf-8"), max_size=5),
        "extra": st.integers(),
    },
)


@settings(max_examples=25)
@given(answers=st.lists(ANSWERS, max_size=4), rules=st.sampled_from(sorted(RULES)))
def test_what_passes_through_arrow_is_unharmed(metric: Any, answers: Rows, rules: str) -> None:
    rows = [{**FULL, "case_id": str(n), "unused": {"deep": [n]}} for n in range(4)]
    predictions = [{"case_id": str(n), **answer} for n, answer in enumerate(answers)]
    result = metric.compute(
        predictions=predictions, references=rows, rules=rules, on_missing="miss"
    )
    assert result == pmb_hf.score(predictions, rows, rules=rules, on_missing="miss")


def test_every_column_that_is_read_is_stored(metric: Any, sessions: Any) -> None:
    class Recorder(dict[str, Any]):
        asked: ClassVar[set[str]] = set()

        def get(self, key: str, default: Any = None) -> Any:
            self.asked.add(key)
            return super().get(key, default)

    for read, side in ((expectation_from_row, "references"), (retrieval_from_row, "predictions")):
        Recorder.asked.clear()
        read(Recorder(FULL | {"relevant_beliefs": []}))
        needed = Recorder.asked | ({"relevant_should_only_include"} & set(metric.features[side]))
        assert set(sessions.features[side]) == needed
        assert set(metric.features[side]) == needed - {"turn_index"}
    assert set(metric.features["references"]) == set(FULL)


@pytest.mark.parametrize("column", sorted(set(FULL) - {"case_id"}))
def test_each_column_alone_scores_alike(metric: Any, sessions: Any, column: str) -> None:
    bare = {"case_id": "full", "relevant_should_only_include": None, column: FULL[column]}
    answer = {
        "case_id": "full",
        "relevant_beliefs": ["b", "a", "n", "x", "old", "done", "far"],
        "pinned_facts": ["q", "p", "r"],
        "open_questions": ["v"],
        "persona_prelude": "long",
    }
    turn = {"turn_index": 0}
    for rules in RULES:
        got = metric.compute(predictions=[answer], references=[bare], rules=rules)
        assert got == pmb_hf.score([answer], [bare], rules=rules)
        got = sessions.compute(predictions=[answer | turn], references=[bare | turn], rules=rules)
        assert got == pmb_hf.score([answer | turn], [bare | turn], rules=rules)


# ---------------------------------------------------------------- ways to give rows


def tiny(config: str) -> tuple[Rows, Rows]:
    rows = references(corpora.parsed(), config)
    predictions = [
        {"case_id": r["case_id"], "relevant_beliefs": r["gold"]}
        | ({"turn_index": r["turn_index"]} if config == "sessions" else {})
        for r in rows
    ]
    return predictions[::-1], rows


@pytest.mark.parametrize("config", ["retrieval", "sessions"])
def test_all_ways_to_give_rows_agree(config: str, load: Load) -> None:
    metric = load(config)
    predictions, rows = tiny(config)
    expected = pmb_hf.score(predictions, rows)
    assert metric.compute(predictions=predictions, references=rows) == expected

    for prediction, reference in zip(predictions, rows, strict=True):
        metric.add(prediction=prediction, reference=reference)
    assert metric.compute() == expected

    for reference in rows:
        metric.add(reference=reference)
    metric.add_batch(predictions=predictions[:1])
    metric.add_batch(predictions=iter(predictions[1:]))
    assert metric.compute() == expected

    metric.add_batch(predictions=predictions[:2], references=rows[:1])
    assert metric.compute(predictions=predictions[2:], references=rows[1:]) == expected

    metric.add_batch(predictions=predictions)
    assert metric.compute(references=rows) == expected

    def stream() -> Iterator[dict[str, Any]]:
        yield from rows

    assert metric.compute(predictions=iter(predictions), references=stream()) == expected
    as_dataset = datasets.Dataset.from_list(rows)
    assert metric.compute(predictions=predictions, references=as_dataset) == expected
    formatted = as_dataset.with_format("numpy")
    assert metric.compute(predictions=predictions, references=formatted) == expected
    streamed = as_dataset.to_iterable_dataset()
    assert metric.compute(predictions=predictions, references=streamed) == expected
    as_rows = datasets.Dataset.from_list(predictions)
    assert metric.compute(predictions=as_rows, references=as_dataset) == expected


def test_rows_of_the_dataset_are_references() -> None:
    from pmb_hf.builder import features
    from pmb_hf.dataset_rows import rows

    for config in ("retrieval", "sessions"):
        made = rows(load_corpus("native"), config)
        data = datasets.Dataset.from_list(made, features=features(config))
        metric = evaluate.load(str(METRIC), config)
        predictions = [
            {k: r[k] for k in ("case_id", "turn_index") if k in r} | {"relevant_beliefs": r["gold"]}
            for r in made
        ]
        result = metric.compute(predictions=predictions, references=data)
        assert result == pmb_hf.score(predictions, made)
        assert result["mean_precision"] == 1.0


def test_in_memory() -> None:
    metric = evaluate.load(str(METRIC), "retrieval", keep_in_memory=True)
    predictions, rows = tiny("retrieval")
    for _ in range(2):
        result = metric.compute(predictions=predictions, references=rows)
        assert result == pmb_hf.score(predictions, rows)
        with pytest.raises(ValueError, match="no prediction for"):
            metric.compute(predictions=predictions[:1], references=rows)


def test_combine(load: Load) -> None:
    predictions, rows = tiny("retrieval")
    expected = pmb_hf.score(predictions, rows)
    twice = evaluate.combine({"one": load("retrieval"), "two": load("retrieval")})
    result = twice.compute(predictions=predictions, references=rows, rules="spec")
    assert {k.removeprefix("one_"): v for k, v in result.items() if k[:4] == "one_"} == expected
    assert {k.removeprefix("two_"): v for k, v in result.items() if k[:4] == "two_"} == expected

    alone = evaluate.combine([load("retrieval")])
    for prediction, reference in zip(predictions, rows, strict=True):
        alone.add(prediction=prediction, reference=reference)
    assert alone.compute() == expected
    alone.add_batch(predictions=predictions, references=rows)
    assert alone.compute() == expected
    prefixed = evaluate.combine([load("retrieval")], force_prefix=True)
    assert set(prefixed.compute(predictions=predictions, references=rows)) == {
        f"precisionmembench_{key}" for key in expected
    }


@pytest.mark.parametrize("return_cases", [False, True])
def test_save(metric: Any, tmp_path: Path, return_cases: bool) -> None:
    predictions, rows = tiny("retrieval")
    result = metric.compute(predictions=predictions, references=rows, return_cases=return_cases)
    assert all(v is None or type(v) in (int, float) for k, v in result.items() if k != "cases")
    path = evaluate.save(tmp_path / "result.json", **result)
    saved = json.loads(path.read_text(encoding="utf-8"))
    assert {key: saved[key] for key in result} == result


def test_inputs_are_left_as_they_were(metric: Any) -> None:
    predictions, rows = tiny("retrieval")
    before = json.dumps([predictions, rows])
    metric.compute(predictions=predictions, references=rows)
    assert json.dumps([predictions, rows]) == before


# ---------------------------------------------------------------- known faults of others


def test_a_repeated_id_counts_once(metric: Any) -> None:
    result = metric.compute(predictions=[given_("c", "a", "a")], references=[wanted("c", "a")])
    assert (result["mean_precision"], result["mean_recall"], result["duplicates"]) == (1, 1, 1)


def test_a_missing_case_is_named_or_a_miss(metric: Any) -> None:
    predictions, rows = tiny("retrieval")
    missing = predictions.pop(3)["case_id"]
    with pytest.raises(ValueError, match=f"no prediction for case '{missing}'"):
        metric.compute(predictions=predictions, references=rows)
    result = metric.compute(predictions=predictions, references=rows, on_missing="miss")
    assert (result["cases"], result["errors"]) == (len(rows), 1)
    assert result == pmb_hf.score(predictions, rows, on_missing="miss")


def test_no_predictions_at_all(metric: Any) -> None:
    with pytest.raises(ValueError, match="no prediction for case 'c'"):
        metric.compute(predictions=[], references=[wanted("c", "a")])
    with pytest.raises(ValueError, match="there are no references"):
        metric.compute(predictions=[given_("c", "a")], references=[])


def test_an_extra_or_repeated_case_is_named(metric: Any) -> None:
    rows = [wanted("c", "a")]
    with pytest.raises(ValueError, match="no reference for prediction 'd'"):
        metric.compute(predictions=[given_("c"), given_("d")], references=rows)
    with pytest.raises(ValueError, match="prediction 'c' is there more than once"):
        metric.compute(predictions=[given_("c"), given_("c")], references=rows)
    with pytest.raises(ValueError, match="reference 'c' is there more than once"):
        metric.compute(predictions=[given_("c")], references=rows * 2)


def test_a_crash_is_no_right_abstention(metric: Any) -> None:
    crash = {"case_id": "c", "status": "error", "error": "503"}
    for answer in (crash, {**crash, "relevant_beliefs": []}):
        result = metric.compute(predictions=[answer], references=[wanted("c")], return_cases=True)
        assert (result["passed"], result["errors"], result["abstention_rate"]) == (0, 1, 0)
        assert result["cases"][0]["failures"] == ["error: 503"]


def test_empty_gold_leaves_its_neighbours_alone(metric: Any) -> None:
    golds, answers = [["a"], [], ["b"]], [["a"], ["c"], ["b"]]
    cases = metric.compute(
        predictions=[given_(str(n), *ids) for n, ids in enumerate(answers)],
        references=[wanted(str(n), *ids) for n, ids in enumerate(golds)],
        return_cases=True,
    )["cases"]
    assert [case["recall"] for case in cases] == [1, None, 1]


def test_an_empty_answer_leaves_its_neighbours_alone(metric: Any) -> None:
    golds, answers = [["d"], ["c"], ["e"]], [["d"], [], ["e"]]
    cases = metric.compute(
        predictions=[given_(str(n), *ids) for n, ids in enumerate(answers)],
        references=[wanted(str(n), *ids) for n, ids in enumerate(golds)],
        return_cases=True,
    )["cases"]
    assert [case["precision"] for case in cases] == [1, 0, 1]
    assert [case["recall"] for case in cases] == [1, 0, 1]


@pytest.mark.parametrize("rows", [{}, {"predictions": [], "references": []}])
def test_nothing_at_all_is_one_clear_error(metric: Any, rows: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="there are no references; pass the rows of a dataset"):
        metric.compute(**rows)


def test_list_order_is_rank(metric: Any) -> None:
    result = metric.compute(
        predictions=[given_("c", "d1", "d2", "d3")], references=[wanted("c", "d3")]
    )
    assert (result["mean_first_relevant_rank"], result["mean_hit_at_1"]) == (3, 0)


def test_an_id_that_is_no_string_is_an_error(metric: Any) -> None:
    row = wanted("c", "1")
    for answer in ([1, 2], ["1", 2], [b"1"], [True], [["1"]]):
        bad = next(item for item in answer if not isinstance(item, str))
        with pytest.raises(ValueError, match="prediction 'c': 'relevant_beliefs' holds") as error:
            metric.compute(predictions=[given_("c", *answer)], references=[row])
        assert repr(bad) in str(error.value)
    with pytest.raises(ValueError, match="reference 'c': 'relevant_should_only_include' holds 1"):
        metric.compute(
            predictions=[given_("c", "1")],
            references=[{"case_id": "c", "relevant_should_only_include": [1]}],
        )


def test_a_case_id_that_is_a_belief_id_is_kept(metric: Any) -> None:
    result = metric.compute(predictions=[given_("a", "a")], references=[wanted("a", "a")])
    assert (result["cases"], result["passed"], result["mean_recall"]) == (1, 1, 1)


def test_the_empty_floor(metric: Any, official: Any) -> None:
    rows = references(official, "retrieval")
    empty = [
        {
            "case_id": row["case_id"],
            "relevant_beliefs": [],
            # What the harness answers, whatever the provider is.
            "pinned_facts": row["pinned_must_include"],
            "open_questions": row["questions_must_include"],
        }
        for row in rows
    ]
    result = metric.compute(predictions=empty, references=rows)
    assert (result["passed"], result["cases"], result["passed_active"]) == (34, 77, 0)
    assert (result["mean_precision"], result["mean_recall"], result["n_precision"]) == (0, 0, 43)


def test_a_near_miss_is_warned_about(metric: Any) -> None:
    row = wanted("c", "berth", eligible_beliefs=["berth"])
    with pytest.warns(UserWarning, match="'Berth' is not 'berth'"):
        result = metric.compute(predictions=[given_("c", "Berth")], references=[row])
    assert result["mean_recall"] == 0


# ---------------------------------------------------------------- what can't be read


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"case_id": None}, "case_id"),
        ({"case_id": 7}, "'case_id' is 7; it must be a string"),
        ({"relevant_beliefs": None}, "'c': 'relevant_beliefs' is missing"),
        ({"relevant_beliefs": "a"}, "'c': 'relevant_beliefs' is 'a'; it must be a list"),
        ({"relevant_beliefs": {"a": 1}}, "'relevant_beliefs' is .*; it must be a list"),
        ({"relevant_beliefs": ["a", None]}, "'c': 'relevant_beliefs' holds null"),
        ({"relevant_beliefs": ["\ud800"]}, "'c': 'relevant_beliefs' holds .*surrogates"),
        ({"pinned_facts": 3}, "'c': 'pinned_facts' is 3; it must be a list or null"),
        ({"open_questions": [3]}, "'c': 'open_questions' holds 3; it must be a string"),
        ({"persona_prelude": ["x"]}, "'c': 'persona_prelude' is .*must be a string or null"),
        ({"latency_ms": float("nan")}, "'c': 'latency_ms' is nan; it must be a finite number"),
        ({"latency_ms": float("inf")}, "'c': 'latency_ms' is inf"),
        ({"latency_ms": -1}, "'c': 'latency_ms' is -1"),
        ({"latency_ms": "3"}, "'c': 'latency_ms' is '3'; it must be a number or null"),
        ({"latency_ms": True}, "'c': 'latency_ms' is True"),
        ({"status": 200}, "'c': 'status' is 200; it must be a string or null"),
        ({"error": 503}, "'c': 'error' is 503; it must be a string or null"),
        ({"turn_index": 2}, "'c' is of a session turn .*'sessions'"),
    ],
)
def test_a_wrong_prediction_names_case_and_field(
    metric: Any, change: dict[str, Any], message: str
) -> None:
    rows = [wanted("b"), wanted("c", "a")]
    predictions = [given_("b"), {**given_("c", "a"), **change}]
    with pytest.raises(ValueError, match=message):
        metric.compute(predictions=predictions, references=rows)
    with pytest.raises(ValueError, match=message):
        metric.add(prediction=predictions[1])
    assert len(metric) == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"case_id": None}, "case_id"),
        ({"relevant_should_only_include": "a"}, "'relevant_should_only_include' is 'a'"),
        ({"relevant_must_include": [1]}, "'relevant_must_include' holds 1"),
        ({"relevant_ordered_before": ["ab"]}, "'relevant_ordered_before' holds 'ab'"),
        ({"relevant_ordered_before": [["a"]]}, "'relevant_ordered_before' holds .*a pair"),
        ({"pinned_ordered_before": [["a", 1]]}, "'pinned_ordered_before' holds 1"),
        ({"prelude_non_empty": "yes"}, "'prelude_non_empty' is 'yes'; it must be true or false"),
        ({"prelude_is_null": 1}, "'prelude_is_null' is 1"),
        ({"category": 5}, "'category' is 5"),
        ({"pass_kind": []}, "'pass_kind' is"),
        ({"other_user_beliefs": "x"}, "'other_user_beliefs' is 'x'"),
        ({"drift_beliefs": [None]}, "'drift_beliefs' holds null"),
    ],
)
def test_a_wrong_reference_names_case_and_column(
    metric: Any, change: dict[str, Any], message: str
) -> None:
    where = "" if "case_id" in change else "reference 'c': "
    with pytest.raises(ValueError, match=where + message):
        metric.compute(predictions=[given_("c")], references=[{**wanted("c", "a"), **change}])
    assert len(metric) == 0


def test_a_missing_column_is_named(metric: Any) -> None:
    needed = "reference 'c': column 'relevant_should_only_include' is missing"
    with pytest.raises(ValueError, match=needed):
        metric.compute(predictions=[given_("c")], references=[{"case_id": "c"}])
    with pytest.raises(ValueError, match="a reference has no usable 'case_id'"):
        metric.compute(predictions=[given_("c")], references=[{"id": "c"}])


def test_a_turn_without_an_index_is_named(sessions: Any) -> None:
    turn = {"turn_index": 0}
    with pytest.raises(ValueError, match="prediction 's': 'turn_index' is missing"):
        sessions.compute(predictions=[given_("s")], references=[wanted("s") | turn])
    with pytest.raises(ValueError, match="reference 's': 'turn_index' is missing"):
        sessions.compute(predictions=[given_("s") | turn], references=[wanted("s")])
    for wrong in ("0", 0.0, True):
        with pytest.raises(ValueError, match=r"'turn_index' is .*; it must be a whole number"):
            sessions.add(prediction=given_("s") | {"turn_index": wrong})
    with pytest.raises(ValueError, match="no prediction for case 's' turn 1"):
        sessions.compute(
            predictions=[given_("s") | turn],
            references=[wanted("s") | turn, wanted("s") | {"turn_index": 1}],
        )


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("abc", "references must be rows, such as a list of dicts, not a str"),
        (7, "references must be rows, such as a list of dicts, not a int"),
        ({"case_id": ["c"]}, "references must be rows, such as a list of dicts, not a dict"),
        (["c"], "a reference must be a row with named fields, not str"),
    ],
)
def test_what_holds_no_rows(metric: Any, rows: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        metric.compute(predictions=[given_("c")], references=rows)


def test_a_dataset_with_splits_wants_one_chosen(metric: Any) -> None:
    splits = datasets.DatasetDict(test=datasets.Dataset.from_list([wanted("c", "a")]))
    with pytest.raises(ValueError, match=r"choose a split: DatasetDict\['test'\]"):
        metric.compute(predictions=[given_("c")], references=splits)


def test_wrong_options(metric: Any) -> None:
    rows: dict[str, Any] = {"predictions": [given_("c")], "references": [wanted("c")]}
    with pytest.raises(ValueError, match="no rules are called 'strict'; choose one of: spec"):
        metric.compute(**rows, rules="strict")
    with pytest.raises(ValueError, match="on_missing must be 'error' or 'miss', not 'skip'"):
        metric.compute(**rows, on_missing="skip")
    with pytest.raises(TypeError, match="normalize"):
        metric.compute(**rows, normalize=True)
    assert metric.compute(**rows)["passed"] == 1


def test_an_error_leaves_nothing_behind(load: Load) -> None:
    metric = load("retrieval")
    rows, predictions = [wanted("b"), wanted("c", "a")], [given_("b"), given_("c", "a")]
    with pytest.raises(ValueError, match="no prediction for case 'c'"):
        metric.compute(predictions=predictions[:1], references=rows)
    directory = Path(metric.data_dir)
    assert not list(directory.glob("*.arrow"))
    metric.add_batch(predictions=predictions[:1], references=rows)
    with pytest.raises(ValueError, match="holds 1"):
        metric.add_batch(predictions=[predictions[1], given_("d", 1)])
    with pytest.raises(ValueError, match="no rules"):
        metric.compute(predictions=predictions[1:], rules="none")
    # The refused calls added nothing, and took away nothing.
    assert metric.compute(predictions=predictions[1:])["passed"] == 2
    assert not list(directory.glob("*.arrow"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert metric.compute(predictions=predictions, references=rows)["passed"] == 2


def test_two_instances_do_not_mix(load: Load) -> None:
    one, two = load("retrieval"), load("retrieval")
    one.add(prediction=given_("c", "a"), reference=wanted("c", "a"))
    two.add(prediction=given_("c", "b"), reference=wanted("c", "a"))
    assert (one.compute()["passed"], two.compute()["passed"]) == (1, 0)
