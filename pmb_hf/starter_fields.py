"""What each field of a corpus file means; the comments of a started corpus say it."""

from __future__ import annotations

BELIEF_FIELDS = {
    "_id": "Names the belief; no other has it. Cases speak of beliefs by this id.",
    "user_id": "Whose it is. The user of most beliefs is the corpus's main user.",
    "type": "preference, decision, entity, relation or open_question.",
    "canonical_name": "What it is about, in few words.",
    "aliases": "Other names by which a query may call it. Optional.",
    "content": "What is remembered: the text that your system stores and searches.",
    "why_it_matters": "For the reader. Optional, like all below but scope.",
    "scope": "Where it holds. It is in scope if it shares one with the query; user:universal "
    "holds everywhere and feeds the persona prelude.",
    "epistemic_status": "active, inferred, exploratory or superseded.",
    "confidence": "From 0 to 1.",
    "pinned": "Pinned beliefs in scope are always shown, newest last_reinforced_at first; they "
    "are never part of the answer to a query.",
    "reinforcement_count": "How often it was said.",
    "last_reinforced_at": "When it was said last; ISO 8601 in UTC.",
    "user_edited": "Whether the user wrote it.",
    "resolved_at": "When an open question was answered, or null.",
    "superseded_by": "The id of the belief that took its place, or null.",
    "created_at": "When it was stored first.",
    "updated_at": "When it was changed last.",
    "participants": "For relations only: the ids of the beliefs that it joins. They are shown "
    "with it, so that a case which needs the relation needs them, too.",
}
"""Fields of a belief."""
CASE_FIELDS = {
    "caseId": "Names the case in reports; no other case or session has it.",
    "category": "Free text; reports count by category.",
    "description": "One sentence for whoever reads the report. Optional.",
    "rationale": "Why exactly this is the right answer. If you can't write it, drop the case.",
    "query": "What your system is asked.",
    "scope": "The scopes that are asked for.",
    "userId": "Who asks. Optional; the main user by default.",
    "budget": "maxBeliefs: how many beliefs fit, pinned ones included. Optional; 20.",
    "expect": {
        "relevantBeliefs": "shouldOnlyInclude: exactly these and nothing else ([]: nothing). "
        "mustInclude: these, and perhaps more. mustExclude: never these. orderedBefore: pairs "
        "[first, second].",
        "pinnedFacts": "mustInclude, mustExclude and orderedBefore for the pinned beliefs.",
        "openQuestions": "mustInclude, mustExclude and shouldOnlyInclude for pinned questions.",
        "personaPrelude": "nonEmpty: true, isNull: true, contains: [texts], mustNotContain.",
    },
    "notes": "For you. Optional.",
}
"""Fields of a case."""
SESSION_FIELDS = {
    "caseId": "Names the session; no other case or session has it.",
    "description": "One sentence for whoever reads the report. Optional.",
    "rationale": "Why the session is here. Optional.",
    "userId": "Who speaks. Optional; the main user by default.",
    "dependsOn": "Sessions whose changes are made before. []: none; left out: all above.",
    "notes": "For you. Optional.",
    "turns": "What is said, one after the other; each turn is scored like a case.",
}
"""Fields of a session."""
TURN_FIELDS = {
    "turnIndex": "0, 1, 2 and so on.",
    "label": "A few words for the report. Optional.",
    "rationale": "Why exactly this is the right answer.",
    "scope": "The scopes that are asked for.",
    "userMessage": "What the user says, and what your system is asked.",
    "assistantMessage": "For the reader. Optional, and not sent.",
    "turnSignal": "What kind of turn it is, for the reader. Optional.",
    "topics": "Beliefs that earlier turns without a common topic needed count as drift here.",
    "expect": "As in a case, and noiseCheck.mustNotSurface: these must not come up here.",
    "createBeliefAtTurn": "A belief, or a list, that is stored after this turn was asked.",
    "updateBeliefAtTurn": "A change, or a list, made after this turn was asked: beliefId with "
    "addAliases, removeAliases, setContent, supersededBy or resolvedAt.",
}
"""Fields of a turn."""
