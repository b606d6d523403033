"""Turns what goes wrong with the Hub into one sentence that says what to do.

The sentence holds no token, and the error that carries it no reference to the request.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from json import JSONDecodeError
from typing import Any, NamedTuple

from ..errors import HubAwayError, HubError, MissingDependencyError, PmbError
from ..tokens import FORM, hidden, stored

CONFLICTS = (409, 412)
_TOKENS_PAGE = "settings/tokens"
_LINES = 300


class Doing(NamedTuple):
    """What was tried: ``what`` completes "can't …"; ``writing`` if something is published."""

    what: str
    repo: str
    kind: str
    writing: bool
    endpoint: str
    token: str | None

    @property
    def place(self) -> str:
        """The repository as one speaks of it."""
        return f"{self.kind} {self.repo}"


def failure_of(error: BaseException, doing: Doing) -> PmbError:
    """The error to raise instead of ``error``.

    Raise it outside the ``except`` block: what it would carry along otherwise
    holds the request with its headers.
    """
    if isinstance(error, PmbError):
        return error
    response = _response(error)
    if response is not None:
        status = int(response.status_code)
        text = _by_status(status, doing, response)
        return HubError(hide(f"can't {doing.what}: {text}", doing.token), status)
    text = hide(f"can't {doing.what}: {_without_answer(error, doing)}", doing.token)
    return HubAwayError(text) if _is_away(error) else HubError(text)


def hide(text: str, token: str | None) -> str:
    """``text`` on one line and without anything that looks like a token."""
    return " ".join(hidden(text, [*stored(), token or ""]).split())


def has_token(text: str, token: str | None) -> bool:
    """Whether a token stands in ``text``: the one in use, or one of the Hub's form."""
    return bool(token and token in text) or FORM.search(text) is not None


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _response(error: BaseException) -> Any:
    found = (getattr(link, "response", None) for link in _chain(error))
    return next((response for response in found if response is not None), None)


def _by_status(status: int, doing: Doing, response: Any) -> str:
    said = _said(response, doing.token)
    if status == 401 and not doing.token:
        return f"the Hub wants to know who you are (401); {sign_in(doing.endpoint)}"
    if status == 401:
        return (
            "the Hub does not accept the token (401); make one with write access at "
            f"{doing.endpoint}/{_TOKENS_PAGE}, then set HF_TOKEN or run `hf auth login`"
        )
    if status == 402:
        return _payment(doing, said)
    if status == 403:
        owner = doing.repo.partition("/")[0]
        return (
            f"the token may not do that (403{said}); take one with write access to {owner!r} from "
            f"{doing.endpoint}/{_TOKENS_PAGE}, ask an admin of {owner!r} for the right to write, "
            "or propose the change by --create-pr"
        )
    if status == 404:
        return (
            f"there is no {doing.place}, or the token may not see it (404); check its name, and "
            "that the token has access to it"
        )
    if status in CONFLICTS:
        return f"somebody else is writing to it ({status}{said}); push again in a moment"
    if status == 413:
        return f"a file or the whole is too large for one commit (413{said}); publish fewer reports"
    if status == 429:
        return f"the Hub has had too many requests (429); wait {_wait(response)} and push again"
    if status >= 500:
        return (
            f"the Hub failed ({status}{said}); that is not your doing: try again later, "
            "https://status.huggingface.co tells how it is"
        )
    if status < 400:
        return _no_sense(f"status {status}{said}", doing)
    return f"the Hub refused ({status}{said})"


def _payment(doing: Doing, said: str) -> str:
    if doing.kind == "Space":
        return (
            f"the Hub wants a paid plan for this (402{said}): creating a Gradio Space may need one "
            "(PRO, or a Team or Enterprise organization), a static Space is free; push with "
            "--sdk static, or without Spaces by --what dataset"
        )
    return (
        f"the Hub wants a paid plan for this (402{said}); private storage may be used up: "
        f"see {doing.endpoint}/settings/billing, or publish without --private"
    )


def _without_answer(error: BaseException, doing: Doing) -> str:
    names = {type(link).__name__ for link in _chain(error)}
    if "OfflineModeIsEnabled" in names:
        return "HF_HUB_OFFLINE is set; unset it to reach the Hub"
    if "LocalTokenNotFoundError" in names:
        return f"the Hub wants to know who you are; {sign_in(doing.endpoint)}"
    kind, said = type(error).__name__, _short(error, doing.token)
    if isinstance(error, JSONDecodeError | UnicodeDecodeError | RecursionError):
        return _no_sense(f"it is no JSON: {said}", doing)
    if isinstance(error, ValueError):
        return f"the Hub would not take it: {said}"
    if not _is_of_the_way(error):
        return _no_sense(f"{kind}: {said}", doing)
    last = list(_chain(error))[-1]
    published = "; nothing was published by this" if doing.writing else ""
    why = f"{type(last).__name__}: {_short(last, doing.token)}"
    return (
        f"no answer from {doing.endpoint} ({why}){published}; "
        "check the network, proxies and HF_ENDPOINT, and try again"
    )


def _is_away(error: BaseException) -> bool:
    """Whether the Hub was not reached at all."""
    names = {type(link).__name__ for link in _chain(error)}
    if "OfflineModeIsEnabled" in names:
        return True
    if "LocalTokenNotFoundError" in names or isinstance(error, ValueError | RecursionError):
        return False
    return _is_of_the_way(error)


def _is_of_the_way(error: BaseException) -> bool:
    """Whether it tells of the network or the disk, and not of what the library made of an answer.

    Which copy of httpx the library uses depends on its version.
    """
    kinds = {kind.__name__ for kind in type(error).__mro__}
    return isinstance(error, OSError | RuntimeError) or "HTTPError" in kinds


def _no_sense(why: str, doing: Doing) -> str:
    return (
        f"what {doing.endpoint} answers makes no sense ({why}); check that HF_ENDPOINT is a Hub, "
        "and try again later"
    )


def sign_in(endpoint: str) -> str:
    """How to get a token in."""
    return (
        f"make a token with write access at {endpoint}/{_TOKENS_PAGE}, and set HF_TOKEN to it "
        "or run `hf auth login`"
    )


def _wait(response: Any) -> str:
    seconds = response.headers.get("Retry-After", "")
    limits = re.search(r"\bt=(\d+)", response.headers.get("RateLimit", ""))
    if not seconds.isdigit() and limits:
        seconds = limits.group(1)
    return f"{seconds} s" if seconds.isdigit() else "some minutes"


def _said(response: Any, token: str | None) -> str:
    """What the Hub says of it, to be put into brackets."""
    text = response.headers.get("X-Error-Message")
    if not text:
        try:
            body = response.json()
            text = body.get("error") if isinstance(body, dict) else None
        except Exception:  # noqa: BLE001 - a body of any kind, read or not: then it says nothing
            text = None
    return f": {_short(text, token)}" if isinstance(text, str) and text.strip() else ""


def _short(value: object, token: str | None) -> str:
    """The beginning of it. Tokens go first: of one that is cut, a part would be left."""
    text = hide(str(value), token)
    return text if len(text) <= _LINES else text[: _LINES - 1] + "…"


def library() -> Any:
    """The module ``huggingface_hub``.

    Raises:
        MissingDependencyError: If it is not installed.
    """
    try:
        import huggingface_hub
        import huggingface_hub.errors
        import huggingface_hub.utils
    except ImportError as error:
        raise MissingDependencyError(
            f"the Hub needs huggingface_hub ({error}): pip install huggingface_hub"
        ) from error
    return huggingface_hub
