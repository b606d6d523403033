"""What the harness costs over a bare httpx loop that makes the same calls.

A whole run (both parts) against `pmb serve fts5` in another process, beside a loop that sends the
same requests in the same order over one kept connection and parses each answer as JSON.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
from _measuring import table

from pmb_hf.runner import run

ROUNDS = 41
Call = tuple[str, str, bytes]


def serve(log: Path) -> None:
    """Serve fts5 and write down the calls that come, while ``log`` exists."""
    from pmb_hf.providers.registry import create
    from pmb_hf.serve import make_app, running

    app = make_app(create("fts5"))

    async def recording(scope, receive, send):  # type: ignore[no-untyped-def]
        body = b""

        async def keep():  # type: ignore[no-untyped-def]
            nonlocal body
            message = await receive()
            body += message.get("body", b"")
            return message

        await app(scope, keep if log.exists() else receive, send)
        if scope["type"] == "http" and log.exists():
            with log.open("a", encoding="utf-8") as file:
                file.write(json.dumps([scope["method"], scope["path"], body.decode()]) + "\n")

    with running(recording) as url:  # type: ignore[arg-type]
        print(url, flush=True)
        sys.stdin.read()  # until the benchmark is done


def loop(url: str, calls: list[Call]) -> None:
    """The same calls with nothing around them."""
    headers = {"content-type": "application/json"}
    with httpx.Client(base_url=url, trust_env=False) as client:
        for method, path, body in calls:
            answer = client.request(method, path, content=body, headers=headers if body else None)
            answer.raise_for_status()
            if answer.content:
                answer.json()


def timed(action) -> tuple[float, float]:  # type: ignore[no-untyped-def]
    wall, cpu = time.perf_counter(), time.process_time()
    action()
    return time.perf_counter() - wall, time.process_time() - cpu


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        log = Path(directory) / "calls.jsonl"
        log.touch()
        command = [sys.executable, __file__, "--serve", str(log)]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as server:  # noqa: S603
            try:
                url = server.stdout.readline().strip() if server.stdout else ""
                run(url)
                rows = log.read_text(encoding="utf-8").splitlines()
                calls = [(m, p, b.encode()) for m, p, b in map(json.loads, rows)]
                log.unlink()
                spent: dict[str, list[tuple[float, float]]] = {"bare httpx loop": [], "pmb run": []}
                for _ in range(ROUNDS):
                    spent["bare httpx loop"].append(timed(lambda: loop(url, calls)))
                    spent["pmb run"].append(timed(lambda: run(url)))
            finally:
                server.terminate()
    report(spent, len(calls))


def report(spent: dict[str, list[tuple[float, float]]], calls: int) -> None:
    """Medians, and the ratio round by round."""
    bare = spent["bare httpx loop"]
    lines = []
    for name, times in spent.items():
        wall = statistics.median(w for w, _ in times)
        cpu = statistics.median(c for _, c in times)
        ratio = statistics.median(w / b for (w, _), (b, _) in zip(times, bare, strict=True))
        lines.append([name, f"{1e3 * wall:.0f}", f"{1e3 * cpu:.0f}", f"{ratio:.2f}"])
    print(table(["", "wall ms", "client CPU ms", "wall : loop's"], lines))
    print(f"\n{calls} calls a round, {ROUNDS} rounds in turn; each column is a median of its own.")
    print("The ratio is taken round by round, each run over the loop just before it, and is the")
    print("median of those: it need not be the quotient of the two medians beside it.")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(Path(sys.argv[2]))
    else:
        main()
