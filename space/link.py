"""The view as an address: ``?corpus=…&rules=…&provider=…``, made and read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import gradio as gr
from board_tab import Table, about_heads, cells, facts, looks, shown_rows
from cases_tab import SYSTEMS_SHOWN, answered
from compare_tab import compared, first_of, with_answers
from parts import choices, offered, quiet, told
from source import Source

from pmb_hf.board.columns import COLUMNS, DEFAULT_ORDER, VIEWS, choose
from pmb_hf.board.model import KINDS, SYSTEMS_COMPARED, Board
from pmb_hf.board.static import notices

KEYS = frozenset(
    {"corpus", "rules", "view", "column", "q", "show", "sort", "down", "provider", "case", "tab"}
)
TABS = ("board", "look", "compare", "cases", "score", "about")

MOST_SYSTEMS = 24
"""Of a link to the tab "Cases"; "Compare" takes fewer."""

# Gradio hands over the values of the inputs in the order of `copying`.
COPY = """
(corpus, rules, view, columns, query, shown, sort, down, compared, answered, one) => {
  const link = new URL(window.location.href);
  const kept = ["__theme", "__sign"];
  for (const key of [...link.searchParams.keys()]) {
    if (!kept.includes(key)) link.searchParams.delete(key);
  }
  const put = (key, value) => { if (value) link.searchParams.set(key, value); };
  put("corpus", corpus); put("rules", rules); put("q", query); put("case", one);
  if (view && view !== "compact") put("view", view);
  if (sort && sort !== "DEFAULT_ORDER") put("sort", sort);
  if (down) put("down", "1");
  const tab = document.querySelector('button[role="tab"][aria-selected="true"]');
  const place = tab ? tab.dataset.tabId : "board";
  const providers = place === "cases" ? answered : compared;
  for (const column of columns || []) link.searchParams.append("column", column);
  for (const provider of providers || []) link.searchParams.append("provider", provider);
  if (shown && shown.length < KINDS) { put("show", shown.join(",") || "none"); }
  if (place !== "board") put("tab", place);
  link.searchParams.delete("__sign");
  const address = link.toString();
  window.history.replaceState(null, "", address);
  if (navigator.clipboard) navigator.clipboard.writeText(address).catch(() => {});
  return address;
}
""".replace("DEFAULT_ORDER", DEFAULT_ORDER).replace("KINDS", str(len(KINDS)))


class State(NamedTuple):
    """What a link restores; ``case`` is a case's or session's id.

    ``providers`` are those of the tab that it opens: "Cases" may show more than "Compare".
    """

    corpus: str
    rules: str
    view: str
    columns: list[str]
    query: str
    shown: list[str]
    sort: str
    down: bool
    providers: list[str]
    case: str | None
    tab: str


def read(params: Iterable[tuple[str, str]], board: Board) -> State:
    """The state that an address asks for; what the board does not have falls back."""
    given: dict[str, list[str]] = {}
    for key, value in params:
        given.setdefault(key, []).append(value)

    def first(key: str) -> str:
        return given.get(key, [""])[0]

    corpus, rules = board.choose(first("corpus"), first("rules"))
    names = [row["name"] for row in board.rows(corpus, rules)]
    shown = list(KINDS)
    if "show" in given:
        shown = [kind for kind in KINDS if kind in first("show").split(",")]
    case, tab, view = first("case"), first("tab"), first("view")
    most = MOST_SYSTEMS if tab == "cases" else SYSTEMS_COMPARED
    return State(
        corpus=corpus,
        rules=rules,
        view=view if view in VIEWS else VIEWS[0],
        columns=[name for name in given.get("column", []) if name in COLUMNS],
        query=first("q")[:200],
        shown=shown,
        sort=first("sort") if first("sort") in COLUMNS else DEFAULT_ORDER,
        down=first("down") == "1",
        providers=list(dict.fromkeys(n for n in given.get("provider", []) if n in names))[:most],
        case=case if case in dict(board.titles(corpus)).values() else None,
        tab=tab if tab in TABS else TABS[0],
    )


class Places(NamedTuple):
    """What a link restores beside the table."""

    tabs: gr.Tabs
    chosen: gr.Dropdown
    comparison: gr.HTML
    case: gr.Dropdown
    systems: gr.Dropdown
    answers: gr.HTML
    notices: gr.HTML


def copying(
    table: Table,
    systems: Sequence[gr.Dropdown],
    case: gr.Dropdown,
    share: gr.Button,
    address: gr.Textbox,
) -> None:
    """Copy a link to the view, put it into the address bar, and show it.

    ``systems`` are those of "Compare" and those of "Cases".
    """
    inputs = [*table.filters, *systems, case]
    share.click(None, inputs, address, js=COPY, **quiet())
    share.click(lambda: gr.Textbox(visible=True), None, address, **quiet())


def events(source: Source, demo: gr.Blocks, table: Table, places: Places) -> None:
    """Restore the view that a link names."""
    built = source.board()

    @told
    def restore(request: gr.Request) -> Any:
        board = source.board()
        found = request.request.query_params.multi_items() if request.request else []
        params = [(key, value) for key, value in found if key in KEYS]
        # The page shows the usual view already; what a visitor has done meanwhile must stay.
        if not params and board is built:
            return [gr.skip()] * len(outputs)
        state = read(params, board)
        rows = shown_rows(
            *(board, state.corpus, state.rules, state.query, state.shown, state.sort, state.down)
        )
        columns = choose(state.view, state.columns)
        known = with_answers(board, state.corpus, state.rules)
        names = choices(row["name"] for row in known)
        titles = board.titles(state.corpus)
        case = state.case or (titles[0][1] if titles else None)
        pair = state.providers[:SYSTEMS_COMPARED] or first_of(known, 2)
        shown = state.providers or first_of(known, SYSTEMS_SHOWN)
        return (
            gr.Dropdown(choices=offered(board.choices()), value=state.corpus or None),
            gr.Dropdown(choices=choices(board.rules(state.corpus)), value=state.rules or None),
            state.view,
            state.columns,
            state.query,
            state.shown,
            state.sort,
            state.down,
            gr.Dataframe(value=cells(rows, columns), **looks(columns)),
            about_heads(rows, columns, state.sort, state.down),
            facts(board, state.corpus, state.rules, rows),
            # Without a wish, the tab that a visitor has opened meanwhile stays.
            gr.Tabs(selected=state.tab) if params else gr.skip(),
            gr.Dropdown(choices=names, value=pair),
            compared(board, state.corpus, state.rules, pair),
            gr.Dropdown(choices=offered(titles), value=case),
            gr.Dropdown(choices=names, value=shown),
            answered(board, state.corpus, state.rules, case, shown),
            notices(board),
        )

    outputs = [*table.filters, table.frame, table.heads, table.about, *places]
    demo.load(restore, None, outputs, **quiet())
