"""Where the board is read from: a folder, or a dataset repository of the Hub."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

from pmb_hf.board.model import Board
from pmb_hf.board.reader import FILE, read_export

REPO, FOLDER = "PMB_LEADERBOARD_REPO", "PMB_EXPORT"
FRESH_S = 600.0
"""A repository is looked at again after so many seconds."""


class Source:
    """Gives the board, and reads it again when the export has changed."""

    def __init__(self, folder: Path | None = None, repo: str | None = None) -> None:
        self._folder, self._repo = folder, repo
        self._lock = threading.Lock()
        self._board: Board | None = None
        self._stamp: tuple[int, int] | None = None
        self._looked = float("-inf")

    @classmethod
    def from_environment(cls) -> Source:
        """What the environment names; else ``export/`` beside this file."""
        repo, folder = os.environ.get(REPO), os.environ.get(FOLDER)
        if folder or not repo:
            return cls(folder=Path(folder or Path(__file__).parent / "export"))
        return cls(repo=repo)

    def board(self) -> Board:
        """The board as it is now. Never fails: what can't be read is told in ``problems``."""
        with self._lock:
            folder = self._folder if self._repo is None else self._fetched()
            stamp = _stamp(folder)
            if self._board is None or stamp != self._stamp:
                self._board, self._stamp = self._read(folder), stamp
            return self._board

    def _read(self, folder: Path | None) -> Board:
        if folder is None:
            return Board(
                problems=[f"The repository {self._repo} can't be read at the moment."],
                origin=str(self._repo),
            )
        return read_export(folder, origin=self._repo or str(folder))

    def _fetched(self) -> Path | None:
        """The repository's file in the local cache; the one there is if the Hub is silent."""
        if time.monotonic() - self._looked < FRESH_S:
            return self._folder
        self._looked = time.monotonic()
        from huggingface_hub import hf_hub_download

        try:
            found = hf_hub_download(str(self._repo), FILE, repo_type="dataset")
        except Exception as error:  # noqa: BLE001 - the page must come up whatever the Hub does
            print(f"{self._repo}: {type(error).__name__}")
            return self._folder
        self._folder = Path(found).parent
        return self._folder


def _stamp(folder: Path | None) -> tuple[int, int] | None:
    try:
        found = (folder / FILE).stat() if folder is not None else None
    except OSError:
        return None
    return None if found is None else (found.st_mtime_ns, found.st_size)
