"""A tiny valid corpus for tests: a sailor's boat and kitchen, and another sailor's berth.

``beliefs()``, ``cases()`` and ``sessions()`` give fresh copies that a test may change;
``write(directory)`` writes them, or what is given instead, as a corpus directory.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pmb_hf.corpus import load_corpus
from pmb_hf.lint import Finding, lint
from pmb_hf.parsing import parse_corpus
from pmb_hf.schema import BELIEFS_FILE, CASES_FILE, SESSIONS_FILE, Corpus
from pmb_hf.strict import Reader

INES, OTTO = "ines", "otto"
BOAT, KITCHEN = "domain:boat", "domain:kitchen"

Rows = list[dict[str, Any]]


def belief(belief_id: str, content: str, **fields: Any) -> dict[str, Any]:
    """A belief as JSON: an active entity of the main user about the boat."""
    return {
        "_id": belief_id,
        "user_id": INES,
        "type": "entity",
        "canonical_name": belief_id.removeprefix("t-").replace("-", " "),
        "aliases": [],
        "content": content,
        "why_it_matters": "",
        "scope": [BOAT],
        "epistemic_status": "active",
        "confidence": 0.9,
        "pinned": False,
        "reinforcement_count": 1,
        "last_reinforced_at": "2025-03-01T08:00:00Z",
        "user_edited": False,
        "resolved_at": None,
        "superseded_by": None,
        "created_at": "2025-03-01T08:00:00Z",
        "updated_at": "2025-03-01T08:00:00Z",
        **fields,
    }


def beliefs() -> Rows:
    """Ten beliefs: eight of Ines' boat and kitchen, one that holds everywhere, one of Otto's."""
    return [
        belief("t-berth", "The boat lies at berth 14 of the north pier.", aliases=["mooring"]),
        belief("t-engine", "The engine is a two-cylinder diesel, started by hand."),
        belief(
            "t-spare-impeller",
            "A spare impeller for the engine is kept in the locker at the berth.",
            type="relation",
            relation_type="stored_at",
            participants=["t-engine", "t-berth"],
        ),
        belief(
            "t-old-anchor",
            "The anchor is a 10 kg grapnel on rope.",
            epistemic_status="superseded",
            superseded_by="t-anchor",
        ),
        belief("t-anchor", "The anchor is a 15 kg plough on 40 m of chain."),
        belief(
            "t-never-alone",
            "Decided never to sail alone after dark.",
            type="decision",
            pinned=True,
            last_reinforced_at="2025-03-05T08:00:00Z",
        ),
        belief(
            "t-q-radio",
            "Is a second radio needed for the passage?",
            type="open_question",
            pinned=True,
        ),
        belief("t-starter", "The sourdough starter is fed on Sundays.", scope=[KITCHEN]),
        belief(
            "t-brief",
            "Wants brief answers without apologies.",
            type="preference",
            scope=["user:universal"],
            pinned=True,
        ),
        belief("t-otto-berth", "The dinghy lies at berth 3.", user_id=OTTO),
    ]


def case(case_id: str, query: str, expect: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A case as JSON, about the boat."""
    return {
        "caseId": case_id,
        "category": "Alias resolution",
        "description": "",
        "rationale": "The belief says it, and no other does.",
        "scope": [BOAT],
        "query": query,
        "expect": expect,
        **fields,
    }


def only(*ids: str, **tiers: Any) -> dict[str, Any]:
    """An ``expect`` whose relevant tier is exactly ``ids``."""
    return {"relevantBeliefs": {"shouldOnlyInclude": list(ids)}, **tiers}


def cases() -> Rows:
    """Eight cases: four active, two structural, two trivially empty."""
    ordered = only("t-anchor", "t-engine")
    ordered["relevantBeliefs"]["orderedBefore"] = [["t-anchor", "t-engine"]]
    replaced = only("t-anchor")
    replaced["relevantBeliefs"]["mustExclude"] = ["t-old-anchor"]
    return [
        case("c-mooring", "Where is our mooring?", only("t-berth")),
        case(
            "c-impeller",
            "Where is the spare impeller?",
            only("t-spare-impeller", "t-engine", "t-berth"),
            category="Relation expansion",
        ),
        case(
            "c-anchor",
            "What anchor do we have?",
            replaced,
            category="Supersession chain exclusion",
        ),
        case(
            "c-order",
            "The anchor above all, and how is the engine started?",
            ordered,
            category="Ranking stability",
        ),
        case(
            "c-questions",
            "What is still to be decided?",
            only(openQuestions={"shouldOnlyInclude": ["t-q-radio"]}),
            category="Type routing and open questions",
        ),
        case(
            "c-blank",
            "",
            only(pinnedFacts={"mustInclude": ["t-never-alone"]}),
            category="Design boundary cases",
        ),
        case(
            "c-budget",
            "Which berth, at night?",
            only(pinnedFacts={"mustInclude": ["t-never-alone"]}),
            category="Budget eviction and capacity",
            budget={"maxBeliefs": 1},
        ),
        case(
            "c-otto",
            "What does he want every answer to be like?",
            only(personaPrelude={"isNull": True}),
            category="Cross-user isolation",
            userId=OTTO,
        ),
    ]


def turn(index: int, message: str, topic: str, expect: dict[str, Any], **fields: Any) -> Any:
    """A turn as JSON, about the boat."""
    return {
        "turnIndex": index,
        "label": "",
        "rationale": "The belief says it, as it is by then.",
        "scope": [BOAT],
        "userMessage": message,
        "assistantMessage": "",
        "turnSignal": "substantive",
        "topics": [topic],
        "expect": expect,
        **fields,
    }


def sessions() -> Rows:
    """A session of three turns that creates, renames, rewrites and supersedes beliefs."""
    return [
        {
            "caseId": "s-refit",
            "description": "A refit, told step by step.",
            "dependsOn": [],
            "turns": [
                turn(
                    0,
                    "How is the engine started? I call it the donkey now.",
                    "engine",
                    only("t-engine"),
                    createBeliefAtTurn=belief("t-stove", "The stove burns paraffin."),
                    updateBeliefAtTurn={"beliefId": "t-engine", "addAliases": ["the donkey"]},
                ),
                turn(
                    1,
                    "Which anchor is on the bow? I have ordered a bigger one.",
                    "anchor",
                    only("t-anchor", noiseCheck={"mustNotSurface": ["t-engine", "t-stove"]}),
                    createBeliefAtTurn=[belief("t-big-anchor", "The anchor weighs 25 kg.")],
                    updateBeliefAtTurn=[
                        {"beliefId": "t-anchor", "supersededBy": "t-big-anchor"},
                        {"beliefId": "t-berth", "setContent": "The boat lies at berth 20."},
                    ],
                ),
                turn(
                    2,
                    "Where does she lie, and what does the anchor weigh?",
                    "anchor",
                    only("t-berth", "t-big-anchor", pinnedFacts={"mustInclude": ["t-never-alone"]}),
                ),
            ],
        }
    ]


def files() -> dict[str, Any]:
    """The parsed JSON of the three files, by file name."""
    return {BELIEFS_FILE: beliefs(), CASES_FILE: cases(), SESSIONS_FILE: sessions()}


def parsed(raw: dict[str, Any] | None = None) -> Corpus:
    """The corpus, or another one, without a directory; faults of form are an error here."""
    reader = Reader()
    corpus = parse_corpus("tiny", files() if raw is None else raw, reader)
    assert not reader.problems
    return corpus


def write(directory: Path, raw: dict[str, Any] | None = None) -> Path:
    """Write the three files into ``directory``, which is made if need be, and return it."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, rows in (files() if raw is None else raw).items():
        text = json.dumps(rows, ensure_ascii=False, indent=1)
        (directory / name).write_text(text, encoding="utf-8")
    return directory


def load(directory: Path) -> Corpus:
    """Write the corpus into ``directory`` and load it from there."""
    return load_corpus(write(directory))


def linted(directory: Path, change: Callable[[dict[str, Any]], object]) -> list[Finding]:
    """What the linter says of the corpus after ``change`` has been made to its JSON."""
    raw = files()
    change(raw)
    return lint(write(directory, raw))
