"""T3: what Stop makes of the user's own MEMORY.md, whatever it looks like."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from house import House
from thorough import IS_THOROUGH

DECISION = "We decided to use PostgreSQL for the analytics DB because the team knows it."
BEGIN, END = "<!-- memory-fabric:begin -->", "<!-- memory-fabric:end -->"


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


def stop(house: House) -> str:
    reply = house.fire("Stop", last_assistant_message="Done.", stop_hook_active=False)
    return str(reply.get("systemMessage", ""))


def decide(house: House, text: str = DECISION) -> None:
    house.fire("UserPromptSubmit", prompt=text)


def own(house: House, data: bytes) -> Path:
    """The user's own notes, before we come."""
    path = house.native_notes()
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
def test_many_records_leave_hand_written_notes_byte_for_byte(house: House, data: bytes) -> None:
    path = own(house, data)
    # Two hundred where the notes are the shortest and the longest, and fill the file either way.
    stops = 20 if IS_THOROUGH or len(data) in (0, 1350) else 4
    for number in range(stops):  # ten decisions at a prompt
        decide(house, " ".join(f"We decided to use lib{number}x{n} for job{n}." for n in range(10)))
        stop(house)
        assert path.read_bytes().startswith(data)
        assert path.read_bytes().count(BEGIN.encode()[:22]) == 1

    journal = house.project / ".claude" / "memory" / "decisions.jsonl"
    assert len(journal.read_text().splitlines()) == 10 * stops
    seen = [x for x in path.read_bytes().split(b"\n")[:-1] if not x.startswith(b"<!--")]
    assert len(seen) <= 200


@pytest.mark.parametrize("lines", [198, 300])
def test_notes_that_are_full_already_are_left_alone(house: House, lines: int) -> None:
    path = own(house, b"- a note\n" * lines)
    decide(house)

    stop(house)

    assert path.read_bytes() == b"- a note\n" * lines
    assert "PostgreSQL" in house.context("SessionStart", "session-2", source="startup")


def test_a_link_is_written_through(house: House) -> None:
    real = house.home / "dotfiles.md"
    real.write_bytes(b"mine\n")
    house.native_notes().parent.mkdir(parents=True)
    house.native_notes().symlink_to(real)
    decide(house)

    stop(house)

    assert house.native_notes().is_symlink()
    assert real.read_text().startswith(f"mine\n{BEGIN}") and "PostgreSQL" in real.read_text()


def test_read_only_notes_stay_and_the_user_is_told_once(house: House) -> None:
    path = own(house, b"mine\n")
    path.chmod(0o444)
    decide(house)

    told = [stop(house) for _ in range(3)]

    assert path.read_bytes() == b"mine\n"
    assert ["MEMORY.md cannot be written" in text for text in told] == [True, False, False]


@pytest.mark.parametrize("place", ["variable", "user", "project", "local"])
def test_the_clients_switches_are_obeyed(house: House, place: str) -> None:
    path = own(house, b"mine\n")
    off = json.dumps({"autoMemoryEnabled": False})
    if place == "variable":
        house.environ["CLAUDE_CODE_DISABLE_AUTO_MEMORY"] = "1"
    elif place == "user":
        (house.home / ".claude" / "settings.json").write_text(off)
    else:
        name = "settings.json" if place == "project" else "settings.local.json"
        (house.project / ".claude").mkdir()
        (house.project / ".claude" / name).write_text(off)
    decide(house)

    stop(house)

    assert path.read_bytes() == b"mine\n"
    # What MEMORY.md does not show is injected.
    assert "PostgreSQL" in house.context("SessionStart", "session-2", source="startup")


def test_the_folder_of_the_users_settings_is_used(house: House) -> None:
    elsewhere = house.home / "notes"
    (house.home / ".claude").mkdir()
    settings = json.dumps({"autoMemoryDirectory": str(elsewhere)})
    (house.home / ".claude" / "settings.json").write_text(settings)
    decide(house)

    stop(house)

    assert "PostgreSQL" in (elsewhere / "MEMORY.md").read_text()
    assert not house.native_notes().exists()


def test_two_decisions_that_begin_alike_are_two(house: House) -> None:
    same = "We decided to use cursor-based pagination for all the list endpoints of "
    assert len(same) > 50
    for name in ("billing", "shipping"):
        decide(house, f"{same}{name} because offsets are slow.")
        stop(house)

    text = house.native_notes().read_text()
    assert "endpoints of billing" in text and "endpoints of shipping" in text
    assert text.count("<!-- id: ") == 2


def test_what_is_replaced_forgotten_or_undone_leaves_the_fence(house: House) -> None:
    path = own(house, b"# Mine\r\n")
    for text in (
        "We decided to use MongoDB for the analytics DB because it scales.",
        "We decided to use Redis for the job queue because it is simple.",
    ):
        decide(house, text)
        stop(house)
    assert "use MongoDB" in path.read_text() and "Redis" in path.read_text()

    decide(house, "We moved from MongoDB to PostgreSQL for the analytics DB.")
    stop(house)
    replaced = path.read_text()
    house.command("forget", "Redis job queue", "--yes", "--all")
    forgotten = path.read_text()
    decide(house, "We decided to use Kafka for the audit trail because it is ordered.")
    stop(house)
    decided = path.read_text()
    house.command("undo", "--last")
    undone = path.read_text()

    assert "use MongoDB" not in replaced and "PostgreSQL" in replaced
    assert "Redis" not in forgotten and "PostgreSQL" in forgotten
    assert "Kafka" in decided and "Kafka" not in undone and "PostgreSQL" in undone
    assert path.read_bytes().startswith(b"# Mine\r\n" + BEGIN.encode())
