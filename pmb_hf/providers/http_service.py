"""The contract's calls on one service: what it has, and whether its answers have their shape."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from .http_calls import Answer, Call, Caller
from .http_config import HttpConfig
from .http_errors import (
    AnswerError,
    HttpFailure,
    HttpStatusError,
    TooLargeError,
    UnsupportedError,
)
from .http_secrets import Secrets

_NOT_THERE = frozenset({404, 405, 501})
_HEALTH_S = 5.0

T = TypeVar("T")


class Service(Caller):
    """A service whose abilities are found out as they are needed.

    Attributes:
        can_update: Whether there is ``/update``, as far as is known.
        can_delete: The same for ``/delete``.
        can_wait: The same for ``/wait``.
    """

    def __init__(self, config: HttpConfig, secrets: Secrets) -> None:
        """Connect to nothing yet."""
        super().__init__(config, secrets)
        self._config = config
        self.can_update = config.supports_update is not False
        self.can_delete = config.supports_delete is not False
        self.can_wait = config.supports_wait is not False
        self._health: Mapping[str, Any] | None = None
        self._proven: set[str] = set()

    def ask(self, call: Call, read: Callable[[Any], T]) -> T:
        """Make a call and read its answer; a fault in the shape gets the name of the call.

        Raises:
            HttpFailure: It came to nothing.
        """
        return self.shaped(call, self.call(call), read)

    def shaped(self, call: Call, answer: Answer, read: Callable[[Any], T]) -> T:
        """Read an answer that is there already; see `ask`."""
        try:
            return read(answer.json)
        except (AnswerError, TooLargeError) as error:
            failure = type(error)(f"{call}: answered {answer.code}, but {error}", code=answer.code)
        raise failure

    def optional(self, call: Call) -> Answer:
        """Make a call that the service may not have.

        404 means so only as long as the call has never succeeded.

        Raises:
            UnsupportedError: It has not.
            HttpFailure: It came to nothing in another way.
        """
        try:
            answer = self.call(call)
        except HttpStatusError as error:
            if error.code not in _NOT_THERE or call.path in self._proven:
                raise
            said, code = str(error), error.code
        else:
            self._proven.add(call.path)
            return answer
        raise UnsupportedError(f"the service has no such call: {said}", code=code)

    def health(self) -> Mapping[str, Any]:
        """What ``GET /health`` says, asked once; what it says it can't do is not tried."""
        if self._health is None:
            config = self._config
            call = Call("GET", "/health", timeout_s=min(_HEALTH_S, config.timeout), retries=0)
            try:
                said = self.call(call).json
            except HttpFailure:
                said = None
            self._health = said if isinstance(said, dict) else {}
            can = self._health.get("capabilities")
            if isinstance(can, dict):
                self.can_update &= config.supports_update is True or can.get("update") is not False
                self.can_delete &= config.supports_delete is True or can.get("delete") is not False
        return self._health
