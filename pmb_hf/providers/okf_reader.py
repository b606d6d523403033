"""A conversation in which a model may list and read files, and what it read.

Over an OpenAI-compatible ``/chat/completions`` with ``tools``. The number of rounds and
of calls in a round is bounded. What a model gets wrong is a status of its case:

- ``bad_tool_call``: a call of no tool there is, or with arguments that are none;
- ``tool_loop``: it would not come to an end;
- ``refused``: it, or a filter in front of it, refused.

A path that is no file is no such error: the model is told so and may go on.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, NoReturn

from ..errors import ProviderError
from .http_errors import AnswerError

MAX_CALLS = 64
"""How many tools a model may call in one round."""

PROMPT = (
    "You have a bundle of markdown files with notes about one person. Find the files that hold "
    "what is needed to answer the person's message. Call list_files to see what there is, then "
    "read_file for each file that is needed, the most important first. Read no file that is not "
    "needed; if none is, read none. When you are done, answer with the single word DONE."
)
TOOLS: tuple[dict[str, Any], ...] = (
    {
        "type": "function",
        "function": {
            "name": "list_files",
            "description": "List all files of the bundle, a line of path and title each.",
            "parameters": {"type": "object", "properties": {}, "additionalProperties": False},
        },
    },
    {
        "type": "function",
        "function": {
            "name": "read_file",
            "description": "Read one file of the bundle.",
            "parameters": {
                "type": "object",
                "properties": {"path": {"type": "string", "description": "As list_files says."}},
                "required": ["path"],
                "additionalProperties": False,
            },
        },
    },
)


class ToolCallError(ProviderError):
    """The model called a tool in a way that is none."""

    status = "bad_tool_call"


class ToolLoopError(ProviderError):
    """The model did not come to an end."""

    status = "tool_loop"


class RefusedError(ProviderError):
    """The model refused."""

    status = "refused"


class ToolCall(NamedTuple):
    """One call that a model asks for."""

    id: str
    name: str
    arguments: Mapping[str, Any]


class Conversation:
    """One question to a model.

    Attributes:
        read: The paths of the files that were read, in order, each once.
    """

    def __init__(
        self,
        ask: Callable[[list[dict[str, Any]]], Any],
        files: Callable[[], str],
        file: Callable[[str], str | None],
    ) -> None:
        """Take what sends messages and gives the answer's body, and what lists and reads."""
        self._ask, self._files, self._file = ask, files, file
        self.read: dict[str, None] = {}

    def run(self, query: str, max_rounds: int) -> list[str]:
        """Ask, do what the model wants, and return what it read.

        Raises:
            ProviderError: See the list of statuses above.
            AnswerError: The endpoint's answer has not the documented shape.
        """
        messages: list[dict[str, Any]] = [
            {"role": "system", "content": PROMPT},
            {"role": "user", "content": query},
        ]
        for _ in range(max_rounds):
            message = _message(self._ask(messages))
            calls = _calls(message)
            if not calls:
                return list(self.read)
            messages.append(_echo(message))
            for call in calls:
                told = {"role": "tool", "tool_call_id": call.id, "content": self._do(call)}
                messages.append(told)
        raise ToolLoopError(
            f"the model still called tools after {max_rounds} rounds; it had read "
            f"{len(self.read)} files. Raise the option max_rounds if it needs more."
        )

    def _do(self, call: ToolCall) -> str:
        if call.name == "list_files":
            return self._files()
        path = call.arguments.get("path")
        if not isinstance(path, str):
            raise ToolCallError("the model called read_file without a path")
        text = self._file(path)
        if text is None:
            return f"There is no file {path[:200]!r}."
        self.read[path] = None
        return text


def _message(body: Any) -> Mapping[str, Any]:
    choices = body.get("choices") if isinstance(body, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        _bad("it has no choices[0].message")
    reason = choice.get("finish_reason")
    if message.get("refusal"):
        raise RefusedError(f"the model refused: {str(message['refusal'])[:200]}")
    if reason == "content_filter":
        raise RefusedError("a content filter stopped the model")
    if reason == "length":
        _bad("the model ran out of tokens before it was done; raise the option max_tokens")
    return message


def _calls(message: Mapping[str, Any]) -> list[ToolCall]:
    given = message.get("tool_calls") or []
    if not isinstance(given, list):
        _bad("message.tool_calls is no list")
    if len(given) > MAX_CALLS:
        raise ToolLoopError(f"the model called {len(given)} tools at once, more than {MAX_CALLS}")
    return [_call(row) for row in given]


def _call(row: Any) -> ToolCall:
    function = row.get("function") if isinstance(row, dict) else None
    if not isinstance(row, dict) or not isinstance(function, dict):
        raise ToolCallError("the model called no function")
    own, name, text = row.get("id"), function.get("name"), function.get("arguments")
    if not isinstance(own, str) or name not in {"list_files", "read_file"}:
        raise ToolCallError(f"the model called a tool that is not there: {str(name)[:80]!r}")
    try:
        arguments = json.loads(text) if text else {}
    except (TypeError, ValueError, RecursionError):
        arguments = None
    if not isinstance(arguments, dict):
        raise ToolCallError(f"the model called {name} with what is no JSON object")
    return ToolCall(own, name, arguments)


def _echo(message: Mapping[str, Any]) -> dict[str, Any]:
    """What the model said, as it must come before the answers to its calls."""
    return {
        "role": "assistant",
        "content": message.get("content"),
        "tool_calls": message["tool_calls"],
    }


def _bad(said: str) -> NoReturn:
    raise AnswerError(f"the answer of the chat endpoint can't be used: {said}")
