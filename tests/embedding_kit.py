"""A loopback service of embeddings, and a tiny ONNX model, both made for tests."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

DIMENSIONS = 8


def vector_of(text: str) -> list[float]:
    """Letters by place in the alphabet: the same text has the same vector, everywhere."""
    counts = [0.0] * DIMENSIONS
    for letter in text.lower():
        counts[ord(letter) % DIMENSIONS] += 1
    return counts


class EmbeddingService:
    """Answers Ollama's call and OpenAI's; ``spoil`` changes an answer before it is sent."""

    def __init__(self) -> None:
        self.url = ""
        self.calls: list[tuple[str, dict[str, Any], dict[str, str]]] = []
        self.statuses: list[int] = []
        self.key: str | None = None
        self.spoil: Callable[[list[Any]], list[Any]] = list
        self.body: bytes | None = None

    @property
    def texts(self) -> list[str]:
        """All texts that were sent, in order."""
        return [text for _, body, _ in self.calls for text in body["input"]]

    def answer(
        self, path: str, body: dict[str, Any], headers: Mapping[str, str]
    ) -> tuple[int, bytes]:
        given = {name.lower(): value for name, value in headers.items()}
        self.calls.append((path, body, given))
        if self.statuses and (status := self.statuses.pop(0)) != 200:
            return status, b'{"error": "busy"}'
        sent = given.get("authorization")
        if self.key is not None and sent != f"Bearer {self.key}":
            return 401, json.dumps({"error": f"bad key {sent}"}).encode()
        if self.body is not None:
            return 200, self.body
        rows = self.spoil([vector_of(text) for text in body["input"]])
        if path == "/api/embed":
            return 200, json.dumps({"embeddings": rows}).encode()
        data = [{"index": i, "embedding": row} for i, row in enumerate(rows)]
        return 200, json.dumps({"data": data[::-1]}).encode()


@contextmanager
def embedding_service() -> Iterator[EmbeddingService]:
    """The service on a free port; it ends with the block."""
    service = EmbeddingService()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["content-length"])
            body = json.loads(self.rfile.read(length))
            status, content = service.answer(self.path, body, dict(self.headers))
            self.send_response(status)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    service.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield service
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


WORDS = ("[PAD]", "[UNK]", "kiln", "glaze", "bees", "honey", "boat")
TABLE = [[float(i == j) for j in range(4)] for i in range(len(WORDS) - 3)]
TABLE = [[9.0] * 4, [0.0] * 4, [0.0] * 4, *TABLE]  # padding would show in a mean


def write_onnx(home: Path, *, extra_input: str | None = None) -> None:
    """A model that looks each token up in a table, with its tokenizer."""
    import tokenizers

    home.mkdir(parents=True, exist_ok=True)
    ids = {word: place for place, word in enumerate(WORDS)}
    model = tokenizers.models.WordLevel(ids, unk_token="[UNK]")
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.save(str(home / "tokenizer.json"))
    (home / "model.onnx").write_bytes(_model(extra_input))


# The format of a protocol buffer: a field is a tag and a value, a message is bytes.
def _number(value: int) -> bytes:
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def _field(number: int, value: int | bytes | str) -> bytes:
    if isinstance(value, int):
        return _number(number << 3) + _number(value)
    data = value.encode() if isinstance(value, str) else value
    return _number(number << 3 | 2) + _number(len(data)) + data


def _value_info(name: str, kind: int, dimensions: tuple[str, ...]) -> bytes:
    shape = b"".join(_field(1, _field(2, dimension)) for dimension in dimensions)
    tensor = _field(1, kind) + _field(2, shape)
    return _field(1, name) + _field(2, _field(1, tensor))


def _model(extra_input: str | None) -> bytes:
    import numpy as np

    table = np.array(TABLE, dtype="<f4")
    int64, float32 = 7, 1
    weights = b"".join(_field(1, size) for size in table.shape)
    weights += _field(2, float32) + _field(8, "table") + _field(9, table.tobytes())
    gather = _field(1, "table") + _field(1, "input_ids") + _field(2, "out") + _field(4, "Gather")
    names = ["input_ids", "attention_mask", *([extra_input] if extra_input else [])]
    graph = _field(1, gather) + _field(2, "tiny") + _field(5, weights)
    graph += b"".join(_field(11, _value_info(name, int64, ("batch", "tokens"))) for name in names)
    graph += _field(12, _value_info("out", float32, ("batch", "tokens", "size")))
    return _field(1, 8) + _field(7, graph) + _field(8, _field(2, 13))
