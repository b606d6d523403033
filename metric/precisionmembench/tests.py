"""Cases of the metric: rows in, and what must come out. ``evaluate`` shows them on a Space."""

from __future__ import annotations

_MOORING = {
    "case_id": "mooring",
    "pass_kind": "active",
    "relevant_should_only_include": ["berth-14"],
    "eligible_beliefs": ["berth-14", "engine"],
    "superseded_beliefs": ["old-berth"],
}
_WEATHER = {
    "case_id": "weather",
    "pass_kind": "structural",
    "relevant_should_only_include": [],
    "eligible_beliefs": ["berth-14", "engine"],
}

test_cases = [
    {
        "predictions": [
            {"case_id": "weather", "relevant_beliefs": []},
            {"case_id": "mooring", "relevant_beliefs": ["berth-14"]},
        ],
        "references": [_MOORING, _WEATHER],
        "result": {
            "cases": 2,
            "passed": 2,
            "pass_rate": 1.0,
            "mean_precision": 1.0,
            "n_precision": 1,
            "mean_recall": 1.0,
            "abstention_rate": 1.0,
        },
    },
    {
        "predictions": [
            {"case_id": "mooring", "relevant_beliefs": ["berth-14", "old-berth"]},
            {"case_id": "weather", "relevant_beliefs": ["engine"]},
        ],
        "references": [_MOORING, _WEATHER],
        "result": {
            "cases": 2,
            "passed": 0,
            "pass_rate": 0.0,
            "mean_precision": 0.5,
            "mean_recall": 1.0,
            "mean_hit_at_1": 1.0,
            "abstention_rate": 0.0,
            "noise_superseded": 1,
            "noise_unrelated": 1,
        },
    },
    {
        "predictions": [
            {"case_id": "mooring", "relevant_beliefs": ["berth-14"] * 2},
            {"case_id": "weather", "relevant_beliefs": [], "status": "timeout"},
        ],
        "references": [_MOORING, _WEATHER],
        "result": {
            "cases": 2,
            "passed": 1,
            "errors": 1,
            "duplicates": 1,
            "mean_precision": 1.0,
            "abstention_rate": 0.0,
        },
    },
    {
        "predictions": [{"case_id": "mooring", "relevant_beliefs": []}],
        "references": [_MOORING],
        "result": {
            "cases": 1,
            "passed": 0,
            "mean_precision": 0.0,
            "n_precision": 1,
            "mean_recall": 0.0,
            "mean_first_relevant_rank": None,
            "abstention_rate": None,
        },
    },
]
