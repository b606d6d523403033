"""How a belief is handed to a memory system."""

from __future__ import annotations

from collections.abc import Callable

from .errors import UnknownNameError
from .providers.protocol import AddRow
from .schema import Belief


def _names(belief: Belief) -> str:
    names = dict.fromkeys((belief.canonical_name.replace("_", " "), *belief.aliases))
    return ", ".join(names)


_TEXTS: dict[str, Callable[[Belief], str]] = {
    "all": lambda belief: f"{_names(belief)}: {belief.content}",
    "canonical_name_aliases": _names,
    "content": lambda belief: belief.content,
}
TEXT_MODES = tuple(_TEXTS)
"""What a memory's text may be made of: names, aliases and content, or a part of it."""


def check_text_mode(mode: str) -> str:
    """Return ``mode`` if it is one of ``TEXT_MODES``.

    Raises:
        UnknownNameError: If it is none of them.
    """
    if mode not in _TEXTS:
        raise UnknownNameError(f"no text mode {mode!r}; choose one of: {', '.join(TEXT_MODES)}")
    return mode


def memory_row(belief: Belief, *, user_id: str, text_mode: str = "all") -> AddRow:
    """The arguments of ``add`` or ``update`` for ``belief``."""
    return {
        "belief_id": belief.id,
        "user_id": user_id,
        "text": _TEXTS[text_mode](belief),
        "aliases": list(belief.aliases),
        "metadata": {
            "beliefId": belief.id,
            "scope": list(belief.scope),
            "type": belief.type,
            "canonicalName": belief.canonical_name,
            "pinned": belief.pinned,
            "supersededBy": belief.superseded_by,
            "resolvedAt": belief.resolved_at,
            "epistemicStatus": belief.epistemic_status,
            "participants": list(belief.participants),
        },
    }
