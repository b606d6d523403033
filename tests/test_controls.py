"""The controls: empty, everything, oracle and scripted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pmb_hf.errors import InputError, ProviderError
from pmb_hf.providers.controls import (
    Asked,
    EmptyProvider,
    EverythingProvider,
    OracleProvider,
    Question,
    ScriptedProvider,
    scripted_from_file,
)
from pmb_hf.providers.protocol import Hit, Provider
from pmb_hf.providers.registry import create

SCOPES = ("domain:garden",)


def write(provider: Any, belief_id: str, text: str = "text", user_id: str = "ana") -> None:
    provider.add(belief_id=belief_id, user_id=user_id, text=text, aliases=(), metadata={"n": 1})


def ids(provider: Provider, query: str = "q", limit: int = 20, **asked: Any) -> list[str | None]:
    asked = {"user_id": "ana", "scopes": SCOPES, **asked}
    return [hit.id for hit in provider.search(query=query, limit=limit, **asked)]


def test_empty_finds_nothing() -> None:
    provider = EmptyProvider()
    write(provider, "b-1")
    assert ids(provider) == []
    assert provider.options == {}


def test_everything_is_in_order_of_insertion_whatever_the_question() -> None:
    provider = EverythingProvider()
    for belief_id in ("b-3", "b-1", "b-2"):
        write(provider, belief_id)
    write(provider, "b-9", user_id="ben")
    provider.update(belief_id="b-3", user_id="ana", text="new", aliases=(), metadata={})
    assert ids(provider, "", scopes=()) == ["b-3", "b-1", "b-2"]
    assert ids(provider, limit=2) == ["b-3", "b-1"]
    assert ids(provider, limit=-1) == []
    assert provider.search(query="", user_id="ana", scopes=(), limit=1) == [
        Hit("b-3", None, "new", {})
    ]


def test_oracle_answers_what_it_was_told() -> None:
    provider = OracleProvider({("ana", SCOPES, "q"): ["b-2", "b-1"]})
    write(provider, "b-2", "known")
    hits = provider.search(query="q", user_id="ana", scopes=list(SCOPES), limit=20)
    assert hits == [Hit("b-2", None, "known", {"n": 1}), Hit("b-1")]
    assert ids(provider, limit=1) == ["b-2"]
    assert ids(provider, limit=0) == []


def test_oracle_stays_armed_through_reset() -> None:
    provider = create("oracle")
    assert isinstance(provider, OracleProvider)
    provider.arm({("ana", SCOPES, "q"): []})
    provider.arm({("ana", SCOPES, "q"): ["b-1"]})
    provider.reset()
    assert ids(provider) == ["b-1"]


def test_oracle_copies_its_answers() -> None:
    answers: dict[Question, list[str]] = {("ana", SCOPES, "q"): ["b-1"]}
    provider = OracleProvider(answers)
    answers["ana", SCOPES, "q"].append("b-2")
    assert ids(provider) == ["b-1"]


def test_unarmed_oracle_is_an_error() -> None:
    with pytest.raises(ProviderError, match=r"no answers: call arm\(\) before search"):
        ids(create("oracle"))


@pytest.mark.parametrize(
    "asked", [{"query": "other"}, {"user_id": "ben"}, {"scopes": ()}, {"scopes": ("domain:x",)}]
)
def test_oracle_without_an_answer_to_this_question(asked: dict[str, Any]) -> None:
    with pytest.raises(ProviderError, match=r"no answer to .* arm it with all questions"):
        ids(OracleProvider({("ana", SCOPES, "q"): ["b-1"]}), **asked)


def test_scripted_plays_ids_hits_errors_and_functions() -> None:
    crash = ProviderError("down")
    provider = ScriptedProvider(
        {
            "ids": ["b-1", "b-2"],
            "hits": [Hit(None, 0.5, "no id")],
            "crash": crash,
            "made": lambda asked: [f"b-{asked.user_id}-{asked.limit}"],
        },
        default=["b-default"],
    )
    write(provider, "b-1", "known")
    assert provider.search(query="ids", user_id="ana", scopes=(), limit=9) == [
        Hit("b-1", None, "known", {"n": 1}),
        Hit("b-2"),
    ]
    assert provider.search(query="hits", user_id="ana", scopes=(), limit=9) == [
        Hit(None, 0.5, "no id")
    ]
    assert ids(provider, "made", limit=3) == ["b-ana-3"]
    assert ids(provider, "else") == ["b-default"]
    with pytest.raises(ProviderError) as caught:
        ids(provider, "crash")
    assert caught.value is crash


def test_scripted_default_may_be_an_error() -> None:
    with pytest.raises(TimeoutError, match="slow"):
        ids(ScriptedProvider(default=TimeoutError("slow")))


def test_scripted_counts_calls() -> None:
    provider = ScriptedProvider()
    provider.reset()
    write(provider, "b-1")
    provider.update(belief_id="b-1", user_id="ana", text="t", aliases=(), metadata={})
    provider.delete(belief_id="b-1", user_id="ana")
    ids(provider, "a")
    ids(provider, "b", limit=0)
    assert provider.calls == {"reset": 1, "add": 1, "update": 1, "delete": 1, "search": 2}
    assert provider.asked == [Asked("a", "ana", SCOPES, 20), Asked("b", "ana", SCOPES, 0)]


def test_scripted_may_ignore_the_limit() -> None:
    script = {"q": ["b-1", "b-2", "b-3"]}
    assert ids(ScriptedProvider(script), limit=2) == ["b-1", "b-2"]
    assert ids(ScriptedProvider(script, honour_limit=False), limit=0) == ["b-1", "b-2", "b-3"]


def test_scripted_hides_a_write_for_some_searches() -> None:
    provider = ScriptedProvider({"q": ["b-1", "b-2"]}, visible_after_searches=2)
    assert ids(provider) == ["b-1", "b-2"]
    write(provider, "b-1")
    assert [ids(provider) for _ in range(3)] == [["b-2"], ["b-2"], ["b-1", "b-2"]]
    provider.update(belief_id="b-1", user_id="ana", text="t", aliases=(), metadata={})
    assert ids(provider) == ["b-2"]
    assert ids(provider, user_id="ben") == ["b-1", "b-2"]
    assert ids(provider) == ["b-1", "b-2"]
    write(provider, "b-2")
    provider.reset()
    assert ids(provider) == ["b-1", "b-2"]


def test_scripted_hides_a_write_for_some_seconds() -> None:
    now = [100.0]
    provider = ScriptedProvider({"q": ["b-1"]}, visible_after_s=2.0, clock=lambda: now[0])
    write(provider, "b-1")
    now[0] = 101.9
    assert ids(provider) == []
    now[0] = 102.0
    assert ids(provider) == ["b-1"]
    assert provider.options["visible_after_s"] == 2.0


def test_scripted_from_file(tmp_path: Path) -> None:
    file = tmp_path / "script.json"
    file.write_text('{"Wo ist der Krug?": ["b-1", "b-2"], "none": []}', encoding="utf-8")
    provider = create("scripted", {"file": str(file)})
    assert ids(provider, "Wo ist der Krug?") == ["b-1", "b-2"]
    assert ids(provider, "none") == []
    assert ids(provider, "unknown") == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "expected an object"),
        ('{"q": "b-1"}', "query 'q': expected a list of belief ids"),
        ('{"q": [1]}', "query 'q': expected a list of belief ids"),
        ("{", "as JSON"),
        ("\xff", "as JSON"),
    ],
)
def test_scripted_file_errors(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "script.json"
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError, match=rf"script\.json.*{message}"):
        scripted_from_file(file=str(file))


def test_scripted_needs_a_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"'scripted' needs the option file"):
        create("scripted")
    with pytest.raises(InputError, match=r"can't read .*nowhere\.json"):
        create("scripted", {"file": str(tmp_path / "nowhere.json")})
