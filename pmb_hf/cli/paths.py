"""Where a run's report goes if no file is named, and which run can be gone on with."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

from ..errors import InputError

DEFAULT_DIR = "reports"
JOURNAL = ".journal"
_STAMP = r"[0-9]{8}t[0-9]{6}(-[0-9]+)?"


def report_path(
    out: Path | None, *, provider: str, corpus: str, rules: str, resume: bool, now: datetime
) -> Path:
    """The file for a report.

    ``out`` is a file if its name ends in ``.json`` and it is no directory; else
    it is a directory (default: ``reports``), and the file in it is named
    ``<provider>-<corpus>-<rules>-<time in UTC>.json``. With ``resume`` it is the
    newest one that has a journal.

    Raises:
        InputError: If there is no run to go on with.
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


def _slug(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._]+", "-", text).strip("-.")[:60] or "unnamed"


def _unused(directory: Path, stem: str) -> Path:
    path, number = directory / f"{stem}.json", 2
    while path.exists() or journal_of(path).exists():
        path, number = directory / f"{stem}-{number}.json", number + 1
    return path


def _newest_unfinished(directory: Path, stem: str) -> Path:
    pattern = re.compile(re.escape(stem) + "-" + _STAMP + re.escape(".json" + JOURNAL))
    found = [p for p in directory.glob(f"*{JOURNAL}") if pattern.fullmatch(p.name)]
    if not found:
        raise InputError(f"nothing to resume: {directory} holds no unfinished run {stem}-…")
    newest = max(found, key=lambda path: (path.stat().st_mtime_ns, path.name))
    return newest.with_name(newest.name.removesuffix(JOURNAL))
