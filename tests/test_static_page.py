"""The page that needs no server, in a real browser."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from browser import MISSING, Visit, browser, find, visit
from playwright.sync_api import Browser, Locator, expect
from space_kit import HOSTILE, tree, write

from pmb_hf.board.model import Board
from pmb_hf.board.static import render, write_static

pytestmark = pytest.mark.skipif(find() is None, reason=MISSING)

TABS = ("Leaderboard", "Look", "Compare", "Cases", "About")


class Pages(NamedTuple):
    """A board of hostile names with a broken row, an empty one, and one of two hundred rows."""

    hostile: Path
    empty: Path
    many: Path


@pytest.fixture(scope="module")
def started() -> Iterator[Browser]:
    with browser() as made:
        yield made


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Pages:
    folder = tmp_path_factory.mktemp("static")
    made = tree(["bm25", "fts5", *HOSTILE], published=True)
    one = next(row for row in made["rows"] if row["provider"] == "bm25")
    many = [{**one, "id": f"r{n}", "label": f"system {n}"} for n in range(200)]
    wide = write_static(write(folder / "many", {**made, "rows": many, "answers": []}))
    made["rows"].append({"id": "broken"})
    return Pages(
        hostile=write_static(write(folder / "hostile", made)),
        empty=write_static(folder, folder / "empty.html"),
        many=wide,
    )


@contextmanager
def opened(started: Browser, page: Path, fragment: str = "", **options: Any) -> Iterator[Visit]:
    """The page; it must ask for nothing but itself and have no fault."""
    address = page.resolve().as_uri()
    with visit(started, address + fragment, **options) as seen:
        yield seen
        assert {url.partition("#")[0] for url in seen.requests if url[:5] != "blob:"} == {address}
        assert seen.faults == []


def go(seen: Visit, name: str) -> None:
    seen.page.get_by_role("tab", name=name).click()


def names(seen: Visit) -> list[str]:
    return seen.page.locator("table.board tbody th").all_inner_texts()


def pick(seen: Visit, label: str, value: str) -> Locator:
    found = seen.page.get_by_label(label, exact=True)
    found.select_option(value)
    return found


def test_every_tab_shows_and_draws(started: Browser, pages: Pages) -> None:
    with opened(started, pages.hostile) as seen:
        expect(seen.page.locator("#notices")).to_contain_text("is left out")
        for name in TABS:
            go(seen, name)
            expect(seen.page.get_by_role("tabpanel", name=name)).to_be_visible()
            seen.draw_all()
        assert seen.page.locator(".plot .main-svg").count() >= 6
        expect(seen.page.get_by_role("tabpanel", name="About")).to_contain_text("mean_r_precision")


def test_hostile_names_are_text(started: Browser, pages: Pages) -> None:
    with opened(started, pages.hostile) as seen:
        shown = names(seen)
        for name in ("<script>alert(1)", "</script><img src=x", "**bold** [a](javascript"):
            assert any(text.startswith(name) for text in shown), name
        seen.page.get_by_role("button", name="**bold**").click()
        expect(seen.page.locator("#row h3")).to_have_text(HOSTILE[2])
        go(seen, "Cases")
        seen.page.get_by_label("Systems", exact=True).select_option([HOSTILE[0], HOSTILE[1]])
        expect(seen.page.locator(".answer")).to_have_count(2)
        expect(seen.page.locator(".answer").first).to_contain_text("alert")
        go(seen, "Look")
        seen.page.locator(".plot .legendtext").first.wait_for()
        legend = seen.page.locator(".plot .legendtext").all_text_contents()
        assert any(text.startswith("<script>alert") for text in legend)
        assert seen.page.locator("main script, main img, a[href^='javascript']").count() == 0


def test_an_injected_script_would_not_run(started: Browser, pages: Pages) -> None:
    with visit(started, pages.hostile) as seen:
        seen.page.evaluate(
            "() => { const s = document.createElement('script'); s.textContent = 'window.hit = 1';"
            " document.body.append(s); }"
        )
        assert seen.page.evaluate("window.hit") is None


def test_search_kinds_and_order(started: Browser, pages: Pages) -> None:
    with opened(started, pages.hostile) as seen:
        every = len(names(seen))
        seen.page.get_by_label("floor and ceiling").uncheck()
        assert len(names(seen)) == every - 3
        expect(seen.page.locator("#shown output")).to_have_text(f"{every - 3} of {every} rows")
        seen.page.get_by_role("searchbox").fill("fts5")
        assert names(seen) == ["fts5"]
        go(seen, "Look")
        expect(seen.page.locator("table.heat thead th").nth(1)).to_have_text("fts5")
        seen.page.get_by_role("searchbox").fill("no such system")
        expect(seen.page.locator("#pictures")).to_contain_text("No system to draw")
        go(seen, "Leaderboard")
        expect(seen.page.locator("#table")).to_contain_text("No row fits the filter")
        seen.page.get_by_role("searchbox").fill("")
        seen.page.get_by_role("button", name="Sort by System").click()
        assert len(names(seen)) == every - 3
        head = seen.page.locator("th[aria-sort]")
        expect(head).to_have_attribute("aria-sort", "ascending")
        seen.page.keyboard.press("Enter")
        expect(head).to_have_attribute("aria-sort", "descending")


def test_other_corpus_and_rules(started: Browser, pages: Pages) -> None:
    with opened(started, pages.hostile) as seen:
        seen.page.get_by_label("Corpus", exact=True).select_option(label="official")
        pick(seen, "Rules", "upstream-2026-09")
        expect(seen.page.locator("#table")).to_contain_text("published by upstream")
        expect(seen.page.locator("table.board tbody td.long").first).to_be_visible()
        assert seen.page.locator("table.board tbody tr:not(.control)").count() == 0
        go(seen, "Cases")
        expect(seen.page.locator("#case")).to_contain_text("holds no cases")
        go(seen, "Compare")
        expect(seen.page.locator("#comparison")).to_contain_text("Choose two to four systems")


def test_the_address_restores_the_view(started: Browser, pages: Pages) -> None:
    with opened(started, pages.hostile) as seen:
        seen.page.get_by_role("searchbox").fill("fts5")
        pick(seen, "View", "full")
        go(seen, "Cases")
        pick(seen, "Case or session", "alias-caps-foh")
        address = seen.page.url
    fragment = "#" + address.partition("#")[2]
    with opened(started, pages.hostile, fragment) as seen:
        expect(seen.page.locator("#case h3")).to_contain_text("alias-caps-foh")
        go(seen, "Leaderboard")
        assert names(seen) == ["fts5"]
    with opened(started, pages.hostile, "#tab=compare&provider=fts5&provider=bm25") as seen:
        expect(seen.page.locator("#comparison h4")).to_have_text("bm25againstfts5")
        expect(seen.page.get_by_label("System 1", exact=True)).to_have_value("fts5")


def test_a_session_turn_by_turn(started: Browser, pages: Pages) -> None:
    with opened(started, pages.hostile, "#tab=cases") as seen:
        session = seen.page.locator("select[name=case] option", has_text="(session)").first
        pick(seen, "Case or session", session.get_attribute("value") or "")
        expect(seen.page.locator(".turn h4").first).to_contain_text("Turn 0")
        assert seen.page.locator(".turn").count() > 3


def downloaded(seen: Visit, search: str) -> str:
    """The CSV of what a search leaves."""
    seen.page.get_by_role("searchbox").fill(search)
    with seen.page.expect_download() as download:
        seen.page.get_by_role("button", name="Download as CSV").click()
    return Path(download.value.path()).read_text(encoding="utf-8")


def test_the_csv_holds_the_filtered_rows(started: Browser, pages: Pages) -> None:
    with opened(started, pages.hostile) as seen:
        text = downloaded(seen, "bold")
        lines = list(csv.reader(io.StringIO(text)))
        assert [line[0] for line in lines] == ["name", HOSTILE[2]]
        assert lines[0][1:4] == ["provider", "run", "options"]
        assert lines[1][1] == HOSTILE[2]
        assert len(set(map(len, lines))) == 1


def test_the_csv_tells_runs_of_one_provider_apart(started: Browser, pages: Pages) -> None:
    with opened(started, pages.many) as seen:
        text = downloaded(seen, "system 19")
        lines = list(csv.DictReader(io.StringIO(text)))
        assert "system 19" in {line["name"] for line in lines}
        assert len({(line["name"], line["run"]) for line in lines}) == len(lines) > 10
        assert {line["provider"] for line in lines} == {"bm25"}
        seen.page.get_by_role("button", name="system 190", exact=True).click()
        expect(seen.page.locator("#row h3")).to_have_text("system 190")


@pytest.mark.parametrize(
    "fragment",
    ["#tab=constructor", "#tab=toString&sort=toString", "#tab=__proto__&hide=__proto__,toString"],
)
def test_an_address_of_nonsense_shows_the_board(
    started: Browser, pages: Pages, fragment: str
) -> None:
    with opened(started, pages.hostile, fragment) as seen:
        expect(seen.page.get_by_role("tabpanel", name="Leaderboard")).to_be_visible()
        assert len(names(seen)) > 3


def test_a_mean_tells_its_n(started: Browser, pages: Pages) -> None:
    with opened(started, pages.hostile) as seen:
        heads = seen.page.locator("table.board thead th")
        for name in ("retrieval.mean_recall", "retrieval.abstention_rate", "session.mean_drift"):
            place = heads.evaluate_all(
                "(all, own) => all.findIndex(e => e.dataset.column === own)", name
            )
            cell = seen.page.locator("table.board tbody tr").first.locator(":is(th, td)").nth(place)
            assert (cell.get_attribute("title") or "").startswith("n = "), name


def test_an_empty_export_says_how_to_make_one(started: Browser, pages: Pages) -> None:
    with opened(started, pages.empty) as seen:
        expect(seen.page.locator("#notices")).to_contain_text("There is nothing to show yet")
        expect(seen.page.locator("#notices code")).to_contain_text("pmb export")
        assert not seen.page.get_by_role("tablist").is_visible()
    assert "pmb export" in render(Board())


def test_two_hundred_rows(started: Browser, pages: Pages) -> None:
    with opened(started, pages.many) as seen:
        assert len(names(seen)) == 200
        go(seen, "Look")
        expect(seen.page.locator("#pictures")).to_contain_text("The first 24 of 200")
        go(seen, "Compare")
        expect(seen.page.locator("#comparison")).to_contain_text("Choose two to four systems")


def test_a_narrow_screen_does_not_scroll_sideways(started: Browser, pages: Pages) -> None:
    with opened(started, pages.hostile, width=360) as seen:
        for name in TABS:
            go(seen, name)
            assert seen.page.evaluate("document.documentElement.scrollWidth") <= 360, name


def test_dark_and_light(started: Browser, pages: Pages) -> None:
    with opened(started, pages.hostile, "#tab=look", dark=True) as seen:
        legend = seen.page.locator(".plot .legendtext").first
        expect(seen.page.locator("body")).to_have_css("color", "rgb(232, 235, 238)")
        expect(legend).to_have_css("fill", "rgb(232, 235, 238)")
        seen.page.emulate_media(color_scheme="light")
        expect(seen.page.locator("body")).to_have_css("color", "rgb(27, 31, 36)")
        expect(legend).to_have_css("fill", "rgb(27, 31, 36)")


def test_keys_reach_everything(started: Browser, pages: Pages) -> None:
    with opened(started, pages.hostile) as seen:
        seen.page.keyboard.press("Tab")
        assert seen.page.evaluate("document.activeElement.textContent") == "Skip to the content"
        seen.page.get_by_role("tab", name="Leaderboard").focus()
        seen.page.keyboard.press("ArrowRight")
        expect(seen.page.get_by_role("tab", name="Look")).to_be_focused()
        expect(seen.page.get_by_role("tabpanel", name="Look")).to_be_visible()
        unnamed = seen.page.evaluate(
            "[...document.querySelectorAll('button, input, select')].filter(e => e.offsetParent"
            " && !(e.ariaLabel || e.innerText.trim() || e.labels?.length)).length"
        )
        assert unnamed == 0
