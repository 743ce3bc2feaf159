"""A replay that waits for its writer: a packet for each turn, whose notes are kept before the next.

The folder of a project holds `turn-0001.md`, `turn-0002.md`, …: what the hooks told given all notes
so far, the prompt, and the assistant's work and answer. The replay goes on once the packet has its
`turn-0001.notes`: the lines that end the turn's answer, none for most. `end.md` says that it is
over. `exchange` is the writer's side of it: it hands in the notes of the packet that was shown
last, waits, and returns the next.

A packet may hold several turns of a session, of which only the first shows what was told: what was
told with the others stands at the head of the next packet. Such a writer answers a turn having
read those behind it, and too late for a cue: an approximation, which costs fewer calls.
"""

from __future__ import annotations

import json
import os
import re
import time

from replays.replay import Given, Notes, Replay, Session, spoken

POLL_S, GIVE_UP_S = 0.1, 300
# A line of notes, after the number of its turn where a packet has several.
LINE = re.compile(r"(?:(\d+): ?)?(\W*(?:Noted \w+|Dropped)\b.*)")
HEAD = "Notes are asked for turn "
END, LAST, SHOWN, README = "end.md", "last", "shown", "README.md"
INSTRUCTION = """\
You are the assistant of a real conversation about code. Packet by packet you are shown what a
memory told you, what the user asked, and what you did and answered. Memory notes are asked for at
the start of the first session. Hand in the lines with which this turn's message ends by that
protocol, ids as they were told; most turns have none. Take what you know from the packets alone:
open nothing else of this folder, of the run or of the project.
"""
SEVERAL = """\
A packet has up to {turns} turns of a session. Write the number of its turn before each line:
`3: Noted fact: …`. What was told with a prompt that is not a packet's first comes with the next
packet. Write of each turn what you would have written before you read those behind it.
"""


class Refused(Exception):
    """Raised for notes that a packet cannot have, before anything is handed in."""


class Loop:
    """The side of the replay: one project's packets, and the notes of its turns.

    `notes.jsonl` keeps them for a later replay. Raises SystemExit for a folder that has a loop.
    """

    def __init__(self, folder: str, turns: int = 1) -> None:
        if os.path.exists(folder):
            raise SystemExit(f"{folder} has a loop: go on in another one, with its notes.jsonl")
        self.folder, self._turns = folder, turns
        self._count = 0
        self._noted: dict[int, list[str]] = {}
        # What the next packet begins with: what was told meanwhile, and turns without an answer.
        self._before: list[str] = []
        os.makedirs(folder)
        several = SEVERAL.format(turns=turns) if turns > 1 else ""
        _write(os.path.join(folder, README), f"{INSTRUCTION}{several}")

    @property
    def has_ended(self) -> bool:
        """True once the writer has said that the last notes were the last."""
        return not self._noted and os.path.exists(os.path.join(self.folder, LAST))

    def notes(
        self,
        replay: Replay,
        number: int,
        session: Session,
        place: int,
        given: Given,
        earlier: Notes | None = None,
    ) -> Notes:
        """Return the notes of a turn: those of an `earlier` loop, else the writer is asked, unless
        he has given them with a packet of several turns, or the turn has no answer to end.
        """
        if earlier is not None:
            lines = list(earlier.lines)
        elif place in self._noted:
            told = f"{given.start}\n{given.prompt}".strip()
            if told:
                self._before.append(f"=== Told with the prompt of turn {place} ===\n{told}")
            lines = self._noted.pop(place)
        elif session["turns"][place]["blocks"]:
            self._noted = self._asked(number, session, place, given)
            lines = self._noted.pop(place)
        else:
            self._before.append(_section(number, session, place, given))
            lines = []
        entry = {"project": replay.project, "path": session["path"], "place": place}
        kept = {**entry, "lines": [replay.ids.with_told_words(line) for line in lines]}
        with open(os.path.join(self.folder, "notes.jsonl"), "a", encoding="utf-8") as file:
            file.write(json.dumps(kept, ensure_ascii=False) + "\n")
        return Notes(tuple(lines), earlier.where if earlier else _name(self._count))

    def end(self, why: str) -> None:
        """Tell the writer that there are no more packets."""
        _write(os.path.join(self.folder, END), f"{why}\n")

    def _asked(
        self, number: int, session: Session, place: int, given: Given
    ) -> dict[int, list[str]]:
        """Write a packet and wait for its notes; return the lines by place."""
        places = range(place, min(place + self._turns, len(session["turns"])))
        first, *others = places
        sections = [
            _section(number, session, first, given),
            *(_section(number, session, one, Given("", "", "")) for one in others),
        ]
        head = f"{HEAD}{' '.join(map(str, places))}"
        text = "\n\n".join([head, *self._before, *sections])
        self._before.clear()
        self._count += 1
        name = os.path.join(self.folder, _name(self._count))
        _write(f"{name}.md", f"{text}\n")
        while not os.path.exists(f"{name}.notes"):
            time.sleep(POLL_S)
        lines: dict[int, list[str]] = {one: [] for one in places}
        for one, line in parsed(_read(f"{name}.notes"), f"{name}.md"):
            lines[one].append(line)
        return lines


def exchange(folder: str, notes: str, *, last: bool = False, wait_s: float = GIVE_UP_S) -> str:
    """Hand in the notes of the packet shown last and return the next one; raises Refused.

    `last` says that no more will come: the replay of the project ends after this packet. The first
    call hands nothing in and returns the instruction and the first packet.
    """
    shown = _shown(folder)
    name = os.path.join(folder, _name(shown))
    is_open = shown > 0 and not os.path.exists(f"{name}.notes")
    if notes.strip() and not is_open:
        raise Refused("no packet waits for notes: call without any for the next one")
    if is_open:
        parsed(notes, f"{name}.md")
        if last:
            _write(os.path.join(folder, LAST), "")
        _write(f"{name}.notes", notes)
    following = os.path.join(folder, f"{_name(shown + 1)}.md")
    end = os.path.join(folder, END)
    until = time.monotonic() + wait_s
    while not os.path.exists(following):
        if os.path.exists(end):
            return _read(end)
        if time.monotonic() > until:
            raise Refused(f"no packet within {wait_s:.0f} s: does the replay still run?")
        time.sleep(POLL_S)
    _write(os.path.join(folder, SHOWN), str(shown + 1))
    head = "" if shown else f"{_read(os.path.join(folder, README))}\n"
    return head + _read(following)


def parsed(notes: str, packet_path: str) -> list[tuple[int, str]]:
    """Return the place of the turn and the text of each line of notes; raises Refused."""
    head = _read(packet_path).partition("\n")[0]
    places = [int(number) for number in head.removeprefix(HEAD).split()]
    found = []
    for line in filter(None, map(str.strip, notes.splitlines())):
        match = LINE.fullmatch(line)
        if match is None:
            raise Refused(f"neither “Noted <kind>: …” nor “Dropped: …”: {line}")
        if match[1] is None and len(places) > 1:
            raise Refused(f"which turn of {places}? Write its number before the line: {line}")
        place = places[0] if match[1] is None else int(match[1])
        if place not in places:
            raise Refused(f"no turn {place} among {places}: {line}")
        found.append((place, match[2]))
    return found


def _section(number: int, session: Session, place: int, given: Given) -> str:
    """Return a turn as text: what was given, the prompt, the assistant's work and answer."""
    turn = session["turns"][place]
    parts = (
        ("Loaded from MEMORY.md at the session's start", given.memory_md),
        ("Told to the assistant at the session's start", given.start),
        ("Told to the assistant with this prompt", given.prompt),
        ("The user", turn["prompt"]),
        ("The assistant", spoken(turn)),
    )
    head = f"# Session {number + 1}, turn {place}"
    return "\n\n".join([head, *(f"=== {name} ===\n{text}" for name, text in parts if text)])


def _shown(folder: str) -> int:
    """Return the number of the packet that waits for notes; 0 before the first."""
    path = os.path.join(folder, SHOWN)
    return int(_read(path)) if os.path.exists(path) else 0


def _name(number: int) -> str:
    return f"turn-{number:04}"


def _read(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


def _write(path: str, text: str) -> None:
    """Write a file that another process waits for: whole, or not at all."""
    with open(f"{path}.part", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(f"{path}.part", path)
