"""Lines of a shared journal as they are published, taken back, and read as records of others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memory_fabric.models import QUOTATION, RELEASED
from memory_fabric.sharing.git import adoption, location, shared_journal, switch
from memory_fabric.store.memory import Memory
from memory_fabric.store.projects import own_lines
from sharing.journals import isolate, line, track, write
from store.support import USER, World, database, decision

Line = dict[str, Any]
QUOTED: Line = {"evidence": {QUOTATION: "carla said so"}}


@pytest.fixture(autouse=True)
def sharing(memory: Memory) -> None:
    """Share the records of the project."""
    assert memory.project is not None
    switch.turn(memory.settings.home, memory.project.id, True)


@pytest.fixture
def shared(world: World) -> Path:
    return world.local / "decisions.jsonl"


@pytest.fixture
def waiting(memory: Memory) -> Path:
    """The journal in home."""
    assert memory.project is not None
    return Path(location.private_folder(memory, memory.project)) / "decisions.jsonl"


def forgotten(said: Line) -> Line:
    return {"id": said["id"], "forgotten": True}


def lines_of(path: Path) -> list[Line]:
    return [json.loads(text) for text in path.read_text("utf-8").splitlines()]


def test_lines_that_wait_in_home_are_moved_once_to_the_shared_journal(
    memory: Memory, shared: Path, waiting: Path
) -> None:
    known, gone, new, brief = (line(n) for n in range(4))
    write(shared, known, gone)
    write(waiting, known, new, gone, forgotten(gone), brief, forgotten(brief))

    assert shared_journal.count_waiting(memory) == 6
    assert shared_journal.publish(memory) == 2
    assert shared_journal.publish(memory) == 0

    # A record that nobody was told of is not published as forgotten either.
    assert lines_of(shared) == [known, gone, new, forgotten(gone)]
    assert not waiting.exists() and shared_journal.count_waiting(memory) == 0


def test_a_record_that_is_as_before_again_is_published_again(
    memory: Memory, shared: Path, waiting: Path
) -> None:
    restored, back = line(1), line(2)
    reworded = back | {"what": "Rule 2, reworded"}
    write(shared, restored, forgotten(restored), back, reworded)
    write(waiting, restored, reworded, back)

    assert shared_journal.publish(memory) == 2

    assert lines_of(shared)[4:] == [restored, back]


def test_lines_wait_in_home_during_a_conflict_and_without_sharing(
    world: World, memory: Memory, shared: Path, waiting: Path
) -> None:
    assert shared_journal.publish(memory) == 0  # nothing waits
    write(waiting, line(1))
    shared.parent.mkdir(parents=True)
    shared.write_text("<<<<<<< HEAD\n")
    assert shared_journal.publish(memory) == 0

    shared.write_text("")
    assert memory.project is not None
    switch.turn(memory.settings.home, memory.project.id, False)
    track(world)
    assert shared_journal.publish(memory) == 0

    assert shared.read_text() == "" and lines_of(waiting) == [line(1)]


def test_lines_of_isolated_domains_stay_in_home(
    memory: Memory, shared: Path, waiting: Path
) -> None:
    isolate(memory, "legal")
    apart, public = line(1, domain="legal"), line(2, domain="general")
    write(waiting, apart, public)

    assert shared_journal.count_waiting(memory) == 1
    assert shared_journal.publish(memory) == 1
    assert shared_journal.publish(memory) == 0

    assert (lines_of(waiting), lines_of(shared)) == ([apart], [public])
    assert shared_journal.count_waiting(memory) == 0


@pytest.mark.parametrize("share_words", [False, True])
def test_quotations_are_published_only_if_the_user_shares_them(
    memory: Memory, shared: Path, waiting: Path, *, share_words: bool
) -> None:
    memory.settings = memory.settings._replace(share_words=share_words)
    write(waiting, line(1, **QUOTED))

    assert shared_journal.publish(memory) == 1

    assert ("carla" in shared.read_text("utf-8")) is share_words


def test_private_content_leaves_a_journal_that_git_does_not_track_yet(
    world: World, memory: Memory, shared: Path, waiting: Path
) -> None:
    isolate(memory, "legal")
    kept, apart = line(1), line(2, domain="legal")
    quoted, gone = line(3, **QUOTED), line(4)
    before = [kept, apart, gone, quoted, forgotten(gone)]

    write(shared, *before)
    track(world)
    assert shared_journal.remove_private(memory) == 0 and lines_of(shared) == before
    (world.project / ".git" / "index").unlink()

    assert shared_journal.remove_private(memory) == 4
    assert shared_journal.remove_private(memory) == 0

    assert lines_of(shared) == [kept, quoted | {"evidence": {}}]
    assert lines_of(waiting) == [apart]
    assert (waiting.parent / ".gitignore").read_text() == "*\n"


def test_own_lines_that_lose_their_quotations_stay_proved_and_no_others_become_so(
    memory: Memory, shared: Path
) -> None:
    own, doubtful = line(1, **QUOTED), line(2, **QUOTED)
    write(shared, own, doubtful)
    (shared.parent / ".gitignore").write_text("*\n")
    home, folder = memory.settings.home, str(shared.parent)
    own_lines.write(home, folder, adoption.current_header(memory), [own])

    assert shared_journal.remove_private(memory) == 2

    bare = own | {"evidence": {}}
    assert own_lines.proved(home, folder, lines_of(shared)) == [bare]


def test_a_journal_with_unreadable_lines_is_not_rewritten(memory: Memory, shared: Path) -> None:
    assert shared_journal.remove_private(memory) == 0  # there is none
    write(shared, line(1), forgotten(line(1)))
    text = shared.read_text() + "<<<<<<< HEAD\n"
    shared.write_text(text)

    assert shared_journal.remove_private(memory) == shared_journal.take_back_words(memory) == 0

    assert shared.read_text() == text


def test_only_the_users_own_quotations_that_are_not_released_are_taken_back(
    memory: Memory, shared: Path
) -> None:
    said = [
        memory.remember(decision(what, evidence=evidence), USER)
        for what, evidence in (
            ("Use tabs", {RELEASED: True, QUOTATION: "tabs"}),
            ("Use UTC", {}),
            ("Use Kafka", {}),
        )
    ]
    released, own, plain = (line(0) | {"id": record.id} for record in said if record is not None)
    own |= {"evidence": {**QUOTED["evidence"], RELEASED: True, "when": "git push"}}
    released |= QUOTED
    theirs = line(1, author="bob", **QUOTED)
    before = [own, released, plain, theirs]
    write(shared, *before)

    memory.settings = memory.settings._replace(share_words=True)
    assert shared_journal.take_back_words(memory) == 0 and lines_of(shared) == before
    memory.settings = memory.settings._replace(share_words=False)
    assert shared_journal.take_back_words(memory) == 1
    assert shared_journal.take_back_words(memory) == 0

    bare = own | {"evidence": {"when": "git push"}}
    assert lines_of(shared) == [bare, released, plain, theirs]


def test_the_newest_records_of_others_are_read_first_and_the_rest_by_later_calls(
    memory: Memory, shared: Path
) -> None:
    write(shared, *(line(n, author="bob") for n in range(5)))

    taken = [shared_journal.import_new(memory, most=2)]
    first = {record.what for record in memory.find_records("1")}
    taken += [shared_journal.import_new(memory, most=2) for _ in range(3)]

    assert taken == [2, 2, 1, 0] and first == {"Rule 3", "Rule 4"}
    assert len(memory.find_records("1")) == 5


def test_a_record_that_its_author_forgot_and_restored_is_read_again(
    memory: Memory, shared: Path
) -> None:
    said, counts = line(1, author="bob"), []
    for lines in ([said], [said, forgotten(said)], [said, forgotten(said), said]):
        write(shared, *lines)
        shared_journal.import_new(memory)
        counts.append(len(memory.find_records("1")))

    assert counts == [1, 0, 1]


def test_records_of_others_are_not_read_without_sharing_or_while_writing_is_off(
    memory: Memory, shared: Path
) -> None:
    write(shared, line(1, author="bob"))
    assert memory.project is not None

    memory.settings = memory.settings._replace(writes=False)
    assert shared_journal.import_new(memory) == 0
    memory.settings = memory.settings._replace(writes=True)
    switch.turn(memory.settings.home, memory.project.id, False)
    assert shared_journal.import_new(memory) == 0
    switch.turn(memory.settings.home, memory.project.id, True)
    assert shared_journal.import_new(memory) == 1

    # A branch without the file takes nothing away.
    shared.unlink()
    assert shared_journal.import_new(memory) == 0 and len(memory.find_records("1")) == 1


def test_records_of_others_are_counted_by_author_and_dropped_together(
    memory: Memory, shared: Path
) -> None:
    assert shared_journal.count(memory) == {} and shared_journal.of_project(memory) is None
    authors = ("dan", "cho", "bob", "bob", "")
    write(shared, *(line(n, author=name) for n, name in enumerate(authors)))
    with shared.open("a") as stream:
        stream.write("half a li\n")

    assert shared_journal.import_new(memory) == 5

    counted = list(shared_journal.count(memory).items())
    assert counted == [("bob", 2), ("", 1), ("cho", 1), ("dan", 1)]
    found = database(memory)
    assert shared_journal.unreadable(found, str(shared)) == 1
    assert shared_journal.unreadable(found, str(shared.parent)) == 0
    assert shared_journal.of_project(memory) is found
    assert shared_journal.drop_all(memory) == 5
    assert shared_journal.count(memory) == {} and memory.find_records("1") == []
    assert shared_journal.drop_all(memory) == 0
