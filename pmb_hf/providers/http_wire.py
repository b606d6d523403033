"""What goes over the wire: bodies that are sent, and answers read without trust."""

from __future__ import annotations

import json
import math
import unicodedata
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

from ..errors import InputError
from .http_errors import AnswerError, TooLargeError
from .protocol import MAX_ID, MAX_RESULTS, AddRow

_LINE = 200


class Row(NamedTuple):
    """One result as the service gave it; ``belief_id`` is what its metadata names."""

    id: str | None
    belief_id: str | None
    score: float | None
    text: str | None
    metadata: Mapping[str, Any] | None


class Unpacker:
    """Takes the bytes of a body and unpacks them, never to more than ``limit`` bytes."""

    def __init__(self, encoding: str, limit: int) -> None:
        """Take the content-encoding.

        Raises:
            AnswerError: It is one that was not asked for.
        """
        self.data = bytearray()
        self._limit = limit
        self._raw = 0
        self._inflate = None
        if encoding in {"gzip", "x-gzip", "deflate"}:
            self._inflate = zlib.decompressobj(zlib.MAX_WBITS | 32)
        elif encoding not in {"", "identity"}:
            raise AnswerError(f"the content-encoding {clean(encoding)!r} was not asked for")

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes.

        Raises:
            TooLargeError: The limit is passed; nothing beyond it is kept.
            AnswerError: They are no gzip.
        """
        self._raw += len(chunk)
        room = self._limit - len(self.data) + 1
        if self._inflate is not None:
            try:
                chunk = self._inflate.decompress(chunk, room)
            except zlib.error:
                raise AnswerError("the body is no valid gzip") from None
        self.data += chunk[:room]
        if len(self.data) > self._limit or self._raw > self._limit:
            raise TooLargeError(f"the body is larger than {self._limit} bytes")

    def finish(self) -> bytes:
        """Return the whole body.

        Raises:
            AnswerError: The gzip stream has no end.
        """
        if self._inflate is not None and self._raw and not self._inflate.eof:
            raise AnswerError("the gzip body is cut off")
        return bytes(self.data)


def dump(body: Mapping[str, Any]) -> bytes:
    """Return a body as strict JSON in ASCII, so that even a lone surrogate can be sent.

    Raises:
        InputError: It holds what JSON can't.
    """
    try:
        return json.dumps(body, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise InputError(f"metadata can't be sent as JSON: {error}.") from error


def load(data: bytes) -> Any:
    """Read strict JSON.

    Raises:
        AnswerError: It is none, holds NaN, or is nested too deeply.
    """
    try:
        return json.loads(data, parse_constant=_refuse)
    except (ValueError, RecursionError):
        problem = "no JSON" if data.strip() else "empty"
    raise AnswerError(f"the body is {problem}")


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)


def clean(text: str) -> str:
    """Text without control characters, on one line."""
    return " ".join("".join(" " if unicodedata.category(c)[0] == "C" else c for c in text).split())


def first_line(data: bytes) -> str:
    """The first line of a body that says something, to be shown to a person; not yet cut."""
    text = data[:8192].decode("utf-8", "replace")
    lines = [line for line in map(clean, text.splitlines()) if line]
    # The first line of indented JSON says nothing.
    return " ".join(lines) if lines and lines[0] in {"{", "["} else next(iter(lines), "")


def cut(text: str) -> str:
    """The text, shortened if it is long."""
    return text if len(text) <= _LINE else text[: _LINE - 1] + "…"


def memory_body(row: AddRow) -> dict[str, Any]:
    """The body of ``/add``: our metadata, and upstream's spelling of what it names otherwise."""
    metadata = dict(row["metadata"])
    if "supersededBy" in metadata:
        metadata.setdefault("superseded_by", metadata["supersededBy"])
    return {
        "text": row["text"],
        "user_id": row["user_id"],
        "metadata": metadata,
        "aliases": list(row["aliases"]),
    }


def scope_value(scopes: Sequence[str]) -> str | list[str]:
    """One scope is sent as a string, several as a list, as upstream does."""
    return scopes[0] if len(scopes) == 1 else list(scopes)


def results_of(answer: Any) -> list[Row]:
    """Read the answer to a search.

    Raises:
        AnswerError: It has not the shape of the contract; names the row.
        TooLargeError: It has more than `MAX_RESULTS` rows.
    """
    rows = answer.get("results") if isinstance(answer, dict) else None
    if not isinstance(rows, list):
        raise AnswerError('the body is no object with a list "results"')
    if len(rows) > MAX_RESULTS:
        raise TooLargeError(f"{len(rows)} results are more than {MAX_RESULTS}")
    return [_row(row, f"results[{number}]") for number, row in enumerate(rows)]


def _row(row: Any, where: str) -> Row:
    if not isinstance(row, dict):
        raise AnswerError(f"{where} is {_kind(row)}, not an object")
    metadata = row.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        raise AnswerError(f"{where}.metadata is {_kind(metadata)}, not an object")
    belief_id = None
    for key in ("beliefId", "belief_id"):
        if metadata and belief_id is None:
            belief_id = _id(metadata.get(key), f"{where}.metadata.{key}")
    score = row.get("score")
    if score is not None:
        score = _score(score, f"{where}.score")
    text = row.get("memory")
    return Row(
        id=_id(row.get("id"), f"{where}.id"),
        belief_id=belief_id,
        score=score,
        text=text if isinstance(text, str) else None,
        metadata=metadata,
    )


def _id(value: Any, where: str) -> str | None:
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        raise AnswerError(f"{where} is {_kind(value)}, not a string")
    if len(value) > MAX_ID or not value.isprintable():
        raise AnswerError(f"{where} is no id: over {MAX_ID} characters, or unprintable")
    return value


def _score(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise AnswerError(f"{where} is {_kind(value)}, not a number")
    try:
        score = float(value)
    except OverflowError:
        score = math.inf
    if not math.isfinite(score):
        raise AnswerError(f"{where} is not a finite number")
    return score


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean"}
    return "null" if value is None else names.get(type(value), "a number")


def stored_ids(answer: Any) -> list[str]:
    """The ids that the service itself gave to what was just written: ``id`` or ``results[].id``.

    Raises:
        AnswerError: The answer says that nothing was written.
    """
    if not isinstance(answer, dict):
        return []
    if answer.get("error"):
        raise AnswerError("the body holds an error, in spite of its code")
    rows = answer.get("results")
    found = [answer.get("id")]
    if isinstance(rows, list):
        found += [row.get("id") for row in rows[:100] if isinstance(row, dict)]
    return [value for value in found if isinstance(value, str) and 0 < len(value) <= MAX_ID]
