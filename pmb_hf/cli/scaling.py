"""``pmb scale``: one provider against stores of growing size."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from ..engines.running import RETRIES
from ..errors import InputError
from ..grow.recipe import DEFAULT_USERS
from .engine_options import (
    FAILED,
    AddressOption,
    EngineOption,
    HomeOption,
    RetriesOption,
    maker,
    told,
)
from .options import (
    CorpusOption,
    FixturesOption,
    JsonOption,
    RulesOption,
    examples,
    key_values,
    known_rules,
)
from .output import note, show, show_json

RESULT = "scale.json"

EPILOG = examples(
    "pmb scale --provider bm25 --sizes 35,1000,100000 -o scale-bm25/",
    "pmb scale -p bm25 --sizes 1000,10000 -o s/ --picture s.svg",
    "pmb scale -p http://localhost:8080 --sizes 35,1000 -o s/ --json",
)


def scale(
    provider: Annotated[
        str,
        typer.Option("--provider", "-p", metavar="NAME", help="One of `pmb providers`, or a URL."),
    ],
    sizes: Annotated[
        str,
        typer.Option("--sizes", metavar="N,N", help="Beliefs in the store, the corpus's included."),
    ],
    out: HomeOption,
    option: Annotated[
        list[str] | None,
        typer.Option("--option", metavar="K=V", help="An option of the provider; repeatable."),
    ] = None,
    corpus: CorpusOption = "native",
    fixtures: FixturesOption = None,
    rules: RulesOption = "spec",
    parts: Annotated[
        str, typer.Option("--parts", metavar="PARTS", help="retrieval, sessions, or both.")
    ] = "retrieval,sessions",
    name: Annotated[
        str | None, typer.Option("--name", metavar="LABEL", help="The provider's name in reports.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="S", help="Seed of the distractors.")] = 0,
    users: Annotated[
        int, typer.Option("--users", metavar="U", min=1, help="Other users that own some.")
    ] = DEFAULT_USERS,
    ready_timeout: Annotated[
        float,
        typer.Option(
            "--ready-timeout", metavar="S", min=0, help="Seconds until a write must show."
        ),
    ] = 600.0,
    picture: Annotated[
        Path | None,
        typer.Option("--picture", metavar="FILE", help="Draw it: .svg, .png or .html by its end."),
    ] = None,
    engine: EngineOption = "local",
    address: AddressOption = None,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers",
            metavar="N",
            min=1,
            help="Sizes at a time on this machine. Default: 1, so that none disturbs another's "
            "times.",
        ),
    ] = None,
    retries: RetriesOption = RETRIES,
    as_json: JsonOption = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """Run the cases on stores of growing size.

    Each size is a run of its own with its own report, among distractors of which
    none is a right answer (`pmb data grow`), so that precision, recall, drift,
    leaks, search times, ingestion and memory can be seen against the size. Sizes
    that are done are not run again. The exit code is 3 if any size failed.
    """
    from ..curve_chart import check_format
    from ..files import write_atomically
    from ..scale import Plan, view
    from ..scale import scale as measure
    from ..scale_chart import picture as draw
    from ..sweep.plan import check_provider
    from ..tables.layout import apart
    from ..tables.scale import cost_table, quality_table, remarks
    from .running import sound_corpus

    if picture is not None:
        check_format(picture)
    options = key_values(option or ())
    check_provider(provider, [options], "--provider", "--option")
    alone = 1 if workers is None and engine == "local" else workers
    plan = Plan(
        provider=provider,
        corpus=sound_corpus(corpus, fixtures),
        corpus_name=corpus if corpus in ("native", "official") else str(Path(corpus).resolve()),
        fixtures=None if fixtures is None else str(fixtures.resolve()),
        sizes=_sizes(sizes),
        options=options,
        rules=known_rules(rules),
        parts=tuple(part.strip() for part in parts.split(",") if part.strip()),
        name=name,
        ready_timeout_s=ready_timeout,
        seed=seed,
        users=users,
    )
    with told(out, quiet=quiet) as ended:
        found = measure(plan, out, maker(engine, alone, address), retries=retries, ended=ended)
    seen = view(plan, found)
    text = json.dumps(seen, ensure_ascii=False, allow_nan=False, indent=2) + "\n"
    write_atomically(out / RESULT, text)
    if picture is not None and any(point.report for point in found):
        title = f"{plan.name or provider} on {plan.corpus.name}, rules {plan.rules}"
        write_atomically(picture, draw(found, title, picture.suffix))
        note(f"wrote {picture}")
    if as_json:
        show_json(seen)
    else:
        serious, other = apart(remarks(found))
        show(*serious, quality_table(found), cost_table(found), *other)
    if any(point.error for point in found):
        raise typer.Exit(FAILED)


def _sizes(text: str) -> tuple[int, ...]:
    """Whole numbers with commas between them; underscores may divide digits."""
    try:
        return tuple(int(part) for part in text.split(",") if part.strip())
    except ValueError as error:
        raise InputError(f"--sizes takes whole numbers, as in 35,1000,100000, not {text!r}") from (
            error
        )
