"""Python's compiled files of the package, when a full disk or a crash has damaged one."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import memory_fabric
from memory_fabric.setup import packages

ASK = """
import sys
sys.path.insert(0, sys.argv[1])
from memory_fabric import told
print(told.SAID, told.__cached__)
"""


def told(folder: Path) -> list[str]:
    command = [packages.base_interpreter(), "-I", "-S", "-c", ASK, str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.parametrize("kept", [0, 3, 16, 40])
@pytest.mark.parametrize("rest", [b"", b"\0" * 99])
def test_a_truncated_bytecode_file_is_recompiled(tmp_path: Path, kept: int, rest: bytes) -> None:
    package = tmp_path / "memory_fabric"
    package.mkdir()
    shutil.copy(str(memory_fabric.__file__), package)
    (package / "told.py").write_text("SAID = 'first'\n")
    compiled = Path(told(tmp_path)[1])
    whole = compiled.read_bytes()
    compiled.write_bytes(whole[:kept] + rest)

    assert told(tmp_path) == ["first", str(compiled)]
    assert compiled.read_bytes() == whole


def test_a_module_with_a_syntax_error_raises_the_usual_syntax_error(tmp_path: Path) -> None:
    package = tmp_path / "memory_fabric"
    package.mkdir()
    shutil.copy(str(memory_fabric.__file__), package)
    (package / "told.py").write_text("SAID =\n")
    command = [packages.base_interpreter(), "-I", "-S", "-c", ASK, str(tmp_path)]

    done = subprocess.run(command, capture_output=True, text=True)

    assert "SyntaxError" in done.stderr
