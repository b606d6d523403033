"""What decides the figures of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .context import DEFAULT_MAX_BELIEFS
from .errors import InputError, UnknownNameError
from .records import Rules
from .rules import get_rules
from .schema import Corpus

PARTS = ("retrieval", "sessions")
MAX_FAILURES = 10
"""After so many failures in a row a run stops with what it has."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What decides the figures of a run, and therefore what a resumption must share."""

    rules: Rules
    parts: tuple[str, ...] = PARTS
    text_mode: str = "all"
    namespace: str = ""
    ready_timeout_s: float = 60.0
    max_failures: int = MAX_FAILURES
    run_timeout_s: float | None = None
    repeat: int = 1
    concurrency: int | None = None

    def wire(self) -> dict[str, Any]:
        """A JSON-ready mapping for provenance and journal."""
        return {
            "rules": self.rules.name,
            "parts": list(self.parts),
            "textMode": self.text_mode,
            "namespace": self.namespace or None,
            "returnCap": DEFAULT_MAX_BELIEFS,
            "repeat": self.repeat,
            "concurrency": self.concurrency,
        }


def known_rules(rules: str | Rules) -> Rules:
    """Return the rule set; raise UnknownNameError if there is none of that name."""
    try:
        return get_rules(rules)
    except ValueError as error:
        raise UnknownNameError(str(error)) from error


def at_least_one(name: str, value: int) -> int:
    """Return ``value``; raise InputError if it is less than 1."""
    if value < 1:
        raise InputError(f"{name} must be 1 or more, not {value}")
    return value


def check_text(what: str, text: str) -> None:
    """Refuse, before anything is measured, what could not be written into a report.

    Raises:
        InputError: If ``text`` holds half of a character, as broken bytes on a
            command line do.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"{what} holds what is no valid text ({text!a}); write it in UTF-8"
        ) from error


def runnable_parts(parts: Sequence[str], corpus: Corpus) -> tuple[str, ...]:
    """The chosen parts that the corpus has.

    Raises:
        UnknownNameError: If a part has another name.
        InputError: If the corpus has none of them.
    """
    unknown = [part for part in parts if part not in PARTS]
    if unknown or not parts:
        raise UnknownNameError(f"parts must be of {', '.join(PARTS)}, not {list(parts)!r}")
    there = {"retrieval": corpus.cases, "sessions": corpus.sessions}
    chosen = tuple(part for part in PARTS if part in parts and there[part])
    if not chosen:
        raise InputError(f"corpus {corpus.name!r} has nothing to run for {', '.join(parts)}")
    return chosen
