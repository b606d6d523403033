"""What a memory system is given of a belief."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pmb_hf.errors import UnknownNameError
from pmb_hf.memories import TEXT_MODES, check_text_mode, memory_row
from pmb_hf.provenance import config_hash, git_commit, utc_now
from pmb_hf.schema import Belief

BELIEF = Belief(
    id="b-1",
    user_id="ana",
    type="relation",
    canonical_name="spare_key",
    content="The spare key is at Ole's.",
    scope=("domain:home",),
    aliases=("extra key", "spare key"),
    participants=("b-2",),
    superseded_by="b-3",
)


@pytest.mark.parametrize(
    ("mode", "text"),
    [
        ("all", "spare key, extra key: The spare key is at Ole's."),
        ("canonical_name_aliases", "spare key, extra key"),
        ("content", "The spare key is at Ole's."),
    ],
)
def test_text_modes(mode: str, text: str) -> None:
    assert mode in TEXT_MODES
    assert memory_row(BELIEF, user_id="ns/ana", text_mode=mode)["text"] == text


def test_metadata_tells_state_and_scope() -> None:
    row = memory_row(BELIEF, user_id="ana")
    assert row["metadata"] == {
        "beliefId": "b-1",
        "scope": ["domain:home"],
        "type": "relation",
        "canonicalName": "spare_key",
        "pinned": False,
        "supersededBy": "b-3",
        "resolvedAt": None,
        "epistemicStatus": "active",
        "participants": ["b-2"],
    }


def test_an_unknown_text_mode_names_those_there_are() -> None:
    with pytest.raises(UnknownNameError, match="canonical_name_aliases"):
        check_text_mode("name")


def test_a_configuration_has_one_hash_whatever_its_order() -> None:
    assert config_hash({"a": 1, "b": None}) == config_hash({"b": None, "a": 1})
    assert config_hash({"a": 1}) != config_hash({"a": 2})


def test_times_are_utc() -> None:
    assert utc_now().endswith("Z")
    assert len(utc_now()) == 20


def test_outside_a_checkout_there_is_no_commit(tmp_path: object) -> None:
    code = "from pmb_hf.provenance import git_commit; print(git_commit())"
    env = {"GIT_CEILING_DIRECTORIES": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=str(tmp_path),
        env={**env, "PATH": "/usr/bin:/bin", "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "None"
    assert git_commit() is None or len(git_commit() or "") >= 40
