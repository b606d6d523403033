"""Scoring, side by side with pytrec_eval and ir_measures, on the same rows in one process.

Every contender starts from the same lists of ids and ends with means over a run of 77 cases:

- pmb-hf: builds its Retrieval values, scores all measures (precision, recall, pass or fail by
  every assertion, ranks, noise by kind, pinned and question tiers, ...), summarises them;
- pmb-hf, two: the same for precision and recall alone;
- pytrec_eval: builds its run dictionaries, evaluates set_P and set_recall, takes their means;
- ir_measures: builds its ScoredDoc values, evaluates SetP and SetR, takes their means.

What depends on the cases alone (expectations, qrels, evaluators) is built once, before.
The rows are those of upstream's published reports if PMB_UPSTREAM_DIR is set, else made up.
"""

from __future__ import annotations

import json
import os
import random
import sys
from collections.abc import Sequence
from pathlib import Path

import ir_measures
import pytrec_eval
from _measuring import Contender, machine, race, table
from ir_measures import SetP, SetR

from pmb_hf.corpus import load_corpus
from pmb_hf.expectations import expectations
from pmb_hf.records import Expectation, Retrieval
from pmb_hf.rules import SPEC
from pmb_hf.schema import Corpus
from pmb_hf.scoring import precision_recall, score_case
from pmb_hf.summary import mean_or_none, summarize

REPETITIONS = int(os.environ.get("PMB_BENCH_REPETITIONS", "300"))
MEASURES = ("set_P", "set_recall")
LENGTHS = (0, 1, 3, 5, 10, 20)


# One answer: the case's id, and lists of relevant, pinned and question ids, best first.
Row = tuple[str, list[str], list[str], list[str]]
Run = Sequence[Row]


class Contest:
    """The contenders, ready for the cases of one corpus."""

    def __init__(self, cases: dict[str, Expectation]) -> None:
        self.cases = cases
        gold = {case: dict.fromkeys(e.gold, 1) for case, e in cases.items()}
        self.trec = pytrec_eval.RelevanceEvaluator(gold, {*MEASURES})
        qrels = [ir_measures.Qrel(case, b, 1) for case, ids in gold.items() for b in ids]
        self.ir = ir_measures.evaluator([SetP, SetR], qrels)

    def contenders(self) -> dict[str, Contender]:
        """Ours first, then pytrec_eval, then ir_measures."""
        return {
            "pmb-hf": self.pmb,
            "pmb-hf, two": self.pmb_two,
            "pytrec_eval": self.pytrec_eval,
            "ir_measures": self.ir_measures,
        }

    def pmb(self, run: Run) -> object:
        cases = self.cases
        return summarize(
            [
                score_case(
                    cases[case], Retrieval(tuple(ids), tuple(pinned), tuple(questions)), SPEC
                )
                for case, ids, pinned, questions in run
            ]
        )

    def pmb_two(self, run: Run) -> object:
        cases = self.cases
        pairs = [
            precision_recall(cases[case], Retrieval(tuple(ids)), SPEC) for case, ids, _, _ in run
        ]
        columns = zip(*pairs, strict=True)
        return [mean_or_none([v for v in column if v is not None]) for column in columns]

    def pytrec_eval(self, run: Run) -> object:
        results = self.trec.evaluate(
            {
                case: {belief: float(len(ids) - rank) for rank, belief in enumerate(ids)}
                for case, ids, _, _ in run
            }
        )
        return {
            name: pytrec_eval.compute_aggregated_measure(name, [r[name] for r in results.values()])
            for name in MEASURES
        }

    def ir_measures(self, run: Run) -> object:
        return self.ir.calc_aggregate(
            [
                ir_measures.ScoredDoc(case, belief, float(len(ids) - rank))
                for case, ids, _, _ in run
                for rank, belief in enumerate(ids)
            ]
        )

    def check(self, run: Run) -> None:
        """All agree on precision and recall wherever something is asked for and returned."""
        given = {case: dict.fromkeys(ids, 1.0) for case, ids, _, _ in run}
        theirs = self.trec.evaluate(given)
        for case, ids, pinned, questions in run:
            got = Retrieval(tuple(ids), tuple(pinned), tuple(questions))
            score = score_case(self.cases[case], got, SPEC)
            if score.is_active and ids:
                found = [theirs[case][name] for name in MEASURES]
                assert found == [score.precision, score.recall], (case, found, score)


def published(directory: Path) -> list[Run]:
    """The rows of upstream's single-turn reports."""
    runs = []
    for path in sorted((directory / "reports").glob("retrieval-*.json")):
        cases = json.loads(path.read_text(encoding="utf-8"))["cases"]
        keys = ("caseId", "relevantBeliefs", "pinnedBeliefs", "retrievedQuestions")
        runs.append([tuple(case[key] for key in keys) for case in cases])
    return runs


def made_up(corpus: Corpus, cases: dict[str, Expectation], lengths: Sequence[int]) -> list[Run]:
    """Eight runs of random answers, each as long as one of ``lengths``; some hold the gold."""
    dice = random.Random(20260601)
    ids = [belief.id for belief in corpus.beliefs]
    runs = []
    for _ in range(8):
        rows = []
        for case, expected in cases.items():
            others = [belief for belief in ids if belief not in expected.gold]
            found = sorted(expected.gold) if dice.random() < 0.8 else []
            answer = [*found, *dice.sample(others, 20)][: dice.choice(lengths)]
            dice.shuffle(answer)
            rows.append([case, answer, expected.pinned_must_include, expected.questions_only or ()])
        # Through JSON, as answers of a provider come: no id is the same object as in the corpus.
        runs.append([tuple(row) for row in json.loads(json.dumps(rows))])
    return runs


def rivals() -> tuple[Contest, dict[str, list[Run]]]:
    """The contest and the row sets, by name."""
    root = os.environ.get("PMB_UPSTREAM_DIR")
    corpus = load_corpus("official", fixtures=Path(root, "fixtures")) if root else load_corpus()
    cases = {case: e for (case, turn), e in expectations(corpus).items() if turn is None}
    sets: dict[str, list[Run]] = {}
    if root:
        sets["published reports, all eight"] = published(Path(root))
    else:
        sets["mixed lengths"] = made_up(corpus, cases, (0, 0, 0, 1, 1, 2, 4, 8, 15, 20, 20))
    for length in LENGTHS:
        sets[f"{length} returned each"] = made_up(corpus, cases, (length,))
    for path, run in zip(_reports(root), sets.get("published reports, all eight", ()), strict=True):
        sets[path.stem.removeprefix("retrieval-report-")] = [run] * 8
    return Contest(cases), sets


def _reports(root: str | None) -> list[Path]:
    return sorted(Path(root, "reports").glob("retrieval-*.json")) if root else []


def line(contest: Contest, name: str, runs: list[Run], *, in_a_row: bool) -> list[str]:
    """One line of the table."""
    spent = race(contest.contenders(), runs, REPETITIONS, in_a_row=in_a_row)
    rows = sum(map(len, runs))
    returned = sum(len(ids) for run in runs for _, ids, _, _ in run) / rows
    times = [f"{one.fastest * 1e6 / rows:.2f}" for one in spent.values()]
    ours, two, trec, irm = spent.values()
    slower = [f"{ratio:.2f}" for ratio in ours.ratio(trec)]
    faster = [f"{ratio:.2f}" for ratio in irm.ratio(two)]
    return [name, f"{returned:.1f}", *times, " / ".join(slower), " / ".join(faster)]


def main() -> None:
    contest, sets = rivals()
    for run in (run for runs in sets.values() for run in runs):
        contest.check(run)
    names = [f"{name} µs" for name in contest.contenders()]
    head = ["rows", "returned", *names, "all : pytrec_eval", "ir_measures : two"]
    for in_a_row in (False, True):
        print("Eight runs in a row:\n" if in_a_row else "Taking turns after each run:\n")
        lines = [line(contest, name, runs, in_a_row=in_a_row) for name, runs in sets.items()]
        print(table(head, lines) + "\n")
    print(f"CPU time a case, the fastest of {REPETITIONS} repetitions. Ratios: of the fastest, and")
    print("the median over repetitions; where the two differ much, the machine was not quiet.")
    print("pmb-hf computes all of its measures; the others, and 'two', precision and recall.")
    print(machine("pytrec_eval-terrier", "ir_measures"), file=sys.stderr)


if __name__ == "__main__":
    main()
