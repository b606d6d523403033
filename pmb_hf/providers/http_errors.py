"""How a call to a service can fail. Each failure has the status that its case gets.

::

    HttpFailure             a ProviderError
    ├── HttpStatusError     http_error: the service answered with an error code
    ├── AnswerError         bad_answer: what came is no answer of the contract
    ├── TooLargeError       too_large: more came than the limit allows
    ├── RedirectError       redirect_refused: it points elsewhere
    ├── BrokenConnectionError   connection_error: refused, reset, or cut off half-way
    ├── DeadlineError       timeout: also a ProviderTimeoutError
    ├── UnsupportedError    unsupported: the service has no such call
    └── LeftoverError       not_empty: a reset store still holds memories
"""

from __future__ import annotations

from ..errors import ProviderError, ProviderTimeoutError


class HttpFailure(ProviderError):
    """A call to a service came to nothing.

    Attributes:
        status: The status of the case that made the call.
        code: The HTTP status code, if there was one.
        retry_after_s: How long the service asked to be left alone, in seconds.
        unsent: The service can't have seen the call.
        passing: Another attempt may go well.
    """

    status = "error"

    def __init__(
        self,
        message: str,
        *,
        code: int | None = None,
        retry_after_s: float | None = None,
        unsent: bool = False,
        passing: bool = False,
    ) -> None:
        """Take a message that holds no secret."""
        super().__init__(message)
        self.code = code
        self.retry_after_s = retry_after_s
        self.unsent = unsent
        self.passing = passing


class HttpStatusError(HttpFailure):
    """The service answered with a code that is no success."""

    status = "http_error"


class AnswerError(HttpFailure):
    """The answer is no JSON, or not of the contract's shape."""

    status = "bad_answer"


class TooLargeError(HttpFailure):
    """The answer is larger than the limit, perhaps only once it is unpacked."""

    status = "too_large"


class RedirectError(HttpFailure):
    """The service sent the call to another host, or round in circles."""

    status = "redirect_refused"


class BrokenConnectionError(HttpFailure):
    """There was no connection, or it broke before the answer was whole."""

    status = "connection_error"


class DeadlineError(HttpFailure, ProviderTimeoutError):
    """The answer was not whole when the time for the call was up."""

    status = "timeout"


class UnsupportedError(HttpFailure):
    """The service has no such call, and nothing was changed."""

    status = "unsupported"


class LeftoverError(HttpFailure):
    """A store that was just reset still finds memories."""

    status = "not_empty"
