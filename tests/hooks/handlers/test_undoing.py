"""Undone and forgotten memories: each is gone as a whole, and stays gone until it is redone."""

from __future__ import annotations

import json

import pytest

from hook_transcripts import age
from memory_fabric.ids import timestamp
from simulated_client import SimulatedClient

JSON_LINES = "Please write logs as JSON lines, from now on."


def held(client: SimulatedClient) -> list[str]:
    return [record.what for record in client.records("valid_to = ''")]


def note_in_place_of_a_statement(client: SimulatedClient) -> None:
    client.note("fact", "The staging host restarts every night", quotation="")
    client.note("rule", "Logs are JSON lines", JSON_LINES)
    assert held(client) == ["Logs are JSON lines", "The staging host restarts every night"]


@pytest.mark.parametrize("way", ["undo", "undo last", "of its id", "undo --last"])
def test_one_undo_reverts_a_note_and_the_statement_that_it_replaced(
    client: SimulatedClient, way: str
) -> None:
    note_in_place_of_a_statement(client)

    if way == "undo --last":
        client.command("undo", "--last")
    else:
        id_ = client.records("what = 'Logs are JSON lines'")[0].id
        said = client.types(way if way != "of its id" else f"undo {id_[-8:]}")
        assert "undone: remembered rule" in said and "Logs are JSON lines" in said
    assert held(client) == ["The staging host restarts every night"]

    client.stop("Done.")  # what the prompt stated is not heard again
    assert held(client) == ["The staging host restarts every night"]
    assert "staging host" in client.types("undo")
    assert held(client) == []


def test_redo_restores_a_note_and_the_statement_that_it_replaced(client: SimulatedClient) -> None:
    note_in_place_of_a_statement(client)
    id_ = client.types("undo").split("memory-fabric undo ")[1][:8]

    client.command("undo", id_)

    assert held(client) == ["Logs are JSON lines", "The staging host restarts every night"]
    assert client.records("what = 'Logs are JSON lines'")[0].trust == "user"


def test_undo_of_a_note_on_a_candidate_makes_it_a_candidate_again(client: SimulatedClient) -> None:
    heard = "No, always write the changelog in the present tense."
    client.prompt(heard)
    client.stop("Done.")
    (candidate,) = client.records("status = 'candidate'")
    client.stop(f"Noted rule: The changelog is in the present tense. From: [{candidate.id[-8:]}]")
    assert not client.records("status = 'candidate'")

    client.types("undo")

    assert [(r.id, r.status) for r in client.records("1")] == [(candidate.id, "candidate")]


def replaced_cache(client: SimulatedClient) -> tuple[str, str]:
    """Have a note replace a decision; the ids of both as people type them."""
    client.note("decision", "The cache is Redis", "We take Redis as the cache")
    quotation = "We take Memcached as the cache instead of Redis"
    client.note("decision", "The cache is Memcached", quotation, instead_of="The cache is Redis")
    assert held(client) == ["The cache is Memcached"]
    old, new = (client.records(f"what = 'The cache is {x}'")[0] for x in ("Redis", "Memcached"))
    return old.id[-8:], new.id[-8:]


def test_forgetting_a_decision_reports_the_earlier_decision_that_holds_again(
    client: SimulatedClient,
) -> None:
    old, new = replaced_cache(client)
    again = f"{old} “The cache is Redis” holds again; `forget {old}` too?"

    assert again in client.command("forget", new).stdout
    assert held(client) == ["The cache is Memcached"]
    said = client.types(f"forget {new}")

    assert f"{again} `undo last` brings it back" in said
    assert held(client) == ["The cache is Redis"]
    assert "again" not in client.types(f"forget {old}")


def test_the_forget_shell_command_reports_the_decision_valid_again(client: SimulatedClient) -> None:
    old, new = replaced_cache(client)

    assert (
        f"{old} “The cache is Redis” holds again" in client.command("forget", new, "--yes").stdout
    )
    assert held(client) == ["The cache is Redis"]


def test_a_decision_forgotten_together_with_its_replacement_stays_forgotten(
    client: SimulatedClient,
) -> None:
    replaced_cache(client)

    assert "again" not in client.command("forget", "cache", "--yes", "--all").stdout
    assert held(client) == []


CACHE = "We take Memcached as the cache in every service"
NOTED = f'Done.\n\nNoted decision: The cache is Memcached. From: "{CACHE}"'


def undone_note(client: SimulatedClient) -> tuple[str, str]:
    """Undo a note whose turn the transcript does not hold yet; its id, and when it was written."""
    client.fire("SessionStart", source="startup")
    client.fire("UserPromptSubmit", prompt=CACHE)
    at = timestamp()
    client.stop(NOTED)
    (record,) = client.records("what = 'The cache is Memcached'")
    assert "undone" in client.types("undo")
    return record.id[-8:], at


def remembered(client: SimulatedClient) -> list[str]:
    """The changes that say something was remembered, without those that were undone."""
    told = json.loads(client.command("history", "--json").stdout)
    return [c["what"] for c in told if c["what"].startswith("remembered") and not c["undone"]]


def test_the_assistant_gets_no_feedback_on_a_note_that_was_undone(client: SimulatedClient) -> None:
    client.fire("UserPromptSubmit", prompt=CACHE)
    client.stop(f"{NOTED}\nNoted fact: The staging host restarts every night.")
    kept, undone = (client.records(f"what LIKE '%{x}%'")[0].id[-8:] for x in ("Mem", "staging"))
    assert undone in client.types("undo")

    feedback = client.feedback()

    assert kept in feedback
    assert undone not in feedback


def test_the_assistant_gets_no_feedback_on_an_undone_replacement(client: SimulatedClient) -> None:
    _, new = replaced_cache(client)
    client.types("undo")

    assert held(client) == ["The cache is Redis"]
    feedback = client.feedback()

    assert new not in feedback and "Replaced" not in feedback


@pytest.mark.parametrize("event", ["Stop", "PreCompact", "SessionEnd", "SessionStart"])
def test_an_undone_note_is_not_read_again_in_the_transcript(
    client: SimulatedClient, event: str
) -> None:
    _, at = undone_note(client)
    client.say("user", CACHE, timestamp=at)
    client.say("assistant", NOTED, timestamp=at)

    if event == "Stop":
        client.prompt("Now the tests, please.")
        assert "not kept" not in client.stop("Done.")
    elif event == "SessionStart":
        age(client, client.transcript)
        client.fire(event, "session-2", source="startup", transcript_path="")
        client.fire("UserPromptSubmit", "session-2", prompt="Now the tests, please.")
        assert "not kept" not in client.stop("Done.", "session-2")
    else:
        client.fire(event, trigger="manual", reason="exit")

    assert held(client) == []
    assert remembered(client) == []
    assert "Kept" not in client.feedback() and "Not kept" not in client.feedback()


def test_an_undone_note_is_not_stored_again_if_a_summary_rewords_it(
    client: SimulatedClient,
) -> None:
    undone_note(client)

    summary = f'Noted decision: The services cache in Memcached. From: "{CACHE}"'
    client.fire("PostCompact", compact_summary=f"<summary>{summary}</summary>", trigger="manual")

    assert held(client) == []
    assert remembered(client) == []


def test_a_note_that_the_assistant_writes_after_the_undo_is_kept(client: SimulatedClient) -> None:
    undone_note(client)
    again = "After all, we take Memcached as the cache"

    client.note("decision", "The cache is Memcached", again)

    assert held(client) == ["The cache is Memcached"]


def test_an_undone_removal_is_not_repeated_when_the_transcript_is_read(
    client: SimulatedClient,
) -> None:
    client.note("fact", "The staging host restarts every night", quotation="", session="s-0")
    (record,) = client.records()
    client.fire("UserPromptSubmit", prompt="Go on, please.")
    at, said = timestamp(), f"Done.\n\nDropped: {record.id[-8:]}"
    client.stop(said)
    assert held(client) == []
    client.types("undo")
    client.say("user", "Go on, please.", timestamp=at)
    client.say("assistant", said, timestamp=at)

    client.stop("Done.")

    assert held(client) == ["The staging host restarts every night"]


def test_an_undone_prompt_is_not_stored_when_its_transcript_entry_is_read_later(
    client: SimulatedClient,
) -> None:
    client.writes_entries = False
    client.prompt(JSON_LINES)
    assert held(client) == ["Write logs as JSON lines, from now on"]
    client.types("undo")
    client.entry(JSON_LINES)

    client.stop("Done.")

    assert held(client) == []


def test_a_redone_note_keeps_the_users_trust_even_if_its_prompt_was_confirmed_late(
    client: SimulatedClient,
) -> None:
    client.writes_entries = False
    client.prompt(CACHE)
    client.stop(NOTED)
    client.entry(CACHE)
    said = client.types("undo")
    client.stop("Done.")

    redone = client.command("undo", said.split("memory-fabric undo ")[1][:8]).stdout

    (record,) = client.records()
    assert (record.trust, record.confidence) == ("user", 0.85)
    assert redone.startswith("Redone: remembered decision")


def test_a_refused_undo_command_does_not_give_a_record_the_users_trust(
    client: SimulatedClient,
) -> None:
    """The assistant can write another transcript, and pipe in an event that names it."""
    client.writes_entries = False
    client.fire("SessionStart", source="startup")
    client.prompt(JSON_LINES)
    client.say("assistant", "Done.")
    genuine, client.transcript = client.transcript, client.transcript.with_name("other.jsonl")
    client.entry(JSON_LINES)

    reply = client.fire("UserPromptSubmit", prompt="undo", transcript_path=str(client.transcript))

    assert genuine.exists() and "not done" in json.dumps(reply)
    assert [record.trust for record in client.records()] == ["assistant"]


def test_history_labels_repeated_undos_as_undone_or_redone(client: SimulatedClient) -> None:
    client.note("fact", "The staging host restarts every night", quotation="")
    for _ in range(3):
        newest = json.loads(client.command("history", "--json").stdout)[0]["id"]
        client.command("undo", newest)

    told = [change["what"] for change in json.loads(client.command("history", "--json").stdout)]

    assert [what.partition(" ")[0] for what in told] == ["undid:", "redid:", "undid:", "remembered"]
    assert len({what.rpartition(":")[2] for what in told}) == 1


def test_an_undone_statement_that_is_noted_again_is_reported_as_not_kept(
    client: SimulatedClient,
) -> None:
    client.note("fact", "The staging host restarts every night", quotation="")
    client.types("undo")

    assert "not kept" in client.note(
        "fact", "The staging host restarts every night", quotation="", prompt="Go on, please."
    )

    assert remembered(client) == []


def test_undoing_keep_makes_the_record_a_candidate_again(client: SimulatedClient) -> None:
    client.prompt("No, always write the changelog in the present tense.")
    client.stop("Done.")
    client.types("keep")

    assert "undone: kept rule" in client.types("undo")
    assert [record.status for record in client.records("1")] == ["candidate"]


def test_undoing_a_keep_command_closes_the_replaced_decision_again(client: SimulatedClient) -> None:
    old, _ = replaced_cache(client)
    client.types(f"keep {old}")
    assert held(client) == ["The cache is Memcached", "The cache is Redis"]

    assert f"undone: kept decision {old}" in client.types("undo")

    assert held(client) == ["The cache is Memcached"]


def test_a_note_refused_because_it_was_undone_deletes_no_statement_that_it_quotes(
    client: SimulatedClient,
) -> None:
    said = "From now on always run the linter before pushing"
    client.prompt(said)
    client.stop("Noted rule: The linter runs before each push.")
    client.types("undo")
    client.prompt("Go on, please.")

    notice = client.stop(f'Noted rule: The linter runs before each push. From: "{said}"')

    assert "not kept" in notice
    assert held(client) == [said]


def test_an_undone_note_of_an_unattended_session_deletes_no_candidate_that_it_names(
    client: SimulatedClient,
) -> None:
    note = "Noted rule: The linter runs before each push."
    client.prompt("Go on, please.")
    client.stop(note)
    client.types("undo")
    client.prompt("Never push before the linter of the shop has passed.", "session-2")
    client.stop(session="session-2")
    [heard] = client.records("status = 'candidate'")

    client.environ["CLAUDE_CODE_ENTRYPOINT"] = "sdk-py"
    client.prompt("Go on, please.", "session-3")
    client.stop(f"{note} From: [{heard.id[-8:]}]", "session-3")

    assert [record.id for record in client.records("1")] == [heard.id]
