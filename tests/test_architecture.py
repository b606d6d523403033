"""The arrows between modules, read from their syntax trees: they point inward only."""

from __future__ import annotations

import ast
import io
import sys
import tokenize
import warnings
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "pmb_hf"
METRIC = ROOT / "metric" / "precisionmembench"
OF_THE_PAGE = {"parquet_rows", "visitors"}
"""What the metric's page needs, and the metric does not."""

REQUIRED = (
    *("errors", "scoring", "rules", "summary", "measures", "schema", "context", "report"),
    *("runner", "session", "journal", "lint", "official", "builder"),
)

# Inner rooms: each may see exactly these rooms of the package and the standard library.
# A room is a top-level module or subpackage. The first six are what the metric is made of.
RECORDS = {"records"}
SCORING = RECORDS | {"assertions", "scoring"}
SCORES = SCORING | {"rules", "summary", "rows"}
CORPUS = {"errors", "strict", "schema"} | SCORING
SEES: dict[str, set[str]] = {
    "records": set(),
    "assertions": RECORDS,
    "scoring": RECORDS | {"assertions"},
    "rules": SCORING,
    "summary": SCORING | {"rules"},
    "rows": SCORING | {"rules", "summary"},
    "errors": set(),
    "measures": SCORES | {"errors"},
    "strict": {"errors"},
    "schema": {"errors", "strict"} | SCORING,
    "parsing": CORPUS,
    "states": CORPUS,
    "context": CORPUS | {"rules", "states"},
    "expectations": CORPUS | {"rules", "states", "context"},
}
# These compute: no file, process, clock or network.
PURE = [room for room in SEES if room not in {"errors", "measures"}]
IO_MODULES = {
    *("asyncio", "glob", "http", "httpx", "io", "logging", "multiprocessing", "os", "pathlib"),
    *("random", "requests", "shutil", "socket", "sqlite3", "ssl", "subprocess", "sys"),
    *("tempfile", "threading", "time", "urllib"),
}
IO_BUILTINS = {"open", "print", "input", "exec", "eval", "__import__"}

# Outer rooms: what they must not see, at any level, even inside a function.
PUBLISHING = {"leaderboard", "hub", "formats", "hf_export", "hf_export_card"}
OUTERMOST = PUBLISHING | {"cli", "compare", "curves", "diagnose", "serve", "stats"}
RUNNING = {"runner", "session", "journal", "evaluation"}
BLIND_TO: dict[str, set[str]] = {
    "corpus": RUNNING | OUTERMOST | {"report", "providers", "builder"},
    "official": RUNNING | OUTERMOST | {"report", "providers", "builder"},
    "lint": RUNNING | OUTERMOST | {"report", "providers", "builder"},
    "builder": RUNNING | OUTERMOST | {"report", "providers"},
    "providers": RUNNING | OUTERMOST | {"report", "builder"},
    "report": RUNNING | OUTERMOST | {"providers", "corpus", "official", "lint", "builder"},
    "journal": OUTERMOST | {"runner", "session", "providers", "builder"},
    "runner": OUTERMOST | {"builder", "official", "lint"},
    "session": OUTERMOST | {"builder", "official", "lint"},
    "evaluation": OUTERMOST | {"builder", "providers", "runner", "session", "journal"},
    "grow": RUNNING | OUTERMOST | {"report", "providers", "builder", "lint"},
    "engines": OUTERMOST | {"builder", "lint", "report", "sweep", "scale"},
    "scale": PUBLISHING | {"cli", "serve", "builder", "runner", "session", "journal"},
    "board": {"cli", "serve", "runner", "session", "journal", "providers", "builder"},
    "sweep": {"cli", "serve", "builder", "runner", "session", "journal"},
    "submission": RUNNING | {"cli", "serve", "builder", "providers", "report"},
    **{room: {"runner", "session", "journal", "providers", "cli"} for room in PUBLISHING},
}

# Third-party packages that a module may import when it is imported itself. All others, the SDKs
# of vendors above all, are imported inside the function that needs them.
AT_MODULE_LEVEL: dict[str, set[str]] = {
    "builder": {"datasets"},
    "cli": {"click", "rich", "typer"},
    "tables": {"rich"},
    "hub": {"huggingface_hub"},
    "official": {"httpx"},
    "pytest_plugin": {"pytest"},
    "serve": {"fastapi", "pydantic", "starlette", "uvicorn"},
    "providers.bm25": {"tantivy"},
    "providers.structured": {"tantivy"},
    "providers.tantivy_store": {"tantivy"},
    "providers.http": {"httpx"},
}
ANYWHERE = {"platformdirs", "typing_extensions"}

MODULE_LINES_SOFT, MODULE_LINES, FUNCTION_LINES = 300, 330, 60


class Import(NamedTuple):
    """One imported module: dotted, absolute, and when it is imported."""

    target: str
    line: int
    at_import: bool  # outside functions and `if TYPE_CHECKING:`
    for_types: bool  # inside `if TYPE_CHECKING:`


@cache
def files() -> dict[str, Path]:
    """Dotted name below the package -> file; the package itself is ''."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        if parts[0] == "_hub":
            continue
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def modules() -> list[str]:
    """All modules except the façade, which names the public ones."""
    return [name for name in files() if name]


def room(name: str) -> str:
    """The top-level module or subpackage that a dotted name belongs to."""
    return name.partition(".")[0]


@cache
def tree(path: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def _is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")


def _targets(node: ast.Import | ast.ImportFrom, name: str, is_package: bool) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if not node.level:
        return [node.module or ""]
    here = ["pmb_hf", *filter(None, name.split("."))]
    base = here[: len(here) - node.level + is_package]
    if node.module:
        base = [*base, *node.module.split(".")]
    # `from . import x` may name a module or an attribute; `from .x import y` too.
    inside = [".".join([*base, alias.name]) for alias in node.names]
    known = [target for target in inside if target.removeprefix("pmb_hf.") in files()]
    return known if len(known) == len(inside) else [".".join(base), *known]


@cache
def imports(name: str) -> tuple[Import, ...]:
    """Every import of a module, wherever it stands."""
    path = files()[name]
    found: list[Import] = []

    def visit(node: ast.AST, at_import: bool, for_types: bool) -> None:
        if isinstance(node, ast.Import | ast.ImportFrom):
            found.extend(
                Import(target, node.lineno, at_import, for_types)
                for target in _targets(node, name, path.name == "__init__.py")
            )
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            at_import = False
        if isinstance(node, ast.If) and _is_type_checking(node):
            for child in node.body:
                visit(child, at_import=False, for_types=True)
            for child in node.orelse:
                visit(child, at_import, for_types)
            return
        for child in ast.iter_child_nodes(node):
            visit(child, at_import, for_types)

    visit(tree(path), at_import=True, for_types=False)
    return tuple(found)


def own(name: str) -> list[tuple[str, Import]]:
    """(dotted name below the package, import) of each import of another module of the package."""
    return [
        (target.removeprefix("pmb_hf").removeprefix("."), found)
        for found in imports(name)
        if (target := found.target) == "pmb_hf" or target.startswith("pmb_hf.")
    ]


def foreign(name: str) -> list[tuple[str, Import]]:
    """(top-level package, import) of each import that is neither ours nor the standard library."""
    return [
        (top, found)
        for found in imports(name)
        if (top := found.target.partition(".")[0]) != "pmb_hf"
        and top not in sys.stdlib_module_names
    ]


@pytest.mark.parametrize("name", REQUIRED)
def test_core_module_is_there(name: str) -> None:
    assert name in files(), f"pmb_hf/{name}.py is missing"


@pytest.mark.parametrize("name", modules())
def test_arrows_point_inward(name: str) -> None:
    here = room(name)
    bad = []
    for target, found in own(name):
        there = room(target)
        if there in {here, "_version"}:
            continue
        allowed = there in SEES[here] if here in SEES else there not in BLIND_TO.get(here, set())
        if (there == "cli" and here != "__main__") or not allowed:
            bad.append(f"line {found.line}: {here} must not import {target or 'pmb_hf itself'}")
    assert not bad, "\n".join(bad)


@pytest.mark.parametrize("name", modules())
def test_runner_and_session_see_no_adapter(name: str) -> None:
    if room(name) not in {"runner", "session"}:
        return
    adapters = {
        target
        for target, _ in own(name)
        if room(target) == "providers"
        and target not in {"providers", "providers.protocol", "providers.registry"}
    }
    assert not adapters, "a run knows the protocol, not the adapters"


@pytest.mark.parametrize("name", modules())
def test_third_party_imports_at_module_level(name: str) -> None:
    allowed = ANYWHERE | AT_MODULE_LEVEL.get(name, AT_MODULE_LEVEL.get(room(name), set()))
    bad = [
        f"line {found.line}: import {top} inside the function that needs it"
        for top, found in foreign(name)
        if found.at_import and top not in allowed
    ]
    assert not bad, "\n".join(bad)


@pytest.mark.parametrize("name", ["runner", "session", "journal", "report", "evaluation"])
def test_a_run_needs_no_datasets(name: str) -> None:
    tops = {top for module in modules() if room(module) == name for top, _ in foreign(module)}
    assert not tops & {"datasets", "evaluate", "pyarrow", "gradio"}


@pytest.mark.parametrize("name", [name for name in modules() if room(name) in PURE])
def test_pure_modules_only_compute(name: str) -> None:
    bad = [f"line {found.line}: {top} is not standard library" for top, found in foreign(name)]
    bad += [
        f"line {found.line}: {found.target} does input or output"
        for found in imports(name)
        if found.target.partition(".")[0] in IO_MODULES
    ]
    bad += [
        f"line {node.lineno}: calls {node.func.id}()"
        for node in ast.walk(tree(files()[name]))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in IO_BUILTINS
    ]
    assert not bad, "\n".join(bad)


def test_no_cycle_while_importing() -> None:
    edges = {
        name: {target for target, found in own(name) if found.at_import and target != name}
        for name in modules()
    }
    done: set[str] = set()

    def visit(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, "import cycle: " + " -> ".join((*trail, name))
        if name in done or name not in edges:
            return
        for target in edges[name]:
            visit(target, (*trail, name))
        done.add(name)

    for name in edges:
        visit(name, ())


def _docstring_lines(node: ast.AST) -> set[int]:
    lines: set[int] = set()
    for inner in ast.walk(node):
        if not isinstance(
            inner, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        ):
            continue
        # Strings that stand alone document a module, class, function or attribute.
        for statement in inner.body:
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                lines.update(range(statement.lineno, (statement.end_lineno or 0) + 1))
    return lines


@cache
def code_lines(path: Path) -> frozenset[int]:
    """Numbers of the lines that hold code: no blank line, comment or docstring."""
    text = path.read_text(encoding="utf-8")
    layout = {
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
    }
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in layout:
            lines.update(range(token.start[0], token.end[0] + 1))
    return frozenset(lines - _docstring_lines(tree(path)))


@pytest.mark.parametrize("name", list(files()))
def test_modules_and_functions_stay_small(name: str) -> None:
    path = files()[name]
    total = len(code_lines(path))
    assert total <= MODULE_LINES, (
        f"{path.name} has {total} lines of code; split it by what it knows"
    )
    if total > MODULE_LINES_SOFT:
        warnings.warn(f"{path.name} has {total} lines of code", stacklevel=1)
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            # A command's options stand in its signature; what it does is the body.
            body = range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1)
            length = len(code_lines(path).intersection(body))
            assert length <= FUNCTION_LINES, f"{path.name}: {node.name}() has {length} lines"


def test_metric_is_made_of_links_to_the_package() -> None:
    links = {path.stem: path for path in METRIC.glob("*.py") if path.is_symlink()}
    for name in OF_THE_PAGE:
        assert links.pop(name).readlink() == Path(f"../../pmb_hf/board/{name}.py")
        assert not any(i.target.startswith("pmb_hf") for i in imports(f"board.{name}"))
    assert {"scoring", "rules", "summary"} <= set(links)
    for name, link in links.items():
        assert not link.readlink().is_absolute(), f"{link} must be a relative link"
        assert link.resolve() == PACKAGE / f"{name}.py"
        assert name in SCORES, f"{name} is not one of the pure files that score"
    real = {path.name for path in METRIC.glob("*.py") if not path.is_symlink()}
    assert real <= {"precisionmembench.py", "app.py", "tests.py"}


def test_metric_names_every_file_that_it_needs() -> None:
    # evaluate copies only the siblings that the main script itself imports with
    # `from .name import ...`, so a sibling's sibling must be named there as well.
    script = METRIC / "precisionmembench.py"
    links = {path.stem for path in METRIC.glob("*.py") if path.is_symlink()} - OF_THE_PAGE
    named = set()
    for node in ast.walk(tree(script)):
        if isinstance(node, ast.ImportFrom) and node.level:
            assert node.level == 1
            assert node.module, "write `from .name import ...`, not `from . import name`"
            named.add(node.module)
        elif isinstance(node, ast.Import):
            assert len(node.names) == 1, f"line {node.lineno}: one import a line"
            assert node.names[0].name.partition(".")[0] != "pmb_hf"
        elif isinstance(node, ast.ImportFrom):
            assert (node.module or "").partition(".")[0] != "pmb_hf"
    assert named == links
    for name in links:
        for node in ast.walk(tree(PACKAGE / f"{name}.py")):
            if isinstance(node, ast.ImportFrom) and node.level:
                assert node.level == 1
                assert node.module in links, f"{name} needs {node.module}, which is not linked"


def test_the_space_sees_the_board_and_never_runs_or_scores() -> None:
    allowed = {"pmb_hf.board", "pmb_hf.errors", "pmb_hf.rules"}
    for path in sorted((ROOT / "space").glob("*.py")):
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pmb_hf"):
                room_of = ".".join((node.module or "").split(".")[:2])
                assert room_of in allowed, f"{path.name} must not import {node.module}"
