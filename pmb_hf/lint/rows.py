"""Rules for beliefs, and for cases, sessions and turns beside one another."""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from ..context import is_superseded
from ..schema import BELIEFS_FILE, CASES_FILE, RELATION, SESSIONS_FILE, Belief, Corpus
from ..states import seed
from .findings import Finding, error, spot, warning
from .subjects import cycle_finding, known_ids, row, supersession_cycles

STATUSES = ("active", "inferred", "exploratory", "superseded")
_TIMES = ("created_at", "updated_at", "last_reinforced_at", "resolved_at")


def all_beliefs(corpus: Corpus) -> Iterator[tuple[str, Belief]]:
    """Every belief with its place, those that sessions create included."""
    for n, belief in enumerate(corpus.beliefs):
        yield spot(BELIEFS_FILE, n, belief.id), belief
    for n, session in enumerate(corpus.sessions):
        for k, turn in enumerate(session.turns):
            where = f"{spot(SESSIONS_FILE, n, session.case_id)}.turns[{k}].createBeliefAtTurn"
            for change in turn.changes:
                if change.create is not None:
                    yield where, change.create


def belief_rules(corpus: Corpus, raw_files: Mapping[str, Any]) -> Iterator[Finding]:
    """What is wrong with beliefs, each by itself and with one another."""
    if not corpus.beliefs:
        yield error("no-beliefs", BELIEFS_FILE, "holds no belief; a corpus needs some")
    known = known_ids(corpus)
    yield from _doubles(
        "duplicate-belief-id",
        ((spot(BELIEFS_FILE, n, b.id), b.id) for n, b in enumerate(corpus.beliefs)),
        "belief id",
    )
    users = {belief.id: belief.user_id for _, belief in all_beliefs(corpus)}
    for where, belief in all_beliefs(corpus):
        yield from _links(belief, where, known, users)
        yield from _status(belief, where)
        for name in _TIMES:
            yield from _time(f"{where}.{name}", getattr(belief, name))
        if not belief.scope:
            yield warning("no-scope", f"{where}.scope", "is empty, so it is never in scope")
    for n in range(len(corpus.beliefs)):
        raw, where = row(raw_files, BELIEFS_FILE, n), spot(BELIEFS_FILE, n, corpus.beliefs[n].id)
        provenance = raw.get("provenance")
        if isinstance(provenance, dict):
            yield from _time(f"{where}.provenance.extracted_at", provenance.get("extracted_at"))
    yield from _alike(known)
    for cycle in sorted(supersession_cycles(seed(corpus)), key=sorted):
        yield cycle_finding(cycle, BELIEFS_FILE)


def _doubles(code: str, placed: Iterable[tuple[str, str]], what: str) -> Iterator[Finding]:
    first: dict[str, str] = {}
    for where, name in placed:
        if name and name in first:
            message = f"{what} {name!r} is taken by {first[name]}; give each its own"
            yield error(code, where, message)
        first.setdefault(name, where)


def _links(
    belief: Belief, where: str, known: frozenset[str], users: Mapping[str, str]
) -> Iterator[Finding]:
    if not belief.id.strip():
        yield error("empty-id", f"{where}._id", "is blank; give every belief an id")
    by = belief.superseded_by
    if by is not None and by not in known:
        message = f"no belief {by!r} in this corpus, so the chain leads nowhere; correct the id"
        yield error("unknown-id", f"{where}.superseded_by", message)
    elif by is not None and users[by] != belief.user_id:
        message = f"{by!r} belongs to user {users[by]!r}; a belief is superseded by its own user's"
        yield error("supersession-user", f"{where}.superseded_by", message)
    for other, count in Counter(belief.participants).items():
        at = f"{where}.participants"
        if other not in known:
            yield error("unknown-id", at, f"no belief {other!r} in this corpus; correct the id")
        if count > 1:
            yield error("repeated-id", at, f"lists {other!r} {count} times; list it once")
        if other == belief.id:
            yield error("self-participant", at, "a relation does not take part in itself")
    if bool(belief.participants) != (belief.type == RELATION):
        message = f"type is {belief.type!r}: relations have participants, and only they"
        yield warning("participants", f"{where}.participants", message)


def _status(belief: Belief, where: str) -> Iterator[Finding]:
    at = f"{where}.epistemic_status"
    if belief.epistemic_status not in STATUSES:
        message = f"{belief.epistemic_status!r} must be one of {', '.join(STATUSES)}"
        yield error("unknown-status", at, message)
    elif belief.superseded_by is None and is_superseded(belief):
        message = "is superseded, and superseded_by does not say by what; name it"
        yield error("dangling-supersession", f"{where}.superseded_by", message)
    elif belief.superseded_by is not None and belief.epistemic_status != "superseded":
        message = f"is {belief.epistemic_status!r} though superseded_by is set; write 'superseded'"
        yield warning("supersession-status", at, message)


def _time(where: str, value: Any) -> Iterator[Finding]:
    if not isinstance(value, str) or value == "":
        return  # Absent, or a wrong type that the schema reports.
    try:
        when = datetime.fromisoformat(value)
    except ValueError:
        message = f"{value!r} is no ISO 8601 time; write it like 2025-04-22T09:30:00Z"
        yield error("timestamp", where, message)
        return
    if when.utcoffset() != timedelta(0) or "T" not in value:
        message = f"{value!r}: times are compared as text; write all in UTC, 2025-04-22T09:30:00Z"
        yield warning("timestamp-utc", where, message)


def _alike(known: frozenset[str]) -> Iterator[Finding]:
    """Ids that differ only in case, blanks or Unicode form."""
    groups = defaultdict(list)
    for belief_id in sorted(known):
        folded = unicodedata.normalize("NFKC", belief_id).casefold()
        groups["".join(folded.split())].append(belief_id)
    for group in groups.values():
        if len(group) > 1:
            message = f"the ids {group} differ only in case, blanks or Unicode form; rename"
            yield warning("ids-alike", BELIEFS_FILE, message)


def case_rules(corpus: Corpus) -> Iterator[Finding]:
    """What is wrong with cases and sessions beside one another."""
    if not corpus.cases and not any(session.turns for session in corpus.sessions):
        yield error("no-cases", CASES_FILE, "there is no case and no turn, so nothing to score")
    placed = [(spot(CASES_FILE, n, c.case_id), c.case_id) for n, c in enumerate(corpus.cases)]
    placed += [
        (spot(SESSIONS_FILE, n, s.case_id), s.case_id) for n, s in enumerate(corpus.sessions)
    ]
    for where, case_id in placed:
        if not case_id.strip():
            yield error("empty-id", f"{where}.caseId", "is blank; give every case an id")
    yield from _doubles("duplicate-case-id", placed, "caseId")
    yield from _queries_alike(corpus)
    yield from _rationales(corpus)
    yield from _sessions(corpus)


def _queries_alike(corpus: Corpus) -> Iterator[Finding]:
    """Queries that read the same; one pair of blank ones is what tests blank queries."""
    groups = defaultdict(list)
    for n, case in enumerate(corpus.cases):
        groups[" ".join(case.query.casefold().split())].append((n, case))
    for text, group in groups.items():
        seen: dict[tuple[object, ...], str] = {}
        for k, (n, case) in enumerate(group):
            where = f"{spot(CASES_FILE, n, case.case_id)}.query"
            asked = (case.query, case.user_id, frozenset(case.scope), case.max_beliefs)
            if asked in seen:
                message = f"asks exactly what {seen[asked]!r} asks; ask something else"
                yield error("duplicate-query", where, message)
            elif k > (0 if text else 1):
                message = f"reads like the query of {group[0][1].case_id!r}; word it differently"
                yield warning("queries-alike", where, message)
            seen.setdefault(asked, case.case_id)


def _rationales(corpus: Corpus) -> Iterator[Finding]:
    placed = [(spot(CASES_FILE, n, c.case_id), c.rationale) for n, c in enumerate(corpus.cases)]
    placed += [
        (f"{spot(SESSIONS_FILE, n, s.case_id)}.turns[{k}]", turn.rationale)
        for n, s in enumerate(corpus.sessions)
        for k, turn in enumerate(s.turns)
    ]
    if any(text.strip() for _, text in placed):
        for where, text in placed:
            if not text.strip():
                message = "is missing, and others have one; say why this answer is right"
                yield warning("no-rationale", f"{where}.rationale", message)


def _sessions(corpus: Corpus) -> Iterator[Finding]:
    ids = [session.case_id for session in corpus.sessions]
    for n, session in enumerate(corpus.sessions):
        where = spot(SESSIONS_FILE, n, session.case_id)
        if not session.turns:
            yield error("no-turns", f"{where}.turns", "is empty; a session needs a turn")
        for other, count in Counter(session.depends_on or ()).items():
            at = f"{where}.dependsOn"
            if other not in ids:
                yield error("unknown-id", at, f"no session {other!r}; correct the id")
            elif other not in ids[:n]:
                yield error("depends-on-later", at, f"{other!r} must stand before this session")
            if count > 1:
                yield error("repeated-id", at, f"lists {other!r} {count} times; list it once")
        seen: set[int] = set()
        for k, turn in enumerate(session.turns):
            at, index = f"{where}.turns[{k}].turnIndex", turn.turn_index
            if index in seen:
                message = f"{index} is there already; number the turns 0, 1, 2 and so on"
                yield error("duplicate-turn-index", at, message)
            elif seen and index < max(seen):
                message = f"{index} comes after {max(seen)}; turns are asked as they stand: reorder"
                yield error("turn-order", at, message)
            seen.add(index)
            if not turn.topics:
                message = "is empty, so that all earlier turns count as off-topic; name one"
                yield warning("no-topics", f"{where}.turns[{k}].topics", message)
            for change in turn.changes:
                resolved = f"{where}.turns[{k}].updateBeliefAtTurn.resolvedAt"
                yield from _time(resolved, change.resolved_at)
