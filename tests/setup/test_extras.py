"""Packages beside the plugin's own: where they lie, how they come, and how they go."""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path

import pytest

from launchers.support import make_source_archive, make_wheel
from memory_fabric.errors import FabricError
from memory_fabric.setup import extras, packages
from memory_fabric.setup.packages import MARKER

OFFLINE = {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1", "PATH": "/usr/bin:/bin"}


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that stands for a package index."""
    folder = tmp_path / "wheels"
    for name, value in {**OFFLINE, "PIP_FIND_LINKS": str(folder)}.items():
        monkeypatch.setenv(name, value)
    return folder


def lock_of(tmp_path: Path, line: str) -> str:
    """A lock that holds this line."""
    path = tmp_path / "this.lock"
    path.write_text(line, "utf-8")
    return str(path)


def test_packages_with_changed_versions_get_a_new_installation_folder(tmp_path: Path) -> None:
    root, data = tmp_path, str(tmp_path / "data")
    (root / "plugin").mkdir()
    lock = root / "plugin/serve.lock"
    lock.write_text("mcp==1\n", "utf-8")
    first = extras.folder_of("serve", data, str(root))
    lock.write_text("mcp==2\n", "utf-8")

    assert first.startswith(f"{data}/serve-cpython-")
    assert extras.folder_of("serve", data, str(root)) != first
    assert extras.folder_of("serve", "", str(root)) == extras.folder_of("serve", data, "") == ""
    assert extras.folder_of("semantic", data, str(root)) == ""


def test_packages_are_installed_once_and_replace_older_package_folders(
    tmp_path: Path, wheels: Path
) -> None:
    data, lock = tmp_path / "data", lock_of(tmp_path, make_wheel(str(wheels), "1.0"))
    folder, kept = data / "serve-this", data / "serve-running"
    for other in ("serve-older", "serve-running", "semantic-other", "serve-this"):
        (data / other).mkdir(parents=True)  # serve-this: half filled, by one that was killed
    (kept / MARKER).touch()
    with (kept / MARKER).open("rb"):
        packages.hold(str(kept))
        extras.install(str(folder), lock)
        os.unlink(lock)
        extras.install(str(folder), lock)  # is there: nothing is fetched

    assert (folder / "tinypkg.py").exists() and (folder / MARKER).exists()
    assert folder.stat().st_mode & 0o077 == 0
    names = {path.name for path in data.iterdir() if path.is_dir()}
    assert names == {"serve-this", "serve-running", "semantic-other"}
    assert extras.remove("serve", str(data)) and not extras.remove("serve", str(data))
    assert [path.name for path in data.iterdir()] == ["semantic-other"]


def test_concurrent_installations_download_the_packages_once(tmp_path: Path, wheels: Path) -> None:
    lock = lock_of(tmp_path, make_wheel(str(wheels), "1.0"))
    folder = tmp_path / "data/serve-this"
    found: list[int] = []

    def bring() -> None:
        extras.install(str(folder), lock)
        found.append((folder / "tinypkg.py").stat().st_ino)

    threads = [threading.Thread(target=bring) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(found) == 3 and len(set(found)) == 1


def test_a_package_whose_hash_differs_is_not_installed(tmp_path: Path, wheels: Path) -> None:
    line = make_wheel(str(wheels), "1.0").rpartition(":")[0]
    folder = tmp_path / "data/serve-this"

    with pytest.raises(FabricError, match="differs from the one this release was tested with"):
        extras.install(str(folder), lock_of(tmp_path, f"{line}:{'0' * 64}\n"))

    assert [path for path in folder.parent.iterdir() if path.is_dir()] == []


def test_a_package_available_only_as_source_is_not_built(tmp_path: Path, wheels: Path) -> None:
    mark = tmp_path / "mark"
    lock = lock_of(tmp_path, make_source_archive(str(wheels), "1.0", str(mark)))

    with pytest.raises(FabricError, match="nothing is built from source"):
        extras.install(str(tmp_path / "data/serve-this"), lock)

    assert not mark.exists()


def test_a_complete_extra_is_made_importable_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = list(sys.path)
    monkeypatch.setattr(sys, "path", list(before))
    extras.reach("")
    extras.reach(str(tmp_path))
    incomplete = list(sys.path)
    (tmp_path / MARKER).touch()

    extras.reach(str(tmp_path))
    extras.reach(str(tmp_path))

    assert (incomplete, sys.path) == (before, [*before, str(tmp_path)])


def test_removing_an_extra_deletes_its_folders_and_old_leftovers(tmp_path: Path) -> None:
    for name in ("serve-a", "serve-b", "semantic-a", "unfinished-old", "unfinished-new"):
        (tmp_path / name).mkdir()
    (tmp_path / "serve-a.lock").touch()
    hours_ago = time.time() - 7200
    os.utime(tmp_path / "unfinished-old", (hours_ago, hours_ago))

    removed = [extras.remove("serve", folder) for folder in (str(tmp_path), str(tmp_path), "")]

    assert removed == [True, False, False]
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["semantic-a", "unfinished-new"]
