"""A program that speaks MCP over stdio as ``gbrain serve`` does, with pages by slug.

    standin_gbrain.py RECORD [MODE]

It writes every message that it gets to the file RECORD. MODE is a way to misbehave.
"""

from __future__ import annotations

import json
import re
import sys
import time
from pathlib import Path
from typing import Any

TOOLS = {
    "put_page": ["slug", "content"],
    "search": ["query", "limit"],
    "delete_page": ["slug"],
    "get_page": ["slug"],
}


def say(message: dict[str, Any]) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def words(text: str) -> set[str]:
    return set(re.findall(r"[a-z0-9]+", text.lower()))


def use(pages: dict[str, str], tool: str, given: dict[str, Any]) -> Any:
    if tool == "put_page":
        pages[given["slug"]] = given["content"]
        return {"slug": given["slug"], "status": "created_or_updated"}
    if tool == "delete_page":
        if given["slug"] not in pages:
            raise KeyError(f"no page {given['slug']}")
        del pages[given["slug"]]
        return {"status": "deleted"}
    asked = words(given["query"])
    found = [(len(asked & words(text)), text, slug) for slug, text in pages.items()]
    ranked = sorted((row for row in found if row[0]), key=lambda row: (-row[0], row[1]))
    # Each page in two pieces, as a search by pieces gives it.
    return [
        {"slug": slug, "chunk_text": text[:20], "score": score / 10}
        for score, text, slug in ranked[: given["limit"]]
        for _ in range(2)
    ]


def schemas(mode: str) -> list[dict[str, Any]]:
    tools = dict(TOOLS)
    if mode == "no delete":
        del tools["delete_page"]
    if mode == "renamed":
        tools["put_page"] = ["path", "content"]
    return [
        {
            "name": name,
            "inputSchema": {
                "type": "object",
                "properties": {key: {"type": "string"} for key in keys},
                "required": ["brain"] if mode == "demands" and name == "search" else keys[:1],
            },
        }
        for name, keys in tools.items()
    ]


def misbehave(mode: str) -> None:
    if mode == "dies":
        print("out of memory", file=sys.stderr, flush=True)
        sys.exit(3)
    if mode == "hangs":
        time.sleep(60)
    if mode == "floods":
        while True:
            sys.stdout.write("x" * 65536)
            sys.stdout.flush()


def main() -> None:
    record, mode = Path(sys.argv[1]), " ".join(sys.argv[2:])
    pages: dict[str, str] = {"mine/dinner": "A page of the brain's owner: dinner at berth 14."}
    print("gbrain is starting", flush=True)  # no message; a client has to skip it
    with record.open("a", encoding="utf-8") as log:
        for line in sys.stdin:
            log.write(line)
            log.flush()
            message = json.loads(line)
            number, params = message.get("id"), message.get("params", {})
            match message.get("method"):
                case "initialize":
                    info = {"name": "gbrain", "version": "0.10.1"}
                    version = params["protocolVersion"]
                    result = {"protocolVersion": version, "capabilities": {}, "serverInfo": info}
                    say({"id": number, "result": result})
                    say({"id": "s1", "method": "roots/list"})
                    say({"id": "s2", "method": "ping"})
                case "tools/list":
                    rows = schemas(mode)
                    half = 2 if "cursor" not in params else 0
                    part = {"tools": rows[:2], "nextCursor": "2"} if half else {"tools": rows[2:]}
                    say({"id": number, "result": part})
                case "tools/call":
                    misbehave(mode)
                    say({"method": "notifications/message", "params": {"data": "working"}})
                    try:
                        answer: Any = use(pages, params["name"], params["arguments"])
                        failed = mode == "fails"
                        text = "the brain is locked" if failed else json.dumps(answer)
                    except KeyError as error:
                        failed, text = True, str(error)
                    content = [{"type": "text", "text": text}]
                    say({"id": number, "result": {"content": content, "isError": failed}})


if __name__ == "__main__":
    main()
