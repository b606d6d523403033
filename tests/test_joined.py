"""Entries that stand for several memories, against a model that keeps it simple."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pmb_hf.providers.joined import JoinedIds

STEPS = st.lists(
    st.tuples(
        st.sampled_from(["new", "join", "replace", "drop"]), st.integers(0, 4), st.integers(0, 3)
    )
)


@given(steps=STEPS)
def test_agrees_with_a_list_of_pairs(steps: list[tuple[str, int, int]]) -> None:
    ids = JoinedIds()
    pairs: list[tuple[int, int]] = []  # entry, key
    for step, key, entry in steps:
        pairs = [pair for pair in pairs if pair[1] != key]
        if step == "drop":
            ids.drop(key)
        else:
            alone = step != "join"
            if alone:
                pairs = [pair for pair in pairs if pair[0] != entry]
            pairs.append((entry, key))
            ids.put(key, entry, alone=alone)
        for wanted in range(4):
            assert ids.keys(wanted) == tuple(k for e, k in pairs if e == wanted)
        for wanted in range(5):
            entries = [e for e, k in pairs if k == wanted]
            is_alone = bool(entries) and [e for e, _ in pairs].count(entries[0]) == 1
            assert ids.sole(wanted) == (entries[0] if is_alone else None)
    ids.clear()
    assert all(ids.keys(entry) == () for entry in range(4))
