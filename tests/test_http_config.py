"""URLs, options and `providers.config.json`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from servers import standin

from pmb_hf.errors import InputError, MissingDependencyError, PmbError, UnknownNameError
from pmb_hf.providers import protocol
from pmb_hf.providers.environments.places import INSIDE_ENV
from pmb_hf.providers.http import HttpProvider
from pmb_hf.providers.http_config import HttpConfig, clean_url
from pmb_hf.providers.http_file import CONFIG_ENV, CONFIG_FILE
from pmb_hf.providers.registry import available, create
from pmb_hf.runner import run


@pytest.fixture(autouse=True)
def no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in (CONFIG_ENV, "PMB_HTTP_AUTHORIZATION", "PMB_HTTP_HEADERS"):
        monkeypatch.delenv(name, raising=False)


def write(path: Path, tree: Any) -> Path:
    path.write_text(tree if isinstance(tree, str) else json.dumps(tree), encoding="utf-8")
    return path


def options_of(name: str, **given: object) -> dict[str, object]:
    made = create(name, given)
    assert isinstance(made, HttpProvider)
    return protocol.provider_options(made)


@pytest.mark.parametrize(
    ("url", "clean"),
    [
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("http://127.0.0.1:8080/", "http://127.0.0.1:8080"),
        ("HTTPS://Example.org/api/v1//", "https://Example.org/api/v1"),
        ("http://[::1]:8080", "http://[::1]:8080"),
    ],
)
def test_url(url: str, clean: str) -> None:
    assert clean_url(url) == clean
    assert options_of(url)["url"] == clean


@pytest.mark.parametrize(
    ("url", "match"),
    [
        ("http://ana:s3cret@host:80", "holds a user or password"),
        ("http://s3cret@host", "holds a user or password"),
        ("http://host/?key=s3cret", "has a query or fragment"),
        ("http://host/#s3cret", "has a query or fragment"),
        ("http://host?", "has a query or fragment"),
        ("http://", "is no URL of a service"),
        ("http:///path", "is no URL of a service"),
        ("http://ho st", "is no URL of a service"),
        ("http://host\n/x", "is no URL of a service"),
        ("http://hôst", "is no URL of a service"),
        ("http://host:99999", "can't be read"),
        ("http://host:x", "can't be read"),
        ("http://[::1", "can't be read"),
        ("http://host:0", "port 0"),
    ],
)
def test_url_that_can_not_be_used(url: str, match: str) -> None:
    with pytest.raises(InputError, match=match) as caught:
        create(url)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    "options",
    [
        {"timeout": 0.0},
        {"timeout": 1e9},
        {"connect_timeout": -1.0},
        {"read_timeout": 0.0},
        {"retries": -1},
        {"retries": 99},
        {"body_limit": 5},
        {"reset": "some"},
        {"limit_param": "query"},
        {"limit_param": ""},
        {"text_mode": "prose"},
    ],
)
def test_option_out_of_range(options: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        HttpConfig(url="http://host", **options)


def test_options_from_a_command_line() -> None:
    options = options_of("http://host", timeout="2.5", retries="0", read_timeout="none")
    assert (options["timeout"], options["retries"], options["read_timeout"]) == (2.5, 0, None)
    assert options_of("http", url="http://host") == options_of("http://host")
    with pytest.raises(InputError, match="needs the option url"):
        create("http")
    with pytest.raises(InputError, match=r"has no option 'timout'\. Did you mean 'timeout'"):
        create("http://host", {"timout": "1"})
    assert "http" in {info.name for info in available()}


def test_upstreams_file_reads_as_it_is(upstream_dir: Path) -> None:
    path = str(upstream_dir / "providers.config.json")
    names = json.loads(Path(path).read_text(encoding="utf-8"))
    for name, entry in names.items():
        made = create(name, {"config": path})
        assert isinstance(made, HttpProvider)
        assert made.options["url"] == entry["defaultUrl"]
        assert made.options["seed_delay_ms"] == entry["seedDelayMs"]
        assert made.text_mode == entry["beliefToText"]
        assert protocol.supports_update(made) == entry["supportsUpdate"]


ENTRY = {"envVar": "MINE_URL", "defaultUrl": "http://localhost:8080", "seedDelayMs": 5}


def test_where_the_file_is_looked_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def port(**given: object) -> str:
        return str(options_of("mine", **given)["url"])[-1]

    with pytest.raises(UnknownNameError, match=r"no provider 'mine'.*providers\.config\.json"):
        create("mine")
    by_env = write(tmp_path / "env.json", {"mine": {"defaultUrl": "http://h:1"}})
    monkeypatch.setenv(CONFIG_ENV, str(by_env))
    assert port() == "1"
    write(tmp_path / CONFIG_FILE, {"mine": {"defaultUrl": "http://h:2"}})
    assert port() == "2"
    named = write(tmp_path / "named.json", {"mine": {"defaultUrl": "http://h:3"}})
    assert port(config=str(named)) == "3"
    with pytest.raises(InputError, match="option config: there is no file"):
        port(config="nope.json")
    (tmp_path / CONFIG_FILE).unlink()
    monkeypatch.setenv(CONFIG_ENV, "nope.json")
    with pytest.raises(InputError, match=rf"\${CONFIG_ENV}: there is no file"):
        port()
    # Names that are built in need no file.
    create("fts5")


@pytest.mark.parametrize("name", ["mem0", "supermemory"])
def test_the_file_says_where_a_system_of_another_vendor_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    write(tmp_path / CONFIG_FILE, {name: {"defaultUrl": "http://h:1"}})
    assert options_of(name)["url"] == "http://h:1"
    # The server in an environment runs what the environment was made for.
    monkeypatch.setenv(INSIDE_ENV, name)
    with pytest.raises((MissingDependencyError, InputError)):
        create(name)


def test_a_built_in_name_wins_over_the_file_unless_it_is_given(tmp_path: Path) -> None:
    path = write(tmp_path / CONFIG_FILE, {"fts5": {"defaultUrl": "http://h:1"}})
    assert not isinstance(create("fts5"), HttpProvider)
    assert isinstance(create("fts5", {"config": str(path)}), HttpProvider)


def test_url_of_an_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / CONFIG_FILE, {"_note": "free", "mine": ENTRY, "bare": {"envVar": "BARE_URL"}})
    assert options_of("mine")["url"] == "http://localhost:8080"
    monkeypatch.setenv("MINE_URL", "http://other:9")
    assert options_of("mine")["url"] == "http://other:9"
    assert options_of("mine", url="http://third:1")["url"] == "http://third:1"
    with pytest.raises(InputError, match=r"bare: there is no URL: set \$BARE_URL"):
        create("bare")
    assert options_of("bare", url="http://third:1")["url"] == "http://third:1"


def test_our_keys(tmp_path: Path) -> None:
    write(
        tmp_path / CONFIG_FILE,
        {
            "mine": {
                **ENTRY,
                "_comment": "ours",
                "timeoutMs": 1500,
                "connectTimeoutMs": 250,
                "readTimeoutMs": 700,
                "readyTimeoutMs": 90000,
                "retries": 0,
                "bodyLimit": 4096,
                "limitParam": "top_k",
                "supportsMultiScope": False,
                "supportsDelete": False,
                "supportsWait": False,
                "waitAfterSeed": True,
                "reset": "own",
            }
        },
    )
    options = options_of("mine", retries="1")
    assert options == {
        "url": "http://localhost:8080",
        "timeout": 1.5,
        "connect_timeout": 0.25,
        "read_timeout": 0.7,
        "ready_timeout": 90.0,
        "retries": 1,
        "body_limit": 4096,
        "limit_param": "top_k",
        "multi_scope": False,
        "supports_update": None,
        "supports_delete": False,
        "supports_wait": False,
        "honour_seed_delay": False,
        "reset": "own",
        "seed_delay_ms": 5,
        "wait_after_seed": True,
        "text_mode": None,
    }


@pytest.mark.parametrize(
    ("entry", "match"),
    [
        ({"seedDelay": 5}, r"providers.config.json: mine\.seedDelay unknown key; known are: auth"),
        ({"seedDelayMs": "5"}, r"providers.config.json: mine\.seedDelayMs must be a whole number"),
        ({"supportsUpdate": "no"}, r"mine\.supportsUpdate must be true or false"),
        ({"headers": ["x"]}, r"mine\.headers must be an object"),
        ({"headers": {"X-Key": "s3cret"}}, r"mine\.headers\.X-Key: secrets do not stand in a"),
        ({"headers": {"X-Key": "${UNSET_KEY}"}}, "variable UNSET_KEY is not set"),
        ({"headers": {"X-Key": 5}}, "secrets do not stand in a file"),
        ({"headers": {"Host": "${SET_KEY}"}}, "'Host' can't be set as a header"),
        ({"authEnv": "UNSET_KEY"}, "variable UNSET_KEY is not set"),
        ({"retries": 1000}, r"mine: option retries is 1000"),
        ({"beliefToText": "prose"}, r"mine: beliefToText is 'prose'"),
        ({"defaultUrl": "http://u:s3cret@h"}, "mine: the URL of h holds a user or password"),
        ([], "must be an object, not list"),
    ],
)
def test_a_fault_names_file_provider_and_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entry: Any, match: str
) -> None:
    monkeypatch.setenv("SET_KEY", "set")
    whole = {**ENTRY, **entry} if isinstance(entry, dict) else entry
    write(tmp_path / CONFIG_FILE, {"mine": whole})
    with pytest.raises(InputError, match=match) as caught:
        create("mine")
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "{", "[]", "5", "[" * 100_000, b"\xff\xfe".decode("latin-1")])
def test_a_file_that_is_no_json_object(tmp_path: Path, text: str) -> None:
    path = write(tmp_path / CONFIG_FILE, text)
    with pytest.raises(InputError, match=path.name):
        create("mine")


def test_an_unknown_name_in_a_given_file(tmp_path: Path) -> None:
    path = write(tmp_path / "c.json", {"mem-zero": ENTRY, "other": ENTRY})
    with pytest.raises(
        UnknownNameError, match=r"has no provider 'mem-zer0'\. Did you mean 'mem-zero'"
    ):
        create("mem-zer0", {"config": str(path)})
    assert issubclass(UnknownNameError, PmbError)


def test_headers_of_an_entry_are_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINE_KEY", "key-123456")
    monkeypatch.setenv("PMB_HTTP_AUTHORIZATION", "Bearer of-another-service")
    for entry in ({"headers": {"authorization": "Bearer ${MINE_KEY}"}}, {"authEnv": "MINE_AUTH"}):
        monkeypatch.setenv("MINE_AUTH", "Bearer key-123456")
        with standin(authorization="Bearer key-123456") as service:
            write(tmp_path / CONFIG_FILE, {"mine": {"defaultUrl": service.url, **entry}})
            out = tmp_path / "report.json"
            report = run("mine", "native", parts=["retrieval"], out=out)
        assert report.provider == "mine"
        assert {record.status for record in report.records} == {"ok"}
        assert "key-123456" not in out.read_text(encoding="utf-8")
