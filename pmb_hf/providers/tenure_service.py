"""Tenure, as a service that the user runs behind a wrapper.

No document of Tenure's own interface for beliefs was found, in no package index and in
none of the benchmark's files; so none is made up here. This is the provider `http` under
the name ``tenure``, for a service that speaks the benchmark's own contract (``POST /add``,
``POST /search``, ``DELETE /reset``, and what else there is of it) in front of Tenure.
It was never run against Tenure.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from .http_config import HTTP_OPTIONS, HttpConfig
from .http_secrets import Secrets, checked_header, environment_headers, merged_headers

if TYPE_CHECKING:
    from .http import HttpProvider

KEY_ENV = "TENURE_API_KEY"
OPTIONS = HTTP_OPTIONS
INTERFACE = (
    "this package's HTTP contract alone; no document of Tenure's own was found as of 2026-12-02"
)
SERVICE = (
    "Put a wrapper that speaks the HTTP contract in front of Tenure (docs/"
    f"wrapping-your-system.md) and give its url; a key goes into ${KEY_ENV}."
)


def create(**values: Any) -> HttpProvider:
    """The wrapper at the option ``url``.

    Raises:
        InputError: The ``url`` is missing, or an option or a variable can't be used.
    """
    from .http import HttpProvider

    if values.get("url") is None:
        raise InputError(f"provider 'tenure' needs the option url. {SERVICE}")
    key = os.environ.get(KEY_ENV)
    own = {}
    if key:
        own["Authorization"] = checked_header("Authorization", f"Bearer {key}", f"${KEY_ENV}")
    headers = merged_headers([environment_headers(), own])
    return HttpProvider(HttpConfig(**values), Secrets(headers))
