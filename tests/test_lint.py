"""The linter: each fault is found, named by its place; a sound corpus has none; nothing crashes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from corpora import BOAT, KITCHEN, belief, case, cases, files, linted, only, write
from hypothesis import given
from hypothesis import strategies as st
from lint_faults import FAULTS, NEW, Fault, added, more, on_belief, on_session, on_turn, relevant

import pmb_hf.lint as lint_package
from pmb_hf import context, parsing
from pmb_hf.baselines import ideal_answer
from pmb_hf.lint import ERROR, HOMES, WARNING, Finding, lint, lint_corpus, ok
from pmb_hf.schema import (
    BELIEFS_FILE,
    CASES_FILE,
    CORPUS_FILES,
    SESSIONS_FILE,
    Belief,
    Expect,
    Tier,
)
from pmb_hf.strict import Reader

ROOT = Path(__file__).resolve().parent.parent
Raw = dict[str, Any]


def codes(findings: list[Finding]) -> set[str]:
    return {finding.code for finding in findings}


def of(findings: list[Finding], code: str) -> Finding:
    """The only finding of a code."""
    found = [finding for finding in findings if finding.code == code]
    assert len(found) == 1, findings
    return found[0]


def test_sound_corpus_has_no_finding(tmp_path: Path) -> None:
    assert lint(write(tmp_path)) == []


def test_native_corpus_has_no_finding() -> None:
    assert lint() == []


# --- one fault at a time (lint_faults.py)


@pytest.mark.parametrize(
    "fault", FAULTS, ids=[f"{n}-{fault.code}" for n, fault in enumerate(FAULTS)]
)
def test_fault_is_found(fault: Fault, tmp_path: Path) -> None:
    findings = linted(tmp_path, fault.change)
    found = [f for f in findings if (f.code, f.where) == (fault.code, fault.where)]
    assert len(found) == 1, findings
    assert found[0].severity == fault.severity
    assert fault.word in found[0].message


def test_every_code_has_a_fault_and_a_line_in_the_documentation() -> None:
    sources = (Path(lint_package.__file__).parent).glob("*.py")
    written = "".join(path.read_text(encoding="utf-8") for path in sources)
    quoted = set(re.findall(r'(?:error|warning)\(\s*"([a-z-]+)"', written))
    page = (ROOT / "design" / "linter.md").read_text(encoding="utf-8")
    assert quoted
    assert not [code for code in quoted if f"`{code}`" not in page]
    tested = {fault.code for fault in FAULTS}
    tested |= {code for code in quoted if "distractor" in code}  # in test_lint_distractors.py
    assert quoted - tested <= {"no-directory", "unreadable-file", "cannot-pass"} | {
        "manifest",
        "readme-figure",
    }


SOUND = {
    "second blank query, of another length": added(only(), query="   "),
    "'in order to'": added(only("t-berth"), description="Said in order to find the berth."),
    "words within words": added(only("t-berth"), description="Bordered by a pier, frankly."),
    "participants of an open set": added(relevant(mustInclude=["t-spare-impeller"])),
    "no question, asserted": added(only(openQuestions={"shouldOnlyInclude": []}), scope=[KITCHEN]),
    "comment in a tier": added(only("t-berth", _note="A comment.")),
    "comment in a session": on_session(_todo=[1]),
    "other forms of UTC": on_belief(
        "t-berth", created_at="", updated_at="2025-03-01T08:00:00.5+00:00"
    ),
    "no rationale anywhere": lambda raw: [
        row.pop("rationale") for row in (*raw[CASES_FILE], *raw[SESSIONS_FILE][0]["turns"])
    ],
    "no session": lambda raw: raw[SESSIONS_FILE].clear(),
}


@pytest.mark.parametrize("name", SOUND)
def test_what_is_no_fault(name: str, tmp_path: Path) -> None:
    assert linted(tmp_path, SOUND[name]) == []


def test_third_blank_query_is_named(tmp_path: Path) -> None:
    def change(raw: Raw) -> None:
        raw[CASES_FILE] += [case(f"c-{n}", " " * n, only()) for n in (1, 2)]

    assert of(linted(tmp_path, change), "queries-alike").where == f"{CASES_FILE}[9] (c-2).query"


def test_gold_that_cannot_pass_says_by_what_it_fails(tmp_path: Path) -> None:
    found = of(
        linted(tmp_path, added(only("t-starter", personaPrelude={"isNull": True}))), "cannot-pass"
    )
    assert found.severity == ERROR
    assert found.where == NEW
    assert "persona prelude is not empty" in found.message


def test_pinned_order_against_the_assembly_cannot_pass(tmp_path: Path) -> None:
    def change(raw: Raw) -> None:
        added({"pinnedFacts": {"orderedBefore": [["t-late", "t-never-alone"]]}})(raw)
        more(belief("t-late", "Old.", pinned=True))(raw)

    assert "wrong order: t-late" in of(linted(tmp_path, change), "cannot-pass").message


@given(data=st.data())
def test_ideal_answer_keeps_every_order_that_can_be_kept(data: st.DataObject) -> None:
    ids = data.draw(st.permutations("abcdef"))
    pair = st.tuples(st.integers(0, 5), st.integers(0, 5)).filter(lambda p: p[0] < p[1])
    pairs = [(ids[a], ids[b]) for a, b in data.draw(st.lists(pair))]
    answer = ideal_answer(Expect(relevant=Tier(only=tuple("abcdef"), ordered_before=tuple(pairs))))
    assert sorted(answer) == sorted(ids)
    assert all(answer.index(first) < answer.index(second) for first, second in pairs)


def test_change_that_cannot_be_made_leaves_later_turns_checked(tmp_path: Path) -> None:
    def change(raw: Raw) -> None:
        on_turn(0, updateBeliefAtTurn={"beliefId": "t-nope", "setContent": "x"})(raw)
        on_turn(2, expect=only("t-anchor"))(raw)

    assert codes(linted(tmp_path, change)) == {"unknown-id", "gold-superseded"}


def test_session_sees_the_changes_it_depends_on(tmp_path: Path) -> None:
    def change(depends_on: list[str]) -> Callable[[Raw], None]:
        def add(raw: Raw) -> None:
            first = raw[SESSIONS_FILE][0]["turns"][0]
            turn = first | {"expect": only("t-stove"), "userMessage": "What does the stove burn?"}
            del turn["createBeliefAtTurn"], turn["updateBeliefAtTurn"]
            raw[SESSIONS_FILE].append({"caseId": "s-two", "dependsOn": depends_on, "turns": [turn]})

        return add

    assert linted(tmp_path / "a", change(["s-refit"])) == []
    assert "gold-not-there" in codes(linted(tmp_path / "b", change([])))


def test_ok_ignores_warnings() -> None:
    assert ok([])
    assert ok([Finding(WARNING, "a", "b", "c")])
    assert not ok([Finding(WARNING, "a", "b", "c"), Finding(ERROR, "a", "b", "c")])


def test_homes_are_where_the_parser_reads_the_keys() -> None:
    """Every key of the table is known to the parser somewhere."""
    tables = [value for name, value in vars(parsing).items() if name.endswith("_FIELDS")]
    keys = {"maxBeliefs", "mustNotSurface"}
    for table in tables:
        if isinstance(table, dict):
            keys.update(table)
            keys.update(key for inner in table.values() if isinstance(inner, dict) for key in inner)
    assert set(HOMES) <= keys


# --- directories and files


def test_no_directory(tmp_path: Path) -> None:
    found = of(lint(tmp_path / "nowhere"), "no-directory")
    assert "nowhere" in found.where
    assert CASES_FILE in found.message


def test_every_missing_file_is_named(tmp_path: Path) -> None:
    found = lint(tmp_path)
    assert [(f.code, f.where) for f in found] == [("unreadable-file", n) for n in CORPUS_FILES]
    assert not ok(found)


@pytest.mark.parametrize(
    "content",
    [b"", b"[", b"\xff\xfe", b'[{"a": 1, "a": 2}]', b"[NaN]", b"[Infinity]", b"[" * 100_000],
)
def test_file_that_is_no_json_is_a_finding(content: bytes, tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / CASES_FILE).write_bytes(content)
    found = of(lint(tmp_path), "unreadable-file")
    assert found.where == CASES_FILE


def test_form_of_the_other_files_is_checked_beside_an_unreadable_one(tmp_path: Path) -> None:
    raw = files()
    raw[BELIEFS_FILE][0]["pined"] = True
    write(tmp_path, raw)
    (tmp_path / CASES_FILE).unlink()
    assert [f.code for f in lint(tmp_path)] == ["unreadable-file", "unknown-key"]


# --- any JSON at all

KEYS = sorted(
    {*HOMES, *cases()[0], *files()[BELIEFS_FILE][0], *files()[SESSIONS_FILE][0]["turns"][0]}
)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.sampled_from(["t-berth", "t-anchor", "t-stove", BOAT, "relation", "2025-01-01"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner),
    max_leaves=12,
)


def _spots(value: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) below a JSON value."""
    if isinstance(value, dict | list):
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        return [spot for key in keys for spot in [(value, key), *_spots(value[key])]]
    return []


def _lint_raw(raw: Raw) -> list[Finding]:
    reader = Reader()
    return lint_corpus(parsing.parse_corpus("any", raw, reader), raw, reader.problems)


@given(st.fixed_dictionaries(dict.fromkeys(CORPUS_FILES, JSON)))
def test_no_json_makes_it_crash(raw: Raw) -> None:
    assert all(isinstance(finding, Finding) for finding in _lint_raw(raw))


@given(data=st.data())
def test_no_change_of_a_sound_corpus_makes_it_crash(data: st.DataObject) -> None:
    raw = files()
    for _ in range(data.draw(st.integers(1, 4))):
        container, key = data.draw(
            st.sampled_from(_spots(raw)).filter(lambda spot: spot[0] is not raw)
        )
        if isinstance(container, dict) and data.draw(st.booleans()):
            container.pop(key, None)
        elif isinstance(container, dict) or key < len(container):
            container[key] = data.draw(JSON)
    for severity, code, where, message in _lint_raw(raw):
        assert severity in {ERROR, WARNING}
        assert code
        assert where
        assert message


# --- README


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        ("It has 11 beliefs.", "11 beliefs"),
        ("\n\n7 single-turn cases and more", "7 single-turn cases"),
        ("4 scored session turns", "4 scored session turns"),
        ("2 sessions", "2 sessions"),
        ("5 of the 8 are active.", "5 of the 8 are active"),
        ("5 active.", "5 active"),
        ("2 active turns", "2 active turns"),
        ("| Ranking stability | 2 |", "Ranking stability | 2"),
        ("ranking\nstability 3, relation expansion 1", "ranking stability 3"),
    ],
)
def test_readme_figure_that_the_data_contradicts(text: str, stated: str, tmp_path: Path) -> None:
    (write(tmp_path) / "README.md").write_text(text, encoding="utf-8")
    found = of(lint(tmp_path), "readme-figure")
    assert found.severity == ERROR
    assert found.where == f"README.md:{1 + len(text) - len(text.lstrip())}"
    assert repr(stated) in found.message


@pytest.mark.parametrize(
    "text",
    [
        "10 beliefs, 8 cases, 1 session of 3 turns; 4 of the 8 are active, and 3 active turns.",
        "2 cases of budgets, 9 active beliefs, 3 turns that change something, v1.9 beliefs",
        "```\n99 beliefs\n```",
        "| Ranking stability | 1 |\n| Alias resolution | 1 of 1 |",
    ],
)
def test_readme_figures_that_hold_or_are_no_totals(text: str, tmp_path: Path) -> None:
    (write(tmp_path) / "README.md").write_text(text, encoding="utf-8")
    assert lint(tmp_path) == []


def test_readme_that_is_no_text(tmp_path: Path) -> None:
    (write(tmp_path) / "README.md").write_bytes(b"\xff")
    assert "can't be read" in of(lint(tmp_path), "readme-figure").message


# --- upstream's fixtures


def test_faults_of_the_official_corpus(upstream_dir: Path) -> None:
    found = lint(upstream_dir / "fixtures")
    misplaced = of(found, "misplaced-key")
    assert misplaced.where.startswith(f"{SESSIONS_FILE}[0]")
    assert misplaced.where.endswith(".turns[10].expect.relevantBeliefs.pinnedFacts")
    unchecked = of(found, "never-checked")
    assert unchecked.where.endswith(".turns[0].expect.topicRetrieval")
    empty = [f.where for f in found if f.code == "empty-assertion"]
    raw = json.loads((upstream_dir / "fixtures" / CASES_FILE).read_text(encoding="utf-8"))
    hollow = [c for c in raw if c["expect"].get("pinnedFacts") == {"mustInclude": []}]
    assert len(empty) == len(hollow) > 0
    assert all(where.endswith(".expect.pinnedFacts.mustInclude") for where in empty)
    assert sum((f.code, f.severity) == ("no-order", ERROR) for f in found) == 3
    assert of(found, "asserts-nothing").where.endswith("(recency-tiebreak-reinforcement).expect")
    # Faults of form and intent, but what it asserts can be met.
    assert "cannot-pass" not in codes(found)
    assert not any(f.code.startswith("gold-") for f in found)


def test_work_grows_with_the_corpus_and_not_with_its_square(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at = 0
    counted = context.is_live

    def spy(one: Belief) -> bool:
        nonlocal looked_at
        looked_at += 1
        return counted(one)

    monkeypatch.setattr("pmb_hf.context.is_live", spy)
    work = []
    for size in (100, 200, 400):
        raw = files()
        raw[BELIEFS_FILE] += [
            belief(f"n-{i}", f"Berth {i} is taken.", superseded_by=f"n-{i + 1}")
            | {"epistemic_status": "superseded"}
            for i in range(size)
        ] + [belief(f"n-{size}", "All berths are taken.")]
        last = only(f"n-{size}")
        raw[CASES_FILE] += [case(f"c-{i}", f"Who has berth {i}?", last) for i in range(size)]
        looked_at = 0
        assert lint(write(tmp_path / str(size), raw)) == []
        work.append(looked_at)
    assert work[2] - work[1] < 2.5 * (work[1] - work[0])
