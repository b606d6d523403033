"""``pmb curve``: tables, JSON and pictures from files alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pmb_hf.cli.app import app
from pmb_hf.runner import run


def pmb(*arguments: str | Path) -> int:
    code: int = app([str(argument) for argument in arguments], standalone_mode=False)
    return code


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("reports") / "bm25.json"
    run("bm25", out=path)
    return path


def test_it_prints_both_curves_of_both_parts(
    report: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert pmb("curve", report) == 0
    text = capsys.readouterr().out
    assert "bm25 on native, rules spec" in text
    for head in ("Single turn", "Sessions", "score ≥", "R-precision", "best", "uncut"):
        assert head in text
    assert "failed cases:" in text
    assert "the best cut by score is score ≥" in text
    assert "Chosen on the other folds and judged on each of 5:" in text
    assert max(map(len, text.splitlines())) <= 120


def test_json_holds_every_point_and_nothing_else(
    report: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert pmb("curve", report, "--json", "--rules", "upstream-2026-09") == 0
    tree = json.loads(capsys.readouterr().out)
    assert (tree["provider"], tree["rules"]) == ("bm25", "upstream-2026-09")
    assert [part["part"] for part in tree["parts"]] == ["retrieval", "session"]
    for part in tree["parts"]:
        assert part["cutOf"] == "results"
        by_k, by_score = part["byK"], part["byScore"]
        assert [point["cut"] for point in by_k["points"]][:3] == [1, 2, 3]
        assert by_k["points"][-1]["mean_recall"] == by_score["points"][-1]["mean_recall"]
        assert by_k["best"] in by_k["points"]
        assert by_score["crossValidated"]["cases"] == by_score["points"][0]["cases"]


def test_upstreams_two_files_are_one_run(
    upstream_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = sorted((upstream_dir / "reports").glob("*-zep.json"))
    assert len(files) == 2
    fixtures = ("--fixtures", upstream_dir / "fixtures")
    assert pmb("curve", *files, *fixtures) == 0
    text = capsys.readouterr().out
    assert "no score threshold can be tried: the report holds no raw results" in text
    assert "the relevant tier was cut instead" in text
    other = upstream_dir / "reports" / "retrieval-report-mem0.json"
    assert pmb("curve", *files, other, *fixtures) == 2
    assert "takes the files of one run, not of 2" in capsys.readouterr().err


@pytest.mark.parametrize("suffix", [".svg", ".html", ".png"])
def test_a_picture_is_written(
    report: Path, tmp_path: Path, suffix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("vl_convert", reason="pip install 'pmb-hf[charts]'")
    out = tmp_path / "new" / f"curve{suffix}"
    assert pmb("curve", report, "-o", out) == 0
    assert f"wrote {out}" in capsys.readouterr().err
    assert out.stat().st_size > 1000


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("-o", "curve.gif"), "a picture ends in one of .svg, .png, .html"),
        (("--folds", "1"), "--folds"),
        (("--rules", "spce"), "did you mean 'spec'"),
    ],
)
def test_wrong_use_ends_with_2(
    report: Path, arguments: tuple[str, ...], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert pmb("curve", report, *arguments) == 2
    captured = capsys.readouterr()
    assert says in captured.err
    assert not captured.out
