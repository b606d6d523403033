"""Random requests made from the served OpenAPI: nothing crashes, and every answer is as it says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    positive_data_acceptance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from pmb_hf.providers.fts5 import Fts5Provider
from pmb_hf.serve import make_app, running

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    negative_data_rejection,
    unsupported_method,
]

CALLS = [
    ("GET", "/health"),
    ("POST", "/add"),
    ("POST", "/search"),
    ("POST", "/wait"),
    ("PUT", "/update"),
    ("DELETE", "/delete"),
    ("DELETE", "/reset"),
]
NOTHING_TO_GET_WRONG = {"/health", "/reset"}

app = make_app(Fts5Provider())
schema = schemathesis.openapi.from_dict(app.openapi())


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with running(app) as url:
        yield url


@pytest.fixture
def told(url: str) -> Callable[[str, str, dict[str, Any]], httpx.Response]:
    """Makes a call and checks its answer against the schema."""

    def call(method: str, path: str, body: dict[str, Any]) -> httpx.Response:
        answer = httpx.request(method, url + path, json=body)
        schema[path][method].validate_response(answer)
        return answer

    return call


# Not `schema.parametrize()`: its tests share one node id, of which pytest-xdist runs only one.
@pytest.mark.parametrize(
    ("mode", "method", "path"),
    [
        (mode, method, path)
        for mode in GenerationMode
        for method, path in CALLS
        if mode is GenerationMode.POSITIVE or path not in NOTHING_TO_GET_WRONG
    ],
)
def test_every_answer_is_as_the_schema_says(
    mode: GenerationMode, method: str, path: str, url: str
) -> None:
    seen = set()

    @settings(max_examples=60, suppress_health_check=list(HealthCheck))
    @given(case=schema[path][method].as_strategy(generation_mode=mode))
    def check(case: schemathesis.Case) -> None:
        seen.add(answered(case, url))

    httpx.delete(url + "/reset").raise_for_status()
    check()
    # Random updates name unknown memories, and random deletions name none.
    usual = {"/update": 404, "/delete": 422}.get(path, 200)
    assert (usual if mode is GenerationMode.POSITIVE else 422) in seen


def answered(case: schemathesis.Case, url: str) -> int:
    """The status code of the answer, which is as it should be."""
    # To name no memory, or an unknown one, is against no schema, and still refused.
    may_refuse = case.path in {"/delete", "/update"}
    checks = CHECKS if may_refuse else [*CHECKS, positive_data_acceptance]
    return case.call_and_validate(base_url=url, checks=checks).status_code


def test_answers_with_something_in_them_are_as_the_schema_says(
    told: Callable[[str, str, dict[str, Any]], httpx.Response],
) -> None:
    metadata = {"beliefId": "b1", "scope": "domain:boat", "own": [{"a": None}]}
    memory = {"text": "The mast is spruce.", "user_id": "ana", "metadata": metadata}
    assert told("POST", "/add", memory).status_code == 200
    assert told("PUT", "/update", memory).status_code == 200
    found = told("POST", "/search", {"query": "mast", "user_id": "ana"})
    assert [row["id"] for row in found.json()["results"]] == ["b1"]
    assert told("PUT", "/update", {**memory, "user_id": "ben"}).status_code == 404
    assert told("POST", "/add", {**memory, "text": None}).status_code == 422


def test_every_call_of_the_contract_is_in_the_schema() -> None:
    paths = app.openapi()["paths"]
    calls = {(method.upper(), path) for path, methods in paths.items() for method in methods}
    assert calls == set(CALLS)
