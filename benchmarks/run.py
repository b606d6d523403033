"""Runs all benchmarks of this directory and writes what they print to RESULTS.md."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

from _measuring import machine, today

HERE = Path(__file__).resolve().parent
PACKAGES = ("pmb-hf", "pytrec_eval-terrier", "ir_measures", "datasets", "evaluate", "tantivy")


def benchmarks() -> list[Path]:
    """The scripts of this directory that measure speed; a name that starts with _ is no script."""
    others = {"run.py", "providers.py"}  # the last has a page of its own: docs/providers.md
    return [p for p in sorted(HERE.glob("*.py")) if p.name[0] != "_" and p.name not in others]


def section(script: Path) -> str:
    """What a benchmark says of itself and what it printed."""
    print(f"== {script.name}", file=sys.stderr, flush=True)
    command = [sys.executable, str(script)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)  # noqa: S603 - our own
    text = done.stdout.decode().strip()
    print(text, file=sys.stderr, flush=True)
    said = ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))) or ""
    return f"## {script.stem}\n\n{said}\n\n{text}\n"


def main() -> None:
    rows = "upstream's published reports" if os.environ.get("PMB_UPSTREAM_DIR") else "made up"
    head = (
        "# Results\n\n"
        f"Written by `python benchmarks/run.py` on {today()}. Rows for scoring: {rows}.\n\n"
        f"{machine(*PACKAGES)}\n"
    )
    text = "\n".join([head, *map(section, benchmarks())])
    (HERE / "RESULTS.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
