"""The built-in providers on many beliefs: how fast they take them in, and how fast they answer.

Each provider runs in a process of its own, on the native corpus among made-up beliefs of one
user (12 words from a vocabulary whose frequencies fall by Zipf's law, two scopes, names of two
words, one alias). They are written in batches of 10,000; `vector` and `hybrid` embed them by
wordllama meanwhile. The queries are those of the native corpus that are not blank, and as many of
random words, all with both scopes and limit 20. "on disk" has the option `path`; the vectors
themselves are in memory there, too. Times are wall times.
"""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from _measuring import table

from pmb_hf import load_corpus
from pmb_hf.providers import protocol, registry
from pmb_hf.providers.protocol import AddRow

SIZE, BATCH, LIMIT = 100_000, 10_000, 20
CONTENDERS: dict[str, tuple[str, bool]] = {
    "bm25": ("bm25", False),
    "bm25, on disk": ("bm25", True),
    "fts5": ("fts5", False),
    "fts5, on disk": ("fts5", True),
    "vector": ("vector", False),
    "vector, on disk": ("vector", True),
    "hybrid": ("hybrid", False),
    "structured": ("structured", False),
    "structured, on disk": ("structured", True),
}
USER, SCOPES = "bench", ("domain:one", "domain:two")


def vocabulary(dice: random.Random, words: int = 20_000) -> tuple[list[str], list[float]]:
    """Pronounceable words, and how often each of them comes up to then."""
    syllables = [a + b for a in "bcdfghjklmnprstvwz" for b in ("a", "e", "i", "o", "u", "en", "ar")]
    made = {"".join(dice.choices(syllables, k=dice.randint(1, 4))) for _ in range(2 * words)}
    chosen = sorted(made)[:words]
    dice.shuffle(chosen)
    total, sums = 0.0, []
    for rank in range(1, len(chosen) + 1):
        total += 1 / rank
        sums.append(total)
    return chosen, sums


def beliefs(size: int, dice: random.Random) -> Iterator[AddRow]:
    """The native beliefs, then made-up ones, `size` in all."""
    corpus = load_corpus("native")
    for belief in corpus.beliefs:
        yield _row(belief.id, belief.canonical_name, belief.aliases, belief.content, len(belief.id))
    words, sums = vocabulary(dice)
    for i in range(size - len(corpus.beliefs)):
        name = " ".join(dice.choices(words, k=2))
        alias, *content = dice.choices(words, cum_weights=sums, k=13)
        yield _row(f"n-{i}", name, (alias,), " ".join(content), i)


def _row(belief_id: str, name: str, aliases: Any, content: str, i: int) -> AddRow:
    scope = [SCOPES[i % 2]]
    return AddRow(
        belief_id=belief_id,
        user_id=USER,
        text="\n".join([name, *aliases, content]),
        aliases=tuple(aliases),
        metadata={"beliefId": belief_id, "scope": scope, "canonicalName": name, "type": "entity"},
    )


def queries(dice: random.Random) -> list[str]:
    """Those of the native corpus, and as many random ones."""
    asked = [case.query for case in load_corpus("native").cases if case.query.strip()]
    words, sums = vocabulary(dice)
    return asked + [" ".join(dice.choices(words, cum_weights=sums, k=8)) for _ in asked]


def measure(contender: str, size: int) -> dict[str, float]:
    """Beliefs a second, times of searches in ms, and what the process took, in MB."""
    name, on_disk = CONTENDERS[contender]
    rows = list(beliefs(size, random.Random(1)))
    asked = queries(random.Random(2))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    with tempfile.TemporaryDirectory() as home:
        provider = registry.create(name, {"path": str(Path(home) / "store")} if on_disk else {})
        wall, cpu = time.perf_counter(), time.process_time()
        for start in range(0, size, BATCH):
            protocol.add_all(provider, rows[start : start + BATCH])
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        times, busy = [], []
        for query in asked:
            wall_from, cpu_from = time.perf_counter(), time.process_time()
            provider.search(query=query, user_id=USER, scopes=SCOPES, limit=LIMIT)
            times.append((time.perf_counter() - wall_from) * 1000)
            busy.append((time.process_time() - cpu_from) * 1000)
        protocol.close(provider)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "rate": size / wall,
        "cpu_rate": size / cpu,
        "p50": percentile(times, 50),
        "p95": percentile(times, 95),
        "cpu_p95": percentile(busy, 95),
        "mb": peak - before,
    }


def percentile(values: list[float], share: int) -> float:
    """The nearest-rank percentile."""
    return sorted(values)[-(-len(values) * share // 100) - 1]


def main() -> None:
    if len(sys.argv) == 3:
        print(json.dumps(measure(sys.argv[1], int(sys.argv[2]))))
        return
    size = int(sys.argv[1]) if len(sys.argv) == 2 else SIZE
    rows = []
    for contender in CONTENDERS:
        command = [sys.executable, __file__, contender, str(size)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE)  # noqa: S603 - our own
        got = json.loads(done.stdout)
        rates = (f"{got[key]:,.0f}" for key in ("rate", "cpu_rate"))
        figures = (f"{got[key]:.2f}" for key in ("p50", "p95", "cpu_p95"))
        rows.append([contender, *rates, *figures, f"{got['mb']:,.0f}"])
    head = [
        *("provider", "beliefs a second", "a CPU second"),
        *("p50 ms", "p95 ms", "p95 CPU ms", "MB more"),
    ]
    print(f"{size:,} beliefs:\n\n{table(head, rows)}")


if __name__ == "__main__":
    main()
