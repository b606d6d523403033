"""Providers that fail in odd ways: a named status or one clear error, and nothing is lost."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import corpora
import pytest
from cli_kit import environment

from pmb_hf.asking import Asker, Query
from pmb_hf.errors import ProviderError
from pmb_hf.faults import MAX_STATUS, describe, exact, status_of
from pmb_hf.providers.controls import ScriptedProvider
from pmb_hf.providers.protocol import Hit
from pmb_hf.report_reader import read_report
from pmb_hf.rules import SPEC
from pmb_hf.runner import run
from pmb_hf.schema import Belief
from pmb_hf.seeding import Seeder


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


class Wordless(ProviderError):
    def __str__(self) -> str:
        return 5  # type: ignore[return-value]  # noqa: PLE0307 - that is what is tested


class Exiting(Exception):
    def __str__(self) -> str:  # noqa: PLE0307 - that is what is tested
        sys.exit(0)


class Loud(str):
    def splitlines(self, keepends: bool = False) -> list[str]:
        raise RuntimeError("never")


class Named(ProviderError):
    def __init__(self, status: Any) -> None:
        super().__init__("boom")
        self.status = status


class Property(ProviderError):
    @property
    def status(self) -> str:
        raise OSError("no status")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (Mute(), "Mute: (what it says can't be read: RuntimeError)"),
        (Wordless(), "(what it says can't be read: TypeError)"),
        (Exiting(), "Exiting: (what it says can't be read: SystemExit)"),
        (RuntimeError(Loud("one\ntwo")), "RuntimeError: one"),
        (SystemExit(0), "SystemExit: 0"),
        (RuntimeError("x" * 20_000_000), ("RuntimeError: " + "x" * 300)[:300]),
        (RuntimeError("half \ud800"), "RuntimeError: half \\ud800"),
    ],
)
def test_whatever_it_says_is_one_short_line(error: BaseException, said: str) -> None:
    assert describe(error) == said
    assert status_of(error) == "error"


@pytest.mark.parametrize(
    "status",
    [
        "",
        "ok",
        "x" * (MAX_STATUS + 1),
        "x" * 10_000_000,
        "half \ud800",
        "two\nlines",
        5,
        None,
        b"x",
    ],
)
def test_a_status_is_a_short_printable_word(status: Any) -> None:
    assert status_of(Named(status)) == "error"
    assert status_of(Property("boom")) == "error"
    assert status_of(Named("rate limited")) == "rate limited"


def test_only_the_characters_of_a_status_count() -> None:
    class Twisted(str):
        def __eq__(self, other: object) -> bool:
            return False

        __hash__ = str.__hash__

    assert type(exact(Twisted("ok"))) is str
    assert status_of(Named(Twisted("ok"))) == "error"


QUERY = Query("c", "k", "u", ("domain:a",), "q")
STORE = {
    "a": Belief(
        id="a", user_id="u", type="entity", scope=("domain:a",), canonical_name="a", content="a"
    )
}


def ends(kind: Callable[[], BaseException]) -> Callable[..., Any]:
    def call(*_: Any, **__: Any) -> Any:
        raise kind()

    return call


class Odd(ScriptedProvider):
    """A provider some of whose methods raise ``error``."""

    def __init__(self, error: Callable[[], BaseException], *methods: str) -> None:
        super().__init__(default=["a"])
        for name in methods:
            setattr(self, name, ends(error))


@pytest.mark.parametrize("error", [SystemExit, Mute, BaseException])
def test_a_search_that_ends_the_process_fails_its_case(error: Callable[[], BaseException]) -> None:
    record = Asker(Odd(error, "search"), SPEC).ask(QUERY, STORE)
    assert (record.status, record.results) == ("error", None)
    again = Asker(ScriptedProvider({"q": ["a"]}), SPEC, repeat=2).ask(QUERY, STORE)
    assert again.stable is True


@pytest.mark.parametrize("method", ["reset", "add", "wait_ready", "check_empty"])
def test_a_write_that_ends_the_process_ends_the_run_in_words(method: str, tmp_path: Path) -> None:
    corpus = corpora.load(tmp_path / "corpus")
    with pytest.raises(ProviderError, match=rf"{method}( of belief \S+)? failed: SystemExit: 0"):
        run(Odd(lambda: SystemExit(0), method), corpus, out=tmp_path / "r.json")
    assert [p.name for p in tmp_path.iterdir()] == ["corpus"]


def test_a_change_that_ends_the_process_is_recorded(tmp_path: Path) -> None:
    corpus = corpora.load(tmp_path / "corpus")
    report = run(Odd(lambda: SystemExit(3), "update"), corpus, parts=["sessions"])
    said = {(c.status, c.error) for c in report.changes if c.action == "update"}
    assert said == {("error", "SystemExit: 3")}


@pytest.mark.parametrize("method", ["reset", "add", "search", "wait_ready", "update"])
def test_an_interrupt_stays_one(method: str, tmp_path: Path) -> None:
    corpus = corpora.load(tmp_path / "corpus")
    with pytest.raises(KeyboardInterrupt):
        run(Odd(KeyboardInterrupt, method), corpus)


def test_exit_in_add_is_exit_code_3(tmp_path: Path) -> None:
    corpora.write(tmp_path / "corpus")
    program = (
        "import sys; from pmb_hf.providers import registry; from pmb_hf.cli import main\n"
        "from pmb_hf.providers.fts5 import Fts5Provider\n"
        "class Exits(Fts5Provider):\n"
        "    def add(self, **row): sys.exit(0)\n"
        "registry.create = lambda name, options=None: Exits()\n"
        "sys.exit(main())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "run", "--provider", "fts5", "--corpus", "corpus"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3, done.stderr
    assert done.stderr.strip().splitlines()[-1].endswith("failed: SystemExit: 0")


def endless() -> dict[str, Any]:
    ring: dict[str, Any] = {}
    ring["ring"] = ring
    return ring


def deep() -> Any:
    value: Any = 0
    for _ in range(100_000):
        value = [value]
    return {"deep": value}


class Told(ScriptedProvider):
    """A provider that tells ``value`` as its ``name``."""


def telling(name: str, value: Callable[[], Any]) -> Told:
    return type("Told", (Told,), {name: property(lambda self: value())})()


TOLD: list[tuple[str, Callable[[], Any], str]] = [
    ("options", lambda: {"o": object()}, "`options` of Told can't stand in a report"),
    ("options", lambda: {"o": math.nan}, "`options` of Told can't stand in a report"),
    ("options", lambda: {"o": "\ud800"}, "`options` of Told can't stand in a report"),
    ("options", lambda: {(1, 2): 3}, "`options` of Told can't stand in a report"),
    ("options", endless, "`options` of Told can't stand in a report"),
    ("options", deep, "`options` of Told can't stand in a report: nested too deeply"),
    ("options", lambda: {"o": "x" * 70_000}, "takes 70009 bytes as JSON; at most 65536"),
    ("options", lambda: 1 / 0, "reading `options` of Told failed: ZeroDivisionError"),
    ("version", lambda: 1 / 0, "reading `version` of Told failed: ZeroDivisionError"),
    ("version", lambda: "\udcff", "`version` of Told can't stand in a report"),
    ("version", lambda: "v" * 10_000_000, "`version` of Told takes 10000002 bytes"),
    ("version", lambda: sys.exit(0), "reading `version` of Told failed: SystemExit: 0"),
    ("counts", lambda: {"n": object()}, "`counts` of Told can't stand in a report"),
    ("counts", lambda: {"n": math.inf}, "`counts` of Told can't stand in a report"),
    ("counts", lambda: 1 / 0, "reading `counts` of Told failed: ZeroDivisionError"),
    ("supports_update", lambda: 1 / 0, "reading `supports_update` of Told failed"),
    ("text_mode", lambda: 1 / 0, "reading `text_mode` of Told failed"),
    ("arm", lambda: 1 / 0, "reading `arm` of Told failed"),
]


@pytest.mark.parametrize(("name", "value", "says"), TOLD, ids=range(len(TOLD)))
def test_what_can_not_stand_in_a_report_ends_it_before_anything_is_measured(
    name: str, value: Callable[[], Any], says: str, tmp_path: Path
) -> None:
    corpus, provider = corpora.load(tmp_path / "corpus"), telling(name, value)
    with pytest.raises(ProviderError) as caught:
        run(provider, corpus, out=tmp_path / "r.json")
    assert says in str(caught.value)
    assert len(str(caught.value)) <= 400
    assert caught.value.exit_code == 3
    assert provider.asked == []
    assert [p.name for p in tmp_path.iterdir()] == ["corpus"]


class TurnsBad(ScriptedProvider):
    """It tells well of itself until it has been asked."""

    def _told(self, good: Any) -> Any:
        return good if len(self.asked) < 3 else {"n": object()}

    @property
    def counts(self) -> Mapping[str, Any]:
        return self._told({"calls": 1})  # type: ignore[no-any-return]

    @property
    def options(self) -> dict[str, object]:
        return self._told({"o": (1, 2)})  # type: ignore[no-any-return]

    @property
    def supports_update(self) -> bool:
        if len(self.asked) < 15:
            return True
        raise RuntimeError("forgot")


def test_what_turns_bad_in_the_run_does_not_lose_it(tmp_path: Path) -> None:
    corpus, out = corpora.load(tmp_path / "corpus"), tmp_path / "r.json"
    report = run(TurnsBad(), corpus, out=out, parts=["retrieval"], repeat=4)
    assert read_report(out).records == report.records
    assert report.can_update is None
    assert report.provenance["config"]["options"] == {"o": [1, 2]}
    assert report.provenance["calls"]["error"].startswith("`counts` of TurnsBad can't stand in")


def test_tuples_in_options_do_not_hinder_a_resumption(tmp_path: Path) -> None:
    corpus, out = corpora.load(tmp_path / "corpus"), tmp_path / "r.json"
    for resume in (False, True):
        provider = telling("options", lambda: {"o": (1, 2), 3: None})
        provider._default = RuntimeError("down")
        with pytest.warns(UserWarning, match="stopped early"):
            run(provider, corpus, out=out, resume=resume, max_failures=2)
    header = json.loads(out.with_name("r.json.journal").read_text().splitlines()[0])
    assert header["config"]["options"] == {"o": [1, 2], "3": None}


def test_a_provider_that_can_not_be_closed_does_not_lose_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stuck(ScriptedProvider):
        def close(self) -> None:
            sys.exit(1)

    monkeypatch.setattr("pmb_hf.providers.registry.create", lambda name, options: Stuck())
    corpus = corpora.load(tmp_path / "corpus")
    with pytest.warns(RuntimeWarning, match="closing the provider failed: SystemExit: 1"):
        assert run("stuck", corpus).records


def test_a_hit_that_raises_fails_its_case_alone() -> None:
    class Trap(Hit):
        @property
        def score(self) -> float:
            raise OSError("no score")

    record = Asker(ScriptedProvider({"q": [Trap("a")]}), SPEC).ask(QUERY, STORE)
    assert (record.status, record.error) == ("error", "OSError: no score")


def test_seeding_outside_a_run_has_no_deadline() -> None:
    assert len(Seeder(ScriptedProvider()).seed(STORE.values()).per_belief) == 1
