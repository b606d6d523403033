"""Limits on measures, and how much worse they may get, as they are written.

``precision=0.8`` is a limit, read in the direction in which the measure is
better. ``passes=0`` as an allowance says how much worse than a baseline it may be.
"""

from __future__ import annotations

import difflib
import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from .errors import InputError, UnknownNameError
from .measures import MEASURES, OWN, Measure

RETRIEVAL, SESSION = "retrieval", "session"
LOST = Measure(
    name="lost",
    label="lost passes",
    unit="count",
    low=0.0,
    high=None,
    better="lower",
    n=None,
    null="never",
    definition="Cases that passed in the baseline and fail now, whatever was won elsewhere.",
    source=OWN,
)
"""What only a comparison knows; an allowance may name it like any measure."""

_PARTS = {RETRIEVAL: RETRIEVAL, SESSION: SESSION, "sessions": SESSION}
_PARTS_TEXT = f"{RETRIEVAL}, {SESSION}"
_SESSION_MEASURES = frozenset({"mean_drift", "mutability_rate"})
BOTH_PARTS = "latency_ratio"
"""The one measure that is of both parts together."""
OPERATORS: Mapping[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
"""What each operator of a limit means; ``=`` becomes one of them."""
WORDS = {">=": "at least", "<=": "at most", ">": "more than", "<": "less than"}
"""Operators in words."""
UNITS = {"rate": "", "count": "", "ms": " ms", "rank": "", "ratio": ""}
"""What stands behind a value, by the unit of its measure."""
_FORM = re.compile(
    r"\s*(?:(?P<part>\w+)\s*\.)?\s*(?P<name>[^<>=.]+?)\s*(?P<op>[<>=]+)\s*(?P<value>\S+)\s*",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Limit:
    """A bound that a measure of one part of a report must keep."""

    measure: Measure
    part: str
    op: str
    bound: float

    def __str__(self) -> str:
        """As it would be written."""
        return f"{_short(self.part, self.measure)}{self.op}{number(self.bound)}"

    def holds(self, value: float) -> bool:
        """Whether ``value`` keeps the bound."""
        return OPERATORS[self.op](value, self.bound)


@dataclass(frozen=True, slots=True)
class Allowance:
    """How much worse than in the baseline a measure may be, in its own unit."""

    measure: Measure
    part: str
    amount: float

    def __str__(self) -> str:
        """As it would be written."""
        return f"{_short(self.part, self.measure)}={number(self.amount)}"


def parse_limit(text: str) -> Limit:
    """Read a limit: ``precision=0.8``, ``drift<=0.1``, ``session.passes>=10``.

    ``=`` means "at least" or "at most", whichever the measure is better by.
    Without a part it is of the single-turn cases; drift and mutability are of
    the sessions.

    Raises:
        UnknownNameError: If there is no such measure or part; says which is near.
        InputError: If it has no such form, the value is out of the measure's
            range, or the direction is the one in which the measure gets worse.

    >>> limit = parse_limit("precision=0.8")
    >>> limit.measure.name, limit.part, limit.op, limit.bound
    ('mean_precision', 'retrieval', '>=', 0.8)
    """
    measure, part, op, bound = _parse(text, "precision=0.8 or drift<=0.1", MEASURES)
    best = {"higher": ">=", "lower": "<="}.get(measure.better)
    if op == "=":
        if best is None:
            raise InputError(
                f"limit {text!r}: {measure.name} is neither better when higher nor when lower; "
                "write >= or <="
            )
        op = best
    elif op not in OPERATORS:
        raise InputError(f"limit {text!r}: write =, >=, <=, > or <, not {op!r}")
    elif best is not None and op[0] != best[0]:
        raise InputError(
            f"limit {text!r}: {measure.name} is better when {measure.better}, so this would fail "
            f"the good and pass the bad; write {best}"
        )
    if bound < measure.low or (measure.high is not None and bound > measure.high):
        most = "" if measure.high is None else f" to {number(measure.high)}"
        raise InputError(
            f"limit {text!r}: {measure.name} goes from {number(measure.low)}{most}; "
            f"{number(bound)} is out of that range"
        )
    return Limit(measure, part, op, bound)


def parse_allowance(text: str) -> Allowance:
    """Read an allowance: ``passes=0``, ``precision=0.02``, ``session.lost=0``.

    ``passes=0`` allows no more than 0 fewer passes than in the baseline, wherever
    they are; ``lost=0`` allows no case that passed to fail.

    Raises:
        UnknownNameError: If there is no such measure or part; says which is near.
        InputError: If it has no such form, or the measure has no better direction.
    """
    known = {**MEASURES, LOST.name: LOST}
    measure, part, op, amount = _parse(text, "passes=0 or precision=0.02", known)
    if op not in ("=", "<="):
        raise InputError(
            f"allowance {text!r}: write {measure.name}=N, which allows it to be N worse"
        )
    if measure.better == "none":
        raise InputError(
            f"allowance {text!r}: {measure.name} is neither better when higher nor when lower, "
            "so it can't get worse"
        )
    if amount < 0:
        raise InputError(f"allowance {text!r}: it can't be less than 0")
    return Allowance(measure, part, amount)


def _parse(
    text: str, example: str, known: Mapping[str, Measure]
) -> tuple[Measure, str, str, float]:
    found = _FORM.fullmatch(text)
    if found is None:
        raise InputError(f"{text!r} is no limit; write it like {example}")
    measure = find_measure(found["name"], known)
    part = SESSION if measure.name in _SESSION_MEASURES else RETRIEVAL
    if found["part"] is not None:
        if found["part"] not in _PARTS:
            raise UnknownNameError(f"{text!r}: no part {found['part']!r}; there are: {_PARTS_TEXT}")
        if measure.name == BOTH_PARTS:
            raise InputError(f"{text!r}: {BOTH_PARTS} is of both parts; leave {found['part']} out")
        part = _PARTS[found["part"]]
    try:
        value = float(found["value"])
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"{text!r}: {found['value']!r} is no number; write it like {example}")
    return measure, part, found["op"], value


def _fold(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name.casefold().replace("@", " at ")).strip("_")


def aliases() -> dict[str, str]:
    """Every name by which a measure may be called, with the measure's own name.

    Its name, that without ``mean_``, ``_rate`` and ``_ms``, its label, and
    ``passes``, ``p50``, ``p95`` and ``latency``.
    """
    names: dict[str, str] = {}
    for measure in MEASURES.values():
        short = measure.name.removeprefix("mean_").removesuffix("_rate").removesuffix("_ms")
        for name in (measure.name, short, _fold(measure.label)):
            names.setdefault(name, measure.name)
    special = {
        "passes": "passed",
        "pass": "pass_rate",
        "p50": "p50_latency_ms",
        "p95": "p95_latency_ms",
        "latency": "mean_latency_ms",
    }
    return {**names, **special, **{name: name for name in MEASURES}}


def find_measure(name: str, known: Mapping[str, Measure] = MEASURES) -> Measure:
    """The measure of that name or alias; ``hit@1`` and ``R-precision`` will do.

    Raises:
        UnknownNameError: If there is none; says which is near.
    """
    names = aliases() | {own: own for own in known}
    folded = _fold(name)
    if folded in names and names[folded] in known:
        return known[names[folded]]
    near = difflib.get_close_matches(folded, names, n=1)
    meant = f"; did you mean {near[0]!r}?" if near else "; `pmb measures` lists them"
    raise UnknownNameError(f"no measure {name!r}{meant}")


def _short(part: str, measure: Measure) -> str:
    return measure.name if measure.name == BOTH_PARTS else f"{part}.{measure.name}"


def number(value: float) -> str:
    """A value in as few digits as it needs, at most six after the point.

    >>> number(60.0), number(0.25), number(1234.5)
    ('60', '0.25', '1234.5')
    """
    return f"{value:.6f}".rstrip("0").rstrip(".")
