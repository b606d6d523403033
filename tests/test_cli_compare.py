"""``pmb compare``: two reports, several, many, and the gate."""

from __future__ import annotations

import json
import re
from pathlib import Path

import cli_kit
import pytest

from pmb_hf.cli.app import app
from pmb_hf.runner import run


def pmb(*arguments: str | Path) -> int:
    code: int = app([str(argument) for argument in arguments], standalone_mode=False)
    return code


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("reports")
    for provider in ("bm25", "oracle", "empty"):
        run(provider, out=path / f"{provider}.json")
    run("bm25", out=path / "other-rules.json", rules="upstream-2026-09")
    return path


def test_two_reports_are_paired_case_by_case(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert pmb("compare", folder / "bm25.json", folder / "oracle.json", "--cases", "2") == 0
    text = capsys.readouterr().out
    for head in (
        "A bm25",
        "B oracle",
        "B − A [95 %]",
        "won/lost/tied",
        "p (signs)",
        "passes now",
        "Sessions",
    ):
        assert head in text
    assert "changed sides, the first 2 (--cases all shows them all)" in text
    assert max(map(len, text.splitlines())) <= 120


def test_the_same_report_twice_changes_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    same = folder / "bm25.json"
    assert pmb("compare", same, same, "--max-regression", "passes=0") == 0
    text = capsys.readouterr().out
    assert "A bm25 #1" in text
    assert "B bm25 #2" in text
    assert "No case changed sides." in text


def test_a_legend_tells_reports_of_one_provider_apart(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run("bm25", out=tmp_path / "scoped.json", options={"active_filter": True}, namespace="n-")
    run("bm25", out=tmp_path / "again.json")
    files = [folder / "bm25.json", tmp_path / "scoped.json", tmp_path / "again.json"]
    assert pmb("compare", *files, folder / "oracle.json") == 0
    text = "".join(capsys.readouterr().out.split())
    legend = text.partition("Singleturn")[0]
    assert f"bm25#1{folder}/bm25.jsonactive_filter=false·namespace–" in legend
    assert f"bm25#2{tmp_path}/scoped.jsonactive_filter=true·namespacen-" in legend
    assert f"bm25#3{tmp_path}/again.jsonactive_filter=false" in legend
    assert "oracle" not in legend
    assert "True" not in text
    assert "top_k" not in legend
    assert pmb("compare", *files, "--json") == 0
    told = json.loads(capsys.readouterr().out)["reports"]
    assert told[1]["files"] == [str(tmp_path / "scoped.json")]
    assert told[1]["differs"]["option active_filter"] == "true"
    assert pmb("compare", folder / "bm25.json", folder / "oracle.json") == 0
    assert "in what it differs" not in capsys.readouterr().out


def test_folders_of_reports_are_taken(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep = tmp_path / "grid.toml"
    sweep.write_text(
        'parts = ["sessions"]\n[[providers]]\nname = "bm25"\noptions = { top_k = [2, 3] }\n'
    )
    assert pmb("sweep", sweep, "-o", tmp_path / "swept", "-q") == 0
    capsys.readouterr()
    for given in (tmp_path / "swept", tmp_path / "swept" / "reports"):
        assert pmb("compare", given, folder / "oracle.json") == 0
        text = capsys.readouterr().out
        assert "top_k=2" in text
        assert "bm25 #2" in text
    assert pmb("show", tmp_path / "swept", "--json") == 0
    assert len(json.loads(capsys.readouterr().out)["reports"]) == 2
    (tmp_path / "none").mkdir()
    assert pmb("compare", tmp_path / "none") == 2
    assert "none holds no reports" in capsys.readouterr().err


@pytest.mark.parametrize("given", ["", "results", "results/runs", "reports"])
def test_scoring_a_sweep_points_to_its_rows(tmp_path: Path, given: str) -> None:
    plan = tmp_path / "grid.toml"
    plan.write_text('parts = ["sessions"]\n[[providers]]\nname = "bm25"\n')
    assert pmb("sweep", plan, "-o", tmp_path / "swept", "-q") == 0
    done = cli_kit.pmb("score", tmp_path / "swept" / given)
    assert done.code == 2
    assert "swept/results/cases --config all" in done.err
    cases = tmp_path / "swept" / "results" / "cases"
    cli_kit.good("score", cases, "--config", "all", "--by", "job")


def test_a_regression_ends_with_1_and_names_the_cases(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, bad = folder / "oracle.json", folder / "bm25.json"
    arguments = ("--max-regression", "passes=0", "--json")
    assert pmb("compare", good, bad, *arguments) == 1
    captured = capsys.readouterr()
    tree = json.loads(captured.out)
    assert "bm25 is worse than oracle" in captured.err
    changed = tree["comparisons"][0]["parts"][0]["changed"]
    assert changed[0]["nowPasses"] is False
    assert any(case["caseId"] in captured.err for case in changed)
    assert pmb("compare", bad, good, *arguments) == 0
    assert pmb("compare", good, bad, "--max-regression", "passes=1000", "--json") == 0


def test_three_reports_make_a_table_and_each_meets_the_first(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [folder / f"{name}.json" for name in ("bm25", "oracle", "empty")]
    assert pmb("compare", *files) == 0
    text = capsys.readouterr().out
    assert "against bm25" in text
    assert text.index("oracle") < text.index("bm25")
    assert pmb("compare", *files, "--json") == 0
    tree = json.loads(capsys.readouterr().out)
    assert [report["name"] for report in tree["reports"]] == ["bm25", "oracle", "empty"]
    assert [c["b"] for c in tree["comparisons"]] == ["oracle", "empty"]
    assert set(tree["tables"]) == {"retrieval", "session"}


def test_other_rules_are_refused_or_marked(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = folder / "bm25.json", folder / "other-rules.json"
    assert pmb("compare", *files) == 2
    captured = capsys.readouterr()
    assert "rules spec and upstream-2026-09" in captured.err
    assert not captured.out
    assert pmb("compare", *files, "--force") == 0
    text = capsys.readouterr().out
    said = text.index("! bm25 #2, against bm25 #1: scored under the rules")
    assert said < text.index("Single turn")
    # Under the same rules they are comparable; that they were run under others is marked.
    assert pmb("compare", *files, "--rules", "spec") == 0
    assert "run under the rules spec and upstream-2026-09" in capsys.readouterr().out


def test_all_of_upstreams_reports_and_ours_at_once(
    folder: Path, upstream_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    published = sorted((upstream_dir / "reports").glob("*.json"))
    ours = [folder / "bm25.json", folder / "oracle.json"]
    arguments = ("--fixtures", upstream_dir / "fixtures", "--rules", "spec")
    assert pmb("compare", *published, *ours, *arguments) == 0
    text = capsys.readouterr().out
    warned, single, sessions = re.split("^(?=Single turn|Sessions)", text, flags=re.MULTILINE)[:3]
    assert single.index("tenure") < single.index("zep") < single.index("not comparable")
    assert single.index("not comparable") < single.index("oracle")
    assert "made on different corpora, official and native" in warned
    assert "Not known of gbrain" in sessions
    assert max(map(len, text.splitlines())) <= 120
    # The intervals of the wide table, too, are there in full.
    assert "…" not in single + sessions.partition("!")[0]
    assert pmb("compare", *published, *arguments, "--json") == 0
    tree = json.loads(capsys.readouterr().out)
    assert len(tree["reports"]) == 8
    assert len(tree["comparisons"]) == 7


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "needs two reports or more"),
        (("--cases", "some"), "--cases takes a number or all"),
        (("--max-regression", "passed!0"), "passed!0"),
        (("--rules", "x"), "no rules 'x'"),
    ],
)
def test_wrong_use_ends_with_2(
    folder: Path, arguments: tuple[str, ...], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [folder / "bm25.json"] * (2 if arguments else 1)
    assert pmb("compare", *files, *arguments) == 2
    captured = capsys.readouterr()
    assert says in captured.err
    assert not captured.out
