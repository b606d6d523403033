"""The options of the structured store; apart, so that a list of them loads no engine."""

from __future__ import annotations

from dataclasses import replace

from .engine import ENGINE_OPTIONS
from .protocol import Option

QUESTION = "open_question"

OPTIONS: tuple[Option, ...] = (
    *(
        replace(option, default=True) if option.name == "active_filter" else option
        for option in ENGINE_OPTIONS
    ),
    Option("questions", bool, False, "Return open questions, too."),
    Option("fuzzy", bool, True, "Let a word of five letters or more be one edit off."),
    Option("partial", bool, True, "If no name is said in full, let a distinctive part of one do."),
    Option("follow_superseded", bool, True, "By an old belief's name, find what replaced it."),
    Option("expand_relations", bool, False, "Put a relation's participants after it."),
)
