"""Tokens of the Hub are hidden in all that is shown, also what is left of one that was cut."""

from __future__ import annotations

import io
import logging
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmb_hf.cli.guard import guarded
from pmb_hf.cli.output import error_line, hint_line, line, note, show_json, write_text
from pmb_hf.errors import InputError
from pmb_hf.tokens import HIDDEN, Covered, hidden, stored

TOKEN = "hf_" + "QwErTyUiOpAsDfGhJkLzXcVbNm01234567"


@pytest.fixture(autouse=True)
def signed_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("HUGGING_FACE_HUB_TOKEN", raising=False)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setenv("HF_TOKEN_PATH", str(tmp_path / "none"))


@given(st.text("ab ", max_size=9), st.integers(0, 36), st.integers(0, 37))
def test_no_part_of_a_token_is_left(around: str, start: int, end: int) -> None:
    shown = hidden(f"{around}.{TOKEN[start:end]}.{around}", [TOKEN])
    assert not any(TOKEN[n : n + 8] in shown for n in range(len(TOKEN) - 7))
    assert shown.startswith(f"{around}.")
    assert shown.endswith(f".{around}")


def test_all_else_is_left_alone() -> None:
    text = "hf_export/leaderboard.json of hf_conventions_of_ours, HF_TOKEN"
    assert hidden(text) == text
    assert hidden(f"{TOKEN} and {TOKEN}") == f"{HIDDEN} and {HIDDEN}"
    assert hidden("hf_" + "a1" * 17, []) == HIDDEN  # of the Hub's form, whosever it is


@pytest.mark.parametrize("place", ["HF_TOKEN_PATH", "HF_HOME", "XDG_CACHE_HOME"])
def test_the_token_of_hf_auth_login_is_known(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, place: str
) -> None:
    for name in ("HF_TOKEN", "HF_TOKEN_PATH", "HF_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    below = {"HF_TOKEN_PATH": "t", "HF_HOME": "h/token", "XDG_CACHE_HOME": "c/huggingface/token"}
    file = tmp_path / below[place]
    monkeypatch.setenv(
        place, str({"t": file, "h": tmp_path / "h"}.get(below[place][0], tmp_path / "c"))
    )
    assert stored() == []
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("a-token-of-no-form\n")
    assert stored() == ["a-token-of-no-form"]
    assert hidden("a-token-of-no-form!") == f"{HIDDEN}!"


def test_every_kind_of_output_hides_it(capfd: pytest.CaptureFixture[str]) -> None:
    for told in (error_line, hint_line, note, line, write_text):
        told(f"it is {TOKEN}, or {TOKEN[:20]}…")
    show_json({"why": TOKEN})
    out = capfd.readouterr()
    assert TOKEN[:8] not in out.out + out.err
    assert (out.err.count(HIDDEN), out.out.count(HIDDEN)) == (6, 5)


@pytest.mark.parametrize("debug", ["0", "1"])
def test_neither_libraries_nor_tracebacks_show_it(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], debug: str
) -> None:
    monkeypatch.setenv("PMB_DEBUG", debug)
    log = logging.getLogger("a-library")
    log.propagate = False

    def command() -> None:
        handler = logging.StreamHandler()
        log.addHandler(handler)
        log.warning("the server says %s", TOKEN)
        log.removeHandler(handler)
        sys.stderr.writelines([f"{TOKEN}\n"])
        raise KeyError(TOKEN)

    before = sys.stderr
    assert guarded(command) == 70
    assert sys.stderr is before
    err = capfd.readouterr().err
    assert TOKEN[:8] not in err
    assert "the server says <token>" in err
    assert ("Traceback" in err) == (debug == "1")


def test_a_refusal_does_not_show_it(capfd: pytest.CaptureFixture[str]) -> None:
    def command() -> None:
        raise InputError(f"no to {TOKEN}")

    assert guarded(command) == 2
    assert capfd.readouterr().err == "error: no to <token>\n"


def test_a_covered_stream_is_the_stream_in_all_else() -> None:
    stream = io.StringIO()
    covered = Covered(stream)
    assert covered.write(TOKEN) == len(TOKEN)
    assert covered.getvalue() == HIDDEN
    assert not covered.isatty()
