"""``score``: the metric's numbers without the evaluate library."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .errors import PredictionError
from .records import CaseScore, RowError, Rules
from .rows import score_rows
from .rules import get_rules
from .summary import Summary, summarize


def score(
    predictions: Iterable[Mapping[str, Any]],
    references: Iterable[Mapping[str, Any]],
    *,
    rules: str | Rules = "spec",
    on_missing: str = "error",
) -> Summary:
    """Score prediction rows against reference rows.

    Args:
        predictions: One mapping a case: ``case_id`` (sessions: and
            ``turn_index``), ``relevant_beliefs`` best first, and optionally
            ``pinned_facts``, ``open_questions``, ``persona_prelude``,
            ``latency_ms``, ``status``, ``error``, and ``returned_beliefs`` with
            ``limit``, which tell why a needed belief is missing.
        references: Rows of the dataset's ``retrieval`` or ``sessions`` config.
        rules: A rule set or its name.
        on_missing: ``"error"``, or ``"miss"`` to score a case without a
            prediction as failed.

    Returns:
        The summary: measure name to number or ``None``; see ``MEASURES``.

    Raises:
        PredictionError: If rows can't be read or joined; names case and field.
    """
    return summarize(score_cases(predictions, references, rules=rules, on_missing=on_missing))


def score_cases(
    predictions: Iterable[Mapping[str, Any]],
    references: Iterable[Mapping[str, Any]],
    *,
    rules: str | Rules = "spec",
    on_missing: str = "error",
) -> list[CaseScore]:
    """Like :func:`score`, but the scores of each case, in the references' order."""
    try:
        chosen = get_rules(rules)
        return score_rows(predictions, references, chosen, on_missing=on_missing)
    except (RowError, ValueError) as error:
        raise PredictionError(str(error)) from error
