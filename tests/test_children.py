"""Programs that adapters start: that they are waited for, and that nothing is left of them."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from processes import is_running

from pmb_hf.errors import NotReadyError, ProviderError
from pmb_hf.providers.children import Child, end_process, free_port, open_directory, remove

# Starts a program of its own, tells its number, and goes on.
PARENT = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(child.pid, flush=True)
time.sleep(600)
"""
STUBBORN = """
import signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("deaf", flush=True)
time.sleep(600)
"""


def python(code: str, log: Path) -> Child:
    return Child([sys.executable, "-c", code], log)


def is_gone(pid: int) -> bool:
    """Whether it has ended; a moment may pass after its parent has."""
    return any(not is_running(pid) or time.sleep(0.05) for _ in range(200))


def test_stop_ends_what_the_program_started_too(tmp_path: Path) -> None:
    log = tmp_path / "log"
    child = python(PARENT, log)
    child.wait_until(lambda: log.read_text("utf-8").endswith("\n"), 30)
    grandchild = int(log.read_text("utf-8"))
    assert is_running(grandchild)
    child.stop()
    child.stop()
    assert is_gone(grandchild)


def test_stop_ends_one_that_ignores_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pmb_hf.providers.children._STOP_S", 0.1)
    log = tmp_path / "log"
    child = python(STUBBORN, log)
    child.wait_until(lambda: "deaf" in log.read_text("utf-8"), 30)
    child.stop()


def test_one_that_ends_early_is_told_with_its_last_words(tmp_path: Path) -> None:
    child = python("print('first'); raise SystemExit('no room')", tmp_path / "log")
    with pytest.raises(NotReadyError, match="ended: first / no room"):
        child.wait_until(lambda: False, 30)
    child.stop()


def test_one_that_is_late_is_told(tmp_path: Path) -> None:
    child = python("import time; time.sleep(600)", tmp_path / "log")
    with pytest.raises(NotReadyError, match="isn't up after 0 s: no output"):
        child.wait_until(lambda: False, 0)
    child.stop()


def test_one_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ProviderError, match="no-such-program can't be started"):
        Child([str(tmp_path / "no-such-program")], tmp_path / "log")


def test_variables_and_directory(tmp_path: Path) -> None:
    log = tmp_path / "log"
    code = "import os; print(os.environ['PMB_X'], os.getcwd(), 'PATH' in os.environ)"
    child = Child([sys.executable, "-c", code], log, variables={"PMB_X": "x"}, directory=tmp_path)
    child.wait_until(lambda: log.read_text("utf-8").endswith("\n"), 30)
    assert log.read_text("utf-8").split() == ["x", str(tmp_path), "True"]
    child.stop()


def test_end_process_that_is_no_child_of_ours(tmp_path: Path) -> None:
    code = (
        "import subprocess, sys; "
        "print(subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], "
        "start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).pid)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    pid = int(told.stdout)
    assert is_running(pid)
    end_process(pid)
    assert is_gone(pid)
    end_process(pid)


def test_end_process_that_is_a_child_of_ours() -> None:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as child:
        end_process(child.pid)
        assert is_gone(child.pid)


def test_free_port_can_be_listened_on() -> None:
    port = free_port()
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", port))


def test_open_directory_can_be_reached_by_others(tmp_path: Path) -> None:
    made = open_directory("pmb-test-")
    try:
        assert all(path.stat().st_mode & 0o001 for path in (made, *made.parents))
        assert not made.stat().st_mode & 0o006, "nobody else may list it or write in it"
    finally:
        remove(made)
    assert not made.exists()
    remove(made)


def test_open_directory_leaves_a_closed_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    monkeypatch.setattr("tempfile.gettempdir", lambda: os.fspath(closed))
    made = open_directory("pmb-test-")
    assert closed not in made.parents
    remove(made)
