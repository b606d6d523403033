"""Which cases of which run were seen."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pmb_hf.completeness import Key, Places, Seen

KEYS: list[Key] = [("a", None), ("b", None), ("s", 0), ("s", 1)]
PLACES = Places(KEYS)
rows = st.lists(st.tuples(st.sampled_from(["r1", "r2", None]), st.sampled_from(KEYS)), unique=True)


def seen(pairs: list[tuple[str | None, Key]]) -> Seen:
    """What these rows come to; none is there twice."""
    found = Seen(PLACES)
    for run, key in pairs:
        assert not found.add(run, PLACES.bits[key])
    return found


@given(rows, st.data())
def test_the_order_and_the_cuts_do_not_matter(
    pairs: list[tuple[str | None, Key]], data: st.DataObject
) -> None:
    cut = data.draw(st.integers(0, len(pairs)))
    merged = seen(pairs[:cut])
    assert merged.merge(seen(pairs[cut:])) is None
    whole = seen(pairs)
    assert merged.runs == whole.runs == len({run for run, _ in pairs})
    assert sorted(merged.lacking(), key=str) == sorted(whole.lacking(), key=str)
    for run, missing in whole.lacking():
        had = {key for r, key in pairs if r == run}
        parts = {key[1] is None for key in had}
        assert set(missing) == {k for k in KEYS if (k[1] is None) in parts} - had


@given(rows.filter(bool), st.data())
def test_a_case_that_comes_twice_is_noticed(
    pairs: list[tuple[str | None, Key]], data: st.DataObject
) -> None:
    run, key = data.draw(st.sampled_from(pairs))
    assert seen(pairs).add(run, PLACES.bits[key])
    cut = data.draw(st.integers(0, len(pairs)))
    left, right = seen(pairs[:cut]), seen(pairs[cut:])
    (right if (run, key) in pairs[:cut] else left).add(run, PLACES.bits[key])
    assert left.merge(right) is not None
