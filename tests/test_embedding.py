"""Embedders: what they share, the cache on disk, and each kind of them."""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from embedding_kit import DIMENSIONS, EmbeddingService, embedding_service, vector_of, write_onnx

from pmb_hf.errors import InputError, MissingDependencyError, ProviderError, UnknownNameError
from pmb_hf.providers.embedding import SPECS, create_embedder, static
from pmb_hf.providers.embedding.cache import VectorCache, file_for
from pmb_hf.providers.embedding.source import batches

ROOT = Path(__file__).resolve().parent.parent
TEXTS = ["The kiln reaches cone six", "Bees and honey", "", "  \n", "The kiln reaches cone six"]
KINDS = {"ollama": "/api/embed", "openai": "/embeddings"}


@pytest.fixture(autouse=True)
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OLLAMA_HOST", "OPENAI_BASE_URL", "OPENAI_API_KEY", "PMB_VECTOR_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PMB_HF_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def service() -> Iterator[EmbeddingService]:
    with embedding_service() as running:
        yield running


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def over_http(kind: str, service: EmbeddingService, **options: Any) -> Any:
    return create_embedder(f"{kind}:tiny", base_url=service.url, **options)


# --- names ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "error", "message"),
    [
        ("word2vec", UnknownNameError, r"no embedder 'word2vec'\. Known: wordllama, sentence-t"),
        ("", UnknownNameError, "no embedder ''"),
        ("wordllama:256", InputError, "write wordllama"),
        ("wordllama:", InputError, "write wordllama"),
        ("ollama", InputError, "write ollama:MODEL"),
        ("onnx: ", InputError, "write onnx:DIR"),
    ],
)
def test_bad_names(spec: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        create_embedder(spec)


def test_base_url_is_for_services() -> None:
    with pytest.raises(InputError, match=r"'wordllama' is no service: leave out base_url"):
        create_embedder("wordllama", base_url="http://127.0.0.1:1")
    for url in ("http://me:secret@host", "http://host?key=secret"):
        with pytest.raises(InputError) as caught:
            create_embedder("ollama:m", base_url=url)
        assert "secret" not in str(caught.value)


def test_all_kinds_are_described() -> None:
    assert SPECS[0].kind == "wordllama"
    assert all(spec.summary.endswith(".") for spec in SPECS)


def test_importing_loads_no_library() -> None:
    code = (
        "import sys; import pmb_hf.providers.embedding;"
        "print(*{'numpy', 'wordllama', 'httpx', 'onnxruntime', 'sqlite3'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout.strip() == ""


# --- wordllama --------------------------------------------------------------------------------


def test_wordllama_vectors() -> None:
    embedder = create_embedder("wordllama")
    vectors = embedder.embed(TEXTS)
    assert vectors.shape == (5, 256)
    assert vectors.dtype == np.float32
    assert embedder.dimensions == 256
    lengths = np.linalg.norm(vectors, axis=1)
    assert lengths == pytest.approx([1, 1, 0, 0, 1], abs=1e-6)
    assert (vectors[0] == vectors[4]).all()
    cat, kitten, loan = embedder.embed(["a cat", "a kitten", "a mortgage rate"])
    assert cat @ kitten > cat @ loan


def test_a_vector_does_not_depend_on_its_batch() -> None:
    embedder = create_embedder("wordllama")
    texts = ["word " * (1 + i * 7 % 50) + str(i) for i in range(300)] + ["long " * 5000]
    together = embedder.embed(texts)
    alone = np.vstack([embedder.embed([text]) for text in texts])
    assert (together == alone).all()


@pytest.mark.parametrize("text", ["\ud800", "\0", "🎉", "naïve café", "東京", "x" * 20_000])
def test_any_text_has_a_vector(text: str) -> None:
    assert np.isfinite(create_embedder("wordllama").embed([text, "and another"])).all()


def test_wordllama_leaves_logging_alone() -> None:
    code = (
        "import logging; from pmb_hf.providers.embedding import create_embedder;"
        "create_embedder('wordllama'); root = logging.getLogger(); print(root.handlers, root.level)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout.strip() == f"[] {logging.WARNING}"


def test_wordllama_is_not_kept_on_disk(tmp_path: Path) -> None:
    embedder = create_embedder("wordllama")
    embedder.embed(TEXTS)
    assert not (tmp_path / "cache").exists()


def test_no_texts() -> None:
    assert create_embedder("wordllama").embed([]).shape == (0, 256)


# --- services ---------------------------------------------------------------------------------


def test_service(kind: str, service: EmbeddingService) -> None:
    embedder = over_http(kind, service)
    assert embedder.name == f"{kind}:tiny"
    vectors = embedder.embed(TEXTS)
    assert service.texts == TEXTS[:2]  # no blanks, nothing twice
    expected = np.array(vector_of(TEXTS[0])) / np.linalg.norm(vector_of(TEXTS[0]))
    assert vectors[0] == pytest.approx(expected, abs=1e-6)
    assert not vectors[2].any()
    path, body, headers = service.calls[0]
    assert path == KINDS[kind]
    assert body["model"] == "tiny"
    assert "authorization" not in headers
    assert embedder.dimensions == DIMENSIONS
    assert len(service.calls) == 1
    embedder.close()


def test_dimensions_are_asked_for_once(kind: str, service: EmbeddingService) -> None:
    embedder = over_http(kind, service, cache=False)
    assert embedder.dimensions == embedder.dimensions == DIMENSIONS
    assert len(service.calls) == 1


def test_many_texts_go_in_pages(kind: str, service: EmbeddingService) -> None:
    texts = [f"text {i}" for i in range(150)]
    vectors = over_http(kind, service).embed(texts)
    assert [len(body["input"]) for _, body, _ in service.calls] == [64, 64, 22]
    assert vectors.shape == (150, DIMENSIONS)


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_passing_failure_is_tried_again(
    kind: str, service: EmbeddingService, status: int
) -> None:
    service.statuses = [status, 200]
    assert over_http(kind, service).embed(["kiln"]).any()
    assert len(service.calls) == 2


@pytest.mark.parametrize("status", [400, 401, 404])
def test_a_refusal_is_not_tried_again(kind: str, service: EmbeddingService, status: int) -> None:
    service.statuses = [status] * 5
    with pytest.raises(ProviderError, match=rf"POST {KINDS[kind]}: .*{status}"):
        over_http(kind, service).embed(["kiln"])
    assert len(service.calls) == 1


def test_a_failure_that_stays(kind: str, service: EmbeddingService) -> None:
    service.statuses = [500] * 10
    with pytest.raises(ProviderError, match="500"):
        over_http(kind, service).embed(["kiln"])
    assert len(service.calls) == 3


def _short(rows: list[Any]) -> list[Any]:
    return rows[:-1]


def _ragged(rows: list[Any]) -> list[Any]:
    return [rows[0], rows[1][:-1]]


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (_short, "answered 1 vectors for 2 texts"),
        (lambda rows: [*rows, rows[0]], "answered 3 vectors for 2 texts"),
        (_ragged, "must have one length"),
        (lambda rows: [[], []], "answered 2 x 0 numbers for 2 texts"),
        (lambda rows: ["text", "text"], "is no list of numbers"),
        (lambda rows: [[True] * 8] * 2, r"\[0\].* is no list of numbers"),
        (lambda rows: [rows[0], [1e300] * 8], "vector 2 of 2 holds NaN or infinity"),
        (lambda rows: [rows[0], [float("nan")] * 8], "the body is no JSON"),
    ],
)
@pytest.mark.filterwarnings("ignore:overflow")
def test_bad_vectors(
    kind: str, service: EmbeddingService, spoil: Callable[[list[Any]], list[Any]], message: str
) -> None:
    service.spoil = spoil
    with pytest.raises(ProviderError, match=message):
        over_http(kind, service).embed(["kiln", "glaze"])


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{}", b'{"data": 1, "embeddings": {}}', b"<html>", b'{"data": [{}]}']
)
def test_bad_answers(kind: str, service: EmbeddingService, body: bytes) -> None:
    service.body = body
    with pytest.raises(ProviderError, match=f"POST {KINDS[kind]}"):
        over_http(kind, service).embed(["kiln"])


def test_openai_indices_must_be_whole(service: EmbeddingService) -> None:
    for indices in ([0, 0], [0, 2], ["0", 1]):
        rows = [{"index": index, "embedding": [1.0, 2.0]} for index in indices]
        service.body = json.dumps({"data": rows}).encode()
        with pytest.raises(ProviderError, match="ind"):
            over_http("openai", service).embed(["kiln", "glaze"])


def test_a_model_that_changes_is_noticed(kind: str, service: EmbeddingService) -> None:
    embedder = over_http(kind, service)
    embedder.embed(["kiln"])
    service.spoil = lambda rows: [row[:-1] for row in rows]
    with pytest.raises(ProviderError, match="7 numbers, but of 8 before: the model behind"):
        embedder.embed(["glaze"])
    # The next process reads from disk how long they were.
    with pytest.raises(ProviderError, match="7 numbers, but of 8 before"):
        over_http(kind, service).embed(["honey"])


def test_no_connection(kind: str) -> None:
    with embedding_service() as gone:
        url = gone.url
    embedder = create_embedder(f"{kind}:tiny", base_url=url)
    with pytest.raises(ProviderError, match="can't connect"):
        embedder.embed(["kiln"])


def test_base_urls_come_from_the_environment(
    service: EmbeddingService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", service.url.removeprefix("http://"))
    monkeypatch.setenv("OPENAI_BASE_URL", service.url + "/v1/")
    assert create_embedder("ollama:a").embed(["kiln"]).any()
    assert create_embedder("openai:a").embed(["kiln"]).any()
    assert [path for path, _, _ in service.calls] == ["/api/embed", "/v1/embeddings"]


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("", "http://127.0.0.1:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),  # noqa: S104 - what Ollama documents
        ("box:8080", "http://box:8080"),
        ("https://box/", "https://box"),
    ],
)
def test_ollama_host(host: str, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", host)
    assert create_embedder("ollama:m", cache=False).identity == f"ollama:m at {url}"


def test_openai_key(service: EmbeddingService, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"api\.openai\.com/v1 needs a key: set \$OPENAI_API_KEY"):
        create_embedder("openai:m")
    service.key = "sk-right-and-secret"
    monkeypatch.setenv("OPENAI_API_KEY", "sk-right-and-secret")
    embedder = over_http("openai", service)
    assert embedder.embed(["kiln"]).any()
    assert "secret" not in repr(vars(embedder))
    assert "secret" not in embedder.identity
    monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong-and-secret")
    with pytest.raises(ProviderError, match="401") as caught:
        over_http("openai", service).embed(["glaze"])
    assert "secret" not in str(caught.value)
    monkeypatch.setenv("OPENAI_API_KEY", "two\nlines-secret")
    with pytest.raises(InputError) as refused:
        over_http("openai", service)
    assert "secret" not in str(refused.value)


# --- onnx -------------------------------------------------------------------------------------


def test_onnx_takes_the_mean_over_tokens(tmp_path: Path) -> None:
    write_onnx(tmp_path / "m")
    embedder = create_embedder(f"onnx:{tmp_path / 'm'}")
    vectors = embedder.embed(["glaze bees", "glaze", "bees bees honey boat honey glaze", ""])
    half = 0.5**0.5
    assert vectors[0] == pytest.approx([half, half, 0, 0], abs=1e-6)
    assert vectors[1] == pytest.approx([1, 0, 0, 0], abs=1e-6)  # the padding has no part in it
    assert not vectors[3].any()
    assert embedder.dimensions == 4


def test_onnx_cuts_long_texts(tmp_path: Path) -> None:
    write_onnx(tmp_path)
    (tmp_path / "sentence_bert_config.json").write_text('{"max_seq_length": 2}', encoding="utf-8")
    vectors = create_embedder(f"onnx:{tmp_path}").embed(["glaze glaze bees bees bees"])
    assert vectors[0] == pytest.approx([1, 0, 0, 0], abs=1e-6)
    (tmp_path / "sentence_bert_config.json").write_text("{}", encoding="utf-8")
    with pytest.raises(InputError, match="has no max_seq_length"):
        create_embedder(f"onnx:{tmp_path}")


def test_onnx_faults(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"model\.onnx is missing"):
        create_embedder(f"onnx:{tmp_path / 'none'}")
    write_onnx(tmp_path / "odd", extra_input="position_bias")
    with pytest.raises(ProviderError, match="the model wants position_bias, not only input_ids"):
        create_embedder(f"onnx:{tmp_path / 'odd'}").embed(["kiln"])
    (tmp_path / "odd" / "model.onnx").write_bytes(b"no model")
    with pytest.raises(InputError, match="can't be loaded"):
        create_embedder(f"onnx:{tmp_path / 'odd'}")


def test_onnx_vectors_are_kept_by_what_is_in_the_files(tmp_path: Path) -> None:
    write_onnx(tmp_path / "a")
    write_onnx(tmp_path / "b")
    first = create_embedder(f"onnx:{tmp_path / 'a'}")
    first.embed(["glaze"])
    second = create_embedder(f"onnx:{tmp_path / 'b'}")
    second.embed(["glaze"])
    assert (first.computed, second.computed) == (1, 0)


# --- sentence-transformers --------------------------------------------------------------------


def test_sentence_transformers_that_are_not_installed() -> None:
    blocker = (
        "import sys; sys.modules['sentence_transformers'] = None;"
        "from pmb_hf.providers.embedding import create_embedder as c;"
        "from pmb_hf.errors import MissingDependencyError as M\n"
        "try: c('sentence-transformers:m')\n"
        "except M as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", blocker], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert "pip install 'pmb-hf[sentence-transformers]'" in done.stdout


def test_packages_that_are_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "wordllama", None)
    static._load.cache_clear()
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'pmb-hf\[vector\]'"):
        create_embedder("wordllama")
    with pytest.raises(MissingDependencyError, match=r"pip install 'pmb-hf\[onnx\]'"):
        create_embedder(f"onnx:{tmp_path}")


# --- cache ------------------------------------------------------------------------------------


def test_vectors_outlive_the_embedder(kind: str, service: EmbeddingService) -> None:
    first = over_http(kind, service)
    one = first.embed(TEXTS)
    second = over_http(kind, service)
    two = second.embed([*TEXTS, "one more"])
    assert (one == two[:5]).all()
    assert service.texts == [*TEXTS[:2], "one more"]
    assert (first.computed, second.computed) == (2, 1)


def test_switching_the_cache_off(
    kind: str, service: EmbeddingService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    over_http(kind, service, cache=False).embed(["kiln"])
    for value in ("off", "0", "No"):
        monkeypatch.setenv("PMB_VECTOR_CACHE", value)
        over_http(kind, service).embed(["kiln"])
    assert len(service.calls) == 4
    assert not (tmp_path / "cache").exists()


def test_each_service_and_model_has_its_own_file(tmp_path: Path) -> None:
    names = {file_for(identity) for identity in ("ollama:a at u", "ollama:b at u", "ollama:a at v")}
    assert len(names) == 3
    assert {path.parent for path in names} == {tmp_path / "cache" / "vectors"}
    assert file_for("x", str(tmp_path)).parent == tmp_path


def test_cache_dir(kind: str, service: EmbeddingService, tmp_path: Path) -> None:
    over_http(kind, service, cache_dir=str(tmp_path / "mine")).embed(["kiln"])
    assert len(list((tmp_path / "mine").iterdir())) == 1
    assert not (tmp_path / "cache").exists()


def test_a_cache_that_is_none_costs_only_time(
    kind: str, service: EmbeddingService, tmp_path: Path
) -> None:
    over_http(kind, service).embed(["kiln"])
    (file,) = (tmp_path / "cache" / "vectors").iterdir()
    file.write_bytes(b"no database, but of some length " * 100)
    with pytest.warns(RuntimeWarning, match=r"vectors can't be kept in .*Delete the file"):
        embedder = over_http(kind, service)
    assert embedder.embed(["kiln"]).any()
    assert embedder.embed(["kiln"]).any()
    blocked = tmp_path / "file"
    blocked.write_text("", encoding="utf-8")
    with pytest.warns(RuntimeWarning, match="can't be kept"):
        other = over_http(kind, service, cache_dir=str(blocked))
    assert other.embed(["kiln"]).any()


def test_vectors_of_another_length_are_left_out(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path / "v.sqlite", "me")
    assert cache.dimensions is None
    cache.write(["a", "b"], np.ones((2, 3), dtype=np.float32))
    cache.close()
    again = VectorCache(tmp_path / "v.sqlite", "me")
    assert again.dimensions == 3
    assert set(again.read(["a", "b", "c"], 3)) == {"a", "b"}
    assert again.read(["a"], 4) == {}
    assert again.read([f"t{i}" for i in range(2000)], 3) == {}
    again.close()
    assert sqlite3.connect(tmp_path / "v.sqlite").execute(
        "SELECT value FROM about WHERE key = 'embedder'"
    ).fetchone() == ("me",)


WRITER = """
import sys
from pathlib import Path
import numpy as np
from pmb_hf.providers.embedding.cache import VectorCache
cache = VectorCache(Path(sys.argv[1]), "me")
for i in range(40):
    texts = [f"text {i} {j}" for j in range(5)]
    cache.write(texts, np.full((5, 3), i, dtype=np.float32))
    assert len(cache.read(texts, 3)) == 5
"""


def test_several_processes_share_a_file(tmp_path: Path) -> None:
    path = tmp_path / "v.sqlite"
    command = [sys.executable, "-W", "error", "-c", WRITER, str(path)]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    running = [subprocess.Popen(command, cwd=tmp_path, env=env) for _ in range(3)]
    assert [process.wait() for process in running] == [0, 0, 0]
    texts = [f"text {i} {j}" for i in range(40) for j in range(5)]
    kept = VectorCache(path, "me").read(texts, 3)
    assert len(kept) == 200
    assert kept["text 7 3"].tolist() == [7, 7, 7]


def test_batches() -> None:
    texts = ["a" * n for n in (5, 1, 3, 50, 2, 4)]
    made = list(batches(texts, most=3, characters=12))
    assert made == [[1, 4, 2], [5, 0], [3]]
    assert list(batches([], most=3, characters=10)) == []
