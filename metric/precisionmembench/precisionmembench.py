"""The metric of PrecisionMemBench for ``evaluate``: a shell around the files beside it.

``evaluate`` copies this script and the siblings that it names, one import a
line, and nothing else. What scores is in those siblings; this file brings rows
through ``evaluate``'s Arrow tables unharmed.
"""

from __future__ import annotations

import math
import reprlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

import datasets
import evaluate

from .assertions import failures
from .records import LOST_KINDS, NOISE_KINDS, CaseScore, Expectation, Retrieval, RowError
from .rows import (
    FLAG_FIELDS,
    KIND_COLUMNS,
    LIST_FIELDS,
    NULLABLE_LIST_FIELDS,
    PAIR_FIELDS,
    expectation_from_row,
    join,
    retrieval_from_row,
)
from .rules import get_rules
from .scoring import score_case
from .summary import summarize

_DESCRIPTION = """\
PrecisionMemBench asks of a memory system for language models: for this query, this user and these
scopes, does it return the beliefs that are needed, and nothing else? This metric compares what was
returned with what each case requires, and gives precision, recall, passes by kind, ranking, noise
by kind, why needed beliefs are missing, and latency; for session turns also drift and mutability.
Rates are 0 to 1, and a rate that applies to no case is None.
"""

_CITATION = """\
@misc{precisionmembench,
  title        = {PrecisionMemBench},
  howpublished = {\\url{https://github.com/tenurehq/precisionMemBench}},
  year         = {2026},
  note         = {Software}
}
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions: Rows, in any order: a list of dicts, a `datasets.Dataset` or any iterable.
        `case_id` (and `turn_index` in the sessions config) says which case is answered,
        `relevant_beliefs` holds the returned ids, best first. Optional, and None where not given:
        `pinned_facts`, `open_questions` (lists of ids), `persona_prelude` (a string),
        `latency_ms` (of the search call), `status` ("ok", or what kept the answer from coming),
        `error` (a string); `returned_beliefs` (the ids before pinned ones were dropped and the list
        was cut) and `limit` (how many were asked for), which tell why a needed belief is missing.
    references: Rows of the dataset's config of the same name; other columns are ignored.
    rules (str): "spec" (default), or "upstream-2026-06" or "upstream-2026-09", which reproduce the
        figures that upstream published.
    return_cases (bool): Whether to add `cases`, the scores of each case, to the result.
    on_missing (str): "error" (default), or "miss" to score a case without a prediction as failed.
Returns:
    dict: Each measure's name and its number, or None where it applies to no case. `n_...` is the
    number of cases that a mean is over. With `return_cases`, `cases` is no longer their number
    but a list of dicts in the order of the references, which `evaluate.save` stores, too.
Raises:
    ValueError: If a row can't be read, or a case is missing, extra or repeated; it is named.
Examples:
    >>> import evaluate
    >>> metric = evaluate.load("precisionmembench")
    >>> references = [
    ...     {"case_id": "mooring", "relevant_should_only_include": ["berth-14"]},
    ...     {"case_id": "weather", "relevant_should_only_include": []},
    ... ]
    >>> predictions = [
    ...     {"case_id": "weather", "relevant_beliefs": []},
    ...     {"case_id": "mooring", "relevant_beliefs": ["berth-14", "old-berth"]},
    ... ]
    >>> result = metric.compute(predictions=predictions, references=references)
    >>> result["passed"], result["mean_precision"], result["n_precision"], result["mean_recall"]
    (1, 0.5, 1, 1.0)
    >>> scored = metric.compute(
    ...     predictions=predictions, references=references, return_cases=True
    ... )
    >>> scored["cases"][0]["failures"]
    ['unexpected belief in relevantBeliefs: old-berth']
"""

CONFIGS = ("retrieval", "sessions")

Row = dict[str, Any]

_TEXT = datasets.Value("string")
_IDS = datasets.List(_TEXT)

_PREDICTION = {
    "relevant_beliefs": _IDS,
    "pinned_facts": _IDS,
    "open_questions": _IDS,
    "persona_prelude": _TEXT,
    "latency_ms": datasets.Value("float64"),
    "status": _TEXT,
    "error": _TEXT,
    "returned_beliefs": _IDS,
    "limit": datasets.Value("int64"),
}
# Every column that the reader of a reference row looks at; derived ones are left behind.
_REFERENCE = {
    "category": _TEXT,
    "pass_kind": _TEXT,
    **dict.fromkeys(LIST_FIELDS.values(), _IDS),
    **dict.fromkeys(NULLABLE_LIST_FIELDS.values(), _IDS),
    **dict.fromkeys(PAIR_FIELDS.values(), datasets.List(_IDS)),
    **dict.fromkeys(FLAG_FIELDS, datasets.Value("bool")),
    "drift_beliefs": _IDS,
    **dict.fromkeys(KIND_COLUMNS.values(), _IDS),
}
_PYTHON: dict[str, tuple[str, type | tuple[type, ...]]] = {
    "string": ("a string", str),
    "bool": ("true or false", bool),
    "int64": ("a whole number", int),
    "float64": ("a number", (int, float)),
}


# Its name in snake case is the metric's, as in `evaluate.combine` and in cache directories.
@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class Precisionmembench(evaluate.Metric):
    """Configs: ``retrieval`` for single-turn cases (default), ``sessions`` for session turns.

    Rows are joined by case, so the two sides need not be equally long or in the
    same order. ``evaluate`` keeps both in one table; the shorter side of a batch
    is filled with nulls, which are dropped again before scoring.
    """

    def _info(self) -> evaluate.MetricInfo:
        if self.config_name == "default":
            self.config_name = CONFIGS[0]
        if self.config_name not in CONFIGS:
            raise ValueError(
                f"no config is called {self.config_name!r}; choose one of: {', '.join(CONFIGS)}"
            )
        key = {"case_id": _TEXT}
        if self.config_name == "sessions":
            key["turn_index"] = datasets.Value("int64")
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=datasets.Features(
                {"predictions": {**key, **_PREDICTION}, "references": {**key, **_REFERENCE}}
            ),
            homepage="https://github.com/tenurehq/precisionMemBench",
            license="Apache-2.0",
            reference_urls=["https://github.com/tenurehq/precisionMemBench"],
        )

    def add(
        self,
        *,
        prediction: Mapping[str, Any] | None = None,
        reference: Mapping[str, Any] | None = None,
        predictions: Mapping[str, Any] | None = None,
        references: Mapping[str, Any] | None = None,
    ) -> None:
        """Add one prediction, one reference or both; they need not be of the same case.

        Args:
            prediction: One row. ``predictions`` is the same, as ``evaluate.combine`` calls it.
            reference: One row. ``references`` is the same.
        """
        given = prediction if prediction is not None else predictions
        wanted = reference if reference is not None else references
        self.add_batch(
            predictions=None if given is None else [given],
            references=None if wanted is None else [wanted],
        )

    def add_batch(
        self,
        *,
        predictions: Iterable[Mapping[str, Any]] | None = None,
        references: Iterable[Mapping[str, Any]] | None = None,
    ) -> None:
        """Add rows of either side. If one can't be read, none is added and the error names it."""
        given = self._stored(predictions, "prediction", retrieval_from_row)
        wanted = self._stored(references, "reference", expectation_from_row)
        pairs = list(zip_longest(given, wanted))
        starting = self.writer is None
        try:
            super().add_batch(predictions=[p for p, _ in pairs], references=[r for _, r in pairs])
        except BaseException:
            if starting:
                self._discard()
            raise

    def compute(
        self,
        *,
        predictions: Iterable[Mapping[str, Any]] | None = None,
        references: Iterable[Mapping[str, Any]] | None = None,
        rules: str = "spec",
        return_cases: bool = False,
        on_missing: str = "error",
    ) -> Row | None:
        """Score what was added, and what is given here. Afterwards nothing is left of it.

        On other processes than the first, the result is ``None``.
        """
        get_rules(rules)  # a name that does not exist costs none of the rows added so far
        self.add_batch(predictions=predictions, references=references)
        try:
            result: Row | None = super().compute(
                rules=rules, return_cases=return_cases, on_missing=on_missing
            )
        except BaseException:
            self._discard()
            raise
        # They are released; later, the same names can be another process's.
        self.file_paths = self.filelocks = None
        return result

    def _compute(
        self,
        predictions: Iterable[Row | None],
        references: Iterable[Row | None],
        rules: str = "spec",
        return_cases: bool = False,
        on_missing: str = "error",
    ) -> Row:
        """Join and score the rows of all processes."""
        chosen = get_rules(rules)
        pairs = join(
            [row for row in predictions if row is not None],
            [row for row in references if row is not None],
            on_missing=on_missing,
        )
        scores = [score_case(expected, got, chosen) for expected, got in pairs]
        result: Row = dict(summarize(scores))
        if return_cases:
            result["cases"] = [
                _case(expected, got, score)
                for (expected, got), score in zip(pairs, scores, strict=True)
            ]
        return result

    def _stored(self, rows: Any, role: str, read: Callable[[Row], object]) -> list[Row]:
        """The rows with exactly the declared columns; those that are not there are null."""
        columns = self.features[f"{role}s"]
        stored = []
        for row in _rows(rows, role):
            if isinstance(row, Mapping):
                _check(row, role, columns)
            read(row)
            if "turn_index" not in columns and row.get("turn_index") is not None:
                raise RowError(
                    f"{role} {row['case_id']!r} is of a session turn (it has a 'turn_index'); "
                    "load the metric's config 'sessions'"
                )
            if "turn_index" in columns and row.get("turn_index") is None:
                raise RowError(
                    f"{role} {row['case_id']!r}: 'turn_index' is missing; for single-turn cases "
                    "load the metric's config 'retrieval'"
                )
            stored.append({name: row.get(name) for name in columns})
        return stored

    def _enforce_nested_string_type(self, schema: Any, obj: Any) -> None:
        """Do nothing: ``evaluate`` refuses nulls here, and every row was checked in full."""

    def _discard(self) -> None:
        """Drop what was collected, so that an error leaves no rows, files or locks behind."""
        if self.writer is not None:
            self.writer.close()
        paths = self.file_paths or [self.cache_file_name]
        locks = [*(self.filelocks or [self.filelock]), self.rendez_vous_lock]
        self.data = self.writer = self.buf_writer = self.selected_feature_format = None
        self.file_paths = self.filelocks = None
        self.cache_file_name = self.filelock = self.rendez_vous_lock = None
        for path in paths:
            if path is not None:
                Path(path).unlink(missing_ok=True)
        for lock in locks:
            if lock is not None:
                lock.release()


def _rows(rows: Any, role: str) -> list[Any]:
    """A list of whatever holds rows."""
    if rows is None:
        return []
    if isinstance(rows, datasets.Dataset | datasets.IterableDataset):
        return list(rows.with_format(None))
    if isinstance(rows, Mapping | str | bytes) or not isinstance(rows, Iterable):
        what = type(rows).__name__
        hint = f"; choose a split: {what}[{next(iter(rows))!r}]" if what == "DatasetDict" else ""
        raise RowError(f"{role}s must be rows, such as a list of dicts, not a {what}{hint}")
    return list(rows)


def _check(row: Mapping[str, Any], role: str, columns: Mapping[str, Any]) -> None:
    """Refuse what Arrow would cast without a word, such as the number 1 to the string "1"."""
    for name, feature in columns.items():
        value = row.get(name)
        fault = _misfit(value, feature)
        if fault is None and name in PAIR_FIELDS.values():
            odd = next((pair for pair in value or () if len(pair) != 2), None)
            fault = None if odd is None else f"holds {reprlib.repr(odd)}; it must be a pair of ids"
        if fault is not None:
            turn = row.get("turn_index")
            where = f"{role} {row.get('case_id')!r}" + ("" if turn is None else f" turn {turn}")
            raise RowError(f"{where}: {name!r} {fault}")


def _misfit(value: Any, feature: Any, *, item: bool = False) -> str | None:
    """What keeps ``value`` from being stored as ``feature``; null fits all but an item."""
    verb, or_null = ("holds", "") if item else ("is", " or null")
    if value is None:
        return "holds null; leave it out" if item else None
    if isinstance(feature, datasets.List):
        if isinstance(value, str) or not isinstance(value, Sequence):
            return f"{verb} {reprlib.repr(value)}; it must be a list{or_null}"
        faults = (_misfit(inner, feature.feature, item=True) for inner in value)
        return next((fault for fault in faults if fault is not None), None)
    words, types = _PYTHON[feature.dtype]
    if not isinstance(value, types) or (isinstance(value, bool) and types is not bool):
        return f"{verb} {reprlib.repr(value)}; it must be {words}{or_null}"
    if isinstance(value, str) and not value.isascii() and _has_surrogates(value):
        return f"{verb} {value!a}, which no file can hold; replace the lone surrogates"
    if feature.dtype == "float64" and not 0 <= value < math.inf:
        return f"{verb} {value!r}; it must be a finite number >= 0{or_null}"
    return None


def _has_surrogates(text: str) -> bool:
    return any("\ud800" <= letter <= "\udfff" for letter in text)


def _case(expected: Expectation, got: Retrieval, score: CaseScore) -> Row:
    """One case's scores as a flat row, and why it failed."""
    row = score._asdict()
    noise, lost = Counter(row.pop("noise")), Counter(row.pop("lost"))
    del row["dropped"]  # what matters of it is counted below
    row["failures"] = list(failures(expected, got))
    row.update({f"noise_{kind}": noise[kind] for kind in NOISE_KINDS})
    row.update({f"lost_{kind}": lost[kind] for kind in LOST_KINDS})
    row.update(leaks=score.leaks, unknown_ids=score.unknown_ids)
    row.update(pinned_dropped=score.pinned_dropped)
    return row
