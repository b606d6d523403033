"""``pmb doctor`` and ``pmb serve``: services that speak the HTTP contract."""

from __future__ import annotations

from typing import Annotated

import typer

from .options import JsonOption, examples, key_values
from .output import note, show, show_json

DOCTOR_EPILOG = examples(
    "pmb doctor http://127.0.0.1:8080", "pmb doctor http://127.0.0.1:8080 --allow-reset"
)
SERVE_EPILOG = examples("pmb serve fts5", "pmb serve bm25 --port 9000 --option top_k=5")


def doctor(
    url: Annotated[str, typer.Argument(metavar="URL", help="Where the service is.")],
    allow_reset: Annotated[
        bool,
        typer.Option("--allow-reset", help="Try DELETE /reset, too: it empties the whole store."),
    ] = False,
    timeout: Annotated[
        float, typer.Option("--timeout", metavar="S", min=0, help="Seconds for one call.")
    ] = 10.0,
    ready_timeout: Annotated[
        float,
        typer.Option(
            "--ready-timeout", metavar="S", min=0, help="Seconds until a write must show."
        ),
    ] = 30.0,
    as_json: JsonOption = False,
) -> None:
    """Examine a service before a run, and say how to mend it.

    The exit code is 1 if something that a run needs is not well.
    """
    from ..doctor import examine, exit_code

    done = examine(url, allow_reset=allow_reset, timeout_s=timeout, ready_timeout_s=ready_timeout)
    if as_json:
        show_json({"ok": not exit_code(done), "checks": [check._asdict() for check in done]})
    else:
        from ..tables.lists import checks

        show(checks(done))
    if exit_code(done):
        raise typer.Exit(exit_code(done))


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
    from ..serve import BODY_LIMIT
    from ..serve import serve as serve_provider

    limit = BODY_LIMIT if body_limit is None else body_limit
    serve_provider(name, key_values(option or ()), host=host, port=port, body_limit=limit)
    note("stopped")
