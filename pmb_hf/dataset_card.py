"""Renders the dataset card: front matter, and the parts that follow from the data.

The card's prose is ``dataset_script/README.md``. Parts between ``<!-- name -->``
and ``<!-- /name -->`` are made here, so figures and columns are those of the data.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from .dataset_rows import CONFIGS, DEFAULT_CONFIG, PAIRS, SPLIT, STRINGS, Config, Row
from .errors import PmbError
from .official import COMMIT, REPOSITORY
from .records import PASS_KINDS
from .schema import Corpus

NATIVE, OFFICIAL, OWN = "native", "official", "own"

_TAGS = ["agent-memory", "benchmark", "llm-memory", "memory", "precision", "retrieval"]

_ORIGINS = {
    NATIVE: """\
This is the **native** corpus: people, beliefs, cases and sessions written for the package
`pmb-hf`. It asks what the original benchmark asks, in the same categories and numbers, about other
people, and holds nothing of the original's data. Figures on the two are not comparable. The people
are invented; there is no personal data. The language is English.""",
    OFFICIAL: f"""\
This is the **official** corpus: the fixtures of
[{REPOSITORY}](https://github.com/{REPOSITORY}) at commit `{COMMIT}`,
Copyright (c) 2026 Jeffrey Flynt, under the MIT license. Their texts and ids are unchanged; the
derived columns are added by `pmb-hf`. Figures on the native corpus are not comparable with
figures on this one. The language is English.""",
    OWN: """\
This is neither the native nor the official corpus of the benchmark, but one of its owner's, in the
same layout. Its figures are not comparable with figures on either.""",
}
_LICENSES = {NATIVE: "apache-2.0", OFFICIAL: "mit"}


class Content(NamedTuple):
    """What a card is about.

    Attributes:
        corpus: The corpus.
        origin: ``native``, ``official`` or ``own``.
        rows: The rows of each config.
        sizes: The size of each config in memory, in bytes.
        configs: What the configs are.
    """

    corpus: Corpus
    origin: str
    rows: Mapping[str, Sequence[Row]]
    sizes: Mapping[str, int]
    configs: Mapping[str, Config] = CONFIGS


def data_file(config: str) -> str:
    """Where the only file of ``config`` is, from the dataset's root."""
    return f"{config}/{SPLIT}-00000-of-00001.parquet"


def render(template: str, content: Content) -> str:
    """The card: ``template`` with a new front matter and with its marked parts renewed.

    Raises:
        PmbError: If the template has no front matter or lacks a part.
    """
    match = re.match(r"---\n.*?\n---\n", template, re.DOTALL)
    if match is None:
        raise PmbError("the card's template has no front matter between two lines of ---")
    body = template[match.end() :]
    for name, text in _parts(content).items():
        body = renew(body, name, text)
    return f"---\n{front_matter(content)}\n---\n{body}"


def renew(body: str, name: str, text: str) -> str:
    """``body`` with another ``text`` in its part ``name``.

    Raises:
        PmbError: If it has no such part.
    """
    start, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
    before, found, rest = body.partition(start)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise PmbError(f"the card's template must have the part <!-- {name} --> … {end}")
    return f"{before}{start}{text}\n{end}{after}"


def front_matter(content: Content) -> str:
    """The card's YAML, without the lines around it."""
    from huggingface_hub import DatasetCardData

    fields: dict[str, Any] = {}
    if content.origin in _LICENSES:  # of somebody's own corpus neither is known
        fields = {"license": _LICENSES[content.origin], "language": ["en"]}
    total = sum(map(len, content.rows.values()))
    data = DatasetCardData(
        **fields,
        pretty_name=_pretty_name(content),
        tags=_TAGS,
        task_categories=["text-retrieval"],
        size_categories=[_size_category(total)],
        configs=[_config(name) for name in content.rows],
        dataset_info=[_info(name, content) for name in content.rows],
    )
    return str(data.to_yaml(line_break="\n"))


def _pretty_name(content: Content) -> str:
    if content.origin == NATIVE:
        return "PrecisionMemBench"
    name = "official" if content.origin == OFFICIAL else content.corpus.name
    return f"PrecisionMemBench ({name} corpus)"


def _size_category(total: int) -> str:
    bounds = ((10**3, "1K"), (10**4, "10K"), (10**5, "100K"), (10**6, "1M"))
    lower = "n"
    for bound, name in bounds:
        if total < bound:
            return f"n<{name}" if lower == "n" else f"{lower}<n<{name}"
        lower = name
    return "n>1M"


def _config(name: str) -> dict[str, Any]:
    config: dict[str, Any] = {
        "config_name": name,
        "data_files": [{"split": SPLIT, "path": data_file(name)}],
    }
    if name == DEFAULT_CONFIG:
        config["default"] = True
    return config


def _info(name: str, content: Content) -> dict[str, Any]:
    size = content.sizes[name]
    # No download_size: the files' length depends on the version that writes them.
    return {
        "config_name": name,
        "features": [_feature(c.name, c.type) for c in content.configs[name].columns],
        "splits": [{"name": SPLIT, "num_bytes": size, "num_examples": len(content.rows[name])}],
        "dataset_size": size,
    }


def _feature(name: str, kind: str) -> dict[str, Any]:
    if kind == STRINGS:
        return {"name": name, "list": "string"}
    if kind == PAIRS:
        return {"name": name, "list": {"list": "string"}}
    return {"name": name, "dtype": kind}


def _parts(content: Content) -> dict[str, str]:
    return {
        "origin": f"{_ORIGINS[content.origin]}\n\nSHA-256 of the corpus: `{content.corpus.sha256}`",
        "configs": markdown_table(
            ("config", "rows", "content"),
            (
                (f"`{name}`", len(rows), content.configs[name].summary)
                for name, rows in content.rows.items()
            ),
        ),
        "categories": _categories([*content.rows["retrieval"], *content.rows["sessions"]]),
        "columns": "\n\n".join(
            f"### {name}\n{_columns(config)}"
            for name, config in content.configs.items()
            if name in content.rows
        ),
    }


def _columns(config: Config) -> str:
    lines = ((f"`{c.name}`", c.type.replace("<", "\\<"), c.description) for c in config.columns)
    return markdown_table(("column", "type", "meaning"), lines)


def _categories(rows: Sequence[Row]) -> str:
    kinds = Counter((row["category"], row["pass_kind"]) for row in rows)
    asked = Counter(row["category"] for row in rows if row["provider_decides"])
    names = dict.fromkeys(row["category"] for row in rows)
    lines = [
        _counts(name, [kinds[name, kind] for kind in PASS_KINDS], asked[name]) for name in names
    ]
    sums = [sum(kinds[name, kind] for name in names) for kind in PASS_KINDS]
    lines.append(_counts("all", sums, asked.total()))
    header = ("category", "cases", *(kind.replace("_", " ") for kind in PASS_KINDS), "asked")
    return markdown_table(header, lines)


def _counts(name: str, kinds: Sequence[int], asked: int) -> tuple[object, ...]:
    return (name, sum(kinds), *kinds, asked)


def markdown_table(header: Sequence[str], lines: Iterable[Sequence[object]]) -> str:
    """A Markdown table; cells are taken as they are."""
    cells = [header, ["---"] * len(header), *lines]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in cells)
