"""Uses an installed wheel the way a user does, from outside the tree; no pytest, no network.

Run it with the interpreter that the wheel is installed for: ``python -I tests/wheel_smoke.py``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOAD = """
import datasets, evaluate
rows = datasets.load_dataset("precisionmembench", "retrieval", split="test")
assert rows.num_rows == 77, rows
assert datasets.load_dataset("precisionmembench", "beliefs", split="test").num_rows == 35
metric = evaluate.load("precisionmembench")
empty = [
    {"case_id": row["case_id"], "relevant_beliefs": [], "pinned_facts": []} for row in rows
]
result = metric.compute(predictions=empty, references=rows)
assert result, result
print("loaded", rows.num_rows, "cases and a metric of", len(result), "values")
"""


def run(*command: str, cwd: Path) -> str:
    """Run a program offline, with caches below cwd; return what it printed."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("HF_", "PYTHON", "PMB_"))
    }
    environment |= {
        "HF_HOME": str(cwd / "hf"),
        "HF_HUB_OFFLINE": "1",
        "XDG_CACHE_HOME": str(cwd / "cache"),
        "XDG_DATA_HOME": str(cwd / "data"),
    }
    done = subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(
            f"error: {' '.join(command)} ended with {done.returncode}\n{done.stdout}{done.stderr}"
        )
    return done.stdout


def check_package(cwd: Path) -> None:
    """The package is the wheel's, not the tree's, and holds the Hub repositories' sources."""
    where = "import pmb_hf; print(pmb_hf.__file__)"
    package = Path(run(sys.executable, "-I", "-c", where, cwd=cwd).strip()).resolve().parent
    site = Path(sysconfig.get_path("purelib")).resolve()
    assert package == site / "pmb_hf", f"{package} is not the installed package"
    assert package != ROOT / "pmb_hf"
    for name in ("scoring", "rules", "summary"):
        copy = package / "_hub" / "metric" / "precisionmembench" / f"{name}.py"
        assert copy.is_file(), f"{copy} is missing"
        assert not copy.is_symlink()
    print("package:", package)


def check_run(pmb: str, cwd: Path) -> None:
    """A run scores both parts and leaves a report."""
    assert "run" in run(pmb, "--help", cwd=cwd)
    out = cwd / "out"
    run(pmb, "run", "--provider", "bm25", "--out", str(out), cwd=cwd)
    files = [out] if out.is_file() else sorted(out.rglob("*.json"))
    reports = [json.loads(path.read_text(encoding="utf-8")) for path in files]
    reports = [report for report in reports if isinstance(report, dict) and "retrieval" in report]
    assert reports, f"no report in {out}: {files}"
    assert any(report.get("session") for report in reports), "the session part is missing"
    assert any(len(report.get("cases") or []) >= 77 for report in reports), "cases are missing"
    print("run:", *(path.name for path in files))


def check_install(pmb: str, cwd: Path) -> None:
    """After `pmb install`, the libraries find dataset and metric by name, offline."""
    run(pmb, "install", cwd=cwd)
    print(run(sys.executable, "-I", "-c", LOAD, cwd=cwd).strip())


def main() -> None:
    """Run all checks in a scratch directory."""
    suffix = ".exe" if os.name == "nt" else ""
    pmb = str(Path(sysconfig.get_path("scripts")) / f"pmb{suffix}")
    with tempfile.TemporaryDirectory(prefix="pmb-hf-wheel-") as scratch:
        cwd = Path(scratch)
        check_package(cwd)
        check_run(pmb, cwd)
        check_install(pmb, cwd)
    print("the wheel works")


if __name__ == "__main__":
    main()
