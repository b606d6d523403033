"""Pieces of a data set that processes share: this one works along, and the order stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from processes import is_running
from test_streaming import answers, write

from pmb_hf.completeness import Seen
from pmb_hf.corpus import load_corpus
from pmb_hf.dataset_rows import rows as dataset_rows
from pmb_hf.errors import PredictionError
from pmb_hf.parquet_sets import ParquetSet, Source
from pmb_hf.partial_scores import Job, Part
from pmb_hf.processes import on_processes
from pmb_hf.streaming import prepare

Task = tuple[int, str]
"""The number of a task, and the folder in which those who work leave their names."""


@pytest.fixture
def made(tmp_path: Path) -> Job:
    singles = dataset_rows(load_corpus(), "retrieval")
    source = Source(write(tmp_path / "a.parquet", answers(singles, "r", 1)), {})
    return prepare(source, singles, rules="spec")[1]


def together(job: Job, _: ParquetSet, task: Task) -> Part:
    """Done only once two processes are at work."""
    number, folder = task
    Path(folder, str(os.getpid())).touch()
    for _look in range(6000):
        if len(list(Path(folder).iterdir())) == 2:
            return Part(Seen(job.places), rows=number, examples=[str(os.getpid())])
        time.sleep(0.01)
    raise TimeoutError("one process did it all")


def refused(job: Job, rows: ParquetSet, task: Task) -> Part:
    together(job, rows, task)
    raise PredictionError(f"task {task[0]} is refused")


def killed(job: Job, rows: ParquetSet, task: Task) -> Part:
    """The process that is not the first one dies."""
    part = together(job, rows, task)
    if os.getpid() != int(os.environ["PMB_TEST_FIRST"]):
        os.kill(os.getpid(), signal.SIGKILL)
    return part


def slow(job: Job, rows: ParquetSet, task: Task) -> Part:
    """Takes long enough to be interrupted."""
    part = together(job, rows, task)
    time.sleep(0.5)
    return part


PROGRAM = """
import sys
from pathlib import Path
from pmb_hf.corpus import load_corpus
from pmb_hf.dataset_rows import rows
from pmb_hf.parquet_sets import Source
from pmb_hf.processes import on_processes
from pmb_hf.streaming import prepare
from test_shared_pieces import slow
if __name__ == "__main__":
    job = prepare(Source(sys.argv[1], {}), rows(load_corpus(), "retrieval"), rules="spec")[1]
    with on_processes(2, job, slow, [(n, sys.argv[2]) for n in range(500)]) as parts:
        list(parts)
"""


@pytest.mark.parametrize("times", [1, 2])
def test_an_interrupt_ends_all(made: Job, tmp_path: Path, times: int) -> None:
    at_work = tmp_path / "at-work"
    at_work.mkdir()
    script = tmp_path / "script.py"
    script.write_text(PROGRAM)
    with subprocess.Popen(
        [sys.executable, script, made.source.path, at_work],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)},
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        for _look in range(6000):
            if len(names := list(at_work.iterdir())) == 2:
                break
            time.sleep(0.01)
        for _ in range(times):
            os.killpg(process.pid, signal.SIGINT)
            time.sleep(0.05)
        _, said = process.communicate(timeout=60)
    assert process.returncode not in (0, None)
    assert b"KeyboardInterrupt" in said
    assert not any(is_running(int(name.name)) for name in names)


def tasks(folder: Path, count: int) -> list[Task]:
    folder.mkdir()
    return [(number, str(folder)) for number in range(count)]


def test_this_process_works_along_and_the_order_stays(made: Job, tmp_path: Path) -> None:
    with on_processes(2, made, together, tasks(tmp_path / "at-work", 9)) as parts:
        done = list(parts)
    assert [part.rows for part in done] == list(range(9))
    workers = {part.examples[0] for part in done}
    assert len(workers) == 2
    assert str(os.getpid()) in workers


def test_the_first_fault_is_told_whoever_met_it(made: Job, tmp_path: Path) -> None:
    with (
        pytest.raises(PredictionError, match="task 0 is refused"),
        on_processes(2, made, refused, tasks(tmp_path / "at-work", 5)) as parts,
    ):
        list(parts)


def test_a_worker_that_dies_is_told(
    made: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PMB_TEST_FIRST", str(os.getpid()))
    with (
        pytest.raises(PredictionError, match="a worker process ended; was it out of memory"),
        on_processes(2, made, killed, tasks(tmp_path / "at-work", 9)) as parts,
    ):
        list(parts)
