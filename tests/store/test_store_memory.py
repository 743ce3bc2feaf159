"""The memory of a project: its databases, its records, and what stays open between events."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memory_fabric.errors import EventRevoked, StoreUnavailable
from memory_fabric.models import CANDIDATE_FROM, Provenance
from memory_fabric.store import journal, records
from memory_fabric.store import memory as module
from memory_fabric.store.database import Database, mark_suspect, open_database
from memory_fabric.store.home import switches
from memory_fabric.store.memory import ANSWERED, HeldMemory, KeptMemory, Memory
from store.support import PLUGIN, TOOL, USER, World, create, database, decision, entity

AT = "2026-01-15T10:00:00.000Z"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture
def kept(world: World) -> Iterator[World]:
    """A world whose databases are closed at the end, as when a server stops."""
    yield world
    module.release(str(world.home))


def test_without_a_project_everything_is_in_the_database_of_the_user(world: World) -> None:
    inside, outside = world.memory(), world.memory(CLAUDE_PROJECT_DIR="")
    home = world.home

    assert outside.path_of("project") == inside.path_of("user") == str(home / "user.db")
    assert outside.queue_folder("project") == inside.queue_folder("user") == str(home / "local")
    assert inside.path_of("project") != inside.path_of("user")
    assert inside.queue_folder("project") == str(world.local)
    assert outside.database("project", create=True) is outside.database("user", create=False)
    assert [db.kind for db in outside.databases()] == ["user"]
    assert outside.native_ids("9") == frozenset()


def test_only_databases_that_exist_are_opened_and_the_project_comes_first(world: World) -> None:
    memory = world.memory()
    assert memory.databases() == memory.open_databases() == []

    user, project = database(memory, "user"), database(memory)

    assert memory.databases() == [project, user]
    assert memory.open_databases() == [user, project]
    assert memory.session_database() is project
    memory.close()
    assert memory.open_databases() == []


def test_an_unreadable_database_is_reported_once_and_the_other_is_read(world: World) -> None:
    memory = world.memory()
    database(memory)
    (world.home / "user.db").write_bytes(b"x" * 5000)

    for _ in range(2):
        assert [db.kind for db in memory.databases()] == ["project"]

    assert memory.unavailable == {"user"}
    assert len(memory.failures) == 1 and "damaged" in memory.failures[0]
    (world.home / "user.db").unlink()
    (world.home / "user.db.suspect").unlink()
    assert [db.kind for db in memory.databases()] == ["project"]
    assert memory.unavailable == set()


def test_a_replaced_database_is_opened_anew(world: World) -> None:
    memory = world.memory()
    before = database(memory)
    path = Path(before.path)
    for ending in ("", "-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)
    fresh = open_database(before.path, "project", create=True)
    assert fresh is not None

    after = memory.database("project", create=False)

    assert after is not None and after is not before
    assert after.is_current() and not before.is_current()
    fresh.close()


def test_a_change_that_must_not_be_queued_fails_while_the_database_is_damaged(
    world: World,
) -> None:
    world.home.mkdir(parents=True)
    (world.home / "user.db").write_bytes(b"x" * 5000)
    memory = world.memory()
    payload = {"entities": [entity("api")]}

    with pytest.raises(StoreUnavailable):
        memory.write_now("create_entities", payload, TOOL, store="user")
    local = {"record": records.as_object(decision(scope="local", id="r1"))}
    with pytest.raises(StoreUnavailable):
        memory.write("remember", local, USER, store="user")
    assert journal.waiting_files(memory.queue_folder("user")) == []
    assert memory.write("create_entities", payload, TOOL, store="user")["queued"] is True


def test_an_operation_names_its_author_time_and_batch(world: World) -> None:
    memory = world.memory(CLAUDE_CODE_SESSION_ID="s9")
    own = Provenance("mcp", author="bob", session="s1", at=AT)

    stamped = memory.operation("forget", {"ids": []}, Provenance("mcp"))
    stated = memory.operation("forget", {"ids": []}, own)
    plain = memory.operation("forget", {"ids": []}, Provenance("mcp"), stamp=False)
    memory.batch = "b1"
    batched = memory.operation("forget", {"ids": []}, own, "user")

    assert (stamped.provenance.author, stamped.provenance.session) == ("ann", "s9")
    assert stamped.provenance.at[:2] == "20"
    assert stamped.provenance.origin == memory.settings.origin
    assert stated.provenance[:6] == own._replace(origin=memory.settings.origin)[:6]
    assert (stated.provenance.at, plain.provenance) == (AT, Provenance("mcp"))
    assert (stated.payload, batched.payload) == ({"ids": []}, {"ids": [], "batch": "b1"})
    assert (stated.store, batched.store) == ("project", "user")


def test_a_record_below_the_confidence_of_a_candidate_is_not_stored(world: World) -> None:
    memory = world.memory()

    assert memory.remember(decision("Too unsure", confidence=CANDIDATE_FROM - 0.01), USER) is None
    least = memory.remember(decision("Just enough", confidence=CANDIDATE_FROM), USER)

    assert least is not None and least.status == "candidate"
    assert [record.what for record in memory.find_records("1")] == ["Just enough"]


def test_a_record_is_stored_with_the_time_domain_and_project_of_its_statement(
    world: World,
) -> None:
    memory = world.memory()
    by = USER._replace(at=AT, domain="law", agent="a1")

    plain = memory.remember(decision("Use Redis"), by)
    own = memory.remember(
        decision("Use Kafka", domain="ops", project="shop", valid_from="2025-01", id="own"), by
    )
    past = memory.remember(decision("Use Postgres"), by, at="2025-02")

    assert plain is not None and own is not None and past is not None
    assert (plain.domain, plain.project) == ("law", "billing")
    assert (plain.created_at, plain.valid_from, plain.agent) == (AT, AT, "a1")
    assert (plain.session, plain.trust, plain.author) == ("s1", "user", "ann")
    assert len(plain.id) == 36
    assert (own.id, own.domain, own.project, own.valid_from) == ("own", "ops", "shop", "2025-01")
    assert (past.created_at, past.valid_from) == ("2025-02", "2025-02")


@pytest.mark.parametrize(
    ("scope", "kind"), [("user", "user"), ("global", "user"), ("team", "project")]
)
def test_a_record_is_stored_in_the_database_of_its_scope(
    world: World, scope: str, kind: str
) -> None:
    memory = world.memory()

    stored = memory.remember(decision("Use Redis", scope=scope), USER)

    [(by,)] = database(memory, kind).rows("SELECT provenance FROM operations")
    assert stored is not None
    assert ('"author": ""' in by, '"session": ""' in by) == (scope == "global",) * 2
    other = database(memory, "project" if kind == "user" else "user")
    assert other.rows("SELECT * FROM records") == []


def test_an_echo_of_a_statement_does_not_count_as_a_new_one(world: World) -> None:
    memory = world.memory()
    first = memory.remember(decision("Use Redis"), USER)
    sightings = "SELECT sightings FROM records"

    echo = memory.remember(decision("Use Redis"), USER._replace(session="s2"), echo=True)
    assert database(memory).rows(sightings) == [(1,)]
    memory.remember(decision("Use Redis"), USER._replace(session="s2"))

    assert first is not None and echo is not None and echo.id == first.id
    assert database(memory).rows(sightings) == [(2,)]


def test_forgetting_records_counts_those_found_in_either_database(world: World) -> None:
    memory = world.memory()
    ours = memory.remember(decision("Use Redis"), USER)
    mine = memory.remember(decision("Drink tea", scope="user"), USER)
    assert ours is not None and mine is not None

    assert memory.forget(["unknown"], USER) == 0
    assert memory.forget([ours.id, mine.id, "unknown"], USER) == 2
    assert memory.find_records("1") == []
    kinds = [row for db in memory.databases() for row in db.rows("SELECT kind FROM operations")]
    assert kinds == [("remember",), ("forget",)] * 2


def test_a_memory_follows_the_switches_but_does_not_turn_on_what_its_settings_turn_off(
    world: World,
) -> None:
    memory, muted = world.memory(), world.memory(MEMORY_FABRIC="off")
    home = str(world.home)

    def state(of: Memory) -> tuple[bool, bool, bool]:
        of.follow_settings()
        return of.settings.reads, of.settings.writes, of.settings.notes != "off"

    assert (state(memory), state(muted)[:2]) == ((True, True, True), (False, False))
    switches.turn(home, switches.EVERYWHERE, ["write", switches.NOTES], False)
    assert state(memory) == (True, False, False)
    switches.turn(home, switches.EVERYWHERE, ["read"], False)
    assert state(memory) == (False, False, False)
    switches.turn(home, switches.EVERYWHERE, ["read", "write", switches.NOTES], True)
    assert (state(memory), state(muted)[:2]) == ((True, True, True), (False, False))


def test_a_changed_config_file_is_applied(world: World) -> None:
    memory = world.memory()
    path = world.home / "config.toml"
    world.home.mkdir(parents=True, exist_ok=True)

    def writes(text: str) -> bool:
        path.write_text(text)
        memory.follow_settings()
        return memory.settings.writes

    assert [writes("write = false\n"), writes("write = true\n")] == [False, True]


def opened(world: World, kind: type[Memory] = KeptMemory) -> tuple[Memory, Database]:
    memory = kind.open(world.settings())
    return memory, memory.session_database()


def test_a_server_keeps_a_database_open_for_its_next_event(kept: World) -> None:
    memory, first = opened(kept)
    memory.close()
    memory, second = opened(kept)
    second.held = True
    memory.close()
    memory, third = opened(kept)

    assert first is second is third
    assert (third.held, memory.open_databases()) == (False, [third])
    memory.close()
    assert memory.open_databases() == []
    module.release(str(kept.root / "elsewhere"))
    module.release(str(kept.home)[:-1])
    assert opened(kept)[1] is first


def test_a_kept_database_is_closed_when_its_folder_is_released(kept: World) -> None:
    memory, first = opened(kept)
    memory.close()

    module.release(str(kept.home))

    assert opened(kept)[1] is not first
    with pytest.raises(Exception, match="closed"):
        first.connection.execute("SELECT 1")


def remove(db: Database) -> None:
    for ending in ("", "-wal", "-shm"):
        Path(db.path + ending).unlink(missing_ok=True)


STATES: dict[str, Callable[[Database], object]] = {
    "in a transaction": lambda db: db.connection.execute("BEGIN"),
    "read-only": lambda db: setattr(db, "read_only", True),
    "of a newer release": lambda db: setattr(db, "newer", True),
    "on a full disk": lambda db: setattr(db, "stopgap", "The disk is full."),
    "damaged": lambda db: mark_suspect(db.path),
    "of an older release": lambda db: db.connection.execute("PRAGMA user_version = 7"),
    "removed": remove,
}


@pytest.mark.parametrize("state", STATES)
def test_an_unusable_database_is_not_kept_open_for_the_next_event(kept: World, state: str) -> None:
    memory, first = opened(kept)
    STATES[state](first)
    memory.close()
    if state == "of an older release":
        remove(first)

    try:
        again = opened(kept)[1]
    except StoreUnavailable:
        again = None

    assert again is not first
    with pytest.raises(Exception, match="closed"):
        first.connection.execute("SELECT 1")


def test_a_database_is_checkpointed_between_events_only_if_nobody_waits(kept: World) -> None:
    memory, db = opened(kept)
    create(memory, entity("api", "wakes at noon"), store="project")

    memory.close()
    hurried = Path(db.path).read_bytes()
    memory = opened(kept)[0]
    assert isinstance(memory, KeptMemory)
    memory.close(at_ease=True)

    assert b"wakes at noon" not in hurried
    assert b"wakes at noon" in Path(db.path).read_bytes()


def test_all_changes_of_an_event_are_committed_at_once_with_its_nonce(kept: World) -> None:
    memory = HeldMemory.open(kept.settings())
    assert isinstance(memory, HeldMemory)
    create(memory, entity("Ann"), store="user")
    create(memory, entity("api"), store="project")
    other = kept.memory()
    names = "SELECT name FROM entities"
    assert [db.rows(names) for db in other.databases()] == [[], []]

    memory.commit("client", "nonce-1")

    project, user = other.databases()
    assert (project.rows(names), user.rows(names)) == ([("api",)], [("Ann",)])
    marks = f"SELECT key FROM meta WHERE key GLOB '{ANSWERED}*' AND value GLOB '* nonce-1'"
    assert (project.rows(marks), user.rows(marks)) == ([(f"{ANSWERED}client",)], [])
    with pytest.raises(EventRevoked):
        module.begun_by("nonce-1").open(kept.settings())
    begun = module.begun_by("nonce-2").open(kept.settings())
    assert begun.project is not None
    memory.commit("client", "nonce-2")
    assert project.rows(marks) != []
    memory.close()


def test_importing_the_memory_module_imports_no_slow_module() -> None:
    script = f"""
import sys
sys.path.insert(0, {PLUGIN!r})
import memory_fabric.store.memory
slow = "dataclasses pathlib logging subprocess uuid hashlib tomllib".split()
print([name for name in slow if name in sys.modules])
"""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", script], check=True, capture_output=True, text=True
    )
    assert done.stdout == "[]\n"
