"""Jobs as Ray tasks: on a cluster, or on one that is started on this machine.

Ray decides what runs where. A task is never retried by Ray itself: a lost one is
told as such, and :func:`~.running.run_jobs` submits it again.
"""

from __future__ import annotations

import importlib
import logging
import os
import socket
from typing import Any

from ..errors import InputError, MissingDependencyError
from .jobs import LOST, Job, Outcome, perform_there

PIP_LINE = "pip install 'pmb-hf[ray]'"
_CONNECT_S = 10.0


class RayEngine:
    """Does jobs on the cluster at ``address``; without one, on ``workers`` cores here."""

    def __init__(self, address: str | None = None, workers: int | None = None) -> None:
        """Connect, or start a cluster here.

        Raises:
            MissingDependencyError: If Ray is not installed.
            InputError: If there is no cluster at the address, or ``workers`` is below 1.
        """
        if workers is not None and workers < 1:
            raise InputError(f"workers must be 1 or more, not {workers}")
        self._ray = ray = _import_ray()
        if address is not None:
            _check_reachable(address)
        self._own = not ray.is_initialized()
        if self._own:
            room = {} if address is not None else {"num_cpus": workers or os.cpu_count() or 1}
            try:
                ray.init(
                    address=address,
                    log_to_driver=False,
                    logging_level=logging.ERROR,
                    **room,
                    **({} if address is not None else {"include_dashboard": False}),
                )
            except (ConnectionError, ValueError, RuntimeError) as error:
                raise InputError(f"no Ray cluster at {address!r}: {error}") from error
        # A process does one task: the memory that is measured is that of its own provider.
        self._task = ray.remote(max_retries=0, max_calls=1)(perform_there)
        self._running: dict[Any, str] = {}

    def submit(self, job: Job) -> None:
        """Hand ``job`` to Ray, which sets its cores aside.

        Raises:
            InputError: If no cluster of this size has as many.
        """
        others = dict(job.resources)
        there = self._ray.cluster_resources()
        for name, wanted in {"CPU": job.num_cpus, **others}.items():
            if wanted > there.get(name, 0):
                raise InputError(
                    f"job {job.id} wants {wanted:g} {name}, and the cluster has "
                    f"{there.get(name, 0):g}; ask for less, or add nodes"
                )
        aside = {"num_cpus": job.num_cpus, "num_gpus": others.pop("GPU", 0), "resources": others}
        reference = self._task.options(**aside).remote(job.to_wire())
        self._running[reference] = job.id

    def wait(self) -> Outcome:
        """Wait until any of the submitted jobs has ended, or its worker is gone."""
        (reference,), _ = self._ray.wait(list(self._running), num_returns=1)
        job_id = self._running.pop(reference)
        try:
            return Outcome.from_wire(self._ray.get(reference))
        except self._ray.exceptions.RayError as error:
            line = next(iter(str(error).splitlines()), "")
            return Outcome(job_id, LOST, f"its worker was lost: {line}"[:300], again=True)

    def stop(self) -> None:
        """Kill what runs; a cluster that was started here ends, another one stays."""
        ray = self._ray
        if not ray.is_initialized():
            return
        for reference in self._running:
            ray.cancel(reference, force=True)
        self._running.clear()
        if self._own:
            ray.shutdown()


def _check_reachable(address: str) -> None:
    """Ray itself would try for minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not (colon and port.isdigit()):
        return  # "auto", "local" and the like
    try:
        socket.create_connection((host.strip("[]"), int(port)), _CONNECT_S).close()
    except (OSError, OverflowError) as error:
        raise InputError(f"no Ray cluster at {address!r}: {error}") from error


def _import_ray() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        return importlib.import_module("ray")
    except ImportError as error:
        raise MissingDependencyError(f"--engine ray needs Ray: {PIP_LINE}") from error
