"""The heads of the table: pressing one sorts, and hovering over a mean tells its n."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import gradio as gr

from pmb_hf.board.columns import COLUMNS, DEFAULT_ORDER, Column

FRAME = "leaderboard"
# The menu that Gradio puts into heads sorts in the page only: links, pictures and the file could
# not follow it, and it mixes controls into the ranking. A head that is pressed sorts here instead.
HEADS = """
const own = (query) => `#FRAME ${query}`;
const mark = () => {
  const { column, direction } = props.value || {};
  for (const head of document.querySelectorAll(own("th[role=columnheader]"))) {
    if (Number(head.dataset.heading) === column) head.setAttribute("aria-sort", direction);
    else head.removeAttribute("aria-sort");
  }
};
const press = (target) => {
  const head = target.closest && target.closest(own("th[role=columnheader]"));
  if (head) trigger("click", { column: Number(head.dataset.heading) });
};
const hover = (target) => {
  const cell = target.closest && target.closest(own("[role=gridcell]"));
  if (!cell) return;
  const n = ((props.value || {}).n || [])[cell.dataset.row]?.[cell.dataset.col];
  if (n === null || n === undefined) cell.removeAttribute("title");
  else cell.title = `n = ${n}`;
};
if (!window.pmbHeads) {
  let due = false;
  const later = () => {
    if (due) return;
    due = true;
    requestAnimationFrame(() => { due = false; window.pmbHeads.mark(); });
  };
  new MutationObserver(later).observe(document.body, { childList: true, subtree: true });
  document.addEventListener("click", (event) => window.pmbHeads.press(event.target), true);
  document.addEventListener("mouseover", (event) => window.pmbHeads.hover(event.target));
  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") window.pmbHeads.press(event.target);
  }, true);
}
window.pmbHeads = { mark, press, hover };
mark();
watch("value", mark);
""".replace("FRAME", FRAME)


class Sorting(NamedTuple):
    """A column's id, and whether the worst comes first."""

    sort: str
    down: bool


def view(value: Mapping[str, Any]) -> gr.HTML:
    """A component that shows nothing, and is clicked with the number of a head."""
    return gr.HTML(
        value=value,
        html_template='<div class="pmb"></div>',
        js_on_load=HEADS,
        apply_default_css=False,
        label="Heads of the table",
    )


def about_heads(
    rows: Sequence[Mapping[str, Any]], columns: Sequence[Column], sort: str | None, down: bool
) -> dict[str, Any]:
    """Which head is sorted, and the n behind each cell, to be read on hovering."""
    by = COLUMNS.get(sort or "", COLUMNS[DEFAULT_ORDER])
    high_first = (by.better == "higher") != bool(down)
    counts = [None if c.n_id is None else COLUMNS[c.n_id] for c in columns]
    return {
        "column": columns.index(by) if by in columns else None,
        "direction": "descending" if high_first else "ascending",
        "n": [[None if c is None else c.value(row) for c in counts] for row in rows],
    }


def pressed(column: object, shown: Sequence[Column], sort: str | None, down: bool) -> Sorting:
    """The order after a head was pressed: that column, or the other way round if it was."""
    if type(column) is not int or not 0 <= column < len(shown):
        return Sorting(sort or DEFAULT_ORDER, bool(down))
    found = shown[column].id
    return Sorting(found, found == (sort or DEFAULT_ORDER) and not down)
