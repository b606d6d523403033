"""How much CPU time a command costs from start to end, in a process of its own.

Beside pmb's stand Python itself and the imports of the libraries that it builds on.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from _measuring import machine, table

RUNS = 5
PMB = str(Path(sys.executable).with_name("pmb"))


def cpu_seconds(command: list[str], directory: str) -> float:
    """User and system time of one run of ``command``."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = os.environ | {"HF_HUB_OFFLINE": "1"}
    subprocess.run(  # noqa: S603 - the commands below
        command, check=True, capture_output=True, cwd=directory, env=environment
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main() -> None:
    python = [sys.executable, "-c"]
    commands = {
        "python -c pass": [*python, "pass"],
        "import pmb_hf": [*python, "import pmb_hf"],
        "import datasets": [*python, "import datasets"],
        "import evaluate": [*python, "import evaluate"],
        "pmb --help": [PMB, "--help"],
        "pmb run --provider bm25": [PMB, "run", "--provider", "bm25", "--quiet"],
    }
    spent: dict[str, list[float]] = {name: [] for name in commands}
    with tempfile.TemporaryDirectory() as directory:
        for _ in range(RUNS):
            for name, command in commands.items():
                spent[name].append(cpu_seconds(command, directory))
    floor = statistics.median(spent["python -c pass"])
    rows = [
        [name, f"{statistics.median(times):.2f}", f"{statistics.median(times) / floor:.0f}"]
        for name, times in spent.items()
    ]
    print(table(["command", "CPU s", "python -c pass = 1"], rows))
    print(f"\nMedians of {RUNS} runs, user and system time of the process, all threads.")
    print(machine("datasets", "evaluate", "tantivy"), file=sys.stderr)


if __name__ == "__main__":
    main()
