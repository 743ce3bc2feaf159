"""The folders that memory lies in: rights, owner, room, file system, leftovers."""

from __future__ import annotations

import os
import time
from pathlib import Path

from memory_fabric.store.files import CHUNK_BYTES
from memory_fabric.store.upkeep import filesystem

MOUNTS = """\
/dev/sda1 / ext4 rw 0 0
server:/homes /home nfs4 rw 0 0
tmpfs /home/ann/fast tmpfs rw 0 0
host /home/ann/with\\040space fuse.sshfs rw 0 0
none /home/bob xfs
server:/fast /home/ann/twice ext4 rw 0 0
server:/fast /home/ann/twice nfs rw 0 0
short line
"""


def test_files_that_other_users_can_access_are_made_private(tmp_path: Path) -> None:
    folder = tmp_path / "home"
    folder.mkdir(0o700)
    modes = (("own", 0o600), ("read", 0o640), ("run", 0o755), ("enter", 0o601))
    for name, mode in modes:
        (folder / name).write_text("", "utf-8")
        (folder / name).chmod(mode)
    (folder / "link").symlink_to("/etc/hostname")

    paths = filesystem.all_paths([str(folder)])
    changed = filesystem.make_private(paths)

    assert sorted(changed) == [str(folder / name) for name in ("enter", "read", "run")]
    assert [(folder / name).stat().st_mode & 0o777 for name, _ in modes] == [
        0o600,
        0o600,
        0o700,
        0o600,
    ]
    assert filesystem.exposed(paths) == [] and str(folder / "link") not in paths


def test_the_check_of_file_permissions_ignores_installed_packages(tmp_path: Path) -> None:
    (tmp_path / "runtime/env-1/bin").mkdir(parents=True)
    (tmp_path / "projects").mkdir()

    assert filesystem.all_paths([str(tmp_path)]) == [str(tmp_path), str(tmp_path / "projects")]


def test_the_check_of_file_permissions_ignores_missing_and_linked_folders(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/etc")

    assert filesystem.all_paths([str(tmp_path / "link"), str(tmp_path / "none")]) == []


def test_files_owned_by_another_user_are_listed_as_foreign(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.write_text("", "utf-8")
    theirs = "/etc/passwd"
    if os.getuid() == 0:  # to root, that one is its own
        theirs = str(tmp_path / "theirs")
        Path(theirs).write_text("", "utf-8")
        os.chown(theirs, 12345, 12345)

    assert filesystem.foreign([str(own), theirs, str(tmp_path / "gone")]) == [theirs]


def test_partially_written_files_count_as_leftovers_after_an_hour(tmp_path: Path) -> None:
    now_s = 1_800_000_000
    names = (
        "a.json.1-2.tmp",
        "graph-1.db.tmp",
        "graph-1.db.tmp-journal",
        "new.1-2.tmp",
        "old.json",
    )
    paths = [str(tmp_path / name) for name in names]
    for path, age_s in zip(paths, (3601, 3601, 3601, 3600, 3601), strict=True):
        Path(path).write_text("", "utf-8")
        os.utime(path, (now_s - age_s, now_s - age_s))

    assert filesystem.leftovers([*paths, str(tmp_path / "gone.1-2.tmp")], now_s) == paths[:3]


def test_a_users_file_with_a_name_like_a_temporary_file_is_not_a_leftover(tmp_path: Path) -> None:
    now_s = time.time()
    (tmp_path / "folder.1-2.tmp").mkdir()
    for name in ("my notes.tmp", "draft.html.tmp", "a.1-b.tmp", "a.-2.tmp", ".tmp"):
        (tmp_path / name).write_text("mine", "utf-8")
    paths = [str(path) for path in tmp_path.iterdir()]
    for path in paths:
        os.utime(path, (now_s - 4000, now_s - 4000))

    assert filesystem.leftovers(paths, now_s) == []


def test_the_free_space_of_a_missing_path_is_that_of_its_nearest_existing_folder(
    tmp_path: Path,
) -> None:
    free = filesystem.free_bytes(str(tmp_path / "not/yet/there"))

    assert free is not None and free > 0
    assert filesystem.nearest(str(tmp_path / "not/yet/there")) == str(tmp_path)


def test_the_innermost_mount_point_determines_the_type_of_file_system(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(MOUNTS.replace("/home", str(tmp_path)), "utf-8")
    for name in ("ann/fast/memory", "ann/with space", "ann/faster", "ann/twice", "bob"):
        (tmp_path / name).mkdir(parents=True)

    kinds = [
        filesystem.file_system(str(path), str(mounts))
        for path in (
            Path("/"),
            tmp_path / "ann",
            tmp_path / "ann/faster",
            tmp_path / "ann/fast/memory/not/yet",
            tmp_path / "ann/with space",
            tmp_path / "bob",
            tmp_path / "ann/twice",
        )
    ]

    assert kinds == ["ext4", "nfs4", "nfs4", "tmpfs", "fuse.sshfs", "xfs", "nfs"]
    shared = [filesystem.is_shared(kind) for kind in kinds]
    assert shared == [False, True, True, False, True, False, True]
    assert filesystem.file_system("/", str(tmp_path / "none")) == ""


def test_a_text_is_found_within_a_binary_file(tmp_path: Path) -> None:
    (tmp_path / "graph.db").write_bytes(b"\x00\x01heron\xff")
    (tmp_path / "other.db").write_bytes(b"\x00gull")

    assert filesystem.files_with("heron", [str(tmp_path)]) == [str(tmp_path / "graph.db")]


def test_a_text_is_found_across_the_parts_in_which_a_large_file_is_read(tmp_path: Path) -> None:
    for place in range(1, 6):
        (tmp_path / f"{place}.db").write_bytes(b"x" * (CHUNK_BYTES - place) + b"heron")
    (tmp_path / "other.db").write_bytes(b"x" * (CHUNK_BYTES - 2) + b"her")

    assert len(filesystem.files_with("heron", [str(tmp_path)])) == 5


def test_mounted_file_systems_are_read_from_the_output_of_mount_on_macos() -> None:
    printed = (
        "/dev/disk3s1s1 on / (apfs, sealed, local, read-only, journaled)\n"
        "//ann@nas/my share on /Volumes/my share (smbfs, nodev, nosuid, mounted by ann)\n"
        "map auto_home on /System/Volumes/Data/home (autofs)\nnothing\n"
    )

    found = filesystem._mounted(printed)

    assert [(place, kind) for _, place, kind in found] == [
        ("/", "apfs"),
        ("/Volumes/my share", "smbfs"),
        ("/System/Volumes/Data/home", "autofs"),
    ]
    assert filesystem.is_shared(found[1][2]) and not filesystem.is_shared("apfs")
