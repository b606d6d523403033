"""Runs memory systems on both corpora and writes the table of docs/providers.md.

    python benchmarks/providers.py run [LABEL...]    run them; all of ROWS without a label
    python benchmarks/providers.py table             write the table from the reports
    python benchmarks/providers.py lock NAME...      make environments anew, and their lock files

`run` makes the environments that are missing. Reports lie in build/providers, or where
PMB_REPORTS says; the official corpus is run if PMB_UPSTREAM_DIR is set. No figure of the table
is typed: each is computed from a report, and a system without one is listed as not run.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from _measuring import machine, today

from pmb_hf.corpus import load_corpus
from pmb_hf.errors import PmbError
from pmb_hf.measured import Ingestion
from pmb_hf.providers.catalog import BUILT_IN
from pmb_hf.providers.environments.install import install, lock_of
from pmb_hf.providers.environments.places import installed
from pmb_hf.providers.environments.recipes import recipe
from pmb_hf.report import Report, judge
from pmb_hf.report_reader import read_report
from pmb_hf.runner import run
from pmb_hf.schema import Corpus

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "providers.md"
BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"
NONE = "–"


@dataclass(frozen=True)
class Row:
    """One line of the table: a provider with options that differ from its own defaults."""

    label: str
    provider: str
    options: Mapping[str, object] = field(default_factory=dict)


ROWS: tuple[Row, ...] = (
    Row("bm25", "bm25"),
    Row("fts5", "fts5"),
    Row("vector", "vector"),
    Row("hybrid", "hybrid"),
    Row("structured", "structured"),
    Row("mem0", "mem0"),
    Row("mem0-threshold-0", "mem0", {"threshold": 0.0}),
    Row("mem0-threshold-0.4", "mem0", {"threshold": 0.4}),
    Row("mem0-scoped", "mem0", {"scope_filter": True}),
    Row("langgraph", "langgraph"),
    Row("langgraph-scoped", "langgraph", {"scope_filter": True}),
    Row("chroma", "chroma"),
    Row("chroma-scoped", "chroma", {"scope_filter": True}),
    Row("llama-index", "llama-index"),
    Row("llama-index-scoped", "llama-index", {"scope_filter": True}),
    Row("graphiti", "graphiti"),
    Row("hindsight", "hindsight"),
    Row("hindsight-scoped", "hindsight", {"scope_filter": True}),
    Row("cognee", "cognee"),
    Row("a-mem", "a-mem"),
    Row("yourmemory", "yourmemory"),
    Row("yourmemory-scoped", "yourmemory", {"scope_filter": True}),
)


def main(arguments: Sequence[str]) -> int:
    # Times are of what a system does, not of what an earlier run has left.
    os.environ.setdefault("PMB_VECTOR_CACHE", "off")
    match list(arguments):
        case ["run", *labels]:
            return run_all(labels)
        case ["table"]:
            write_table()
            return 0
        case ["lock", *names] if names:
            for name in names:
                write_lock(name)
            return 0
    print(__doc__, file=sys.stderr)
    return 2


def reports() -> Path:
    return Path(os.environ.get("PMB_REPORTS") or ROOT / "build" / "providers")


def corpora() -> Iterator[Corpus]:
    yield load_corpus("native")
    upstream = os.environ.get("PMB_UPSTREAM_DIR")
    if upstream:
        yield load_corpus("official", fixtures=Path(upstream) / "fixtures")
    else:
        print("PMB_UPSTREAM_DIR is not set: the official corpus is left out", file=sys.stderr)


def run_all(labels: Sequence[str]) -> int:
    unknown = set(labels) - {row.label for row in ROWS}
    if unknown:
        print(f"no row {', '.join(sorted(unknown))}; see ROWS", file=sys.stderr)
        return 2
    known = {spec.name: spec for spec in BUILT_IN}
    failed = 0
    for row in ROWS:
        if (labels and row.label not in labels) or row.provider not in known:
            continue
        try:
            environment = known[row.provider].environment
            if environment is not None and installed(environment) is None:
                print(f"== installing {environment}", file=sys.stderr, flush=True)
                install(recipe(environment), tell=lambda text: print(text, file=sys.stderr))
            for corpus in corpora():
                print(f"== {row.label} on {corpus.name}", file=sys.stderr, flush=True)
                path = reports() / f"{row.label}-{corpus.name}.json"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.with_name(path.name + ".journal").unlink(missing_ok=True)
                run(row.provider, corpus, options=row.options, name=row.label, out=path)
        except PmbError as error:
            failed += 1
            print(f"{row.label}: {error}", file=sys.stderr, flush=True)
    return int(failed > 0)


def write_lock(name: str) -> None:
    chosen = recipe(name)
    made = install(
        chosen, upgrade=True, locked=False, tell=lambda text: print(text, file=sys.stderr)
    )
    chosen.lock_path.write_text(lock_of(made), encoding="utf-8")
    print(f"{chosen.lock_path}: {made.version}")


def write_table() -> None:
    text = PAGE.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{PAGE} lacks the lines {BEGIN} and {END}")
    parts = [table(corpus) for corpus in corpora()]
    made = "\n\n".join([f"Made by `make providers` on {today()}. {machine('pmb-hf')}", *parts])
    PAGE.write_text(f"{before}{begin}\n{made}\n{end}{after}", encoding="utf-8")


HEADS = (
    *("system", "version", "options that matter", "embedder", "passed of 77", "turns of 12"),
    *("precision", "recall", "drift", "abstention", "isolation leaks", "search p50 ms"),
    *("ingestion ms a belief", "time to visibility ms"),
)


def table(corpus: Corpus) -> str:
    lines = [
        f"### {corpus.name.capitalize()} corpus",
        "",
        f"SHA-256 of the corpus: `{corpus.sha256}`. Rules: spec.",
        "",
        "| " + " | ".join(HEADS) + " |",
        "|" + "---|" * len(HEADS),
    ]
    known = {spec.name for spec in BUILT_IN}
    for row in ROWS:
        path = reports() / f"{row.label}-{corpus.name}.json"
        if path.exists():
            cells = figures(read_report(path), corpus)
        elif row.provider in known:
            cells = ["not run here", *[NONE] * (len(HEADS) - 2)]
        else:
            continue
        lines.append("| " + " | ".join([row.label, *cells]) + " |")
    return "\n".join(lines)


def figures(report: Report, corpus: Corpus) -> list[str]:
    if report.corpus_sha256 != corpus.sha256:
        raise SystemExit(f"the report of {report.provider} is on another state of {corpus.name}")
    evaluation = judge(report, corpus)
    single, turns = evaluation.retrieval or {}, evaluation.session or {}
    config = report.provenance.get("config", {})
    options = dict(config.get("options") or {})
    version = config.get("providerVersion")
    stopped = report.provenance.get("stopped")
    return [
        str(version or NONE) + (" (stopped early)" if stopped else ""),
        shown_options(options),
        str(options.get("embedder") or NONE),
        str(single.get("passed", NONE)),
        str(turns.get("passed", NONE)),
        number(single.get("mean_precision"), 3),
        number(single.get("mean_recall"), 3),
        number(turns.get("mean_drift"), 3),
        number(single.get("abstention_rate"), 3),
        str(single.get("leaks", 0) + turns.get("leaks", 0)),
        number(single.get("p50_latency_ms"), 2),
        number(written(report.ingestion), 2),
        number(None if report.ingestion is None else report.ingestion.visible_ms, 1),
    ]


def written(ingestion: Ingestion | None) -> float | None:
    if ingestion is None or not ingestion.per_belief:
        return None
    return ingestion.total_ms / len(ingestion.per_belief)


def shown_options(options: Mapping[str, Any]) -> str:
    """What filters, cuts or models; paths and addresses are left out."""
    keys = ("llm", "infer", "threshold", "min_score", "top_k", "scope_filter", "active_filter")
    shown = [f"{key}={plain(options[key])}" for key in keys if options.get(key) is not None]
    return ", ".join(shown) or NONE


def plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def number(value: float | None, digits: int) -> str:
    return NONE if value is None else f"{value:.{digits}f}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
