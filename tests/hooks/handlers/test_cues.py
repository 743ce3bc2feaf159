"""Cues beside a prompt: short, rare, and with the record that may be meant."""

from __future__ import annotations

import pytest

from memory_fabric.hooks.session.heard import CUES, MAX_CUE_CHARS
from memory_fabric.models import Provenance
from memory_fabric.store.history.resolve import pin
from simulated_client import SimulatedClient

QUIET = "Please add a test for the empty cart."


def cue(client: SimulatedClient, text: str, session: str = "session-1") -> str:
    """Return what is added to a prompt of a session that was given its block before."""
    client.fire("SessionStart", session, source="startup")
    return client.prompt(text, session)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Never push to the main branch yourself.", "rule"),
        ("use pnpm instead of npm here", "choice"),
        ("I'll run the dev server myself", "person"),
    ],
)
def test_a_statement_worth_noting_gets_a_one_line_cue(
    client: SimulatedClient, text: str, kind: str
) -> None:
    assert cue(client, text) == CUES[kind]
    assert all(len(line) <= MAX_CUE_CHARS for line in CUES.values())
    assert client.records("1") == []


def test_a_cue_contains_the_id_of_the_record_that_the_prompt_may_change(
    client: SimulatedClient,
) -> None:
    client.note("rule", "Packages of the shop are installed with npm", quotation="")
    (record,) = client.records()
    text = cue(client, "use pnpm instead of npm for the packages of the shop", "session-2")

    assert f"On record: [{record.id[-8:]}]" in text
    assert f"note Instead of: {record.id[-8:]}." in text


def test_a_cue_names_the_existing_record_even_after_many_messages_on_its_subject(
    client: SimulatedClient,
) -> None:
    client.note("decision", "The analytics DB uses MongoDB", quotation="")
    for number in range(5):
        client.say("user", f"Show me query {number} of the analytics DB on MongoDB.")
    client.fire("Stop", last_assistant_message="Here they are.")

    text = cue(client, "use PostgreSQL for the analytics DB instead of MongoDB", "session-2")

    assert "On record:" in text


@pytest.mark.parametrize(
    ("record", "text"),
    [
        # one word in common, or words that say nothing about a subject
        ("Parcels of the shop leave by bicycle", "Never send parcels without a customs form."),
        ("We only use what the shop has", "We only use tabs here, never spaces."),
        ("The shop keeps its prices in cents", "Never change the prices of a sale twice."),
        # another thing of the same kind
        ("Packages are installed with npm", "Always wrap packages for the post in paper."),
    ],
)
def test_a_cue_names_no_record_that_is_only_loosely_related_to_the_prompt(
    client: SimulatedClient, record: str, text: str
) -> None:
    client.note("rule", record, quotation="")

    assert cue(client, text, "session-2") in CUES.values()


def test_a_cue_does_not_name_a_pinned_record(client: SimulatedClient) -> None:
    client.note("rule", "Packages of the shop are installed with npm", quotation="")
    (record,) = client.records()
    memory = client.memory()
    pin(memory, record.id, Provenance("cli", trust="user"))
    memory.close()

    text = cue(client, "use pnpm instead of npm for the packages of the shop", "session-2")

    assert text == CUES["choice"]


@pytest.mark.parametrize(
    "text",
    [
        QUIET,
        "yes",
        "<task-notification>Never push to the main branch yourself.</task-notification>",
        "/fix Never push to the main branch yourself.",
    ],
)
def test_requests_slash_commands_and_machine_generated_prompts_get_no_cue(
    client: SimulatedClient, text: str
) -> None:
    assert cue(client, text) == ""


@pytest.mark.parametrize(
    "environ", [{"CLAUDE_CODE_SESSION_ATTENDED": "0"}, {"MEMORY_FABRIC_NOTES": "off"}]
)
def test_no_cue_is_given_if_notes_are_not_requested(
    client: SimulatedClient, environ: dict[str, str]
) -> None:
    client.environ |= environ

    assert cue(client, "Never push to the main branch yourself.") == ""


def test_a_cue_shows_the_id_of_a_statement_that_was_already_stored(client: SimulatedClient) -> None:
    text = cue(client, "We decided to use Redis for the sessions of the shop.")

    (record,) = client.records()
    assert f"Kept already as [{record.id[-8:]}]" in text


def test_a_decision_to_remember_is_stored_without_a_note(client: SimulatedClient) -> None:
    text = "Remember that we decided to use Redis for the job queue because it retries."
    said = client.fire("UserPromptSubmit", prompt=text)
    client.fire("Stop", last_assistant_message="All right.")

    (record,) = client.records("1")
    assert (record.type, record.trust, record.confidence) == ("decision", "user", 0.8)
    assert record.what == "We decided to use Redis for the job queue"
    assert record.why == "it retries"
    assert record.id[-8:] in str(said)


@pytest.mark.parametrize(
    "text",
    [
        "main.go:12:5: QF1012: Use fmt.Fprintf(...) instead of x.WriteString(fmt.Sprintf(...))",
        "Use fmt.Fprintf(...) instead of x.WriteString(fmt.Sprintf(...))",
        "please mend main.go:12:5: S1: Use fmt.Fprintf instead of x.WriteString (staticcheck)",
        "src/a.ts(12,5): error TS2345: Never use any, prefer unknown instead.",
        "src/app.js\n  12:5  error  Unexpected var, never use var, use let instead  no-var",
        "warning: never call `old::x`, use `new::x` instead\n --> src/main.rs:2:9\n  |",
        "hint: Updates were rejected; never push, use pull instead",
        "[10:04:33] WARN pool: never use an unbounded queue, always set a limit",
        'level=warn msg="never use plain http, always use https"',
        "java.lang.IllegalStateException: never call this twice, always use reset instead",
    ],
)
def test_linter_compiler_and_log_output_gets_no_cue(client: SimulatedClient, text: str) -> None:
    assert cue(client, text) == ""
    assert client.records("1") == []


@pytest.mark.parametrize(
    "text",
    [
        "Use logger.info() instead of print()",
        "Never suppress line length (E501)",
        "Never edit config.yml: it is generated",
        "Don't touch src/app.py:12 again, never edit that file",
        "we meet at 10:30, never before",
    ],
)
def test_a_statement_that_mentions_a_file_code_or_a_time_still_gets_a_cue(
    client: SimulatedClient, text: str
) -> None:
    assert cue(client, text) != ""
