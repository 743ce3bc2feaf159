"""doctor: files that were broken on purpose, and what --fix mends of them."""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path

from cli.doctor.doctoring import (
    look,
)
from cli.shell import Shell
from memory_fabric.config import read_settings
from memory_fabric.models import Operation, Provenance
from memory_fabric.store import files, journal
from memory_fabric.store.home import signing
from memory_fabric.store.memory import Memory
from memory_fabric.store.upkeep import backup


def test_doctor_fix_removes_permissions_of_other_users(enabled: Shell) -> None:
    enabled.database.chmod(0o644)
    enabled.memory.chmod(0o755)
    journal_ = enabled.project / ".claude/memory/decisions.jsonl"
    journal_.chmod(0o664)

    found = look(enabled)["permissions"]
    fixed = look(enabled, "--fix")["permissions"]

    assert found["state"] == "warning" and found["fixable"]
    assert fixed["state"] == "ok" and fixed["mended"]
    modes = [path.stat().st_mode & 0o777 for path in (enabled.database, enabled.memory, journal_)]
    assert modes == [0o600, 0o700, 0o600]


def test_doctor_fix_cannot_repair_a_home_owned_by_another_user(enabled: Shell) -> None:
    home = "/etc/default"
    if os.getuid() == 0:  # to root, that one is its own
        home = str(enabled.memory)
        os.chown(home, 12345, 12345)

    check = look(enabled, "--fix", MEMORY_FABRIC_HOME=home)["permissions"]

    assert check["state"] == "fault" and not check["fixable"]
    assert home in check["told"] and "chown" in check["remedy"]


def test_doctor_fix_keeps_the_permissions_that_git_set_on_a_shared_journal(enabled: Shell) -> None:
    enabled.run("share", "on")
    path = enabled.project / ".claude/memory/decisions.jsonl"
    path.chmod(0o644)

    fixed = look(enabled, "--fix")["permissions"]

    assert fixed["state"] == "ok" and path.stat().st_mode & 0o777 == 0o644


def test_doctor_accepts_a_git_tracked_journal_readable_by_other_users(enabled: Shell) -> None:
    folder = enabled.project / ".claude/memory"
    (folder / ".gitignore").write_text("*\n!decisions.jsonl\n", "utf-8")
    (folder / "decisions.jsonl").chmod(0o644)

    assert look(enabled)["permissions"]["state"] == "ok"


def test_doctor_warns_about_a_full_disk(enabled: Shell) -> None:
    # A file system without room, on every Linux.
    check = look(enabled, MEMORY_FABRIC_HOME="/proc/memory-fabric")["disk"]

    assert check["state"] == "warning" and check["told"] == "0 MB free"


def test_doctor_fix_removes_only_old_temporary_files(enabled: Shell) -> None:
    old, new = enabled.memory / "registry.json.1-2.tmp", enabled.memory / "registry.json.3-4.tmp"
    for path in (old, new):
        path.write_text("{", "utf-8")
        path.chmod(0o600)
    os.utime(old, (time.time() - 7200, time.time() - 7200))

    found = look(enabled)["leftovers"]
    fixed = look(enabled, "--fix")["leftovers"]

    assert found["state"] == "warning" and old.name in found["told"]
    assert new.name not in found["told"]
    assert fixed["state"] == "ok" and not old.exists() and new.exists()


def test_doctor_fix_applies_queued_changes(enabled: Shell) -> None:
    entity = {"name": "api", "entityType": "service", "observations": ["It answers."]}
    memory = Memory.open(
        read_settings(enabled.environ, {})._replace(project_dir=str(enabled.project))
    )
    said = Provenance(source="test", at="2026-01-01T10:00:00.000Z")
    operation = Operation(
        "00000000-0000-7000-8000-000000000001",
        "create_entities",
        {"entities": [entity]},
        said,
        "project",
    )
    journal.enqueue(memory.queue_folder("project"), operation, signing.key_of(memory.settings.home))
    memory.close()

    found = look(enabled)["queue"]
    fixed = look(enabled, "--fix")["queue"]

    assert found["state"] == "warning" and found["fixable"]
    assert fixed["state"] == "ok" and "applied 1 waiting changes" in fixed["mended"]


def test_doctor_fix_restores_a_lost_journal_from_the_graph(enabled: Shell) -> None:
    path = enabled.project / ".claude/memory/decisions.jsonl"
    lines = files.read_lines(str(path))[0]
    path.unlink()

    found = look(enabled)["tier local"]
    fixed = look(enabled, "--fix")["tier local"]

    assert found["state"] == "warning" and found["fixable"]
    assert fixed["state"] == "ok" and "restored 1 lost lines" in fixed["mended"][0]
    assert files.read_lines(str(path))[0] == lines


def test_doctor_fix_rebuilds_an_inconsistent_full_text_index(enabled: Shell) -> None:
    with sqlite3.connect(enabled.database) as connection:
        connection.execute("INSERT INTO records_fts (records_fts) VALUES ('delete-all')")
    connection.close()

    found = look(enabled)["indexes"]
    fixed = look(enabled, "--fix")["indexes"]

    assert found["state"] == "warning" and "records_fts" in found["told"]
    assert fixed["state"] == "ok" and "records_fts" in fixed["mended"][0]
    assert look(enabled)["indexes"]["state"] == "ok"


def test_doctor_warns_about_an_old_backup(enabled: Shell) -> None:
    none = look(enabled)["backups"]
    for path in enabled.run("backup", "--json").json["made"]:
        os.utime(path, (time.time() - 20 * 86400, time.time() - 20 * 86400))

    old = look(enabled)["backups"]

    assert none["state"] == "ok" and "none yet" in none["told"]
    assert old["state"] == "warning" and "20 days old" in old["told"]


def test_doctor_accepts_an_older_backup_of_a_large_database(enabled: Shell) -> None:
    ago = time.time() - 9 * 86400
    for path in enabled.run("backup", "--json").json["made"]:
        os.utime(path, (ago, ago))
        small = look(enabled)["backups"]
        stem = Path(path).name.partition("-")[0]
        os.truncate(Path(path).parents[1] / f"{stem}.db", backup.LARGE_BYTES + 1)

    large = look(enabled)["backups"]

    assert (small["state"], large["state"]) == ("warning", "ok")


def test_doctor_fix_does_not_add_a_missing_end_marker_in_memory_md(enabled: Shell) -> None:
    text = enabled.notes.read_text("utf-8").replace("<!-- memory-fabric:end -->", "")
    enabled.notes.write_text(text, "utf-8")

    fixed = look(enabled, "--fix")["tier native"]

    assert fixed["state"] == "warning" and not fixed["fixable"] and "mended" not in fixed
    assert enabled.notes.read_text("utf-8") == text


def test_doctor_fix_does_not_change_a_damaged_database(enabled: Shell) -> None:
    enabled.database.write_bytes(b"no database " * 400)
    before = enabled.database.read_bytes()

    checks = look(enabled, "--fix")

    assert checks["tier graph"]["state"] == "fault"
    assert "memory-fabric repair" in checks["tier graph"]["remedy"]
    assert enabled.database.read_bytes() == before
