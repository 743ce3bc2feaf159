"""T3: what Stop makes of the user's own MEMORY.md, whatever it looks like."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memory_fabric.models import Provenance, Record
from simulated_client import SimulatedClient
from thorough import IS_THOROUGH

DECISION = "We decided to use PostgreSQL for the analytics DB because the team knows it."
BEGIN, END = "<!-- memory-fabric:begin -->", "<!-- memory-fabric:end -->"


@pytest.fixture
def client(tmp_path: Path) -> SimulatedClient:
    return SimulatedClient(tmp_path)


def stop(client: SimulatedClient) -> str:
    reply = client.fire("Stop", last_assistant_message="Done.", stop_hook_active=False)
    return str(reply.get("systemMessage", ""))


def decide(client: SimulatedClient, text: str = DECISION) -> None:
    client.fire("UserPromptSubmit", prompt=text)


def remember(client: SimulatedClient, count: int) -> None:
    """Remember decisions of the user without prompts, which take longer."""
    memory = client.memory()
    for number in range(count):
        record = Record("decision", f"Use lib{number} for job{number}", confidence=0.9)
        memory.remember(record, Provenance("prompt", trust="user", session="session-1"))
    memory.close()


def own(client: SimulatedClient, data: bytes) -> Path:
    """The user's own notes, before we come."""
    path = client.memory_md_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"# Mine\n\n- a note\n",
        b"# Mine\r\n\r\n- a note\r\n",
        b"no end",
        b"# Mine\r\nno end",
        b"latin \xe9 and \xff\n",
        b"- a note\n" * 150,
    ],
    ids=["empty", "plain", "CRLF", "no end", "CRLF, no end", "no UTF-8", "150 lines"],
)
def test_adding_many_records_to_memory_md_keeps_hand_written_notes_byte_for_byte(
    client: SimulatedClient, data: bytes
) -> None:
    path = own(client, data)
    # Two hundred where the notes are the shortest and the longest, and fill the file either way.
    fills = len(data) in (0, 1350)
    stops, at_once = (20, 10) if IS_THOROUGH else (3, 4)
    if fills and not IS_THOROUGH:
        remember(client, 200 - at_once * stops)
    for number in range(stops):  # several decisions at a prompt
        decide(
            client,
            " ".join(f"We decided to use lib{number}x{n} for job{n}." for n in range(at_once)),
        )
        stop(client)
        assert path.read_bytes().startswith(data)
        assert path.read_bytes().count(BEGIN.encode()[:22]) == 1

    journal = client.project / ".claude" / "memory" / "decisions.jsonl"
    assert len(journal.read_text().splitlines()) == (200 if fills else at_once * stops)
    seen = [x for x in path.read_bytes().split(b"\n")[:-1] if not x.startswith(b"<!--")]
    assert len(seen) <= 200


@pytest.mark.parametrize("lines", [198, 300])
def test_a_memory_md_full_of_user_notes_is_unchanged(client: SimulatedClient, lines: int) -> None:
    path = own(client, b"- a note\n" * lines)
    decide(client)

    stop(client)

    assert path.read_bytes() == b"- a note\n" * lines
    assert "PostgreSQL" in client.context("SessionStart", "session-2", source="startup")


def test_a_symlinked_memory_md_is_written_through_the_link(client: SimulatedClient) -> None:
    real = client.home / "dotfiles.md"
    real.write_bytes(b"mine\n")
    client.memory_md_file().parent.mkdir(parents=True)
    client.memory_md_file().symlink_to(real)
    decide(client)

    stop(client)

    assert client.memory_md_file().is_symlink()
    assert real.read_text().startswith(f"mine\n{BEGIN}") and "PostgreSQL" in real.read_text()


def test_a_read_only_memory_md_is_unchanged_and_reported_once(client: SimulatedClient) -> None:
    path = own(client, b"mine\n")
    path.chmod(0o444)
    decide(client)

    told = [stop(client) for _ in range(3)]

    assert path.read_bytes() == b"mine\n"
    assert ["MEMORY.md cannot be written" in text for text in told] == [True, False, False]


@pytest.mark.parametrize("place", ["variable", "user", "project", "local"])
def test_memory_md_is_not_written_if_the_clients_auto_memory_is_off(
    client: SimulatedClient, place: str
) -> None:
    path = own(client, b"mine\n")
    off = json.dumps({"autoMemoryEnabled": False})
    if place == "variable":
        client.environ["CLAUDE_CODE_DISABLE_AUTO_MEMORY"] = "1"
    elif place == "user":
        (client.home / ".claude" / "settings.json").write_text(off)
    else:
        name = "settings.json" if place == "project" else "settings.local.json"
        (client.project / ".claude").mkdir()
        (client.project / ".claude" / name).write_text(off)
    decide(client)

    stop(client)

    assert path.read_bytes() == b"mine\n"
    # What MEMORY.md does not show is injected.
    assert "PostgreSQL" in client.context("SessionStart", "session-2", source="startup")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CLAUDE_CODE_DISABLE_AUTO_MEMORY", "yes"),
        ("CLAUDE_CODE_DISABLE_CLAUDE_MDS", "1"),
        ("CLAUDE_CODE_REMOTE", "true"),
    ],
)
def test_a_session_that_does_not_load_memory_md_gets_its_records(
    client: SimulatedClient, name: str, value: str
) -> None:
    decide(client)
    stop(client)
    shown = client.memory_md_file().read_bytes()
    assert "PostgreSQL" not in client.context("SessionStart", "session-2", source="startup")

    client.environ[name] = value
    started = client.context("SessionStart", "session-3", source="startup")
    client.fire("Stop", "session-3", last_assistant_message="Done.", stop_hook_active=False)
    del client.environ[name]

    assert "PostgreSQL" in started
    assert client.memory_md_file().read_bytes() == shown
    assert "PostgreSQL" not in client.context("SessionStart", "session-4", source="startup")


def test_memory_md_is_written_to_the_folder_in_the_users_settings(client: SimulatedClient) -> None:
    elsewhere = client.home / "notes"
    (client.home / ".claude").mkdir(exist_ok=True)
    settings = json.dumps({"autoMemoryDirectory": str(elsewhere)})
    (client.home / ".claude" / "settings.json").write_text(settings)
    decide(client)

    stop(client)

    assert "PostgreSQL" in (elsewhere / "MEMORY.md").read_text()
    assert not client.memory_md_file().exists()


def test_two_decisions_with_the_same_first_50_characters_get_two_lines(
    client: SimulatedClient,
) -> None:
    same = "We decided to use cursor-based pagination for all the list endpoints of "
    assert len(same) > 50
    for name in ("billing", "shipping"):
        decide(client, f"{same}{name} because offsets are slow.")
        stop(client)

    text = client.memory_md_file().read_text()
    assert "endpoints of billing" in text and "endpoints of shipping" in text
    assert text.count("<!-- id: ") == 2


def test_replaced_or_forgotten_records_are_removed_from_memory_md(client: SimulatedClient) -> None:
    path = own(client, b"# Mine\r\n")
    for text in (
        "We decided to use MongoDB for the analytics DB because it scales.",
        "We decided to use Redis for the job queue because it is simple.",
    ):
        decide(client, text)
        stop(client)
    assert "use MongoDB" in path.read_text() and "Redis" in path.read_text()

    client.note("rule", "PostgreSQL must hold the analytics DB", instead_of="MongoDB")
    replaced = path.read_text()
    client.command("forget", "Redis job queue", "--yes", "--all")
    forgotten = path.read_text()
    decide(client, "We decided to use Kafka for the audit trail because it is ordered.")
    stop(client)
    decided = path.read_text()
    client.command("undo", "--last")
    undone = path.read_text()

    assert "use MongoDB" not in replaced and "PostgreSQL" in replaced
    assert "Redis" not in forgotten and "PostgreSQL" in forgotten
    assert "Kafka" in decided and "Kafka" not in undone and "PostgreSQL" in undone
    assert path.read_bytes().startswith(b"# Mine\r\n" + BEGIN.encode())
