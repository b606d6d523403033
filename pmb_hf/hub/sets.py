"""Data sets that are read where they are on the Hub, by ``hf://`` addresses."""

from __future__ import annotations

from typing import Any

from ..errors import PmbError, PredictionError
from .failures import Doing, failure_of, hide, library


def file_system() -> Any:
    """The Hub's files, as fsspec has them.

    Raises:
        MissingDependencyError: If huggingface_hub is not installed.
    """
    return library().HfFileSystem()


def reading_failure(address: str, said: str, error: BaseException, *, of_file: bool) -> PmbError:
    """The error to raise instead of ``error``; no token is in it.

    Raise it outside the ``except`` block, as with :func:`~pmb_hf.hub.failures.failure_of`.

    Args:
        address: The set, as ``hf://datasets/ORG/NAME/PATH``.
        said: What can't be done, in a sentence.
        error: What was raised.
        of_file: Whether it is about what a file holds, and not about the Hub.
    """
    hub = library()
    try:
        token = hub.get_token()
    except Exception:  # noqa: BLE001 - then there is none to hide
        token = None
    if of_file:
        return PredictionError(f"{said}: {hide(str(error), token)}")
    if isinstance(error, FileNotFoundError) and "response" not in vars(error):
        return PredictionError(
            f"{said}: there is no such place on the Hub, or the token may not see it"
        )
    parts = address.removeprefix("hf://").split("/")
    repo = "/".join(parts[1:3]).partition("@")[0]
    kind = {"datasets": "dataset", "spaces": "Space"}.get(parts[0], "repository")
    doing = Doing(f"read {address}", repo, kind, False, hub.constants.ENDPOINT, token)
    return failure_of(error, doing)
