"""Where a run's report goes if no file is named, and which run can be gone on with."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from ..errors import InputError
from ..files import make_parent

DEFAULT_DIR = "reports"
JOURNAL = ".journal"
_STAMP = r"[0-9]{8}t[0-9]{6}(-[0-9]+)?"


@contextmanager
def report_place(
    out: Path | None, *, provider: str, corpus: str, rules: str, resume: bool, now: datetime
) -> Iterator[Path]:
    """The file for a report, as `report_path` names it, until its run has ended.

    If nothing was written there, nothing stays: no empty journal, and no directory
    that was made for it.
    """
    target = Path(DEFAULT_DIR) if out is None else out
    made = [place for place in (target, *target.parents) if not place.exists()]
    path = report_path(out, provider=provider, corpus=corpus, rules=rules, resume=resume, now=now)
    try:
        yield path
    finally:
        journal = journal_of(path)
        with suppress(OSError):
            if not journal.stat().st_size:
                journal.unlink()
        for place in made:
            with suppress(OSError):  # it holds something
                place.rmdir()


def report_path(
    out: Path | None, *, provider: str, corpus: str, rules: str, resume: bool, now: datetime
) -> Path:
    """The file for a report.

    ``out`` is a file if its name ends in ``.json`` and it is no directory; else
    it is a directory (default: ``reports``), and the file in it is named
    ``<provider>-<corpus>-<rules>-<time in UTC>.json``, with a number if that is taken.
    Its journal is made at once, so that a run which starts in the same second gets
    another name. With ``resume`` it is the newest one that has a journal with results,
    else with a beginning.

    Raises:
        InputError: If there is no run to go on with, or the directory can't be one.
        OSError: If the directory can't be written.
    """
    target = Path(DEFAULT_DIR) if out is None else out
    if target.suffix.lower() == ".json" and not target.is_dir():
        if resume and not journal_of(target).exists():
            raise InputError(f"nothing to resume: there is no {journal_of(target)}")
        return target
    stem = "-".join(_slug(part) for part in (provider, corpus, rules))
    if resume:
        return _newest_unfinished(target, stem)
    return _unused(target, f"{stem}-{now.astimezone(UTC):%Y%m%dt%H%M%S}")


def journal_of(report: Path) -> Path:
    """The journal that stands beside a report until its run is done."""
    return report.with_name(report.name + JOURNAL)


def holds_results(journal: Path) -> bool:
    """Whether a journal is there and holds more than how its run began."""
    return _lines(journal) > 1


def _lines(journal: Path) -> int:
    try:
        return journal.read_bytes().count(b"\n")
    except FileNotFoundError:
        return 0


def _slug(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._]+", "-", text).strip("-.")[:60] or "unnamed"


def _unused(directory: Path, stem: str) -> Path:
    path, number = directory / f"{stem}.json", 2
    while not _claimed(path):
        path, number = directory / f"{stem}-{number}.json", number + 1
    return path


def _claimed(path: Path) -> bool:
    """Make the journal, unless there is one or a report; one process alone succeeds."""
    journal = journal_of(path)
    make_parent(journal)
    try:
        journal.touch(exist_ok=False)
    except FileExistsError:
        return False
    # Looked for only now: a run writes its report before its journal goes.
    if path.exists():
        journal.unlink()
        return False
    return True


def _newest_unfinished(directory: Path, stem: str) -> Path:
    pattern = re.compile(re.escape(stem) + "-" + _STAMP + re.escape(".json" + JOURNAL))
    named = (p for p in directory.glob(f"*{JOURNAL}") if pattern.fullmatch(p.name))
    # One without a line may be of a run that has just begun.
    found = [path for path in named if _lines(path)]
    if not found:
        raise InputError(f"nothing to resume: {directory} holds no unfinished run {stem}-…")
    newest = max(found, key=lambda p: (holds_results(p), p.stat().st_mtime_ns, p.name))
    return newest.with_name(newest.name.removesuffix(JOURNAL))
