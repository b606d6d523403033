"""``pmb doctor`` and ``pmb serve``: services that speak the HTTP contract."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import InputError
from .options import JsonOption, examples, in_seconds, key_values
from .output import note, show, show_json

if TYPE_CHECKING:
    from ..doctor import Check

DOCTOR_EPILOG = examples(
    "pmb doctor http://127.0.0.1:8080",
    "pmb doctor http://127.0.0.1:8080 --allow-reset",
    "pmb doctor mem0 --option threshold=0.3",
)
SERVE_EPILOG = examples("pmb serve fts5", "pmb serve bm25 --port 9000 --option top_k=5")


def doctor(
    url: Annotated[
        str,
        typer.Argument(metavar="URL", help="Where the service is, or a name of `pmb providers`."),
    ],
    option: Annotated[
        list[str] | None,
        typer.Option("--option", metavar="K=V", help="An option of a provider; repeatable."),
    ] = None,
    allow_reset: Annotated[
        bool,
        typer.Option("--allow-reset", help="Try DELETE /reset, too: it empties the whole store."),
    ] = False,
    timeout: Annotated[
        float,
        typer.Option("--timeout", metavar="S", callback=in_seconds, help="Seconds for one call."),
    ] = 10.0,
    ready_timeout: Annotated[
        float,
        typer.Option(
            "--ready-timeout",
            metavar="S",
            callback=in_seconds,
            help="Seconds until a write must show.",
        ),
    ] = 30.0,
    as_json: JsonOption = False,
) -> None:
    """Examine a service before a run, and say how to mend it.

    A provider that is given by name is served for the time of the examination,
    and its store is new, so that resetting it is tried, too.

    The exit code is 1 if something that a run needs is not well.
    """
    from ..doctor import exit_code

    done = _examined(url, option or [], allow_reset, timeout, ready_timeout)
    if as_json:
        show_json({"ok": not exit_code(done), "checks": [check._asdict() for check in done]})
    else:
        from ..tables.lists import checks

        show(checks(done))
    if exit_code(done):
        raise typer.Exit(exit_code(done))


def _examined(
    url: str, option: list[str], allow_reset: bool, timeout: float, ready_timeout: float
) -> list[Check]:
    from ..doctor import examine
    from ..providers.http_config import is_url

    if is_url(url):
        if option:
            raise InputError("--option is for a provider that is given by name")
        return examine(
            url, allow_reset=allow_reset, timeout_s=timeout, ready_timeout_s=ready_timeout
        )
    from ..serve import serving

    with serving(url, key_values(option)) as own:
        return examine(own, allow_reset=True, timeout_s=timeout, ready_timeout_s=ready_timeout)


def serve(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name of `pmb providers`.")],
    option: Annotated[
        list[str] | None,
        typer.Option("--option", metavar="K=V", help="An option of the provider; repeatable."),
    ] = None,
    host: Annotated[
        str, typer.Option("--host", metavar="HOST", help="The address to listen on.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", metavar="N", help="The port; 0 chooses a free one.")
    ] = 8080,
    body_limit: Annotated[
        int | None,
        typer.Option(
            "--body-limit", metavar="BYTES", min=1, help="The largest body that is taken."
        ),
    ] = None,
) -> None:
    """Put a provider behind the HTTP contract.

    It serves until it is interrupted. One line of JSON on standard output says
    where, once it listens. There is no password: on anything but a loopback
    address everyone can read and write.
    """
    from ..serve import BODY_LIMIT, is_loopback
    from ..serve import serve as serve_provider

    if not is_loopback(host):
        note(
            f"warning: there is no password, and {host or 'every address'} can be reached from "
            "elsewhere: everyone who reaches it can read, write and empty the store"
        )
    limit = BODY_LIMIT if body_limit is None else body_limit
    serve_provider(name, key_values(option or ()), host=host, port=port, body_limit=limit)
    note("stopped")
