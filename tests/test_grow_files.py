"""A folder of distractors: the same bytes from the same seed, checked when it is read."""

from __future__ import annotations

import json
from pathlib import Path

import corpora
import pytest
from cli_kit import good, pmb
from hypothesis import given
from hypothesis import strategies as st

from pmb_hf.corpus import load_corpus
from pmb_hf.errors import InputError, ReportError, ResumeError
from pmb_hf.grow import SHARES, Grower, Grown, Recipe, files
from pmb_hf.grow.files import MANIFEST, Stored, opened, write
from pmb_hf.parsing import parse_belief
from pmb_hf.providers.controls import EverythingProvider
from pmb_hf.providers.protocol import Hit
from pmb_hf.report import judge
from pmb_hf.report_reader import read_report
from pmb_hf.runner import run
from pmb_hf.schema import belief_wire
from pmb_hf.strict import Reader

CORPUS = load_corpus("native")
RECIPE = Recipe(500, seed=11, users=5)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(CORPUS, RECIPE, tmp_path_factory.mktemp("grown") / "d").directory


def content(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(directory.iterdir())}


def test_the_same_seed_gives_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    again = write(CORPUS, RECIPE, tmp_path / "again").directory
    assert content(again) == content(folder)
    other = write(CORPUS, Recipe(500, seed=12, users=5), tmp_path / "other").directory
    assert content(other) != content(folder)


def test_what_is_read_is_what_was_made(folder: Path) -> None:
    assert list(Stored(folder, CORPUS).beliefs()) == list(Grown(CORPUS, RECIPE).beliefs())


def test_many_files_and_batches_give_the_same_rows(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = files.read_manifest(folder)
    monkeypatch.setattr(files, "FILE_ROWS", 150)
    monkeypatch.setattr(files, "BATCH_ROWS", 40)
    parted = write(CORPUS, RECIPE, tmp_path / "parted")
    assert [file["rows"] for file in parted.manifest["files"]] == [150, 150, 150, 50]
    assert parted.manifest["rowsSha256"] == whole["rowsSha256"]
    stored = Stored(parted.directory, CORPUS)
    assert list(stored.beliefs()) == list(Grown(CORPUS, RECIPE).beliefs())
    wanted = {"grown-000000001", "grown-000000160", "grown-000000499", "b-petra"}
    assert stored.find(wanted).keys() == wanted - {"b-petra"}


def test_the_manifest_tells_counts_and_shares(folder: Path) -> None:
    manifest = files.read_manifest(folder)
    assert manifest["recipe"] == RECIPE.to_wire()
    assert manifest["shares"] == SHARES
    assert manifest["counts"] == {kind: share * 25 for kind, share in SHARES.items()}
    assert manifest["corpus"] == {"name": "native", "sha256": CORPUS.sha256}


def test_the_first_so_many_are_a_smaller_folder(folder: Path) -> None:
    few = Stored(folder, CORPUS, count=30)
    assert few.recipe.count == 30
    assert list(few.beliefs()) == list(Grown(CORPUS, Recipe(30, 11, 5)).beliefs())
    assert not few.find(["grown-000000030"])
    with pytest.raises(InputError, match="holds 500"):
        Stored(folder, CORPUS, count=501)


def test_a_damaged_file_is_refused(folder: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "d"
    damaged.mkdir()
    for name, data in content(folder).items():
        (damaged / name).write_bytes(data[:-1] + b"?" if name.endswith("parquet") else data)
    with pytest.raises(InputError, match=r"distractors-00000\.parquet"):
        opened(damaged, CORPUS)


def test_another_corpus_is_refused(folder: Path) -> None:
    with pytest.raises(InputError, match="grown around corpus 'native'"):
        opened(folder, corpora.parsed())


@pytest.mark.parametrize("text", [None, "{", "[]", '{"schemaVersion": 1}'])
def test_a_folder_without_a_manifest_is_refused(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / MANIFEST).write_text(text)
    with pytest.raises(InputError, match=MANIFEST.replace(".", r"\.")):
        opened(tmp_path, CORPUS)


def test_other_files_are_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match="other files"):
        write(CORPUS, Recipe(10), tmp_path)
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_a_folder_of_distractors_is_replaced_but_nothing_beside_them(tmp_path: Path) -> None:
    home = tmp_path / "d"
    write(CORPUS, Recipe(10), home)
    write(CORPUS, Recipe(20), home)
    assert files.read_manifest(home)["recipe"]["count"] == 20
    (home / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match="other files"):
        write(CORPUS, Recipe(10), home)
    assert (home / "mine.txt").read_text() == "mine"


@pytest.mark.parametrize(
    "change", [{"count": "9"}, {"seed": None}, {"more": 1}, {"users": True}, {"version": 2}]
)
def test_a_manifest_with_a_wrong_recipe_is_refused(
    folder: Path, tmp_path: Path, change: dict[str, object]
) -> None:
    manifest = files.read_manifest(folder)
    manifest["recipe"] |= change
    (tmp_path / MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(InputError, match=r"recipe|version"):
        opened(tmp_path, CORPUS)


def test_a_write_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write(CORPUS, Recipe(10), tmp_path / "d", progress=stop)
    assert list(tmp_path.iterdir()) == []


def test_a_run_among_stored_ones_is_one_among_grown_ones(folder: Path, tmp_path: Path) -> None:
    """Folder and recipe are two ways to the same store."""
    reports = [
        run("fts5", CORPUS, distractors=given, out=tmp_path / f"{n}.json")
        for n, given in enumerate((folder, RECIPE))
    ]
    first, second = ([(r.key, r.results, r.relevant) for r in report.records] for report in reports)
    assert first == second
    assert reports[0].distractors == reports[1].distractors != ()
    assert reports[0].among == RECIPE.to_wire()
    assert read_report(tmp_path / "0.json").distractors == reports[0].distractors


def test_what_came_back_is_told_by_its_kind() -> None:
    """No distractor is an unknown id, and those of other users are leaks."""

    hits = [Hit(belief.id) for belief in Grown(CORPUS, RECIPE).beliefs()]

    class Careless(EverythingProvider):
        """Asks nobody who they are."""

        def search(self, *, query: str, user_id: str, scopes: object, limit: int) -> list[Hit]:
            return hits

    report = run(Careless(), CORPUS, distractors=RECIPE, parts=("retrieval",))
    summary = judge(report, CORPUS).retrieval
    assert summary
    assert summary["unknown_ids"] == 0
    assert summary["leaks"]
    assert summary["noise_superseded"]
    assert summary["noise_other_scope"]
    assert summary["noise_unrelated"]
    assert summary["n_limit_covers_eligible"] == 0  # how many there are is not known


def test_a_report_quotes_no_text_of_them(tmp_path: Path) -> None:
    """They are made of the corpus's own texts, which stay where they are."""
    out = tmp_path / "r.json"
    report = run("bm25", CORPUS, distractors=RECIPE, out=out, parts=("retrieval",))
    assert report.distractors
    text = out.read_text()
    for belief in Grown(CORPUS, RECIPE).find(b.id for b in report.distractors).values():
        assert belief.content not in text
    assert {b.id: (b.user_id, b.scope, b.superseded_by) for b in report.distractors} == {
        b.id: (b.user_id, b.scope, b.superseded_by)
        for b in Grown(CORPUS, RECIPE).find(b.id for b in report.distractors).values()
    }


def test_a_damaged_distractor_in_a_report_is_named(tmp_path: Path) -> None:
    out = tmp_path / "r.json"
    run("bm25", CORPUS, distractors=RECIPE, out=out, parts=("sessions",))
    tree = json.loads(out.read_text())
    del tree["distractors"][0]["user_id"]
    out.write_text(json.dumps(tree))
    with pytest.raises(ReportError, match=r"distractors\[0\]\.user_id"):
        read_report(out)


def test_a_run_is_resumed_among_the_same_distractors_only(tmp_path: Path) -> None:
    out = tmp_path / "r.json"

    def stop(progress: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run("bm25", CORPUS, distractors=RECIPE, out=out, progress=stop)
    with pytest.raises(ResumeError, match="distractors"):
        run("bm25", CORPUS, distractors=Recipe(501), out=out, resume=True)
    assert run("bm25", CORPUS, distractors=RECIPE, out=out, resume=True).among


@given(st.integers(0, 10**6))
def test_beliefs_come_back_from_a_report(number: int) -> None:
    reader = Reader()
    belief = Grower(CORPUS, Recipe(10**7)).belief(number)
    assert parse_belief(belief_wire(belief), "here", reader) == belief
    assert not reader.problems


def test_commands(tmp_path: Path) -> None:
    home = tmp_path / "d"
    grown = good("data", "grow", "-n", "40", "--seed", "2", "-o", home, "--json").json
    assert grown["recipe"] == Recipe(40, 2).to_wire()
    assert good("data", "lint", "--distractors", home, "--json").json["ok"]
    out = tmp_path / "r.json"
    good("run", "-p", "bm25", "--distractors", home, "-o", out, "-q")
    tree = json.loads(out.read_text())
    assert tree["provenance"]["corpus"]["distractors"] == Recipe(40, 2).to_wire()
    assert tree["ingestion"]["distractors"]["beliefCount"] == 40
    plain = tmp_path / "plain.json"
    good("run", "-p", "bm25", "-o", plain, "-q")
    compared = good("compare", plain, out).out
    assert "stores of different size" in compared
    assert "40 distractors of seed 2" in " ".join(compared.split())


def test_commands_refuse_what_is_no_folder_of_distractors(tmp_path: Path) -> None:
    done = pmb("run", "-p", "bm25", "--distractors", tmp_path, "-o", tmp_path / "r.json")
    assert done.code == 2
    assert "pmb data grow" in done.err
