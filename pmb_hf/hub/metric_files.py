"""The metric's repository: a Space that ``evaluate.load`` loads and that shows a page."""

from __future__ import annotations

import json

from .. import assets
from ..corpus import load_corpus
from ..dataset_rows import rows
from ..errors import PmbError
from .card import with_fields
from .names import Names
from .packing import Files, read_folder

SOURCE = "precisionmembench"
_STATIC_PAGE = "index.html"
_PAGE = ("app.py", "parquet_rows.py", "visitors.py")
"""The page that a Gradio Space runs, and what it alone needs."""


def metric_files(names: Names, sdk: str) -> Files:
    """Its files, links replaced by what they lead to.

    The script bears the Space's name, since ``evaluate`` looks for it so. Of a
    static Space the page is plain HTML and the Gradio app stays away.
    """
    folder = assets.find("metric") / SOURCE
    # The links lead into the package, beside or around the folder.
    files = read_folder(folder, inside=folder.resolve().parent.parent)
    script = f"{names.metric.partition('/')[2]}.py"
    try:
        files[script] = files.pop(f"{SOURCE}.py")
    except KeyError:
        raise PmbError(f"{folder / SOURCE}.py is missing; install pmb-hf again") from None
    files |= _references()
    fields: dict[str, object] = {"sdk": sdk, "datasets": [names.dataset]}
    if sdk == "static":
        for part in _PAGE:
            del files[part]
        fields |= {"sdk_version": None, "python_version": None, "app_file": _STATIC_PAGE}
    else:
        del files[_STATIC_PAGE]
    card = with_fields(files["README.md"].decode(), fields, str(folder / "README.md"))
    files["README.md"] = _named(card, names).encode()
    for page in ("app.py", "tests.py", _STATIC_PAGE):
        if page in files:
            files[page] = _named(files[page].decode(), names).encode()
    return files


def _references() -> Files:
    """The native corpus' cases, so that the page needs nothing else to score predictions."""
    corpus = load_corpus("native")
    return {
        f"references/{config}.json": (
            json.dumps(rows(corpus, config), ensure_ascii=False, allow_nan=False) + "\n"
        ).encode()
        for config in ("retrieval", "sessions")
    }


def _named(text: str, names: Names) -> str:
    """``text`` with the examples' names replaced by those that are loaded from the Hub."""
    return text.replace(f'evaluate.load("{SOURCE}"', f'evaluate.load("{names.metric}"').replace(
        f'load_dataset("{SOURCE}"', f'load_dataset("{names.dataset}"'
    )
