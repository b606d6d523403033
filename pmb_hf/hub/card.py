"""Reads and changes the YAML at the head of a repository's README.md."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from ..errors import InputError
from .failures import library

_HEAD = re.compile(r"\A---[ \t]*\r?\n(.*?\n)---[ \t]*\r?\n", re.DOTALL)


def front_matter(text: str, where: str) -> dict[str, Any]:
    """The fields at the head of a card.

    Raises:
        InputError: If there is none, or it is no YAML mapping; ``where`` names it.
    """
    found = _HEAD.match(text)
    if found is None:
        raise InputError(f"{where} must start with YAML between two lines of ---")
    yaml = import_module("yaml")  # comes with huggingface_hub, without types
    try:
        fields = yaml.safe_load(found.group(1))
    except RecursionError:
        raise InputError(
            f"{where}: what stands between the lines of --- is nested too deeply"
        ) from None
    except (yaml.YAMLError, ValueError) as error:
        said = " ".join(str(error).split())
        raise InputError(
            f"{where}: what stands between the lines of --- is no YAML: {said}"
        ) from error
    if not isinstance(fields, dict):
        raise InputError(f"{where}: between the lines of --- there must be `name: value` pairs")
    return fields


def with_fields(text: str, changes: Mapping[str, Any], where: str) -> str:
    """The card with some fields set, or removed where the value is ``None``."""
    fields = front_matter(text, where) | dict(changes)
    kept = {name: value for name, value in fields.items() if value is not None}
    dumped = library().utils.yaml_dump(kept, sort_keys=False, line_break="\n")
    return f"---\n{dumped}---\n{_HEAD.sub('', text, count=1)}"
