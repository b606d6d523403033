"""Reads a sweep file, strictly: each fault is told by the key that it is at."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

from .. import strict
from ..errors import InputError, UnknownNameError
from ..files import check_source
from ..grow.recipe import DEFAULT_USERS
from ..memories import TEXT_MODES
from ..providers.catalog import BUILT_IN
from ..providers.http_config import is_url
from ..providers.registry import available, configured, convert_options
from ..rules import RULES
from ..settings import MAX_FAILURES, PARTS
from ..strict import Field

Option = str | int | float | bool

MAX_RUNS = 100_000
"""More are a slip, or more than one directory and one driver should hold."""


def _positive(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


def _names(default: tuple[str, ...]) -> Field:
    return Field(
        lambda v: isinstance(v, list) and bool(v) and all(isinstance(i, str) for i in v),
        "a list of one string or more",
        default=default,
    )


_FIELDS: Mapping[str, Field] = {
    "providers": Field(
        lambda v: isinstance(v, list) and bool(v), "a table [[providers]]", True, (), kept=True
    ),
    "corpora": _names(("native",)),
    "fixtures": strict.optional_text(),
    "rules": _names(("spec",)),
    "parts": _names(PARTS),
    "text_modes": _names(()),
    "sizes": Field(
        lambda v: isinstance(v, list) and bool(v) and all(map(_positive, v)),
        "a list of whole numbers >= 1",
        default=(),
    ),
    "repeats": Field(_positive, "a whole number >= 1", default=1),
    "seed": strict.whole(),
    "users": Field(_positive, "a whole number >= 1", default=DEFAULT_USERS),
    "ready_timeout": Field(_number, "a number of seconds > 0", default=60.0),
    "run_timeout": Field(_number, "a number of seconds > 0"),
    "max_failures": Field(_positive, "a whole number >= 1", default=MAX_FAILURES),
}
_SYSTEM_FIELDS: Mapping[str, Field] = {
    "name": strict.text(required=True),
    "label": strict.optional_text(),
    "options": strict.mapping(),
    "num_cpus": Field(_number, "a number > 0", default=1.0),
    "resources": Field(
        lambda v: isinstance(v, dict) and all(map(_number, v.values())),
        "a table of numbers > 0",
        default={},
    ),
}


@dataclass(frozen=True, slots=True)
class System:
    """One provider with the values that each option is tried with."""

    name: str
    options: Mapping[str, tuple[Option, ...]]
    label: str | None = None
    num_cpus: float = 1.0
    resources: Mapping[str, float] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """How many combinations there are, without making them."""
        return prod(map(len, self.options.values()))

    def combinations(self) -> Iterator[dict[str, Option]]:
        """Every choice of one value an option."""
        for values in product(*self.options.values()):
            yield dict(zip(self.options, values, strict=True))


@dataclass(frozen=True, slots=True)
class Plan:
    """A grid. ``sizes`` and ``text_modes`` may be empty: then they are as they come.

    Attributes:
        systems: The providers.
        corpora: ``native``, ``official`` or absolute directories.
        repeats: How often each run is made.
        sizes: Beliefs in the store, those of the corpus included.
        seed: Seed of the distractors that fill the store up to a size.
    """

    systems: tuple[System, ...]
    corpora: tuple[str, ...] = ("native",)
    fixtures: str | None = None
    rules: tuple[str, ...] = ("spec",)
    parts: tuple[str, ...] = PARTS
    text_modes: tuple[str, ...] = ()
    sizes: tuple[int, ...] = ()
    repeats: int = 1
    seed: int = 0
    users: int = DEFAULT_USERS
    ready_timeout_s: float = 60.0
    run_timeout_s: float | None = None
    max_failures: int = MAX_FAILURES

    @property
    def count(self) -> int:
        """How many runs it asks for, without making their jobs."""
        axes = (self.corpora, self.rules, self.text_modes or (None,), self.sizes or (None,))
        each = prod(map(len, axes)) * self.repeats
        return each * sum(system.count for system in self.systems)


def read_plan(path: Path) -> Plan:
    """The grid that a TOML file describes; directories in it are taken from where it stands.

    Raises:
        InputError: If it can't be read or is wrong; names the file and the key.
        UnknownNameError: If it names something that there is not.
    """
    try:
        check_source(path)
        tree = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} can't be read: {error}") from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"{path} is no valid TOML: {error}") from error
    values = _read(tree, str(path), _FIELDS)
    _check_names(path, values)
    systems = tuple(
        _system(raw, f"{path}: providers[{n}]") for n, raw in enumerate(values["providers"])
    )
    fixtures = values["fixtures"]
    plan = Plan(
        systems=systems,
        corpora=tuple(_placed(corpus, path.parent) for corpus in values["corpora"]),
        fixtures=None if fixtures is None else str((path.parent / fixtures).resolve()),
        rules=values["rules"],
        parts=values["parts"],
        text_modes=values["text_modes"],
        sizes=values["sizes"],
        repeats=values["repeats"],
        seed=values["seed"],
        users=values["users"],
        ready_timeout_s=values["ready_timeout"],
        run_timeout_s=values["run_timeout"],
        max_failures=values["max_failures"],
    )
    _check_count(plan.count, str(path))
    return plan


def _check_count(count: int, where: str) -> None:
    if count > MAX_RUNS:
        raise InputError(
            f"{where} asks for {count:,} runs; a sweep has at most {MAX_RUNS:,}: give fewer values "
            "or repeats, or divide it among several files"
        )


def _read(raw: Any, where: str, fields: Mapping[str, Field]) -> dict[str, Any]:
    reader = strict.Reader()
    values = reader.read(raw, where, fields)
    for key in raw if isinstance(raw, dict) else ():
        if key.startswith("_"):
            reader.report(f"{where}.{key}", "unknown-key", "unknown key; TOML has # for comments")
    if reader.problems:
        first = reader.problems[0]
        place, _, key = first.where.rpartition(".")
        message = first.message.replace("unknown key", "is unknown", 1)
        raise InputError(f"{place}: key {key!r} {message}")
    return values


def _check_names(path: Path, values: Mapping[str, Any]) -> None:
    for key, known in (("rules", RULES), ("parts", PARTS), ("text_modes", TEXT_MODES)):
        for n, name in enumerate(values[key]):
            if name not in known:
                raise UnknownNameError(
                    f"{path}: {key}[{n}] is {name!r}; there are {', '.join(known)}"
                )
    for key in ("corpora", "rules", "parts", "text_modes", "sizes"):
        double = [name for name, times in Counter(values[key]).items() if times > 1]
        if double:
            raise InputError(f"{path}: {key} holds {double[0]!r} twice; name it once")


def _placed(corpus: str, home: Path) -> str:
    return corpus if corpus in ("native", "official") else str((home / corpus).resolve())


def _system(raw: Any, where: str) -> System:
    values = _read(raw, where, _SYSTEM_FIELDS)
    name = values["name"]
    options = {
        key: _values(given, f"{where}.options.{key}") for key, given in values["options"].items()
    }
    system = System(name, options, values["label"], float(values["num_cpus"]), values["resources"])
    _check_count(system.count, where)
    check_provider(name, list(system.combinations()), f"{where}.name", f"{where}.options")
    return system


def check_provider(
    name: str, chosen: Sequence[Mapping[str, Option]], name_at: str, options_at: str
) -> None:
    """See, before anything runs, whether there is such a provider and takes such options.

    Args:
        name: The provider.
        chosen: Each set of options that it is to be made with.
        name_at: Where the name stands, for the message.
        options_at: The same of the options.

    Raises:
        UnknownNameError: There is none.
        InputError: An option of a built-in provider is unknown or of the wrong type.
    """
    spec = next((spec for spec in BUILT_IN if spec.name == name), None)
    if spec is not None:
        for options in chosen:
            try:
                convert_options(name, spec.options, options)
            except InputError as error:
                raise InputError(f"{options_at}: {error}") from error
    elif not is_url(name) and name not in _others() and not any("config" in c for c in chosen):
        known = sorted({info.name for info in available()})
        raise UnknownNameError(f"{name_at} is {name!r}; there are {', '.join(known)}, and URLs")


def _others() -> set[str]:
    return {info.name for info in available()} | set(configured())


def _values(given: Any, where: str) -> tuple[Option, ...]:
    """The values that one option is tried with: a list, or one alone."""
    values = given if isinstance(given, list) else [given]
    if not values:
        raise InputError(f"{where} is an empty list; give one value or more")
    for value in values:
        if not isinstance(value, str | int | float | bool):
            raise InputError(f"{where} must hold text, numbers, true or false, not {value!r}")
    if len({repr(value) for value in values}) < len(values):
        raise InputError(f"{where} holds a value twice; name it once")
    return tuple(values)
