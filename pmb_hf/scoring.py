"""What one case or one turn is worth: pure functions, standard library only.

:func:`score_case` and :func:`score_turn` compare an :class:`Expectation` with a
:class:`Retrieval` under a set of :class:`Rules`. Nothing here reads a file, a
clock or a network, so the same source serves the package and the metric.
"""

from __future__ import annotations

from .assertions import failures
from .records import (
    ACTIVE,
    BELOW_RANK,
    CUT_OFF,
    FAILED,
    NOT_ASKED,
    NOT_IN_TIER,
    NOT_RETURNED,
    OK,
    PINNED_TIER,
    STRUCTURAL,
    TRIVIALLY_EMPTY,
    CaseScore,
    Expectation,
    Retrieval,
    RowError,
    Rules,
)

__all__ = [
    "CaseScore",
    "Expectation",
    "Retrieval",
    "Rules",
    "failures",
    "lost_beliefs",
    "precision_recall",
    "score_case",
    "score_turn",
]

_new = tuple.__new__

# Categories whose empty passes upstream's reports count as structural; the
# passes of all others count there as trivially empty (fitted to, and tested
# on, the published reports, which do not say it).
_UPSTREAM_STRUCTURAL = frozenset(
    {
        "Budget eviction and capacity",
        "Cross-user isolation",
        "Persona prelude content",
        "Ranking stability",
        "Scope disambiguation",
        "Supersession chain exclusion",
        "Type routing and open questions",
    }
)


def precision_recall(
    expected: Expectation, got: Retrieval, rules: Rules
) -> tuple[float | None, float | None]:
    """The two set measures of :func:`score_case` alone.

    For those who need no more, such as a loop that tunes a memory system.
    ``None`` is a measure that does not apply to the case under ``rules``.
    """
    returned = set(got.relevant)
    hits = len(returned & expected.gold) if got.status == OK else 0
    return _precision_recall(expected, got, hits, len(returned), rules)


def score_case(expected: Expectation, got: Retrieval, rules: Rules) -> CaseScore:
    """Score one answer (single turn or session turn) under ``rules``."""
    ids, pinned, questions, _, latency_ms, status, _, raw, limit, _ = got
    gold, exact, eligible = expected.gold, expected.relevant_only, expected.eligible
    turn_index = expected.turn_index
    wrong = set(ids)
    returned = len(wrong)
    wrong -= gold
    noise = wrong if exact is not None else wrong - expected.harmless
    hits = returned - len(wrong) if status == OK else 0
    precision, recall = _precision_recall(expected, got, hits, returned, rules)
    lost: tuple[str, ...] = ()
    rank = hit_at_1 = r_precision = coverage = question_precision = question_recall = None
    if gold:
        rank, hit_at_1, r_precision = _ranking(gold, ids, returned) if hits else (None, 0.0, 0.0)
        if r_precision != 1.0:  # else all that is needed stands at the top
            lost = _lost(expected, got, hits, r_precision)
    if exact is not None and wrong:
        passed = False
    elif exact is None or expected.tests_context or status != OK:
        passed = not failures(expected, got)
    else:  # the exact set tells: no reason to fail is looked for
        passed = hits == len(gold)
    if expected.measures_tiers:
        coverage = _share(expected.pinned_gold, pinned)
        question_precision, question_recall = _question_scores(expected.question_gold, questions)
    values = (
        expected.case_id,
        turn_index,
        expected.category,
        status,
        passed,
        expected.is_active,
        expected.pass_kind if rules.pass_kind == "assertion" else _kind(expected, precision),
        precision,
        recall,
        coverage,
        question_precision,
        question_recall,
        None if turn_index is None else _drift(expected, ids, precision, rules),
        (status == OK and not ids) if exact == () else None,
        hit_at_1,
        r_precision,
        rank,
        None if turn_index is None else _mutated(expected, got),
        tuple(map(expected.kinds.__getitem__, noise)) if noise else (),
        () if raw is None else _dropped(expected, ids, raw),
        lost,
        returned,
        len(ids) - returned if raw is None else len(raw) - len(set(raw)),
        0 if limit is None else max(0, len(ids if raw is None else raw) - limit),
        None if eligible is None else (returned if limit is None else limit) >= eligible,
        latency_ms,
    )
    return _new(CaseScore, values)


def score_turn(expected: Expectation, got: Retrieval, rules: Rules) -> CaseScore:
    """Score one session turn: :func:`score_case` with drift and mutability.

    Raises:
        RowError: If ``expected`` has no ``turn_index``.
    """
    if expected.turn_index is None:
        raise RowError(f"case {expected.case_id!r} is no session turn: it has no turn_index")
    return score_case(expected, got, rules)


def lost_beliefs(expected: Expectation, got: Retrieval) -> list[tuple[str, str]]:
    """The needed beliefs that are not where they should be, and why: one of ``LOST_KINDS``.

    In the order in which the case names them. What an answer does not tell, such
    as raw results, is not guessed: then the reason is ``not_in_tier``. How many
    there are of each reason is ``CaseScore.lost``.
    """
    shown = tuple(dict.fromkeys(got.relevant)) if got.status == OK else ()
    top = shown[: len(expected.needed)]
    return [
        (belief, BELOW_RANK if belief in shown else _why_missing(got, belief))
        for belief in expected.needed
        if belief not in top
    ]


def _lost(
    expected: Expectation, got: Retrieval, hits: int, r_precision: float | None
) -> tuple[str, ...]:
    """The reasons of :func:`lost_beliefs`, from what is known already: what R-precision lacks."""
    if got.status != OK:
        return (FAILED,) * len(expected.needed)
    missing = len(expected.needed) - hits
    lost = (BELOW_RANK,) * (hits - round((r_precision or 0.0) * len(expected.needed)))
    if not missing:
        return lost
    if got.raw is None and expected.gold.isdisjoint(got.pinned or ()):
        return lost + (NOT_IN_TIER,) * missing
    shown = got.relevant
    return lost + tuple([_why_missing(got, b) for b in expected.needed if b not in shown])


def _why_missing(got: Retrieval, belief: str) -> str:
    if got.status != OK:
        return FAILED
    if got.pinned is not None and belief in got.pinned:
        return PINNED_TIER
    if got.raw is None:
        return NOT_IN_TIER
    if belief in got.raw:
        return CUT_OFF
    was_asked = got.raw or got.limit is not None or got.latency_ms is not None
    return NOT_RETURNED if was_asked else NOT_ASKED


def _precision_recall(
    expected: Expectation, got: Retrieval, hits: int, returned: int, rules: Rules
) -> tuple[float | None, float | None]:
    recall = hits / len(expected.gold) if expected.gold else None
    rule = rules.precision if expected.turn_index is None else rules.turn_precision
    if rule == "returned":
        return _pinned_precision(expected, got, hits, returned), recall
    if hits:
        return hits / returned, recall
    if rule == "active":
        return recall, recall  # both are 0 with gold, and null without
    return (0.0 if expected.gold or returned or got.status != OK else None), recall


def _pinned_precision(
    expected: Expectation, got: Retrieval, hits: int, returned: int
) -> float | None:
    """Hits, pinned ones included, over what was returned."""
    if not returned:
        return None if got.status == OK else 0.0
    shown = expected.pinned_gold.intersection(got.relevant)
    return (hits + len(shown - expected.gold)) / returned


def _ranking(gold: frozenset[str], ids: tuple[str, ...], returned: int) -> tuple[int, float, float]:
    """First relevant rank (1 is best), hit@1 and R-precision; list order is rank."""
    if returned < len(ids):
        ids = tuple(dict.fromkeys(ids))
    rank = 1
    for belief in ids:
        if belief in gold:
            break
        rank += 1
    size, hit_at_1 = len(gold), 1.0 if rank == 1 else 0.0
    if size == 1:  # then R-precision looks at the first rank, too
        return rank, hit_at_1, hit_at_1
    return rank, hit_at_1, len(gold.intersection(ids[:size])) / size


def _kind(expected: Expectation, precision: float | None) -> str:
    if precision:
        return ACTIVE
    return STRUCTURAL if expected.category in _UPSTREAM_STRUCTURAL else TRIVIALLY_EMPTY


def _share(wanted: frozenset[str], found: tuple[str, ...] | None) -> float | None:
    return len(wanted.intersection(found)) / len(wanted) if wanted and found is not None else None


def _question_scores(
    wanted: frozenset[str], found: tuple[str, ...] | None
) -> tuple[float | None, float | None]:
    """Precision and recall of the question tier."""
    if not wanted or found is None:
        return None, None
    distinct = set(found)
    right = len(wanted & distinct)
    return (right / len(distinct) if distinct else 0.0), right / len(wanted)


def _drift(
    expected: Expectation, ids: tuple[str, ...], precision: float | None, rules: Rules
) -> float | None:
    if rules.drift == "topics":
        distinct = set(ids)
        return len(distinct & expected.drift_beliefs) / len(distinct) if ids else None
    return 1 - (precision or 0.0) if ids else 0.0


def _mutated(expected: Expectation, got: Retrieval) -> bool | None:
    """Whether what earlier turns changed is seen; null without an update primitive."""
    if not expected.changed or got.can_update is False:
        return None
    shown = set(got.relevant)
    found = shown.issuperset(expected.changed) and shown.isdisjoint(expected.retired)
    return got.status == OK and found


def _dropped(expected: Expectation, ids: tuple[str, ...], raw: tuple[str, ...]) -> tuple[str, ...]:
    """The kinds of the ids that were returned and did not reach the relevant tier."""
    return tuple([expected.kinds[belief] for belief in set(raw).difference(ids)])
