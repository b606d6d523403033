"""The board as one HTML file that needs no server and loads nothing."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from string import Template
from typing import Any

from .._version import __version__
from ..errors import InputError
from ..files import check_source, write_atomically
from ..measure_table import measure_table, rules_table
from ..measures import MEASURES
from ..pages.markup import Markup, join, json_script, table, tag, text
from .about import HOW_TO_RUN, HOW_TO_SUBMIT, QUESTIONS
from .columns import COLUMNS, DEFAULT_ORDER, IDENTITY, NOTE, identity, order
from .model import Board, Key
from .reader import read_export
from .style import marks, noise_labels, palette, plotly_file, shared

FILE = "index.html"
_TITLE = b"<title>PrecisionMemBench leaderboard</title>"
_HEAD_BYTES = 4096


def render(board: Board) -> str:
    """The page of a board; an empty board gives a page that says how to make one."""
    plotly = plotly_file().read_text(encoding="utf-8")
    own, script = shared("board.js"), shared("static.js")
    return Template(shared("index.html")).substitute(
        policy=_policy(own, script, plotly),
        style=palette() + shared("board.css") + shared("static.css"),
        about=_about(),
        version=text(__version__),
        data=json_script("board-data", _data(board)),
        board=own,
        script=script,
        plotly=plotly,
    )


def check_static(folder: str | Path) -> None:
    """Refuse a folder whose ``index.html`` is no page of ours.

    Raises:
        InputError: If it is somebody's own.
    """
    path = Path(folder) / FILE
    if path.is_symlink() or (path.exists() and not _is_own(path)):
        raise InputError(
            f"{path} is no page of an export: move it away to keep it, or choose another folder"
        )


def _is_own(path: Path) -> bool:
    try:
        check_source(path)
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except (OSError, InputError):
        return False
    return _TITLE in head


def write_static(folder: str | Path, out: str | Path | None = None) -> Path:
    """Write the page of an export folder, as ``index.html`` in it if ``out`` is not given.

    Raises:
        OSError: If it can't be written.
    """
    path = Path(folder) / FILE if out is None else Path(out)
    write_atomically(path, render(read_export(folder)))
    return path


def _policy(*scripts: str) -> str:
    """Nothing may be loaded, and no script may run but those that are ours, by their hash."""
    digests = (hashlib.sha256(script.encode()).digest() for script in scripts)
    hashes = " ".join(f"'sha256-{base64.b64encode(d).decode()}'" for d in digests)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _about() -> Markup:
    """Our own texts: the Markdown of two of them has only paragraphs and fenced commands."""
    questions = [join([tag("h3", asked), tag("p", told)]) for asked, told in QUESTIONS]
    parts = [*_paragraphs(HOW_TO_RUN), *_paragraphs(HOW_TO_SUBMIT), tag("h2", "Questions")]
    return join([*parts, *questions, rules_markup(), measures_markup()])


def rules_markup() -> Markup:
    """The rules side by side, as a table."""
    return _table("The rules side by side", rules_table())


def measures_markup() -> Markup:
    """All measures, as a table."""
    return _table("All measures", measure_table())


def _paragraphs(markdown: str) -> Iterable[Markup]:
    for number, block in enumerate(markdown.split("```")):
        if number % 2:
            yield tag("pre", tag("code", Markup(text_lines(block.removeprefix("console").strip()))))
            continue
        for part in block.strip().split("\n\n"):
            lines = part.strip().splitlines()
            if lines and lines[0].startswith("### "):
                yield tag("h2", lines.pop(0).removeprefix("### "))
            if lines:
                yield tag("p", " ".join(lines).replace("`", ""))


def text_lines(block: str) -> str:
    """Lines of a command, escaped, with their breaks."""
    return "\n".join(text(line) for line in block.splitlines())


def _table(title: str, markdown: str) -> Markup:
    """A table of the package's own declarations, which it gives as Markdown."""
    lines = [line.strip("|").split(" | ") for line in markdown.splitlines()]
    cleaned = [[_plain(cell) for cell in line] for line in lines]
    return table(title, cleaned[0], cleaned[2:], class_="plain", numbers=False)


def _plain(cell: str) -> str:
    return cell.strip().strip("|").strip().replace("`", "").replace("\\", "")


def _data(board: Board) -> dict[str, Any]:
    pool = _Pool()
    columns = [*COLUMNS.values()]
    return {
        "columns": [_column(column) for column in columns],
        "order": DEFAULT_ORDER,
        "identity": IDENTITY,
        "note": NOTE,
        "rows": [
            {
                **{key: row[key] for key in _KEPT},
                "values": [column.value(row) for column in columns],
                "shown": [column.shown(row) for column in columns],
                "identity": identity(row),
            }
            for row in order(board.entries)
        ],
        "corpora": [_corpus(board, name) for name in board.corpora],
        "answers": _answers(board, pool),
        "pool": pool.texts,
        "updated": board.updated,
        "notices": notices(board),
        "style": marks(),
        "noise_labels": noise_labels(),
    }


_KEPT = (
    *("run", "corpus", "rules", "name", "full", "control", "ranked", "published", "incomplete"),
    *("apart", "marks", "parts", "categories", "noise", "turns", "facts", "search"),
)


def notices(board: Board) -> dict[str, Any] | None:
    """What must be said above everything: nothing to show, or what could not be read."""
    if not board.entries:
        return {
            "empty": "There is nothing to show yet.",
            "command": "pmb export reports/*.json -o hf_export",
            "errors": list(board.problems)[:5],
        }
    return {"warnings": list(board.problems)[:5]} if board.problems else None


def _column(column: Any) -> dict[str, Any]:
    measure = MEASURES.get(column.key) if column.what == "value" else None
    return {
        "id": column.id,
        "head": column.head,
        "label": column.label,
        "numeric": column.numeric,
        "n_id": column.n_id,
        "better": column.better,
        "compact": column.compact,
        "definition": None if measure is None else measure.definition,
    }


def _corpus(board: Board, name: str) -> dict[str, Any]:
    """Texts that all cases share stand once; a case keeps those that differ."""
    cases = board.cases.get(name, ())
    common: dict[str, str] = {}
    for case in cases:
        for belief, says in case["info"]["texts"].items():
            common.setdefault(belief, says)
    return {
        "id": name,
        **board.corpora[name],
        "texts": common,
        "cases": [
            {
                **case,
                "info": {
                    **case["info"],
                    "texts": {
                        b: says for b, says in case["info"]["texts"].items() if common[b] != says
                    },
                },
            }
            for case in cases
        ],
    }


class _Pool:
    """Texts that occur often, by number."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._places: dict[str, int] = {}

    def place(self, value: str) -> int:
        if value not in self._places:
            self._places[value] = len(self.texts)
            self.texts.append(value)
        return self._places[value]


def _answers(board: Board, pool: _Pool) -> dict[str, dict[str, list[Any]]]:
    """Answers by run, with their scores under each set of rules."""
    found: dict[str, dict[str, list[Any]]] = {}
    for row in board.entries:
        answers = board.answers.get(row["id"])
        if not answers:
            continue
        of_run = found.setdefault(row["run"], {})
        for key, answer in answers.items():
            packed = of_run.setdefault(_key(key), _packed(answer, pool))
            packed[-1][row["rules"]] = [answer[name] for name in ("precision", "recall", "drift")]
    return found


def _key(key: Key) -> str:
    case_id, turn = key
    return f"{case_id}\n{'' if turn is None else turn}"


def _packed(answer: Mapping[str, Any], pool: _Pool) -> list[Any]:
    def entries(name: str) -> list[list[int]]:
        return [[pool.place(e[part]) for part in ("id", "mark", "note")] for e in answer[name]]

    return [
        pool.place(answer["status"]),
        answer["error"],
        int(answer["passed"]),
        answer["latency"],
        entries("relevant"),
        entries("missing"),
        [pool.place(line) for line in answer["failures"]],
        {},
    ]
