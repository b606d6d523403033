"""One fault at a time of the tiny corpus: the code, the place and a word of each finding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from corpora import BOAT, KITCHEN, OTTO, belief, case, only

from pmb_hf.lint import ERROR, WARNING
from pmb_hf.schema import BELIEFS_FILE, CASES_FILE, SESSIONS_FILE

Raw = dict[str, Any]
Edit = Callable[[Raw], object]


class Fault(NamedTuple):
    """What the linter says of the corpus after ``change`` was made to its JSON."""

    code: str
    severity: str
    where: str
    word: str
    change: Edit


def row(raw: Raw, file: str, name: str) -> Any:
    key = "_id" if file == BELIEFS_FILE else "caseId"
    return next(item for item in raw[file] if item[key] == name)


def on_case(name: str, **changes: Any) -> Callable[[Raw], None]:
    return lambda raw: row(raw, CASES_FILE, name).update(changes)


def on_belief(name: str, **changes: Any) -> Callable[[Raw], None]:
    return lambda raw: row(raw, BELIEFS_FILE, name).update(changes)


def on_turn(index: int, **changes: Any) -> Callable[[Raw], None]:
    return lambda raw: raw[SESSIONS_FILE][0]["turns"][index].update(changes)


def on_session(**changes: Any) -> Callable[[Raw], None]:
    return lambda raw: raw[SESSIONS_FILE][0].update(changes)


def added(expect: Raw, query: str = "Is anything else known?", **fields: Any) -> Any:
    """One more case."""
    return lambda raw: raw[CASES_FILE].append(case("c-new", query, expect, **fields))


def more(*beliefs: Raw) -> Callable[[Raw], None]:
    return lambda raw: raw[BELIEFS_FILE].extend(beliefs)


def relevant(**tier: Any) -> Raw:
    return {"relevantBeliefs": tier}


NEW = f"{CASES_FILE}[8] (c-new).expect"
TURN = f"{SESSIONS_FILE}[0] (s-refit).turns"
MOORING = f"{CASES_FILE}[0] (c-mooring)"
BERTH = f"{BELIEFS_FILE}[0] (t-berth)"

_ROWS: list[tuple[str, str, str, str, Edit]] = [
    # ids
    *(
        ("unknown-id", ERROR, f"{NEW}.{tier}.{key}", "t-nope", added({tier: {key: ["t-nope"]}}))
        for tier, keys in {
            "relevantBeliefs": ("mustInclude", "mustExclude", "shouldOnlyInclude"),
            "pinnedFacts": ("mustInclude", "mustExclude"),
            "openQuestions": ("mustInclude", "mustExclude", "shouldOnlyInclude"),
        }.items()
        for key in keys
    ),
    (
        "unknown-id",
        ERROR,
        f"{NEW}.relevantBeliefs.orderedBefore",
        "t-nope",
        added(relevant(shouldOnlyInclude=["t-berth"], orderedBefore=[["t-berth", "t-nope"]])),
    ),
    (
        "unknown-id",
        ERROR,
        f"{TURN}[0].expect.noiseCheck.mustNotSurface",
        "t-nope",
        on_turn(0, expect=only("t-engine", noiseCheck={"mustNotSurface": ["t-nope"]})),
    ),
    (
        "unknown-id",
        ERROR,
        f"{BELIEFS_FILE}[2] (t-spare-impeller).participants",
        "t-nope",
        on_belief("t-spare-impeller", participants=["t-engine", "t-berth", "t-nope"]),
    ),
    (
        "unknown-id",
        ERROR,
        f"{BELIEFS_FILE}[3] (t-old-anchor).superseded_by",
        "t-nope",
        on_belief("t-old-anchor", superseded_by="t-nope"),
    ),
    (
        "unknown-id",
        ERROR,
        f"{TURN}[2].updateBeliefAtTurn.beliefId",
        "t-nope",
        on_turn(2, updateBeliefAtTurn={"beliefId": "t-nope", "setContent": "x"}),
    ),
    (
        "unknown-id",
        ERROR,
        f"{TURN}[2].updateBeliefAtTurn.supersededBy",
        "t-nope",
        on_turn(2, updateBeliefAtTurn={"beliefId": "t-engine", "supersededBy": "t-nope"}),
    ),
    (
        "unknown-id",
        ERROR,
        f"{SESSIONS_FILE}[0] (s-refit).dependsOn",
        "s-nope",
        on_session(dependsOn=["s-nope"]),
    ),
    (
        "depends-on-later",
        ERROR,
        f"{SESSIONS_FILE}[0] (s-refit).dependsOn",
        "s-refit",
        on_session(dependsOn=["s-refit"]),
    ),
    (
        "not-there",
        WARNING,
        f"{NEW}.relevantBeliefs.mustExclude",
        "t-stove",
        added(relevant(mustExclude=["t-stove"])),
    ),
    # twice the same
    (
        "duplicate-belief-id",
        ERROR,
        f"{BELIEFS_FILE}[10] (t-otto-berth)",
        f"{BELIEFS_FILE}[9]",
        more(belief("t-otto-berth", "The dinghy lies at berth 4.", user_id=OTTO)),
    ),
    (
        "duplicate-belief-id",
        ERROR,
        f"{TURN}[2].createBeliefAtTurn",
        "t-starter",
        on_turn(2, createBeliefAtTurn=belief("t-starter", "Fed on Mondays.", scope=[KITCHEN])),
    ),
    (
        "duplicate-case-id",
        ERROR,
        f"{CASES_FILE}[6] (c-blank)",
        "c-blank",
        on_case("c-budget", caseId="c-blank"),
    ),
    (
        "duplicate-case-id",
        ERROR,
        f"{SESSIONS_FILE}[0] (c-blank)",
        f"{CASES_FILE}[5]",
        on_session(caseId="c-blank"),
    ),
    ("duplicate-turn-index", ERROR, f"{TURN}[1].turnIndex", "0", on_turn(1, turnIndex=0)),
    ("turn-order", ERROR, f"{TURN}[1].turnIndex", "7", on_turn(0, turnIndex=7)),
    ("ids-alike", WARNING, BELIEFS_FILE, "T-Berth", more(belief("T-Berth", "Another berth."))),
    (
        "repeated-id",
        ERROR,
        f"{NEW}.relevantBeliefs.shouldOnlyInclude",
        "t-berth",
        added(only("t-berth", "t-berth")),
    ),
    (
        "repeated-id",
        ERROR,
        f"{CASES_FILE}[3] (c-order).expect.relevantBeliefs.orderedBefore",
        "t-anchor",
        lambda raw: row(raw, CASES_FILE, "c-order")["expect"]["relevantBeliefs"].update(
            orderedBefore=[["t-anchor", "t-engine"]] * 2
        ),
    ),
    (
        "repeated-id",
        ERROR,
        f"{BELIEFS_FILE}[2] (t-spare-impeller).participants",
        "t-berth",
        on_belief("t-spare-impeller", participants=["t-engine", "t-berth", "t-berth"]),
    ),
    (
        "duplicate-query",
        ERROR,
        f"{CASES_FILE}[8] (c-new).query",
        "c-mooring",
        added(only("t-berth"), query="Where is our mooring?"),
    ),
    (
        "queries-alike",
        WARNING,
        f"{CASES_FILE}[8] (c-new).query",
        "c-mooring",
        added(only("t-berth"), query=" where is  OUR mooring?"),
    ),
    # assertions
    (
        "empty-assertion",
        ERROR,
        f"{NEW}.pinnedFacts.mustInclude",
        "nothing",
        added(only("t-berth", pinnedFacts={"mustInclude": []})),
    ),
    (
        "empty-assertion",
        ERROR,
        f"{NEW}.relevantBeliefs.mustExclude",
        "nothing",
        added(relevant(shouldOnlyInclude=["t-berth"], mustExclude=[])),
    ),
    (
        "empty-assertion",
        ERROR,
        f"{NEW}.personaPrelude.contains",
        "nothing",
        added(only("t-berth", personaPrelude={"contains": []})),
    ),
    (
        "empty-assertion",
        ERROR,
        f"{NEW}.personaPrelude.contains",
        "nothing",
        added(only("t-berth", personaPrelude={"contains": [""]})),
    ),
    (
        "empty-assertion",
        ERROR,
        f"{NEW}.personaPrelude.nonEmpty",
        "nothing",
        added(only("t-berth", personaPrelude={"nonEmpty": False})),
    ),
    (
        "empty-assertion",
        ERROR,
        f"{NEW}.openQuestions",
        "nothing",
        added(only("t-berth", openQuestions={})),
    ),
    (
        "asserts-nothing",
        ERROR,
        f"{MOORING}.expect",
        "every answer",
        on_case("c-mooring", expect={}),
    ),
    ("asserts-nothing", ERROR, f"{TURN}[0].expect", "every answer", on_turn(0, expect={})),
    (
        "never-checked",
        WARNING,
        f"{TURN}[0].expect.topicRetrieval",
        "never checked",
        on_turn(0, expect=only("t-engine", topicRetrieval={"shouldRetrieveTurns": [0]})),
    ),
    (
        "no-order",
        ERROR,
        f"{MOORING}.expect.relevantBeliefs.orderedBefore",
        "Ranking stability",
        on_case("c-mooring", category="Ranking stability"),
    ),
    (
        "no-order",
        WARNING,
        f"{MOORING}.expect.relevantBeliefs.orderedBefore",
        "ranks",
        on_case("c-mooring", description="The mooring ranks first."),
    ),
    (
        "no-question-tier",
        WARNING,
        f"{MOORING}.expect.openQuestions",
        "Open questions",
        on_case("c-mooring", category="Open questions"),
    ),
    # gold
    *(
        (f"gold-{kind}", ERROR, f"{NEW}.relevantBeliefs.mustInclude", word, added(gold))
        for kind, word, gold in (
            ("superseded", "by t-anchor", relevant(mustInclude=["t-old-anchor"])),
            ("other-user", OTTO, relevant(mustInclude=["t-otto-berth"])),
            ("out-of-scope", KITCHEN, relevant(mustInclude=["t-starter"])),
            ("open-question", "openQuestions", relevant(mustInclude=["t-q-radio"])),
            ("pinned", "pinnedFacts", relevant(mustInclude=["t-never-alone"])),
            ("not-there", "created later", relevant(mustInclude=["t-stove"])),
        )
    ),
    (
        "gold-resolved",
        ERROR,
        f"{MOORING}.expect.relevantBeliefs.shouldOnlyInclude",
        "2025-04-01",
        on_belief("t-berth", resolved_at="2025-04-01T00:00:00Z"),
    ),
    (
        "gold-superseded",
        ERROR,
        f"{TURN}[2].expect.relevantBeliefs.shouldOnlyInclude",
        "by t-big-anchor",
        on_turn(2, expect=only("t-anchor")),
    ),
    (
        "gold-not-there",
        ERROR,
        f"{TURN}[0].expect.relevantBeliefs.shouldOnlyInclude",
        "t-stove",
        on_turn(0, expect=only("t-engine", "t-stove")),
    ),
    (
        "gold-over-room",
        ERROR,
        f"{NEW}.relevantBeliefs",
        "room for 1",
        added(only("t-berth", "t-engine"), budget={"maxBeliefs": 2}),
    ),
    (
        "gold-blank-query",
        ERROR,
        f"{CASES_FILE}[5] (c-blank).expect.relevantBeliefs",
        "blank",
        on_case("c-blank", expect=only("t-berth")),
    ),
    (
        "contradiction",
        ERROR,
        f"{NEW}.relevantBeliefs.mustExclude",
        "the gold",
        added(relevant(mustInclude=["t-berth"], mustExclude=["t-berth"])),
    ),
    (
        "contradiction",
        ERROR,
        f"{NEW}.relevantBeliefs.mustExclude",
        "pinnedFacts",
        added(
            {
                "relevantBeliefs": {"mustExclude": ["t-never-alone"]},
                "pinnedFacts": {"mustInclude": ["t-never-alone"]},
            }
        ),
    ),
    (
        "contradiction",
        ERROR,
        f"{NEW}.pinnedFacts.mustExclude",
        "mustInclude",
        added(
            {"pinnedFacts": {"mustInclude": ["t-never-alone"], "mustExclude": ["t-never-alone"]}}
        ),
    ),
    (
        "contradiction",
        ERROR,
        f"{TURN}[0].expect.noiseCheck.mustNotSurface",
        "the gold",
        on_turn(0, expect=only("t-engine", noiseCheck={"mustNotSurface": ["t-engine"]})),
    ),
    (
        "contradiction",
        ERROR,
        f"{NEW}.openQuestions.mustInclude",
        "shouldOnlyInclude",
        added({"openQuestions": {"mustInclude": ["t-q-radio"], "shouldOnlyInclude": []}}),
    ),
    (
        "relation-participants",
        ERROR,
        f"{CASES_FILE}[1] (c-impeller).expect.relevantBeliefs.shouldOnlyInclude",
        "t-berth",
        on_case("c-impeller", expect=only("t-spare-impeller", "t-engine")),
    ),
    # what the harness shows
    *(
        ("pinned-not-shown", ERROR, f"{NEW}.pinnedFacts.mustInclude", word, added(expect, **fields))
        for word, expect, fields in (
            ("is not pinned", {"pinnedFacts": {"mustInclude": ["t-berth"]}}, {}),
            ("scopes", {"pinnedFacts": {"mustInclude": ["t-brief"]}}, {}),
            ("an open question", {"pinnedFacts": {"mustInclude": ["t-q-radio"]}}, {}),
            ("user", {"pinnedFacts": {"mustInclude": ["t-otto-berth"]}}, {}),
            (
                "budget of 1",
                {"pinnedFacts": {"mustInclude": ["t-brief"]}},
                {"budget": {"maxBeliefs": 1}, "scope": [BOAT, "user:universal"]},
            ),
        )
    ),
    (
        "question-not-shown",
        ERROR,
        f"{NEW}.openQuestions.mustInclude",
        "no open question",
        added({"openQuestions": {"mustInclude": ["t-never-alone"]}}),
    ),
    (
        "question-not-shown",
        ERROR,
        f"{CASES_FILE}[4] (c-questions).expect.openQuestions.shouldOnlyInclude",
        "is not pinned",
        on_belief("t-q-radio", pinned=False),
    ),
    # order
    (
        "order-cycle",
        ERROR,
        f"{NEW}.relevantBeliefs.orderedBefore",
        "t-berth before t-engine",
        added(
            relevant(
                mustInclude=["t-berth", "t-engine"],
                orderedBefore=[["t-berth", "t-engine"], ["t-engine", "t-berth"]],
            )
        ),
    ),
    (
        "order-cycle",
        ERROR,
        f"{NEW}.relevantBeliefs.orderedBefore",
        "t-berth before t-berth",
        added(relevant(mustInclude=["t-berth"], orderedBefore=[["t-berth", "t-berth"]])),
    ),
    (
        "order-not-required",
        ERROR,
        f"{NEW}.relevantBeliefs.orderedBefore",
        "t-engine",
        added(relevant(mustInclude=["t-berth"], orderedBefore=[["t-berth", "t-engine"]])),
    ),
    (
        "order-not-required",
        ERROR,
        f"{NEW}.pinnedFacts.orderedBefore",
        "t-brief",
        added({"pinnedFacts": {"orderedBefore": [["t-never-alone", "t-brief"]]}}),
    ),
    # chains
    (
        "supersession-cycle",
        ERROR,
        BELIEFS_FILE,
        "t-anchor, t-old-anchor",
        on_belief("t-anchor", superseded_by="t-old-anchor", epistemic_status="superseded"),
    ),
    (
        "supersession-cycle",
        ERROR,
        TURN,
        "t-anchor, t-old-anchor",
        on_turn(2, updateBeliefAtTurn={"beliefId": "t-anchor", "supersededBy": "t-old-anchor"}),
    ),
    (
        "dangling-supersession",
        ERROR,
        f"{BELIEFS_FILE}[3] (t-old-anchor).superseded_by",
        "by what",
        on_belief("t-old-anchor", superseded_by=None),
    ),
    (
        "supersession-status",
        WARNING,
        f"{BELIEFS_FILE}[3] (t-old-anchor).epistemic_status",
        "active",
        on_belief("t-old-anchor", epistemic_status="active"),
    ),
    (
        "supersession-user",
        ERROR,
        f"{BELIEFS_FILE}[3] (t-old-anchor).superseded_by",
        OTTO,
        on_belief("t-old-anchor", superseded_by="t-otto-berth"),
    ),
    (
        "unknown-status",
        ERROR,
        f"{BERTH}.epistemic_status",
        "supersede",
        on_belief("t-berth", epistemic_status="supersede"),
    ),
    # rows
    *(
        (
            "timestamp",
            ERROR,
            f"{BERTH}.{key}",
            "yesterday",
            on_belief("t-berth", **{key: "yesterday"}),
        )
        for key in ("created_at", "updated_at", "last_reinforced_at", "resolved_at")
    ),
    (
        "timestamp",
        ERROR,
        f"{BERTH}.provenance.extracted_at",
        "2025-13-01",
        on_belief("t-berth", provenance={"extracted_at": "2025-13-01T00:00:00Z"}),
    ),
    (
        "timestamp",
        ERROR,
        f"{TURN}[2].updateBeliefAtTurn.resolvedAt",
        "soon",
        on_turn(2, updateBeliefAtTurn={"beliefId": "t-q-radio", "resolvedAt": "soon"}),
    ),
    *(
        (
            "timestamp-utc",
            WARNING,
            f"{BERTH}.created_at",
            value,
            on_belief("t-berth", created_at=value),
        )
        for value in (
            "2025-03-01T08:00:00",
            "2025-03-01T08:00:00+02:00",
            "0001-01-01T00:00:00+23:00",
        )
    ),
    ("empty-query", ERROR, f"{TURN}[0].userMessage", "blank", on_turn(0, userMessage=" ")),
    (
        "no-rationale",
        WARNING,
        f"{MOORING}.rationale",
        "missing",
        on_case("c-mooring", rationale=""),
    ),
    ("no-rationale", WARNING, f"{TURN}[0].rationale", "missing", on_turn(0, rationale=" ")),
    ("no-topics", WARNING, f"{TURN}[0].topics", "off-topic", on_turn(0, topics=[])),
    ("no-turns", ERROR, f"{SESSIONS_FILE}[0] (s-refit).turns", "empty", on_session(turns=[])),
    ("no-beliefs", ERROR, BELIEFS_FILE, "no belief", lambda raw: raw[BELIEFS_FILE].clear()),
    (
        "no-cases",
        ERROR,
        CASES_FILE,
        "nothing to score",
        lambda raw: (raw[CASES_FILE].clear(), raw[SESSIONS_FILE].clear()),
    ),
    ("no-scope", WARNING, f"{MOORING}.scope", "empty", on_case("c-mooring", scope=[])),
    (
        "no-scope",
        WARNING,
        f"{BELIEFS_FILE}[7] (t-starter).scope",
        "empty",
        on_belief("t-starter", scope=[]),
    ),
    ("empty-id", ERROR, f"{CASES_FILE}[0].caseId", "blank", on_case("c-mooring", caseId="")),
    ("empty-id", ERROR, f"{BELIEFS_FILE}[7]._id", "blank", on_belief("t-starter", _id="")),
    (
        "participants",
        WARNING,
        f"{BELIEFS_FILE}[7] (t-starter).participants",
        "entity",
        on_belief("t-starter", participants=["t-berth"]),
    ),
    (
        "self-participant",
        ERROR,
        f"{BELIEFS_FILE}[2] (t-spare-impeller).participants",
        "itself",
        on_belief("t-spare-impeller", participants=["t-spare-impeller", "t-engine", "t-berth"]),
    ),
    *(
        ("no-effect", WARNING, f"{TURN}[2].updateBeliefAtTurn{key}", word, on_turn(2, **change))
        for key, word, change in (
            ("", "changes nothing", {"updateBeliefAtTurn": {"beliefId": "t-berth"}}),
            (
                ".addAliases",
                "mooring",
                {"updateBeliefAtTurn": {"beliefId": "t-berth", "addAliases": ["mooring"]}},
            ),
            (
                ".removeAliases",
                "harbour",
                {"updateBeliefAtTurn": {"beliefId": "t-berth", "removeAliases": ["harbour"]}},
            ),
        )
    ),
    # form
    (
        "misplaced-key",
        ERROR,
        f"{NEW}.relevantBeliefs.pinnedFacts",
        "belongs to `expect`",
        added(relevant(shouldOnlyInclude=["t-berth"], pinnedFacts={"mustInclude": ["t-nope"]})),
    ),
    (
        "misplaced-key",
        ERROR,
        f"{NEW}.noiseCheck",
        "a turn's",
        added(only("t-berth", noiseCheck={"mustNotSurface": ["t-engine"]})),
    ),
    (
        "misplaced-key",
        ERROR,
        f"{NEW}.pinnedFacts.shouldOnlyInclude",
        "`relevantBeliefs` or `openQuestions`",
        added({"pinnedFacts": {"shouldOnlyInclude": ["t-never-alone"]}}),
    ),
    (
        "unknown-key",
        ERROR,
        f"{NEW}.relevantBeliefs.mustInclud",
        "did you mean 'mustInclude'",
        added(relevant(shouldOnlyInclude=["t-berth"], mustInclud=["t-berth"])),
    ),
    ("unknown-key", ERROR, f"{MOORING}.zzz", "remove it", on_case("c-mooring", zzz=1)),
    (
        "missing-key",
        ERROR,
        f"{CASES_FILE}[8].caseId",
        "missing",
        lambda r: r[CASES_FILE].append({}),
    ),
    ("type", ERROR, f"{MOORING}.query", "a string", on_case("c-mooring", query=3)),
    ("type", ERROR, CASES_FILE, "a list", lambda raw: raw.update({CASES_FILE: {}})),
]

FAULTS = [Fault(*row) for row in _ROWS]
