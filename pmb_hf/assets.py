"""Finds the sources of the Hub repositories, which are no Python packages.

In a source tree they lie beside the package; a wheel carries them inside it,
as ``pmb_hf/_hub/<name>``.
"""

from __future__ import annotations

from pathlib import Path

from .errors import PmbError, UnknownNameError

ASSETS = ("dataset_script", "metric", "space", "export")
"""The directories that can be asked for."""

PACKAGE = Path(__file__).resolve().parent


def find(name: str, *, package: Path = PACKAGE) -> Path:
    """The directory ``name``, one of ``ASSETS``; ``package`` is where the package lies.

    Raises:
        UnknownNameError: If there is no such asset.
        PmbError: If this installation lacks it.
    """
    if name not in ASSETS:
        raise UnknownNameError(f"no asset {name!r}; there are: {', '.join(ASSETS)}")
    carried = package / "_hub" / name
    if carried.is_dir():
        return carried
    root = package.parent
    # Beside an installed package, a directory of that name is somebody else's.
    if (root / "pyproject.toml").is_file() and (root / name).is_dir():
        return root / name
    raise PmbError(
        f"{carried} is missing, and {root} is no source tree that has {name}/; "
        "install pmb-hf again, from its wheel or with `pip install -e` from a complete checkout"
    )
