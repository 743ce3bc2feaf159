"""How the latest hook events were answered, as `status` and `doctor` tell it."""

from __future__ import annotations

import os

from memory_fabric.store.files import read_text

# The file of ways in home, and the reasons by its letters (`live_client`), which Windows lacks.
PLACE = os.path.join("live", "ways")
WARM, APART = "W", "D"
REASONS = {
    "N": "no server listened",
    "B": "it was busy or not ready yet",
    "S": "it did not answer in time",
    "O": "it was of another version",
    "C": "it ended meanwhile",
    "P": "the client's process or memory's home cannot be named",
}


def counts(home: str) -> dict[str, int]:
    """Return the number of events by letter, without those that never go to a server."""
    try:
        text = read_text(os.path.join(home, PLACE)) or ""
    except OSError:
        return {}
    return {letter: text.count(letter) for letter in (WARM, *REASONS) if letter in text}


def as_json(home: str) -> dict[str, object]:
    """Return the counts as JSON; docs/commands.md lists the fields."""
    found = counts(home)
    others = {REASONS[letter]: number for letter, number in found.items() if letter != WARM}
    return {"by_server": found.get(WARM, 0), "by_processes_of_their_own": others}


def line(home: str) -> str:
    """Return one sentence; empty if no server has ever listened."""
    found = counts(home)
    total = sum(found.values())
    if not total:
        return ""
    why = ", ".join(
        f"{REASONS[letter]}: {number}" for letter, number in found.items() if letter != WARM
    )
    share = f"{found.get(WARM, 0)} of the latest {total} hook events"
    return f"The session's server answered {share}" + (f" ({why})." if why else ".")
