"""Why a case fails: the one implementation of every assertion, standard library only."""

from __future__ import annotations

from collections.abc import Iterator

from .records import OK, Expectation, Retrieval


def failures(expected: Expectation, got: Retrieval) -> list[str]:
    """Why a case fails, in the order of its assertions; empty if it passes.

    ``mustInclude``, and ``mustExclude`` of the relevant tier, look at relevant
    and pinned together; ``mustExclude`` of the pinned tier looks at that alone;
    ``shouldOnlyInclude`` is an exact set of the relevant tier.
    """
    if got.status != OK:
        return [f"{got.status}: {got.error or 'no answer'}"]
    lead = "" if expected.turn_index is None else f"turn {expected.turn_index}: "
    exact = [] if expected.relevant_only is None else _exact_failures(expected, got, lead)
    if not expected.tests_context:
        return exact
    found = exact
    if expected.required or expected.forbidden:
        found = _inclusion_failures(expected, got, lead) + exact
    if expected.tests_order:
        found += _order_failures(expected, got, lead)
    if expected.tests_questions and got.questions is not None:
        found += _question_failures(expected, got.questions, lead)
    if expected.tests_prelude and got.prelude is not None:
        found += _prelude_failures(expected, got.prelude.casefold(), lead)
    return found


def _exact_failures(expected: Expectation, got: Retrieval, lead: str) -> list[str]:
    relevant, gold, only = got.relevant, expected.gold, expected.relevant_only or ()
    found = []
    if not gold.issuperset(relevant):
        kind = "unexpected relevant belief" if lead else "unexpected belief in relevantBeliefs"
        found = [f"{lead}{kind}: {b}" for b in dict.fromkeys(relevant) if b not in gold]
    for belief in only:
        if belief not in relevant:
            found.append(f"{lead}missing expected belief: {belief}")
    return found


def _inclusion_failures(expected: Expectation, got: Retrieval, lead: str) -> list[str]:
    relevant, pinned, found = got.relevant, got.pinned or (), []
    for belief in expected.required:
        if belief in pinned or belief in relevant or belief in (expected.relevant_only or ()):
            continue
        if got.pinned is not None or belief in expected.relevant_must_include:
            found += [f"{lead}missing expected belief: {belief}"]
    for belief in expected.forbidden:
        if belief in pinned or (belief in relevant and belief in expected.relevant_must_exclude):
            found += [f"{lead}forbidden belief surfaced: {belief}"]
    return found


def _order_failures(expected: Expectation, got: Retrieval, lead: str) -> Iterator[str]:
    for belief in expected.must_not_surface:
        if belief in got.relevant:
            yield f"{lead}noise belief surfaced: {belief}"
    for tier, order in (
        (got.relevant, expected.relevant_order),
        (got.pinned or (), expected.pinned_order),
    ):
        for first, second in order:
            if first in tier and second in tier and tier.index(first) > tier.index(second):
                yield f"{lead}wrong order: {first} must come before {second}"


def _question_failures(expected: Expectation, questions: tuple[str, ...], lead: str) -> list[str]:
    only, banned, found = expected.questions_only, expected.questions_must_exclude, []
    for belief in expected.question_required:
        if belief not in questions:
            found += [f"{lead}missing expected question: {belief}"]
    if only is None and not banned:
        return found
    for belief in dict.fromkeys(questions):
        if belief in banned:
            found += [f"{lead}forbidden question surfaced: {belief}"]
        elif only is not None and belief not in only:
            found += [f"{lead}unexpected question: {belief}"]
    return found


def _prelude_failures(expected: Expectation, text: str, lead: str) -> Iterator[str]:
    if expected.prelude_is_null and text:
        yield f"{lead}persona prelude is not empty"
    if expected.prelude_non_empty and not text.strip():
        yield f"{lead}persona prelude is empty"
    for part in expected.prelude_contains:
        if part.casefold() not in text:
            yield f"{lead}persona prelude lacks: {part}"
    for part in expected.prelude_must_not_contain:
        if part.casefold() in text:
            yield f"{lead}persona prelude contains: {part}"
