"""Tests of pmb_hf.builder."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import datasets
import pytest

from pmb_hf.builder import NAME, PrecisionMemBench, content_hash, features
from pmb_hf.corpus import NATIVE_DIR, load_corpus
from pmb_hf.dataset_rows import CONFIGS, rows
from pmb_hf.errors import CorpusError
from pmb_hf.rows import expectation_from_row
from pmb_hf.schema import CASES_FILE

NATIVE = load_corpus()


def made(cache: Path, config: str | None, **options: Any) -> datasets.Dataset:
    """Prepare a config in a cache and load it."""
    builder = PrecisionMemBench(cache_dir=str(cache), config_name=config, **options)
    builder.download_and_prepare()
    return builder.as_dataset(split="test")


def own_corpus(directory: Path, expect: dict[str, Any]) -> Path:
    """A copy of the native corpus whose first case expects something else."""
    shutil.copytree(NATIVE_DIR, directory, dirs_exist_ok=True)
    path = directory / CASES_FILE
    cases = json.loads(path.read_text(encoding="utf-8"))
    cases[0]["expect"] = expect
    path.write_text(json.dumps(cases), encoding="utf-8")
    return directory


@pytest.mark.parametrize("config", CONFIGS)
def test_rows_come_through_unchanged(config: str, tmp_path: Path) -> None:
    dataset = made(tmp_path, config)
    assert dataset.to_list() == rows(NATIVE, config)
    assert dataset.features == features(config)
    assert dataset.split == datasets.Split.TEST


def test_lists_are_typed_even_if_all_are_empty(tmp_path: Path) -> None:
    texts = datasets.List(datasets.Value("string"))
    types = features("retrieval")
    assert types["changed_beliefs"] == texts
    assert types["relevant_ordered_before"] == datasets.List(texts)
    dataset = made(tmp_path, "retrieval")
    assert not any(dataset["changed_beliefs"])
    joined = datasets.concatenate_datasets([dataset, made(tmp_path, "retrieval")])
    assert joined.features["changed_beliefs"] == texts


def test_null_lists_stay_null(tmp_path: Path) -> None:
    expect = {"relevantBeliefs": {"mustInclude": ["b-in-ears"]}}
    corpus = own_corpus(tmp_path / "own", expect)
    first = made(tmp_path, "retrieval", corpus=str(corpus))[0]
    assert first["relevant_should_only_include"] is None
    assert first["relevant_must_include"] == ["b-in-ears"]
    assert first["questions_should_only_include"] is None
    assert first["relevant_must_exclude"] == []
    assert expectation_from_row(first).relevant_only is None


def test_official_corpus(tmp_path: Path, upstream_dir: Path) -> None:
    fixtures = upstream_dir / "fixtures"
    dataset = made(tmp_path, "retrieval", corpus="official", fixtures=fixtures)
    assert dataset.to_list() == rows(load_corpus("official", fixtures=fixtures), "retrieval")
    native = made(tmp_path, "retrieval")
    assert dataset["case_id"][:] != native["case_id"][:]


def test_a_changed_corpus_is_not_served_from_the_cache(tmp_path: Path) -> None:
    corpus = own_corpus(tmp_path / "own", {"relevantBeliefs": {"shouldOnlyInclude": []}})
    before = made(tmp_path, "retrieval", corpus=corpus)
    own_corpus(corpus, {"relevantBeliefs": {"mustInclude": ["b-foh-desk"]}})
    after = made(tmp_path, "retrieval", corpus=corpus)
    assert (before[0]["gold"], after[0]["gold"]) == ([], ["b-foh-desk"])


def test_default_config(tmp_path: Path) -> None:
    assert made(tmp_path, None).num_rows == 77


def test_cache_is_where_the_library_looks(tmp_path: Path) -> None:
    builder = PrecisionMemBench(cache_dir=str(tmp_path), config_name="beliefs")
    path = Path(builder.cache_dir)
    assert path.parts[-4:-2] == (NAME, "beliefs")
    assert path.name == content_hash(NATIVE)
    assert len(path.name) == 64
    explicit = PrecisionMemBench(
        cache_dir=str(tmp_path), config_name="beliefs", corpus="native", fixtures=None
    )
    assert explicit.cache_dir == builder.cache_dir


def test_streams(tmp_path: Path) -> None:
    builder = PrecisionMemBench(cache_dir=str(tmp_path), config_name="sessions")
    assert list(builder.as_streaming_dataset(split="test")) == rows(NATIVE, "sessions")


def test_unknown_config_names_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"'nope' not found.*'retrieval', 'sessions'"):
        PrecisionMemBench(cache_dir=str(tmp_path), config_name="nope")


def test_unknown_corpus(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"no corpus 'nowhere'"):
        PrecisionMemBench(cache_dir=str(tmp_path), config_name="beliefs", corpus="nowhere")


def test_hash_tells_corpora_apart(tmp_path: Path) -> None:
    own = load_corpus(own_corpus(tmp_path, {"relevantBeliefs": {"shouldOnlyInclude": []}}))
    assert content_hash(NATIVE) == content_hash(load_corpus())
    assert content_hash(own) != content_hash(NATIVE)
