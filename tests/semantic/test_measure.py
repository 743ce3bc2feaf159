"""The door of the extra: what is there, what is broken, what is turned off; and its folder."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

import pytest

from memory_fabric.config import Settings, read_settings
from memory_fabric.errors import FabricError
from memory_fabric.semantic import installing, place
from memory_fabric.semantic.measure import OFF, ON, Measure, measure_for, state
from semantic import extra


def settings(tmp_path: Path, **file: object) -> Settings:
    """Settings as a process beside the plugin has them."""
    return read_settings({"HOME": str(tmp_path), "CLAUDE_PLUGIN_ROOT": str(extra.ROOT)}, file)


def wheel(folder: Path) -> Path:
    """A package of one file, and the lock that names it with its hash."""
    path = folder / "kettle-1.0-py3-none-any.whl"
    about = "kettle-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("kettle/__init__.py", "")
        archive.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: kettle\nVersion: 1.0\n")
        archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{about}/RECORD", "")
    lock = folder / "kettle.lock"
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    lock.write_text(f"kettle @ {path.as_uri()} --hash=sha256:{digest}\n", "utf-8")
    return lock


def test_the_extra_of_the_tests_is_on(tmp_path: Path) -> None:
    measure = measure_for(settings(tmp_path))

    assert state(settings(tmp_path)) == (ON, "")
    assert measure is not None and measure is measure_for(settings(tmp_path))
    near = measure("a vehicle", ["a red car", "soup with bread"])
    assert near[0] > near[1]


def test_config_turns_it_off(tmp_path: Path) -> None:
    off = settings(tmp_path, semantic=False)

    assert measure_for(off) is None
    assert state(off)[0] == OFF


def test_a_broken_model_measures_nothing_and_says_why(tmp_path: Path) -> None:
    (tmp_path / "weights").write_bytes(b"\xff" * 99)
    measure = Measure(str(tmp_path / "weights"), place.model_files()[1])

    assert measure("a vehicle", ["a red car"]) == []
    assert "no safetensors file" in measure.broken
    assert measure("a vehicle", ["a red car"]) == []


def test_the_folder_is_another_for_other_pins(tmp_path: Path) -> None:
    root = tmp_path / "plugin"
    root.mkdir()
    lock = root / "semantic.lock"
    lock.write_text("numpy==1\n", "utf-8")
    first = place.folder_of(str(tmp_path), str(tmp_path))
    lock.write_text("numpy==2\n", "utf-8")

    assert first.startswith(str(tmp_path / "semantic-cpython-"))
    assert place.folder_of(str(tmp_path), str(tmp_path)) != first
    assert place.folder_of("", str(tmp_path)) == place.folder_of(str(tmp_path), "") == ""
    assert place.folder_of(str(tmp_path), str(root)) == ""


def test_packages_are_installed_with_their_hashes_and_published_whole(tmp_path: Path) -> None:
    data = tmp_path / "data"
    older, folder = data / "semantic-older", data / "semantic-this"
    older.mkdir(parents=True)

    installing.install(str(folder), str(wheel(tmp_path)))

    assert (folder / "kettle/__init__.py").exists() and (folder / place.MARKER).exists()
    assert [p.name for p in data.iterdir()] == ["semantic-this"]
    assert folder.stat().st_mode & 0o077 == 0
    assert installing.remove(str(data)) and not installing.remove(str(data))
    assert list(data.iterdir()) == []


def test_a_package_with_another_hash_leaves_nothing(tmp_path: Path) -> None:
    lock = wheel(tmp_path)
    lock.write_text(lock.read_text("utf-8").rpartition(":")[0] + ":" + "0" * 64 + "\n", "utf-8")
    folder = tmp_path / "data/semantic-this"

    with pytest.raises(FabricError, match="could not be installed"):
        installing.install(str(folder), str(lock))

    assert list(folder.parent.iterdir()) == []


def test_a_half_filled_folder_is_filled_anew(tmp_path: Path) -> None:
    folder = tmp_path / "data/semantic-this"
    (folder / "kettle").mkdir(parents=True)

    installing.install(str(folder), str(wheel(tmp_path)))

    assert (folder / place.MARKER).exists() and (folder / "kettle/__init__.py").exists()


def test_the_lock_pins_what_the_extra_names() -> None:
    import tomllib

    with (extra.ROOT / "pyproject.toml").open("rb") as file:
        named = tomllib.load(file)["project"]["optional-dependencies"]["semantic"]
    lock = Path(place.lock_file(str(extra.ROOT))).read_text("utf-8")

    pinned = {line.partition("==")[0] for line in lock.splitlines() if "==" in line[:40]}
    assert {name.partition(">=")[0] for name in named} == pinned == set(place.PACKAGES)
