"""Writes beliefs and their changes to a provider, and times it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from time import perf_counter_ns

from .asking import elapsed_ms
from .bulk import write_many
from .context import is_live
from .deadline import NO_DEADLINE, Deadline
from .errors import ProviderError
from .faults import describe, is_interrupt, named, status_of
from .grow.source import Distractors
from .measured import Bulk, ChangeRecord, Ingestion
from .memories import memory_row
from .providers.protocol import (
    AddRow,
    Provider,
    supports_delete,
    supports_update,
    supports_wait,
    told,
)
from .schema import Belief, Change
from .states import changed_belief

UNSUPPORTED = "unsupported"
"""Status of a failure by which a provider learns that it can't do something."""


@dataclass(frozen=True, slots=True)
class Seeder:
    """Writes to ``provider``; user ids get ``namespace`` in front.

    With a ``ready_timeout_s`` of 0 nothing is waited for. Nothing is begun, and
    nothing waited for, after ``deadline``. ``distractors`` are written before the
    seed: what is timed one by one then meets the store at its full size.
    """

    provider: Provider
    text_mode: str = "all"
    namespace: str = ""
    ready_timeout_s: float = 60.0
    deadline: Deadline = NO_DEADLINE
    distractors: Distractors | None = None

    def seed(self, beliefs: Iterable[Belief]) -> Ingestion:
        """Empty the store, write every belief, and wait until the last can be found.

        The last that is live is waited for: a store may hide the others. A
        provider that has a ``check_empty`` is asked before the first is written.

        Raises:
            ProviderError: If the reset or a write fails; names the belief.
            NotReadyError: If the last one was not visible in time.
            OutOfTimeError: If the time for the run is up.
        """
        rows = [(self._row(belief), is_live(belief)) for belief in beliefs]
        with named("reset"):
            self.provider.reset()
        self._check_empty([row for row, _ in rows])
        bulk = self._grow()
        times: list[tuple[str, float]] = []
        for number, (row, _) in enumerate(rows):
            self.deadline.check(f"with {number} of {len(rows)} beliefs written")
            started = perf_counter_ns()
            with named(f"add of belief {row['belief_id']}"):
                self.provider.add(**row)
            times.append((row["belief_id"], elapsed_ms(started)))
        live = [row for row, is_there in rows if is_there] or [row for row, _ in rows]
        visible = self._shown(live[-1]) if live else None
        return Ingestion(tuple(times), visible, bulk)

    def _grow(self) -> Bulk | None:
        if self.distractors is None:
            return None
        rows = map(self._row, self.distractors.beliefs())
        return write_many(self.provider, rows, self.distractors.recipe.count, self.deadline)

    def _check_empty(self, rows: Sequence[AddRow]) -> None:
        check = told(self.provider, "check_empty")
        if callable(check):
            with named("check_empty", ours=False):
                check(rows=rows, timeout_s=self.deadline.cap(self.ready_timeout_s))

    def _shown(self, row: AddRow) -> float | None:
        """Wait for the last memory of the seed."""
        try:
            with named(f"wait_ready of belief {row['belief_id']}", ours=False):
                return self._wait(row)
        except ProviderError:
            self.deadline.check("waiting for the beliefs to show")
            raise

    def apply(
        self, store: dict[str, Belief], changes: Sequence[Change], case_id: str, turn_index: int
    ) -> list[ChangeRecord]:
        """Carry out changes on ``store`` and on the provider, and wait until they show.

        A change that the provider can't make, or fails to, is recorded; the
        session goes on.
        """
        done = []
        for change in changes:
            belief = changed_belief(store, change)
            store[belief.id] = belief
            done.append(self._write(belief, change.create is not None, case_id, turn_index))
        return done

    def _write(self, belief: Belief, new: bool, case_id: str, turn_index: int) -> ChangeRecord:
        row = self._row(belief)
        action = "add" if new else self.update_action
        status, said, visible, latency = "ok", None, None, None
        started = perf_counter_ns()
        try:
            action = self._act(action, row)
            latency = elapsed_ms(started)
            visible = self._wait(row) if action != "none" else None
        except BaseException as error:
            if is_interrupt(error):
                raise
            status = status_of(error)
            said = describe(error)
        return ChangeRecord(
            case_id=case_id,
            turn_index=turn_index,
            belief_id=belief.id,
            action=action,
            status=status,
            error=said,
            latency_ms=None if action == "none" else latency,
            visible_ms=visible,
        )

    @property
    def update_action(self) -> str:
        """How this provider changes a memory: ``update``, ``delete+add`` or ``none``."""
        if supports_update(self.provider):
            return "update"
        return "delete+add" if supports_delete(self.provider) else "none"

    def _act(self, action: str, row: AddRow) -> str:
        """Do it, and return what was done: another action if this one turns out to be missing."""
        try:
            if action == "add":
                self.provider.add(**row)
            elif action == "update" and supports_update(self.provider):
                self.provider.update(**row)
            elif action == "delete+add" and supports_delete(self.provider):
                self.provider.delete(belief_id=row["belief_id"], user_id=row["user_id"])
                self.provider.add(**row)
        except ProviderError as error:
            # The provider has just learned that it can't, and changed nothing.
            if status_of(error) != UNSUPPORTED or action in {"add", self.update_action}:
                raise
            return self._act(self.update_action, row)
        return action

    def _wait(self, row: AddRow) -> float | None:
        if self.ready_timeout_s <= 0 or not supports_wait(self.provider):
            return None
        started = perf_counter_ns()
        self.provider.wait_ready(
            belief_id=row["belief_id"],
            user_id=row["user_id"],
            timeout_s=self.deadline.cap(self.ready_timeout_s),
        )
        return elapsed_ms(started)

    def _row(self, belief: Belief) -> AddRow:
        return memory_row(belief, user_id=self.namespace + belief.user_id, text_mode=self.text_mode)
