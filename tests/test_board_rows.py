"""The board: what is read of an export, how rows look, sort, compare and are kept apart."""

from __future__ import annotations

import copy
import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from space_kit import HOSTILE, SYSTEMS, report, tree, write

from pmb_hf.board import reader, wire
from pmb_hf.board.columns import COLUMNS, COMPACT, FULL, IDENTITY, choose, order, to_csv
from pmb_hf.board.model import APART, CONTROLS, INCOMPLETE, KINDS, PUBLISHED, Board, matching
from pmb_hf.board.reader import board_of, read_export
from pmb_hf.board.static import render
from pmb_hf.comparability import Entry
from pmb_hf.compare import compare
from pmb_hf.corpus import load_corpus
from pmb_hf.measures import MEASURES
from pmb_hf.report import judge


@pytest.fixture(scope="module")
def made() -> dict[str, Any]:
    return tree(SYSTEMS)


@pytest.fixture(scope="module")
def board(made: dict[str, Any]) -> Board:
    return board_of(made)


def rows(board: Board) -> list[Any]:
    return board.rows(*board.choose())


def test_systems_and_controls_are_read_under_each_set_of_rules(board: Board) -> None:
    assert board.problems == []
    (corpus,) = board.names()
    assert board.rules(corpus) == ["spec", "upstream-2026-06", "upstream-2026-09"]
    assert {row["name"] for row in rows(board)} == {*SYSTEMS, "empty", "everything", "oracle"}
    assert board.corpora[corpus]["sha256"] == load_corpus("native").sha256
    assert board.choices() == [("native", corpus)]


def test_choosing_what_is_not_there_falls_back(board: Board) -> None:
    assert board.choose("no such", "nor this") == board.choose()
    assert Board().choose() == ("", "")
    assert Board().rows("", "") == []


def test_figures_are_those_of_the_report(board: Board) -> None:
    found = next(row for row in rows(board) if row["name"] == "bm25")
    summary = judge(report("bm25"), load_corpus("native"), "spec").retrieval
    assert summary is not None
    for name in ("passed", "mean_precision", "n_precision", "noise_unrelated"):
        assert found["parts"]["retrieval"][name] == summary[name]
    shown = {column.id: column.shown(found) for column in choose(FULL)}
    assert shown["retrieval.passed"] == f"{summary['passed']} of 77"
    assert shown["retrieval.n_precision"] == "43"
    assert len(shown["retrieval.mean_precision"].partition(".")[2]) == 2


def test_all_means_have_their_n_in_the_full_view() -> None:
    ids = [column.id for column in choose(FULL)]
    for column in choose(FULL):
        measure = MEASURES.get(column.key)
        if column.what == "value" and measure and measure.unit in ("rate", "rank"):
            assert f"{column.part}.{measure.n}" in ids
    assert len(choose(COMPACT)) < len(choose(FULL))
    assert choose(COMPACT)[0].id == choose(FULL)[0].id == "name"


def test_chosen_columns_stand_in_their_order_and_unknown_ones_are_left_out() -> None:
    picked = choose(COMPACT, ["date", "no such column", "retrieval.mean_recall"])
    assert [column.id for column in picked] == ["name", "retrieval.mean_recall", "date"]
    assert choose(COMPACT, ["no such column"]) == choose(COMPACT)


def test_controls_come_last_whatever_the_order(board: Board) -> None:
    for column in COLUMNS:
        found = order(rows(board), column)
        controls = [row["control"] for row in found]
        assert controls == sorted(controls)
        assert len(found) == len(rows(board))


def test_a_column_sorts_from_better_to_worse(board: Board) -> None:
    key = COLUMNS["retrieval.p50_latency_ms"]
    values = [key.value(row) for row in order(rows(board), key.id) if not row["control"]]
    assert values == sorted(values, key=lambda value: float(value or 0))


def test_search_takes_all_words_and_kinds_hide_rows(board: Board) -> None:
    assert [row["name"] for row in matching(rows(board), "FTS5 sqlite")] == ["fts5"]
    assert matching(rows(board), "bm25 fts5") == []
    kept = [kind for kind in KINDS if kind != CONTROLS]
    assert {row["name"] for row in matching(rows(board), "", kept)} == set(SYSTEMS)


def test_published_rows_are_marked_and_not_ranked() -> None:
    board = board_of(tree(SYSTEMS, published=True))
    official = next(name for label, name in board.choices() if label == "official")
    found = board.rows(official, "upstream-2026-09")
    assert found
    assert all(row["published"] and not row["ranked"] for row in found)
    assert all("published by upstream" in row["marks_text"] for row in found)
    assert matching(found, "", [k for k in KINDS if k != PUBLISHED]) == []


def test_incomplete_and_not_comparable_rows_are_told_apart(made: dict[str, Any]) -> None:
    changed = copy.deepcopy(made)
    first, second = (row for row in changed["rows"] if row["provider"] in SYSTEMS)
    for row, what in ((first, "incomplete"), (second, "return cap")):
        for figures in row["scores"].values():
            figures["marks"] = [{"what": what, "text": f"why: {what}", "part": None}]
            for part in ("retrieval", "session"):
                figures[part]["ranked"] = False
    found = {row["full"]: row for row in rows(board_of(changed))}
    assert found[first["provider"]]["incomplete"]
    assert not found[first["provider"]]["apart"]
    assert found[second["provider"]]["apart"]
    for kind in (INCOMPLETE, APART):
        assert len(matching(found.values(), "", [k for k in KINDS if k != kind])) == 4


@pytest.mark.parametrize(
    "broken",
    [
        None,
        "text",
        7,
        [],
        {},
        {"id": 5},
        {"id": "x", "provider": "p", "corpus": "c", "source": "run", "scores": {"spec": None}},
        {
            "id": "x",
            "provider": "p",
            "corpus": "c",
            "source": "run",
            "scores": {"spec": {"marks": [], "retrieval": {"summary": {"passed": "many"}}}},
        },
        {
            "id": "x",
            "provider": ["p"],
            "corpus": "c",
            "source": "run",
            "scores": {"spec": {"marks": []}},
        },
    ],
)
def test_a_broken_row_costs_that_row(made: dict[str, Any], broken: Any) -> None:
    board = board_of({**made, "rows": [broken, *made["rows"]]})
    assert len(rows(board)) == len(made["rows"])
    assert len(board.problems) == 1
    assert "Row 1 of leaderboard.json is left out" in board.problems[0]


@pytest.mark.parametrize("broken", [None, {"run": "x"}, {"caseId": 1, "turnIndex": None}])
def test_a_broken_answer_or_case_costs_itself(made: dict[str, Any], broken: Any) -> None:
    corpora = copy.deepcopy(made["corpora"])
    corpora[0]["cases"].insert(0, {"caseId": "only"})
    board = board_of({**made, "corpora": corpora, "answers": [broken, *made["answers"]]})
    assert len(board.titles(board.choose()[0])) == 79
    assert len(board.answers) == 6  # two systems, three sets of rules
    assert {len(answers) for answers in board.answers.values()} == {89}


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"rows": 5}', "NaN", "[" * 100_000])
def test_a_file_that_is_no_board_gives_an_empty_one_that_says_so(tmp_path: Path, text: str) -> None:
    (tmp_path / "leaderboard.json").write_text(text, encoding="utf-8")
    board = read_export(tmp_path)
    assert not board.entries
    assert board.problems


def test_no_file_is_no_problem(tmp_path: Path) -> None:
    board = read_export(tmp_path / "missing")
    assert not board.entries
    assert not board.problems
    assert "missing" in board.origin


def test_names_are_shown_as_text_and_find_one_row() -> None:
    board = board_of(tree([*HOSTILE, HOSTILE[0]]))
    names = [row["name"] for row in rows(board)]
    assert len(set(names)) == len(names)
    assert all(len(name) <= 90 for name in names)
    assert not any("\u202e" in name for name in names)
    assert any(name.startswith("<script>") for name in names)


def test_a_case_has_what_was_asked_and_what_came_back(board: Board) -> None:
    corpus, rules = board.choose()
    found = board.case(corpus, "alias-caps-foh", board.rows(corpus, rules))
    (turn,) = found["turns"]
    assert turn["info"]["query"]
    assert turn["info"]["why"]
    assert {answer["name"] for answer in turn["answers"]} == set(SYSTEMS)
    marks = {entry["mark"] for answer in turn["answers"] for entry in answer["relevant"]}
    assert "needed" in marks
    assert all(e["id"] in turn["info"]["texts"] for a in turn["answers"] for e in a["relevant"])
    assert board.case(corpus, "no such case", []) == {"empty": "Choose a case."}


def test_a_session_is_told_turn_by_turn(board: Board) -> None:
    corpus, rules = board.choose()
    sessions = [case_id for title, case_id in board.titles(corpus) if "(session)" in title]
    turns = [board.case(corpus, name, board.rows(corpus, rules))["turns"] for name in sessions]
    assert sum(map(len, turns)) == 12
    assert all(turn["title"].startswith("Turn") for found in turns for turn in found)


def test_texts_that_the_export_does_not_hold_are_told_as_such() -> None:
    changed = tree(SYSTEMS)
    for case in changed["corpora"][0]["cases"]:
        case.update(query=None, rationale=None, description=None, beliefsNow={})
    for belief in changed["corpora"][0]["beliefs"].values():
        belief["content"] = None
    board = board_of(changed)
    assert board.problems == []
    corpus, _ = board.choose()
    info = board.case(corpus, "alias-caps-foh", [])["turns"][0]["info"]
    assert info["query"] is None
    assert info["texts"] == {}


def test_differences_are_those_of_pmb_compare(board: Board) -> None:
    corpus = load_corpus("native")
    entries = [Entry(name, report(name), judge(report(name), corpus, "spec")) for name in SYSTEMS]
    expected = {
        (part.part, difference.name): difference
        for part in compare(*entries)[0].parts
        for difference in part.differences
    }
    known = {row["name"]: row for row in rows(board)}
    (pair,) = board.compare([known[name] for name in SYSTEMS])["pairs"]
    names = {"pass rate": "pass_rate", "precision": "mean_precision", "recall": "mean_recall"}
    names["drift"] = "mean_drift"
    parts = {"Single turn": "retrieval", "Sessions": "session"}
    assert len(pair["measures"]) == 7
    for found in pair["measures"]:
        part, _, name = found["label"].partition(": ")
        told = expected[parts[part], names[name]]
        assert (found["n"], found["wins"], found["losses"]) == (told.n, told.wins, told.losses)
        assert (found["low"], found["high"]) == pytest.approx(tuple(told.interval))
        assert found["difference"] == pytest.approx(told.difference)


def test_parting_cases_are_those_that_not_all_pass(board: Board) -> None:
    known = {row["name"]: row for row in rows(board)}
    found = board.compare([known["bm25"], known["oracle"]])
    assert found["parting"] == []  # a control has no answers
    assert board.compare([])["pairs"] == []


def test_csv_is_complete_and_no_text_of_it_is_a_formula() -> None:
    board = board_of(tree(["=1+1", 'a, "b"', "@x"]))
    columns = choose(FULL)
    read = list(csv.reader(io.StringIO(to_csv(rows(board), columns))))
    assert read[0] == ["name", *IDENTITY, *(column.id for column in columns[1:])]
    assert {len(line) for line in read} == {len(columns) + len(IDENTITY)}
    assert {line[0] for line in read[1:]} >= {"'=1+1", 'a, "b"', "'@x"}


def test_csv_tells_runs_of_one_provider_apart(made: dict[str, Any]) -> None:
    changed = copy.deepcopy(made)
    changed["rows"] = [
        {**_own(made), "id": f"run-{k}", "label": f"bm25 · top_k={k}", "options": {"top_k": k}}
        for k in (1, 3, 5)
    ]
    board = board_of(changed)
    lines = list(csv.DictReader(io.StringIO(to_csv(rows(board), choose(COMPACT)))))
    assert [line["name"] for line in lines] == [f"bm25 · top_k={k}" for k in (1, 3, 5)]
    assert [line["options"] for line in lines] == [f"top_k={k}" for k in (1, 3, 5)]
    assert [line["run"] for line in lines] == [f"run-{k}" for k in (1, 3, 5)]
    assert {line["provider"] for line in lines} == {_own(made)["provider"]}
    assert all(["provider", _own(made)["provider"]] in row["facts"] for row in rows(board))


def test_worst_first_still_ends_with_what_has_no_value_and_the_controls(board: Board) -> None:
    for by in ("retrieval.mean_precision", "retrieval.p50_latency_ms", "name", "marks"):
        best, worst = order(rows(board), by), order(rows(board), by, down=True)
        systems = [row["name"] for row in best if not row["control"]]
        assert [r["control"] for r in worst] == [r["control"] for r in best]
        assert {row["name"] for row in worst[: len(systems)]} == set(systems)
        values = [COLUMNS[by].value(row) for row in worst if not row["control"]]
        told = [value for value in values if value not in {None, "", "–"}]
        assert values[: len(told)] == told
        assert told == sorted(told, reverse=COLUMNS[by].better != "higher")


def test_every_mean_names_the_column_of_its_n() -> None:
    of = {column.id: column.n_id for column in COLUMNS.values()}
    assert of["retrieval.mean_recall"] == "retrieval.n_recall"
    assert of["session.mean_drift"] == "session.n_drift"
    assert of["name"] is None
    assert of["retrieval.n_recall"] is None
    assert all(found is None or found in COLUMNS for found in of.values())


def test_a_row_that_cannot_be_drawn_costs_that_row(
    made: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(row: Any) -> list[dict[str, Any]]:
        found = wire.board_rows(row)
        if row["provider"] == SYSTEMS[0]:
            found[0]["parts"]["retrieval"]["mean_precision"] = 1e308
        return found

    monkeypatch.setattr(reader, "board_rows", broken)
    found = board_of(made)
    assert SYSTEMS[0] not in {row["name"] for row in rows(found)}
    assert SYSTEMS[1] in {row["name"] for row in rows(found)}
    assert any("is left out" in text for text in found.problems)


def test_a_turn_of_a_parting_case_is_named_shortly(board: Board) -> None:
    known = {row["name"]: row for row in rows(board)}
    pair = [known[name] for name in SYSTEMS]
    answers = dict(board.answers)
    first = {k: {**v, "passed": not v["passed"]} for k, v in answers[pair[0]["id"]].items()}
    found = replace(board, answers={**answers, pair[0]["id"]: first}).compare(pair)["parting"]
    turn = next(case for case in found if case["place"] == "turn 1")
    assert "(session)" not in turn["title"]
    assert turn["full"].startswith(f"{turn['title']} (session), Turn 1")
    assert any(case["place"] is None for case in found)


def test_two_hundred_rows_are_read() -> None:
    started = tree(["one"])
    row = next(row for row in started["rows"] if row["provider"] == "one")
    many = [{**row, "id": f"r{n}", "label": f"system {n}"} for n in range(200)]
    board = board_of({**started, "rows": many})
    assert len(order(rows(board))) == 200
    assert json.dumps(board.entries, allow_nan=False)


def test_reading_is_of_the_moment(tmp_path: Path, made: dict[str, Any]) -> None:
    write(tmp_path, {**made, "updated": "2026-11-05T10:00:00Z"})
    assert read_export(tmp_path).updated == "2026-11-05T10:00:00Z"
    write(tmp_path, {**made, "updated": 5})
    assert read_export(tmp_path).updated is None


def _own(made: dict[str, Any]) -> dict[str, Any]:
    return copy.deepcopy(next(row for row in made["rows"] if row["source"] == "run"))


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("mean_precision", 1.5, "mean_precision must be a number from 0 to 1, not 1.5"),
        ("mean_precision", 1e308, "mean_precision must be a number from 0 to 1, not 1e+308"),
        ("n_precision", -1, "n_precision must be a whole number of 0 or more, not -1"),
        ("n_precision", 2.5, "n_precision must be a whole number of 0 or more, not 2.5"),
        ("passed", 10**400, "passed must be a whole number of 0 or more, not a number of many"),
        ("p50_latency_ms", 10**400, "p50_latency_ms must be a number of 0 or more, not a number"),
        ("p50_latency_ms", -0.5, "p50_latency_ms must be a number of 0 or more, not -0.5"),
        ("noise_drift", [], "noise_drift must be a whole number of 0 or more, not a list"),
        ("some_other", float("inf"), "some_other must be a number, not inf"),
    ],
)
def test_a_figure_that_can_t_be_is_named(
    made: dict[str, Any], name: str, value: Any, says: str
) -> None:
    row = _own(made)
    row["scores"]["spec"]["retrieval"]["summary"][name] = value
    [problem] = board_of({**made, "rows": [row]}).problems
    assert problem.startswith(f"Row 1 of leaderboard.json is left out: {says}")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda row: 5, "it must be an object, not 5"),
        (lambda row: {**row, "scores": []}, "scores must be an object, not a list"),
        (lambda row: {**row, "scores": {"spec": "x"}}, "scores.spec must be an object, not 'x'"),
        (
            lambda row: {**row, "scores": {"spec": {"marks": [], "retrieval": [1]}}},
            "retrieval must be an object, not a list",
        ),
        (
            lambda row: {**row, "scores": {"spec": {"marks": [], "session": {"summary": 7}}}},
            "summary must be an object, not 7",
        ),
        (
            lambda row: {
                **row,
                "scores": {"spec": {"marks": [], "retrieval": {"categories": {"a": 1}}}},
            },
            "categories.a must be an object, not 1",
        ),
    ],
)
def test_what_must_be_an_object_is_named(made: dict[str, Any], change: Any, says: str) -> None:
    [problem] = board_of({**made, "rows": [change(_own(made))]}).problems
    assert problem == f"Row 1 of leaderboard.json is left out: {says}."


def test_a_file_keeps_its_name_at_the_head_of_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "leaderboard.json").write_text("{", encoding="utf-8")
    assert read_export(tmp_path).problems[0].startswith("leaderboard.json can't be read: ")


JUNK = st.sampled_from(
    [None, True, -1, 2.5, 1e308, 10**400, float("inf"), "x", [], [1], {}, {"a": 1}]
)


@given(data=st.data())
@settings(
    max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
def test_reading_never_fails(data: st.DataObject, made: dict[str, Any]) -> None:
    row = _own(made)
    corpus = next(c for c in made["corpora"] if c["id"] == row["corpus"])
    answers = [answer for answer in made["answers"] if answer["run"] == row["id"]][:2]
    tree = copy.deepcopy(
        {**made, "corpora": [{**corpus, "cases": corpus["cases"][-2:]}], "answers": answers}
    )
    tree["rows"] = [row]
    place: Any = tree
    for _ in range(data.draw(st.integers(0, 7))):
        inner = list(place.values() if isinstance(place, dict) else place)
        inner = [value for value in inner if isinstance(value, dict | list) and value]
        place = data.draw(st.sampled_from(inner)) if inner else place
    keys = list(place) if isinstance(place, dict) else list(range(len(place)))
    key = data.draw(st.sampled_from(keys))
    if isinstance(place, dict) and data.draw(st.booleans()):
        del place[key]
    else:
        place[key] = data.draw(JUNK)
    board = board_of(tree)
    for shown in rows(board):
        for name, _ in board.titles(str(shown["corpus"])):
            board.case(str(shown["corpus"]), name, [shown])
    render(board)
