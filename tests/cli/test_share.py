"""share: what git sees, and what is told about it."""

from __future__ import annotations

from cli.shell import Shell
from memory_fabric.models import QUOTATION, Provenance, Record
from viewer import waits

OFF = "Not shared: memory-fabric shares no records of this project.\n"


def test_sharing_is_off_until_it_is_switched_on(shell: Shell) -> None:
    state = shell.run("share")

    assert (state.status, state.out, state.err) == (0, OFF, "")
    assert shell.run("share", "--json").json["sharing"] is False


def test_sharing_tells_what_others_will_see_and_what_to_do_next(shell: Shell) -> None:
    shell.remember("Use tabs in Makefiles", "--type", "rule")
    for text in ("We use Redis for sessions", "We use Kafka for events"):
        shell.remember(text, "--type", "decision")
    path = shell.project / ".claude" / "memory" / "decisions.jsonl"

    on = shell.run("share", "on").out.splitlines()
    state = shell.run("share").out
    told = shell.run("share", "--json").json

    assert on[0] == f"Shared: {path} (decision 2, constraint 1)."
    assert on[1].startswith("Once you commit it,") and "your name and machine (ann on " in on[1]
    assert on[2] == f"Next: review it, then run git add {path.parent} and git commit."
    assert state == f"{on[0]}\n"
    assert (told["sharing"], told["file"]) == (True, str(path))
    assert list(told["lines"].items()) == [("decision", 2), ("constraint", 1)]
    assert (told["unreadable"], told["conflict"], told["waiting"]) == (0, False, 0)


def test_an_unreadable_line_and_a_conflict_in_the_shared_file_are_told(shell: Shell) -> None:
    shell.remember("Use tabs in Makefiles")
    shell.run("share", "on")
    path = shell.project / ".claude" / "memory" / "decisions.jsonl"
    path.write_text("{torn\n" + path.read_text("utf-8"), "utf-8")
    torn = shell.run("share").out
    path.write_text("<<<<<<< HEAD\n" + path.read_text("utf-8") + ">>>>>>> theirs\n", "utf-8")
    shell.remember("Use spaces in Python")
    marked = shell.run("share").out

    assert "Unreadable and ignored: 1 line of it.\n" in torn
    assert "conflict markers" not in torn
    assert "It has conflict markers: keep the lines of both sides" in marked
    assert "1 line of yours waiting in the home until the merge conflict is resolved.\n" in marked


def test_ending_the_sharing_stops_reading_others_and_keeps_their_records(shell: Shell) -> None:
    shell.run("share", "on")
    waits.read(shell, waits.colleague(shell, "Carts are kept in Redis"))

    on, off = shell.run("share").out, shell.run("share", "off").out
    deleted = shell.run("share", "off", "--forget", "--yes").out

    others = "Records of others, by the name they claim: bob 1.\n"
    assert on.endswith(others)
    assert off.startswith(f"{OFF}Records of others are not read any more;")
    assert off.endswith(f"{others}They stay; memory-fabric share off --forget deletes them.\n")
    assert "Deleted: 1 record of others. share on reads them again." in deleted
    assert shell.run("share", "off", "--forget").out.endswith("There are no records of others.\n")


def test_words_of_a_replaced_memory_are_taken_back_with_all_others(shell: Shell) -> None:
    shell.run("share", "on")
    said, by = "only ever deploy after Carla looked", Provenance("cli", "user")
    memory = shell.open_memory()
    old = memory.remember(Record("decision", "Deploys wait", evidence={QUOTATION: said}), by)
    memory.close()
    assert old is not None
    shell.run("team", "release", old.id)
    journal = shell.project / ".claude" / "memory" / "decisions.jsonl"
    shell.run("sync")
    assert said in journal.read_text("utf-8")
    shell.remember("Deploys go out at noon", "--instead-of", old.id)

    done = shell.run("team", "release", "--undo")

    assert done.status == 0, done.err
    assert said not in journal.read_text("utf-8")
    assert "superseded by" in shell.run("why", old.id).out
