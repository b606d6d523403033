"""Shares the pieces of a data set among processes, this one among them."""

from __future__ import annotations

import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

from .errors import PredictionError
from .parquet_sets import ParquetSet
from .partial_scores import Job, Part
from .workers import Worker, WorkerEndedError

T = TypeVar("T")

_AHEAD = 2
"""Tasks that a process has at most: the one that it does, and one so that it need not wait."""


def _opened(do: Callable[[Job, ParquetSet, T], Part], job: Job) -> Callable[[T], Part]:
    return partial(do, job, ParquetSet(job.source))


@contextmanager
def on_processes(
    workers: int,
    job: Job,
    rows: ParquetSet,
    do: Callable[[Job, ParquetSet, T], Part],
    tasks: Sequence[T],
) -> Iterator[Iterator[Part]]:
    """What each task comes to, in the order of the tasks; ``do`` is a function of a module.

    Args:
        workers: How many processes, this one among them.
        job: What they have to know.
        rows: The data set of the job; the other processes open it themselves.
        do: Does a task.
        tasks: The tasks.

    Raises:
        PredictionError: ``workers`` is less than 1, a process died, or memory is short.
    """
    if workers < 1:
        raise PredictionError(f"workers is {workers}: give 1 or more")
    path = job.source.path
    workers = min(workers, len(tasks))
    others: list[Worker[T, Part]] = []

    def hand_out(task: T) -> Future[Part]:
        return min(others, key=lambda other: other.tasks).submit(task)

    try:
        for _ in range(workers - 1):
            others.append(Worker(partial(_opened, do, job)))  # noqa: PERF401 - one may fail
        yield _shared(tasks, partial(do, job, rows), hand_out, _AHEAD * len(others))
    except WorkerEndedError as error:
        raise PredictionError(
            f"{path}: a worker process ended ({error}); was it out of memory? Try fewer --workers"
        ) from error
    except MemoryError as error:
        fewer = "fewer --workers or " if workers > 1 else ""
        raise PredictionError(
            f"{path}: there is not enough memory; try {fewer}files with smaller row groups"
        ) from error
    finally:
        with _uninterrupted():
            for other in others:
                other.end()


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """A second Ctrl-C is not heard: no process shall be left over."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread is interrupted
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL if before is None else before)


def _shared(
    tasks: Sequence[T],
    here: Callable[[T], Part],
    hand_out: Callable[[T], Future[Part]],
    most: int,
) -> Iterator[Part]:
    """Each task's part in order; while the next is not there, do one more in this process.

    Of the tasks at most ``most`` are handed out at a time, so that what is left can be done
    by whoever is free.
    """
    waiting = deque(enumerate(tasks))
    parts: dict[int, Future[Part]] = {}
    for number in range(len(tasks)):
        while True:
            while waiting and sum(not part.done() for part in parts.values()) < most:
                other, task = waiting.popleft()
                parts[other] = hand_out(task)
            if not waiting or (number in parts and parts[number].done()):
                break
            other, task = waiting.popleft()
            parts[other] = _done(here, task)
        yield parts.pop(number).result()


def _done(here: Callable[[T], Part], task: T) -> Future[Part]:
    """A task that is done now; what it raises is raised when it is its turn."""
    future: Future[Part] = Future()
    try:
        future.set_result(here(task))
    except Exception as error:  # noqa: BLE001 - kept for later
        future.set_exception(error)
    return future
