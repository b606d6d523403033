"""Writes the export: leaderboard, card, tables, ``eval.yaml`` and the reports, as one folder.

The folder is a dataset of the Hub as it is: ``load_dataset(folder, config)`` works for every
config. The same reports give the same bytes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from . import assets
from .corpus import load_corpus
from .dataset_build import CARD, EVAL, Encoded, parquet
from .dataset_card import NATIVE, Content, data_file, render
from .dataset_rows import CONFIGS as DATA_CONFIGS
from .dataset_rows import Row, rows
from .errors import InputError
from .files import check_place, check_source, write_atomically
from .hf_export_card import is_own, leaderboard_part, sealed, with_leaderboard
from .leaderboard.board import KIND, Run, board
from .leaderboard.collect import Collected
from .leaderboard.facts import run_id
from .leaderboard.subjects import may_show
from .leaderboard.tables import CONFIGS, leaderboard_rows, result_rows, shown_rules
from .leaderboard.wire import FILE, dump_board
from .report import Report, judge, rescore
from .report_json import dump, report_tree
from .schema import Corpus
from .withheld import withhold

REPORTS = "reports"
_REPORT = re.compile(r"reports/[\w.+-]+\.json")


class Exported(NamedTuple):
    """What was written, by its path in the folder; ``removed`` were left of an earlier export."""

    directory: Path
    files: tuple[str, ...]
    removed: tuple[str, ...]
    board: Row


def export(
    collected: Collected, out_dir: str | Path, *, own_texts: bool = False, published: bool = True
) -> Exported:
    """Write the export to ``out_dir``.

    Reports that an earlier export wrote there, as its board names them, and that are not among
    ``collected`` are removed, so that the folder is that of these reports alone. All other
    files are left alone, and so is a card that was changed by hand: then nothing is written.

    Args:
        collected: The reports.
        out_dir: The folder.
        own_texts: Whether texts of corpora of the user's own may be in it.
        published: Whether upstream's published figures are added.

    Raises:
        InputError: If the folder can't be written, could not be loaded, or holds files of these
            names that are of no export, or a card that was changed by hand; or if nothing is to
            be exported over an export.
    """
    out = Path(out_dir)
    try:
        name = out.resolve().name
    except RuntimeError as error:  # how some Pythons tell of links that go round in a circle
        raise InputError(f"{out} can't be written: its links lead nowhere") from error
    if (out / f"{name}.py").exists():
        raise InputError(
            f"{out} holds {name}.py; `datasets` refuses to load such a folder: choose another one"
        )
    files, tree = content(collected.runs, own_texts=own_texts, published=published)
    earlier = _earlier(out, files)
    if earlier and not collected.runs:
        raise InputError(
            f"no report is to be exported, and {out} holds an export of {len(earlier)}; "
            "name the reports, or choose another folder"
        )
    try:
        for path, data in files.items():
            write_atomically(out / path, data)
        removed = _remove_others(out, files, earlier)
    except OSError as error:
        raise InputError(f"can't write the export to {out}: {error}") from error
    return Exported(out, tuple(files), removed, tree)


def _earlier(out: Path, files: Mapping[str, object]) -> frozenset[str]:
    """The reports that an earlier export wrote to ``out``, as its board names them.

    Raises:
        InputError: If ``out`` holds something in our files' place that is of no export.
    """
    links = [path for path in (out / REPORTS, *(out / path for path in files)) if path.is_symlink()]
    if links:
        raise InputError(f"{links[0]} is a link; choose a folder without links in it")
    for path in files:
        check_place(out / path)
    board_file = out / FILE
    if not board_file.exists():
        foreign = next((path for path in files if (out / path).exists()), None)
        if foreign is not None:
            raise InputError(
                f"{out} holds {foreign}, but no export: choose an empty folder, or a new one"
            )
        return frozenset()
    try:
        check_source(board_file)
        tree = json.loads(board_file.read_text(encoding="utf-8"))
        named = [row["file"] for row in tree["rows"]]
        if tree["kind"] != KIND:
            raise ValueError("another kind of board")
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(f"{board_file} is of no export; choose another folder") from error
    if (out / CARD).exists() and not is_own(_read(out / CARD)):
        raise InputError(
            f"{out / CARD} is not as an export wrote it: move it away to keep it, or choose "
            "another folder"
        )
    return frozenset(name for name in named if isinstance(name, str) and _REPORT.fullmatch(name))


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise InputError(f"{path} can't be read: {error}") from error


def _remove_others(
    out: Path, files: Mapping[str, object], earlier: frozenset[str]
) -> tuple[str, ...]:
    old = [path for path in sorted(earlier) if (out / path).is_file()]
    old += [path for path in map(data_file, CONFIGS) if (out / path).is_file()]
    removed = tuple(path for path in old if path not in files)
    for path in removed:
        (out / path).unlink()
        with suppress(OSError):  # other files may be in it
            (out / path).parent.rmdir()
    return removed


def content(
    runs: Sequence[Run], *, own_texts: bool = False, published: bool = True
) -> tuple[dict[str, bytes], Row]:
    """The export's files by path, and the board. Nothing is written."""
    native = load_corpus(NATIVE)
    placed = [_placed(run, own_texts) for run in runs]
    tree = board(
        [run for run, _ in placed], corpora=[native], own_texts=own_texts, published=published
    )
    files = {run.file: data for run, data in placed if run.file is not None and data is not None}
    tables: dict[str, list[Row]] = {config: rows(native, config) for config in DATA_CONFIGS}
    tables["leaderboard"] = leaderboard_rows(tree)
    results = _results([run for run, _ in placed], tree, own_texts)
    if results:  # `datasets` can't load a file without rows
        tables["results"] = results
    configs = {**DATA_CONFIGS, **CONFIGS}
    encoded = {name: parquet(configs[name].columns, made) for name, made in tables.items()}
    source = assets.find("dataset_script")
    card = _card(source, native, tree, tables, encoded)
    made = {
        FILE: dump_board(tree).encode(),
        CARD: card.encode(),
        EVAL: (source / EVAL).read_bytes(),
        **{data_file(name): found.data for name, found in encoded.items()},
        **dict(sorted(files.items())),
    }
    return made, tree


def _card(
    source: Path,
    native: Corpus,
    tree: Row,
    tables: Mapping[str, Sequence[Row]],
    encoded: Mapping[str, Encoded],
) -> str:
    template = with_leaderboard(
        (source / CARD).read_text(encoding="utf-8"),
        (assets.find("export") / "leaderboard.md").read_text(encoding="utf-8"),
    )
    sizes = {name: found.memory for name, found in encoded.items()}
    about = Content(native, NATIVE, tables, sizes, {**DATA_CONFIGS, **CONFIGS})
    return sealed(leaderboard_part(render(template, about), tree))


def _placed(run: Run, own_texts: bool) -> tuple[Run, bytes | None]:
    """The run with the name of its file, and what that holds.

    Without its corpus a report can't be written, for want of what must be taken out of it;
    one that was published before goes on as it is.
    """
    report = run.report
    if run.corpus is None:
        if run.raw is None:
            return run, None
        return run._replace(file=_file(report, report.corpus_name)), run.raw
    if report.upstream:
        report = rescore(report, run.corpus, report.rules)
    tree: dict[str, Any] = report_tree(report, judge(report, run.corpus), run.corpus)
    if not may_show(run.corpus, own_texts=own_texts):
        tree = withhold(tree, run.corpus, report.run_rules)
    return run._replace(file=_file(report, run.corpus.name)), dump(tree).encode()


def _file(report: Report, corpus: str) -> str:
    name = "-".join(map(_slug, (report.provider, corpus, report.run_rules.name)))
    return f"{REPORTS}/{name}-{run_id(report)}.json"


def _slug(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._]+", "-", text).strip("-.")[:60] or "unnamed"


def _results(runs: Sequence[Run], tree: Row, own_texts: bool) -> list[Row]:
    answers: dict[str, list[Row]] = {}
    for answer in tree["answers"]:
        answers.setdefault(answer["run"], []).append(answer)
    by_file = {run.file: run for run in runs if run.corpus is not None}
    found: list[Row] = []
    for row in tree["rows"]:
        run = by_file.get(row["file"])
        if run is None or run.corpus is None:
            continue
        rules = shown_rules(row, tree["defaultRules"])
        evaluation = judge(run.report, run.corpus, rules)
        judged = (*evaluation.cases, *evaluation.turns)
        texts = may_show(run.corpus, own_texts=own_texts)
        found += result_rows(row, rules, judged, answers[row["id"]], texts=texts)
    return found
