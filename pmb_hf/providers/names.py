"""Names of beliefs in a query: which of them it says in full, and which in part.

Everything here looks at words alone. No word is known but English function
words (`STOP_WORDS`); nothing is learnt from any corpus.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Any, NamedTuple

SHORT = 3
"""A name of one word counts only as it is written if it has so few characters, or a digit."""
FUZZY_NAME, FUZZY_QUERY = 5, 4
"""The shortest words, of a name and of a query, that may differ by one edit."""
PREFIX = 2
"""So many first letters must be right even then."""
MOST_WORDS = 6
"""Longer names are found by their words, not as a phrase."""

STOP_WORDS = frozenset(
    """
    a about above after again against all also am an and any are aren as at be because been
    before being below between both but by can cannot could couldn d did didn do does doesn doing
    don down during each either else ever every few for from further get gets give gives got had
    hadn has hasn have haven having he her here hers herself him himself his how however i if in
    into is isn it its itself just let like ll m may me might mine more most much must my myself
    need needs neither no nor not now of off on once one only or other our ours ourselves out over
    own please re really s same shall she should shouldn so some still such t than that the their
    theirs them themselves then there these they thing things this those though through to too
    under until up upon us use used using ve very want wants was wasn we were weren what whatever
    when where whether which while who whom whose why will with within without won would wouldn
    yes yet you your yours yourself yourselves
    """.split()  # noqa: SIM905 - as a list it would take a screen
)

# A sign that belongs to a name (C++, C#) stays with its word.
_WORD = re.compile(r"[^\W_]+[+#]*")


_CLAUSE = re.compile(r"[.!?;:,](?=\s|$)|\band\b", re.IGNORECASE)


_ASKS = re.compile(r"\W*(?:how|what|when|where|which|who|whom|whose|why)\b", re.IGNORECASE)


_REFERS = frozenset(
    ("he", "her", "hers", "him", "his", "it", "its", "she", "their", "theirs", "them", "they")
)


def questions_of(text: str) -> list[str]:
    """The clauses of a text that ask for something of their own.

    They begin with a question word, and no pronoun refers to what was named before.
    """
    return [
        clause
        for clause in _CLAUSE.split(text)
        if _ASKS.match(clause) and _REFERS.isdisjoint(words_of(clause))
    ]


def words_of(text: str) -> list[str]:
    """The words of a text, folded; underscores, hyphens and the like part words."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


@lru_cache(maxsize=1)
def _analyzer() -> Any:
    import tantivy

    return (
        tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.raw())
        .filter(tantivy.Filter.stemmer("english"))
        .build()
    )


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """The English stem of a word; a word with a digit or a sign has none but itself."""
    if not word.isalpha():
        return word
    found = _analyzer().analyze(word)
    return found[0] if found else word


def as_written(word: str) -> bool:
    """Tell whether a word is so short, or so much of a code, that nothing else is like it."""
    return len(word) <= SHORT or not word.isalpha()


@dataclass(frozen=True, slots=True)
class Name:
    """A canonical name or an alias.

    Attributes:
        words: All of its words.
        content: Those that are no function words.
        canonical: Whether it is the belief's own name.
    """

    words: tuple[str, ...]
    content: tuple[str, ...]
    canonical: bool

    @property
    def short(self) -> bool:
        """Whether it counts only as it is written."""
        return len(self.words) == 1 and as_written(self.words[0])


@lru_cache(maxsize=100_000)
def _parsed(text: str, canonical: bool) -> Name:
    words = tuple(words_of(text))
    return Name(words, tuple(word for word in words if word not in STOP_WORDS), canonical)


def names_of(metadata: Mapping[str, Any], aliases: Sequence[str]) -> list[Name]:
    """The names of a belief: the canonical one first. Those without a word are left out."""
    canonical = metadata.get("canonicalName")
    names = [_parsed(canonical, True)] if isinstance(canonical, str) else []
    names += [_parsed(alias, False) for alias in aliases]
    return [name for name in names if name.words]


class Kind(Enum):
    """How a query says a name; the value is what that is worth."""

    EXACT = 3.0
    """Its words in a row, as they are written."""
    STEMMED = 2.5
    """Its words in a row, but for endings."""
    SCATTERED = 2.0
    """All of its content words near each other, in any order."""


_ALIAS = 0.9
"""What an alias is worth, to 1 for the canonical name."""
_FUZZY = 0.8
"""What a name is worth if one of its words is only one edit away."""
_LONGER = 0.1
"""What each further content word adds: a longer name is better evidence."""


class Match(NamedTuple):
    """A name that a query says in full, and what that is worth (1 or more)."""

    name: Name
    score: float


class Query:
    """A query's words, ready for comparing."""

    def __init__(self, text: str) -> None:
        """Take the words apart."""
        self.words = words_of(text)
        self.stems = [stem(word) for word in self.words]
        self._places: dict[str, list[int]] = {}
        self._stem_places: dict[str, list[int]] = {}
        # Distances are counted in content words: function words don't part what belongs together.
        self._ordinals: list[int] = []
        count = 0
        for place, (word, stemmed) in enumerate(zip(self.words, self.stems, strict=True)):
            self._places.setdefault(word, []).append(place)
            self._stem_places.setdefault(stemmed, []).append(place)
            self._ordinals.append(count)
            count += word not in STOP_WORDS
        self.content = list(dict.fromkeys(w for w in self.words if w not in STOP_WORDS))

    def phrases(self) -> Iterator[tuple[str, str]]:
        """Every run of up to `MOST_WORDS` words: as written, and stemmed."""
        for start in range(len(self.words)):
            for stop in range(start + 1, min(start + MOST_WORDS, len(self.words)) + 1):
                yield " ".join(self.words[start:stop]), " ".join(self.stems[start:stop])

    def match(self, name: Name, *, fuzzy: bool = True) -> Match | None:
        """Whether the query says a name in full; ``fuzzy`` allows for one edit in a word."""
        off = False
        if self._in_a_row(name.words, self.words, self._places):
            kind = Kind.EXACT
        elif name.short:
            return None
        elif self._in_a_row(tuple(map(stem, name.words)), self.stems, self._stem_places):
            kind = Kind.STEMMED
        else:
            found = self._scattered(name, fuzzy)
            if found is None:
                return None
            kind, off = Kind.SCATTERED, found
        score = kind.value * (1.0 if name.canonical else _ALIAS) * (_FUZZY if off else 1.0)
        return Match(name, score + _LONGER * max(len(name.content) - 1, 0))

    def part(self, name: Name) -> int:
        """How many of a name's content words the query has; no edit is allowed."""
        if name.short:
            return 0
        return sum(stem(word) in self._stem_places for word in dict.fromkeys(name.content))

    def _in_a_row(
        self, wanted: tuple[str, ...], has: list[str], places: Mapping[str, list[int]]
    ) -> bool:
        return any(
            has[start : start + len(wanted)] == list(wanted) for start in places.get(wanted[0], ())
        )

    def _scattered(self, name: Name, fuzzy: bool) -> bool | None:
        """None if a word is missing or far away; else whether one is only one edit away."""
        several = len(name.content) > 1
        if not several and name.words != name.content:
            return None  # of "how to address me", "address" alone says too little
        off, all_places = False, []
        for word in dict.fromkeys(name.content):
            places = self._stem_places.get(stem(word))
            if places is None:
                alike = self._alike(word) if fuzzy else []
                places, off = [p for like in alike for p in self._places[like]], True
            if not places:
                return None
            all_places.append([self._ordinals[place] for place in places])
        if several and not _near(all_places, 2 * len(all_places) + 2):
            return None
        return off

    def _alike(self, word: str) -> list[str]:
        if as_written(word) or len(word) < FUZZY_NAME:
            return []
        return [like for like in self.content if one_edit(like, word)]


def one_edit(query_word: str, name_word: str) -> bool:
    """Tell whether two words differ by one letter: other, more, less, or two swapped.

    The first `PREFIX` letters must agree, and short words never do.
    """
    a, b = query_word, name_word
    if len(a) < FUZZY_QUERY or as_written(a) or a == b or abs(len(a) - len(b)) > 1:
        return False
    if a[:PREFIX] != b[:PREFIX]:
        return False
    start = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), None)
    if start is None:
        return True  # one is the other and a letter
    left, right = a[start:], b[start:]
    if len(left) != len(right):
        return left[1:] == right if len(left) > len(right) else left == right[1:]
    swapped = left[:2] == right[1::-1] and left[2:] == right[2:]
    return swapped or left[1:] == right[1:]


def _near(places: Sequence[Sequence[int]], window: int) -> bool:
    """Whether one place of each list lies within so many places in a row."""
    events = sorted((place, which) for which, some in enumerate(places) for place in some)
    last: dict[int, int] = {}
    for place, which in events:
        last[which] = place
        if len(last) == len(places) and place - min(last.values()) < window:
            return True
    return False
