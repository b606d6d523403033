"""Runs the built-in providers with options on both corpora, for docs/builtin-providers.md.

    python benchmarks/builtins.py

The official corpus is run if PMB_UPSTREAM_DIR is set, the rows of an ONNX model if PMB_ONNX_DIR
names a directory with model.onnx and tokenizer.json. No figure of the tables is typed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from _measuring import machine, table, today
from providers import corpora, number

from pmb_hf.report import judge
from pmb_hf.runner import run
from pmb_hf.schema import Corpus

PAGE = Path(__file__).resolve().parent.parent / "docs" / "builtin-providers.md"
BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"
MODEL = "onnx:DIR"
ROWS = (
    ("bm25", ""),
    ("bm25", "top_k=1 active_filter=true"),
    ("bm25", "min_score=4.0 active_filter=true"),
    ("fts5", ""),
    ("fts5", "top_k=1 active_filter=true"),
    ("vector", ""),
    ("vector", "top_k=1 active_filter=true"),
    ("vector", "min_score=0.4 active_filter=true"),
    ("vector", f"embedder={MODEL}"),
    ("vector", f"embedder={MODEL} min_score=0.5 active_filter=true"),
    ("hybrid", ""),
    ("hybrid", "lexical=fts5"),
    ("hybrid", "top_k=1 active_filter=true"),
    ("hybrid", "min_score=0.0325 active_filter=true"),
    ("structured", ""),
    ("structured", "partial=false"),
    ("structured", "fuzzy=false"),
    ("structured", "follow_superseded=false"),
    ("structured", "active_filter=false"),
    ("structured", "partial=false fuzzy=false follow_superseded=false"),
)
HEADS = (
    *("provider and options", "passes of 77 + 12", "precision", "recall", "drift", "abstention"),
    *("leaks", "p50 ms", "ingestion ms"),
)


def rows(corpus: Corpus) -> Iterator[list[str]]:
    model = os.environ.get("PMB_ONNX_DIR")
    for provider, said in ROWS:
        if MODEL in said and not model:
            continue
        text = said.replace(MODEL, f"onnx:{model}")
        options = dict(item.split("=", 1) for item in text.split())
        report = run(provider, corpus, options=options)
        evaluation = judge(report, corpus)
        single, turns = evaluation.retrieval or {}, evaluation.session or {}
        seeding = report.ingestion
        yield [
            f"`{provider}`" + (f" `{said}`" if said else ""),
            f"{single['passed']} + {turns['passed']}",
            number(single["mean_precision"], 3),
            number(single["mean_recall"], 3),
            number(turns["mean_drift"], 3),
            number(single["abstention_rate"], 3),
            str((single["leaks"] or 0) + (turns["leaks"] or 0)),
            number(single["p50_latency_ms"], 2),
            number(None if seeding is None else seeding.total_ms, 1),
        ]


def main() -> None:
    os.environ.setdefault("PMB_VECTOR_CACHE", "off")
    text = PAGE.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{PAGE} lacks the lines {BEGIN} and {END}")
    parts = [f"Made by `benchmarks/builtins.py` on {today()}. {machine('pmb-hf')}"]
    for corpus in corpora():
        head = f"{corpus.name.capitalize()} corpus, SHA-256 `{corpus.sha256}`, rules `spec`:"
        parts += [head, table(HEADS, list(rows(corpus)))]
    made = "\n\n".join(parts)
    PAGE.write_text(f"{before}{begin}\n{made}\n{end}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
