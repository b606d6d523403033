"""`providers.config.json`: services by name.

Upstream's file reads as it is. Its keys and ours stand in `_FIELDS`; any other
is an error that names file, provider and key.
"""

from __future__ import annotations

import difflib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import InputError, UnknownNameError
from ..strict import Field, Reader, flag, mapping, optional_text, what_is_wrong, whole
from .http_secrets import checked_header, without
from .protocol import Option

CONFIG_FILE = "providers.config.json"
CONFIG_ENV = "PMB_PROVIDERS_CONFIG"
CONFIG_OPTION = Option("config", str, None, f"The file instead of {CONFIG_FILE}.")

_MILLISECONDS = {
    "timeoutMs": "timeout",
    "connectTimeoutMs": "connect_timeout",
    "readTimeoutMs": "read_timeout",
    "readyTimeoutMs": "ready_timeout",
}
_PLAIN = {
    "retries": "retries",
    "bodyLimit": "body_limit",
    "limitParam": "limit_param",
    "supportsMultiScope": "multi_scope",
    "supportsUpdate": "supports_update",
    "supportsDelete": "supports_delete",
    "supportsWait": "supports_wait",
    "reset": "reset",
    "seedDelayMs": "seed_delay_ms",
    "waitAfterSeed": "wait_after_seed",
    "beliefToText": "text_mode",
}
_FIELDS: Mapping[str, Field] = {
    **{key: optional_text() for key in ("envVar", "defaultUrl", "beliefToText", "authEnv")},
    **{key: optional_text() for key in ("limitParam", "reset")},
    **{key: whole(default=None) for key in ("seedDelayMs", "retries", "bodyLimit")},
    **{key: whole(default=None) for key in _MILLISECONDS},
    **{key: flag(default=None) for key in ("supportsUpdate", "supportsDelete", "supportsWait")},
    **{key: flag(default=None) for key in ("supportsMultiScope", "waitAfterSeed")},
    "headers": mapping(),
}
_REFERENCE = re.compile(r"(?P<scheme>[A-Za-z]+ )?\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)\}")


def find_file(explicit: str | None = None) -> Path | None:
    """The configuration file: the given one, the one here, or the environment's; else None.

    Raises:
        InputError: A file that was named is not there.
    """
    named = explicit or None
    if named is None and Path(CONFIG_FILE).is_file():
        return Path(CONFIG_FILE)
    origin = "option config" if named else f"${CONFIG_ENV}"
    named = named or os.environ.get(CONFIG_ENV) or None
    if named is None:
        return None
    path = Path(named).expanduser()
    if not path.is_file():
        raise InputError(f"{origin}: there is no file {path}.")
    return path


def read_file(path: Path) -> dict[str, Any]:
    """Return the raw entry of every provider in a configuration file.

    Raises:
        InputError: The file can't be read or is no JSON object.
    """
    try:
        tree = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InputError(f"{path} can't be read: {error}.") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} can't be read: {what_is_wrong(error)}.") from error
    if not isinstance(tree, dict):
        raise InputError(f'{path}: must be an object like {{"NAME": {{"defaultUrl": "…"}}}}.')
    return {name: entry for name, entry in tree.items() if not name.startswith("_")}


def entry_of(path: Path, name: str) -> dict[str, Any]:
    """Return the entry ``name`` of a file, with a value for every known key.

    Raises:
        UnknownNameError: It has no such entry.
        InputError: A key is unknown or a value has a wrong type.
    """
    entries = read_file(path)
    if name not in entries:
        close = difflib.get_close_matches(name, list(entries), n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise UnknownNameError(
            f"{path} has no provider {name!r}.{hint} It has: {', '.join(sorted(entries))}."
        )
    reader = Reader()
    entry = reader.read(entries[name], f"{path}: {name}", _FIELDS)
    if reader.problems:
        raise InputError("\n".join(f"{p.where} {p.message}" for p in reader.problems))
    return entry


def options_of(entry: Mapping[str, Any], where: str, url: str | None = None) -> dict[str, Any]:
    """Turn an entry of the file into values of `HttpConfig`; what it leaves out is left out.

    ``url`` comes before the URLs of the entry.

    Raises:
        InputError: It gives no URL.
    """
    variable = entry["envVar"]
    url = url or (os.environ.get(variable) if variable else None) or entry["defaultUrl"]
    values: dict[str, Any] = {"url": url} if url else {}
    values |= {ours: entry[key] for key, ours in _PLAIN.items() if entry[key] is not None}
    values |= {
        ours: entry[key] / 1000 for key, ours in _MILLISECONDS.items() if entry[key] is not None
    }
    if not url:
        advice = f"set ${variable}, or " if variable else ""
        raise InputError(f"{where}: there is no URL: {advice}give defaultUrl or the option url.")
    return values


def headers_of(entry: Mapping[str, Any], where: str) -> dict[str, str]:
    """The headers of an entry, filled in from the environment.

    Raises:
        InputError: A header is no reference to a variable, or the variable is not set.
    """
    references = dict(entry["headers"])
    if entry["authEnv"]:
        references = {**without(references, "authorization"), "Authorization": None}
    headers = {}
    for name, reference in references.items():
        if reference is None:
            headers[name] = checked_header(name, _variable(entry["authEnv"], where), where)
            continue
        match = _REFERENCE.fullmatch(reference) if isinstance(reference, str) else None
        if match is None:
            raise InputError(
                f"{where}.headers.{name}: secrets do not stand in a file: write "
                '"${VARIABLE}" or "Bearer ${VARIABLE}", and set the variable.'
            )
        value = (match["scheme"] or "") + _variable(match["name"], where)
        headers[name] = checked_header(name, value, f"{where}.headers")
    return headers


def _variable(name: str, where: str) -> str:
    value = os.environ.get(name)
    if not value or not value.strip():
        raise InputError(f"{where}: the environment variable {name} is not set.")
    return value
