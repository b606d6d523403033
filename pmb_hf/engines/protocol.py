"""What an engine does, and which there are."""

from __future__ import annotations

from typing import Protocol

from ..errors import InputError, UnknownNameError
from .jobs import Job, Outcome

ENGINES = ("local", "ray")


class Engine(Protocol):
    """Carries jobs out. It keeps no order and knows of no lanes; it only has room or not."""

    def submit(self, job: Job) -> None:
        """Do ``job`` as soon as there is room for it."""

    def wait(self) -> Outcome:
        """Wait until any of the submitted jobs has ended, and return how.

        A job whose process or machine is gone has ended as ``LOST``.
        """

    def stop(self) -> None:
        """End whatever is still running, and leave nothing behind; twice is fine."""


def create(name: str, *, workers: int | None = None, address: str | None = None) -> Engine:
    """An engine by its name.

    Args:
        name: ``local`` or ``ray``.
        workers: How many jobs at a time on this machine; by default, one a core.
        address: The address of a Ray cluster; by default, one on this machine.

    Raises:
        UnknownNameError: There is no such engine.
        InputError: The engine does not take one of the arguments.
        MissingDependencyError: Ray is not installed.
    """
    if name == "local":
        from .on_machine import MachineEngine

        if address is not None:
            raise InputError("--address is for --engine ray")
        return MachineEngine(workers)
    if name == "ray":
        from .on_ray import RayEngine

        if address is not None and workers is not None:
            raise InputError(
                "--workers is for this machine; a cluster has room for as many as its nodes have"
            )
        return RayEngine(address, workers)
    raise UnknownNameError(f"no engine {name!r}; there are {', '.join(ENGINES)}")
