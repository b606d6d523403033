"""``pmb run``: tables and JSON, where the report goes, and runs that end early."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

import pytest
from cli_kit import environment, good, pmb, program

from pmb_hf.cli.paths import report_path, report_place
from pmb_hf.errors import InputError, ProviderError
from pmb_hf.providers.fts5 import Fts5Provider
from pmb_hf.providers.protocol import Hit
from pmb_hf.report_reader import read_report


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def reports(directory: Path) -> list[Path]:
    return sorted(path for path in directory.rglob("*.json") if path.is_file())


def test_a_run_shows_its_figures_beside_floor_and_ceiling(here: Path) -> None:
    done = good("run", "--provider", "bm25", columns=80)
    (path,) = reports(here)
    assert path.parent == here / "reports"
    assert path.name.startswith("bm25-native-spec-")
    lines = done.out.splitlines()
    assert lines[0] == "bm25 on native, rules spec"
    assert lines[-1] == f"Report: {path.relative_to(here)}"
    assert max(map(len, lines)) <= 80
    assert not [line for line in lines if line != line.rstrip()]
    (head,) = [line.split() for line in lines if line.startswith("Single turn")]
    assert head == ["Single", "turn", "bm25", "n", "empty", "n", "everything", "n", "oracle", "n"]
    recall = next(line.split() for line in lines if line.startswith("recall"))
    assert recall[1:3] == ["1.0000", "43"]
    assert recall[-2:] == ["1.0000", "43"]
    text = " ".join(done.out.split())
    for part in ("Sessions", "Category", "Time in ms", "drift", "mutability", "trivially empty"):
        assert part in text
    for remark in ("No leaks", "limit covers every eligible", "No provider has an influence on"):
        assert remark in text
    assert "boundary-blank" in text
    assert done.err == "retrieval: 77/77\nsessions: 12/12\n"
    assert not list(here.rglob("*.journal"))


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_no_table_is_wider_than_the_terminal(here: Path, columns: int) -> None:
    done = good(
        "run",
        "--provider",
        "fts5",
        "--name",
        "a provider with [bold]a long[/] name",
        "--out",
        "r.json",
        columns=columns,
    )
    assert max(map(len, done.out.splitlines())) <= columns
    assert "[bold]" in done.out


def test_json_is_the_same_as_the_report_and_nothing_else(here: Path) -> None:
    done = good("run", "--provider", "bm25", "--json", "--out", "r.json")
    view = done.json
    stored = json.loads((here / "r.json").read_text(encoding="utf-8"))
    assert view["report"] == "r.json"
    assert view["retrieval"] == stored["retrieval"]["measures"]
    assert view["session"] == stored["session"]["retrieval"]["measures"]
    assert view["latencyRatio"] == stored["session"]["latencyRatio"]
    assert view["baselines"]["oracle"]["retrieval"]["passed"] == 77
    assert view["baselines"]["empty"]["retrieval"]["passed"] == 34
    assert view["stopped"] is None
    assert {item["reason"] for item in view["notInfluenced"]} <= {
        "blank query",
        "no room in the budget",
        "other tiers only",
    }


def test_quiet_tells_only_the_path(here: Path) -> None:
    done = good("run", "--provider", "empty", "--quiet", "--out", "r.json")
    assert (done.out, done.err) == ("r.json\n", "")


def test_baselines_can_be_left_out(here: Path) -> None:
    done = good("run", "--provider", "fts5", "--no-baselines", "--out", "r.json")
    assert "oracle" not in done.out
    view = good("run", "--provider", "fts5", "--no-baselines", "--json", "--out", "r.json").json
    assert view["baselines"] == {}


def test_one_part_alone(here: Path) -> None:
    view = good(
        "run", "--provider", "fts5", "--parts", "sessions", "--out", "r.json", "--json"
    ).json
    assert view["retrieval"] is None
    assert view["session"]["cases"] == 12
    out = good("show", "r.json").out
    assert "Single turn" not in out
    assert "Category" not in out


def test_options_reach_the_provider(here: Path) -> None:
    good("run", "--provider", "bm25", "--option", "top_k=2", "--out", "r.json", "--quiet")
    report = read_report(here / "r.json")
    assert max(len(record.results or ()) for record in report.records) == 2
    assert report.provenance["config"]["options"]["top_k"] == 2


@pytest.mark.parametrize("out", ["out", "out/", "deep/er"])
def test_a_path_without_json_is_a_directory(here: Path, out: str) -> None:
    good("run", "--provider", "empty", "--quiet", "--out", out)
    (path,) = reports(here)
    assert path.parent == here / out


def test_an_existing_directory_stays_one(here: Path) -> None:
    (here / "odd.json").mkdir()
    good("run", "--provider", "empty", "--quiet", "--out", "odd.json")
    assert len(reports(here / "odd.json")) == 1


def test_default_names_are_safe_and_never_taken(tmp_path: Path) -> None:
    from datetime import UTC, datetime

    now = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)

    def path() -> Path:
        return report_path(
            tmp_path, provider="http://h:1/../x", corpus="c", rules="spec", resume=False, now=now
        )

    first = path()
    assert first == tmp_path / "http-h-1-..-x-c-spec-20260102t030405.json"
    first.touch()
    second = path()
    assert second.name == "http-h-1-..-x-c-spec-20260102t030405-2.json"
    second.with_name(second.name + ".journal").touch()
    assert path().name.endswith("-3.json")


def test_runs_that_start_in_the_same_second_have_names_of_their_own(tmp_path: Path) -> None:
    from datetime import UTC, datetime

    now = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    out = tmp_path / "out"

    def place() -> AbstractContextManager[Path]:
        return report_place(
            out, provider="bm25", corpus="native", rules="spec", resume=False, now=now
        )

    with ThreadPoolExecutor(8) as pool, ExitStack() as places:
        paths = list(pool.map(lambda _: places.enter_context(place()), range(16)))
        assert len(set(paths)) == 16
        first = min(paths, key=lambda path: len(path.name))
        first.write_text("{}", encoding="utf-8")
    assert list(out.iterdir()) == [first]  # no journal stays
    with place() as path:
        assert path != first
    # A run that can't even start leaves nothing.
    done = pmb("run", "--provider", "no-such", "--out", tmp_path / "deep" / "er")
    assert done.code == 2
    assert not (tmp_path / "deep").exists()


def test_two_runs_at_once_end_well(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pmb_hf", "run", "-p", "bm25", "-q", "-o", "out"]
    runs = [
        subprocess.Popen(
            command, cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, encoding="utf-8"
        )
        for _ in range(3)
    ]
    told = [run.communicate()[0].strip() for run in runs]
    assert [run.returncode for run in runs] == [0, 0, 0]
    assert {tmp_path / line for line in told} == set((tmp_path / "out").iterdir())
    assert len(set(told)) == 3


def test_resume_takes_the_newest_unfinished_run_like_this_one(tmp_path: Path) -> None:
    from datetime import UTC, datetime

    def newest(provider: str = "bm25", rules: str = "spec") -> str:
        return report_path(
            tmp_path, provider=provider, corpus="native", rules=rules, resume=True,
            now=datetime.now(UTC),
        ).name  # fmt: skip

    for age, stem in enumerate(
        ("bm25-native-spec-20260103t000000", "bm25-native-spec-20260102t000000", "bm25-native-up")
    ):
        journal = tmp_path / f"{stem}.json.journal"
        journal.write_text("a header\na result\n")
        os.utime(journal, (1000 + age, 1000 + age))
    assert newest() == "bm25-native-spec-20260102t000000.json"
    # What holds less is newer, and yet not what is to be gone on with.
    (tmp_path / "bm25-native-spec-20260104t000000.json.journal").write_text("a header\n")
    (tmp_path / "bm25-native-spec-20260105t000000.json.journal").touch()
    assert newest() == "bm25-native-spec-20260102t000000.json"
    for path in tmp_path.glob("*2026010[23]t*"):
        path.unlink()
    assert newest() == "bm25-native-spec-20260104t000000.json"
    (tmp_path / "bm25-native-spec-20260104t000000.json.journal").unlink()
    with pytest.raises(InputError, match="nothing to resume"):
        newest()
    with pytest.raises(InputError, match="nothing to resume"):
        newest(rules="upstream-2026-06")
    with pytest.raises(InputError, match="nothing to resume"):
        newest("bm2")


def break_search(monkeypatch: pytest.MonkeyPatch, fails: Callable[[int], bool]) -> None:
    real = Fts5Provider.search
    calls = iter(range(10_000))

    def search(
        self: Fts5Provider, *, query: str, user_id: str, scopes: Sequence[str], limit: int
    ) -> Sequence[Hit]:
        if fails(next(calls)):
            raise ProviderError("the store is gone")
        return real(self, query=query, user_id=user_id, scopes=scopes, limit=limit)

    monkeypatch.setattr(Fts5Provider, "search", search)


def test_a_run_that_stops_early_is_3_and_can_be_gone_on_with(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as broken:
        break_search(broken, lambda call: call > 20)
        done = pmb("run", "--provider", "fts5", "--max-failures", "3")
    assert done.code == 3
    assert "3 cases failed in a row" in done.err
    assert "--resume" in done.err
    text = " ".join(done.out.split())
    assert "! The run stopped early" in text
    assert "got no answer" in text
    assert "of the corpus are not in the report" in text
    view = good("run", "--provider", "fts5", "--resume", "--json").json
    assert view["retrieval"]["cases"] == 77
    assert view["retrieval"]["errors"] == 0  # what failed in the end was asked again
    assert not list(here.rglob("*.journal"))


def test_failures_are_counted_aloud(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    break_search(monkeypatch, lambda call: call in (5, 9))
    done = good("run", "--provider", "fts5", "--out", "r.json")
    assert "2 of 89 cases got no answer (2 error)" in " ".join(done.out.split())
    assert "retrieval: 77/77, 2 without an answer" in done.err


def test_a_journal_in_the_way_is_named(here: Path) -> None:
    (here / "r.json.journal").write_text('{"pmbJournal": 1}\n', encoding="utf-8")
    done = pmb("run", "--provider", "empty", "--out", "r.json")
    assert done.code == 2
    assert "r.json.journal holds an unfinished run" in done.err


SLOW = """
import sys, time
from pmb_hf.providers.fts5 import Fts5Provider
search = Fts5Provider.search
def slow(self, **arguments):
    time.sleep(0.02)
    return search(self, **arguments)
Fts5Provider.search = slow
from pmb_hf.cli import main
sys.exit(main())
"""


def start_slowly(cwd: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", SLOW, "run", "--provider", "fts5", *arguments],
        cwd=cwd,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for_cases(directory: Path, cases: int) -> Path:
    """The journal in ``directory`` once it holds as many answers."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        for journal in directory.rglob("*.journal"):
            if journal.read_text(encoding="utf-8").count('{"record"') >= cases:
                return journal
        time.sleep(0.002)
    raise AssertionError("the run did not get that far")


def test_a_killed_run_is_gone_on_with_and_refuses_another_configuration(here: Path) -> None:
    with start_slowly(here, "--out", "r.json") as process:
        journal = wait_for_cases(here, 40)
        process.kill()
    kept = [json.loads(line) for line in journal.read_text(encoding="utf-8").splitlines()]
    before = [line["record"] for line in kept if "record" in line]
    assert 40 <= len(before) < 77
    assert not (here / "r.json").exists()
    other = pmb("run", "--provider", "fts5", "--out", "r.json", "--resume", "--option", "top_k=3")
    assert other.code == 2
    assert "belongs to another run" in other.err
    rules = ["--rules", "upstream-2026-09"]
    assert pmb("run", "--provider", "fts5", "--out", "r.json", "--resume", *rules).code == 2
    assert pmb("run", "--provider", "fts5", "--out", "r.json").code == 2
    done = program("run", "--provider", "fts5", "--out", "r.json", "--resume", cwd=here)
    assert done.code == 0, done
    report = read_report(here / "r.json")
    assert len(report.cases) == 77
    assert len(report.turns) == 12
    assert [r.latency_ms for r in report.cases[:40]] == [r["latency_ms"] for r in before[:40]]
    assert not journal.exists()


@pytest.mark.parametrize(
    ("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_an_interrupted_run_says_how_to_go_on(here: Path, sent: signal.Signals, code: int) -> None:
    with start_slowly(here) as process:
        journal = wait_for_cases(here, 10)
        process.send_signal(sent)
        out, err = process.communicate(timeout=60)
    assert process.returncode == code
    assert not list(here.rglob(".*.lock"))
    assert out == ""
    assert err.count("\n") == 1
    assert str(journal.relative_to(here)) in err
    assert "--resume" in err
    view = good("run", "--provider", "fts5", "--resume", "--json").json
    assert view["retrieval"]["cases"] == 77
    assert view["report"] == str(journal.relative_to(here)).removesuffix(".journal")


def test_two_outputs_in_one_place_and_places_that_are_no_files_are_refused(here: Path) -> None:
    for arguments in (
        ("--junit", "a.json", "-o", "a.json"),
        ("--junit", "/dev/null", "-o", "b.json"),
    ):
        done = pmb("run", "--provider", "empty", *arguments)
        assert done.code == 2
    assert "both name" in pmb("run", "-p", "empty", "--junit", "a.json", "-o", "a.json").err
    assert list(here.iterdir()) == []


def test_fixtures_that_would_not_be_used_are_refused(here: Path) -> None:
    done = pmb("run", "--provider", "empty", "--fixtures", "somewhere")
    assert done.code == 2
    assert "--corpus official" in done.err
