"""The values that scoring works on: standard library only.

An :class:`Expectation` says what a case requires, a :class:`Retrieval` what a
memory system answered, a :class:`CaseScore` what that is worth under a set of
:class:`Rules`.

Rates are 0 to 1. ``None`` means "does not apply to this case" and is left out
of every mean; there is no NaN and no sentinel.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

OK = "ok"
"""The status of an answer. Any other status is a failure to answer."""

ACTIVE, STRUCTURAL, TRIVIALLY_EMPTY = PASS_KINDS = ("active", "structural", "trivially_empty")

NOISE_KINDS = (
    "superseded",
    "resolved",
    "other_user",
    "other_scope",
    "open_question",
    "pinned",
    "drift",
    "unrelated",
    "unknown",
)
"""What can be wrong with a returned belief, most telling first.

``unrelated`` is a live belief of the right user and scope that the query does
not need; ``unknown`` is an id that the corpus does not hold.
"""

FAILED, NOT_ASKED, CUT_OFF, PINNED_TIER, NOT_RETURNED, BELOW_RANK, NOT_IN_TIER = LOST_KINDS = (
    "error",
    "not_asked",
    "cut_off",
    "pinned_tier",
    "not_returned",
    "below_rank",
    "not_in_tier",
)
"""Why a needed belief is not where it should be.

``error``: the case got no answer. ``not_asked``: the query is blank or the budget
has no room. ``cut_off``: it was returned, but beyond the limit or the budget.
``pinned_tier``: the context shows it, but among the pinned facts. ``not_returned``:
it was not among the results. ``below_rank``: it is in the relevant tier, but not
among its first R, where R is how many beliefs the case needs; recall counts it,
R-precision does not. ``not_in_tier``: it is missing, and why is not known.
"""

PINNED = "pinned"
OTHER_USER = "other_user"
UNKNOWN = "unknown"


class Kinds(dict[str, str]):
    """Belief id to its noise kind; an id that is not there is ``unknown``.

    It must not be changed any more once one of its properties was read: many cases
    share it, and what they all need of it is found once.
    """

    @cached_property
    def own(self) -> frozenset[str]:
        """Those that are not another user's."""
        return frozenset(b for b, kind in self.items() if kind not in (OTHER_USER, UNKNOWN))

    @cached_property
    def eligible(self) -> int:
        """How many could rightly stand in the relevant tier."""
        return sum(kind in ("unrelated", "drift") for kind in self.values())

    def __missing__(self, belief: str) -> str:
        """Name an id that the corpus does not hold."""
        return UNKNOWN


class RowError(ValueError):
    """A prediction or reference can't be read; the message names case and field.

    Attributes:
        row: The row that is at fault, if it is one row.
        first: The row that was there before, if ``row`` repeats it.
    """

    def __init__(self, message: str, *, row: object = None, first: object = None) -> None:
        """Take the message, and the rows that it is about."""
        super().__init__(message)
        self.row = row
        self.first = first


class MissingError(RowError):
    """Cases without a prediction.

    Attributes:
        cases: Their names, the first ones if they are many.
    """

    def __init__(self, cases: str) -> None:
        """Take the names."""
        super().__init__(f"no prediction for {cases}; to score it as a miss pass on_missing='miss'")
        self.cases = cases


@dataclass(frozen=True, slots=True)
class Rules:
    """A named way to score. The values of each field are those of ``RULES``.

    Attributes:
        name: What reports and leaderboard rows call this set.
        precision: ``active`` scores only cases with gold (nothing returned is
            0); ``non_null`` scores all but those where gold and answer are
            both empty.
        turn_precision: ``active`` as above; ``returned`` is hits, pinned ones
            included, over what was returned, null if nothing was.
        pass_kind: ``assertion`` by what the case asserts; ``precision`` by
            whether anything right was returned, else by category.
        drift: ``topics`` is the share of returned beliefs that belong to
            earlier turns of other topics; ``one_minus_precision`` is that.
        scopes_sent: Which of a case's scopes a provider is asked for:
            ``all`` at once, only the ``first``, or ``each`` in a call of its own.
        expand_questions: Whether relations expand to open questions.
        session_state: ``isolated`` starts each session from the seed and the
            changes of the sessions it depends on; ``shared`` is one store for all.
    """

    name: str
    precision: str
    turn_precision: str
    pass_kind: str
    drift: str
    scopes_sent: str
    expand_questions: bool
    session_state: str


@dataclass(frozen=True, slots=True)
class Expectation:
    """What one case or turn requires.

    Ids are belief ids. ``relevant_only`` is an exact set, and ``None`` where
    the case does not assert one; an empty tuple asserts "nothing".

    Attributes:
        kinds: Kind of every belief of the corpus as seen from this case, one of
            ``NOISE_KINDS`` (``drift`` and ``unrelated`` are the eligible ones).
        drift_beliefs: Beliefs of earlier turns of other topics, or named as noise.
        changed: Gold beliefs that an earlier turn changed, or put in another's place.
        retired: Beliefs that one of the gold has replaced in an earlier turn.
        eligible: How many beliefs could rightly stand in the relevant tier.
        gold: The beliefs that the relevant tier must hold.
        needed: The same in the order in which the case names them.
        required: What ``mustInclude`` asks of the relevant and pinned tiers together.
        forbidden: What ``mustExclude`` bans from either tier.
        pinned_gold: The beliefs that the pinned tier must hold.
        question_gold: What ``mustInclude`` asks of the question tier.
        question_required: That, and what its exact set holds.
        harmless: Beliefs that are neither gold nor noise: where no exact set is
            asserted, those that are not forbidden and belong to the user.
        is_active: Whether there is any gold.
        measures_tiers: Whether the pinned or the question tier has gold.
        tests_context: Whether it asserts more than the exact set of the relevant
            tier; the other ``tests_…`` say what.
    """

    case_id: str
    category: str = ""
    turn_index: int | None = None
    relevant_must_include: tuple[str, ...] = ()
    relevant_must_exclude: tuple[str, ...] = ()
    relevant_only: tuple[str, ...] | None = None
    relevant_order: tuple[tuple[str, str], ...] = ()
    pinned_must_include: tuple[str, ...] = ()
    pinned_must_exclude: tuple[str, ...] = ()
    pinned_order: tuple[tuple[str, str], ...] = ()
    questions_must_include: tuple[str, ...] = ()
    questions_must_exclude: tuple[str, ...] = ()
    questions_only: tuple[str, ...] | None = None
    prelude_non_empty: bool | None = None
    prelude_is_null: bool | None = None
    prelude_contains: tuple[str, ...] = ()
    prelude_must_not_contain: tuple[str, ...] = ()
    must_not_surface: tuple[str, ...] = ()
    pass_kind: str = STRUCTURAL
    kinds: Kinds = field(default_factory=Kinds)
    drift_beliefs: frozenset[str] = frozenset()
    changed: tuple[str, ...] = ()
    retired: tuple[str, ...] = ()
    eligible: int | None = None
    gold: frozenset[str] = field(init=False)
    needed: tuple[str, ...] = field(init=False)
    required: tuple[str, ...] = field(init=False)
    forbidden: tuple[str, ...] = field(init=False)
    pinned_gold: frozenset[str] = field(init=False)
    question_gold: frozenset[str] = field(init=False)
    question_required: tuple[str, ...] = field(init=False)
    harmless: frozenset[str] = field(init=False)
    is_active: bool = field(init=False)
    measures_tiers: bool = field(init=False)
    tests_order: bool = field(init=False)
    tests_questions: bool = field(init=False)
    tests_prelude: bool = field(init=False)
    tests_context: bool = field(init=False)

    def __post_init__(self) -> None:
        """Derive what depends on the case alone, once for all answers to it."""
        only, shown = self.relevant_only or (), self.questions_only or ()
        required = dict.fromkeys((*self.relevant_must_include, *self.pinned_must_include))
        forbidden = dict.fromkeys((*self.relevant_must_exclude, *self.pinned_must_exclude))
        order = (self.must_not_surface, self.relevant_order, self.pinned_order)
        questions = (self.questions_must_include, self.questions_must_exclude)
        prelude = (self.prelude_non_empty, self.prelude_is_null, self.prelude_contains)
        derived: dict[str, object] = {
            "gold": frozenset((*self.relevant_must_include, *only)),
            "needed": tuple(dict.fromkeys((*self.relevant_must_include, *only))),
            "required": tuple(required),
            "forbidden": tuple(forbidden),
            "pinned_gold": frozenset(self.pinned_must_include),
            "question_gold": frozenset(self.questions_must_include),
            "question_required": tuple(dict.fromkeys((*self.questions_must_include, *shown))),
            "harmless": self._harmless(),
            "is_active": bool(self.relevant_must_include or only),
            "measures_tiers": bool(self.pinned_must_include or self.questions_must_include),
            "tests_order": any(order),
            "tests_questions": any(questions) or self.questions_only is not None,
            "tests_prelude": any(prelude) or bool(self.prelude_must_not_contain),
        }
        tests = (value for name, value in derived.items() if name.startswith("tests_"))
        derived["tests_context"] = any((required, forbidden, *tests))
        for name, value in derived.items():
            object.__setattr__(self, name, value)

    def _harmless(self) -> frozenset[str]:
        """The beliefs that the case lets pass though it does not need them."""
        if self.relevant_only is not None:
            return frozenset()
        return self.kinds.own - {*self.relevant_must_exclude}

    @property
    def must_be_empty(self) -> bool:
        """Whether the right answer is to return nothing."""
        return self.relevant_only == ()


class Retrieval(NamedTuple):
    """What came back for one case, ids best first, and how it went.

    Attributes:
        relevant: The relevant tier.
        pinned: The pinned tier; ``None`` if it was not given, and then nothing
            that a case asserts of it is checked.
        questions: The question tier; ``None`` as for ``pinned``.
        prelude: The prelude's text, ``""`` if there is none; ``None`` as above.
        latency_ms: Time of the search call alone; ``None`` if none was made.
        status: ``ok``, or what kept the answer from coming.
        error: The failure in words, if any.
        raw: Ids exactly as returned, before duplicates and pinned ones were
            dropped and the tier was cut to its budget; ``None`` if not known.
        limit: How many results the provider was asked for, if known.
        can_update: Whether the provider has an update primitive, if known.
    """

    relevant: tuple[str, ...] = ()
    pinned: tuple[str, ...] | None = None
    questions: tuple[str, ...] | None = None
    prelude: str | None = None
    latency_ms: float | None = None
    status: str = OK
    error: str | None = None
    raw: tuple[str, ...] | None = None
    limit: int | None = None
    can_update: bool | None = None


class CaseScore(NamedTuple):
    """The measures of one case. See ``measures.py`` for definitions and ranges.

    ``noise`` holds the kind of every wrong belief in the relevant tier,
    ``dropped`` the kind of every id that was returned but did not reach it,
    ``lost`` the reason for every needed belief that is not where it should be.
    """

    case_id: str
    turn_index: int | None
    category: str
    status: str
    passed: bool
    is_active: bool
    pass_kind: str
    precision: float | None
    recall: float | None
    pinned_coverage: float | None
    question_precision: float | None
    question_recall: float | None
    drift: float | None
    abstained: bool | None
    hit_at_1: float | None
    r_precision: float | None
    first_relevant_rank: int | None
    mutated: bool | None
    noise: tuple[str, ...]
    dropped: tuple[str, ...]
    lost: tuple[str, ...]
    returned: int
    duplicates: int
    over_limit: int
    limit_covers_eligible: bool | None
    latency_ms: float | None

    @property
    def leaks(self) -> int:
        """Returned beliefs of another user, whatever the case asserts."""
        return self.noise.count(OTHER_USER) + self.dropped.count(OTHER_USER)

    @property
    def unknown_ids(self) -> int:
        """Returned ids that the corpus does not hold."""
        return self.noise.count(UNKNOWN) + self.dropped.count(UNKNOWN)

    @property
    def pinned_dropped(self) -> int:
        """Returned ids that the context shows among the pinned facts anyway."""
        return self.dropped.count(PINNED)
