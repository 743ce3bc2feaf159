"""Tensors of a safetensors file, mapped: only what is used is read."""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np

MAX_HEADER_BYTES = 1 << 20


def tensors(path: str) -> dict[str, Any]:
    """Return all tensors of 32-bit floats of a file by name. Raises OSError, ValueError."""
    with open(path, "rb") as file:
        length = struct.unpack("<Q", file.read(8).ljust(8, b"\0"))[0]
        if not 0 < length <= MAX_HEADER_BYTES:
            raise ValueError(f"{path} is no safetensors file")
        header = json.loads(file.read(length))
    start = 8 + length
    mapped = np.memmap(path, dtype=np.uint8, mode="r")
    found = {}
    for name, tensor in header.items() if isinstance(header, dict) else ():
        if tensor.get("dtype") == "F32":
            first, end = (start + offset for offset in tensor["data_offsets"])
            found[name] = mapped[first:end].view("<f4").reshape(tensor["shape"])
    return found
