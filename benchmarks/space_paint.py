"""First paint of the Space and the static page, with many systems and all of their answers.

    python benchmarks/space_paint.py --systems 50 --repeats 5

It needs the extra `space`, Playwright and a Chromium. Each repeat opens the page in a fresh
profile: nothing is cached. First the browser's first contentful paint, then the moment at which
a row of the table is seen: median and range.
"""

from __future__ import annotations

import argparse
import socket
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from browser import browser, find, visit  # noqa: E402
from space_kit import tree, write  # noqa: E402

from pmb_hf.board.local import load_app  # noqa: E402
from pmb_hf.board.static import write_static  # noqa: E402

PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null"


def main() -> None:
    """Print a table of medians and ranges in seconds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--systems", type=int, default=50)
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    print("## First paint of the board\n")
    if find() is None:
        print("Not measured: there is no Chromium here.")
        return
    with tempfile.TemporaryDirectory() as scratch:
        names = [f"system {number}" for number in range(given.systems)]
        export = write(Path(scratch) / "export", tree(names))
        size = (export / "leaderboard.json").stat().st_size
        print(f"{given.systems} systems with 89 answers each, {size / 1e6:.1f} MB of JSON.\n")
        print("| page | first contentful paint, s | first row of the table, s |\n|---|---|---|")
        page = write_static(export)
        measure("static page", page, "table.board tbody tr", given.repeats)
        demo, address = served(export)
        try:
            measure("Space", address, ".board-table [role=gridcell]:visible", given.repeats)
        finally:
            demo.close(verbose=False)


def served(export: Path) -> tuple[Any, str]:
    """The Space over an export, and its address."""
    app = load_app()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    source = app.Source(folder=export)
    demo = app.launch(source, port=port, host="127.0.0.1", quiet=True, prevent_thread_lock=True)
    return demo, f"http://127.0.0.1:{port}/"


def measure(name: str, place: Path | str, row: str, repeats: int) -> None:
    """Open the page so often, and tell when it was painted."""
    paints, tables = [], []
    with browser() as started:
        for _ in range(repeats):
            begun = time.perf_counter()
            with visit(started, place) as seen:
                seen.page.locator(row).first.wait_for()
                tables.append(time.perf_counter() - begun)
                paints.append(seen.page.evaluate(PAINT) / 1000)
    cells = (
        f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"
        for values in (paints, tables)
    )
    print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
