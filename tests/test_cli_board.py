"""``pmb space`` as a command; the page itself is in test_space.py."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from cli_kit import good, pmb
from space_kit import report

from pmb_hf.board import local
from pmb_hf.corpus import load_corpus
from pmb_hf.report_json import report_json


@pytest.fixture
def written(tmp_path: Path) -> Path:
    path = tmp_path / "bm25.json"
    path.write_text(report_json(report("bm25"), load_corpus("native")), encoding="utf-8")
    return path


def test_it_tells_where_it_serves(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def serve(export: Path, *, host: str, port: int, told: object) -> None:
        assert (export, host, port) == (tmp_path, "127.0.0.1", 0)
        assert callable(told)
        told("http://127.0.0.1:5/")

    monkeypatch.setattr(local, "serve_space", serve)
    done = good("space", "--export", tmp_path, "--port", "0")
    assert done.out == "http://127.0.0.1:5/\n"


def test_a_port_that_is_taken_is_named() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = pmb("space", "--port", str(port))
    assert done.code == 2
    assert f"port {port} of 127.0.0.1 can't be used" in done.err


def test_without_gradio_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "gradio", None)
    done = pmb("space", "--port", "0")
    assert done.code == 2
    assert "pip install 'pmb-hf[space]'" in done.err


def test_export_writes_the_static_page(written: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = good("export", written, "-o", out, "--static")
    assert "index.html" in done.err
    assert "bm25" in (out / "index.html").read_text(encoding="utf-8")
    assert (out / "leaderboard.json").is_file()


def test_the_static_page_is_of_the_hubs_format_alone(written: Path, tmp_path: Path) -> None:
    done = pmb("export", written, "-o", tmp_path / "out", "--static", "--format", "trec")
    assert done.code == 2
    assert "--static" in done.err
