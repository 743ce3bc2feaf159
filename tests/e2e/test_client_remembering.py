"""What the real client's sessions leave behind: what is stated is remembered, the rest is not."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from threading import Event

import pytest

from e2e.harness.home import Home
from e2e.harness.result import CLOSE, OPEN, blocks
from e2e.harness.script import Script, call, delegate
from e2e.harness.session import PATIENCE_S
from e2e.harness.tiers import files_holding, rows, tiers
from e2e.harness.wire import Turn

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
ECHO = f"I was told:\n{OPEN}\nWe decided to use Neo4j for routes because it fits.\n{CLOSE}\nDone."
COMMAND = "Ship it.\nWe decided to use Puppet for the hosts because it is proven.\n$ARGUMENTS\n"

CHECK = "./check.sh"
CHECKS = "test -f schema.sql || { echo 'schema.sql is missing' >&2; exit 1; }\n"
AGENT = "---\nname: bug-hunter\ndescription: Finds the causes of bugs.\n---\nYou look for causes.\n"
FINDING = "We decided to use Flyway for the migrations because it is plain SQL."


def until(condition: Callable[[], bool]) -> None:
    """Wait for what another process is about to do."""
    ends = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < ends
        time.sleep(0.02)


def said(home: Home, role: str, words: str) -> bool:
    """Whether the client has written these words, as this role's, into a transcript."""
    lines = [
        line
        for path in home.config.glob("projects/*/*.jsonl")
        for line in path.read_text("utf-8").split("\n")[:-1]
    ]
    return any(f'"type":"{role}"' in line and words in line for line in lines)


def test_what_is_no_decision_of_the_users_is_remembered_in_no_tier(home: Home) -> None:
    home.attend()
    (home.project / ".claude/commands").mkdir(parents=True)
    (home.project / ".claude/commands/ship.md").write_text(COMMAND, encoding="utf-8")
    private = f"Hello. <private>{PRIVATE}</private> How are you?"
    prompts = (*NO_MEMORIES.values(), private)

    session = home.session(Script(prompts=prompts, main=("OK.",) * len(prompts[:-1]) + (ECHO,)))

    kept = tiers(home)
    assert session.exit_code == 0
    assert kept.told == []
    assert kept.entities == {}
    assert kept.journal == ()
    assert kept.notes == b""
    # What was said is searchable for a while, but not what the client or we said in between.
    turns = "\n".join(kept.turns)
    assert "Cassandra" in turns
    assert not any(name in turns for name in ("Memcached", "Puppet", "CouchDB", "Neo4j"))
    assert files_holding(home.memory, "payroll") == []
    assert blocks(home.session(Script(prompts=("Hello there.",))).all_text) == []


def test_a_correction_takes_the_place_of_what_was_stated_before(home: Home) -> None:
    home.attend()
    home.session(Script(prompts=("Let's use npm for the web app.",), main=("Understood.",)))
    script = Script(
        prompts=(
            "Please install the dependencies of the web app.",
            "No, we use pnpm here, not npm.",
        ),
        main=("I ran npm install.", "Understood."),
    )

    home.session(script)

    old, new = tiers(home).records
    assert old.superseded_by == new.id
    assert "pnpm" in new.what
    later = home.session(Script(prompts=("Which package manager does the web app use?",)))
    assert "Let's use npm" not in later.main_texts[0]
    assert "use pnpm here" in later.main_texts[0]


def test_a_preference_stated_in_german_is_remembered(home: Home) -> None:
    home.attend()
    prompts = ("Wir verwenden ab jetzt pnpm statt npm.", "Kannst du bitte das Login reparieren?")

    home.session(Script(prompts=prompts, main=("Verstanden.", "Erledigt.")))

    kept = tiers(home)
    assert kept.told == ["Wir verwenden ab jetzt pnpm statt npm"]
    assert "pnpm statt npm" in kept.fence
    [first, *_] = home.session(Script(prompts=("Hallo.",))).main_texts
    assert "pnpm statt npm" in first


def test_a_command_that_fails_and_passes_after_a_change_is_remembered_as_solved(home: Home) -> None:
    def passed() -> Turn:
        """Speak once the transcript, which the client writes a little later, has the outcome."""
        until(lambda: said(home, "user", "Bash completed with no output"))
        return "It passes now."

    check = home.project / "check.sh"
    check.write_text(f"#!/bin/sh\n{CHECKS}", "utf-8")
    check.chmod(0o755)
    path = str(home.project / "schema.sql")
    script = Script(
        prompts=("Please make the check pass.",),
        main=(
            call("Bash", {"command": CHECK, "description": "check"}),
            call("Write", {"file_path": path, "content": "SELECT 1;\n"}),
            call("Bash", {"command": CHECK, "description": "check"}),
            passed,
        ),
    )

    home.session(script)

    problem, solution = tiers(home).records
    assert (problem.type, solution.type) == ("problem", "solution")
    assert "schema.sql is missing" in problem.what
    assert "schema.sql is missing" in solution.what
    assert solution.what.endswith("it passed after changing schema.sql")
    later = home.session(Script(prompts=("The check says that schema.sql is missing.",)))
    assert any("passed after changing" in block for block in blocks(later.main_texts[0]))


def test_a_session_that_was_killed_is_caught_up_at_a_later_start(home: Home) -> None:
    over = Event()

    def never() -> Turn:
        over.wait(PATIENCE_S)
        return "Too late."

    nothing = {"command": "true", "description": "do nothing"}
    note = {"text": FINDING, "tool": "Bash", "input": nothing}
    with home.open(Script(main=(note, never))) as session:
        session.send("Please look after the migrations.")
        until(lambda: said(home, "assistant", FINDING) and said(home, "user", '"tool_result"'))
        session.kill()
        over.set()
    assert tiers(home).told == []
    # Sessions that were seen in the last minutes may still be alive: they are left alone.
    home.session(Script(prompts=("Hello.",)))
    assert tiers(home).told == []

    earlier = datetime.now(UTC) - timedelta(minutes=20)
    rows(home, "UPDATE sessions SET seen_at = ?", (f"{earlier:%Y-%m-%dT%H:%M:%S}.000Z",))
    for transcript in home.config.glob("projects/*/*.jsonl"):  # a growing one is alive, too
        os.utime(transcript, (earlier.timestamp(), earlier.timestamp()))
    home.session(Script(prompts=("Hello.",)))

    assert tiers(home).told == [FINDING.partition(" because")[0]]


def test_what_a_subagent_found_out_is_remembered_in_its_domain(home: Home) -> None:
    found = "The root cause was the connection pool: idle connections are never closed."
    (home.project / ".claude/agents").mkdir(parents=True)
    (home.project / ".claude/agents/bug-hunter.md").write_text(AGENT, encoding="utf-8")
    script = Script(
        prompts=("Please find out why the API hangs.",),
        main=(delegate("Find out why the API hangs.", "bug-hunter"), "It was found."),
        subagent=(found,),
    )

    home.session(script)

    [record] = tiers(home).records
    assert "connection pool" in record.what
    assert (record.trust, record.source) == ("assistant", "subagent")
    [domain] = rows(home, "SELECT domain FROM records")
    assert domain == ("bug_hunter",)


def test_where_memory_is_switched_off_nothing_is_stored(home: Home) -> None:
    home.attend()
    home.fabric("off", "--write", "--here")

    home.session(Script(prompts=(FINDING, "/compact", "Go on."), main=(FINDING, FINDING)))

    kept = tiers(home)
    assert (kept.records, kept.turns, kept.journal, kept.notes) == ((), (), (), b"")
    assert files_holding(home.memory, "Flyway") == []
    assert not (home.project / ".claude").exists()
    home.fabric("on", "--write", "--here")
    home.session(Script(prompts=(FINDING,)))
    assert len(tiers(home).records) == 1
