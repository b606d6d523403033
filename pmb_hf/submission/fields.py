"""Reads SUBMISSION.md: YAML between two lines of ---, then prose."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import InputError
from ..hub.card import front_matter
from .files import Finding, Text

NAME = "SUBMISSION.md"
FILL_IN = "FILL_IN"
"""Stands in the skeleton where only the author knows what to write."""

REQUIRED: Mapping[str, str] = {
    "name": "the memory system's name",
    "version": "its exact version, or the commit",
    "homepage": "where it is to be found",
    "contact": "who answers questions",
    "license": "the license of this wrapper",
    "embedding_model": "the embedding model with its version, or none",
    "llm": "the language model with its version, or none",
    "hardware": "what it was tried on",
}
_OPTIONAL = {"environment", "constants", "notes"}
_SCORES = re.compile(
    r"^(scores?|results?|precision|recall|passed|pass_rate|mean_\w+|rank|accuracy|drift)$",
    re.IGNORECASE,
)


@dataclass
class Fields:
    """What SUBMISSION.md says.

    ``environment`` is the names of the variables that it declares, ``constants``
    those of numbers that it gives a reason for; both in lower case for constants.
    """

    environment: set[str] = field(default_factory=set)
    constants: set[str] = field(default_factory=set)
    findings: list[Finding] = field(default_factory=list)


def read_fields(texts: Sequence[Text]) -> Fields:
    """The fields, and what is wrong with them."""
    text = next((text for text in texts if text.path == NAME), None)
    if text is None:
        missing = f"{NAME} is missing; `pmb submission new NAME` shows what it holds"
        return Fields(findings=[Finding(NAME, None, "file-missing", "error", missing)])
    try:
        given = front_matter("\n".join(text.lines), NAME)
    except InputError as error:
        return Fields(findings=[text.error(1, "fields", str(error))])
    found = Fields()
    found.findings += _required(text, given)
    found.findings += _unknown(text, given)
    found.environment = set(_names(text, given, "environment", found.findings))
    found.constants = {n.lower() for n in _names(text, given, "constants", found.findings)}
    found.findings += _left(text, {finding.line for finding in found.findings})
    return found


def _left(text: Text, told: Collection[int | None]) -> Iterator[Finding]:
    """Lines that are still to be filled in, beside those that are told already."""
    for number, line in text.numbered():
        if FILL_IN in line and number not in told:
            yield text.error(number, "field", f"{FILL_IN} is left here; write what it stands for")


def _required(text: Text, given: Mapping[str, Any]) -> Iterator[Finding]:
    for name, meaning in REQUIRED.items():
        value = given.get(name)
        if isinstance(value, bool | list | dict):
            yield text.error(_line(text, name), "field", f"{name} must be a text: {meaning}")
        elif value is None or not str(value).strip():
            yield text.error(_line(text, name), "field", f"{name} is missing: {meaning}")
        elif FILL_IN in str(value):
            yield text.error(_line(text, name), "field", f"{name} is to be filled in: {meaning}")


def _unknown(text: Text, given: Mapping[str, Any]) -> Iterator[Finding]:
    for name in given:
        line = _line(text, str(name))
        if _SCORES.match(str(name)):
            yield text.error(
                line, "scores", f"{name}: scores are not submitted, a run makes them; remove it"
            )
        elif name not in REQUIRED and name not in _OPTIONAL:
            yield text.warning(line, "field", f"{name} is no field of a submission")


def _names(
    text: Text, given: Mapping[str, Any], field_name: str, findings: list[Finding]
) -> Iterator[str]:
    """The keys of a mapping whose values are reasons."""
    value = given.get(field_name) or {}
    line = _line(text, field_name)
    if not isinstance(value, dict):
        findings.append(text.error(line, "field", f"{field_name} must be `NAME: what for` pairs"))
        return
    for name, reason in value.items():
        if not isinstance(reason, str) or not reason.strip() or FILL_IN in reason:
            where = _line(text, str(name)) or line
            findings.append(text.error(where, "field", f"{field_name}: say what {name} is for"))
        yield str(name)


def _line(text: Text, name: str) -> int | None:
    pattern = re.compile(rf"\s*[\"']?{re.escape(name)}[\"']?\s*:")
    return next((number for number, line in text.numbered() if pattern.match(line)), None)
