"""Names in a query: words, stems, edits, phrases."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmb_hf.providers.names import (
    FUZZY_NAME,
    FUZZY_QUERY,
    Name,
    Query,
    as_written,
    names_of,
    one_edit,
    questions_of,
    stem,
    words_of,
)


def name(text: str, *, canonical: bool = True) -> Name:
    metadata = {"canonicalName": text} if canonical else {}
    return names_of(metadata, [] if canonical else [text])[0]


def score(query: str, text: str, *, canonical: bool = True, fuzzy: bool = True) -> float | None:
    match = Query(query).match(name(text, canonical=canonical), fuzzy=fuzzy)
    return None if match is None else match.score


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("garden_shed-roof", ["garden", "shed", "roof"]),
        ("Überquert die STRASSE", ["überquert", "die", "strasse"]),
        ("C++ and C# or F", ["c++", "and", "c#", "or", "f"]),
        ("water.butt (IBC)", ["water", "butt", "ibc"]),
        ("ﬁle", ["file"]),
        ("?! \0 🎉", []),
        ("東京 café", ["東京", "café"]),
    ],
)
def test_words(text: str, words: list[str]) -> None:
    assert words_of(text) == words


def test_stems() -> None:
    assert stem("orchards") == stem("orchard") == "orchard"
    assert stem("gyms") == stem("gym") == "gym"
    assert as_written("gas")
    assert as_written("m4a1")
    assert stem("h264s") == "h264s"
    assert not as_written("gases")


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("lanturn", "lantern"),
        ("lanern", "lantern"),
        ("lanttern", "lantern"),
        ("lanetrn", "lantern"),
        ("lanterns", "lantern"),
    ],
)
def test_one_edit(query: str, text: str) -> None:
    assert one_edit(query, text)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("lantern", "lantern"),  # none
        ("lenturn", "lantern"),  # two
        ("lnatern", "lantern"),  # within the first two letters
        ("bantern", "lantern"),
        ("lanternes", "lantern"),
        ("lan", "lant"),  # short
        ("lant3rn", "lantern"),  # with a digit
    ],
)
def test_no_edit(query: str, text: str) -> None:
    assert not one_edit(query, text)


LETTERS = st.text("abc", min_size=4, max_size=7)


def _distance(a: str, b: str) -> int:
    """Edits with swaps of neighbours, by the textbook."""
    table = {(i, -1): i + 1 for i in range(-1, len(a))} | {(-1, j): j + 1 for j in range(len(b))}
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            options = [table[i - 1, j] + 1, table[i, j - 1] + 1, table[i - 1, j - 1] + (x != y)]
            if i and j and x == b[j - 1] and a[i - 1] == y:
                options.append(table[i - 2, j - 2] + 1)
            table[i, j] = min(options)
    return table[len(a) - 1, len(b) - 1]


@given(a=LETTERS, b=LETTERS)
def test_one_edit_is_the_textbooks(a: str, b: str) -> None:
    assert one_edit(a, b) == (a[:2] == b[:2] and _distance(a, b) == 1)


def test_names() -> None:
    names = names_of({"canonicalName": "the_garden_shed"}, ["", "hut", "?"])
    assert [(n.words, n.content, n.canonical) for n in names] == [
        (("the", "garden", "shed"), ("garden", "shed"), True),
        (("hut",), ("hut",), False),
    ]
    assert names_of({}, []) == []
    assert names_of({"canonicalName": None}, ["hut"])[0].words == ("hut",)


def test_kinds_of_matches_fall_in_worth() -> None:
    written = score("where is the garden shed", "garden_shed")
    stemmed = score("where are the garden sheds", "garden_shed")
    scattered = score("the shed in my garden", "garden_shed")
    misspelt = score("the shed in my gardn", "garden_shed")
    assert (written, stemmed, scattered) == (3.1, 2.6, 2.1)
    assert misspelt == pytest.approx(1.7)
    assert score("garden shed", "garden_shed", canonical=False) == pytest.approx(2.8)
    assert score("shed", "shed") == 3.0


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("the shed", "garden_shed"),  # a part only
        ("a shed, painted red twice a year by friends who own another garden", "garden_shed"),
        ("to the gym", "gy"),
        ("gyms", "gym"),  # short names count only as written
        ("gyn", "gym"),
        ("how to address this", "how to reach me"),
        ("I reach the summit", "how to reach me"),  # one word of several says too little
        ("x265", "x264"),
        ("", "shed"),
    ],
)
def test_what_is_no_match(query: str, text: str) -> None:
    assert score(query, text) is None


def test_short_words_of_longer_names_may_have_endings() -> None:
    assert score("the gyms annexes", "gym annex") == 2.6


def test_function_words_count_in_a_phrase() -> None:
    assert score("off on one again", "on one") is not None
    assert score("tell me how to reach me", "how to reach me") is not None


def test_fuzzy_can_be_off() -> None:
    assert score("lanturn", "lantern") == pytest.approx(2.0 * 0.8)
    assert score("lanturn", "lantern", fuzzy=False) is None
    assert FUZZY_QUERY < FUZZY_NAME


def test_parts() -> None:
    query = Query("sheds and gardens")
    assert query.part(name("garden_shed_roof")) == 2
    assert query.part(name("lantern")) == 0
    assert Query("gardn").part(name("garden")) == 0


@given(text=st.text(max_size=60), other=st.text(max_size=30))
def test_any_text(text: str, other: str) -> None:
    query = Query(text)
    for found in names_of({"canonicalName": other}, [text]):
        match = query.match(found)
        assert match is None or match.score >= 1
        if not found.canonical:
            assert match is not None  # a text says itself


@pytest.mark.parametrize(
    ("text", "questions"),
    [
        ("Where is the key, and who has the list?", ["Where is the key", " who has the list"]),
        ("I know where the key is. What does the lamp cost?", [" What does the lamp cost"]),
        ("What is a lamp, and what does it cost?", ["What is a lamp"]),
        ("The key; also the list.", []),
        ("How is v1.2 of the tool?", ["How is v1.2 of the tool"]),
        ("", []),
    ],
)
def test_questions_that_ask_for_something_of_their_own(text: str, questions: list[str]) -> None:
    assert questions_of(text) == questions
