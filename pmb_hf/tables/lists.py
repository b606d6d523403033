"""Lists: the providers, the measures, and what the linter found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..doctor import Check
from ..lint import ERROR, Finding
from ..measures import Measure
from ..providers.protocol import Option, ProviderInfo
from .cells import NONE
from .layout import BAD, BOLD, DIM, GOOD, WARN, add_text, plain, table
from .text import clean, count_of


def providers(infos: Iterable[ProviderInfo]) -> Table:
    """Name, state and summary of each provider, and the names of its options."""
    made = table("Provider")
    add_text(made, "state", keep=True)
    add_text(made, "what it does, and its options")
    for info in infos:
        about: list[RenderableType] = [plain(info.summary)]
        about += [_install(info)] if info.state == "installable" else []
        if info.options:
            about.append(plain(", ".join(option.name for option in info.options), DIM))
        made.add_row(plain(info.name, BOLD), _state(info), Group(*about))
    return made


def provider(info: ProviderInfo) -> RenderableType:
    """One provider with its options, their defaults and what they are for."""
    head = plain(info.name, BOLD) + Text("  ") + _state(info)
    parts: list[RenderableType] = [head, plain(info.summary)]
    parts += [_install(info)] if info.state == "installable" else []
    if not info.options:
        return Group(*parts, Text("It declares no options.", style=DIM))
    options = table("Option")
    add_text(options, "default", keep=True)
    add_text(options, "what for")
    for option in info.options:
        options.add_row(plain(option.name), plain(_default(option), DIM), plain(option.help))
    return Group(*parts, Text(), options)


def _state(info: ProviderInfo) -> Text:
    return plain(info.state, WARN if info.state == "installable" else DIM)


def _install(info: ProviderInfo) -> Text:
    return plain(f"pip install 'pmb-hf[{info.extra}]'" if info.extra else "not installed", WARN)


def _default(option: Option) -> str:
    value = option.default
    if value is None:
        return "none"
    return str(value).lower() if isinstance(value, bool) else str(value)


def measures(items: Iterable[Measure]) -> Table:
    """Key, unit, direction and definition of each measure."""
    made = table("Measure")
    add_text(made, "unit", keep=True)
    add_text(made, "better", keep=True)
    add_text(made, "definition")
    for measure in items:
        definition = Text(measure.definition)
        if measure.null != "never":
            definition.append(f" Null if {measure.null}.", style=DIM)
        better = Text(NONE if measure.better == "none" else measure.better, style=DIM)
        made.add_row(
            Text(measure.name, style=BOLD), Text(measure.unit, style=DIM), better, definition
        )
    return made


def findings(found: Sequence[Finding], name: str) -> RenderableType:
    """Every finding of the linter with its place, errors first, and how many there are."""
    parts: list[RenderableType] = []
    for finding in sorted(found, key=lambda f: f.severity != ERROR):
        head = Text(finding.severity, style=BAD if finding.severity == ERROR else WARN)
        head.append(f"  {clean(finding.code)}", style=BOLD)
        head.append(f"  {clean(finding.where)}", style=DIM)
        parts += [head, Text("  ") + plain(finding.message)]
    errors = sum(finding.severity == ERROR for finding in found)
    tally = f"{count_of(errors, 'error')}, {count_of(len(found) - errors, 'warning')}"
    parts.append(Text(f"{clean(name)}: {tally}", style=BAD if errors else ""))
    return Group(*parts)


def checks(done: Iterable[Check]) -> Table:
    """What the doctor has found, check by check, with what helps."""
    rows = Table.grid(padding=(0, 2))
    rows.add_column(no_wrap=True)
    rows.add_column(no_wrap=True)
    rows.add_column(overflow="fold")
    for check in done:
        if check.ok is None:
            verdict = Text("–", style=DIM)
        elif check.ok:
            verdict = Text("ok", style=GOOD)
        else:
            verdict = Text("bad", style=BAD if check.required else WARN)
        about: list[RenderableType] = [plain(check.detail, DIM if check.ok is not False else "")]
        about += [plain(check.advice, BOLD)] if check.advice else []
        rows.add_row(verdict, plain(check.name), Group(*about))
    return rows
