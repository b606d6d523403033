"""The leaderboard's repository: a Space that is complete with what it shows.

A Gradio Space gets the app, the export's ``leaderboard.json`` and this package itself, so it needs
no release of it and scores by the very code that published it. A static Space gets one page.
"""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from .. import assets
from ..errors import InputError, PmbError
from .card import with_fields
from .names import Names
from .packing import Files, read_folder

LEADERBOARD = "leaderboard.json"
_PACKAGE = "pmb-hf"
_OPEN = re.compile(r"(?P<name>[A-Za-z0-9._-]+)>=[\w.]+")
"""A requirement that has a lower bound alone."""


def space_files(export: Path, names: Names, sdk: str) -> Files:
    """Its files.

    Raises:
        InputError: If the export has no leaderboard.
    """
    board = export / LEADERBOARD
    if not board.is_file():
        raise InputError(
            f"{export} has no {LEADERBOARD}, so there is nothing for the Space to show; "
            f"`pmb export REPORTS… -o {export}` makes it, or push without it by --what dataset"
        )
    folder = assets.find("space")
    app = read_folder(folder)
    fields: dict[str, object] = {"sdk": sdk, "datasets": [names.dataset]}
    files = {f"export/{LEADERBOARD}": board.read_bytes()}
    if sdk == "static":
        from ..board.reader import read_export
        from ..board.static import FILE, render

        files[FILE] = render(read_export(export, origin=names.dataset)).encode()
        fields |= {"sdk_version": None, "python_version": None, "app_file": FILE}
    else:
        files |= app | _package()
        # What the package itself looks up there; the app is beside it.
        files |= {
            f"pmb_hf/_hub/space/{path}": data
            for path, data in app.items()
            if path.startswith("static/")
        }
        files["requirements.txt"] = _requirements(app["requirements.txt"].decode()).encode()
    card = folder / "README.md"
    files["README.md"] = with_fields(app["README.md"].decode(), fields, str(card)).encode()
    return files


def _package() -> Files:
    """This package's own files, without the sources of the Hub's repositories."""
    found = read_folder(assets.PACKAGE)
    return {f"pmb_hf/{path}": data for path, data in found.items() if not path.startswith("_hub/")}


def _requirements(own: str) -> str:
    """The Space's requirements, with those of the package in the package's place."""
    try:
        declared = requires(_PACKAGE) or []
    except PackageNotFoundError as error:
        raise PmbError(
            "pmb-hf is not installed, so what it requires is not known: pip install -e ."
        ) from error
    lines = [line for line in own.split("\n") if line and not line.startswith(_PACKAGE)]
    lines += [_bounded(line) for line in declared if "extra ==" not in line]
    return "\n".join(sorted(lines)) + "\n"


def _bounded(requirement: str) -> str:
    """A requirement that a later breaking release does not meet.

    Where the package sets no upper bound, as a library should not, it is what comes after the
    version that is installed here: the next major one, or the next minor one of a 0.x.
    """
    found = _OPEN.fullmatch(requirement)
    if found is None:
        return requirement
    major, minor, *_ = [*version(found["name"]).split("."), "0"]
    above = f"0.{int(minor) + 1}" if major == "0" else f"{int(major) + 1}"
    return f"{requirement},<{above}"
