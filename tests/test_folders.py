"""Folders that appear whole or not at all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from cli_kit import environment

from pmb_hf.errors import InputError
from pmb_hf.folders import whole_folder


def ended() -> int:
    """The number of a process that is no more."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    return process.pid


def test_it_appears_at_the_end_or_not_at_all(tmp_path: Path) -> None:
    with whole_folder(tmp_path / "out") as folder:
        (folder / "a").write_text("a")
        assert not (tmp_path / "out").exists()
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["a"]
    with pytest.raises(InputError, match="is there already"), whole_folder(tmp_path / "out"):
        pass
    with pytest.raises(RuntimeError), whole_folder(tmp_path / "other"):
        raise RuntimeError
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_what_a_dead_process_left_goes_and_that_of_a_live_one_stays(tmp_path: Path) -> None:
    names = {
        f".out.{ended()}.part": False,
        f".out.{os.getpid()}.part": False,
        f".out.{os.getppid()}.part": True,
        f".other.{ended()}.part": True,
    }
    for name in names:
        (tmp_path / name).mkdir()
        (tmp_path / name / "old").write_text("old")
    with whole_folder(tmp_path / "out"):
        pass
    assert {name: (tmp_path / name).exists() for name in names} == names
    assert not list((tmp_path / "out").iterdir())


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_nothing(tmp_path: Path, number: signal.Signals) -> None:
    code = (
        "import time; from pathlib import Path; from pmb_hf.folders import whole_folder\n"
        "with whole_folder(Path('out')) as folder:\n"
        "    (folder / 'a').touch(); print('ready', flush=True); time.sleep(600)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment(), stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(number)
        assert process.wait(60) == 128 + number
    assert not list(tmp_path.iterdir())
