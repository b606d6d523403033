"""A whole round: run, export, push; then the real clients in fresh processes load it all again."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from cli_kit import Done, environment
from hub import TOKEN, Hub, serve
from hub_kit import REPO, client_environment, folder, program, python, run

ROOT = Path(__file__).resolve().parent.parent
BOARD = REPO + "-leaderboard"


class Published(NamedTuple):
    """A Hub that everything was pushed to, and from where."""

    hub: Hub
    home: Path
    export: Path
    said: Done


def good(done: Done) -> Done:
    assert done.code == 0, done
    return done


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Published]:
    home = tmp_path_factory.mktemp("round")
    for provider in ("bm25", "empty"):
        arguments = ["run", "--provider", provider, "--out", str(home / f"{provider}.json")]
        good(run(["-m", "pmb_hf", *arguments], environment(), home))
    reports = [str(home / "bm25.json"), str(home / "empty.json")]
    good(run(["-m", "pmb_hf", "export", *reports, "-o", str(home / "ex")], environment(), home))
    with serve() as hub:
        said = good(program(hub, home, "push", "--repo", REPO, "--export", home / "ex"))
        yield Published(hub, home, home / "ex", said)


def rows_of(export: Path) -> dict[str, int]:
    """Rows of each config, as the card's files hold them."""
    import pyarrow.parquet as pq

    card = yaml.safe_load((export / "README.md").read_text(encoding="utf-8").split("---\n")[1])
    return {
        config["config_name"]: sum(
            pq.read_metadata(path).num_rows
            for item in config["data_files"]
            for path in export.glob(item["path"])
        )
        for config in card["configs"]
    }


def test_one_commit_a_repository(published: Published) -> None:
    hub = published.hub
    kinds = {("dataset", REPO), ("space", REPO), ("space", BOARD)}
    assert set(hub.repos) == kinds
    assert [len(hub.repos[kind].log) for kind in kinds] == [2, 2, 2]
    assert hub.repo("space", REPO).sdk == hub.repo("space", BOARD).sdk == "gradio"
    assert re.findall(r"^(\w+): published \d+ added ", published.said.out, re.MULTILINE) == [
        "dataset",
        "metric",
        "space",
    ]


def test_what_is_in_them(published: Published) -> None:
    dataset, metric, board = (
        published.hub.repo(*which).files
        for which in (("dataset", REPO), ("space", REPO), ("space", BOARD))
    )
    assert {"README.md", "eval.yaml", "leaderboard.json"} <= set(dataset)
    assert "precisionmembench.py" not in dataset
    assert sum(path.startswith("reports/") for path in dataset) == 2
    assert metric["scoring.py"] == (ROOT / "pmb_hf" / "scoring.py").read_bytes()
    assert {"app.py", "tests.py", "requirements.txt", "references/retrieval.json"} <= set(metric)
    assert board["export/leaderboard.json"] == dataset["leaderboard.json"]
    assert {"app.py", "requirements.txt", "pmb_hf/__init__.py"} <= set(board)
    assert b"pmb-hf" not in board["requirements.txt"]
    for line in board["requirements.txt"].decode().split():
        assert re.search(r"(?<![<>=~])<\d", line), f"{line} has no upper bound"
    for files in (metric, board):
        front = yaml.safe_load(files["README.md"].decode().split("---\n")[1])
        assert front["sdk"] == "gradio"
        assert front["python_version"] == "3.11"
        assert front["app_file"] in files
        assert front["datasets"] == [REPO]
    assert not [p for files in (dataset, metric, board) for p in files if "__pycache__" in p]


def test_a_second_push_commits_nothing(published: Published) -> None:
    hub = published.hub
    hub.requests.clear()
    done = good(program(hub, published.home, "push", "--repo", REPO, "--export", published.export))
    assert done.out.count("nothing to do, no commit made") == 3
    assert not hub.count("POST|PUT")
    assert hub.commits() == 3


LOAD = """
import json, sys, datasets
repo, configs = json.loads(sys.argv[1])
rows = {}
for config in configs:
    rows[config] = datasets.load_dataset(repo, config, split="test").num_rows
print("RESULT", json.dumps([rows, datasets.get_dataset_config_names(repo)]))
"""


def clients(hub: Hub, home: Path, code: str, *arguments: Any) -> Any:
    """What code printed after RESULT, in a fresh process that does not have the package."""
    env = client_environment(hub, home) | {"PYTHONPATH": ""}
    code = "import sys; sys.modules['pmb_hf'] = None\n" + code
    done = good(run(["-c", code, json.dumps(arguments)], env, home))
    return json.loads(done.out.rpartition("RESULT")[2])


def test_load_dataset_loads_every_config(published: Published, tmp_path: Path) -> None:
    wanted = rows_of(published.export)
    assert {"retrieval", "sessions", "beliefs", "leaderboard", "results"} <= set(wanted)
    loaded, names = clients(published.hub, tmp_path, LOAD, REPO, list(wanted))
    assert loaded == wanted
    assert set(names) == set(wanted)


SCORE = """
import json, datasets, evaluate
(repo,) = json.loads(sys.argv[1])
found = {}
for config in ("retrieval", "sessions"):
    metric = evaluate.load(repo, config)
    references = datasets.load_dataset(repo, config, split="test")
    key = ("case_id", "turn_index") if config == "sessions" else ("case_id",)
    given = [{**{k: row[k] for k in key}, "relevant_beliefs": row["gold"]} for row in references]
    found[config] = metric.compute(predictions=given, references=references)
print("RESULT", json.dumps(found))
"""


def test_evaluate_loads_the_metric(published: Published, tmp_path: Path) -> None:
    import pmb_hf
    from pmb_hf.corpus import load_corpus
    from pmb_hf.dataset_rows import rows

    found = clients(published.hub, tmp_path, SCORE, REPO)
    for config, result in found.items():
        references = rows(load_corpus("native"), config)
        given = [
            {
                "case_id": r["case_id"],
                "turn_index": r.get("turn_index"),
                "relevant_beliefs": r["gold"],
            }
            for r in references
        ]
        assert result == pmb_hf.score(given, references)


OPEN = """
import json, os
from pathlib import Path
sys.modules.pop("pmb_hf", None)
sys.path.insert(0, os.getcwd())
import app
import pmb_hf
board = app.Source.from_environment().board()
app.build(app.Source.from_environment())
inside = Path(pmb_hf.__file__).resolve().is_relative_to(Path.cwd().resolve())
print("RESULT", json.dumps([inside, len(board.entries), list(board.problems)]))
"""


def test_the_board_opens_by_what_was_pushed(published: Published, tmp_path: Path) -> None:
    for path, data in published.hub.repo("space", BOARD).files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(data)
    inside, rows, problems = clients(published.hub, tmp_path, OPEN)
    assert inside, "the Space must use the package that lies beside it"
    assert rows >= 2
    assert not problems


FETCH = """
import json
from huggingface_hub import hf_hub_download
(repo,) = json.loads(sys.argv[1])
path = hf_hub_download(repo, "leaderboard.json", repo_type="dataset")
print("RESULT", json.dumps(open(path, encoding="utf-8").read()))
"""


def test_leaderboard_can_be_downloaded(published: Published, tmp_path: Path) -> None:
    got = clients(published.hub, tmp_path, FETCH, REPO)
    assert got == (published.export / "leaderboard.json").read_text(encoding="utf-8")


AGAIN = """
import json, datasets
(repo,) = json.loads(sys.argv[1])
results = datasets.load_dataset(repo, "results")
results.push_to_hub("org/results-copy", config_name="results", set_default=True)
copy = datasets.load_dataset("org/results-copy", "results")
same = results["test"].to_list() == copy["test"].to_list()
print("RESULT", json.dumps([same, len(copy["test"])]))
"""


def test_results_are_scored_from_where_they_are(published: Published, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    options = ("--config", "all", "--by", "provider", "--json")
    where = next((published.export / "results").glob("*.parquet"))
    corpus = pq.read_table(where).column("corpus")[0].as_py()
    same = (*options, "--where", f"corpus={corpus}")
    here = good(program(published.hub, tmp_path, "score", published.export / "results", *same))
    there = good(program(published.hub, tmp_path, "score", f"hf://datasets/{REPO}/results", *same))
    assert there.json == here.json
    assert there.json["runs"] >= 1
    again = (f"hf://datasets/{REPO}/results", "--rules", "spec", "--where", f"corpus={corpus}")
    good(program(published.hub, tmp_path, "rescore", *again, "-o", tmp_path / "again"))
    assert [path.name for path in (tmp_path / "again").iterdir()] == [where.name]


def test_results_can_be_pushed_on(published: Published, tmp_path: Path) -> None:
    same, count = clients(published.hub, tmp_path, AGAIN, REPO)
    assert same
    assert count == rows_of(published.export)["results"]
    del published.hub.repos["dataset", "org/results-copy"]


def test_regular_files_load_as_well(published: Published, tmp_path: Path) -> None:
    with serve() as hub:
        hub.everything_regular = True
        options = ("push", "--repo", REPO, "--what", "dataset", "--export", published.export)
        good(program(hub, tmp_path, *options))
        assert hub.commits() == 1
        assert not hub.objects
        configs = ["retrieval", "leaderboard"]
        loaded, _ = clients(hub, tmp_path, LOAD, REPO, configs)
        assert loaded == {name: rows_of(published.export)[name] for name in configs}


# ---------------------------------------------------------------- pulled back


def test_the_board_of_the_hub_in_the_terminal(published: Published, tmp_path: Path) -> None:
    there = good(program(published.hub, tmp_path, "leaderboard", "--repo", REPO))
    here = good(program(published.hub, tmp_path, "leaderboard", published.export))
    assert there.out == here.out
    assert "bm25" in there.out
    missing = program(published.hub, tmp_path, "leaderboard", "--repo", "org/nothing")
    assert missing.code == 2
    assert "there is no dataset org/nothing" in missing.err


def test_new_reports_join_those_that_are_there(published: Published, tmp_path: Path) -> None:
    hub = published.hub
    new = tmp_path / "everything.json"
    good(program(hub, tmp_path, "run", "--provider", "everything", "--out", new))
    options = ("export", "--from-hub", REPO, new, "-o", tmp_path / "ex")
    done = good(program(hub, tmp_path, *options))
    assert "2 reports of org/precisionmembench" in done.err
    before = {p.name for p in (published.export / "reports").iterdir()}
    after = {p.name for p in (tmp_path / "ex" / "reports").iterdir()}
    assert before < after
    assert len(after) == 3
    # Nothing new: the same bytes, so there is nothing to push.
    good(program(hub, tmp_path, "export", "--from-hub", REPO, "-o", tmp_path / "same"))
    options = ("push", "--repo", REPO, "--what", "dataset", "--export", tmp_path / "same")
    (view,) = good(program(hub, tmp_path, *options, "--dry-run", "--json")).json["repositories"]
    assert {file["kind"] for file in view["files"]} == {"unchanged"}


# ---------------------------------------------------------------- programs that go wrong


def test_a_push_that_is_killed_half_way(tmp_path: Path) -> None:
    export = folder(tmp_path / "ex")
    options = ("push", "--repo", REPO, "--what", "dataset", "--export", export)
    with serve() as hub:
        started: list[subprocess.Popen[bytes]] = []
        hub.fail(r"PUT /lfs/", cut=3000, do=lambda hub: started[0].send_signal(signal.SIGKILL))
        started.append(
            subprocess.Popen(
                [sys.executable, "-m", "pmb_hf", *map(str, options)],
                env=client_environment(hub, tmp_path),
                cwd=tmp_path,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        )
        assert started[0].wait() == -signal.SIGKILL
        assert set(hub.repo("dataset", REPO).files) == {".gitattributes"}
        good(program(hub, tmp_path, *options))
        assert hub.commits() == 1
        assert len(hub.repo("dataset", REPO).files) == 7


def test_two_pushes_at_once(tmp_path: Path) -> None:
    first = folder(tmp_path / "one", **{"reports/one.json": "1\n"})
    second = folder(tmp_path / "two", **{"reports/two.json": "2\n"})
    base = folder(tmp_path / "base")

    def options(export: Path) -> list[str]:
        return ["push", "--repo", REPO, "--what", "dataset", "--export", str(export)]

    with serve() as hub:
        good(program(hub, tmp_path, *options(base)))
        # When the one is about to commit, the other does the whole of its push.
        other: list[Done] = []
        hub.fail(
            r"POST .*/commit/",
            do=lambda hub: other.append(program(hub, tmp_path / "two", *options(second))),
        )
        done = good(program(hub, tmp_path, *options(first)))
        assert good(other[0])
        repo = hub.repo("dataset", REPO)
        assert len(repo.log) == 4
        assert {"reports/one.json", "reports/two.json"} <= set(repo.files)
        assert "reports/two.json, which stays" in done.err


def test_a_plan_that_must_be_paid(published: Published, tmp_path: Path) -> None:
    options = ("push", "--repo", REPO, "--export", published.export)
    with serve() as hub:
        message = {"error": "Subscribe to PRO to create Gradio Spaces"}
        hub.fail("POST /api/repos/create", status=402, body=message, times=9)
        done = program(hub, tmp_path, *options)
        assert done.code == 2
        assert "--sdk static" in done.err
        assert "--what dataset" in done.err
        assert not hub.repos, "Spaces are asked for first, so nothing is left behind"
        hub.faults.clear()
        good(program(hub, tmp_path, *options, "--sdk", "static"))
        metric, board = hub.repo("space", REPO), hub.repo("space", BOARD)
        assert metric.sdk == board.sdk == "static"
        for files in (metric.files, board.files):
            front = yaml.safe_load(files["README.md"].decode().split("---\n")[1])
            assert (front["sdk"], front["app_file"]) == ("static", "index.html")
            assert b"<!doctype html>" in files["index.html"][:100].lower()
            assert "app.py" not in files
        assert "retrieval" in clients(hub, tmp_path, SCORE, REPO)


@pytest.mark.parametrize("fault", ["refused", "bug"])
def test_the_token_never_shows(tmp_path: Path, fault: str) -> None:
    export = folder(tmp_path / "ex")
    options = ["push", "--repo", REPO, "--what", "dataset", "--export", str(export)]
    with serve() as hub:
        hub.fail("/commit/", status=403, body={"error": f"{TOKEN} may not"})
        debug = {"PMB_DEBUG": "1", "HF_DEBUG": "1", "HF_HUB_VERBOSITY": "debug"}
        if fault == "refused":
            done = program(hub, tmp_path, *options, **debug)
            assert done.code == 2
        else:
            code = (
                "import sys\n"
                "from pmb_hf.hub import client\n"
                "client.failure_of = lambda error, doing: KeyError(doing.what)\n"
                "from pmb_hf.cli import main\n"
                f"sys.argv = {['pmb', *options]!r}\n"
                "sys.exit(main())\n"
            )
            done = python(hub, tmp_path, code, **debug)
            assert done.code == 70
            assert "Traceback" in done.err
        assert TOKEN not in done.out + done.err
        assert any(h.get("authorization") == f"Bearer {TOKEN}" for h in hub.headers)
    left = [p for p in tmp_path.rglob("*") if p.is_file() and TOKEN.encode() in p.read_bytes()]
    assert not left


def test_the_stored_token_is_used(tmp_path: Path) -> None:
    export = folder(tmp_path / "ex")
    with serve() as hub:
        env = client_environment(hub, tmp_path)
        del env["HF_TOKEN"]
        options = ["-m", "pmb_hf", "push", "--repo", REPO, "--what", "dataset"]
        refused = run([*options, "--export", str(export)], env, tmp_path)
        assert refused.code == 2
        assert "hf auth login" in refused.err
        stored = Path(env["HF_HOME"]) / "token"
        stored.parent.mkdir(exist_ok=True)
        stored.write_text(TOKEN)
        stored.chmod(0o600)
        good(run([*options, "--export", str(export)], env, tmp_path))
        assert hub.commits() == 1
