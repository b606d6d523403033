"""Tables: what numbers and foreign text look like, and what is said beside the figures."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console, RenderableType

from pmb_hf.baselines import baselines
from pmb_hf.corpus import load_corpus
from pmb_hf.explain import subjects
from pmb_hf.providers.fts5 import Fts5Provider
from pmb_hf.providers.protocol import Hit
from pmb_hf.report import judge
from pmb_hf.rules import RULES
from pmb_hf.runner import run
from pmb_hf.summary import round_half_up, summarize
from pmb_hf.tables import cells, overview
from pmb_hf.tables.layout import Id, add_text, plain, short, table
from pmb_hf.tables.remarks import remarks
from pmb_hf.tables.text import clean, clean_lines, listed

NATIVE = load_corpus("native")


def text_of(*parts: RenderableType, width: int = 80) -> str:
    console = Console(width=width, color_system=None, highlight=False, markup=False)
    with console.capture() as capture:
        for part in parts:
            console.print(part)
    return capture.get()


@given(st.lists(st.text("abé漢", min_size=1, max_size=9), min_size=1, max_size=12))
def test_an_id_is_broken_at_its_separators(words: list[str]) -> None:
    made = table("Id")
    add_text(made, "error")
    made.add_row(Id("-".join(words)), plain("x" * 60))
    lines = [line.split("  ")[0].rstrip() for line in text_of(made, width=60).splitlines()[2:]]
    shown = [line for line in lines if line and "x" not in line]
    assert "".join(shown) == "-".join(words)
    assert all(line.endswith("-") for line in shown[:-1])


@given(st.text(st.characters(codec=None), max_size=40))
def test_clean_text_is_one_safe_line(text: str) -> None:
    cleaned = clean(text)
    assert len(cleaned) == len(text)
    allowed = {"\u200c", "\u200d"}
    assert not [
        c
        for c in cleaned
        if c not in allowed and unicodedata.category(c) in {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
    ]
    cleaned.encode("utf-8")
    assert clean(cleaned) == cleaned


@given(st.text(max_size=40), st.integers(1, 20))
def test_text_is_cut_to_its_limit(text: str, limit: int) -> None:
    cut = clean(text, limit)
    assert len(cut) <= limit
    if len(text) > limit:
        assert cut.endswith("…")


def test_lines_stay_lines() -> None:
    assert clean_lines("a\n\tb\x1b") == "a\n b␛"
    assert listed(["a", "b", "c", "d"], 2) == "a, b and 2 more"
    assert listed(["a", "b"], 2) == "a, b"


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, "–"), (0, "0.00"), (9.994, "9.99"), (9.996, "10.0"), (99.96, "100"), (12345, "12,345")],
)
def test_times_have_two_to_four_digits(value: float | None, shown: str) -> None:
    assert cells.milliseconds(value) == shown


def test_foreign_text_is_no_markup() -> None:
    made = table("x")
    add_text(made, "y")
    made.add_row(short("[red]a[/red]"), plain("[link=http://x]b[/link]"))
    shown = text_of(made)
    assert "[red]a[/red]" in shown
    assert "[link=http://x]b[/link]" in shown


def test_numbers_stand_below_each_other() -> None:
    report = run("fts5", NATIVE)
    evaluation = judge(report, NATIVE)
    controls = baselines(NATIVE, evaluation.rules)
    single, sessions = overview.figures(report, evaluation, controls)
    for made in (single, sessions):
        rows = text_of(made).splitlines()
        assert max(map(len, rows)) <= 80
        ends = [match.end() for match in re.finditer(r" n\b", rows[0])]
        assert len(ends) == 4
        for row in rows[2:]:
            for end in ends:
                assert row[end - 1 : end].strip() or set(row[end - 3 : end]) <= {" ", "–"}
                assert row[end : end + 1] in ("", " ")


@pytest.mark.parametrize("rules", RULES)
def test_every_mean_has_its_n(rules: str) -> None:
    report = run("bm25", NATIVE, rules=rules)
    evaluation = judge(report, NATIVE)
    assert evaluation.retrieval is not None
    rows = text_of(*overview.figures(report, evaluation)).splitlines()
    precision = next(row.split() for row in rows if row.startswith("precision"))
    assert precision[1:] == [
        cells.rate(evaluation.retrieval["mean_precision"]),
        str(evaluation.retrieval["n_precision"]),
    ]


def test_what_applies_to_no_system_is_left_out() -> None:
    shown = text_of(overview.summary_table("nothing", summarize([])))
    assert shown.split() == ["nothing", "n", *re.findall("─+", shown), "passed", "0"]


OTHERS = [b.id for b in NATIVE.beliefs if b.user_id != NATIVE.user_id]


class Sloppy(Fts5Provider):
    """Repeats itself, invents an id, returns too much, and others' beliefs; can't change any."""

    supports_update = False
    supports_delete = False

    def search(
        self, *, query: str, user_id: str, scopes: Sequence[str], limit: int
    ) -> Sequence[Hit]:
        if "IEM" in query:
            raise TimeoutError("2 s")
        return [Hit(i) for i in ("b-in-ears", "b-in-ears", "made-up", *OTHERS)] * 6


def test_only_a_change_of_a_belief_is_called_one() -> None:
    report = run(Sloppy(), NATIVE)
    text = text_of(*filter(None, [overview.times(report, judge(report, NATIVE))]))
    assert "write a belief, mid-session" in text
    assert "change a belief" not in text
    report = run("fts5", NATIVE)
    text = text_of(*filter(None, [overview.times(report, judge(report, NATIVE))]))
    assert "write a belief, mid-session" in text
    assert "change a belief" in text


def test_a_figure_is_rounded_once() -> None:
    exact = 0.67649
    assert cells.rate(round_half_up(exact)) == cells.rate(exact) == "0.6765"


def test_what_qualifies_the_figures_is_said() -> None:
    report = run(Sloppy(), NATIVE)
    evaluation = judge(report, NATIVE)
    said = remarks(report, evaluation, list(subjects(NATIVE)))
    text = "\n".join(said)
    for part in (
        "1 of 89 cases got no answer (1 timeout)",
        "beliefs of another user were returned",
        "ids that the corpus lacks",
        "duplicates",
        "results over the limit",
        "other user",
        "No provider has an influence on",
    ):
        assert part in text
    assert [remark.serious for remark in said] == sorted(
        (remark.serious for remark in said), reverse=True
    )
    assert "No leaks" not in text


def test_a_clean_run_has_nothing_serious_to_say() -> None:
    report = run("oracle", NATIVE)
    said = remarks(report, judge(report, NATIVE), list(subjects(NATIVE)))
    assert not [remark for remark in said if remark.serious]
    assert "none of them wrong" in "\n".join(said)
