"""What a harness of upstream's kind sees when it runs against a served provider.

Written from the contract: one plain HTTP call after another, without our client
and runner. Under ``upstream-2026-06`` both must come to the same tiers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from pmb_hf.context import Context, assemble, room
from pmb_hf.corpus import load_corpus
from pmb_hf.measured import Record
from pmb_hf.memories import memory_row
from pmb_hf.providers.registry import create
from pmb_hf.report import Report
from pmb_hf.runner import run
from pmb_hf.schema import Belief, Corpus
from pmb_hf.serve import make_app, running
from pmb_hf.states import changed_belief, seed

RULES = "upstream-2026-06"
TEXT = "canonical_name_aliases"
LIMIT = 20


@pytest.fixture(scope="module")
def official(upstream_dir: Path) -> Corpus:
    return load_corpus("official", fixtures=upstream_dir / "fixtures")


@pytest.fixture(scope="module", params=["bm25", "fts5"])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    with running(make_app(create(request.param), name=request.param)) as url:
        yield url


@pytest.fixture(scope="module")
def ours(url: str, official: Corpus) -> Report:
    return run(url, official, rules=RULES, text_mode=TEXT)


class Harness:
    """Seeds, asks and changes as the contract says that upstream does."""

    def __init__(self, client: httpx.Client, corpus: Corpus, *, scopes_as_list: bool) -> None:
        self.client = client
        self.as_list = scopes_as_list
        self.store = seed(corpus)
        self.sent(client.request("DELETE", "/reset"))
        for belief in self.store.values():
            self.sent(client.post("/add", json=self.body(belief)))

    @staticmethod
    def sent(response: httpx.Response) -> Any:
        assert response.status_code == 200, response.text
        return response.json()

    def body(self, belief: Belief) -> dict[str, Any]:
        several = self.as_list or len(belief.scope) > 1
        return {
            "text": memory_row(belief, user_id=belief.user_id, text_mode=TEXT)["text"],
            "user_id": belief.user_id,
            "metadata": {
                "beliefId": belief.id,
                "scope": list(belief.scope) if several else belief.scope[0],
                "type": belief.type,
                "pinned": belief.pinned,
                "superseded_by": belief.superseded_by,
            },
            "aliases": list(belief.aliases),
        }

    def context(
        self, query: str, user_id: str, scopes: Sequence[str], max_beliefs: int | None = None
    ) -> Context:
        returned: list[str] = []
        if query.strip() and room(self.store, user_id, scopes, max_beliefs) > 0:
            scope: str | list[str] = [scopes[0]] if self.as_list else scopes[0]
            body = {"query": query, "user_id": user_id, "limit": LIMIT, "scope": scope}
            answer = self.sent(self.client.post("/search", json=body))
            returned = [result["id"] for result in answer["results"]]
        return assemble(
            self.store,
            user_id=user_id,
            scopes=scopes,
            max_beliefs=max_beliefs,
            returned=returned,
            expand_questions=True,
        )


@pytest.fixture(params=[False, True], ids=["scope-string", "scope-list"])
def harness(
    request: pytest.FixtureRequest, url: str, ours: Report, official: Corpus
) -> Iterator[Harness]:
    # `ours` is asked for so that our run is over before this one resets the store.
    with httpx.Client(base_url=url) as client:
        yield Harness(client, official, scopes_as_list=request.param)


def tiers(record: Record) -> Context:
    assert record.status == "ok", record.error
    return Context(
        record.relevant, record.pinned or (), record.questions or (), record.prelude or ""
    )


def test_every_case_comes_to_the_same(harness: Harness, ours: Report, official: Corpus) -> None:
    records = {record.case_id: record for record in ours.cases}
    assert len(records) == len(official.cases) == 77
    for case in official.cases:
        seen = harness.context(case.query, case.user_id, case.scope, case.max_beliefs)
        assert seen == tiers(records[case.case_id]), case.case_id
    assert sum(bool(record.relevant) for record in ours.cases) > 40


def test_every_turn_comes_to_the_same(harness: Harness, ours: Report, official: Corpus) -> None:
    records = {record.key: record for record in ours.turns}
    assert len(records) == 12
    changes = 0
    for session in official.sessions:
        for turn in session.turns:
            seen = harness.context(turn.query, session.user_id, turn.scope)
            key = session.case_id, turn.turn_index
            assert seen == tiers(records[key]), key
            for change in turn.changes:
                belief = changed_belief(harness.store, change)
                method, path = ("PUT", "/update")
                if change.create is not None:
                    method, path = ("POST", "/add")
                harness.sent(harness.client.request(method, path, json=harness.body(belief)))
                harness.store[belief.id] = belief
                changes += 1
    assert changes == len(ours.changes) > 0
