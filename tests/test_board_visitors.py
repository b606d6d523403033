"""Where uploads lie, for how long, and how they go."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pmb_hf.board import visitors
from pmb_hf.board.visitors import KEPT_S, own_folder, sweep, uploaded

PROGRAM = """
import sys, time
from pmb_hf.board.visitors import end_on_sigterm, own_folder
folder = own_folder()
(folder / "a").mkdir()
(folder / "a" / "mine.json").write_text("[]")
end_on_sigterm()
print(folder, flush=True)
if len(sys.argv) > 1:
    time.sleep(60)
"""


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that the user set and that others use too."""
    folder = tmp_path / "shared"
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(folder))
    monkeypatch.setattr(visitors, "_made", [])
    return folder


def put(folder: Path, name: str, key: str = "0" * 64) -> Path:
    path = folder / key / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("[]")
    return path


def test_the_folder_is_our_own_within_the_one_that_is_set(shared: Path) -> None:
    folder = own_folder()
    assert folder.parent == shared.resolve()
    assert folder.stat().st_mode & 0o077 == 0
    assert os.environ["GRADIO_TEMP_DIR"] == str(folder)
    assert own_folder() == folder


def test_without_a_setting_it_is_a_new_one(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GRADIO_TEMP_DIR")
    folder = own_folder()
    assert list(folder.iterdir()) == []
    assert not shared.exists()


def test_only_uploads_that_are_there_are_given(shared: Path, tmp_path: Path) -> None:
    folder = own_folder()
    mine = put(folder, "mine.json")
    assert uploaded(str(mine)) == mine
    secret = tmp_path / "secret.json"
    secret.write_text("[]")
    link = mine.with_name("link.json")
    link.symlink_to(secret)
    for path in (secret, link, folder, folder / "x.json", mine.with_name("none.json"), shared):
        assert uploaded(str(path)) is None
    assert uploaded(None) is None


def test_what_is_old_is_swept_and_what_is_new_stays(shared: Path) -> None:
    folder = own_folder()
    kept = [folder.parent / "theirs" / "thesis.txt", folder.parent / "notes.txt"]
    kept[0].parent.mkdir()
    for path in kept:
        path.write_text("x")
    old = put(folder, "old.json")
    (folder / "tmp1").write_text("")
    later = time.time() + KEPT_S + 100
    new = put(folder, "new.json")
    os.utime(new, (later, later))
    sweep(folder)
    assert old.is_file()
    sweep(folder, now=later)
    assert not old.exists()
    assert not (folder / "tmp1").exists()
    assert new.is_file()
    sweep(folder, now=later + KEPT_S)
    sweep(folder, now=later + KEPT_S)
    assert not new.exists()
    sweep(folder, now=time.time() + KEPT_S + 100)
    assert list(folder.iterdir()) == []
    assert all(path.is_file() for path in kept)
    sweep(folder / "missing")


@pytest.mark.parametrize("ended", ["by itself", "by SIGTERM"])
def test_it_goes_with_the_process(shared: Path, ended: str) -> None:
    given = ["wait"] if ended == "by SIGTERM" else []
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *given], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    folder = Path(process.stdout.readline().strip())
    if given:
        assert (folder / "a" / "mine.json").is_file()
        process.send_signal(signal.SIGTERM)
    assert process.wait() == (128 + signal.SIGTERM if given else 0)
    process.stdout.close()
    assert folder.parent == shared.resolve()
    assert list(shared.iterdir()) == []
