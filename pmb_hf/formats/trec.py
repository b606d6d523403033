"""TREC run and qrels files, for trec_eval, pytrec_eval, ir_measures and ranx.

The run is the relevant tier. List order is rank; scores are made from it, since tools sort by
score and break ties in ways of their own. Qrels hold the gold: a case without gold has no line,
so such tools leave it out, as mean precision and recall under ``spec`` do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from urllib.parse import quote

from ..dataset_rows import query_id
from ..expectations import expectations
from ..schema import Corpus
from .sheets import Files, Sheet, slug


def files(found: Sequence[Sheet], repo: str | None = None) -> Files:  # noqa: ARG001
    """``runs/{provider}-{id}.txt`` of each run and ``qrels/{corpus}.txt`` of each corpus."""
    content = {}
    for sheet in found:
        content[f"qrels/{slug(sheet.row['corpus'])}.txt"] = _text(qrels(sheet.corpus))
        name = f"{slug(sheet.row['provider'])}-{sheet.row['id']}"
        content[f"runs/{name}.txt"] = _text(run_lines(sheet, name))
    return Files(content)


def run_lines(sheet: Sheet, tag: str) -> Iterable[str]:
    """``query Q0 document rank score tag``, best first."""
    for judged in (*sheet.evaluation.cases, *sheet.evaluation.turns):
        query = token(query_id(*judged.record.key))
        ids = list(dict.fromkeys(judged.record.relevant))
        for rank, belief in enumerate(ids, 1):
            yield f"{query} Q0 {token(belief)} {rank} {len(ids) + 1 - rank} {tag}"


def qrels(corpus: Corpus) -> Iterable[str]:
    """``query 0 document 1`` for every belief of every gold."""
    for key, expected in expectations(corpus).items():
        for belief in expected.needed:
            yield f"{token(query_id(*key))} 0 {token(belief)} 1"


def token(text: str) -> str:
    """An id as one word: white space and per cent signs as in addresses.

    >>> token("two words"), token("b-1#3")
    ('two%20words', 'b-1#3')
    """
    return re.sub(r"[\s%]", lambda found: quote(found[0]), text)


def _text(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
