"""Every error that this package raises on purpose.

::

    PmbError                      exit code 2
    ├── GateFailed                exit code 1: a threshold was not met
    ├── InputError                exit code 2; also ValueError
    │   ├── BusyError             another run is writing there
    │   ├── CorpusError           beliefs, cases or sessions are wrong
    │   ├── PredictionError       predictions or references are wrong
    │   ├── ReportError           a report can't be read
    │   ├── ResumeError           a journal belongs to another configuration
    │   └── UnknownNameError      no such provider, rule set, case …; also LookupError
    ├── MissingDependencyError    exit code 2; also ImportError
    ├── FetchError                exit code 2; also OSError
    ├── HubError                  exit code 2; also OSError: the Hub refused, or did not answer
    └── ProviderError             exit code 3; also RuntimeError
        ├── ProviderTimeoutError  also TimeoutError
        └── NotReadyError         a store never showed what was written to it

Each class is also the built-in exception that fits it, so that callers can
catch either. ``exit_code`` is what ``pmb`` ends with: 0 done, 1 a gate failed,
2 wrong use or input, 3 the provider failed.
"""

from __future__ import annotations

from typing import ClassVar


class PmbError(Exception):
    """Root of all errors that this package raises on purpose."""

    exit_code: ClassVar[int] = 2


class GateFailed(PmbError):
    """A run or a comparison did not meet a threshold that the user set."""

    exit_code = 1


class InputError(PmbError, ValueError):
    """The caller's input or options are wrong."""


class BusyError(InputError):
    """Another run is writing to the same place."""


class CorpusError(InputError):
    """A corpus file is malformed or contradicts itself."""


class PredictionError(InputError):
    """Predictions or references can't be scored as they are."""


class ReportError(InputError):
    """A report file can't be read, or its schema version is not known."""


class ResumeError(InputError):
    """A journal was written under another configuration."""


class UnknownNameError(InputError, LookupError):
    """A name (provider, rule set, category, case …) is not known."""


class MissingDependencyError(PmbError, ImportError):
    """An optional package is needed; the message holds the exact pip line."""


class FetchError(PmbError, OSError):
    """A download failed, or what came is not what was expected."""


class HubError(PmbError, OSError):
    """The Hugging Face Hub refused, or did not answer; the message says what to do.

    ``status`` is the HTTP status, or ``None`` if there was no answer.
    """

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class HubAwayError(HubError):
    """The Hub can't be reached, or was not to be: nothing is known of what it holds."""


class ProviderError(PmbError, RuntimeError):
    """A memory system failed in a way that ends the run."""

    exit_code = 3


class ProviderTimeoutError(ProviderError, TimeoutError):
    """A memory system did not answer within the time it was given."""


class NotReadyError(ProviderError):
    """A store did not show, within the time given, what was written to it."""


class RunStoppedWarning(UserWarning):
    """A run stopped early; the report holds what was measured."""
