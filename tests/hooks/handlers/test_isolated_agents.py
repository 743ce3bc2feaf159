"""Hooks and domains: the domain of stored records, and the memory of isolated agents."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from memory_fabric.store.home import callers
from simulated_client import SimulatedClient

EVENTS = Path(__file__).resolve().parents[2] / "events"
WALLS = """
[domains.legal]
agents = ["legal-advisor"]
paths = ["services/legal"]
isolate = true

[domains.review]
agents = ["code-critic"]
"""
YEARS = "Noted decision: Retention lasts ten years. Why: the tax office asks for it."
DAYS = "Noted decision: Retention lasts ten days. Why: the disks are small."
TOKENS = "Noted decision: Redis holds the session tokens. Why: lookups must be fast."
CHOSEN = "Noted decision: The shop uses Redis for session tokens instead of Memcached."
SCANS = "Noted decision: Scans of contracts are grey."
QUESTION = "How long does retention last, and why?"
LABEL = "[Domain-Filtered Memory (expert_domain=%s)]"
LEGAL = {"agent_type": "legal-advisor"}


@pytest.fixture
def walled(client: SimulatedClient) -> SimulatedClient:
    """A client whose configuration isolates a type of agent and a folder, and maps another type."""
    configure(client, WALLS)
    return client


def configure(client: SimulatedClient, text: str) -> None:
    client.fabric_home.mkdir(parents=True, exist_ok=True)
    (client.fabric_home / "config.toml").write_text(text, "utf-8")


def recorded(name: str, **fields: Any) -> dict[str, Any]:
    event: dict[str, Any] = json.loads((EVENTS / f"{name}.json").read_text("utf-8"))
    for known in ("session_id", "transcript_path", "cwd"):
        event.pop(known)
    return event | fields


def fire(client: SimulatedClient, name: str, session: str = "s", **fields: Any) -> str:
    """Return what the model is given for a recorded event, with these fields changed."""
    event = recorded(name, **fields)
    return client.context(event.pop("hook_event_name"), session, **event)


def ended(client: SimulatedClient, kind: str, found: str, session: str = "s") -> None:
    """A subagent of this type has ended with these words."""
    fields = {"agent_id": "a1", "agent_type": kind, "last_assistant_message": found}
    fire(client, "SubagentStop", session, **fields)


def noted(client: SimulatedClient, line: str, session: str = "s", **fields: str) -> None:
    """The assistant of a session ends its turn with this note."""
    client.fire("Stop", session, last_assistant_message=f"Done.\n{line}", **fields)


def started(client: SimulatedClient, kind: str, agent: str = "a2", task: str = QUESTION) -> str:
    """Return what a subagent of this type is given that starts for a task."""
    asked = {"description": "a task", "prompt": task, "subagent_type": kind}
    fire(client, "variants/PreToolUse.Agent", tool_input=asked, tool_use_id=f"t-{agent}")
    return fire(client, "SubagentStart", agent_id=agent, agent_type=kind)


def moved_to(client: SimulatedClient, folder: str) -> None:
    """The next sessions are started in this folder of the project."""
    place = client.project / folder
    place.mkdir(parents=True, exist_ok=True)
    client.environ["CLAUDE_PROJECT_DIR"] = str(place)


def rows(client: SimulatedClient, query: str) -> list[Any]:
    [path] = client.fabric_home.glob("projects/*/graph.db")
    connection = sqlite3.connect(path)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("kind", "domain"),
    [
        ("legal-advisor", "legal"),
        ("code-critic", "review"),
        ("poem-writer", "poem_writer"),
        ("general-purpose", "general"),
    ],
)
def test_a_finding_of_a_subagent_is_stored_in_the_domain_of_its_type(
    walled: SimulatedClient, kind: str, domain: str
) -> None:
    ended(walled, kind, TOKENS)

    [record] = walled.records()
    assert (record.domain, record.agent) == (domain, kind)
    for table in ("entities", "observations"):
        assert {row[0] for row in rows(walled, f"SELECT domain FROM {table}")} == {domain}


def test_memory_is_off_while_an_unreadable_config_file_may_contain_isolation_settings(
    walled: SimulatedClient,
) -> None:
    ended(walled, "legal-advisor", YEARS)
    ended(walled, "code-critic", DAYS)
    kept = walled.records()

    configure(walled, WALLS + "notices = [\n")
    given = [
        fire(walled, "SessionStart", source="startup"),
        started(walled, "legal-advisor"),
        started(walled, "code-critic", "a3"),
        walled.prompt(QUESTION),
    ]
    ended(walled, "legal-advisor", TOKENS)

    assert given == ["", "", "", ""]
    assert walled.records() == kept
    notice = walled.fire("SessionStart", source="startup")["systemMessage"]
    assert "config.toml cannot be read and may isolate domains" in notice
    assert "memory is off until it is corrected" in walled.log
    configure(walled, WALLS)
    assert "ten years" in started(walled, "legal-advisor", "a4")


def test_two_isolated_agents_each_get_only_the_memories_of_their_own_domain(
    walled: SimulatedClient,
) -> None:
    configure(walled, WALLS + "isolate = true\n")
    ended(walled, "legal-advisor", YEARS)
    ended(walled, "code-critic", DAYS)

    legal, review = started(walled, "legal-advisor"), started(walled, "code-critic", "a3")

    assert "ten years" in legal and "ten days" not in legal
    assert "ten days" in review and "ten years" not in review
    assert LABEL % "legal" in legal and LABEL % "review" in review
    assert max(len(legal), len(review)) <= 1200


def test_an_agent_with_its_own_domain_gets_memories_labelled_with_that_domain(
    walled: SimulatedClient,
) -> None:
    noted(walled, YEARS, "earlier")
    ended(walled, "code-critic", DAYS)

    given = started(walled, "code-critic")

    assert LABEL % "review" in given
    assert "ten days" in given and "ten years" not in given


def test_an_agent_without_a_domain_gets_memories_without_a_domain_label(
    walled: SimulatedClient,
) -> None:
    noted(walled, YEARS, "earlier")

    given = started(walled, "poem-writer")

    assert "ten years" in given and "Domain-Filtered" not in given


def test_an_agent_whose_domain_has_no_memories_gets_none(
    walled: SimulatedClient,
) -> None:
    noted(walled, YEARS, "earlier")

    assert started(walled, "code-critic") == ""
    assert walled.log == ""


def test_an_isolated_agent_cannot_replace_records_of_other_domains(walled: SimulatedClient) -> None:
    instead = "Noted decision: PostgreSQL holds the session tokens. Instead of: Redis"
    noted(walled, TOKENS, "earlier")
    ended(walled, "legal-advisor", TOKENS)
    ended(walled, "legal-advisor", instead)

    records = {(r.domain, "Redis" in r.what): r.superseded_by for r in walled.records("1")}

    assert records["general", True] == ""
    assert records["legal", True] != ""


def test_a_session_run_as_an_isolated_agent_gets_only_memories_of_the_agents_domain(
    walled: SimulatedClient,
) -> None:
    ended(walled, "legal-advisor", YEARS, "earlier")
    noted(walled, DAYS, "earlier")

    start = walled.context("SessionStart", "s", source="startup", **LEGAL)
    prompt = walled.context("UserPromptSubmit", "s2", prompt=QUESTION, **LEGAL)

    assert "ten years" in start and "ten days" not in start
    assert "ten years" in prompt and "ten days" not in prompt
    assert "ten days" in walled.prompt(QUESTION, "s3")


def test_all_data_of_an_isolated_session_is_stored_in_its_domain(walled: SimulatedClient) -> None:
    walled.say("user", "Please look after retention in the tax code of the shop.")
    edit = {"type": "tool_use", "id": "e1", "name": "Edit", "input": {"file_path": "tax.py"}}
    walled.say("assistant", YEARS, edit)
    walled.context("UserPromptSubmit", prompt=QUESTION, **LEGAL)
    walled.fire("Stop", last_assistant_message=f"{TOKENS}\n{CHOSEN}", **LEGAL)
    walled.fire("PostCompact", compact_summary=SCANS, **LEGAL)
    walled.fire("SessionEnd", reason="other", **LEGAL)

    records = walled.records()
    assert {record.type for record in records} == {"decision"}
    for table in ("entities", "relations", "observations", "records", "episodes"):
        assert {row[0] for row in rows(walled, f"SELECT domain FROM {table}")} == {"legal"}, table


def test_a_note_that_appears_only_in_a_compaction_summary_is_stored(
    client: SimulatedClient,
) -> None:
    client.fire("Stop", last_assistant_message=YEARS)
    client.fire("PostCompact", compact_summary=SCANS)

    found = {(r.domain, r.type, "Scans" in r.what) for r in client.records()}
    assert found == {("general", "decision", False), ("general", "decision", True)}


def test_a_summary_that_repeats_decisions_creates_no_duplicates(client: SimulatedClient) -> None:
    noted(client, DAYS)

    client.fire("PostCompact", compact_summary=DAYS)

    assert [record.domain for record in client.records()] == ["general"]


def test_sessions_in_an_isolated_folder_get_only_memories_of_the_folders_domain(
    walled: SimulatedClient,
) -> None:
    noted(walled, DAYS, "earlier")
    moved_to(walled, "services/legal")
    noted(walled, YEARS, "inside")

    start = walled.context("SessionStart", "s", source="startup")
    prompt = walled.prompt(QUESTION, "s2")
    agent = started(walled, "code-critic")

    for given in (start, prompt, agent):
        assert "ten years" in given and "ten days" not in given
    assert {r.domain for r in walled.records()} == {"general", "legal"}


def test_a_folder_domain_without_isolation_labels_records_but_hides_none(
    client: SimulatedClient,
) -> None:
    configure(client, '[domains.billing]\npaths = ["services/billing"]\n')
    noted(client, DAYS, "earlier")
    moved_to(client, "services/billing")

    noted(client, "Noted decision: Invoices are blue.", "inside")

    assert {r.domain for r in client.records()} == {"general", "billing"}
    assert "ten days" in client.prompt(QUESTION, "s2")


def test_a_compacted_isolated_session_gets_only_its_own_records(walled: SimulatedClient) -> None:
    noted(walled, DAYS, "earlier")
    noted(walled, YEARS, **LEGAL)
    walled.fire("PreCompact", "s", trigger="auto", **LEGAL)

    given = walled.context("SessionStart", "s", source="compact", **LEGAL)

    assert "ten years" in given and "ten days" not in given


def broke_off(client: SimulatedClient) -> None:
    """No session was seen for long."""
    [path] = client.fabric_home.glob("projects/*/graph.db")
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE sessions SET seen_at = '2020-01-01T00:00:00.000Z'")
    connection.close()
    os.utime(client.transcript, (0, 0))


def next_start(client: SimulatedClient) -> str:
    """Return what another session is given at its start, which catches up on what broke off."""
    other = str(client.transcript.with_name("other.jsonl"))
    return client.context("SessionStart", "next", source="startup", transcript_path=other)


def test_records_of_an_interrupted_isolated_session_are_stored_in_its_domain(
    walled: SimulatedClient,
) -> None:
    walled.fire("SessionStart", "broken", source="startup", **LEGAL)
    walled.say("assistant", YEARS, session="broken")
    broke_off(walled)

    next_start(walled)

    assert {record.domain for record in walled.records("type = 'decision'")} == {"legal"}


def test_a_session_start_in_an_isolated_folder_shows_no_messages_from_outside(
    walled: SimulatedClient,
) -> None:
    walled.fire("SessionStart", "broken", source="startup")
    walled.say("assistant", YEARS, session="broken")
    broke_off(walled)
    moved_to(walled, "services/legal")

    given = next_start(walled)

    assert "ten years" not in given
    assert {record.domain for record in walled.records("type = 'decision'")} == {"general"}
    assert {row[0] for row in rows(walled, "SELECT domain FROM episodes")} == {"general"}


def test_records_of_an_interrupted_session_stay_in_the_domain_of_its_folder(
    walled: SimulatedClient,
) -> None:
    outside = walled.environ["CLAUDE_PROJECT_DIR"]
    moved_to(walled, "services/legal")
    walled.fire("SessionStart", "broken", source="startup")
    walled.say("assistant", YEARS, session="broken")
    broke_off(walled)
    walled.environ["CLAUDE_PROJECT_DIR"] = outside

    next_start(walled)

    assert {record.domain for record in walled.records("type = 'decision'")} == {"legal"}


def test_an_isolated_session_does_not_read_an_interrupted_session_of_unknown_folder(
    client: SimulatedClient,
) -> None:
    client.prompt("hello there", "broken")
    client.say("assistant", YEARS, session="broken")
    broke_off(client)
    configure(client, WALLS)
    outside = client.environ["CLAUDE_PROJECT_DIR"]
    moved_to(client, "services/legal")

    next_start(client)
    assert client.records("type = 'decision'") == []

    client.environ["CLAUDE_PROJECT_DIR"] = outside
    broke_off(client)
    client.context("SessionStart", "last", source="startup", transcript_path="")
    assert {record.domain for record in client.records("type = 'decision'")} == {"general"}


def test_a_misspelt_isolation_setting_is_reported_at_the_start(client: SimulatedClient) -> None:
    configure(client, "[domains.legal]\nisolated = true\n")

    told = str(client.fire("SessionStart", "s", source="startup")["systemMessage"])

    assert "domains.legal.isolated is unknown" in told


def test_data_that_an_agent_sends_to_another_server_is_stored_in_the_agents_domain(
    walled: SimulatedClient,
) -> None:
    asked = {"entities": [{"name": "disk", "entityType": "part", "observations": ["is small"]}]}
    fields = {"tool_name": "mcp__other__create_entities", "tool_input": asked}
    walled.fire("PostToolUse", "s", agent_id="a1", tool_use_id="t", **fields, **LEGAL)

    assert rows(walled, "SELECT domain, agent FROM observations") == [("legal", "legal-advisor")]


def called(client: SimulatedClient, tool: str = "recall", **fields: Any) -> callers.Caller | None:
    """Return the caller, as the hook before the call has noted it."""
    name = f"mcp__plugin_memory-fabric_memory__{tool}"
    event = recorded("variants/PreToolUse.mcp_in_subagent", tool_name=name, tool_use_id="toolu_1")
    event |= {"agent_id": "", "agent_type": ""} | fields
    assert client.fire(event.pop("hook_event_name"), "s", **event) == {}
    return callers.load(str(client.fabric_home), "toolu_1")


def test_a_call_by_a_subagent_is_recorded_with_its_id_and_type(client: SimulatedClient) -> None:
    found = called(client, agent_id="a1", agent_type="poem-writer")

    assert found == callers.Caller("s", "a1", "poem-writer")


def test_a_tool_call_by_the_main_session_is_recorded_only_if_a_domain_is_isolated(
    client: SimulatedClient,
) -> None:
    assert called(client) is None
    assert not (client.fabric_home / callers.FOLDER).exists()
    configure(client, WALLS)

    assert called(client) == callers.Caller("s")


def test_a_call_of_another_tool_or_with_an_invalid_id_is_not_recorded(
    walled: SimulatedClient,
) -> None:
    called(walled, tool_name="Bash", **LEGAL)
    called(walled, tool_use_id="", **LEGAL)
    assert not (walled.fabric_home / callers.FOLDER).exists()

    called(walled, tool_use_id="../../config", **LEGAL)

    assert "is not the id of a tool call" in walled.log
    assert not (walled.fabric_home / callers.FOLDER).exists()


def test_the_caller_of_a_tool_is_recorded_while_reading_or_writing_is_on(
    client: SimulatedClient,
) -> None:
    for switch in ("read", "write"):
        configure(client, f"{switch} = false\n")
        assert called(client, agent_id="a1", **LEGAL) is not None
        (client.fabric_home / callers.FOLDER / "toolu_1.json").unlink()
    configure(client, "read = false\nwrite = false\n")

    assert called(client, agent_id="a1", **LEGAL) is None


def test_hooks_show_records_of_an_isolated_domain_only_to_agents_of_that_domain(
    walled: SimulatedClient,
) -> None:
    """Hooks give it to none but its own agents: sessions, mapped and other agents are others."""
    ended(walled, "legal-advisor", YEARS, "earlier")
    noted(walled, TOKENS, "earlier")

    given = {
        "start": fire(walled, "SessionStart", source="startup"),
        "prompt": fire(walled, "UserPromptSubmit", prompt=QUESTION),
        "poet": started(walled, "poem-writer", "a3"),
        "critic": started(walled, "code-critic", "a4"),
        "compacted": fire(walled, "SessionStart", source="compact"),
    }

    assert [name for name, text in given.items() if "ten years" in text] == []
    assert "Redis" in given["start"]
    assert "ten years" in started(walled, "legal-advisor", "a5")
    assert walled.log == ""


def test_a_prompt_gets_records_of_open_domains_but_not_of_an_isolated_domain(
    walled: SimulatedClient,
) -> None:
    ended(walled, "code-critic", DAYS, "earlier")
    ended(walled, "legal-advisor", YEARS, "earlier")

    answer = fire(walled, "UserPromptSubmit", prompt=QUESTION)

    assert "ten days" in answer and "ten years" not in answer


def test_memory_md_contains_no_record_of_an_isolated_domain(walled: SimulatedClient) -> None:
    moved_to(walled, "services/legal")
    walled.note("rule", "Retention lasts at least ten years", session="legal")
    moved_to(walled, ".")
    walled.note("rule", "Redis always holds the session tokens", session="shop")

    notes = walled.memory_md_file().read_text("utf-8")

    assert "Redis" in notes and "ten years" not in notes
    assert {r.domain for r in walled.records()} >= {"legal", "general"}


def test_records_are_removed_from_memory_md_once_their_domain_is_isolated(
    client: SimulatedClient,
) -> None:
    configure(client, WALLS.replace("isolate = true\n", ""))
    moved_to(client, "services/legal")
    client.note("rule", "Retention lasts at least ten years", session="legal")
    assert "ten years" in client.memory_md_file().read_text("utf-8")

    configure(client, WALLS)
    moved_to(client, ".")
    client.fire("Stop", "shop")

    assert "ten years" not in client.memory_md_file().read_text("utf-8")
