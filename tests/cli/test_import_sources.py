"""import: memories of other programs by command."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from cli.shell import Shell
from importing.foreign import ClaudeMem


@pytest.fixture
def database(shell: Shell) -> Path:
    """claude-mem's database with three observations of this project, and one of another."""
    made = ClaudeMem(shell.user_home / ".claude-mem" / "claude-mem.db")
    made.add("observations", project="shop", type="decision", title="The queue is Redis")
    made.add("observations", project="shop", title="Payments are retried with a delay")
    # In parts, so that no scanner takes it for a real one.
    made.add("observations", project="shop", title="password is " + "hun" + "ter2ZX9")
    made.add("observations", project="blog", title="Hugo builds the blog")
    return made.close()


def imported(done: Any) -> dict[str, Any]:
    """The only source of an answer in JSON."""
    assert done.status == 0, done.err
    (one,) = done.json["imports"]
    return dict(one)


def first(shell: Shell, words: str) -> str:
    """The short id of the best hit."""
    return str(shell.run("recall", words, "--json").json["results"][0]["id"])[-8:]


def worked_in(shell: Shell, folder: Path) -> Path:
    """A repository in which Claude Code has had a session."""
    (folder / ".git").mkdir(parents=True)
    slug = re.sub(r"[^A-Za-z0-9]", "-", str(folder))
    past = shell.user_home / ".claude" / "projects" / slug / "s.jsonl"
    past.parent.mkdir(parents=True)
    entry = {
        "type": "user",
        "uuid": "u",
        "sessionId": "s",
        "timestamp": "2025-11-02T10:00:00.000Z",
        "cwd": str(folder),
        "message": {"role": "user", "content": "Which tool builds it?"},
    }
    past.write_text(json.dumps(entry) + "\n")
    os.utime(past, (1_762_077_600, 1_762_077_600))
    return folder


def test_an_import_can_be_previewed_undone_and_repeated(shell: Shell, database: Path) -> None:
    before = shell.run("import", str(database), "--dry-run")
    empty = shell.run("recall", "queue").out
    done = shell.run("import", str(database))
    found = shell.run("recall", "queue", "--json").json
    again = shell.run("import", str(database), "--json")
    back = shell.run("import", "--undo")

    assert "left out, another project's: 1 (“blog”)" in before.out
    assert "left out, nothing but a secret: 1\n" in before.out
    assert "Nothing was changed" in before.out
    assert "Redis" not in empty
    assert "Imported 2 memories, without your trust" in done.out
    assert "The queue is Redis" in json.dumps(found)
    assert (imported(again)["new"], imported(again)["stored"]) == (0, None)
    assert back.out == "shop: 2 changes taken back.\n"
    assert "Redis" not in shell.run("recall", "queue").out
    assert shell.run("import", "--undo").status == 3
    assert imported(shell.run("import", str(database), "--json"))["stored"]["records"] == 2


def test_imported_memories_show_their_source_and_time(shell: Shell, database: Path) -> None:
    shell.run("import", str(database))

    loaded = shell.run("load").out
    short = re.search(r"from claude-mem, unverified · stale · (\w+)\] The queue is Redis", loaded)
    assert short is not None
    why = shell.run("why", short[1]).out
    assert "imported from  claude-mem" in why
    assert "2025-11-02 10:01" in why
    assert "tool, confidence" in why
    assert not shell.notes.exists() or "Redis" not in shell.notes.read_text("utf-8")


def test_a_forgotten_memory_is_not_imported_again(shell: Shell, database: Path) -> None:
    shell.run("import", str(database))
    short = first(shell, "queue")
    shell.run("forget", short, "--yes")

    one = imported(shell.run("import", str(database), "--json"))

    assert one["new"] == 0
    assert {left["reason"] for left in one["left_out"]} >= {"forgotten earlier"}


def test_import_without_a_path_lists_importable_sources(shell: Shell, database: Path) -> None:
    (shell.project / "AGENTS.md").write_text("- Run the tests before each commit\n")

    done = shell.run("import")

    assert done.status == 0
    assert re.search(r"claude-mem's database +4 +2 +memory-fabric import ~/\.claude-mem", done.out)
    assert re.search(r"instructions for assistants +1 +1 +memory-fabric import", done.out)
    assert "Nothing was changed" in done.out
    assert "Redis" not in shell.run("recall", "queue").out


def test_import_without_a_path_reports_that_nothing_importable_was_found(shell: Shell) -> None:
    done = shell.run("import")

    assert (done.status, done.err) == (0, "")
    assert done.out.startswith("Nothing to import for shop was found")


def test_import_with_option_all_stores_memories_in_their_own_projects(
    shell: Shell, database: Path
) -> None:
    blog = worked_in(shell, shell.project.parent / "blog")

    one = imported(shell.run("import", str(database), "--all", "--json"))
    here = shell.run("recall", "Hugo").out
    there = shell.run("recall", "Hugo", MEMORY_FABRIC_PROJECT_DIR="", CLAUDE_PROJECT_DIR=str(blog))
    back = shell.run("import", "--undo").out

    assert one["projects"] == {"shop": 2, "blog": 1}
    assert "Hugo" not in here
    assert "Hugo builds the blog" in there.out
    assert "blog: 1 change taken back." in back


@pytest.mark.parametrize("stated", ["shop", "shop/worktree"])
def test_import_requires_option_yes_if_two_projects_have_the_same_name(
    shell: Shell, stated: str
) -> None:
    made = ClaudeMem(shell.user_home / ".claude-mem" / "claude-mem.db")
    made.add("observations", project=stated, title="The queue is Redis")
    database = made.close()
    other = worked_in(shell, shell.project.parent / "b" / "shop")

    looked = shell.run("import", str(database), "--dry-run")
    done = shell.run("import", str(database))
    empty = shell.run("recall", "queue").out
    asked = shell.run("import", str(database), "--yes", "--json")

    assert str(other) in looked.err
    assert done.status == 2
    assert "--yes" in done.err
    assert "Redis" not in empty
    assert imported(asked)["stored"]["records"] == 1


def test_imported_instructions_show_their_file_and_line(shell: Shell) -> None:
    (shell.project / "CLAUDE.md").write_text("# Shop\n\n## Style\n- Tabs, not spaces\n")

    shell.run("import", "CLAUDE.md")
    short = first(shell, "tabs")

    assert "imported from  CLAUDE.md, line 4" in shell.run("why", short).out


@pytest.mark.parametrize(
    "words", [("--undo", "x"), ("memory.jsonl", "CLAUDE.md"), ("memory.jsonl", "--dry-run")]
)
def test_import_refuses_conflicting_arguments(shell: Shell, words: tuple[str, ...]) -> None:
    (shell.project / "CLAUDE.md").write_text("- Tabs\n")
    (shell.project / "memory.jsonl").write_text("{}\n")

    done = shell.run("import", *words)

    assert done.status == 2
    assert done.err.startswith("memory-fabric: ")


def test_import_is_refused_while_memory_is_switched_off(shell: Shell, database: Path) -> None:
    shell.run("off")

    done = shell.run("import", str(database))

    assert done.status == 1
    assert "memory-fabric on" in done.err


def test_forget_with_purge_erases_an_imported_memory_from_every_file(
    shell: Shell, database: Path
) -> None:
    shell.run("import", str(database))

    done = shell.run("forget", "The queue is Redis", "--purge", "--yes")
    assert done.status == 0, done.err

    left = [
        p for p in shell.memory.rglob("*") if p.is_file() and b"queue is Redis" in p.read_bytes()
    ]
    assert left == []


def test_undo_reports_the_number_of_changes_of_a_large_import(shell: Shell) -> None:
    made = ClaudeMem(shell.user_home / ".claude-mem" / "claude-mem.db")
    for number in range(25):
        made.add("observations", project="shop", title=f"Service {number} listens on its own port")
    shell.run("import", str(made.close()))

    done = shell.run("undo", "--last")
    again = shell.run("undo", done.out.split("memory-fabric undo ")[1].split()[0])

    assert done.out.startswith("Undone: 25 changes that were made together.")
    assert again.out.startswith("Undone: 25 changes")
    assert "Service 7" in shell.run("recall", "Service 7 port").out


def test_import_prints_a_command_that_confirms_all_rules_just_imported(
    shell: Shell,
) -> None:
    (shell.project / "CLAUDE.md").write_text("- Tabs, not spaces\n- Never push to main\n")
    export = shell.project / "mem0.json"
    rows = [{"id": text, "memory": text, "user_id": "ann"} for text in ("Likes tea", "Uses vim")]
    export.write_text(json.dumps({"results": rows}))

    shell.run("import", str(export))
    told = shell.run("import", "CLAUDE.md").out
    listed = shell.run("review", "--limit", "1").out

    assert "all of mem0: --holds or --drop mem0" in listed
    assert "all 2 of CLAUDE.md: --holds or --drop CLAUDE.md" in listed
    confirm = " ".join(told.split()).rpartition("memory-fabric ")[2]
    assert confirm == "review --holds CLAUDE.md"
    done = shell.run(*confirm.split())
    assert done.status == 0 and done.out.count("Confirmed") == 2
    waiting = shell.run("review", "--json", "--limit", "9").json["due"]
    assert [one["record"]["evidence"]["imported"] for one in waiting] == ["mem0", "mem0"]
    assert "from CLAUDE.md, unverified" not in shell.run("load").out


def test_an_import_of_several_files_shows_and_counts_what_each_of_them_has(shell: Shell) -> None:
    (shell.project / "CLAUDE.md").write_text("- Tabs, not spaces\n- Never push to main\n")
    (shell.project / "AGENTS.md").write_text("- Run the tests before each commit\n")

    preview = shell.run("import", "AGENTS.md", "--dry-run").out.splitlines()
    done = shell.run("import", "CLAUDE.md", "AGENTS.md").out
    again = shell.run("import", "CLAUDE.md", "AGENTS.md")

    assert preview == [
        "AGENTS.md: instructions for assistants, 1 statement, 1 new",
        "  for shop: 1 rule",
        "Nothing was changed. Without --dry-run it is imported.",
    ]
    assert (
        "CLAUDE.md: instructions for assistants, 2 statements, 2 new\n  for shop: 2 rules" in done
    )
    assert "Imported 3 memories, without your trust" in done
    assert done.endswith("memory-fabric review --holds CLAUDE.md --holds AGENTS.md\n")
    assert "left out, in memory already: 2 (“Tabs, not spaces”; “Never push to main”)" in again.out
    assert again.out.endswith("Nothing new to import; nothing was changed.\n")


def test_files_that_cannot_be_imported_together_are_refused(shell: Shell) -> None:
    (shell.project / "CLAUDE.md").write_text("- Tabs, not spaces\n")
    (shell.project / "graph.jsonl").write_text('{"type":"entity","name":"a","entityType":"t"}\n')

    done = shell.run("import", "CLAUDE.md", "graph.jsonl")
    undone = shell.run("import", "--undo", "CLAUDE.md")

    assert done.status == undone.status == 2
    assert "graph.jsonl is not of a form that can be imported with others." in done.err
    assert "--undo takes no path" in undone.err
    assert shell.run("recall").status == 3


def test_a_memory_that_is_confirmed_is_not_dropped_with_the_others_of_its_program(
    shell: Shell, database: Path
) -> None:
    shell.run("import", str(database))

    done = shell.run("review", "--holds", first(shell, "queue"), "--drop", "claude-mem")

    assert done.out.count("Confirmed") == done.out.count("Forgotten") == 1
    assert "The queue is Redis" in shell.run("recall", "queue").out
    assert shell.run("recall", "payments").status == 3


def test_option_all_leaves_out_projects_in_which_memory_is_off(
    shell: Shell, database: Path
) -> None:
    blog = worked_in(shell, shell.project.parent / "blog")
    there = {"MEMORY_FABRIC_PROJECT_DIR": "", "CLAUDE_PROJECT_DIR": str(blog)}
    shell.run("off", "--here", **there)

    done = shell.run("import", str(database), "--all")

    assert done.status == 0, done.err
    assert "left out, of projects in which capture is off: 1 (“" in done.out
    assert "Imported 2 memories" in done.out
    shell.run("on", "--here", **there)
    assert "Imported 1 memory" in shell.run("import", str(database), "--all").out
