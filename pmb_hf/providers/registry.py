"""Providers by name: the built-in ones, and those of other packages.

Another package offers a provider by an entry point of the group
``pmb_hf.providers`` whose object is a factory, ``callable(**options) ->
Provider``. If the factory has an attribute ``provider_options`` (a tuple of
`Option`), options are checked and converted by it; otherwise they are passed
on as they come, which from a command line is as strings.

Nothing that a provider needs is imported before it is created.
"""

from __future__ import annotations

import difflib
import inspect
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import EntryPoint, entry_points

from ..errors import (
    InputError,
    MissingDependencyError,
    PmbError,
    ProviderError,
    UnknownNameError,
)
from .catalog import BUILT_IN, BuiltIn
from .environments.places import INSIDE_ENV
from .http_config import HTTP_OPTIONS, is_url
from .http_file import CONFIG_OPTION, find_file, read_file
from .protocol import Option, Provider, ProviderInfo

GROUP = "pmb_hf.providers"

_TRUE = frozenset({"true", "1", "yes", "on"})
_FALSE = frozenset({"false", "0", "no", "off"})
_NONE = frozenset({"", "none", "null"})


def available() -> list[ProviderInfo]:
    """List the built-in providers, then those of other packages by name.

    Loads none of them.
    """
    infos = [
        ProviderInfo(
            spec.name,
            spec.summary,
            spec.state,
            spec.extra,
            spec.options,
            environment=spec.environment,
            version=spec.version,
            hint=spec.hint,
            live=spec.live,
            package=spec.package,
            interface=spec.interface,
        )
        for spec in BUILT_IN
    ]
    built_in = {spec.name for spec in BUILT_IN}
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        state = "hidden" if point.name in built_in else "installed"
        infos.append(ProviderInfo(point.name, _origin(point), state))
    return infos


def create(name: str, options: Mapping[str, object] | None = None) -> Provider:
    """Create a provider by its name.

    Args:
        name: One of `available`, the URL of a service, or a name in
            ``providers.config.json`` (`http_file.find_file` says which file).
            A name in the file wins over another vendor's system and over another
            package's, since the file says where it runs; our own stores win over
            the file; a file given as the option ``config`` wins over all.
        options: Its options; strings are converted to the declared type.

    Raises:
        UnknownNameError: There is no such provider.
        InputError: An option is unknown, missing or of the wrong type, or two
            packages offer the name.
        MissingDependencyError: What the provider needs is not installed.
        ProviderError: Another package's factory failed.
    """
    given = dict(options or {})
    if is_url(name):
        given = {**given, "url": name}
        name = "http"
    elif given.get("config") is not None:
        return _create_configured(name, given)
    for spec in BUILT_IN:
        if spec.name == name:
            if _is_vendors(spec) and name in configured():
                return _create_configured(name, given)
            values = convert_options(name, spec.options, given)
            _check_required(spec, values)
            if spec.environment is not None and not spec.in_process:
                return _create_isolated(spec, spec.environment, values)
            return _checked(name, spec.factory()(**values))
    if name in configured():
        return _create_configured(name, given)
    return _create_foreign(_find_foreign(name), given)


def _is_vendors(spec: BuiltIn) -> bool:
    """Whether a file may say where it runs; an environment runs what it was made for."""
    is_vendors = spec.environment is not None or spec.service is not None
    return is_vendors and not os.environ.get(INSIDE_ENV)


def _create_isolated(spec: BuiltIn, name: str, values: Mapping[str, object]) -> Provider:
    from .environments.isolated import IsolatedProvider
    from .environments.places import installed

    wanted = spec.package or spec.needs
    if os.environ.get(INSIDE_ENV):
        raise MissingDependencyError(
            f"provider {spec.name!r}: environment {name!r} lacks {wanted}: "
            f"pmb providers install {name} --upgrade"
        )
    environment = installed(name)
    if environment is None:
        raise MissingDependencyError(
            f"provider {spec.name!r} needs {wanted}: run `pmb providers install {name}`, which "
            "makes an environment of its own for it, or install that package here."
        )
    return IsolatedProvider(environment, spec.name, values)


def configured() -> list[str]:
    """The names in the configuration file that is found without being named; [] if none is.

    Raises:
        InputError: The file can't be read.
    """
    path = find_file()
    return [] if path is None else list(read_file(path))


def _create_configured(name: str, given: Mapping[str, object]) -> Provider:
    from .http_create import create_named

    values = convert_options(name, (*HTTP_OPTIONS, CONFIG_OPTION), given)
    config = values.pop("config", None)
    path = find_file(config if isinstance(config, str) else None)
    if path is None:
        raise InputError(f"provider {name!r}: the option config names no file.")
    return create_named(name, path, values)


def convert_options(
    name: str, declared: Iterable[Option], given: Mapping[str, object]
) -> dict[str, object]:
    """Return the given options with the declared types.

    Strings may come from a command line: "true"/"false" (also yes/no, on/off,
    1/0), numbers, and "none" for an option that is off by default.

    Raises:
        InputError: An option is not declared, or its value doesn't fit.
    """
    by_name = {option.name: option for option in declared}
    values: dict[str, object] = {}
    for key, value in given.items():
        if key not in by_name:
            raise InputError(_unknown_option(name, key, list(by_name)))
        values[key] = _convert(name, by_name[key], value)
    return values


def _convert(name: str, option: Option, value: object) -> object:
    optional = option.default is None
    if optional and (value is None or (isinstance(value, str) and value.lower() in _NONE)):
        return None
    converted = _CONVERTERS[option.type](value)
    if converted is None:
        kind = _KINDS[option.type] + (" or none" if optional else "")
        raise InputError(f"provider {name!r}: option {option.name}={value!r}: expected {kind}.")
    return converted


def _to_bool(value: object) -> bool | None:
    if isinstance(value, bool):
        return value
    text = value.lower() if isinstance(value, str) else None
    return True if text in _TRUE else False if text in _FALSE else None


def _to_int(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None
    try:
        return int(value)
    except ValueError:
        return None


def _to_float(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _to_str(value: object) -> str | None:
    return value if isinstance(value, str) else None


_CONVERTERS: Mapping[type, Callable[[object], object]] = {
    bool: _to_bool,
    int: _to_int,
    float: _to_float,
    str: _to_str,
}

_KINDS: Mapping[type, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a finite number",
    str: "text",
}


def _check_required(spec: BuiltIn, values: Mapping[str, object]) -> None:
    missing = sorted(key for key in spec.required if values.get(key) is None)
    if missing:
        raise InputError(f"provider {spec.name!r} needs the option {', '.join(missing)}.")


def _find_foreign(name: str) -> EntryPoint:
    points = [point for point in entry_points(group=GROUP) if point.name == name]
    if not points:
        known = sorted({info.name for info in available()})
        raise UnknownNameError(
            f"no provider {name!r}.{_hint(name, known)} Known: {', '.join(known)}. "
            "The URL of a service and a name in providers.config.json will do, too."
        )
    if len(points) > 1:
        origins = ", ".join(sorted(_origin(point) for point in points))
        raise InputError(f"provider {name!r} is offered twice: {origins}. Remove one.")
    return points[0]


def _create_foreign(point: EntryPoint, given: Mapping[str, object]) -> Provider:
    where = f"provider {point.name!r} ({_origin(point)})"
    try:
        factory = point.load()
        declared = getattr(factory, "provider_options", None)
        if declared is not None:
            given = convert_options(point.name, declared, given)
        _check_signature(point.name, factory, given)
        return _checked(point.name, factory(**given))
    except PmbError:
        raise
    except ImportError as error:
        raise MissingDependencyError(f"{where} can't be imported: {error}.") from error
    except Exception as error:
        # Whatever another package raises ends as one line, not as a traceback.
        raise ProviderError(f"{where} failed: {type(error).__name__}: {error}.") from error


def _check_signature(
    name: str, factory: Callable[..., object], given: Mapping[str, object]
) -> None:
    signature = inspect.signature(factory)
    try:
        signature.bind(**given)
    except TypeError as error:
        allowed = ", ".join(signature.parameters) or "none"
        raise InputError(f"provider {name!r}: {error}. Its options: {allowed}.") from error


def _checked(name: str, provider: object) -> Provider:
    if not isinstance(provider, Provider):
        raise ProviderError(
            f"provider {name!r}: the factory returned {type(provider).__name__}, "
            "which lacks reset, add or search."
        )
    return provider


def _origin(point: EntryPoint) -> str:
    dist = point.dist
    package = f" of {dist.name} {dist.version}" if dist is not None else ""
    return f"{point.value}{package}"


def _unknown_option(name: str, key: str, known: Sequence[str]) -> str:
    allowed = f"Its options: {', '.join(known)}." if known else "It has no options."
    return f"provider {name!r} has no option {key!r}.{_hint(key, known)} {allowed}"


def _hint(word: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(word, known, n=1)
    return f" Did you mean {close[0]!r}?" if close else ""
