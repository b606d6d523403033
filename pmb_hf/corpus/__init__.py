"""Loads a corpus: the native one, upstream's official one, or a directory of your own."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from .. import parsing
from ..errors import CorpusError, InputError
from ..files import check_source
from ..schema import CORPUS_FILES, Corpus
from ..strict import Problem, Reader, refuse_half_characters, what_is_wrong

__all__ = [
    "NATIVE_DIR",
    "Corpus",
    "corpus_sha256",
    "load_corpus",
    "read_corpus",
    "read_files",
    "read_json",
]

NATIVE_DIR = Path(__file__).parent / "native"
"""Where the package keeps its own corpus."""

_SHOWN_PROBLEMS = 5


def load_corpus(corpus: str | Path = "native", *, fixtures: str | Path | None = None) -> Corpus:
    """Load ``"native"``, ``"official"`` or the corpus in a directory.

    ``fixtures`` is a directory that holds upstream's three files; without it the
    official corpus is taken from the cache that ``pmb data fetch`` fills.

    Raises:
        CorpusError: If a file is missing, is no JSON, or breaks the schema; the
            message names the file and the path in it.
    """
    if fixtures is not None and corpus != "official":
        raise CorpusError(
            f"fixtures are upstream's files, for the official corpus; with corpus {str(corpus)!r} "
            "they would not be used: ask for corpus 'official' (--corpus official) as well"
        )
    if corpus == "native":
        return _strictly("native", NATIVE_DIR)
    if corpus == "official":
        from .. import official

        directory = official.locate(None if fixtures is None else Path(fixtures))
        official.verify(directory)  # the name stands for exactly these bytes
        found, _ = read_corpus(directory)
        return replace(found, name="official")
    directory = Path(corpus)
    if not directory.is_dir():
        raise CorpusError(
            f"no corpus {str(corpus)!r}: give 'native', 'official' or a directory that holds "
            + ", ".join(CORPUS_FILES)
        )
    return _strictly(directory.resolve().name, directory)


def _strictly(name: str, directory: Path) -> Corpus:
    corpus, problems = read_corpus(directory)
    if problems:
        lines = [f"  {p.where}: {p.message}" for p in problems[:_SHOWN_PROBLEMS]]
        if len(problems) > _SHOWN_PROBLEMS:
            lines.append(f"  … and {len(problems) - _SHOWN_PROBLEMS} more")
        raise CorpusError(
            f"the corpus in {directory} breaks the schema in {len(problems)} place(s); "
            f"`pmb data lint {directory}` lists them all:\n" + "\n".join(lines)
        )
    return replace(corpus, name=name)


def read_corpus(directory: Path) -> tuple[Corpus, list[Problem]]:
    """Read a corpus and what is wrong with its form, without refusing it.

    Raises:
        CorpusError: If a file is missing or is no JSON.
    """
    reader = Reader()
    corpus = parsing.parse_corpus(directory.name, read_files(directory), reader)
    digest = corpus_sha256(directory)
    return replace(corpus, sha256=digest, location=str(directory)), reader.problems


def read_files(directory: Path) -> dict[str, Any]:
    """The parsed JSON of a corpus directory's three files, by file name.

    Raises:
        CorpusError: If a file is missing, not UTF-8 or no strict JSON.
    """
    return {name: read_json(directory / name) for name in CORPUS_FILES}


def read_json(path: Path) -> Any:
    """The JSON of one file; a key that is there twice, NaN and Infinity are refused.

    Raises:
        CorpusError: If the file is missing, not UTF-8 or no strict JSON.
    """
    try:
        check_source(path)
        text = path.read_text(encoding="utf-8")
        tree = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_unique)
        refuse_half_characters(text, tree)
    except FileNotFoundError as error:
        raise CorpusError(f"{path} is missing; a corpus holds {', '.join(CORPUS_FILES)}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise CorpusError(f"{path} can't be read: {error}") from error
    except InputError as error:
        raise CorpusError(str(error)) from error
    except (ValueError, RecursionError) as error:
        raise CorpusError(f"{path} is no valid JSON: {what_is_wrong(error)}") from error
    return tree


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON value; use null")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) < len(pairs):
        names = [name for name, _ in pairs]
        double = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {double!r} is there twice in one object")
    return out


def corpus_sha256(directory: Path) -> str:
    """SHA-256 over the three files in their fixed order, each with name and length."""
    digest = hashlib.sha256()
    for name in CORPUS_FILES:
        data = (directory / name).read_bytes()
        digest.update(f"{name}\0{len(data)}\0".encode())
        digest.update(data)
    return digest.hexdigest()
