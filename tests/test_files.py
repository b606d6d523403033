"""Writing: all or nothing, and an error names the file that was asked for."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from pmb_hf.errors import InputError
from pmb_hf.files import check_place, naming, write_atomically


def test_an_atomic_write_leaves_no_part_behind(tmp_path: Path) -> None:
    write_atomically(tmp_path / "x" / "f.txt", "one")
    write_atomically(tmp_path / "x" / "f.txt", "two")
    assert [p.name for p in (tmp_path / "x").iterdir()] == ["f.txt"]
    assert (tmp_path / "x" / "f.txt").read_text() == "two"


def test_a_link_is_followed_and_a_device_is_left_alone(tmp_path: Path) -> None:
    target, link, pipe = tmp_path / "target", tmp_path / "link", tmp_path / "pipe"
    target.write_text("old")
    link.symlink_to(target)
    write_atomically(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    os.mkfifo(pipe)
    with pytest.raises(InputError, match="no regular file"):
        write_atomically(pipe, "x")
    assert pipe.is_fifo()


def test_a_directory_and_a_file_in_the_way_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is no regular file; choose another place"):
        write_atomically(tmp_path, "x")
    report = tmp_path / "r1.json"
    report.write_text("{}")
    for inside in (report / "x.json", report / "a" / "x.json"):
        with pytest.raises(InputError, match=r"x\.json can't be written: .*r1\.json is no dir"):
            check_place(inside)
        with pytest.raises(InputError, match=r"r1\.json is no directory"):
            write_atomically(inside, "x")
    assert [p.name for p in tmp_path.iterdir()] == ["r1.json"]


def test_the_longest_name_that_fits_can_be_written(tmp_path: Path) -> None:
    longest = tmp_path / ("n" * 250 + ".json")
    write_atomically(longest, "x")
    assert [p.name for p in tmp_path.iterdir()] == [longest.name]
    with pytest.raises(OSError, match="too long") as caught:
        write_atomically(tmp_path / ("n" * 300), "x")
    assert caught.value.filename.endswith("n" * 300)


def test_an_error_names_the_file_and_not_its_helper() -> None:
    with pytest.raises(PermissionError) as caught, naming(Path("report.json")):
        raise PermissionError(errno.EACCES, "Permission denied", ".report.json.1.part")
    assert (caught.value.filename, caught.value.errno) == ("report.json", errno.EACCES)
