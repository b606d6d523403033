"""``pmb data``, ``providers``, ``measures``, ``install``, ``doctor`` and ``serve``."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import corpora
import pytest
from cli_kit import environment, good, pmb

from pmb_hf import official
from pmb_hf.dataset_rows import CONFIGS
from pmb_hf.measures import MEASURES
from pmb_hf.providers.registry import available


def test_lint_of_the_native_corpus_finds_no_error() -> None:
    done = good("data", "lint")
    assert done.out.startswith("native: 0 errors")
    assert good("data", "lint", "--json").json["ok"] is True


def test_lint_names_errors_and_ends_with_1(tmp_path: Path) -> None:
    raw = corpora.files()
    raw["retrieval.cases.json"][0]["expect"]["relevantBeliefs"]["shouldOnlyInclude"] = ["t-nobody"]
    home = corpora.write(tmp_path / "mine", raw)
    done = pmb("data", "lint", home)
    assert done.code == 1
    assert "t-nobody" in done.out
    assert "error" in done.out.splitlines()[0]
    view = pmb("data", "lint", home, "--json")
    assert view.code == 1
    assert view.json["ok"] is False
    assert {"severity", "code", "where", "message"} == set(view.json["findings"][0])


def test_lint_of_official(upstream_dir: Path) -> None:
    done = pmb("data", "lint", "official", "--fixtures", upstream_dir, "--json")
    view = done.json
    assert (done.code, view["corpus"], view["ok"]) == (0, "official", True)
    assert view["known"] == len(view["findings"])
    assert any(finding["severity"] == "error" for finding in view["findings"])
    told = good("data", "lint", "official", "--fixtures", upstream_dir).out
    assert "They are known: these are upstream's files as it published them" in told


def test_lint_of_an_altered_official_corpus_tolerates_nothing(
    upstream_dir: Path, tmp_path: Path
) -> None:
    home = tmp_path / "fixtures"
    shutil.copytree(upstream_dir / "fixtures", home)
    cases = home / "retrieval.cases.json"
    cases.write_bytes(cases.read_bytes() + b"\n")
    done = pmb("data", "lint", "official", "--fixtures", home)
    assert done.code == 1
    assert "are known" not in done.out
    view = pmb("data", "lint", "official", "--fixtures", home, "--json").json
    assert (view["ok"], view["known"]) == (False, 0)
    # By its path it is a corpus like any other.
    assert pmb("data", "lint", upstream_dir / "fixtures").code == 1


def test_fetch_from_a_copy(
    upstream_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(official.CACHE_ENV, str(tmp_path))
    assert pmb("run", "--provider", "empty", "--corpus", "official").code == 2
    done = good("data", "fetch", "--from", upstream_dir)
    assert done.out == f"The official corpus is in {official.fixtures_dir()}\n"
    assert official.installed()
    assert good("data", "fetch").out == done.out
    view = good(
        "run", "--provider", "empty", "--corpus", "official", "--out", tmp_path / "r.json", "--json"
    ).json
    assert view["retrieval"]["passed"] == 34


def test_fetch_without_a_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(official.CACHE_ENV, str(tmp_path))
    monkeypatch.setenv(official.URL_ENV, "http://127.0.0.1:1")
    monkeypatch.setattr(official.time, "sleep", lambda seconds: None)
    done = pmb("data", "fetch")
    assert done.code == 2
    assert done.err.count("\n") == 1
    assert "--from DIR" in done.err


def test_build_writes_the_hub_folder(tmp_path: Path) -> None:
    done = good("data", "build", "-o", tmp_path / "hub")
    for config in CONFIGS:
        assert f"{config}: " in done.out
    assert (tmp_path / "hub" / "README.md").is_file()
    view = good("data", "build", "-o", tmp_path / "hub", "--json").json
    assert view["rows"]["retrieval"] == 77
    assert all(Path(file).is_file() for file in view["files"])


def test_install_and_uninstall() -> None:
    done = good("install")
    assert "wrote " in done.out
    assert good("install").out == "all is there already\n"
    view = good("install", "--uninstall", "--json").json
    assert view["removed"]
    assert good("install", "--uninstall").out == "nothing to remove\n"


@pytest.mark.parametrize("columns", [80, 120])
def test_providers_are_listed(columns: int) -> None:
    view = good("providers", "--json").json["providers"]
    assert [p["name"] for p in view] == [info.name for info in available()]
    done = good("providers", columns=columns)
    assert max(map(len, done.out.splitlines())) <= columns
    one = good("providers", "bm25")
    assert "top_k" in one.out
    assert len(good("providers", "bm25", "--json").json["providers"]) == 1


def test_measures_are_listed() -> None:
    view = good("measures", "--json").json["measures"]
    assert [m["name"] for m in view] == list(MEASURES)
    done = good("measures", columns=80)
    assert max(map(len, done.out.splitlines())) <= 80
    for name in MEASURES:
        assert name in done.out


def test_a_served_provider_is_well_and_can_be_run(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "pmb_hf", "serve", "fts5", "--port", "0"],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as server:
        try:
            assert server.stdout is not None
            url = json.loads(server.stdout.readline())["url"]
            done = good("doctor", url, "--allow-reset", columns=80)
            assert "round_trip" in done.out
            assert max(map(len, done.out.splitlines())) <= 80
            assert good("doctor", url, "--json").json["ok"] is True
            out = tmp_path / "r.json"
            good("run", "--provider", url, "--quiet", "--out", out, "--parts", "retrieval")
        finally:
            server.send_signal(signal.SIGINT)
            server.communicate(timeout=30)
    assert server.returncode == 0


def test_the_doctor_says_what_is_wrong() -> None:
    done = pmb("doctor", "http://127.0.0.1:1")
    assert done.code == 1
    assert "bad  reachable" in done.out
    assert pmb("doctor", "nonsense").code == 2
