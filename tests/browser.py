"""A real, headless Chromium for tests: Debian's or any other that is installed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MISSING = "no Chromium: `make browser` installs it, or set PMB_CHROMIUM to the program"
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

PATIENCE_MS = 30_000
"""How long a page may take to come to what is expected, on a machine with much else to do."""


def find() -> str | None:
    """The program, or ``None`` if there is none."""
    named = os.environ.get("PMB_CHROMIUM")
    return named or next(filter(None, map(shutil.which, NAMES)), None)


@contextmanager
def browser() -> Iterator[Browser]:
    """A browser with a profile of its own, which is removed afterwards."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=find(), args=list(FLAGS))
        try:
            yield started
        finally:
            started.close()


class Visit:
    """A page that is open, and everything that happened on it."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.requests: list[str] = []
        self.faults: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        page.on("dialog", self._asked)

    def _said(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.faults.append(f"{message.type}: {message.text}")

    def _asked(self, dialog: Any) -> None:
        self.faults.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def draw_all(self) -> None:
        """Scroll through the page until every chart that is not folded away is drawn."""
        page = self.page
        for place in page.locator(".plot").all():
            if place.is_visible():
                place.scroll_into_view_if_needed()
                place.locator(".main-svg").first.wait_for()


@contextmanager
def visit(
    started: Browser,
    place: Path | str,
    *,
    width: int = 1280,
    height: int = 900,
    dark: bool = False,
) -> Iterator[Visit]:
    """Open a file or an address in a fresh context."""
    address = place if isinstance(place, str) else place.resolve().as_uri()
    context = started.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if dark else "light",
        reduced_motion="reduce",
    )
    try:
        made = Visit(context.new_page())
        made.page.goto(address, wait_until="load")
        yield made
    finally:
        context.close()
