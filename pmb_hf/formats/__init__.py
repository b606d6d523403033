"""Runs in the formats of others: TREC, Every Eval Ever, MTEB, and the Hub's ``.eval_results``.

Each format is a module with a function ``files``, which gives the content of every file by its
path. What stands for an aggregate is only written for runs that have figures: a run with cases
missing or unanswered is left out, and said so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ..errors import InputError, UnknownNameError
from ..files import write_atomically
from ..leaderboard.board import Run
from . import eval_results, every_eval_ever, mteb, trec
from .sheets import Files, Sheet, sheets

FORMATS: Mapping[str, Callable[[Sequence[Sheet], str | None], Files]] = {
    "trec": trec.files,
    "eee": every_eval_ever.files,
    "mteb": mteb.files,
    "eval-results": eval_results.files,
}
"""The formats by name."""


class Written(NamedTuple):
    """The files that were written, by their path, and what was left out and why."""

    files: tuple[str, ...]
    left_out: tuple[str, ...]


def write(form: str, runs: Sequence[Run], out: Path, *, repo: str | None = None) -> Written:
    """Write runs to the directory ``out`` in a format; other files there are left alone.

    Args:
        form: One of ``FORMATS``.
        runs: The runs.
        out: The directory.
        repo: The dataset's repository on the Hub, which ``eval-results`` names.

    Raises:
        UnknownNameError: If there is no such format.
        InputError: If the format needs what is not given, or the files can't be written.
    """
    if form not in FORMATS:
        raise UnknownNameError(f"no format {form!r}; there are: {', '.join(FORMATS)}")
    found = sheets(runs)
    made = FORMATS[form](found.sheets, repo)
    try:
        for path, text in made.content.items():
            write_atomically(out / path, text)
    except OSError as error:
        raise InputError(f"can't write to {out}: {error}") from error
    return Written(tuple(made.content), (*found.left_out, *made.left_out))
