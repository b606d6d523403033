"""What one run has measured so far, in memory and, with a journal, on disk."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any, Self

from .journal import Journal
from .measured import ChangeRecord, Ingestion, Record
from .records import OK
from .wire import Entry, Load, Restart, Seeding, read_entry

Key = tuple[str, int | None]


@dataclass(slots=True)
class RunLog:
    """Keeps records, changes and ingestion times; each is in the journal when kept.

    The failures that an interrupted run ended with are forgotten, so that they are asked
    for again: they may tell of the end of a provider, and not of their queries.
    """

    journal: Journal[Entry] | None = None
    records: dict[Key, Record] = field(default_factory=dict)
    changes: list[ChangeRecord] = field(default_factory=list)
    ingestion: Ingestion | None = None
    session_ingestion: Ingestion | None = None
    load: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        """Take over what an interrupted run has left in the journal."""
        if self.journal is not None:
            self._replay(self.journal.lines)
            for key in list(self.records)[len(self.records) - self.failed_in_a_row :]:
                del self.records[key]

    @property
    def failed_in_a_row(self) -> int:
        """How many of the last records are failures."""
        last = reversed(self.records.values())
        return sum(1 for _ in takewhile(lambda record: record.status != OK, last))

    @classmethod
    def open(cls, path: Path, config: Mapping[str, Any], *, resume: bool) -> Self:
        """A log with a journal at ``path``; see :class:`Journal` for what is raised."""
        return cls(Journal(path, config, resume=resume, parse=read_entry))

    def keep(self, record: Record) -> None:
        """Keep an answer."""
        self.records[record.key] = record
        self._write({"record": record.to_wire()})

    def keep_change(self, change: ChangeRecord) -> None:
        """Keep a mid-session change."""
        self.changes.append(change)
        self._write({"change": change.to_wire()})

    def keep_ingestion(self, ingestion: Ingestion) -> None:
        """Keep the times of the seed before the single-turn part."""
        self.ingestion = ingestion
        self._write({"ingestion": ingestion.to_wire()})

    def keep_session_ingestion(self, ingestion: Ingestion) -> None:
        """Keep the times of the seed before the sessions."""
        self.session_ingestion = ingestion
        self._write({"sessionIngestion": ingestion.to_wire()})

    def keep_load(self, load: dict[str, Any]) -> None:
        """Keep what asking several at once came to."""
        self.load = load
        self._write({"load": load})

    def restart(self, session: str) -> None:
        """Forget a session's answers and changes; it starts anew."""
        self._forget(session)
        self._write({"restart": session})

    def done(self, *, sessions: bool) -> int:
        """How many answers of one part are kept."""
        return sum((turn is not None) == sessions for _, turn in self.records)

    def close(self, *, finished: bool) -> None:
        """Close the journal, and delete it if it holds nothing that the report does not."""
        if self.journal is not None:
            if finished or not self.records:
                self.journal.remove()
            else:
                self.journal.close()

    def _forget(self, session: str) -> None:
        self.changes = [change for change in self.changes if change.case_id != session]
        self.records = {
            key: record
            for key, record in self.records.items()
            if key[0] != session or key[1] is None
        }

    def _write(self, line: Mapping[str, Any]) -> None:
        if self.journal is not None:
            self.journal.append(line)

    def _replay(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            match entry:
                case Record():
                    self.records[entry.key] = entry
                case ChangeRecord():
                    self.changes.append(entry)
                case Seeding(ingestion, sessions=True):
                    self.session_ingestion = ingestion
                case Seeding(ingestion):
                    self.ingestion = ingestion
                case Load(figures):
                    self.load = figures
                case Restart(session):
                    self._forget(session)
