"""The contract of in-process providers, held against each of them; and the registry."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmb_hf.errors import (
    InputError,
    MissingDependencyError,
    NotReadyError,
    ProviderError,
    UnknownNameError,
)
from pmb_hf.providers import protocol, registry
from pmb_hf.providers.controls import OracleProvider, Question
from pmb_hf.providers.protocol import AddRow, Hit, Option, Provider
from pmb_hf.providers.registry import available, convert_options, create

ROOT = Path(__file__).resolve().parent.parent
ANA, BEN = "ana", "ben"
HOME, WORK = "domain:home", "domain:work"


def row(
    belief_id: str,
    text: str,
    user_id: str = ANA,
    scope: str | tuple[str, ...] = (HOME,),
    **metadata: Any,
) -> AddRow:
    scopes = [scope] if isinstance(scope, str) else list(scope)
    return AddRow(
        belief_id=belief_id,
        user_id=user_id,
        text=text,
        aliases=(),
        metadata={"beliefId": belief_id, "scope": scopes, **metadata},
    )


BELIEFS = (
    row("b-kiln", "The pottery kiln in the shed reaches cone six"),
    row("b-glaze", "Celadon glaze needs a slow cooling"),
    row("b-cello", "Practises the cello before breakfast"),
    row("b-bees", "Keeps two hives of bees behind the orchard"),
    row("b-honey", "Sells the honey at the Saturday market"),
    row("b-bread", "Bakes rye bread with a sourdough starter"),
    row("b-boat", "The wooden dinghy has to be varnished every spring"),
    row("b-tides", "Checks the tide tables before sailing"),
    row("b-fern", "Waters the ferns with rain only"),
    row("b-lamp", "The reading lamp takes a warm bulb"),
    row("b-rust", "The parser is written in Rust", scope=WORK),
    row("b-queue", "Jobs are queued in a Postgres table", scope=WORK),
    row("b-cron", "Nightly backups start at three", scope=WORK),
    row("b-review", "Reviews are answered within one day", scope=WORK),
    row("b-tabs", "Indents code with tabs", scope=(WORK, HOME)),
    row("b-old", "Deploys on Fridays", scope=WORK, supersededBy="b-new"),
    row("b-new", "Never deploys on Fridays", scope=WORK),
    row("b-done", "Which printer to buy?", resolvedAt="2026-01-05T00:00:00Z"),
    row("b-gone", "Uses the blue bicycle", epistemicStatus="superseded"),
    row("b-kiln", "Rents a kiln at the arts centre", user_id=BEN),
)
QUERIES = (
    "kiln",
    "?",
    ":",
    '"',
    "'",
    'text:"rust" AND NOT (kiln',
    "AND",
    "OR NOT NEAR(",
    "* ^ ~ + - || && \\",
    "🎉",
    "\0",
    "\ud800",
    "naïve café",
    "",
    "  \n\t ",
    "kiln " * 2000,
    "the a of in",
)


def searchable(name: str) -> Callable[[], Provider]:
    return lambda: create(name)


def oracle() -> Provider:
    scopes = ((HOME,), (WORK,), (HOME, WORK), ())
    ids = [belief["belief_id"] for belief in BELIEFS[:5]]
    answers: dict[Question, list[str]] = {
        (user, s, q): ids for user in (ANA, BEN) for s in scopes for q in QUERIES
    }
    return OracleProvider(answers)


# Those that find what was written, and all of them.
TEXT_STORES = ("bm25", "fts5", "vector", "hybrid", "everything")
STORES = {name: searchable(name) for name in TEXT_STORES}
NAME_STORES = {"structured": searchable("structured")}  # finds by names: test_structured.py
ALL = {**STORES, **NAME_STORES, "empty": searchable("empty"), "oracle": oracle}


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest) -> Iterator[Any]:
    provider = STORES[request.param]()
    protocol.add_all(provider, BELIEFS)
    yield provider
    protocol.close(provider)


@pytest.fixture(params=[*ALL, "scripted"])
def provider(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    if request.param == "scripted":
        file = tmp_path / "script.json"
        file.write_text(json.dumps({"kiln": ["b-kiln", "b-glaze", "b-cello"]}), encoding="utf-8")
        made = create("scripted", {"file": str(file)})
    else:
        made = ALL[request.param]()
    for belief in BELIEFS:
        made.add(**belief)
    yield made
    protocol.close(made)


def find(
    provider: Provider,
    query: str,
    user_id: str = ANA,
    scopes: tuple[str, ...] = (HOME, WORK),
    limit: int = 20,
) -> list[str | None]:
    hits = provider.search(query=query, user_id=user_id, scopes=scopes, limit=limit)
    return [hit.id for hit in hits]


# --- every provider ---------------------------------------------------------------------------


def test_provider_fits_the_protocol(provider: Any) -> None:
    assert isinstance(provider, Provider)
    assert protocol.supports_update(provider)
    assert protocol.supports_delete(provider)
    assert protocol.supports_scopes(provider)
    assert protocol.provider_version(provider)
    json.dumps(protocol.provider_options(provider), allow_nan=False)


@pytest.mark.parametrize("limit", [-1, 0, 1, 2, 3, 100, 10**9, 2**70])
def test_limit_is_honoured(provider: Any, limit: int) -> None:
    hits = provider.search(query="kiln", user_id=ANA, scopes=(HOME,), limit=limit)
    assert len(hits) <= max(limit, 0)
    assert all(isinstance(hit, Hit) for hit in hits)


@pytest.mark.parametrize("query", QUERIES)
def test_no_query_breaks_a_search(provider: Any, query: str) -> None:
    found = find(provider, query)
    assert len(found) == len(set(found))


def test_scores_fall(provider: Any) -> None:
    query = "kiln pottery honey bread"
    if isinstance(provider, OracleProvider):
        query = "kiln"
    hits = provider.search(query=query, user_id=ANA, scopes=(HOME,), limit=20)
    scores = [hit.score for hit in hits if hit.score is not None]
    assert all(type(score) is float for score in scores)
    assert scores == sorted(scores, reverse=True)
    assert len(scores) in {0, len(hits)}


# --- those that store -------------------------------------------------------------------------


def test_search_gives_back_what_was_written(store: Any) -> None:
    hit = next(
        hit
        for hit in store.search(query="sourdough", user_id=ANA, scopes=(HOME,), limit=20)
        if hit.id == "b-bread"
    )
    assert hit.text == "Bakes rye bread with a sourdough starter"
    assert hit.metadata == {"beliefId": "b-bread", "scope": [HOME]}


def test_caller_can_change_neither_side(store: Any) -> None:
    metadata = {"beliefId": "b-x", "scope": [HOME]}
    store.add(belief_id="b-x", user_id="cy", text="zither", aliases=["z"], metadata=metadata)
    metadata["type"] = "changed"
    first = store.search(query="zither", user_id="cy", scopes=(HOME,), limit=1)[0]
    first.metadata["type"] = "changed"
    again = store.search(query="zither", user_id="cy", scopes=(HOME,), limit=1)[0]
    assert again.metadata == {"beliefId": "b-x", "scope": [HOME]}


def test_users_see_only_their_own(store: Any) -> None:
    assert find(store, "kiln", BEN) == ["b-kiln"]
    text = store.search(query="kiln", user_id=BEN, scopes=(HOME,), limit=5)[0].text
    assert text == "Rents a kiln at the arts centre"
    assert find(store, "kiln", "nobody") == []
    store.delete(belief_id="b-kiln", user_id=BEN)
    assert find(store, "kiln", BEN) == []
    assert "b-kiln" in find(store, "kiln", ANA)


def test_update_is_visible_at_once(store: Any) -> None:
    store.update(**row("b-fern", "Waters the orchids with melted snow"))
    hit = next(
        hit
        for hit in store.search(query="orchid snow", user_id=ANA, scopes=(HOME,), limit=20)
        if hit.id == "b-fern"
    )
    assert hit.text == "Waters the orchids with melted snow"
    assert find(store, "orchid snow").count("b-fern") == 1


def test_adding_again_replaces(store: Any) -> None:
    store.add(**row("b-fern", "Waters the orchids with melted snow"))
    assert find(store, "orchid").count("b-fern") == 1


def test_update_of_an_unknown_memory_is_an_error(store: Any) -> None:
    with pytest.raises(ProviderError, match=r"no memory 'b-glaze' of user 'ben' to update: add"):
        store.update(**row("b-glaze", "x", user_id=BEN))


def test_delete(store: Any) -> None:
    store.delete(belief_id="b-honey", user_id=ANA)
    store.delete(belief_id="b-honey", user_id=ANA)
    store.delete(belief_id="b-never", user_id="nobody")
    assert "b-honey" not in find(store, "honey market")
    store.add(**row("b-honey", "Gives the honey away"))
    assert "b-honey" in find(store, "honey")


def test_deleted_before_it_was_ever_searched(store: Any) -> None:
    store.add(**row("b-brief", "xylophone"))
    store.delete(belief_id="b-brief", user_id=ANA)
    assert "b-brief" not in find(store, "xylophone")


def test_reset_leaves_nothing_and_can_start_again(store: Any) -> None:
    store.add(**row("b-pending", "kiln kiln"))
    store.reset()
    assert find(store, "kiln") == []
    assert find(store, "kiln", BEN) == []
    store.reset()
    protocol.add_all(store, BELIEFS)
    assert "b-kiln" in find(store, "kiln")


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("Überquert die Straße nur bei Grün", "STRASSE grün"),
        ("cafe\u0301 au lait", "caf\u00e9"),
        ("住在 東京 已经三年", "東京"),
        ("любит чёрный чай", "ЧАЙ"),
        ("🎉 party", "party 🎉"),
        ("lone \ud800 surrogate", "surrogate"),
        ("null\0byte", "byte"),
    ],
)
def test_unicode(store: Any, text: str, query: str) -> None:
    store.add(**row("b-u", text, user_id="ünï \ud800", scope="domain:ж\ud800"))
    hits = store.search(query=query, user_id="ünï \ud800", scopes=("domain:ж\ud800",), limit=5)
    assert [(hit.id, hit.text) for hit in hits] == [("b-u", text)]


def test_long_text(store: Any) -> None:
    text = "filler words " * 800 + "needle"
    assert len(text) > 10_000
    store.add(**row("b-long", text))
    assert "b-long" in find(store, "needle")
    assert "b-long" in find(store, text)


@given(query=st.text(max_size=200), limit=st.integers(-2, 30))
@pytest.mark.parametrize("name", STORES)
def test_any_query(name: str, query: str, limit: int) -> None:
    provider = _shared(name)
    found = find(provider, query, limit=limit)
    assert len(found) <= max(limit, 0)
    assert set(found) <= {belief["belief_id"] for belief in BELIEFS}
    assert find(provider, query, limit=limit) == found


@given(text=st.text(max_size=300))
@pytest.mark.parametrize("name", STORES)
def test_any_text(name: str, text: str) -> None:
    provider = _shared(name)
    provider.add(**row("b-any", text, user_id="any"))
    find(provider, text, "any")
    provider.delete(belief_id="b-any", user_id="any")
    assert find(provider, text, "any") == []


_SHARED: dict[str, Any] = {}


def _shared(name: str) -> Any:
    # Hypothesis calls a test many times; one store does for all of them.
    if name not in _SHARED:
        _SHARED[name] = STORES[name]()
        protocol.add_all(_SHARED[name], BELIEFS)
    return _SHARED[name]


# --- the engines --------------------------------------------------------------------------

ENGINES = ("bm25", "fts5")
INDEXES = (*ENGINES, "vector", "hybrid")
KEPT = (*ENGINES, "vector")


@pytest.fixture(params=INDEXES)
def index(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(params=KEPT)
def kept(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def seeded(name: str, **options: object) -> Any:
    provider = create(name, options)
    protocol.add_all(provider, BELIEFS)
    return provider


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("Which glazes need cooling?", "b-glaze"),
        ("sail tide", "b-tides"),
        ("rye", "b-bread"),
        ("varnishing the dinghy", "b-boat"),
        ("POSTGRES QUEUES", "b-queue"),
    ],
)
def test_engine_ranks_by_stems(engine: str, query: str, best: str) -> None:
    assert find(seeded(engine), query)[0] == best


def test_engine_finds_nothing_without_a_shared_word(engine: str) -> None:
    provider = seeded(engine)
    assert find(provider, "helicopter") == []
    assert find(provider, "") == []
    assert find(provider, "?! 🎉") == []


def test_operators_are_words(engine: str) -> None:
    provider = seeded(engine)
    provider.add(**row("b-ops", "neither and nor or not"))
    assert "b-ops" in find(provider, "AND")
    assert "b-ops" in find(provider, "NOT")
    assert "b-bread" in find(provider, "text:rye")


def test_scope_filter(engine: str) -> None:
    provider = seeded(engine)
    assert set(find(provider, "code kiln", scopes=(HOME,))) == {"b-kiln", "b-tabs"}
    assert find(provider, "code kiln", scopes=(WORK,)) == ["b-tabs"]
    assert find(provider, "kiln", scopes=()) == []
    assert find(provider, "kiln", scopes=("domain",)) == []
    unfiltered = seeded(engine, scope_filter=False)
    assert set(find(unfiltered, "code kiln", scopes=())) == {"b-kiln", "b-tabs"}


def test_active_filter(engine: str) -> None:
    query = "deploys printer bicycle"
    assert set(find(seeded(engine), query)) == {"b-old", "b-new", "b-done", "b-gone"}
    active = seeded(engine, active_filter=True)
    assert find(active, query) == ["b-new"]
    active.update(**row("b-new", "Never deploys on Fridays", scope=WORK, supersededBy="b-x"))
    assert find(active, query) == []


def test_top_k_caps_below_the_limit(index: str) -> None:
    provider = seeded(index, top_k=2)
    assert len(find(provider, "the")) == 2
    assert len(find(provider, "the", limit=1)) == 1
    assert provider.options["top_k"] == 2


def test_min_score_is_a_floor(index: str) -> None:
    hits = seeded(index).search(query="kiln the", user_id=ANA, scopes=(HOME,), limit=20)
    assert len(hits) > 2
    floor = hits[1].score
    above = seeded(index, min_score=floor)
    kept = above.search(query="kiln the", user_id=ANA, scopes=(HOME,), limit=20)
    assert kept == [hit for hit in hits if hit.score >= floor]
    assert len(kept) < len(hits)


def test_equal_scores_keep_the_order_of_insertion(index: str) -> None:
    provider = create(index)
    names = [f"b-{(i * 37) % 100:02d}" for i in range(100)]
    for name in names:
        provider.add(**row(name, "same words here"))
        find(provider, "same", limit=1)  # one batch each, so many segments
    assert find(provider, "same words", limit=7) == names[:7]
    provider.add(**row(names[3], "same words here"))
    assert find(provider, "here same", limit=7) == names[:7]
    assert find(provider, "same", limit=100) == names


def test_writes_are_batched_and_wait_ready_brings_them_in(index: str) -> None:
    provider: Any = create(index)
    provider.add(**BELIEFS[0])
    assert protocol.supports_wait(provider)
    provider.wait_ready(belief_id="b-kiln", user_id=ANA, timeout_s=1.0)
    assert find(provider, "kiln") == ["b-kiln"]
    with pytest.raises(NotReadyError, match=r"'b-kiln' of user 'ben' was never added"):
        provider.wait_ready(belief_id="b-kiln", user_id=BEN, timeout_s=1.0)


WRITES = st.lists(
    st.tuples(
        st.sampled_from(["add", "update", "delete", "search", "reset"]),
        st.sampled_from(["a", "b", "c"]),
        st.sampled_from([ANA, BEN]),
        st.sampled_from(["red fox", "red hen", "blue hen hen", "grey goose"]),
        st.sampled_from([HOME, WORK]),
    ),
    max_size=14,
)


@given(writes=WRITES)
@pytest.mark.parametrize("name", INDEXES)
def test_answers_depend_on_what_is_stored_not_on_its_history(
    name: str, writes: list[tuple[str, str, str, str, str]]
) -> None:
    lived = create(name)
    held: dict[tuple[str, str], AddRow] = {}
    for verb, belief_id, user_id, text, scope in writes:
        if verb == "search":
            find(lived, text, user_id)
        elif verb == "reset":
            lived.reset()
            held.clear()
        elif verb == "delete":
            assert protocol.supports_delete(lived)
            lived.delete(belief_id=belief_id, user_id=user_id)
            held.pop((user_id, belief_id), None)
        elif verb == "add" or (user_id, belief_id) in held:
            written = row(belief_id, text, user_id, scope)
            (lived.add if verb == "add" else lived.update)(**written)  # type: ignore[attr-defined]
            held[user_id, belief_id] = written
    fresh = create(name)
    protocol.add_all(fresh, held.values())
    for user_id in (ANA, BEN):
        for query in ("red hen", "goose"):
            asked: dict[str, Any] = {"user_id": user_id, "scopes": (HOME,), "limit": 2}
            assert lived.search(query=query, **asked) == fresh.search(query=query, **asked)
    protocol.close(lived)
    protocol.close(fresh)


def test_path_keeps_the_memories(kept: str, tmp_path: Path) -> None:
    path = str(tmp_path / "index")
    first = seeded(kept, path=path)
    first.update(**row("b-kiln", "Sold the kiln", type="decision"))
    first.delete(belief_id="b-bees", user_id=ANA)
    asked: dict[str, Any] = {"query": "kiln bees", "user_id": ANA, "scopes": (HOME,), "limit": 9}
    expected = first.search(**asked)
    first.close()
    second: Any = create(kept, {"path": path})
    assert second.search(**asked) == expected
    assert second.options["path"] == path
    second.add(**row("b-late", "kiln kiln"))
    second.close()
    third = create(kept, {"path": path})
    assert "b-late" in find(third, "kiln")
    third.reset()
    protocol.close(third)
    assert find(create(kept, {"path": path}), "kiln") == []


def test_path_needs_json_metadata(kept: str, tmp_path: Path) -> None:
    provider = create(kept, {"path": str(tmp_path / "index")})
    with pytest.raises(InputError, match=r"metadata of memory 'b-x' can't be kept on disk"):
        provider.add(**row("b-x", "kiln", bad=object()))
    with pytest.raises(InputError, match=r"metadata of memory 'b-x'"):
        provider.add(**row("b-x", "kiln", bad=float("nan")))
    assert find(provider, "kiln") == []
    provider.add(**row("b-y", "kiln"))
    assert find(provider, "kiln") == ["b-y"]


def test_closed_store_says_so(index: str) -> None:
    provider = seeded(index)
    provider.close()
    provider.close()
    for call in (
        lambda: find(provider, "kiln"),
        lambda: provider.add(**BELIEFS[0]),
        lambda: provider.add_many(BELIEFS),
        lambda: provider.update(**BELIEFS[0]),
        lambda: provider.delete(belief_id="b-kiln", user_id=ANA),
        lambda: provider.wait_ready(belief_id="b-kiln", user_id=ANA, timeout_s=1.0),
        provider.reset,
    ):
        with pytest.raises(ProviderError, match=r"closed: create a new one"):
            call()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"top_k": "0"}, "option top_k is 0: give 1 or more"),
        ({"top_k": "-3"}, "option top_k is -3"),
        ({"top_k": "2.5"}, "option top_k='2.5': expected a whole number or none"),
        ({"top_k": True}, "expected a whole number"),
        ({"min_score": "nan"}, "option min_score='nan': expected a finite number or none"),
        ({"min_score": "high"}, "expected a finite number"),
        ({"scope_filter": "maybe"}, "option scope_filter='maybe': expected true or false"),
        ({"scope_filter": "none"}, "expected true or false"),
        ({"scope_filter": 1}, "expected true or false"),
        ({"path": 3}, "option path=3: expected text or none"),
        ({"topk": 5}, r"has no option 'topk'\. Did you mean 'top_k'\? Its options: path, top_k"),
    ],
)
def test_bad_engine_options(engine: str, options: Mapping[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        create(engine, options)


# --- registry ---------------------------------------------------------------------------------


def test_options_come_as_strings_or_values() -> None:
    effective = {
        "path": None,
        "top_k": 5,
        "min_score": 0.5,
        "scope_filter": False,
        "active_filter": True,
    }
    strings = {"top_k": "5", "min_score": "0.5", "scope_filter": "False", "active_filter": "on"}
    for name in ENGINES:
        assert create(name, strings).options == effective  # type: ignore[attr-defined]
        assert create(name, effective).options == effective  # type: ignore[attr-defined]
        off = create(name, {"top_k": "none", "min_score": "", "path": "null"})
        assert protocol.provider_options(off) == {
            **dict.fromkeys(("path", "top_k", "min_score")),
            "scope_filter": True,
            "active_filter": False,
        }


def test_convert_options() -> None:
    declared = (Option("n", int, 1, ""), Option("x", float, None, ""), Option("s", str, "a", ""))
    assert convert_options("p", declared, {"n": "7", "x": 2, "s": "none"}) == {
        "n": 7,
        "x": 2.0,
        "s": "none",
    }
    with pytest.raises(InputError, match=r"option n=None: expected a whole number\."):
        convert_options("p", declared, {"n": None})
    with pytest.raises(InputError, match=r"option x=1000\d+: expected a finite number"):
        convert_options("p", declared, {"x": 10**400})


def test_unknown_provider() -> None:
    with pytest.raises(
        UnknownNameError,
        match=r"no provider 'bm52'\. Did you mean 'bm25'\? Known: .*bm25.*, everything, fts5",
    ):
        create("bm52")
    with pytest.raises(UnknownNameError, match=r"no provider 'zzz'\. Known: "):
        create("zzz")


def test_controls_take_no_options() -> None:
    with pytest.raises(InputError, match=r"'empty' has no option 'top_k'\. It has no options"):
        create("empty", {"top_k": 1})


def test_available_lists_all_and_declares_what_the_factories_take() -> None:
    infos = {info.name: info for info in available()}
    assert {"bm25", "fts5", "empty", "everything", "oracle", "scripted"} <= set(infos)
    for name in (*INDEXES, "structured"):
        defaults = {option.name: option.default for option in infos[name].options}
        assert protocol.provider_options(create(name)) == defaults
    for spec in registry.BUILT_IN:
        assert infos[spec.name].state == spec.state
        assert spec.summary
        assert all(option.help for option in spec.options)


def test_state_and_error_of_a_provider_whose_package_is_missing() -> None:
    spec = registry.BuiltIn(
        "far", "Far away.", ".no_such_module:make", needs="no_such_package", extra="far"
    )
    assert spec.state == "installable"
    with pytest.raises(MissingDependencyError, match=r"'far' .* pip install 'pmb-hf\[far\]'"):
        spec.factory()
    assert registry.BuiltIn("near", "", "x:y", needs="json", extra="near").state == "installed"


def test_registry_loads_no_engine() -> None:
    code = (
        "import sys; from pmb_hf.providers import registry; registry.available();"
        "print(*{'tantivy', 'sqlite3', 'httpx'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout.strip() == ""


FOREIGN = """
from pmb_hf.providers.controls import EverythingProvider
from pmb_hf.providers.protocol import Option

class Plain(EverythingProvider):
    def __init__(self, *, size="1"):
        super().__init__()
        self.size = size

class Declared(Plain):
    provider_options = (Option("size", int, 1, "How large."),)

def broken():
    return object()

def failing():
    raise KeyError("no account")
"""


@pytest.fixture
def foreign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory that looks like an installed package with entry points."""
    (tmp_path / "foreign_memory.py").write_text(FOREIGN, encoding="utf-8")
    info = tmp_path / "foreign_memory-1.5.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: foreign-memory\nVersion: 1.5\n")
    points = {
        "plain": "foreign_memory:Plain",
        "declared": "foreign_memory:Declared",
        "broken": "foreign_memory:broken",
        "failing": "foreign_memory:failing",
        "absent": "foreign_memory_not_there:make",
        "typo": "foreign_memory:Plian",
        "bm25": "foreign_memory:Plain",
    }
    lines = [f"[{registry.GROUP}]", *(f"{name} = {value}" for name, value in points.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "foreign_memory", raising=False)
    return tmp_path


def test_entry_points(foreign: Path) -> None:
    infos = [info for info in available() if "foreign-memory 1.5" in info.summary]
    assert [(info.name, info.state) for info in infos] == [
        ("absent", "installed"),
        ("bm25", "hidden"),
        ("broken", "installed"),
        ("declared", "installed"),
        ("failing", "installed"),
        ("plain", "installed"),
        ("typo", "installed"),
    ]
    assert "foreign_memory" not in sys.modules
    assert create("plain", {"size": "3"}).size == "3"  # type: ignore[attr-defined]
    assert create("declared", {"size": "3"}).size == 3  # type: ignore[attr-defined]
    assert type(create("bm25")).__module__ == "pmb_hf.providers.bm25"


def test_entry_point_errors(foreign: Path) -> None:
    with pytest.raises(InputError, match=r"provider 'plain': .*'colour'.* Its options: size\."):
        create("plain", {"colour": "red"})
    with pytest.raises(InputError, match=r"option size='big': expected a whole number"):
        create("declared", {"size": "big"})
    with pytest.raises(ProviderError, match=r"'broken': the factory returned object, which lacks"):
        create("broken")
    with pytest.raises(MissingDependencyError, match=r"'absent' \(foreign_memory_not_there:make"):
        create("absent")
    with pytest.raises(ProviderError, match=r"'failing' .* KeyError: 'no account'"):
        create("failing")
    with pytest.raises(ProviderError, match=r"'typo' \(foreign_memory:Plian .*Plian"):
        create("typo")


def test_two_packages_with_one_name(foreign: Path) -> None:
    other = foreign / "other_memory-2.0.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: other-memory\nVersion: 2.0\n")
    (other / "entry_points.txt").write_text(f"[{registry.GROUP}]\nplain = other_memory:make\n")
    with pytest.raises(InputError, match=r"'plain' is offered twice: .*foreign.*other-memory 2\.0"):
        create("plain")


# --- protocol helpers -------------------------------------------------------------------------


class Bare:
    """The least that a provider has to be."""

    def __init__(self) -> None:
        self.rows: list[str] = []

    def reset(self) -> None:
        self.rows.clear()

    def add(self, *, belief_id: str, **others: Any) -> None:
        self.rows.append(belief_id)

    def search(self, **asked: Any) -> list[Hit]:
        return []


def test_bare_provider() -> None:
    bare = Bare()
    assert isinstance(bare, Provider)
    assert not protocol.supports_update(bare)
    assert not protocol.supports_delete(bare)
    assert not protocol.supports_wait(bare)
    assert not protocol.supports_bulk(bare)
    assert protocol.provider_version(bare) is None
    assert protocol.provider_options(bare) == {}
    protocol.add_all(bare, BELIEFS[:2])
    assert bare.rows == ["b-kiln", "b-glaze"]
    protocol.close(bare)


def test_a_flag_wins_over_the_method() -> None:
    class Limited(Bare):
        supports_update = False
        supports_scopes = False

        def update(self, **row: Any) -> None:
            raise NotImplementedError

        def delete(self, **key: Any) -> None:
            return None

    assert not protocol.supports_update(Limited())
    assert not protocol.supports_scopes(Limited())
    assert protocol.supports_delete(Limited())
