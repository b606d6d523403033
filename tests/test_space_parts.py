"""What of the Space needs no browser: where it reads from, links, limits, and its card."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hub import serve
from hub_kit import REPO, python
from space_kit import SYSTEMS, tree, write

from pmb_hf.assets import find
from pmb_hf.board.columns import COMPACT, DEFAULT_ORDER, choose
from pmb_hf.board.local import load_app
from pmb_hf.board.reader import board_of, read_export
from pmb_hf.board.static import notices

SPACE = find("space")
OF_THE_HUB = f"""
import sys
sys.path.insert(0, {str(SPACE)!r})
from source import Source
source = Source.from_environment()
board = source.board()
print(len(board.rows(*board.choose())), board.origin, *board.problems)
"""


@pytest.fixture(scope="module")
def app() -> Iterator[Any]:
    before = list(sys.path)
    yield load_app()
    sys.path[:] = before


@pytest.fixture
def source(app: Any) -> Any:
    return sys.modules["source"]


@pytest.fixture
def guard(app: Any) -> Any:
    return sys.modules["guard"]


@pytest.fixture
def link(app: Any) -> Any:
    return sys.modules["link"]


def test_a_folder_is_read_again_when_it_changes(source: Any, tmp_path: Path) -> None:
    made = source.Source(folder=tmp_path)
    assert not made.board().entries
    write(tmp_path, tree(["one"]))
    first = made.board()
    assert first.entries
    assert made.board() is first
    write(tmp_path, tree(["one", "two"]))
    assert len(made.board().entries) > len(first.entries)


def test_the_environment_says_where_to_read(
    source: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PMB_EXPORT", raising=False)
    monkeypatch.delenv("PMB_LEADERBOARD_REPO", raising=False)
    beside = source.Source.from_environment().board()
    assert beside.origin == str(SPACE / "export")
    monkeypatch.setenv("PMB_EXPORT", str(write(tmp_path, tree(SYSTEMS))))
    assert source.Source.from_environment().board().entries


def test_a_repository_of_the_hub_is_read(tmp_path: Path) -> None:
    content = json.dumps(tree(SYSTEMS)).encode()
    with serve() as hub:
        hub.create("dataset", REPO).write({"leaderboard.json": content})
        done = python(hub, tmp_path, OF_THE_HUB, PMB_LEADERBOARD_REPO=REPO)
    assert done.out.split() == ["5", REPO]


def test_a_hub_that_does_not_answer_is_told(tmp_path: Path) -> None:
    with serve() as hub:
        done = python(hub, tmp_path, OF_THE_HUB, PMB_LEADERBOARD_REPO="org/missing")
    assert done.code == 0, done.err
    assert "The repository org/missing can't be read at the moment." in done.out


def test_a_link_is_read_and_what_is_not_there_falls_back(link: Any) -> None:
    board = board_of(tree(SYSTEMS))
    corpus, rules = board.choose()
    usual = link.read([], board)
    assert (usual.corpus, usual.rules, usual.tab, usual.view) == (corpus, rules, "board", "compact")
    asked = [
        ("corpus", "nowhere"),
        ("rules", "upstream-2026-06"),
        ("provider", "fts5"),
        ("provider", "<script>"),
        ("column", "date"),
        ("column", "__class__"),
        ("show", "incomplete,nonsense"),
        ("sort", "session.mean_drift"),
        ("case", "alias-caps-foh"),
        ("tab", "cases"),
        ("view", "full"),
        ("q", "x" * 5000),
    ]
    found = link.read(asked, board)
    assert found == link.State(
        corpus=corpus,
        rules="upstream-2026-06",
        view="full",
        columns=["date"],
        query="x" * 200,
        shown=["incomplete"],
        sort="session.mean_drift",
        down=False,
        providers=["fts5"],
        case="alias-caps-foh",
        tab="cases",
    )
    wrong = [(key, "nonsense") for key in ("tab", "view", "sort", "case", "rules", "show")]
    assert link.read(wrong, board) == usual._replace(shown=[])


def test_a_link_to_cases_holds_more_systems_than_one_to_compare(link: Any) -> None:
    names = [f"system {n}" for n in range(8)]
    board = board_of(tree(names))
    asked = [("provider", name) for name in (*names, names[0])]
    assert link.read([*asked, ("tab", "cases")], board).providers == names
    assert link.read([*asked, ("tab", "compare")], board).providers == names[:4]
    assert link.read([("down", "1")], board).down


def test_a_head_that_is_pressed_sorts_and_then_turns_the_order_round(app: Any) -> None:
    heads = sys.modules["heads"]
    shown = choose(COMPACT)
    place = [column.id for column in shown].index("retrieval.mean_recall")
    once = heads.pressed(place, shown, DEFAULT_ORDER, down=True)
    assert once == ("retrieval.mean_recall", False)
    assert heads.pressed(place, shown, *once) == ("retrieval.mean_recall", True)
    for nonsense in (None, -1, len(shown), "1", {}, 1.5, True):
        assert heads.pressed(nonsense, shown, *once) == once


@pytest.mark.parametrize(
    "name", ["common.submit", "file", 'x __i18n__{"key":"common.error"} y', "__i18n__{bad"]
)
def test_gradio_finds_no_key_of_its_own_in_a_label(app: Any, name: str) -> None:
    parts = sys.modules["parts"]
    ((shown, value),) = parts.choices([name])
    assert value == name
    assert shown.replace("\u2060", "") == name
    assert shown != name
    assert "__i18n__" not in shown
    assert parts.label("two words, a.b") == "two words, a.b"


def test_a_failing_event_says_so(app: Any, capsys: pytest.CaptureFixture[str]) -> None:
    import gradio

    parts = sys.modules["parts"]
    with pytest.raises(gradio.Error, match="can't be drawn"):
        parts.told(lambda: 1 / 0)()
    assert "ZeroDivisionError" in capsys.readouterr().err
    assert parts.told(lambda a: a)(3) == 3


def test_an_empty_board_names_no_folder(tmp_path: Path) -> None:
    assert str(tmp_path) not in json.dumps(notices(read_export(tmp_path / "private")))
    (tmp_path / "leaderboard.json").mkdir()
    assert str(tmp_path) not in json.dumps(notices(read_export(tmp_path)))


def test_an_empty_board_has_a_state_too(link: Any, tmp_path: Path) -> None:
    assert link.read([("corpus", "x")], read_export(tmp_path)).corpus == ""


def test_uses_are_counted_by_name_and_forgotten(guard: Any) -> None:
    now = [0.0]
    rate = guard.Rate(2, 60.0, clock=lambda: now[0])
    assert [rate.allows("a"), rate.allows("a"), rate.allows("a")] == [True, True, False]
    assert rate.allows("b")
    now[0] = 60.0
    assert rate.allows("a")
    assert set(rate._uses) == {"a"}


def test_no_block_takes_an_address_for_a_file(app: Any, source: Any, tmp_path: Path) -> None:
    """Gradio would download it, before any of our code runs."""
    import gradio

    demo = app.build(source.Source(folder=write(tmp_path, tree(SYSTEMS))))
    mine = tmp_path / "mine.json"
    mine.write_text("[]")
    for block in demo.blocks.values():
        for address in ("http://example.invalid/a.json", "HTTPS://example.invalid/a.json"):
            with pytest.raises(gradio.Error, match="fetches no address"):
                block.move_resource_to_block_cache(address)
            with pytest.raises(gradio.Error, match="fetches no address"):
                asyncio.run(block.async_move_resource_to_block_cache(address))
        assert block.move_resource_to_block_cache(None) is None
        assert Path(block.move_resource_to_block_cache(str(mine))).name == "mine.json"


def test_the_card_is_valid() -> None:
    text = (SPACE / "README.md").read_text(encoding="utf-8")
    fields = yaml.safe_load(text.split("---")[1])
    assert fields["sdk"] == "gradio"
    assert (SPACE / fields["app_file"]).is_file()
    assert "leaderboard" in fields["tags"]
    assert len(fields["short_description"]) <= 60
    colours = {"red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray"}
    assert {fields["colorFrom"], fields["colorTo"]} <= colours
    required = (SPACE / "requirements.txt").read_text(encoding="utf-8").split()
    assert required[0].startswith("gradio>=6")
