"""A process that ends with the one that started it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

from cli_kit import environment
from processes import is_running

PARENT = """
import subprocess, sys, time
code = "import os, time; from pmb_hf.orphans import end_with; end_with(os.getppid()); "
code += "time.sleep(600)"
child = subprocess.Popen([sys.executable, "-c", code])
print(child.pid, flush=True)
time.sleep(600)
"""


def test_an_orphan_ends() -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True, env=environment()
    )
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    time.sleep(1)
    assert is_running(child)
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    assert any(not is_running(child) or time.sleep(0.1) for _ in range(300))
