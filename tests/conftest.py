"""What all tests share: isolated caches, upstream's files, and no silent skips."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

UPSTREAM_REASON = "set PMB_UPSTREAM_DIR to upstream's fixtures and reports"

# The Hugging Face libraries read these when they are imported, so they are set here, before any
# test module is. Every xdist worker loads this file and gets a directory of its own.
if "datasets" in sys.modules or "huggingface_hub" in sys.modules:
    raise pytest.UsageError("tests/conftest.py must be loaded before datasets and huggingface_hub")
SCRATCH = Path(tempfile.mkdtemp(prefix="pmb-hf-tests-"))
for _name in ("HF_TOKEN", "HF_ENDPOINT", "HF_HUB_CACHE", "HF_ASSETS_CACHE", "FORCE_COLOR"):
    os.environ.pop(_name, None)
os.environ.update(
    HF_HOME=str(SCRATCH / "hf"),
    HF_DATASETS_CACHE=str(SCRATCH / "hf" / "datasets"),
    HF_EVALUATE_CACHE=str(SCRATCH / "hf" / "evaluate"),
    HF_METRICS_CACHE=str(SCRATCH / "hf" / "metrics"),
    HF_MODULES_CACHE=str(SCRATCH / "hf" / "modules"),
    XDG_CACHE_HOME=str(SCRATCH / "cache"),
    XDG_CONFIG_HOME=str(SCRATCH / "config"),
    XDG_DATA_HOME=str(SCRATCH / "data"),
    HF_HUB_OFFLINE="1",  # a test that talks to a server starts its own, and a process with 0
    HF_HUB_DISABLE_TELEMETRY="1",
    # Tables on the command line come out alike on every terminal.
    COLUMNS="120",
    NO_COLOR="1",
)

hypothesis.settings.register_profile(
    "ci",
    deadline=None,  # speed is measured in benchmarks/, not here
    derandomize=True,
    max_examples=60,
)
hypothesis.settings.register_profile("thorough", deadline=None, max_examples=2000)
hypothesis.settings.load_profile(os.environ.get("PMB_HYPOTHESIS_PROFILE", "ci"))


@pytest.fixture(scope="session", autouse=True)
def isolated_caches() -> Iterator[Path]:
    """The directory that holds all caches of this test process; removed at the end."""
    yield SCRATCH
    shutil.rmtree(SCRATCH, ignore_errors=True)


@pytest.fixture(scope="session")
def upstream_dir() -> Path:
    """Upstream's fixtures and reports, which are not part of this project."""
    value = os.environ.get("PMB_UPSTREAM_DIR", "")
    if not value or not Path(value).is_dir():
        pytest.skip(UPSTREAM_REASON)
    return Path(value)


def _unexpected_skips(config: pytest.Config) -> list[tuple[str, str]]:
    """(test, reason) of each skipped test. Doing without upstream's files is a choice, if unset."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or os.environ.get("PMB_FAIL_ON_SKIP") != "1":
        return []
    skips = []
    for report in reporter.stats.get("skipped", []):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        if "PMB_UPSTREAM_DIR" in os.environ or not reason.endswith(UPSTREAM_REASON):
            skips.append((report.nodeid, reason))
    return skips


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """With PMB_FAIL_ON_SKIP=1, a run that skipped a test has failed."""
    if session.exitstatus == pytest.ExitCode.OK and _unexpected_skips(session.config):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """List the skipped tests that made the run fail."""
    skips = _unexpected_skips(config)
    if skips:
        terminalreporter.section("skipped, which PMB_FAIL_ON_SKIP=1 forbids", red=True)
        for nodeid, reason in skips:
            terminalreporter.line(f"{nodeid}: {reason}")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the scratch directory also where no test ran (the xdist controller)."""
    shutil.rmtree(SCRATCH, ignore_errors=True)
