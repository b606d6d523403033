"""The command line, ``pmb``: a thin wrapper around the package's functions.

Each module holds one group of commands. Tables go to standard output, progress
and notes to standard error. ``guard`` turns what is raised into exit codes.
"""

from __future__ import annotations

from .app import app, main

__all__ = ["app", "main"]
