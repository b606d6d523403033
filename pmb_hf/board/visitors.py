"""What visitors of a page hand in: where their files lie, for how long, and what is refused.

Needs no other module of the package: the metric's page holds a copy.
"""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

VARIABLE = "GRADIO_TEMP_DIR"
KEPT = "ten minutes"
"""For how long an upload is kept at most; the next two come to less."""
KEPT_S = 540.0
EVERY_S = 30.0
GONE = "The file is no longer here; choose it again."
REFUSED = "This app fetches no address; upload the file itself."

_made: list[Path] = []


def own_folder() -> Path:
    """The folder for uploads, of this process alone: swept by age, gone when it ends.

    It lies in ``GRADIO_TEMP_DIR`` if that is set, and is what the variable names afterwards.
    Call it before gradio is imported.
    """
    asked = os.environ.get(VARIABLE)
    for folder in _made:
        if str(folder) == asked and folder.is_dir():
            return folder
    if asked:
        Path(asked).mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="pmb-uploads-", dir=asked or None)).resolve()
    _made.append(folder)
    os.environ[VARIABLE] = str(folder)
    atexit.register(_remove, folder, os.getpid())
    threading.Thread(target=_keep_swept, args=(folder,), daemon=True).start()
    return folder


def uploaded(path: str | None) -> Path | None:
    """The file, if it is one that a visitor uploaded and that is still there."""
    if not path:
        return None
    file = Path(path)
    is_ours = any(file.parent.parent == folder for folder in _made)
    return file if is_ours and file.is_file() and not file.is_symlink() else None


def sweep(folder: Path, older_s: float = KEPT_S, now: float | None = None) -> None:
    """Delete the uploads in ``folder`` that are older than ``older_s`` seconds, and what is empty.

    Uploads of the same bytes are one file, which is as old as the last of them. So it is not
    deleted when it has been scored: another visitor may be about to score it.
    """
    moment = time.time() if now is None else now
    for path in _content(folder):
        is_old = moment - _time_of(path) >= older_s
        if path.is_dir() and not path.is_symlink():
            for file in _content(path):
                if moment - _time_of(file) >= older_s:
                    _delete(file.unlink)
            if is_old:
                _delete(path.rmdir)
        elif is_old:
            _delete(path.unlink)


def end_on_sigterm() -> None:
    """Let SIGTERM end the program as an exit does, so that the folder goes with it."""

    def end(number: int, _frame: object) -> None:
        sys.exit(128 + number)

    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, end)


def fetch_nothing(demo: Any) -> None:
    """Refuse addresses in place of uploaded files, in every block of a page.

    Gradio downloads a file whose ``path`` is an address, whichever component it is
    sent to. Here only what was uploaded through the page is taken.
    """
    for block in demo.blocks.values():
        for name in ("move_resource_to_block_cache", "async_move_resource_to_block_cache"):
            setattr(block, name, _local_only(getattr(block, name)))


def _local_only(move: Callable[..., Any]) -> Callable[..., Any]:
    def moved(path: Any) -> Any:
        if path is not None and "://" in str(path):
            import gradio

            raise gradio.Error(REFUSED, print_exception=False)
        return move(path)

    return moved


def _keep_swept(folder: Path) -> None:
    while True:
        time.sleep(EVERY_S)
        sweep(folder)


def _remove(folder: Path, process: int) -> None:
    if os.getpid() == process:  # not in a process that was forked off
        shutil.rmtree(folder, ignore_errors=True)


def _content(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _time_of(path: Path) -> float:
    """When it was put there; what is gone counts as new."""
    try:
        found = path.lstat()
    except OSError:
        return float("inf")
    return max(found.st_mtime, found.st_ctime)


def _delete(how: Callable[[], None]) -> None:
    try:
        how()
    except OSError:  # it is gone already, or not empty
        return
