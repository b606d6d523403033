"""The pytest plugin, in real pytest runs of other suites."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from corpora import write
from gate_kit import MOORING, report_of

from pmb_hf import pytest_plugin
from pmb_hf.corpus import load_corpus
from pmb_hf.report_json import report_json
from pmb_hf.report_reader import read_report
from pmb_hf.runner import run

pytest_plugins = ["pytester"]

HEAVY = {"pmb_hf.gate", "pmb_hf.runner", "pmb_hf.corpus", "pmb_hf.measures", "httpx", "tantivy"}


def pytest_run(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    """Run the suite with the plugin, which is there by its entry point once it is installed."""
    return pytester.runpytest_inprocess(*named(), *arguments)


def named() -> list[str]:
    """Options that name the plugin where the package was installed before it had one."""
    installed = any(point.name == "pmb_hf" for point in entry_points(group="pytest11"))
    plugin = [] if installed else ["-p", "pmb_hf.pytest_plugin"]
    return [*plugin, "-p", "no:cacheprovider"]


@pytest.fixture
def tiny(pytester: pytest.Pytester) -> Path:
    """A suite whose root directory holds the tiny corpus."""
    return write(pytester.path / "corpus")


def test_entry_point_names_the_plugin() -> None:
    text = (Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8")
    assert '[project.entry-points.pytest11]\npmb_hf = "pmb_hf.pytest_plugin"\n' in text
    assert pytest_plugin.pmb is not None


def test_loading_the_plugin_loads_nothing_of_the_benchmark(tmp_path: Path) -> None:
    code = "import pytest, sys\nbefore = set(sys.modules)\nimport pmb_hf.pytest_plugin\n"
    code += "print(*sorted(set(sys.modules) - before))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    assert {name for name in loaded if name.startswith("pmb_hf")} == {
        "pmb_hf",
        "pmb_hf._version",
        "pmb_hf.errors",
        "pmb_hf.pytest_plugin",
    }


def test_suite_that_does_not_use_it_loads_nothing(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        f"""
        import sys
        def test_nothing_is_loaded():
            assert not {HEAVY!r} & set(sys.modules)
        """
    )
    result = pytester.runpytest_subprocess(*named(), "--strict-markers")
    result.assert_outcomes(passed=1)


def test_run_and_assertions_that_hold(pytester: pytest.Pytester, tiny: Path) -> None:
    pytester.makepyfile(
        """
        def test_memory(pmb):
            run = pmb.run("oracle", "corpus")
            run.assert_at_least("session.passes>=3", precision=1, drift=0, hit_at_1=1)
            run.assert_no_regression(run.report)
            assert run.evaluation.retrieval["passed"] == 8
            assert run.report.corpus_name == "corpus"
            assert run.path is None
            assert repr(run) == "<pmb run of oracle: 11 of 11 passed>"
        """
    )
    pytest_run(pytester).assert_outcomes(passed=1)


def test_failed_limit_is_told_with_its_cases(pytester: pytest.Pytester, tiny: Path) -> None:
    pytester.makepyfile(
        """
        def test_memory(pmb):
            pmb.run("everything", "corpus").assert_at_least(precision=0.9, drift=0.1)
        """
    )
    result = pytest_run(pytester)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*AssertionError: everything: retrieval precision is 0.* (n=4); it must be at least *",
            "*  c-mooring (0.*): *",
            "*session drift is *; it must be at most 0.1",
            "*  s-refit turn 1 (*): *",
        ]
    )
    assert "def check(" not in result.stdout.str(), "frames of the plugin are hidden"


def test_regression_against_a_file(pytester: pytest.Pytester, tiny: Path) -> None:
    corpus = load_corpus(tiny)
    report = run("oracle", corpus)
    (pytester.path / "base.json").write_text(report_json(report, corpus), encoding="utf-8")
    pytester.makepyfile(
        """
        def test_default_is_passes_of_both_parts(pmb):
            pmb.run("empty", "corpus").assert_no_regression("base.json")

        def test_allowed(pmb):
            run = pmb.run("empty", "corpus")
            run.assert_no_regression("base.json", "session.passes=3", passes=4)
        """
    )
    result = pytest_run(pytester)
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(
        ["*retrieval passed (n=8) went from 8 to 4; it must not get worse", "*  c-mooring*"]
    )
    result.stdout.fnmatch_lines(["*session passed (n=3) went from 3 to 0; *"])


def test_baseline_of_another_corpus_is_refused(pytester: pytest.Pytester, tiny: Path) -> None:
    corpus = load_corpus("native")
    text = report_json(run("empty", corpus), corpus)
    (pytester.path / "base.json").write_text(text, encoding="utf-8")
    pytester.makepyfile(
        """
        import pytest
        from pmb_hf.errors import ReportError

        def test_memory(pmb):
            with pytest.raises(ReportError, match="made on corpus 'native'"):
                pmb.run("empty", "corpus").assert_no_regression("base.json")
        """
    )
    pytest_run(pytester).assert_outcomes(passed=1)


MARKED = """
import pytest

@pytest.mark.pmb("oracle", corpus="corpus", fail_under=["precision=1", "drift<=0"])
def test_good(pmb_run):
    assert pmb_run.evaluation.retrieval["leaks"] == 0

@pytest.mark.pmb(provider="everything", corpus="corpus", fail_under="precision=0.9")
def test_bad():
    raise SystemError("the body is not reached")

class TestGroup:
    @pytest.mark.pmb(provider="empty", corpus="corpus", parts=["retrieval"])
    @pytest.mark.parametrize("number", [1, 2])
    def test_without_limits(self, number, pmb_run):
        assert pmb_run.evaluation.session is None
"""


def test_marker_runs_and_gates(pytester: pytest.Pytester, tiny: Path) -> None:
    pytester.makepyfile(MARKED)
    result = pytest_run(pytester, "--strict-markers")
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(["everything: retrieval precision is *", "  c-mooring (*"])
    assert "the body is not reached" not in result.stdout.str()


def test_marker_gates_a_unittest_too(pytester: pytest.Pytester, tiny: Path) -> None:
    pytester.makepyfile(
        """
        import unittest
        import pytest

        class Memory(unittest.TestCase):
            @pytest.mark.pmb("everything", corpus="corpus", fail_under="passes=8")
            def test_memory(self):
                pass
        """
    )
    pytest_run(pytester).assert_outcomes(failed=1)


def test_marker_with_a_baseline(pytester: pytest.Pytester, tiny: Path) -> None:
    corpus = load_corpus(tiny)
    text = report_json(run("oracle", corpus), corpus)
    (pytester.path / "base.json").write_text(text, encoding="utf-8")
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.pmb("oracle", corpus="corpus", base="base.json")
        def test_same(): ...

        @pytest.mark.pmb("empty", corpus="corpus", base="base.json", max_regression="precision=0.5")
        def test_worse(): ...

        @pytest.mark.pmb("empty", corpus="corpus", base="nowhere.json")
        def test_no_baseline(): ...
        """
    )
    result = pytest_run(pytester)
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(["empty: retrieval precision (n=4) went from 1 to 0; *"])
    result.stdout.fnmatch_lines(["*nowhere.json can't be read*"])


@pytest.mark.parametrize(
    ("marker", "said"),
    [
        ("@pytest.mark.pmb()", "names no provider"),
        ("@pytest.mark.pmb('oracle', fail_under=['precison=1'])", "did you mean 'precision'"),
        ("@pytest.mark.pmb('oracle', max_regression='passes=0')", "needs a baseline"),
        ("@pytest.mark.pmb('orakle')", "orakle"),
        ("", "pmb_run needs a marker"),
    ],
)
def test_marker_that_can_not_be_meant_is_an_error(
    pytester: pytest.Pytester, marker: str, said: str
) -> None:
    pytester.makepyfile(f"import pytest\n{marker}\ndef test_memory(pmb_run): ...\n")
    result = pytest_run(pytester)
    result.assert_outcomes(errors=1)
    assert said in result.stdout.str()


def test_system_may_be_a_class_or_an_object_and_a_fixture_may_share_its_run(
    pytester: pytest.Pytester, tiny: Path
) -> None:
    pytester.makepyfile(
        """
        import pytest
        from pmb_hf.providers.controls import EverythingProvider

        @pytest.mark.pmb(EverythingProvider, corpus="corpus", name="mine")
        def test_class(pmb_run):
            assert pmb_run.report.provider == "mine"

        @pytest.fixture(scope="module")
        def memory(pmb):
            return pmb.run(EverythingProvider(), "corpus")

        def test_object(memory):
            assert memory.report.provider == "EverythingProvider"
        """
    )
    pytest_run(pytester).assert_outcomes(passed=2)


def test_run_that_stopped_early_is_an_error_with_its_report_kept(
    pytester: pytest.Pytester, tiny: Path
) -> None:
    pytester.makepyfile(
        """
        from pmb_hf.providers.controls import ScriptedProvider

        def test_memory(pmb):
            pmb.run(ScriptedProvider(default=RuntimeError("down")), "corpus", max_failures=2)
        """
    )
    result = pytest_run(pytester, "--pmb-report-dir", "kept")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*ProviderError: ScriptedProvider: the run stopped early: 2 *"])
    assert list((pytester.path / "kept").iterdir())


REPORTED = """
def test_one(pmb):
    assert pmb.run("oracle", "corpus").path.name == "oracle-corpus-spec.json"

def test_two(pmb):
    assert pmb.run("oracle", "corpus").path.name == "oracle-corpus-spec-2.json"
"""


def test_reports_are_kept_and_can_be_read(pytester: pytest.Pytester, tiny: Path) -> None:
    pytester.makepyfile(REPORTED)
    for _ in range(2):  # a second session replaces the reports of the first
        pytest_run(pytester, "--pmb-report-dir=out/kept").assert_outcomes(passed=2)
    kept = sorted((pytester.path / "out" / "kept").iterdir())
    assert [path.name for path in kept] == ["oracle-corpus-spec-2.json", "oracle-corpus-spec.json"]
    assert read_report(kept[0]).provider == "oracle"


def test_report_dir_by_ini_is_relative_to_the_root(
    pytester: pytest.Pytester, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytester.makeini("[pytest]\npmb_report_dir = kept\n")
    pytester.mkdir("deep")
    (pytester.path / "deep" / "test_it.py").write_text(REPORTED, encoding="utf-8")
    monkeypatch.chdir(pytester.path / "deep")
    pytest_run(pytester).assert_outcomes(passed=2)
    assert len(list((pytester.path / "kept").iterdir())) == 2


def test_workers_of_xdist_keep_their_reports_apart(pytester: pytest.Pytester, tiny: Path) -> None:
    pytest.importorskip("xdist")
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.parametrize("number", range(4))
        def test_memory(pmb, number):
            pmb.run("empty", "corpus")
        """
    )
    result = pytester.runpytest_subprocess(*named(), "-n2", "--pmb-report-dir=kept")
    result.assert_outcomes(passed=4)
    names = [path.name for path in (pytester.path / "kept").iterdir()]
    assert len(names) == 4
    assert all("-gw" in name for name in names)


def test_no_limit_is_no_assertion(pytester: pytest.Pytester, tiny: Path) -> None:
    pytester.makepyfile(
        """
        import pytest
        from pmb_hf.errors import InputError

        def test_memory(pmb):
            with pytest.raises(InputError, match="no limit"):
                pmb.run("oracle", "corpus").assert_at_least()
        """
    )
    pytest_run(pytester).assert_outcomes(passed=1)


def test_help_and_markers_explain_it(pytester: pytest.Pytester) -> None:
    result = pytest_run(pytester, "--markers")
    result.stdout.fnmatch_lines(["@pytest.mark.pmb(provider, *run the benchmark*"])
    pytest_run(pytester, "--help").stdout.fnmatch_lines(["*--pmb-report-dir=DIR*"])


def test_kit_reports_are_readable_as_baselines(tmp_path: Path) -> None:
    # The fixture takes what `pmb run` writes: the same text.
    corpus = load_corpus(write(tmp_path / "corpus"))
    text = report_json(report_of({MOORING: []}), corpus)
    assert json.loads(text)["provider"] == "scripted"
