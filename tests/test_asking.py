"""Asking: whatever a provider answers becomes a record with a status."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmb_hf.answers import BadAnswerError, merge_by_rank, resolve
from pmb_hf.asking import Asker, Query
from pmb_hf.errors import ProviderError
from pmb_hf.faults import describe
from pmb_hf.providers.controls import ScriptedProvider
from pmb_hf.providers.protocol import Hit
from pmb_hf.rules import RULES, SPEC
from pmb_hf.schema import Belief


def store() -> dict[str, Belief]:
    common: dict[str, Any] = {"user_id": "u", "type": "entity", "scope": ("domain:a",)}
    beliefs = [Belief(id=n, canonical_name=n, content=n, **common) for n in ("a", "b", "c")]
    return {belief.id: belief for belief in beliefs}


def ask(answer: Any, *, max_beliefs: int | None = None, text: str = "q") -> Any:
    provider = ScriptedProvider({"q": answer}, honour_limit=False)
    query = Query("case", "cat", "u", ("domain:a",), text, max_beliefs)
    return Asker(provider, SPEC).ask(query, store())


def test_results_keep_rank_scores_and_repeats() -> None:
    record = ask([Hit("b", 1.0), Hit("a", 1.0), Hit("b", 0.5)])
    assert record.relevant == ("b", "a")
    assert [result.id for result in record.results] == ["b", "a", "b"]
    assert record.limit == 20
    assert record.latency_ms >= 0


def test_more_than_asked_for_is_kept_in_the_answer_and_cut_from_the_context() -> None:
    record = ask(["a", "b", "c"], max_beliefs=2)
    assert record.relevant == ("a", "b")
    assert len(record.results) == 3
    got = record.retrieval()
    assert (got.limit, got.raw) == (2, ("a", "b", "c"))


@pytest.mark.parametrize("text", ["", "   ", "\n\t"])
def test_a_blank_query_is_not_asked(text: str) -> None:
    record = ask(RuntimeError("must not be called"), text=text)
    assert (record.status, record.limit, record.latency_ms) == ("ok", None, None)


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (RuntimeError("boom\ntrace"), "error", "RuntimeError: boom"),
        (ValueError(), "error", "ValueError"),
        (TimeoutError("5 s"), "timeout", "TimeoutError: 5 s"),
        (ProviderError("503 from /search"), "error", "503 from /search"),
        (BadAnswerError("no list"), "bad_answer", "no list"),
        (RuntimeError("x" * 5000), "error", ("RuntimeError: " + "x" * 5000)[:300]),
    ],
)
def test_a_failure_is_a_status(error: Exception, status: str, said: str) -> None:
    record = ask(error)
    assert (record.status, record.error) == (status, said)
    assert (record.results, record.latency_ms, record.relevant) == (None, None, ())


@pytest.mark.parametrize("claimed", ["ok", "", "x" * 999, 5])
def test_a_stranger_can_not_name_the_status_of_its_failure(claimed: object) -> None:
    error = RuntimeError("boom")
    error.status = claimed  # type: ignore[attr-defined]
    assert ask(error).status == "error"


@pytest.mark.parametrize("claimed", ["ok", ""])
def test_no_failure_is_an_answer(claimed: str) -> None:
    class Claims(ProviderError):
        status = claimed

    assert ask(Claims("boom")).status == "error"


@pytest.mark.parametrize("answer", [None, "abc", b"x", {"a": 1}, 7, [1], ["a"], [{"id": "a"}]])
def test_what_is_no_list_of_hits_is_a_bad_answer(answer: Any) -> None:
    with pytest.raises(BadAnswerError):
        resolve(answer)


def test_an_id_that_is_no_string_is_named() -> None:
    with pytest.raises(BadAnswerError, match="result 2 has the id 7"):
        resolve([Hit("a"), Hit(7)])  # type: ignore[arg-type]


def test_an_id_that_can_not_be_written_is_a_bad_answer() -> None:
    with pytest.raises(BadAnswerError, match="no valid text"):
        resolve([Hit("b-\ud800")])
    assert [result.id for result in resolve([Hit("b-é✓")])] == ["b-é✓"]
    assert describe(RuntimeError("half \ud800")) == "RuntimeError: half \\ud800"


def test_ids_come_from_the_hit_or_its_metadata_and_are_counted_otherwise() -> None:
    hits = [Hit("a"), Hit(None, metadata={"beliefId": "b"}), Hit(None)]
    assert [result.id for result in resolve(hits)] == ["a", "b", "unresolved-3"]


@given(st.floats() | st.none() | st.text() | st.booleans())
def test_scores_are_finite_or_null(score: Any) -> None:
    (result,) = resolve([Hit("a", score)])
    assert result.score is None or math.isfinite(result.score)


def test_answers_of_several_scopes_are_merged_by_rank() -> None:
    merged = merge_by_rank([[Hit("a"), Hit("b"), Hit("c")], [], [Hit("x")]])
    assert [hit.id for hit in merged] == ["a", "x", "b", "c"]


@pytest.mark.parametrize(("rules", "calls"), [("spec", 1), ("upstream-2026-09", 2)])
def test_each_scope_is_a_call_only_where_the_rules_say_so(rules: str, calls: int) -> None:
    provider = ScriptedProvider({"q": ["a"]})
    query = Query("case", "cat", "u", ("domain:a", "domain:b"), "q")
    record = Asker(provider, RULES[rules]).ask(query, store())
    assert len(provider.asked) == calls
    assert record.relevant == ("a",)


def test_an_interrupt_is_not_swallowed() -> None:
    class Interrupted(ScriptedProvider):
        def search(self, **_: Any) -> Any:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Asker(Interrupted(), SPEC).ask(Query("c", "c", "u", ("domain:a",), "q"), store())


def test_describe_takes_the_first_line_that_says_something() -> None:
    assert describe(RuntimeError("\n\n  so it is \nmore")) == "RuntimeError: so it is"
