"""Through the front door: a correction becomes a rule and closes what it contradicts; said twice it
is proposed as a pinned one, never pinned by itself."""

from __future__ import annotations

import json

import pytest

from house import House
from memory_fabric.models import Provenance, Record

RULE = "No, we use pnpm here, not npm."
TWICE = "corrected twice"


def notice(house: House, text: str, session: str = "session-1") -> str:
    reply = house.fire("UserPromptSubmit", session, prompt=text)
    return str(reply.get("systemMessage", ""))


def start(house: House, session: str) -> str:
    return str(house.fire("SessionStart", session, source="startup").get("systemMessage", ""))


def waiting(house: House) -> dict[str, list[dict[str, object]]]:
    done = house.command("candidates", "--json")
    assert done.returncode == 0, done.stderr
    found: dict[str, list[dict[str, object]]] = json.loads(done.stdout)
    return found


def only(house: House) -> Record:
    """The one record there is, beside what was noted of the session itself."""
    (record,) = (record for record in house.records() if record.type != "session")
    return record


def test_a_correction_is_a_sure_rule_that_names_what_it_rejects(house: House) -> None:
    told = notice(house, RULE)

    rule = only(house)
    assert (rule.type, rule.trust, rule.alternatives) == ("constraint", "user", ("npm",))
    assert rule.confidence >= 0.8
    assert "remembered constraint" in told
    assert TWICE not in told


@pytest.mark.parametrize(
    "said",
    ["Stop adding comments to every line.", "Not npm, pnpm.", "Nein, wir verwenden hier pnpm."],
)
def test_what_only_a_correction_says_passes_the_gate_of_prompts(house: House, said: str) -> None:
    notice(house, said)

    assert only(house).type == "constraint"


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
def test_edits_pointers_and_machines_leave_nothing(house: House, said: str) -> None:
    assert notice(house, said) == ""
    assert house.records("1") == []


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
def test_what_it_contradicts_is_closed(house: House, before: str, said: str) -> None:
    house.prompt(before, "session-1")
    house.prompt(said, "session-2")

    new, old = house.records()
    assert (new.category, old.superseded_by) == ("correction", new.id)


def test_what_it_does_not_speak_of_stays_open(house: House) -> None:
    house.prompt("We decided to use Redis for sessions.", "session-1")
    house.prompt(RULE, "session-2")

    assert [r.superseded_by for r in house.records()] == ["", ""]


def test_the_assistant_and_an_unattended_session_correct_nobody(house: House) -> None:
    house.say("assistant", RULE)
    house.fire("Stop", last_assistant_message=RULE)
    house.environ["CLAUDE_CODE_SESSION_ATTENDED"] = "0"
    notice(house, RULE)

    assert [r for r in house.records("1") if r.category == "correction"] == []


@pytest.mark.parametrize("again", [RULE, "No, we use pnpm instead of npm here."])
@pytest.mark.parametrize("session", ["session-1", "session-2"])
def test_corrected_twice_is_proposed_and_not_pinned(house: House, again: str, session: str) -> None:
    first, second = notice(house, RULE), notice(house, again, session)

    rule = only(house)
    assert TWICE not in first
    assert second.endswith(f"ask Claude for memory-fabric pin {rule.id[-8:]}")
    assert not rule.pinned
    assert [r["id"] for r in waiting(house)["corrected_twice"]] == [rule.id]


def test_it_is_said_once_more_at_the_next_start_here_and_then_no_more(house: House) -> None:
    for text in (RULE, RULE):
        notice(house, text)
    house.fire("Stop", last_assistant_message="Done.")

    assert TWICE in start(house, "session-2")
    assert TWICE not in start(house, "session-3")
    assert TWICE not in notice(house, RULE, "session-3")


def test_another_project_is_not_told(house: House) -> None:
    for text in (RULE, RULE):
        notice(house, text)
    here = house.environ["CLAUDE_PROJECT_DIR"]
    other = house.project.parent / "other"
    (other / ".git").mkdir(parents=True)
    house.environ["CLAUDE_PROJECT_DIR"] = str(other)

    assert TWICE not in start(house, "session-2")
    house.environ["CLAUDE_PROJECT_DIR"] = here
    assert TWICE in start(house, "session-3")


def test_the_transcript_tells_the_same_turn_and_not_another(house: House) -> None:
    notice(house, RULE)
    house.say("user", RULE)
    for _ in range(2):
        assert TWICE not in str(house.fire("Stop", last_assistant_message="Done."))
    house.fire("SessionEnd", reason="other")

    assert waiting(house)["corrected_twice"] == []
    assert len(only(house).evidence["corrected"]) == 1


def test_a_forks_copied_transcript_is_not_another_time(house: House) -> None:
    notice(house, RULE)
    house.say("user", RULE)
    house.fire("Stop", last_assistant_message="Done.")
    house.fire("SessionStart", "fork", source="fork")
    house.fire("Stop", "fork", last_assistant_message="Done.")

    assert waiting(house)["corrected_twice"] == []


def test_a_correction_that_only_a_later_sessions_transcript_tells_counts(house: House) -> None:
    notice(house, RULE)
    house.fire("SessionStart", "session-2", source="startup")
    house.say("user", RULE, session="session-2", timestamp="2999-01-01T10:00:00.000Z")
    told = house.fire("Stop", "session-2", last_assistant_message="Done.")

    assert TWICE in told["systemMessage"]


def test_pinned_or_dropped_it_waits_no_more(house: House) -> None:
    for text in (RULE, RULE, "Don't delete migrations again.", "Don't delete migrations again."):
        notice(house, text)
    dropped, pinned = house.records()

    house.command("pin", pinned.id)
    left = house.command("candidates", "--drop", dropped.id)
    notice(house, "Don't delete migrations again.", "session-2")

    assert left.returncode == 0, left.stderr
    assert waiting(house)["corrected_twice"] == []
    assert TWICE not in start(house, "session-3")
    assert {r.what: r.pinned for r in house.records()} == {pinned.what: True, dropped.what: False}


def test_keeping_a_proposal_pins_it_and_undo_takes_that_back(house: House) -> None:
    for text in (RULE, RULE):
        notice(house, text)

    house.command("candidates", "--keep", only(house).id)
    assert only(house).pinned
    assert "We use pnpm here" in house.memory_md_file().read_text()
    house.command("undo", "--last")
    assert not only(house).pinned


def test_a_plain_decision_that_is_said_twice_is_no_correction(house: House) -> None:
    for session in ("session-1", "session-2"):
        notice(house, "We decided to use Redis for sessions because it is fast.", session)

    assert waiting(house)["corrected_twice"] == []


def test_a_rule_said_before_is_corrected_once_by_a_correction(house: House) -> None:
    memory = house.memory()
    by = Provenance("cli", trust="user", session="session-9")
    memory.remember(Record("constraint", "We use pnpm here, not npm", confidence=0.8), by)
    memory.close()

    assert TWICE not in notice(house, RULE)
    assert TWICE in notice(house, RULE)
