"""What has become of processes that a test started."""

from __future__ import annotations

from pathlib import Path


def is_running(pid: int) -> bool:
    """Whether it has not ended; one that nobody has waited for yet has."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("utf-8")
    except FileNotFoundError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"
