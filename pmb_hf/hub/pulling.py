"""Reads back what was published: the leaderboard, and the reports that it is made of."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from ..errors import HubError
from .client import Client
from .names import check

LEADERBOARD, REPORTS = "leaderboard.json", "reports"


class Pulled(NamedTuple):
    """Files of a dataset of the Hub, as of one commit."""

    repo: str
    revision: str
    files: tuple[Path, ...]


def pull_reports(repo: str, into: Path, *, endpoint: str | None = None) -> Pulled:
    """Fetch every report of a published leaderboard into the directory ``into``.

    A dataset without reports gives none.

    Raises:
        InputError: If ``repo`` is not named ORG/NAME.
        HubError: If there is no such dataset, or it can't be read.
    """
    return _pull(repo, f"{REPORTS}/*.json", into, endpoint)


def pull_leaderboard(repo: str, into: Path, *, endpoint: str | None = None) -> Path:
    """Fetch ``leaderboard.json`` of a published leaderboard into the directory ``into``.

    Raises:
        InputError: If ``repo`` is not named ORG/NAME.
        HubError: If there is no such dataset, it has no leaderboard or can't be read.
    """
    found = _pull(repo, LEADERBOARD, into, endpoint)
    if not found.files:
        raise HubError(
            f"the dataset {repo} has no {LEADERBOARD}; `pmb export` makes one and "
            "`pmb push` publishes it",
            404,
        )
    return found.files[0]


def _pull(repo: str, pattern: str, into: Path, endpoint: str | None) -> Pulled:
    check(repo)
    client = Client(endpoint)
    revision, files = client.download("dataset", repo, pattern, into)
    return Pulled(repo, revision, files)
