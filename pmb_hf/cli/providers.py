"""``pmb providers``: which memory systems there are, and environments for them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from ..errors import UnknownNameError
from .options import JsonOption, examples, hint
from .output import line, note, show, show_json

SHOW = "show"


class _ShowsByDefault(TyperGroup):
    """``pmb providers NAME`` is ``pmb providers show NAME``."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Take a word that is no command for a name to show."""
        if args and args[0] not in self.commands:
            args = [SHOW, *args]
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=_ShowsByDefault,
    help="List memory systems that can be run, and install them.",
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(
    invoke_without_command=True,
    epilog=examples("pmb providers", "pmb providers mem0", "pmb providers install mem0"),
)
def root(ctx: typer.Context, as_json: JsonOption = False) -> None:
    """List the memory systems that can be run, or do something about one of them.

    `pmb providers NAME` shows one with its options.
    """
    ctx.obj = as_json
    if ctx.invoked_subcommand is None:
        _list(None, as_json)


@app.command(
    SHOW, epilog=examples("pmb providers show bm25", "pmb providers bm25", "pmb providers --json")
)
def show_providers(
    ctx: typer.Context,
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Show this one with its options.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List memory systems with their states, or show one.

    The word `show` may be left out.
    """
    _list(name, as_json or bool(ctx.obj))


@app.command(
    epilog=examples(
        "pmb providers install mem0",
        "pmb providers install mem0 --upgrade",
        "pmb providers install mem0 --python /usr/bin/python3.12",
    )
)
def install(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name of `pmb providers`.")],
    upgrade: Annotated[
        bool, typer.Option("--upgrade", help="Make the environment anew if it is there.")
    ] = False,
    python: Annotated[
        Path | None,
        typer.Option("--python", metavar="PATH", help="The Python to make it from."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Install a memory system into an environment of its own.

    Versions are locked. `pmb run --provider NAME` then runs it there. Environments lie among the
    user's data, or where PMB_ENVIRONMENTS says.
    """
    from ..providers.environments.install import differences
    from ..providers.environments.install import install as make
    from ..providers.environments.places import installed
    from ..providers.environments.recipes import recipe

    chosen = recipe(_environment(name))
    before = installed(chosen.name)
    made = make(chosen, upgrade=upgrade, python=None if python is None else str(python), tell=note)
    if before is not None and made.directory == before.directory:
        stale = made.lock != chosen.lock_hash
        note("it is there already" + ("; --upgrade brings newer versions" if stale else ""))
    for text in differences(chosen, made):
        note(f"not as locked: {text}")
    if as_json:
        show_json(
            {
                "environment": made.name,
                "version": made.version,
                "python": made.python,
                "directory": str(made.directory),
                "packages": made.packages,
            }
        )
    else:
        line(f"{made.name} {made.version} on Python {made.python}: {made.directory}")


@app.command(epilog=examples("pmb providers remove mem0"))
def remove(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name of `pmb providers`.")],
) -> None:
    """Remove the environment of a memory system."""
    from ..providers.environments.install import remove as take_away

    environment = _environment(name)
    line(f"{environment}: " + ("removed" if take_away(environment) else "was not installed"))


def _environment(name: str) -> str:
    """The environment of a provider.

    Raises:
        UnknownNameError: It has none.
    """
    from ..providers.catalog import BUILT_IN

    by_name = {spec.name: spec.environment for spec in BUILT_IN if spec.environment is not None}
    if name in by_name:
        return by_name[name]
    if name in by_name.values():
        return name
    raise UnknownNameError(f"no environment for {name!r}{hint(name, sorted(by_name))}")


def _list(name: str | None, as_json: bool) -> None:
    from ..providers.registry import available

    infos = available()
    if name is not None:
        known = [info.name for info in infos]
        infos = [info for info in infos if info.name == name]
        if not infos:
            raise UnknownNameError(f"no provider {name!r}{hint(name, known)}")
    if as_json:
        from .views import provider

        show_json({"providers": [provider(info) for info in infos]})
        return
    from ..tables import lists as tables

    show(*(map(tables.provider, infos) if name else [tables.providers(infos)]))
