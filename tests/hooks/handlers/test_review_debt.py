"""Review debt: what was heard and not noted, three at a start and twice at most."""

from __future__ import annotations

from memory_fabric.capture.notes.debt import HEADING
from simulated_client import SimulatedClient

SAID = [
    "Never start the dev server yourself, I run it on my own machine.",
    "Never push to the main branch of the shop.",
    "Always answer my questions in German.",
    "Don't ever touch the generated files of the parser.",
]


def hear(client: SimulatedClient, text: str, session: str = "session-1") -> None:
    client.fire("UserPromptSubmit", session, prompt=text)
    client.fire("Stop", session, last_assistant_message="All right.")


def shown(client: SimulatedClient, session: str, source: str = "startup") -> list[str]:
    """The lines of the debt in the block of a start."""
    block = client.context("SessionStart", session, source=source)
    return block.partition(HEADING)[2].splitlines()[1:]


def test_at_most_three_candidates_are_shown_and_each_at_most_twice(client: SimulatedClient) -> None:
    for text in SAID:
        hear(client, text)
    starts = [shown(client, f"later-{n}") for n in range(5)]

    assert [len(lines) for lines in starts] == [3, 3, 1, 1, 0]
    newest = client.records("status = 'candidate'")[0]
    assert starts[0][0] == f"- [{newest.id[-8:]}] “{newest.what}”"


def test_a_repeated_candidate_is_shown_again_until_dropped(client: SimulatedClient) -> None:
    starts = []
    for number in range(1, 6):
        starts.append(len(shown(client, f"session-{number}")))
        hear(client, SAID[0], f"session-{number}")
    (candidate,) = client.records("status = 'candidate'")
    client.fire("Stop", "session-5", last_assistant_message=f"Dropped: {candidate.id[-8:]}")

    assert starts == [0, 1, 1, 1, 1]
    assert shown(client, "session-6") == []


def test_candidates_are_not_shown_after_a_resume_or_compaction(client: SimulatedClient) -> None:
    hear(client, SAID[0])

    assert shown(client, "later-1", "resume") == []
    assert shown(client, "later-2", "compact") == []
    assert len(shown(client, "later-3", "clear")) == 1


def test_noted_or_dropped_candidates_are_not_shown(client: SimulatedClient) -> None:
    hear(client, SAID[0])
    hear(client, SAID[1])
    second, first = client.records("status = 'candidate'")
    client.fire(
        "Stop",
        "session-2",
        last_assistant_message=f"Noted rule: The user runs the dev server himself. "
        f"From: [{first.id[-8:]}]\nDropped: {second.id[-8:]}",
    )

    assert shown(client, "later-1") == []


def test_candidates_repeated_across_sessions_come_first(client: SimulatedClient) -> None:
    client.say("user", SAID[0], session="session-0")
    client.fire("Stop", "session-0", last_assistant_message="All right.")
    hear(client, SAID[0], "session-1")
    hear(client, SAID[1], "session-1")

    assert "dev server" in shown(client, "later-1")[0]


def test_no_candidate_is_shown_if_notes_are_not_requested(client: SimulatedClient) -> None:
    hear(client, SAID[0])
    client.environ["CLAUDE_CODE_SESSION_ATTENDED"] = "0"

    assert shown(client, "later-1") == []


def test_an_isolated_domain_shows_no_candidates_of_other_domains(client: SimulatedClient) -> None:
    client.fabric_home.mkdir(parents=True)
    walls = '[domains.legal]\nagents = ["legal-advisor"]\nisolate = true\n'
    (client.fabric_home / "config.toml").write_text(walls, "utf-8")
    hear(client, SAID[0])
    block = client.context("SessionStart", "s", source="startup", agent_type="legal-advisor")

    assert "dev server" not in block
    assert len(shown(client, "later-1")) == 1


def test_replacements_that_were_undone_do_not_hide_an_older_one(client: SimulatedClient) -> None:
    tables = ("invoices", "avatars", "audits", "carts")
    for table in tables:
        client.note("decision", f"The {table} table lives in the PostgreSQL cluster")
    for number, old in enumerate(reversed(client.records("type = 'decision'"))):
        text = f"The {tables[number]} table lives in the MariaDB cluster"
        client.note("decision", text, session=f"s{number}", instead_of=old.id[-8:])
    for number in (1, 2, 3):
        client.types("undo", f"s{number}")

    _, block = client.starts("later")

    assert block.count("Replaced ") == 1 and "The invoices table" in block.partition("Replaced")[2]
