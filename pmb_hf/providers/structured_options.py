"""The options of the structured store; apart, so that a list of them loads no engine."""

from __future__ import annotations

from .engine import ENGINE_OPTIONS
from .protocol import Option

QUESTION = "open_question"

FLOOR = 0.25
"""The default of ``min_score``: a third of a name's words scores 0.3, a quarter of them 0.225."""

_OWN = {
    "active_filter": Option("active_filter", bool, True, "Drop superseded and resolved memories."),
    "min_score": Option(
        "min_score", float, FLOOR, "Drop memories that score below this; 0: no floor."
    ),
}

OPTIONS: tuple[Option, ...] = (
    *(_OWN.get(option.name, option) for option in ENGINE_OPTIONS),
    Option("questions", bool, False, "Return open questions, too."),
    Option("fuzzy", bool, True, "Let a word of five letters or more be one edit off."),
    Option("partial", bool, True, "If no name is said in full, let a distinctive part of one do."),
    Option("follow_superseded", bool, True, "By an old belief's name, find what replaced it."),
    Option("expand_relations", bool, False, "Put a relation's participants after it."),
)
