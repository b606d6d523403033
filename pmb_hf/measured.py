"""What a run measures, before anything is scored: plain values with a wire form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from .records import OK, Retrieval
from .summary import mean_or_none, percentile, round_half_up


class Result(NamedTuple):
    """One returned result: its id, as resolved, and the provider's score if it gave one."""

    id: str
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Record:
    """One case or turn as it was answered.

    ``results`` are all results as returned, best first (``None`` if that is not
    known), ``limit`` is how many were asked for (``None`` if no call was made or
    it is not known). The tiers are as in :class:`~pmb_hf.records.Retrieval`.
    ``repeats_ms`` are the times of asking again, ``stable`` is whether every
    answer was the same list; ``None`` if it was asked once.
    """

    case_id: str
    category: str
    turn_index: int | None = None
    description: str = ""
    label: str = ""
    relevant: tuple[str, ...] = ()
    pinned: tuple[str, ...] | None = None
    questions: tuple[str, ...] | None = None
    prelude: str | None = None
    results: tuple[Result, ...] | None = None
    limit: int | None = None
    latency_ms: float | None = None
    status: str = OK
    error: str | None = None
    repeats_ms: tuple[float, ...] = ()
    stable: bool | None = None

    @property
    def key(self) -> tuple[str, int | None]:
        """``(case_id, turn_index)``."""
        return self.case_id, self.turn_index

    def retrieval(self, *, can_update: bool | None = None) -> Retrieval:
        """This record as scoring takes it."""
        return Retrieval(
            relevant=self.relevant,
            pinned=self.pinned,
            questions=self.questions,
            prelude=self.prelude,
            latency_ms=self.latency_ms,
            status=self.status,
            error=self.error,
            raw=None if self.results is None else tuple(r.id for r in self.results),
            limit=self.limit,
            can_update=can_update,
        )

    def to_wire(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return asdict(self)

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Record:
        """The record that ``to_wire`` gave."""
        values = dict(wire)
        for name in ("relevant", "pinned", "questions"):
            if values[name] is not None:
                values[name] = tuple(values[name])
        if values["results"] is not None:
            values["results"] = tuple(Result(*result) for result in values["results"])
        values["repeats_ms"] = tuple(values["repeats_ms"])
        return cls(**values)


@dataclass(frozen=True, slots=True)
class Bulk:
    """What writing many memories took: the provider's calls alone, not the making of the rows.

    Attributes:
        count: How many were written.
        calls: In how many calls.
        total_ms: The sum of the calls.
    """

    count: int
    calls: int
    total_ms: float

    @property
    def per_second(self) -> float | None:
        """Memories written a second."""
        return round_half_up(self.count / self.total_ms * 1000, 1) if self.total_ms else None

    def to_wire(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {
            "beliefCount": self.count,
            "calls": self.calls,
            "totalMs": self.total_ms,
            "perSecond": self.per_second,
        }

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Bulk:
        """The figures that ``to_wire`` gave."""
        return cls(wire["beliefCount"], wire["calls"], wire["totalMs"])


@dataclass(frozen=True, slots=True)
class Ingestion:
    """How long writing the seed took. Times in ms; ``visible_ms`` is null if not waited for.

    ``bulk`` is what writing the distractors took, if there are any.
    """

    per_belief: tuple[tuple[str, float], ...] = ()
    visible_ms: float | None = None
    bulk: Bulk | None = None

    @property
    def total_ms(self) -> float:
        """The sum of all writes."""
        return round_half_up(sum(ms for _, ms in self.per_belief), 2)

    def to_wire(self) -> dict[str, Any]:
        """A JSON-ready mapping in upstream's shape, with p50, p95 and visibility added."""
        times = [ms for _, ms in self.per_belief]
        return {
            "beliefCount": len(times),
            "totalMs": self.total_ms,
            "meanPerBeliefMs": mean_or_none(times, 2),
            "p50PerBeliefMs": percentile(times, 0.5),
            "p95PerBeliefMs": percentile(times, 0.95),
            "visibleAfterMs": self.visible_ms,
            **({} if self.bulk is None else {"distractors": self.bulk.to_wire()}),
            "perBelief": [{"beliefId": b, "latencyMs": ms} for b, ms in self.per_belief],
        }

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Ingestion:
        """The ingestion that ``to_wire`` gave."""
        rows, bulk = wire.get("perBelief") or [], wire.get("distractors")
        return cls(
            per_belief=tuple((row["beliefId"], row["latencyMs"]) for row in rows),
            visible_ms=wire.get("visibleAfterMs"),
            bulk=Bulk.from_wire(bulk) if bulk else None,
        )


@dataclass(frozen=True, slots=True)
class ChangeRecord:
    """One mid-session change as it was carried out.

    ``action`` is ``add``, ``update``, ``delete+add``, or ``none`` if the provider
    has no way to do it.
    """

    case_id: str
    turn_index: int
    belief_id: str
    action: str
    status: str = OK
    error: str | None = None
    latency_ms: float | None = None
    visible_ms: float | None = None

    def to_wire(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {
            "caseId": self.case_id,
            "turnIndex": self.turn_index,
            "beliefId": self.belief_id,
            "action": self.action,
            "status": self.status,
            "error": self.error,
            "latencyMs": self.latency_ms,
            "visibleAfterMs": self.visible_ms,
        }

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> ChangeRecord:
        """The change that ``to_wire`` gave."""
        return cls(
            case_id=wire["caseId"],
            turn_index=wire["turnIndex"],
            belief_id=wire["beliefId"],
            action=wire["action"],
            status=wire["status"],
            error=wire["error"],
            latency_ms=wire["latencyMs"],
            visible_ms=wire["visibleAfterMs"],
        )
