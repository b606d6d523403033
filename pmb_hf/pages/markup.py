"""HTML that can't be broken by what it shows: text is escaped unless it is made here."""

from __future__ import annotations

import json
from collections.abc import Iterable
from html import escape
from typing import Any

from ..tables.text import clean

Attribute = str | int | bool | None

_VOID = frozenset({"br", "input", "meta"})


class Markup(str):
    """HTML that is ready; any other string is foreign text and is escaped."""

    __slots__ = ()


def text(value: str, limit: int | None = None) -> Markup:
    """Foreign text: unseen characters made visible, cut to ``limit``, then escaped.

    >>> text('<b> & "x"')
    '&lt;b&gt; &amp; &quot;x&quot;'
    """
    return Markup(escape(clean(value, limit)))


def join(parts: Iterable[str | None], between: str = "") -> Markup:
    """Parts one after the other; ``None`` is left out."""
    glue = _ready(between)
    return Markup(glue.join(_ready(part) for part in parts if part is not None))


def tag(element: str, /, *children: str | None, **attributes: Attribute) -> Markup:
    """An element.

    In names of attributes, ``_`` stands for ``-``; one at the end is dropped, so
    that ``class_`` and ``for_`` can be written. ``True`` is an attribute without a
    value, ``None`` and ``False`` leave it out.

    >>> tag("a", "1 < 2", href="#x", class_="note", hidden=False)
    '<a href="#x" class="note">1 &lt; 2</a>'
    """
    opened = "".join(_attribute(key, value) for key, value in attributes.items())
    if element in _VOID:
        return Markup(f"<{element}{opened}>")
    return Markup(f"<{element}{opened}>{join(children)}</{element}>")


def _ready(part: str) -> str:
    return part if isinstance(part, Markup) else text(part)


def _attribute(key: str, value: Attribute) -> str:
    name = key.rstrip("_").replace("_", "-")
    if value is None or value is False:
        return ""
    return f" {name}" if value is True else f' {name}="{_ready(str(value))}"'


def lines(value: str) -> Markup:
    """Foreign text with its line breaks."""
    return join((text(line) for line in value.splitlines()), tag("br"))


def name(value: str, limit: int | None = None) -> Markup:
    """A foreign name; its direction of writing does not touch its surroundings."""
    return tag("bdi", text(value, limit))


def json_script(identity: str, value: Any) -> Markup:
    """JSON inside a page: no character of it can end the script or start a comment."""
    made = json.dumps(value, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        made = made.replace(character, f"\\u{ord(character):04x}")
    return Markup(f'<script type="application/json" id="{_ready(identity)}">{made}</script>')


def table(
    caption: str,
    heads: Iterable[str],
    rows: Iterable[Iterable[str]],
    *,
    class_: str | None = None,
    numbers: bool = True,
) -> Markup:
    """A table that scrolls inside its own box; the first cell of a row heads it.

    Rows hold texts, or whole cells (``td``) as :class:`Markup`.
    """
    first, *others = heads
    kind = "num" if numbers else None
    head = join(
        [
            tag("th", first, scope="col"),
            *(tag("th", head, scope="col", class_=kind) for head in others),
        ]
    )
    body = []
    for row in rows:
        label, *cells = row
        made = [cell if _is_cell(cell) else tag("td", cell, class_=kind) for cell in cells]
        body.append(tag("tr", tag("th", label, scope="row"), join(made)))
    return framed(caption, tag("thead", tag("tr", head)), tag("tbody", join(body)), class_=class_)


def framed(caption: str, *content: Markup, class_: str | None = None) -> Markup:
    """A table in its box. What is seen of the caption stays when the box is scrolled."""
    seen = tag("p", caption, class_="caption", aria_hidden="true")
    whole = tag("table", tag("caption", caption, class_="sr"), *content, class_=class_)
    box = tag("div", whole, class_="scroll", tabindex=0, role="region", aria_label=caption)
    return join([seen, box])


def _is_cell(part: str) -> bool:
    return isinstance(part, Markup) and part.startswith("<td")
