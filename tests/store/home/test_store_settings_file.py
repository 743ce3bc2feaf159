"""config.toml read: a broken one counts for what it turns off, and for all if it may isolate."""

from __future__ import annotations

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
