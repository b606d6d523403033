"""Jobs for tests of engines: quick ones, and one that waits until the test lets it go on."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from pmb_hf.engines import Job

QUICK = {"parts": ("sessions",)}
_TIMES = re.compile(r'"(?:\w*(?:Ms|_ms|edAt|Ratio|_ratio)|perSecond)": (?:[-0-9.e]+|null|"[^"]*")')
"""What differs from run to run in a report: times, and what is computed of them."""


def job(home: Path, name: str = "j", **fields: Any) -> Job:
    return Job(**{"id": name, "provider": "bm25", "home": str(home), **QUICK, **fields})


def without_times(text: str) -> str:
    return _TIMES.sub('"time": 0', text)


class Gate:
    """A named pipe as the file of the provider ``scripted``: its job waits until it is opened."""

    def __init__(self, path: Path) -> None:
        self.path = path
        os.mkfifo(path)

    @property
    def fields(self) -> dict[str, Any]:
        return {"provider": "scripted", "options": {"file": str(self.path)}}

    def reached(self) -> int:
        """Wait until a job reads from it; the other end, to be closed."""
        return self.until(lambda: os.open(self.path, os.O_WRONLY | os.O_NONBLOCK))

    def open_for_good(self) -> None:
        """Put a file in its place: jobs that start from now on do not wait."""
        part = self.path.with_suffix(".part")
        part.write_text(json.dumps({}))
        part.replace(self.path)

    @staticmethod
    def let_go(end: int) -> None:
        """Let the job that reads go on, if there still is one."""
        with suppress(BrokenPipeError):
            os.write(end, b"{}")
        os.close(end)

    @staticmethod
    def until(attempt: Callable[[], int]) -> int:
        for _ in range(6000):
            try:
                return attempt()
            except OSError:
                time.sleep(0.02)
        raise TimeoutError("no job came")

    @staticmethod
    def first_to_leave(ends: Sequence[int]) -> int | None:
        """The first of ``ends`` that nobody reads from any more, closed; ``None`` if all do."""
        for _ in range(6000):
            for end in ends:
                try:
                    os.write(end, b" ")
                except BrokenPipeError:
                    os.close(end)
                    return end
            time.sleep(0.02)
        return None

    @classmethod
    def left(cls, end: int) -> bool:
        """Whether whoever read has gone, sooner or later."""
        if cls.first_to_leave([end]) is None:
            os.close(end)
            return False
        return True
