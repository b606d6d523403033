"""Which repository of the Hub is the dataset, the metric and the leaderboard."""

from __future__ import annotations

import keyword
import re
from typing import NamedTuple

from ..errors import InputError
from .failures import library

DATASET, METRIC, SPACE = "dataset", "metric", "space"
PARTS = (DATASET, METRIC, SPACE)
"""What can be published, in this order."""
SDKS = ("gradio", "static")


class Names(NamedTuple):
    """The repositories: ``dataset`` is a dataset of the Hub, the other two are Spaces."""

    dataset: str
    metric: str
    space: str


def names(repo: str, *, metric: str | None = None, space: str | None = None) -> Names:
    """The repositories for ``repo``, as ORG/NAME.

    The metric's Space has the dataset's name, because ``evaluate.load`` takes the
    Space's name; where that is no Python name, its characters become ``_``.
    The leaderboard's Space is ``ORG/NAME-leaderboard``.

    Raises:
        InputError: If a name is none that the Hub takes, or the two Spaces are one.
    """
    owner, name = _split(repo)
    module = re.sub(r"\W", "_", name, flags=re.ASCII)
    found = Names(repo, metric or f"{owner}/{module}", space or f"{owner}/{name[:84]}-leaderboard")
    script = _split(found.metric)[1]
    if not script.isidentifier() or keyword.iskeyword(script):
        raise InputError(
            f"the metric can't be {found.metric}: {script}.py could not be imported; "
            "choose letters, digits and _ by --metric-repo ORG/NAME"
        )
    _split(found.space)
    if found.metric.casefold() == found.space.casefold():
        raise InputError(f"metric and leaderboard can't both be the Space {found.space}")
    return found


def check(repo: str) -> None:
    """Refuse what names no repository.

    Raises:
        InputError: If it is not ORG/NAME.
    """
    _split(repo)


def _split(repo: str) -> tuple[str, str]:
    """Owner and name."""
    owner, slash, name = repo.partition("/")
    if not (owner and slash and name) or "/" in name:
        raise InputError(f"a repository is named ORG/NAME, not {repo!r}")
    try:
        library().utils.validate_repo_id(repo)
    except ValueError as error:
        raise InputError(f"the Hub takes no repository named {repo!r}: {error}") from error
    return owner, name
