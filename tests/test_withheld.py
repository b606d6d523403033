"""Tests of pmb_hf.withheld."""

from __future__ import annotations

import json
from pathlib import Path

import corpora
import pytest

from pmb_hf.report import Report, judge
from pmb_hf.report_json import dump, report_tree
from pmb_hf.report_reader import parse_report
from pmb_hf.rules import RULES
from pmb_hf.runner import run
from pmb_hf.schema import Corpus
from pmb_hf.withheld import KEY, withhold, without_text


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    raw = corpora.files()
    case = next(c for c in raw["retrieval.cases.json"] if c["caseId"] == "c-mooring")
    case["expect"]["personaPrelude"] = {"contains": ["brief", "in verse"]}
    from pmb_hf.corpus import load_corpus

    return load_corpus(corpora.write(tmp_path_factory.mktemp("corpus"), raw))


def written(report: Report, corpus: Corpus) -> dict[str, object]:
    tree: dict[str, object] = json.loads(dump(report_tree(report, judge(report, corpus), corpus)))
    return tree


@pytest.mark.parametrize("rules", RULES)
def test_a_report_without_texts_scores_the_same(corpus: Corpus, rules: str) -> None:
    report = run("bm25", corpus=corpus, rules=rules)
    whole = written(report, corpus)
    bare = withhold(whole, corpus, report.run_rules)
    text = dump(bare)
    for secret in ("apologies", "in verse", "brief answers"):
        assert secret in dump(whole)
        assert secret not in text
    again = parse_report(json.loads(text))
    for name in RULES:
        ours, theirs = judge(report, corpus, name), judge(again, corpus, name)
        assert [j.score for j in ours.cases] == [j.score for j in theirs.cases]
        assert [j.score for j in ours.turns] == [j.score for j in theirs.turns]
        assert [j.failures for j in ours.cases] == [j.failures for j in theirs.cases]
    assert dump(withhold(written(again, corpus), corpus, again.run_rules)) == text


def test_a_prelude_that_the_corpus_does_not_give_is_not_invented(corpus: Corpus) -> None:
    report = run("bm25", corpus=corpus)
    tree = written(report, corpus)
    tree["cases"][0]["personaPrelude"] = None  # type: ignore[index]
    tree["cases"][1]["personaPrelude"] = "another text"  # type: ignore[index]
    bare = withhold(tree, corpus, report.run_rules)
    judged = judge(parse_report(json.loads(dump(bare))), corpus).cases
    assert [j.record.prelude for j in judged[:2]] == [None, None]
    assert judged[2].record.prelude
    assert "another text" not in dump(bare)


def test_a_query_in_an_error_is_cut_out(corpus: Corpus) -> None:
    report = run("bm25", corpus=corpus)
    tree = written(report, corpus)
    row = next(r for r in tree["cases"] if r["caseId"] == "c-anchor")  # type: ignore[attr-defined]
    row["error"] = "HTTP 500 for 'What anchor do we have?'"
    bare = withhold(tree, corpus, report.run_rules)
    found = next(r for r in bare["cases"] if r["caseId"] == "c-anchor")
    assert found["error"] == "HTTP 500 for '…'"
    assert bare["provenance"][KEY]["fields"]


def test_ids_in_failures_stay() -> None:
    assert without_text("missing expected belief: b-1") == "missing expected belief: b-1"
    assert without_text("turn 3: persona prelude contains: a: b\nc") == (
        "turn 3: persona prelude contains a text that it must not"
    )


def test_a_report_that_withholds_nothing_is_left_alone(corpus: Corpus, tmp_path: Path) -> None:
    report = run("bm25", corpus=corpus)
    assert judge(report, corpus).cases[0].record is report.records[0]
