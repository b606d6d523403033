"""Distractors: beliefs around a corpus, as many as wanted, of which none is a right answer.

:mod:`.recipe` makes the belief of a number, :mod:`.source` streams them into a run,
:mod:`.files` keeps them as parquet. ``design/growing.md`` argues, kind by kind, why
no distractor can be a right answer; :mod:`pmb_hf.lint.distractors` checks it.
"""

from __future__ import annotations

from .recipe import KINDS, SHARES, Grower, Recipe
from .source import Distractors, Grown

__all__ = ["KINDS", "SHARES", "Distractors", "Grower", "Grown", "Recipe"]
