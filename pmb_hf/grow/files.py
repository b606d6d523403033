"""Distractors as a folder of parquet files with a manifest; written and read in batches.

Memory does not depend on how many there are. The same corpus and recipe give the
same rows, and with the same version of pyarrow the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import InputError
from ..files import naming
from ..schema import Belief, Corpus
from .recipe import SHARES, Grower, Recipe
from .source import Distractors, Grown

MANIFEST = "distractors.json"
SCHEMA_VERSION = 1
FILE_ROWS = 1_000_000
BATCH_ROWS = 10_000

_OURS = re.compile(r"distractors(-\d{5})?\.(json|parquet)")
_FIELDS = tuple(field.name for field in fields(Belief))
_LISTS = ("scope", "aliases", "participants")
_TYPES = {"confidence": "float64", "pinned": "bool", "reinforcement_count": "int64"}
_TYPES |= {"user_edited": "bool"}


class Written(NamedTuple):
    """A folder of distractors, and its manifest."""

    directory: Path
    manifest: dict[str, Any]


def write(
    corpus: Corpus,
    recipe: Recipe,
    out: Path,
    progress: Callable[[int, int], None] | None = None,
) -> Written:
    """Grow distractors into the folder ``out``, which appears when all is written.

    Args:
        corpus: What to grow around.
        recipe: How many, from which seed, for how many other users.
        out: A folder that is not there, is empty, or holds distractors already.
        progress: Called with rows written and rows in all.

    Raises:
        InputError: If ``out`` holds something else.
        CorpusError: If nothing can be grown around the corpus.
    """
    grower = Grower(corpus, recipe)
    _check_replaceable(out)
    part = out.with_name(f".{out.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    try:
        with naming(out):
            manifest = _write_files(grower, part, progress)
            text = json.dumps(manifest, ensure_ascii=False, allow_nan=False, indent=2)
            (part / MANIFEST).write_text(text + "\n", encoding="utf-8")
        if out.exists():
            shutil.rmtree(out)
        part.replace(out)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return Written(out, manifest)


def _check_replaceable(out: Path) -> None:
    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is no directory; choose another place")
    if out.is_dir() and not all(_OURS.fullmatch(path.name) for path in out.iterdir()):
        raise InputError(f"{out} holds other files; choose a directory that is new or empty")


def _write_files(
    grower: Grower, home: Path, progress: Callable[[int, int], None] | None
) -> dict[str, Any]:
    total, done = grower.recipe.count, 0
    digest, kinds, files = hashlib.sha256(), Counter[str](), []
    for number, start in enumerate(range(0, total, FILE_ROWS)):
        name = f"distractors-{number:05d}.parquet"
        stop = min(start + FILE_ROWS, total)
        with _writer(home / name) as writer:
            for first in range(start, stop, BATCH_ROWS):
                rows = list(grower.beliefs(first, min(first + BATCH_ROWS, stop)))
                kinds.update(kind for kind, _ in rows)
                for _, belief in rows:
                    digest.update(row_line(belief))
                writer.write_batch(_batch(rows))
                done += len(rows)
                if progress is not None:
                    progress(done, total)
        files.append({"name": name, "rows": stop - start, **_file_facts(home / name)})
    corpus = grower.corpus
    return {
        "schemaVersion": SCHEMA_VERSION,
        "recipe": grower.recipe.to_wire(),
        "corpus": {"name": corpus.name, "sha256": corpus.sha256},
        "shares": dict(SHARES),
        "counts": {kind: kinds[kind] for kind in SHARES},
        "rowsSha256": digest.hexdigest(),
        "files": files,
    }


def row_line(belief: Belief) -> bytes:
    """A belief as one line of JSON; the content hash is over these lines."""
    values = [getattr(belief, name) for name in _FIELDS]
    return json.dumps(values, ensure_ascii=False, allow_nan=False).encode() + b"\n"


def _file_facts(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        return {
            "bytes": path.stat().st_size,
            "sha256": hashlib.file_digest(file, "sha256").hexdigest(),
        }


def _schema() -> Any:
    import pyarrow as pa

    kinds = {"float64": pa.float64(), "bool": pa.bool_(), "int64": pa.int64()}
    columns = [pa.field("kind", pa.string())]
    for name in _FIELDS:
        kind = pa.list_(pa.string()) if name in _LISTS else kinds.get(_TYPES.get(name, ""))
        columns.append(pa.field(name, kind or pa.string()))
    return pa.schema(columns)


def _writer(path: Path) -> Any:
    import pyarrow.parquet as pq

    return pq.ParquetWriter(path, _schema(), compression="zstd")


def _batch(rows: list[tuple[str, Belief]]) -> Any:
    import pyarrow as pa

    columns = [[kind for kind, _ in rows]]
    columns += [[getattr(belief, name) for _, belief in rows] for name in _FIELDS]
    schema = _schema()
    arrays = [pa.array(c, field.type) for c, field in zip(columns, schema, strict=True)]
    return pa.record_batch(arrays, schema=schema)


class Stored:
    """Distractors in a folder that :func:`write` made; read in batches."""

    def __init__(self, directory: Path, corpus: Corpus, count: int | None = None) -> None:
        """Open the folder; ``count`` takes the first so many.

        Raises:
            InputError: If it is no such folder, is damaged, holds fewer, or was
                grown around another corpus.
        """
        self.directory = directory
        self.manifest = read_manifest(directory)
        name, digest = (str(self.manifest["corpus"].get(key)) for key in ("name", "sha256"))
        if digest != corpus.sha256:
            raise InputError(
                f"the distractors in {directory} were grown around corpus {name!r} "
                f"({digest[:12]}…), this is {corpus.name!r} ({corpus.sha256[:12]}…); "
                "grow others by `pmb data grow --corpus …`"
            )
        whole = Recipe.from_wire(self.manifest["recipe"], str(directory / MANIFEST))
        if count is not None and count > whole.count:
            raise InputError(f"{directory} holds {whole.count:,} distractors, not {count:,}")
        self.recipe = whole if count is None else replace(whole, count=count)

    def verify(self) -> None:
        """Check the files against the manifest.

        Raises:
            InputError: Names the file that is missing or differs.
        """
        for file in self.manifest["files"]:
            path = self.directory / file["name"]
            if not path.is_file() or _file_facts(path)["sha256"] != file["sha256"]:
                raise InputError(
                    f"{path} is missing, or differs from what {MANIFEST} says; grow it anew"
                )

    def beliefs(self) -> Iterator[Belief]:
        """All of them, in order."""
        return (belief for _, belief in self.rows())

    def rows(self) -> Iterator[tuple[str, Belief]]:
        """Kind and belief of each, in order."""
        left = self.recipe.count
        for batch in self._batches():
            for row in batch.to_pylist():
                if left <= 0:
                    return
                left -= 1
                yield row.pop("kind"), _belief(row)

    def find(self, ids: Iterable[str]) -> dict[str, Belief]:
        """Those of ``ids`` that are distractors, by id; one pass over the id column."""
        import pyarrow as pa
        import pyarrow.compute as pc

        wanted = pa.array(sorted(set(ids)), pa.string())
        found: dict[str, Belief] = {}
        left = self.recipe.count
        for batch in self._batches():
            inside = batch.slice(0, max(left, 0))
            left -= inside.num_rows
            for row in inside.filter(pc.is_in(inside["id"], value_set=wanted)).to_pylist():
                del row["kind"]
                found[row["id"]] = _belief(row)
        return found

    def _batches(self) -> Iterator[Any]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        for file in self.manifest["files"]:
            try:
                with pq.ParquetFile(self.directory / file["name"]) as parquet:
                    yield from parquet.iter_batches(batch_size=BATCH_ROWS)
            except (OSError, pa.ArrowException) as error:
                raise InputError(
                    f"{self.directory / file['name']} can't be read: {error}"
                ) from error


def _belief(row: dict[str, Any]) -> Belief:
    for name in _LISTS:
        row[name] = tuple(row[name])
    return Belief(**row)


def read_manifest(directory: Path) -> dict[str, Any]:
    """The manifest of a folder of distractors.

    Raises:
        InputError: If there is none, or it is no manifest of distractors.
    """
    path = directory / MANIFEST
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(
            f"{directory} holds no distractors ({MANIFEST}: {error}); `pmb data grow` makes them"
        ) from error
    if not isinstance(found, dict) or found.get("schemaVersion") != SCHEMA_VERSION:
        raise InputError(f"{path} is no manifest of distractors that this pmb-hf reads")
    if any(not isinstance(found.get(key), kind) for key, kind in _PARTS.items()):
        raise InputError(f"{path} lacks one of {', '.join(_PARTS)}; grow the folder anew")
    return found


_PARTS = {"recipe": dict, "corpus": dict, "files": list, "counts": dict}


def opened(given: Distractors | Recipe | str | Path | None, corpus: Corpus) -> Distractors | None:
    """Distractors around ``corpus``: from a recipe, or from a folder whose files are checked.

    Raises:
        InputError: As :class:`Stored`.
        CorpusError: If nothing can be grown around the corpus.
    """
    if isinstance(given, Recipe):
        return Grown(corpus, given)
    if isinstance(given, str | Path):
        stored = Stored(Path(given), corpus)
        stored.verify()
        return stored
    return given
