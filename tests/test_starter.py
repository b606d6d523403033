"""A started corpus: valid, explained in full, runnable, and never over anything."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pmb_hf import parsing, starter
from pmb_hf.corpus import load_corpus, read_json
from pmb_hf.errors import InputError
from pmb_hf.lint import lint
from pmb_hf.report import judge
from pmb_hf.runner import run
from pmb_hf.schema import BELIEFS_FILE, CASES_FILE, CORPUS_FILES, SESSIONS_FILE


@pytest.fixture
def started(tmp_path: Path) -> Path:
    starter.start(tmp_path / "mine")
    return tmp_path / "mine"


def test_files_are_named_and_there(tmp_path: Path) -> None:
    written = starter.start(tmp_path / "a" / "b")
    assert [path.name for path in written] == [*CORPUS_FILES, "README.md"]
    assert all(path.is_file() for path in written)


def test_linter_finds_nothing(started: Path) -> None:
    assert lint(started) == []


def test_size_is_small_and_shows_every_kind_of_row(started: Path) -> None:
    corpus = load_corpus(started)
    assert (len(corpus.beliefs), len(corpus.cases), len(corpus.sessions)) == (12, 8, 1)
    assert {b.type for b in corpus.beliefs} == {
        "preference",
        "decision",
        "entity",
        "relation",
        "open_question",
    }
    assert any(change.create for turn in corpus.sessions[0].turns for change in turn.changes)
    assert any(change.belief_id for turn in corpus.sessions[0].turns for change in turn.changes)


def test_right_answers_pass_and_the_floors_do_not(started: Path) -> None:
    corpus = load_corpus(started)
    ceiling, floor = (judge(run(name, corpus), corpus) for name in ("oracle", "empty"))
    assert all(j.score.passed for j in (*ceiling.cases, *ceiling.turns))
    assert not all(j.score.passed for j in floor.cases)
    assert judge(run("bm25", corpus), corpus).missing == ()


@pytest.mark.parametrize(
    ("file", "fields"),
    [
        (BELIEFS_FILE, parsing._BELIEF_FIELDS),
        (CASES_FILE, parsing._CASE_FIELDS),
        (SESSIONS_FILE, parsing._SESSION_FIELDS),
    ],
)
def test_comments_explain_every_field_that_the_first_row_has(
    started: Path, file: str, fields: dict[str, object]
) -> None:
    first = read_json(started / file)[0]
    explained = first["_comment"]
    assert set(explained) <= set(fields)
    assert set(first) - {"_comment"} <= set(explained)
    # Seldom needed, and read for the sake of upstream's corpus.
    seldom = {
        *("relation_type", "subtype", "expertise_domain", "expertise_depth"),
        *("change_log", "provenance"),
    }
    assert set(fields) - set(explained) <= seldom


def test_turns_and_expectations_are_explained_in_full(started: Path) -> None:
    turn = read_json(started / SESSIONS_FILE)[0]["turns"][0]
    assert set(turn["_comment"]) == set(parsing._TURN_FIELDS)
    case = read_json(started / CASES_FILE)[0]
    assert set(case["_comment"]["expect"]) == set(parsing._EXPECT_FIELDS)
    said = json.dumps([case["_comment"], turn["_comment"]])
    keys = [*parsing._PRELUDE_FIELDS, *parsing._UPDATE_FIELDS, *parsing._INCLUSION, "maxBeliefs"]
    for key in [*keys, "shouldOnlyInclude", "orderedBefore", "mustNotSurface"]:
        assert key in said


@pytest.mark.parametrize("name", [*CORPUS_FILES, "README.md"])
def test_nothing_is_overwritten(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match="not overwritten") as raised:
        starter.start(tmp_path)
    assert str(tmp_path / name) in str(raised.value)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text(encoding="utf-8") == "mine"


def test_dangling_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / BELIEFS_FILE).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="not overwritten"):
        starter.start(tmp_path)
    assert not (tmp_path / "elsewhere").exists()


def test_file_in_the_place_of_the_directory(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("")
    with pytest.raises(InputError, match="is a file"):
        starter.start(tmp_path / "x")


def test_directory_may_hold_other_things(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("")
    assert len(starter.start(tmp_path)) == 4


def test_two_starts_are_alike(tmp_path: Path) -> None:
    for name in ("a", "b"):
        starter.start(tmp_path / name)
    for name in CORPUS_FILES:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
