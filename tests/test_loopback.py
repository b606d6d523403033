"""The OpenAI-compatible service on loopback: vectors, and the stub of a language model."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from pmb_hf.providers.embedding import Embedder
from pmb_hf.providers.loopback import Loopback, fill


class Lengths:
    """Vectors that tell a text's length."""

    name = "lengths"
    identity = "lengths"
    costly = False

    def vectors(self, texts: list[str]) -> list[list[float]]:
        return [[float(len(text)), 1.0] for text in texts]

    def close(self) -> None:
        pass


@pytest.fixture(scope="module")
def service() -> Iterator[Loopback]:
    made = Loopback(Embedder(Lengths()))
    yield made
    made.close()


def ask(service: Loopback, call: str, body: Any) -> httpx.Response:
    return httpx.post(f"{service.url}/{call}", json=body, trust_env=False)


def test_it_listens_on_loopback_alone(service: Loopback) -> None:
    assert httpx.URL(service.url).host == "127.0.0.1"
    assert httpx.get(f"{service.url}/models", trust_env=False).status_code == 200


def test_vectors_are_the_embedders(service: Loopback) -> None:
    embedder = Embedder(Lengths())
    for given_input in ("abc", ["abc"], ["abc", "", "abcdef"]):
        answer = ask(service, "embeddings", {"model": "m", "input": given_input}).json()
        texts = [given_input] if isinstance(given_input, str) else given_input
        assert [row["index"] for row in answer["data"]] == list(range(len(texts)))
        assert [row["embedding"] for row in answer["data"]] == embedder.embed(texts).tolist()


def test_vectors_can_be_packed(service: Loopback) -> None:
    body = {"model": "m", "input": ["abc"], "encoding_format": "base64"}
    packed = ask(service, "embeddings", body).json()["data"][0]["embedding"]
    unpacked = struct.unpack("<2f", base64.b64decode(packed))
    assert list(unpacked) == Embedder(Lengths()).embed(["abc"])[0].tolist()


@pytest.mark.parametrize("body", [{"input": [[1, 2]]}, {"input": [1]}, {}, []])
def test_other_input_is_refused(service: Loopback, body: Any) -> None:
    answer = ask(service, "embeddings", body)
    assert answer.status_code == 400
    assert answer.json()["error"]["message"]


def test_unknown_calls_are_refused(service: Loopback) -> None:
    assert ask(service, "audio", {}).status_code == 404


def test_without_an_embedder_there_are_no_vectors() -> None:
    service = Loopback()
    try:
        assert ask(service, "embeddings", {"input": "a"}).status_code == 404
        assert ask(service, "chat/completions", {"messages": []}).status_code == 200
    finally:
        service.close()
        service.close()
    with pytest.raises(httpx.ConnectError):
        ask(service, "embeddings", {"input": "a"})


def test_stub_fills_the_schema_that_is_asked_for(service: Loopback) -> None:
    schema = {
        "type": "object",
        "properties": {
            "keywords": {"type": "array", "items": {"type": "string"}},
            "context": {"type": "string"},
            "should_evolve": {"type": "boolean"},
        },
    }
    wanted = {"type": "json_schema", "json_schema": {"name": "response", "schema": schema}}
    before = service.chats
    answer = ask(service, "chat/completions", {"model": "m", "response_format": wanted}).json()
    content = json.loads(answer["choices"][0]["message"]["content"])
    assert content == {"keywords": [], "context": "", "should_evolve": False}
    assert service.chats == before + 1


@pytest.mark.parametrize(("kind", "content"), [("json_object", "{}"), ("text", "ok")])
def test_stub_without_a_schema(service: Loopback, kind: str, content: str) -> None:
    answer = ask(service, "chat/completions", {"response_format": {"type": kind}}).json()
    assert answer["choices"][0]["message"]["content"] == content


PLAIN = st.sampled_from(["array", "string", "integer", "number", "boolean", "null"]).map(
    lambda kind: {"type": kind}
)
SCHEMAS = st.recursive(
    PLAIN | st.lists(st.text(), min_size=1, max_size=3).map(lambda values: {"enum": values}),
    lambda inner: (
        st.dictionaries(st.text(max_size=5), inner, max_size=4).map(
            lambda fields: {"type": "object", "properties": fields, "required": list(fields)}
        )
        | st.lists(inner, min_size=1, max_size=3).map(lambda choices: {"anyOf": choices})
    ),
    max_leaves=8,
)


@given(schema=SCHEMAS)
def test_what_is_filled_in_fits_the_schema(schema: dict[str, Any]) -> None:
    Draft202012Validator(schema).validate(fill(schema))


def test_references_are_followed_but_not_for_ever() -> None:
    schema: dict[str, Any] = {
        "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
        "$ref": "#/$defs/node",
    }
    filled = fill(schema)
    assert set(filled) == {"next"}
    json.dumps(filled)
