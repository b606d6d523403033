"""What the benchmarks share: CPU time, the machine, tables. Standard library only."""

from __future__ import annotations

import gc
import os
import platform
import random
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

Contender = Callable[[Any], object]


class Spent(NamedTuple):
    """CPU seconds of one contender for all batches."""

    fastest: float  # the sum of each batch's fastest repetition
    by_repetition: list[float]  # the sum of all batches, one for each repetition

    def ratio(self, other: Spent) -> tuple[float, float]:
        """Times of ``other``: of the fastest, and the median over pairs of one repetition."""
        pairs = zip(self.by_repetition, other.by_repetition, strict=True)
        return self.fastest / other.fastest, statistics.median(a / b for a, b in pairs)


def race(
    contenders: Mapping[str, Contender],
    batches: Sequence[Any],
    repetitions: int,
    *,
    in_a_row: bool,
) -> dict[str, Spent]:
    """Let contenders take turns on the batches, in an order that changes each time.

    A turn is one batch, or all of them ``in_a_row``. After a short turn the next contender finds
    the processor's caches full of another one's code; in a long one only its first batch does.
    Garbage collection is on.
    """
    best = {name: [float("inf")] * len(batches) for name in contenders}
    sums: dict[str, list[float]] = {name: [] for name in contenders}
    order, dice = list(contenders), random.Random(1)
    places = [*range(len(batches))]
    gc.collect()
    for _ in range(repetitions):
        total = dict.fromkeys(contenders, 0.0)
        for turn in [places] if in_a_row else [[place] for place in places]:
            dice.shuffle(order)
            for name in order:
                for place in turn:
                    spent = _seconds(contenders[name], batches[place])
                    best[name][place] = min(best[name][place], spent)
                    total[name] += spent
        for name, seconds in total.items():
            sums[name].append(seconds)
    return {name: Spent(sum(best[name]), sums[name]) for name in contenders}


def _seconds(contender: Contender, batch: Any) -> float:
    started = time.process_time_ns()
    contender(batch)
    return (time.process_time_ns() - started) / 1e9


def machine(*packages: str) -> str:
    """Processor, cores, system, Python and the versions of ``packages``, in one line."""
    parts = [
        f"{_processor()}, {os.cpu_count()} cores",
        f"{platform.system()} {platform.release().partition('-')[0]}",
        f"{platform.python_implementation()} {platform.python_version()}",
        *(f"{package} {_version(package)}" for package in packages),
    ]
    return "; ".join(parts)


def today() -> str:
    """The date in UTC."""
    return datetime.now(UTC).date().isoformat()


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "(not installed)"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table: the first column to the left, numbers to the right."""
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]

    def line(cells: Sequence[str]) -> str:
        first, *rest = zip(cells, widths, strict=True)
        return " | ".join(["| " + first[0].ljust(first[1]), *(c.rjust(w) for c, w in rest)]) + " |"

    rule = "|" + "|".join(["-" * (widths[0] + 2), *("-" * (w + 1) + ":" for w in widths[1:])]) + "|"
    return "\n".join([line(head), rule, *map(line, rows)])
