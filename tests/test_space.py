"""The Space in a real browser: every tab, hostile names, uploads, links, narrow and dark."""

from __future__ import annotations

import csv
import io
import json
import re
import socket
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

import pytest
from browser import MISSING, Visit, browser, find, visit
from playwright.sync_api import Browser, Locator, Route, expect
from space_kit import HOSTILE, report, tree, write

from pmb_hf.board.local import load_app
from pmb_hf.board.visitors import KEPT_S, sweep
from pmb_hf.corpus import load_corpus
from pmb_hf.report_json import report_json

pytestmark = pytest.mark.skipif(find() is None, reason=MISSING)

GRADIOS_OWN = "warning: Method not implemented."
"""Gradio's client says it whenever it has uploaded a file."""
TABS = ("Leaderboard", "Look", "Compare", "Cases", "Score yours", "Submit / About")


class Running(NamedTuple):
    """The app that is served, and where its files lie."""

    address: str
    export: Path
    uploads: Path
    app: Any


@pytest.fixture(scope="module")
def started() -> Iterator[Browser]:
    with browser() as made:
        yield made


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("space")
    made = tree(["bm25", "fts5", *HOSTILE])
    made["rows"].append({"id": "broken"})
    export, uploads = write(folder / "export", made), folder / "uploads"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRADIO_TEMP_DIR", str(uploads))
        app = load_app()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        demo = app.launch(
            app.Source(folder=export),
            host="127.0.0.1",
            port=port,
            quiet=True,
            prevent_thread_lock=True,
        )
        yield Running(f"http://127.0.0.1:{port}/", export, uploads, app)
        demo.close(verbose=False)


@contextmanager
def opened(started: Browser, address: str, **options: Any) -> Iterator[Visit]:
    """The page once its table is there; afterwards it must have had no fault."""
    with visit(started, address, **options) as seen:
        cells(seen).first.wait_for()
        yield seen
        host = address.partition("?")[0]
        assert [url for url in seen.requests if not url.startswith((host, "data:", "blob:"))] == []
        assert [fault for fault in seen.faults if fault != GRADIOS_OWN] == []


@contextmanager
def restored(started: Browser, address: str) -> Iterator[Visit]:
    """The page of a link to another tab; it must have had no fault."""
    with visit(started, address) as seen:
        yield seen
        assert seen.faults == []


def cells(seen: Visit, column: int = 0) -> Locator:
    """The cells of a column that are shown."""
    return seen.page.locator(f".board-table [role=gridcell][data-col='{column}']:visible")


def go(seen: Visit, name: str) -> Locator:
    """Open a tab; on a narrow screen it may be in the menu."""
    tab = seen.page.get_by_role("tab", name=name)
    if tab.count() and tab.first.is_visible():
        tab.first.click()
    else:
        seen.page.locator(".overflow-menu > button").click()
        seen.page.locator(".overflow-dropdown").get_by_text(name, exact=True).click()
    panel = seen.page.locator("[role=tabpanel]:visible").first
    panel.wait_for()
    return panel


def region(seen: Visit, name: str) -> Locator:
    return seen.page.get_by_role("region", name=name, exact=True)


def test_all_tabs_show_and_nothing_leaves_the_machine(started: Browser, space: Running) -> None:
    with opened(started, space.address) as seen:
        expect(region(seen, "Notices")).to_contain_text("Row 12 of leaderboard.json is left out")
        expect(region(seen, "About this board")).to_contain_text(load_corpus("native").sha256)
        go(seen, "Look")
        seen.page.locator(".plot").first.wait_for()
        seen.draw_all()
        assert seen.page.locator(".plot .main-svg").count() >= 6
        legend = seen.page.locator(".plot .legendtext").first
        expect(legend).to_have_css("fill", "rgb(27, 31, 36)")
        go(seen, "Compare")
        expect(region(seen, "Comparison")).to_contain_text("Paired differences")
        go(seen, "Cases")
        expect(region(seen, "Case")).to_contain_text("alias-abbrev-iem")
        seen.page.get_by_label("Case or session").click()
        seen.page.get_by_role("option").filter(has_text="(session)").first.click()
        turns = region(seen, "Case").locator(".turn")
        expect(turns.first).to_contain_text("Turn 0")
        assert turns.count() > 3
        assert turns.first.locator(".answer").count() == 4
        go(seen, "Score yours")
        expect(seen.page.get_by_role("button", name="Score", exact=True)).to_be_visible()
        go(seen, "Submit / About")
        expect(seen.page.get_by_text("Why does a high recall say little?")).to_be_visible()
        expect(region(seen, "All measures")).to_contain_text("mean_r_precision")
        expect(region(seen, "The rules side by side")).to_contain_text("upstream-2026-09")


def test_hostile_names_are_text_everywhere(started: Browser, space: Running) -> None:
    with opened(started, space.address) as seen:
        shown = cells(seen).all_inner_texts()
        for name in ("<script>alert(1)", "</script><img src=x", "**bold** [a](javascript"):
            assert any(text.startswith(name) for text in shown), name
        cells(seen).filter(has_text="**bold**").click()
        told = region(seen, "About the chosen row")
        expect(told.locator("h3")).to_contain_text("${alert(4)} {{7*7}}")
        go(seen, "Look")
        seen.page.locator(".plot .legendtext").first.wait_for()
        legend = seen.page.locator(".plot .legendtext").all_text_contents()
        assert any(text.startswith("<script>alert") for text in legend)
        go(seen, "Cases")
        seen.page.get_by_label("Systems", exact=True).click()
        seen.page.get_by_role("option").filter(has_text=HOSTILE[1]).first.click()
        seen.page.keyboard.press("Escape")
        expect(region(seen, "Case")).to_contain_text(HOSTILE[1])
        content = seen.page.locator(".gradio-container")
        assert content.locator("img[src='x'], a[href^='javascript'], b:text('<b>')").count() == 0
        assert seen.page.evaluate("document.querySelectorAll('.pmb script').length") == 0


def test_search_and_kinds_filter_table_and_pictures(started: Browser, space: Running) -> None:
    with opened(started, space.address) as seen:
        seen.page.get_by_label("floor and ceiling").uncheck()
        expect(region(seen, "About this board")).to_contain_text("8 of 11")
        seen.page.get_by_label("Search systems").fill("FTS5")
        expect(cells(seen)).to_have_text(["fts5"])
        go(seen, "Look")
        expect(seen.page.locator(".plot .legendtext").first).to_have_text("fts5")
        heads = seen.page.locator("table.heat thead th").all_inner_texts()
        assert heads == ["Category", "fts5"]
        seen.page.get_by_label("Search systems").fill("no such system")
        expect(region(seen, "Pictures")).to_contain_text("No system to draw")
        go(seen, "Leaderboard")
        expect(region(seen, "About this board")).to_contain_text("No row fits the filter")


def test_views_columns_and_order(started: Browser, space: Running) -> None:
    with opened(started, space.address) as seen:
        grid = seen.page.get_by_role("grid", name="Leaderboard")
        compact = int(grid.get_attribute("aria-colcount") or 0)
        seen.page.get_by_label("full", exact=True).check()
        expect(grid).not_to_have_attribute("aria-colcount", str(compact))
        seen.page.get_by_role("button", name="Choose columns").click()
        seen.page.get_by_label("Columns (none").click()
        seen.page.get_by_role("option", name="R-precision", exact=True).click()
        expect(grid).to_have_attribute("aria-colcount", "2")
        heads = seen.page.locator(".board-table th[role=columnheader]:visible").all_inner_texts()
        assert [head.split("\n")[0] for head in heads] == ["System", "R-precision"]


def download(seen: Visit) -> list[dict[str, str]]:
    with seen.page.expect_download() as found:
        seen.page.get_by_role("button", name="Download as CSV").click()
    text = Path(found.value.path()).read_text(encoding="utf-8")
    return list(csv.DictReader(io.StringIO(text)))


def copied(seen: Visit) -> str:
    seen.page.get_by_role("button", name="Copy a link to this view").click()
    link = seen.page.get_by_label("Link to this view")
    expect(link).to_be_visible()
    return link.input_value()


def head(seen: Visit, name: str) -> Locator:
    return seen.page.locator("#leaderboard").get_by_role("columnheader", name=name, exact=True)


def test_a_head_sorts_as_the_menu_above_does(started: Browser, space: Running) -> None:
    with opened(started, space.address) as seen:
        first = cells(seen).all_inner_texts()
        head(seen, "System").click()
        expect(head(seen, "System")).to_have_attribute("aria-sort", "ascending")
        expect(seen.page.get_by_label("Sort by")).to_have_value("System")
        controls = first[-3:]
        systems = sorted(first[:-3], key=str.casefold)
        assert cells(seen).all_inner_texts()[:-3] == systems
        assert set(cells(seen).all_inner_texts()[-3:]) == set(controls)
        head(seen, "System").focus()
        seen.page.keyboard.press("Enter")
        expect(head(seen, "System")).to_have_attribute("aria-sort", "descending")
        expect(cells(seen).first).to_have_text(systems[-1])
        assert seen.page.get_by_label("Worst first").is_checked()
        # What is shown, and in which order, is what the file and the link hold.
        shown = cells(seen).all_inner_texts()
        assert [line["name"].lstrip("'") for line in download(seen)] == shown
        address = copied(seen)
        with opened(started, address) as again:
            expect(cells(again)).to_have_text(shown)
            expect(head(again, "System")).to_have_attribute("aria-sort", "descending")
        seen.page.get_by_label("Worst first").uncheck()
        seen.page.get_by_label("Sort by").click()
        seen.page.get_by_role("option", name="Rank", exact=True).click()
        expect(cells(seen)).to_have_text(first)
        expect(head(seen, "Rank")).to_have_attribute("aria-sort", "ascending")


def test_heads_are_read_whole_and_a_mean_tells_its_n(started: Browser, space: Running) -> None:
    with opened(started, space.address) as seen:
        heads = seen.page.locator("#leaderboard").get_by_role("columnheader")
        for place in range(heads.count()):
            heads.nth(place).hover()
            assert heads.nth(place).locator("button:visible").count() == 0
            span = heads.nth(place).locator(".header-content span").first
            assert span.evaluate("e => e.scrollWidth <= e.clientWidth + 1")
        names = [text.strip() for text in heads.all_inner_texts()]
        for name in ("Recall", "Abstention", "Session drift ↓"):
            cell = cells(seen, names.index(name)).first
            cell.hover()
            expect(cell).to_have_attribute("title", re.compile(r"^n = \d+$"))
        cell = cells(seen, names.index("System")).first
        cell.hover()
        assert cell.get_attribute("title") is None


def test_a_link_to_cases_restores_its_systems(started: Browser, space: Running) -> None:
    with restored(started, space.address + "?tab=cases&provider=fts5&case=alias-caps-foh") as seen:
        expect(region(seen, "Case").locator(".answer h4")).to_have_count(1)
        seen.page.get_by_label("Systems", exact=True).click()
        seen.page.get_by_role("option").filter(has_text="bm25").click()
        seen.page.keyboard.press("Escape")
        expect(region(seen, "Case").locator(".answer h4")).to_have_count(2)
        address = copied(seen)
        assert "provider=fts5&provider=bm25" in address
    with restored(started, address) as seen:
        answers = region(seen, "Case").locator(".answer h4 bdi")
        expect(answers).to_have_text(["fts5", "bm25"])


@contextmanager
def instead(space: Running, made: dict[str, Any]) -> Iterator[None]:
    """Another board for a while."""
    path = space.export / "leaderboard.json"
    before = path.read_bytes()
    try:
        write(space.export, made)
        yield
    finally:
        path.write_bytes(before)


def test_a_filter_that_fails_says_so(
    started: Browser, space: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise OverflowError("too large")

    with opened(started, space.address) as seen:
        monkeypatch.setattr(sys.modules["board_tab"], "cells", broken)
        seen.page.get_by_label("floor and ceiling").uncheck()
        expect(seen.page.get_by_text("This view can't be drawn")).to_be_visible()


def test_a_parting_turn_is_read_by_its_number(started: Browser, space: Running) -> None:
    with restored(started, space.address + "?tab=compare&provider=bm25&provider=fts5") as seen:
        case = {
            "title": "session-of-a-rather-long-name-of-sixty-letters-and-more",
            "place": "turn 17",
            "passed": [True, False],
            "query": "?",
        }
        made = {
            "systems": [{"name": name, "categories": {}} for name in "ab"],
            "categories": [],
            "pairs": [],
            "cases": 9,
            "parting": [case],
        }
        own = region(seen, "Comparison")
        expect(own).to_contain_text("Paired differences")
        own.evaluate("(root, made) => window.PMB.compare(root, made)", made)
        place = own.locator("table.wide tbody th")
        expect(place).to_contain_text("turn 17")
        assert place.evaluate("e => e.scrollWidth <= e.clientWidth + 1")


CONTRAST = """(e) => {
  const numbers = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = (c) => c.slice(0, 3).map((v) => v / 255)
    .map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, n) => sum + v * [0.2126, 0.7152, 0.0722][n], 0);
  const ground = (at) => {
    for (; at; at = at.parentElement) {
      const c = numbers(getComputedStyle(at).backgroundColor);
      if (c.length < 4 || c[3] > 0.9) return c;
    }
    return [255, 255, 255];
  };
  const [a, b] = [light(numbers(getComputedStyle(e).color)), light(ground(e))];
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}"""


@pytest.mark.parametrize("dark", [False, True])
def test_texts_of_gradios_own_parts_can_be_read(
    started: Browser, space: Running, dark: bool
) -> None:
    with opened(started, space.address, dark=dark) as seen:
        go(seen, "Score yours")
        for found in (
            seen.page.get_by_role("tab", selected=True),
            seen.page.get_by_role("button", name="Score", exact=True),
            seen.page.locator(".or:visible"),
        ):
            assert found.first.evaluate(CONTRAST) >= 4.5, found


def test_a_filtered_view_is_downloaded_and_restored_by_its_link(
    started: Browser, space: Running
) -> None:
    with opened(started, space.address) as seen:
        seen.page.get_by_label("Search systems").fill("fts5")
        expect(cells(seen)).to_have_text(["fts5"])
        assert [(line["name"], line["provider"]) for line in download(seen)] == [("fts5", "fts5")]
        address = copied(seen)
        assert "q=fts5" in address
        assert address == seen.page.url
    with opened(started, address) as seen:
        expect(cells(seen)).to_have_text(["fts5"])
        expect(seen.page.get_by_label("Search systems")).to_have_value("fts5")
    query = "?rules=upstream-2026-06&provider=fts5&provider=bm25&tab=compare"
    with visit(started, space.address + query) as seen:
        expect(region(seen, "Comparison")).to_contain_text(re.compile(r"bm25\s*against\s*fts5"))
        expect(seen.page.get_by_label("Rules").first).to_have_value("upstream-2026-06")
        assert seen.faults == []


def uploaded(seen: Visit, path: Path) -> Locator:
    go(seen, "Score yours")
    seen.page.locator("input[type=file][accept*='.parquet']").set_input_files(path)
    seen.page.locator(".file-preview").wait_for()
    seen.page.get_by_role("button", name="Score", exact=True).click()
    return region(seen, "Result")


def test_a_file_is_scored_shown_beside_the_board_and_goes_with_age(
    started: Browser, space: Running, tmp_path: Path
) -> None:
    mine = tmp_path / "mine.json"
    mine.write_text(report_json(report("fts5"), load_corpus("native")), encoding="utf-8")
    with opened(started, space.address) as seen:
        expect(uploaded(seen, mine)).to_contain_text("of 89")
        expect(cells(seen).first).to_have_text("Your file: mine.json")
        assert cells(seen).count() > 5
        expect(seen.page.get_by_text("kept for at most ten minutes")).to_be_visible()
        # Other choices make it another score: what is shown goes, and the file stays chosen.
        seen.page.get_by_label("Rules").last.click()
        seen.page.get_by_role("option", name="upstream-2026-06").click()
        expect(region(seen, "Result")).not_to_be_visible()
        expect(cells(seen)).to_have_count(0)
        seen.page.get_by_role("button", name="Score", exact=True).click()
        expect(region(seen, "Result")).to_contain_text("scored under upstream-2026-06")
    kept = [p for p in space.uploads.rglob("*") if p.is_file()]
    assert {p.parent.parent.parent for p in kept if p.stat().st_size} == {space.uploads}
    folder = next(space.uploads.iterdir())
    for _ in range(2):  # the second time, folders are as old as they are empty
        sweep(folder, now=time.time() + 2 * KEPT_S)
    assert [p for p in folder.rglob("*") if p.is_file()] == []


def test_a_bad_file_is_refused_in_a_sentence(
    started: Browser, space: Running, tmp_path: Path
) -> None:
    name = "<img src=x onerror=alert(6)>.json"
    mine = tmp_path / "bad.json"
    rows = [{"case_id": name, "relevant_beliefs": "all"}]
    mine.write_text(json.dumps(rows), encoding="utf-8")
    with opened(started, space.address) as seen:
        told = uploaded(seen, mine)
        expect(told.get_by_role("alert")).to_contain_text("<img src=x")
        expect(told.get_by_role("alert")).to_contain_text("bad.json")
        assert str(space.uploads) not in told.inner_text()


def test_without_the_file_its_result_goes(started: Browser, space: Running, tmp_path: Path) -> None:
    mine = tmp_path / "mine.json"
    mine.write_text("[]", encoding="utf-8")
    with opened(started, space.address) as seen:
        expect(uploaded(seen, mine)).to_contain_text("mine.json holds no rows")
        seen.page.get_by_label("Remove this file").or_(
            seen.page.get_by_role("button", name="Clear", exact=True)
        ).first.click()
        expect(region(seen, "Result")).not_to_be_visible()


def test_what_gradio_refuses_takes_the_old_result_away(
    started: Browser, space: Running, tmp_path: Path
) -> None:
    mine = tmp_path / "mine.json"
    mine.write_text("[]", encoding="utf-8")

    def elsewhere(route: Route) -> None:
        sent = re.sub(r'"path":"[^"]*mine.json"', '"path":"/etc/passwd"', route.request.post_data)
        route.continue_(post_data=sent)

    with visit(started, space.address) as seen:
        cells(seen).first.wait_for()
        expect(uploaded(seen, mine)).to_contain_text("mine.json holds no rows")
        seen.page.route("**/queue/join*", elsewhere)
        seen.page.get_by_role("button", name="Score", exact=True).click()
        expect(region(seen, "Result")).to_contain_text("it is none that was uploaded here")


def test_it_is_dark_in_the_dark(started: Browser, space: Running) -> None:
    with opened(started, space.address, dark=True) as seen:
        expect(seen.page.locator("body")).to_have_css("background-color", "rgb(18, 22, 27)")
        expect(region(seen, "About this board")).to_have_css("color", "rgb(232, 235, 238)")
        go(seen, "Look")
        legend = seen.page.locator(".plot .legendtext").first
        expect(legend).to_have_css("fill", "rgb(232, 235, 238)")


def test_a_narrow_screen_does_not_scroll_sideways(started: Browser, space: Running) -> None:
    with opened(started, space.address, width=360) as seen:
        for name in TABS:
            go(seen, name)
            seen.page.wait_for_timeout(300)
            assert seen.page.evaluate("document.documentElement.scrollWidth") <= 360, name


def test_keys_and_screen_readers_reach_everything(started: Browser, space: Running) -> None:
    with opened(started, space.address) as seen:
        names = seen.page.get_by_role("tab").all_inner_texts()
        assert set(TABS) <= {name.strip() for name in names}
        unnamed = seen.page.evaluate(
            "[...document.querySelectorAll('button, input, select, textarea')]"
            ".filter(e => e.offsetParent && !(e.ariaLabel || e.title || e.innerText.trim()"
            " || e.labels?.length || e.getAttribute('aria-labelledby') || e.placeholder))"
            ".map(e => e.outerHTML.slice(0, 120))"
        )
        assert unnamed == []
        seen.page.get_by_role("tab", name="Leaderboard").focus()
        look = seen.page.get_by_role("tab", name="Look")
        for _ in range(12):
            seen.page.keyboard.press("Tab")
            if look.evaluate("e => e === document.activeElement"):
                break
        seen.page.keyboard.press("Enter")
        expect(seen.page.get_by_role("tab", name="Look")).to_have_attribute("aria-selected", "true")


class _Counter(BaseHTTPRequestHandler):
    seen: list[str] = []  # noqa: RUF012 - one server a test

    def do_GET(self) -> None:
        self.seen.append(self.path)
        self.send_response(200)
        self.end_headers()

    def log_message(self, *args: object) -> None:
        pass


def test_no_field_makes_the_server_fetch_an_address(space: Running) -> None:
    """Gradio itself downloads a file that is named by its address, for any component."""
    server = HTTPServer(("127.0.0.1", 0), _Counter)
    Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/secret.json"
    config = json.loads(urllib.request.urlopen(space.address + "config").read())
    file = {"path": url, "url": url, "orig_name": "a.json", "meta": {"_type": "gradio.FileData"}}
    try:
        for number, event in enumerate(config["dependencies"]):
            body = {
                "data": [file] * len(event["inputs"]),
                "fn_index": event.get("id", number),
                "session_hash": "x",
            }
            sent = urllib.request.Request(
                space.address + "gradio_api/run/predict",
                json.dumps(body).encode(),
                {"Content-Type": "application/json"},
            )
            try:
                urllib.request.urlopen(sent).read()
            except urllib.error.HTTPError as error:
                error.read()
        assert _Counter.seen == []
    finally:
        server.shutdown()
        server.server_close()


# The board is another one from here on, so that each page is filled anew once it is loaded.


def test_names_that_are_keys_of_gradios_own_are_not_translated(
    started: Browser, space: Running
) -> None:
    marked = 'x __i18n__{"__type__":"translation_metadata","key":"common.error"} y'
    names = ["common.submit", "file", marked]
    with instead(space, tree(names)), restored(started, space.address + "?tab=compare") as seen:
        seen.page.get_by_label("Systems, two to four").click()
        offered = seen.page.get_by_role("option").all_inner_texts()
        told = {text.replace("\u2060", "").strip("✓ \n") for text in offered}
        assert told == set(names)
        chosen = seen.page.get_by_role("option", selected=False)
        expect(chosen).to_have_count(1)
        chosen.click()
        expect(region(seen, "Comparison").locator("h4")).to_have_count(3)
        expect(region(seen, "Comparison")).to_contain_text(marked)


def test_a_system_that_has_left_the_board_is_named(started: Browser, space: Running) -> None:
    made = json.loads((space.export / "leaderboard.json").read_text())
    fewer = [row for row in made["rows"] if row.get("provider") not in {"fts5", HOSTILE[0]}]
    with restored(started, space.address + "?tab=compare&provider=bm25&provider=fts5") as seen:
        expect(region(seen, "Comparison")).to_contain_text("Paired differences")
        with instead(space, {**made, "rows": fewer}):
            seen.page.get_by_label("Systems, two to four").click()
            seen.page.get_by_role("option").filter(has_text=HOSTILE[0]).click()
            told = region(seen, "Comparison")
            expect(told).to_contain_text("fts5 is no longer on the board")
            expect(told).to_contain_text(f"{HOSTILE[0]} is no longer on the board")
            seen.page.keyboard.press("Escape")


def test_an_export_that_changes_is_shown(started: Browser, space: Running) -> None:
    made = json.loads((space.export / "leaderboard.json").read_text())
    empty = {**made, "rows": [], "answers": []}
    with instead(space, empty), visit(started, space.address) as seen:
        expect(region(seen, "Notices")).to_contain_text("There is nothing to show yet")
        expect(region(seen, "Notices")).to_contain_text("pmb export")
        assert str(space.export.parent) not in seen.page.content()
        for name in TABS:
            go(seen, name)
        assert seen.faults == []
