"""Processes of ours that must not outlive the one that started them."""

from __future__ import annotations

import os
import threading
import time

_LOOK_S = 1.0


def end_with(parent: int) -> None:
    """End this process soon after ``parent``, its parent, has ended, however that was.

    A thread looks who the parent is now: an orphan gets another one.
    """

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_LOOK_S)
        os._exit(1)

    threading.Thread(target=watch, name="pmb-orphan", daemon=True).start()
