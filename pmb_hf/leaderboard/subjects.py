"""What the cases of a corpus ask and require, so that answers can be read beside them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from ..corpus import NATIVE_DIR, corpus_sha256
from ..explain import Subject, subjects
from ..official import COMMIT, REPOSITORY
from ..records import Expectation
from ..schema import Belief, Corpus
from .facts import Row

NATIVE, OFFICIAL = "native", "official"
OFFICIAL_SHA256 = "9c7bc317ad92ceb70c38d1b58e2e5d716519b76dbf7be8a176d79ff6f812b14a"
"""Hash of the official corpus at the pinned commit. Its texts are not ours to publish."""

OFFICIAL_COUNTS = {"beliefs": 35, "cases": 77, "turns": 12}

_NAMES = {OFFICIAL_SHA256: OFFICIAL}
_OFFICIAL_SOURCE = {
    "name": REPOSITORY,
    "url": f"https://github.com/{REPOSITORY}",
    "commit": COMMIT,
    "license": "MIT",
}


def corpus_id(name: str, sha256: str | None) -> str:
    """What rows call a corpus: its name and the beginning of its hash, if that is known."""
    return f"{name}-{sha256[:12]}" if sha256 else name


def is_native(corpus: Corpus) -> bool:
    """Whether it is, byte for byte, the corpus of this package, whose texts may be shown."""
    return corpus.name == NATIVE and corpus.sha256 == corpus_sha256(NATIVE_DIR)


def may_show(corpus: Corpus, *, own_texts: bool) -> bool:
    """Whether texts of a corpus may be published: ours always, upstream's never.

    Those of a corpus of the user's own only if the user says so.
    """
    if OFFICIAL in (corpus.name, _NAMES.get(corpus.sha256)):
        return False
    return own_texts or is_native(corpus)


def corpus_row(corpus: Corpus, *, texts: bool) -> Row:
    """A corpus with all its cases and turns; without ``texts``, ids and numbers alone."""
    asked = list(subjects(corpus))
    first = _beliefs(asked)
    kinds = {
        part: dict(sorted(Counter(s.expected.pass_kind for s in rows).items()))
        for part, rows in (
            ("retrieval", [s for s in asked if s.turn_index is None]),
            ("session", [s for s in asked if s.turn_index is not None]),
        )
    }
    return {
        "id": corpus_id(corpus.name, corpus.sha256),
        "name": corpus.name,
        "sha256": corpus.sha256 or None,
        "here": True,
        "texts": texts,
        "source": _OFFICIAL_SOURCE if corpus.name == OFFICIAL else None,
        "beliefCount": len(corpus.beliefs),
        "caseCount": len(corpus.cases),
        "turnCount": sum(len(session.turns) for session in corpus.sessions),
        "passKinds": kinds,
        "categories": dict(Counter(s.category for s in asked)),
        "beliefs": {b.id: _belief(b, texts) for b in first.values()},
        "cases": [_case(subject, first, texts) for subject in asked],
    }


def unknown_corpus_row(name: str, sha256: str | None, counts: Mapping[str, Any]) -> Row:
    """A corpus that is only named by reports: it is not here, so nothing can be scored on it."""
    return {
        "id": corpus_id(name, sha256),
        "name": name,
        "sha256": sha256,
        "here": False,
        "texts": False,
        "source": _OFFICIAL_SOURCE if name == OFFICIAL else None,
        "beliefCount": _count(counts, "beliefs"),
        "caseCount": _count(counts, "cases"),
        "turnCount": _count(counts, "turns"),
        "passKinds": None,
        "categories": None,
        "beliefs": {},
        "cases": [],
    }


def _count(counts: Mapping[str, Any], name: str) -> int | None:
    value = counts.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _beliefs(asked: Iterable[Subject]) -> dict[str, Belief]:
    """The beliefs of all moments, each as it is when it is first there."""
    found: dict[str, Belief] = {}
    for subject in asked:
        for belief in subject.store.values():
            found.setdefault(belief.id, belief)
    return found


def _belief(belief: Belief, texts: bool) -> Row:
    return {
        "userId": belief.user_id,
        "type": belief.type,
        "scope": list(belief.scope),
        "pinned": belief.pinned,
        "status": belief.epistemic_status,
        "supersededBy": belief.superseded_by,
        "resolvedAt": belief.resolved_at,
        "participants": list(belief.participants),
        "name": belief.canonical_name if texts else None,
        "aliases": list(belief.aliases) if texts else None,
        "content": belief.content if texts else None,
    }


def _case(subject: Subject, first: Mapping[str, Belief], texts: bool) -> Row:
    expected = subject.expected
    return {
        "caseId": subject.case_id,
        "turnIndex": subject.turn_index,
        "category": subject.category,
        "label": (subject.label or None) if texts else None,
        "description": (subject.description or None) if texts else None,
        "rationale": (subject.rationale or None) if texts else None,
        "query": subject.query if texts else None,
        "userId": subject.user_id,
        "scopes": list(subject.scopes),
        "budget": subject.budget,
        "room": max(subject.room, 0),
        "providerHasNoSay": subject.unreachable,
        "passKind": expected.pass_kind,
        "isActive": expected.is_active,
        "mustBeEmpty": expected.must_be_empty,
        "gold": list(expected.needed),
        "expected": _expected(expected, texts),
        "kinds": dict(expected.kinds),
        "drift": sorted(expected.drift_beliefs),
        "pinned": list(subject.pinned),
        "questions": list(subject.questions),
        "prelude": subject.prelude if texts else None,
        "beliefsNow": _changed(subject, first) if texts else {},
    }


def _expected(expected: Expectation, texts: bool) -> Row:
    only, questions = expected.relevant_only, expected.questions_only
    return {
        "relevant": {
            "only": None if only is None else list(only),
            "mustInclude": list(expected.relevant_must_include),
            "mustExclude": list(expected.relevant_must_exclude),
            "orderedBefore": [list(pair) for pair in expected.relevant_order],
        },
        "pinned": {
            "mustInclude": list(expected.pinned_must_include),
            "mustExclude": list(expected.pinned_must_exclude),
            "orderedBefore": [list(pair) for pair in expected.pinned_order],
        },
        "questions": {
            "only": None if questions is None else list(questions),
            "mustInclude": list(expected.questions_must_include),
            "mustExclude": list(expected.questions_must_exclude),
        },
        "prelude": {
            "nonEmpty": expected.prelude_non_empty,
            "isNull": expected.prelude_is_null,
            "contains": list(expected.prelude_contains) if texts else None,
            "mustNotContain": list(expected.prelude_must_not_contain) if texts else None,
        },
        "mustNotSurface": list(expected.must_not_surface),
    }


def _changed(subject: Subject, first: Mapping[str, Belief]) -> Row:
    """What beliefs say at this turn, where it is not what they said when they were written."""
    return {
        belief.id: belief.content
        for belief in subject.store.values()
        if belief.content != first[belief.id].content
    }
