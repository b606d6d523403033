"""What differs between the files to publish and those that are there."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from typing import NamedTuple

ADDED, CHANGED, UNCHANGED, DELETED = "added", "changed", "unchanged", "deleted"
NOT_COMPARED = "not compared"
"""Of a file, if nothing is known of what is there."""

MANIFEST = ".pmb-hf.json"
"""Lists the files that we have put into a repository. Nothing else is ever deleted."""


class Remote(NamedTuple):
    """A file that is there.

    Attributes:
        size: In bytes.
        oid: git's name of its content; of a large file that of the pointer to it.
        sha256: Of a large file's content, else ``None``.
    """

    size: int
    oid: str
    sha256: str | None = None


class Change(NamedTuple):
    """One file: what becomes of it, and its size in bytes after and before."""

    path: str
    kind: str
    size: int | None
    old_size: int | None


def compare(
    local: Mapping[str, bytes], remote: Mapping[str, Remote], deletable: Collection[str]
) -> list[Change]:
    """Every file that we know of, by path.

    Files that are there, not in ``local`` and not in ``deletable`` are somebody
    else's and not mentioned.
    """
    found = [
        Change(path, _kind(data, remote.get(path)), len(data), _size(remote.get(path)))
        for path, data in local.items()
    ]
    found += [
        Change(path, DELETED, None, there.size)
        for path, there in remote.items()
        if path in deletable and path not in local
    ]
    return sorted(found)


def to_do(changes: Collection[Change]) -> bool:
    """Whether anything is to be committed."""
    return any(change.kind != UNCHANGED for change in changes)


def manifest(paths: Collection[str]) -> bytes:
    """The content of ``MANIFEST`` for these files."""
    return (json.dumps({"files": sorted(paths)}, ensure_ascii=False, indent=1) + "\n").encode()


def read_manifest(data: bytes) -> frozenset[str]:
    """The files that it lists; none if it can't be read, so that nothing gets deleted."""
    try:
        files = json.loads(data)["files"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return frozenset()
    if not isinstance(files, list):
        return frozenset()
    return frozenset(path for path in files if isinstance(path, str))


def _size(there: Remote | None) -> int | None:
    return None if there is None else there.size


def _kind(data: bytes, there: Remote | None) -> str:
    if there is None:
        return ADDED
    if there.size != len(data):
        return CHANGED
    if there.sha256 is not None:
        return UNCHANGED if hashlib.sha256(data).hexdigest() == there.sha256 else CHANGED
    blob = b"blob %d\0" % len(data) + data
    oid = hashlib.sha1(blob, usedforsecurity=False).hexdigest()
    return UNCHANGED if oid == there.oid else CHANGED
