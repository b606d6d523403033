"""gbrain, started here as ``gbrain serve`` and spoken to over MCP.

gbrain exists as source alone (the npm package of that name is another project), so the
interface was taken from a try-out of the source: the tools ``put_page``, ``search`` and
``delete_page``, ids by slug. What their arguments are called is checked against the
server's own ``tools/list`` before anything is written. This adapter itself was only run
against a stand-in.

A memory is a page. gbrain knows no users: a page's slug starts with the user's part, and
the adapter drops the pages of others from what a search gives, which is why it asks for
``candidates`` pages and not for the limit. That keeps users apart here; gbrain itself
does not. A page is found by its pieces: the first counts. The same slug again replaces a
page. A reset deletes page by page; pages that were there before are not touched, and not
found. It knows no scopes, and no floor on similarity was seen.
"""

from __future__ import annotations

import secrets
import shlex
import shutil
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import count
from typing import Any

from ..errors import InputError, ProviderError
from .http_errors import AnswerError
from .mcp_stdio import McpServer, ToolError, checked_tools
from .protocol import Hit, Option
from .service_store import TIMEOUT_OPTION, score_in, text_in
from .store import Memory, engine_text
from .vendor import TOP_K_OPTION, VendorStore

OPTIONS: tuple[Option, ...] = (
    Option(
        "command",
        str,
        "gbrain serve",
        "What starts the server, without a secret in it: it is reported.",
    ),
    Option("candidates", int, 100, "Pages asked for, before those of other users are dropped."),
    TOP_K_OPTION,
    TIMEOUT_OPTION,
)
INTERFACE = (
    "MCP 2025-06-18 with the tools of gbrain's source as of 2026-12-02; no version of it is known"
)
SERVICE = "Get gbrain (source only), make a brain of its own, and have `gbrain serve` on the path."

_TOOLS = {
    "put_page": ("slug", "content"),
    "search": ("query", "limit"),
    "delete_page": ("slug",),
}


class GbrainProvider(VendorStore):
    """A gbrain server as a child; a memory is a page."""

    def __init__(
        self,
        *,
        command: str = "gbrain serve",
        candidates: int = 100,
        top_k: int | None = None,
        timeout: float = 30.0,
    ) -> None:
        """Start it; `OPTIONS` says what the options do.

        Raises:
            InputError: An option can't be used, or the server has other tools.
            ProviderError: It can't be started.
        """
        if not 1 <= candidates <= 10_000:
            raise InputError(f"option candidates is {candidates}: give 1 to 10000.")
        if not 0 < timeout <= 3600:
            raise InputError(f"option timeout is {timeout}: give seconds above 0, up to 3600.")
        try:
            words = shlex.split(command)
        except ValueError as error:
            raise InputError(f"option command is {command!r}: {error}.") from error
        if not words:
            raise InputError("option command is empty: give what starts the server.")
        if shutil.which(words[0]) is None:
            raise ProviderError(f"gbrain: there is no program {words[0]!r}. {SERVICE}")
        super().__init__(
            {
                "command": command,
                "candidates": candidates,
                "threshold": None,
                "top_k": top_k,
                "timeout": timeout,
                "scope_filter": False,
                "user_filter": "slug, by the adapter",
                "embedder": "the server's own",
                "llm": "none",
            }
        )
        self._candidates = candidates
        self._root = f"pmb-{secrets.token_hex(4)}"
        self._numbers = count()
        self._prefixes: dict[str, str] = {}
        self._pages: dict[str, int] = {}
        self._unsure: set[str] = set()  # slugs of pages that may be there or not
        self._server = McpServer("gbrain", words, timeout_s=timeout)
        try:
            checked_tools(self._server, _TOOLS, self._server.tools())
        except BaseException:
            self._server.close()
            raise
        self.version = self._server.version

    def _slug(self, memory: Memory) -> str:
        if memory.user_id not in self._prefixes:
            self._prefixes[memory.user_id] = f"{self._root}/u{next(self._numbers)}/"
        return f"{self._prefixes[memory.user_id]}m{memory.key}"

    def _clear(self) -> None:
        for slug in list(self._pages):
            self._delete(slug)
        for slug in list(self._unsure):
            with suppress(ToolError):
                self._server.call("delete_page", {"slug": slug})
            self._unsure.discard(slug)
        self._prefixes.clear()

    def _write(self, memory: Memory) -> None:
        slug = self._slug(memory)
        self._unsure.add(slug)
        self._server.call("put_page", {"slug": slug, "content": memory.text})
        self._unsure.discard(slug)
        self._pages[slug] = memory.key

    def _rewrite(self, old: Memory, new: Memory) -> None:
        self._write(new)

    def _remove(self, memory: Memory) -> None:
        slug = self._slug(memory)
        if slug in self._pages:
            self._delete(slug)

    def _delete(self, slug: str) -> None:
        self._server.call("delete_page", {"slug": slug})
        del self._pages[slug]
        self._unsure.discard(slug)

    def _find(
        self, query: str, user_id: str, scopes: Sequence[str] | None, limit: int
    ) -> Iterable[Hit]:
        prefix = self._prefixes.get(user_id)
        if prefix is None:
            return []
        asked = {"query": engine_text(query), "limit": max(self._candidates, limit)}
        first: dict[str, dict[str, Any]] = {}
        for row in _rows(self._server.call("search", asked)):
            slug = text_in(row, "slug")
            if slug is None:
                raise AnswerError("gbrain: search: a result has no slug")
            if slug.startswith(prefix):
                first.setdefault(slug, row)
        return [self._hit(slug, row) for slug, row in first.items()]

    def _hit(self, slug: str, row: dict[str, Any]) -> Hit:
        key = self._pages.get(slug)
        # A piece of a page is not the memory's text, so it isn't told.
        return Hit(
            None if key is None else self._book.by_key(key).belief_id, score_in(row, "score")
        )

    def _shut(self) -> None:
        self._server.close()


def _rows(answer: Any) -> list[dict[str, Any]]:
    rows = answer
    if isinstance(answer, dict):
        rows = answer.get("results", answer.get("result"))
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise AnswerError("gbrain: search: the answer is no list of objects")
    return rows


create = GbrainProvider
