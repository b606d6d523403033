"""Writes the command line's reference, ``docs/cli.md``, from the commands themselves.

``python -m pmb_hf.cli.reference > docs/cli.md`` renews it; a test holds it up to date.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import typer

from .guard import EXIT_CODES

_HEAD = """\
# Command line

<!-- Made by `python -m pmb_hf.cli.reference > docs/cli.md`; change the help texts instead. -->

Tables go to standard output, progress and notes to standard error. With `--json` standard output
is one strict JSON value and nothing else. `NO_COLOR` is respected, and output that is no terminal
has no colours and is as wide as `COLUMNS` says (default: 80).
"""


def render() -> str:
    """The reference as Markdown."""
    from .app import app

    root = typer.main.get_command(app)
    commands = "\n".join(_section(path, command) for path, command in _walk(("pmb",), root))
    codes = "\n".join(f"| {code} | {meaning} |" for code, meaning in EXIT_CODES.items())
    return f"{_HEAD}\n## Exit codes\n| code | meaning |\n|---|---|\n{codes}\n\n{commands}"


def _walk(path: tuple[str, ...], command: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command that does something, with its path. The kinds of click differ by version."""
    inner = getattr(command, "commands", None)
    if inner is None:
        yield path, command
        return
    for name, child in inner.items():
        yield from _walk((*path, name), child)


def _section(path: tuple[str, ...], command: Any) -> str:
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option"]
    names = [argument.metavar for argument in arguments]
    usage = " ".join([*path, *(["[OPTIONS]"] if options else []), *names])
    rows = [(f"`{a.metavar}`", a.help or "") for a in arguments]
    rows += [(_names(o), _meaning(o)) for o in options if "--help" not in o.opts]
    table = "\n".join(f"| {name} | {_cell(text)} |" for name, text in rows)
    lines = [line.strip() for line in (command.epilog or "").splitlines()]
    examples = "\n".join(line for line in lines if line.startswith("pmb "))
    return (
        f"## `{' '.join(path)}`\n{inspect.cleandoc(command.help or '')}\n\n"
        f"Usage: `{usage}`\n\n"
        + (f"| | |\n|---|---|\n{table}\n\n" if rows else "")
        + f"```console\n{examples}\n```\n"
    )


def _names(option: Any) -> str:
    value = "" if option.is_flag else f" {option.metavar}"
    return ", ".join(f"`{name}{value}`" for name in sorted(option.opts, key=len, reverse=True))


def _meaning(option: Any) -> str:
    text: str = option.help or ""
    if option.required:
        return f"{text} Required."
    shown = option.default not in (None, "", False) and option.default != []
    return f"{text} Default: `{option.default}`." if shown and not option.is_flag else text


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    typer.echo(render(), nl=False)
