"""A home that is lost: what sessions and commands say of it, and what brings its memory back."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from memory_fabric.cli.main import main
from memory_fabric.sharing.git import switch
from memory_fabric.store.projects import registry_file
from simulated_client import SimulatedClient

SAID = "Use cursor-based pagination for all list endpoints"


class Desk(SimulatedClient):
    """A client in a new project."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        super().__init__(folder)
        self.printed = capsys

    def run(self, *words: str) -> tuple[int, str]:
        """A command's exit code and all that it printed."""
        status = main(list(words))
        printed = self.printed.readouterr()
        return status, printed.out + printed.err

    def start(self, session: str) -> str:
        """Return what the start of a session tells the person."""
        said: dict[str, Any] = self.fire("SessionStart", session, source="startup")
        return str(said.get("systemMessage", ""))

    @property
    def journal(self) -> Path:
        """The project's decisions.jsonl."""
        return self.project / ".claude/memory/decisions.jsonl"


@pytest.fixture
def desk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Desk:
    """A desk in its project's folder."""
    desk = Desk(tmp_path.resolve(), capsys)
    for name, value in desk.environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(desk.project)
    return desk


def test_the_project_adopt_command_restores_records_of_a_deleted_memory_folder(desk: Desk) -> None:
    assert desk.run("remember", SAID)[0] == 0
    [before] = desk.records()
    shutil.rmtree(desk.fabric_home)

    told = desk.start("next")
    status, repair = desk.run("status")[1], desk.run("repair")[1]
    imported = desk.run("import", str(desk.journal))[1]
    shown, planned = (
        desk.run("project", "adopt"),
        json.loads(desk.run("project", "adopt", "--json")[1]),
    )

    for text in (told, status, repair):
        assert "1 record" in text and "project adopt" in text
    assert "memory-fabric project adopt" in imported
    assert shown[0] == 2 and SAID in shown[1] and desk.records() == []
    assert (planned["records"], planned["done"]) == (1, False)
    done, said = desk.run("project", "adopt", "--yes")
    assert done == 0 and "Restored 1 record." in said
    [after] = desk.records()
    assert (after.id, after.what, after.trust, after.author) == (
        before.id, SAID, before.trust, "ann",
    )  # fmt: skip
    assert "lacks" not in desk.run("status")[1] and "lacks" not in desk.start("later")
    assert desk.run("project", "adopt")[0] == 3


def test_only_the_user_can_run_the_project_adopt_command(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.run("remember", SAID)
    shutil.rmtree(desk.fabric_home)
    monkeypatch.setenv("CLAUDECODE", "1")

    status, told = desk.run("project", "adopt", "--yes")
    refused = desk.records()
    fields = {"command_name": "memory-fabric:project", "command_args": "adopt"}
    said = desk.fire("UserPromptExpansion", **fields)

    assert status == 2 and "/memory-fabric:project adopt" in told and refused == []
    assert "Restored 1 record;" in said["systemMessage"]
    assert [record.what for record in desk.records()] == [SAID]


def test_the_project_adopt_command_restores_only_the_users_own_decisions(desk: Desk) -> None:
    desk.run("share", "on", "--yes")
    desk.run("remember", SAID)
    with desk.journal.open("a") as stream:
        by_bob = {"id": "01900000-0000-7000-8000-000000000002", "type": "decision", "author": "bob"}
        stream.write(json.dumps(by_bob | {"what": "Use Kafka for the events"}) + "\n")
    shutil.rmtree(desk.fabric_home)

    assert "1 record" in desk.start("next")
    desk.run("share", "on", "--yes")
    desk.start("shared")
    as_others = {record.what for record in desk.records()}
    assert desk.run("project", "adopt", "--yes")[0] == 0

    assert as_others == {"Use Kafka for the events"}
    assert {(record.what, record.source) for record in desk.records()} == {
        ("Use Kafka for the events", "journal"),
        (SAID, "cli"),
    }
    assert switch.is_on(str(desk.fabric_home), desk.memory().switched_by[1])


def test_repair_restores_records_that_only_the_journal_contains(desk: Desk) -> None:
    desk.run("remember", SAID)
    before = desk.records()
    shutil.rmtree(desk.fabric_home / "projects")

    told = desk.start("next")
    again = desk.start("again")
    status, repaired = desk.run("repair")

    assert "is gone" in told and "memory-fabric repair" in told and "is gone" not in again
    assert status == 0 and "Restored 1 record that only" in repaired
    assert desk.records() == before


def test_the_first_session_in_a_renamed_folder_mentions_the_old_path(desk: Desk) -> None:
    desk.run("remember", SAID)
    desk.project = desk.project.rename(desk.project.parent / "blog2")
    desk.environ["CLAUDE_PROJECT_DIR"] = str(desk.project)

    told, again = desk.start("next"), desk.start("again")

    assert "This folder was" in told and "This folder was" not in again
    assert [record.what for record in desk.records()] == [SAID]


def test_check_and_doctor_report_differences_between_registry_and_projects(desk: Desk) -> None:
    desk.run("remember", SAID)
    home, other = str(desk.fabric_home), desk.project.parent / "other"
    other.mkdir()
    registry_file.find_project(home, str(other))
    sound = desk.run("check")[1]
    known, key = registry_file.read_registry(home), f"folder:{other}"
    without = {name: id_ for name, id_ in known.keys.items() if name != key}

    registry_file.write_registry(home, known._replace(keys=without), {})
    status, hidden = desk.run("check")
    doctor = desk.run("doctor")[1]
    registry_file.write_registry(home, known._replace(keys={**known.keys, "git:/o": "gone-1"}), {})
    lost = desk.run("check")[1]

    assert "registry" not in sound
    assert "registry lacks" in doctor
    assert status == 1 and key in hidden
    assert "gone-1 is gone" in lost


def test_project_adopt_lists_at_most_ten_records_and_counts_those_of_others(desk: Desk) -> None:
    desk.run("remember", SAID)
    [line] = desk.journal.read_text("utf-8").splitlines()
    first = json.loads(line)
    id_ = "01900000-0000-7000-8000-0000000000"
    own = [first, *(first | {"id": f"{id_}{n}", "what": f"Part {n}"} for n in range(10, 20))]
    bob = {"id": f"{id_}99", "type": "decision", "author": "bob"}
    bob |= {"what": "Use Kafka for the events"}
    desk.journal.write_text("".join(json.dumps(one) + "\n" for one in [*own, bob]), "utf-8")
    shutil.rmtree(desk.fabric_home)

    shown = desk.run("project", "adopt")[1].splitlines()
    planned = json.loads(desk.run("project", "adopt", "--json")[1])

    assert shown[0].startswith(f"{desk.journal}: 11 records not in memory, 20")
    assert sum(line.startswith("  20") for line in shown) == 10
    assert "1 are by bob; they are left alone." in shown
    assert (planned["records"], planned["others"]) == (11, {"bob": 1})
