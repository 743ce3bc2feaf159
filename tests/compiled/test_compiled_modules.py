"""compiled_modules: the same modules that Python's own finder gives, also after an edit."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from memory_fabric import compiled_modules
from memory_fabric.setup import packages

PLUGIN = Path(compiled_modules.__file__).parents[1]
# Says which loader a module had, where it seems to be, and what it holds.
ASK = """
import sys
sys.path[:0] = sys.argv[1:3]
if len(sys.argv) > 3: sys.pycache_prefix = sys.argv[3]
from memory_fabric import compiled_modules
compiled_modules.use(sys.argv[1])
import memory_fabric.inner.told as told
print(type(told.__loader__).__module__, told.__file__, told.__cached__, told.__package__, told.SAID)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A package of this name with a module in a package, and the finder."""
    package = tmp_path / "plugin" / "memory_fabric"
    (package / "inner").mkdir(parents=True)
    for file in (package / "__init__.py", package / "inner" / "__init__.py"):
        file.write_text("")
    (package / "inner" / "told.py").write_text("SAID = 'first'\n")
    source = Path(compiled_modules.__file__).read_text("utf-8")
    (package / "compiled_modules.py").write_text(source, "utf-8")
    return tmp_path / "plugin"


def told(folder: Path, *more: str) -> list[str]:
    command = [packages.base_interpreter(), "-I", "-S", "-c", ASK, str(folder), str(folder), *more]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_a_compiled_module_is_found_where_python_would_find_it(folder: Path) -> None:
    by_python = told(folder)

    by_finder = told(folder)

    assert by_python[0] == "_frozen_importlib_external"
    assert by_finder == ["memory_fabric.compiled_modules", *by_python[1:]]


def test_a_folder_for_compiled_files_is_looked_into(folder: Path, tmp_path: Path) -> None:
    prefix = str(tmp_path / "kept")
    by_python = told(folder, prefix)

    by_finder = told(folder, prefix)

    assert by_finder[2].startswith(prefix)
    assert by_finder == ["memory_fabric.compiled_modules", *by_python[1:]]


def test_an_edited_module_is_compiled_again(folder: Path) -> None:
    told(folder)
    source = folder / "memory_fabric" / "inner" / "told.py"
    before = source.stat()

    source.write_text("SAID = 'other'\n")
    os.utime(source, (before.st_atime, before.st_mtime + 5))

    assert told(folder)[-1] == "other"
    assert told(folder)[0] == "memory_fabric.compiled_modules"


def test_a_module_of_the_same_second_but_another_size_is_compiled_again(folder: Path) -> None:
    told(folder)
    source = folder / "memory_fabric" / "inner" / "told.py"
    before = source.stat()

    source.write_text("SAID = 'longer'\n")
    os.utime(source, (before.st_atime, before.st_mtime))

    assert told(folder)[-1] == "longer"


@pytest.mark.parametrize("kept", [0, 3, 16, 40])
def test_a_compiled_file_that_was_cut_off_is_made_again(folder: Path, kept: int) -> None:
    by_python = told(folder)
    compiled = Path(by_python[2])
    compiled.write_bytes(compiled.read_bytes()[:kept])

    assert told(folder) == by_python
    assert told(folder) == ["memory_fabric.compiled_modules", *by_python[1:]]


def test_what_is_not_of_the_package_is_left_to_python() -> None:
    finder = compiled_modules.Finder(str(PLUGIN))

    assert finder.find_spec("json.decoder") is None
    assert finder.find_spec("memory_fabric.no_such_module") is None
