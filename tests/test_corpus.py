"""Loading a corpus: native, official, a directory; and every way in which it can't be read."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from corpora import INES, files, load, parsed, write
from hypothesis import given
from hypothesis import strategies as st

from pmb_hf.corpus import (
    NATIVE_DIR,
    corpus_sha256,
    load_corpus,
    read_corpus,
    read_files,
    read_json,
)
from pmb_hf.errors import CorpusError, InputError
from pmb_hf.expectations import expectations
from pmb_hf.schema import BELIEFS_FILE, CASES_FILE, CORPUS_FILES, SESSIONS_FILE


def test_directory_is_loaded(tmp_path: Path) -> None:
    corpus = load(tmp_path / "tiny")
    assert (corpus.name, corpus.location) == ("tiny", str(tmp_path / "tiny"))
    assert corpus.sha256 == corpus_sha256(tmp_path / "tiny")
    assert (corpus.beliefs, corpus.cases, corpus.sessions) == (
        parsed().beliefs,
        parsed().cases,
        parsed().sessions,
    )
    assert corpus.user_id == INES
    assert load_corpus(str(tmp_path / "tiny")) == corpus


def test_name_of_a_relative_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(write(tmp_path / "tiny"))
    assert load_corpus(".").name == "tiny"


def test_native_is_the_default() -> None:
    corpus = load_corpus()
    assert corpus == load_corpus("native")
    assert (corpus.name, corpus.location) == ("native", str(NATIVE_DIR))
    assert len(corpus.beliefs) == 35
    assert len(corpus.cases) == 77
    assert sum(len(session.turns) for session in corpus.sessions) == 12
    wanted = expectations(corpus)
    assert sum(bool(e.gold) for e in wanted.values() if e.turn_index is None) == 43


def test_official_is_read_as_it_is(upstream_dir: Path) -> None:
    corpus = load_corpus("official", fixtures=upstream_dir)
    assert corpus.name == "official"
    assert (len(corpus.beliefs), len(corpus.cases)) == (35, 77)
    assert load_corpus("official", fixtures=upstream_dir / "fixtures") == corpus
    # As a directory of one's own it has to be sound, and it is not.
    with pytest.raises(CorpusError, match="pinnedFacts"):
        load_corpus(upstream_dir / "fixtures")


def test_other_files_are_not_the_official_corpus(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="SHA-256"):
        load_corpus("official", fixtures=write(tmp_path))


def test_no_such_directory(tmp_path: Path) -> None:
    for wrong in ("nativ", str(tmp_path / "nowhere"), tmp_path / "nowhere"):
        with pytest.raises(CorpusError, match=r"native.*official.*directory") as caught:
            load_corpus(wrong)
        assert str(wrong) in str(caught.value)
        assert all(name in str(caught.value) for name in CORPUS_FILES)
        assert isinstance(caught.value, InputError | ValueError)


def test_a_file_is_no_directory(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="directory"):
        load_corpus(write(tmp_path) / CASES_FILE)


@pytest.mark.parametrize("name", CORPUS_FILES)
def test_missing_file(name: str, tmp_path: Path) -> None:
    (write(tmp_path) / name).unlink()
    with pytest.raises(CorpusError, match=f"{name} is missing"):
        load_corpus(tmp_path)


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"", "no valid JSON"),
        (b"[1,]", "line 1 column"),
        (b"[] []", "Extra data"),
        (b"\xef\xbb\xbf[]", "BOM"),
        (b"\xff\xfe[\x00]\x00", "can't be read"),
        (b"[NaN]", "NaN is no JSON value; use null"),
        (b"[Infinity]", "Infinity is no JSON value"),
        (b"[-Infinity]", "-Infinity is no JSON value"),
        (b'[{"_id": 1, "a": 2, "_id": 3}]', "'_id' is there twice"),
        (b'[{"a": {"b": 1, "b": 1}}]', "'b' is there twice"),
        (b"[" * 100_000, "no valid JSON"),
        (b"[" + b"9" * 10_000 + b"]", "no valid JSON"),
    ],
    ids=range(12),
)
def test_file_that_is_no_strict_json(content: bytes, word: str, tmp_path: Path) -> None:
    (write(tmp_path) / CASES_FILE).write_bytes(content)
    with pytest.raises(CorpusError) as caught:
        load_corpus(tmp_path)
    assert CASES_FILE in str(caught.value)
    assert word in str(caught.value)


def test_directory_in_place_of_a_file(tmp_path: Path) -> None:
    (tmp_path / CASES_FILE).mkdir()
    with pytest.raises(CorpusError, match="can't be read"):
        read_json(tmp_path / CASES_FILE)


def test_broken_schema_lists_the_places_and_names_the_linter(tmp_path: Path) -> None:
    raw = files()
    raw[BELIEFS_FILE][0]["pined"] = True
    raw[CASES_FILE][0]["expect"]["relevantBeliefs"]["mustInclude"] = None
    with pytest.raises(CorpusError) as caught:
        load_corpus(write(tmp_path, raw))
    message = str(caught.value)
    assert "2 place(s)" in message
    assert f"{BELIEFS_FILE}[0] (t-berth).pined: unknown key" in message
    assert f"{CASES_FILE}[0] (c-mooring).expect.relevantBeliefs.mustInclude: must be" in message
    assert f"`pmb data lint {tmp_path}`" in message
    assert "more" not in message


def test_long_list_of_places_is_cut(tmp_path: Path) -> None:
    raw = files()
    for row in raw[BELIEFS_FILE]:
        row["confidence"] = "high"
    with pytest.raises(CorpusError, match="10 place") as caught:
        load_corpus(write(tmp_path, raw))
    assert str(caught.value).count(".confidence") == 5
    assert str(caught.value).endswith("… and 5 more")


def test_reading_without_refusing(tmp_path: Path) -> None:
    raw = files()
    raw[SESSIONS_FILE][0]["turn"] = []
    corpus, problems = read_corpus(write(tmp_path, raw))
    assert [(p.where, p.code) for p in problems] == [
        (f"{SESSIONS_FILE}[0] (s-refit).turn", "unknown-key")
    ]
    assert corpus.sessions == parsed().sessions
    assert read_files(tmp_path) == raw


# --- the hash


def test_hash_is_over_name_length_and_bytes_in_fixed_order(tmp_path: Path) -> None:
    write(tmp_path)
    digest = hashlib.sha256()
    for name in ("beliefs.seed.json", "retrieval.cases.json", "session-retrieval.cases.json"):
        data = (tmp_path / name).read_bytes()
        digest.update(name.encode() + b"\0" + str(len(data)).encode() + b"\0" + data)
    assert corpus_sha256(tmp_path) == digest.hexdigest()


def test_hash_knows_every_byte_and_nothing_else(tmp_path: Path) -> None:
    before = corpus_sha256(write(tmp_path / "a"))
    (tmp_path / "a" / "README.md").write_text("Notes.", encoding="utf-8")
    assert corpus_sha256(tmp_path / "a") == before
    assert corpus_sha256(write(tmp_path / "b")) == before
    for name in CORPUS_FILES:
        write(tmp_path / "b")
        with (tmp_path / "b" / name).open("a", encoding="utf-8") as file:
            file.write("\n")
        assert corpus_sha256(tmp_path / "b") != before


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner),
)


@given(JSON)
def test_json_is_read_back_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, value: Any
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.json"
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    path.write_text(text, encoding="utf-8", newline="")
    assert read_json(path) == value
