"""Files: replaced in one step, and read without dying."""

from __future__ import annotations

import os
import stat
import sys
import threading
from contextlib import nullcontext
from pathlib import Path

import pytest

from memory_fabric.store import files
from store.support import USER, World, decision


def test_a_refused_file_is_reported_only_in_the_thread_that_read_it(tmp_path: Path) -> None:
    files.take_refused_files()  # those of tests before
    (tmp_path / "folder").mkdir()
    thread = threading.Thread(target=files.read_json, args=(str(tmp_path / "folder"),))
    thread.start()
    thread.join()

    assert files.take_refused_files() == []
    assert files.read_json(str(tmp_path / "folder")) == {}
    assert len(files.take_refused_files()) == 1


def test_a_replaced_file_is_accessible_only_to_the_owner(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "down" / "x"
    assert files.write_atomic(str(path), b"1")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [p.name for p in path.parent.iterdir()] == ["x"]


def test_a_replaced_file_keeps_its_mode_and_remains_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_text("1")
    link.symlink_to(real)
    for mode in (0o644, 0o755):
        real.chmod(mode)
        files.write_atomic(str(link), str(mode).encode())
        assert link.is_symlink()
        assert files.read_text(str(link)) == str(mode)
        assert stat.S_IMODE(real.stat().st_mode) == mode


def test_files_are_synced_to_disk_unless_they_need_not_be_durable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, synced = tmp_path / "x", list[bool]()
    monkeypatch.setattr(
        os, "fsync", lambda handle: synced.append(stat.S_ISDIR(os.fstat(handle).st_mode))
    )

    files.write_atomic(str(path), b"1", durable=False)
    assert synced == []
    files.write_atomic(str(path), b"1")
    files.append_lines(str(path), [{"n": 1}])
    files.sync(str(path))
    assert synced == [False] * 3
    files.sync_folder(str(tmp_path))
    assert synced[3:] == [True]


@pytest.mark.parametrize(("is_unchanged", "content"), [(False, "theirs"), (True, "ours")])
def test_a_file_is_replaced_only_if_it_did_not_change_meanwhile(
    tmp_path: Path, is_unchanged: bool, content: str
) -> None:
    path = tmp_path / "x"
    path.write_text("theirs")

    replaced = files.write_atomic(str(path), iter([b"ou", b"rs"]), still=lambda _: is_unchanged)

    assert (replaced, path.read_text()) == (is_unchanged, content)
    assert os.listdir(tmp_path) == ["x"]


# Other systems cannot exchange two files: there the later version is lost.
IS_PUT_BACK = sys.platform == "linux"


@pytest.mark.parametrize("later", [(), (b"theirs too",)])
def test_a_file_written_by_another_program_during_replacement_is_put_back(
    tmp_path: Path, later: tuple[bytes, ...]
) -> None:
    path, beside = tmp_path / "x", tmp_path / "theirs"
    path.write_bytes(b"before")
    versions = [b"theirs", *later]

    def is_still(checked: str) -> bool:
        same = Path(checked).read_bytes() == b"before"
        if versions:
            beside.write_bytes(versions.pop(0))
            os.replace(beside, path)
        return same

    assert files.write_atomic(str(path), b"ours", still=is_still) is not IS_PUT_BACK
    assert path.read_bytes() == ((b"theirs", *later)[-1] if IS_PUT_BACK else b"ours")
    assert os.listdir(tmp_path) == ["x"]


def test_a_replaced_file_is_put_back_if_it_cannot_be_checked_afterwards(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"theirs")

    def is_still(checked: str) -> bool:
        if checked != str(path):
            raise OSError("unreadable")
        return True

    with pytest.raises(OSError, match="unreadable") if IS_PUT_BACK else nullcontext():
        files.write_atomic(str(path), b"ours", still=is_still)

    assert path.read_bytes() == (b"theirs" if IS_PUT_BACK else b"ours")
    assert os.listdir(tmp_path) == ["x"]


@pytest.mark.parametrize("refusals", [3, 30])
def test_replacing_a_file_in_use_is_retried_a_limited_number_of_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusals: int
) -> None:
    """As on Windows, while a virus scanner reads the file."""
    path, beside = tmp_path / "x", tmp_path / "new"
    beside.write_text("new")
    left, replace = [None] * refusals, os.replace

    def refusing(source: str, target: str) -> None:
        if left:
            left.pop()
            raise PermissionError(13, "Access is denied")
        replace(source, target)

    monkeypatch.setattr(os, "replace", refusing)
    monkeypatch.setattr(files, "REPLACE_POLL_S", 0)
    if refusals < files.REPLACE_TRIES:
        files._replace(str(beside), str(path), files.REPLACE_TRIES)
        assert path.read_text() == "new"
    else:
        with pytest.raises(PermissionError):
            files._replace(str(beside), str(path), files.REPLACE_TRIES)


def test_a_failed_replacement_keeps_the_old_file_and_leaves_no_temporary_file(
    tmp_path: Path,
) -> None:
    path = tmp_path / "x"
    path.write_text("old")

    def fails(_: str) -> bool:
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        files.write_atomic(str(path), b"new", still=fails)
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError):
        files.write_atomic(str(tmp_path / "folder"), b"new")
    with pytest.raises(OSError):
        files.write_atomic(str(path / "below"), b"new")
    assert path.read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == ["folder", "x"]


def test_replacing_a_file_on_a_full_disk_keeps_the_old_file_and_leaves_no_temporary_file(
    tmp_path: Path,
) -> None:
    path = tmp_path / "x"
    path.write_text("old")
    script = """
import resource, sys
from memory_fabric.store import files
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    files.write_atomic(sys.argv[1], b"x" * 5000)
except OSError as error:
    print("refused")
"""
    assert World(tmp_path / "w").run(script, str(path)) == "refused\n"
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir() if p.name != "w"] == ["x"]


def test_lines_appended_after_an_incomplete_line_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"id": 1}\n{"id": 2, "te')
    files.append_lines(str(path), [{"id": 3, "text": "né\n"}])
    assert files.read_lines(str(path)) == ([{"id": 1}, {"id": 3, "text": "né\n"}], [2])


def test_appending_nothing_creates_no_file(tmp_path: Path) -> None:
    files.append_lines(str(tmp_path / "x"), [])
    assert os.listdir(tmp_path) == []


def test_invalid_lines_are_skipped_and_their_line_numbers_returned(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    deep = b"[" * 200_000
    lines = [b'\xef\xbb\xbf{"a": 1}', b"null", b"", b"{", b'{"b": "\xff"}', deep, b"3", b'{"c": 1}']
    path.write_bytes(b"\n".join(lines))
    assert files.read_lines(str(path)) == ([{"a": 1}, {"b": "\ufffd"}, {"c": 1}], [2, 4, 6, 7])


def test_a_line_separator_within_a_text_does_not_end_the_line(tmp_path: Path) -> None:
    path = str(tmp_path / "x.jsonl")
    files.append_lines(path, [{"text": "a\u2028b\x85c"}])
    assert "a\u2028b\x85c".encode() in Path(path).read_bytes()  # a purge searches for plain text
    assert files.read_lines(path) == ([{"text": "a\u2028b\x85c"}], [])


def test_a_missing_or_invalid_json_file_reads_as_empty(tmp_path: Path) -> None:
    (tmp_path / "list").write_text("[1]")
    (tmp_path / "broken").write_text("{")
    for name in ("list", "broken", "missing", "list/below", "."):
        assert files.read_json(str(tmp_path / name)) == {}
    assert files.read_text(str(tmp_path / "missing")) is None
    assert files.read_toml(str(tmp_path / "missing")) == {}


def test_a_byte_order_mark_is_not_part_of_a_text(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text('\ufeff{"a": 1}', "utf-8")

    assert files.read_json(str(tmp_path / "settings.json")) == {"a": 1}


def test_reading_invalid_toml_raises_an_error(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("a = [")
    with pytest.raises(ValueError, match=r"line 1|Invalid|Unclosed"):
        files.read_toml(str(tmp_path / "config.toml"))


def test_the_lock_file_of_a_file_outside_home_is_in_home(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    path = files.lock_path("/home", str(tmp_path / "real"))
    assert path.startswith("/home/locks/")
    assert files.lock_path("/home", str(tmp_path / "link")) == path
    assert files.lock_path("/home", str(tmp_path / "other")) != path


def test_an_unreadable_json_file_reads_as_empty(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('{"a": 1}')
    path.chmod(0)
    script = (
        "import sys; from memory_fabric.store import files; print(files.read_json(sys.argv[1]))"
    )
    assert World(tmp_path / "w").run(script, str(path), strict=True) == "{}\n"


def test_reading_a_pipe_folder_or_device_is_refused_without_waiting(tmp_path: Path) -> None:
    pipe, folder, link = tmp_path / "pipe", tmp_path / "folder", tmp_path / "link"
    os.mkfifo(pipe)
    folder.mkdir()
    link.symlink_to(pipe)
    for path in map(str, (pipe, folder, link, os.devnull)):
        with pytest.raises(files.NotRegular, match="is no regular file"):
            files.read_text(path)
        with pytest.raises(files.NotRegular):
            files.open_regular(path)
        with pytest.raises(files.NotRegular):
            files.read_lines(path)


def test_no_byte_of_a_file_beyond_the_size_limit_is_read(tmp_path: Path) -> None:
    path = tmp_path / "big"
    with path.open("wb") as stream:
        stream.truncate(3 << 30)
    for read in (files.read_text, files.read_toml, files.read_lines):
        with pytest.raises(files.TooLarge, match="is larger than") as refused:
            read(str(path))
        assert refused.value.path == str(path)
    assert files.read_bytes(__file__, os.path.getsize(__file__))
    with pytest.raises(files.TooLarge):
        files.read_bytes(__file__, os.path.getsize(__file__) - 1)


def test_a_file_that_grows_beyond_the_size_limit_while_it_is_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"")
    left = [b"x"] * 11
    monkeypatch.setattr(os, "read", lambda _handle, _most: left.pop() if left else b"")

    with pytest.raises(files.TooLarge):
        files.read_bytes(str(path), 10)
    left = [b"x"] * 10
    assert files.read_bytes(str(path), 10) == b"x" * 10


def test_the_error_for_a_large_file_names_its_limit_in_a_fitting_unit() -> None:
    assert str(files.TooLarge("x", 1 << 20)) == "x is larger than 1 MB."
    assert str(files.TooLarge("x", (1 << 20) - 1)) == "x is larger than 1023 KB."


def test_only_a_limited_number_of_refused_files_is_recorded() -> None:
    files.take_refused_files()
    for number in range(files.MAX_REFUSED + 1):
        files.note_refused(files.NotRegular(f"/{number}"))

    assert len(files.take_refused_files()) == files.MAX_REFUSED


def test_a_refused_json_file_is_recorded_for_the_user(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    os.mkfifo(path)
    files.take_refused_files()
    assert files.read_json(str(path)) == {}
    assert files.take_refused_files() == [f"{path} is no regular file."]
    files.take_refused_files()


def test_a_path_with_a_nul_character_reads_as_a_missing_file() -> None:
    assert files.read_text("/tmp/a\0b") is None
    assert files.read_json("/tmp/a\0b") == {}
    with pytest.raises(FileNotFoundError):
        files.open_regular("/tmp/a\0b")


def test_an_overlong_line_is_skipped_and_the_lines_before_and_after_it_are_read(
    tmp_path: Path,
) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_bytes(b'{"n": 1}\n' + b"0" * (5 << 20) + b'\n{"n": 3}\n')
    assert files.read_lines(str(path)) == ([{"n": 1}, {"n": 3}], [2])
    given = list(files.lines_in(str(path), max_line_bytes=4))
    assert given == [b'{"n"', b"0000", b'{"n"']
    path.write_bytes(b"abc\ndef\n")
    assert list(files.lines_in(str(path), 8, max_line_bytes=4)) == [b"abc", b"def"]
    with pytest.raises(files.TooLarge):
        list(files.lines_in(str(path), 7))


def test_a_line_with_deeply_nested_json_is_invalid(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_bytes(b'{"a":' * 100_000 + b"\n" + b"[" * 100_000 + b'\n{"n": 3}\n')
    assert files.read_lines(str(path)) == ([{"n": 3}], [1, 2])


@pytest.mark.parametrize("through_link", [False, True])
def test_writing_to_a_pipe_or_a_folder_is_refused(tmp_path: Path, through_link: bool) -> None:
    there = tmp_path / "there"
    path = tmp_path / "page.json" if through_link else there
    for make in (os.mkfifo, os.mkdir):
        make(there)
        if through_link:
            path.symlink_to(there)
        before = os.lstat(there).st_mode
        with pytest.raises(files.NotRegular):
            files.write_atomic(str(path), b"{}")
        with pytest.raises(OSError, match=r"regular|symbolic|loop"):
            files.append_lines(str(path), [{"n": 1}])
        assert os.lstat(there).st_mode == before
        assert path.is_symlink() == through_link
        assert sorted(p.name for p in tmp_path.iterdir()) == sorted({there.name, path.name})
        if through_link:
            path.unlink()
        there.unlink() if make is os.mkfifo else there.rmdir()


def test_a_link_to_a_file_of_another_user_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs, link = tmp_path / "theirs", tmp_path / "registry.json"
    theirs.write_text("theirs")
    link.symlink_to(theirs)
    files.write_atomic(str(link), b"ours")
    assert (theirs.read_text(), link.is_symlink()) == ("ours", True)
    monkeypatch.setattr(os, "geteuid", lambda: theirs.stat().st_uid + 1)
    with pytest.raises(files.NotRegular, match="another user"):
        files.write_atomic(str(link), b"again")
    assert theirs.read_text() == "ours"


def test_a_file_that_is_replaced_by_a_pipe_while_it_is_opened_is_refused_and_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, open_, handles = tmp_path / "x", os.open, list[int]()
    path.write_text("a file")

    def replacing(name: str, flags: int, mode: int) -> int:
        path.unlink()
        os.mkfifo(path)
        handles.append(open_(name, flags, mode))
        return handles[0]

    monkeypatch.setattr(os, "open", replacing)
    with pytest.raises(files.NotRegular):
        files.opened(str(path), os.O_RDONLY)
    with pytest.raises(OSError):
        os.fstat(handles[0])


def test_a_folder_that_another_process_creates_first_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = os.mkdir
    (tmp_path / "file").write_text("")
    with pytest.raises(FileExistsError):
        files.make_folder(str(tmp_path / "file"))

    def late(path: str, mode: int) -> None:
        make(path, mode)
        raise FileExistsError(path)

    monkeypatch.setattr(os, "mkdir", late)
    files.make_folder(str(tmp_path / "a" / "b"))

    assert (tmp_path / "a" / "b").is_dir()


def test_a_file_can_be_made_in_missing_folders_but_not_below_a_file_or_dangling_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "file").chmod(0o700)
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    places = {"x": True, "a/b/x": True, "file/x": False, "file/a/x": False, "link/x": False}

    assert {name: files.can_make(str(tmp_path / name)) for name in places} == places
    monkeypatch.setattr(os, "access", lambda _path, mode: not mode & os.W_OK)
    assert not files.can_make(str(tmp_path / "x"))


def test_folders_that_we_create_are_not_writable_by_others_even_with_a_zero_umask(
    tmp_path: Path,
) -> None:
    world = World(tmp_path)
    before = os.umask(0)
    try:
        memory = world.memory()
        memory.remember(decision(), USER)
        memory.flush()
    finally:
        os.umask(before)
    folders = [path for path in tmp_path.rglob("*") if path.is_dir()]
    made = [path for path in folders if ".git" not in path.parts and path != world.project]
    open_to_others = [path for path in made if path.stat().st_mode & 0o022]
    assert made and not open_to_others
    assert stat.S_IMODE((world.project / ".claude").stat().st_mode) == 0o755
