"""Publishes: one commit a repository, what is unchanged left alone, all of it or nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from .._version import __version__
from ..errors import HubAwayError, HubError, InputError
from .changes import MANIFEST, NOT_COMPARED, UNCHANGED, Change, compare, manifest, to_do
from .client import KINDS, Client, Head, Made
from .failures import CONFLICTS, sign_in
from .names import PARTS, Names
from .packing import Package, pack

ATTEMPTS = 5
"""How often a commit is tried while others write to the same repository."""


class Plan(NamedTuple):
    """What publishing one repository comes to.

    Attributes:
        package: What it is to hold.
        head: What it holds, or ``None`` if there is none yet.
        changes: Every file, also the unchanged ones.
        url: Its page.
        away: Why the Hub could not be asked what it holds; then no file is compared.
    """

    package: Package
    head: Head | None
    changes: Sequence[Change]
    url: str
    away: str | None = None


class Pushed(NamedTuple):
    """What was published in one repository.

    Attributes:
        plan: What was carried out, as of the commit.
        created: Whether the repository is new.
        commit: The commit's id, or ``None`` if there was nothing to do.
        url: The commit's, the pull request's or the repository's page.
        attempts: How many commits were tried.
        notes: What the reader should know.
    """

    plan: Plan
    created: bool
    commit: str | None
    url: str
    attempts: int
    notes: tuple[str, ...]


def plan(
    export: str | Path,
    names: Names,
    *,
    parts: Iterable[str] = PARTS,
    sdk: str = "gradio",
    endpoint: str | None = None,
) -> list[Plan]:
    """What :func:`push` would do. Writes nothing.

    If the Hub can't be reached, the plans hold what is to be published, compared with nothing.

    Raises:
        InputError: If something can't be published as it is.
        HubError: If the Hub refuses to be asked.
    """
    client = Client(endpoint)
    plans: list[Plan] = []
    away: str | None = None
    for package in pack(parts, Path(export), names, sdk):
        if away is None:
            try:
                plans.append(_plan(client, package))
                continue
            except HubAwayError as error:
                away = str(error)
        changes = [
            Change(path, NOT_COMPARED, len(data), None)
            for path, data in sorted(_files(package, None, frozenset()).items())
        ]
        url = client.url(package.repo_type, package.repo)
        plans.append(Plan(package, None, changes, url, away))
    return plans


def push(
    export: str | Path,
    names: Names,
    *,
    parts: Iterable[str] = PARTS,
    sdk: str = "gradio",
    private: bool = False,
    create_pr: bool = False,
    endpoint: str | None = None,
) -> list[Pushed]:
    """Publish an export's folder as dataset, metric and leaderboard.

    Each repository gets one commit, or none if nothing changed. A commit is one
    step, so what is cut off publishes nothing of that repository. Repositories
    that are missing are made before the first commit, Spaces first: they are
    what may be refused.

    Args:
        export: The folder that ``pmb export`` wrote.
        names: The repositories.
        parts: Which of them.
        sdk: ``gradio`` or ``static``, for new and old Spaces.
        private: Make new repositories private; refuse if one is public already.
        create_pr: Propose the changes as a pull request a repository.
        endpoint: The Hub; by default that of ``huggingface_hub``.

    Raises:
        InputError: If something can't be published as it is.
        HubError: If the Hub refuses or can't be reached; says what was published before.
    """
    client = Client(endpoint)
    packages = pack(parts, Path(export), names, sdk)
    if client.token is None:
        raise HubError(f"publishing needs a token: {sign_in(client.endpoint)}", 401)
    plans = [_plan(client, package) for package in packages]
    for found in plans:
        _check_visibility(found, private)
    missing = [found.package for found in plans if found.head is None]
    if create_pr and missing:
        raise InputError(
            f"there is no {_place(missing[0])} to change yet; first push without --create-pr"
        )
    for package in sorted(missing, key=lambda package: package.repo_type != "space"):
        client.create(package.repo_type, package.repo, private=private, sdk=package.sdk)
    done: list[Pushed] = []
    for found in plans:
        try:
            done.append(_publish(client, found, create_pr))
        except HubError as error:
            before = ", ".join(_place(pushed.plan.package) for pushed in done)
            more = f" (already published: {before})" if before else ""
            raise HubError(f"{error}{more}", error.status) from None
    return done


def _plan(client: Client, package: Package) -> Plan:
    head = client.head(package.repo_type, package.repo)
    url = client.url(package.repo_type, package.repo)
    return Plan(package, head, _changes(package, head, _deletable(package, head)), url)


def _deletable(package: Package, head: Head | None) -> frozenset[str]:
    return frozenset() if head is None else head.owned - package.files.keys() - {MANIFEST}


def _changes(package: Package, head: Head | None, deletable: frozenset[str]) -> list[Change]:
    files = _files(package, head, deletable)
    return compare(files, {} if head is None else head.files, deletable)


def _files(package: Package, head: Head | None, deletable: frozenset[str]) -> dict[str, bytes]:
    """The files with the list of them, which keeps what others have put there meanwhile."""
    others = frozenset() if head is None else head.owned - deletable - {MANIFEST}
    return {**package.files, MANIFEST: manifest(package.files.keys() | others)}


def _publish(client: Client, plan: Plan, create_pr: bool) -> Pushed:
    package, first = plan.package, plan.head
    created = first is None
    head = first or _head(client, package)
    deletable = _deletable(package, first)
    attempt = 0
    while True:
        # What somebody has changed since we first looked is theirs.
        going = frozenset(p for p in deletable if first and head.files.get(p) == first.files[p])
        now = plan._replace(head=head, changes=_changes(package, head, going))
        notes = _notes(package, first, head)
        if not to_do(now.changes):
            return Pushed(now, created, None, plan.url, attempt, notes)
        attempt += 1
        try:
            made = _commit(client, now, head, going, create_pr)
            return Pushed(now, created, made.oid, made.url, attempt, notes)
        except HubError as error:
            failure = error
        if failure.status in CONFLICTS and attempt < ATTEMPTS:
            head = _head(client, package)
            continue
        made_after_all = None if create_pr else _lost(client, package, going, failure)
        if made_after_all is None:
            raise failure
        lost = "the Hub's answer was lost on the way; the commit is there"
        return Pushed(now, created, made_after_all, plan.url, attempt, (*notes, lost))


def _commit(client: Client, plan: Plan, head: Head, going: frozenset[str], create_pr: bool) -> Made:
    package = plan.package
    files = _files(package, head, going)
    wanted = [change for change in plan.changes if change.kind != UNCHANGED]
    return client.commit(
        package.repo_type,
        package.repo,
        f"Publish the {package.part} with pmb-hf {__version__}",
        add={change.path: files[change.path] for change in wanted if change.size is not None},
        delete=[change.path for change in wanted if change.size is None],
        parent=head.sha,
        create_pr=create_pr,
    )


def _lost(client: Client, package: Package, going: frozenset[str], failure: HubError) -> str | None:
    """The commit that was made although its answer did not arrive."""
    if failure.status is not None and failure.status < 500:
        return None
    try:
        head = client.head(package.repo_type, package.repo)
    except HubError:
        return None
    if head is None or to_do(_changes(package, head, going)):
        return None
    return head.sha


def _head(client: Client, package: Package) -> Head:
    head = client.head(package.repo_type, package.repo)
    if head is None:
        raise HubError(f"{_place(package)} is gone; push again to make it anew", 404)
    return head


def _notes(package: Package, first: Head | None, head: Head) -> tuple[str, ...]:
    """What others wrote while we did."""
    if first is None or first.sha == head.sha:
        return ()
    theirs = [
        path
        for path in sorted(first.files.keys() | head.files.keys())
        if first.files.get(path) != head.files.get(path) and path != MANIFEST
    ]
    over = [path for path in theirs if path in package.files and path in head.files]
    kept = [path for path in theirs if path not in package.files and path in head.files]
    found = [f"another push came in between; this one is made upon its commit {head.sha[:12]}"]
    if over:
        found.append(f"its version of {_list(over)} is replaced by this export's")
    if kept:
        found.append(
            f"it brought {_list(kept)}, which stays but is not in this export; "
            "`pmb export --from-hub` takes it in"
        )
    return tuple(found)


def _list(paths: Sequence[str]) -> str:
    shown = ", ".join(paths[:3])
    return shown if len(paths) <= 3 else f"{shown} and {len(paths) - 3} more"


def _check_visibility(found: Plan, private: bool) -> None:
    if private and found.head is not None and not found.head.private:
        raise InputError(
            f"{_place(found.package)} is public already, and --private only makes new ones so; "
            f"change it at {found.url}/settings, or push without --private"
        )


def _place(package: Package) -> str:
    return f"{KINDS[package.repo_type]} {package.repo}"
