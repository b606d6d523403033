"""A memory system that is a service of its own, spoken to over its own HTTP interface.

What a subclass says is how memories are written, removed and found there; what
goes over the wire goes the way of the provider `http`: bounded in time and size,
repeated where that does no harm, errors with a status. Users get names that are
made up anew for each provider and after each reset, so that nothing which the
service already holds can be touched or found.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any, ClassVar

from .http_calls import Call, Caller
from .http_config import HttpConfig
from .http_errors import AnswerError, BrokenConnectionError, HttpFailure, HttpStatusError
from .http_secrets import Secrets, checked_header, environment_headers, merged_headers
from .protocol import MAX_RESULTS, Option
from .vendor import VendorStore

TIMEOUT_OPTION = Option("timeout", float, 30.0, "Seconds for one call.")
RETRIES_OPTION = Option("retries", int, 2, "Further attempts of a call that may be repeated.")

_HEALTH_S = 5.0


def url_option(default: str | None) -> Option:
    """The option ``url``."""
    return Option("url", str, default, "Where the service listens; no password, no query.")


class ServiceStore(VendorStore):
    """One service. Its key is read from the environment and stands in no option or report.

    Attributes:
        system: What messages call it.
        key_env: The environment variable that may hold its key, sent as a bearer token.
    """

    system: ClassVar[str]
    key_env: ClassVar[str]

    def __init__(self, options: Mapping[str, object], *, timeout: float, retries: int) -> None:
        """Connect to nothing yet; ``options`` holds the ``url``.

        Raises:
            InputError: An option or the key can't be used.
        """
        config = HttpConfig(url=str(options["url"]), timeout=timeout, retries=retries)
        super().__init__({**options, "url": config.url, "timeout": timeout, "retries": retries})
        key = os.environ.get(self.key_env)
        own = {} if not key else {"Authorization": _bearer(key, self.key_env)}
        self._caller = Caller(config, Secrets(merged_headers([environment_headers(), own])))
        self._run = secrets.token_hex(4)
        self._numbers = count()
        self._names: dict[str, str] = {}

    @property
    def counts(self) -> dict[str, int]:
        """How many calls, and how many further attempts were made."""
        return dict(self._caller.counts)

    def _name(self, user_id: str) -> str:
        """The service's name for a user; made up on first use."""
        if user_id not in self._names:
            self._names[user_id] = f"pmb-{self._run}-{next(self._numbers)}"
        return self._names[user_id]

    def _call(self, call: Call, *, missing_ok: bool = False) -> Any:
        """The body of the answer; None if it is empty, or missing where that is fine.

        Raises:
            HttpFailure: It came to nothing; names the system and what to do.
        """
        try:
            return self._caller.call(call).json
        except HttpFailure as error:
            if missing_ok and error.code == 404:
                return None
            failure = type(error)(
                f"{self.system}: {error}{self._advice(error)}",
                code=error.code,
                retry_after_s=error.retry_after_s,
                unsent=error.unsent,
                passing=error.passing,
            )
        raise failure

    def _advice(self, error: HttpFailure) -> str:
        if isinstance(error, HttpStatusError) and error.code in {401, 403}:
            return f"; set ${self.key_env} to a key that it accepts"
        if isinstance(error, BrokenConnectionError) and error.unsent:
            return "; start the service, or set the option url"
        return ""

    def _health(self, path: str) -> Mapping[str, Any]:
        """What the service says of itself.

        Raises:
            HttpFailure: It does not answer.
        """
        told = self._call(Call("GET", path, timeout_s=_HEALTH_S, retries=0))
        return told if isinstance(told, dict) else {}

    def _bad(self, call: Call, said: str) -> AnswerError:
        """What to raise about an answer that has not the documented shape."""
        return AnswerError(f"{self.system}: {call}: {self._caller.shown(said)}")

    def _rows(self, call: Call, answer: Any, key: str) -> list[dict[str, Any]]:
        """The list of objects under ``key`` of an answer.

        Raises:
            AnswerError: There is none, or it is too long.
        """
        rows = answer.get(key) if isinstance(answer, dict) else None
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise self._bad(call, f"the answer has no list of objects {key!r}")
        if len(rows) > MAX_RESULTS:
            raise self._bad(call, f"{len(rows)} results are more than {MAX_RESULTS}")
        return rows

    def _text(self, call: Call, answer: Any, *path: str) -> str:
        """The text at a path of an answer, as an id.

        Raises:
            AnswerError: There is none; says what the service gave as its error.
        """
        value = answer
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        if isinstance(value, str) and value:
            return value
        said = answer.get("error") if isinstance(answer, dict) else None
        raise self._bad(call, f"the answer has no {'.'.join(path)}" + (f": {said}" if said else ""))

    def _shut(self) -> None:
        self._caller.close()


def text_in(row: Mapping[str, Any], *keys: str) -> str | None:
    """The first of the values that is text, or None."""
    return next((value for key in keys if isinstance(value := row.get(key), str)), None)


def score_in(row: Mapping[str, Any], *keys: str) -> float | None:
    """The first of the values that is a number, as it is, or None."""
    for key in keys:
        value = row.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
    return None


def belief_in(row: Mapping[str, Any]) -> str | None:
    """The belief id in a result's metadata, or None."""
    metadata = row.get("metadata")
    return text_in(metadata, "beliefId") if isinstance(metadata, dict) else None


def plain_metadata(metadata: Mapping[str, Any], belief_id: str) -> dict[str, Any]:
    """Metadata in texts, booleans and lists of texts; null is left out, the belief id is set."""
    plain = {
        key: list(value) if isinstance(value, Sequence) and not isinstance(value, str) else value
        for key, value in metadata.items()
        if value is not None
    }
    return {**plain, "beliefId": belief_id}


def _bearer(key: str, variable: str) -> str:
    return checked_header("Authorization", f"Bearer {key}", f"${variable}")
