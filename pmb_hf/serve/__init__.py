"""Any provider behind the HTTP contract. Needs the extra ``serve``."""

from __future__ import annotations

from ..errors import MissingDependencyError

try:
    from .app import make_app
    from .guard import BODY_LIMIT
    from .run import DEFAULT_PORT, is_loopback, running, serve, serving
except ModuleNotFoundError as error:
    raise MissingDependencyError(
        f"serving needs a package that is not installed ({error}): pip install 'pmb-hf[serve]'"
    ) from error

__all__ = ["BODY_LIMIT", "DEFAULT_PORT", "is_loopback", "make_app", "running", "serve", "serving"]
