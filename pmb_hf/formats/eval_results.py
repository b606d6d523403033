"""``.eval_results/*.yaml`` of model repositories, through huggingface_hub's own classes.

The Hub shows results of models. A memory system is none, so only runs that name the model
repository of their embeddings (``org/name``) have an entry, and only such runs on the dataset
itself (the native corpus under ``spec``) as could be ranked. Values are per cent, as
``eval.yaml`` says.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from ..errors import InputError
from ..leaderboard.subjects import is_native
from ..rules import SPEC
from ..summary import round_half_up
from .sheets import TASKS, Files, Sheet

_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_LOADERS = ("sentence-transformers:", "hf:", "")
"""What may stand before a repository of the Hub; other loaders have names of their own."""


def files(found: Sequence[Sheet], repo: str | None = None) -> Files:
    """``{org}/{model}/.eval_results/{task}.yaml`` of each model.

    Raises:
        InputError: If the dataset's repository is not named.
    """
    if repo is None or not _NAME.fullmatch(repo):
        raise InputError(
            "eval-results name the dataset that they are about: give it by --repo ORG/NAME"
        )
    entries: dict[str, list[tuple[Sheet, str, Mapping[str, Any]]]] = {}
    left_out: list[str] = []
    for sheet in found:
        model, reason = model_repo(sheet.row["embeddingModel"]), _refused(sheet)
        if model is None or reason is not None:
            why = reason or "it names no model repository (org/name) of its embeddings"
            left_out.append(f"{sheet.row['label']}: {why}")
            continue
        left_out += sheet.hidden()
        for part, summary in sheet.summaries():
            if sheet.figures[part]["ranked"]:
                path = f"{model}/.eval_results/{TASKS[part]}.yaml"
                entries.setdefault(path, []).append((sheet, part, summary))
            else:
                left_out.append(f"{sheet.row['label']}: {part}: it is not ranked")
    return Files({path: _yaml(repo, rows) for path, rows in entries.items()}, left_out)


def model_repo(embedding: str | None) -> str | None:
    """The Hub repository that an embedding model is named by, if it is.

    >>> model_repo("sentence-transformers:BAAI/bge-small-en"), model_repo("ollama:org/x")
    ('BAAI/bge-small-en', None)
    """
    for loader in _LOADERS:
        if embedding is not None and embedding.startswith(loader):
            name = embedding.removeprefix(loader)
            return name if _NAME.fullmatch(name) else None
    return None


def _refused(sheet: Sheet) -> str | None:
    if not is_native(sheet.corpus):
        return "it is not on the native corpus, which the dataset holds"
    return None if sheet.rules == SPEC.name else f"it is scored under {sheet.rules}"


def _yaml(repo: str, rows: Sequence[tuple[Sheet, str, Mapping[str, Any]]]) -> str:
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

    yaml = import_module("yaml")  # comes with huggingface_hub, without types
    entries = [
        EvalResultEntry(
            dataset_id=repo,
            task_id=TASKS[part],
            value=round_half_up(100 * float(summary["passed"]) / float(summary["cases"]), 5),
            date=sheet.row["date"],
            notes=f"{sheet.row['label']}; passed {summary['passed']} of {summary['cases']}; "
            f"run {sheet.row['id']}, pmb-hf {sheet.row['pmbHf'] or 'of unknown version'}",
        )
        for sheet, part, summary in rows
    ]
    made = eval_result_entries_to_yaml(entries)
    return str(yaml.safe_dump(made, sort_keys=False, allow_unicode=True))
