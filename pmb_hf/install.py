"""Puts dataset and metric where the libraries look for them by name, without the network.

After :func:`install`, ``datasets.load_dataset("precisionmembench", config)`` and
``evaluate.load("precisionmembench")`` work from any directory: both libraries
fall back to their caches for what the Hub does not have, or when it is out of reach.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from . import assets
from .dataset_rows import CONFIGS
from .errors import InputError, PmbError

NAME = "precisionmembench"
METRIC_FOLDER = f"evaluate-metric--{NAME}"
MODULES = "evaluate_modules"
_STAGE, _LOCK = f".{NAME}-install", f".{NAME}-install.lock"
_LOCK_TIMEOUT_S = 600.0
_HASH_LENGTH = 64
_NOT_THE_METRIC = {"app.py", "tests.py"}


class InstallReport(NamedTuple):
    """What :func:`install` or :func:`uninstall` did.

    Attributes:
        dataset: The dataset's directory in the cache of ``datasets``.
        metric: The metric's directory in the modules cache of ``evaluate``.
        configs: The names of the dataset's configs.
        written: Directories that were written; empty if all was there already.
        removed: Directories of an older or broken install that were removed.
    """

    dataset: Path
    metric: Path
    configs: tuple[str, ...]
    written: tuple[Path, ...]
    removed: tuple[Path, ...]


class _Piece(NamedTuple):
    """A finished directory, and where it belongs."""

    source: Path
    target: Path


def install(
    *, datasets_cache: str | Path | None = None, modules_cache: str | Path | None = None
) -> InstallReport:
    """Install the native corpus and the metric; replaces an older install.

    Each directory is finished elsewhere and then renamed, so whoever loads sees
    all of it or none, and what a killed install left is cleared by the next one.

    Args:
        datasets_cache: Cache of ``datasets``; by default the one it is set to use.
        modules_cache: Cache of the Hugging Face modules; by default that of ``evaluate``.

    Raises:
        InputError: If a cache can't be written; the message names it.
        PmbError: If this installation lacks the metric's files.
    """
    caches = _caches(datasets_cache, modules_cache)
    sources = _metric_files(assets.find("metric") / NAME)
    written: list[Path] = []
    removed: list[Path] = []
    with _stage(caches.datasets) as stage:
        for piece in _prepare_dataset(stage, caches.datasets):
            _put(piece, stage, written)
            siblings = piece.target.parent.parent.glob("*/*")  # <config>/<version>/<hash>
            _clear((old for old in siblings if old != piece.target), removed)
    with _stage(caches.modules) as stage:
        piece = _prepare_metric(sources, stage, caches.metric)
        _make_packages(caches)
        _put(piece, stage, written)
        _clear((old for old in _hashes(caches.metric) if old != piece.target), removed)
    return _report(caches, written, removed)


def uninstall(
    *, datasets_cache: str | Path | None = None, modules_cache: str | Path | None = None
) -> InstallReport:
    """Remove what :func:`install` put there, of any version. The arguments are the same.

    Raises:
        InputError: If a cache can't be written; the message names it.
    """
    caches = _caches(datasets_cache, modules_cache)
    removed: list[Path] = []
    if caches.dataset.is_dir():
        with _stage(caches.datasets):
            _clear((caches.dataset / config for config in CONFIGS), removed)
            _remove_if_empty(caches.dataset)
    if caches.metric.is_dir():
        with _stage(caches.modules):
            _clear([caches.metric], removed)
    return _report(caches, [], removed)


class _Caches(NamedTuple):
    datasets: Path
    modules: Path

    @property
    def dataset(self) -> Path:
        return self.datasets / NAME

    @property
    def metric(self) -> Path:
        return self.modules / MODULES / "metrics" / METRIC_FOLDER


def _caches(datasets_cache: str | Path | None, modules_cache: str | Path | None) -> _Caches:
    if datasets_cache is None:
        import datasets.config

        datasets_cache = datasets.config.HF_DATASETS_CACHE
    if modules_cache is None:
        import evaluate.config

        modules_cache = evaluate.config.HF_MODULES_CACHE
    return _Caches(Path(datasets_cache).expanduser(), Path(modules_cache).expanduser())


def _report(caches: _Caches, written: list[Path], removed: list[Path]) -> InstallReport:
    return InstallReport(
        caches.dataset, caches.metric, tuple(CONFIGS), tuple(written), tuple(removed)
    )


@contextmanager
def _stage(cache: Path) -> Iterator[Path]:
    """An empty directory inside ``cache``, for one process at a time.

    On the same file system as what it is for, so that a rename puts a directory
    in place. What an install that was killed left in it is removed first.
    """
    from filelock import FileLock

    stage = cache / _STAGE
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with FileLock(cache / _LOCK, timeout=_LOCK_TIMEOUT_S):
            _remove(stage)
            stage.mkdir()
            try:
                yield stage
            finally:
                _remove(stage)
    except PmbError:
        raise
    except OSError as error:
        raise InputError(
            f"can't write to {cache}: {error}; set HF_HOME to a directory that can be written"
        ) from error


def _prepare_dataset(stage: Path, cache: Path) -> list[_Piece]:
    """Prepare every config below ``stage``, as the library would in ``cache``."""
    from .builder import PrecisionMemBench

    pieces = []
    with _no_progress_bars():
        for config in CONFIGS:
            builder = PrecisionMemBench(cache_dir=str(stage), dataset_name=NAME, config_name=config)
            builder.download_and_prepare()
            source = Path(builder.cache_dir)
            pieces.append(_Piece(source, cache / source.relative_to(stage)))
    return pieces


@contextmanager
def _no_progress_bars() -> Iterator[None]:
    from datasets.utils import (
        are_progress_bars_disabled,
        disable_progress_bars,
        enable_progress_bars,
    )

    shown = not are_progress_bars_disabled()
    if shown:
        disable_progress_bars()
    try:
        yield
    finally:
        if shown:
            enable_progress_bars()


def _metric_files(source: Path) -> list[Path]:
    files = sorted(path for path in source.glob("*.py") if path.name not in _NOT_THE_METRIC)
    if source / f"{NAME}.py" not in files:
        raise PmbError(f"{source / NAME}.py is missing; install pmb-hf again")
    return files


def _prepare_metric(sources: list[Path], stage: Path, home: Path) -> _Piece:
    digest = hashlib.sha256()
    made = stage / METRIC_FOLDER
    made.mkdir()
    (made / "__init__.py").touch()
    for path in sources:
        data = path.read_bytes()  # through links, which would point nowhere from a cache
        digest.update(f"{path.name}\0{len(data)}\0".encode() + data)
        (made / path.name).write_bytes(data)
    return _Piece(made, home / digest.hexdigest())


def _make_packages(caches: _Caches) -> None:
    """Make Python packages of the directories that the metric is imported through."""
    caches.metric.mkdir(parents=True, exist_ok=True)
    for directory in (caches.metric, *caches.metric.parents):
        (directory / "__init__.py").touch()
        if directory == caches.modules:
            break


def _put(piece: _Piece, stage: Path, written: list[Path]) -> None:
    """Rename a finished directory into place, unless the same is there already."""
    source, target = piece
    if _content(source) == _content(target):
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.exists():
        target.rename(stage / f"replaced-{len(written)}")
    source.rename(target)
    written.append(target)


def _content(directory: Path) -> dict[str, bytes] | None:
    """The files of a directory; compiled modules and the results of ``map`` do not count."""
    if not directory.is_dir():
        return None
    return {
        path.name: path.read_bytes()
        for path in directory.iterdir()
        if path.is_file() and not path.name.startswith(("cache-", "tmp"))
    }


def _hashes(home: Path) -> list[Path]:
    return [path for path in home.iterdir() if len(path.name) == _HASH_LENGTH and path.is_dir()]


def _clear(directories: Iterable[Path], removed: list[Path]) -> None:
    for directory in [path for path in directories if path.is_dir()]:
        shutil.rmtree(directory)
        removed.append(directory)


def _remove(directory: Path) -> None:
    if directory.is_dir():
        shutil.rmtree(directory)


def _remove_if_empty(directory: Path) -> None:
    if directory.is_dir() and not any(directory.iterdir()):
        directory.rmdir()
