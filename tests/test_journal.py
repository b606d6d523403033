"""The journal: every line is on disk when it is written, and a torn one is dropped."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmb_hf import journal as journals
from pmb_hf.errors import BusyError, InputError, ResumeError

CONFIG = {"provider": "x", "rules": "spec"}


def as_it_is(line: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    assert where.startswith("/")
    return line


def Journal(  # noqa: N802 - as the class, for lines of any kind
    path: Path, config: Mapping[str, Any], *, resume: bool = False
) -> journals.Journal[Mapping[str, Any]]:
    return journals.Journal(path, config, parse=as_it_is, resume=resume)


def written(path: Path, lines: int = 3) -> bytes:
    with Journal(path, CONFIG) as journal:
        for number in range(lines):
            journal.append({"n": number, "text": "ü\u2028"})
    return path.read_bytes()


def test_lines_come_back_in_order(tmp_path: Path) -> None:
    path = tmp_path / "a" / "journal"
    written(path)
    with Journal(path, CONFIG, resume=True) as journal:
        assert [line["n"] for line in journal.lines] == [0, 1, 2]


def test_an_unfinished_run_is_not_overwritten(tmp_path: Path) -> None:
    written(tmp_path / "j")
    with pytest.raises(InputError, match="--resume"):
        Journal(tmp_path / "j", CONFIG)


def test_another_configuration_is_refused_and_named(tmp_path: Path) -> None:
    written(tmp_path / "j")
    with pytest.raises(ResumeError, match="rules was 'spec' and is now 'other'"):
        Journal(tmp_path / "j", {**CONFIG, "rules": "other"}, resume=True)


@given(st.data())
def test_wherever_a_crash_cuts_it_whole_lines_survive(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("torn") / "j"
    whole = written(path)
    header = whole.index(b"\n") + 1
    cut = data.draw(st.integers(header, len(whole)))
    path.write_bytes(whole[:cut])
    with Journal(path, CONFIG, resume=True) as journal:
        kept = len(journal.lines)
        journal.append({"n": "next"})
    ends = [i for i, byte in enumerate(whole) if byte == 10]
    assert kept >= sum(end < cut for end in ends) - 1
    with Journal(path, CONFIG, resume=True) as journal:
        assert journal.lines[-1] == {"n": "next"}
        assert len(journal.lines) == kept + 1


def test_a_broken_line_in_the_middle_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "j"
    lines = written(path).split(b"\n")
    lines[1] = b'{"n": '
    path.write_bytes(b"\n".join(lines))
    with pytest.raises(ResumeError, match="line 2 is no JSON"):
        Journal(path, CONFIG, resume=True)


def test_two_runs_can_not_go_on_with_one_journal(tmp_path: Path) -> None:
    path = tmp_path / "j"
    written(path)
    with Journal(path, CONFIG, resume=True) as journal:
        with pytest.raises(BusyError, match="another run is writing"):
            Journal(path, CONFIG, resume=True)
        journal.append({"n": "kept"})
    with Journal(path, CONFIG, resume=True) as journal:
        assert journal.lines[-1] == {"n": "kept"}
    assert [p.name for p in tmp_path.iterdir()] == ["j"]


def test_a_refused_journal_is_let_go(tmp_path: Path) -> None:
    written(tmp_path / "j")
    with pytest.raises(InputError, match="--resume"):
        Journal(tmp_path / "j", CONFIG)
    Journal(tmp_path / "j", CONFIG, resume=True).close()
