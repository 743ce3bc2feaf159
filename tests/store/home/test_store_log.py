"""The log of a home, its notices and marks: where each is kept, and what is told once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from drawn import token
from memory_fabric.config import Settings, read_settings
from memory_fabric.store.files import Locked
from memory_fabric.store.home import log

FAILED = "journal (project): no space left"
TOLD = "the journal cannot be written; it follows when it can (no space left)"
MORE = "; `/memory-fabric:memory status` says more"
TOO_LONG = "x" * 300  # no file system accepts a folder of this name


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings of a home and a data folder, neither of which exists."""
    found = read_settings({"HOME": str(tmp_path)}, {})
    return found._replace(home=str(tmp_path / "home"), data_dir=str(tmp_path / "data"))


def notice(settings: Settings, event: str, *failures: str) -> str:
    return log.notice_of_failures(failures, settings, event)


def test_a_log_entry_is_one_private_line_with_the_time_and_a_maximum_length(
    tmp_path: Path,
) -> None:
    log.note(str(tmp_path), "", "it\nfailed \udc80 " + "x" * 5000)

    path = tmp_path / "logs" / log.LOG_NAME
    [line] = path.read_text("utf-8").splitlines()
    assert line[:4].isdigit() and line[19:31] == "Z it failed "
    assert len(line) == len("2026-01-15T10:00:00Z ") + 1000
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_the_log_is_in_the_first_writable_folder_and_else_on_standard_error(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    file, home, data = (str(tmp_path / name) for name in ("file", "home", "data"))

    log.note(home, data, "one")
    assert not Path(data).exists()
    log.note(file, data, "two")
    log.note("", data, "three")
    log.note(file, file, "four")

    lines = (tmp_path / "data" / log.LOG_NAME).read_text("utf-8").splitlines()
    assert [line.split()[-1] for line in lines] == ["two", "three"]
    assert capfd.readouterr().err.endswith("four\n")


@pytest.mark.parametrize("too_many", [0, 1])
def test_a_log_that_grew_too_large_is_rotated(tmp_path: Path, too_many: int) -> None:
    path = tmp_path / "logs" / log.LOG_NAME
    path.parent.mkdir()
    path.write_bytes(b"x" * (log.MAX_LOG_BYTES + too_many))

    log.note(str(tmp_path), "", "fresh")

    assert (path.stat().st_size < 100) is bool(too_many)
    assert path.with_name(f"{log.LOG_NAME}.1").exists() is bool(too_many)


def test_events_that_ran_out_of_time_are_counted_by_event_and_by_the_work_left(
    tmp_path: Path,
) -> None:
    home, folder = str(tmp_path), tmp_path / "logs"
    log.note_late((home, ""), "Stop", ["capture", "journal"])
    os.replace(folder / log.LOG_NAME, folder / f"{log.LOG_NAME}.1")
    log.note_late((home, ""), "Stop", ["recall"])
    log.note_late((home, ""), "UserPromptSubmit", ["recall"])
    log.note(home, "", "something else failed")
    folders = [str(tmp_path / "none"), str(folder)]

    assert log.late_events(folders) == {"Stop": 2, "UserPromptSubmit": 1}
    assert log.late_events(folders, ["journal"]) == {"Stop": 1}
    assert log.late_events(folders, ["journal", "recall"]) == {"Stop": 2, "UserPromptSubmit": 1}
    assert log.late_events(folders, ["nothing"]) == {}


def test_an_unreadable_log_does_not_hide_the_timeouts_in_another(tmp_path: Path) -> None:
    (tmp_path / "bad" / log.LOG_NAME).mkdir(parents=True)
    log.note_late((str(tmp_path), ""), "Stop", ["recall"])

    assert log.late_events([str(tmp_path / "bad"), str(tmp_path / "logs")]) == {"Stop": 1}


def test_a_traceback_is_kept_in_home_without_its_secrets(tmp_path: Path) -> None:
    secret = token()

    path = log.keep_traceback(str(tmp_path), f"Traceback:\n  failed with {secret}")
    log.keep_traceback(str(tmp_path), "Traceback:\n  failed again")

    assert path == str(tmp_path / "logs" / log.FAULTS_NAME)
    lines = Path(path).read_text("utf-8").splitlines()
    assert lines[1] == "Traceback:" and lines[-1] == "  failed again" and len(lines) == 6
    assert secret not in "".join(lines)


def test_a_traceback_that_cannot_be_kept_has_no_path(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    assert log.keep_traceback(str(tmp_path / "file"), "Traceback") == ""


def test_a_notice_is_shown_once(tmp_path: Path) -> None:
    home = str(tmp_path)
    for text in ("one", "two", "one"):
        log.add(home, text)
    assert log.take(home) == ["one", "two"]
    assert log.take(home) == []


def test_reading_notices_gives_none_if_their_file_is_locked_or_unusable(tmp_path: Path) -> None:
    home = str(tmp_path / "home")
    assert log.take(home) == []
    log.add(home, "x")
    with Locked(os.path.join(home, log.NOTICES + ".lock")):
        assert log.take(home) == []
    assert log.take(home) == ["x"]
    os.makedirs(os.path.join(home, log.NOTICES))
    assert log.take(home) == []
    (tmp_path / "file").write_text("")
    assert log.take(str(tmp_path / "file")) == []
    assert not log.is_first_time(str(tmp_path / "file"), "welcome")


def test_a_notice_topic_counts_as_new_only_the_first_time(tmp_path: Path) -> None:
    home = str(tmp_path / "home")
    assert log.is_first_time(home, "welcome")
    assert not log.is_first_time(home, "welcome")
    assert log.is_first_time(home, "other")


def test_a_notice_for_one_project_waits_until_an_event_of_that_project(tmp_path: Path) -> None:
    home = str(tmp_path)
    log.add(home, "for a", place="a")
    log.add(home, "for all")

    assert log.take(home, "b") == ["for all"]
    assert log.take(home, "b") == []
    log.add(home, "for all again")
    assert log.take(home, "a") == ["for a", "for all again"]
    assert not (tmp_path / log.NOTICES).exists()


def test_a_mark_is_left_in_the_first_writable_folder_and_found_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    places = ["", *(str(tmp_path / name) for name in (TOO_LONG, "file", "data"))]

    assert not log.take_mark(log.LOST_PROMPT, places)
    for _ in range(2):
        log.leave_mark(log.LOST_PROMPT, [*places, str(tmp_path / "later")])

    mark = tmp_path / "data" / log.MARKS / log.LOST_PROMPT
    assert mark.stat().st_mode & 0o777 == 0o600
    assert not (tmp_path / "later").exists()
    assert log.take_mark(log.LOST_PROMPT, places)
    assert not log.take_mark(log.LOST_PROMPT, places)


def test_a_mark_that_was_left_in_two_folders_is_removed_from_both(tmp_path: Path) -> None:
    places = [str(tmp_path / "one"), str(tmp_path / "two")]
    for place in places:
        log.leave_mark(log.LOST_PROMPT, (place,))

    assert log.take_mark(log.LOST_PROMPT, places)
    assert not any(log.take_mark(log.LOST_PROMPT, (place,)) for place in places)


def test_a_failure_is_reported_once_until_the_part_has_worked_again(settings: Settings) -> None:
    assert notice(settings, "Stop", FAILED) == f"memory-fabric: {TOLD}{MORE}"
    assert notice(settings, "Stop", FAILED) == ""
    assert notice(settings, "SessionStart") == ""
    assert notice(settings, "SessionStart", FAILED) == ""
    assert notice(settings, "Stop", "queue: locked") != ""
    assert notice(settings, "Stop", FAILED) == f"memory-fabric: {TOLD}{MORE}"


def test_failures_of_several_parts_are_joined_and_only_the_first_of_each_is_told(
    settings: Settings,
) -> None:
    told = notice(settings, "SessionStart", "unknown: x", FAILED, "journal: other", "queue")

    assert told == f"memory-fabric: {TOLD} · {log.MEANINGS['queue']} (queue){MORE}"


def test_a_failure_in_a_prompt_waits_for_a_later_event_unless_nothing_was_stored(
    settings: Settings,
) -> None:
    refused = f"graph (project): {log.REFUSED}: the disk is full"

    assert notice(settings, "UserPromptSubmit", FAILED) == ""
    told = notice(settings, "UserPromptSubmit", FAILED, refused)
    assert told == f"memory-fabric: nothing was stored ({log.REFUSED}: the disk is full){MORE}"
    assert notice(settings, "Stop", FAILED) == f"memory-fabric: {TOLD}{MORE}"


def test_a_failure_that_cannot_be_marked_is_reported_only_at_session_starts(
    settings: Settings, tmp_path: Path
) -> None:
    unusable = settings._replace(home=str(tmp_path / TOO_LONG), data_dir="")

    assert notice(unusable, "Stop", FAILED) == ""
    for _ in range(2):
        assert notice(unusable, "SessionStart", FAILED) == f"memory-fabric: {TOLD}{MORE}"


def test_a_long_failure_is_truncated_in_its_notice(settings: Settings) -> None:
    told = notice(settings, "Stop", "journal: " + "y" * 1000)

    assert len(told) == len("memory-fabric: ") + 300 + len(MORE)


def test_a_prompt_without_memories_in_time_is_reported_once_at_the_end_of_a_turn(
    settings: Settings,
) -> None:
    places = (settings.home, settings.data_dir)
    assert notice(settings, "Stop") == ""
    log.leave_mark(log.UNTOLD_PROMPT, places)

    assert notice(settings, "SessionStart") == ""
    assert notice(settings, "Stop", FAILED) == f"memory-fabric: {TOLD}{MORE} · {log.LATE_NOTICE}"
    log.leave_mark(log.UNTOLD_PROMPT, places)
    assert notice(settings, "Stop", FAILED) == ""
    assert not log.take_mark(log.UNTOLD_PROMPT, places)
