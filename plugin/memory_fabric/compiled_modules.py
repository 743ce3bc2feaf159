"""Modules of this package straight from their compiled files, with two system calls for each.

Python's own finder lists folders and asks for the same paths again and again, which costs a hook
several milliseconds. This one compares a compiled file with its source as Python does, by time and
size; whatever it does not find like that (not compiled yet, or edited since) Python's own finds.

Modules that an event always needs stand together in one file, in the order in which they are run
(`load_together`): that spares Python's own machinery for each. `compile_ahead` writes these files.
"""

from __future__ import annotations

import gc
import os
import sys
from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import MAGIC_NUMBER
from marshal import dumps, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence, Set
    from types import CodeType, ModuleType
    from typing import Any

# In front of the code: the magic number, flags (0: checked by time and size), time, size.
HEADER_BYTES = 16
READ_BYTES = 1 << 16
# Windows has the second flag only.
FLAGS = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
# A file holds Python's magic number, the length of what follows, and there the folder of the
# package and a tuple for each module: name, source with its time and size, own compiled file, True
# for a package, and code. First the modules of every event, then those of a recall.
EVERY_EVENT, RECALLS = "hooks", "recalls"
LENGTH_BYTES = 8
# Of the finder that `use` has set up; "" without one.
_folder = ""


def use(folder: str, together: str = "") -> None:
    """Find modules of the package `memory_fabric` in this folder like that, in this process.

    `together` names a file whose modules are loaded at once.
    """
    global _folder
    if not sys.flags.optimize and sys.implementation.cache_tag:
        _folder = folder
        sys.meta_path.insert(0, Finder(folder))
        if together:
            load_together(together)


def in_use() -> bool:
    """Return True in a process that finds its modules like that, such as a hook."""
    return bool(_folder)


def load_together(name: str) -> None:
    """Load the modules of a file, unless any of its sources has changed. Never raises.

    Meant for hooks. Does nothing where `use` was not called. Whatever is wrong with the file, its
    modules are then imported one by one.
    """
    if not _folder:
        return
    gc.disable()  # a hook ends before a reference cycle could matter
    before = frozenset(sys.modules)
    try:
        folder, parts = loads(content_of(_content(path_of(_folder, name))))
        if folder == _folder and all(map(_is_current, parts)):
            for part in parts:
                if part[0] not in sys.modules:
                    _run(*part)
    except Exception:  # noqa: BLE001 - missing, damaged, of other code: Python's own import does it
        _unload(before)


def file_of(folder: str, parts: Sequence[Any]) -> bytes:
    """Return the bytes of a file with these modules of the package in this folder."""
    data = dumps((folder, tuple(parts)))
    return MAGIC_NUMBER + len(data).to_bytes(LENGTH_BYTES, "little") + data


def content_of(data: bytes) -> memoryview:
    """Return what a file holds. Raises ValueError if it is of another Python or was cut off."""
    start = len(MAGIC_NUMBER) + LENGTH_BYTES
    length = (len(data) - start).to_bytes(LENGTH_BYTES, "little", signed=True)
    if data[:start] != MAGIC_NUMBER + length:
        raise ValueError("Another Python wrote this file, or it was cut off.")
    return memoryview(data)[start:]


def path_of(folder: str, name: str) -> str:
    """Return the path of a file that holds modules of the package in this folder."""
    return f"{_cache_of(folder)}/{name}.{sys.implementation.cache_tag}.marshal"


def _cache_of(folder: str) -> str:
    package = f"{folder}/memory_fabric"
    return f"{sys.pycache_prefix}{package}" if sys.pycache_prefix else f"{package}/__pycache__"


def _is_current(part: Sequence[Any]) -> bool:
    _, source, seconds, size, *_ = part
    state = os.stat(source)
    return (int(state.st_mtime), state.st_size) == (seconds, size)


def _unload(before: Set[str]) -> None:
    """Forget the modules of this package that have been loaded since."""
    for name in [n for n in sys.modules if n not in before and n.startswith("memory_fabric.")]:
        del sys.modules[name]
        above, _, last = name.rpartition(".")
        vars(sys.modules.get(above, sys)).pop(last, None)


def _run(
    name: str, source: str, _seconds: int, _size: int, cached: str, is_package: bool, code: CodeType
) -> None:
    """Make the module as Python would, and run its code in it."""
    above, _, last = name.rpartition(".")
    if above not in sys.modules:  # the file that holds it was not taken
        __import__(above)
    module = type(sys)(name)
    loader: Any = Loader(code)
    spec = ModuleSpec(name, loader, origin=source, is_package=is_package)
    module.__spec__, module.__loader__, module.__package__ = (
        spec,
        loader,
        name if is_package else above,
    )
    module.__file__, module.__dict__["__cached__"] = source, cached
    spec.has_location, spec.cached = True, cached
    if is_package:
        spec.submodule_search_locations = module.__path__ = [os.path.dirname(source)]
    sys.modules[name] = module
    try:
        exec(code, module.__dict__)
    except BaseException:
        del sys.modules[name]
        raise
    setattr(sys.modules[above], last, module)


class Finder:
    """Finds modules below `folder`, which holds the package, by their compiled files."""

    def __init__(self, folder: str, load: type[Loader] | None = None) -> None:
        self.folder, self.load = folder, load or Loader
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
        loader: Any = self.load(code)
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
