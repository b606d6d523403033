"""A-mem (package a-mem, a fork of the published system), in process.

A-mem asks a language model twice for each note: to describe it, and whether its
neighbours should change because of it. Without ``llm_url`` a stub on loopback
answers: it describes nothing and changes nothing. So the result is that of A-mem's
search alone, and the options say ``llm: stub``.

A user is a system of its own with a directory of its own. Two systems of the original
wipe each other in one process, because they share one Chroma; here they don't, and a
note's neighbours are never another user's. A note has an id of A-mem's, which is
mapped to the belief id. Notes are embedded by our embedder in the place of a model
that would have to be fetched. The score that it tells is a distance, where less is
better; it is left out, and the rank decides. There is no floor on similarity.

A-mem's search reports its own failures as "nothing found"; here they are errors.
"""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import InputError, ProviderError
from .children import remove
from .protocol import Hit, Option
from .store import Memory, engine_text
from .vendor import EMBEDDER_OPTIONS, TOP_K_OPTION, VendorStore, sdk_version

OPTIONS: tuple[Option, ...] = (
    *EMBEDDER_OPTIONS,
    Option("llm_url", str, None, "An OpenAI-compatible service; without it, a stub."),
    Option("llm_model", str, None, "The model that the service is asked for."),
    TOP_K_OPTION,
)

_LOGGER = "agentic_memory.memory_system"


class _User(NamedTuple):
    """A user's system, and which note is which belief."""

    system: Any
    beliefs: dict[str, str]  # id of the note -> belief id
    notes: dict[str, str]  # belief id -> id of the note


class AMemProvider(VendorStore):
    """One A-mem a user, each in a directory of its own."""

    def __init__(
        self,
        *,
        embedder: str = "wordllama",
        base_url: str | None = None,
        llm_url: str | None = None,
        llm_model: str | None = None,
        top_k: int | None = None,
    ) -> None:
        """Get ready; `OPTIONS` says what the options do."""
        if (llm_url is None) != (llm_model is None):
            raise InputError("provider 'a-mem' needs llm_url and llm_model together, or neither.")
        super().__init__(
            {
                "embedder": embedder,
                "threshold": None,
                "top_k": top_k,
                "scope_filter": False,
                "llm": llm_model or "stub",
            }
        )
        # Neither price lists nor models are fetched, and nothing is reported.
        os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
        os.environ["ANONYMIZED_TELEMETRY"] = "False"
        self.version = sdk_version("a-mem")
        from agentic_memory import memory_system, retrievers

        self._sdk, self._retrievers = memory_system, retrievers
        self._users: dict[str, _User] = {}
        self._numbers = count()
        with ExitStack() as stack:
            self._home = Path(tempfile.mkdtemp(prefix="pmb-a-mem-"))
            stack.callback(remove, self._home)
            self._start(stack, embedder, base_url, llm_url)
            self._open = stack.pop_all()

    def _start(
        self, stack: ExitStack, embedder: str, base_url: str | None, llm_url: str | None
    ) -> None:
        from openai import OpenAI

        from .embedding import create_embedder
        from .loopback import Loopback

        vectors = create_embedder(embedder, base_url=base_url)
        stack.callback(vectors.close)
        self._embed = _embedding_function(vectors)
        key = os.environ.get("OPENAI_API_KEY") or "none"
        if llm_url is None:
            stub = Loopback()
            stack.callback(stub.close)
            llm_url, key = stub.url, "none"
        self._model = OpenAI(api_key=key, base_url=llm_url)
        stack.callback(self._model.close)

    def _clear(self) -> None:
        for user in self._users.values():
            _let_go(user)
        self._users.clear()

    def _write(self, memory: Memory) -> None:
        user = self._users.get(memory.user_id)
        if user is None:
            user = self._users[memory.user_id] = _User(self._new_system(), {}, {})
        note = str(user.system.add_note(memory.text))
        user.beliefs[note] = memory.belief_id
        user.notes[memory.belief_id] = note

    def _rewrite(self, old: Memory, new: Memory) -> None:
        user = self._users[new.user_id]
        with _no_silent_failure():
            if not user.system.update(user.notes[new.belief_id], content=new.text):
                raise ProviderError(f"a-mem has lost the note of {new.belief_id!r}.")

    def _remove(self, memory: Memory) -> None:
        user = self._users[memory.user_id]
        note = user.notes[memory.belief_id]
        with _no_silent_failure():
            user.system.delete(note)
        del user.notes[memory.belief_id], user.beliefs[note]

    def _find(
        self, query: str, user_id: str, scopes: Sequence[str] | None, limit: int
    ) -> Iterable[Hit]:
        user = self._users.get(user_id)
        if user is None or not user.notes:
            return []
        with _no_silent_failure():
            found = user.system.search_agentic(engine_text(query), k=min(limit, len(user.notes)))
        return [
            Hit(user.beliefs.get(result["id"]), None, _content(user, result["id"]))
            for result in found
        ]

    def _shut(self) -> None:
        self._clear()
        self._open.close()

    def _new_system(self) -> Any:
        # It takes the name of a model to fetch; what makes the vectors is set here instead.
        module, name = self._retrievers, "SentenceTransformerEmbeddingFunction"
        usual = getattr(module, name)
        setattr(module, name, lambda model_name: self._embed)
        try:
            system = self._sdk.AgenticMemorySystem(
                model_name="local",
                llm_backend="openai",
                llm_model=str(self.options["llm"]),
                api_key="none",
                storage_path=str(self._home / str(next(self._numbers))),
            )
        finally:
            setattr(module, name, usual)
        system.llm_controller.llm.client = self._model
        return system


class _Failures(logging.Handler):
    """Keeps the errors that are logged."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep one."""
        self.said.append(record.getMessage())


@contextmanager
def _no_silent_failure() -> Iterator[None]:
    """Raise what A-mem only logs.

    Raises:
        ProviderError: It logged an error meanwhile.
    """
    logger, failures = logging.getLogger(_LOGGER), _Failures()
    logger.addHandler(failures)
    try:
        yield
    finally:
        logger.removeHandler(failures)
    if failures.said:
        raise ProviderError(f"a-mem: {failures.said[0]}")


def _content(user: _User, note: str) -> str | None:
    held = user.system.read(note)
    return None if held is None else str(held.content)


def _let_go(user: _User) -> None:
    directory = Path(user.system.storage_path)
    close = getattr(user.system.retriever.client, "close", None)
    if callable(close):
        close()
    remove(directory)


def _embedding_function(vectors: Any) -> Any:
    """Our embedder as Chroma takes one."""
    from chromadb.api.types import EmbeddingFunction

    class Vectors(EmbeddingFunction):
        def __init__(self) -> None:
            """Nothing to set up; Chroma warns where this is missing."""

        def __call__(self, input: Any) -> Any:  # noqa: A002 - the name is Chroma's
            return [list(map(float, row)) for row in vectors.embed(list(input))]

        @staticmethod
        def name() -> str:
            return "pmb"

        def get_config(self) -> dict[str, Any]:
            return {}

        @staticmethod
        def build_from_config(config: dict[str, Any]) -> Any:
            del config
            return Vectors()

    return Vectors()


create = AMemProvider
