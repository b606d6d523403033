"""Strict reading: every fault is named by its path, none stops it, comments are ignored."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmb_hf import strict
from pmb_hf.strict import Problem, Reader

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)
FIELDS = {
    "name": strict.text(required=True),
    "note": strict.optional_text(),
    "pinned": strict.flag(),
    "count": strict.whole(),
    "share": strict.rate(),
    "ids": strict.strings(),
    "maybe": strict.strings(default=None),
    "order": strict.pairs(),
    "inner": strict.mapping(),
    "any": strict.anything(),
}
DEFAULTS = {
    "name": "",
    "note": None,
    "pinned": False,
    "count": 0,
    "share": 1.0,
    "ids": (),
    "maybe": None,
    "order": (),
    "inner": {},
    "any": None,
}


def read(raw: Any) -> tuple[dict[str, Any], list[Problem]]:
    reader = Reader()
    return reader.read(raw, "file[0]", FIELDS), reader.problems


def test_values_are_read_and_lists_frozen() -> None:
    raw = {
        "name": "a",
        "note": "b",
        "pinned": True,
        "count": 3,
        "share": 1,
        "ids": ["x", "y"],
        "maybe": [],
        "order": [["x", "y"]],
        "inner": {"deep": [1]},
        "any": [[1], {"k": [2]}],
    }
    values, problems = read(raw)
    assert problems == []
    assert values == raw | {"ids": ("x", "y"), "maybe": (), "order": (("x", "y"),)}


def test_absent_keys_have_their_defaults() -> None:
    values, problems = read({"name": "a"})
    assert problems == []
    assert values == DEFAULTS | {"name": "a"}


@pytest.mark.parametrize(
    ("key", "value", "kind"),
    [
        ("name", None, "a string, not null"),
        ("name", 1, "a string, not int 1"),
        ("note", [], "a string or null, not list []"),
        ("pinned", 1, "true or false, not int 1"),
        ("pinned", "true", "true or false, not str 'true'"),
        ("count", -1, "a whole number >= 0, not int -1"),
        ("count", True, "a whole number >= 0, not bool True"),
        ("count", 1.0, "a whole number >= 0, not float 1.0"),
        ("share", 1.5, "a number from 0 to 1, not float 1.5"),
        ("share", float("inf"), "a number from 0 to 1, not float inf"),
        ("share", float("nan"), "a number from 0 to 1, not float nan"),
        ("share", False, "a number from 0 to 1, not bool False"),
        ("ids", "abc", "a list of strings, not str 'abc'"),
        ("ids", ["a", 1], "a list of strings, not list ['a', 1]"),
        ("maybe", None, "a list of strings, not null"),
        ("order", [["a"]], "a list of [first, second] pairs, not list [['a']]"),
        ("order", ["ab"], "a list of [first, second] pairs, not list ['ab']"),
        ("inner", [], "an object, not list []"),
    ],
)
def test_wrong_type_names_path_kind_and_value(key: str, value: Any, kind: str) -> None:
    values, problems = read({"name": "a", key: value})
    assert problems == [Problem(f"file[0].{key}", "type", f"must be {kind}")]
    assert values[key] == DEFAULTS[key]


def test_all_faults_are_kept() -> None:
    _, problems = read({"nmae": "a", "count": "many"})
    assert [(p.where, p.code) for p in problems] == [
        ("file[0].nmae", "unknown-key"),
        ("file[0].name", "missing-key"),
        ("file[0].count", "type"),
    ]
    assert "name, note" in problems[0].message
    assert problems[1].message == "is missing; must be a string"


def test_keys_with_an_underscore_are_comments_unless_they_are_fields() -> None:
    assert read({"name": "a", "_note": 1, "_": [None]})[1] == []
    reader = Reader()
    fields = {"_id": strict.text(required=True)}
    assert reader.read({"_id": "x", "_why": 2}, "file[0]", fields) == {"_id": "x"}
    reader.read({"_id": 4}, "file[0]", fields)
    assert [p.where for p in reader.problems] == ["file[0]._id"]


@pytest.mark.parametrize("raw", [None, [], "x", 3, True])
def test_no_object(raw: Any) -> None:
    values, problems = read(raw)
    assert values == DEFAULTS
    assert (problems[0].where, problems[0].code) == ("file[0]", "type")
    assert problems[0].message.startswith("must be an object, not ")


def test_message_stays_short_whatever_the_value() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    for value in (deep, "x" * 10_000_000, ["y" * 1000] * 1000, 10**4000):
        _, problems = read({"name": "a", "inner": value})
        assert len(problems[0].message) < 100


@given(JSON)
def test_any_value_gives_every_field_and_never_fails(raw: Any) -> None:
    values, problems = read(raw)
    assert list(values) == list(FIELDS)
    assert all(p.where.startswith("file[0]") for p in problems)


@given(st.dictionaries(st.sampled_from(list(FIELDS)), JSON))
def test_each_key_is_either_read_or_named(raw: dict[str, Any]) -> None:
    values, problems = read(raw)
    faulty = {p.where.removeprefix("file[0].") for p in problems}
    for key, value in raw.items():
        assert (values[key] == DEFAULTS[key]) if key in faulty else FIELDS[key].check(value)
