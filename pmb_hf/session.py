"""Runs the sessions: turn by turn, with the changes that each turn brings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from .asking import Asker, Query
from .measured import ChangeRecord, Ingestion, Record
from .schema import SESSION_CATEGORY, Belief, Corpus, Session, Turn
from .seeding import Seeder
from .states import prerequisites, seed

SHARED = "shared"


def query_of(session: Session, turn: Turn) -> Query:
    """A turn as a query."""
    return Query(
        case_id=session.case_id,
        category=SESSION_CATEGORY,
        user_id=session.user_id,
        scopes=turn.scope,
        text=turn.query,
        turn_index=turn.turn_index,
        label=turn.label,
    )


@dataclass(slots=True)
class SessionRunner:
    """Asks the turns of a corpus's sessions.

    Attributes:
        ingestion: Writing the seed for the first session that was run.
        on_change: Called with each mid-session change once it is made.
    """

    corpus: Corpus
    asker: Asker
    seeder: Seeder
    on_change: Callable[[ChangeRecord], None]
    ingestion: Ingestion | None = None
    _applied: list[str] | None = None
    _store: dict[str, Belief] = field(default_factory=dict)

    def turns(self, session: Session) -> Iterator[Record]:
        """Ask every turn of one session, in order; its changes come after each answer.

        Raises:
            ProviderError: If the store can't be seeded.
        """
        self._prepare(session)
        for turn in session.turns:
            record = self.asker.ask(query_of(session, turn), self._store)
            for change in self.seeder.apply(
                self._store, turn.changes, session.case_id, turn.turn_index
            ):
                self.on_change(change)
            yield record
        self._applied = [*(self._applied or []), session.case_id]

    def _prepare(self, session: Session) -> None:
        """Bring the store to where the session starts; as it is, if that is where it stands."""
        shared = self.asker.rules.session_state == SHARED
        before = prerequisites(self.corpus, session, shared=shared)
        names = [other.case_id for other in before]
        if self._applied == names:
            return
        self._store = seed(self.corpus)
        ingestion = self.seeder.seed(self._store.values())
        self.ingestion = self.ingestion or ingestion
        for other in before:
            for turn in other.turns:
                self.seeder.apply(self._store, turn.changes, other.case_id, turn.turn_index)
        self._applied = names
