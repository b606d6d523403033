"""A server of the Model Context Protocol that is started here and spoken to over its pipes.

JSON-RPC, one message a line, as the protocol's revision 2025-06-18 has it for stdio:
``initialize``, ``tools/list``, ``tools/call``. Time and size of every exchange are
bounded. What the server prints besides is skipped; what it asks of us is refused,
except a ping. POSIX only, for it waits on pipes.
"""

from __future__ import annotations

import os
import select
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import Any

from ..errors import InputError
from . import http_wire as wire
from .children import Child, remove
from .http_errors import (
    AnswerError,
    BrokenConnectionError,
    DeadlineError,
    HttpFailure,
    TooLargeError,
)

PROTOCOL = "2025-06-18"
LINE_LIMIT = 8 * 2**20
"""The longest message that is read, in bytes."""

_MAX_PAGES = 20
_MAX_OTHER = 10_000  # messages that are no answer, within one exchange
_PIECE = 64 * 1024


class ToolError(HttpFailure):
    """A tool said that it failed."""

    status = "tool_error"


class McpServer:
    """One server; calls come one at a time.

    Attributes:
        name: What messages call it.
        version: What it says its version is, or None.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        variables: Mapping[str, str] | None = None,
        timeout_s: float = 30.0,
        start_timeout_s: float = 60.0,
    ) -> None:
        """Start it and shake hands.

        Raises:
            ProviderError: It can't be started, ends, or does not answer in time.
        """
        self.name = name
        self.version: str | None = None
        self._timeout_s = timeout_s
        self._home = Path(tempfile.mkdtemp(prefix="pmb-mcp-"))
        self._buffer = bytearray()
        self._number = 0
        try:
            self._child = Child(command, self._home / "log", variables=variables, talks=True)
        except BaseException:
            remove(self._home)
            raise
        try:
            for pipe in self._child.pipes:
                os.set_blocking(pipe.fileno(), False)
            self._greet(start_timeout_s)
        except BaseException:
            self.close()
            raise

    def tools(self) -> dict[str, dict[str, Any]]:
        """The input schemas of its tools, by name.

        Raises:
            HttpFailure: It came to nothing.
        """
        found: dict[str, dict[str, Any]] = {}
        cursor: dict[str, Any] = {}
        for _ in range(_MAX_PAGES):
            page = self._ask("tools/list", cursor, self._timeout_s)
            rows = page.get("tools")
            for row in rows if isinstance(rows, list) else []:
                if isinstance(row, dict) and isinstance(row.get("name"), str):
                    schema = row.get("inputSchema")
                    found[row["name"]] = schema if isinstance(schema, dict) else {}
            if not isinstance(page.get("nextCursor"), str):
                break
            cursor = {"cursor": page["nextCursor"]}
        return found

    def call(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        """What a tool answers: its structured content, else its text, read as JSON if it is any.

        Raises:
            ToolError: It said that it failed.
            HttpFailure: It came to nothing in another way.
        """
        params = {"name": tool, "arguments": dict(arguments)}
        answer = self._ask("tools/call", params, self._timeout_s, tool)
        parts = answer.get("content")
        texts = [
            part["text"]
            for part in (parts if isinstance(parts, list) else [])
            if isinstance(part, dict) and isinstance(part.get("text"), str)
        ]
        if answer.get("isError"):
            said = wire.cut(wire.clean(" ".join(texts))) or "no reason given"
            raise ToolError(f"{self.name}: {tool}: {said}")
        if answer.get("structuredContent") is not None:
            return answer["structuredContent"]
        text = "\n".join(texts)
        try:
            return wire.load(text.encode("utf-8", "surrogatepass"))
        except AnswerError:
            return text

    def close(self) -> None:
        """End it; twice is fine."""
        self._child.stop()
        remove(self._home)

    def _greet(self, timeout_s: float) -> None:
        from .._version import __version__

        answer = self._ask(
            "initialize",
            {
                "protocolVersion": PROTOCOL,
                "capabilities": {},
                "clientInfo": {"name": "pmb-hf", "version": __version__},
            },
            timeout_s,
        )
        info = answer.get("serverInfo")
        version = info.get("version") if isinstance(info, dict) else None
        self.version = wire.cut(wire.clean(version)) if isinstance(version, str) else None
        self._send({"method": "notifications/initialized"}, monotonic() + timeout_s)

    def _ask(
        self, method: str, params: Mapping[str, Any], timeout_s: float, tool: str | None = None
    ) -> dict[str, Any]:
        what = f"{self.name}: {tool or method}"
        until = monotonic() + timeout_s
        self._number += 1
        number = self._number
        try:
            self._send({"id": number, "method": method, "params": dict(params)}, until)
            message = self._answer_to(number, until)
        except HttpFailure as error:
            said = str(error)
            if isinstance(error, DeadlineError):
                said = f"no answer within {timeout_s:g} s"
            failure = type(error)(f"{what}: {said}")
        else:
            if isinstance(message.get("result"), dict):
                result: dict[str, Any] = message["result"]
                return result
            failure = ToolError(f"{what}: {_fault(message)}")
        raise failure

    def _answer_to(self, number: int, until: float) -> dict[str, Any]:
        for _, message in zip(range(_MAX_OTHER), self._messages(until), strict=False):
            if "method" in message:
                if "id" in message:
                    self._send(_reply(message), until)
            elif message.get("id") == number:
                return message
        raise AnswerError(f"{_MAX_OTHER} messages came, and no answer")

    def _send(self, message: Mapping[str, Any], until: float) -> None:
        data = memoryview(wire.dump({"jsonrpc": "2.0", **message}) + b"\n")
        into, out_of = (pipe.fileno() for pipe in self._child.pipes)
        while data:
            # Also read meanwhile: a server that can't get rid of its output reads nothing.
            readable, writable = self._select([out_of], [into], until)
            if readable:
                self._read(out_of)
            if writable:
                try:
                    data = data[os.write(into, data[:_PIECE]) :]
                except BlockingIOError:
                    continue
                except OSError as error:
                    raise self._ended() from error

    def _messages(self, until: float) -> Iterator[dict[str, Any]]:
        out_of = self._child.pipes[1].fileno()
        while True:
            line, end, rest = self._buffer.partition(b"\n")
            if not end:
                self._select([out_of], [], until)
                self._read(out_of)
                continue
            self._buffer = rest
            try:
                message = wire.load(bytes(line))
            except AnswerError:
                continue  # a line for people, not for us
            if isinstance(message, dict):
                yield message

    def _select(
        self, readers: list[int], writers: list[int], until: float
    ) -> tuple[list[int], list[int]]:
        readable, writable, _ = select.select(readers, writers, [], max(until - monotonic(), 0))
        if not readable and not writable:
            raise DeadlineError("the time for the call is up")
        return readable, writable

    def _read(self, out_of: int) -> None:
        try:
            data = os.read(out_of, _PIECE)
        except BlockingIOError:
            return
        if not data:
            raise self._ended()
        self._buffer += data
        if len(self._buffer) > LINE_LIMIT:
            self._buffer.clear()
            raise TooLargeError(f"more than {LINE_LIMIT} bytes came")

    def _ended(self) -> BrokenConnectionError:
        return BrokenConnectionError(f"the server ended: {self._child.last_words()}")


def checked_tools(
    server: McpServer, wanted: Mapping[str, Sequence[str]], tools: Mapping[str, dict[str, Any]]
) -> None:
    """Make sure that the tools are there and take the arguments that they will be given.

    Raises:
        InputError: One is missing, lacks an argument, or demands another; says which.
    """
    for tool, arguments in wanted.items():
        if tool not in tools:
            raise InputError(
                f"{server.name}: the server has no tool {tool!r}. "
                f"It has: {', '.join(sorted(tools)) or 'none'}."
            )
        properties = tools[tool].get("properties")
        known = set(properties) if isinstance(properties, dict) else set()
        required = tools[tool].get("required")
        missing = [name for name in arguments if name not in known]
        other = [
            name
            for name in (required if isinstance(required, list) else [])
            if name not in arguments
        ]
        if missing or other:
            said = f"takes no {', '.join(missing)}" if missing else f"demands {', '.join(other)}"
            raise InputError(
                f"{server.name}: its tool {tool!r} {said}: this version of it is not understood."
            )


def _reply(message: Mapping[str, Any]) -> dict[str, Any]:
    if message["method"] == "ping":
        return {"id": message["id"], "result": {}}
    return {"id": message["id"], "error": {"code": -32601, "message": "not supported"}}


def _fault(message: Mapping[str, Any]) -> str:
    error = message.get("error")
    said = error.get("message") if isinstance(error, dict) else None
    return wire.cut(wire.clean(said)) if isinstance(said, str) else "an answer without a result"
