"""Makes text of reports, corpora and providers safe to show: standard library only."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence

_SPACES = frozenset("\t\n\v\f\r\x1c\x1d\x1e\x85\u2028\u2029")
_JOINERS = frozenset("\u200c\u200d")
"""Invisible, but words of some languages and emoji are spelled with them."""
_UNSEEN = {"Cc", "Cf", "Cn", "Co", "Cs"}
_REPLACEMENT = "\ufffd"


def clean(text: str, limit: int | None = None) -> str:
    r"""``text`` in one line, without what could steer a terminal, cut to ``limit`` characters.

    Control characters become their pictures, and marks that turn the direction
    of writing, other unseen characters and lone surrogates become ``\ufffd``.

    >>> clean("two\nlines"), clean("\x1b[31mred"), clean("abcdef", 4)
    ('two lines', '␛[31mred', 'abc…')
    """
    if not text.isprintable():
        text = "".join(map(_seen, text))
    if limit is not None and len(text) > limit:
        return text[: limit - 1].rstrip() + "…"
    return text


def _seen(character: str) -> str:
    if character in _SPACES:
        return " "
    if character in _JOINERS or unicodedata.category(character) not in _UNSEEN:
        return character
    return chr(0x2400 + ord(character)) if character < " " else _REPLACEMENT


def clean_lines(text: str) -> str:
    """Like :func:`clean`, but line by line: for messages that list something."""
    return "\n".join(clean(line) for line in text.splitlines())


def count_of(number: int, noun: str, plural: str | None = None) -> str:
    """A number with its noun.

    >>> count_of(1, "case"), count_of(0, "case"), count_of(2, "query", "queries")
    ('1 case', '0 cases', '2 queries')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def listed(names: list[str], shown: int) -> str:
    """Names with commas; what is beyond ``shown`` is only counted.

    >>> listed(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    text = ", ".join(clean(name) for name in names[:shown])
    return text if len(names) <= shown else f"{text} and {len(names) - shown} more"


def numbered(names: Sequence[str]) -> list[str]:
    """Names that are all different: those that are there more than once get a number.

    >>> numbered(["bm25", "fts5", "bm25"])
    ['bm25 #1', 'fts5', 'bm25 #2']
    """
    total, seen = Counter(names), Counter[str]()
    made = []
    for name in names:
        seen[name] += 1
        made.append(f"{name} #{seen[name]}" if total[name] > 1 else name)
    return made


def typed(value: object) -> str:
    """The value of an option as one types it.

    >>> typed(True), typed(None), typed(0.5), typed("x")
    ('true', 'none', '0.5', 'x')
    """
    if value is None:
        return "none"
    return str(value).lower() if isinstance(value, bool) else str(value)
