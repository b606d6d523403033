"""Makes a corpus of memories and of real queries with the ids that should have come back.

Reading is strict and never stops at the first fault: every faulty line is named
with its field and value, and nothing is written then. The same input gives the
same bytes. :mod:`pmb_hf.log_rows` reads the lines.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from .corpus.manifest import MANIFEST_FILE, write_manifest
from .errors import CorpusError, InputError
from .files import write_atomically
from .lint import ERROR, Finding, lint_corpus
from .log_rows import Faults, Memory, Query, read_memories, read_queries
from .parsing import parse_corpus
from .schema import BELIEFS_FILE, CASES_FILE, OPEN_QUESTION, SESSIONS_FILE
from .strict import Reader

DEFAULT_SCOPE = "default"
DEFAULT_USER = "user"
DEFAULT_CATEGORY = "Logged queries"

_WRITTEN = (BELIEFS_FILE, CASES_FILE, SESSIONS_FILE, MANIFEST_FILE)
_SHOWN_FAULTS = 20
_SLUG_WORDS, _SLUG_LENGTH = 6, 40
# The linter takes these words in an id for a promise that the case is about order.
_ORDER = ("rank", "order")
_ROW = re.compile(r"(?P<file>[^\[]+)\[(?P<index>\d+)\](?: \(.*?\))?\.?(?P<path>.*)", re.DOTALL)


class Made(NamedTuple):
    """What came of a log: how much of everything, and what is worth knowing.

    ``merged`` are lines that repeat an earlier query with the same answer.
    """

    directory: Path
    beliefs: int
    cases: int
    merged: int
    notes: tuple[str, ...]


def from_log(
    log: str | Path, beliefs: str | Path, out: str | Path, *, overwrite: bool = False
) -> Made:
    """Write the corpus that a log and a dump of memories make into ``out``.

    Args:
        log: JSON lines, ``{query, expected: [ids]}`` with, if need be, ``user_id``,
            ``scope``, ``id``, ``max_beliefs``, ``category`` and ``description``.
        beliefs: Memories as JSON lines or a JSON list, ``{id, text}`` with, if need
            be, any field of a belief.
        out: The directory, which is made if need be.
        overwrite: Whether the corpus files in ``out`` may be replaced.

    Raises:
        CorpusError: If there are faults; names every one of them by file and line.
        InputError: If a file can't be read, or one would be overwritten.
    """
    home = Path(out)
    _check_target(home, overwrite)
    files, merged, notes = make_files(Path(log), Path(beliefs))
    for name, rows in files.items():
        text = json.dumps(rows, ensure_ascii=False, allow_nan=False, indent=2)
        write_atomically(home / name, text + "\n")
    write_manifest(home)
    return Made(home, len(files[BELIEFS_FILE]), len(files[CASES_FILE]), merged, tuple(notes))


def _check_target(home: Path, overwrite: bool) -> None:
    if home.exists() and not home.is_dir():
        raise InputError(f"{home} is a file; give a directory")
    for name in () if overwrite else _WRITTEN:
        if (home / name).exists():
            raise InputError(
                f"{home / name} is there already and is not overwritten; give a new directory, "
                "or say --force"
            )


def make_files(log: Path, beliefs: Path) -> tuple[dict[str, list[Any]], int, list[str]]:
    """The rows of the three files, how many lines were merged, and notes.

    Raises:
        CorpusError: If there are faults; names every one of them by file and line.
        InputError: If a file can't be read.
    """
    faults = Faults()
    memories = read_memories(beliefs, faults)
    complete = not faults.found  # else an id may be missing only because its line is faulty
    queries = read_queries(log, faults)
    known = _by_id(memories, faults)
    queries = _owned(queries, known, faults)
    if complete:
        _check_ids(queries, known, faults)
    kept, merged = _merge(queries, faults)
    _refuse(faults)
    files: dict[str, list[Any]] = {
        BELIEFS_FILE: [_belief(memory) for memory in memories],
        CASES_FILE: _cases(kept, known),
        SESSIONS_FILE: [],
    }
    _lint(files, memories, kept, faults)
    _refuse(faults)
    return files, merged, list(faults.notes)


def _refuse(faults: Faults) -> None:
    if not faults.found:
        return
    lines = [f"  {fault}" for fault in faults.found[:_SHOWN_FAULTS]]
    if len(faults.found) > _SHOWN_FAULTS:
        lines.append(f"  and {len(faults.found) - _SHOWN_FAULTS} more")
    raise CorpusError(
        f"{len(faults.found)} fault(s), and nothing was written:\n" + "\n".join(lines)
    )


def _by_id(memories: Iterable[Memory], faults: Faults) -> dict[str, Memory]:
    known: dict[str, Memory] = {}
    for memory in memories:
        first = known.setdefault(memory.id, memory)
        if first is not memory:
            faults.add(memory.where, "id", memory.id, f"is taken by {first.where}; ids are unique")
    return known


def _owned(queries: Iterable[Query], known: Mapping[str, Memory], faults: Faults) -> list[Query]:
    """The queries, each with a user: the one that all memories belong to if it names none."""
    users = sorted({memory.fields.get("user_id", DEFAULT_USER) for memory in known.values()})
    owned = []
    for query in queries:
        if not query.user_id and len(users) > 1:
            there = f"the memories belong to {len(users)} users ({users[0]}, {users[1]} …)"
            faults.found.append(f"{query.where}: user_id is missing, and {there}; say who asks")
        owned.append(query if query.user_id or not users else replace(query, user_id=users[0]))
    return owned


def _check_ids(queries: Iterable[Query], known: Mapping[str, Memory], faults: Faults) -> None:
    for query in queries:
        for belief_id in query.expected:
            if belief_id not in known:
                near = difflib.get_close_matches(belief_id, known, n=1)
                message = "is no id of the beliefs file"
                message += f"; did you mean {near[0]!r}?" if near else "; correct or remove it"
                faults.add(query.where, "expected", belief_id, message)


def _merge(queries: Sequence[Query], faults: Faults) -> tuple[list[Query], int]:
    """The queries without repetitions; the same query with another answer is a fault."""
    kept: dict[tuple[Any, ...], Query] = {}
    ids: dict[str, Query] = {}
    merged = 0
    for query in queries:
        first = kept.setdefault(query.asked, query)
        if first is not query:
            merged += 1
            if set(first.expected) != set(query.expected):
                message = f"is not what {first.where} expects for the same query; keep one of them"
                faults.add(query.where, "expected", list(query.expected), message)
            continue
        if query.id:
            owner = ids.setdefault(query.id, query)
            if owner is not query:
                faults.add(query.where, "id", query.id, f"is taken by {owner.where}; rename it")
    return list(kept.values()), merged


def _belief(memory: Memory) -> dict[str, Any]:
    fields = dict(memory.fields)
    content = fields.pop("content")
    superseded = fields.get("superseded_by") is not None
    belief = {
        "_id": memory.id,
        "user_id": fields.pop("user_id", DEFAULT_USER),
        "type": fields.pop("type", "entity"),
        "canonical_name": fields.pop("canonical_name", None) or _short(content),
        "aliases": fields.pop("aliases", []),
        "content": content,
        "why_it_matters": "",
        "scope": fields.pop("scope", [DEFAULT_SCOPE]),
        "epistemic_status": "superseded" if superseded else "active",
        "confidence": 1.0,
        "pinned": False,
        "resolved_at": None,
        "superseded_by": None,
    }
    return belief | fields


def _short(text: str) -> str:
    """The first words of a text, to stand for a name."""
    words = text.split()
    short = " ".join(words[:8])
    return short if len(short) <= 60 else short[:59].rstrip() + "…"


def _cases(queries: Iterable[Query], known: Mapping[str, Memory]) -> list[dict[str, Any]]:
    scopes: dict[str, dict[str, None]] = {}
    for memory in known.values():
        owner = memory.fields.get("user_id", DEFAULT_USER)
        scopes.setdefault(owner, {}).update(
            dict.fromkeys(memory.fields.get("scope", [DEFAULT_SCOPE]))
        )
    return [_case(query, known, sorted(scopes.get(query.user_id, {}))) for query in queries]


def _case(query: Query, known: Mapping[str, Memory], all_scopes: list[str]) -> dict[str, Any]:
    """A case; where the log names no scope, all of the user's are asked for."""
    case: dict[str, Any] = {"caseId": query.id or _case_id(query)}
    case["category"] = query.category or DEFAULT_CATEGORY
    if query.description:
        case["description"] = query.description
    case |= {
        "query": query.text,
        "scope": list(query.scope) if query.scope else all_scopes or [DEFAULT_SCOPE],
        "userId": query.user_id,
    }
    if query.max_beliefs is not None:
        case["budget"] = {"maxBeliefs": query.max_beliefs}
    case["expect"] = _expect(query, known)
    return case


def _expect(query: Query, known: Mapping[str, Memory]) -> dict[str, Any]:
    """Exactly the expected ids, each in the tier in which it can stand."""
    tiers: dict[str, list[str]] = {"relevantBeliefs": [], "pinnedFacts": [], "openQuestions": []}
    for belief_id in query.expected:
        fields = known[belief_id].fields
        if fields.get("type") == OPEN_QUESTION:
            tiers["openQuestions"].append(belief_id)
        else:
            tiers["pinnedFacts" if fields.get("pinned") else "relevantBeliefs"].append(belief_id)
    expect: dict[str, Any] = {
        "relevantBeliefs": {"shouldOnlyInclude": tiers.pop("relevantBeliefs")}
    }
    return expect | {name: {"mustInclude": ids} for name, ids in tiers.items() if ids}


def _case_id(query: Query) -> str:
    """Words of the query and a hash of all that is asked.

    It stays the same when lines are added to the log, so that reports of before
    and after can be compared case by case.
    """
    asked = json.dumps(query.asked, ensure_ascii=False)
    digest = hashlib.sha256(asked.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    words = [w for w in re.findall(r"[a-z0-9]+", query.text.lower()) if not w.startswith(_ORDER)]
    slug = "-".join(words[:_SLUG_WORDS])[:_SLUG_LENGTH].strip("-")
    return f"{slug}-{digest}" if slug else f"q-{digest}"


def _lint(
    files: Mapping[str, list[Any]],
    memories: Sequence[Memory],
    queries: Sequence[Query],
    faults: Faults,
) -> None:
    """Let the linter judge what was made, and tell its errors by the lines of the input."""
    reader = Reader()
    corpus = parse_corpus("log", files, reader)
    rows: dict[str, Sequence[Memory | Query]] = {BELIEFS_FILE: memories, CASES_FILE: queries}
    for finding in lint_corpus(corpus, files, reader.problems):
        text = _told(finding, rows)
        if finding.severity == ERROR:
            faults.found.append(text)
        else:
            faults.notes.append(text)


def _told(finding: Finding, rows: Mapping[str, Sequence[Memory | Query]]) -> str:
    place = _ROW.fullmatch(finding.where)
    if place is None or place["file"] not in rows:
        return f"{finding.where}: {finding.message}"
    where = rows[place["file"]][int(place["index"])].where
    field = "expected" if place["path"].startswith("expect") else place["path"]
    return f"{where}: {field}: {finding.message}" if field else f"{where}: {finding.message}"
