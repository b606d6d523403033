"""A provider for the time of a run: made of its name, or taken as it is."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from .errors import InputError, ProviderError
from .faults import named
from .providers.protocol import Provider, close
from .settings import check_text


@contextmanager
def made_for_run(
    provider: str | Provider, options: Mapping[str, object] | None, name: str | None
) -> Iterator[tuple[Provider, str]]:
    """The provider, and what reports call it; one that is made here is closed here.

    Raises:
        InputError: If it is no provider, or options don't fit; see `registry.create`.
    """
    if not isinstance(provider, str):
        yield _taken(provider, options), name or type(provider).__name__
        return
    from .providers.registry import create

    for key, value in (options or {}).items():
        check_text(f"option {key!a}", f"{key}{value}" if isinstance(value, str) else key)
    system, label = create(provider, options), name or provider
    try:
        yield system, label
    finally:
        _close(system, label)


def _taken(provider: Provider, options: Mapping[str, object] | None) -> Provider:
    if options:
        raise InputError("options are for providers given by name; set them on the object")
    if not isinstance(provider, Provider):
        raise InputError(
            f"{type(provider).__name__} is no provider: it needs the methods reset, add and search"
        )
    return provider


def _close(system: Provider, label: str) -> None:
    """Close a provider; what was measured is not lost if it can't be."""
    try:
        with named("closing the provider"):
            close(system)
    except ProviderError as error:
        warnings.warn(f"{label}: {error}", RuntimeWarning, stacklevel=2)
