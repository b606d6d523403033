"""Environments of their own: made from a folder, entered, crashed, killed, and left clean."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
from cli_kit import pmb
from environment_kit import make_wheel, write_recipe
from filelock import FileLock

from pmb_hf.corpus import load_corpus
from pmb_hf.errors import InputError, MissingDependencyError, ProviderError, ProviderTimeoutError
from pmb_hf.providers import registry
from pmb_hf.providers.catalog import BUILT_IN, BuiltIn
from pmb_hf.providers.controls import EverythingProvider
from pmb_hf.providers.environments import install as installing
from pmb_hf.providers.environments import places, pythons
from pmb_hf.providers.environments.child import INSIDE_ENV, Child
from pmb_hf.providers.environments.install import (
    InstallError,
    differences,
    install,
    lock_of,
    remove,
)
from pmb_hf.providers.environments.isolated import IsolatedProvider
from pmb_hf.providers.environments.places import MARKER, ROOT_ENV, Environment, installed
from pmb_hf.providers.environments.recipes import SERVING, names, read_recipe, recipe
from pmb_hf.providers.environments.users import hold, is_in_use
from pmb_hf.providers.environments.versions import fits, importable, plain_name, split
from pmb_hf.providers.protocol import Option
from pmb_hf.report import judge
from pmb_hf.runner import run
from pmb_hf.schema import Corpus

ROOT = Path(__file__).resolve().parent.parent
OPTIONS = (
    Option("mode", str, "", "How it misbehaves."),
    Option("note", str, "", "A file."),
    Option("floor", float, 0.5, "A number."),
)
TINY = BuiltIn(
    "tiny",
    "Made up.",
    ".nowhere:Tiny",
    options=OPTIONS,
    needs="tinyvendor",
    package="tinyvendor>=1,<2",
    environment="tiny",
)
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="daemons are found on Linux only")


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the vendor's wheels and recipe."""
    folder = tmp_path_factory.mktemp("shop")
    make_wheel(folder / "wheels")
    write_recipe(folder)
    return folder


@pytest.fixture(scope="module")
def module_patch() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as patch:
        yield patch


@pytest.fixture(scope="module")
def tiny(
    shop: Path, tmp_path_factory: pytest.TempPathFactory, module_patch: pytest.MonkeyPatch
) -> Environment:
    """The vendor in an environment, made once."""
    module_patch.setenv(ROOT_ENV, str(tmp_path_factory.mktemp("environments")))
    module_patch.setattr(installing, "SERVING", ())
    return install(read_recipe(shop / "tiny.toml"), pip_args=offline(shop))


@pytest.fixture
def listed(tiny: Environment, monkeypatch: pytest.MonkeyPatch) -> Environment:
    """The vendor as one of the built-in rows."""
    monkeypatch.setattr(registry, "BUILT_IN", (*BUILT_IN, TINY))
    return tiny


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return load_corpus("native")


def offline(shop: Path) -> list[str]:
    return ["--no-index", "--find-links", str(shop / "wheels")]


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def eventually(condition: Callable[[], bool], seconds: float = 30) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if condition():
            return True
        time.sleep(0.05)
    return condition()


# Versions and recipes


@pytest.mark.parametrize(
    ("version", "allowed", "expected"),
    [
        ("2.2.1", ">=2.2,<2.3", True),
        ("2.3", ">=2.2,<2.3", False),
        ("2.2", ">=2.2.0", True),
        ("1.5.9rc1", ">=1.5.9", True),
        ("3.11.7", ">=3.11,<3.14", True),
        ("3.14.0", ">=3.11,<3.14", False),
        ("2.13.0", "==2.13.0", True),
        ("2.13.1", "!=2.13.1", False),
        ("0.1", "", True),
        ("10.0", ">9", True),
        ("1.2", "<=1.2.0", True),
    ],
)
def test_ranges_of_versions(version: str, allowed: str, expected: bool) -> None:
    assert fits(version, allowed) is expected


def test_what_is_no_range_or_requirement() -> None:
    with pytest.raises(InputError, match="no range"):
        fits("1.0", "~=1.0")
    with pytest.raises(InputError, match="no requirement"):
        split(">=1")


def test_a_module_counts_only_in_the_wanted_version() -> None:
    assert importable("pytest", "pytest>=1")
    assert not importable("pytest", "pytest<1")
    assert not importable("no_such.module")
    assert not importable("pytest", "no-such-package>=1")


@pytest.mark.parametrize("name", names())
def test_recipes_of_this_package(name: str) -> None:
    chosen = recipe(name)
    assert chosen.notes
    assert chosen.locked_python is not None
    assert fits(chosen.locked_python, chosen.python)
    for requirement in (*chosen.requirements, *SERVING):
        package, allowed = split(requirement)
        assert fits(chosen.locked[plain_name(package)], allowed), requirement
    assert "://" not in chosen.lock_path.read_text(encoding="utf-8")
    users = [spec for spec in BUILT_IN if spec.environment == name]
    assert users, "no provider runs in it"
    for spec in users:
        assert spec.package in chosen.requirements


def test_every_named_environment_has_a_recipe() -> None:
    assert {spec.environment for spec in BUILT_IN if spec.environment} <= set(names())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("requirements = [", "can't be read"),
        ('requirements = ["a"]\nwheels = 1', "unknown key 'wheels'"),
        ("requirements = []", "is empty"),
        ('requirements = "a"', "must be texts"),
        ('requirements = ["a"]\nsetup = 3', "setup"),
        ('requirements = ["a"]\nvariables = 3', "variables"),
    ],
)
def test_recipes_that_are_wrong(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=said) as caught:
        read_recipe(path)
    assert str(path) in str(caught.value)


def test_a_lock_that_is_wrong_names_its_line(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text('requirements = ["a"]', encoding="utf-8")
    path.with_suffix(".lock").write_text("# python 3.11 linux\na>=1\n", encoding="utf-8")
    with pytest.raises(InputError, match="line 2"):
        read_recipe(path)


# Installing


def test_an_environment_holds_what_the_recipe_says(tiny: Environment, shop: Path) -> None:
    chosen = read_recipe(shop / "tiny.toml")
    assert installed("tiny") == tiny
    assert (tiny.version, tiny.packages["tinyvendor"]) == ("1.0", "1.0")
    assert tiny.lock == chosen.lock_hash
    assert differences(chosen, tiny) == []
    assert "tinyvendor==1.0" in lock_of(tiny).splitlines()
    said: list[str] = []
    assert install(chosen, tell=said.append) == tiny  # it is there: nothing is done
    assert said == []


def test_without_the_marker_it_is_not_there(tiny: Environment, tmp_path: Path) -> None:
    marker = places.home("tiny") / MARKER
    kept = marker.read_text(encoding="utf-8")
    try:
        for text in ["", "{", "[]", '{"schema": 1}', kept.replace('"schema": 1', '"schema": 99')]:
            marker.write_text(text, encoding="utf-8")
            assert installed("tiny") is None
        marker.unlink()
        assert installed("tiny") is None
    finally:
        marker.write_text(kept, encoding="utf-8")
    assert installed("tiny") == tiny


def test_pip_that_fails_leaves_nothing_and_says_why(
    shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ROOT_ENV, str(tmp_path / "environments"))
    chosen = read_recipe(write_recipe(tmp_path / "recipe", "tinyvendor>=9"), "broken")
    left = tmp_path / "environments" / "broken" / "left-by-an-interrupted-one"
    left.mkdir(parents=True)
    with pytest.raises(InstallError) as caught:
        install(chosen, locked=False, pip_args=offline(shop))
    assert "No matching distribution found for tinyvendor>=9" in str(caught.value)
    assert "pip failed with code 1" in str(caught.value)
    assert installed("broken") is None
    assert list(places.home("broken").iterdir()) == []
    assert remove("broken") is True
    assert remove("broken") is False


def test_no_network_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    script = "import sys; sys.exit('NewConnectionError: Name or service not known')"
    with pytest.raises(InstallError, match="package index can't be reached"):
        installing._step("pip", "x", [sys.executable, "-c", script])
    with pytest.raises(InstallError, match="can't be started"):
        installing._step("pip", "x", ["/no/such/program"])


def test_no_python_that_fits(shop: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(ROOT_ENV, str(tmp_path))
    path = write_recipe(tmp_path / "recipe", extra="")
    path.write_text('python = ">=3.98"\n' + path.read_text(encoding="utf-8"), encoding="utf-8")
    with pytest.raises(InputError, match=r"none was found.*--python PATH"):
        install(read_recipe(path, "late"))
    with pytest.raises(InputError, match="will not do"):
        install(read_recipe(path, "late"), python=sys.executable)
    with pytest.raises(InputError, match="does not run"):
        install(read_recipe(path, "late"), python="/no/such/python")
    assert pythons.probe(sys.executable) == ".".join(map(str, sys.version_info[:3]))


def test_two_at_once_and_in_use_are_refused(tiny: Environment, shop: Path) -> None:
    chosen = read_recipe(shop / "tiny.toml")
    with (
        FileLock(places.home("tiny").with_name("tiny.lock")),
        pytest.raises(InputError, match="another process"),
    ):
        install(chosen)
    assert not is_in_use(tiny)
    with hold(tiny):
        assert is_in_use(tiny)
        with hold(tiny):  # several runs may use it
            pass
        for attempt in (lambda: remove("tiny"), lambda: install(chosen, upgrade=True)):
            with pytest.raises(InputError, match="in use"):
                attempt()
    assert not is_in_use(tiny)
    assert installed("tiny") == tiny


@pytest.mark.parametrize("name", ["", "..", "a/b", "A", "-x"])
def test_what_can_be_no_name(name: str) -> None:
    with pytest.raises(InputError, match="can't be the name"):
        installed(name)


# Running


def test_a_run_in_an_environment_is_like_one_in_process(listed: Environment) -> None:
    report = run("tiny", "native", options={"floor": "0.25"})
    config = report.provenance["config"]
    assert config["providerVersion"] == "1.0"
    assert config["options"] == {"mode": "", "note": "", "floor": 0.25}
    assert report.can_update
    scope: dict[str, Any] = {}
    source = (listed.directory).glob("lib/python*/site-packages/tinyvendor.py")
    exec(compile(next(source).read_text(), "tinyvendor", "exec"), scope)  # noqa: S102
    here = run(scope["Tiny"](), "native")
    assert [[r.id for r in record.results or ()] for record in report.records] == [
        [r.id for r in record.results or ()] for record in here.records
    ]
    assert not is_in_use(listed)


def test_only_who_has_the_token_is_let_in(tiny: Environment) -> None:
    child = Child(tiny, "tiny", {})
    try:
        assert child.url.startswith("http://127.0.0.1:")
        for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": child.token}):
            answer = httpx.get(child.url + "/health", headers=headers)
            assert answer.status_code == 401
        good = httpx.get(child.url + "/health", headers={"authorization": f"Bearer {child.token}"})
        assert good.json()["version"] == "1.0"
        command = Path(f"/proc/{child._process.pid}/cmdline")
        if command.exists():
            assert child.token not in command.read_text()
    finally:
        child.end()
    child.end()
    assert not child.alive


def test_a_crash_is_a_status_and_ends_the_run(
    listed: Environment, corpus: Corpus, tmp_path: Path
) -> None:
    with pytest.warns(UserWarning, match="stopped early"):
        report = run("tiny", corpus, options={"mode": "crashes"}, max_failures=4)
    statuses = [record.status for record in report.records if record.latency_ms is not None]
    assert set(statuses) == {"ok"}
    failed = [record for record in report.records if record.status != "ok"]
    assert [record.status for record in failed] == ["crashed"] * 4
    assert "ended by signal 9" in str(failed[0].error)
    assert "out of memory, giving up" in str(failed[0].error)
    assert "4 cases failed in a row" in report.provenance["stopped"]
    assert judge(report, corpus).retrieval is not None


def test_a_failing_search_is_a_failing_case(listed: Environment) -> None:
    provider = registry.create("tiny", {"mode": "fails"})
    try:
        with pytest.raises(ProviderError, match="this query is too hard"):
            provider.search(query="x", user_id="ana", scopes=(), limit=3)
    finally:
        provider.close()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("mode", "error", "said"),
    [
        ("refuses", InputError, "option mode is 'refuses': give another."),
        ("breaks", ProviderError, "RuntimeError: the vendor is broken"),
        ("dies", ProviderError, "ended with code 7.*about to die"),
    ],
)
def test_a_provider_that_can_not_be_made(
    mode: str, error: type[Exception], said: str, listed: Environment
) -> None:
    with pytest.raises(error, match=said):
        registry.create("tiny", {"mode": mode})
    assert not is_in_use(listed)


def test_a_provider_that_is_never_there(tiny: Environment) -> None:
    kept = tiny.directory / installing.RECIPE
    text = kept.read_text(encoding="utf-8")
    kept.write_text(text.replace("start_timeout_s = 60", "start_timeout_s = 0.5"))
    try:
        with pytest.raises(ProviderTimeoutError, match=r"not there within 0\.5 s"):
            Child(tiny, "tiny", {"mode": "hangs"})
    finally:
        kept.write_text(text)
    assert not is_in_use(tiny)


@linux_only
def test_daemons_end_with_the_provider(tiny: Environment, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    provider = IsolatedProvider(tiny, "tiny", {"mode": "daemon", "note": str(note)})
    daemon = int(note.read_text())
    state = Path(provider._child._process.args[4])  # type: ignore[index]
    assert is_alive(daemon)
    assert state.is_dir()
    provider.close()
    assert not is_alive(daemon)
    assert not state.exists()
    with pytest.raises(ProviderError, match="server in its environment ended"):
        provider.search(query="x", user_id="ana", scopes=(), limit=1)


KILLED = """
import sys, time
from pmb_hf.providers.environments.isolated import IsolatedProvider
from pmb_hf.providers.environments.places import installed

provider = IsolatedProvider(installed("tiny"), "tiny", {"mode": "daemon", "note": sys.argv[1]})
print(provider._child._process.pid, provider._child._process.args[4], flush=True)
time.sleep(600)
"""


@linux_only
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_outlives_a_killed_run(
    number: signal.Signals, tiny: Environment, tmp_path: Path
) -> None:
    note = tmp_path / "pid"
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(note)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as process:
        assert process.stdout is not None
        keeper, state = process.stdout.readline().split()
        daemon = int(note.read_text())
        children = Path(f"/proc/{keeper}/task/{keeper}/children").read_text().split()
        process.send_signal(number)
    pids = [int(keeper), daemon, *map(int, children)]
    assert len(pids) >= 3
    assert eventually(lambda: not any(map(is_alive, pids)))
    assert eventually(lambda: not Path(state).exists())
    assert not is_in_use(tiny)


def test_a_wait_may_name_one_memory() -> None:
    from pmb_hf.serve.bodies import AddBody, WaitBody
    from pmb_hf.serve.store import Served

    waited: list[str] = []

    class Slow(EverythingProvider):
        def wait_ready(self, *, belief_id: str, user_id: str, timeout_s: float) -> None:
            waited.append(belief_id)

    served = Served(Slow(), "slow")
    for belief in ("b-1", "b-2", "b-3"):
        row = {"text": "x", "user_id": "ana", "metadata": {"beliefId": belief}}
        served.add(AddBody.model_validate(row))
    served.wait(WaitBody.model_validate({"user_id": "ana", "beliefId": "b-2"}))
    assert waited == ["b-2"]
    served.wait(WaitBody())
    assert waited == ["b-2", "b-1", "b-3"]


# Names, states, and the command line


def test_what_is_missing_is_said_with_its_command(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(registry, "BUILT_IN", (*BUILT_IN, TINY))
    monkeypatch.setenv(ROOT_ENV, str(tmp_path))
    with pytest.raises(MissingDependencyError, match="pmb providers install tiny"):
        registry.create("tiny")
    assert TINY.state == "installable"
    assert TINY.hint == "pmb providers install tiny"
    assert TINY.version is None


def test_no_environment_is_entered_from_within_one(
    listed: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(INSIDE_ENV, "tiny")
    with pytest.raises(MissingDependencyError, match="--upgrade"):
        registry.create("tiny")


def test_states(tiny: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (TINY.state, TINY.version, TINY.hint) == ("installed", "1.0", None)
    served = BuiltIn("x", "", "x:y", service="Start it.")
    assert (served.state, served.hint) == ("needs a service", "Start it.")
    keyed = BuiltIn("x", "", "x:y", service="Start it.", key="X_KEY")
    monkeypatch.delenv("X_KEY", raising=False)
    assert (keyed.state, keyed.hint) == ("needs a key", "set X_KEY")
    monkeypatch.setenv("X_KEY", "1")
    assert keyed.state == "needs a service"


def test_the_list_tells_state_version_and_environment(tiny: Environment) -> None:
    by_name: Mapping[str, Any] = {
        info["name"]: info for info in json.loads(pmb("providers", "--json").out)["providers"]
    }
    assert by_name["bm25"]["state"] == "built in"
    mem0 = by_name["mem0"]
    assert (mem0["environment"], mem0["state"]) == ("mem0", "installable")
    assert mem0["hint"] == "pmb providers install mem0"
    assert pmb("providers", "show", "mem0", "--json").out == pmb("providers", "mem0", "--json").out


def test_install_and_remove_by_name(tiny: Environment) -> None:
    assert "did you mean 'mem0'" in pmb("providers", "install", "mem1").err
    assert pmb("providers", "install", "bm25").code == 2
    assert pmb("providers", "remove", "mem0").out == "mem0: was not installed\n"
    wrong = pmb("providers", "install", "mem0", "--python", "/no/such/python")
    assert wrong.code == 2
    assert "will not do" in wrong.err


def test_the_doctor_takes_a_name(listed: Environment) -> None:
    done = pmb("doctor", "tiny", "--json")
    checks = {check["name"]: check["ok"] for check in done.json["checks"]}
    assert checks["reachable"] is checks["reset"] is checks["ids"] is True
    assert not is_in_use(listed)
    assert "Did you mean 'tiny'" in pmb("doctor", "tinny").err
    refused = pmb("doctor", "http://127.0.0.1:1", "--option", "a=b")
    assert (refused.code, "given by name" in refused.err) == (2, True)
