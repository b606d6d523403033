"""Lists: the providers, the measures, and what the linter found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..doctor import Check
from ..explain import Subject
from ..lint import ERROR, Finding
from ..measures import Measure
from ..providers.protocol import ProviderInfo
from .cells import NONE
from .layout import BAD, BOLD, DIM, GOOD, WARN, add_text, plain, short, table
from .text import clean, count_of, typed


def providers(infos: Iterable[ProviderInfo]) -> Table:
    """Name, state and summary of each provider, and the names of its options."""
    made = table("Provider")
    add_text(made, "state", keep=True)
    add_text(made, "what it does, and its options")
    for info in infos:
        about: list[RenderableType] = [plain(info.summary)]
        about += _remarks(info)
        if info.options:
            about.append(plain(", ".join(option.name for option in info.options), DIM))
        made.add_row(plain(info.name, BOLD), _state(info), Group(*about))
    return made


def provider(info: ProviderInfo) -> RenderableType:
    """One provider with its options, their defaults and what they are for."""
    head = plain(info.name, BOLD) + Text("  ") + _state(info)
    parts: list[RenderableType] = [head, plain(info.summary)]
    parts += _remarks(info)
    if info.package is not None:
        parts.append(plain(f"for {info.package}", DIM))
    if not info.options:
        return Group(*parts, Text("It declares no options.", style=DIM))
    options = table("Option")
    add_text(options, "default", keep=True)
    add_text(options, "what for")
    for option in info.options:
        options.add_row(plain(option.name), plain(typed(option.default), DIM), plain(option.help))
    return Group(*parts, Text(), options)


def _state(info: ProviderInfo) -> Text:
    done = info.state in {"built in", "installed", "hidden"}
    text = plain(info.state, DIM if done else WARN)
    if info.version is not None:
        text.append(f" {clean(info.version)}", DIM)
    return text


def _remarks(info: ProviderInfo) -> list[Text]:
    """What to do before it can be run, and what is not known of it."""
    remarks = [] if info.hint is None else [plain(info.hint, WARN)]
    if info.state == "installable" and info.hint is None:
        remarks.append(plain("not installed", WARN))
    if not info.live:
        remarks.append(plain("not run live", WARN))
    if info.interface is not None:
        remarks.append(plain(f"written for {info.interface}", DIM))
    return remarks


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


def cases(found: Iterable[Subject]) -> Table:
    """Id, category and query of each case and turn."""
    made = table("Case")
    add_text(made, "category")
    add_text(made, "query")
    for subject in found:
        turn = "" if subject.turn_index is None else f" --turn {subject.turn_index}"
        query = short(subject.query) if subject.query.strip() else Text("(blank)", style=DIM)
        made.add_row(plain(subject.case_id + turn, BOLD), plain(subject.category, DIM), query)
    return made


def findings(found: Sequence[Finding], name: str, *, known: int = 0) -> RenderableType:
    """Every finding of the linter with its place, errors first, and how many there are.

    The first ``known`` of them are upstream's own faults, which are tolerated.
    """
    parts: list[RenderableType] = []
    for finding in sorted(found, key=lambda f: f.severity != ERROR):
        head = Text(finding.severity, style=BAD if finding.severity == ERROR else WARN)
        head.append(f"  {clean(finding.code)}", style=BOLD)
        head.append(f"  {clean(finding.where)}", style=DIM)
        parts += [head, Text("  ") + plain(finding.message)]
    errors = sum(finding.severity == ERROR for finding in found)
    tally = f"{count_of(errors, 'error')}, {count_of(len(found) - errors, 'warning')}"
    new = [finding for finding in found[known:] if finding.severity == ERROR]
    parts.append(Text(f"{clean(name)}: {tally}", style=BAD if new else ""))
    if known:
        which = "They" if known == len(found) else f"{known} of them"
        parts.append(
            Text(
                f"{which} are known: these are upstream's files as it published them, and they "
                "are read and scored as they are. There is nothing to mend here."
            )
        )
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
            verdict = Text("bad", BAD) if check.required else Text("advice", WARN)
        about: list[RenderableType] = [plain(check.detail, DIM if check.ok is not False else "")]
        about += [plain(check.advice, BOLD)] if check.advice else []
        rows.add_row(verdict, plain(check.name), Group(*about))
    return rows
