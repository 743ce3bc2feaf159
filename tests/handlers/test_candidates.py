"""Candidates: heard once and shown nowhere, until another session says it on its own."""

from __future__ import annotations

import pytest

from house import House
from memory_fabric.capture.remember import store
from memory_fabric.ids import timestamp
from memory_fabric.models import Entity, Provenance, Record
from memory_fabric.store import sessions
from memory_fabric.store.health import maintenance
from memory_fabric.store.history import undo
from memory_fabric.store.tiers import sync

SAID = "The invoice exporter keeps its templates in the billing bucket"
ASKED = "Where does the invoice exporter keep its templates, in which billing bucket?"
COPIED = "2026-03-01T10:00:00.000Z"


def hear(
    house: House, what: str = SAID, session: str = "session-1", *, said_at: str = "", **by: str
) -> None:
    """Capture hands over what it declined for want of support."""
    memory = house.memory()
    record = Record("decision", what, confidence=0.4, valid_from=said_at)
    record = record._replace(entities=(Entity("invoice-exporter", "component"),))
    provenance = Provenance("assistant", trust=by.pop("trust", "assistant"), session=session, **by)
    assert store(memory, [record], provenance) == []
    memory.close()


def statuses(house: House) -> list[str]:
    return [r.status for r in house.records("1")]


def test_it_is_shown_nowhere(house: House) -> None:
    hear(house)
    house.fire("Stop", last_assistant_message="Done.")

    shown = [
        house.context("SessionStart", "session-2", source="startup"),
        house.context("SessionStart", "session-1", source="compact"),
        house.prompt(ASKED, "session-2"),
        house.prompt("What do you know about the invoice-exporter?", "session-3"),
        house.context("SubagentStart", "session-2", agent_id="a", agent_type="database-engineer"),
        house.command("recall", ASKED).stdout,
        house.command("recall").stdout,
        house.command("load").stdout,
        house.command("export").stdout,
    ]
    files = [house.memory_md_file(), house.project / ".claude" / "memory" / "decisions.jsonl"]
    shown += [path.read_text() for path in files if path.exists()]

    assert statuses(house) == ["candidate"]
    assert "template" not in "".join(shown)
    assert "invoice-exporter" not in "".join(shown)


def test_a_second_session_makes_it_a_record(house: House) -> None:
    hear(house)
    hear(house, session="session-2")

    (record,) = house.records()
    assert record.confidence == 0.5
    assert "billing bucket" in house.prompt(ASKED, "session-3")
    assert house.command("candidates", "--json").stdout.count("billing") == 0


def test_so_does_the_user_who_says_it_surely_in_the_same_session(house: House) -> None:
    hear(house)
    memory = house.memory()
    by = Provenance("prompt", trust="user", session="session-1")
    memory.remember(Record("decision", SAID, confidence=0.75), by)
    memory.close()

    (record,) = house.records()
    assert (record.trust, record.confidence) == ("user", 0.75)


@pytest.mark.parametrize(
    "echo",
    [
        {"session": "session-1"},
        {"session": "session-1", "said_at": COPIED},
        {"session": "session-1", "agent": "database-engineer"},
        {"session": ""},
        {"session": "session-2", "said_at": COPIED},
    ],
    ids=["same session", "read again", "a subagent of it", "no session", "copied by a fork"],
)
def test_an_echo_is_no_second_sighting(house: House, echo: dict[str, str]) -> None:
    house.fire("SessionStart", "session-1", source="startup")
    hear(house)
    house.fire("SessionStart", "session-2", source="startup")
    for _ in range(2):
        hear(house, **echo)

    assert statuses(house) == ["candidate"]


def test_after_echoes_a_real_sighting_still_counts(house: House) -> None:
    hear(house)
    house.fire("SessionStart", "session-2", source="fork")
    hear(house, session="session-2", said_at=COPIED)
    hear(house, session="session-2", said_at="2999-01-01T00:00:00.000Z")

    assert statuses(house) == ["active"]


def test_an_assistant_that_was_given_the_old_turn_only_repeats_it(house: House) -> None:
    house.say("assistant", f"By the way: {SAID}, I saw.")
    house.fire("Stop", last_assistant_message="")
    hear(house)
    memory = house.memory()
    database = memory.session_database()
    (uuid,) = database.row("SELECT uuid FROM episodes") or ("",)
    given, now = [f"episode:{uuid}"], timestamp()
    sessions.record_injections(database, "session-2", "", given, "prompt", now)
    memory.close()

    hear(house, session="session-2")
    assert statuses(house) == ["candidate"]
    hear(house, session="session-2", trust="user")
    assert statuses(house) == ["active"]


def test_an_assistant_that_was_shown_the_list_only_repeats_it(house: House) -> None:
    hear(house)
    house.environ["CLAUDE_CODE_SESSION_ID"] = "session-2"
    assert "billing bucket" in house.command("candidates").stdout.replace("\n", " ")
    del house.environ["CLAUDE_CODE_SESSION_ID"]

    hear(house, session="session-2")
    assert statuses(house) == ["candidate"]
    hear(house, session="session-3")
    assert statuses(house) == ["active"]


@pytest.mark.parametrize(
    ("again", "status"),
    [
        ("The invoice exporter is keeping its templates in the billing bucket.", ["active"]),
        ("The invoice exporter surely keeps its templates in the billing bucket", ["active"]),
        ("The invoice exporter never keeps its templates in the billing bucket", ["candidate"] * 2),
        ("The invoice exporter keeps 2 templates in the billing bucket", ["candidate"] * 2),
        ("The invoice exporter keeps its templates in the Redis bucket", ["candidate"] * 2),
    ],
)
def test_nearly_the_same_words_are_the_same(house: House, again: str, status: list[str]) -> None:
    hear(house)
    hear(house, again, "session-2")

    assert statuses(house) == status


def test_another_project_and_another_domain_are_no_witnesses(house: House) -> None:
    hear(house)
    hear(house, session="session-2", domain="code_reviewer")
    other = house.project.parent / "other"
    (other / ".git").mkdir(parents=True)
    house.environ["CLAUDE_PROJECT_DIR"] = str(other)
    hear(house, session="session-3")
    assert statuses(house) == ["candidate"]

    house.environ["CLAUDE_PROJECT_DIR"] = str(house.project)
    assert statuses(house) == ["candidate", "candidate"]


def test_it_closes_nothing_until_it_is_a_record(house: House) -> None:
    house.prompt("We use MongoDB for the order archive.", "session-0")
    moved = "We moved the order archive from MongoDB to Postgres"
    by = Provenance("prompt", trust="user", session="session-1")
    for session, closed in (("session-1", False), ("session-2", True)):
        memory = house.memory()
        record = Record("decision", moved, confidence=0.4)
        store(memory, [record], by._replace(session=session))
        memory.close()
        (old,) = house.records("what LIKE '%use MongoDB%'")
        assert bool(old.superseded_by) is closed


def test_candidates_leave_after_their_days_and_records_stay(house: House) -> None:
    hear(house)
    hear(house, "The mailer reads its queue name from the vault")
    hear(house, "The mailer reads its queue name from the vault", "session-2")
    memory = house.memory()
    sync.expire_candidates(memory, "2000-01-01")
    assert sorted(r.status for r in memory.find_records("1")) == ["active", "candidate"]
    sync.expire_candidates(memory, "9999")
    assert [r.status for r in memory.find_records("1")] == ["active"]
    memory.close()
    assert maintenance.CANDIDATES_KEPT_DAYS == 90

    hear(house)
    assert statuses(house) == ["candidate", "active"]


def test_the_sighting_that_made_it_a_record_can_be_undone(house: House) -> None:
    hear(house)
    hear(house, session="session-2")
    memory = house.memory()
    undo.undo(memory, [undo.last(memory)], Provenance("cli", trust="user"))
    memory.close()

    assert statuses(house) == ["candidate"]
    assert "template" not in house.prompt(ASKED, "session-3")


def test_a_rebuilt_database_counts_the_same_sightings(house: House) -> None:
    house.fire("SessionStart", "session-2", source="startup")
    hear(house)
    hear(house, session="session-2", said_at=COPIED)
    house.fire("Stop", last_assistant_message="Done.")
    for path in house.fabric_home.glob("projects/*/graph.db*"):
        path.unlink()
    assert house.command("repair").returncode == 0

    assert statuses(house) == ["candidate"]
    hear(house, session="session-3")
    assert statuses(house) == ["active"]
