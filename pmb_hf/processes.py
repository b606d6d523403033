"""Shares the pieces of a data set among processes, this one among them."""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context
from typing import TypeVar

from .errors import PredictionError
from .orphans import end_with
from .parquet_sets import ParquetSet
from .partial_scores import Job, Part

T = TypeVar("T")

_AHEAD = 2
"""Tasks that a process has at most: the one that it does, and one so that it need not wait."""

_worker: tuple[Job, ParquetSet]


def _start(job: Job, parent: int) -> None:
    end_with(parent)
    global _worker  # noqa: PLW0603 - what a process needs for each of its pieces
    _worker = job, ParquetSet(job.source)


def _work(do: Callable[[Job, ParquetSet, T], Part], task: T) -> Part:
    return do(*_worker, task)


@contextmanager
def on_processes(
    workers: int, job: Job, do: Callable[[Job, ParquetSet, T], Part], tasks: Sequence[T]
) -> Iterator[Iterator[Part]]:
    """What each task comes to, in the order of the tasks; ``do`` is a function of a module.

    Raises:
        PredictionError: ``workers`` is less than 1, or a process died.
    """
    if workers < 1:
        raise PredictionError(f"workers is {workers}: give 1 or more")
    here = partial(do, job, ParquetSet(job.source))
    workers = min(workers, len(tasks))
    if workers <= 1:
        yield map(here, tasks)
        return
    # spawn: a fork of a process with Arrow's threads may hang.
    pool = ProcessPoolExecutor(workers - 1, get_context("spawn"), _start, (job, os.getpid()))
    try:
        work = partial(_work, do)

        def hand_out(task: T) -> Future[Part]:
            with _deaf_children():
                return pool.submit(work, task)

        yield _shared(tasks, here, hand_out, _AHEAD * (workers - 1))
    except BrokenProcessPool as error:
        raise PredictionError(
            f"{job.source.path}: a worker process ended; was it out of memory? Try fewer --workers"
        ) from error
    finally:
        with _uninterrupted():
            pool.shutdown(cancel_futures=True)


@contextmanager
def _deaf_children() -> Iterator[None]:
    """Processes that are started meanwhile never hear of Ctrl-C.

    It goes to all processes of a terminal. This one ends the others; one that ends by itself,
    in the middle of a call or of its start, can leave the pool waiting for good.
    """
    mask = getattr(signal, "pthread_sigmask", None)
    if mask is None:  # Windows
        yield
        return
    before = mask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        mask(signal.SIG_SETMASK, before)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """A second Ctrl-C is not heard: a pool that is left half shut down waits for good."""
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

    Of the tasks at most ``most`` are handed out at a time. One that is cannot be had back: a
    pool that breaks while a call of it is cancelled never says so (CPython 3.11).
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
