"""open-knowledge-format: a bundle of markdown files that a model lists and reads by itself.

There is no store and no index. For each query a tool-calling model behind an
OpenAI-compatible endpoint (``POST /chat/completions``) gets the tools ``list_files`` and
``read_file``; which files it read, in order, is the answer. There are no scores. What is
measured is the model's behaviour, so a run says which model it was.

The files are as the Open Knowledge Format has them (`okf_bundle`); prompt and tools are
ours (`okf_reader`), for those of the published row are not part of this package. The
endpoint's interface is that of OpenAI's chat completions with function tools. It was
only run against a stub that picks files by shared words: no figure of a real model.

A model sees the files of one user only. ``scope_filter`` shows it those in scope only.
The limit is not told to the model; what it reads beyond it does not count.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..errors import InputError
from .http_calls import Call
from .http_errors import AnswerError, HttpStatusError
from .okf_bundle import Bundle, content, listing
from .okf_reader import TOOLS, Conversation
from .protocol import Hit, Option
from .service_store import RETRIES_OPTION, ServiceStore, url_option
from .store import Memory, engine_text
from .vendor import SCOPE_OPTION, TOP_K_OPTION

OPTIONS: tuple[Option, ...] = (
    url_option(None),
    Option("model", str, None, "The model's name, as the endpoint knows it."),
    Option("max_rounds", int, 12, "How often a model may call tools before it must be done."),
    Option("max_tokens", int, None, "Tokens that one answer may have; the endpoint's if none."),
    Option("temperature", float, None, "The model's temperature; the endpoint's own if none."),
    TOP_K_OPTION,
    SCOPE_OPTION,
    Option("timeout", float, 120.0, "Seconds for one call of the endpoint."),
    RETRIES_OPTION,
)
INTERFACE = (
    "OpenAI's chat completions (v1) with function tools; bundles as okf-agents 0.2.0 reads them"
)
SERVICE = (
    "Give url and model of an OpenAI-compatible chat endpoint whose model calls tools, such as "
    "http://localhost:11434/v1; a key goes into $OPENAI_API_KEY."
)


class OpenKnowledgeProvider(ServiceStore):
    """A bundle for each user, and a model that reads in it."""

    system = "open-knowledge-format"
    key_env = "OPENAI_API_KEY"
    supports_wait = False  # a file is there as soon as it is written, and asking costs

    def __init__(
        self,
        *,
        url: str | None = None,
        model: str | None = None,
        max_rounds: int = 12,
        max_tokens: int | None = None,
        temperature: float | None = None,
        top_k: int | None = None,
        scope_filter: bool = False,
        timeout: float = 120.0,
        retries: int = 2,
    ) -> None:
        """Connect to nothing yet; `OPTIONS` says what the options do."""
        if url is None or not model:
            raise InputError(f"provider {self.system!r} needs the options url and model. {SERVICE}")
        if not 1 <= max_rounds <= 100:
            raise InputError(f"option max_rounds is {max_rounds}: give 1 to 100.")
        if max_tokens is not None and max_tokens < 1:
            raise InputError(f"option max_tokens is {max_tokens}: give 1 or more, or none.")
        if temperature is not None and not 0 <= temperature <= 2:
            raise InputError(f"option temperature is {temperature}: give 0 to 2, or none.")
        super().__init__(
            {
                "url": url,
                "model": model,
                "max_rounds": max_rounds,
                "max_tokens": max_tokens,
                "temperature": temperature,
                "threshold": None,
                "top_k": top_k,
                "scope_filter": scope_filter,
                "embedder": "none",
                "llm": model,
            },
            timeout=timeout,
            retries=retries,
        )
        self._max_rounds = max_rounds
        self._settings: dict[str, Any] = {"model": model}
        if max_tokens is not None:
            self._settings["max_tokens"] = max_tokens
        if temperature is not None:
            self._settings["temperature"] = temperature
        self._bundles: dict[str, Bundle] = {}

    def _clear(self) -> None:
        try:
            self._health("/models")
        except (HttpStatusError, AnswerError) as error:
            # An endpoint need not list its models; but nothing comes of a key that it refuses.
            if error.code in {401, 403}:
                raise
        self._bundles.clear()

    def _write(self, memory: Memory) -> None:
        self._bundles.setdefault(memory.user_id, Bundle()).put(memory)

    def _rewrite(self, old: Memory, new: Memory) -> None:
        self._write(new)

    def _remove(self, memory: Memory) -> None:
        self._bundles[memory.user_id].remove(memory.key)

    def _find(
        self, query: str, user_id: str, scopes: Sequence[str] | None, limit: int
    ) -> Iterable[Hit]:
        bundle = self._bundles.get(user_id)
        files = {} if bundle is None else bundle.view(scopes)
        if not files:
            return []

        def read(path: str) -> str | None:
            return content(files[path], path) if path in files else None

        talk = Conversation(self._ask, lambda: listing(files), read)
        paths = talk.run(engine_text(query), self._max_rounds)
        return [Hit(files[path].belief_id, None, files[path].text) for path in paths]

    def _ask(self, messages: list[dict[str, Any]]) -> Any:
        body = {**self._settings, "messages": messages, "tools": list(TOOLS)}
        return self._call(Call("POST", "/chat/completions", body))


create = OpenKnowledgeProvider
