"""``pmb data grow``: distractors around a corpus."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..grow.recipe import DEFAULT_USERS, MAX_COUNT, MAX_USERS
from .options import CorpusOption, FixturesOption, JsonOption, examples
from .output import line, show_json

if TYPE_CHECKING:
    from ..lint import Finding

MAX_SHOWN = 100
"""So many findings of distractors are listed; what is wrong with one is often with all."""

EPILOG = examples(
    "pmb data grow --beliefs 10000 -o distractors/",
    "pmb data grow -n 1000000 --seed 7 --users 5000 --corpus official -o big/",
    "pmb data lint --distractors distractors/",
    "pmb run --provider bm25 --distractors distractors/",
)


def grow(
    beliefs: Annotated[
        int,
        typer.Option(
            "--beliefs", "-n", metavar="N", min=1, max=MAX_COUNT, help="How many distractors."
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="The folder to write.")],
    seed: Annotated[
        int, typer.Option("--seed", metavar="S", help="Other seeds give other distractors.")
    ] = 0,
    users: Annotated[
        int,
        typer.Option(
            "--users", metavar="U", min=1, max=MAX_USERS, help="How many other users own some."
        ),
    ] = DEFAULT_USERS,
    corpus: CorpusOption = "native",
    fixtures: FixturesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make distractors: more beliefs, none a right answer.

    Near-duplicates with other values, copies of other users, homonyms of other
    scopes, old versions, resolved questions, alias collisions and unrelated
    ones, as parquet files with a manifest. Cases and right answers stay the
    same, so that figures can be compared along N. The same corpus and seed give
    the same distractors, and fewer of them are the first of more.
    """
    from ..grow.files import write
    from ..grow.recipe import Recipe
    from .progress import row_progress
    from .running import sound_corpus

    loaded = sound_corpus(corpus, fixtures)
    with row_progress("growing") as progress:
        written = write(loaded, Recipe(beliefs, seed, users), out, progress)
    if as_json:
        show_json({"directory": str(written.directory), **written.manifest})
        return
    for kind, count in written.manifest["counts"].items():
        line(f"{kind}: {count}")
    line(f"The distractors are in {written.directory}")


def faults_of(directory: Path, corpus: str, fixtures: Path | None) -> list[Finding]:
    """What is wrong with a folder of distractors; at most ``MAX_SHOWN`` of it."""
    from itertools import islice

    from ..corpus import load_corpus
    from ..grow.files import Stored
    from ..lint.distractors import lint_distractors

    loaded = load_corpus(corpus, fixtures=fixtures)
    stored = Stored(directory, loaded)
    stored.verify()
    return list(islice(lint_distractors(loaded, stored.beliefs()), MAX_SHOWN))
