"""Strict reading of JSON objects: an unknown key or a wrong type is named by its path.

Reading never stops at the first fault. Each is kept as a :class:`Problem`, so
that a loader can refuse the input with all of them and the linter can list them.
"""

from __future__ import annotations

import json
import reprlib
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 40


def refuse_half_characters(text: str, value: Any) -> None:
    """Refuse JSON ``text`` whose parsed ``value`` can't be written as UTF-8 again.

    Raises:
        ValueError: If an escape stands for half of a character.
    """
    if "\\ud" in text.lower():
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            raise ValueError("it holds half of a character (a lone surrogate)") from error


def what_is_wrong(error: ValueError | RecursionError) -> str:
    """Why JSON could not be parsed, without what only a programmer can do about it."""
    return str(error).partition("; use sys.")[0]


class Problem(NamedTuple):
    """One fault: where it is (``file: path``), a short code, and what is wrong."""

    where: str
    code: str
    message: str


class Field(NamedTuple):
    """How one key is read: a checker, its name for messages, and its default.

    A list is read as a tuple, unless it is ``kept`` for the caller to read.
    """

    check: Callable[[Any], bool]
    kind: str
    required: bool = False
    default: Any = None
    kept: bool = False


def _is_str_list(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_pair_list(value: Any) -> bool:
    return isinstance(value, list) and all(_is_str_list(p) and len(p) == 2 for p in value)


def text(*, required: bool = False, default: str | None = "") -> Field:
    """A string."""
    return Field(lambda v: isinstance(v, str), "a string", required, default)


def optional_text() -> Field:
    """A string or null."""
    return Field(lambda v: v is None or isinstance(v, str), "a string or null")


def flag(*, default: bool | None = False) -> Field:
    """True or false."""
    return Field(lambda v: isinstance(v, bool), "true or false", default=default)


def whole(*, required: bool = False, default: int | None = 0) -> Field:
    """A whole number of 0 or more."""
    return Field(
        lambda v: isinstance(v, int) and not isinstance(v, bool) and v >= 0,
        "a whole number >= 0",
        required,
        default,
    )


def rate(*, default: float = 1.0) -> Field:
    """A number from 0 to 1."""
    return Field(
        lambda v: isinstance(v, int | float) and not isinstance(v, bool) and 0 <= v <= 1,
        "a number from 0 to 1",
        default=default,
    )


def strings(*, required: bool = False, default: tuple[str, ...] | None = ()) -> Field:
    """A list of strings; read as a tuple."""
    return Field(_is_str_list, "a list of strings", required, default)


def pairs() -> Field:
    """A list of two-string lists; read as a tuple of pairs."""
    return Field(_is_pair_list, "a list of [first, second] pairs", default=())


def mapping(*, required: bool = False) -> Field:
    """A JSON object, read by the caller; ``{}`` if absent."""
    return Field(lambda v: isinstance(v, dict), "an object", required, {})


def anything() -> Field:
    """Any JSON value, kept as it is."""
    return Field(lambda v: True, "any value", kept=True)


class Reader:
    """Reads objects against tables of fields and collects what is wrong with them."""

    def __init__(self) -> None:
        """Start with no problems."""
        self.problems: list[Problem] = []

    def report(self, where: str, code: str, message: str) -> None:
        """Keep one problem."""
        self.problems.append(Problem(where, code, message))

    def read(self, raw: Any, where: str, fields: Mapping[str, Field]) -> dict[str, Any]:
        """Return a value for every field of ``fields``; faults become problems.

        Keys that start with ``_`` and are not in ``fields`` are comments.
        """
        if not isinstance(raw, dict):
            self.report(where, "type", f"must be an object, not {_kind(raw)}")
            raw = {}
        for key in raw:
            if key not in fields and not key.startswith("_"):
                known = ", ".join(sorted(fields))
                self.report(f"{where}.{key}", "unknown-key", f"unknown key; known are: {known}")
        return {name: self._value(raw, where, name, field) for name, field in fields.items()}

    def _value(self, raw: dict[str, Any], where: str, name: str, field: Field) -> Any:
        if name not in raw:
            if field.required:
                self.report(f"{where}.{name}", "missing-key", f"is missing; must be {field.kind}")
            return field.default
        value = raw[name]
        if not field.check(value):
            message = f"must be {field.kind}, not {_kind(value)}"
            self.report(f"{where}.{name}", "type", message)
            return field.default
        return _frozen(value) if isinstance(value, list) and not field.kept else value


def _frozen(value: list[Any]) -> tuple[Any, ...]:
    return tuple(tuple(item) if isinstance(item, list) else item for item in value)


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    # Shortened first: the value may be nested too deeply for repr().
    shown = _SHORT.repr(value)
    return f"{type(value).__name__} {shown if len(shown) <= 40 else shown[:37] + '...'}"
