"""The files that each repository gets, and what must never be among them."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import InputError
from .card import front_matter
from .changes import MANIFEST
from .failures import has_token, hide, library
from .names import DATASET, METRIC, Names

Files = dict[str, bytes]

_JUNK = {".git", ".cache", "__pycache__", ".ipynb_checkpoints", ".DS_Store", ".gradio"}
_LARGEST = 512 * 1024 * 1024
"""More than an export can sensibly be, in bytes; a mistaken folder is noticed by that."""


class Package(NamedTuple):
    """What one repository is to hold.

    Attributes:
        part: ``dataset``, ``metric`` or ``space``.
        repo_type: ``dataset`` or ``space``, as the Hub has it.
        repo: ORG/NAME.
        sdk: Of a Space, else ``None``.
        files: Content by path.
    """

    part: str
    repo_type: str
    repo: str
    sdk: str | None
    files: Files


def pack(parts: Iterable[str], export: Path, names: Names, sdk: str) -> list[Package]:
    """The packages for ``parts``.

    Raises:
        InputError: If the export or a package can't be published as it is.
    """
    made = [_pack(part, export, names, sdk) for part in parts]
    for package in made:
        _check(package)
    return made


def _pack(part: str, export: Path, names: Names, sdk: str) -> Package:
    if part == DATASET:
        files = read_folder(export)
        _check_dataset(files, export, names.dataset.partition("/")[2])
        return Package(part, "dataset", names.dataset, None, files)
    if part == METRIC:
        from .metric_files import metric_files

        return Package(part, "space", names.metric, sdk, metric_files(names, sdk))
    from .space_files import space_files

    return Package(part, "space", names.space, sdk, space_files(export, names, sdk))


def read_folder(folder: Path, *, inside: Path | None = None) -> Files:
    """Every file below ``folder`` by its path from there; links to files are followed.

    Args:
        folder: A directory.
        inside: Where links may lead; by default nowhere out of ``folder``.

    Raises:
        InputError: If it is no directory, holds no file, too much, or a link
            that leads elsewhere.
    """
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder; `pmb export REPORTS… -o DIR` makes one")
    home = (inside or folder).resolve()
    files: Files = {}
    total = 0
    for path in _walk(folder):
        if not path.resolve().is_relative_to(home):
            raise InputError(
                f"{path} is a link that leads out of {home}; put the file itself there"
            )
        total += path.stat().st_size
        if total > _LARGEST:
            raise InputError(f"{folder} holds more than {_LARGEST >> 20} MiB; is it an export?")
        files[path.relative_to(folder).as_posix()] = path.read_bytes()
    if not files:
        raise InputError(f"{folder} is empty; `pmb export REPORTS… -o {folder}` fills it")
    return files


def _walk(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.name in _JUNK or path.name.endswith((".part", ".pyc")) or path.name == MANIFEST:
            continue
        if path.is_symlink() and path.is_dir():
            raise InputError(f"{path} is a link to a folder; put the folder itself there")
        if path.is_dir():
            yield from _walk(path)
        elif path.is_file():
            yield path
        else:
            raise InputError(f"{path} is no regular file; it can't be published")


def _check_dataset(files: Mapping[str, bytes], export: Path, name: str) -> None:
    script = f"{name}.py"
    if script in files:
        raise InputError(
            f"{export / script} must not be in the dataset {name!r}: with it, `datasets` refuses "
            "to load the repository; remove it"
        )
    if "README.md" not in files:
        raise InputError(
            f"{export} has no README.md, so is no dataset; `pmb export REPORTS… -o DIR` makes one"
        )
    card = front_matter(_text(files["README.md"], export / "README.md"), str(export / "README.md"))
    for config, pattern in _data_files(card):
        if not fnmatch.filter(files, pattern):
            raise InputError(
                f"{export / 'README.md'}: config {config!r} names {pattern}, which is not in "
                f"{export}; export again"
            )


def _data_files(card: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(config, path or pattern) of everything that the card says is data."""
    for config in card.get("configs") or ():
        if not isinstance(config, dict):
            continue
        given = config.get("data_files")
        for item in given if isinstance(given, list) else [given]:
            paths = item.get("path") if isinstance(item, dict) else item
            for path in paths if isinstance(paths, list) else [paths]:
                if isinstance(path, str):
                    yield str(config.get("config_name")), path


def _check(package: Package) -> None:
    """Refuse what holds a token: a published one is everybody's."""
    token = library().get_token()
    for path, data in package.files.items():
        for number, line in enumerate(data.split(b"\n"), 1):
            if has_token(text := line.decode("utf-8", "replace"), token):
                raise InputError(
                    f"{package.part}: {path} line {number} holds a Hugging Face token and is not "
                    f"published: {hide(text, token)[:80]}; remove it, and revoke the token"
                )


def _text(data: bytes, where: Path) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{where} is not UTF-8: {error}") from error
