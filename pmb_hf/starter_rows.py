"""The rows of a started corpus.

A small bicycle shop's, written for this purpose: each row shows one thing that a
corpus can say.
"""

from __future__ import annotations

from typing import Any

from .starter_fields import BELIEF_FIELDS, CASE_FIELDS, SESSION_FIELDS, TURN_FIELDS

_Json = dict[str, Any]
_MARA, _JOON = "mara", "joon"
_SHOP, _CHOIR, _EVERYWHERE = "domain:shop", "domain:choir", "user:universal"


def _belief(belief_id: str, kind: str, name: str, content: str, **fields: Any) -> _Json:
    return {
        "_id": belief_id,
        "user_id": _MARA,
        "type": kind,
        "canonical_name": name,
        "content": content,
        "scope": [_SHOP],
        **fields,
    }


_FIRST_BELIEF: _Json = {
    "_comment": BELIEF_FIELDS,
    "_id": "seat-post",
    "user_id": _MARA,
    "type": "decision",
    "canonical_name": "seat post torque",
    "aliases": ["sattelstütze", "post clamp"],
    "content": "Carbon seat posts are tightened to 5 Nm, with paste.",
    "why_it_matters": "More cracks the tube.",
    "scope": [_SHOP],
    "epistemic_status": "active",
    "confidence": 0.95,
    "pinned": False,
    "reinforcement_count": 2,
    "last_reinforced_at": "2026-03-02T09:00:00Z",
    "user_edited": False,
    "resolved_at": None,
    "superseded_by": None,
    "created_at": "2026-01-12T09:00:00Z",
    "updated_at": "2026-03-02T09:00:00Z",
    "participants": [],
}
BELIEFS: list[_Json] = [
    _FIRST_BELIEF,
    _belief(
        "hours-winter",
        "decision",
        "opening hours",
        "The shop opens at noon.",
        epistemic_status="superseded",
        superseded_by="hours",
    ),
    _belief("hours", "decision", "opening hours", "The shop opens at 10, Tuesday to Saturday."),
    _belief("spokes", "entity", "spokes", "Spokes are double-butted, 2.0 mm."),
    _belief("radhaus", "entity", "Radhaus", "Radhaus is a wholesaler that delivers weekly."),
    _belief(
        "spokes-from-radhaus",
        "relation",
        "supply of spokes",
        "Spokes are ordered from Radhaus.",
        relation_type="ordered_from",
        participants=["spokes", "radhaus"],
    ),
    _belief(
        "deposit",
        "decision",
        "deposit",
        "A repair above 200 euros needs a deposit of a third.",
        pinned=True,
        last_reinforced_at="2026-03-01T09:00:00Z",
    ),
    _belief(
        "second-terminal",
        "open_question",
        "second card terminal",
        "Should the shop lease a second card terminal?",
        pinned=True,
    ),
    _belief(
        "number-first",
        "preference",
        "form of answers",
        "Wants the number first, then the reason.",
        scope=[_EVERYWHERE],
    ),
    _belief(
        "rehearsal",
        "entity",
        "choir rehearsal",
        "Rehearsal is on Mondays at 19:30 in the parish hall.",
        scope=[_CHOIR],
    ),
    _belief(
        "programme",
        "entity",
        "spring programme",
        "In spring the choir sings two motets by Bruckner.",
        scope=[_CHOIR],
    ),
    _belief("joon-hours", "decision", "opening hours", "Opens at 9 every day.", user_id=_JOON),
]
"""Twelve beliefs of two users; the first has every field, and a comment on each."""


def _case(
    case_id: str, category: str, query: str, only: list[str], rationale: str, **fields: Any
) -> _Json:
    expect = {"relevantBeliefs": {"shouldOnlyInclude": only, **fields.pop("relevant", {})}}
    return {
        "caseId": case_id,
        "category": category,
        "rationale": rationale,
        "query": query,
        "scope": fields.pop("scope", [_SHOP]),
        "expect": expect | fields.pop("tiers", {}),
        **fields,
    }


_FIRST_CASE: _Json = {
    "_comment": CASE_FIELDS,
    "caseId": "alias-seat-post",
    "category": "Other names",
    "description": "The query uses a name that only the aliases hold.",
    "rationale": "The post clamp is the seat post, and its torque is 5 Nm.",
    "query": "How tight does the post clamp go?",
    "scope": [_SHOP],
    "budget": {"maxBeliefs": 20},
    "expect": {
        "relevantBeliefs": {"shouldOnlyInclude": ["seat-post"]},
        "personaPrelude": {"contains": ["number first"]},
    },
}
CASES: list[_Json] = [
    _FIRST_CASE,
    _case(
        "hours-now",
        "Replaced beliefs",
        "When does the shop open?",
        ["hours"],
        "The winter hours were replaced; only the present ones hold.",
        relevant={"mustExclude": ["hours-winter"]},
    ),
    _case(
        "spoke-dealer",
        "Relations",
        "Where do we order spokes?",
        ["spokes-from-radhaus", "spokes", "radhaus"],
        "The relation says it, and it brings what it joins.",
    ),
    _case(
        "deposit-pinned",
        "Pinned beliefs",
        "Do I ask for money in advance for a repair of 300 euros?",
        [],
        "The deposit is pinned, so that it is shown already; nothing else speaks of money.",
        tiers={"pinnedFacts": {"mustInclude": ["deposit"]}},
    ),
    _case(
        "undecided",
        "Open questions",
        "What is not decided yet?",
        [],
        "One thing is open, and it has a place of its own.",
        tiers={"openQuestions": {"shouldOnlyInclude": ["second-terminal"]}},
    ),
    _case(
        "hours-in-the-choir",
        "Other scopes",
        "Tell me the opening hours.",
        [],
        "Asked in the choir's scope, the shop's hours are noise.",
        scope=[_CHOIR],
    ),
    _case(
        "hours-of-joon",
        "Other users",
        "From what time is my shop open?",
        ["joon-hours"],
        "Joon asks, so that Mara's hours are not his to see.",
        userId=_JOON,
    ),
    _case(
        "rehearsal-first",
        "Main point first",
        "When is rehearsal, and by the way, what do we sing in spring?",
        ["rehearsal", "programme"],
        "Both are asked for, the rehearsal above all.",
        scope=[_CHOIR],
        relevant={"orderedBefore": [["rehearsal", "programme"]]},
    ),
]
"""Eight cases, each of another category; the first explains its fields."""


def _turn(index: int, message: str, topic: str, rationale: str, **fields: Any) -> _Json:
    return {
        "turnIndex": index,
        "rationale": rationale,
        "scope": [_SHOP],
        "userMessage": message,
        "topics": [topic],
        **fields,
    }


_FIRST_TURN: _Json = {
    "_comment": TURN_FIELDS,
    "turnIndex": 0,
    "label": "a known fact",
    "rationale": "The torque is stored.",
    "scope": [_SHOP],
    "userMessage": "What torque for a carbon seat post? I bought a torque key for it.",
    "assistantMessage": "5 Nm, with paste.",
    "turnSignal": "substantive",
    "topics": ["torque"],
    "expect": {"relevantBeliefs": {"shouldOnlyInclude": ["seat-post"]}},
    "createBeliefAtTurn": _belief(
        "torque-key", "entity", "torque key", "The torque key hangs beside the stand."
    ),
}
_TURNS: list[_Json] = [
    _FIRST_TURN,
    _turn(
        1,
        "When do we open? From May it is 8 o'clock.",
        "hours",
        "Asked before the change; the torque of turn 0 is another topic.",
        expect={
            "relevantBeliefs": {"shouldOnlyInclude": ["hours"]},
            "noiseCheck": {"mustNotSurface": ["seat-post", "torque-key"]},
        },
        createBeliefAtTurn=_belief(
            "hours-may", "decision", "opening hours", "From May the shop opens at 8."
        ),
        updateBeliefAtTurn={"beliefId": "hours", "supersededBy": "hours-may"},
    ),
    _turn(
        2,
        "And at what time does the shop open in May?",
        "hours",
        "The hours were replaced after turn 1.",
        expect={"relevantBeliefs": {"shouldOnlyInclude": ["hours-may"], "mustExclude": ["hours"]}},
    ),
]
SESSIONS: list[_Json] = [
    {
        "_comment": SESSION_FIELDS,
        "caseId": "a-day-in-the-shop",
        "description": "The topic changes, and then a fact.",
        "rationale": "Earlier topics must not drift in, and a changed belief must show.",
        "dependsOn": [],
        "turns": _TURNS,
    }
]
"""A session of three turns that adds a belief and replaces one."""
