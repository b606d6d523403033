"""Looks a submission over, without running anything of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from .fields import NAME, read_fields
from .files import ERROR, Finding, Text, read
from .flags import Known, flag_findings, known_corpora
from .images import COMPOSE, image_findings, is_dockerfile
from .pins import pin_findings
from .variables import variable_findings


class Checked(NamedTuple):
    """The findings, by file and line, and the corpora whose ids were looked for."""

    folder: Path
    findings: tuple[Finding, ...]
    corpora: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether there is no error; warnings are allowed."""
        return not any(finding.severity == ERROR for finding in self.findings)


def check(folder: str | Path, corpora: Sequence[Known] | None = None) -> Checked:
    """Check a submission's folder.

    Args:
        folder: Where it is.
        corpora: Whose ids and texts are looked for; by default the native corpus,
            and the official one if it was fetched.

    Raises:
        InputError: If it is no folder.
    """
    home = Path(folder)
    texts, unread = read(home)
    known = known_corpora() if corpora is None else corpora
    fields = read_fields(texts)
    findings = [
        *fields.findings,
        *unread,
        *_missing(texts),
        *pin_findings(texts),
        *image_findings(texts),
        *variable_findings(texts, fields),
        *flag_findings(texts, fields, known),
    ]
    ordered = sorted(findings, key=lambda found: (found.file, found.line or 0, found.rule))
    return Checked(home, tuple(dict.fromkeys(ordered)), tuple(corpus.corpus for corpus in known))


def _missing(texts: Sequence[Text]) -> Iterator[Finding]:
    def absent(name: str, why: str) -> Finding:
        return Finding(name, None, "file-missing", ERROR, f"{name} is missing: {why}")

    if not any(text.is_source for text in texts):
        yield absent("service", "the source of the service that wraps the system belongs here")
    if not any(is_dockerfile(text) for text in texts):
        yield absent("Dockerfile", "it says how the service is built")
    if not any(text.name in COMPOSE for text in texts):
        yield absent("docker-compose.yml", f"it starts what {NAME} describes")
