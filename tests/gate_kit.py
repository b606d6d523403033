"""Runs on the tiny corpus whose answers a test chooses, for the gate and what is built on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from corpora import parsed

from pmb_hf.providers.controls import ScriptedProvider
from pmb_hf.report import Evaluation, Report, judge
from pmb_hf.runner import run
from pmb_hf.schema import Corpus

MOORING = "Where is our mooring?"
ANCHOR = "What anchor do we have?"
FIRST_TURN = "How is the engine started? I call it the donkey now."
LAST_TURN = "Where does she lie, and what does the anchor weigh?"


def right_answers(corpus: Corpus) -> dict[str, Any]:
    """Query to exactly what it needs."""
    cases = {case.query: case.expect.relevant.only or () for case in corpus.cases}
    turns = {t.query: t.expect.relevant.only or () for s in corpus.sessions for t in s.turns}
    return {**cases, **turns}


def report_of(changed: Mapping[str, Any] | None = None, **settings: Any) -> Report:
    """A run whose answers are right but for those of ``changed``."""
    corpus = parsed()
    provider = ScriptedProvider(right_answers(corpus) | dict(changed or {}))
    return run(provider, corpus, name="scripted", **settings)


def evaluated(changed: Mapping[str, Any] | None = None, **settings: Any) -> Evaluation:
    """The same, scored."""
    return judge(report_of(changed, **settings), parsed())
