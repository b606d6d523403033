"""The metric's page as it is published: started as a program, used by a client and a browser."""

from __future__ import annotations

import importlib.util
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import browser
import pytest
from huggingface_hub import constants

from pmb_hf import score
from pmb_hf.corpus import load_corpus
from pmb_hf.dataset_rows import rows
from pmb_hf.hub.metric_files import metric_files
from pmb_hf.hub.names import names

METRIC = Path(__file__).resolve().parent.parent / "metric" / "precisionmembench"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository as it is pushed, under another name than the metric's own."""
    home = tmp_path_factory.mktemp("space")
    for path, data in metric_files(names("acme/my-bench"), "gradio").items():
        (home / path).parent.mkdir(exist_ok=True)
        (home / path).write_bytes(data)
    return home


@pytest.fixture(scope="module")
def url(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # Isolated: what is beside app.py, and no package of ours from this tree.
    run = "runpy.run_path('app.py', run_name='__main__')"
    block = f"import sys, runpy; sys.modules['pmb_hf'] = None; {run}"
    settings = {"GRADIO_SERVER_PORT": str(port), "GRADIO_SERVER_NAME": "127.0.0.1"}
    scratch = str(tmp_path_factory.mktemp("gradio"))
    with (folder.parent / "app.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-I", "-c", block],
            cwd=folder,
            env={**os.environ, **settings, "GRADIO_TEMP_DIR": scratch},
            stdout=log,
            stderr=log,
        )
    address = f"http://127.0.0.1:{port}/"
    try:
        for _ in range(600):
            assert process.poll() is None, (folder.parent / "app.log").read_text()
            try:
                urllib.request.urlopen(address + "config").close()
                break
            except OSError:
                time.sleep(0.1)
        yield address
    finally:
        process.terminate()
        process.wait()


@pytest.fixture(scope="module")
def client(url: str) -> Any:
    from gradio_client import Client

    before, constants.HF_HUB_OFFLINE = constants.HF_HUB_OFFLINE, False
    try:
        yield Client(url, verbose=False)
    finally:
        constants.HF_HUB_OFFLINE = before


def ask(client: Any, pasted: str = "", **given: Any) -> tuple[str, dict[str, Any], list[list[Any]]]:
    from gradio_client import handle_file

    def file(name: str) -> Any:
        return handle_file(str(given[name])) if given.get(name) else None

    told, measures, failed = client.predict(
        given.get("config", "retrieval"),
        given.get("rules", "spec"),
        given.get("on_missing", "error"),
        pasted,
        file("file"),
        file("references"),
        api_name="/score",
    )
    return told, dict(measures["data"]), failed["data"]


@pytest.mark.parametrize("config", ["retrieval", "sessions"])
def test_the_benchmarks_own_cases_are_there(client: Any, config: str) -> None:
    wanted = rows(load_corpus("native"), config)
    given = [
        {"case_id": r["case_id"], "relevant_beliefs": r["gold"]}
        | ({"turn_index": r["turn_index"]} if config == "sessions" else {})
        for r in wanted
    ]
    told, measures, failed = ask(client, json.dumps(given), config=config)
    result = score(given, wanted)
    assert told == f"{result['passed']} of {result['cases']} cases pass, under the rules spec."
    assert measures["mean_precision"] == result["mean_precision"] == 1.0
    assert len(failed) == result["cases"] - result["passed"]


def test_files_of_both_sides(client: Any, tmp_path: Path) -> None:
    predictions, references = tmp_path / "p.jsonl", tmp_path / "r.parquet"
    lines = [
        {"case_id": "a", "relevant_beliefs": ["x", "y"]},
        {"case_id": "b", "relevant_beliefs": []},
    ]
    predictions.write_text("\n".join(map(json.dumps, lines)) + "\n\n")
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = [
        {"case_id": "a", "relevant_should_only_include": ["x"]},
        {"case_id": "b", "relevant_should_only_include": []},
    ]
    pq.write_table(pa.Table.from_pylist(table), references)
    told, measures, failed = ask(client, file=predictions, references=references)
    assert told.startswith("1 of 2 cases pass")
    assert measures["mean_precision"] == 0.5
    assert [row[0] for row in failed] == ["a"]
    assert "y" in failed[0][-1]
    told, *_ = ask(client, file=predictions, references=references, rules="upstream-2026-09")
    assert "upstream-2026-09" in told


@pytest.mark.parametrize(
    ("pasted", "words"),
    [
        ("", "paste predictions, or upload a file"),
        ("[", "predictions: no valid JSON"),
        ('{"case_id": "a"}\n{', "predictions, line 2: no valid JSON"),
        ("[NaN]", "NaN is no JSON value"),
        ("[3]", "row 1 must be an object"),
        ("[" * 5000, "no valid JSON"),
        ('[{"case_id": 3, "relevant_beliefs": []}]', "case_id"),
        ('[{"case_id": "nowhere", "relevant_beliefs": []}]', "nowhere"),
        ('[{"case_id": "a", "relevant_beliefs": [1]}]', "'relevant_beliefs' holds 1"),
        ("[]", "no prediction"),
        ("<script>alert(1)</script>", "no valid JSON"),
    ],
)
def test_what_is_wrong_is_a_sentence(client: Any, pasted: str, words: str) -> None:
    told, measures, failed = ask(client, pasted)
    assert told.startswith("Not scored: ")
    assert words in told
    assert "Traceback" not in told
    assert not measures
    assert not failed


def test_files_that_are_wrong(client: Any, tmp_path: Path) -> None:
    broken = tmp_path / "x.parquet"
    broken.write_bytes(b"PAR1 not really")
    assert "x.parquet is no Parquet file" in ask(client, file=broken)[0]
    latin = tmp_path / "x.json"
    latin.write_bytes(b'["\xe4"]')
    assert "x.json is not UTF-8" in ask(client, file=latin)[0]
    assert "clear one of them" in ask(client, "[]", file=latin)[0]


@pytest.mark.skipif(browser.find() is None, reason=browser.MISSING)
def test_in_a_browser(url: str) -> None:
    with browser.browser() as started:
        page = started.new_page()
        page.goto(url)
        page.get_by_label("Predictions (JSON)").fill(
            '[{"case_id": "nowhere", "relevant_beliefs": []}]'
        )
        page.get_by_role("button", name="Score").click()
        result = page.get_by_label("Result")
        page.wait_for_function("e => e.value.length > 0", arg=result.element_handle())
        assert "Not scored" in result.input_value()
        page.get_by_label("miss", exact=True).check()
        page.get_by_label("Predictions (JSON)").fill("{}")
        page.get_by_role("button", name="Score").click()
        page.wait_for_function("e => e.value.includes('case_id')", arg=result.element_handle())


def test_the_cases_of_the_metric(folder: Path) -> None:
    import evaluate

    spec = importlib.util.spec_from_file_location("metric_cases", METRIC / "tests.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    metric = evaluate.load(str(folder / "my_bench.py"))
    for case in module.test_cases:
        result = metric.compute(predictions=case["predictions"], references=case["references"])
        assert {name: result[name] for name in case["result"]} == case["result"]


@pytest.mark.parametrize("sdk", ["gradio", "static"])
def test_the_files_are_complete(sdk: str) -> None:
    files = metric_files(names("acme/my-bench"), sdk)
    assert "my_bench.py" in files
    assert "precisionmembench.py" not in files
    assert ("app.py" in files, "index.html" in files) == (sdk == "gradio", sdk == "static")
    shown = files["README.md"].decode() + files.get("index.html", b"").decode()
    assert 'evaluate.load("acme/my_bench"' in shown
    assert 'load_dataset("acme/my-bench"' in shown
    links = {path.name for path in METRIC.iterdir() if path.is_symlink()}
    assert {name: files[name] for name in links} == {
        name: (METRIC / name).read_bytes() for name in links
    }
