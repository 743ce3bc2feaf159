"""The memories that the real client's sessions leave: what is stated is kept, the rest is not."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event

import pytest

from e2e.harness.home import Home
from e2e.harness.result import CLOSE, OPEN, Result, blocks
from e2e.harness.script import Script, call, delegate
from e2e.harness.session import PATIENCE_S
from e2e.harness.tiers import Tiers, files_holding, rows, tiers
from e2e.harness.wire import Turn
from waiting import until

pytestmark = pytest.mark.e2e

# Each names a thing of its own, so that a failure says which one was taken for a memory.
NO_MEMORIES = {
    "question": "Should we use Cassandra for the audit log, or is it too heavy?",
    "request": "I want you to fix the React bug in the checkout form.",
    "request with a reason": "Please add a Redis cache to the product page because it is slow.",
    "supposition": "If we moved to MongoDB we could drop the migrations.",
    "quoted log": (
        "What does this mean?\n```\n"
        "2026-03-01T10:00:00Z ERROR broker: we must use Kafka for the outbox because of order\n"
        "2026-03-01T10:00:01Z WARN broker: decided to use ZooKeeper instead of etcd\n```"
    ),
    "third party": "The Stripe team decided to use Ruby for their gateway because they know it.",
    "quotation": "> We decided to use Oracle for billing because it is known.\n\nReally?",
    "typed command": "/ship We decided to use Solr for the search because it scales.",
    "machine turn": (
        "<task-notification>\n<task-id>b1</task-id>\n<status>completed</status>\n"
        "<summary>We decided to use Memcached for the sessions because it is fast.</summary>\n"
        "</task-notification>"
    ),
    "own block": (
        f"{OPEN}\nWe decided to use CouchDB for the catalogue because it syncs.\n{CLOSE}\nWhat?"
    ),
}
PRIVATE = "We decided to use Vault for the payroll because auditors insist."
# Prose in which the assistant decides is no memory either: only its notes are.
PROSE = "We decided to use Consul for the discovery because it is proven."
ECHO = f"I was told:\n{OPEN}\nWe decided to use Neo4j for routes because it fits.\n{CLOSE}\nDone."
COMMAND = "Ship it.\nWe decided to use Puppet for the hosts because it is proven.\n$ARGUMENTS\n"

CHECK = "./check.sh"
CHECKS = "test -f schema.sql || { echo 'schema.sql is missing' >&2; exit 1; }\n"
AGENT = "---\nname: bug-hunter\ndescription: Finds the causes of bugs.\n---\nYou look for causes.\n"
GREETING = "Hello there."
STATED = "Remember that all dates are stored in UTC."
GERMAN = "Nimm ab jetzt bitte immer Poetry statt Pipenv."
POETRY = "Für Pakete wird Poetry genommen, nicht Pipenv"
NOTED_GERMAN = f'Gut.\n\nNoted preference: {POETRY}. From: "immer Poetry statt Pipenv"'
CAUSE = "The API hangs since idle connections in the connection pool are never closed"
NOTED_CAUSE = f"I found it.\n\nNoted fix: {CAUSE}."
FINDING = "Flyway runs the migrations"
NOTED_FINDING = f"Done so far.\n\nNoted decision: {FINDING}. Why: it is plain SQL."


def said(home: Home, role: str, words: str) -> bool:
    """True if the client has written these words, as this role's, into a transcript."""
    lines = [
        line
        for path in home.config.glob("projects/*/*.jsonl")
        for line in path.read_text("utf-8").split("\n")[:-1]
    ]
    return any(f'"type":"{role}"' in line and words in line for line in lines)


@dataclass(frozen=True, slots=True)
class Attended:
    """Sessions at which somebody sits: what was kept after nothing was stated, and after one
    statement and one note.
    """

    kept_of_silent: Tiers
    payroll: list[Path]
    stating: Result
    kept: Tiers
    asking: Result


@pytest.fixture(scope="module")
def attended(shared_home: Callable[[], Home]) -> Attended:
    """First nothing is stated or noted, then one thing is stated and one noted, and asked for."""
    home = shared_home()
    home.attend()
    (home.project / ".claude/commands").mkdir(parents=True)
    (home.project / ".claude/commands/ship.md").write_text(COMMAND, encoding="utf-8")
    with home.open() as session:
        session.say(GREETING, PROSE)
        for prompt in NO_MEMORIES.values():
            session.say(prompt, PROSE)
        session.say(f"Hello. <private>{PRIVATE}</private> How are you?", ECHO)
        kept, payroll = tiers(home), files_holding(home.memory, "payroll")
        session.say(GERMAN, NOTED_GERMAN)
        session.say(STATED)
        stating = session.end()
    after = tiers(home)
    asking = home.session(Script(prompts=("Womit werden Pakete installiert?",)))
    return Attended(kept, payroll, stating, after, asking)


@dataclass(frozen=True, slots=True)
class CaughtUp:
    """Three sessions, the first of them killed, and what was kept after each."""

    home: Home
    killed: Tiers
    soon_after: Tiers
    later: Tiers
    asking: Result


@pytest.fixture(scope="module")
def caught_up(shared_home: Callable[[], Home]) -> CaughtUp:
    """A killed session; one that soon after makes a check pass and delegates; a later one."""
    home, over = shared_home(), Event()

    def never() -> Turn:
        over.wait(PATIENCE_S)
        return "Too late."

    nothing = {"command": "true", "description": "do nothing"}
    note = {"text": NOTED_FINDING, "tool": "Bash", "input": nothing}
    with home.open(Script(main=(note, never))) as session:
        session.send("Please look after the migrations.")
        until(lambda: said(home, "assistant", FINDING) and said(home, "user", '"tool_result"'))
        session.kill()
        over.set()
    killed = tiers(home)
    check_and_delegate(home)
    soon_after = tiers(home)
    earlier = datetime.now(UTC) - timedelta(minutes=20)
    rows(home, "UPDATE sessions SET seen_at = ?", (f"{earlier:%Y-%m-%dT%H:%M:%S}.000Z",))
    for transcript in home.config.glob("projects/*/*.jsonl"):  # a growing one is alive, too
        os.utime(transcript, (earlier.timestamp(), earlier.timestamp()))
    asking = home.session(Script(prompts=("The check says that schema.sql is missing.",)))
    return CaughtUp(home, killed, soon_after, tiers(home), asking)


def check_and_delegate(home: Home) -> None:
    """A session in which a check fails, passes after a change, and a subagent finds a cause."""

    def passed() -> Turn:
        """Speak once the transcript, which the client writes a little later, has the outcome."""
        until(lambda: said(home, "user", "Bash completed with no output"))
        return "It passes now. The root cause was that nobody had written the schema."

    check = home.project / "check.sh"
    check.write_text(f"#!/bin/sh\n{CHECKS}", "utf-8")
    check.chmod(0o755)
    path = str(home.project / "schema.sql")
    (home.project / ".claude/agents").mkdir(parents=True)
    (home.project / ".claude/agents/bug-hunter.md").write_text(AGENT, encoding="utf-8")
    with home.open(Script(subagent=(NOTED_CAUSE,))) as session:
        session.say(
            "Please make the check pass.",
            call("Bash", {"command": CHECK, "description": "check"}),
            call("Write", {"file_path": path, "content": "SELECT 1;\n"}),
            call("Bash", {"command": CHECK, "description": "check"}),
            passed,
        )
        session.say(
            "Please find out why the API hangs.",
            delegate("Find out why the API hangs.", "bug-hunter"),
            "It was found.",
        )
        session.end()


def test_text_that_is_not_a_decision_of_the_user_becomes_no_record(attended: Attended) -> None:
    kept = attended.kept_of_silent

    assert attended.stating.exit_code == 0
    assert kept.told == []
    assert kept.entities == {}
    assert kept.journal == ()
    assert kept.notes == b""
    # What was said is searchable for a while, but not what the client or we said in between.
    turns = "\n".join(kept.turns)
    assert "Cassandra" in turns
    assert not any(name in turns for name in ("Memcached", "Puppet", "CouchDB", "Neo4j"))
    assert attended.payroll == []
    assert GREETING in attended.stating.main_texts[0]
    assert blocks(attended.stating.main_texts[0]) == []


@pytest.mark.parametrize("words", [POETRY, "dates are stored in UTC"])
def test_a_german_note_and_a_statement_beginning_with_remember_are_stored(
    attended: Attended, words: str
) -> None:
    [record] = [record for record in attended.kept.records if words in record.what]

    assert record.trust == "user"
    assert len(attended.kept.records) == 2, attended.kept.told
    assert words in attended.kept.fence
    assert attended.asking.main_texts[0].count(words) == 1


def test_a_change_that_makes_a_failing_command_pass_is_stored_as_a_fix(
    caught_up: CaughtUp,
) -> None:
    [solution] = [r for r in caught_up.soon_after.records if r.source != "subagent"]

    assert solution.type == "solution"
    assert "schema.sql is missing" in solution.what
    assert solution.what.endswith("fixed in schema.sql)")
    told = blocks(caught_up.asking.main_texts[0])
    assert any("nobody had written the schema" in block for block in told)


def test_the_transcript_of_a_killed_session_is_read_at_the_start_of_a_later_session(
    caught_up: CaughtUp,
) -> None:
    assert caught_up.killed.told == []
    # Sessions that were seen in the last minutes may still be alive: they are left alone.
    assert caught_up.soon_after.told and FINDING not in caught_up.soon_after.told
    assert caught_up.later.told.count(FINDING) == 1
    assert len(caught_up.later.told) == len(caught_up.soon_after.told) + 1


def test_findings_of_a_subagent_are_stored_in_the_domain_of_that_agent(caught_up: CaughtUp) -> None:
    [record] = [r for r in caught_up.soon_after.records if r.source == "subagent"]

    assert record.what == CAUSE
    assert record.trust == "assistant"
    assert rows(caught_up.home, "SELECT domain FROM records WHERE source = 'subagent'") == [
        ("bug_hunter",)
    ]


def test_nothing_is_stored_while_writing_to_memory_is_switched_off(home: Home) -> None:
    home.attend()
    home.fabric("off", "--write", "--here")

    with home.open() as session:
        session.say(STATED, NOTED_FINDING)
        session.say("/compact")
        session.say("Go on.", NOTED_FINDING)

        kept = tiers(home)
        assert (kept.records, kept.turns, kept.journal, kept.notes) == ((), (), (), b"")
        assert files_holding(home.memory, "Flyway") == []
        assert not (home.project / ".claude").exists()
        home.fabric("on", "--write", "--here")
        session.say("Go on.", NOTED_FINDING)
        session.end()
    assert tiers(home).told == [FINDING]
