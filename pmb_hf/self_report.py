"""What a provider tells of itself, made fit for a report.

It is asked once before anything is measured, so that what can't be written ends
the run at once; and once more at the end, when it may know more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from .errors import ProviderError
from .faults import named
from .provenance import writable
from .providers.protocol import Provider, provider_options, provider_version, told
from .seeding import Seeder

T = TypeVar("T")


@dataclass(slots=True)
class SelfReport:
    """What ``seeder``'s provider tells.

    Attributes:
        identity: ``providerVersion`` and ``options``, as they were at first.

    Raises:
        ProviderError: When it is made: if a property raises, or JSON can't hold it.
    """

    seeder: Seeder
    identity: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        """Ask everything once."""
        self.identity = _identity(self.seeder.provider)
        _counts(self.seeder.provider)
        _ = self.seeder.update_action

    def identity_now(self) -> dict[str, Any]:
        """``providerVersion`` and ``options``, as they are now if that can be told."""
        return _or(lambda: _identity(self.seeder.provider), self.identity)

    def counts(self) -> Any:
        """What the provider counted of its own calls, for instance how ids were resolved."""
        try:
            return _counts(self.seeder.provider)
        except ProviderError as error:
            return {"error": str(error)}

    def environment(self) -> Any:
        """The isolated environment that it runs in, and what that was made from; or ``None``."""
        found = told(self.seeder.provider, "environment")
        return writable(dict(found) if isinstance(found, Mapping) else None, "`environment`")

    def can_update(self) -> bool | None:
        """Whether it can change a memory; ``None`` if it can't tell any more."""
        return _or(lambda: self.seeder.update_action != "none", None)


def _or(ask: Callable[[], T], fallback: T) -> T:
    """The run is not lost for what a provider can't tell at its end."""
    try:
        return ask()
    except ProviderError:
        return fallback


def _identity(provider: Provider) -> dict[str, Any]:
    kind = type(provider).__name__
    return {
        "providerVersion": writable(provider_version(provider), f"`version` of {kind}"),
        "options": writable(provider_options(provider), f"`options` of {kind}"),
    }


def _counts(provider: Provider) -> Any:
    what, counts = f"`counts` of {type(provider).__name__}", told(provider, "counts")
    with named(f"reading {what}", ours=False):
        copy = dict(counts) if isinstance(counts, Mapping) else None
    return writable(copy, what)
