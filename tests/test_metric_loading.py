"""The metric's folder by itself: links, loading without the package, processes, card."""

from __future__ import annotations

import doctest
import importlib
import inspect
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import evaluate
import pytest

import pmb_hf
from pmb_hf.measure_table import measure_table, rules_table
from pmb_hf.measures import COUNT_OF, MEASURES
from pmb_hf.rules import RULES
from pmb_hf.summary import summarize

ROOT = Path(__file__).resolve().parent.parent
METRIC = ROOT / "metric" / "precisionmembench"
CARD = METRIC / "README.md"
LINKS = ("assertions", "records", "rows", "rules", "scoring", "summary")

REFERENCES = [
    {"case_id": f"c{n}", "relevant_should_only_include": ["a"] if n % 2 else []} for n in range(9)
]
PREDICTIONS = [{"case_id": f"c{n}", "relevant_beliefs": ["a"] * (n % 4)} for n in range(9)]

# Without the package, without the network, from a directory that is not the repository.
ALONE = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "pmb_hf":
            raise ModuleNotFoundError(f"{name} is blocked")

sys.meta_path.insert(0, Blocker())

import json
import evaluate

metric_dir, config, options, rows = json.loads(sys.stdin.read())
metric = evaluate.load(metric_dir, config, **options)
result = metric.compute(**rows)
assert "pmb_hf" not in sys.modules
print("RESULT", json.dumps(result, allow_nan=False))
"""


def start(
    cwd: Path, options: dict[str, Any] | None = None, config: str = "retrieval", **rows: Any
) -> subprocess.Popen[str]:
    """Compute in a process of its own, which can't import the package."""
    process = subprocess.Popen(
        [sys.executable, "-I", "-c", ALONE],
        cwd=cwd,
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    process.stdin.write(json.dumps([str(METRIC), config, options or {}, rows]))
    process.stdin.close()
    process.stdin = None
    return process


def results(processes: Sequence[subprocess.Popen[str]]) -> list[Any]:
    """What they computed; a failure of one is this test's."""
    out = []
    for process in processes:
        stdout, stderr = process.communicate()
        assert process.returncode == 0, stderr
        out.append(json.loads(stdout.rpartition("RESULT")[2]))
    return out


@pytest.mark.parametrize("name", LINKS)
def test_links_are_files_of_the_package(name: str) -> None:
    link = METRIC / f"{name}.py"
    assert link.is_symlink()
    assert link.readlink() == Path("../../pmb_hf") / f"{name}.py"
    assert link.samefile(ROOT / "pmb_hf" / f"{name}.py")


def test_no_other_sibling() -> None:
    of_the_page = {"parquet_rows", "visitors"}
    links = {path.stem for path in METRIC.glob("*.py") if path.is_symlink()}
    assert links == set(LINKS) | of_the_page


def test_loads_without_the_package(tmp_path: Path) -> None:
    rows = {"predictions": PREDICTIONS, "references": REFERENCES}
    (alone,) = results([start(tmp_path, **rows)])
    assert alone == pmb_hf.score(PREDICTIONS, REFERENCES)


def test_sessions_load_without_the_package(tmp_path: Path) -> None:
    turn = {"turn_index": 0, "drift_beliefs": ["b"]}
    given = [{"case_id": "s", "relevant_beliefs": ["a", "b"], "turn_index": 0}]
    wanted = [{"case_id": "s", "relevant_should_only_include": ["a"], **turn}]
    (alone,) = results([start(tmp_path, config="sessions", predictions=given, references=wanted)])
    assert alone == pmb_hf.score(given, wanted)
    assert alone["mean_drift"] == 0.5


def test_loads_by_a_relative_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    metric = evaluate.load("metric/precisionmembench")
    assert (metric.config_name, metric.name) == ("retrieval", "precisionmembench")
    assert evaluate.load("metric/precisionmembench", "sessions").config_name == "sessions"


def test_an_unknown_config_is_named() -> None:
    with pytest.raises(ValueError, match="no config is called 'turns'; choose one of: retrieval"):
        evaluate.load(str(METRIC), "turns")


def test_two_processes_share_an_experiment(tmp_path: Path) -> None:
    def half(process_id: int) -> subprocess.Popen[str]:
        options = {"num_process": 2, "process_id": process_id, "experiment_id": "halves"}
        # Their shares of either side are not of the same cases.
        predictions = PREDICTIONS[:7] if process_id else PREDICTIONS[7:]
        references = REFERENCES[3:] if process_id else REFERENCES[:3]
        return start(tmp_path, options, predictions=predictions, references=references)

    first, second = results([half(0), half(1)])
    assert second is None
    assert first == pmb_hf.score(PREDICTIONS, REFERENCES)


def test_one_of_two_processes_has_nothing_to_add(tmp_path: Path) -> None:
    rows = {"predictions": PREDICTIONS, "references": REFERENCES}
    options = {"num_process": 2, "experiment_id": "idle"}
    first, second = results(
        [
            start(tmp_path, options | {"process_id": 0}, **rows),
            start(tmp_path, options | {"process_id": 1}),
        ]
    )
    assert second is None
    assert first == pmb_hf.score(PREDICTIONS, REFERENCES)


def test_four_processes_at_once_agree(tmp_path: Path) -> None:
    # One more prediction is wrong in each, so that mixed-up rows can't agree by chance.
    given = [
        [p | ({"relevant_beliefs": ["x"]} if n < k else {}) for n, p in enumerate(PREDICTIONS)]
        for k in (0, 0, 3, 3)
    ]
    together = results([start(tmp_path, predictions=rows, references=REFERENCES) for rows in given])
    assert together == [pmb_hf.score(rows, REFERENCES) for rows in given]


# ---------------------------------------------------------------- what the module says of itself


def module() -> Any:
    """The module as ``evaluate`` imports it."""
    return importlib.import_module(type(evaluate.load(str(METRIC))).__module__)


def test_compute_takes_named_options_only() -> None:
    loaded = module().Precisionmembench
    for method in (loaded._compute, loaded.compute, loaded.add, loaded.add_batch):
        kinds = {p.kind for p in inspect.signature(method).parameters.values()}
        assert inspect.Parameter.VAR_KEYWORD not in kinds


@pytest.fixture
def by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """From its parent folder, the metric loads by its bare name, as from the Hub."""
    monkeypatch.chdir(METRIC.parent)


@pytest.mark.usefixtures("by_name")
def test_examples_of_the_docstring_run() -> None:
    done = doctest.testmod(module(), raise_on_error=True, optionflags=doctest.ELLIPSIS)
    assert done.attempted > 1


@pytest.mark.usefixtures("by_name")
def test_examples_of_the_card_run() -> None:
    done = doctest.testfile(str(CARD), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert done.failed == 0
    assert done.attempted > 10


def test_other_code_of_the_card_compiles() -> None:
    blocks = re.findall(r"```python\n(.*?)```", CARD.read_text(encoding="utf-8"), re.DOTALL)
    plain = [block for block in blocks if not block.startswith(">>>")]
    assert plain
    for block in plain:
        compile(block, str(CARD), "exec")


def between(name: str) -> str:
    """The generated part of the card between two comments."""
    text = CARD.read_text(encoding="utf-8")
    found = re.search(rf"<!-- {name}: made by .*? -->\n(.*?)\n<!-- end -->", text, re.DOTALL)
    assert found
    return found[1]


def test_the_card_has_a_table_of_all_outputs() -> None:
    given = summarize([])
    measures = [measure for name, measure in MEASURES.items() if name in given]
    table = measure_table(measures)
    assert between("measures") == table, f"put this between the comments of {CARD}:\n{table}"
    names = {measure.name for measure in measures}
    counts = {COUNT_OF[name] for name in names if name in COUNT_OF}
    assert names | counts == set(given)


def test_the_card_has_the_rules_side_by_side() -> None:
    table = rules_table()
    assert between("rules") == table, f"put this between the comments of {CARD}:\n{table}"
    for name in RULES:
        assert f"`{name}`" in table


def test_outputs_keep_to_the_range_that_the_table_states() -> None:
    wanted = [
        {
            "case_id": f"c{n}",
            "turn_index": 0,
            "relevant_should_only_include": ["a"] if n else [],
            "pinned_must_include": ["p"],
            "questions_must_include": ["q"],
            "drift_beliefs": ["d"],
            "changed_beliefs": ["a"] if n == 3 else [],
            "eligible_beliefs": ["a", "b"],
            "other_user_beliefs": ["o"],
        }
        for n in range(4)
    ]
    answers = [["a", "b", "d"], ["b", "a", "a"], ["o", "zzz"], ["a"]]
    given = [
        {
            "case_id": f"c{n}",
            "turn_index": 0,
            "relevant_beliefs": ids,
            "pinned_facts": ["p"] * (n % 2),
            "open_questions": ["q", "r"],
            "latency_ms": 250.5 * n,
        }
        for n, ids in enumerate(answers)
    ]
    metric = evaluate.load(str(METRIC), "sessions")
    for rules in RULES:
        result = metric.compute(predictions=given, references=wanted, rules=rules)
        for name, measure in MEASURES.items():
            value = result.get(name)
            if value is None:
                continue
            assert measure.low <= value <= (float("inf") if measure.high is None else measure.high)
            if measure.unit == "rate":
                assert (measure.low, measure.high) == (0.0, 1.0)
                assert f"| `{name}` | `{measure.n}` | 0 to 1 |" in between("measures")
            if measure.unit == "ms":
                assert f"| `{name}` | `{measure.n}` | ≥ 0 ms |" in between("measures")
    assert result["p95_latency_ms"] == 751.5


def test_front_matter_is_that_of_a_space() -> None:
    import yaml

    text = CARD.read_text(encoding="utf-8")
    front = yaml.safe_load(text.split("---\n")[1])
    assert {"title", "emoji", "colorFrom", "colorTo", "sdk", "sdk_version", "app_file"} <= set(
        front
    )
    assert (front["sdk"], front["app_file"], front["pinned"]) == ("gradio", "app.py", False)
    assert front["sdk_version"].startswith("6.")
    assert front["tags"] == ["evaluate", "metric"]
    colours = {"red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray"}
    assert {front["colorFrom"], front["colorTo"]} <= colours


def test_citation_is_the_same_everywhere() -> None:
    assert module()._CITATION in CARD.read_text(encoding="utf-8")
    assert "author" not in module()._CITATION


def test_requirements_are_those_of_the_package() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = (METRIC / "requirements.txt").read_text(encoding="utf-8").split()
    extra = project["optional-dependencies"]["space"]  # what shows its page
    assert set(lines) <= {*project["dependencies"], *extra}
