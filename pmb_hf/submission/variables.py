"""The environment: every variable is declared, and no secret is written down."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from .fields import FILL_IN, NAME, Fields
from .files import Finding, Text
from .images import COMPOSE, instructions, is_dockerfile

_USUAL = {
    *("PATH", "HOME", "USER", "LANG", "LC_ALL", "TZ", "TMPDIR", "PWD", "NODE_ENV", "HOSTNAME"),
    *("PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PYTHONPATH", "PYTHONHASHSEED"),
    *("PIP_NO_CACHE_DIR", "PIP_DISABLE_PIP_VERSION_CHECK", "DEBIAN_FRONTEND"),
}
_USES = (
    re.compile(r"environ(?:\.get|\.pop|\.setdefault)?\s*[\[(]\s*[\"'](\w+)[\"']"),
    re.compile(r"\bgetenv\s*\(\s*[\"'](\w+)[\"']"),
    re.compile(r"\bprocess\.env(?:\.|\[[\"'])([A-Za-z_]\w*)"),
    re.compile(r"\b(?:os\.(?:Getenv|LookupEnv)|env::var|System\.getenv|ENV\.fetch)\(\s*\"(\w+)\""),
    re.compile(r"\bENV\[[\"'](\w+)[\"']\]"),
)
_SUBSTITUTED = re.compile(r"(?<!\$)\$\{?([A-Za-z_]\w*)")
_LISTED = re.compile(r"\s*-?\s*[\"']?([A-Z][A-Z0-9_]+)[\"']?\s*(?:[:=]\s*(.*))?$")
_SECRETS = re.compile(
    r"\b(hf_[A-Za-z0-9]{20,}|sk-[A-Za-z0-9_-]{20,}|gh[pousr]_[A-Za-z0-9]{20,}|AKIA[0-9A-Z]{16}"
    r"|xox[abps]-[A-Za-z0-9-]{10,}|AIza[0-9A-Za-z_-]{30,})"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----"
)
_SECRET_NAME = re.compile(
    r"(?i)\b(\w*(?:api_?key|secret|password|passwd|access_?token|auth_?token|private_?key))"
    r"[\"']?\s*[:=]\s*([\"']?)([^\s\"',#}]{6,})\2"
)
_NO_SECRET = re.compile(
    r"\$|\bos\.|environ|getenv|process\.|config|None|null|true|false|example|changeme|<|\(|\[",
    re.IGNORECASE,
)


def variable_findings(texts: Sequence[Text], fields: Fields) -> Iterator[Finding]:
    """Variables that are used and not declared, and secrets."""
    used: set[str] = set()
    for text in texts:
        yield from _secrets(text)
        for number, name in _uses(text):
            if name in used or name in _USUAL:
                continue
            used.add(name)
            if name not in fields.environment:
                yield text.error(
                    number,
                    "variable",
                    f"{name} is read but not declared; add it to environment in {NAME}",
                )
    for name in sorted(fields.environment - used - _USUAL):
        yield Finding(NAME, None, "variable", "warning", f"{name} is declared but nothing reads it")


def _uses(text: Text) -> Iterator[tuple[int, str]]:
    """(line, name) of each variable that a file reads or sets."""
    if text.is_source:
        for number, line in text.numbered():
            for pattern in _USES:
                yield from ((number, found.group(1)) for found in pattern.finditer(line))
    elif text.name in COMPOSE:
        yield from _compose(text)
    elif is_dockerfile(text):
        yield from _dockerfile(text)
    elif text.name == ".env" or text.name.startswith(".env."):
        for number, line in text.numbered():
            match = re.match(r"\s*(?:export\s+)?([A-Za-z_]\w*)\s*=", line)
            if match:
                yield number, match.group(1)


def _dockerfile(text: Text) -> Iterator[tuple[int, str]]:
    for number, instruction in instructions(text):
        word, _, rest = instruction.partition(" ")
        if word.upper() in {"ENV", "ARG"}:
            pairs = re.findall(r"(?:^|\s)([A-Za-z_]\w*)(?==)", rest)
            yield from ((number, name) for name in pairs or rest.split()[:1])


def _compose(text: Text) -> Iterator[tuple[int, str]]:
    """Substitutions anywhere, and what stands below ``environment:``."""
    depth: int | None = None
    for number, line in text.numbered():
        bare = line.split(" #")[0]
        for match in _SUBSTITUTED.finditer(bare):
            yield number, match.group(1)
        indent = len(line) - len(line.lstrip())
        if depth is not None and line.strip() and indent <= depth:
            depth = None
        if depth is not None:
            listed = _LISTED.match(bare)
            if listed:
                yield number, listed.group(1)
        elif re.match(r"\s*environment\s*:\s*$", bare):
            depth = indent


def _secrets(text: Text) -> Iterator[Finding]:
    for number, line in text.numbered():
        match = _SECRETS.search(line)
        named = _SECRET_NAME.search(line)
        if match:
            shown = match.group()[:4]
            yield text.error(
                number,
                "secret",
                f"a secret ({shown}…) is written down; revoke it, and read it from the environment",
            )
        elif named and FILL_IN not in line and _literal(text, named, line):
            yield text.error(
                number, "secret", f"{named.group(1)} has a value; read it from the environment"
            )


def _literal(text: Text, match: re.Match[str], line: str) -> bool:
    """Whether a secret's value is written down, rather than looked up or described."""
    if text.name.endswith(".md") or _NO_SECRET.search(line[match.start(1) + len(match.group(1)) :]):
        return False
    return bool(match.group(2)) or not text.is_source
