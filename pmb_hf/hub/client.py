"""Talks to the Hub through ``huggingface_hub``; whatever fails is a :class:`HubError`.

The token is the library's own: ``HF_TOKEN``, or what ``hf auth login`` stored.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from ..errors import HubError
from .changes import MANIFEST, Remote, read_manifest
from .failures import Doing, failure_of, library

T = TypeVar("T")
KINDS = {"dataset": "dataset", "space": "Space"}


class Head(NamedTuple):
    """A repository as it is.

    Attributes:
        sha: The commit at the head of ``main``.
        private: Whether it is.
        files: All files at that commit.
        owned: Those that an earlier push put there.
    """

    sha: str
    private: bool
    files: Mapping[str, Remote]
    owned: frozenset[str]


class Made(NamedTuple):
    """A commit or pull request: its id and address."""

    oid: str
    url: str


class Client:
    """One Hub. ``repo_type`` is ``dataset`` or ``space`` throughout."""

    def __init__(self, endpoint: str | None = None) -> None:
        hub = library()
        self._api = hub.HfApi(endpoint=endpoint, library_name="pmb-hf")
        self._hub = hub
        self.endpoint: str = self._api.endpoint
        self.token: str | None = hub.get_token()

    def head(self, repo_type: str, repo: str) -> Head | None:
        """The repository, or ``None`` if there is none that the token may see."""

        def ask() -> Head:
            sha, private = self._head(repo_type, repo)
            items = self._api.list_repo_tree(
                repo, repo_type=repo_type, revision=sha, recursive=True
            )
            files = dict(_remote(item) for item in items if hasattr(item, "blob_id"))
            owned: frozenset[str] = frozenset()
            if MANIFEST in files:
                owned = read_manifest(self._read(repo_type, repo, MANIFEST, sha))
            return Head(sha, private, files, owned & files.keys())

        try:
            return self._call(self._doing(f"read {repo}", repo_type, repo), ask)
        except HubError as error:
            # 401 without a token is how the Hub speaks of what may or may not exist.
            if error.status == 404 or (error.status == 401 and self.token is None):
                return None
            raise

    def read(self, repo_type: str, repo: str, path: str, revision: str) -> bytes:
        """One file's content at a commit."""
        doing = self._doing(f"read {path} of {repo}", repo_type, repo)
        return self._call(doing, lambda: self._read(repo_type, repo, path, revision))

    def download(
        self, repo_type: str, repo: str, pattern: str, into: Path
    ) -> tuple[str, tuple[Path, ...]]:
        """The head's id, and its files that match ``pattern``, by name in ``into``."""
        doing = self._doing(f"read {pattern} of {repo}", repo_type, repo)

        def fetch() -> tuple[str, tuple[Path, ...]]:
            sha, _ = self._head(repo_type, repo)
            with _quiet():
                self._api.snapshot_download(
                    repo,
                    repo_type=repo_type,
                    revision=sha,
                    allow_patterns=[pattern],
                    local_dir=into,
                )
            return sha, tuple(sorted(path for path in into.glob(pattern)))

        return self._call(doing, fetch)

    def create(self, repo_type: str, repo: str, *, private: bool, sdk: str | None) -> None:
        """Make a repository; one that is there already is left as it is."""
        doing = self._doing(f"create the {KINDS[repo_type]} {repo}", repo_type, repo, writing=True)
        self._call(
            doing,
            lambda: self._api.create_repo(
                repo, repo_type=repo_type, private=private or None, space_sdk=sdk, exist_ok=True
            ),
        )

    def commit(
        self,
        repo_type: str,
        repo: str,
        message: str,
        *,
        add: Mapping[str, bytes],
        delete: Collection[str],
        parent: str,
        create_pr: bool,
    ) -> Made:
        """Make one commit upon ``parent``, or propose it.

        Raises:
            HubError: With ``status`` 409 or 412 if the head is no longer ``parent``.
        """
        doing = self._doing(f"publish {KINDS[repo_type]} {repo}", repo_type, repo, writing=True)
        hub = self._hub
        operations = [
            *(hub.CommitOperationAdd(path, data) for path, data in add.items()),
            *(hub.CommitOperationDelete(path, is_folder=False) for path in delete),
        ]

        def send() -> Made:
            with _quiet():
                made = self._api.create_commit(
                    repo,
                    operations,
                    commit_message=message,
                    repo_type=repo_type,
                    parent_commit=parent,
                    create_pr=create_pr,
                )
            url = made.pr_url if create_pr else made.commit_url
            return Made(_text(made.oid, "the commit's id"), _text(url, "the commit's address"))

        return self._call(doing, send)

    def url(self, repo_type: str, repo: str) -> str:
        """The repository's page."""
        return f"{self.endpoint}/{repo_type}s/{repo}"

    def _doing(self, what: str, repo_type: str, repo: str, *, writing: bool = False) -> Doing:
        return Doing(what, repo, KINDS[repo_type], writing, self.endpoint, self.token)

    def _head(self, repo_type: str, repo: str) -> tuple[str, bool]:
        """The commit at the head of ``main``, and whether the repository is private."""
        info = self._api.repo_info(repo, repo_type=repo_type)
        return _text(info.sha, "the commit's id"), bool(info.private)

    def _read(self, repo_type: str, repo: str, path: str, revision: str) -> bytes:
        with tempfile.TemporaryDirectory(prefix="pmb-hf-") as cache, _quiet():
            found = self._api.hf_hub_download(
                repo, path, repo_type=repo_type, revision=revision, cache_dir=cache
            )
            return Path(found).read_bytes()

    def _call(self, doing: Doing, ask: Callable[[], T]) -> T:
        try:
            return ask()
        except Exception as error:  # noqa: BLE001 - the library trips over an odd answer anyhow
            failure = failure_of(error, doing)
        raise failure


def _remote(item: Any) -> tuple[str, Remote]:
    """A file of a listing, if it is told as one."""
    lfs = item.lfs.sha256 if item.lfs else None
    if not isinstance(item.size, int):
        raise TypeError("a file's size is no number")
    oid = _text(item.blob_id, "a file's id")
    return _text(item.path, "a file's path"), Remote(item.size, oid, lfs)


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str) or not value:
        raise TypeError(f"{what} is no text")
    return value


@contextmanager
def _quiet() -> Iterator[None]:
    """No progress bars: what is published is told afterwards, in one piece."""
    utils = library().utils
    shown = not utils.are_progress_bars_disabled()
    if shown:
        utils.disable_progress_bars()
    try:
        yield
    finally:
        if shown:
            utils.enable_progress_bars()
