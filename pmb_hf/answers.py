"""Reads what a provider returned without trust, and within limits.

The limits keep a report readable: what is measured must be small enough to be
read again, however much a provider returns.
"""

from __future__ import annotations

import json
import math
import reprlib
from collections.abc import Mapping, Sequence
from itertools import islice

from .errors import ProviderError
from .faults import exact
from .measured import Result
from .providers.protocol import MAX_ID, MAX_RESULTS, Hit

BAD_ANSWER = "bad_answer"
TOO_LARGE = "too_large"

MAX_IDS_TEXT = 512 * 1024
"""The most that the ids of one answer may take together, in characters of JSON."""

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 60


class BadAnswerError(ProviderError):
    """A provider answered with something that is no list of results."""

    status = BAD_ANSWER


class TooLargeAnswerError(ProviderError):
    """A provider answered with more than is taken."""

    status = TOO_LARGE


def hits_of(answer: object) -> list[Hit]:
    """The hits of an answer.

    Raises:
        BadAnswerError: If it is no list of hits.
        TooLargeAnswerError: If there are more than ``MAX_RESULTS``.
    """
    if isinstance(answer, str | bytes | bytearray) or not isinstance(answer, Sequence):
        raise BadAnswerError(f"search must return a list of hits, not {type(answer).__name__}")
    # Counted while it is read: what a sequence says of its own length need not be true.
    hits = list(islice(answer, MAX_RESULTS + 1))
    if len(hits) > MAX_RESULTS:
        raise TooLargeAnswerError(
            f"search returned more than {MAX_RESULTS} hits; return at most as many as `limit` says"
        )
    for number, hit in enumerate(hits, 1):
        if not isinstance(hit, Hit):
            raise BadAnswerError(f"result {number} must be a Hit, not {type(hit).__name__}")
    return hits


def merge_by_rank(answers: Sequence[Sequence[Hit]]) -> list[Hit]:
    """Interleave several answers by rank: all first places, and so on."""
    longest = max((len(answer) for answer in answers), default=0)
    return [answer[n] for n in range(longest) for answer in answers if n < len(answer)]


def resolve(answer: object) -> tuple[Result, ...]:
    """Give every result an id: its own, else ``metadata.beliefId``, else ``unresolved-N``.

    Raises:
        BadAnswerError: If ``answer`` is no list of hits, or an id is no string.
        TooLargeAnswerError: If there are too many hits, or their ids are too long.
    """
    results, taken = [], 0
    for number, hit in enumerate(hits_of(answer), 1):
        found = _id(hit, number)
        taken += len(json.dumps(found))
        if taken > MAX_IDS_TEXT:
            raise TooLargeAnswerError(
                f"the ids of the first {number} results take more than {MAX_IDS_TEXT >> 10} KiB"
            )
        results.append(Result(found, _score(hit.score)))
    return tuple(results)


def _id(hit: Hit, number: int) -> str:
    found: object = hit.id
    if found is None and hit.metadata is not None:
        metadata: object = hit.metadata
        if not isinstance(metadata, Mapping):
            kind = type(metadata).__name__
            raise BadAnswerError(f"result {number} has metadata that is no mapping but {kind}")
        found = metadata.get("beliefId")
    if found is None:
        return f"unresolved-{number}"
    if not isinstance(found, str):
        raise BadAnswerError(f"result {number} has the id {_shown(found)}; an id must be a string")
    found = exact(found)
    if len(found) > MAX_ID:
        raise TooLargeAnswerError(
            f"result {number} has an id of {len(found)} characters; at most {MAX_ID} are taken"
        )
    if not found.isascii() and found.encode("utf-8", "replace").decode() != found:
        raise BadAnswerError(f"result {number} has an id that is no valid text: {found!a}")
    return found


def _shown(value: object) -> str:
    try:
        return _SHORT.repr(value)
    except Exception:  # noqa: BLE001 - a value that can't be shown is told by its type
        return f"of type {type(value).__name__}"


def _score(score: object) -> float | None:
    if isinstance(score, bool) or not isinstance(score, int | float):
        return None
    try:
        value = float(score)
    except OverflowError:  # a whole number beyond what a float holds
        return None
    return value if math.isfinite(value) else None
