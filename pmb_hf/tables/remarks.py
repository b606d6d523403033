"""What must be said beside a report's figures, as plain sentences: standard library only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from ..explain import BLANK_QUERY, NO_ROOM, OTHER_TIERS, Subject
from ..measures import MEASURES
from ..records import BELOW_RANK, LOST_KINDS, NOISE_KINDS, OK
from ..report import Evaluation, Judged, Report
from ..summary import Summary
from .service import service_sentences
from .text import clean, count_of, listed

_SHOWN_IDS = 12
_WHY = {
    BLANK_QUERY: "the query is blank",
    NO_ROOM: "the budget has no room",
    OTHER_TIERS: "only other tiers are asserted",
}


class Remark(str):
    """One sentence; ``serious`` if a reader must not miss it."""

    __slots__ = ("serious",)
    serious: bool

    def __new__(cls, text: str, *, serious: bool = False) -> Remark:
        """Make a remark of a sentence."""
        made = super().__new__(cls, text)
        made.serious = serious
        return made


def remarks(
    report: Report, evaluation: Evaluation, subjects: Sequence[Subject] = ()
) -> list[Remark]:
    """Everything that qualifies the figures, the most serious first."""
    judged = (*evaluation.cases, *evaluation.turns)
    parts = [s for s in (evaluation.retrieval, evaluation.session) if s is not None]
    found = [
        *_stopped(report, evaluation),
        *_statuses(judged),
        *_faults(parts, known=not from_upstream(report)),
        *counted(parts),
        *_changes(report),
        *(Remark(text, serious=serious) for text, serious in service_sentences(report)),
    ]
    if from_upstream(report):
        found.append(
            Remark(
                "Upstream's file holds no raw results, prelude or statuses: duplicates, results "
                "over the limit and failures to answer can't be told, and what cases assert of "
                "the prelude is not checked."
            )
        )
    else:
        found += _covered(parts)
    keys = {j.record.key for j in judged}
    found += _unreachable(s for s in subjects if s.key in keys)
    return found


def from_upstream(report: Report) -> bool:
    """Whether upstream's harness measured it, also if it has been scored again since."""
    return report.upstream or report.provenance.get("source") == "upstream"


def _stopped(report: Report, evaluation: Evaluation) -> Iterable[Remark]:
    stopped = report.provenance.get("stopped")
    if stopped:
        yield Remark(f"The run stopped early: {clean(str(stopped), 200)}.", serious=True)
    if evaluation.missing:
        number = count_of(len(evaluation.missing), "case")
        yield Remark(f"{number} of the corpus are not in the report.", serious=True)


def _statuses(judged: Sequence[Judged]) -> Iterable[Remark]:
    statuses = Counter(j.record.status for j in judged if j.record.status != OK)
    if statuses:
        kinds = ", ".join(f"{number} {clean(name, 20)}" for name, number in statuses.items())
        yield Remark(
            f"{sum(statuses.values())} of {count_of(len(judged), 'case')} got no answer ({kinds}); "
            "they count as failed.",
            serious=True,
        )


def counted(parts: Sequence[Summary]) -> Iterable[Remark]:
    """What was returned wrongly, by kind, and what is missing, by reason."""
    yield from _noise(parts)
    yield from _lost(parts)


def _total(parts: Sequence[Summary], name: str) -> int:
    return sum(int(part[name] or 0) for part in parts)


def _faults(parts: Sequence[Summary], *, known: bool) -> Iterable[Remark]:
    """``known`` is false if only the relevant tier is, and not what was dropped from it."""
    leaks = _total(parts, "leaks")
    if leaks:
        number = count_of(leaks, "leak")
        yield Remark(f"{number}: beliefs of another user were returned.", serious=True)
    nouns = {"unknown_ids": "id that the corpus lacks|ids that the corpus lacks"}
    if known:
        nouns |= {
            "duplicates": "duplicate|duplicates",
            "over_limit": "result over the limit|results over the limit",
        }
    some, none = [], [] if leaks else ["leaks"]
    for name, noun in nouns.items():
        found, (one, many) = _total(parts, name), noun.split("|")
        if found:
            some.append(count_of(found, one, many))
        else:
            none.append(many)
    if some:
        yield Remark(f"Among the results: {', '.join(some)}.", serious=True)
    if none:
        yield Remark(f"No {_or(none)}.")


def _or(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def _noise(parts: Sequence[Summary]) -> Iterable[Remark]:
    kinds = {kind: _total(parts, f"noise_{kind}") for kind in NOISE_KINDS}
    wrong = sum(kinds.values())
    returned = count_of(_total(parts, "returned"), "belief")
    if not wrong:
        yield Remark(f"Returned {returned}, none of them wrong.")
        return
    most = sorted((k for k in kinds if kinds[k]), key=lambda k: -kinds[k])
    shown = ", ".join(f"{kinds[kind]:,} {kind.replace('_', ' ')}" for kind in most)
    yield Remark(f"Returned {returned}, {wrong:,} of them wrong: {shown}.")


def _lost(parts: Sequence[Summary]) -> Iterable[Remark]:
    reasons = {why: _total(parts, f"lost_{why}") for why in LOST_KINDS}
    low = reasons.pop(BELOW_RANK)
    most = sorted((why for why in reasons if reasons[why]), key=lambda why: -reasons[why])
    if most:
        shown = ", ".join(f"{reasons[why]:,} {MEASURES[f'lost_{why}'].kind}" for why in most)
        yield Remark(f"Missing {count_of(sum(reasons.values()), 'needed belief')}: {shown}.")
    if low:
        yield Remark(
            f"{count_of(low, 'needed belief')} came below rank R, where R is how many the case "
            "needs: the order is to blame."
        )


def _changes(report: Report) -> Iterable[Remark]:
    if report.can_update is False:
        yield Remark("The provider can't change a memory, so mutability does not apply (–).")
    failed = [c for c in report.changes if c.status != OK]
    if failed:
        last = clean(failed[-1].error or failed[-1].status, 120)
        number = f"{len(failed)} of {count_of(len(report.changes), 'change')}"
        yield Remark(f"{number} of beliefs failed; the last: {last}", serious=True)


def _covered(parts: Sequence[Summary]) -> Iterable[Remark]:
    covered, known = (
        _total(parts, "limit_covers_eligible"),
        _total(parts, "n_limit_covers_eligible"),
    )
    if covered:
        yield Remark(
            f"In {covered} of {count_of(known, 'case')} the limit covers every eligible belief: "
            "whoever returns everything has recall 1 there. Read hit@1 and R-precision, too."
        )


def _unreachable(subjects: Iterable[Subject]) -> Iterable[Remark]:
    by_reason: dict[str, list[str]] = {}
    for subject in subjects:
        if subject.unreachable is not None:
            turn = "" if subject.turn_index is None else f" turn {subject.turn_index}"
            by_reason.setdefault(subject.unreachable, []).append(subject.case_id + turn)
    if by_reason:
        total = count_of(sum(map(len, by_reason.values())), "case")
        shown = "; ".join(
            f"{_WHY[reason]}: {listed(ids, _SHOWN_IDS)}" for reason, ids in by_reason.items()
        )
        yield Remark(f"No provider has an influence on {total}. {shown[0].upper()}{shown[1:]}.")
