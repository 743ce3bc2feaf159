"""A correction becomes a rule and closes what it contradicts; said twice it
is proposed as a pinned one, never pinned by itself."""

from __future__ import annotations

import json

import pytest

from memory_fabric.models import Provenance, Record
from simulated_client import SimulatedClient

RULE = "No, we use pnpm here, not npm."
TWICE = "corrected twice"


def notice(client: SimulatedClient, text: str, session: str = "session-1") -> str:
    reply = client.fire("UserPromptSubmit", session, prompt=text)
    return str(reply.get("systemMessage", ""))


def start(client: SimulatedClient, session: str) -> str:
    return str(client.fire("SessionStart", session, source="startup").get("systemMessage", ""))


def waiting(client: SimulatedClient) -> dict[str, list[dict[str, object]]]:
    done = client.command("candidates", "--json")
    assert done.returncode == 0, done.stderr
    found: dict[str, list[dict[str, object]]] = json.loads(done.stdout)
    return found


def only(client: SimulatedClient) -> Record:
    """The one record there is, beside what was noted of the session itself."""
    (record,) = (record for record in client.records() if record.type != "session")
    return record


def test_a_correction_is_a_sure_rule_that_names_what_it_rejects(client: SimulatedClient) -> None:
    told = notice(client, RULE)

    rule = only(client)
    assert (rule.type, rule.trust, rule.alternatives) == ("constraint", "user", ("npm",))
    assert rule.confidence >= 0.8
    assert "remembered constraint" in told
    assert TWICE not in told


@pytest.mark.parametrize(
    "said",
    ["Stop adding comments to every line.", "Not npm, pnpm.", "Nein, wir verwenden hier pnpm."],
)
def test_what_only_a_correction_says_passes_the_gate_of_prompts(
    client: SimulatedClient, said: str
) -> None:
    notice(client, said)

    assert only(client).type == "constraint"


@pytest.mark.parametrize(
    "said",
    [
        "No, make the button blue instead.",
        "No, I meant the other file.",
        "No, don't do that yet.",
        "Did we say no, we use pnpm here?",
        "<task-notification>No, we use pnpm here, not npm.</task-notification>",
        "/fix No, we use pnpm here, not npm.",
    ],
)
def test_edits_pointers_and_machines_leave_nothing(client: SimulatedClient, said: str) -> None:
    assert notice(client, said) == ""
    assert client.records("1") == []


@pytest.mark.parametrize(
    ("before", "said"),
    [
        ("We decided to use npm for packages.", "No, we use pnpm for packages, not npm."),
        ("We use npm everywhere.", RULE),
        ("We decided to use moment for dates.", "Stop using moment for dates."),
        ("We decided to use npm for packages.", "You keep using npm, we use pnpm for packages."),
        ("Decision: the default port is 8080.", "Wrong: the default port is 9090, not 8080."),
    ],
)
def test_what_it_contradicts_is_closed(client: SimulatedClient, before: str, said: str) -> None:
    client.prompt(before, "session-1")
    client.prompt(said, "session-2")

    new, old = client.records()
    assert (new.category, old.superseded_by) == ("correction", new.id)


def test_what_it_does_not_speak_of_stays_open(client: SimulatedClient) -> None:
    client.prompt("We decided to use Redis for sessions.", "session-1")
    client.prompt(RULE, "session-2")

    assert [r.superseded_by for r in client.records()] == ["", ""]


def test_the_assistant_and_an_unattended_session_correct_nobody(client: SimulatedClient) -> None:
    client.say("assistant", RULE)
    client.fire("Stop", last_assistant_message=RULE)
    client.environ["CLAUDE_CODE_SESSION_ATTENDED"] = "0"
    notice(client, RULE)

    assert [r for r in client.records("1") if r.category == "correction"] == []


@pytest.mark.parametrize("again", [RULE, "No, we use pnpm instead of npm here."])
@pytest.mark.parametrize("session", ["session-1", "session-2"])
def test_corrected_twice_is_proposed_and_not_pinned(
    client: SimulatedClient, again: str, session: str
) -> None:
    first, second = notice(client, RULE), notice(client, again, session)

    rule = only(client)
    assert TWICE not in first
    assert second.endswith(f"ask Claude for memory-fabric pin {rule.id[-8:]}")
    assert not rule.pinned
    assert [r["id"] for r in waiting(client)["corrected_twice"]] == [rule.id]


def test_it_is_said_once_more_at_the_next_start_here_and_then_no_more(
    client: SimulatedClient,
) -> None:
    for text in (RULE, RULE):
        notice(client, text)
    client.fire("Stop", last_assistant_message="Done.")

    assert TWICE in start(client, "session-2")
    assert TWICE not in start(client, "session-3")
    assert TWICE not in notice(client, RULE, "session-3")


def test_another_project_is_not_told(client: SimulatedClient) -> None:
    for text in (RULE, RULE):
        notice(client, text)
    here = client.environ["CLAUDE_PROJECT_DIR"]
    other = client.project.parent / "other"
    (other / ".git").mkdir(parents=True)
    client.environ["CLAUDE_PROJECT_DIR"] = str(other)

    assert TWICE not in start(client, "session-2")
    client.environ["CLAUDE_PROJECT_DIR"] = here
    assert TWICE in start(client, "session-3")


def test_the_transcript_tells_the_same_turn_and_not_another(client: SimulatedClient) -> None:
    notice(client, RULE)
    client.say("user", RULE)
    for _ in range(2):
        assert TWICE not in str(client.fire("Stop", last_assistant_message="Done."))
    client.fire("SessionEnd", reason="other")

    assert waiting(client)["corrected_twice"] == []
    assert len(only(client).evidence["corrected"]) == 1


def test_a_forks_copied_transcript_is_not_another_time(client: SimulatedClient) -> None:
    notice(client, RULE)
    client.say("user", RULE)
    client.fire("Stop", last_assistant_message="Done.")
    client.fire("SessionStart", "fork", source="fork")
    client.fire("Stop", "fork", last_assistant_message="Done.")

    assert waiting(client)["corrected_twice"] == []


def test_a_correction_that_only_a_later_sessions_transcript_tells_counts(
    client: SimulatedClient,
) -> None:
    notice(client, RULE)
    client.fire("SessionStart", "session-2", source="startup")
    client.say("user", RULE, session="session-2", timestamp="2999-01-01T10:00:00.000Z")
    told = client.fire("Stop", "session-2", last_assistant_message="Done.")

    assert TWICE in told["systemMessage"]


def test_pinned_or_dropped_it_waits_no_more(client: SimulatedClient) -> None:
    for text in (RULE, RULE, "Don't delete migrations again.", "Don't delete migrations again."):
        notice(client, text)
    dropped, pinned = client.records()

    client.command("pin", pinned.id)
    left = client.command("candidates", "--drop", dropped.id)
    notice(client, "Don't delete migrations again.", "session-2")

    assert left.returncode == 0, left.stderr
    assert waiting(client)["corrected_twice"] == []
    assert TWICE not in start(client, "session-3")
    assert {r.what: r.pinned for r in client.records()} == {pinned.what: True, dropped.what: False}


def test_keeping_a_proposal_pins_it_and_undo_takes_that_back(client: SimulatedClient) -> None:
    for text in (RULE, RULE):
        notice(client, text)

    client.command("candidates", "--keep", only(client).id)
    assert only(client).pinned
    assert "We use pnpm here" in client.memory_md_file().read_text()
    client.command("undo", "--last")
    assert not only(client).pinned


def test_a_plain_decision_that_is_said_twice_is_no_correction(client: SimulatedClient) -> None:
    for session in ("session-1", "session-2"):
        notice(client, "We decided to use Redis for sessions because it is fast.", session)

    assert waiting(client)["corrected_twice"] == []


def test_a_rule_said_before_is_corrected_once_by_a_correction(client: SimulatedClient) -> None:
    memory = client.memory()
    by = Provenance("cli", trust="user", session="session-9")
    memory.remember(Record("constraint", "We use pnpm here, not npm", confidence=0.8), by)
    memory.close()

    assert TWICE not in notice(client, RULE)
    assert TWICE in notice(client, RULE)
