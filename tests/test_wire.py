"""Journals of any origin: what is not exactly what a run writes is one error with its place."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import corpora
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmb_hf.errors import InputError, ResumeError
from pmb_hf.measured import Bulk, ChangeRecord, Ingestion, Record, Result
from pmb_hf.providers.controls import ScriptedProvider
from pmb_hf.run_log import RunLog
from pmb_hf.runner import run
from pmb_hf.wire import read_change, read_entry, read_ingestion, read_record

CONFIG = {"provider": "x"}
RECORD = Record(
    case_id="c",
    category="k",
    turn_index=3,
    relevant=("a",),
    pinned=("p",),
    questions=None,
    prelude="text",
    results=(Result("a", 0.5), Result("b")),
    limit=20,
    latency_ms=1.5,
    repeats_ms=(1.0, 2.0),
    stable=True,
)
CHANGE = ChangeRecord("s", 1, "b", "update", latency_ms=2.0)
INGESTION = Ingestion((("a", 1.0), ("b", 2.0)), 3.0, Bulk(10, 1, 5.0))
LOAD = {
    "concurrency": 4,
    "searches": 9,
    "errors": 0,
    "seconds": 0.5,
    "perSecond": 18.0,
    "p50Ms": 1.0,
    "p95Ms": 2.0,
}
LINES: dict[str, Any] = {
    "record": RECORD.to_wire(),
    "change": CHANGE.to_wire(),
    "ingestion": INGESTION.to_wire(),
    "sessionIngestion": INGESTION.to_wire(),
    "load": LOAD,
    "restart": "s",
}


def journal(path: Path, *lines: Any, header: Any = None) -> Path:
    """A journal file of these lines; bytes and text are written as they are."""
    first = {"pmbJournal": 1, "config": CONFIG} if header is None else header
    raw = [
        line
        if isinstance(line, bytes)
        else line.encode()
        if isinstance(line, str)
        else json.dumps(line).encode()
        for line in (first, *lines)
    ]
    path.write_bytes(b"\n".join(raw) + b"\n")
    return path


def resumed(path: Path) -> RunLog:
    return RunLog.open(path, CONFIG, resume=True)


def through_json(value: Any) -> Any:
    return json.loads(json.dumps(value))


def test_what_is_written_is_read_back() -> None:
    assert read_record(through_json(RECORD.to_wire()), "x") == RECORD
    assert read_change(through_json(CHANGE.to_wire()), "x") == CHANGE
    assert read_ingestion(through_json(INGESTION.to_wire()), "x") == INGESTION


def test_every_kind_of_line_is_taken(tmp_path: Path) -> None:
    log = resumed(journal(tmp_path / "j", *({kind: raw} for kind, raw in LINES.items())))
    assert (log.load, log.ingestion, log.session_ingestion) == (LOAD, INGESTION, INGESTION)
    assert log.records.keys() == {("c", 3)}
    assert log.changes == []  # the session was begun anew
    log.close(finished=True)


def changed(kind: str, change: Callable[[Any], Any]) -> dict[str, Any]:
    raw = copy.deepcopy(LINES[kind])
    change(raw)
    return {kind: raw}


def put(**values: Any) -> Callable[[dict[str, Any]], None]:
    return lambda raw: raw.update(values)


def drop(name: str) -> Callable[[dict[str, Any]], Any]:
    return lambda raw: raw.pop(name)


BAD: dict[str, tuple[Any, str]] = {
    "record null": ({"record": None}, "record must be an object, not null"),
    "record list": ({"record": [1]}, "record must be an object"),
    "record key lacks": (changed("record", drop("results")), "record.results is missing"),
    "record key extra": (changed("record", put(more=1)), "record.more unknown key"),
    "record comment": (changed("record", put(_more=1)), "record._more unknown key"),
    "relevant number": (changed("record", put(relevant=[5])), "record.relevant must be a list of"),
    "relevant null": (changed("record", put(relevant=None)), "record.relevant must be a list of"),
    "pinned word": (changed("record", put(pinned="p")), "record.pinned must be a list of strings"),
    "status number": (changed("record", put(status=5)), "record.status must be a word"),
    "status empty": (changed("record", put(status="")), "record.status must be a word"),
    "turn text": (changed("record", put(turn_index="3")), "record.turn_index must be a whole num"),
    "turn bool": (changed("record", put(turn_index=True)), "record.turn_index must be a whole"),
    "latency text": (changed("record", put(latency_ms="1")), "record.latency_ms must be a number"),
    "latency below 0": (changed("record", put(latency_ms=-1)), "record.latency_ms must be"),
    "latency huge": (changed("record", put(latency_ms=10**400)), "record.latency_ms must be"),
    "limit text": (changed("record", put(limit="20")), "record.limit must be a whole number"),
    "results ids": (changed("record", put(results=["a"])), "record.results must be a list of [id"),
    "results score": (changed("record", put(results=[["a", "1"]])), "record.results must be a lis"),
    "results huge": (changed("record", put(results=[["a", 10**400]])), "record.results must be"),
    "results object": (changed("record", put(results={})), "record.results must be a list of"),
    "repeats": (changed("record", put(repeats_ms=[None])), "record.repeats_ms must be a list of"),
    "stable": (changed("record", put(stable=1)), "record.stable must be true or false or null"),
    "case id": (changed("record", put(case_id=["c"])), "record.case_id must be a string"),
    "change empty": ({"change": {}}, "change.caseId is missing"),
    "change turn": (changed("change", put(turnIndex=None)), "change.turnIndex must be a whole"),
    "change latency": (changed("change", put(latencyMs="1")), "change.latencyMs must be a number"),
    "ingestion list": ({"sessionIngestion": []}, "sessionIngestion must be an object"),
    "ingestion rows": (changed("ingestion", put(perBelief=[5])), "ingestion.perBelief must be a"),
    "ingestion row": (
        changed("ingestion", put(perBelief=[{"beliefId": "a", "latencyMs": None}])),
        "ingestion.perBelief[0].latencyMs must be a number of ms",
    ),
    "ingestion bulk": (
        changed("ingestion", put(distractors={"calls": 1})),
        "ingestion.distractors.beliefCount is missing",
    ),
    "load number": ({"load": 5}, "load must be an object"),
    "load figure": (changed("load", put(errors=None)), "load.errors must be a whole number"),
    "restart number": ({"restart": 5}, "restart must be the id of a session"),
    "another kind": ({"note": "x"}, "must hold one of record, change"),
    "two kinds": ({"restart": "s", "load": LOAD}, "must hold one of record, change"),
    "no kind": ({}, "must hold one of record, change"),
    "NaN": ('{"load": NaN}', "NaN is no JSON number"),
    "half a character": (r'{"restart": "\ud800"}', "half of a character"),
    "half in a record": (
        json.dumps(changed("record", put(relevant=["\udcff"]))),
        "half of a character",
    ),
    "deep": ('{"load": ' + "[" * 200_000 + "]" * 200_000 + "}", "nested too deeply"),
    "a long number": ('{"load": ' + "9" * 5000 + "}", "can't be read"),
    "no object": ("[1]", "is no object"),
}


@pytest.mark.parametrize("fault", BAD)
@pytest.mark.parametrize("last", [True, False])
def test_a_damaged_line_is_one_error_and_changes_nothing(
    tmp_path: Path, fault: str, last: bool
) -> None:
    line, says = BAD[fault]
    good = {"restart": "s"}
    path = journal(tmp_path / "j", good, *([line] if last else [line, good]))
    before = path.read_bytes()
    with pytest.raises(ResumeError) as caught:
        resumed(path)
    said = str(caught.value)
    assert said.startswith(f"{path} line 3")
    assert says in said
    assert len(said) < 700
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["j"]


@pytest.mark.parametrize("config", [[1], None, "x", 5])
def test_a_damaged_header_is_one_error(tmp_path: Path, config: Any) -> None:
    header = {"pmbJournal": 1, "config": config}
    with pytest.raises(ResumeError, match=r"j line 1: config must be an object, not"):
        resumed(journal(tmp_path / "j", header=header))


@pytest.mark.parametrize("header", [{}, {"pmbJournal": True, "config": {}}, {"pmbJournal": 2}])
def test_what_is_no_journal_is_one_error(tmp_path: Path, header: Any) -> None:
    with pytest.raises(ResumeError, match="is no journal of a run"):
        resumed(journal(tmp_path / "j", header=header))


def test_blank_lines_do_not_shift_the_number(tmp_path: Path) -> None:
    with pytest.raises(ResumeError, match="j line 4: load must be"):
        resumed(journal(tmp_path / "j", "", {"restart": "s"}, {"load": 5}))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=5,
)


@given(st.sampled_from(list(LINES)), st.data())
def test_any_value_in_any_place_is_read_or_refused_with_its_place(
    kind: str, data: st.DataObject
) -> None:
    raw = copy.deepcopy(LINES[kind])
    if isinstance(raw, dict):
        raw[data.draw(st.sampled_from(list(raw)))] = data.draw(JSON)
    else:
        raw = data.draw(JSON)
    try:
        read_entry({kind: raw}, "here")
    except InputError as error:
        assert str(error).startswith(f"here: {kind}")  # noqa: PT017 - either way is right


def test_answers_to_what_the_corpus_does_not_ask_are_refused(tmp_path: Path) -> None:
    corpus, out = corpora.load(tmp_path / "corpus"), tmp_path / "r.json"
    broken = ScriptedProvider(default=RuntimeError("down"))
    with pytest.warns(UserWarning, match="stopped early"):
        run(broken, corpus, out=out, max_failures=1)
    path = tmp_path / "r.json.journal"
    with path.open("ab") as file:
        line = changed("record", put(case_id="c-nowhere", turn_index=None))
        file.write(json.dumps(line).encode() + b"\n")
    with pytest.raises(ResumeError, match=r"journal holds case 'c-nowhere', which is not in"):
        run(broken, corpus, out=out, resume=True)
