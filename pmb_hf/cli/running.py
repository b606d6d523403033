"""``pmb run``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from warnings import catch_warnings, simplefilter

import typer

from ..ending import exit_code_of
from ..errors import CorpusError, InputError, ProviderError, RunStoppedWarning
from .options import (
    CorpusOption,
    DistractorsOption,
    FixturesOption,
    JsonOption,
    RulesOption,
    examples,
    in_seconds,
    key_values,
    known_rules,
)
from .output import error_line, line, note, show_json
from .paths import holds_results, journal_of, report_place

if TYPE_CHECKING:
    from ..report import Evaluation, Report
    from ..schema import Corpus

STOPPED = 3

EPILOG = examples(
    "pmb run --provider bm25",
    "pmb run --provider bm25 --option top_k=5 --corpus official --out bm25.json",
    "pmb run --provider scripted --option file=answers.json --parts retrieval",
    "pmb run --provider bm25 --resume",
    "pmb run --provider bm25 --fail-under precision=0.8 --junit pmb.xml",
)


def run(
    provider: Annotated[
        str,
        typer.Option("--provider", "-p", metavar="NAME", help="One of `pmb providers`, or a URL."),
    ],
    option: Annotated[
        list[str] | None,
        typer.Option("--option", metavar="K=V", help="An option of the provider; repeatable."),
    ] = None,
    corpus: CorpusOption = "native",
    fixtures: FixturesOption = None,
    distractors: DistractorsOption = None,
    rules: RulesOption = "spec",
    parts: Annotated[
        str, typer.Option("--parts", metavar="PARTS", help="retrieval, sessions, or both.")
    ] = "retrieval,sessions",
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="PATH",
            help="A .json file for the report, or a directory. Default: reports/.",
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the newest unfinished run like this one.")
    ] = False,
    text_mode: Annotated[
        str | None,
        typer.Option(
            "--text-mode",
            metavar="MODE",
            help="What a memory's text is made of: all, canonical_name_aliases or content. "
            "Default: what the provider's configuration says, else all.",
        ),
    ] = None,
    namespace: Annotated[
        str, typer.Option("--namespace", metavar="X", help="Put in front of every user id.")
    ] = "",
    name: Annotated[
        str | None, typer.Option("--name", metavar="LABEL", help="The provider's name in reports.")
    ] = None,
    ready_timeout: Annotated[
        float,
        typer.Option(
            "--ready-timeout",
            metavar="S",
            callback=in_seconds,
            help="Seconds until a write must show.",
        ),
    ] = 60.0,
    max_failures: Annotated[
        int,
        typer.Option("--max-failures", metavar="N", min=1, help="Stop after N failures in a row."),
    ] = 10,
    run_timeout: Annotated[
        float | None,
        typer.Option(
            "--run-timeout",
            metavar="S",
            callback=in_seconds,
            help="Seconds after which the run stops early.",
        ),
    ] = None,
    repeat: Annotated[
        int,
        typer.Option(
            "--repeat",
            metavar="N",
            min=1,
            help="Ask each query N times; the first answer counts, the rest show the spread.",
        ),
    ] = 1,
    concurrency: Annotated[
        int | None,
        typer.Option(
            "--concurrency",
            metavar="N",
            min=1,
            help="Ask the single-turn queries again, N at a time, and report that apart.",
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            "--config",
            metavar="FILE",
            help="The file that names services. Default: ./providers.config.json.",
        ),
    ] = None,
    retries: Annotated[
        int | None,
        typer.Option("--retries", metavar="N", min=0, help="How often a service is tried again."),
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option(
            "--timeout",
            metavar="S",
            callback=in_seconds,
            help="Seconds that a service has for a call.",
        ),
    ] = None,
    honour_seed_delay: Annotated[
        bool,
        typer.Option("--honour-seed-delay", help="Wait for seedDelayMs of the configuration."),
    ] = False,
    fail_under: Annotated[
        list[str] | None,
        typer.Option(
            "--fail-under",
            metavar="LIMIT",
            help="End with exit code 1 if a measure is worse: precision=0.8, drift<=0.1, "
            "session.passes=10. Repeatable.",
        ),
    ] = None,
    junit: Annotated[
        Path | None,
        typer.Option("--junit", metavar="FILE", help="Write the cases as JUnit XML, too."),
    ] = None,
    no_baselines: Annotated[
        bool, typer.Option("--no-baselines", help="Leave out floor and ceiling.")
    ] = False,
    as_json: JsonOption = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="No progress, no tables: only the report's path.")
    ] = False,
) -> None:
    """Run the benchmark on a memory system and write the report.

    What is measured is kept beside the report in a journal until the run is
    done, so that a run which was interrupted can be gone on with by --resume.
    The exit code is 3 if the provider failed or the run stopped early, and 1 if
    a limit of --fail-under is not met.
    """
    from ..gate import check, demand, parse_limit
    from ..junit import write_junit
    from ..runner import run as run_benchmark
    from ..settings import check_text
    from .progress import run_progress

    check_text("--name", name or "")
    check_text("--namespace", namespace)
    limits = [parse_limit(text) for text in fail_under or ()]
    loaded = sound_corpus(corpus, fixtures)
    service = {"config": config, "retries": retries, "timeout": timeout}
    options = _options(option or (), service, honour_seed_delay=honour_seed_delay)
    with report_place(
        out,
        provider=name or provider,
        corpus=loaded.name,
        rules=known_rules(rules),
        resume=resume,
        now=datetime.now(UTC),
    ) as path:
        _check_places(path, junit)
        judged: list[Evaluation] = []
        try:
            with run_progress(quiet=quiet) as progress, catch_warnings():
                simplefilter("ignore", RunStoppedWarning)  # said below, with how to go on
                report = run_benchmark(
                    provider,
                    loaded,
                    rules=rules,
                    parts=[part.strip() for part in parts.split(",") if part.strip()],
                    options=options,
                    name=name,
                    out=path,
                    resume=resume,
                    text_mode=text_mode,
                    namespace=namespace,
                    ready_timeout_s=ready_timeout,
                    max_failures=max_failures,
                    run_timeout_s=run_timeout,
                    repeat=repeat,
                    concurrency=concurrency,
                    distractors=distractors,
                    progress=progress,
                    on_evaluation=judged.append,
                )
        except KeyboardInterrupt as error:
            note("; ".join(["interrupted", *_kept(path)]))
            raise typer.Exit(exit_code_of(error)) from None
        except (ProviderError, OSError):  # of these, what can't be written
            for text in _kept(path):
                note(text)
            raise
    (evaluation,) = judged
    if junit is not None:
        write_junit(junit, report, evaluation)
    _tell(report, evaluation, loaded, path, as_json=as_json, quiet=quiet, controls=not no_baselines)
    stopped = report.provenance.get("stopped")
    if stopped:
        error_line("; ".join([f"the run stopped early: {stopped}", *_kept(path)]))
        raise typer.Exit(STOPPED)
    demand(check(limits, evaluation), f"{report.provider} does not meet --fail-under")


def _options(
    given: Sequence[str], service: Mapping[str, object], *, honour_seed_delay: bool
) -> dict[str, str]:
    """The provider's options: those of --option, and those that have a name of their own."""
    options = key_values(given)
    options |= {key: str(value) for key, value in service.items() if value is not None}
    if honour_seed_delay:
        options["honour_seed_delay"] = "true"
    return options


def sound_corpus(corpus: str, fixtures: Path | None) -> Corpus:
    """Load a corpus to run; one of the user's own is looked over first.

    Raises:
        CorpusError: If it can't be loaded, or the linter finds errors in it.
    """
    from ..corpus import load_corpus

    loaded = load_corpus(corpus, fixtures=fixtures)
    if corpus not in ("native", "official"):
        from ..lint import lint

        errors = [f for f in lint(Path(corpus)) if f.severity == "error"]
        if errors:
            shown = "; ".join(f"{f.where}: {f.message}" for f in errors[:3])
            raise CorpusError(
                f"the corpus in {corpus} has {len(errors)} error(s), `pmb data lint {corpus}` "
                f"lists them: {shown}"
            )
    return loaded


def _check_places(path: Path, junit: Path | None) -> None:
    """Refuse, before anything runs, places that can't hold what is to be written."""
    from ..files import check_place

    if junit is not None and junit.resolve() == path.resolve():
        raise InputError(f"--junit and --out both name {path}; give each a file of its own")
    for place in filter(None, (path, junit)):
        check_place(place)


def _kept(path: Path) -> list[str]:
    """How to go on with a run, if anything was measured."""
    journal = journal_of(path)
    if not holds_results(journal):
        return []
    return [f"what was measured is kept in {journal}: go on with --resume --out {path}"]


def _tell(
    report: Report,
    evaluation: Evaluation,
    corpus: Corpus,
    path: Path,
    *,
    as_json: bool,
    quiet: bool,
    controls: bool,
) -> None:
    from .reporting import overview

    if as_json:
        from .views import overview as view

        made = overview(report, evaluation, corpus, controls=controls)
        show_json({"report": str(path), **view(report, evaluation, made.baselines, made.subjects)})
    elif quiet:
        line(str(path))
    else:
        overview(report, evaluation, corpus, controls=controls).show()
        line(f"\nReport: {path}")
