"""Reads many reports: what is no report is named and left out, the rest is taken."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from ..errors import CorpusError, InputError, PmbError, ReportError
from ..report import Report, merge
from ..report_reader import read_report
from ..schema import Corpus
from ..withheld import KEY
from .board import Run, run_row
from .facts import is_from_upstream

NOT_REPORTS = {"leaderboard.json", "manifest.json"}
"""Files of a directory that are no reports and are passed over in silence."""
_WITH_REPORTS = ("leaderboard.json", "ledger.json")
"""What an export, and a sweep or a scale, have beside their folder of reports."""


class Skipped(NamedTuple):
    """A file that was left out, and why."""

    file: str
    why: str


@dataclass
class Collected:
    """Reports with their corpora, and what was left out."""

    runs: list[Run] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


_MALFORMED = (AttributeError, KeyError, TypeError, ValueError, OverflowError)

Find = Callable[[Report], Corpus]
"""Finds the corpus of a report; raises CorpusError if it is not here."""


def collect(paths: Sequence[str | Path], find: Find) -> Collected:
    """Read the reports in ``paths``: files, or directories of ``.json`` files.

    A report that can't be read, or is not of its corpus, is skipped with the reason. One
    whose corpus is not here is taken with the figures that it states. Upstream's two files
    of one provider become one report.

    Raises:
        InputError: If a path does not exist.
    """
    found = Collected()
    reports: list[tuple[Path, Report]] = []
    for path in files(paths):
        try:
            reports.append((path, read_report(path)))
        except ReportError as error:
            found.skipped.append(Skipped(str(path), _reason(error, path)))
    for names, report in _joined(reports):
        _take(found, names, report, find)
    return found


def files(paths: Sequence[str | Path]) -> list[Path]:
    """The files that paths stand for, each once: a directory stands for its ``.json`` files.

    The directory of an export, a sweep or a scale stands for its reports.

    Raises:
        InputError: If a path does not exist.
    """
    found: dict[Path, None] = {}
    for given in map(Path, paths):
        if given.is_dir():
            made = any((given / name).is_file() for name in _WITH_REPORTS)
            inner = given / "reports" if made else _of_results(given)
            names = sorted(inner.glob("*.json"))
            found |= dict.fromkeys(p for p in names if p.name not in NOT_REPORTS)
        elif given.exists():
            found[given] = None
        else:
            raise InputError(f"{given} does not exist; give report files, or directories of them")
    return list(found)


def _of_results(given: Path) -> Path:
    """Where the reports are: those of a sweep's results stand beside them."""
    beside = given.parent
    of_sweep = (given / "runs").is_dir() and (beside / "ledger.json").is_file()
    return beside / "reports" if of_sweep else given


def joined(reports: Iterable[Report]) -> list[Report]:
    """Reports, with upstream's two of one provider joined."""
    return [report for _, report in _joined((Path(), report) for report in reports)]


def _joined(reports: Iterable[tuple[Path, Report]]) -> list[tuple[list[Path], Report]]:
    found: list[tuple[list[Path], Report]] = []
    for path, report in reports:
        keys = {record.key for record in report.records}
        for number, (paths, other) in enumerate(found):
            same = report.upstream and other.upstream and other.provider == report.provider
            if same and keys.isdisjoint(record.key for record in other.records):
                found[number] = [*paths, path], merge([other, report])
                break
        else:
            found.append(([path], report))
    return found


def _take(found: Collected, paths: Sequence[Path], report: Report, find: Find) -> None:
    names = " + ".join(map(str, paths))
    try:
        _place(found, names, paths[0], report, find)
    except PmbError as error:
        found.skipped.append(Skipped(names, str(error)))
    except _MALFORMED as error:
        found.skipped.append(Skipped(names, f"its provenance is malformed: {error!r}"))


def _place(found: Collected, names: str, path: Path, report: Report, find: Find) -> None:
    corpus, lacking = None, ""
    try:
        corpus = find(report)
    except CorpusError as error:
        lacking = str(error)
    if corpus is None and not any(report.stated.values()):
        raise ReportError(f"it states no figures, and its corpus is not here: {lacking}")
    published = corpus is None and KEY in report.provenance  # so no text of its corpus is in it
    if published and not path.is_file():
        raise ReportError("it was published before, and such a report is only taken from a file")
    run = Run(report, corpus, raw=path.read_bytes() if published else None)
    run_row(run)  # what can't be a row is found here, by its name
    found.runs.append(run)
    if corpus is None:
        found.remarks.append(
            f"{names}: not scored again, so its own figures are shown and it is not ranked: "
            f"{lacking}"
        )


def _reason(error: ReportError, path: Path) -> str:
    """The message without the name of the file, which stands before it."""
    return str(error).removeprefix(f"{path}: ").removeprefix(f"{path} ")


class Corpora:
    """The corpora that reports may be of, loaded when one is first asked for.

    Args:
        load: Loads ``native`` or ``official``; raises CorpusError if it can't.
        given: Corpora of the user's own, known by their hash.
    """

    def __init__(self, load: Callable[[str], Corpus], given: Iterable[Corpus] = ()) -> None:
        self._load = load
        self._by_hash = {corpus.sha256: corpus for corpus in given}
        self._by_name: dict[str, Corpus | CorpusError] = {}

    def find(self, report: Report) -> Corpus:
        """The corpus of a report: that with its hash, or for want of one that with its name.

        Raises:
            CorpusError: If it is not here; says what there is.
        """
        digest, name = report.corpus_sha256, report.corpus_name
        if digest in self._by_hash:
            return self._by_hash[digest]
        if name not in ("native", "official"):
            raise CorpusError(f"its corpus {name!r} was not given (--corpus DIR)")
        corpus = self._named(name)
        if digest is not None and not is_from_upstream(report) and digest != corpus.sha256:
            raise CorpusError(
                f"it was made on another version of the corpus {name!r} ({digest[:12]}…), "
                f"this is {corpus.sha256[:12]}…"
            )
        return corpus

    def _named(self, name: str) -> Corpus:
        if name not in self._by_name:
            try:
                self._by_name[name] = self._load(name)
            except CorpusError as error:
                self._by_name[name] = error
        found = self._by_name[name]
        if isinstance(found, CorpusError):
            raise found
        return found

    def __iter__(self) -> Iterator[Corpus]:
        """Those that were loaded."""
        return (c for c in self._by_name.values() if isinstance(c, Corpus))
