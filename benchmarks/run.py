"""Runs the benchmarks of this directory and writes what they print to RESULTS.md.

python benchmarks/run.py             all of them
python benchmarks/run.py scoring     this one; the sections of the others stay as they are
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from _measuring import machine, today

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "RESULTS.md"
PACKAGES = ("pmb-hf", "pytrec_eval-terrier", "ir_measures", "datasets", "evaluate", "tantivy")


def benchmarks() -> list[Path]:
    """The scripts of this directory that measure speed; a name that starts with _ is no script."""
    # Those of providers have pages of their own: docs/providers.md, docs/builtin-providers.md.
    others = {"run.py", "providers.py", "builtins.py"}
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


def kept() -> dict[str, str]:
    """The sections of RESULTS.md as they are, by name."""
    text = RESULTS.read_text(encoding="utf-8") if RESULTS.exists() else ""
    parts = re.split(
        r"^(?=## (?:" + "|".join(p.stem for p in benchmarks()) + r")$)", text, flags=re.MULTILINE
    )
    return {
        part.split("\n", 1)[0].removeprefix("## "): part.rstrip("\n") + "\n" for part in parts[1:]
    }


def main(names: Sequence[str]) -> None:
    scripts = benchmarks()
    unknown = set(names) - {script.stem for script in scripts}
    if unknown:
        raise SystemExit(f"no benchmark {', '.join(sorted(unknown))}")
    before = kept() if names else {}
    rows = "upstream's published reports" if os.environ.get("PMB_UPSTREAM_DIR") else "made up"
    sections = {
        script.stem: section(script) if not names or script.stem in names else before[script.stem]
        for script in scripts
        if not names or script.stem in names or script.stem in before
    }
    head = (
        "# Results\n\n"
        f"Written by `python benchmarks/run.py`, the last section on {today()}. "
        f"Rows for scoring: {rows}.\n\n"
        f"{machine(*PACKAGES)}\n"
    )
    RESULTS.write_text("\n".join([head, *sections.values()]), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
