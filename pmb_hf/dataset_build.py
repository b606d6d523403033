"""Writes the dataset as the folder that goes to the Hub: parquet, card, ``eval.yaml``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from . import assets
from .corpus import load_corpus
from .dataset_card import NATIVE, OFFICIAL, OWN, Content, data_file, render
from .dataset_rows import CONFIGS, Column, Row, rows
from .errors import InputError
from .files import write_atomically

CARD, EVAL = "README.md", "eval.yaml"


class Built(NamedTuple):
    """What was written: where, which files, how many rows a config, over which corpus."""

    directory: Path
    files: tuple[Path, ...]
    rows: dict[str, int]
    corpus_sha256: str


def build(
    out_dir: str | Path, corpus: str | Path = "native", fixtures: str | Path | None = None
) -> Built:
    """Write the dataset over ``corpus`` to ``out_dir``; other files there are left alone.

    The same corpus and library versions give the same bytes. ``corpus`` and
    ``fixtures`` are those of :func:`pmb_hf.load_corpus`.

    Raises:
        CorpusError: If the corpus can't be read.
        InputError: If the directory can't be written, or could not be loaded.
    """
    found = load_corpus(corpus, fixtures=fixtures)
    out = Path(out_dir)
    name = out.resolve().name
    if (out / f"{name}.py").exists():
        raise InputError(
            f"{out} holds {name}.py; `datasets` refuses to load such a folder: choose another one"
        )
    made = {config: rows(found, config) for config in CONFIGS}
    content = {
        data_file(name): parquet(config.columns, made[name]) for name, config in CONFIGS.items()
    }
    sizes = {config: content[data_file(config)].memory for config in CONFIGS}
    origin = str(corpus) if corpus in (NATIVE, OFFICIAL) else OWN
    source = assets.find("dataset_script")
    template = (source / CARD).read_text(encoding="utf-8")
    card = render(template, Content(found, origin, made, sizes))
    files = {path: encoded.data for path, encoded in content.items()}
    files |= {EVAL: (source / EVAL).read_bytes(), CARD: card.encode()}
    try:
        written = tuple(_write(out / path, data) for path, data in files.items())
    except OSError as error:
        raise InputError(f"can't write the dataset to {out}: {error}") from error
    return Built(out, written, {config: len(r) for config, r in made.items()}, found.sha256)


class Encoded(NamedTuple):
    """A parquet file's bytes, and the size of its table in memory."""

    data: bytes
    memory: int


def parquet(columns: Iterable[Column], content: Sequence[Row]) -> Encoded:
    """The file's bytes and the table's size in memory. No writer option depends on the machine."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from .builder import typed

    table = pa.Table.from_pylist(list(content), schema=typed(columns).arrow_schema)
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="snappy", row_group_size=1000)
    return Encoded(sink.getvalue().to_pybytes(), table.nbytes)


def _write(path: Path, data: bytes) -> Path:
    write_atomically(path, data)
    return path
