"""The metric's page: score a pasted or uploaded predictions file. Needs no package of the project.

References are those of the benchmark's own corpus, which lie beside this file when it is published
(``references/<config>.json``), or an uploaded file.
"""

from __future__ import annotations

import json
import math
import os
import re
import sys
from pathlib import Path
from typing import Any

# Set before they are imported: neither reports its start to its makers.
os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")

# It may be started from elsewhere.
sys.path.insert(0, str(Path(__file__).resolve().parent))

from parquet_rows import UnreadableError, read_parquet
from visitors import GONE, KEPT, VARIABLE, end_on_sigterm, fetch_nothing, own_folder, uploaded

os.environ[VARIABLE] = str(own_folder())

import evaluate
import gradio as gr

HERE = Path(__file__).resolve().parent
CONFIGS = ("retrieval", "sessions")
RULES = ("spec", "upstream-2026-06", "upstream-2026-09")
MISSING = ("error", "miss")
MOST_BYTES = 20 * 1024 * 1024
MOST_ROWS = 20_000
LONGEST_ERROR, LONGEST_CELL = 600, 300
SUFFIXES = (".json", ".jsonl", ".parquet")
DATASET = "precisionmembench"
EXAMPLE = """\
[
  {"case_id": "mooring", "relevant_beliefs": ["berth-14", "old-berth"]},
  {"case_id": "weather", "relevant_beliefs": []}
]"""
REFUSED = (
    f"Not scored: a file is none that was uploaded here, or none of {', '.join(SUFFIXES)}; "
    "choose it again"
)
CASE_COLUMNS = ("case_id", "turn_index", "passed", "precision", "recall", "failures")

Row = dict[str, Any]
Output = tuple[str, list[list[Any]], list[list[Any]]]


class Unreadable(ValueError):
    """What was given can't be scored; the message says why."""


def score(
    config: str | None,
    rules: str | None,
    on_missing: str | None,
    pasted: str | None,
    file: str | None,
    references: str | None,
) -> Output:
    """A sentence, the table of measures, and that of failed cases."""
    try:
        choices = ((config, CONFIGS), (rules, RULES), (on_missing, MISSING))
        for chosen, known in choices:
            if chosen not in known:
                raise Unreadable(f"choose one of {', '.join(known)}")
        predictions = _predictions(pasted or "", file)
        wanted = _references(config, references)
        result = _metric(config).compute(
            predictions=predictions,
            references=wanted,
            rules=rules,
            on_missing=on_missing,
            return_cases=True,
        )
    except OSError as error:
        why = error.strerror or type(error).__name__
        return f"Not scored: a file can't be read ({why})", [], []
    except (ValueError, TypeError, ImportError) as error:
        # The folders that files lie in are nobody's business.
        text = " ".join(str(error).split())
        for folder in (HERE, own_folder(), Path.home()):
            text = text.replace(f"{folder}{os.sep}", "")
        return f"Not scored: {_cut(text, LONGEST_ERROR)}", [], []
    cases = result.pop("cases")
    passed = sum(bool(case["passed"]) for case in cases)
    told = f"{passed} of {len(cases)} cases pass, under the rules {rules}."
    measures = [[name, _shown(value)] for name, value in sorted(result.items())]
    failed = [_case(case) for case in cases if not case["passed"]]
    return told, measures, failed


def _predictions(pasted: str, file: str | None) -> list[Row]:
    if file and pasted.strip():
        raise Unreadable("there is a pasted text and a file; clear one of them")
    if file:
        return read_file(_there(file), "predictions")
    if not pasted.strip():
        raise Unreadable("paste predictions, or upload a file of them")
    return read_text(pasted, "predictions")


def _there(file: str) -> Path:
    found = uploaded(file)
    if found is None:
        raise Unreadable(GONE)
    return found


def _references(config: str | None, file: str | None) -> list[Row]:
    if file:
        return read_file(_there(file), "references")
    beside = HERE / "references" / f"{config}.json"
    if beside.is_file():
        return read_text(beside.read_text(encoding="utf-8"), beside.name)
    import datasets

    try:
        return list(datasets.load_dataset(DATASET, config, split="test"))
    except Exception as error:
        raise Unreadable(
            f"the benchmark's references can't be loaded ({type(error).__name__}); upload a "
            "references file"
        ) from error


def read_file(path: Path, role: str) -> list[Row]:
    """The rows of a JSON list, of JSON lines or of a Parquet file."""
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise Unreadable(f"{role}: {path.name} is none of {', '.join(SUFFIXES)}")
    if path.stat().st_size > MOST_BYTES:
        raise Unreadable(f"{role}: {path.name} has more than {MOST_BYTES >> 20} MiB")
    if suffix == ".parquet":
        try:
            return read_parquet(path, MOST_ROWS)
        except UnreadableError as error:
            raise Unreadable(f"{role}: {error}") from error
    try:
        return read_text(path.read_text(encoding="utf-8-sig"), role)
    except UnicodeDecodeError as error:
        raise Unreadable(f"{role}: {path.name} is not UTF-8: {error}") from error


def read_text(text: str, role: str) -> list[Row]:
    """The rows of a JSON list or of JSON lines."""
    if len(text) > MOST_BYTES:
        raise Unreadable(f"{role}: more than {MOST_BYTES >> 20} MiB")
    if text.lstrip().startswith("["):
        rows = _parse(text, role)
    else:
        lines = [(n, line) for n, line in enumerate(text.split("\n"), 1) if line.strip()]
        rows = [_parse(line, f"{role}, line {n}") for n, line in lines]
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            raise Unreadable(f'{role}: row {number} must be an object such as {{"case_id": …}}')
    return rows


def _parse(text: str, where: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"{where}: no valid JSON: {error}") from error


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no JSON value; use null")


def _metric(config: str | None) -> Any:
    """The metric from the script beside this file, whatever the Space is called."""
    scripts = [path for path in sorted(HERE.glob("*.py")) if _is_metric(path)]
    if not scripts:
        raise Unreadable("the metric's script is missing beside this page")
    return evaluate.load(str(scripts[0]), config, keep_in_memory=True)


def _is_metric(path: Path) -> bool:
    text = path.read_text(encoding="utf-8")
    return re.search(r"^class \w+\(evaluate\.Metric\):", text, re.MULTILINE) is not None


def _shown(value: Any) -> Any:
    if isinstance(value, float) and math.isfinite(value):
        return round(value, 4)
    if isinstance(value, str):
        return _cut(value, LONGEST_CELL)
    return "does not apply" if value is None else value


def _case(case: Row) -> list[Any]:
    cells = [case.get(name) for name in CASE_COLUMNS[:-1]]
    failures = "; ".join(_cut(str(failure), LONGEST_CELL) for failure in case["failures"])
    return [*map(_shown, cells), _cut(failures, 4 * LONGEST_CELL)]


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def build() -> gr.Blocks:
    """The page."""
    with gr.Blocks(title="PrecisionMemBench metric", analytics_enabled=False) as demo:
        gr.Markdown(
            "# PrecisionMemBench\nDoes a memory system return the beliefs that a query needs, "
            "**and nothing else**? Give what it returned for each case; the metric compares it "
            "with what the case requires. Nothing is published; an uploaded file is deleted after "
            f"{KEPT} at most.\n\nA row holds `case_id` (in sessions "
            "also `turn_index`) and `relevant_beliefs`, the ids that came back, best first. "
            "Without a references file, the cases are those of the benchmark's own corpus."
        )
        with gr.Row():
            config = gr.Radio(CONFIGS, value=CONFIGS[0], label="Config")
            rules = gr.Dropdown(RULES, value=RULES[0], label="Rules")
            on_missing = gr.Radio(MISSING, value=MISSING[0], label="A case without a prediction is")
        with gr.Row():
            pasted = gr.Textbox(label="Predictions (JSON)", placeholder=EXAMPLE, lines=8)
            with gr.Column():
                file = gr.File(label="or a predictions file", file_types=list(SUFFIXES))
                references = gr.File(label="References file", file_types=list(SUFFIXES))
        button = gr.Button("Score", variant="primary")
        told = gr.Textbox(label="Result", interactive=False)
        measures = gr.Dataframe(headers=["measure", "value"], label="Measures", interactive=False)
        failed = gr.Dataframe(headers=list(CASE_COLUMNS), label="Failed cases", interactive=False)
        shown = [told, measures, failed]
        scoring = button.click(
            score,
            [config, rules, on_missing, pasted, file, references],
            shown,
            api_name="score",
            concurrency_limit=2,
        )
        # Gradio may refuse what is sent before `score` sees it.
        scoring.failure(lambda: (REFUSED, [], []), None, shown, api_visibility="private")
    fetch_nothing(demo)
    return demo


if __name__ == "__main__":
    end_on_sigterm()
    build().queue(max_size=16).launch(max_file_size=MOST_BYTES)
