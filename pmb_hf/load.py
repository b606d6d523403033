"""How a memory system holds up when several queries come at once.

These figures stand apart from the sequential ones: a latency under load is no
latency of the benchmark.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter
from typing import Any

from .asking import Asker, Query
from .context import Store, budget
from .faults import is_interrupt
from .summary import percentile, round_half_up


def measure_load(
    asker: Asker, queries: Sequence[Query], store: Store, concurrency: int
) -> dict[str, Any]:
    """Ask every query that would be asked, ``concurrency`` at a time.

    Returns:
        ``concurrency``, ``searches``, ``errors``, ``seconds``, ``perSecond``
        (searches answered per second of wall time), ``p50Ms`` and ``p95Ms``
        (nearest rank over the answered ones, null if there are none).

    Raises:
        OutOfTimeError: If the asker's deadline passes before all are asked.
    """
    asked = [query for query in queries if query.is_asked(store)]

    def one(query: Query) -> float | None:
        asker.deadline.check("asking several queries at once")
        try:
            return asker.search(query, budget(query.max_beliefs))[1]
        except BaseException as error:
            if is_interrupt(error):
                raise
            return None

    started = perf_counter()
    with ThreadPoolExecutor(max_workers=concurrency) as pool:
        times = list(pool.map(one, asked))
    seconds = perf_counter() - started
    answered = [ms for ms in times if ms is not None]
    return {
        "concurrency": concurrency,
        "searches": len(asked),
        "errors": len(asked) - len(answered),
        "seconds": round_half_up(seconds, 3),
        "perSecond": round_half_up(len(answered) / seconds, 1) if answered else None,
        "p50Ms": percentile(answered, 0.5),
        "p95Ms": percentile(answered, 0.95),
    }
