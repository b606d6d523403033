"""Rules for what one case or turn asserts: can it be met, and does it say what is meant?"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from graphlib import CycleError, TopologicalSorter
from typing import Any

from ..assertions import failures
from ..baselines import ideal_answer
from ..context import assemble, budget, expand_relations, open_questions, pinned_facts, room
from ..records import Retrieval
from .findings import Finding, Subject, error, warning

_TIERS = ("relevantBeliefs", "pinnedFacts", "openQuestions")
_PARTS = (*_TIERS, "personaPrelude", "noiseCheck")
_ORDER_WORDS = re.compile(r"\b(?:rank(?:s|ed|ing)?|(?<!in )order(?:s|ed|ing)?)\b", re.IGNORECASE)


def empty_assertions(s: Subject) -> Iterator[Finding]:
    """Assertions that look like one and check nothing."""
    for part in _PARTS:
        raw = s.raw_expect.get(part)
        at = f"{s.at}.{part}"
        if raw == {}:
            yield error("empty-assertion", at, "asserts nothing; fill it, or remove it")
        for key, value in raw.items() if isinstance(raw, dict) else ():
            if _says_nothing(key, value):
                hint = "shouldOnlyInclude: [] says 'nothing'; " if part in _TIERS[::2] else ""
                message = f"asserts nothing; {hint}fill it, or remove it"
                yield error("empty-assertion", f"{at}.{key}", message)
    if "topicRetrieval" in s.raw_expect:
        message = "is read and never checked; assert what matters in another tier, or remove it"
        yield warning("never-checked", f"{s.at}.topicRetrieval", message)


def _says_nothing(key: str, value: Any) -> bool:
    if key in {"nonEmpty", "isNull"}:
        return value is False
    if key.startswith("_") or key == "shouldOnlyInclude":
        return False
    return isinstance(value, list) and (not value or "" in value)


def asserts_something(s: Subject) -> Iterator[Finding]:
    """A case without any assertion passes whatever is returned."""
    if not s.expectation.tests_context and s.expect.relevant.only is None:
        message = "asserts nothing, so every answer passes; say what must come back"
        yield error("asserts-nothing", s.at, message)


def named_for(s: Subject) -> Iterator[Finding]:
    """A case about order asserts an order; one about questions asserts the question tier."""
    category, text = s.wording
    if not (s.expect.relevant.ordered_before or s.expect.pinned.ordered_before):
        where = f"{s.at}.relevantBeliefs.orderedBefore"
        message = "is about order and asserts none; add orderedBefore, or call it something else"
        if _ORDER_WORDS.search(category):
            yield error("no-order", where, f"category {category!r} {message}")
        elif found := _ORDER_WORDS.search(text):
            yield warning("no-order", where, f"by its description ({found[0]!r}) it {message}")
    asserted = (
        s.expect.questions.must_include,
        s.expect.questions.must_exclude,
        s.expect.questions.only is not None,
    )
    if re.search(r"\bquestions?\b", category, re.IGNORECASE) and not any(asserted):
        message = f"category {category!r} is about questions; assert what of them is shown"
        yield warning("no-question-tier", f"{s.at}.openQuestions", message)


def ids(s: Subject) -> Iterator[Finding]:
    """Ids that do not exist, or stand twice in a list."""
    for where, listed in s.id_lists():
        counts = Counter(listed)
        for belief_id, count in counts.items():
            if belief_id not in s.known:
                message = f"no belief {belief_id!r} in this corpus; correct the id"
                yield error("unknown-id", where, message)
            elif belief_id not in s.store and not where.endswith("Include"):
                message = f"belief {belief_id!r} {_reason(s, belief_id)}: it can't surface here"
                yield warning("not-there", where, message)
            if count > 1 and not where.endswith("orderedBefore"):
                message = f"lists {belief_id!r} {count} times; list it once"
                yield error("repeated-id", where, message)
    for where, pairs in (
        (f"{s.at}.relevantBeliefs.orderedBefore", s.expect.relevant.ordered_before),
        (f"{s.at}.pinnedFacts.orderedBefore", s.expect.pinned.ordered_before),
    ):
        for pair in [pair for pair, count in Counter(pairs).items() if count > 1]:
            yield error("repeated-id", where, f"lists the pair {list(pair)} twice; list it once")


def _reason(s: Subject, belief_id: str) -> str:
    found = s.misfit(belief_id)
    return found[1] if found else ""


def gold_fits(s: Subject) -> Iterator[Finding]:
    """Gold that can't rightly stand in the relevant tier."""
    for where, belief_id in s.required():
        if belief_id not in s.known:
            continue
        found = s.misfit(belief_id)
        if found is None and s.is_question(belief_id):
            found = "open-question", "is an open question; assert it in openQuestions"
        elif found is None and s.is_pinned(belief_id):
            found = "pinned", "is pinned; assert it in pinnedFacts"
        if found is not None:
            message = f"gold belief {belief_id!r} {found[1]}; it can't be required here"
            yield error(f"gold-{found[0]}", where, message)


def gold_has_room(s: Subject) -> Iterator[Finding]:
    """Gold that the budget or a blank query keeps out."""
    gold = s.expectation.gold
    space = room(s.store, s.user_id, s.scopes, s.max_beliefs)
    where = f"{s.at}.relevantBeliefs"
    if len(gold) > space:
        limit = budget(s.max_beliefs)
        yield error(
            "gold-over-room",
            where,
            f"requires {len(gold)} beliefs, and of the budget of {limit} the pinned facts leave "
            f"room for {space}; require fewer, or raise budget.maxBeliefs",
        )
    if gold and not s.query.strip():
        message = "requires beliefs for a blank query, which no provider is asked; ask something"
        yield error("gold-blank-query", where, message)


def contradictions(s: Subject) -> Iterator[Finding]:
    """What is required and forbidden at once."""
    relevant, pinned, questions = s.expect.relevant, s.expect.pinned, s.expect.questions
    gold = s.expectation.gold
    tier, facts, open_ = (f"{s.at}.{name}" for name in _TIERS)
    for where, forbidden, wanted, by in (
        (f"{tier}.mustExclude", relevant.must_exclude, gold, "the gold"),
        (f"{tier}.mustExclude", relevant.must_exclude, pinned.must_include, "pinnedFacts"),
        (f"{s.at}.noiseCheck.mustNotSurface", s.expect.must_not_surface, gold, "the gold"),
        (f"{facts}.mustExclude", pinned.must_exclude, pinned.must_include, "mustInclude"),
        (f"{open_}.mustExclude", questions.must_exclude, questions.must_include, "mustInclude"),
        (f"{open_}.mustExclude", questions.must_exclude, questions.only or (), "shouldOnlyInclude"),
    ):
        for belief_id in dict.fromkeys(i for i in forbidden if i in wanted):
            message = f"forbids {belief_id!r}, which {by} requires; keep one of the two"
            yield error("contradiction", where, message)
    if questions.only is not None:
        for belief_id in sorted({*questions.must_include} - {*questions.only}):
            message = f"requires {belief_id!r}, which shouldOnlyInclude lacks; add it there"
            yield error("contradiction", f"{open_}.mustInclude", message)


def relations_complete(s: Subject) -> Iterator[Finding]:
    """Gold relations whose participants the harness adds although they are no gold."""
    if s.expect.relevant.only is None:
        return
    pinned = pinned_facts(s.store, s.user_id, s.scopes, s.max_beliefs)
    for where, belief_id in s.required():
        added = expand_relations(s.store, s.user_id, s.scopes, [belief_id], expand_questions=False)
        missing = [i for i in dict.fromkeys(added) if i not in {*s.expectation.gold, *pinned}]
        if missing:
            yield error(
                "relation-participants",
                where,
                f"relation {belief_id!r} brings {', '.join(missing)} along, and the exact set "
                "lacks them; add them",
            )


def pinned_shown(s: Subject) -> Iterator[Finding]:
    """Pinned facts and questions that are required and that the assembly does not show."""
    shown = pinned_facts(s.store, s.user_id, s.scopes, s.max_beliefs)
    where = f"{s.at}.pinnedFacts.mustInclude"
    for belief_id in dict.fromkeys(s.expect.pinned.must_include):
        if belief_id in s.known and belief_id not in shown:
            reason = _unshown(s, belief_id, question=False)
            message = f"belief {belief_id!r} {reason}; it can't be among the pinned facts"
            yield error("pinned-not-shown", where, message)
    asked = open_questions(s.store, s.user_id, s.scopes)
    tier = s.expect.questions
    for key, wanted in (("mustInclude", tier.must_include), ("shouldOnlyInclude", tier.only or ())):
        for belief_id in dict.fromkeys(wanted):
            if belief_id in s.known and belief_id not in asked:
                reason = _unshown(s, belief_id, question=True)
                message = f"belief {belief_id!r} {reason}; it can't be among the open questions"
                yield error("question-not-shown", f"{s.at}.openQuestions.{key}", message)


def _unshown(s: Subject, belief_id: str, *, question: bool) -> str:
    found = s.misfit(belief_id)
    if found is not None:
        return found[1]
    if not s.is_pinned(belief_id):
        return "is not pinned"
    if s.is_question(belief_id) != question:
        return "is no open question" if question else "is an open question"
    return f"is cut by the budget of {budget(s.max_beliefs)}"


def order_holds(s: Subject) -> Iterator[Finding]:
    """Orders that contradict themselves or speak of what is not required."""
    shown = pinned_facts(s.store, s.user_id, s.scopes, s.max_beliefs)
    for name, pairs, there, missing in (
        ("relevantBeliefs", s.expect.relevant.ordered_before, s.expectation.gold, "is no gold"),
        ("pinnedFacts", s.expect.pinned.ordered_before, shown, "is not among the pinned facts"),
    ):
        where = f"{s.at}.{name}.orderedBefore"
        for belief_id in dict.fromkeys(i for pair in pairs for i in pair):
            if belief_id in s.known and belief_id not in there:
                message = f"{belief_id!r} {missing}, so that its order is never checked"
                yield error("order-not-required", where, message)
        sorter: TopologicalSorter[str] = TopologicalSorter()
        for first, second in pairs:
            sorter.add(second, first)
        try:
            sorter.prepare()
        except CycleError as problem:
            ring = " before ".join(map(str, problem.args[1]))
            yield error("order-cycle", where, f"{ring}: no order can be all of that; break it")


def can_pass(s: Subject) -> Iterator[Finding]:
    """The oracle: what the gold itself, assembled as in a run, would fail by."""
    asked = s.query.strip() and room(s.store, s.user_id, s.scopes, s.max_beliefs) > 0
    context = assemble(
        s.store,
        user_id=s.user_id,
        scopes=s.scopes,
        max_beliefs=s.max_beliefs,
        returned=ideal_answer(s.expect)[: budget(s.max_beliefs)] if asked else (),
    )
    reasons = list(failures(s.expectation, Retrieval(*context)))
    if reasons:
        message = "can't pass: the right answer itself fails by: " + "; ".join(reasons)
        yield error("cannot-pass", s.at, message)


def query_is_text(s: Subject) -> Iterator[Finding]:
    """A turn asks something; whoever asks names a scope."""
    if s.expectation.turn_index is not None and not s.query.strip():
        message = "is blank, so that the provider is not asked; write what the user says"
        yield error("empty-query", f"{s.where}.userMessage", message)
    if not s.scopes:
        message = "is empty, so that no belief is in scope; name at least one"
        yield warning("no-scope", f"{s.where}.scope", message)


RULES: tuple[Callable[[Subject], Iterator[Finding]], ...] = (
    query_is_text,
    asserts_something,
    empty_assertions,
    named_for,
    ids,
    gold_fits,
    gold_has_room,
    contradictions,
    relations_complete,
    pinned_shown,
    order_holds,
    can_pass,
)
"""Every rule, in the order in which its findings are listed."""
