"""What keeps the app from doing what a visitor must not make it do."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable

import gradio as gr


class Rate:
    """At most ``most`` uses in ``seconds`` for each name; forgets names that are idle."""

    def __init__(
        self, most: int, seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._most, self._seconds, self._clock = most, seconds, clock
        self._uses: dict[str, deque[float]] = {}

    def allows(self, name: str) -> bool:
        """Whether ``name`` may now; if so, it counts."""
        now = self._clock()
        for known, uses in list(self._uses.items()):
            while uses and now - uses[0] >= self._seconds:
                uses.popleft()
            if not uses:
                del self._uses[known]
        uses = self._uses.setdefault(name, deque())
        if len(uses) >= self._most:
            return False
        uses.append(now)
        return True


def address_of(request: gr.Request) -> str:
    """The visitor's address, as far as it can't be made up.

    On a Space, who forwards the request adds the address at the end of ``X-Forwarded-For``;
    what stands before it was sent by the visitor. Elsewhere it is who is connected.
    """
    if os.environ.get("SPACE_ID"):
        forwarded = ",".join(request.headers.getlist("x-forwarded-for"))
        last = forwarded.rpartition(",")[2].strip()
        if last:
            return last
    return request.client.host if request.client else ""
