"""Tests of pmb_hf.leaderboard: facts, marks, figures, answers, subjects, board, wire, view."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import corpora
import pytest
from board_kit import boarded, failing, marks_of, ran, rows_of, under, with_options, without
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pmb_hf.corpus import load_corpus
from pmb_hf.errors import ReportError
from pmb_hf.leaderboard.board import Run, board
from pmb_hf.leaderboard.collect import Corpora, collect, files
from pmb_hf.leaderboard.facts import facts, run_id
from pmb_hf.leaderboard.figures import CATEGORY_MEASURES
from pmb_hf.leaderboard.ranges import fault
from pmb_hf.leaderboard.stated import names_in_order
from pmb_hf.leaderboard.subjects import OFFICIAL_SHA256, corpus_row, may_show
from pmb_hf.leaderboard.tables import leaderboard_rows
from pmb_hf.leaderboard.view import chosen, own_rows, reasons, tables
from pmb_hf.leaderboard.wire import dump_board, read_board
from pmb_hf.measures import COUNT_OF, MEASURES
from pmb_hf.report import Report, judge, rescore
from pmb_hf.report_json import report_json
from pmb_hf.report_reader import parse_report
from pmb_hf.rules import RULES
from pmb_hf.runner import run
from pmb_hf.schema import Corpus


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return corpora.load(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def report(corpus: Corpus) -> Report:
    return ran(corpus)


def test_a_row_says_what_the_run_was(corpus: Corpus, report: Report) -> None:
    [row] = rows_of(boarded(corpus, report))
    assert row["provider"] == row["label"] == "bm25"
    assert row["options"]["top_k"] is None
    assert len(row["optionsSha256"]) == 64
    assert row["corpusSha256"] == corpus.sha256
    assert row["corpus"] == f"{corpus.name}-{corpus.sha256[:12]}"
    assert row["date"] == "2026-01-02T03:04:06Z"
    assert row["source"] == "run"
    assert set(row["scores"]) == set(RULES)


@pytest.mark.parametrize("rules", RULES)
def test_figures_are_those_of_the_report(corpus: Corpus, report: Report, rules: str) -> None:
    [row] = rows_of(boarded(corpus, report))
    evaluation = judge(report, corpus, rules)
    figures = row["scores"][rules]
    assert figures["retrieval"]["summary"] == evaluation.retrieval
    assert figures["session"]["summary"] == evaluation.session
    for name, n in COUNT_OF.items():
        if name != "latency_ratio":
            assert {name, n} <= set(figures["retrieval"]["summary"])
    drift = [[*j.record.key, j.score.drift] for j in evaluation.turns]
    assert figures["session"]["driftByTurn"] == drift
    categories = figures["retrieval"]["categories"]
    assert sum(c["cases"] for c in categories.values()) == len(evaluation.cases)
    assert all(set(c) == set(CATEGORY_MEASURES) for c in categories.values())


def test_the_floor_and_the_ceiling_stand_beside_it(corpus: Corpus, report: Report) -> None:
    tree = boarded(corpus, report)
    controls = {row["provider"]: row for row in tree["rows"] if row["source"] == "control"}
    assert set(controls) == {"empty", "everything", "oracle"}
    passed = controls["oracle"]["scores"]["spec"]["retrieval"]["summary"]["passed"]
    assert passed == len(corpus.cases)
    for row in controls.values():
        assert all(figures["retrieval"]["rank"] is None for figures in row["scores"].values())


def test_order_and_repetition_do_not_matter(corpus: Corpus) -> None:
    reports = [ran(corpus), ran(corpus, "fts5"), ran(corpus, top_k=1), ran(corpus, "empty")]
    texts = {
        dump_board(boarded(corpus, *given, given[0])) for given in itertools.permutations(reports)
    }
    assert len(texts) == 1
    assert "\n" in texts.pop()


def test_a_run_keeps_its_id_under_other_rules(corpus: Corpus, report: Report) -> None:
    other = rescore(report, corpus, "upstream-2026-09")
    assert run_id(other) == run_id(report)
    assert len(rows_of(boarded(corpus, report, other))) == 1
    assert facts(other)["runRules"] == "spec"


def test_a_run_is_ranked_under_its_own_rules_alone(corpus: Corpus) -> None:
    spec, september = ran(corpus), ran(corpus, rules="upstream-2026-09")
    for row in rows_of(boarded(corpus, spec, september)):
        for rules, figures in row["scores"].items():
            own = rules == row["runRules"]
            assert figures["retrieval"]["ranked"] == own
            assert figures["retrieval"]["rank"] == (1 if own else None)
            assert ("run rules" in marks_of(row, rules)) != own


def test_equal_rows_share_a_rank(corpus: Corpus, report: Report) -> None:
    others = [replace(report, provider=name) for name in ("a", "b")]
    best = ran(corpus, active_filter=True)
    tree = boarded(corpus, best, *others)
    ranks = {row["provider"]: row["scores"]["spec"]["retrieval"]["rank"] for row in rows_of(tree)}
    assert ranks["a"] == ranks["b"]
    assert sorted(ranks.values()) in ([1, 2, 2], [1, 1, 1], [1, 1, 3])


@pytest.mark.parametrize("provider", ["empty", "everything", "oracle"])
def test_a_run_of_a_control_is_not_ranked(corpus: Corpus, provider: str) -> None:
    [row] = rows_of(boarded(corpus, ran(corpus, provider)))
    assert row["scores"]["spec"]["retrieval"]["rank"] is None
    assert "control" in marks_of(row)


# cases.md 11: 70 of 77
def test_an_incomplete_run_has_no_figures(corpus: Corpus, report: Report) -> None:
    [row] = rows_of(boarded(corpus, without(report, 2)))
    part = row["scores"]["spec"]["retrieval"]
    assert part["summary"] is part["categories"] is part["rank"] is None
    assert (part["answered"], part["of"]) == (len(corpus.cases) - 2, len(corpus.cases))
    [mark] = row["scores"]["spec"]["marks"]
    assert mark["what"] == "incomplete"
    assert f"{len(corpus.cases) - 2}/{len(corpus.cases)}" in mark["text"]
    assert row["scores"]["spec"]["session"]["rank"] == 1


# cases.md 5: failures to answer
def test_failures_to_answer_are_counted_and_have_no_figures(corpus: Corpus, report: Report) -> None:
    tree = boarded(corpus, failing(report, 3))
    [row] = rows_of(tree)
    part = row["scores"]["spec"]["retrieval"]
    assert part["summary"] is part["rank"] is None
    assert part["statuses"] == {"error": 3, "ok": len(corpus.cases) - 3}
    assert marks_of(row) == ["statuses"]
    assert [a["status"] for a in tree["answers"][:4]] == ["error"] * 3 + ["ok"]
    assert not any(a["passed"] for a in tree["answers"][:3])
    assert "503" not in dump_board(tree)  # errors may name hosts


# cases.md 24: other versions of a corpus
def test_corpora_of_one_name_are_told_apart(corpus: Corpus, report: Report, tmp_path: Path) -> None:
    raw = corpora.files()
    raw["beliefs.seed.json"][0]["content"] += " At night, too."
    other = replace(load_corpus(corpora.write(tmp_path, raw)), name=corpus.name)
    theirs = ran(other)
    tree = board([Run(report, corpus), Run(theirs, other)], published=False)
    first, second = rows_of(tree)
    assert first["corpus"] != second["corpus"]
    assert {c["id"] for c in tree["corpora"]} == {first["corpus"], second["corpus"]}
    assert [r["scores"]["spec"]["retrieval"]["rank"] for r in (first, second)] == [1, 1]
    assert len(tables(tree, "spec")) == 2


def test_without_its_corpus_a_report_shows_what_it_states(corpus: Corpus, report: Report) -> None:
    read = parse_report(json.loads(report_json(report, corpus)))
    tree = boarded(None, read)
    [row] = rows_of(tree)
    assert list(row["scores"]) == ["spec"]
    figures = row["scores"]["spec"]
    assert marks_of(row) == ["not scored"]
    assert figures["basis"] == "stated by the report"
    assert figures["retrieval"]["summary"] == judge(report, corpus).retrieval
    assert figures["retrieval"]["rank"] is None
    assert tree["answers"] == []
    [about] = tree["corpora"]
    assert about["here"] is False
    assert about["caseCount"] == len(corpus.cases)


def test_stated_figures_of_an_incomplete_report_are_not_shown(
    corpus: Corpus, report: Report
) -> None:
    tree = json.loads(report_json(failing(report, 1), corpus))
    tree["cases"].pop()
    [row] = rows_of(boarded(None, parse_report(tree)))
    assert row["scores"]["spec"]["retrieval"]["summary"] is None
    assert marks_of(row) == ["not scored", "incomplete", "statuses"]


@pytest.mark.parametrize(
    ("made", "what", "blocks"),
    [
        (lambda r: with_options(r, top_k=5), "return cap", True),
        (lambda r: under(r, config={**r.provenance["config"], "returnCap": 5}), "return cap", True),
        (lambda r: with_options(r, min_score=0.5), "cut", False),
        (
            lambda r: under(r, config={**r.provenance["config"], "textMode": "content"}),
            "text mode",
            False,
        ),
        (lambda r: under(r, stopped="10 failures in a row"), "stopped", False),
        (lambda r: under(r, config=None), "not known", True),
        (
            lambda r: under(r, corpus={**r.provenance["corpus"], "distractors": {"count": 5000}}),
            "distractors",
            True,
        ),
    ],
    ids=["option", "asked", "cut", "text", "stopped", "unknown", "distractors"],
)
def test_marks(corpus: Corpus, report: Report, made, what: str, blocks: bool) -> None:  # type: ignore[no-untyped-def]
    [row] = rows_of(boarded(corpus, made(report)))
    assert marks_of(row) == [what]
    part = row["scores"]["spec"]["retrieval"]
    assert (part["rank"] is None) == (not part["ranked"]) == blocks
    assert bool(reasons(row, "spec")) == blocks
    assert part["summary"] is not None


def test_an_option_that_is_off_is_no_mark(corpus: Corpus, report: Report) -> None:
    for value in (None, False, True, "auto"):
        [row] = rows_of(boarded(corpus, with_options(report, top_k=value)))
        assert marks_of(row) == []


def test_what_cuts_nothing_is_no_cap(corpus: Corpus, report: Report) -> None:
    asked = max(record.limit or 0 for record in report.records)
    for options in ({"k": 60}, {"top_k": asked}, {"limit": asked + 1}):
        [row] = rows_of(boarded(corpus, with_options(report, **options)))
        assert marks_of(row) == []
        assert row["scores"]["spec"]["retrieval"]["rank"] == 1


def test_hybrid_is_ranked(corpus: Corpus) -> None:
    pytest.importorskip("wordllama")
    [row] = rows_of(boarded(corpus, run("hybrid", corpus)))
    assert row["options"]["k"] == 60
    assert marks_of(row) == []
    assert row["scores"]["spec"]["retrieval"]["rank"] == 1


def test_failed_changes_are_marked(corpus: Corpus, report: Report) -> None:
    change = replace(report.changes[0], status="error")
    [row] = rows_of(boarded(corpus, replace(report, changes=(change, *report.changes[1:]))))
    assert marks_of(row) == ["changes"]
    assert row["scores"]["spec"]["session"]["rank"] is None
    assert row["scores"]["spec"]["retrieval"]["rank"] == 1


# cases.md 22: two reports of one provider
def test_labels_tell_settings_apart(corpus: Corpus, report: Report) -> None:
    tree = boarded(
        corpus,
        report,
        with_options(report, top_k=5),
        with_options(report, top_k=5, active_filter=True),
        ran(corpus, rules="upstream-2026-06"),
        under(report, finishedAt="2026-02-02T00:00:00Z"),
    )
    labels = {row["label"] for row in rows_of(tree)}
    assert labels == {
        "bm25 · run 1",
        "bm25 · run 2",
        "bm25 · top_k=5",
        "bm25 · active_filter=true · top_k=5",
        "bm25 · run under upstream-2026-06",
    }
    assert len({row["id"] for row in rows_of(tree)}) == 5


def test_distractors_make_another_setting(corpus: Corpus, report: Report) -> None:
    def among(count: int, seed: int, day: int) -> Report:
        recipe = {"count": count, "seed": seed, "users": 100, "version": 1}
        told = {**report.provenance["corpus"], "distractors": recipe}
        return under(report, corpus=told, finishedAt=f"2026-02-0{day}T00:00:00Z")

    tree = boarded(corpus, report, among(65, 0, 1), among(65, 0, 2), among(965, 0, 3))
    assert [
        (row["label"], row["distractors"] and row["distractors"]["count"]) for row in rows_of(tree)
    ] == [
        ("bm25", None),
        ("bm25 · among 65 distractors of seed 0 · run 1", 65),
        ("bm25 · among 65 distractors of seed 0 · run 2", 65),
        ("bm25 · among 965 distractors of seed 0", 965),
    ]
    repeated = [
        row["label"]
        for row in rows_of(tree)
        if "one of 2 runs of this setting"
        in [mark["text"] for mark in row["scores"]["spec"]["marks"]]
    ]
    assert [label[-5:] for label in repeated] == ["run 1", "run 2"]
    other_seed = boarded(corpus, among(65, 0, 1), among(65, 7, 2))
    assert {row["label"].rpartition(" · ")[2] for row in rows_of(other_seed)} == {
        "among 65 distractors of seed 0",
        "among 65 distractors of seed 7",
    }


def wrong(report: Report) -> Report:
    """The report with nothing but a belief that there is not."""
    found = tuple(replace(r, relevant=("b-none",), results=None) for r in report.records)
    return replace(report, records=found)


def test_repeats_take_one_place(corpus: Corpus, report: Report) -> None:
    again = [
        under(report, finishedAt=f"2026-02-0{day}T00:00:00Z", startedAt=f"2026-02-0{day}T00:00:00Z")
        for day in (3, 2)
    ]
    low = replace(wrong(report), provider="low")
    tree = boarded(corpus, low, again[0], report, again[1])
    found = {row["label"]: row for row in rows_of(tree)}
    places = {n: row["scores"]["spec"]["retrieval"]["rank"] for n, row in found.items()}
    assert places == {"bm25 · run 1": 1, "bm25 · run 2": 1, "bm25 · run 3": 1, "low": 2}
    assert found["bm25 · run 3"]["date"] == "2026-02-03T00:00:00Z"
    marks = found["bm25 · run 2"]["scores"]["spec"]["marks"]
    assert [mark["text"] for mark in marks] == ["one of 3 runs of this setting"]
    assert marks_of(found["low"]) == []


def test_a_worse_repeat_stands_below_others_alone(corpus: Corpus, report: Report) -> None:
    worse = under(wrong(report), finishedAt="2026-02-02T00:00:00Z")
    tree = boarded(corpus, report, worse)
    assert {row["scores"]["spec"]["retrieval"]["rank"] for row in rows_of(tree)} == {1}
    other = replace(report, provider="other")
    tree = boarded(corpus, report, worse, other)
    ranks = {r["label"]: r["scores"]["spec"]["retrieval"]["rank"] for r in rows_of(tree)}
    assert ranks == {"bm25 · run 1": 1, "bm25 · run 2": 2, "other": 1}


def test_models_come_from_options(report: Report) -> None:
    found = facts(with_options(report, embedder="onnx:mini", llm="some/model"))
    assert (found["embeddingModel"], found["llm"]) == ("onnx:mini", "some/model")
    assert facts(report)["embeddingModel"] is facts(report)["llm"] is None


def test_answers_hold_what_came_back(corpus: Corpus, report: Report) -> None:
    tree = boarded(corpus, report)
    assert len(tree["answers"]) == len(report.records)
    evaluation = judge(report, corpus)
    judged = {j.record.key: j for j in (*evaluation.cases, *evaluation.turns)}
    for answer in tree["answers"]:
        found = judged[answer["caseId"], answer["turnIndex"]]
        assert answer["returned"] == list(found.record.relevant)
        assert len(answer["kinds"]) == len(answer["returned"])
        assert answer["passed"] == found.score.passed
        assert set(answer["scores"]) == set(RULES)
        assert answer["scores"]["spec"]["precision"] == found.score.precision
        wrong = [k for k in answer["kinds"] if k not in ("needed", "not asked for")]
        assert sorted(wrong) == sorted(found.score.noise)
        gone = found.expected.gold - set(found.record.relevant)
        assert {belief for belief, _ in answer["missing"]} == gone


def test_cases_hold_what_was_asked(corpus: Corpus) -> None:
    about = corpus_row(corpus, texts=True)
    cases = {(c["caseId"], c["turnIndex"]): c for c in about["cases"]}
    assert len(cases) == about["caseCount"] + about["turnCount"]
    mooring = cases["c-mooring", None]
    assert mooring["query"] == "Where is our mooring?"
    assert mooring["expected"]["relevant"]["only"] == mooring["gold"] == ["t-berth"]
    assert mooring["rationale"].startswith("The belief says it")
    assert cases["c-blank", None]["providerHasNoSay"] == "blank query"
    assert cases["s-refit", 2]["beliefsNow"] == {"t-berth": "The boat lies at berth 20."}
    assert about["beliefs"]["t-big-anchor"]["content"] == "The anchor weighs 25 kg."
    assert set(cases["s-refit", 2]["kinds"]) <= set(about["beliefs"])
    assert set(mooring["kinds"].values()) >= {"unrelated", "other_user", "other_scope"}


def test_without_texts_there_are_ids_alone(corpus: Corpus, report: Report) -> None:
    hidden = dump_board(boarded(corpus, report))
    shown = dump_board(boarded(corpus, report, own_texts=True))
    for text in ("berth 14", "mooring?", "The belief says it", "the donkey", "apologies"):
        assert text in shown
        assert text not in hidden
    assert '"t-berth"' in hidden


def test_texts_of_the_official_corpus_are_never_shown(corpus: Corpus) -> None:
    assert not may_show(corpus, own_texts=False)
    assert may_show(corpus, own_texts=True)
    assert not may_show(replace(corpus, name="official"), own_texts=True)
    assert not may_show(replace(corpus, sha256=OFFICIAL_SHA256), own_texts=True)
    assert may_show(load_corpus("native"), own_texts=False)


def test_the_native_corpus_is_known_by_its_bytes(corpus: Corpus) -> None:
    assert not may_show(replace(corpus, name="native"), own_texts=False)


def test_upstreams_texts_stay_out(upstream_dir: Path) -> None:
    official = load_corpus("official", fixtures=upstream_dir)
    assert official.sha256 == OFFICIAL_SHA256
    text = dump_board(boarded(official, ran(official, "everything"), own_texts=True))
    turns = [turn for session in official.sessions for turn in session.turns]
    texts = [b.content for b in official.beliefs] + [a for b in official.beliefs for a in b.aliases]
    texts += [c.query for c in official.cases] + [c.description for c in official.cases]
    texts += [t.query for t in turns] + [t.assistant_message for t in turns]
    texts += [p for c in official.cases for p in c.expect.prelude.contains]
    assert not [t for t in texts if len(t) > 11 and json.dumps(t, ensure_ascii=False)[1:-1] in text]


def test_upstreams_reports_are_marked_published(upstream_dir: Path) -> None:
    official = load_corpus("official", fixtures=upstream_dir)
    found = collect([upstream_dir / "reports"], Corpora(lambda name: official).find)
    assert not found.skipped
    tree = board(found.runs)
    expected = json.loads((upstream_dir / "expected.json").read_text(encoding="utf-8"))
    june = [row for row in tree["rows"] if row.get("edition") == "2026-06"]
    june = [row for row in june if "spec" in row["scores"]]
    scored = [row for row in june if row["scores"]["spec"]["basis"] == "scored"]
    assert len(june) == len(scored) == len(found.runs) == 8
    for row in june:
        told = expected[f"retrieval-report-{row['provider']}"]
        spec = row["scores"]["spec"]["retrieval"]["summary"]
        assert (spec["mean_precision"], spec["n_precision"]) == (
            told["spec"]["mean_precision"],
            told["spec"]["n"],
        )
        assert spec["passed"] == told["passed"]
        for figures in row["scores"].values():
            assert figures["marks"][0]["what"] == "published"
            assert figures["retrieval"]["rank"] is figures["session"]["rank"] is None


def test_the_file_is_strict_json_that_can_be_read_again(
    corpus: Corpus, report: Report, tmp_path: Path
) -> None:
    tree = boarded(corpus, report, own_texts=True)
    (tmp_path / "leaderboard.json").write_text(dump_board(tree), encoding="utf-8")
    assert read_board(tmp_path) == read_board(tmp_path / "leaderboard.json") == tree
    lines = dump_board(tree).splitlines()
    assert sum('"label":"bm25"' in line for line in lines) == 1
    assert {m["name"] for m in tree["measures"]} == set(MEASURES)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[]", "is no leaderboard"),
        ("{}", "is no leaderboard"),
        ('{"kind": "pmb-hf leaderboard", "schemaVersion": 2}', "upgrade pmb-hf"),
        ('{"kind": "pmb-hf leaderboard", "schemaVersion": 1, "corpora": 3}', "must be a list"),
        ('{"kind": NaN}', "NaN"),
    ],
)
def test_what_is_no_board_is_refused(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "leaderboard.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ReportError, match=says) as caught:
        read_board(path)
    assert str(path) in str(caught.value)


def test_a_missing_board_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match="pmb export"):
        read_board(tmp_path)


def test_a_view_leaves_out_what_is_broken(corpus: Corpus, report: Report) -> None:
    tree = boarded(corpus, report, ran(corpus, "fts5"))
    own_rows(tree)[0]["scores"]["spec"]["retrieval"]["rank"] = {"no": "number"}
    [view] = tables(tree, "spec")
    assert view.broken == 1
    assert next(row["provider"] for row in view.rows) == "fts5"
    assert chosen(tree, "spec")["corpora"][0]["broken"] == 1


def test_a_board_of_nothing() -> None:
    tree = board([], published=False)
    assert tree["rows"] == tree["answers"] == tree["corpora"] == []
    assert tree["updated"] is None
    assert tables(tree, "spec") == []


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 10**30) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=2),
    max_leaves=4,
)


@given(data=st.data())
@settings(
    max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
def test_a_report_with_junk_in_it_costs_itself_alone(
    data: st.DataObject, corpus: Corpus, report: Report, tmp_path: Path
) -> None:
    tree = json.loads(report_json(report, corpus))
    place: Any = tree["provenance"] if data.draw(st.booleans()) else tree
    for _ in range(data.draw(st.integers(0, 3))):
        inner = list(place.values() if isinstance(place, dict) else place)
        inner = [value for value in inner if isinstance(value, dict | list) and value]
        place = data.draw(st.sampled_from(inner)) if inner else place
    keys = list(place) if isinstance(place, dict) else list(range(len(place)))
    place[data.draw(st.sampled_from(keys))] = data.draw(JUNK)
    bad, right = tmp_path / "bad.json", tmp_path / "right.json"
    bad.write_text(json.dumps(tree), encoding="utf-8")
    right.write_text(report_json(ran(corpus, "fts5"), corpus), encoding="utf-8")
    for given_corpora in ([corpus], []):
        found = collect([bad, right], Corpora(load_corpus, given_corpora).find)
        assert len(found.runs) + len(found.skipped) == 2
        made = board(found.runs, published=False)
        text = dump_board(made)
        json.loads(text)
        tables(made, "spec")
        assert any(row["provider"] == "fts5" for row in made["rows"])


def _figures(tree: Any, at: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, value in tree.items():
        yield (*at, name)
        if isinstance(value, dict):
            yield from _figures(value, (*at, name))


HOSTILE = (1e308, 10**300, "x", [], True, -1)


def test_hostile_figures_cost_their_report_alone(
    corpus: Corpus, report: Report, tmp_path: Path
) -> None:
    right = Run(ran(corpus, "fts5"), corpus)
    text = report_json(report, corpus)
    whole = json.loads(text)
    places = [("retrieval", *p) for p in _figures(whole["retrieval"])]
    places += [("session", "retrieval", *p) for p in _figures(whole["session"]["retrieval"])]
    places += [("provenance", "corpus", name) for name in ("beliefs", "cases", "turns")]
    names = set(names_in_order())
    skipped = 0
    for (*inner, last), value in itertools.product(places, HOSTILE):
        tree = json.loads(text)
        place = tree
        for name in inner:
            place = place[name]
        place[last] = value
        (tmp_path / "hostile.json").write_text(json.dumps(tree), encoding="utf-8")
        found = collect([tmp_path / "hostile.json"], Corpora(load_corpus).find)
        for one in found.skipped:
            assert one.file.endswith("hostile.json")
            assert last in one.why or "states no figures" in one.why
        skipped += len(found.skipped)
        made = board([right, *found.runs], published=False)
        assert all(math.isfinite(figure) for row in leaderboard_rows(made) for figure in _of(row))
        if last in names and value != 1e308 and not isinstance(value, int):
            assert found.skipped, (inner, last, value)
    assert skipped > 100


def _of(row: dict[str, Any]) -> Iterator[float]:
    for name, value in row.items():
        if isinstance(value, int | float) and not isinstance(value, bool):
            assert fault(name.partition("_")[2], value) is None
            yield value


def test_a_hostile_figure_is_named(corpus: Corpus, report: Report, tmp_path: Path) -> None:
    tree = json.loads(report_json(report, corpus))
    tree["retrieval"]["measures"]["mean_precision"] = 1e308
    (tmp_path / "r.json").write_text(json.dumps(tree), encoding="utf-8")
    [skipped] = collect([tmp_path / "r.json"], Corpora(load_corpus).find).skipped
    assert skipped.why == (
        "the figure that it states as retrieval.measures.mean_precision must be a number from "
        "0 to 1, not 1e+308"
    )


@pytest.mark.parametrize("beside", ["leaderboard.json", "ledger.json"])
def test_a_folder_with_a_folder_of_reports_stands_for_these(tmp_path: Path, beside: str) -> None:
    (tmp_path / "reports").mkdir()
    for name in (beside, "scale.json", "reports/a.json"):
        (tmp_path / name).write_text("{}")
    assert files([tmp_path]) == [tmp_path / "reports" / "a.json"]
