"""Submissions: a folder that wraps a memory system so that others can run it.

``new`` writes the skeleton, ``check`` looks a folder over before anybody runs it: ``fields``
reads SUBMISSION.md, ``pins`` and ``images`` see that everything is a fixed version,
``variables`` that the environment is told and no secret is in it, ``flags`` looks for what a
memory system has no need of. Scores are never part of it; a run makes them.
"""

from __future__ import annotations

from .check import Checked, check
from .skeleton import new

__all__ = ["Checked", "check", "new"]
