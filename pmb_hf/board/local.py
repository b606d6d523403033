"""Starts the Space on this machine, as it runs on the Hub."""

from __future__ import annotations

import importlib.util
import os
import socket
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from ..assets import find
from ..errors import InputError, MissingDependencyError
from .visitors import end_on_sigterm, own_folder

PORT = 7860


def serve_space(
    export: str | Path, *, host: str = "127.0.0.1", port: int = PORT, told: Callable[[str], None]
) -> None:
    """Serve the leaderboard of an export folder until interrupted.

    Args:
        export: What ``pmb export`` wrote; a folder that is missing or empty gives a
            page that says so and how to make one.
        host: The address to listen on.
        port: The port; 0 chooses a free one.
        told: Is given the address of the page once it is served.

    Raises:
        MissingDependencyError: If gradio is not installed.
        InputError: If nothing can be served there.
    """
    if not _is_free(host, port):
        raise InputError(f"port {port} of {host} can't be used; choose another by --port, or 0")
    app = load_app()
    end_on_sigterm()
    source = app.Source(folder=Path(export))
    chosen = port or _free_port(host)
    demo = app.launch(source, host=host, port=chosen, quiet=True, prevent_thread_lock=True)
    told(f"http://{_shown(host)}:{chosen}/")
    demo.block_thread()


def load_app() -> ModuleType:
    """The module ``space/app.py``, which is no part of the package.

    Raises:
        MissingDependencyError: If gradio is not installed.
    """
    # Before gradio is imported, which would report its start to its makers.
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
    own_folder()
    try:
        import gradio  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError(
            f"the Space needs gradio 6 ({error}): pip install 'pmb-hf[space]'"
        ) from error
    path = find("space") / "app.py"
    spec = importlib.util.spec_from_file_location("pmb_hf_space_app", path)
    if spec is None or spec.loader is None:
        raise InputError(f"{path} can't be loaded")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _is_free(host: str, port: int) -> bool:
    try:
        with _bound(host, port):
            return True
    except OSError:
        return False


def _free_port(host: str) -> int:
    with _bound(host, 0) as listener:
        port: int = listener.getsockname()[1]
    return port


def _bound(host: str, port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
    except OSError:
        listener.close()
        raise
    return listener


def _shown(host: str) -> str:
    return f"[{host}]" if ":" in host else host
