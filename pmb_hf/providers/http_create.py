"""Creates providers for services: by URL, or by a name in `providers.config.json`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import InputError
from .http import HttpProvider
from .http_config import HttpConfig
from .http_file import entry_of, headers_of, options_of
from .http_secrets import Secrets, environment_headers, merged_headers


def create_http(**values: Any) -> HttpProvider:
    """The service at the option ``url``; secret headers come from the environment.

    Raises:
        InputError: An option or a variable can't be used.
    """
    return HttpProvider(HttpConfig(**values), Secrets(environment_headers()))


def create_named(name: str, path: Path, values: Mapping[str, object]) -> HttpProvider:
    """The service ``name`` of a configuration file; ``values`` come before what it says.

    Raises:
        UnknownNameError: The file has no such name.
        InputError: The file, an option or a variable can't be used.
    """
    where = f"{path}: {name}"
    entry = entry_of(path, name)
    url = values.get("url")
    merged = options_of(entry, where, url if isinstance(url, str) else None)
    merged |= {key: value for key, value in values.items() if value is not None}
    headers = merged_headers([environment_headers(), headers_of(entry, where)])
    try:
        config = HttpConfig(**merged)
    except InputError as error:
        raise InputError(f"{where}: {error}") from error
    return HttpProvider(config, Secrets(headers))
