"""The embedding model all-MiniLM-L6-v2, a BERT encoder with six layers, implemented in numpy. It
needs two files, numpy and the tokenizer, downloads and writes nothing, and reads no variables.
"""

import json
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
from tokenizers import Tokenizer

MAX_HEADER_BYTES = 1 << 20
# The model name stored with each vector; vectors with different names cannot be compared.
NAME = "minilm-l6-v2/1"
DIMENSIONS, HEADS, LAYERS = 384, 12, 6
# Maximum characters and tokens of a text to embed; the rest is ignored. One vector describes a long
# text badly, and embedding it would take seconds.
MAX_CHARS, MAX_PIECES = 1000, 128
BATCH = 32  # how many texts are embedded at once, padded to the longest
# Coefficients of the tanh approximation of the GELU activation function.
GELU_SCALE, GELU_CUBE = 0.7978845608, 0.044715


class Layer:
    """The matrices of one layer; `inner` holds the projections for query, key and value."""

    def __init__(self, weights: dict[str, Any], number: int) -> None:
        def part(name: str) -> Any:
            return np.ascontiguousarray(weights[f"encoder.layer.{number}.{name}"])

        own = [f"attention.self.{name}" for name in ("query", "key", "value")]
        self.inner = np.concatenate([part(f"{name}.weight") for name in own]).T.copy()
        self.inner_bias = np.concatenate([part(f"{name}.bias") for name in own])
        self.joined = part("attention.output.dense.weight").T
        self.joined_bias = part("attention.output.dense.bias")
        self.attended = _norm(part, "attention.output.LayerNorm")
        self.wide = part("intermediate.dense.weight").T
        self.wide_bias = part("intermediate.dense.bias")
        self.narrow = part("output.dense.weight").T
        self.narrow_bias = part("output.dense.bias")
        self.ended = _norm(part, "output.LayerNorm")


class Model:
    """The loaded model, which computes sentence embeddings."""

    def __init__(self, weights: str, tokenizer: str) -> None:
        """Load both files. Raises OSError, or ValueError if they are not this model's files."""
        weights_by_name = tensors(weights)
        try:
            self._tokenizer: Any = Tokenizer.from_file(tokenizer)
        except Exception as error:
            raise ValueError(f"{tokenizer}: {error}") from error
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(MAX_PIECES)
        try:
            self._words = weights_by_name["embeddings.word_embeddings.weight"]
            places = weights_by_name["embeddings.position_embeddings.weight"][:MAX_PIECES]
            self._places = places + weights_by_name["embeddings.token_type_embeddings.weight"][0]
            norm = "embeddings.LayerNorm"
            self._begun = weights_by_name[f"{norm}.weight"], weights_by_name[f"{norm}.bias"]
            self._layers = [Layer(weights_by_name, number) for number in range(LAYERS)]
        except KeyError as error:
            raise ValueError(f"{weights} holds another model: {error} is missing") from error
        if self._words.shape[1] != DIMENSIONS:
            raise ValueError(f"{weights} holds another model than this release knows")
        if self._tokenizer.get_vocab_size() > len(self._words):
            raise ValueError(f"{tokenizer} does not belong to {weights}")

    def encode(self, texts: Sequence[str]) -> Any:
        """Return the texts' unit vectors as the rows of an array of 32-bit floats."""
        # Remove lone surrogates, which the tokenizer rejects.
        sound = [text[:MAX_CHARS].encode("utf-8", "ignore").decode("utf-8") for text in texts]
        pieces = [encoding.ids for encoding in self._tokenizer.encode_batch(sound)]
        vectors = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
        by_length = sorted(range(len(pieces)), key=lambda place: len(pieces[place]))
        for start in range(0, len(by_length), BATCH):
            some = by_length[start : start + BATCH]
            vectors[some] = self._encoded([pieces[place] for place in some])
        return vectors

    def _encoded(self, pieces: Sequence[Sequence[int]]) -> Any:
        count, length = len(pieces), max(map(len, pieces))
        ids = np.zeros((count, length), dtype=np.int64)
        real = np.zeros((count, length), dtype=np.float32)
        for row, some in enumerate(pieces):
            ids[row, : len(some)], real[row, : len(some)] = some, 1
        # Hidden states: texts × tokens × dimensions. To skip padding, `ignored` is added to the
        # attention scores, and `real` multiplies the states before they are summed.
        state = _normalized(self._words[ids] + self._places[:length], self._begun)
        ignored = (real[:, None, None, :] - 1) * np.float32(1e9)
        for layer in self._layers:
            flat = state.reshape(-1, DIMENSIONS)
            inner = (flat @ layer.inner + layer.inner_bias).reshape(count, length, 3, HEADS, -1)
            query, key, value = (inner[:, :, part].transpose(0, 2, 1, 3) for part in range(3))
            scores = query @ key.transpose(0, 1, 3, 2) / np.float32((DIMENSIONS / HEADS) ** 0.5)
            scores = scores + ignored
            scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
            scores /= scores.sum(axis=-1, keepdims=True)
            heard = (scores @ value).transpose(0, 2, 1, 3).reshape(-1, DIMENSIONS)
            flat = _normalized(flat + heard @ layer.joined + layer.joined_bias, layer.attended)
            wide = flat @ layer.wide + layer.wide_bias
            wide *= 0.5 * (1 + np.tanh(GELU_SCALE * (wide + GELU_CUBE * wide * wide * wide)))
            flat = _normalized(flat + wide @ layer.narrow + layer.narrow_bias, layer.ended)
            state = flat.reshape(count, length, DIMENSIONS)
        total = (state * real[:, :, None]).sum(axis=1)
        return total / np.maximum(np.linalg.norm(total, axis=1, keepdims=True), 1e-9)


def _norm(part: Any, name: str) -> tuple[Any, Any]:
    return part(f"{name}.weight"), part(f"{name}.bias")


def _normalized(state: Any, norm: tuple[Any, ...]) -> Any:
    centred = state - state.mean(axis=-1, keepdims=True)
    spread = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + 1e-12)
    return centred / spread * norm[0] + norm[1]


def tensors(path: str) -> dict[str, Any]:
    """Return the 32-bit float tensors in a safetensors file. Raises OSError and ValueError."""
    with open(path, "rb") as file:
        length = struct.unpack("<Q", file.read(8).ljust(8, b"\0"))[0]
        if not 0 < length <= MAX_HEADER_BYTES:
            raise ValueError(f"{path} is no safetensors file")
        header = json.loads(file.read(length))
    start = 8 + length
    mapped = np.memmap(path, dtype=np.uint8, mode="r")
    by_name = {}
    for name, tensor in header.items() if isinstance(header, dict) else ():
        if tensor.get("dtype") == "F32":
            first, end = (start + offset for offset in tensor["data_offsets"])
            by_name[name] = mapped[first:end].view("<f4").reshape(tensor["shape"])
    return by_name
