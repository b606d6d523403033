"""An alias-first store: a belief is found by its names, never by what it says.

Canonical name and aliases are indexed along several paths (whole names as
written and stemmed, pairs of words, single words, one-edit neighbours), each with
a boost. The paths find candidates; a candidate is returned only if the query
says one of its names in full. design/structured.md tells the method, where it
comes from and what it can't do.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import tantivy
from tantivy import Occur
from tantivy import Query as Clause

from .engine import EngineOptions, Request
from .names import (
    FUZZY_QUERY,
    STOP_WORDS,
    Name,
    Query,
    as_written,
    names_of,
    questions_of,
    stem,
)
from .store import Memory, is_active, scopes_of
from .structured_options import FLOOR, QUESTION
from .tantivy_store import TantivyStore, any_of

# Boosts of the paths: they decide which candidates are looked at if there are many.
_BOOSTS = {
    ("phrase", True): 10.0,
    ("phrase", False): 9.0,
    ("stems", True): 8.0,
    ("stems", False): 7.0,
    ("pair", False): 4.0,
    ("edit", False): 3.0,
}
_CANDIDATES = 200

_MANY_NAMES = 0.2
"""What each further name of a belief that the query says adds to its score."""
_PART = 0.9
_DISTINCTIVE = 3
"""A part of a name will do only if so many beliefs at most have it."""
_REPLACED = 0.5
"""What a belief scores that is asked for by the name of one it replaced, to 1."""
_DECIMALS = 4


class _Found(NamedTuple):
    key: int
    score: float


class StructuredProvider(TantivyStore):
    """Beliefs by canonical name and aliases, in memory or in the directory ``path``."""

    def __init__(
        self,
        *,
        path: str | None = None,
        top_k: int | None = None,
        min_score: float | None = FLOOR,
        scope_filter: bool = True,
        active_filter: bool = True,
        questions: bool = False,
        fuzzy: bool = True,
        partial: bool = True,
        follow_superseded: bool = True,
        expand_relations: bool = False,
    ) -> None:
        """Open the store; `structured_options.OPTIONS` says what the options do.

        Raises:
            InputError: An option is out of range, or ``path`` can't be used.
        """
        super().__init__(EngineOptions(path, top_k, min_score, scope_filter, active_filter))
        self._own = {
            "questions": questions,
            "fuzzy": fuzzy,
            "partial": partial,
            "follow_superseded": follow_superseded,
            "expand_relations": expand_relations,
        }

    @property
    def options(self) -> dict[str, object]:
        """The effective options, defaults included."""
        return {**super().options, **self._own}

    def _fields(self, builder: tantivy.SchemaBuilder) -> None:
        for name in ("kind", "phrase_own", "phrase", "stems_own", "stems", "pair", "word"):
            builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
        builder.add_text_field("stem", tokenizer_name="raw", index_option="freq")

    def _fill(self, document: tantivy.Document, memory: Memory) -> None:
        document.add_text("kind", str(memory.metadata.get("type")))
        for name in _names(memory):
            suffix = "_own" if name.canonical else ""
            stems = [stem(word) for word in name.words]
            document.add_text(f"phrase{suffix}", " ".join(name.words))
            document.add_text(f"stems{suffix}", " ".join(stems))
            for pair in _pairs(stems):
                document.add_text("pair", pair)
            for word in name.content:
                document.add_text("stem", stem(word))
                if not as_written(word):
                    document.add_text("word", word)

    def _rank(self, request: Request) -> list[tuple[int, float]]:
        query = Query(request.query)
        if not query.words or request.scopes == ():
            return []
        # By what stands for them, not by place: the same with and without an index on disk.
        allowed = self._candidates(query, request, blocked=False)
        found = {key: score for key in allowed if (score := self._full(query, key)) is not None}
        blocked = self._blocked(query, request) if self._looks_at_blocked(bool(found)) else {}
        if self._own["follow_superseded"]:
            for key, score in blocked.items():
                successor = self._successor(key, request)
                if successor is not None:
                    found.setdefault(successor, score * _REPLACED)
        if self._own["partial"]:
            for key, score in self._unnamed(request, query, {*found, *blocked}).items():
                found.setdefault(key, score)
        ranked = sorted(
            (_Found(key, round(score, _DECIMALS)) for key, score in found.items()),
            key=lambda pair: (-pair.score, pair.key),
        )
        if self._own["expand_relations"]:
            ranked = list(self._expanded(ranked, request))
        return [(key, score) for key, score in ranked[: request.limit]]

    def _looks_at_blocked(self, found: bool) -> bool:
        return bool(self._own["follow_superseded"]) or (bool(self._own["partial"]) and not found)

    def _candidates(self, query: Query, request: Request, *, blocked: bool) -> list[int]:
        """Keys of what one of the paths leads to, the likeliest first."""
        # Filters in their own right: a crowd of other users' beliefs takes nobody's place.
        everyone = request._replace(active_only=False)
        clauses = self._filters(everyone if blocked else request)
        may_return = [Clause.all_query()] if not blocked else []
        if not self._own["questions"]:
            kind = self._exact("kind", QUESTION)
            if blocked:
                may_return.append(kind)
            else:
                clauses.append((Occur.MustNot, kind))
        if blocked:
            if request.active_only:
                may_return.append(self._exact("active", False))
            if not may_return:
                return []
            clauses.append((Occur.Must, Clause.const_score_query(any_of(may_return), 0.0)))
        clauses.append((Occur.Must, any_of(self._paths(query))))
        return [key for key, _ in self._best(Clause.boolean_query(clauses), _CANDIDATES)]

    def _paths(self, query: Query) -> list[Clause]:
        phrases, stems = zip(*query.phrases(), strict=True)
        terms: dict[tuple[str, bool], Iterable[str]] = {
            ("phrase", True): phrases,
            ("phrase", False): phrases,
            ("stems", True): stems,
            ("stems", False): stems,
            ("pair", False): list(_pairs(query.stems)),
        }
        paths = []
        for (field, own), values in terms.items():
            wanted = list(dict.fromkeys(values))
            if wanted:
                name = f"{field}_own" if own else field
                some = Clause.term_set_query(self._schema, name, wanted)
                paths.append(Clause.const_score_query(some, _BOOSTS[field, own]))
        paths += [
            Clause.term_query(self._schema, "stem", stem(word), "freq") for word in query.content
        ]
        if self._own["fuzzy"]:
            near = [word for word in query.content if _may_differ(word)]
            paths += [
                Clause.const_score_query(
                    Clause.fuzzy_term_query(self._schema, "word", word, 1, True, False),
                    _BOOSTS["edit", False],
                )
                for word in near
            ]
        return paths

    def _full(self, query: Query, key: int) -> float | None:
        names = _names(self._book.by_key(key))
        matches = [
            match for name in names if (match := query.match(name, fuzzy=bool(self._own["fuzzy"])))
        ]
        if not matches:
            return None
        return max(match.score for match in matches) + _MANY_NAMES * (len(matches) - 1)

    def _blocked(self, query: Query, request: Request) -> dict[int, float]:
        """What the query names in full, but a filter keeps back."""
        keys = self._candidates(query, request, blocked=True)
        return {key: score for key in keys if (score := self._full(query, key)) is not None}

    def _unnamed(self, request: Request, query: Query, named: set[int]) -> dict[int, float]:
        """What is named in part: by a query, or a question in it, that says no name in full."""
        if not named:
            return self._parts(query, self._candidates(query, request, blocked=False))
        found: dict[int, float] = {}
        for text in questions_of(request.query):
            clause = Query(text)
            if not clause.content or any(self._full(clause, key) is not None for key in named):
                continue
            keys = self._candidates(clause, request, blocked=False)
            for key, score in self._parts(clause, keys).items():
                found[key] = max(found.get(key, 0.0), score)
        return found

    def _parts(self, query: Query, keys: Sequence[int]) -> dict[int, float]:
        """The few beliefs that share most words of one name with the query."""
        parts: dict[int, tuple[int, float]] = {}
        for key in keys:
            memory = self._book.by_key(key)
            # The name of a relation is a sentence: a word of it names its participants.
            if memory.metadata.get("type") == "relation":
                continue
            for name in _names(memory):
                count = query.part(name)
                if count:
                    share = _PART * count / len(name.content)
                    parts[key] = max(parts.get(key, (0, 0.0)), (count, share))
        most = max((count for count, _ in parts.values()), default=0)
        best = {key: score for key, (count, score) in parts.items() if count == most}
        return best if len(best) <= _DISTINCTIVE else {}

    def _successor(self, key: int, request: Request) -> int | None:
        """The belief at the end of a chain of replacements, if it may be returned."""
        memory: Memory | None = self._book.by_key(key)
        seen: set[int] = set()
        while memory is not None and memory.key not in seen:
            seen.add(memory.key)
            replaced_by = memory.metadata.get("supersededBy")
            if replaced_by is None:
                allowed = memory.key != key and self._allowed(memory, request)
                return memory.key if allowed else None
            memory = self._book.get(request.user_id, str(replaced_by))
        return None

    def _allowed(self, memory: Memory, request: Request) -> bool:
        scopes = request.scopes
        return (
            (scopes is None or not set(scopes).isdisjoint(scopes_of(memory.metadata)))
            and (not request.active_only or is_active(memory.metadata))
            and (bool(self._own["questions"]) or memory.metadata.get("type") != QUESTION)
        )

    def _expanded(self, ranked: Sequence[_Found], request: Request) -> Iterable[_Found]:
        seen: set[int] = set()
        for found in ranked:
            memory = self._book.by_key(found.key)
            ids: Any = memory.metadata.get("participants") or ()
            others = [self._book.get(request.user_id, str(one)) for one in ids]
            keys = [other.key for other in others if other and self._allowed(other, request)]
            for key in (found.key, *keys):
                if key not in seen:
                    seen.add(key)
                    yield _Found(key, found.score)


def _names(memory: Memory) -> list[Name]:
    return names_of(memory.metadata, memory.aliases)


def _pairs(stems: Sequence[str]) -> list[str]:
    return [f"{one} {two}" for one, two in pairwise(stems)]


def _may_differ(word: str) -> bool:
    return len(word) >= FUZZY_QUERY and not as_written(word) and word not in STOP_WORDS
