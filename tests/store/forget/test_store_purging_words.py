"""Purge of words: wherever they stand they are gone, what stands beside them stays."""

from __future__ import annotations

import json
import os
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from memory_fabric.clients.transcript import Turn
from memory_fabric.errors import BadInput, NotFound, StoreUnavailable
from memory_fabric.hooks.session.turn_notes import with_owners
from memory_fabric.models import Entity, Provenance
from memory_fabric.store import files, journal
from memory_fabric.store.conversations import sessions, worth
from memory_fabric.store.forget import plan, purge_rows, scrub_log
from memory_fabric.store.forget import purge as purging
from memory_fabric.store.forget.spellings import Needle, Sought
from memory_fabric.store.history import merge
from memory_fabric.store.home import log
from memory_fabric.store.memory import Memory
from memory_fabric.store.queries import graph
from memory_fabric.store.queues import spool
from memory_fabric.store.upkeep import backup, repair
from store.support import (
    TOOL,
    USER,
    World,
    create,
    database,
    decision,
    entity,
    observations_of,
    relation,
)

WORDS = 'Crème-Otter 7/"q"'
PLAIN = "tangerine-walrus"
BY = Provenance("cli", trust="user")
AT = "2026-01-15T10:00:00.000Z"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def purge(memory: Memory, text: str, **how: bool) -> purging.Purged:
    return purging.purge(memory, purging.find(memory, text, **how), BY)


def say(memory: Memory, *texts: str) -> None:
    turns = [
        {"id": f"0000000{n}-turn", "session": "s1", "role": "user", "text": text, "created_at": AT}
        for n, text in enumerate(texts)
    ]
    memory.write("add_episodes", {"episodes": turns}, TOOL)


def turns(memory: Memory) -> list[str]:
    return [row[0] for row in database(memory).rows("SELECT text FROM episodes ORDER BY id")]


def held(world: World, words: str) -> list[str]:
    """Files that hold the words in any spelling, also inside longer ones."""
    sought = Sought((Needle(words),))
    files = [path for path in world.root.rglob("*") if path.is_file()]
    return [str(path) for path in files if sought.spans(path.read_bytes())]


def filled(world: World, words: str) -> None:
    """A world that holds the words wherever we can keep them, beside other things."""
    memory = world.memory()
    memory.remember(decision(f"Open the gate with {words}", why="it is shared"), USER)
    memory.remember(decision("Paginate by cursor", alternatives=(f"ask {words}", "offsets")), USER)
    memory.remember(
        decision("Use Redis for sessions", entities=(Entity("Redis", "store"), Entity(words, "x"))),
        USER,
    )
    memory.remember(
        decision(f"Asked: log in as {words}. Outcome: done")._replace(
            type="session", evidence={"tasks": [f"log in as {words}", "fix the build"]}
        ),
        USER,
    )
    create(memory, entity("gate", f"opens with {words}", "has two wings", kind=f"door {words}"))
    create(memory, entity(words))
    create(memory, entity("wall", "is high"))
    merge.change_aliases(memory, "wall", [f"{words} wall"], BY)
    for kind in ("stands by", f"opens by {words}"):
        memory.write("create_relations", {"relations": [relation("gate", kind, "wall")]}, TOOL)
    say(memory, f"The gate is {words.upper()}, and the shop listens on 8080.", words, "Hello!")
    db = database(memory)
    sessions.touch(db, "s1", AT)
    words_of = {"words": ["deploy", "--as", words], "text": f"deploy --as {words}"}
    sessions.save_notes(db, "s1", {"tasks": ["fix it"], "failing": [{"command": words_of}]})
    sessions.save_checkpoint(db, "s1", {"task": f"log in with {words}", "files": ["a.py"]})
    sessions.record_injections(db, "s1", "", [f"graph:{words}#1", "graph:wall#2"], "prompt", AT)
    sessions.save_task(db, "t1", "s1", "writer", f"Try {words}", AT)
    memory.flush()
    backup.create(db.path)
    plan.forget(memory, plan.find(memory, "two wings"), BY)
    log.add(memory.settings.home, f"Remembered: {words}")
    log.note(memory.settings.home, "", f"could not read {words}")
    item = {"idempotency_key": "k1", "session_summary": f"We use {words}"}
    spool.add(memory.settings.home, "https://r.example", "p", item, 0.0)
    (world.home / "callers").mkdir()
    (world.home / "callers" / "c1.json").write_text(json.dumps({"agent": words, "session": "s1"}))
    (world.home / "pages").mkdir()
    (world.home / "pages" / "billing.html").write_text(f"<p>{words}</p>", "utf-8")
    (world.home / "set-aside.jsonl").write_text(json.dumps({"line": json.dumps(words)}) + "\n")
    Path(db.path + ".corrupt-20260101T000000").write_bytes(words.encode())
    with (world.local / journal.BAD).open("w", encoding="utf-8") as lines:
        lines.write(json.dumps({"line": json.dumps({"what": words})}) + "\n")
    memory.close()


@pytest.mark.parametrize("words", ["DENİZLİ", "İZMİRLİ"])
def test_words_with_a_turkish_dotted_capital_i_are_purged(world: World, words: str) -> None:
    memory = world.memory()
    say(memory, f"The gate is {words}, and the shop listens on 8080.")

    purge(memory, words)

    assert turns(memory) == ["The gate is [erased], and the shop listens on 8080."]
    path = database(memory).path
    memory.close()
    assert words.encode() not in Path(path).read_bytes()


@pytest.mark.parametrize("words", [PLAIN, WORDS])
def test_purged_words_are_erased_everywhere_and_the_surrounding_text_is_kept(
    world: World, words: str
) -> None:
    filled(world, words)
    data = world.root / ".claude" / "plugins" / "data" / "memory-fabric"
    log.note("", str(data), f"home could not be written: {words}")
    memory = world.memory()

    done = purge(memory, words)

    assert done.elsewhere == ()
    assert held(world, words) == []
    assert turns(memory) == [
        "The gate is [erased], and the shop listens on 8080.",
        "[erased]",
        "Hello!",
    ]
    kept = {r.what: r for r in memory.find_records("1")}
    assert set(kept) == {"Use Redis for sessions", "Asked: log in as [erased]. Outcome: done"}
    assert [e.name for e in kept["Use Redis for sessions"].entities] == ["Redis"]
    tasks = kept["Asked: log in as [erased]. Outcome: done"].evidence["tasks"]
    assert tasks == ["log in as [erased]", "fix the build"]
    db = database(memory)
    notes = sessions.load_notes(db, "s1")
    assert notes["failing"][0]["command"]["words"] == ["deploy", "--as", "[erased]"]
    assert sessions.load_checkpoint(db, "s1")["files"] == ["a.py"]
    assert [r.type for r in graph.read_graph(db).relations] == ["stands by"]
    assert {e.name for e in graph.read_graph(db).entities} >= {"gate", "wall", "Redis"}
    assert repair.mismatched_indexes(db) == []
    memory.close()


def test_a_rebuilt_database_contains_none_of_the_purged_words(world: World) -> None:
    filled(world, PLAIN)
    memory = world.memory()
    purge(memory, PLAIN)
    path, lines = memory.path_of("project"), memory.journal_of("project")
    memory.close()
    for copy in [*Path(path).parent.glob("backups/*"), *Path(path).parent.glob("graph.db*")]:
        copy.unlink()

    db, _ = repair.rebuild(path, "project", lines)

    assert "is high" in observations_of(db, "wall")
    db.close()
    assert held(world, PLAIN) == []


def test_an_entity_without_observations_is_purged_by_its_name(world: World) -> None:
    memory = world.memory()
    create(memory, entity(PLAIN))
    memory.flush()
    backup.create(memory.path_of("project"))

    purge(memory, PLAIN)

    memory.close()
    assert held(world, PLAIN) == []


@pytest.mark.parametrize(
    "spelled",
    [
        "Zürich-Österreich 9",
        unicodedata.normalize("NFD", "Zürich-Österreich 9"),
        "ZÜRICH-ÖSTERREICH\n 9",
        json.dumps("zürich-österreich 9"),
        "z%C3%BCrich-%c3%b6sterreich+9",
    ],
)
def test_every_spelling_of_the_words_is_purged(world: World, spelled: str) -> None:
    memory = world.memory()
    say(memory, f"It is {spelled}, yes.")

    purge(memory, "Zürich-Österreich 9")

    assert turns(memory)[0].startswith("It is ") and turns(memory)[0].endswith(", yes.")
    memory.close()
    assert held(world, "Zürich-Österreich 9") == []


def test_a_purge_erases_parts_of_longer_words_only_if_this_is_requested(world: World) -> None:
    memory = world.memory()
    say(memory, "as -kbackwater", "the backwaters", "a backwater, yes")
    counts, _ = purging.preview(memory, purging.find(memory, "backwater"))

    purge(memory, "backwater")

    assert (counts["turns"], counts["inside"]) == (1, 2)
    assert turns(memory) == ["as -kbackwater", "the backwaters", "a [erased], yes"]
    purge(memory, "backwater", inside=True)
    assert turns(memory) == ["as -k[erased]", "the [erased]s", "a [erased], yes"]


def test_a_purge_succeeds_if_another_spelling_of_the_word_stays_in_the_index(world: World) -> None:
    """The index keeps `cafeteria` for another spelling of it, which was not asked for."""
    memory = world.memory()
    say(memory, "una cafetería grande", "the cafeteria is closed")
    create(memory, entity("cafe-teria", "is a name"))

    purge(memory, "cafeteria")

    assert turns(memory) == ["una cafetería grande", "the [erased] is closed"]


def test_purging_short_words_requires_an_id_or_an_exact_match(world: World) -> None:
    memory = world.memory()
    say(memory, "the code is Q7x", "q7x is another")
    with pytest.raises(BadInput, match="--exact"):
        purging.find(memory, "Q7x")

    purge(memory, "Q7x", exact=True)

    assert turns(memory) == ["the code is [erased]", "q7x is another"]


@pytest.mark.parametrize("own", ["Decision", "observations", "created", "relationType", "-/!?.#"])
def test_a_purge_of_a_word_that_our_file_formats_use_is_refused(world: World, own: str) -> None:
    memory = world.memory()
    say(memory, f"It is a {own} of mine.")

    with pytest.raises(BadInput, match="Add words before"):
        purging.find(memory, own)

    purge(memory, f"a {own} of")
    assert turns(memory) == ["It is [erased] mine."]


@pytest.mark.parametrize("channel", [worth.HELD, worth.QUESTION, worth.FIX])
def test_a_purge_of_the_name_of_a_channel_is_refused(world: World, channel: str) -> None:
    with pytest.raises(BadInput, match="Add words before"):
        purging.find(world.memory(), channel, exact=True)


def test_words_that_also_occur_in_comments_of_the_database_schema_can_be_purged(
    world: World,
) -> None:
    memory = world.memory()
    say(memory, "We keep embeddings of memories in a shed.")

    purge(memory, "Embeddings of memories")

    assert turns(memory) == ["We keep [erased] in a shed."]


def test_a_purged_id_is_not_found_again_and_keeps_its_tombstone(world: World) -> None:
    memory = world.memory()
    record = memory.remember(decision("Open the gate at noon"), USER)
    assert record is not None
    purge(memory, record.id)

    with pytest.raises(NotFound, match="already"):
        purging.find(memory, record.id)

    assert database(memory).rows("SELECT id FROM tombstones") == [(record.id,)]


def test_a_purge_of_words_that_occur_nowhere_reports_no_match(world: World) -> None:
    memory = world.memory()
    create(memory, entity("wall", "is high"))
    memory.flush()

    with pytest.raises(NotFound, match="are nowhere") as raised:
        purging.find(memory, PLAIN)

    assert PLAIN not in str(raised.value)


def test_a_purge_finds_words_that_occur_only_in_a_backup(world: World) -> None:
    memory = world.memory()
    say(memory, f"It is {PLAIN}.")
    memory.flush()
    backup.create(memory.path_of("project"))
    with database(memory).transaction() as c:
        c.execute("DELETE FROM episodes")
    purge_rows.compact(database(memory))

    purge(memory, PLAIN)

    memory.close()
    assert held(world, PLAIN) == []


def test_a_turn_forgotten_by_its_id_is_not_stored_again(world: World) -> None:
    memory = world.memory()
    say(memory, "The port is 8080.", "Hello!")
    with database(memory).transaction() as c:
        c.execute("UPDATE episodes SET uuid = '0199aaaa-0000-7000-8000-00000000beef' WHERE id = 1")

    found = plan.find(memory, "0000beef")
    gone = plan.forget(memory, found, BY)
    again = {"id": "0199aaaa-0000-7000-8000-00000000beef", "session": "s1", "role": "user"}
    turn = again | {"text": "The port is 8080.", "created_at": AT}
    memory.write("add_episodes", {"episodes": [turn]}, TOOL)

    assert (gone, found.turns[0].text) == (1, "The port is 8080.")
    assert turns(memory) == ["Hello!"]
    memory.flush()
    assert "8080" not in Path(memory.journal_of("project")).read_text("utf-8")


def test_purging_a_turn_by_its_id_also_purges_turns_that_repeat_its_text(world: World) -> None:
    memory = world.memory()
    say(memory, "The login is with the blue badge.", "He said: the login is with the blue badge.")
    with database(memory).transaction() as c:
        c.execute("UPDATE episodes SET uuid = '0199aaaa-0000-7000-8000-00000000beef' WHERE id = 1")

    purge(memory, "0000beef")

    assert turns(memory) == ["[erased]", "He said: [erased]"]
    memory.close()
    assert held(world, "blue badge") == []


def test_an_erased_conversation_turn_is_not_new_when_a_forked_session_repeats_it(
    world: World,
) -> None:
    memory = world.memory()
    say(memory, f"It is {PLAIN}, yes.")
    purge(memory, PLAIN)
    copy = Turn("another-id", "user", f"It is {PLAIN}, yes.", AT, session="fork")

    [owned] = with_owners(database(memory), [copy], "fork")

    assert not owned.is_new and owned.owner == "s1"


def test_a_word_that_looks_like_the_end_of_an_id_is_purged_as_a_word(world: World) -> None:
    memory = world.memory()
    say(memory, "The ship is facade42.")

    purge(memory, "facade42")

    assert turns(memory) == ["The ship is [erased]."]


def test_a_purge_lists_another_project_with_the_words_until_that_project_is_purged(
    world: World,
) -> None:
    other = World(world.root, "shop").memory()
    say(other, f"It is {PLAIN}, yes.")
    memory = world.memory()
    say(memory, f"It is {PLAIN}.")

    first = purge(memory, PLAIN)
    with pytest.raises(NotFound, match=r"graph\.db"):
        purging.find(memory, PLAIN)
    second = purge(memory, PLAIN, everywhere=True)

    assert first.ours and all("shop" in path for path in first.ours)
    assert second.elsewhere == ()
    assert turns(other) == ["It is [erased], yes."]
    other.close()
    memory.close()
    assert held(world, PLAIN) == []


def test_purged_words_in_the_name_of_a_project_folder_are_reported_and_left_unchanged(
    world: World,
) -> None:
    named = World(world.root, PLAIN)
    memory = named.memory()
    say(memory, f"In {PLAIN} we use Redis.")

    done = purge(memory, PLAIN)

    assert {os.path.basename(path) for path in done.ours} >= {"registry.json"}
    assert turns(memory) == ["In [erased] we use Redis."]
    memory.close()
    assert turns(named.memory()) == ["In [erased] we use Redis."]


def test_a_purge_that_failed_at_an_unknown_file_with_the_words_can_be_resumed(
    world: World,
) -> None:
    filled(world, PLAIN)
    memory = world.memory()
    strange = Path(memory.path_of("project")).with_name("strange.db")
    strange.write_bytes(f"..{PLAIN}..".encode())

    with pytest.raises(StoreUnavailable, match=rf"strange.db \({len(PLAIN)} bytes of it\)"):
        purge(memory, PLAIN)
    strange.unlink()

    assert purging.pending(memory.settings.home) == PLAIN
    assert purging.resume(memory, BY) is not None
    memory.close()
    assert held(world, PLAIN) == []


def test_a_purge_fails_while_a_backup_with_the_text_cannot_be_deleted(world: World) -> None:
    filled(world, PLAIN)
    memory = world.memory()
    found = purging.find(memory, PLAIN)
    folder = Path(memory.path_of("project")).parent / "backups"
    (old,) = folder.iterdir()
    old.rename(old.with_suffix(".kept"))
    old.mkdir()

    with pytest.raises(StoreUnavailable, match="Repeat the command") as raised:
        purging.purge(memory, found, BY)
    assert str(old) in str(raised.value)
    old.rmdir()

    assert purging.resume(memory, BY) is not None
    memory.close()
    assert held(world, PLAIN) == []


def test_a_purge_that_fails_at_one_backup_has_already_erased_the_words_from_earlier_backups(
    world: World,
) -> None:
    filled(world, PLAIN)
    memory = world.memory()
    create(memory, entity("Ann"), store="user")
    found = purging.find(memory, PLAIN)
    copies = Path(files.backups_of(memory.path_of("project")))
    of_user = Path(files.backups_of(memory.path_of("user")))
    of_user.symlink_to(of_user)

    with pytest.raises(StoreUnavailable, match="Repeat the command"):
        purging.purge(memory, found, BY)
    assert [copy for copy in copies.iterdir() if PLAIN.encode() in copy.read_bytes()] == []
    of_user.unlink()

    assert purging.resume(memory, BY) is not None
    memory.close()
    assert held(world, PLAIN) == []


def test_the_preview_counts_matches_by_kind_of_file_and_changes_nothing(world: World) -> None:
    filled(world, PLAIN)
    memory = world.memory()
    before = held(world, PLAIN)

    found = purging.find(memory, PLAIN)
    counts, _ = purging.preview(memory, found)

    stated = {"records": 2, "entities": 1, "turns": 2, "blocks": 2, "tasks": 1}
    assert counts.items() >= stated.items()
    assert counts.items() >= {"forwarding": 1, "pages": 1, "backups": 1, "set_aside": 1}.items()
    assert (counts["logs"], counts["queues"]) == (3, 1)
    assert counts["history"] > 3 and counts["journals"] > 3
    assert held(world, PLAIN) == before
    memory.close()


def test_words_are_purged_even_from_a_very_large_journal(
    world: World,
) -> None:
    memory = world.memory()
    create(memory, entity("zoo", f"it has a {PLAIN}", "it has a gate"))
    memory.flush()
    path = Path(memory.journal_of("project"))
    with path.open("ab") as file:
        file.write((b" " * (1 << 20) + b"\n") * 9)

    purge(memory, PLAIN)

    assert PLAIN.encode() not in path.read_bytes()
    assert observations_of(database(memory), "zoo") == ("it has a gate",)


def test_a_purge_erases_the_only_matching_text_among_over_a_thousand_observations(
    world: World,
) -> None:
    memory = world.memory()
    texts = [f"text {number}" for number in range(1200)]
    create(memory, entity("zoo", *texts[:700], f"a {PLAIN} here", *texts[700:], f"{PLAIN}es"))

    purge(memory, PLAIN)

    assert observations_of(database(memory), "zoo") == (*texts, f"{PLAIN}es")


def test_a_purge_does_not_read_operations_without_the_words(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = world.memory()
    for number in range(20):
        create(memory, entity(f"zoo {number}", "it has a gate"))
    create(memory, entity("zoo", f"it has a {PLAIN}", "it has a gate"))
    memory.flush()
    read: list[str] = []

    def without(kind: str, payload: Any, target: scrub_log.PurgeTarget) -> Any:
        read.append(json.dumps(payload))
        return real(kind, payload, target)

    real = scrub_log.without
    monkeypatch.setattr(scrub_log, "without", without)

    purge(memory, PLAIN)

    assert read
    assert not [text for text in read if '"zoo 1' in text]
    assert observations_of(database(memory), "zoo 1") == ("it has a gate",)


def test_an_entity_is_not_found_by_a_part_of_its_purged_alias(world: World) -> None:
    memory = world.memory()
    create(memory, entity("search", "is fast"))
    merge.change_aliases(memory, "search", ["OurNightingale engine"], BY)

    purge(memory, "OurNightingale")

    assert database(memory).rows("SELECT extra FROM entities") == [("",)]
