"""stale: memories whose files have changed, and how they become true again."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.shell import Shell

DECISION = "Pagination in src/api.py uses cursors"


@pytest.fixture
def changed(shell: Shell) -> Shell:
    """A shell that remembers a decision about a file which was edited since."""
    file = shell.project / "src" / "api.py"
    file.parent.mkdir()
    file.write_text("page = 1\n")
    shell.remember(DECISION)
    file.write_text("pages = 2\n")
    return shell


def test_stale_lists_a_record_whose_file_changed_and_shows_a_remedy(changed: Shell) -> None:
    done = changed.run("stale")

    assert done.status == 0
    assert f"{DECISION} (src/api.py has changed since)" in done.out
    assert "review --holds ID" in done.out


def test_stale_with_json_lists_records_and_their_changed_files(changed: Shell) -> None:
    done = changed.run("stale", "--files", "--json")

    (one,) = done.json["changed_files"]
    assert (one["what"], one["files"]) == (DECISION, {"src/api.py": "changed"})
    assert done.json["total_changed_files"] == 1


def test_the_option_type_limits_the_list_of_stale_records(changed: Shell) -> None:
    assert changed.run("stale", "--files", "--type", "preference").status == 3


def test_stale_with_files_omits_memories_without_changed_files(shell: Shell) -> None:
    shell.remember("We chose Redis for sessions")

    done = shell.run("stale", "--files")

    assert (done.status, done.out.strip()) == (
        3,
        "No memory names a file that has changed since.",
    )


def test_a_stale_record_that_the_user_confirms_is_no_longer_stale(changed: Shell) -> None:
    (one,) = changed.run("stale", "--json").json["changed_files"]

    assert changed.run("review", "--holds", one["short_id"]).status == 0

    assert changed.run("stale").status == 3


def test_an_edited_record_is_no_longer_stale(changed: Shell) -> None:
    (one,) = changed.run("stale", "--json").json["changed_files"]

    assert changed.run("edit", one["short_id"], "--text", f"{DECISION}, always").status == 0

    assert changed.run("stale").status == 3


def test_purge_erases_the_path_of_a_changed_file(changed: Shell) -> None:
    plan = changed.run("forget", "--purge", "src/api.py", "--json")
    done = changed.run("forget", "--purge", "src/api.py", "--confirm", plan.json["code"])

    assert done.status == 0, done.err
    assert changed.run("stale").status == 3
    assert not _held(changed.memory, b"src/api.py")


def _held(folder: Path, words: bytes) -> list[Path]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path for path in files if words in path.read_bytes()]


def test_only_the_requested_number_of_memories_with_changed_files_is_listed(
    changed: Shell,
) -> None:
    (changed.project / "src" / "jobs.py").write_text("x = 1\n")
    changed.remember("Jobs in src/jobs.py run at night")
    (changed.project / "src" / "jobs.py").unlink()

    one = changed.run("stale", "--files", "--limit", "1")
    both = changed.run("stale", "--files", "--limit", "2")

    assert "and 1 older ones (--limit)" in one.out and "older ones" not in both.out
    assert "src/jobs.py is gone" in both.out and "src/api.py has changed since" in both.out
    assert len(changed.run("stale", "--limit", "1", "--json").json["changed_files"]) == 1
