"""Jobs on this machine, each in a process of its own.

So a job can take its process with it, and no other job; and the memory that is
measured is that of its own provider.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ..errors import InputError
from .jobs import LOST, Job, Outcome

_SAID = 2000


class MachineEngine:
    """Does up to ``workers`` jobs at a time; by default, one a core."""

    def __init__(self, workers: int | None = None) -> None:
        """Start no process yet.

        Raises:
            InputError: If ``workers`` is below 1.
        """
        if workers is not None and workers < 1:
            raise InputError(f"workers must be 1 or more, not {workers}")
        self._pool = ThreadPoolExecutor(workers or os.cpu_count() or 1)
        self._ended: queue.SimpleQueue[Outcome] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._processes: set[subprocess.Popen[bytes]] = set()
        self._stopped = False

    def submit(self, job: Job) -> None:
        """Do ``job`` as soon as a worker is free."""
        self._pool.submit(self._do, job)

    def wait(self) -> Outcome:
        """Wait until any of the submitted jobs has ended."""
        return self._ended.get()

    def stop(self) -> None:
        """Kill what runs."""
        with self._lock:
            self._stopped = True
            processes = list(self._processes)
        for process in processes:
            process.kill()
        self._pool.shutdown(cancel_futures=True)

    def _do(self, job: Job) -> None:
        try:
            outcome = self._in_process(job)
        except OSError as error:
            outcome = Outcome(job.id, LOST, f"no process could be started: {error}", again=True)
        self._ended.put(outcome)

    def _in_process(self, job: Job) -> Outcome:
        with tempfile.TemporaryDirectory(prefix="pmb-outcome-") as scratch:
            answer, said = Path(scratch) / "outcome.json", Path(scratch) / "said.txt"
            with said.open("wb") as log:
                process = self._start(answer, log.fileno())
                if process is None:
                    return Outcome(job.id, LOST, "stopped before it began")
                try:
                    # Its standard input stays open: when it closes, whoever wants the job is gone.
                    self._tell(process, job)
                    code = process.wait()
                finally:
                    self._forget(process)
            try:
                return Outcome.from_wire(json.loads(answer.read_text(encoding="utf-8")))
            except (OSError, ValueError, TypeError):
                tail = said.read_bytes()[-_SAID:].decode(errors="replace").strip().splitlines()
                why = f"signal {-code}" if code < 0 else f"exit code {code}"
                error = ": ".join([f"its process ended with {why}", *tail[-1:]])
                return Outcome(job.id, LOST, error, again=True)

    def _start(self, answer: Path, log: int) -> subprocess.Popen[bytes] | None:
        with self._lock:
            if self._stopped:
                return None
            process = subprocess.Popen(  # noqa: S603 - this interpreter, our own module
                [sys.executable, "-m", f"{__package__}.worker", str(answer)],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C comes to us alone, and we stop the rest
            )
            self._processes.add(process)
            return process

    @staticmethod
    def _tell(process: subprocess.Popen[bytes], job: Job) -> None:
        if process.stdin is not None:
            try:
                process.stdin.write(json.dumps(job.to_wire()).encode() + b"\n")
                process.stdin.flush()
            except BrokenPipeError:
                return  # it has ended already, and wait() says how

    def _forget(self, process: subprocess.Popen[bytes]) -> None:
        with self._lock:
            self._processes.discard(process)
        if process.stdin is not None:
            try:
                process.stdin.close()
            except BrokenPipeError:
                return
