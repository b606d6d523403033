"""The leaderboard: table, filters, what stands behind a row, download and citation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import gradio as gr
from heads import FRAME, about_heads, pressed
from heads import view as heads_of
from parts import choices, quiet, told, view
from source import Source

from pmb_hf.board.columns import (
    COLUMNS,
    COMPACT,
    DEFAULT_ORDER,
    NOTE,
    VIEWS,
    Column,
    choose,
    order,
    to_csv,
)
from pmb_hf.board.model import KINDS, Board, matching
from pmb_hf.board.static import notices

CITATION = """@misc{precisionmembench,
  title  = {PrecisionMemBench: does a memory system return what is needed, and nothing else?},
  note   = {Scored with pmb-hf; name the corpus, its SHA-256 and the rules with every figure},
  year   = {2026}
}"""
COPY = "(text) => { if (navigator.clipboard) navigator.clipboard.writeText(text); }"
SAVE = """
(text) => {
  const place = document.createElement("a");
  place.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  place.download = "precisionmembench.csv";
  place.click();
  setTimeout(() => URL.revokeObjectURL(place.href), 1000);
}
"""
_MUTED = "color: var(--muted)"


class Table(NamedTuple):
    """The components that say what is shown, in the order in which events take them."""

    corpus: gr.Dropdown
    rules: gr.Dropdown
    view: gr.Radio
    columns: gr.Dropdown
    query: gr.Textbox
    shown: gr.CheckboxGroup
    sort: gr.Dropdown
    down: gr.Checkbox
    frame: gr.Dataframe
    heads: gr.HTML
    about: gr.HTML
    row: gr.HTML
    download: gr.Button
    csv: gr.Textbox

    @property
    def filters(self) -> list[Any]:
        """What a view depends on."""
        return [
            *(self.corpus, self.rules, self.view, self.columns, self.query, self.shown),
            *(self.sort, self.down),
        ]


def tab(
    board: Board,
    corpus: gr.Dropdown,
    rules: gr.Dropdown,
    query: gr.Textbox,
) -> Table:
    """The tab; its events are set by :func:`events`."""
    with gr.Row(equal_height=True):
        views = gr.Radio(list(VIEWS), value=COMPACT, label="View", scale=1, min_width=180)
        with gr.Column(scale=1, min_width=180):
            sort = gr.Dropdown(
                [(column.label, column.id) for column in COLUMNS.values()],
                value=DEFAULT_ORDER,
                label="Sort by",
                interactive=True,
            )
            down = gr.Checkbox(label="Worst first", value=False)
        shown = gr.CheckboxGroup(list(KINDS), value=list(KINDS), label="Show rows", scale=3)
    with gr.Accordion("Choose columns", open=False):
        columns = gr.Dropdown(
            [(column.label, column.id) for column in COLUMNS.values() if column.id != "name"],
            value=[],
            multiselect=True,
            label="Columns (none: those of the view)",
        )
    rows = shown_rows(board, *board.choose(), "", list(KINDS))
    picked = choose(COMPACT)
    frame = gr.Dataframe(
        value=cells(rows, picked),
        **looks(picked),
        interactive=False,
        show_search="none",
        max_height=640,
        label="Leaderboard",
        show_label=False,
        buttons=["copy", "fullscreen"],
        elem_id=FRAME,
        elem_classes="board-table",
        latex_delimiters=[],
    )
    heads = heads_of(about_heads(rows, picked, DEFAULT_ORDER, False))
    row = view("tell", None, "About the chosen row")
    about = view("tell", facts(board, *board.choose(), rows), "About this board")
    download = gr.Button("Download as CSV", size="sm", elem_classes="share")
    csv = gr.Textbox(visible=False)
    with gr.Accordion("Cite", open=False):
        citation = gr.Textbox(CITATION, label="BibTeX", lines=5, max_lines=8, interactive=False)
        copied = gr.Button("Copy the citation", size="sm", elem_classes="share")
        copied.click(None, citation, None, js=COPY, **quiet())
    return Table(
        corpus,
        rules,
        views,
        columns,
        query,
        shown,
        sort,
        down,
        frame,
        heads,
        about,
        row,
        download,
        csv,
    )


def shown_rows(
    board: Board,
    corpus: str | None,
    rules: str | None,
    query: str,
    shown: Sequence[str],
    sort: str | None = None,
    down: bool = False,
) -> list[Mapping[str, Any]]:
    """The rows that the filter leaves, from best to worst, or worst first."""
    chosen = board.choose(corpus or "", rules or "")
    found = matching(board.rows(*chosen), query or "", shown or ())
    return order(found, sort or DEFAULT_ORDER, down=bool(down))


def cells(rows: Sequence[Mapping[str, Any]], columns: Sequence[Column]) -> dict[str, Any]:
    """Rows for the table: numbers to sort by, and their texts to show."""
    return {
        "headers": [column.head for column in columns],
        "data": [[column.value(row) for column in columns] for row in rows],
        "metadata": {
            "display_value": [[column.shown(row) for column in columns] for row in rows],
            "styling": [
                [_MUTED if row["control"] or not row["ranked"] else "" for _ in columns]
                for row in rows
            ],
        },
    }


def looks(columns: Sequence[Column]) -> dict[str, Any]:
    """How the table shows these columns."""
    return {
        "headers": [column.head for column in columns],
        "datatype": ["number" if column.numeric else "str" for column in columns],
        "column_widths": [column.width for column in columns],
        "column_count": len(columns),
        "pinned_columns": 1,
    }


def facts(
    board: Board, corpus: str, rules: str, rows: Sequence[Mapping[str, Any]]
) -> dict[str, Any] | None:
    """Where the figures come from: corpus, hash, date, and how many rows are shown."""
    if not board.entries:
        return None
    about = board.corpora.get(corpus, {})
    total = len(board.rows(corpus, rules))
    found = [
        ("rows", f"{len(rows)} of {total}" if len(rows) != total else str(total)),
        ("corpus", str(about.get("told") or corpus)),
        ("SHA-256", about.get("sha256") or "not known"),
        ("rules", rules),
        ("last updated", board.updated or "not told by the export"),
    ]
    notes = [NOTE]
    if not rows:
        notes.insert(0, "No row fits the filter.")
    return {"facts": found, "notes": notes}


def events(source: Source, table: Table, notices_view: gr.HTML) -> None:
    """Keep the table in step with its filters."""

    @told
    def show(*filters: Any) -> tuple[Any, ...]:
        corpus, rules, view_name, ids, query, shown, sort, down = filters
        board = source.board()
        corpus, rules = board.choose(corpus or "", rules or "")
        rows = shown_rows(board, corpus, rules, query, shown, sort, down)
        columns = choose(view_name, ids or [])
        heads = about_heads(rows, columns, sort, down)
        frame = gr.Dataframe(value=cells(rows, columns), **looks(columns))
        sets = gr.Dropdown(choices=choices(board.rules(corpus)), value=rules or None)
        return frame, heads, facts(board, corpus, rules, rows), sets, notices(board), None

    outputs = [table.frame, table.heads, table.about, table.rules, notices_view, table.row]
    gr.on(
        [
            table.corpus.input,
            table.rules.input,
            table.view.input,
            table.columns.input,
            table.query.change,
            table.shown.input,
            table.sort.input,
            table.down.input,
        ],
        show,
        table.filters,
        outputs,
        trigger_mode="always_last",
        **quiet(),
    )

    @told
    def press(event: gr.EventData, *filters: Any) -> tuple[Any, ...]:
        *others, sort, down = filters
        columns = choose(others[2], others[3] or [])
        sorting = pressed(getattr(event, "column", None), columns, sort, down)
        return *sorting, *show(*others, *sorting)

    table.heads.click(
        press,
        table.filters,
        [table.sort, table.down, *outputs],
        trigger_mode="always_last",
        **quiet(),
    )

    @told
    def tell(corpus: str, rules: str, event: gr.SelectData) -> dict[str, Any] | None:
        board = source.board()
        values = event.row_value or []
        name = values[0] if values else None
        found = [
            r for r in board.rows(*board.choose(corpus or "", rules or "")) if r["name"] == name
        ]
        return about_row(found[0]) if found else None

    table.frame.select(tell, [table.corpus, table.rules], table.row, **quiet())

    @told
    def write(*filters: Any) -> str:
        corpus, rules, view_name, ids, query, shown, sort, down = filters
        board = source.board()
        rows = shown_rows(board, corpus, rules, query, shown, sort, down)
        return to_csv(rows, choose(view_name, ids or []))

    # The file is made in the browser: nothing is written here.
    table.download.click(write, table.filters, table.csv, **quiet()).then(
        None, table.csv, None, js=SAVE, **quiet()
    )


def about_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """What stands behind a row."""
    return {
        "title": row["name"],
        "warnings": list(row["marks"]),
        "facts": list(row["facts"]),
    }
