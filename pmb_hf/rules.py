"""The named rule sets, as data.

``spec`` is this project's reading of the benchmark and the default. The
``upstream-…`` sets reproduce the figures that upstream published in June and
in September 2026, with their denominators.
"""

from __future__ import annotations

from .records import Rules

SPEC = Rules(
    name="spec",
    precision="active",
    turn_precision="active",
    pass_kind="assertion",
    drift="topics",
    scopes_sent="all",
    expand_questions=False,
    session_state="isolated",
)
UPSTREAM_2026_06 = Rules(
    name="upstream-2026-06",
    precision="non_null",
    turn_precision="returned",
    pass_kind="precision",
    drift="one_minus_precision",
    scopes_sent="first",
    expand_questions=True,
    session_state="shared",
)
UPSTREAM_2026_09 = Rules(
    name="upstream-2026-09",
    precision="non_null",
    turn_precision="returned",
    pass_kind="precision",
    drift="one_minus_precision",
    scopes_sent="each",
    expand_questions=False,
    session_state="shared",
)

RULES = {rules.name: rules for rules in (SPEC, UPSTREAM_2026_06, UPSTREAM_2026_09)}


def get_rules(rules: str | Rules) -> Rules:
    """Return the rule set of that name; a :class:`Rules` is returned as it is.

    Raises:
        ValueError: If there is no such rule set; the message names those there are.
    """
    if isinstance(rules, Rules):
        return rules
    if rules in RULES:
        return RULES[rules]
    raise ValueError(f"no rules are called {rules!r}; choose one of: {', '.join(RULES)}")
