"""A pytest plugin: the benchmark as a test of your own suite.

It brings the fixture ``pmb``, which runs the benchmark and asserts on the
result, the marker ``@pytest.mark.pmb(...)`` with the fixture ``pmb_run``, and the
option ``--pmb-report-dir``. Nothing of the benchmark is imported before a test uses it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from warnings import catch_warnings, simplefilter

import pytest

if TYPE_CHECKING:
    from .gate import Violation
    from .providers.protocol import Provider
    from .report import Evaluation, Report
    from .schema import Corpus

MARKER = "pmb"
RUN_FIXTURE = "pmb_run"
_REPORT_DIR = "pmb_report_dir"
_HELP = "Keep the report of every benchmark run in DIR, as <provider>-<corpus>-<rules>.json."
_MARKER_HELP = (
    "pmb(provider, *, corpus='native', rules='spec', fail_under=(), base=None, "
    "max_regression=(), **settings): run the benchmark on a memory system for this "
    "test, which fails if a limit is not met; the fixture pmb_run holds the result."
)
_MARKER_GATES = ("fail_under", "base", "max_regression")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--pmb-report-dir`` and the ini option ``pmb_report_dir``."""
    group = parser.getgroup("pmb", "PrecisionMemBench")
    group.addoption("--pmb-report-dir", metavar="DIR", dest=_REPORT_DIR, help=_HELP)
    parser.addini(_REPORT_DIR, f"{_HELP} Relative to the root directory.", default="")


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line("markers", _MARKER_HELP)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Let a marked test have its run, whether it names the fixture or not."""
    names = getattr(item, "fixturenames", None)
    if names is not None and item.get_closest_marker(MARKER) and RUN_FIXTURE not in names:
        names.append(RUN_FIXTURE)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Check a marked test's limits before its own body, so that it fails and is no error."""
    __tracebackhide__ = True
    marker = item.get_closest_marker(MARKER)
    if marker is not None:
        values: Mapping[str, Any] = getattr(item, "funcargs", {})
        run = values.get(RUN_FIXTURE)
        if not isinstance(run, Run):
            pytest.fail(f"{item.nodeid}: only a test function can have the marker {MARKER!r}")
        if problem := _problem(run, marker):
            # The frames would be pytest's own: the test's body has not begun.
            pytest.fail(problem, pytrace=False)
    return (yield)


def _problem(run: Run, marker: pytest.Mark) -> str:
    """What of the marker's limits and baseline is not met; empty if all is."""
    from .errors import PmbError

    try:
        if limits := _several(marker.kwargs.get("fail_under", ())):
            run.assert_at_least(*limits)
        if (base := marker.kwargs.get("base")) is not None:
            run.assert_no_regression(base, *_several(marker.kwargs.get("max_regression", ())))
    except (AssertionError, PmbError) as error:
        return str(error)
    return ""


@pytest.fixture(scope="session")
def pmb(request: pytest.FixtureRequest) -> Bench:
    """Run the benchmark: ``pmb.run("bm25").assert_at_least(precision=0.8)``."""
    return Bench(request.config)


@pytest.fixture
def pmb_run(request: pytest.FixtureRequest, pmb: Bench) -> Run:
    """The run that the test's marker ``@pytest.mark.pmb(...)`` asks for."""
    marker = request.node.get_closest_marker(MARKER)
    if marker is None:
        pytest.fail(f"{RUN_FIXTURE} needs a marker: @pytest.mark.pmb(provider=...)", pytrace=False)
    settings = {key: value for key, value in marker.kwargs.items() if key not in _MARKER_GATES}
    if not marker.args and "provider" not in settings:
        pytest.fail("the marker names no provider: @pytest.mark.pmb(provider=...)", pytrace=False)
    if "max_regression" in marker.kwargs and marker.kwargs.get("base") is None:
        pytest.fail("max_regression needs a baseline: add base='REPORT.json'", pytrace=False)
    if problem := _misread(marker):
        pytest.fail(problem, pytrace=False)
    return pmb.run(*marker.args, **settings)


def _misread(marker: pytest.Mark) -> str:
    """What of the marker can't be read, so that no run is spent on a typing error."""
    from .errors import InputError
    from .limits import parse_allowance, parse_limit

    try:
        for text in _several(marker.kwargs.get("fail_under", ())):
            parse_limit(text)
        for text in _several(marker.kwargs.get("max_regression", ())):
            parse_allowance(text)
    except InputError as error:
        return str(error)
    return ""


class Bench:
    """Runs the benchmark for tests; the value of the fixture ``pmb``."""

    def __init__(self, config: pytest.Config) -> None:
        self._root = config.rootpath
        self._directory = _directory(config)
        worker: Mapping[str, Any] = getattr(config, "workerinput", {})
        self._worker = str(worker.get("workerid", ""))
        self._names: set[str] = set()

    def run(
        self,
        provider: str | Provider | type[Provider],
        corpus: str | Path | Corpus = "native",
        *,
        rules: str = "spec",
        fixtures: str | Path | None = None,
        **settings: Any,
    ) -> Run:
        """Run the benchmark and return what came of it.

        Args:
            provider: A registered name, a URL, an object with the provider's
                methods, or a class, which is called without arguments.
            corpus: ``"native"``, ``"official"``, a loaded corpus, or a directory; a
                relative one starts at pytest's root directory.
            rules: How to ask and to score.
            fixtures: Directory of upstream's fixtures, for ``"official"``.
            settings: More of :func:`pmb_hf.run`: ``parts``, ``options``, ``name`` …

        Raises:
            PmbError: As :func:`pmb_hf.run`; also if the run stopped early.
        """
        from .corpus import load_corpus
        from .errors import ProviderError, RunStoppedWarning
        from .report import judge
        from .runner import run
        from .schema import Corpus

        loaded = corpus
        if not isinstance(loaded, Corpus):
            loaded = load_corpus(self._corpus(loaded), fixtures=fixtures)
        made = provider() if isinstance(provider, type) else provider
        with catch_warnings():
            simplefilter("ignore", RunStoppedWarning)  # it is an error below
            report = run(made, loaded, rules=rules, **settings)
        evaluation = judge(report, loaded)
        kept = self._keep(report, evaluation, loaded)
        stopped = report.provenance.get("stopped")
        if stopped:
            raise ProviderError(f"{report.provider}: the run stopped early: {stopped}")
        return Run(report, evaluation, loaded, self._root, kept)

    def _corpus(self, corpus: str | Path) -> str | Path:
        return corpus if corpus in ("native", "official") else self._root / corpus

    def _keep(self, report: Report, evaluation: Evaluation, corpus: Corpus) -> Path | None:
        if self._directory is None:
            return None
        from .files import write_atomically
        from .report_json import dump, report_tree

        parts = [report.provider, report.corpus_name, report.rules, self._worker]
        stem = "-".join(_slug(part) for part in parts if part)
        name, number = stem, 2
        while name in self._names:
            name, number = f"{stem}-{number}", number + 1
        self._names.add(name)
        path = self._directory / f"{name}.json"
        write_atomically(path, dump(report_tree(report, evaluation, corpus)))
        return path


class Run:
    """One run of the benchmark.

    Attributes:
        report: What was measured.
        evaluation: The report, scored: ``evaluation.retrieval["mean_precision"]`` …
        path: Where the report was kept, or ``None`` without ``--pmb-report-dir``.
    """

    def __init__(
        self,
        report: Report,
        evaluation: Evaluation,
        corpus: Corpus,
        root: Path,
        path: Path | None = None,
    ) -> None:
        self.report = report
        self.evaluation = evaluation
        self.path = path
        self._corpus = corpus
        self._root = root

    def __repr__(self) -> str:
        """The provider and how many cases passed; short, because pytest prints it."""
        done = [*self.evaluation.cases, *self.evaluation.turns]
        passed = sum(judged.score.passed for judged in done)
        return f"<pmb run of {self.report.provider}: {passed} of {len(done)} passed>"

    def assert_at_least(self, *limits: str, **bounds: float) -> None:
        """Fail the test unless every limit is met.

        ``precision=0.8`` asks for at least 0.8 and ``drift=0.1`` for at most 0.1:
        the direction is the measure's. Limits as text may name the part or the
        direction: ``"session.passes>=10"``.

        Raises:
            AssertionError: Names each measure, its value and the cases behind it.
            PmbError: If a limit can't be read, or none is given.
        """
        __tracebackhide__ = True
        from .gate import check

        self._fail(check(_limits(limits, bounds), self.evaluation))

    def assert_no_regression(
        self, base: Report | str | Path, *allowances: str, **amounts: float
    ) -> None:
        """Fail the test if this run is worse than a baseline.

        Args:
            base: A report or its file; a relative path starts at pytest's root directory.
            allowances: ``"session.passes=1"`` …; by default ``"passes=0"`` for each
                part that the baseline covers.
            amounts: The same, as ``precision=0.02``.

        Raises:
            AssertionError: Names each measure, both values and the cases that were lost.
            PmbError: If the baseline can't be read, or is on another corpus.
        """
        __tracebackhide__ = True
        from .gate import regressions
        from .report import Report, judge
        from .report_reader import read_report

        report = base if isinstance(base, Report) else read_report(self._root / base)
        before = judge(report, self._corpus, self.evaluation.rules)
        allowed = [*allowances, *(f"{name}={amount}" for name, amount in amounts.items())]
        if not allowed:
            parts = {"passes=0": before.cases, "session.passes=0": before.turns}
            allowed = [text for text, judged in parts.items() if judged]
        self._fail(regressions(before, self.evaluation, allowed))

    def _fail(self, violations: Sequence[Violation]) -> None:
        __tracebackhide__ = True
        if violations:
            kept = [f"report: {self.path}"] if self.path else []
            text = "\n".join([*map(str, violations), *kept])
            raise AssertionError(f"{self.report.provider}: {text}")


def _limits(limits: Sequence[str], bounds: Mapping[str, float]) -> list[str]:
    from .errors import InputError

    given = [*limits, *(f"{name}={bound}" for name, bound in bounds.items())]
    if not given:
        raise InputError("there is no limit to meet; give one, like precision=0.8")
    return given


def _several(given: str | Iterable[str]) -> list[str]:
    return [given] if isinstance(given, str) else list(given)


def _directory(config: pytest.Config) -> Path | None:
    """Where reports are kept: by the command line, else by the ini file."""
    given = config.getoption(_REPORT_DIR)
    if given:
        return config.invocation_params.dir / Path(given)
    stated = config.getini(_REPORT_DIR)
    return config.rootpath / str(stated) if stated else None


def _slug(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._]+", "-", text).strip("-.")[:60] or "unnamed"
