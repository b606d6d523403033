"""Tests of pmb_hf.formats: what is written is read by others, or checked against their schema."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import corpora
import jsonschema
import pytest
import yaml
from board_kit import failing, ran, strict, with_options, without
from huggingface_hub import parse_eval_result_entries

from pmb_hf.corpus import load_corpus
from pmb_hf.errors import InputError, UnknownNameError
from pmb_hf.formats import FORMATS, Written, write
from pmb_hf.leaderboard.board import Run
from pmb_hf.report import Report, judge
from pmb_hf.schema import Corpus

DATA = Path(__file__).parent / "data"
REPO = "acme/precisionmembench"


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return load_corpus("native")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return corpora.load(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def report(corpus: Corpus) -> Report:
    return ran(corpus)


def wrote(form: str, out: Path, corpus: Corpus | None, *reports: Report) -> Written:
    return write(form, [Run(report, corpus) for report in reports], out, repo=REPO)


# TREC


def test_ir_measures_reads_run_and_qrels_and_agrees(
    corpus: Corpus, report: Report, tmp_path: Path
) -> None:
    import ir_measures
    from ir_measures import RR, R, Rprec, SetP, SetR

    made = wrote("trec", tmp_path, corpus, report)
    [qrels] = [tmp_path / f for f in made.files if f.startswith("qrels/")]
    [run] = [tmp_path / f for f in made.files if f.startswith("runs/")]
    evaluation = judge(report, corpus, "spec")
    assert evaluation.retrieval is not None
    gold = list(ir_measures.read_trec_qrels(str(qrels)))
    hits = list(ir_measures.read_trec_run(str(run)))
    single = [q for q in gold if "#" not in q.query_id]
    assert len({q.query_id for q in single}) == evaluation.retrieval["n_precision"]
    measures = [SetP, SetR, Rprec, RR, R @ 1000]
    found = ir_measures.calc_aggregate(measures, single, hits)
    assert found[SetP] == pytest.approx(evaluation.retrieval["mean_precision"], abs=1e-4)
    assert found[SetR] == pytest.approx(evaluation.retrieval["mean_recall"], abs=1e-4)
    assert found[Rprec] == pytest.approx(evaluation.retrieval["mean_r_precision"], abs=1e-4)


def test_trec_ranks_are_the_order_of_the_list(tiny: Corpus, tmp_path: Path) -> None:
    report = ran(tiny)
    first = replace(report.records[0], relevant=("t-engine", "t-berth", "t-engine", "t-anchor"))
    made = wrote("trec", tmp_path, tiny, replace(report, records=(first, *report.records[1:])))
    [run] = [tmp_path / f for f in made.files if f.startswith("runs/")]
    lines = [line.split() for line in run.read_text(encoding="utf-8").splitlines()]
    mine = [(doc, rank, score) for q, _, doc, rank, score, _ in lines if q == "c-mooring"]
    assert mine == [("t-engine", "1", "3"), ("t-berth", "2", "2"), ("t-anchor", "3", "1")]


def test_trec_ids_are_one_word(tmp_path: Path) -> None:
    raw = corpora.files()
    raw["retrieval.cases.json"][0]["caseId"] = "two words\t100%"
    odd = corpora.load_corpus(corpora.write(tmp_path / "corpus", raw))
    made = wrote("trec", tmp_path / "out", odd, ran(odd))
    for file in made.files:
        for line in (tmp_path / "out" / file).read_text(encoding="utf-8").splitlines():
            assert len(line.split()) == (6 if file.startswith("runs/") else 4)


# MTEB


def test_mteb_results(corpus: Corpus, report: Report, tmp_path: Path) -> None:
    made = wrote("mteb", tmp_path, corpus, report)
    assert {Path(f).name for f in made.files} == {
        "PrecisionMemBench_retrieval.json",
        "PrecisionMemBench_sessions.json",
    }
    [single] = [f for f in made.files if f.endswith("retrieval.json")]
    provider, revision, _ = Path(single).parts
    assert provider == "bm25"
    assert len(revision) == 12
    result = strict(tmp_path / single)
    assert set(result) >= {
        *("dataset_revision", "task_name", "mteb_version", "scores", "evaluation_time"),
        *("kg_co2_emissions", "date"),
    }
    [scores] = result["scores"]["test"]
    evaluation = judge(report, corpus)
    assert evaluation.retrieval is not None
    assert scores["main_score"] == evaluation.retrieval["pass_rate"]
    assert scores["n_precision"] == evaluation.retrieval["n_precision"]
    assert scores["languages"] == ["eng-Latn"]
    assert result["dataset_revision"] == corpus.sha256
    assert result["date"] == 1767323046.0


# Every Eval Ever


def schema(name: str) -> Any:
    found = strict(DATA / f"every_eval_ever_{name}.schema.json")
    jsonschema.Draft202012Validator.check_schema(found)
    return jsonschema.Draft202012Validator(found)


@pytest.mark.parametrize("which", ["native", "tiny"])
def test_every_eval_ever_is_valid(which: str, corpus: Corpus, tiny: Corpus, tmp_path: Path) -> None:
    used = corpus if which == "native" else tiny
    report = ran(used)
    timed = replace(report, records=tuple(replace(r, latency_ms=1.5) for r in report.records))
    made = wrote("eee", tmp_path, used, timed)
    [whole] = [f for f in made.files if f.endswith(".json")]
    [samples] = [f for f in made.files if f.endswith(".jsonl")]
    tree = strict(tmp_path / whole)
    schema("aggregate").validate(tree)
    assert tree["detailed_evaluation_results"]["file_path"] == samples
    assert samples == whole.removesuffix(".json") + "_samples.jsonl"
    rows = [json.loads(x) for x in (tmp_path / samples).read_text(encoding="utf-8").splitlines()]
    assert len(rows) == len(report.records)
    for row in rows:
        schema("instance").validate(row)
        assert row["evaluation_id"] == tree["evaluation_id"]
    by_name = {r["metric_config"]["metric_id"]: r for r in tree["evaluation_results"]}
    evaluation = judge(report, used)
    assert evaluation.retrieval is not None
    found = by_name["precisionmembench.retrieval.mean_precision"]["score_details"]
    assert found["score"] == evaluation.retrieval["mean_precision"]
    assert found["uncertainty"]["num_samples"] == evaluation.retrieval["n_precision"]
    passed = sum(row["evaluation"]["is_correct"] for row in rows)
    assert passed == sum(j.score.passed for j in (*evaluation.cases, *evaluation.turns))
    shown = "mooring?" in (tmp_path / samples).read_text(encoding="utf-8")
    assert not shown, "texts of a corpus of one's own are not published"


def test_the_schemas_refuse_what_is_wrong(corpus: Corpus, report: Report, tmp_path: Path) -> None:
    made = wrote("eee", tmp_path, corpus, report)
    tree = strict(tmp_path / next(f for f in made.files if f.endswith(".json")))
    for change in (
        {"extra": 1},
        {"schema_version": "0.2.0"},
        {"evaluation_results": []},
        {"retrieved_timestamp": "2026-01-01"},
    ):
        with pytest.raises(jsonschema.ValidationError):
            schema("aggregate").validate(tree | change)


# .eval_results


def test_eval_results_name_a_model_repository(
    corpus: Corpus, report: Report, tmp_path: Path
) -> None:
    named = with_options(report, embedder="sentence-transformers:acme/mini-embed")
    other = with_options(report, embedder="ollama:acme/other")
    made = wrote("eval-results", tmp_path, corpus, report, named, other)
    assert set(made.files) == {
        "acme/mini-embed/.eval_results/PrecisionMemBench_retrieval.yaml",
        "acme/mini-embed/.eval_results/PrecisionMemBench_sessions.yaml",
    }
    assert len(made.left_out) == 2
    text = (tmp_path / made.files[0]).read_text(encoding="utf-8")
    [entry] = parse_eval_result_entries(yaml.safe_load(text))
    evaluation = judge(report, corpus)
    assert evaluation.retrieval is not None
    assert entry.dataset_id == REPO
    assert entry.task_id == "PrecisionMemBench_retrieval"
    assert entry.value == pytest.approx(100 * evaluation.retrieval["passed"] / 77)
    assert isinstance(entry.date, str)
    assert "run " in (entry.notes or "")


def test_eval_results_are_of_the_dataset_and_ranked(
    corpus: Corpus, tiny: Corpus, tmp_path: Path
) -> None:
    model = {"embedder": "acme/mini-embed"}
    elsewhere = with_options(ran(tiny), **model)
    june = with_options(ran(corpus, rules="upstream-2026-06"), **model)
    capped = with_options(ran(corpus), **model, top_k=3)
    runs = [Run(elsewhere, tiny), Run(june, corpus), Run(capped, corpus)]
    made = write("eval-results", runs, tmp_path, repo=REPO)
    assert made.files == ()
    told = "\n".join(made.left_out)
    assert "native" in told
    assert "upstream-2026-06" in told
    assert "not ranked" in told


@pytest.mark.parametrize("repo", [None, "no-slash", "a/b/c", "../x"])
def test_eval_results_need_the_dataset(corpus: Corpus, repo: str | None, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--repo ORG/NAME"):
        write("eval-results", [], tmp_path, repo=repo)


# all of them


@pytest.mark.parametrize("form", FORMATS)
def test_the_same_run_gives_the_same_bytes(
    form: str, corpus: Corpus, report: Report, tmp_path: Path
) -> None:
    named = with_options(report, embedder="acme/mini-embed")
    made = [wrote(form, tmp_path / name, corpus, named) for name in ("a", "b")]
    assert made[0] == made[1]
    assert made[0].files
    for file in made[0].files:
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


@pytest.mark.parametrize("form", ["eee", "mteb", "eval-results"])
def test_parts_without_figures_are_left_out(form: str, corpus: Corpus, tmp_path: Path) -> None:
    named = with_options(ran(corpus), embedder="acme/mini-embed")
    for broken in (without(named, 7), failing(named, 3)):
        made = wrote(form, tmp_path / str(len(broken.cases)), corpus, broken)
        assert any("no figures" in reason for reason in made.left_out)
        assert not any("retrieval" in file for file in made.files)


@pytest.mark.parametrize("form", FORMATS)
def test_without_its_corpus_a_run_is_left_out(form: str, report: Report, tmp_path: Path) -> None:
    made = wrote(form, tmp_path, None, replace(report, stated={"retrieval": {"totalPassed": 1}}))
    assert made.files == ()
    assert "corpus is not here" in made.left_out[0]


@pytest.mark.parametrize("form", FORMATS)
def test_names_of_providers_stay_within_the_folder(form: str, tiny: Corpus, tmp_path: Path) -> None:
    report = replace(ran(tiny), provider="../../x\n<b>\u202e" + "y" * 300)
    made = wrote(form, tmp_path / "out", tiny, report)
    for file in made.files:
        assert (tmp_path / "out" / file).resolve().is_relative_to((tmp_path / "out").resolve())
        assert ".." not in Path(file).parts


def test_an_unknown_format_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="csv"):
        write("csv", [], tmp_path)
