"""One thread that does all the work of a provider, a job at a time."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeAlias, TypeVar

T = TypeVar("T")
_Jobs: TypeAlias = "SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None]"


class Worker:
    """Does jobs in the order in which they come, always in the same thread.

    So a provider needs no lock, and one that is tied to the thread that made it
    (SQLite) works as well. The thread is a daemon, unlike those of the standard
    library's pool: a provider that hangs can't keep the process from ending.
    """

    def __init__(self) -> None:
        """Start the thread; it ends once the worker is no longer used."""
        self._jobs: _Jobs = SimpleQueue()
        Thread(target=_work, args=(self._jobs,), name="pmb-provider", daemon=True).start()
        weakref.finalize(self, self._jobs.put, None)

    def submit(self, job: Callable[[], T]) -> Future[T]:
        """Queue a job; a job that is cancelled before its turn is left out."""
        future: Future[T] = Future()
        self._jobs.put((future, job))
        return future

    async def run(self, job: Callable[[], T]) -> T:
        """Queue a job and wait for its result without blocking the event loop."""
        return await asyncio.wrap_future(self.submit(job))


def _work(jobs: _Jobs) -> None:
    while (item := jobs.get()) is not None:
        future, job = item
        if not future.set_running_or_notify_cancel():
            continue
        try:
            result = job()
        except BaseException as error:  # noqa: BLE001 - it belongs to whoever waits for the result
            future.set_exception(error)
        else:
            future.set_result(result)
        del item, future, job  # an idle thread keeps nothing alive
