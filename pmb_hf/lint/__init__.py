"""The corpus linter: what a corpus must satisfy so that its figures mean something.

:func:`lint` looks at a directory and never fails on bad input: a missing file or
a wrong type is a finding like any other. ``design/linter.md`` lists the codes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from ..corpus import NATIVE_DIR, read_json
from ..corpus.manifest import counts
from ..errors import CorpusError
from ..parsing import parse_corpus
from ..schema import CORPUS_FILES, Corpus
from ..strict import Problem, Reader
from .assertions import RULES
from .figures import manifest_findings, readme_findings
from .findings import ERROR, WARNING, Finding, error
from .rows import belief_rules, case_rules
from .subjects import case_subjects, turn_subjects

__all__ = ["ERROR", "WARNING", "Finding", "lint", "lint_corpus", "ok"]

_TIER = "a tier of `expect`"
# Where the keys belong that are easily put in another place.
HOMES: Mapping[str, str] = {
    **dict.fromkeys(
        ("relevantBeliefs", "pinnedFacts", "openQuestions", "personaPrelude"), "`expect`"
    ),
    **dict.fromkeys(("noiseCheck", "topicRetrieval"), "a turn's `expect`"),
    **dict.fromkeys(("mustInclude", "mustExclude"), _TIER),
    "shouldOnlyInclude": "`relevantBeliefs` or `openQuestions`",
    "orderedBefore": "`relevantBeliefs` or `pinnedFacts`",
    "mustNotSurface": "a turn's `expect.noiseCheck`",
    **dict.fromkeys(
        ("nonEmpty", "isNull", "contains", "mustNotContain"), "`expect.personaPrelude`"
    ),
    "expect": "a case or a turn",
    "budget": "a case",
    "maxBeliefs": "a case's `budget`",
    **dict.fromkeys(("query", "category"), "a case"),
    **dict.fromkeys(("caseId", "userId", "description", "notes"), "a case or a session"),
    **dict.fromkeys(("dependsOn", "turns"), "a session"),
    "rationale": "a case, a session or a turn",
    **dict.fromkeys(
        ("userMessage", "topics", "turnIndex", "createBeliefAtTurn", "updateBeliefAtTurn"), "a turn"
    ),
    **dict.fromkeys(
        ("addAliases", "removeAliases", "setContent", "supersededBy", "resolvedAt", "beliefId"),
        "`updateBeliefAtTurn`",
    ),
    **dict.fromkeys(("superseded_by", "resolved_at", "pinned", "aliases", "content"), "a belief"),
}


def ok(findings: Iterable[Finding]) -> bool:
    """Whether there is no error; warnings are allowed."""
    return all(finding.severity != ERROR for finding in findings)


def lint(directory: Path | None = None) -> list[Finding]:
    """Everything that is wrong with the corpus in ``directory`` (default: the native one).

    A ``manifest.json`` and a ``README.md`` beside the files are checked against them.
    """
    home = NATIVE_DIR if directory is None else Path(directory)
    if not home.is_dir():
        message = f"no such directory; give one that holds {', '.join(CORPUS_FILES)}"
        return [error("no-directory", str(home), message)]
    files: dict[str, Any] = {}
    unreadable = []
    for name in CORPUS_FILES:
        try:
            files[name] = read_json(home / name)
        except CorpusError as problem:
            unreadable.append(error("unreadable-file", name, str(problem)))
            files[name] = []
    reader = Reader()
    corpus = parse_corpus(home.resolve().name, files, reader)
    if unreadable:
        # Without one of the files, every id in it would be missed in the others.
        return [*unreadable, *_form(reader.problems)]
    found = lint_corpus(corpus, files, reader.problems)
    found.extend(manifest_findings(home))
    # A change of a belief that is not there makes counting fail; it has been reported.
    with suppress(CorpusError):
        found.extend(readme_findings(home, counts(corpus)))
    return found


def lint_corpus(
    corpus: Corpus, raw_files: Mapping[str, Any], problems: Iterable[Problem]
) -> list[Finding]:
    """Everything that is wrong with a corpus that has been read.

    Args:
        corpus: What :func:`pmb_hf.parsing.parse_corpus` made of the files.
        raw_files: The parsed JSON of the files, by file name.
        problems: What the reader found wrong with their form.
    """
    found = list(_form(problems))
    found.extend(belief_rules(corpus, raw_files))
    found.extend(case_rules(corpus))
    for subjects in (case_subjects(corpus, raw_files), turn_subjects(corpus, raw_files, found)):
        for subject in subjects:
            for rule in RULES:
                found.extend(rule(subject))
    return found


def _form(problems: Iterable[Problem]) -> Iterator[Finding]:
    """Faults of form; a known key in the wrong place is told where it belongs."""
    for where, code, message in problems:
        key = where.rpartition(".")[2]
        if code != "unknown-key":
            yield error(code, where, message)
        elif key in HOMES:
            home = HOMES[key]
            yield error(
                "misplaced-key",
                where,
                f"`{key}` belongs to {home}; here it is never checked. Move it there ({message})",
            )
        else:
            near = get_close_matches(key, message.rpartition(": ")[2].split(", "), 1)
            hint = f"; did you mean {near[0]!r}?" if near else "; correct or remove it"
            yield error(code, where, f"{message}{hint}")
