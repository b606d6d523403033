"""Where a report comes from: versions, corpus, provider, time and commit."""

from __future__ import annotations

import hashlib
import json
import platform
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from ._version import __version__
from .errors import ProviderError
from .schema import Corpus

MAX_TOLD = 64 * 1024
"""The most that a provider may tell of itself at a time, in bytes of JSON."""

_GIT_TIMEOUT_S = 2.0
_GIT_DESCRIBE = ("git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*")


def utc_now() -> str:
    """The time now as ISO 8601 in UTC, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def config_hash(config: Mapping[str, Any]) -> str:
    """SHA-256 of a configuration, whatever the order of its keys."""
    text = json.dumps(config, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def writable(value: object, what: str) -> Any:
    """``value`` as it will be read back from a report's JSON.

    Raises:
        ProviderError: If JSON can't hold it, or it is too long; says ``what`` it is.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        size = len(text.encode())
    except (TypeError, ValueError, RecursionError, AttributeError) as error:
        said = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise ProviderError(f"{what} can't stand in a report: {said}"[:300]) from error
    if size > MAX_TOLD:
        raise ProviderError(f"{what} takes {size} bytes as JSON; at most {MAX_TOLD} are kept")
    return json.loads(text)


def git_commit() -> str | None:
    """The commit that is checked out here, with ``-dirty`` if files differ; else ``None``."""
    try:
        done = subprocess.run(  # noqa: S603 - a fixed command
            _GIT_DESCRIBE,
            capture_output=True,
            text=True,
            timeout=_GIT_TIMEOUT_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None


def corpus_identity(corpus: Corpus) -> dict[str, Any]:
    """What tells one corpus from another in a report."""
    return {
        "name": corpus.name,
        "sha256": corpus.sha256,
        "beliefs": len(corpus.beliefs),
        "cases": len(corpus.cases),
        "turns": sum(len(session.turns) for session in corpus.sessions),
    }


def environment() -> dict[str, Any]:
    """Package, Python and machine."""
    return {
        "pmbHf": __version__,
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
    }
