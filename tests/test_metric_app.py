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
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import browser
import httpx
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
def uploads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the user set for uploads."""
    return tmp_path_factory.mktemp("gradio").resolve()


@pytest.fixture(scope="module")
def url(folder: Path, uploads: Path) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # Isolated: what is beside app.py, and no package of ours from this tree.
    run = "runpy.run_path('app.py', run_name='__main__')"
    block = f"import sys, runpy; sys.modules['pmb_hf'] = None; {run}"
    settings = {"GRADIO_SERVER_PORT": str(port), "GRADIO_SERVER_NAME": "127.0.0.1"}
    with (folder.parent / "app.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-I", "-c", block],
            cwd=folder,
            env={**os.environ, **settings, "GRADIO_TEMP_DIR": str(uploads)},
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
    assert list(uploads.iterdir()) == []


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


def raw(url: str, *given: Any) -> tuple[bool, Any]:
    """What the page makes of data that neither it nor a client would send."""
    config = httpx.get(f"{url}config").json()
    event = next(d["id"] for d in config["dependencies"] if d["api_name"] == "score")
    session = uuid.uuid4().hex
    body = {"data": given, "fn_index": event, "session_hash": session}
    httpx.post(f"{url}gradio_api/queue/join", json=body).raise_for_status()
    params = {"session_hash": session}
    with httpx.stream("GET", f"{url}gradio_api/queue/data", params=params, timeout=60) as stream:
        for line in stream.iter_lines():
            told = json.loads(line[5:]) if line.startswith("data:") else {}
            if told.get("msg") == "process_completed":
                return told["success"], told["output"].get("data") or told["output"]
    raise AssertionError("no answer")


def put(url: str, path: Path) -> dict[str, Any]:
    sent = httpx.post(f"{url}gradio_api/upload", files={"files": (path.name, path.read_bytes())})
    return {"path": sent.json()[0], "meta": {"_type": "gradio.FileData"}}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("retrieval", "spec", "error", None), "paste predictions"),
        (("retrieval", None, "error", "[]"), "choose one of spec"),
        ((None, "spec", "error", "[]"), "choose one of retrieval"),
        (("retrieval", "spec", None, "[]"), "choose one of error"),
        (("retrieval", "spec", "error", '[{"case_id": "' + "x" * 9000 + '"}]'), "…"),
    ],
)
def test_what_a_program_sends_is_answered_in_a_sentence(
    url: str, given: tuple[str | None, ...], words: str
) -> None:
    done, (told, *_) = raw(url, *given, None, None)
    assert done
    assert told.startswith("Not scored: ")
    assert words in told
    assert len(told) < 700


def test_an_address_is_not_fetched(url: str) -> None:
    """Gradio would, before any of our code runs."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        listener.settimeout(0.5)
        address = f"http://127.0.0.1:{listener.getsockname()[1]}/secret.json"
        file = {"path": address, "url": address, "meta": {"_type": "gradio.FileData"}}
        assert not raw(url, "retrieval", "spec", "error", "", file, None)[0]
        assert "fetches no address" in str(
            raw(url, "retrieval", "spec", "error", "", file, None)[1]
        )
        with pytest.raises(TimeoutError):
            listener.accept()


def test_parquet_that_unpacks_to_too_much(url: str, client: Any, tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    bomb = tmp_path / "bomb.parquet"
    columns = {"case_id": ["a" * 100_000] * 1900, "relevant_beliefs": [["x"]] * 1900}
    pq.write_table(pa.table(columns), bomb, compression="zstd")
    told = ask(client, file=bomb)[0]
    assert told.startswith("Not scored: predictions: bomb.parquet holds a text of 100,000 bytes")


def test_what_comes_back_is_cut_and_names_no_folder(
    url: str, client: Any, folder: Path, tmp_path: Path
) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps([{"case_id": "a", "relevant_beliefs": ["y" * 50_000]}]))
    wanted = tmp_path / "wanted.json"
    wanted.write_text(json.dumps([{"case_id": "a", "relevant_should_only_include": ["x"]}]))
    *_, failed = ask(client, file=path, references=wanted)
    assert len(json.dumps(failed)) < 2_000
    file = put(url, path)
    gone = {**file, "path": file["path"].replace("mine", "yours")}
    told = raw(url, "retrieval", "spec", "error", "", gone, None)[1][0]
    assert told == "Not scored: The file is no longer here; choose it again."
    outside = {**file, "path": str(path)}
    done, told = raw(url, "retrieval", "spec", "error", "", outside, None)
    assert not done
    assert str(folder) not in str(told)


def test_uploads_lie_in_a_folder_of_the_page_alone(url: str, uploads: Path, tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text("[]")
    file = Path(put(url, path)["path"])
    assert file.parent.parent.parent == uploads
    assert file.parent.parent.name.startswith("pmb-uploads-")
    assert "Nothing is kept" not in httpx.get(url).text
    assert "deleted after ten minutes at most" in httpx.get(url).text


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
    if sdk == "static":
        of_the_page = {"parquet_rows.py", "visitors.py"}
        assert not of_the_page & set(files)
        links -= of_the_page
    assert {name: files[name] for name in links} == {
        name: (METRIC / name).read_bytes() for name in links
    }
