"""Modules of this package straight from their compiled files, with two system calls for each.

Python's own finder lists folders and asks for the same paths again and again, which costs a hook
several milliseconds. This one compares a compiled file with its source as Python does, by time and
size; whatever it does not find like that (not compiled yet, or edited since) Python's own finds.
"""

from __future__ import annotations

import os
import sys
from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import MAGIC_NUMBER
from marshal import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import CodeType, ModuleType
    from typing import Any

# In front of the code: the magic number, flags (0: checked by time and size), time, size.
HEADER_BYTES = 16
READ_BYTES = 1 << 16
# Windows has the second flag only.
FLAGS = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


def use(folder: str) -> None:
    """Find modules of the package `memory_fabric` in this folder like that, in this process."""
    if not sys.flags.optimize and sys.implementation.cache_tag:
        sys.meta_path.insert(0, Finder(folder))


class Finder:
    """Finds modules below `folder`, which holds the package, by their compiled files."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.cache = sys.pycache_prefix + folder if sys.pycache_prefix else ""
        self.ending = f".{sys.implementation.cache_tag}.pyc"

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module's specification with its code; None where Python is to look for itself."""
        if not name.startswith("memory_fabric."):
            return None
        place = "/" + name.replace(".", "/")
        return self._found(name, place, "") or self._found(name, place, "/__init__")

    def _found(self, name: str, place: str, inner: str) -> ModuleSpec | None:
        source = f"{self.folder}{place}{inner}.py"
        folder, _, last = (place + inner).rpartition("/")
        cache = self.cache + folder if self.cache else f"{self.folder}{folder}/__pycache__"
        compiled = f"{cache}/{last}{self.ending}"
        try:
            state = os.stat(source)
            data = _content(compiled)
        except OSError:
            return None
        numbers = (0, int(state.st_mtime), state.st_size)
        header = MAGIC_NUMBER + b"".join((n & 0xFFFFFFFF).to_bytes(4, "little") for n in numbers)
        if data[:HEADER_BYTES] != header:
            return None
        try:
            code = loads(memoryview(data)[HEADER_BYTES:])
        except (EOFError, ValueError, TypeError):
            # Cut off, as on a full disk: Python would fail on it, and compile only a missing one.
            _remove(compiled)
            return None
        # A class of importlib would have to be imported.
        loader: Any = Loader(code)
        spec = ModuleSpec(name, loader, origin=source, is_package=bool(inner))
        if inner:
            spec.submodule_search_locations = [self.folder + place]
        spec.has_location = True
        spec.cached = compiled
        return spec


class Loader:
    """Runs code that was found, in its module."""

    def __init__(self, code: CodeType) -> None:
        self.code = code

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave it to Python to make the module."""

    def exec_module(self, module: ModuleType) -> None:
        """Run the code in the module."""
        exec(self.code, module.__dict__)


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return  # then Python says what is wrong


def _content(path: str) -> bytes:
    file = os.open(path, FLAGS)
    try:
        data = chunk = os.read(file, READ_BYTES)
        while len(chunk) == READ_BYTES:
            chunk = os.read(file, READ_BYTES)
            data += chunk
        return data
    finally:
        os.close(file)
