"""The real model, and environments with and without the extra, for tests."""

from __future__ import annotations

import site
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from memory_fabric.semantic import measure
from memory_fabric.semantic.model import Model
from memory_fabric.semantic.vectors import similarities
from memory_fabric.setup import extras, packages

ROOT = Path(__file__).parents[2]
PACKAGES = (*measure.PACKAGES, "numpy.libs")


@cache
def model() -> Model:
    """The model that the tests' environment holds."""
    return Model(*measure.model_files())


def installed() -> Path:
    """Return the folder with the packages of the tests."""
    (found,) = [Path(p) for p in site.getsitepackages() if (Path(p) / "pytest").exists()]
    return found


def environment_without(folder: Path) -> Path:
    """A folder to import from that holds every package of the tests but the extra's."""
    folder.mkdir()
    for entry in installed().iterdir():
        name = entry.name.partition("-")[0]
        if name not in PACKAGES and entry.suffix != ".pth":
            (folder / entry.name).symlink_to(entry)
    return folder


def fill(data_dir: Path) -> Path:
    """Fill a plugin's folder as `memory-fabric semantic on` does, and return the new one."""
    folder = Path(extras.folder_of(extras.SEMANTIC, str(data_dir), str(ROOT)))
    folder.mkdir(parents=True)
    for name in PACKAGES:
        if (installed() / name).exists():
            (folder / name).symlink_to(installed() / name)
    (folder / packages.MARKER).touch()
    return folder


def python(*options: str) -> list[str]:
    """An interpreter that has nothing but what PYTHONPATH names."""
    return [sys.executable, "-S", *options]


def near(question: str, texts: Sequence[str]) -> list[float]:
    """The similarity of each text to a question."""
    vectors = {str(n): vector for n, vector in enumerate(model().encode(texts))}
    found = similarities(model().encode([question])[0], vectors)
    return [found[str(number)] for number in range(len(texts))]
