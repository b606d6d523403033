"""Shows on standard error how far a run or a download is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..records import OK
from ..tables.text import clean
from .output import is_terminal, note

if TYPE_CHECKING:
    from rich.progress import Progress as Bars

    from ..runner import Progress

Report = Callable[["Progress"], None]
Download = Callable[[str, int, int], None]


@contextmanager
def run_progress(*, quiet: bool) -> Iterator[Report | None]:
    """What ``runner.run`` calls after every case: bars, or a line a part without a terminal."""
    if quiet:
        yield None
    elif not is_terminal():
        yield _Lines()
    else:
        with _bars("{task.completed}/{task.total}") as bars:
            yield _RunBars(bars)


@contextmanager
def download_progress() -> Iterator[Download | None]:
    """What ``official.fetch`` calls after every piece."""
    if not is_terminal():
        yield None
        return
    with _bars("{task.completed:,.0f}/{task.total:,.0f} bytes") as bars:
        tasks: dict[str, int] = {}

        def progress(name: str, done: int, size: int) -> None:
            if name not in tasks:
                tasks[name] = bars.add_task(clean(name), total=size, failed="")
            bars.update(tasks[name], completed=done)  # type: ignore[arg-type]

        yield progress


@contextmanager
def row_progress(doing: str) -> Iterator[Callable[[int, int], None] | None]:
    """What is called with rows done and rows in all."""
    if not is_terminal():
        yield None
        return
    with _bars("{task.completed:,.0f}/{task.total:,.0f}") as bars:
        task = bars.add_task(doing, total=None, failed="")
        yield lambda done, total: bars.update(task, completed=done, total=total)


def _bars(counter: str) -> Bars:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=30),
        TextColumn(counter, markup=False),
        TimeElapsedColumn(),
        TextColumn("{task.fields[failed]}", style="red", markup=False),
        console=Console(stderr=True, highlight=False, markup=False, emoji=False),
        transient=True,
    )


class _Failures:
    """Counts the failures of each part."""

    def __init__(self) -> None:
        self._failed: dict[str, int] = {}

    def count(self, progress: Progress) -> str:
        record = progress.record
        bad = record is not None and record.status != OK
        total = self._failed.get(progress.part, 0) + bad
        self._failed[progress.part] = total
        return f"{total} without an answer" if total else ""


class _Lines(_Failures):
    def __call__(self, progress: Progress) -> None:
        failed = self.count(progress)
        if progress.done == progress.total:
            text = f"{progress.part}: {progress.done}/{progress.total}"
            note(f"{text}, {failed}" if failed else text)


class _RunBars(_Failures):
    def __init__(self, bars: Bars) -> None:
        super().__init__()
        self._bars = bars
        self._tasks: dict[str, int] = {}

    def __call__(self, progress: Progress) -> None:
        if progress.part not in self._tasks:
            self._tasks[progress.part] = self._bars.add_task(
                progress.part, total=progress.total, failed=""
            )
        failed = self.count(progress)
        self._bars.update(
            self._tasks[progress.part],  # type: ignore[arg-type]
            completed=progress.done,
            failed=failed,
        )
