"""The items that sessions were told, and whether the assistant then used them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memory_fabric.capture.notes.protocol import PROTOCOL
from memory_fabric.models import Provenance, Record
from memory_fabric.store import maintenance
from memory_fabric.store.conversations import worth
from memory_fabric.store.conversations.worth import OFTEN_SESSIONS, often_told_never_used
from simulated_client import SimulatedClient

ANALYTICS = "Analytics queries run against PostgreSQL on port 6543"


def keep(client: SimulatedClient, what: str = ANALYTICS, **fields: Any) -> str:
    """Store a decision that no MEMORY.md shows yet; return its id."""
    memory = client.memory()
    record = Record(type="decision", what=what, **fields)
    stored = memory.remember(record, Provenance("cli", trust="user"))
    memory.close()
    assert stored is not None
    return stored.id


def told(client: SimulatedClient, columns: str = "channel, kind, used") -> list[tuple[Any, ...]]:
    """The rows of what was told, oldest first."""
    memory = client.memory()
    rows = memory.session_database().rows(f"SELECT {columns} FROM told ORDER BY id")
    memory.close()
    return [tuple(row) for row in rows]


def judged(client: SimulatedClient, id_: str, sessions: int, used: int = 0) -> None:
    """Let so many sessions be told a record, and judge it."""
    for number in range(sessions):
        client.context("SessionStart", f"told-{number}", source="startup")
    memory = client.memory()
    database = memory.session_database()
    rows = [row[0] for row in database.rows("SELECT id FROM told WHERE memory = ?", (id_,))]
    worth.save_used(database, rows, rows[:used], "2026-03-01T10:00:00.000Z")
    memory.close()


def never_used(client: SimulatedClient) -> set[str]:
    memory = client.memory()
    try:
        return often_told_never_used(memory)
    finally:
        memory.close()


def test_the_session_block_is_counted_by_its_items(client: SimulatedClient) -> None:
    id_ = keep(client)

    block = client.whole_context("SessionStart", source="startup")

    rows = told(client, "channel, kind, memory, chars, used")
    line = next(line for line in block.split("\n") if id_[-8:] in line)
    assert rows[0] == ("session", "decision", f"record:{id_}", len(line), None)
    assert [row[1] for row in rows[1:]] == ["frame", "protocol"]
    without_breaks = len(block.replace(PROTOCOL, "").replace("\n", "")) + len(PROTOCOL)
    assert sum(row[3] for row in rows) == without_breaks


def test_a_prompt_that_is_given_nothing_is_told_nothing(client: SimulatedClient) -> None:
    client.context("SessionStart", source="startup")
    before = told(client)

    assert client.prompt("Rename the header of the cart") == ""

    assert told(client) == before


def test_the_cue_beside_a_prompt_counts(client: SimulatedClient) -> None:
    client.context("SessionStart", source="startup")

    cue = client.prompt("Never push to the main branch yourself.")

    assert told(client, "channel, kind, chars")[-1] == ("prompt", "cue", len(cue))


def test_a_rule_at_the_moment_it_binds_counts_once(client: SimulatedClient) -> None:
    client.note("rule", "Packages are installed with pnpm", when="`npm install`")
    call = {"tool_name": "Bash", "tool_input": {"command": "npm install vite"}, "tool_use_id": "t"}

    for _ in range(2):
        client.fire("PreToolUse", "session-2", **call)

    rows = [row for row in told(client) if row[0] == "rule"]
    assert rows == [("rule", "constraint", None), ("rule", "frame", None)]


def test_the_fix_of_a_failure_counts(client: SimulatedClient) -> None:
    client.note("fix", 'Deploys loop with "force_https is not allowed": drop the TLS handler', "")
    call = {"tool_name": "Bash", "tool_input": {"command": "fly deploy"}, "tool_use_id": "t"}
    error = "Exit code 1\nError: force_https is not allowed for this service\n"

    client.fire("PostToolUseFailure", "session-2", **call, error=error, is_interrupt=False)

    kinds = [row[1] for row in told(client) if row[0] == "fix"]
    assert kinds == ["solution", "frame"]


@pytest.mark.parametrize(
    ("sessions", "used", "is_listed"),
    [(OFTEN_SESSIONS, 0, True), (OFTEN_SESSIONS - 1, 0, False), (OFTEN_SESSIONS, 1, False)],
)
def test_a_record_told_in_five_sessions_and_never_used_is_known(
    client: SimulatedClient, sessions: int, used: int, is_listed: bool
) -> None:
    id_ = keep(client)

    judged(client, f"record:{id_}", sessions, used)

    assert never_used(client) == ({id_} if is_listed else set())


def test_what_was_not_judged_is_not_called_unused(client: SimulatedClient) -> None:
    keep(client)
    for number in range(OFTEN_SESSIONS):
        client.context("SessionStart", f"told-{number}", source="startup")

    assert never_used(client) == set()


def test_a_purged_record_leaves_no_row_of_what_was_told(client: SimulatedClient) -> None:
    id_ = keep(client)
    client.context("SessionStart", source="startup")
    assert any(id_ in row[0] for row in told(client, "memory"))

    preview = client.command("forget", id_, "--purge", "--yes")

    assert preview.returncode == 0, preview.stderr
    assert not any(id_ in row[0] for row in told(client, "memory"))


class TestUse:
    def turn(self, client: SimulatedClient, asked: str, *done: dict[str, Any] | str) -> None:
        """One turn: the prompt, what the assistant did, and its end."""
        client.prompt(asked)
        client.say("user", asked)
        client.say("assistant", *done)
        client.fire("Stop", last_assistant_message="Done.")

    def use(self, client: SimulatedClient, id_: str) -> list[Any]:
        return [row[1] for row in told(client, "memory, used") if row[0] == f"record:{id_}"]

    def test_a_command_with_the_records_words_is_a_use(self, client: SimulatedClient) -> None:
        id_ = keep(client)
        client.context("SessionStart", source="startup")
        query = {"command": "psql -p 6543 -c 'select 1'"}

        self.turn(
            client,
            "How many orders were there?",
            {"type": "tool_use", "id": "t1", "name": "Bash", "input": query},
        )

        assert self.use(client, id_) == [1]

    def test_an_answer_about_something_else_is_none(self, client: SimulatedClient) -> None:
        id_ = keep(client)
        client.context("SessionStart", source="startup")

        self.turn(client, "Rename the header of the cart", "The header is renamed.")

        assert self.use(client, id_) == [0]

    def test_a_later_turn_may_still_use_it(self, client: SimulatedClient) -> None:
        id_ = keep(client)
        client.context("SessionStart", source="startup")
        self.turn(client, "Rename the header of the cart", "The header is renamed.")

        self.turn(client, "Where do the reports come from?", "From PostgreSQL, for analytics.")

        assert self.use(client, id_) == [1]

    def test_a_note_that_replaces_it_by_its_id_is_a_use(self, client: SimulatedClient) -> None:
        id_ = keep(client)
        client.context("SessionStart", source="startup")
        note = f"Noted decision: Reports are made at night. Instead of: {id_[-8:]}."

        self.turn(client, "From now on make them at night", note)

        assert self.use(client, id_) == [1]

    def test_before_the_turn_has_ended_nothing_is_judged(self, client: SimulatedClient) -> None:
        id_ = keep(client)
        client.context("SessionStart", source="startup")
        client.say("assistant", "From PostgreSQL, for analytics.")

        assert self.use(client, id_) == [None]


class TestCommand:
    def worth(self, client: SimulatedClient, *options: str) -> dict[str, Any]:
        done = client.command("worth", "--json", *options)
        assert done.returncode in (0, 3), done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def test_it_counts_tokens_by_kind_and_by_channel(self, client: SimulatedClient) -> None:
        keep(client)
        block = client.whole_context("SessionStart", source="startup")

        found = self.worth(client)

        assert found["sessions"] == 1
        assert {kind["name"] for kind in found["kinds"]} == {"decision", "frame", "protocol"}
        (channel,) = found["channels"]
        assert (channel["name"], channel["items"]) == ("session", 3)
        assert channel["tokens"] == round(channel["chars"] / 4)
        assert 0 <= len(block) - channel["chars"] <= block.count("\n")
        assert found["total"]["chars"] == channel["chars"]
        assert found["total"]["cost"] is None

    def test_the_price_is_an_option_and_a_setting(self, client: SimulatedClient) -> None:
        keep(client)
        client.context("SessionStart", source="startup")
        chars = self.worth(client)["total"]["chars"]
        (client.fabric_home / "config.toml").write_text("[worth]\nprice = 8\n")

        assert self.worth(client)["total"]["cost"] == pytest.approx(chars * 2e-6, abs=1e-6)
        stated = self.worth(client, "--price", "4")["total"]["cost"]
        assert stated == pytest.approx(chars * 1e-6, abs=1e-6)

    def test_the_share_that_was_used_is_of_what_was_judged(self, client: SimulatedClient) -> None:
        keep(client)
        keep(client, "Invoices are rounded half-even per line item")
        client.context("SessionStart", source="startup")
        client.say("user", "Where do the reports come from?")
        client.say("assistant", "From PostgreSQL, where analytics run.")
        client.fire("Stop", last_assistant_message="Done.")

        (decisions,) = [k for k in self.worth(client)["kinds"] if k["name"] == "decision"]

        assert (decisions["items"], decisions["judged"], decisions["used"]) == (2, 2, 1)
        assert decisions["used_share"] == 0.5

    def test_records_told_often_and_never_used_are_listed(self, client: SimulatedClient) -> None:
        id_ = keep(client)
        judged(client, f"record:{id_}", OFTEN_SESSIONS)

        (listed,) = self.worth(client)["often_told_never_used"]
        shown = client.command("worth").stdout

        assert (listed["id"], listed["sessions"], listed["text"]) == (id_, 5, ANALYTICS)
        assert "Told in 5 sessions or more and never used:" in shown and id_[-8:] in shown

    def test_a_forgotten_record_is_listed_no_longer(self, client: SimulatedClient) -> None:
        id_ = keep(client)
        judged(client, f"record:{id_}", OFTEN_SESSIONS)

        client.command("forget", id_, "--yes")

        assert self.worth(client)["often_told_never_used"] == []

    def test_a_record_that_has_ended_is_listed_no_longer(self, client: SimulatedClient) -> None:
        id_ = keep(client)
        judged(client, f"record:{id_}", OFTEN_SESSIONS)
        memory = client.memory()
        with memory.session_database().transaction() as c:
            c.execute("UPDATE records SET valid_to = '2026-01-01T00:00:00.000Z'")
        memory.close()

        assert self.worth(client)["often_told_never_used"] == []

    def test_with_nothing_told_it_says_so_with_exit_code_3(self, client: SimulatedClient) -> None:
        done = client.command("worth", "--days", "7")

        assert (done.returncode, done.stdout) == (3, "Nothing was told in the last 7 days.\n")

    def test_what_is_older_than_the_days_asked_for_does_not_count(
        self, client: SimulatedClient
    ) -> None:
        keep(client)
        client.context("SessionStart", source="startup")
        memory = client.memory()
        with memory.session_database().transaction() as c:
            c.execute("UPDATE told SET created_at = '2026-01-01T00:00:00.000Z'")
        memory.close()

        assert self.worth(client)["sessions"] == 0

    def test_maintenance_removes_what_is_older_than_90_days(self, client: SimulatedClient) -> None:
        keep(client)
        client.context("SessionStart", source="startup")
        memory = client.memory()
        with memory.session_database().transaction() as c:
            c.execute("UPDATE told SET created_at = '2026-01-01T00:00:00.000Z'")

        maintenance.run(memory, 90)

        assert told(client) == []
