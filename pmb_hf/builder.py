"""The dataset as a ``datasets`` builder. This is the module that imports ``datasets``.

>>> builder = PrecisionMemBench(config_name="beliefs")
>>> builder.info.features["aliases"]
List(Value('string'))
"""

# The library swaps names such as `open` or `Path` in a builder's module for ones that
# can stream, so none of them is used here: files are the business of `corpus`.

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import datasets
from datasets.builder import Key

from .corpus import Corpus, load_corpus
from .dataset_rows import CONFIGS, DEFAULT_CONFIG, PAIRS, SPLIT, STRINGS, Column, Row, rows

NAME = "precisionmembench"
"""What the dataset is called in ``load_dataset``, on the Hub and in caches."""

VERSION = "1.0.0"
"""Version of the columns. What the rows hold is told by the builder's hash."""

DESCRIPTION = (
    "Does a memory system return the beliefs that a query needs, and nothing else? "
    "Beliefs, single-turn cases and session turns, with what each of them must bring back."
)
HOMEPAGE = "https://github.com/tenurehq/precisionMemBench"


@dataclass
class PrecisionMemBenchConfig(datasets.BuilderConfig):
    """One config over one corpus.

    Attributes:
        corpus: ``"native"``, ``"official"``, or a directory with the three files.
        fixtures: With ``"official"``: where upstream's files are, if not in the cache.
    """

    corpus: str = "native"
    fixtures: str | None = None


def features(config: str) -> datasets.Features:
    """The typed columns of ``config``; a list column keeps its type when it is empty."""
    return typed(CONFIGS[config].columns)


def typed(columns: Iterable[Column]) -> datasets.Features:
    """The features that columns stand for."""
    return datasets.Features({column.name: _feature(column.type) for column in columns})


def _feature(kind: str) -> Any:
    text = datasets.Value("string")
    if kind == STRINGS:
        return datasets.List(text)
    if kind == PAIRS:
        return datasets.List(datasets.List(text))
    return datasets.Value(kind)


class PrecisionMemBench(datasets.GeneratorBasedBuilder):
    """Builds one config of the dataset, without the network.

    Its hash is that of its columns and rows, so a cache never serves the rows of
    another corpus. ``load_corpus`` says which errors a corpus can raise.
    """

    BUILDER_CONFIG_CLASS = PrecisionMemBenchConfig
    BUILDER_CONFIGS: ClassVar[list[PrecisionMemBenchConfig]] = [
        PrecisionMemBenchConfig(
            name=config.name, version=datasets.Version(VERSION), description=config.summary
        )
        for config in CONFIGS.values()
    ]
    DEFAULT_CONFIG_NAME = DEFAULT_CONFIG

    def __init__(
        self,
        cache_dir: str | None = None,
        dataset_name: str | None = NAME,
        config_name: str | None = None,
        hash: str | None = None,  # noqa: A002 - the library's name
        corpus: Any = "native",
        fixtures: Any = None,
        **options: Any,
    ) -> None:
        # The library makes names of caches of what it is given: only strings, no defaults.
        chosen = {"corpus": None if corpus == "native" else str(corpus)}
        chosen["fixtures"] = None if fixtures is None else str(fixtures)
        self._corpus = load_corpus(corpus, fixtures=fixtures)
        super().__init__(
            cache_dir=cache_dir,
            dataset_name=dataset_name,
            config_name=config_name,
            hash=hash or content_hash(self._corpus),
            **{name: value for name, value in chosen.items() if value is not None},
            **options,
        )

    def _info(self) -> datasets.DatasetInfo:
        return datasets.DatasetInfo(
            description=DESCRIPTION,
            homepage=HOMEPAGE,
            features=features(self.config.name),
        )

    def _split_generators(self, dl_manager: Any) -> list[datasets.SplitGenerator]:  # noqa: ARG002
        return [datasets.SplitGenerator(name=SPLIT)]

    def _generate_examples(self) -> Iterator[tuple[Key, Row]]:
        for number, row in enumerate(rows(self._corpus, self.config.name)):
            yield Key(0, number), row


def content_hash(corpus: Corpus) -> str:
    """64 hex digits that stand for the columns and rows of all configs over ``corpus``.

    The length is what the library looks for in its cache. All configs share the hash:
    if they did not, loading without a config's name would pick the one used last.
    """
    columns = [[(c.name, c.type) for c in config.columns] for config in CONFIGS.values()]
    content = [rows(corpus, config) for config in CONFIGS]
    text = json.dumps([VERSION, columns, content], ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
