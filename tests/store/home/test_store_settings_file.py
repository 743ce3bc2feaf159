"""config.toml read: a broken one counts for what it turns off, and for all if it may isolate."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from memory_fabric.store import files
from memory_fabric.store.home import switches

WALL = "[domains.legal]\nisolate = true\n"
BROKEN = "notices = [\n"


def config(home: Path, text: str) -> str:
    (home / "config.toml").write_text(text, "utf-8")
    return str(home)


def test_a_valid_or_missing_config_file_gives_no_complaint(tmp_path: Path) -> None:
    without = switches.read_file(str(tmp_path))
    sound = switches.read_file(config(tmp_path, WALL))

    assert (without.table, without.complaint, without.closed) == ({}, "", False)
    assert (sound.complaint, sound.closed) == ("", False)
    assert sound.table == {"domains": {"legal": {"isolate": True}}}


def test_a_setting_that_turns_writing_off_applies_even_if_the_config_file_is_broken(
    tmp_path: Path,
) -> None:
    file = switches.read_file(config(tmp_path, f"write = false\n{BROKEN}"))

    assert (file.table, file.closed) == ({"write": False}, False)
    assert "only its switches that turn something off apply" in file.complaint


@pytest.mark.parametrize("rest", ["", BROKEN])
def test_a_byte_order_mark_hides_no_setting_of_the_config_file(tmp_path: Path, rest: str) -> None:
    file = switches.read_file(config(tmp_path, f"\ufeffwrite = false\n{rest}"))

    assert (file.table, bool(file.error)) == ({"write": False}, bool(rest))


def test_a_broken_config_file_with_an_isolated_domain_turns_memory_off(tmp_path: Path) -> None:
    home = config(tmp_path, WALL + BROKEN)

    file = switches.read_file(home)
    settings = switches.settings_of({"MEMORY_FABRIC_HOME": home})

    assert file.closed and file.table == {"read": False, "write": False}
    assert "may isolate domains, so memory is off until it is corrected" in file.complaint
    assert (settings.reads, settings.writes, settings.closed) == (False, False, file.complaint)
    assert settings.complaints == (file.complaint,)


def test_a_config_file_that_cannot_be_read_turns_memory_off(tmp_path: Path) -> None:
    (tmp_path / "config.toml").mkdir()

    file = switches.read_file(str(tmp_path))

    assert file.closed
    assert str(tmp_path) not in file.complaint  # it is told to other machines, too


def test_a_config_file_with_unclosed_brackets_is_invalid(tmp_path: Path) -> None:
    file = switches.read_file(config(tmp_path, f"{WALL}x = {'[' * 100_000}"))

    assert file.closed


def test_the_switches_of_one_place_are_reported_without_those_of_another(tmp_path: Path) -> None:
    home = str(tmp_path)
    switches.turn(home, "p", ["read"], on=False)

    assert switches.own(home, "p") == {"read": False, "write": True}
    assert switches.own(home, switches.EVERYWHERE) == {"read": True, "write": True}


def test_each_period_with_notes_turned_off_is_recorded_until_they_are_turned_on(
    tmp_path: Path,
) -> None:
    home = str(tmp_path)
    for on in (False, False):
        switches.turn(home, "p", [switches.NOTES], on=on)
    [(since, until)] = switches.off_times(switches.NOTES, home, "p")
    assert until == switches.FOR_EVER

    for on in (True, True):
        switches.turn(home, "p", [switches.NOTES], on=on)
    [first] = switches.off_times(switches.NOTES, home, "p")
    switches.turn(home, "p", [switches.NOTES], on=False)
    switches.turn(home, switches.EVERYWHERE, [switches.NOTES], on=False)

    assert first[0] == since and since <= first[1] < switches.FOR_EVER
    whole, former, latest = switches.off_times(switches.NOTES, home, "p")
    assert (former, whole[1], latest[1]) == (first, switches.FOR_EVER, switches.FOR_EVER)
    assert switches.off_times(switches.NOTES, home, "other") == [whole]


def test_turning_reading_off_does_not_count_as_a_period_without_notes(tmp_path: Path) -> None:
    switches.turn(str(tmp_path), "p", ["read"], on=False)

    assert switches.off_times(switches.NOTES, str(tmp_path), "p") == []


def test_only_the_newest_periods_with_notes_turned_off_are_kept(tmp_path: Path) -> None:
    spans = [[f"19{n:02}", f"19{n:02}-02"] for n in range(switches.MAX_OFF_TIMES)]
    text = json.dumps({"p": {switches.NOTES + switches.OFF_TIMES: spans}})
    (tmp_path / switches.SWITCHES).write_text(text, "utf-8")

    switches.turn(str(tmp_path), "p", [switches.NOTES], on=False)

    times = switches.off_times(switches.NOTES, str(tmp_path), "p")
    assert times[:-1] == [(since, until) for since, until in spans[1:]]
    assert times[-1][1] == switches.FOR_EVER


def test_the_error_for_a_memory_that_is_off_says_how_to_turn_it_on(tmp_path: Path) -> None:
    off = switches.settings_of({"MEMORY_FABRIC_HOME": str(tmp_path)})
    broken = switches.settings_of({"MEMORY_FABRIC_HOME": config(tmp_path, WALL + BROKEN)})

    assert str(switches.off_error(off)).endswith("Turn it on with memory-fabric on.")
    assert str(switches.off_error(broken)).endswith("Correct config.toml.")
    assert broken.closed in str(switches.off_error(broken))


@pytest.mark.parametrize("switch", ["on", "off"])
def test_a_running_process_follows_changes_of_the_config_file(tmp_path: Path, switch: str) -> None:
    home = config(tmp_path, WALL + BROKEN)
    settings = switches.settings_of({"MEMORY_FABRIC_HOME": home, "MEMORY_FABRIC": switch})

    config(tmp_path, WALL)
    mended = switches.follow(settings, home)
    config(tmp_path, "write = false\n")
    turned = switches.follow(mended, home)

    on = switch == "on"  # a variable says so for as long as the process lives
    assert (mended.reads, mended.writes, mended.closed) == (on, on, "")
    assert mended.domains.isolated == {"legal"}
    assert (turned.reads, turned.writes) == (on, False)
    assert not turned.domains.isolated


def test_a_change_of_the_config_file_is_detected(tmp_path: Path) -> None:
    path = str(tmp_path / switches.NAME)
    stamps = [files.stamp(path)]
    config(tmp_path, BROKEN)
    stamps.append(files.stamp(path))
    config(tmp_path, WALL)
    stamps.append(files.stamp(path))
    os.replace(path, tmp_path / "old")
    config(tmp_path, WALL)
    stamps.append(files.stamp(path))

    assert len(set(stamps)) == len(stamps)
