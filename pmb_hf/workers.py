"""Other processes that do tasks for this one, and end with it.

Each is a new Python that reads what it shall do from a pipe. It does not run the caller's
script again, as those of `multiprocessing` do: a script without a guard, or from standard
input, does not stand that. None outlives this process: it ends where the pipe does.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from tempfile import TemporaryFile
from typing import BinaryIO, Generic, NoReturn, TypeVar, cast

T = TypeVar("T")
R = TypeVar("R")

# Before anything is imported: where the caller finds us, and nothing of the working directory.
_CODE = "import sys; sys.path[:] = {path!r}; from pmb_hf.workers import serve; serve()"
_QUIET = (signal.SIGINT, signal.SIGTERM)
_LAST = 4096
"""Bytes of what a process said last that are looked at for why it ended."""


class WorkerEndedError(Exception):
    """A process ended by itself, or could not be started."""


class Worker(Generic[T, R]):
    """A process that does tasks one after the other."""

    def __init__(self, make: Callable[[], Callable[[T], R]]) -> None:
        """Start it; there, ``make`` gives what does a task.

        Args:
            make: As tasks and results: something that can be pickled, of a module.

        Raises:
            WorkerEndedError: It can't be started.
        """
        self._waiting: deque[Future[R]] = deque()
        self._lock = threading.Lock()
        self._ended: Exception | None = None
        message = pickle.dumps(make)
        code = _CODE.format(path=[entry for entry in sys.path if isinstance(entry, str)])
        try:
            self._said = TemporaryFile()  # noqa: SIM115 - as long as the process
            with _deaf_children():
                self._process = subprocess.Popen(  # noqa: S603 - our own
                    [sys.executable, "-c", code],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=self._said,
                )
        except OSError as error:
            raise WorkerEndedError(f"it can't be started: {error.strerror or error}") from error
        self._tasks, self._answers = self._process.stdin, self._process.stdout
        self._listener = threading.Thread(target=self._listen, name="pmb-worker", daemon=True)
        try:
            self._listener.start()
        except RuntimeError as error:  # no thread is to be had
            self._process.kill()
            self._process.wait()
            raise WorkerEndedError(f"it can't be started: {error}") from error
        self._send(message)

    @property
    def tasks(self) -> int:
        """How many it has: what it does now, and what waits."""
        return len(self._waiting)

    def submit(self, task: T) -> Future[R]:
        """Hand over a task."""
        future: Future[R] = Future()
        message = pickle.dumps(task)
        with self._lock:
            if self._ended is None:
                self._waiting.append(future)
            else:
                future.set_exception(self._ended)
                return future
        self._send(message)
        return future

    def end(self) -> None:
        """End it now, whatever it does."""
        self._process.kill()
        self._listener.join()
        self._said.close()

    def _send(self, message: bytes) -> None:
        # Pickled twice: what can't be unpickled there shall not end the stream.
        with suppress(OSError, ValueError):  # it has ended, and the listener says so
            pickle.dump(message, cast("BinaryIO", self._tasks))
            cast("BinaryIO", self._tasks).flush()

    def _listen(self) -> None:
        """Hand out its answers until it ends."""
        fault: Exception | None = None
        try:
            while True:
                is_good, value = pickle.loads(pickle.load(cast("BinaryIO", self._answers)))  # noqa: S301 - our own
                with self._lock:
                    future = self._waiting.popleft()
                if is_good:
                    future.set_result(value)
                else:
                    future.set_exception(value)
        except (EOFError, pickle.UnpicklingError):
            pass
        except Exception as error:  # noqa: BLE001 - it is raised where the result is wanted
            fault = error
        self._process.kill()
        self._process.wait()
        with self._lock:
            self._ended = fault or WorkerEndedError(self._why())
            left, self._waiting = self._waiting, deque()
        for future in left:
            future.set_exception(self._ended)
        for pipe in (self._tasks, self._answers):
            with suppress(OSError):
                cast("BinaryIO", pipe).close()

    def _why(self) -> str:
        code = self._process.returncode
        if code < 0:
            with suppress(ValueError):
                return signal.Signals(-code).name
            return f"signal {-code}"
        with suppress(OSError, ValueError):
            self._said.seek(max(self._said.seek(0, os.SEEK_END) - _LAST, 0))
            lines = self._said.read().decode("utf-8", "replace").split("\n")
            said = next((line.strip() for line in reversed(lines) if line.strip()), "")
            return ": ".join(filter(None, (f"exit code {code}", said)))
        return f"exit code {code}"


@contextmanager
def _deaf_children() -> Iterator[None]:
    """Processes that are started meanwhile hear neither Ctrl-C nor SIGTERM.

    Ctrl-C goes to all processes of a terminal, and SIGTERM often to all of a group. This
    one ends the others, so that none of them can be taken for one that failed.
    """
    mask = getattr(signal, "pthread_sigmask", None)
    if mask is None:  # Windows
        yield
        return
    before = mask(signal.SIG_BLOCK, _QUIET)
    try:
        yield
    finally:
        mask(signal.SIG_SETMASK, before)


def serve() -> NoReturn:
    """Do the tasks that standard input brings; the first message says what does them."""
    tasks, answers = _streams()
    queue: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_receive, args=(tasks, queue), daemon=True).start()
    do: Callable[[object], object] | None = None
    fault: Exception | None = None
    try:
        do = pickle.loads(queue.get())()  # noqa: S301 - our own
    except Exception as error:  # noqa: BLE001 - told when a task comes
        fault = error
    while True:
        content = queue.get()
        try:
            if do is None:
                raise fault or RuntimeError("nothing does the tasks")
            answer = pickle.dumps((True, do(pickle.loads(content))))  # noqa: S301 - our own
        except Exception as error:  # noqa: BLE001 - raised in the process that asked
            answer = _failure(error)
        pickle.dump(answer, answers)
        answers.flush()


def _streams() -> tuple[BinaryIO, BinaryIO]:
    """Where tasks come from and answers go to; what a library prints goes elsewhere."""
    found = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return found


def _receive(tasks: BinaryIO, queue: SimpleQueue[bytes]) -> None:
    try:
        while True:
            queue.put(pickle.load(tasks))  # noqa: S301 - our own
    finally:
        # Whoever asked has ended. Nobody wants what is under way.
        os._exit(1)


def _failure(error: Exception) -> bytes:
    try:
        answer = pickle.dumps((False, error))
        pickle.loads(answer)  # noqa: S301 - our own
    except Exception:  # noqa: BLE001 - some errors can't be sent
        return pickle.dumps((False, RuntimeError(f"{type(error).__name__}: {error}")))
    return answer
