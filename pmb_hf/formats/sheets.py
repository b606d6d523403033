"""What every format is made of: a run with its row of a board and its judged cases."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

from ..leaderboard.board import Run, board
from ..leaderboard.facts import Row
from ..leaderboard.marks import PARTS, SESSION
from ..leaderboard.subjects import is_native
from ..report import Evaluation, Judged, judge
from ..schema import Corpus

TASKS = {"retrieval": "PrecisionMemBench_retrieval", "session": "PrecisionMemBench_sessions"}
"""What a part is called as a task, as in ``eval.yaml``."""

LANGUAGE = "eng-Latn"


@dataclass(frozen=True)
class Files:
    """Texts by path, and in sentences what was left out."""

    content: Mapping[str, str] = field(default_factory=dict)
    left_out: Sequence[str] = ()


@dataclass(frozen=True)
class Sheet:
    """A run under the rules of its report.

    Attributes:
        row: Its row of a board.
        corpus: The corpus that it was made on.
        evaluation: Its judged cases.
    """

    row: Row
    corpus: Corpus
    evaluation: Evaluation

    @property
    def rules(self) -> str:
        """The rules that its figures are by."""
        return self.evaluation.rules.name

    @property
    def figures(self) -> Row:
        """Its figures under those rules."""
        figures: Row = self.row["scores"][self.rules]
        return figures

    @property
    def shows_texts(self) -> bool:
        """Whether the texts of its corpus may be published."""
        return is_native(self.corpus)

    def part(self, name: str) -> tuple[Judged, ...]:
        """The judged cases of a part."""
        return self.evaluation.turns if name == SESSION else self.evaluation.cases

    def summaries(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """(part, summary) of the parts that have figures."""
        for name in PARTS:
            part = self.figures[name]
            if part is not None and part["summary"]:
                yield name, part["summary"]

    def hidden(self) -> list[str]:
        """Sentences on the parts that have no figures."""
        return [
            f"{self.row['label']}: {mark['part']}: {mark['text']}"
            for mark in self.figures["marks"]
            if mark["part"] is not None
            and self.figures[mark["part"]] is not None
            and not self.figures[mark["part"]]["summary"]
        ]


class Sheets(NamedTuple):
    """The sheets in the board's order, and what has none."""

    sheets: list[Sheet]
    left_out: list[str]


def sheets(runs: Sequence[Run]) -> Sheets:
    """A sheet of each run whose corpus is here."""
    numbered = [run._replace(file=str(number)) for number, run in enumerate(runs)]
    tree = board(numbered, published=False)
    found, left_out = [], []
    for row in tree["rows"]:
        if row["file"] is None:
            continue
        run = numbered[int(row["file"])]
        if run.corpus is None:
            left_out.append(f"{row['label']}: its corpus is not here")
        else:
            evaluation = judge(run.report, run.corpus)
            found.append(Sheet({**row, "file": None}, run.corpus, evaluation))
    return Sheets(found, left_out)


def epoch(date: str) -> int:
    """A row's date as seconds since 1970; a day is its beginning in UTC.

    >>> epoch("1970-01-02"), epoch("1970-01-01T00:00:09Z")
    (86400, 9)
    """
    found = datetime.fromisoformat(date)
    return int((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp())


def slug(text: str) -> str:
    """A text as a part of a path."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-.")[:60] or "unnamed"
