"""Tests of pmb_hf.assets."""

from __future__ import annotations

from pathlib import Path

import pytest

from pmb_hf import assets
from pmb_hf.errors import PmbError, UnknownNameError

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize("name", ["dataset_script", "metric"])
def test_source_tree(name: str) -> None:
    assert assets.find(name) == ROOT / name


def test_a_wheel_carries_its_own(tmp_path: Path) -> None:
    package = tmp_path / "site-packages" / "pmb_hf"
    (package / "_hub" / "metric").mkdir(parents=True)
    assert assets.find("metric", package=package) == package / "_hub" / "metric"


def test_a_neighbour_of_an_installed_package_is_not_ours(tmp_path: Path) -> None:
    package = tmp_path / "pmb_hf"
    package.mkdir()
    (tmp_path / "metric").mkdir()
    with pytest.raises(PmbError, match="install pmb-hf again"):
        assets.find("metric", package=package)


def test_incomplete_checkout(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    with pytest.raises(PmbError, match=r"no source tree that has space/"):
        assets.find("space", package=tmp_path / "pmb_hf")


@pytest.mark.parametrize("name", ["metrics", "", "../pmb_hf"])
def test_unknown_name(name: str) -> None:
    with pytest.raises(UnknownNameError, match="dataset_script, metric"):
        assets.find(name)
