"""``pmb show``, ``pmb explain`` and ``pmb rescore``: what reads reports."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from ..errors import InputError
from .options import (
    FixturesOption,
    JsonOption,
    OwnRulesOption,
    ReportCorpusOption,
    corpus_of,
    examples,
    known_rules,
)
from .output import note, show, show_json

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ..baselines import Baseline
    from ..explain import Answer, Subject
    from ..report import Evaluation, Judged, Report
    from ..schema import Corpus

SHOWN_FAILURES = 5

SHOW_EPILOG = examples(
    "pmb show reports/bm25.json",
    "pmb show reports/bm25.json --failures all",
    "pmb show retrieval.json session.json --rules spec --json",
)
EXPLAIN_EPILOG = examples(
    "pmb explain",
    "pmb explain alias-caps",
    "pmb explain alias-caps reports/bm25.json",
    "pmb explain session-tour reports/bm25.json --turn 3",
)
ReportFiles = Annotated[
    list[Path],
    typer.Argument(
        metavar="REPORT...", help="Report files, ours or upstream's, or folders of them."
    ),
]


class Overview(NamedTuple):
    """A report with all that its tables are made of."""

    report: Report
    evaluation: Evaluation
    baselines: Sequence[Baseline]
    subjects: Sequence[Subject]

    def show(self, *more: RenderableType, turns: bool = False) -> None:
        """Print the tables, and ``more`` below them."""
        from ..tables import overview as tables
        from ..tables.layout import apart
        from ..tables.remarks import remarks

        report, evaluation = self.report, self.evaluation
        serious, other = apart(remarks(report, evaluation, self.subjects))
        parts: list[RenderableType] = [tables.headline(report, evaluation), *serious]
        parts += tables.figures(report, evaluation, self.baselines)
        if evaluation.cases:
            parts.append(tables.categories(evaluation.cases))
        if turns and evaluation.turns:
            parts.append(tables.turns(evaluation.turns))
        timed = tables.times(report, evaluation)
        parts += [] if timed is None else [timed]
        show(*parts, *other, *more)


def overview(
    report: Report, evaluation: Evaluation, corpus: Corpus, *, controls: bool = True
) -> Overview:
    """Gather what stands beside a report's figures."""
    from ..baselines import baselines
    from ..explain import subjects

    parts = [
        part
        for part, there in (("retrieval", evaluation.cases), ("sessions", evaluation.turns))
        if there
    ]
    made = baselines(corpus, evaluation.rules, parts) if controls else []
    return Overview(report, evaluation, made, list(subjects(corpus)))


def show_reports(
    reports: ReportFiles,
    rules: OwnRulesOption = None,
    corpus: ReportCorpusOption = None,
    fixtures: FixturesOption = None,
    failures: Annotated[
        str | None,
        typer.Option(
            "--failures",
            metavar="N",
            help=f"How many failed cases to show, or all. Default: {SHOWN_FAILURES}; "
            "with --json, all.",
        ),
    ] = None,
    no_baselines: Annotated[
        bool, typer.Option("--no-baselines", help="Leave out floor and ceiling.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Show figures, categories, sessions and failures of reports.

    Upstream's reports can be shown, too; its retrieval and session reports of
    one provider are joined.
    """
    from ..diagnose import noise_table
    from ..report import judge

    most = _how_many(failures, as_json)
    chosen = None if rules is None else known_rules(rules)
    views = []
    for report in joined(reports):
        loaded = corpus_of(report, corpus, fixtures)
        evaluation = judge(report, loaded, chosen)
        made = overview(report, evaluation, loaded, controls=not no_baselines)
        bad = [j for j in (*evaluation.cases, *evaluation.turns) if not j.score.passed]
        if as_json:
            from . import views as json_views

            view = json_views.overview(report, evaluation, made.baselines, made.subjects)
            counts = noise_table(evaluation, loaded)
            bad_view = json_views.failed(bad[:most])
            views.append({**view, "diagnosis": counts, "failed": bad_view})
        else:
            if views:
                show("")
            blocks = [*_diagnosis(evaluation, loaded), *_failures(made, bad, most)]
            made.show(*blocks, turns=True)
            views.append({})
    if as_json:
        show_json({"reports": views})


def _how_many(failures: str | None, as_json: bool) -> int | None:
    if failures is None:
        return None if as_json else SHOWN_FAILURES
    if failures == "all":
        return None
    if not failures.isdecimal():
        raise InputError(f"--failures takes a number or all, not {failures!r}")
    return int(failures)


def _diagnosis(evaluation: Evaluation, corpus: Corpus) -> list[RenderableType]:
    """What is wrong with the answers, by kind and category."""
    from ..diagnose import diagnoses
    from ..tables import diagnosis as tables
    from ..tables.layout import remark_list

    found = diagnoses(evaluation, corpus)
    made = (tables.wrong_table(found), tables.lost_table(found), tables.drift_table(found))
    blocks: list[RenderableType] = [block for block in made if block is not None]
    return [*blocks, *remark_list(tables.diagnosis_remarks(found))]


def _failures(made: Overview, bad: Sequence[Judged], most: int | None) -> list[RenderableType]:
    from rich.text import Text

    from ..explain import answer
    from ..tables.details import failure
    from ..tables.text import count_of

    shown = list(bad[:most])
    if not shown:
        return []
    by_key = {subject.key: subject for subject in made.subjects}
    head = Text(count_of(len(bad), "failed case"), style="bold")
    if len(shown) < len(bad):
        head.append(f", the first {len(shown)} (--failures all shows them all)", style="dim")
    blocks: list[RenderableType] = [head]
    for judged in shown:
        subject = by_key[judged.record.key]
        blocks.append(failure(subject, answer(subject, judged, made.report.provider)))
    return blocks


def joined(paths: Sequence[Path]) -> list[Report]:
    """The reports in ``paths``; upstream's two files of one provider are joined."""
    return [report for report, _ in joined_files(paths)]


def joined_files(paths: Sequence[Path]) -> list[tuple[Report, list[Path]]]:
    """The reports in ``paths``, files or folders of them, each with the files that it is of."""
    from ..leaderboard.collect import joined as join
    from ..report_reader import read_report

    read = [(path, read_report(path)) for path in _report_files(paths)]
    found = join(report for _, report in read)
    return [(report, [path for path, part in read if _holds(report, part)]) for report in found]


def _holds(report: Report, part: Report) -> bool:
    """Whether ``part`` is the report, or one of the two that it was joined from."""
    if report is part:
        return True
    if not (report.upstream and part.upstream and report.provider == part.provider):
        return False
    return bool(part.records) and all(record in report.records for record in part.records)


def _report_files(paths: Sequence[Path]) -> list[Path]:
    """The files that are meant: a folder of `pmb sweep`, or of an export, has its reports."""
    from ..leaderboard.collect import files

    found: list[Path] = []
    for path in paths:
        if not path.is_dir():
            found.append(path)
            continue
        there = files([path])
        if not there:
            raise InputError(f"{path} holds no reports (.json files); name them, or their folder")
        found += there
    return found


def explain(
    case: Annotated[
        str | None,
        typer.Argument(
            metavar="[CASE]",
            help="A case's id, or a beginning that only it has. Without it, all are listed.",
        ),
    ] = None,
    reports: Annotated[
        list[Path] | None, typer.Argument(metavar="[REPORT...]", help="What to compare.")
    ] = None,
    turn: Annotated[
        int | None, typer.Option("--turn", metavar="N", help="One turn of a session.")
    ] = None,
    corpus: ReportCorpusOption = None,
    fixtures: FixturesOption = None,
    rules: OwnRulesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Explain one case: what it wants, why, and what came back.

    Without a report, the case is one of the native corpus. Without a case, the
    ids of all cases and turns are listed, with category and query.
    """
    from ..corpus import load_corpus
    from ..explain import find
    from ..tables.details import answer_block, subject_block
    from . import views

    found = joined(reports or [])
    if found:
        loaded = corpus_of(found[0], corpus, fixtures)
    else:
        loaded = load_corpus(corpus or "native", fixtures=fixtures)
    if case is None:
        _list_cases(loaded, as_json=as_json)
        return
    chosen = None if rules is None else known_rules(rules)
    wanted = find(loaded, case, turn)
    answers = _answers(found, loaded, wanted, chosen)
    if as_json:
        show_json({"cases": [views.explanation(s, answers[s.key]) for s in wanted]})
        return
    for subject in wanted:
        show(subject_block(subject), *(answer_block(subject, a) for a in answers[subject.key]))
        if subject is not wanted[-1]:
            show("")


def _list_cases(corpus: Corpus, *, as_json: bool) -> None:
    from ..explain import subjects

    found = list(subjects(corpus))
    if as_json:
        from .views import case_row

        show_json({"corpus": corpus.name, "cases": [case_row(subject) for subject in found]})
        return
    from ..tables.lists import cases

    show(cases(found))


def _answers(
    reports: Sequence[Report], corpus: Corpus, wanted: Sequence[Subject], rules: str | None
) -> dict[tuple[str, int | None], list[Answer]]:
    from ..diagnose import origins
    from ..explain import answer
    from ..report import judge

    sources = origins(corpus)
    found: dict[tuple[str, int | None], list[Answer]] = {s.key: [] for s in wanted}
    for report in reports:
        evaluation = judge(report, corpus, rules)
        judged = {j.record.key: j for j in (*evaluation.cases, *evaluation.turns)}
        for subject in wanted:
            if subject.key in judged:
                made = answer(subject, judged[subject.key], report.provider, sources)
                found[subject.key].append(made)
            else:
                note(f"the report of {report.provider} lacks case {subject.case_id}")
    return found
