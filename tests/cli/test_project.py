"""project: which one this folder has, all that are known, and settling it by hand."""

from __future__ import annotations

import asyncio
import copy
import json
import sqlite3
from contextlib import closing
from typing import Any

import pytest

from cli.shell import Shell
from cli.terminal import finish, start
from memory_fabric.config import read_settings
from memory_fabric.models import Provenance
from memory_fabric.servers.store_thread import StoreThread
from memory_fabric.store.memory import Memory
from memory_fabric.store.projects import link, registry_file

DECISION = "Use cursor-based pagination for all list endpoints"
OTHER = "Use Redis for the session cache"
REMOTE = '[remote "origin"]\n\turl = git@example.com:acme/{}.git\n'


def beside(shell: Shell, name: str, remote: str = "") -> Shell:
    """The same person in another repository."""
    other = copy.copy(shell)
    other.project = shell.project.parent / name
    (other.project / ".git").mkdir(parents=True)
    if remote:
        give_remote(other, remote)
    return other


def give_remote(shell: Shell, name: str) -> None:
    (shell.project / ".git" / "config").write_text(REMOTE.format(name), "utf-8")


def this(shell: Shell) -> dict[str, Any]:
    """The project of a shell's folder."""
    found: dict[str, Any] = shell.run("project", "--json").json
    return found


def recalled(shell: Shell, *words: str) -> list[str]:
    return [hit["text"] for hit in shell.run("recall", "--json", *words).json["results"]]


def registry(shell: Shell) -> Any:
    """Return the registry without its checksum."""
    page = json.loads((shell.memory / "registry.json").read_text("utf-8"))
    page.pop("sum", None)
    return page


def united(shell: Shell, name: str, remote: str) -> Shell:
    """A second clone that the user has said to be the same project."""
    clone = beside(shell, name, remote)
    clone.run("project", "link", this(shell)["id"], "--yes")
    return clone


@pytest.fixture
def web(shell: Shell) -> Shell:
    """A second repository beside `shop`; both remember something."""
    shell.remember(DECISION)
    other = beside(shell, "web")
    other.remember(OTHER)
    return other


def test_project_list_shows_folders_and_contents_of_each_project(shell: Shell, web: Shell) -> None:
    found = {p["name"]: p for p in web.run("project", "list", "--json").json}

    assert set(found) == {"shop", "web"}
    assert found["shop"]["folders"] == [str(shell.project)]
    assert found["shop"]["records"] == 1 and found["shop"]["bytes"] > 0
    assert (found["shop"]["here"], found["web"]["here"]) == (False, True)
    assert str(shell.project) in web.run("project", "list").out


def test_project_link_without_yes_shows_its_plan_and_changes_nothing(
    shell: Shell, web: Shell
) -> None:
    before = registry(shell)

    refused = web.run("project", "link", str(shell.project))
    planned = web.run("project", "link", str(shell.project), "--json").json

    assert refused.status == 2 and "--yes" in refused.err
    assert "memories are copied" in refused.out
    assert (planned["to"], planned["done"]) == (this(shell)["id"], False)
    assert registry(shell) == before


@pytest.mark.parametrize("by", ["id", "key", "path", "name"])
def test_project_link_accepts_an_id_key_folder_or_name(shell: Shell, web: Shell, by: str) -> None:
    shop = this(shell)
    wanted = {"id": shop["id"], "key": shop["keys"][0], "path": "../shop", "name": "shop"}[by]

    done = web.run("project", "link", wanted, "--yes", "--json")

    assert done.status == 0, done.err
    assert this(web)["id"] == shop["id"]


def test_project_link_copies_a_projects_memory_and_undo_removes_the_copy(
    shell: Shell, web: Shell
) -> None:
    shop, was = this(shell), this(web)
    exported, left = shell.run("export").out, web.run("export").out
    before = registry(shell)

    told = web.run("project", "link", "shop", "--yes", "--json").json
    together = shell.run("export").out
    known = recalled(shell, "Redis cache"), recalled(web, "pagination")
    undone = web.run("project", "undo", "--yes")

    assert told["undo"] == "memory-fabric project undo"
    assert OTHER in known[0] and DECISION in known[1]
    assert left and set(left.split("\n")) <= set(together.split("\n"))
    assert undone.status == 0, undone.err
    assert (this(shell)["id"], this(web)["id"]) == (shop["id"], was["id"])
    assert shell.run("export").out == exported and web.run("export").out == left
    assert registry(shell) == before
    assert OTHER not in shell.notes.read_text("utf-8")
    assert web.run("check").status == 0 and shell.run("check").status == 0


def test_memories_copied_by_project_link_keep_time_and_author(shell: Shell, web: Shell) -> None:
    web.run("import", "-", stdin='{"type":"entity","name":"Zoë","entityType":"person",'
            '"observations":["likes tea"]}')  # fmt: skip
    before = web.run("why", "Zoë", "--json").json

    web.run("project", "link", "shop", "--yes")

    assert shell.run("why", "Zoë", "--json").json == before


def test_project_link_copies_nothing_if_another_folder_still_uses_the_project(shell: Shell) -> None:
    give_remote(shell, "acme")
    clone = united(shell, "clone", "acme")
    third = beside(shell, "third")
    shell.remember(DECISION)
    assert this(clone)["id"] == this(shell)["id"]

    told = clone.run("project", "link", this(third)["id"], "--yes", "--json").json

    assert (told["left"], told["coming"]) == ([], 0)
    assert this(clone)["id"] == this(third)["id"] != this(shell)["id"]
    assert recalled(clone, "pagination") == []
    assert recalled(shell, "pagination") == [DECISION]


def test_project_split_gives_a_clone_its_own_project_and_can_be_undone(shell: Shell) -> None:
    give_remote(shell, "acme")
    clone = united(shell, "clone", "acme")
    shell.remember(DECISION)
    shared = this(clone)["id"]

    done = clone.run("project", "split", "--yes")

    assert done.status == 0 and "memory-fabric project undo" in done.out
    assert this(clone)["id"] != shared == this(shell)["id"]
    assert recalled(clone, "pagination") == []
    assert clone.run("project", "undo", "--yes").status == 0
    assert this(clone)["id"] == shared


def test_folders_keep_their_projects_after_the_registry_is_lost(shell: Shell) -> None:
    give_remote(shell, "acme")
    clone = united(shell, "clone", "acme")
    clone.run("project", "split", "--yes")
    own, shared = this(clone)["id"], this(shell)["id"]

    (shell.memory / "registry.json").unlink()

    assert (this(clone)["id"], this(shell)["id"]) == (own, shared)


def test_project_link_can_settle_a_key_conflict_for_either_project(shell: Shell) -> None:
    give_remote(shell, "acme")
    first, clone = this(shell)["id"], beside(shell, "clone")
    second = this(clone)["id"]
    give_remote(clone, "acme")

    told = clone.run("project")
    clone.run("project", "link", second, "--yes")
    settled = this(clone)

    assert second in told.err and "memory-fabric project link" in told.err
    assert (settled["id"], settled["others"]) == (second, [])
    clone.run("project", "link", first, "--yes")
    assert (this(clone)["id"], this(clone)["others"]) == (first, [])


def test_splitting_the_only_folder_starts_an_empty_project_and_can_be_undone(
    shell: Shell,
) -> None:
    shell.remember(DECISION)

    shell.run("project", "split", "--yes")
    without = recalled(shell, "pagination")
    shell.run("project", "undo", "--yes")

    assert without == [] and recalled(shell, "pagination") == [DECISION]


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("link",), 2),
        (("link", "nowhere"), 3),
        (("link", "shop"), 2),
        (("split", "extra"), 2),
        (("marry", "x"), 2),
        (("undo",), 3),
    ],
)
def test_an_invalid_project_command_prints_one_line_and_changes_nothing(
    shell: Shell, words: tuple[str, ...], status: int
) -> None:
    shell.remember(DECISION)
    before = registry(shell)

    done = shell.run("project", *words, "--yes")

    assert done.status == status
    assert done.err.startswith("memory-fabric: ") and done.err.count("\n") == 1
    assert registry(shell) == before


def test_project_link_changes_nothing_if_the_user_answers_no(shell: Shell, web: Shell) -> None:
    before = registry(shell)
    terminal = start(web, "project", "link", "shop")
    terminal.expect("Assign this folder to shop")

    terminal.sendline("n")
    status, said = finish(terminal)

    assert status == 1 and "nothing was changed" in said
    assert registry(shell) == before


def test_repeated_project_undo_reverts_one_assignment_at_a_time(shell: Shell) -> None:
    shell.remember(DECISION)
    own = this(shell)["id"]
    ids = [own]
    for _ in range(3):
        shell.run("project", "split", "--yes")
        ids.append(this(shell)["id"])

    back = []
    for _ in range(3):
        shell.run("project", "undo", "--yes")
        back.append(this(shell)["id"])
    last = shell.run("project", "undo", "--yes")

    assert len(set(ids)) == 4
    assert back == ids[-2::-1]
    assert recalled(shell) == [DECISION]
    assert last.status == 3


def test_linked_folders_keep_their_project_after_the_registry_is_damaged(
    shell: Shell, web: Shell
) -> None:
    shell.run("project", "link", str(web.project), "--yes")
    both = this(shell)["id"]
    (shell.memory / "registry.json").write_text('{"keys": {"a": 1}}', "utf-8")

    assert this(shell)["id"] == both
    assert sorted(recalled(shell)) == sorted([DECISION, OTHER])


@pytest.mark.parametrize(
    "note",
    [
        {"old": 5, "keys": {"x": 1}},
        {"old": "../../etc", "keys": {}},
        {"old": "", "keys": {}},
        {"old": "shop-1", "keys": {"x": "../y"}},
        {"old": "shop-1", "keys": {}, "settled": 3},
    ],
)
def test_project_undo_changes_nothing_if_its_registry_entry_is_invalid(
    shell: Shell, web: Shell, note: dict[str, Any]
) -> None:
    shell.run("project", "link", str(web.project), "--yes")
    home = str(shell.memory)
    known = registry_file.read_registry(home)
    registry_file.write_registry(home, known._replace(undo=dict.fromkeys(known.undo, note)), {})
    page = registry(shell)
    before = sorted(path.name for path in (shell.memory / "projects").iterdir())

    done = shell.run("project", "undo", "--yes")

    assert done.status == 3
    assert registry(shell) == page
    assert sorted(path.name for path in (shell.memory / "projects").iterdir()) == before


def test_sync_does_not_retry_a_project_link_that_met_a_locked_database(
    shell: Shell, web: Shell
) -> None:
    database = shell.memory / "projects" / this(web)["id"] / "graph.db"
    own = this(shell)["id"]
    connection = sqlite3.connect(database)
    connection.execute("BEGIN IMMEDIATE")

    done = shell.run("project", "link", str(web.project), "--yes")
    connection.rollback()
    connection.close()
    shell.run("sync")

    assert done.status == 1
    assert this(shell)["id"] == own
    assert recalled(web) == [OTHER]


def test_memories_stored_while_project_link_runs_are_also_copied(shell: Shell, web: Shell) -> None:
    settings = read_settings(
        {"HOME": str(shell.user_home), "CLAUDE_PROJECT_DIR": str(shell.project)}, {}
    )
    late = "Always run the linter before pushing"
    said: list[dict[str, Any]] = []

    def say(_done: int, _of: int) -> None:
        if not said:
            said.append(shell.remember(late))

    with closing(Memory.open(settings)) as memory:
        plan = link.plan(memory, "link", str(web.project))
        link.carry_out(memory, plan, Provenance(source="cli", trust="user"), say)

    assert sorted(recalled(shell)) == sorted([DECISION, OTHER, late])


def test_a_running_server_writes_to_the_newly_linked_project(shell: Shell, web: Shell) -> None:
    settings = read_settings(
        {"HOME": str(shell.user_home), "CLAUDE_PROJECT_DIR": str(shell.project)}, {}
    )
    thread = StoreThread(lambda: Memory.open(settings))
    late = {"entities": [{"name": "Late", "entityType": "service", "observations": ["late"]}]}
    by = Provenance(source="mcp", trust="user")

    asyncio.run(thread.ask(lambda memory: memory.databases()))
    linked = shell.run("project", "link", str(web.project), "--yes")
    asyncio.run(thread.ask(lambda m: m.write("create_entities", late, by), changes=True))
    closed = thread.close(10)

    assert linked.status == 0
    assert closed
    assert "Late" in web.run("recall", "Late").out


def test_moving_a_project_folder_does_not_change_the_registry(shell: Shell, web: Shell) -> None:
    settings = read_settings(
        {"HOME": str(shell.user_home), "CLAUDE_PROJECT_DIR": str(shell.project)}, {}
    )
    with closing(Memory.open(settings)) as memory:
        known = (shell.memory / "registry.json").read_text("utf-8")
        shell.project.rename(shell.project.with_name("elsewhere"))

        assert not memory.has_moved()
        assert (shell.memory / "registry.json").read_text("utf-8") == known


def test_project_split_shows_what_changes_and_how_to_revert_it(shell: Shell) -> None:
    shell.remember(DECISION)
    id_ = this(shell)["id"]
    old = f"shop ({id_}, records: 1)"

    split = shell.run("project", "split", "--yes").out.splitlines()
    back = shell.run("project", "undo", "--yes").out.splitlines()

    assert split[0].split(maxsplit=1) == ["from", old]
    assert split[1].startswith("to    shop (") and split[1].endswith(", records: 0)")
    assert split[3:5] == [
        f"No folder will belong to {old} any more.",
        "Its memories stay where they are.",
    ]
    assert split[5].endswith(") now. memory-fabric project undo reverts it.")
    assert back[-1] == f"This folder belongs to shop ({id_}) now."


def test_undoing_a_link_says_that_copied_memories_are_removed(shell: Shell, web: Shell) -> None:
    linked = web.run("project", "link", "shop", "--yes").out
    undone = web.run("project", "undo", "--yes").out

    assert "Its memories are copied (" in linked and "and also stay where they are" in linked
    removed = "The memories that were copied are removed again."
    assert (removed in linked, removed in undone) == (False, True)


def test_the_list_of_projects_marks_that_of_this_folder(shell: Shell, web: Shell) -> None:
    shell.run("project", "split", "--yes")

    names, *rows = [line.split() for line in shell.run("project", "list").out.splitlines()]

    assert names == ["name", "id", "records", "entities", "size", "folders"]
    assert len(rows) == 3 and [row[1] for row in rows if row[0] == "*"] == ["shop"]
    records = {row[-1]: row[-5] for row in rows}
    assert (records["—"], records[str(web.project)]) == ("1", "1")


def test_project_adopt_has_nothing_to_do_while_memory_has_all_records(shell: Shell) -> None:
    shell.remember(DECISION)

    done = shell.run("project", "adopt", "--yes")

    assert (done.status, done.out) == (3, "")
    assert "Memory has all records" in done.err


def test_only_the_user_can_change_the_project_of_a_folder(shell: Shell, web: Shell) -> None:
    before = registry(shell)

    done = web.run("project", "link", "shop", "--yes", CLAUDECODE="1")

    assert done.status == 2
    assert "The user types /memory-fabric:project link shop, or runs" in done.err
    assert registry(shell) == before
