"""A transformer from a directory: model.onnx and tokenizer.json, without torch."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...errors import InputError, MissingDependencyError, ProviderError
from .source import batches

_BATCH, _CHARACTERS = 32, 32_000
_MODEL, _TOKENIZER, _LIMITS = "model.onnx", "tokenizer.json", "sentence_bert_config.json"
_TOKENS = 512


class OnnxSource:
    """Token vectors of an ONNX model, averaged over the tokens of the text.

    A model whose first output is one vector a text is taken as it is. Texts are
    cut to ``max_seq_length`` of sentence_bert_config.json, else to what
    tokenizer.json says, else to 512 tokens.
    """

    costly = True

    def __init__(self, directory: str) -> None:
        """Load model and tokenizer.

        Raises:
            InputError: A file is missing or can't be used.
            MissingDependencyError: onnxruntime or tokenizers is missing.
        """
        self.name = f"onnx:{directory}"
        home = Path(directory).expanduser()
        try:
            import onnxruntime
            import tokenizers
        except ImportError as error:
            raise MissingDependencyError(
                f"embedder {self.name!r} can't be imported ({error}): pip install 'pmb-hf[onnx]'"
            ) from error
        for name in (_MODEL, _TOKENIZER):
            if not (home / name).is_file():
                raise InputError(f"embedder {self.name!r}: {home / name} is missing.")
        try:
            self._tokenizer: Any = tokenizers.Tokenizer.from_file(str(home / _TOKENIZER))
            self._session: Any = onnxruntime.InferenceSession(
                str(home / _MODEL), providers=["CPUExecutionProvider"]
            )
        except Exception as error:
            # Both raise exceptions of their own, some of them bare.
            raise InputError(
                f"embedder {self.name!r} can't be loaded: {type(error).__name__}: {error}"
            ) from error
        self._limit(home)
        self._inputs = {given.name for given in self._session.get_inputs()}
        digest = hashlib.sha256()
        for name in (_MODEL, _TOKENIZER, _LIMITS):
            digest.update(_file_hash(home / name))
        self.identity = f"onnx {digest.hexdigest()}"

    def _limit(self, home: Path) -> None:
        given = self._tokenizer.truncation
        most = given["max_length"] if given else _TOKENS
        if (home / _LIMITS).is_file():
            try:
                most = int(json.loads((home / _LIMITS).read_text("utf-8"))["max_seq_length"])
            except (ValueError, KeyError, TypeError) as error:
                raise InputError(
                    f"embedder {self.name!r}: {home / _LIMITS} has no max_seq_length."
                ) from error
        self._tokenizer.enable_truncation(most)
        pad = next(
            (i for t in ("[PAD]", "<pad>") if (i := self._tokenizer.token_to_id(t)) is not None), 0
        )
        self._tokenizer.enable_padding(pad_id=pad)

    def vectors(self, texts: Sequence[str]) -> Any:
        """Means over tokens.

        Raises:
            ProviderError: The model can't be run.
        """
        import numpy as np

        out: Any = None
        for batch in batches(texts, most=_BATCH, characters=_CHARACTERS):
            rows = self._batch([texts[place] for place in batch])
            if out is None:
                out = np.empty((len(texts), rows.shape[1]), dtype=np.float32)
            out[batch] = rows
        return out

    def _batch(self, texts: list[str]) -> Any:
        import numpy as np

        encoded = self._tokenizer.encode_batch(texts)
        columns = {
            "input_ids": np.array([one.ids for one in encoded], dtype=np.int64),
            "attention_mask": np.array([one.attention_mask for one in encoded], dtype=np.int64),
            "token_type_ids": np.array([one.type_ids for one in encoded], dtype=np.int64),
        }
        unknown = self._inputs - set(columns)
        if unknown:
            raise ProviderError(
                f"embedder {self.name!r}: the model wants {', '.join(sorted(unknown))}, "
                f"not only {', '.join(columns)}."
            )
        try:
            first = self._session.run(None, {name: columns[name] for name in self._inputs})[0]
        except Exception as error:
            raise ProviderError(f"embedder {self.name!r} can't be run: {error}") from error
        if first.ndim == 2:
            return first
        mask = columns["attention_mask"][:, :, None].astype(np.float32)
        return (first * mask).sum(axis=1) / np.maximum(mask.sum(axis=1), 1.0)

    def close(self) -> None:
        """Nothing is held but memory."""


def _file_hash(path: Path) -> bytes:
    if not path.is_file():
        return b"-"
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()
