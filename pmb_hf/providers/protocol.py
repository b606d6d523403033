"""What the harness asks of a memory system that runs in this process.

A provider must have ``reset``, ``add`` and ``search``. Everything else
(``update``, ``delete``, ``wait_ready``, ``add_many``, ``close``, ``version``,
``options``) is optional, and the helpers below tell whether it is there.
All arguments are keyword-only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypedDict, TypeGuard, runtime_checkable

from ..faults import named

MAX_RESULTS = 10_000
"""More results than this are no answer to a search that asks for a few."""
MAX_ID = 512
"""The longest id that is taken, in characters."""


class Hit(NamedTuple):
    """One result of a search. The place in the list is the rank.

    Attributes:
        id: The belief id, or None when the provider can't name one.
        score: The provider's own score, in its own unit; None if it has none.
            Scores of two providers can't be compared.
        text: The memory as the provider holds it, or None.
        metadata: What was stored beside the text, or None.
    """

    id: str | None
    score: float | None = None
    text: str | None = None
    metadata: Mapping[str, Any] | None = None


class AddRow(TypedDict):
    """The arguments of one ``add``, for writing many memories in one call."""

    belief_id: str
    user_id: str
    text: str
    aliases: Sequence[str]
    metadata: Mapping[str, Any]


@runtime_checkable
class Provider(Protocol):
    """A memory system.

    Any method may raise `ProviderError`; it ends the case or the run. Only an
    empty sequence means "nothing found".
    """

    def reset(self) -> None:
        """Forget every memory of every user."""

    def add(
        self,
        *,
        belief_id: str,
        user_id: str,
        text: str,
        aliases: Sequence[str],
        metadata: Mapping[str, Any],
    ) -> None:
        """Store one memory.

        A memory is known by ``(user_id, belief_id)``: the same pair again
        replaces it, and two users may use one belief id.

        Args:
            belief_id: The id that a search has to give back.
            user_id: Whose memory it is.
            text: What is to be found; aliases are already in it if the run
                renders them.
            aliases: Other names, for systems that index them apart.
            metadata: ``beliefId``, ``scope`` (list), ``type``,
                ``canonicalName``, ``pinned``, ``supersededBy``,
                ``resolvedAt``, ``epistemicStatus``, ``participants``.
        """

    def search(
        self, *, query: str, user_id: str, scopes: Sequence[str], limit: int
    ) -> Sequence[Hit]:
        """Return at most ``limit`` memories of ``user_id``, the best first.

        A limit of 0 or less gives an empty sequence. An answer with more than
        `MAX_RESULTS` hits, or an id of more than `MAX_ID` characters, is refused
        as ``too_large``.
        """


@runtime_checkable
class SupportsUpdate(Provider, Protocol):
    """A provider that can change a memory in place."""

    def update(
        self,
        *,
        belief_id: str,
        user_id: str,
        text: str,
        aliases: Sequence[str],
        metadata: Mapping[str, Any],
    ) -> None:
        """Replace a stored memory; the arguments are those of ``add``.

        Raises:
            ProviderError: The user has no memory with this id.
        """


@runtime_checkable
class SupportsDelete(Provider, Protocol):
    """A provider that can forget one memory."""

    def delete(self, *, belief_id: str, user_id: str) -> None:
        """Forget one memory. Forgetting an unknown one does nothing."""


@runtime_checkable
class SupportsWait(Provider, Protocol):
    """A provider that can say when a write has become visible."""

    def wait_ready(self, *, belief_id: str, user_id: str, timeout_s: float) -> None:
        """Return once a search can find this memory.

        Raises:
            NotReadyError: It was not visible within ``timeout_s`` seconds.
        """


@runtime_checkable
class SupportsBulk(Provider, Protocol):
    """A provider that writes many memories faster than one by one."""

    def add_many(self, rows: Iterable[AddRow]) -> None:
        """Do ``add`` for every row, in order."""


def supports_update(provider: object) -> TypeGuard[SupportsUpdate]:
    """Tell whether memories can be changed in place.

    Like the other helpers, true if the method is there. A provider that learns
    only at run time what it can do may set a bool attribute of the helper's
    name; False there wins over a method.
    """
    return _can(provider, "update", "supports_update")


def supports_delete(provider: object) -> TypeGuard[SupportsDelete]:
    """Tell whether a single memory can be forgotten; see `supports_update`."""
    return _can(provider, "delete", "supports_delete")


def supports_wait(provider: object) -> TypeGuard[SupportsWait]:
    """Tell whether one can wait for a write; see `supports_update`."""
    return _can(provider, "wait_ready", "supports_wait")


def supports_bulk(provider: object) -> TypeGuard[SupportsBulk]:
    """Tell whether ``add_many`` is there; see `supports_update`."""
    return _can(provider, "add_many", "supports_bulk")


def supports_scopes(provider: object) -> bool:
    """Tell whether a search takes several scopes at once.

    True unless the provider has an attribute ``supports_scopes`` that is
    False.
    """
    return bool(told(provider, "supports_scopes", True))


def _can(provider: object, method: str, flag: str) -> bool:
    return callable(told(provider, method)) and bool(told(provider, flag, True))


def told(provider: object, name: str, default: object = None) -> Any:
    """Return an attribute of a provider, or ``default`` if it has none of that name.

    Raises:
        ProviderError: It is a property that raises; names it.
    """
    with named(f"reading `{name}` of {type(provider).__name__}", ours=False):
        return getattr(provider, name, default)


def add_all(provider: Provider, rows: Iterable[AddRow]) -> None:
    """Write all rows in order, in one call where the provider can do that."""
    if supports_bulk(provider):
        provider.add_many(rows)
        return
    for row in rows:
        provider.add(**row)


def provider_version(provider: object) -> str | None:
    """Return the provider's ``version``, or None if it tells none."""
    version = told(provider, "version")
    return version if isinstance(version, str) else None


def provider_options(provider: object) -> dict[str, object]:
    """Return a copy of the provider's effective ``options`` ({} if none)."""
    options = told(provider, "options")
    with named(f"reading `options` of {type(provider).__name__}", ours=False):
        return dict(options) if isinstance(options, Mapping) else {}


def close(provider: object) -> None:
    """Call the provider's ``close`` if it has one."""
    closer = getattr(provider, "close", None)
    if callable(closer):
        closer()


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a provider.

    Attributes:
        name: Its key.
        type: ``int``, ``float``, ``bool`` or ``str``.
        default: The value if it isn't given. None means that the option is
            off, and then "none" switches it off on a command line.
        help: One sentence.
    """

    name: str
    type: type[int] | type[float] | type[bool] | type[str]
    default: int | float | bool | str | None
    help: str


@dataclass(frozen=True, slots=True)
class ProviderInfo:
    """What a list of providers shows about one of them.

    Attributes:
        name: What `create` takes.
        summary: One sentence.
        state: "built in" (needs nothing more), "installed" (its package or its
            environment is here), "installable" (both are missing), "needs a
            service", "needs a key", or "hidden" (another provider has the name).
        extra: The extra of this package that brings what it needs, or None.
        options: The options it declares; a provider of another package
            declares none here.
        environment: The isolated environment that it can run in, or None.
        version: The version of its package that would run, if that is known.
        hint: What to do to get from ``state`` to a run, or None.
        live: Whether it was ever run against the real system.
        package: The package that it adapts and the versions that will do, as
            ``"mem0ai>=2.2,<2.3"``, or None.
        interface: The interface of a service that it was written for, with its
            version where there is one, or None.
    """

    name: str
    summary: str
    state: str
    extra: str | None = None
    options: tuple[Option, ...] = ()
    environment: str | None = None
    version: str | None = None
    hint: str | None = None
    live: bool = True
    package: str | None = None
    interface: str | None = None
