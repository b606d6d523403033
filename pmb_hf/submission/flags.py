"""Red flags: what a memory system has no need of, unless it knows that it is being measured."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ..corpus import load_corpus
from ..errors import PmbError
from ..schema import Corpus
from .fields import NAME, Fields
from .files import Finding, Text

_BENCHMARK = re.compile(
    r"precision[ _-]?mem[ _-]?bench|\bpmb[_-](?:hf|doctor|run)\w*|\bpmb_\w+"
    r"|\bmustInclude\b|\bmustExclude\b|\bshouldOnlyInclude\b|\bmustNotSurface\b|\bnoiseCheck\b|retrieval\.cases|beliefs\.seed",
    re.IGNORECASE,
)
_SCORE = re.compile(r"(?i)score|similarity|distance|relevance|confidence|certainty|cosine")
_CAP = re.compile(
    r"(?i)^(?:default_|my_|max_|min_|_)*(?:top_?k|top_?n|k|limit|max_?results?|max_?hits|n_results"
    r"|num_results|size|threshold|cutoff|cut_off|min_?score|score_?threshold|similarity_?threshold"
    r"|max_?distance|min_?similarity)$"
)
_LITERAL = re.compile(
    r"(?i)\b((?:default_|max_|min_)?(?:top_?k|top_?n|n_results|limit|max_?results?|threshold|cutoff"
    r"|min_?score|score_?threshold|similarity_?threshold))[\"']?\s*(?::=|[:=])\s*(\d+(?:\.\d+)?)\b"
    r"|\b(\w*(?:score|similarity|distance)\w*)\s*(?:[<>]=?)\s*(\d+(?:\.\d+)?)\b"
    r"|\.(slice)\(\s*0\s*,\s*(\d+)\s*\)"
)
_SHORTEST_TEXT = 16
_IDLE = {0}


class Known(NamedTuple):
    """What stands in a corpus and so in no honest wrapper: its words, and a pattern of them."""

    corpus: str
    kinds: dict[str, str]
    pattern: re.Pattern[str]


def known_corpora() -> list[Known]:
    """The native corpus, and the official one if it is here."""
    found = []
    for name in ("native", "official"):
        try:
            found.append(_known(load_corpus(name)))
        except (PmbError, OSError):
            continue
    return found


def _known(corpus: Corpus) -> Known:
    kinds = {belief.id: "belief" for belief in corpus.beliefs}
    kinds |= {belief.content: "text of a belief" for belief in corpus.beliefs}
    kinds |= {case.case_id: "case" for case in corpus.cases}
    kinds |= {case.query: "query" for case in corpus.cases if case.query}
    kinds |= {session.case_id: "session" for session in corpus.sessions}
    kinds = {
        text: kind
        for text, kind in kinds.items()
        if kind in {"belief", "case", "session"} or len(text) >= _SHORTEST_TEXT
    }
    longest_first = sorted(kinds, key=len, reverse=True)
    words = "|".join(map(re.escape, longest_first))
    return Known(corpus.name, kinds, re.compile(rf"(?<![\w-])(?:{words})(?![\w-])"))


def flag_findings(
    texts: Sequence[Text], fields: Fields, corpora: Iterable[Known]
) -> Iterator[Finding]:
    """Red flags of the source files, by file and line."""
    known = list(corpora)
    for text in texts:
        if text.name.endswith((".md", ".lock")) or text.name == "LICENSE":
            continue
        yield from _of_a_corpus(text, known)
        if not text.is_source:
            continue
        for number, line in text.numbered():
            match = _BENCHMARK.search(line)
            if match:
                yield text.error(
                    number,
                    "detects-benchmark",
                    f"{match.group()!r}: a wrapper must not know that it is being measured",
                )
        yield from _constants(text, fields)


def _of_a_corpus(text: Text, corpora: Iterable[Known]) -> Iterator[Finding]:
    for corpus in corpora:
        for number, line in text.numbered():
            for match in corpus.pattern.finditer(line):
                kind = corpus.kinds[match.group()]
                shown = match.group() if len(match.group()) < 60 else match.group()[:59] + "…"
                yield text.error(
                    number, "knows-corpus", f"{shown!r} is a {kind} of the {corpus.corpus} corpus"
                )


def _constants(text: Text, fields: Fields) -> Iterator[Finding]:
    try:
        found = list(_python(text) if text.path.endswith(".py") else _other(text))
    except (RecursionError, MemoryError):  # both are how Python tells of what is too deep
        yield text.error(None, "unread", "nested too deeply to be looked into; write it flatter")
        found = list(_other(text))
    for number, name, value in sorted(set(found)):
        told = f"{name} is fixed at {value}: that may cut what the benchmark asks for"
        if name.lower() in fields.constants:
            yield text.warning(number, "constant", f"{told}; {NAME} says why")
        else:
            yield text.error(
                number,
                "constant",
                f"{told}; use the request's limit and the system's own default, or say why in "
                f"{NAME} as constants: {{{name}: reason}}",
            )


def _other(text: Text) -> Iterator[tuple[int, str, str]]:
    for number, line in text.numbered():
        for match in _LITERAL.finditer(line):
            parts = [part for part in match.groups() if part]
            if len(parts) == 2 and float(parts[1]) not in _IDLE:
                yield number, parts[0], parts[1]


def _python(text: Text) -> Iterator[tuple[int, str, str]]:
    """Comparisons of scores, slices, arguments and names of limits, with a number."""
    try:
        tree = ast.parse("\n".join(text.lines))
    except (SyntaxError, ValueError):
        yield from _other(text)
        return
    numbers = {
        target.id: _shown(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and _number(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign):
            yield from _assigned(node)
        elif isinstance(node, ast.Compare):
            yield from _compared(node, numbers)
        elif isinstance(node, ast.Call):
            yield from _called(node)
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
            upper = node.slice.upper
            if upper is not None and node.slice.lower is None and _number(upper):
                yield node.lineno, _name(node.value) or "a slice", _shown(upper)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _defaults(node)


def _assigned(node: ast.Assign | ast.AnnAssign) -> Iterator[tuple[int, str, str]]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    for target in targets:
        name = _name(target)
        if name and _CAP.match(name) and node.value is not None and _number(node.value):
            yield node.lineno, name, _shown(node.value)


def _compared(node: ast.Compare, numbers: dict[str, str]) -> Iterator[tuple[int, str, str]]:
    sides = [node.left, *node.comparators]
    ordered = all(isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for op in node.ops)
    scored = next((name for side in sides if (name := _name(side)) and _SCORE.search(name)), None)
    if not ordered or scored is None:
        return
    for side in sides:
        if _number(side):
            yield node.lineno, scored, _shown(side)
        elif isinstance(side, ast.Name) and side.id in numbers:
            yield node.lineno, side.id, numbers[side.id]


def _called(node: ast.Call) -> Iterator[tuple[int, str, str]]:
    for keyword in node.keywords:
        if keyword.arg and _CAP.match(keyword.arg) and _number(keyword.value):
            yield node.lineno, keyword.arg, _shown(keyword.value)
    if isinstance(node.func, ast.Name) and node.func.id in {"min", "max"}:
        names = [name for a in node.args if (name := _name(a)) and _CAP.match(name)]
        for argument in node.args:
            if names and _number(argument):
                yield node.lineno, names[0], _shown(argument)


def _defaults(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[int, str, str]]:
    arguments = node.args
    plain = [*arguments.posonlyargs, *arguments.args]
    pairs = [
        *zip(plain[len(plain) - len(arguments.defaults) :], arguments.defaults, strict=True),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
    ]
    for argument, default in pairs:
        if default is not None and _CAP.match(argument.arg) and _number(default):
            yield default.lineno, argument.arg, _shown(default)


def _number(node: ast.AST) -> bool:
    """Whether it is a number that limits something; 0 does not."""
    if isinstance(node, ast.UnaryOp):
        return _number(node.operand)
    return (
        isinstance(node, ast.Constant)
        and isinstance(node.value, int | float)
        and not isinstance(node.value, bool)
        and node.value not in _IDLE
    )


def _shown(node: ast.AST) -> str:
    return ast.unparse(node)


def _name(node: ast.AST) -> str | None:
    """A variable's, an attribute's or a key's name."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return str(node.slice.value) if isinstance(node.slice.value, str) else _name(node.value)
    if isinstance(node, ast.Call):
        return _name(node.func)
    return None
