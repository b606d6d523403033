"""The version of the package: the one place that names it."""

from __future__ import annotations

__version__ = "0.1.0"
