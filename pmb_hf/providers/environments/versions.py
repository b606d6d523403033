"""Versions and the ranges that they must be in, without a package for it."""

from __future__ import annotations

import re
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from ...errors import InputError

_CLAUSE = re.compile(r"(>=|<=|==|!=|>|<)\s*(\d+(?:\.\d+)*)")
_REQUIREMENT = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])?\s*(.*)", re.DOTALL)


def release(text: str) -> tuple[int, ...]:
    """The numbers at the start of a version: ``1.2.3rc1`` is (1, 2, 3)."""
    found = re.match(r"\d+(?:\.\d+)*", text)
    return tuple(int(part) for part in found[0].split(".")) if found else ()


def fits(version_text: str, allowed: str) -> bool:
    """Tell whether a version is in a range like ``>=2.2,<2.3``; an empty range takes all.

    Raises:
        InputError: The range can't be read.
    """
    have = release(version_text)
    for clause in filter(None, (part.strip() for part in allowed.split(","))):
        found = _CLAUSE.fullmatch(clause)
        if found is None:
            raise InputError(f"{clause!r} is no range of versions: write >=1.2,<2.")
        sign, want = found[1], release(found[2])
        width = max(len(have), len(want))
        left, right = (side + (0,) * (width - len(side)) for side in (have, want))
        holds = {
            ">=": left >= right,
            "<=": left <= right,
            "==": left == right,
            "!=": left != right,
            ">": left > right,
            "<": left < right,
        }
        if not holds[sign]:
            return False
    return True


def split(requirement: str) -> tuple[str, str]:
    """The name and the range of a requirement; an extra is left out.

    Raises:
        InputError: It has no name.
    """
    found = _REQUIREMENT.fullmatch(requirement.strip())
    if found is None:
        raise InputError(f"{requirement!r} is no requirement: write NAME>=1.2,<2.")
    return found[1], found[2]


def plain_name(name: str) -> str:
    """A package's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def package_version(name: str) -> str | None:
    """The version of an installed package, or None."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


@cache
def importable(module: str, requirement: str | None = None) -> bool:
    """Tell whether a module can be imported here, from a package in the wanted range.

    The module itself is not imported; the packages above it are.
    """
    try:
        if find_spec(module) is None:
            return False
    except (ImportError, ValueError):
        return False
    if requirement is None:
        return True
    name, allowed = split(requirement)
    have = package_version(name)
    return have is not None and fits(have, allowed)
