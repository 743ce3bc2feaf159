"""Records that come back from a project's journal: by a proof, or by the user's word, as it was."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from memory_fabric.models import Record
from memory_fabric.sharing.git import adoption
from memory_fabric.store import files
from memory_fabric.store.forget import purge
from memory_fabric.store.memory import Memory
from memory_fabric.store.projects import own_lines, registry_file
from store.support import USER, World, decision, git_folder

REMOTE = "git@example.com:acme/billing.git"
SAID = ("Use Redis for sessions", "Use Kafka for the events")


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A project without a remote that remembers two decisions."""
    world = World(Path(os.path.realpath(tmp_path)))
    says(world, *SAID)
    return world


def says(world: World, *whats: str) -> None:
    memory = world.memory()
    for what in whats:
        memory.remember(decision(what, trust="user", source="prompt", session="s1"), USER)
    memory.flush()
    assert memory.failures == []
    memory.close()


def moved(world: World, name: str) -> World:
    """The same home, with the project's folder at another name; it is taken there unless it is."""
    folder = world.root / name
    if not folder.exists():
        world.project.rename(folder)
    world.project = folder
    world.environ["CLAUDE_PROJECT_DIR"] = str(folder)
    return world


def whole(memory: Memory) -> list[Record]:
    return sorted(memory.find_records("1"), key=lambda record: record.id)


def stored(world: World) -> list[Record]:
    memory = world.memory()
    try:
        return whole(memory)
    finally:
        memory.close()


def project_id(world: World) -> str:
    memory = world.memory()
    assert memory.project is not None
    memory.close()
    return memory.project.id


def lose_home(world: World) -> None:
    shutil.rmtree(world.home)


@pytest.mark.parametrize("git", [True, False])
def test_a_renamed_folder_remains_the_same_project(world: World, git: bool) -> None:
    if not git:
        shutil.rmtree(world.project / ".git")
    id_, before = project_id(world), stored(world)

    moved(world, "blog2")

    assert project_id(world) == id_ and stored(world) == before
    memory = world.memory()
    memory.flush()
    assert memory.project is not None and adoption.missing(memory) is None
    assert own_lines.is_stated_for(memory.project.local, adoption.current_header(memory))
    keys = registry_file.read_registry(str(world.home)).keys
    assert not any(str(world.root / "billing") in key for key in keys)
    # And back, as often as it is renamed.
    assert project_id(moved(world, "blog3")) == id_


def test_resolved_identity_conflicts_of_a_project_are_kept_when_its_folder_is_renamed(
    world: World,
) -> None:
    registry = registry_file.read_registry(str(world.home))
    key, id_ = f"git:{world.project}/.git", project_id(world)
    note = {"old": "other-1", "keys": {key: "other-1"}, "settled": [key]}
    changed = registry._replace(settled=(key,), undo={key: note})
    registry_file.write_registry(str(world.home), changed, {id_: ""})

    assert project_id(moved(world, "blog2")) == id_

    new = f"git:{world.project}/.git"
    found = registry_file.read_registry(str(world.home))
    assert found.settled == (new,)
    assert found.undo == {new: {"old": "other-1", "keys": {new: "other-1"}, "settled": [new]}}


@pytest.mark.parametrize("old_place", ["stays", "goes"])
def test_a_copied_folder_does_not_count_as_the_same_project(world: World, old_place: str) -> None:
    """Not even where the place that it was copied from is gone: an archive could hold it."""
    id_, old = project_id(world), world.project
    shutil.copytree(old, world.root / "copy")
    if old_place == "goes":
        shutil.rmtree(old)

    memory = moved(world, "copy").memory()

    assert memory.project is not None and memory.project.id != id_
    assert whole(memory) == []
    found = adoption.missing(memory)
    if old_place == "stays":
        assert found is None
    else:
        assert found is not None and (found.origin, found.proved) == (id_, False)
        assert f"project link {id_}" in adoption.notice_text(found)


def test_a_journal_line_that_was_changed_or_signed_with_another_key_is_rejected(
    world: World,
) -> None:
    local = world.local
    [line, _] = [json.loads(x) for x in (local / "decisions.jsonl").read_text().splitlines()]
    home = str(world.home)
    assert own_lines.proved(home, str(local), [line]) == [line]
    assert own_lines.proved(home, str(local), [line | {"what": "Use DBase"}]) == []
    (world.home / "queue.key").write_bytes(b"k" * 32)
    assert own_lines.proved(home, str(local), [line]) == []
    before = project_id(world)
    assert project_id(moved(world, "blog2")) != before


def test_records_in_the_journal_are_reported_and_can_be_adopted_after_home_was_lost(
    world: World,
) -> None:
    before = stored(world)
    lose_home(world)
    memory = world.memory()

    found = adoption.missing(memory)

    assert found is not None and not found.proved and whole(memory) == []
    told = adoption.notice_text(found)
    assert "2 records" in told and before[0].created_at[:10] in told and "project adopt" in told
    assert adoption.adopt(memory, found, USER) == 2
    memory.flush()
    after = whole(memory)
    assert [r._replace(project="") for r in after] == [r._replace(project="") for r in before]
    assert {r.trust for r in after} == {"user"} and {r.author for r in after} == {"ann"}
    assert adoption.missing(memory) is None and memory.failures == []
    lines = (world.local / "decisions.jsonl").read_text().splitlines()
    assert len(lines) == 2, "what came from the journal is not written there again"


def test_records_can_still_be_adopted_after_new_records_were_stored(world: World) -> None:
    lose_home(world)
    says(world, "Use MySQL for the rest")
    memory = world.memory()
    found = adoption.missing(memory)
    assert found is not None and len(found.lines) == 2
    adoption.adopt(memory, found, USER)
    assert len(whole(memory)) == 3 and adoption.missing(memory) is None


def test_journal_lines_of_other_authors_are_counted_but_not_adopted(world: World) -> None:
    path = world.local / "decisions.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[0]["author"] = "bob"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    lose_home(world)
    memory = world.memory()
    found = adoption.missing(memory)
    assert found is not None
    assert (len(found.lines), found.others) == (1, {"bob": 1})
    assert "bob" not in {line["author"] for line in found.lines}


def test_records_under_another_author_name_are_adopted_only_if_the_name_is_requested(
    world: World,
) -> None:
    """A new machine may know its user by another name."""
    lose_home(world)
    memory = world.memory(USER="anna")
    found = adoption.missing(memory)
    assert found is not None and not found.lines and found.others == {"ann": 2}
    assert "2 records by ann" in adoption.notice_text(found)
    assert "project adopt ann" in adoption.notice_text(found)
    named = adoption.missing(memory, "ann")
    assert named is not None and adoption.adopt(memory, named, USER) == 2
    assert {record.author for record in whole(memory)} == {"ann"}


def test_journal_lines_of_known_records_are_signed_again_if_the_signing_key_was_lost(
    world: World,
) -> None:
    (world.home / "queue.key").unlink()
    assert adoption.missing(world.memory()) is None
    says(world, "Use MySQL for the rest")
    lines = [json.loads(x) for x in (world.local / "decisions.jsonl").read_text().splitlines()]
    assert len(lines) == 3
    assert own_lines.proved(str(world.home), str(world.local), lines) == lines


def test_moving_a_project_to_the_path_of_a_deleted_project_is_reported(world: World) -> None:
    """The place decides; what came there with its journal is not lost without a word."""
    first, blog = project_id(world), world.project
    second = World(world.root, "second")
    says(second, "Use MySQL for the rest")
    id_ = project_id(second)
    shutil.rmtree(blog)
    second.project.rename(blog)
    memory = world.memory()
    assert memory.project is not None and memory.project.id == first
    found = adoption.missing(memory)
    assert found is not None and found.origin == id_
    assert f"project link {id_}" in adoption.notice_text(found)


def test_adoption_does_not_restore_forgotten_records(world: World) -> None:
    memory = world.memory()
    gone = whole(memory)[0]
    memory.forget([gone.id], USER)
    memory.flush()
    memory.close()
    assert adoption.missing(world.memory()) is None
    lose_home(world)
    found = adoption.missing(world.memory())
    assert found is not None and gone.id not in {line["id"] for line in found.lines}
    assert len(found.lines) == 1


def test_records_deleted_from_home_are_restored_from_the_signed_journal_of_the_project(
    world: World,
) -> None:
    before = stored(world)
    shutil.rmtree(world.home / "projects")
    memory = world.memory()
    found = adoption.missing(memory)
    assert found is not None and found.proved and "repair" in adoption.notice_text(found)
    adoption.adopt(memory, found, USER)
    assert whole(memory) == before


def git(world: World, *words: str) -> str:
    done = subprocess.run(
        ["git", *words], cwd=world.project, capture_output=True, text=True, check=True,
        env={"PATH": os.environ["PATH"], "HOME": str(world.root), "GIT_CONFIG_NOSYSTEM": "1"},
    )  # fmt: skip
    return done.stdout


@pytest.mark.parametrize("shared", [False, True])
def test_git_status_never_lists_the_file_of_journal_signatures(
    tmp_path: Path, shared: bool
) -> None:
    from memory_fabric.sharing.git import location, switch

    world = World(Path(os.path.realpath(tmp_path)))
    shutil.rmtree(world.project / ".git")
    git(world, "init", "-q")
    memory = world.memory()
    assert memory.project is not None
    if shared:
        switch.turn(str(world.home), memory.project.id, True)
        assert location.show_to_git(memory.project) == []
    memory.close()
    says(world, *SAID)

    seen = git(world, "status", "--porcelain", "-uall")
    git(world, "add", "-A")

    assert (world.local / own_lines.NAME).exists()
    assert ("decisions.jsonl" in seen) == shared
    assert own_lines.NAME not in seen + git(world, "ls-files")
    (world.local / own_lines.NAME).unlink()
    (world.local / ".gitignore").write_text("graph-queue*\n")
    says(world, "Use MySQL for the rest")
    assert not (world.local / own_lines.NAME).exists(), "git would see it"


def test_records_in_a_journal_that_git_tracks_are_adopted_only_for_a_named_author(
    tmp_path: Path,
) -> None:
    world = World(Path(os.path.realpath(tmp_path)))
    git_folder(world.project, REMOTE)
    world.local.mkdir(parents=True)
    line = {"id": "01900000-0000-7000-8000-000000000001", "type": "decision", "what": SAID[0]}
    (world.local / "decisions.jsonl").write_text(json.dumps(line | {"author": "ann"}) + "\n")
    (world.project / ".git" / "index").write_bytes(b"DIRC .claude/memory/decisions.jsonl")
    memory = world.memory()
    assert adoption.missing(memory) is None
    named = adoption.missing(memory, "ann")
    assert named is not None and len(named.lines) == 1


def test_adoption_reads_only_the_end_of_a_journal_over_the_size_limit(world: World) -> None:
    """A repository may bring one of any size."""
    line = {"id": "01900000-0000-7000-8000-00000000000{}", "type": "decision", "author": "ann"}
    first, last = (json.dumps(line | {"what": what}) for what in ("first", "last"))
    path = world.local / "decisions.jsonl"
    filler = "{}\n" * 100_000
    path.write_text(first.replace("{}", "1") + "\n" + filler + last.replace("{}", "2") + "\n")
    (world.local / own_lines.NAME).unlink()

    found = adoption.missing(world.memory(), max_bytes=1 << 16)

    assert found is not None and [line["what"] for line in found.lines] == ["last"]
    everything = adoption.missing(world.memory())
    assert everything is not None and len(everything.lines) == 2


def test_journal_lines_changed_by_a_purge_have_a_valid_signature(world: World) -> None:
    says(world, "Ship from build7 on Fridays")
    memory = world.memory()
    assert memory.project is not None

    purge.purge(memory, purge.find(memory, "build7"), USER)

    lines, _ = files.read_lines(own_lines.journal_of(memory))
    proved = own_lines.proved(memory.settings.home, memory.project.local, lines)
    memory.close()
    assert any(line.get("forgotten") for line in lines)
    assert proved == lines
