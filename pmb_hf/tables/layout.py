"""What all tables look like: no frame, one line under the head, numbers to the right."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich import box
from rich.cells import cell_len
from rich.console import Group
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from .cells import NONE
from .remarks import Remark
from .text import clean

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult

DIM, BOLD, GOOD, BAD, WARN = "dim", "bold", "green", "red", "yellow"
_SEPARATED = re.compile(r"[^-_/.=: ]*[-_/.=: ]|[^-_/.=: ]+")


def table(title: str) -> Table:
    """An empty table whose first column is headed by ``title`` and holds labels."""
    made = Table(
        box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, collapse_padding=True, header_style=""
    )
    made.add_column(Text(title, style=BOLD), overflow="fold")
    return made


def add_number(made: Table, head: str | Text) -> None:
    """Add a column of numbers."""
    text = Text(head, style=DIM) if isinstance(head, str) else head
    made.add_column(text, justify="right", no_wrap=True)


def add_text(made: Table, head: str, *, keep: bool = False) -> None:
    """Add a column of text, which gives way to others if the terminal is narrow unless ``keep``."""
    made.add_column(Text(head, style=DIM), no_wrap=keep, overflow="fold")


def plain(text: str, style: str = "", limit: int | None = None) -> Text:
    """Foreign text, made safe, as it is: brackets in it are no markup."""
    return Text(clean(text, limit), style=style)


def short(text: str, style: str = "") -> Text:
    """Like :func:`plain`, but cut where its column ends, and not wrapped."""
    # Said of the text, not of its column: rich shrinks columns that may wrap before all others.
    return Text(clean(text), style=style, no_wrap=True, overflow="ellipsis")


def value(text: str, style: str = "") -> Text:
    """A number; a dash is dim."""
    return Text(text, style=DIM if text == NONE else style)


def with_n(text: str, n: float | int | None, width: int, style: str = "") -> Text:
    """A number with the number of cases behind it, dim, in ``width`` columns."""
    shown = f"{n:,.0f}" if n else ""
    return Text.assemble(value(text, style), (" " + shown.rjust(width), DIM))


def pairs(rows: Iterable[tuple[str, RenderableType]]) -> Table:
    """Two columns without a head: dim labels, and texts that wrap beside them."""
    made = Table.grid(padding=(0, 2))
    made.add_column(style=DIM, no_wrap=True)
    made.add_column(overflow="fold")
    for label, content in rows:
        made.add_row(label, content)
    return made


def apart(remarks: Iterable[Remark]) -> tuple[list[Group], list[Group]]:
    """What must be seen before the figures, and what may stand below; no list if empty."""
    rows = list(remarks)
    parts = ([r for r in rows if r.serious], [r for r in rows if not r.serious])
    serious, other = ([Group(*remark_list(part))] if part else [] for part in parts)
    return serious, other


def remark_list(remarks: Iterable[Remark]) -> list[Table]:
    """Sentences as a list; what a reader must not miss stands out."""
    made = []
    for remark in remarks:
        row = Table.grid(padding=(0, 1))
        row.add_column(style=WARN if remark.serious else DIM)
        row.add_column(overflow="fold")
        row.add_row(
            "!" if remark.serious else "·", Text(remark, style=WARN if remark.serious else "")
        )
        made.append(row)
    return made


class Id:
    """An id or a path: if its column is narrow, it goes on in a new line at a separator."""

    def __init__(self, text: str, style: str = "") -> None:
        """Make foreign text safe."""
        self._parts = _SEPARATED.findall(clean(text))
        self._style = style

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """From its longest part to all of it."""
        widths = [cell_len(part) for part in self._parts]
        return Measurement(max(widths, default=0), sum(widths)).with_maximum(options.max_width)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """As many parts a line as there is room for."""
        lines = [""]
        for part in self._parts:
            if lines[-1] and cell_len(lines[-1] + part) > options.max_width:
                lines.append("")
            lines[-1] += part
        yield Text("\n".join(lines), style=self._style, overflow="fold")
