"""A grid of runs: providers × options × corpora × rules × sizes × repeats.

:mod:`.plan` reads the grid from a TOML file, :mod:`.grid` makes jobs of it and has
them done, :mod:`.results` puts what came out into two tables.
"""

from __future__ import annotations

from .grid import Done, Grid, sweep
from .plan import Plan, System, read_plan

__all__ = ["Done", "Grid", "Plan", "System", "read_plan", "sweep"]
