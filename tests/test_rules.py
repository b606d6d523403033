"""The named rule sets."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, asdict, replace

import pytest

from pmb_hf.rules import RULES, SPEC, UPSTREAM_2026_06, UPSTREAM_2026_09, get_rules

CHOICES = {
    "precision": {"active", "non_null"},
    "turn_precision": {"active", "returned"},
    "pass_kind": {"assertion", "precision"},
    "drift": {"topics", "one_minus_precision"},
    "scopes_sent": {"all", "first", "each"},
    "expand_questions": {True, False},
    "session_state": {"isolated", "shared"},
}


def test_spec_is_first_and_names_are_keys() -> None:
    assert [*RULES] == ["spec", "upstream-2026-06", "upstream-2026-09"]
    assert all(name == rules.name for name, rules in RULES.items())


@pytest.mark.parametrize("field", CHOICES)
def test_each_choice_is_made_by_some_set_and_no_other(field: str) -> None:
    assert {getattr(rules, field) for rules in RULES.values()} == CHOICES[field]


def test_upstream_scored_the_same_in_june_and_september() -> None:
    june, september = asdict(UPSTREAM_2026_06), asdict(UPSTREAM_2026_09)
    differing = {name for name in june if june[name] != september[name]}
    assert differing == {"name", "scopes_sent", "expand_questions"}


def test_get_rules() -> None:
    assert get_rules("spec") is SPEC
    own = replace(SPEC, name="mine", drift="one_minus_precision")
    assert get_rules(own) is own
    with pytest.raises(ValueError, match=r"'specs'; choose one of: spec, upstream-2026-06, "):
        get_rules("specs")


def test_rules_do_not_change() -> None:
    with pytest.raises(FrozenInstanceError):
        SPEC.drift = "none"  # type: ignore[misc]
