"""Writes many memories in batches, and times the provider's part of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from time import perf_counter_ns

from .deadline import NO_DEADLINE, Deadline
from .faults import named
from .measured import Bulk
from .providers.protocol import AddRow, Provider, supports_bulk
from .summary import round_half_up

BATCH = 10_000
"""Rows of one ``add_many``; all that is ever held of them."""


def write_many(
    provider: Provider, rows: Iterable[AddRow], total: int, deadline: Deadline = NO_DEADLINE
) -> Bulk:
    """Write all ``rows``, by ``add_many`` in batches where the provider has it, else one by one.

    Raises:
        ProviderError: If a write fails; names the first belief of the batch.
        OutOfTimeError: If ``deadline`` passes.
    """
    count = calls = spent = 0
    for batch in _batches(rows, BATCH if supports_bulk(provider) else 1):
        deadline.check(f"with {count} of {total} distractors written")
        started = perf_counter_ns()
        with named(f"add of distractors from {batch[0]['belief_id']} on"):
            if supports_bulk(provider):
                provider.add_many(batch)
            else:
                provider.add(**batch[0])
        spent += perf_counter_ns() - started
        count, calls = count + len(batch), calls + 1
    return Bulk(count, calls, round_half_up(spent / 1e6, 2))


def _batches(rows: Iterable[AddRow], size: int) -> Iterator[list[AddRow]]:
    source = iter(rows)
    while batch := list(islice(source, size)):
        yield batch
