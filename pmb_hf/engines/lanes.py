"""Which jobs must not be done at the same time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..providers.http_config import is_url
from ..providers.registry import configured

_SHARED = ("url", "path", "base_url", "dsn", "config")
"""Options that name a place where a store is kept, which two runs would empty for each other."""


def lane_of(provider: str, options: Mapping[str, Any]) -> str | None:
    """The lane of a job; ``None`` if its store is its own.

    A run begins by emptying the store, so a namespace does not keep two apart that
    have the same one.
    """
    if is_url(provider):
        return provider
    places = [f"{key}={options[key]}" for key in _SHARED if options.get(key) not in (None, "none")]
    if places or provider in configured():
        return " ".join([provider, *places])
    return None
