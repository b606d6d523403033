"""Makes the distractor of a number: a pure function of corpus, seed and number.

So the first n of a longer row are the shorter row, nothing has to be kept to
make it again, and any part can be made on any machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

from ..context import is_live
from ..errors import CorpusError, InputError
from ..schema import OPEN_QUESTION, RELATION, UNIVERSAL, Belief, Corpus
from .asked import all_ids, asked_by
from .values import Draw, altered
from .words import THEMES, invented_name, stems, without

VERSION = 1
"""Changes whenever a number gives another distractor than before."""

SHARES: Mapping[str, int] = {
    "near_duplicate": 4,
    "other_user_copy": 4,
    "homonym": 2,
    "superseded": 2,
    "resolved": 1,
    "alias_collision": 2,
    "unrelated": 5,
}
"""How many of each kind there are among twenty in a row."""
KINDS = tuple(SHARES)

BLOCK = sum(SHARES.values())
_IN_ORDER = tuple(kind for kind, share in SHARES.items() for _ in range(share))

MAX_COUNT, MAX_USERS = 10**9, 10**7
DEFAULT_USERS = 100

_ID = "grown-{:09d}"
_START = datetime(2024, 1, 1, tzinfo=UTC)
_DAYS = 730
_SENTENCES = (
    "The {a} {n} of {p} is for the {m} at {q}.",
    "The {n} from {p} has {k} {u} and is with {q}.",
    "{p} is the {n} by the {a} {m}, with {k} {u}.",
    "The {m} of {p} was at {q} for {k} {u}.",
    "At {q} the {n} and the {m} of {p} is on {k} {u}.",
    "{k} {u} of the {a} {n} to {p}, by {q}.",
)
_TYPES = ("entity", "entity", "decision", "preference")
_NAMES = 100_000
_OTHER_SCOPES = 50
_FEW = 6


@dataclass(frozen=True, slots=True)
class Recipe:
    """All that decides a row of distractors.

    Attributes:
        count: How many there are.
        seed: What the choices follow from.
        users: How many other users own beliefs.
        version: ``VERSION`` of the code that made it.
    """

    count: int
    seed: int = 0
    users: int = DEFAULT_USERS
    version: int = VERSION

    def __post_init__(self) -> None:
        """Check the ranges.

        Raises:
            InputError: If a number is out of range, or of another version.
        """
        for name, value, most in (
            ("beliefs", self.count, MAX_COUNT),
            ("users", self.users, MAX_USERS),
        ):
            if not 1 <= value <= most:
                raise InputError(f"{name} must be from 1 to {most:,}, not {value:,}")
        if self.version != VERSION:
            raise InputError(
                f"these distractors were made by version {self.version} of the recipe, and this "
                f"pmb-hf makes version {VERSION}; grow them anew by `pmb data grow`"
            )

    def to_wire(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return asdict(self)

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any], where: str) -> Recipe:
        """The recipe that ``to_wire`` gave, found at ``where``.

        Raises:
            InputError: If it is none, or of another version.
        """
        names = {field.name for field in fields(cls)}
        if wire.keys() != names or not all(type(value) is int for value in wire.values()):
            raise InputError(
                f"{where}: a recipe of distractors holds whole numbers for "
                f"{', '.join(sorted(names))}, not {dict(wire)!r}"
            )
        return cls(**wire)


class Grower:
    """The distractors around ``corpus`` that ``recipe`` describes."""

    def __init__(self, corpus: Corpus, recipe: Recipe) -> None:
        """Look through the corpus.

        Raises:
            CorpusError: If it has no live belief to start from, or an id of it
                looks like a distractor's.
        """
        self.corpus, self.recipe = corpus, recipe
        self._asked = asked = asked_by(corpus)
        self._bases = [belief for belief in corpus.beliefs if is_live(belief)]
        if not self._bases:
            raise CorpusError(f"corpus {corpus.name!r} has no live belief to grow others around")
        taken = next((i for i in all_ids(corpus) if i.startswith(_ID[:6])), None)
        if taken is not None:
            raise CorpusError(
                f"belief {taken!r} has an id like a distractor's; rename it: ids that begin with "
                f"{_ID[:6]!r} are for `pmb data grow`"
            )
        self._nouns, self._adjectives, self._units = (
            _enough([word for theme in THEMES for word in without(theme[n], asked.stems)], asked)
            for n in range(3)
        )
        self._numbers = [str(k) for k in range(2, 1000) if str(k) not in asked.stems]
        self._scopes = self._free_scopes()
        self._places = {user: self._open_places(user) for user in asked.users}
        self._kinds: dict[int, list[str]] = {}

    def _free_scopes(self) -> list[str]:
        nouns = (f"domain:{noun}" for noun in self._nouns)
        return [scope for scope in nouns if scope not in self._asked.scopes][:_OTHER_SCOPES] or [
            f"domain:{invented_name(n).lower()}-elsewhere" for n in range(_OTHER_SCOPES)
        ]

    def _open_places(self, user_id: str) -> list[str]:
        """The scopes in which a user may have live distractors; where no query takes all."""
        scopes = dict.fromkeys(
            scope
            for belief in self._bases
            if belief.user_id == user_id
            for scope in belief.scope
            if scope != UNIVERSAL and (user_id, scope) not in self._asked.closed
        )
        return list(scopes) or self._scopes

    def beliefs(self, start: int = 0, stop: int | None = None) -> Iterator[tuple[str, Belief]]:
        """Kind and belief of each number from ``start`` to below ``stop``."""
        for number in range(start, self.recipe.count if stop is None else stop):
            kind = self.kind(number)
            yield kind, self._make(kind, number)

    def belief(self, number: int) -> Belief:
        """The distractor of one number."""
        return self._make(self.kind(number), number)

    def kind(self, number: int) -> str:
        """The kind of one number; twenty in a row hold the kinds in their shares."""
        block, place = divmod(number, BLOCK)
        if block not in self._kinds:
            draw, kinds = Draw("kinds", self.recipe.seed, block), list(_IN_ORDER)
            for n in range(BLOCK - 1, 0, -1):
                k = draw.below(n + 1)
                kinds[n], kinds[k] = kinds[k], kinds[n]
            self._kinds = {block: kinds}  # the last block only
        return self._kinds[block][place]

    def number_of(self, belief_id: str) -> int | None:
        """The number of a distractor's id; ``None`` if it is no id of this row."""
        digits = belief_id.removeprefix(_ID[:6])
        if belief_id == digits or not (digits.isascii() and digits.isdigit()):
            return None
        number = int(digits[:12])
        inside = number < self.recipe.count and _ID.format(number) == belief_id
        return number if inside else None

    def _make(self, kind: str, number: int) -> Belief:
        draw = Draw(self.recipe.seed, number)
        base = draw.of(self._bases)
        day = _START + timedelta(days=draw.below(_DAYS), minutes=draw.below(1440))
        when = f"{day:%Y-%m-%dT%H:%M:00Z}"
        plain = replace(
            base,
            id=_ID.format(number),
            type="entity" if base.type == RELATION else base.type,
            participants=(),
            relation_type=None,
            why_it_matters="",
            reinforcement_count=draw.below(9),
            last_reinforced_at=when,
            created_at=when,
            updated_at=when,
        )
        return self._MAKERS[kind](self, plain, base, draw)

    def _near_duplicate(self, plain: Belief, base: Belief, draw: Draw) -> Belief:
        scope = (draw.of(self._scopes),)
        return replace(plain, scope=scope, pinned=False, content=self._changed(base, draw))

    def _other_user_copy(self, plain: Belief, _: Belief, draw: Draw) -> Belief:
        return replace(plain, user_id=self._other_user(draw))

    def _homonym(self, plain: Belief, _: Belief, draw: Draw) -> Belief:
        scope, content = (draw.of(self._scopes),), self._invented(draw)[2]
        return replace(plain, scope=scope, pinned=False, aliases=(), content=content)

    def _superseded(self, plain: Belief, base: Belief, draw: Draw) -> Belief:
        return replace(
            plain,
            pinned=False,
            content=self._changed(base, draw),
            epistemic_status="superseded",
            superseded_by=base.id,
        )

    def _resolved(self, plain: Belief, base: Belief, draw: Draw) -> Belief:
        return replace(
            plain,
            type=OPEN_QUESTION,
            pinned=False,
            content=f"Is this to be changed? {self._changed(base, draw)}",
            resolved_at=plain.updated_at,
        )

    def _alias_collision(self, plain: Belief, base: Belief, draw: Draw) -> Belief:
        """A name of the base for something else: of another user, or elsewhere."""
        name, _, content = self._invented(draw)
        names = (*base.aliases, base.canonical_name)
        theirs = draw.below(2)
        return replace(
            plain,
            user_id=self._other_user(draw) if theirs else base.user_id,
            scope=base.scope if theirs else (draw.of(self._scopes),),
            type=draw.of(_TYPES),
            pinned=False,
            canonical_name=name,
            aliases=(draw.of(names),),
            content=content,
        )

    def _unrelated(self, plain: Belief, base: Belief, draw: Draw) -> Belief:
        name, alias, content = self._invented(draw)
        return replace(
            plain,
            scope=(draw.of(self._places[base.user_id]),),
            type=draw.of(_TYPES),
            pinned=False,
            canonical_name=name,
            aliases=(alias,),
            content=content,
        )

    def _other_user(self, draw: Draw) -> str:
        name = f"user-{draw.below(self.recipe.users):07d}"
        while name in self._asked.users:
            name += "x"
        return name

    def _changed(self, base: Belief, draw: Draw) -> str:
        new = altered(base.content, draw)
        return new if new is not None else f"{base.content} (At {self._name(draw)}.)"

    def _name(self, draw: Draw) -> str:
        number = draw.below(_NAMES)
        while any(stem in self._asked.stems for stem in stems(invented_name(number))):
            number += 1
        return invented_name(number)

    def _invented(self, draw: Draw) -> tuple[str, str, str]:
        """Name, alias and content of something that the corpus never speaks of."""
        noun, owner = draw.of(self._nouns), self._name(draw)
        content = draw.of(_SENTENCES).format(
            n=noun,
            p=owner,
            q=self._name(draw),
            m=draw.of(self._nouns),
            a=draw.of(self._adjectives),
            u=draw.of(self._units),
            k=draw.of(self._numbers),
        )
        return f"{noun} of {owner}", owner, content

    _MAKERS: ClassVar[Mapping[str, Callable[[Grower, Belief, Belief, Draw], Belief]]] = {
        "near_duplicate": _near_duplicate,
        "other_user_copy": _other_user_copy,
        "homonym": _homonym,
        "superseded": _superseded,
        "resolved": _resolved,
        "alias_collision": _alias_collision,
        "unrelated": _unrelated,
    }


def _enough(words: list[str], asked: Any) -> list[str]:
    """The words, with invented ones if the corpus itself speaks of nearly all subjects."""
    more = (invented_name(n).lower() for n in range(_NAMES))
    while len(words) < _FEW:
        word = next(more)
        if asked.stems.isdisjoint(stems(word)):
            words.append(word)
    return words
