"""Pieces of a data set that processes share: this one works along, and the order stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from cli_kit import ROOT, environment
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
    source = Source(write(tmp_path / "a.parquet", answers(singles, "r", 1), group=10), {})
    return prepare(source, singles, rules="spec")[1]


def opened(job: Job) -> ParquetSet:
    """The set that is shared."""
    return ParquetSet(job.source)


def two_names(folder: Path) -> list[Path]:
    """Waits until two processes are at work; what they left, each its number."""
    for _look in range(6000):
        if len(names := list(folder.iterdir())) == 2:
            return names
        time.sleep(0.01)
    raise TimeoutError("one process did it all")


def together(job: Job, _: ParquetSet, task: Task) -> Part:
    """Done only once two processes are at work."""
    number, folder = task
    Path(folder, str(os.getpid())).touch()
    two_names(Path(folder))
    return Part(Seen(job.places), rows=number, examples=[str(os.getpid())])


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
    """Takes so long that nobody waits for it."""
    part = together(job, rows, task)
    time.sleep(600 if os.getpid() != int(os.environ["PMB_TEST_FIRST"]) else 0.1)
    return part


PROGRAM = """
import os, sys
os.environ["PMB_TEST_FIRST"] = str(os.getpid())
from pmb_hf.corpus import load_corpus
from pmb_hf.dataset_rows import rows
from pmb_hf.parquet_sets import Source
from pmb_hf.processes import on_processes
from pmb_hf.streaming import prepare
from test_shared_pieces import slow
source = Source(sys.argv[1], {})
opened, job = prepare(source, rows(load_corpus(), "retrieval"), rules="spec")
with on_processes(2, job, opened, slow, [(n, sys.argv[2]) for n in range(500)]) as parts:
    list(parts)
"""


def at_work(made: Job, folder: Path) -> tuple[subprocess.Popen[bytes], list[Path]]:
    """A script without a guard whose two processes are at work, and their numbers."""
    (folder / "at-work").mkdir()
    script = folder / "script.py"
    script.write_text(PROGRAM)
    process = subprocess.Popen(
        [sys.executable, script, made.source.path, folder / "at-work"],
        env=environment(PYTHONPATH=os.pathsep.join([str(ROOT), str(Path(__file__).parent)])),
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    return process, two_names(folder / "at-work")


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("send", [os.kill, os.killpg])
def test_an_interrupt_ends_all(
    made: Job, tmp_path: Path, times: int, send: Callable[[int, int], None]
) -> None:
    process, names = at_work(made, tmp_path)
    with process:
        for _ in range(times):
            with suppress(ProcessLookupError):
                send(process.pid, signal.SIGINT)
            time.sleep(0.05)
        _, said = process.communicate(timeout=60)
    assert process.returncode not in (0, None)
    assert b"KeyboardInterrupt" in said
    assert not any(is_running(int(name.name)) for name in names)


def test_no_process_outlives_one_that_is_killed(made: Job, tmp_path: Path) -> None:
    process, names = at_work(made, tmp_path)
    with process:
        process.kill()
    running = [int(name.name) for name in names]
    assert any(not any(map(is_running, running)) or time.sleep(0.1) for _ in range(300))


@pytest.mark.parametrize("how", ["script", "code", "input"])
def test_a_caller_needs_no_guard(made: Job, tmp_path: Path, how: str) -> None:
    code = (
        "from pmb_hf.corpus import load_corpus\n"
        "from pmb_hf.dataset_rows import rows\n"
        "from pmb_hf.parquet_sets import Source\n"
        "from pmb_hf.streaming import score_set\n"
        f"source = Source({made.source.path!r}, {{}})\n"
        "print(score_set(source, rows(load_corpus(), 'retrieval'), workers=2).rows)\n"
    )
    (tmp_path / "script.py").write_text(code)
    call = {"script": ["script.py"], "code": ["-c", code], "input": []}[how]
    with (tmp_path / "script.py").open() as file:
        done = subprocess.run(
            [sys.executable, *call],
            cwd=tmp_path,
            env=environment(),
            stdin=file,
            capture_output=True,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stdout, done.stderr) == (0, "77\n", "")


def tasks(folder: Path, count: int) -> list[Task]:
    folder.mkdir()
    return [(number, str(folder)) for number in range(count)]


def test_this_process_works_along_and_the_order_stays(made: Job, tmp_path: Path) -> None:
    with on_processes(2, made, opened(made), together, tasks(tmp_path / "at-work", 9)) as parts:
        done = list(parts)
    assert [part.rows for part in done] == list(range(9))
    workers = {part.examples[0] for part in done}
    assert len(workers) == 2
    assert str(os.getpid()) in workers


def test_the_first_fault_is_told_whoever_met_it(made: Job, tmp_path: Path) -> None:
    with (
        pytest.raises(PredictionError, match="task 0 is refused"),
        on_processes(2, made, opened(made), refused, tasks(tmp_path / "at-work", 5)) as parts,
    ):
        list(parts)


def test_a_worker_that_dies_is_told(
    made: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PMB_TEST_FIRST", str(os.getpid()))
    with (
        pytest.raises(
            PredictionError, match=r"a worker process ended \(SIGKILL\); was it out of memory"
        ),
        on_processes(2, made, opened(made), killed, tasks(tmp_path / "at-work", 9)) as parts,
    ):
        list(parts)
