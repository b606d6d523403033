"""Scoring Parquet data sets: rows a second, memory and workers, beside the field's evaluators.

Every row is an answer to one of the 77 cases, of a run of its own column. All contenders read
the same files and end with means over all rows:

- pmb-hf: streams batches, reads and checks every field, scores all measures, looks for missing
  and repeated cases, keeps latency percentiles;
- pytrec_eval, ir_measures, ranx: read the same columns, run by run, and take set precision and
  recall (ranx: precision and recall) alone.

Each figure is of a process of its own, in wall time. The peers' memory is that of one row group;
they are asked for the smallest set only.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from _measuring import machine, table

SIZES = tuple(map(int, os.environ.get("PMB_BENCH_ROWS", "100000,1000000,10000000").split(",")))
RUNS_A_FILE = 1300
LENGTHS = (0, 1, 3, 5, 10, 20)


def make(rows: int, folder: Path) -> None:
    """Write runs of random answers until there are ``rows``; the last run is whole."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from pmb_hf.corpus import load_corpus
    from pmb_hf.dataset_rows import rows as dataset_rows

    corpus = load_corpus()
    cases = [(row["case_id"], row["gold"]) for row in dataset_rows(corpus, "retrieval")]
    ids = [belief.id for belief in corpus.beliefs]
    dice = random.Random(20261202)
    schema = pa.schema(
        [
            ("run_id", pa.string()),
            ("case_id", pa.string()),
            ("relevant_beliefs", pa.list_(pa.string())),
            ("latency_ms", pa.float64()),
        ]
    )
    folder.mkdir(parents=True)
    runs = -(-rows // len(cases))
    for first in range(0, runs, RUNS_A_FILE):
        columns: list[list[object]] = [[], [], [], []]
        for run in range(first, min(first + RUNS_A_FILE, runs)):
            for case, gold in cases:
                found = [belief for belief in gold if dice.random() < 0.8]
                answer = [*found, *dice.sample(ids, 20)][: dice.choice(LENGTHS)]
                cells = (f"run-{run:07d}", case, answer, round(dice.random() * 50, 2))
                for column, cell in zip(columns, cells, strict=True):
                    column.append(cell)
        path = folder / f"part-{first:08d}.parquet"
        pq.write_table(pa.table(columns, schema=schema), path, row_group_size=25_000)


def pmb(folder: str, workers: int) -> tuple[int, float | None]:
    from pmb_hf.corpus import load_corpus
    from pmb_hf.dataset_rows import rows
    from pmb_hf.parquet_sets import Source
    from pmb_hf.streaming import score_set

    scored = score_set(Source(folder, {}), rows(load_corpus(), "retrieval"), workers=workers)
    return scored.rows, None


def _gold() -> dict[str, dict[str, int]]:
    from pmb_hf.corpus import load_corpus
    from pmb_hf.dataset_rows import rows

    return {
        row["case_id"]: dict.fromkeys(row["gold"], 1) for row in rows(load_corpus(), "retrieval")
    }


def _runs(folder: str) -> Iterator[list[tuple[str, list[str]]]]:
    """Runs one after the other, as the peers want them."""
    import pyarrow.dataset as ds

    run, answers = None, []
    columns = ["run_id", "case_id", "relevant_beliefs"]
    for batch in ds.dataset(folder).to_batches(columns=columns, use_threads=False):
        for row in batch.to_pylist():
            if row["run_id"] != run and answers:
                yield answers
                answers = []
            run = row["run_id"]
            answers.append((row["case_id"], row["relevant_beliefs"]))
    yield answers


def pytrec(folder: str, _: int) -> tuple[int, float | None]:
    import pytrec_eval

    evaluator = pytrec_eval.RelevanceEvaluator(_gold(), {"set_P", "set_recall"})
    n, total = 0, 0.0
    for answers in _runs(folder):
        results = evaluator.evaluate(
            {
                case: {belief: float(len(ids) - rank) for rank, belief in enumerate(ids)}
                for case, ids in answers
            }
        )
        n += len(answers)
        total += sum(result["set_P"] for result in results.values())
    return n, total


def irm(folder: str, _: int) -> tuple[int, float | None]:
    import ir_measures
    from ir_measures import SetP, SetR

    qrels = [ir_measures.Qrel(case, b, 1) for case, gold in _gold().items() for b in gold]
    evaluator = ir_measures.evaluator([SetP, SetR], qrels)
    n = 0
    for answers in _runs(folder):
        evaluator.calc_aggregate(
            [
                ir_measures.ScoredDoc(case, belief, float(len(ids) - rank))
                for case, ids in answers
                for rank, belief in enumerate(ids)
            ]
        )
        n += len(answers)
    return n, None


def ranx(folder: str, _: int) -> tuple[int, float | None]:
    from ranx import Qrels, Run, evaluate

    gold = {case: beliefs for case, beliefs in _gold().items() if beliefs}
    qrels = Qrels(gold)
    n = 0
    for answers in _runs(folder):
        # ranx takes neither empty answers nor cases without gold; "-" stands for none returned.
        run = Run(
            {
                case: {belief: float(len(ids) - rank) for rank, belief in enumerate(ids or ["-"])}
                for case, ids in answers
                if case in gold
            }
        )
        evaluate(qrels, run, ["precision", "recall"], make_comparable=True)
        n += len(answers)
    return n, None


CONTENDERS: dict[str, Callable[[str, int], tuple[int, float | None]]] = {
    "pmb-hf": pmb,
    "pytrec_eval": pytrec,
    "ir_measures": irm,
    "ranx": ranx,
}


def measure(name: str, folder: Path, workers: int = 1) -> tuple[float, float]:
    """Rows a second and peak memory in MB of one contender in a process of its own."""
    command = [sys.executable, __file__, "--one", name, str(folder), str(workers)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)  # noqa: S603 - our own
    rate, megabytes = json.loads(done.stdout)
    return rate, megabytes


def one(name: str, folder: str, workers: int) -> None:
    import resource

    started = time.perf_counter()
    rows, _ = CONTENDERS[name](folder, workers)
    seconds = time.perf_counter() - started
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    child = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    print(json.dumps([rows / seconds, max(own, child) / 1024]))


def main() -> None:
    print(machine("pmb-hf", "pyarrow", "pytrec_eval-terrier", "ir_measures", "ranx"), "\n")
    lines = []
    with tempfile.TemporaryDirectory() as temporary:
        for size in SIZES:
            folder = Path(temporary, str(size))
            subprocess.run(  # noqa: S603 - our own
                [sys.executable, __file__, "--make", str(size), str(folder)], check=True
            )
            single, memory = measure("pmb-hf", folder)
            double, memory_2 = measure("pmb-hf", folder, 2)
            lines.append(
                [
                    *(f"{size:,}", f"{single:,.0f}", f"{double:,.0f}", f"{double / single:.2f}"),
                    *(f"{memory:.0f}", f"{memory_2:.0f}"),
                ]
            )
            if size == SIZES[0]:
                peers = [[name, *measure(name, folder)] for name in CONTENDERS]
    print(
        table(
            ["rows", "rows/s, 1 worker", "2 workers", "ratio", "MB, 1", "MB, largest of 2"], lines
        )
    )
    print()
    ours = peers[0][1]
    print(
        table(
            [f"{SIZES[0]:,} rows, 1 process", "rows/s", "ours : theirs", "MB"],
            [[n, f"{rate:,.0f}", f"{ours / rate:.2f}", f"{mb:.0f}"] for n, rate, mb in peers],
        )
    )


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--make", size, folder]:
            make(int(size), Path(folder))
        case ["--one", name, folder, workers]:
            one(name, folder, int(workers))
        case _:
            main()
