"""Dependencies must be of one version: what is built later has to be the same."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from .files import Finding, Text

_LOCKS = {
    "package.json": {"package-lock.json", "pnpm-lock.yaml", "yarn.lock", "bun.lock"},
    "pyproject.toml": {"uv.lock", "poetry.lock", "pdm.lock", "pylock.toml"},
    "Cargo.toml": {"Cargo.lock"},
    "go.mod": {"go.sum"},
    "Gemfile": {"Gemfile.lock"},
}
_REQUIREMENTS = re.compile(r"(requirements|constraints)[\w.-]*\.(txt|in)$")
_EXACT = re.compile(r"[A-Za-z0-9._-]+(\[[^\]]*\])?\s*={2,3}\s*[A-Za-z0-9][A-Za-z0-9.!+_-]*$")
_COMMIT = re.compile(r"@[0-9a-f]{40}\b|#sha256=[0-9a-f]{64}\b|\bsha256:[0-9a-f]{64}\b")
_NPM_EXACT = re.compile(r"\d+\.\d+\.\d+([-+][\w.+-]+)?$")
_NOT_PACKAGES = {"-r", "-c", "--requirement", "--constraint"}


def pin_findings(texts: Sequence[Text]) -> Iterator[Finding]:
    """Every dependency without an exact version."""
    names = {text.path for text in texts}
    for text in texts:
        if _REQUIREMENTS.search(text.name):
            yield from _requirements(text)
        elif text.name in _LOCKS:
            home = text.path.removesuffix(text.name)
            if not any(home + lock in names for lock in _LOCKS[text.name]):
                yield from _manifest(text)


def exact(requirement: str) -> bool:
    """Whether a Python requirement names one version, commit or digest."""
    bare = requirement.partition(";")[0].strip().strip("\"'")
    return bool(_EXACT.fullmatch(bare) or _COMMIT.search(bare))


def _requirements(text: Text) -> Iterator[Finding]:
    joined = ""
    for number, line in text.numbered():
        joined += re.sub(r"(^|\s)#.*", "", line).rstrip("\\").strip() + " "
        if line.rstrip().endswith("\\"):
            continue
        entry, joined = joined.strip(), ""
        requirement = re.sub(r"\s--hash[= ]\S+", "", entry)
        first = requirement.split(" ")[0]
        if not requirement or first in _NOT_PACKAGES:
            continue
        if first.startswith("-") and first not in {"-e", "--editable"}:
            continue  # an option of pip
        if not exact(requirement):
            yield text.error(
                number, "pin", f"{requirement!r} has no exact version; write name==1.2.3"
            )


def _manifest(text: Text) -> Iterator[Finding]:
    content = "\n".join(text.lines)
    if text.name == "package.json":
        yield from _npm(text, content)
    elif text.name == "pyproject.toml":
        yield from _pyproject(text, content)
    else:
        lock = min(_LOCKS[text.name])
        yield text.error(1, "pin", f"there is no {lock} beside it; add it, so that versions stay")


def _npm(text: Text, content: str) -> Iterator[Finding]:
    try:
        data = json.loads(content)
    except (ValueError, RecursionError) as error:
        yield text.error(1, "pin", f"no valid JSON: {error}")
        return
    parts = (data.get(k) for k in ("dependencies", "optionalDependencies")) if _is(data) else ()
    for part in filter(_is, parts):
        for name, version in part.items():
            if not (isinstance(version, str) and _NPM_EXACT.match(version)):
                yield text.error(
                    _line(text, name), "pin", f"{name} {version!r} has no exact version; add a lock"
                )


def _pyproject(text: Text, content: str) -> Iterator[Finding]:
    try:
        project = tomllib.loads(content).get("project", {})
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        yield text.error(1, "pin", f"no valid TOML: {error}")
        return
    given = project.get("dependencies", []) if _is(project) else []
    for requirement in given if isinstance(given, list) else ():
        if not exact(str(requirement)):
            yield text.error(
                _line(text, str(requirement)),
                "pin",
                f"{requirement!r} has no exact version, and there is no lock file beside it",
            )


def _is(value: Any) -> bool:
    return isinstance(value, dict)


def _line(text: Text, part: str) -> int | None:
    return next((number for number, line in text.numbered() if part in line), None)


def install_findings(text: Text, number: int, command: str) -> Iterable[Finding]:
    """What a shell command installs without an exact version."""
    for match in re.finditer(r"\bpip3?\s+install\s+([^;&|]*)", command):
        skip = False
        for word in match.group(1).split():
            if skip or word.startswith("-"):
                skip = word in {"-r", "-c", "--requirement", "-i", "--index-url", "--target", "-t"}
                continue
            if word.startswith(".") or exact(word):
                continue
            yield text.error(number, "pin", f"pip installs {word!r} without an exact version")
    for match in re.finditer(r"\bnpm\s+(?:install|i)\s+(?!-)([^\s;&|]+)", command):
        if not re.search(r"@\d+\.\d+\.\d+", match.group(1)):
            yield text.error(number, "pin", f"npm installs {match.group(1)!r} without a version")
    if re.search(r"\b(curl|wget)\b[^;&]*\|\s*(ba|z)?sh\b", command):
        yield text.error(number, "pin", "runs a script from the network, which may change")
