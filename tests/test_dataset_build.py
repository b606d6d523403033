"""Tests of pmb_hf.dataset_build, pmb_hf.dataset_card and dataset_script/."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import datasets
import pytest
import yaml
from huggingface_hub import DatasetCard
from test_builder import own_corpus

from pmb_hf import score
from pmb_hf.builder import features
from pmb_hf.corpus import load_corpus
from pmb_hf.dataset_build import Built, build
from pmb_hf.dataset_card import Content, _size_category, render
from pmb_hf.dataset_rows import CONFIGS, DEFAULT_CONFIG, rows
from pmb_hf.errors import CorpusError, InputError, PmbError

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = ROOT / "dataset_script"
NATIVE = load_corpus()


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """The native dataset, built once."""
    return build(tmp_path_factory.mktemp("hub") / "precisionmembench")


def contents(directory: Path) -> dict[str, bytes]:
    """Every file below a directory."""
    return {
        path.relative_to(directory).as_posix(): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }


def card_of(built: Built) -> str:
    """The text of a card."""
    return (built.directory / "README.md").read_text(encoding="utf-8")


def loaded(built: Built, config: str | None, cache: Path) -> datasets.Dataset:
    """What a user gets from the folder."""
    return datasets.load_dataset(str(built.directory), config, split="test", cache_dir=str(cache))


def test_files(native: Built) -> None:
    parquet = {f"{config}/test-00000-of-00001.parquet" for config in CONFIGS}
    assert set(contents(native.directory)) == {"README.md", "eval.yaml", *parquet}
    assert {path.relative_to(native.directory).as_posix() for path in native.files} == set(
        contents(native.directory)
    )
    assert native.rows == {config: len(rows(NATIVE, config)) for config in CONFIGS}
    assert native.corpus_sha256 == NATIVE.sha256


@pytest.mark.parametrize("config", CONFIGS)
def test_folder_loads_by_config(native: Built, config: str, tmp_path: Path) -> None:
    dataset = loaded(native, config, tmp_path)
    assert dataset.to_list() == rows(NATIVE, config)
    assert dataset.features == features(config)


def test_folder_tells_its_configs_and_default(native: Built, tmp_path: Path) -> None:
    path = str(native.directory)
    assert datasets.get_dataset_config_names(path) == list(CONFIGS)
    assert datasets.get_dataset_split_names(path, "qrels") == ["test"]
    default = loaded(native, None, tmp_path)
    assert default.to_list() == rows(NATIVE, DEFAULT_CONFIG)


def test_null_lists_survive_parquet(tmp_path: Path) -> None:
    corpus = own_corpus(tmp_path / "own", {"relevantBeliefs": {"mustInclude": ["b-in-ears"]}})
    dataset = loaded(build(tmp_path / "out", corpus), "retrieval", tmp_path / "cache")
    assert dataset[0]["relevant_should_only_include"] is None
    assert dataset[0]["relevant_must_exclude"] == []
    assert [] in dataset["relevant_should_only_include"][:]


@pytest.mark.parametrize("config", ["retrieval", "sessions"])
def test_loaded_rows_score_as_references(native: Built, config: str, tmp_path: Path) -> None:
    references = loaded(native, config, tmp_path)
    keys = {"case_id", "turn_index"} & set(references.column_names)
    answers = [
        {**{key: row[key] for key in keys}, "relevant_beliefs": row["gold"]} for row in references
    ]
    summary: Any = score(answers, references)
    assert summary == score(answers, rows(NATIVE, config))
    assert summary["mean_precision"] == summary["mean_recall"] == 1.0
    assert summary["passed"] > 0


def test_same_input_gives_the_same_bytes(native: Built, tmp_path: Path) -> None:
    code = "import sys; from pmb_hf.dataset_build import build; build(sys.argv[1])"
    for seed in ("1", "2"):
        out = tmp_path / seed
        environment = os.environ | {"PYTHONHASHSEED": seed, "TZ": f"UTC+{seed}"}
        subprocess.run([sys.executable, "-c", code, str(out)], env=environment, check=True)
        assert contents(out) == contents(native.directory)


def test_building_again_leaves_other_files_alone(tmp_path: Path) -> None:
    build(tmp_path)
    (tmp_path / "leaderboard.json").write_text("{}")
    before = contents(tmp_path)
    build(tmp_path)
    assert contents(tmp_path) == before


def test_card_is_the_one_in_the_source_tree(native: Built) -> None:
    assert card_of(native) == (SCRIPT / "README.md").read_text(encoding="utf-8"), (
        "the card is out of date; run: python dataset_script/build.py --card"
    )


def test_card_metadata(native: Built) -> None:
    data = DatasetCard.load(native.directory / "README.md").data.to_dict()
    assert data["license"] == "apache-2.0"
    assert data["language"] == ["en"]
    assert data["pretty_name"] == "PrecisionMemBench"
    assert data["task_categories"] == ["text-retrieval"]
    assert data["size_categories"] == ["n<1K"]
    assert [config["config_name"] for config in data["configs"]] == list(CONFIGS)
    assert [c["config_name"] for c in data["configs"] if c.get("default")] == [DEFAULT_CONFIG]
    for config in data["configs"]:
        (file,) = config["data_files"]
        assert (native.directory / file["path"]).is_file()
    for info in data["dataset_info"]:
        (split,) = info["splits"]
        assert split["num_examples"] == native.rows[info["config_name"]]


@pytest.mark.parametrize("config", CONFIGS)
def test_card_gives_the_types_of_the_builder(native: Built, config: str) -> None:
    builder = datasets.load_dataset_builder(str(native.directory), config)
    assert builder.info.features == features(config)
    assert builder.info.splits["test"].num_examples == native.rows[config]


@pytest.mark.parametrize("config", CONFIGS)
def test_card_documents_exactly_the_columns(native: Built, config: str) -> None:
    _, _, section = card_of(native).partition(f"\n### {config}\n")
    table = section.lstrip("\n").partition("\n\n")[0]
    documented = re.findall(r"^\| `([^`]+)` \| [^|]+ \| [^|]+ \|$", table, re.MULTILINE)
    assert documented == list(features(config))


def test_card_counts_are_those_of_the_data(native: Built) -> None:
    card = card_of(native)
    made = [*rows(NATIVE, "retrieval"), *rows(NATIVE, "sessions")]
    for category in {row["category"] for row in made}:
        mine = [row for row in made if row["category"] == category]
        kinds = [row["pass_kind"] for row in mine]
        counts = [kinds.count(kind) for kind in ("active", "structural", "trivially_empty")]
        asked = sum(row["provider_decides"] for row in mine)
        cells = [category, len(mine), *counts, asked]
        assert "| " + " | ".join(map(str, cells)) + " |\n" in card
    assert NATIVE.sha256 in card


def test_card_tells_what_corpus_it_is(tmp_path: Path) -> None:
    # The name of a directory does not make a corpus the official one.
    own = build(tmp_path / "out", own_corpus(tmp_path / "official", {"pinnedFacts": {}}))
    card = card_of(own)
    assert "neither the native nor the official corpus" in card
    assert own.corpus_sha256 in card
    assert "license" not in DatasetCard(card).data.to_dict()
    assert "(official corpus)" in card.partition("\n---\n")[0]


def test_official_card(tmp_path: Path, upstream_dir: Path) -> None:
    built = build(tmp_path, "official", upstream_dir / "fixtures")
    data = DatasetCard(card_of(built)).data.to_dict()
    assert data["license"] == "mit"
    assert "**official** corpus" in card_of(built)
    corpus = load_corpus("official", fixtures=upstream_dir / "fixtures")
    for config in CONFIGS:
        dataset = loaded(built, config, tmp_path / "cache")
        assert dataset.to_list() == rows(corpus, config)


def test_eval_file_names_what_is_there(native: Built) -> None:
    data = yaml.safe_load((native.directory / "eval.yaml").read_text(encoding="utf-8"))
    assert set(data) == {"name", "description", "tasks"}
    assert [task["id"] for task in data["tasks"]] == [
        "PrecisionMemBench_retrieval",
        "PrecisionMemBench_sessions",
    ]
    for task in data["tasks"]:
        assert task["config"] in CONFIGS
        assert task["split"] == "test"


def test_layout_suits_the_loader_of_mteb(native: Built, tmp_path: Path) -> None:
    # What mteb's RetrievalDatasetLoader does with a repository, step by step.
    assert "default" not in CONFIGS
    corpus = loaded(native, "corpus", tmp_path).rename_column("_id", "id")
    queries = loaded(native, "queries", tmp_path).rename_column("_id", "id")
    qrels = loaded(native, "qrels", tmp_path)
    types = {name: datasets.Value("string") for name in ("query-id", "corpus-id")}
    qrels = qrels.select_columns([*types, "score"])
    qrels = qrels.cast(datasets.Features({**types, "score": datasets.Value("int32")}))
    assert set(qrels["query-id"]) <= set(queries["id"])
    assert set(qrels["corpus-id"]) <= set(corpus["id"])


def test_a_folder_that_could_not_be_loaded_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "bench"
    out.mkdir()
    (out / "bench.py").touch()
    with pytest.raises(InputError, match=r"bench\.py.*choose another"):
        build(out)
    assert [path.name for path in out.iterdir()] == ["bench.py"]


def test_a_file_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "out").touch()
    with pytest.raises(InputError, match="out is no directory"):
        build(tmp_path / "out")


def test_unknown_corpus_writes_nothing(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="no corpus"):
        build(tmp_path / "out", "nowhere")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("template", ["# No front matter\n", "---\na: 1\n---\n# No parts\n"])
def test_template_without_its_parts(template: str) -> None:
    made = {config: rows(NATIVE, config) for config in CONFIGS}
    content = Content(NATIVE, "native", made, dict.fromkeys(CONFIGS, 0))
    with pytest.raises(PmbError, match="the card's template"):
        render(template, content)


@pytest.mark.parametrize(
    ("total", "category"),
    [(0, "n<1K"), (999, "n<1K"), (1000, "1K<n<10K"), (99_999, "10K<n<100K"), (10**6, "n>1M")],
)
def test_size_categories(total: int, category: str) -> None:
    assert _size_category(total) == category


def test_script(native: Built, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT / "build.py"), "out"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "retrieval: 77 rows" in done.stdout
    assert contents(tmp_path / "out") == contents(native.directory)


def test_there_is_no_loading_script(native: Built) -> None:
    assert not (SCRIPT / f"{SCRIPT.name}.py").exists()
    assert not list(native.directory.rglob("*.py"))


def test_only_the_builder_needs_datasets(tmp_path: Path) -> None:
    code = """
import sys
import pmb_hf.assets, pmb_hf.dataset_build, pmb_hf.dataset_card, pmb_hf.dataset_rows, pmb_hf.install
heavy = {"datasets", "evaluate", "huggingface_hub", "pyarrow"} & set(sys.modules)
assert not heavy, heavy
"""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, check=True)
