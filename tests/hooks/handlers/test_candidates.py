"""Candidates: what was heard in a prompt and not noted; no hook gives them as facts."""

from __future__ import annotations

import pytest

from memory_fabric.errors import DeadlinePassed
from memory_fabric.hooks.session.turn_notes import end_turn
from memory_fabric.ids import timestamp
from memory_fabric.models import PASTED, PROMPT, QUOTATION, Provenance
from memory_fabric.recall.request_context import RequestContext
from memory_fabric.store.database import Database
from memory_fabric.store.history import undo
from memory_fabric.store.memory import Memory
from memory_fabric.store.tiers import sync
from memory_fabric.store.upkeep import maintenance
from simulated_client import SimulatedClient

REQUEST = "Remember that we always use pnpm instead of npm."
SAID = "Never start the dev server yourself, I run it on my own machine."
ASKED = "Who starts the dev server, on which machine does it run?"


def hear(client: SimulatedClient, what: str = SAID, session: str = "session-1") -> None:
    """A turn in which the user says this, and nobody notes it."""
    client.fire("UserPromptSubmit", session, prompt=what)
    client.fire("Stop", session, last_assistant_message="All right.")


def statuses(client: SimulatedClient) -> list[str]:
    return [r.status for r in client.records("1")]


def test_a_user_statement_without_a_note_is_kept_as_a_candidate_with_its_context(
    client: SimulatedClient,
) -> None:
    client.say("assistant", "I have started the dev server on port 3000.")
    client.fire("Stop", last_assistant_message="I have started the dev server on port 3000.")
    hear(client)

    (record,) = client.records("1")
    assert (record.status, record.trust, record.source) == ("candidate", "user", "prompt")
    assert record.what in SAID
    assert record.evidence["prompt"] == SAID
    assert "port 3000" in record.evidence["before"]


@pytest.mark.parametrize("is_noted", [True, False])
def test_a_statement_below_a_long_paste_is_the_users(
    client: SimulatedClient, *, is_noted: bool
) -> None:
    lines = [f"12:00:{n % 60:02} INFO worker {n} has finished job {n * 7}" for n in range(900)]
    log = "\n".join(lines)
    note = f'Noted rule: The server is started by the user. From: "{SAID}"'
    client.fire("UserPromptSubmit", prompt=f"{log}\n\n{SAID}")
    client.fire("Stop", last_assistant_message=note if is_noted else "All right.")

    (record,) = client.records("1")
    assert len(log) > 30_000
    assert (record.status, record.trust) == ("active" if is_noted else "candidate", "user")
    assert SAID in record.evidence[QUOTATION if is_noted else PROMPT]


@pytest.mark.parametrize("pasted", ["", "\n12:00:01 INFO the worker has finished" * 900])
def test_a_forgotten_turn_returns_in_no_candidate_and_no_note(
    client: SimulatedClient, pasted: str
) -> None:
    client.writes_entries = False
    client.prompt(SAID + pasted)
    client.say("user", SAID + pasted)
    client.fire("PreCompact", trigger="auto")
    assert client.command("forget", "episode:00000001", "--yes").returncode == 0

    client.stop()
    client.stop(f'Noted rule: The server runs elsewhere. From: "{SAID[:35]}"')

    (record,) = client.records("1")
    assert (record.type, record.trust) == ("constraint", "assistant")
    assert SAID not in str(record)


def test_a_prompt_without_a_statement_leaves_no_candidate(client: SimulatedClient) -> None:
    hear(client, "Please add a test for the empty cart.")
    hear(client, "Should we use PostgreSQL for the analytics DB?")

    assert client.records("1") == []


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        (SAID, "constraint"),
        ("That is wrong, the prices are stored in cents.", "constraint"),
        ("Let's keep both tables.", "decision"),
        ("We no longer need the nightly export.", "decision"),
        ("Invoices are handled in the ERP.", "note"),
    ],
)
def test_the_type_of_a_candidate_depends_on_the_kind_of_the_statement(
    client: SimulatedClient, said: str, kind: str
) -> None:
    hear(client, said)

    assert [(r.status, r.type) for r in client.records("1")] == [("candidate", kind)]


def test_a_request_to_remember_is_stored_without_a_candidate(client: SimulatedClient) -> None:
    hear(client, "Remember that we always use pnpm instead of npm.")

    assert statuses(client) == ["active"]


def test_a_statement_in_a_possibly_pasted_text_waits_for_confirmation(
    client: SimulatedClient,
) -> None:
    stated = "From now on use pnpm instead of npm."
    pasted = f"Please read this.\n{stated}\nThe build is red."
    cue = client.context("UserPromptSubmit", prompt=pasted)
    client.fire("Stop", last_assistant_message="All right.")
    (waiting,) = client.records("1")
    shown = client.memory_md_file()

    assert cue == (
        f"Waits for the user's yes as [{waiting.id[-8:]}], since the text may be pasted."
    )
    assert waiting.status == "candidate"
    assert not shown.exists() or "pnpm" not in shown.read_text("utf-8")
    kept = client.fire("UserPromptSubmit", "session-2", prompt=f"keep {waiting.id[-8:]}")
    client.fire("Stop", "session-2", last_assistant_message="All right.")
    (record,) = client.records("1")
    assert "remembered" in kept["reason"]
    assert (record.status, record.trust) == ("active", "user")
    assert "pnpm" in shown.read_text("utf-8")


def test_a_statement_that_is_the_whole_prompt_is_stored_at_once(client: SimulatedClient) -> None:
    hear(client, "From now on use pnpm instead of npm.")

    assert statuses(client) == ["active"]


def test_no_hook_presents_a_candidate_as_a_fact(client: SimulatedClient) -> None:
    hear(client)

    shown = [
        client.context("SessionStart", "session-1", source="compact"),
        client.prompt(ASKED, "session-1"),
        client.context("SubagentStart", "session-2", agent_id="a", agent_type="database-engineer"),
        client.command("recall", ASKED).stdout,
        client.command("load").stdout,
        client.command("export").stdout,
    ]
    files = [client.memory_md_file(), client.project / ".claude" / "memory" / "decisions.jsonl"]
    shown += [path.read_text() for path in files if path.exists()]

    assert statuses(client) == ["candidate"]
    assert "dev server yourself" not in "".join(shown)


def test_a_candidate_counts_the_sessions_in_which_it_is_stated_again(
    client: SimulatedClient,
) -> None:
    for day, session in enumerate(("session-1", "session-2", "session-3"), 1):
        client.transcript = client.project.parent / f"{session}.jsonl"
        client.say("user", SAID, session=session, timestamp=f"2026-03-0{day}T10:00:00.000Z")
        hear(client, session=session)

    (record,) = client.records("status = 'candidate'")
    assert record.evidence["again"] == 2


def test_a_note_counts_as_repeated_if_the_user_states_it_again(
    client: SimulatedClient,
) -> None:
    rule = "The dev server is started by the user himself on his own machine"
    client.note("rule", rule, SAID, "session-1")
    hear(client, session="session-2")

    assert [r.what for r in client.records("sightings = 2")] == [rule]
    assert statuses(client) == ["active"]


def test_a_repeated_note_counts_even_if_the_session_had_been_shown_the_first_one(
    client: SimulatedClient,
) -> None:
    rule = "The dev server is started by the user himself on his own machine"
    client.note("rule", rule, SAID, "session-1")
    client.fire("SessionStart", "session-2", source="startup")
    client.note("rule", rule, SAID, "session-2")

    assert [r.what for r in client.records("sightings = 2")] == [rule]


def test_repeating_a_candidate_in_other_sessions_does_not_make_it_a_record(
    client: SimulatedClient,
) -> None:
    for session in ("session-1", "session-1", "session-2", "session-3"):
        hear(client, session=session)

    assert statuses(client) == ["candidate"]


def test_a_candidate_becomes_a_record_if_a_note_has_the_same_words(client: SimulatedClient) -> None:
    hear(client)
    client.note("rule", SAID, session="session-2")

    (record,) = client.records("1")
    assert (record.status, record.trust) == ("active", "user")


def test_a_note_that_cites_a_candidate_replaces_it_and_gets_the_users_trust(
    client: SimulatedClient,
) -> None:
    hear(client)
    (candidate,) = client.records("1")
    line = f"Noted rule: The user runs the dev server on his machine. From: [{candidate.id[-8:]}]"
    client.fire("Stop", "session-2", last_assistant_message=line)

    (record,) = client.records("1")
    assert (record.status, record.trust, record.type) == ("active", "user", "constraint")
    assert record.evidence["quotation"] == candidate.what


def test_a_note_that_cites_an_unrelated_candidate_is_shown_with_the_cited_words(
    client: SimulatedClient,
) -> None:
    hear(client)
    (candidate,) = client.records("1")
    line = f"Noted rule: Invoices are archived in yellow folders. From: [{candidate.id[-8:]}]"
    client.fire("Stop", "session-2", last_assistant_message=line)

    (record,) = client.records()
    assert record.evidence["quotation"] == candidate.what
    shown = client.memory_md_file().read_text("utf-8")
    assert f"“{candidate.what}” (noted as: Invoices are archived" in shown


def test_a_dropped_candidate_returns_only_if_the_user_states_it_again(
    client: SimulatedClient,
) -> None:
    hear(client)
    (candidate,) = client.records("1")
    said = f"Dropped: {candidate.id[-8:]}"
    client.say("assistant", said, session="session-2")
    notice = client.stop(said, "session-2")
    assert notice.startswith("memory-fabric dropped ") and "not kept" not in notice
    assert client.records("1") == []

    hear(client, session="session-3")
    assert statuses(client) == ["candidate"]


def test_each_project_has_its_own_candidates(client: SimulatedClient) -> None:
    hear(client)
    other = client.project.parent / "other"
    (other / ".git").mkdir(parents=True)
    client.environ["CLAUDE_PROJECT_DIR"] = str(other)
    assert client.records("1") == []
    hear(client, session="session-3")

    assert statuses(client) == ["candidate"]


def test_candidates_expire_and_records_do_not(client: SimulatedClient) -> None:
    hear(client)
    client.note("rule", "The mailer reads its queue name from the vault")
    memory = client.memory()
    sync.expire(memory, "candidates", "2000-01-01")
    assert sorted(r.status for r in memory.find_records("1")) == ["active", "candidate"]
    sync.expire(memory, "candidates", "9999")
    assert [r.status for r in memory.find_records("1")] == ["active"]
    memory.close()
    assert maintenance.CANDIDATES_KEPT_DAYS == 90

    hear(client)
    assert statuses(client) == ["candidate", "active"]


def test_undo_of_a_note_turns_its_record_back_into_a_candidate(client: SimulatedClient) -> None:
    hear(client)
    client.note("rule", SAID, session="session-2")
    memory = client.memory()
    undo.undo(memory, [undo.last(memory)], Provenance("cli", trust="user"))
    memory.close()

    assert statuses(client) == ["candidate"]
    assert "dev server yourself" not in client.prompt(ASKED, "session-2")


def test_a_rebuilt_database_contains_the_same_candidates(client: SimulatedClient) -> None:
    hear(client)
    hear(client, session="session-2")
    for path in client.fabric_home.glob("projects/*/graph.db*"):
        path.unlink()
    assert client.command("repair").returncode == 0

    assert statuses(client) == ["candidate"]


def test_a_statement_with_a_secret_is_neither_suggested_as_a_note_nor_stored(
    client: SimulatedClient,
) -> None:
    secret = 2 * ("Kol1" + "bri") + "!"

    cue = client.prompt(f"there is a local server. let's use sa / {secret} to connect.")
    client.fire("Stop", last_assistant_message="All right.")

    assert "Sounds like" not in cue
    assert client.records("1") == []


@pytest.mark.parametrize(
    ("rest", "status", "evidence"),
    [
        ("", "active", set()),
        ("\n\nAnd fix the importer.", "active", {QUOTATION}),
        ("\nAnd fix the importer.\nThen stop.", "candidate", {PASTED, PROMPT}),
    ],
)
def test_a_statement_in_a_prompt_of_more_than_two_lines_waits_for_a_yes(
    client: SimulatedClient, rest: str, status: str, evidence: set[str]
) -> None:
    client.fire("UserPromptSubmit", prompt=REQUEST + rest)

    (record,) = client.records("1")

    assert record.status == status
    assert record.evidence.keys() & {QUOTATION, PASTED, PROMPT} == evidence


def test_a_statement_is_not_stored_while_notes_are_off(client: SimulatedClient) -> None:
    client.environ["MEMORY_FABRIC_NOTES"] = "off"

    client.fire("UserPromptSubmit", prompt=REQUEST)

    assert client.records("1") == []


SAME = "I do not want to have more products just for a unit amount."
SENTENCES = f"Beer is sold in three sizes. {SAME} Never push to the main branch yourself."
DECISION = "A product exists once, and its unit amounts are entered on the order"


def test_a_decision_that_a_note_quotes_stays_one_record_when_it_is_said_again(
    client: SimulatedClient,
) -> None:
    said = "We decided to use UTC in all tables."
    client.note("decision", "Tables use UTC", said)

    notices = [
        client.fire("UserPromptSubmit", session, prompt=said).get("systemMessage", "")
        for session in ("session-1", "session-2")
    ]
    client.stop(session="session-2")

    (record,) = client.records()
    assert (record.what, record.evidence["quotation"]) == ("Tables use UTC", said)
    assert notices == ["", ""]


def test_a_decision_that_is_said_again_and_taken_back_is_told_with_these_words(
    client: SimulatedClient,
) -> None:
    said = "We decided to use UTC in all tables."
    client.note("decision", "Tables use UTC", said)

    reply = client.fire("UserPromptSubmit", "session-2", prompt=f"{said} No, scratch that.")

    assert "scratch that" in reply["systemMessage"]


def test_a_sentence_that_a_note_quotes_with_others_is_no_candidate_when_said_again(
    client: SimulatedClient,
) -> None:
    client.note("decision", DECISION, SAME, prompt=SENTENCES)
    told = client.context("UserPromptSubmit", "session-2", prompt=SAME)
    client.fire("Stop", "session-2", last_assistant_message="All right.")

    assert [(r.what, r.status) for r in client.records("sightings = 2")] == [(DECISION, "active")]
    assert statuses(client) == ["active"]
    assert DECISION in told  # as a memory, without a cue to note it once more
    assert "note Instead of" not in told and "note it if" not in told


@pytest.mark.parametrize(
    "other",
    [
        "Never push to the main branch yourself.",  # quoted around it, but about something else
        "That is wrong, I want to have more products just for a unit amount.",
    ],
)
def test_another_sentence_than_the_note_restates_becomes_a_candidate(
    client: SimulatedClient, other: str
) -> None:
    client.note("decision", DECISION, SAME, prompt=SENTENCES)
    hear(client, other, "session-2")

    assert sorted(statuses(client)) == ["active", "candidate"]


def test_a_note_made_before_a_compaction_of_its_turn_leaves_no_candidate(
    client: SimulatedClient,
) -> None:
    client.fire("UserPromptSubmit", prompt=SENTENCES.partition(" Never")[0])
    client.say("user", SENTENCES.partition(" Never")[0])
    client.say("assistant", f'Noted decision: {DECISION}. From: "{SAME}"')
    client.fire("PreCompact", trigger="auto")
    client.say("assistant", "Done.")
    client.fire("Stop", last_assistant_message="Done.")

    assert [(r.what, r.status) for r in client.records("1")] == [(DECISION, "active")]


def test_a_statement_becomes_a_candidate_even_if_the_turns_end_was_interrupted(
    client: SimulatedClient,
) -> None:
    class Interrupted(Memory):
        def databases(self) -> list[Database]:
            raise DeadlinePassed("The time for this event was over.")

    client.prompt("Never push to the main branch of the shop.")
    opened = client.memory()
    memory = Interrupted.open(opened.settings)
    with pytest.raises(DeadlinePassed):
        end_turn(RequestContext(memory, timestamp()), "session-1", [])
    memory.close()
    opened.close()

    client.stop()

    assert len(client.records("status = 'candidate'")) == 1
