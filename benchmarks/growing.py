"""Growing, reading and checking distractors: rates, and peak memory along N.

Each row is a process of its own, so that its peak memory is its own. Memory must not
grow with N: the last line gives the difference. No result fails this script.

    python benchmarks/growing.py [N ...]
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from pmb_hf.corpus import load_corpus
from pmb_hf.grow import Recipe
from pmb_hf.grow.files import Stored, write
from pmb_hf.lint.distractors import lint_distractors

SIZES = (100_000, 1_000_000)


def _grow(home: Path, count: int) -> None:
    write(load_corpus("native"), Recipe(count), home)


def _read(home: Path, count: int) -> None:
    assert sum(1 for _ in Stored(home, load_corpus("native")).beliefs()) == count


def _lint(home: Path, count: int) -> None:
    corpus = load_corpus("native")
    assert list(lint_distractors(corpus, Stored(home, corpus).beliefs())) == []
    assert count


STEPS: dict[str, Callable[[Path, int], None]] = {"grow": _grow, "read": _read, "lint": _lint}


def measure(step: str, home: Path, count: int) -> None:
    """Do one step here and print what it took."""
    started = time.perf_counter()
    STEPS[step](home, count)
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"seconds": seconds, "peakMb": peak / 1024}))


def main(arguments: list[str]) -> None:
    """Measure every step at every N."""
    if arguments[:1] == ["--step"]:
        measure(arguments[1], Path(arguments[2]), int(arguments[3]))
        return
    sizes = tuple(map(int, arguments)) or SIZES
    peaks: dict[str, list[float]] = {step: [] for step in STEPS}
    print("| step | N | rows a second | peak memory, MB | on disk, MB |")
    print("|---|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory(prefix="pmb-growing-") as scratch:
        for count in sizes:
            home = Path(scratch) / str(count)
            for step in STEPS:
                command = [sys.executable, __file__, "--step", step, str(home), str(count)]
                done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603
                found = json.loads(done.stdout)
                peaks[step].append(found["peakMb"])
                size = sum(path.stat().st_size for path in home.iterdir()) / 1e6
                rate = count / found["seconds"]
                peak = f"{found['peakMb']:.0f} | {size:.1f}"
                print(f"| {step} | {count:,} | {rate:,.0f} | {peak} |", flush=True)
    print()
    for step, seen in peaks.items():
        if len(seen) > 1:
            grown = f"{seen[-1] - seen[0]:+.0f} MB"
            print(f"- {step}: {grown} of peak memory from N = {sizes[0]:,} to {sizes[-1]:,}")


if __name__ == "__main__":
    main(sys.argv[1:])
