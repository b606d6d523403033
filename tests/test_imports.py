"""What importing costs: checked in fresh interpreters, by what they have loaded."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {"datasets", "evaluate", "gradio", "httpx", "numpy", "pandas", "pyarrow", "tantivy"}
COMMAND = """
import sys
from pmb_hf.cli import main
sys.argv = ["pmb", *{arguments!r}]
try:
    code = main()
except SystemExit as exit:
    code = exit.code
assert not code, f"pmb ended with {{code}}"
"""


def loaded_by(code: str, cwd: Path) -> set[str]:
    """Names in sys.modules after a fresh interpreter ran the code."""
    code += '\nimport sys\nprint("\\nLOADED", *sys.modules)'
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return set(done.stdout.rpartition("LOADED")[2].split())


def test_package_loads_nothing_heavy(tmp_path: Path) -> None:
    loaded = loaded_by("import pmb_hf", tmp_path)
    assert "pmb_hf" in loaded
    assert not loaded & (HEAVY | {"huggingface_hub", "rich", "typer", "asyncio", "logging"})
    assert {name for name in loaded if name.startswith("pmb_hf.")} == {
        "pmb_hf._version",
        "pmb_hf.errors",
    }


def test_package_touches_no_logging_and_no_disk(tmp_path: Path) -> None:
    code = """
import logging, sys
before = list(logging.root.handlers), logging.root.level, set(logging.root.manager.loggerDict)
touched = []
def hook(event, args):
    if event in {"os.mkdir", "os.remove", "os.rename", "socket.connect"}:
        touched.append((event, args))
    if event == "open" and isinstance(args[1], str) and set(args[1]) & set("wax+"):
        touched.append((event, args))
sys.dont_write_bytecode = True
sys.addaudithook(hook)
import pmb_hf
dir(pmb_hf)
assert not touched, touched
after = list(logging.root.handlers), logging.root.level, set(logging.root.manager.loggerDict)
assert before == after, (before, after)
"""
    loaded_by(code, tmp_path)
    assert not list(tmp_path.iterdir())


def test_scoring_loads_only_the_standard_library(tmp_path: Path) -> None:
    loaded = loaded_by("from pmb_hf import RULES, score_case, summarize", tmp_path)
    assert not loaded & (HEAVY | {"huggingface_hub", "rich", "typer"})


def test_help_loads_no_library_of_a_run(tmp_path: Path) -> None:
    assert not loaded_by(COMMAND.format(arguments=["--help"]), tmp_path) & HEAVY


@pytest.mark.parametrize("provider", ["bm25", "empty"])
def test_a_run_loads_no_datasets(provider: str, tmp_path: Path) -> None:
    arguments = ["run", "--provider", provider, "--out", str(tmp_path / "out")]
    loaded = loaded_by(COMMAND.format(arguments=arguments), tmp_path)
    assert not loaded & {"datasets", "evaluate", "gradio", "pandas", "pyarrow"}
