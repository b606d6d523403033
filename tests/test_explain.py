"""One case's explanation: what it asks, what came of it, and who decides it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import corpora
import pytest

from pmb_hf.corpus import load_corpus
from pmb_hf.errors import InputError, UnknownNameError
from pmb_hf.explain import (
    BLANK_QUERY,
    DUPLICATE,
    EXPANDED,
    NO_ROOM,
    OTHER_TIERS,
    OVER_LIMIT,
    PINNED_TIER,
    Answer,
    Subject,
    answer,
    find,
    subjects,
)
from pmb_hf.providers.protocol import Hit
from pmb_hf.report import Report, judge
from pmb_hf.runner import run
from pmb_hf.schema import Corpus


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return corpora.load(tmp_path_factory.mktemp("corpus") / "tiny")


class Fixed:
    """Answers every query alike."""

    def __init__(self, *ids: str) -> None:
        self.ids = ids

    def reset(self) -> None:
        pass

    def add(self, **row: object) -> None:
        pass

    def search(self, *, query: str, user_id: str, scopes: Sequence[str], limit: int) -> list[Hit]:
        return [Hit(i, 1 / n) for n, i in enumerate(self.ids, 1)]


def explained(corpus: Corpus, case: str, *ids: str) -> tuple[Subject, Answer]:
    (subject,) = find(corpus, case)
    return subject, told(subject, run(Fixed(*ids), corpus), corpus)


def told(subject: Subject, report: Report, corpus: Corpus) -> Answer:
    evaluation = judge(report, corpus)
    judged = {j.record.key: j for j in (*evaluation.cases, *evaluation.turns)}
    return answer(subject, judged[subject.key], "fixed")


def test_every_case_and_turn_is_a_subject_in_order(tiny: Corpus) -> None:
    keys = [subject.key for subject in subjects(tiny)]
    assert keys[:2] == [("c-mooring", None), ("c-impeller", None)]
    assert keys[-3:] == [("s-refit", 0), ("s-refit", 1), ("s-refit", 2)]


def test_texts_are_those_of_the_moment(tiny: Corpus) -> None:
    first, _, last = find(tiny, "s-refit")
    assert first.text("t-berth") == "The boat lies at berth 14 of the north pier."
    assert last.text("t-berth") == "The boat lies at berth 20."
    assert first.text("t-big-anchor") is None
    assert last.text("t-big-anchor") == "The anchor weighs 25 kg."


def test_a_case_is_found_by_id_or_by_a_beginning_of_its_own(tiny: Corpus) -> None:
    assert [s.case_id for s in find(tiny, "c-moo")] == ["c-mooring"]
    assert [s.turn_index for s in find(tiny, "s-", 1)] == [1]


@pytest.mark.parametrize(
    ("name", "turn", "error", "message"),
    [
        ("c-", None, UnknownNameError, "8 cases start with 'c-': .* and 3 more"),
        ("c-moring", None, UnknownNameError, "did you mean 'c-mooring'"),
        ("ANCHOR", None, UnknownNameError, "did you mean 'c-anchor'"),
        ("zzzz", None, UnknownNameError, "has no case 'zzzz'$"),
        ("s-refit", 7, InputError, "has the turns 0, 1, 2, not 7"),
        ("c-mooring", 0, InputError, "leave out --turn"),
    ],
)
def test_what_is_not_there_is_named(
    tiny: Corpus, name: str, turn: int | None, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        find(tiny, name, turn)


def test_an_id_that_starts_another_is_found(tmp_path: Path) -> None:
    raw = corpora.files()
    raw["retrieval.cases.json"].append({**corpora.cases()[0], "caseId": "c-mooring-2"})
    corpus = load_corpus(corpora.write(tmp_path / "two", raw))
    assert [s.case_id for s in find(corpus, "c-mooring")] == ["c-mooring"]


def test_who_decides_a_case(tiny: Corpus) -> None:
    reasons = {s.case_id: s.unreachable for s in subjects(tiny) if s.unreachable}
    assert reasons == {"c-blank": BLANK_QUERY, "c-budget": NO_ROOM}


def test_a_case_of_other_tiers_only_is_the_harness_s(tmp_path: Path) -> None:
    raw = corpora.files()
    for expect, case_id in (
        ({"pinnedFacts": {"mustInclude": ["t-never-alone"]}}, "x-pinned"),
        ({"relevantBeliefs": {"mustInclude": ["t-never-alone"]}}, "x-pinned-as-relevant"),
        ({"relevantBeliefs": {"mustExclude": ["t-anchor"]}}, "x-exclude"),
    ):
        raw["retrieval.cases.json"].append(corpora.case(case_id, "Who sails at night?", expect))
    corpus = load_corpus(corpora.write(tmp_path / "more", raw))
    reasons = {s.case_id: s.unreachable for s in subjects(corpus)}
    assert reasons["x-pinned"] == OTHER_TIERS
    assert reasons["x-pinned-as-relevant"] == OTHER_TIERS
    assert reasons["x-exclude"] is None


def test_the_harness_s_cases_end_alike_for_all_providers() -> None:
    corpus = load_corpus("native")
    decided = {s.key for s in subjects(corpus) if s.unreachable}
    assert decided
    ends = [
        {j.record.key: j.score.passed for j in judge(run(name, corpus), corpus).cases}
        for name in ("empty", "everything", "oracle", "fts5")
    ]
    for key in decided:
        assert len({end[key] for end in ends}) == 1


def test_each_line_has_its_mark_rank_and_score(tiny: Corpus) -> None:
    subject, told = explained(tiny, "c-anchor", "t-old-anchor", "t-anchor", "t-engine", "nonsense")
    assert [(line.belief_id, line.mark, line.rank, line.wrong) for line in told.relevant] == [
        ("t-old-anchor", "superseded", 1, True),
        ("t-anchor", "needed", 2, False),
        ("t-engine", "unrelated", 3, True),
        ("nonsense", "unknown", 4, True),
    ]
    assert [line.score for line in told.relevant] == [1.0, 0.5, 1 / 3, 0.25]
    assert told.relevant[3].text is None
    assert told.relevant[1].text == subject.text("t-anchor")
    assert told.missing == ()
    assert told.dropped == ()


def test_lines_agree_with_the_noise_that_is_counted() -> None:
    corpus = load_corpus("native")
    report = run("everything", corpus)
    evaluation = judge(report, corpus)
    judged = {j.record.key: j for j in (*evaluation.cases, *evaluation.turns)}
    for subject in subjects(corpus):
        told = answer(subject, judged[subject.key], "everything")
        wrong = sorted(line.mark for line in told.relevant if line.wrong)
        assert wrong == sorted(judged[subject.key].score.noise)
        right = {line.belief_id for line in told.relevant if line.mark == "needed"}
        assert right | {line.belief_id for line in told.missing} == subject.expected.gold


def test_what_did_not_reach_the_tier_says_why(tiny: Corpus) -> None:
    _, told = explained(tiny, "c-mooring", "t-berth", "t-never-alone", "t-berth")
    assert told.dropped is not None
    assert [(d.belief_id, d.fate, d.rank) for d in told.dropped] == [
        ("t-never-alone", PINNED_TIER, 2),
        ("t-berth", DUPLICATE, 3),
    ]
    many = [f"x-{n}" for n in range(22)]
    _, told = explained(tiny, "c-mooring", *many)
    assert told.dropped is not None
    assert [d.fate for d in told.dropped if d.rank and d.rank > 20] == [OVER_LIMIT, OVER_LIMIT]


def test_participants_are_told_from_results(tiny: Corpus) -> None:
    _, told = explained(tiny, "c-impeller", "t-spare-impeller")
    assert [(line.belief_id, line.fate) for line in told.relevant] == [
        ("t-spare-impeller", ""),
        ("t-engine", f"{EXPANDED} of t-spare-impeller, added by the harness"),
        ("t-berth", f"{EXPANDED} of t-spare-impeller, added by the harness"),
    ]
    assert [line.added_by for line in told.relevant] == [None, *["t-spare-impeller"] * 2]


def test_noise_that_the_harness_added_names_the_relation(tiny: Corpus) -> None:
    _, told = explained(tiny, "c-mooring", "t-anchor", "t-spare-impeller")
    engine = next(line for line in told.relevant if line.belief_id == "t-engine")
    assert (engine.mark, engine.wrong, engine.added_by) == ("unrelated", True, "t-spare-impeller")
    _, told = explained(tiny, "c-mooring", "t-spare-impeller", "t-engine")
    engine = next(line for line in told.relevant if line.belief_id == "t-engine")
    assert (engine.added_by, engine.rank, engine.fate) == (None, 2, "")


def test_missing_ones_and_other_failures(tiny: Corpus) -> None:
    _, told = explained(tiny, "c-order", "t-engine", "t-anchor")
    assert told.missing == ()
    assert told.other_failures == ("wrong order: t-anchor must come before t-engine",)
    _, told = explained(tiny, "c-order", "t-engine")
    assert [(m.belief_id, m.mark) for m in told.missing] == [("t-anchor", "missing")]
    assert told.other_failures == ()


def test_without_raw_results_nothing_is_claimed_of_them(tiny: Corpus) -> None:
    report = run(Fixed("t-berth"), tiny)
    stripped = replace(
        report, records=tuple(replace(r, results=None, limit=None) for r in report.records)
    )
    (subject,) = find(tiny, "c-mooring")
    known = told(subject, stripped, tiny)
    assert known.dropped is None
    assert [(line.rank, line.fate) for line in known.relevant] == [(None, "")]
