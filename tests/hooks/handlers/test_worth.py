"""The items that sessions were told, and the command that counts them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memory_fabric.capture.notes.protocol import PROTOCOL
from memory_fabric.models import Provenance, Record
from memory_fabric.store.upkeep import maintenance
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


def told(
    client: SimulatedClient, columns: str = "channel, kind, followed"
) -> list[tuple[Any, ...]]:
    """The rows of what was told, oldest first."""
    memory = client.memory()
    rows = memory.session_database().rows(f"SELECT {columns} FROM told ORDER BY id")
    memory.close()
    return [tuple(row) for row in rows]


def test_session_start_counts_the_tokens_of_each_injected_item(client: SimulatedClient) -> None:
    id_ = keep(client)

    block = client.whole_context("SessionStart", source="startup")

    rows = told(client, "channel, kind, memory, chars, followed")
    line = next(line for line in block.split("\n") if id_[-8:] in line)
    assert rows[0] == ("session", "decision", f"record:{id_}", len(line), None)
    assert [row[1] for row in rows[1:]] == ["frame", "protocol"]
    without_breaks = len(block.replace(PROTOCOL, "").replace("\n", "")) + len(PROTOCOL)
    assert sum(row[3] for row in rows) == without_breaks


def test_a_prompt_without_injected_memories_costs_no_tokens(client: SimulatedClient) -> None:
    client.context("SessionStart", source="startup")
    before = told(client)

    assert client.prompt("Rename the header of the cart") == ""

    assert told(client) == before


def test_the_tokens_of_a_reminder_to_take_a_note_are_counted(client: SimulatedClient) -> None:
    client.context("SessionStart", source="startup")

    cue = client.prompt("Never push to the main branch yourself.")

    assert told(client, "channel, kind, chars")[-1] == ("prompt", "cue", len(cue))


def test_the_tokens_of_a_rule_are_counted_once_for_a_repeated_tool_call(
    client: SimulatedClient,
) -> None:
    client.note("rule", "Packages are installed with pnpm", when="`npm install`")
    call = {"tool_name": "Bash", "tool_input": {"command": "npm install vite"}, "tool_use_id": "t"}

    for _ in range(2):
        client.fire("PreToolUse", "session-2", **call)

    rows = [row for row in told(client) if row[0] == "held"]
    assert rows == [("held", "constraint", None), ("held", "frame", None)]


def test_a_rule_shown_only_to_the_user_costs_no_tokens(client: SimulatedClient) -> None:
    client.note("rule", "Never start the dev server", when="`npm run dev`")
    call = {"tool_name": "Bash", "tool_input": {"command": "npm run dev"}, "tool_use_id": "t"}

    client.fire("PreToolUse", "session-2", **call)

    assert told(client, "channel, kind, chars")[-1] == ("asked", "constraint", 0)


def test_compliance_is_not_measured_for_a_rule_that_denies_the_tool_call(
    client: SimulatedClient,
) -> None:
    client.note("rule", "Packages are installed with pnpm", when="`npm install`")
    (rule,) = client.records()
    client.fire("UserPromptSubmit", prompt=f"deny {rule.id[-8:]}")
    call = {"tool_name": "Bash", "tool_input": {"command": "npm install vite"}, "tool_use_id": "t"}

    client.fire("PreToolUse", "session-2", **call)

    assert [row[0] for row in told(client) if row[1] == "constraint"][-1] == "rule"


def test_compliance_is_not_measured_for_a_rule_shown_only_with_the_tool_result(
    client: SimulatedClient,
) -> None:
    client.note("rule", "Packages are installed with pnpm", when="`npm install`")
    client.environ["CLAUDE_CODE_ENTRYPOINT"] = "sdk-cli"
    call = {"tool_name": "Bash", "tool_input": {"command": "npm install vite"}, "tool_use_id": "t"}

    client.fire("PreToolUse", "session-2", **call)

    assert told(client, "channel, kind")[-2:] == [("rule", "constraint"), ("rule", "frame")]


def test_the_tokens_of_a_fix_shown_after_a_failed_command_are_counted(
    client: SimulatedClient,
) -> None:
    client.note("fix", 'Deploys loop with "force_https is not allowed": drop the TLS handler', "")
    call = {"tool_name": "Bash", "tool_input": {"command": "fly deploy"}, "tool_use_id": "t"}
    error = "Exit code 1\nError: force_https is not allowed for this service\n"

    client.fire("PostToolUseFailure", "session-2", **call, error=error, is_interrupt=False)

    kinds = [row[1] for row in told(client) if row[0] == "fix"]
    assert kinds == ["solution", "frame"]


def test_purging_a_record_deletes_the_statistics_of_its_use(client: SimulatedClient) -> None:
    id_ = keep(client)
    client.context("SessionStart", source="startup")
    assert any(id_ in row[0] for row in told(client, "memory"))

    preview = client.command("forget", id_, "--purge", "--yes")

    assert preview.returncode == 0, preview.stderr
    assert not any(id_ in row[0] for row in told(client, "memory"))


class TestCommand:
    def worth(self, client: SimulatedClient, *options: str) -> dict[str, Any]:
        done = client.command("worth", "--json", *options)
        assert done.returncode in (0, 3), done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def test_the_worth_command_counts_tokens_by_kind_and_by_channel(
        self, client: SimulatedClient
    ) -> None:
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

    def test_the_token_price_can_be_an_option_or_a_setting(self, client: SimulatedClient) -> None:
        keep(client)
        client.context("SessionStart", source="startup")
        chars = self.worth(client)["total"]["chars"]
        (client.fabric_home / "config.toml").write_text("[worth]\nprice = 8\n")

        assert self.worth(client)["total"]["cost"] == pytest.approx(chars * 2e-6, abs=1e-6)
        stated = self.worth(client, "--price", "4")["total"]["cost"]
        assert stated == pytest.approx(chars * 1e-6, abs=1e-6)

    def test_the_worth_command_without_data_has_exit_code_3(self, client: SimulatedClient) -> None:
        done = client.command("worth", "--days", "7")

        assert (done.returncode, done.stdout) == (3, "Nothing was told in the last 7 days.\n")

    def test_the_worth_command_ignores_data_older_than_the_requested_days(
        self, client: SimulatedClient
    ) -> None:
        keep(client)
        client.context("SessionStart", source="startup")
        memory = client.memory()
        with memory.session_database().transaction() as c:
            c.execute("UPDATE told SET created_at = '2026-01-01T00:00:00.000Z'")
        memory.close()

        assert self.worth(client)["sessions"] == 0

    def test_maintenance_deletes_token_counts_after_90_days(self, client: SimulatedClient) -> None:
        keep(client)
        client.context("SessionStart", source="startup")
        memory = client.memory()
        with memory.session_database().transaction() as c:
            c.execute("UPDATE told SET created_at = '2026-01-01T00:00:00.000Z'")

        maintenance.run(memory, 90)

        assert told(client) == []
