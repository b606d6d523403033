"""Starts a corpus of your own: a small valid one, with comments that explain every field.

It is a bicycle shop's: replace it row by row. Keys that start with ``_`` are
comments and stay unread, so that the explanations may stay as long as they help.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from .errors import InputError
from .schema import BELIEFS_FILE, CASES_FILE, SESSIONS_FILE
from .starter_rows import BELIEFS, CASES, SESSIONS

README_FILE = "README.md"

_README = f"""# A corpus for `pmb`
What a memory system should remember, and what must come back for which query. Three files:

* `{BELIEFS_FILE}`: the beliefs that are stored before anything is asked.
* `{CASES_FILE}`: single queries, each with the beliefs that must come back, and no others.
* `{SESSIONS_FILE}`: conversations, in which beliefs are added and changed between turns.

The first row of each file explains its fields in `_comment`. Keys that start with `_` are
never read. Replace the rows by your own, and check and run them:

```console
$ pmb data lint .
$ pmb run --corpus . --provider bm25
$ pmb run --corpus . --provider http://127.0.0.1:8080 --fail-under precision=0.8
```

A case is only as good as its reason. Write a `rationale` that somebody who knows the beliefs
would accept, and drop the case if you can't.
"""


def files() -> Mapping[str, str]:
    """The text of each file of the starting corpus, by file name."""
    rows = {BELIEFS_FILE: BELIEFS, CASES_FILE: CASES, SESSIONS_FILE: SESSIONS}
    texts = {
        name: json.dumps(content, ensure_ascii=False, allow_nan=False, indent=2) + "\n"
        for name, content in rows.items()
    }
    return texts | {README_FILE: _README}


def start(directory: str | Path) -> list[Path]:
    """Write the starting corpus into ``directory``, which is made if need be.

    Returns:
        The files that were written.

    Raises:
        InputError: If a file of that name is there already, or ``directory`` is a
            file. Then nothing is written: nothing is ever overwritten.
    """
    home = Path(directory)
    if home.exists() and not home.is_dir():
        raise InputError(f"{home} is a file; give a directory")
    texts = files()
    for name in texts:
        _refuse(home / name)
    home.mkdir(parents=True, exist_ok=True)
    written = []
    for name, text in texts.items():
        path = home / name
        try:
            # "x": a file that appeared meanwhile is not overwritten either.
            with path.open("x", encoding="utf-8", newline="\n") as file:
                file.write(text)
        except FileExistsError:
            _refuse(path)
        written.append(path)
    return written


def _refuse(path: Path) -> None:
    if path.exists() or path.is_symlink():
        raise InputError(f"{path} is there already and is not overwritten; give a new directory")
