"""The manifest: counts and hashes of a corpus, and what the linter says where they differ."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from corpora import files, write

from pmb_hf.corpus import NATIVE_DIR
from pmb_hf.corpus.manifest import check_manifest, main, make_manifest, write_manifest
from pmb_hf.errors import CorpusError
from pmb_hf.lint import lint, ok
from pmb_hf.schema import BELIEFS_FILE, CASES_FILE, CORPUS_FILES, SESSIONS_FILE


def test_native_manifest_is_that_of_the_data() -> None:
    assert check_manifest(NATIVE_DIR) == []
    stated = json.loads((NATIVE_DIR / "manifest.json").read_text(encoding="utf-8"))
    assert stated == make_manifest(NATIVE_DIR)
    assert stated["counts"]["cases"] == 77


def test_manifest_counts_and_hashes(tmp_path: Path) -> None:
    manifest = make_manifest(write(tmp_path / "tiny"))
    assert manifest["schemaVersion"] == 1
    assert manifest["name"] == "tiny"
    counts = manifest["counts"]
    assert counts["categories"].pop("Session-level noise isolation") == 3
    assert sum(counts.pop("categories").values()) == counts["cases"]
    assert counts == {
        "beliefs": 10,
        "cases": 8,
        "active": 4,
        "sessions": 1,
        "turns": 3,
        "activeTurns": 3,
        "passKinds": {"active": 4, "structural": 2, "trivially_empty": 2},
    }
    for name in CORPUS_FILES:
        assert manifest["files"][name]["bytes"] == (tmp_path / "tiny" / name).stat().st_size
    assert len(manifest["sha256"]) == 64


def test_manifest_agrees_until_the_data_changes(tmp_path: Path) -> None:
    write_manifest(write(tmp_path / "tiny"))
    assert lint(tmp_path / "tiny") == []
    (tmp_path / "tiny").rename(tmp_path / "renamed")
    assert check_manifest(tmp_path / "renamed") == []

    raw = files()
    del raw[CASES_FILE][0]
    write(tmp_path / "renamed", raw)
    found = lint(tmp_path / "renamed")
    assert {finding.code for finding in found} == {"manifest"}
    assert not ok(found)
    messages = " ".join(finding.message for finding in found)
    assert "counts.cases is 8 and should be 7" in messages
    assert "counts.categories.Alias resolution is 1 and should be None" in messages
    assert "sha256" in messages
    assert "python -m pmb_hf.corpus.manifest" in messages


@pytest.mark.parametrize("content", ["[]", "{", '{"a": {"b": 1}}', '{"counts": 3}'])
def test_broken_manifest_is_a_finding(content: str, tmp_path: Path) -> None:
    (write(tmp_path) / "manifest.json").write_text(content, encoding="utf-8")
    assert {finding.code for finding in lint(tmp_path)} == {"manifest"}


def test_manifest_of_a_broken_corpus_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=BELIEFS_FILE):
        make_manifest(tmp_path)
    raw = files()
    raw[SESSIONS_FILE][0]["turns"][0]["updateBeliefAtTurn"] = {"beliefId": "t-nope"}
    with pytest.raises(CorpusError, match="t-nope"):
        make_manifest(write(tmp_path, raw))


def test_manifest_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(write(tmp_path / "tiny"))]) == 0
    assert capsys.readouterr().out.strip().endswith("manifest.json")
    assert check_manifest(tmp_path / "tiny") == []
    assert main([]) == 2
    assert main([str(tmp_path / "nowhere")]) == 2
    assert "nowhere" in capsys.readouterr().err
