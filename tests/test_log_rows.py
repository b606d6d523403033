"""Lines of logs and dumps: what is read, and how a fault is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmb_hf.errors import InputError
from pmb_hf.log_rows import Faults, Memory, Query, read_memories, read_queries


def write(directory: Path, text: str) -> Path:
    path = directory / "rows.jsonl"
    path.write_text(text, encoding="utf-8")
    return path


def memories(directory: Path, text: str) -> tuple[list[Memory], Faults]:
    faults = Faults()
    return read_memories(write(directory, text), faults), faults


def queries(directory: Path, text: str) -> tuple[list[Query], Faults]:
    faults = Faults()
    return read_queries(write(directory, text), faults), faults


ONE = '{"id": "a", "text": "A."}'
TWO = '{"_id": 2, "memory": "B."}'


@pytest.mark.parametrize(
    "text",
    [
        f"{ONE}\n{TWO}\n",
        f"\ufeff{ONE}\r\n\r\n{TWO}",
        f"[{ONE},\n{TWO}]",
        f'{{"memories": [{ONE}, {TWO}], "page": 1}}',
        f'{{\n"beliefs": [{ONE}, {TWO}]\n}}',
    ],
)
def test_lines_and_lists_are_read_alike(tmp_path: Path, text: str) -> None:
    found, faults = memories(tmp_path, text)
    assert faults == Faults()
    assert [(memory.id, memory.fields) for memory in found] == [
        ("a", {"content": "A."}),
        ("2", {"content": "B."}),
    ]


def test_place_is_the_line_or_the_item(tmp_path: Path) -> None:
    found, _ = memories(tmp_path, f"\n{ONE}\n\n{TWO}\n")
    assert [memory.where for memory in found] == ["rows.jsonl line 2", "rows.jsonl line 4"]
    found, _ = memories(tmp_path, f"[{ONE}, {TWO}]")
    assert [memory.where for memory in found] == ["rows.jsonl item 1", "rows.jsonl item 2"]


def test_line_separators_inside_a_text_end_no_line(tmp_path: Path) -> None:
    found, faults = memories(tmp_path, '{"id": "a", "text": "one\u2028two\x85three"}')
    assert not faults.found
    assert found[0].fields["content"] == "one\u2028two\x85three"


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("{", "is no valid JSON: Expecting property name enclosed in double quotes at column 2"),
        ("[1", "rows"),
        ("3", "must be an object, not 3"),
        ('{"id": "a", "id": "b", "text": "A."}', "the key 'id' is there twice"),
        ('{"id": "a", "text": NaN}', "NaN is no JSON value; use null"),
        ('{"text": "A."}', "id is missing; must be a string that is not blank, or a whole number"),
        ('{"id": null, "text": "A."}', "id is missing"),
        ('{"id": "a"}', "content is missing; must be a string that is not blank"),
        ('{"id": " ", "text": "A."}', "id ' ' must be a string that is not blank"),
        ('{"id": true, "text": "A."}', "id True must be"),
        ('{"id": 1.5, "text": "A."}', "id 1.5 must be"),
        ('{"id": "a", "text": "A.", "content": "B."}', "content 'B.' is there beside another"),
        ('{"id": "a", "text": "A.", "scope": "boat"}', "scope 'boat' must be a list of strings"),
        ('{"id": "a", "text": "A.", "scope": []}', "scope [] must be"),
        ('{"id": "a", "text": "A.", "type": "fact"}', "type 'fact' must be one of preference"),
        ('{"id": "a", "text": "A.", "confidence": 2}', "confidence 2 must be a number from 0"),
        ('{"id": "a", "text": "A.", "pinned": "no"}', "pinned 'no' must be true or false"),
        ('{"id": "a", "text": "\\ud800"}', "content '\\ud800' must be"),
    ],
)
def test_fault_of_a_memory_is_named(tmp_path: Path, line: str, fault: str) -> None:
    found, faults = memories(tmp_path, f"{ONE}\n{line}\n{TWO}\n")
    assert [memory.id for memory in found] == ["a", "2"], "the others are read all the same"
    assert len(faults.found) == 1
    assert faults.found[0].startswith("rows.jsonl line 2: ")
    assert fault in faults.found[0]


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ('{"query": "", "expected": []}', "query '' must be a string that is not blank"),
        ('{"query": "q"}', "expected is missing; must be a list of ids; []"),
        ('{"query": "q", "expected": "a"}', "expected 'a' must be a list of ids"),
        ('{"query": "q", "expected": [""]}', "expected [''] must be a list of ids"),
        ('{"query": "q", "expected": ["a", "a"]}', "expected 'a' is there more than once"),
        ('{"query": "q", "expected": ["1", 1]}', "expected '1' is there more than once"),
        ('{"query": "q", "expected": [], "max_beliefs": -1}', "max_beliefs -1 must be"),
        ('{"query": "q", "expected": [], "scope": [1]}', "scope [1] must be"),
    ],
)
def test_fault_of_a_query_is_named(tmp_path: Path, line: str, fault: str) -> None:
    found, faults = queries(tmp_path, line)
    assert found == []
    assert len(faults.found) == 1
    assert fault in faults.found[0]


def test_null_is_the_same_as_absent(tmp_path: Path) -> None:
    line = '{"query": "q", "expected": [], "user_id": null, "scope": null, "max_beliefs": null}'
    found, faults = queries(tmp_path, line)
    assert faults == Faults()
    assert found[0] == Query("rows.jsonl line 1", "q", (), "")


def test_unknown_fields_are_ignored_and_told_once(tmp_path: Path) -> None:
    line = '{"query": "q%d", "expected": [], "max_belief": 1, "latency": 3, "_comment": "x"}'
    _, faults = queries(tmp_path, f"{line % 1}\n{line % 2}")
    assert faults.found == []
    assert faults.notes == [
        "rows.jsonl: 'latency' is ignored in 2 rows",
        "rows.jsonl: 'max_belief' is ignored in 2 rows; did you mean 'max_beliefs'?",
    ]


@pytest.mark.parametrize("text", ["", "\n\n", "[]"])
def test_file_without_rows_is_a_fault(tmp_path: Path, text: str) -> None:
    assert queries(tmp_path, text)[1].found == ["rows.jsonl: holds no query"]
    assert memories(tmp_path, text)[1].found == ["rows.jsonl: holds no memory"]


def test_file_that_can_not_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.jsonl can't be read"):
        read_queries(tmp_path / "none.jsonl", Faults())
    (tmp_path / "latin.jsonl").write_bytes(b'{"query": "\xe9"}')
    with pytest.raises(InputError, match=r"latin\.jsonl can't be read"):
        read_queries(tmp_path / "latin.jsonl", Faults())
    with pytest.raises(InputError, match="no valid JSON"):
        read_memories(write(tmp_path, '[{"id": 1}'), Faults())


def test_nesting_without_end_is_a_fault_and_no_crash(tmp_path: Path) -> None:
    _, faults = queries(tmp_path, '{"a":' + "[" * 100_000)
    assert len(faults.found) == 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)
ROW = st.dictionaries(
    st.sampled_from(["id", "text", "query", "expected", "scope", "user_id", "superseded_by", "x"]),
    JSON,
)


@given(st.lists(ROW | JSON, max_size=4))
def test_any_json_is_read_or_named(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Any]
) -> None:
    text = "".join(json.dumps(row) + "\n" for row in rows)
    home = tmp_path_factory.mktemp("rows")
    for read in (memories, queries):
        try:
            found, faults = read(home, text)
        except InputError:
            continue  # one line that starts a list
        assert found or faults.found
