"""What the tests of the scoring core share: case tables, and random cases and answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from pmb_hf.records import NOISE_KINDS, OK, PASS_KINDS, UNKNOWN, Expectation, Kinds, Retrieval
from pmb_hf.rules import RULES

DATA = Path(__file__).resolve().parent / "data"
BELIEFS = tuple("abcdefgh")
STRANGE = ("made-up", "A", " a")
ALL_RULES = [*RULES.values()]
CATEGORIES = ("Ranking stability", "Alias resolution", "my own")


def table(name: str) -> list[dict[str, Any]]:
    """The rows of a JSON table below ``tests/data``."""
    return json.loads((DATA / name).read_text(encoding="utf-8"))


def name_of(row: dict[str, Any]) -> str:
    """The test id of a row."""
    return row["name"]


def expectation(**fields: Any) -> Expectation:
    """An expectation from JSON values; lists become tuples or sets."""
    values = {name: _frozen(value) for name, value in fields.items()}
    if "kinds" in fields:
        values["kinds"] = Kinds(fields["kinds"])
    values["drift_beliefs"] = frozenset(values.get("drift_beliefs", ()))
    return Expectation(**{"case_id": "case", **values})


def retrieval(**fields: Any) -> Retrieval:
    """A retrieval from JSON values."""
    return Retrieval(**{name: _frozen(value) for name, value in fields.items()})


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def ids(max_size: int = 4, pool: tuple[str, ...] = BELIEFS, *, unique: bool = False) -> Any:
    """Tuples of ids."""
    return st.lists(st.sampled_from(pool), max_size=max_size, unique=unique).map(tuple)


def pairs() -> Any:
    """Tuples of pairs of ids."""
    pair = st.tuples(st.sampled_from(BELIEFS), st.sampled_from(BELIEFS))
    return st.lists(pair, max_size=2).map(tuple)


@st.composite
def expectations(draw: Any, *, turns: bool | None = None) -> Expectation:
    """Random cases, or session turns; what they ask need not make sense together."""
    maybe = st.none() | ids(unique=True)
    flag = st.none() | st.booleans()
    words = st.lists(st.sampled_from(["brief", "tea"]), max_size=2, unique=True).map(tuple)
    known = [kind for kind in NOISE_KINDS if kind != UNKNOWN]
    kinds = Kinds(draw(st.dictionaries(st.sampled_from(BELIEFS), st.sampled_from(known))))
    index = {None: st.none() | st.integers(0, 9), True: st.integers(0, 9), False: st.none()}
    lists = {
        name: draw(ids(2, unique=True))
        for name in (
            *("relevant_must_include", "relevant_must_exclude"),
            *("pinned_must_include", "pinned_must_exclude"),
            *("questions_must_include", "questions_must_exclude"),
            *("must_not_surface", "changed", "retired"),
        )
    }
    eligible = sum(kind in ("unrelated", "drift") for kind in kinds.values())
    return Expectation(
        case_id=draw(st.sampled_from(["one", "two", "three"])),
        category=draw(st.sampled_from(CATEGORIES)),
        turn_index=draw(index[turns]),
        relevant_only=draw(maybe),
        questions_only=draw(maybe),
        relevant_order=draw(pairs()),
        pinned_order=draw(pairs()),
        prelude_non_empty=draw(flag),
        prelude_is_null=draw(flag),
        prelude_contains=draw(words),
        prelude_must_not_contain=draw(words),
        pass_kind=draw(st.sampled_from(PASS_KINDS)),
        kinds=kinds,
        drift_beliefs=frozenset(draw(ids())),
        eligible=eligible if kinds else None,
        **lists,
    )


@st.composite
def retrievals(draw: Any, *, status: str | None = None) -> Retrieval:
    """Random answers, with repeated and unknown ids, and failures unless ``status`` is given."""
    pool = BELIEFS + STRANGE
    relevant = draw(ids(8, pool))
    extra = draw(st.none() | ids(4, pool))
    return Retrieval(
        relevant=relevant,
        pinned=draw(st.none() | ids()),
        questions=draw(st.none() | ids()),
        prelude=draw(st.none() | st.sampled_from(["", " ", "Be BRIEF", "tea"])),
        latency_ms=draw(st.none() | st.floats(0, 1e5, allow_nan=False)),
        status=status or draw(st.sampled_from([OK, OK, OK, "error", "timeout", "missing"])),
        error=draw(st.none() | st.just("it broke")),
        raw=None if extra is None else (*relevant, *extra),
        limit=draw(st.none() | st.integers(0, 20)),
        can_update=draw(st.none() | st.booleans()),
    )
