"""PrecisionMemBench for the Hugging Face ecosystem.

Does a memory system return the beliefs that a query needs, and nothing else?

The public names below are imported when they are first used (PEP 562), so
``import pmb_hf`` itself is cheap: it opens no file and no connection, sets up no
logging, and loads neither ``datasets`` nor ``evaluate``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from . import errors
from ._version import __version__

if TYPE_CHECKING:
    from .builder import PrecisionMemBench
    from .corpus import Corpus, load_corpus
    from .errors import PmbError
    from .evaluation import score
    from .measures import MEASURES, Measure
    from .report import Report
    from .report_reader import read_report
    from .rules import RULES, get_rules
    from .runner import run
    from .schema import Belief, Case, Session, Turn
    from .scoring import CaseScore, Expectation, Retrieval, Rules, score_case, score_turn
    from .summary import summarize

__all__ = [
    "MEASURES",
    "RULES",
    "Belief",
    "Case",
    "CaseScore",
    "Corpus",
    "Expectation",
    "Measure",
    "PmbError",
    "PrecisionMemBench",
    "Report",
    "Retrieval",
    "Rules",
    "Session",
    "Turn",
    "__version__",
    "errors",
    "get_rules",
    "load_corpus",
    "read_report",
    "run",
    "score",
    "score_case",
    "score_turn",
    "summarize",
]

# Public name -> the module that defines it. A test holds this, __all__ and the
# imports for type checkers together.
_HOMES = {
    "MEASURES": "measures",
    "RULES": "rules",
    "Belief": "schema",
    "Case": "schema",
    "CaseScore": "scoring",
    "Corpus": "corpus",
    "Expectation": "scoring",
    "Measure": "measures",
    "PmbError": "errors",
    "PrecisionMemBench": "builder",
    "Report": "report",
    "Retrieval": "scoring",
    "Rules": "scoring",
    "Session": "schema",
    "Turn": "schema",
    "get_rules": "rules",
    "load_corpus": "corpus",
    "read_report": "report_reader",
    "run": "runner",
    "score": "evaluation",
    "score_case": "scoring",
    "score_turn": "scoring",
    "summarize": "summary",
}


def __getattr__(name: str) -> object:
    """Import a public name from its module on first use and keep it."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names beside what is loaded already."""
    return sorted({*globals(), *__all__})
