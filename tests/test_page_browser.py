"""The page in a real browser: it works alone, obeys no name, and suits eyes, thumbs and keys."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest
from browser import MISSING, Visit, browser, find, visit
from playwright.sync_api import Browser, expect

from pmb_hf.corpus import load_corpus
from pmb_hf.pages.page import render
from pmb_hf.providers.registry import create
from pmb_hf.runner import run

pytestmark = pytest.mark.skipif(find() is None, reason=MISSING)

HOSTILE = (
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(2)>",
    "\"'`&lt;b&gt; <a href='javascript:alert(3)'>a</a>",
    "\u202egnirts מימין",
    "W" * 300,
)
WIDTHS = (360, 768, 1280)


class Pages(NamedTuple):
    """One report, and several of hostile names side by side."""

    one: Path
    many: Path


@pytest.fixture(scope="module")
def started() -> Iterator[Browser]:
    with browser() as made:
        yield made


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Pages:
    folder, corpus = tmp_path_factory.mktemp("pages"), load_corpus("native")
    report = run(create("bm25"), corpus, name="bm25")
    empty = run(create("empty"), corpus, name="$0")
    made = Pages(folder / "one.html", folder / "many.html")
    made.one.write_text(render([(report, corpus)]), encoding="utf-8")
    hostile = [replace(report, provider=name) for name in HOSTILE]
    made.many.write_text(render([(r, corpus) for r in [*hostile, empty]]), encoding="utf-8")
    return made


@pytest.fixture
def one(started: Browser, pages: Pages) -> Iterator[Visit]:
    with visit(started, pages.one) as made:
        yield made


def colour(seen: Visit, selector: str, name: str) -> str:
    script = "([s, n]) => getComputedStyle(document.querySelector(s)).getPropertyValue(n)"
    return str(seen.page.evaluate(script, [selector, name]))


def shown(seen: Visit) -> int:
    return seen.page.locator("details.case:visible").count()


def test_it_opens_alone_without_a_fault(one: Visit, pages: Pages) -> None:
    one.draw_all()
    assert one.page.locator(".plot .main-svg").count() > 0
    assert one.requests == [pages.one.resolve().as_uri()]
    assert one.faults == []


def test_hostile_names_are_shown_and_not_obeyed(started: Browser, pages: Pages) -> None:
    with visit(started, pages.many) as seen:
        seen.draw_all()
        for summary in seen.page.locator("summary:has-text('curves')").all():
            summary.click()
        seen.draw_all()
        assert seen.page.locator("h1").inner_text().startswith(HOSTILE[0])
        legend = seen.page.locator(".plot .legendtext").all_text_contents()
        assert any(text.startswith("<script>alert") for text in legend)
        assert any(text.startswith("</script><img") for text in legend)
        assert any(text.startswith("\"'`&lt;b&gt; ") for text in legend)
        assert "$0" in legend
        assert seen.page.locator("main script, main img, a[href^='javascript']").count() == 0
        assert len(seen.requests) == 1
        assert seen.faults == []


def test_an_injected_script_would_not_run(one: Visit) -> None:
    one.page.evaluate(
        "() => { const s = document.createElement('script'); s.textContent = 'window.hit = 1';"
        " document.body.append(s); }"
    )
    assert one.page.evaluate("window.hit") is None
    assert any("Content Security Policy" in fault for fault in one.faults)


def test_the_filter_takes_text_category_and_failed(one: Visit) -> None:
    every = shown(one)
    output = one.page.locator(".filter output")
    assert output.inner_text() == f"{every} cases"
    one.page.get_by_label("only failed").check()
    failed = shown(one)
    assert 0 < failed < every
    assert one.page.locator("details.case:visible", has_text="✓ passed").count() == 0
    one.page.get_by_role("combobox", name="Category").select_option(label="Alias resolution")
    fewer = shown(one)
    assert 0 < fewer < failed
    assert one.page.locator(".session:visible").count() == 0
    one.page.get_by_role("searchbox").fill("ALIAS-caps")
    assert shown(one) == 1
    assert output.inner_text() == f"1 of {every} cases"
    one.page.get_by_role("searchbox").fill("no such words")
    assert shown(one) == 0


def test_the_filter_finds_the_turns_of_a_session(one: Visit) -> None:
    session = one.page.locator(".session").first
    one.page.get_by_role("searchbox").fill(session.locator("h4").inner_text())
    assert shown(one) == session.locator("details.case:visible").count() > 1


def test_the_filter_by_report(started: Browser, pages: Pages) -> None:
    with visit(started, pages.many) as seen:
        seen.page.get_by_label("only failed").check()
        any_failed = shown(seen)
        seen.page.get_by_role("combobox", name="Report").select_option(label="$0")
        assert 0 < shown(seen) < any_failed


def test_a_case_opens_by_keyboard(one: Visit) -> None:
    one.page.get_by_role("searchbox").focus()
    for _ in range(20):
        one.page.keyboard.press("Tab")
        if one.page.evaluate("document.activeElement.matches('.case > summary')"):
            break
    first = one.page.locator("details.case").first
    assert first.evaluate("e => e.open") is False
    outline = one.page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    one.page.keyboard.press("Enter")
    assert first.evaluate("e => e.open") is True
    assert first.get_by_text("Returned, in order").is_visible()


def test_the_skip_link_comes_first(one: Visit) -> None:
    one.page.keyboard.press("Tab")
    assert one.page.evaluate("document.activeElement.textContent") == "Skip to the content"
    one.page.keyboard.press("Enter")
    assert one.page.evaluate("document.activeElement.id") == "main"


def test_a_link_opens_its_case(one: Visit) -> None:
    one.page.evaluate("location.hash = '#g0-case-3'")
    expect(one.page.locator("#g0-case-3")).to_have_attribute("open", "")


def test_all_cases_open_and_close(one: Visit) -> None:
    one.page.get_by_role("button", name="Open all").click()
    assert one.page.locator("details.case:not([open])").count() == 0
    one.page.get_by_role("button", name="Close all").click()
    assert one.page.locator("details.case[open]").count() == 0


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("which", ["one", "many"])
def test_no_page_is_wider_than_the_screen(
    started: Browser, pages: Pages, which: str, width: int
) -> None:
    with visit(started, getattr(pages, which), width=width) as seen:
        seen.page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
        wide = seen.page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width
        # What is wider than its box scrolls inside it.
        for box in seen.page.locator(".scroll:visible").all():
            assert box.evaluate("e => e.getBoundingClientRect().right") <= width + 1


def test_it_is_dark_in_the_dark_charts_too(started: Browser, pages: Pages) -> None:
    with visit(started, pages.one, dark=True) as seen:
        seen.draw_all()
        assert colour(seen, "body", "background-color") == "rgb(18, 22, 27)"
        assert colour(seen, "body", "color") == "rgb(232, 235, 238)"
        assert colour(seen, ".plot .legendtext", "fill") == "rgb(232, 235, 238)"
        seen.page.emulate_media(color_scheme="light")
        expect(seen.page.locator(".plot .legendtext").first).to_have_css("fill", "rgb(27, 31, 36)")
        assert colour(seen, "body", "background-color") == "rgb(255, 255, 255)"


@pytest.mark.parametrize("dark", [False, True])
def test_text_stands_out_from_its_ground(started: Browser, pages: Pages, dark: bool) -> None:
    """WCAG's contrast: 4.5 to 1 for text, 3 to 1 for the marks of charts."""
    names = ["ink", "muted", "link", "good", "bad", "warn", *(f"c{n}" for n in range(7))]
    with visit(started, pages.one, dark=dark) as seen:
        grounds = [colour(seen, ":root", f"--{name}") for name in ("paper", "raised")]
        for name in names:
            least = 3.0 if name[0] == "c" else 4.5
            for ground in grounds:
                assert contrast(colour(seen, ":root", f"--{name}"), ground) >= least, name


def contrast(one: str, other: str) -> float:
    light, dark = sorted(map(luminance, (one, other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(value: str) -> float:
    parts = [int(value.strip()[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_on_paper_it_is_light_and_without_controls(started: Browser, pages: Pages) -> None:
    with visit(started, pages.one, dark=True) as seen:
        assert seen.page.pdf().startswith(b"%PDF")
        seen.page.emulate_media(media="print", color_scheme="dark")
        assert colour(seen, "body", "background-color") == "rgb(255, 255, 255)"
        assert not seen.page.locator("nav").is_visible()
        assert not seen.page.locator(".filter").is_visible()
        assert seen.faults == []


def test_without_scripts_every_figure_is_still_there(started: Browser, pages: Pages) -> None:
    context = started.new_context(java_script_enabled=False)
    try:
        seen = context.new_page()
        seen.goto(pages.one.resolve().as_uri())
        assert seen.get_by_text("Without scripts there are no charts").is_visible()
        assert seen.locator("details.case").count() > 50
        assert seen.locator("table.glance").is_visible()
    finally:
        context.close()
