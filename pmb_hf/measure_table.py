"""Tables of the measures and of the rules for documents, made from their declarations. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .measures import MEASURES, Measure
from .rules import RULES

_BETTER = {"higher": "higher", "lower": "lower", "none": "–"}

_FIELDS = {
    "precision": "mean precision",
    "turn_precision": "precision of a session turn",
    "pass_kind": "kind of a pass",
    "drift": "drift of a turn",
}
_VALUES = {
    ("precision", "active"): "over cases with gold; nothing returned is 0",
    ("precision", "non_null"): "over all cases but those where gold and answer are both empty",
    ("turn_precision", "active"): "over turns with gold; nothing returned is 0",
    ("turn_precision", "returned"): "hits, required pinned facts included, over what was "
    "returned; null if nothing was",
    ("pass_kind", "assertion"): "by what the case asserts",
    ("pass_kind", "precision"): "active if precision > 0, else by category",
    ("drift", "topics"): "share of returned beliefs of earlier turns of other topics, or that the "
    "turn names as noise; null if nothing was returned",
    ("drift", "one_minus_precision"): "1 − precision; 0 if nothing was returned",
}


def measure_table(measures: Iterable[Measure] = MEASURES.values()) -> str:
    """A Markdown table of ``measures``: key, n, range, better, null rule and definition.

    >>> print(measure_table([MEASURES["cases"]]))
    | key | n | range | better | null if | definition |
    |---|---|---|---|---|---|
    | `cases` | – | ≥ 0 | – | never | Scored cases or turns; failures to answer are among them. |
    """
    rows = [
        (
            f"`{m.name}`",
            "–" if m.n is None else f"`{m.n}`",
            _range(m),
            _BETTER[m.better],
            m.null,
            m.definition,
        )
        for m in measures
    ]
    return _markdown(("key", "n", "range", "better", "null if", "definition"), rows)


def rules_table() -> str:
    """A Markdown table of what the rule sets differ in when an answer is scored.

    How a run asks (scopes sent, relations expanded, session state) is not in it.
    """
    rows = [
        (label, *(_VALUES[field, getattr(rules, field)] for rules in RULES.values()))
        for field, label in _FIELDS.items()
    ]
    return _markdown(("", *(f"`{name}`" for name in RULES)), rows)


def _range(measure: Measure) -> str:
    unit = " ms" if measure.unit == "ms" else ""
    if measure.high is None:
        return f"≥ {measure.low:g}{unit}"
    return f"{measure.low:g} to {measure.high:g}{unit}"


def _markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    return "\n".join([line(head), "|" + "---|" * len(head), *map(line, rows)])
