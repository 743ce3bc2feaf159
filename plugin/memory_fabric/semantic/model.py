"""The model: a vector for every piece of a word, read from the files of a package.

Read with numpy and the tokenizer alone, from two files that are there or not: nothing is fetched,
nothing is written, no variable is looked at.
"""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np
from tokenizers import Tokenizer

DIMENSIONS = 256
# The first pieces are marks and single bytes: two texts that share these share no meaning.
FIRST_PIECE = 259
# A vector of more than this says of everything a little; and long texts would cost seconds.
MAX_CHARS = 1000
MAX_HEADER_BYTES = 1 << 16


class Model:
    """Word pieces of texts, and the vectors of pieces."""

    def __init__(self, weights: str, tokenizer: str) -> None:
        """Open both files. Raises OSError, and ValueError for files of another form."""
        self._vectors = _opened(weights)
        try:
            self._tokenizer: Any = Tokenizer.from_file(tokenizer)
        except Exception as error:
            raise ValueError(f"{tokenizer}: {error}") from error
        # The mark of a word's beginning where nothing follows that the model knows.
        self._empty = self._tokenizer.token_to_id("▁")
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        if self._tokenizer.get_vocab_size() > len(self._vectors):
            raise ValueError(f"{tokenizer} does not belong to {weights}")

    def pieces(self, text: str) -> list[int]:
        """The numbers of the word pieces in the beginning of a text."""
        # Lone surrogates come from broken input and cannot be handed over.
        sound = text[:MAX_CHARS].encode("utf-8", "ignore").decode("utf-8")
        found = self._tokenizer.encode(sound, add_special_tokens=False).ids
        return [piece for piece in found if piece >= FIRST_PIECE and piece != self._empty]

    def vectors(self, pieces: Any) -> Any:
        """The vectors of an array of pieces, as rows of 32-bit floats."""
        # Not what memmap's own indexing gives: that would stay a map of the file.
        return np.asarray(self._vectors[pieces], dtype=np.float32)


def _opened(weights: str) -> Any:
    """The matrix in a safetensors file, mapped: only the rows that are used are read."""
    with open(weights, "rb") as file:
        length = struct.unpack("<Q", file.read(8).ljust(8, b"\0"))[0]
        if not 0 < length <= MAX_HEADER_BYTES:
            raise ValueError(f"{weights} is no safetensors file")
        header = json.loads(file.read(length))
    tensor = header.get("embedding.weight", {}) if isinstance(header, dict) else {}
    shape = tensor.get("shape", [0, 0])
    if tensor.get("dtype") != "F16" or len(shape) != 2 or shape[1] != DIMENSIONS:
        raise ValueError(f"{weights} holds another model than this release knows")
    offset = 8 + length + tensor["data_offsets"][0]
    return np.memmap(weights, dtype="<f2", mode="r", offset=offset, shape=tuple(shape))
