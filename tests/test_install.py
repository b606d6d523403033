"""Tests of pmb_hf.install: what a fresh process elsewhere then finds by name."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pmb_hf import assets
from pmb_hf.corpus import load_corpus
from pmb_hf.dataset_rows import CONFIGS, rows
from pmb_hf.errors import InputError, PmbError
from pmb_hf.install import InstallReport, install, uninstall

ROOT = Path(__file__).resolve().parent.parent
LOAD = """
import json, sys, datasets, evaluate
configs = json.loads(sys.argv[1])
rows = {c: datasets.load_dataset("precisionmembench", c, split="test").to_list() for c in configs}
passed = {}
for config in (None, "retrieval", "sessions"):
    metric = evaluate.load("precisionmembench", config)
    references = rows[config or "retrieval"]
    keys = {"case_id", "turn_index"} & set(references[0])
    predictions = [
        {**{key: row[key] for key in keys}, "relevant_beliefs": row["gold"]} for row in references
    ]
    result = metric.compute(predictions=predictions, references=references)
    passed[str(config)] = [result["passed"], result["cases"], result["mean_precision"]]
assert "pmb_hf" not in sys.modules
print(json.dumps({"rows": rows, "passed": passed}))
"""


class Home(NamedTuple):
    """Caches as the libraries lay them out below HF_HOME."""

    path: Path

    @property
    def datasets(self) -> Path:
        return self.path / "datasets"

    @property
    def modules(self) -> Path:
        return self.path / "modules"

    def install(self) -> InstallReport:
        return install(datasets_cache=self.datasets, modules_cache=self.modules)

    def environment(self, **more: str) -> dict[str, str]:
        """An environment in which the libraries use these caches."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("HF_", "PYTHON"))}
        # evaluate asks the Hub thrice before it looks at its cache, unless it is told not to.
        offline = {"HF_HUB_OFFLINE": "1", "HF_EVALUATE_OFFLINE": "1"}
        return kept | {"HF_HOME": str(self.path)} | offline | more


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "hf home")


def used(home: Home, cwd: Path, **more: str) -> dict[str, Any]:
    """What a fresh process in another directory loads by name."""
    cwd.mkdir(exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-c", LOAD, json.dumps(list(CONFIGS))],
        cwd=cwd,
        env=home.environment(**more),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def works(found: dict[str, Any]) -> bool:
    """Whether all that was loaded is as it should be."""
    corpus = load_corpus()
    whole = {"None": 77, "retrieval": 77, "sessions": 12}
    return found["rows"] == {config: rows(corpus, config) for config in CONFIGS} and all(
        cases == whole[config] and 0 < passed <= cases and precision == 1.0
        for config, (passed, cases, precision) in found["passed"].items()
    )


def tree(directory: Path) -> dict[str, bytes]:
    """Every file below a directory but locks."""
    return {
        path.relative_to(directory).as_posix(): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file() and path.suffix != ".lock"
    }


def test_offline_from_another_directory(home: Home, tmp_path: Path) -> None:
    report = home.install()
    assert report.configs == tuple(CONFIGS)
    assert len(report.written) == len(CONFIGS) + 1
    assert all(path.is_dir() for path in (*report.written, report.dataset, report.metric))
    assert works(used(home, tmp_path / "elsewhere", HF_EVALUATE_OFFLINE="0"))


class _NotFound(BaseHTTPRequestHandler):
    """A Hub that has nothing."""

    def do_GET(self) -> None:
        self.server.seen.append(self.path)  # type: ignore[attr-defined]
        self.send_response(404)
        self.send_header("X-Error-Code", "RepoNotFound")
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_HEAD = do_POST = do_GET  # noqa: N815 - http.server's names

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


@pytest.fixture
def empty_hub() -> Iterator[ThreadingHTTPServer]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _NotFound)
    server.seen = []  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_online_where_the_hub_has_no_such_name(
    home: Home, tmp_path: Path, empty_hub: ThreadingHTTPServer
) -> None:
    home.install()
    online = {"HF_HUB_OFFLINE": "0", "HF_EVALUATE_OFFLINE": "0"}
    online["HF_ENDPOINT"] = f"http://127.0.0.1:{empty_hub.server_port}"
    found = used(home, tmp_path / "elsewhere", **online)
    assert works(found)
    assert any("precisionmembench" in path for path in empty_hub.seen)  # type: ignore[attr-defined]


def test_installing_twice_changes_nothing(home: Home) -> None:
    home.install()
    before = tree(home.path)
    report = home.install()
    assert report.written == report.removed == ()
    assert tree(home.path) == before
    assert not [path for path in home.path.rglob("*") if path.name.endswith("-install")]


def test_an_older_install_is_replaced(home: Home, tmp_path: Path) -> None:
    first = home.install()
    clean = tree(home.path)
    for path in first.written:
        old = path.with_name("0" * 64)
        path.rename(old)
        for file in old.iterdir():
            file.write_bytes(b"raise SystemExit('an old version')")
    second = home.install()
    assert second.written == first.written
    assert {path.name for path in second.removed} == {"0" * 64}
    assert tree(home.path) == clean
    assert works(used(home, tmp_path / "elsewhere"))


def test_a_damaged_install_is_repaired(home: Home) -> None:
    first = home.install()
    clean = tree(home.path)
    next(first.written[0].glob("*.arrow")).write_bytes(b"")
    (first.metric / first.written[-1].name / "precisionmembench.py").unlink()
    second = home.install()
    assert set(second.written) == {first.written[0], first.written[-1]}
    assert tree(home.path) == clean


def test_a_half_finished_preparation_of_the_library_is_cleared(home: Home, tmp_path: Path) -> None:
    # The library leaves this where a process that prepares the dataset is killed, and
    # then finds the dataset no longer.
    report = home.install()
    half = report.written[0].with_name("1" * 64 + ".incomplete")
    half.mkdir()
    assert home.install().removed == (half,)
    assert works(used(home, tmp_path / "elsewhere"))


def test_a_killed_install_is_made_good_by_the_next(home: Home, tmp_path: Path) -> None:
    code = "from pmb_hf.install import install; install()"
    environment = home.environment(PYTHONPATH=str(ROOT))
    for stop_at in (home.datasets, home.datasets / "precisionmembench", home.modules):
        process = subprocess.Popen([sys.executable, "-c", code], env=environment, cwd=tmp_path)
        while process.poll() is None and not stop_at.exists():
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
        process.wait()
    home.install()
    assert works(used(home, tmp_path / "elsewhere"))
    assert not [path for path in home.path.rglob("*") if path.name.endswith("-install")]


def test_installs_at_the_same_time(home: Home, tmp_path: Path) -> None:
    code = "from pmb_hf.install import install; install()"
    environment = home.environment(PYTHONPATH=str(ROOT))
    command = [sys.executable, "-c", code]
    both = [subprocess.Popen(command, env=environment, cwd=tmp_path) for _ in range(2)]
    assert [process.wait() for process in both] == [0, 0]
    assert works(used(home, tmp_path / "elsewhere"))


def test_uninstall(home: Home) -> None:
    other = home.datasets / "somebody___else" / "data"
    other.mkdir(parents=True)
    installed = home.install()
    report = uninstall(datasets_cache=home.datasets, modules_cache=home.modules)
    assert set(report.removed) == {
        *(installed.dataset / config for config in CONFIGS),
        installed.metric,
    }
    assert not installed.dataset.exists()
    assert not installed.metric.exists()
    assert other.is_dir()
    again = uninstall(datasets_cache=home.datasets, modules_cache=home.modules)
    assert again.removed == ()


def test_uninstall_where_nothing_is(home: Home) -> None:
    assert uninstall(datasets_cache=home.datasets, modules_cache=home.modules).removed == ()
    assert not home.path.exists()


def test_other_corpora_in_the_cache_are_kept(home: Home) -> None:
    report = home.install()
    variant = report.dataset / "retrieval-corpus=own" / "1.0.0" / ("2" * 64)
    variant.mkdir(parents=True)
    assert home.install().removed == ()
    uninstall(datasets_cache=home.datasets, modules_cache=home.modules)
    assert variant.is_dir()


def test_the_metric_is_copied_as_files(home: Home) -> None:
    report = home.install()
    copied = {path.name for path in report.written[-1].iterdir()}
    source = assets.find("metric") / "precisionmembench"
    scripts = {path.name for path in source.glob("*.py")} - {"app.py", "tests.py"}
    assert copied == scripts | {"__init__.py"}
    assert not any(path.is_symlink() for path in report.written[-1].iterdir())


def test_a_cache_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"can't write to .*file.*HF_HOME"):
        install(datasets_cache=tmp_path / "file", modules_cache=tmp_path / "modules")


def test_without_the_metric_nothing_is_touched(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "metric").mkdir()
    monkeypatch.setattr(assets, "find", lambda name: tmp_path / name)
    with pytest.raises(PmbError, match=r"precisionmembench\.py is missing"):
        home.install()
    assert not home.path.exists()
