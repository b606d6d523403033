"""What keeps the app from doing what a visitor must not make it do."""

from __future__ import annotations

import shutil
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gradio as gr

REFUSED = "This app fetches no address; upload the file itself."


def fetch_nothing(demo: gr.Blocks) -> None:
    """Refuse addresses in place of uploaded files.

    Gradio downloads a file whose ``path`` is an address, whichever component it is
    sent to. Here only what was uploaded through the page is taken.
    """
    for block in demo.blocks.values():
        for name in ("move_resource_to_block_cache", "async_move_resource_to_block_cache"):
            setattr(block, name, _local_only(getattr(block, name)))


def _local_only(move: Callable[..., Any]) -> Callable[..., Any]:
    def moved(path: Any) -> Any:
        if path is not None and "://" in str(path):
            raise gr.Error(REFUSED, print_exception=False)
        return move(path)

    return moved


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


def sweep(folder: Path, older_s: float, now: float | None = None) -> None:
    """Delete what visitors have uploaded and left: whatever is older than ``older_s``."""
    moment = time.time() if now is None else now
    for path in folder.iterdir() if folder.is_dir() else ():
        try:
            if moment - path.stat().st_mtime < older_s:
                continue
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        except OSError:  # another visitor's turn was faster
            continue
