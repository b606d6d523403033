"""The package as it is published: public names, metadata, and what the archives hold."""

from __future__ import annotations

import ast
import importlib.metadata
import os
import re
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

import pmb_hf

ROOT = Path(__file__).resolve().parent.parent
PYPROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT: dict[str, Any] = PYPROJECT["project"]

# The name to install, where it is not the name to import.
IMPORTED_AS = {"pytrec_eval_terrier": "pytrec_eval"}


def requirement_name(requirement: str) -> str:
    """The import name of a requirement such as ``huggingface_hub>=1``."""
    name = re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0].lower().replace("-", "_")
    return IMPORTED_AS.get(name, name)


@pytest.mark.parametrize("name", pmb_hf.__all__)
def test_public_name_resolves(name: str) -> None:
    assert getattr(pmb_hf, name) is not None
    assert name in dir(pmb_hf)


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'no_such_name'"):
        _ = pmb_hf.no_such_name


def test_public_names_are_the_same_for_type_checkers() -> None:
    tree = ast.parse((ROOT / "pmb_hf" / "__init__.py").read_text(encoding="utf-8"))
    checked = {
        alias.name: node.module
        for block in tree.body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert checked == pmb_hf._HOMES
    assert set(pmb_hf.__all__) == {*pmb_hf._HOMES, "__version__", "errors"}


def test_version_is_the_installed_one() -> None:
    assert importlib.metadata.version("pmb-hf") == pmb_hf.__version__


def test_command_is_installed() -> None:
    (command,) = importlib.metadata.entry_points(group="console_scripts", name="pmb")
    assert command.value == PROJECT["scripts"]["pmb"]
    assert callable(command.load())


def test_every_import_at_module_level_is_declared() -> None:
    declared = [PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()]
    known = {requirement_name(requirement) for group in declared for requirement in group}
    known |= {"click", "pydantic", "starlette"}  # parts of typer's and fastapi's interfaces
    for path in (ROOT / "pmb_hf").rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module or ""]
            else:
                continue
            for top in {name.partition(".")[0] for name in names} - sys.stdlib_module_names:
                assert top in known | {"pmb_hf"}, f"{path.name} imports {top}: not a dependency"


def test_checkers_are_pinned() -> None:
    dev = PROJECT["optional-dependencies"]["dev"]
    for tool in ("mypy", "ruff"):
        assert any(requirement.startswith(f"{tool}==") for requirement in dev)


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A fresh sdist and a fresh wheel."""
    target = str(tmp_path_factory.mktemp("dist"))
    (sdist,) = SdistBuilder(str(ROOT)).build(directory=target)
    (wheel,) = WheelBuilder(str(ROOT)).build(directory=target, versions=["standard"])
    return Path(sdist), Path(wheel)


def test_wheel_carries_the_hub_sources_as_real_files(archives: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(archives[1]) as wheel:
        names = set(wheel.namelist())
        for name in ("scoring", "rules", "summary"):
            inside = wheel.getinfo(f"pmb_hf/_hub/metric/precisionmembench/{name}.py")
            assert (inside.external_attr >> 16) & 0o170000 != 0o120000, f"{name}.py is a link"
            assert wheel.read(inside) == wheel.read(f"pmb_hf/{name}.py")
    assert "pmb_hf/_hub/metric/precisionmembench/precisionmembench.py" in names
    assert "pmb_hf/_hub/dataset_script/README.md" in names
    assert "pmb_hf/py.typed" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert not [name for name in names if "__pycache__" in name or name.startswith("tests/")]


def test_wheel_carries_every_file_of_the_package(archives: tuple[Path, Path]) -> None:
    expected = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "pmb_hf").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    with zipfile.ZipFile(archives[1]) as wheel:
        missing = expected - set(wheel.namelist())
    assert not missing


def test_sdist_can_build_the_wheel(archives: tuple[Path, Path], tmp_path: Path) -> None:
    with tarfile.open(archives[0]) as sdist:
        sdist.extractall(tmp_path, filter="data")
    (unpacked,) = tmp_path.iterdir()
    target = str(tmp_path / "wheel")
    (rebuilt,) = WheelBuilder(str(unpacked)).build(directory=target, versions=["standard"])
    with zipfile.ZipFile(rebuilt) as again, zipfile.ZipFile(archives[1]) as wheel:
        assert {entry.filename: entry.CRC for entry in again.infolist()} == {
            entry.filename: entry.CRC for entry in wheel.infolist()
        }


def test_ci_script_is_executable() -> None:
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
