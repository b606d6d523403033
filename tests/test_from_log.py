"""A corpus from a log: what is made of good lines, and what is said of faulty ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmb_hf.corpus import load_corpus, read_json
from pmb_hf.corpus.manifest import check_manifest
from pmb_hf.errors import CorpusError, InputError
from pmb_hf.from_log import Made, from_log, make_files
from pmb_hf.lint import lint
from pmb_hf.report import judge
from pmb_hf.runner import run
from pmb_hf.schema import BELIEFS_FILE, CASES_FILE, SESSIONS_FILE

MEMORIES: list[dict[str, Any]] = [
    {"id": "berth", "text": "The boat lies at berth 14.", "scope": ["boat"]},
    {
        "id": 2,
        "content": "The starter is fed on Sundays.",
        "scope": ["kitchen"],
        "aliases": ["jar"],
    },
    {"id": "old-berth", "text": "The boat lies at berth 9.", "superseded_by": "berth"},
    {"id": "alone", "text": "Never sails alone at night.", "pinned": True, "scope": ["boat"]},
    {
        "id": "radio",
        "text": "Is a second radio needed?",
        "type": "open_question",
        "pinned": True,
        "scope": ["boat"],
    },
]
QUERIES: list[dict[str, Any]] = [
    {"query": "Where does the boat lie?", "expected": ["berth"]},
    {"query": "When is the jar fed?", "expected": [2], "scope": ["kitchen"], "max_beliefs": 5},
    {"query": "May I go out in the dark?", "expected": ["alone"], "id": "dark"},
    {"query": "What is still open?", "expected": ["radio"], "category": "Open"},
    {"query": "What is the capital of Peru?", "expected": []},
]


def lines(path: Path, rows: list[Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def make(
    directory: Path, queries: list[Any] | None = None, memories: list[Any] | None = None
) -> Made:
    log = lines(directory / "log.jsonl", QUERIES if queries is None else queries)
    dump = lines(directory / "memories.jsonl", MEMORIES if memories is None else memories)
    return from_log(log, dump, directory / "made")


def refused(
    directory: Path, queries: list[Any] | None = None, memories: list[Any] | None = None
) -> list[str]:
    """The faults, a line each; nothing may have been written."""
    with pytest.raises(CorpusError) as raised:
        make(directory, queries, memories)
    assert not (directory / "made").exists()
    first, *faults = str(raised.value).splitlines()
    assert first == f"{len(faults)} fault(s), and nothing was written:"
    return [fault.strip() for fault in faults]


def test_result_is_a_valid_corpus_with_its_manifest(tmp_path: Path) -> None:
    made = make(tmp_path)
    assert (made.beliefs, made.cases, made.merged, made.notes) == (5, 5, 0, ())
    assert lint(made.directory) == []
    assert check_manifest(made.directory) == []
    assert read_json(made.directory / SESSIONS_FILE) == []


def test_result_can_be_run_and_passed(tmp_path: Path) -> None:
    corpus = load_corpus(make(tmp_path).directory)
    evaluation = judge(run("oracle", corpus), corpus)
    assert [j.record.case_id for j in evaluation.cases if not j.score.passed] == []
    assert judge(run("bm25", corpus), corpus).missing == ()


def test_memory_becomes_a_belief_with_defaults(tmp_path: Path) -> None:
    made = make(tmp_path)
    berth, starter, old, *_ = read_json(made.directory / BELIEFS_FILE)
    assert berth == {
        "_id": "berth",
        "user_id": "user",
        "type": "entity",
        "canonical_name": "The boat lies at berth 14.",
        "aliases": [],
        "content": "The boat lies at berth 14.",
        "why_it_matters": "",
        "scope": ["boat"],
        "epistemic_status": "active",
        "confidence": 1.0,
        "pinned": False,
        "resolved_at": None,
        "superseded_by": None,
    }
    assert (starter["_id"], starter["aliases"]) == ("2", ["jar"])
    assert (old["epistemic_status"], old["scope"]) == ("superseded", ["default"])


def test_query_becomes_a_case_with_each_id_in_its_tier(tmp_path: Path) -> None:
    cases = {case["query"]: case for case in read_json(make(tmp_path).directory / CASES_FILE)}
    where = cases["Where does the boat lie?"]
    assert where["expect"] == {"relevantBeliefs": {"shouldOnlyInclude": ["berth"]}}
    assert where["scope"] == ["boat", "default", "kitchen"], "all scopes of the user's"
    assert where["caseId"].startswith("where-does-the-boat-lie-")
    jar = cases["When is the jar fed?"]
    assert (jar["scope"], jar["budget"]) == (["kitchen"], {"maxBeliefs": 5})
    dark = cases["May I go out in the dark?"]
    assert dark["caseId"] == "dark"
    assert dark["expect"] == {
        "relevantBeliefs": {"shouldOnlyInclude": []},
        "pinnedFacts": {"mustInclude": ["alone"]},
    }
    asked = cases["What is still open?"]
    assert asked["category"] == "Open"
    assert asked["expect"]["openQuestions"] == {"mustInclude": ["radio"]}


def test_ids_of_cases_stay_when_lines_are_added(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first = read_json(make(tmp_path / "a").directory / CASES_FILE)
    more = [{"query": "Who feeds the jar?", "expected": []}, *QUERIES]
    second = read_json(make(tmp_path / "b", more).directory / CASES_FILE)
    assert [case["caseId"] for case in second[1:]] == [case["caseId"] for case in first]


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("What did I order, and in which rank?", "what-did-i-and-in-which-"),
        ("Где лодка?", "q-"),
        ("x" * 300, "x" * 40 + "-"),
    ],
)
def test_case_ids_are_short_and_promise_nothing(tmp_path: Path, text: str, start: str) -> None:
    made = make(tmp_path, [{"query": text, "expected": []}])
    assert read_json(made.directory / CASES_FILE)[0]["caseId"].startswith(start)
    assert made.notes == ()


def test_same_input_gives_the_same_bytes(tmp_path: Path) -> None:
    made = make(tmp_path)
    before = {path.name: path.read_bytes() for path in made.directory.iterdir()}
    from_log(tmp_path / "log.jsonl", tmp_path / "memories.jsonl", made.directory, overwrite=True)
    assert {path.name: path.read_bytes() for path in made.directory.iterdir()} == before


def test_repeated_query_is_merged(tmp_path: Path) -> None:
    made = make(tmp_path, [*QUERIES, QUERIES[0], {**QUERIES[0], "scope": ["boat"]}])
    assert (made.cases, made.merged) == (6, 1)
    assert "reads like the query of" in made.notes[0], "the linter's warnings are handed on"


def test_repeated_query_with_another_answer_is_refused(tmp_path: Path) -> None:
    (fault,) = refused(tmp_path, [*QUERIES, {**QUERIES[0], "expected": []}])
    assert fault.startswith("log.jsonl line 6: expected [] is not what log.jsonl line 1 expects")


def test_ids_that_are_taken_are_refused(tmp_path: Path) -> None:
    queries = [{**QUERIES[0], "id": "x"}, {**QUERIES[1], "id": "x"}]
    assert refused(tmp_path, queries) == [
        "log.jsonl line 2: id 'x' is taken by log.jsonl line 1; rename it"
    ]
    (fault,) = refused(tmp_path, None, [*MEMORIES, {"id": "2", "text": "Twice."}])
    assert fault.startswith("memories.jsonl line 6: id '2' is taken by memories.jsonl line 2")


def test_ids_that_do_not_exist_are_refused(tmp_path: Path) -> None:
    faults = refused(
        tmp_path, [{"query": "a", "expected": ["bert"]}, {"query": "b", "expected": ["zzz"]}]
    )
    assert faults == [
        "log.jsonl line 1: expected 'bert' is no id of the beliefs file; did you mean 'berth'?",
        "log.jsonl line 2: expected 'zzz' is no id of the beliefs file; correct or remove it",
    ]


def test_faulty_memory_does_not_make_its_queries_faulty(tmp_path: Path) -> None:
    (fault,) = refused(tmp_path, None, [{"id": "berth", "text": ""}, *MEMORIES[1:]])
    assert fault == "memories.jsonl line 1: content '' must be a string that is not blank"


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"query": "Where?", "expected": ["old-berth"]}, "is superseded by berth"),
        (
            {"query": "Where?", "expected": [2], "scope": ["boat"]},
            "has the scopes ['kitchen'], and asked are ['boat']",
        ),
        ({"query": "Where?", "expected": [2], "user_id": "otto"}, "belongs to user 'user'"),
        ({"query": "Where?", "expected": [2, "berth"], "max_beliefs": 2}, "leave room for 1"),
    ],
)
def test_answer_that_can_not_be_right_is_told_by_its_line(
    tmp_path: Path, query: dict[str, Any], said: str
) -> None:
    faults = refused(tmp_path, [{"query": "And where?", "expected": []}, query])
    assert all(fault.startswith("log.jsonl line 2: expected: ") for fault in faults)
    assert said in faults[0]


def test_link_between_memories_is_told_by_its_line(tmp_path: Path) -> None:
    memories = [*MEMORIES, {"id": "x", "text": "X.", "superseded_by": "nowhere"}]
    (fault,) = refused(tmp_path, None, memories)
    assert fault.startswith("memories.jsonl line 6: superseded_by: no belief 'nowhere'")


def test_query_without_a_user_belongs_to_the_only_one(tmp_path: Path) -> None:
    memories = [{**memory, "user_id": 7} for memory in MEMORIES]
    made = make(tmp_path, None, memories)
    assert {case["userId"] for case in read_json(made.directory / CASES_FILE)} == {"7"}


def test_query_without_a_user_is_refused_where_there_are_several(tmp_path: Path) -> None:
    memories = [*MEMORIES, {"id": "other", "text": "Another's.", "user_id": "otto"}]
    (fault,) = refused(tmp_path, QUERIES[:1], memories)
    assert fault.startswith("log.jsonl line 1: user_id is missing, and the memories belong to 2")
    queries = [{**QUERIES[0], "user_id": "user"}]
    assert make(tmp_path, queries, memories).cases == 1


def test_nothing_is_overwritten_unless_it_is_said(tmp_path: Path) -> None:
    made = make(tmp_path)
    with pytest.raises(InputError, match=r"beliefs\.seed\.json is there already"):
        make(tmp_path)
    lines(tmp_path / "log.jsonl", QUERIES[:1])
    log, dump = tmp_path / "log.jsonl", tmp_path / "memories.jsonl"
    assert from_log(log, dump, made.directory, overwrite=True).cases == 1
    assert lint(made.directory) == []
    with pytest.raises(InputError, match="is a file"):
        from_log(log, dump, log)


def test_many_faults_are_counted_and_the_first_shown(tmp_path: Path) -> None:
    log = lines(tmp_path / "log.jsonl", [{"query": ""}] * 40)
    dump = lines(tmp_path / "memories.jsonl", MEMORIES)
    with pytest.raises(CorpusError) as raised:
        from_log(log, dump, tmp_path / "made")
    shown = str(raised.value).splitlines()
    assert shown[0].startswith("80 fault(s)")
    assert (len(shown), shown[-1]) == (22, "  and 60 more")


TEXT = st.text(min_size=1, max_size=20).filter(lambda text: bool(text.strip()))


@given(st.lists(TEXT, min_size=1, max_size=6), st.lists(TEXT, min_size=1, max_size=6))
def test_any_texts_make_a_valid_corpus(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], queries: list[str]
) -> None:
    home = tmp_path_factory.mktemp("log")
    dump = lines(home / "m.jsonl", [{"id": n, "text": text} for n, text in enumerate(texts)])
    log = lines(home / "q.jsonl", [{"query": text, "expected": [0]} for text in queries])
    files, merged, _ = make_files(log, dump)
    assert len(files[BELIEFS_FILE]) == len(texts)
    assert len(files[CASES_FILE]) + merged == len(queries)
