"""Reports: one reader for ours and upstream's, and the same bytes whenever scored again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import corpora
import pytest
from cli_kit import environment
from hypothesis import given
from hypothesis import strategies as st

from pmb_hf.corpus import load_corpus
from pmb_hf.errors import ReportError
from pmb_hf.measured import ChangeRecord, Ingestion, Record, Result
from pmb_hf.report import Report, judge, merge, rescore
from pmb_hf.report_json import report_json
from pmb_hf.report_reader import parse_report, read_report
from pmb_hf.rules import RULES
from pmb_hf.runner import run


@pytest.fixture(scope="module")
def native_report() -> Report:
    return run("fts5")


@pytest.fixture(scope="module")
def official(upstream_dir: Path) -> Any:
    return load_corpus("official", fixtures=upstream_dir / "fixtures")


def test_a_report_comes_back_as_it_was(native_report: Report) -> None:
    corpus = load_corpus("native")
    text = report_json(native_report, corpus)
    back = parse_report(json.loads(text))
    assert back.records == native_report.records
    assert back.changes == native_report.changes
    assert back.provenance == json.loads(text)["provenance"]
    assert report_json(back, corpus) == text


@pytest.mark.parametrize("rules", RULES)
def test_scored_again_it_gives_the_same_bytes(native_report: Report, rules: str) -> None:
    corpus = load_corpus("native")
    once = report_json(rescore(native_report, corpus, rules), corpus)
    again = rescore(parse_report(json.loads(once)), corpus, rules)
    assert report_json(again, corpus) == once
    assert json.loads(once)["rules"] == rules
    assert json.loads(once)["provenance"].get("runRules") == (None if rules == "spec" else "spec")
    back = rescore(parse_report(json.loads(once)), corpus, "spec")
    assert report_json(back, corpus) == report_json(native_report, corpus)


def test_upstream_reports_are_read_merged_and_rescored(upstream_dir: Path, official: Any) -> None:
    for single in sorted((upstream_dir / "reports").glob("retrieval-report-*.json")):
        report = merge(
            [read_report(single), read_report(single.with_name(f"session-{single.name}"))]
        )
        assert report.upstream
        assert (len(report.cases), len(report.turns)) == (77, 12)
        assert report.corpus_name == "official"
        once = report_json(rescore(report, official, "spec"), official)
        twice = rescore(parse_report(json.loads(once)), official, "spec")
        assert report_json(twice, official) == once
        evaluation = judge(report, official)
        stated = report.stated["retrieval"]
        assert evaluation.retrieval is not None
        assert evaluation.retrieval["passed"] == stated["totalPassed"]
        assert evaluation.retrieval["mean_recall"] == stated["meanRecall"]
        assert {j.record.results for j in evaluation.cases} == {None}


def test_a_report_of_another_corpus_is_not_scored(native_report: Report, official: Any) -> None:
    with pytest.raises(ReportError, match="made on corpus 'native'"):
        judge(native_report, official)


def test_reports_of_two_providers_are_not_one(upstream_dir: Path) -> None:
    reports = upstream_dir / "reports"
    pair = [
        read_report(reports / "retrieval-report-zep.json"),
        read_report(reports / "session-retrieval-report-mem0.json"),
    ]
    with pytest.raises(ReportError, match="two providers"):
        merge(pair)
    with pytest.raises(ReportError, match="is in both reports"):
        merge([pair[0], pair[0]])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[]", "a report is an object"),
        ("{", "no valid JSON"),
        (
            '{"provider": "x", "cases": [{"caseId": "a", "relevantBeliefs": [], "status": ""}]}',
            "status must be a word or null",
        ),
        (
            (
                '{"provider": "x", "cases": [{"caseId": "a", "relevantBeliefs": [],'
                ' "retrievalLatencyMs": 1e999}]}'
            ),
            "retrievalLatencyMs must be a number or null",
        ),
        (r'{"provider": "\ud800"}', "half of a character"),
        ('{"provider": "x", "cases": [{"a": NaN}]}', "NaN is no JSON value"),
        ('{"cases": []}', "'provider' must be a string"),
        ('{"provider": "x", "cases": []}', "there are no cases"),
        ('{"provider": "x", "schemaVersion": 99}', "schemaVersion 99 is not known"),
        ('{"provider": "x", "rules": "mine", "cases": [{}]}', "rules 'mine' are not known"),
        ('{"provider": "x", "cases": [3]}', r"cases\[0\]: must be an object"),
        ('{"provider": "x", "cases": [{"caseId": 3}]}', r"cases\[0\].caseId must be a string"),
        ('{"provider": "x", "cases": [{"caseId": "a"}]}', "the returned ids are missing"),
        (
            '{"provider": "x", "cases": [{"caseId": "a", "relevantBeliefs": [1]}]}',
            r"\(a\).relevantBeliefs must be a list of ids",
        ),
        (
            (
                '{"provider": "x", "cases": [{"caseId": "a", "relevantBeliefs": [],'
                ' "retrievalLatencyMs": "fast"}]}'
            ),
            "retrievalLatencyMs must be a number or null",
        ),
        (
            (
                '{"provider": "x", "cases": [{"caseId": "a", "relevantBeliefs": []},'
                ' {"caseId": "a", "relevantBeliefs": []}]}'
            ),
            "'a' is there more than once",
        ),
        (
            (
                '{"provider": "x", "ingestion": {"perBelief": [{}]},'
                ' "cases": [{"caseId": "a", "relevantBeliefs": []}]}'
            ),
            "ingestion or changes are malformed",
        ),
    ],
)
def test_a_bad_report_is_one_error_that_names_the_place(
    tmp_path: Path, text: str, says: str
) -> None:
    path = tmp_path / "report.json"
    path.write_text(text)
    with pytest.raises(ReportError, match=says):
        read_report(path)


def test_a_missing_report_is_named(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match=r"none\.json can't be read"):
        read_report(tmp_path / "none.json")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["caseId", "turnIndex", "relevantBeliefs", "results", "cases", "session", "x"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(json_values, json_values, json_values)
def test_no_json_makes_the_reader_crash(cases: Any, session: Any, ingestion: Any) -> None:
    tree = {"provider": "x", "cases": cases, "session": session, "ingestion": ingestion}
    for version in (None, 1):
        with suppress(ReportError):
            parse_report(tree | {"schemaVersion": version})


names = st.text(max_size=6)
ids = st.lists(names, max_size=3).map(tuple)


@given(
    st.builds(
        Record,
        case_id=names,
        category=names,
        turn_index=st.none() | st.integers(0, 20),
        relevant=ids,
        pinned=st.none() | ids,
        questions=st.none() | ids,
        prelude=st.none() | names,
        results=st.none()
        | st.lists(st.builds(Result, names, st.none() | st.floats(-9, 9)), max_size=3).map(tuple),
        limit=st.none() | st.integers(0, 50),
        latency_ms=st.none() | st.floats(0, 1e6),
        status=st.sampled_from(["ok", "error"]),
        error=st.none() | names,
    )
)
def test_a_record_survives_its_wire_form(record: Record) -> None:
    assert Record.from_wire(json.loads(json.dumps(record.to_wire()))) == record


def test_ingestion_and_changes_survive_their_wire_form() -> None:
    ingestion = Ingestion((("a", 1.5), ("b", 2.5)), visible_ms=3.0)
    assert Ingestion.from_wire(json.loads(json.dumps(ingestion.to_wire()))) == ingestion
    assert ingestion.to_wire()["totalMs"] == 4.0
    assert Ingestion().to_wire()["meanPerBeliefMs"] is None
    change = ChangeRecord("s", 3, "b", "update", latency_ms=1.0)
    assert ChangeRecord.from_wire(json.loads(json.dumps(change.to_wire()))) == change


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        ("rules", ["spec"], "rules ['spec'] are not known"),
        ("provenance.corpus", "native", "provenance: 'corpus' must be an object, not str"),
        ("cases.0.repeats.latenciesMs", [None], "repeats.latenciesMs must be numbers of ms"),
        ("load.errors", "x", "load.errors must be a whole number >= 0, not str 'x'"),
        ("load.p95Ms", [5], "load.p95Ms must be a number of ms >= 0 or null"),
        ("ingestion.visibleAfterMs", "x", "ingestion.visibleAfterMs must be a number of ms"),
        ("ingestion.perBelief.0.latencyMs", None, "ingestion.perBelief[0].latencyMs must be a n"),
        ("session.changes", {}, "session: 'changes' must be a list, not dict"),
        ("session.changes.0.status", 5, "session.changes[0].status must be a word"),
        ("session.changes.0.latencyMs", "x", "session.changes[0].latencyMs must be a number of"),
    ],
)
def test_figures_of_a_wrong_type_are_named(
    tmp_path: Path, path: str, value: object, says: str
) -> None:
    corpus, out = corpora.load(tmp_path / "corpus"), tmp_path / "r.json"
    run("fts5", corpus, out=out, repeat=2, concurrency=2)
    tree = json.loads(out.read_text(encoding="utf-8"))
    assert parse_report(tree).records
    *parts, last = [int(part) if part.isdecimal() else part for part in path.split(".")]
    node: Any = tree
    for part in parts:
        node = node[part]
    node[last] = value
    with pytest.raises(ReportError) as caught:
        parse_report(tree, where="r.json")
    assert str(caught.value).startswith("r.json: ")
    assert says in str(caught.value)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_what_is_no_file_is_refused_at_once(tmp_path: Path) -> None:
    pipe = tmp_path / "r.json"
    os.mkfifo(pipe)
    for path, kind in ((pipe, "a named pipe"), (Path(os.devnull), "a device")):
        with pytest.raises(ReportError, match=f"{path} is {kind}, no file; give a file"):
            read_report(path)


@pytest.mark.skipif(not Path("/dev/stdin").exists(), reason="needs /dev/stdin")
def test_a_pipe_that_the_shell_opened_is_read(native_report: Report) -> None:
    text = report_json(native_report, load_corpus("native"))
    code = "from pmb_hf.report_reader import read_report as r; print(r('/dev/stdin').provider)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=text,
        capture_output=True,
        encoding="utf-8",
        env=environment(),
        check=False,
    )
    assert (done.stdout.strip(), done.stderr) == (native_report.provider, "")
