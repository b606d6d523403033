"""Every measure, declared as data: name, label, unit, range, direction and definition.

``name`` is the key in a summary; ``n`` is the key of the number of cases that
its mean is over. The documentation and the Space are made from this table.
"""

from __future__ import annotations

from typing import NamedTuple

PMB = "PrecisionMemBench (tenurehq/precisionMemBench, 2026)"
IR = "Manning, Raghavan, Schütze: Introduction to Information Retrieval (2008), chapter 8"
OWN = "this project; see design/"


class Measure(NamedTuple):
    """One number of a summary.

    ``better`` is ``higher``, ``lower`` or ``none`` (it describes, it does not
    rank). ``n`` is ``None`` for counts, which are over all cases.
    """

    name: str
    label: str
    unit: str
    low: float
    high: float | None
    better: str
    n: str | None
    null: str
    definition: str
    source: str

    @property
    def kind(self) -> str:
        """Of a count by kind, such as ``noise: drift``, the kind in words; else the label."""
        return self.label.rpartition(": ")[2]


def _rate(
    name: str, label: str, definition: str, null: str, n: str | None = None, source: str = PMB
) -> Measure:
    better = "lower" if name == "mean_drift" else "higher"
    n_name = n or name.replace("mean_", "n_", 1)
    return Measure(name, label, "rate", 0.0, 1.0, better, n_name, null, definition, source)


def _count(
    name: str, label: str, definition: str, better: str = "none", source: str = OWN
) -> Measure:
    return Measure(name, label, "count", 0.0, None, better, None, "never", definition, source)


def _noise(kind: str, label: str, definition: str) -> Measure:
    return _count(f"noise_{kind}", f"noise: {label}", definition, "lower")


def _lost(kind: str, label: str, definition: str) -> Measure:
    return _count(f"lost_{kind}", f"lost: {label}", definition, "lower")


def _latency(name: str, label: str, definition: str) -> Measure:
    null = "no search call was timed"
    return Measure(name, label, "ms", 0.0, None, "lower", "n_latency", null, definition, PMB)


_NO_GOLD = "the case requires no belief, or (under the upstream rules) asserts nothing to compare"

_TABLE = (
    _count("cases", "cases", "Scored cases or turns; failures to answer are among them."),
    _count("passed", "passed", "Cases of which every assertion holds.", "higher", PMB),
    _rate("pass_rate", "pass rate", "passed / cases.", "there are no cases", "cases"),
    _count("active_cases", "active cases", "Cases that require at least one belief (gold)."),
    _count("errors", "errors", "Cases without an answer: error, time-out or missing.", "lower"),
    _count("passed_active", "passed, active", "Passed cases that require a belief.", "higher", PMB),
    _count(
        "passed_structural",
        "passed, structural",
        "Passed cases that require that nothing, or nothing wrong, is returned.",
        "higher",
        PMB,
    ),
    _count(
        "passed_trivially_empty",
        "passed, trivially empty",
        "Passed cases that no provider can fail: a blank query, or no room in the budget.",
        "none",
        PMB,
    ),
    _rate(
        "mean_precision",
        "precision",
        "Needed beliefs among the distinct ones returned. Under spec a mean over active cases, "
        "0 where nothing was returned.",
        _NO_GOLD,
    ),
    _rate(
        "mean_recall",
        "recall",
        "Needed beliefs that were returned, as a share of the needed ones.",
        "the case requires no belief",
    ),
    _rate(
        "mean_pinned_coverage",
        "pinned coverage",
        "Required pinned facts that the context shows.",
        "the case requires no pinned fact, or the tier was not given",
    ),
    _rate(
        "mean_question_precision",
        "question precision",
        "Required open questions among those shown.",
        "the case requires no open question, or the tier was not given",
    ),
    _rate(
        "mean_question_recall",
        "question recall",
        "Required open questions that the context shows.",
        "the case requires no open question, or the tier was not given",
    ),
    _rate(
        "mean_drift",
        "drift",
        "Share of the returned beliefs that belong to earlier turns of other topics, or that the "
        "turn names as noise. Under the upstream rules: 1 - precision, 0 where nothing was "
        "returned.",
        "it is no session turn, or nothing was returned",
    ),
    _rate(
        "abstention_rate",
        "abstention",
        "Cases that must return nothing, and do.",
        "no case must return nothing",
        "n_abstention",
        OWN,
    ),
    _rate(
        "mean_hit_at_1",
        "hit@1",
        "Whether the first returned belief is needed.",
        "the case requires no belief",
        source=IR,
    ),
    _rate(
        "mean_r_precision",
        "R-precision",
        "Needed beliefs among the first R returned, over R, where R is how many are needed.",
        "the case requires no belief",
        source=IR,
    ),
    Measure(
        "mean_first_relevant_rank",
        "first relevant rank",
        "rank",
        1.0,
        None,
        "lower",
        "n_first_relevant_rank",
        "no needed belief was returned",
        "Position of the first needed belief; list order is rank, ties are not sorted again.",
        IR,
    ),
    _rate(
        "mutability_rate",
        "mutability",
        "Turns that ask for a belief which an earlier turn changed, and show it as changed "
        "(and not the one it replaced).",
        "nothing was changed before, or the provider has no update primitive",
        "n_mutability",
    ),
    _noise("superseded", "superseded", "Wrong beliefs that a newer one has replaced."),
    _noise("resolved", "resolved", "Wrong beliefs that were resolved."),
    _noise("other_user", "other user", "Wrong beliefs of another user."),
    _noise("other_scope", "other scope", "Wrong beliefs outside the scopes asked for."),
    _noise("open_question", "open question", "Open questions in the relevant tier."),
    _noise("pinned", "pinned already", "Wrong beliefs that the context shows elsewhere."),
    _noise("drift", "drift", "Wrong beliefs of earlier turns of other topics."),
    _noise("unrelated", "unrelated", "Live beliefs in scope that the query does not need."),
    _noise("unknown", "unknown id", "Ids that the corpus does not hold."),
    _lost("error", "error", "Needed beliefs of cases that got no answer."),
    _lost("not_asked", "not asked", "Needed beliefs of cases that left nothing to ask."),
    _lost("cut_off", "cut off", "Needed, and returned, but beyond the limit or the budget."),
    _lost("pinned_tier", "pinned tier", "Needed, and shown, but among the pinned facts."),
    _lost("not_returned", "not returned", "Needed, and not among the results."),
    _lost(
        "below_rank",
        "below rank R",
        "Needed, and in the relevant tier, but not among its first R, where R is how many are "
        "needed; recall counts them, R-precision does not.",
    ),
    _lost(
        "not_in_tier",
        "reason unknown",
        "Needed, and not in the relevant tier; raw results are not known, so neither is why.",
    ),
    _count("leaks", "leaks", "Returned beliefs of another user, whatever a case asserts.", "lower"),
    _count("unknown_ids", "unknown ids", "Returned ids that the corpus does not hold.", "lower"),
    _count(
        "pinned_dropped",
        "pinned, dropped",
        "Results that the context shows among the pinned facts anyway; they are dropped from the "
        "relevant tier and count in no rate.",
        "lower",
    ),
    _count("returned", "returned", "Distinct beliefs in the relevant tier, summed over cases."),
    _count("duplicates", "duplicates", "Repeated ids; each counts once in every rate.", "lower"),
    _count("over_limit", "over limit", "Results beyond the number asked for.", "lower"),
    Measure(
        "limit_covers_eligible",
        "limit covers all",
        "count",
        0.0,
        None,
        "none",
        "n_limit_covers_eligible",
        "never",
        "Cases whose result limit is at least the number of eligible beliefs: there, recall is 1 "
        "for whoever returns everything, and hit@1 and R-precision tell more.",
        OWN,
    ),
    _latency("mean_latency_ms", "latency, mean", "Mean time of the search call."),
    _latency("p50_latency_ms", "latency, p50", "Median time of the search call, nearest rank."),
    _latency("p95_latency_ms", "latency, p95", "95th percentile of the search call, nearest rank."),
    Measure(
        "latency_ratio",
        "session / single-turn latency",
        "ratio",
        0.0,
        None,
        "lower",
        None,
        "a part was not run or not timed",
        "Session p50 over single-turn p50.",
        PMB,
    ),
)

MEASURES = {measure.name: measure for measure in _TABLE}
"""All measures by name, in the order in which tables show them."""

COUNT_OF = {m.name: m.n for m in _TABLE if m.n is not None}
"""For each mean or rate, the summary key that holds its n."""
