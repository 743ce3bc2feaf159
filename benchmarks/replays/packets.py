"""Packets for a language model that writes the assistant's notes, one file for each turn.

A folder for each session holds 000.txt, 001.txt, …: each is only that turn, with what the hooks
gave (and MEMORY.md, which the client loads), the prompt, and the assistant's work and answer. The
writer reads the files of a session in this order and writes the notes of one before it opens the
next: nothing in a file comes after its turn. Ids are shown as `{id:words}`, which a later replay
resolves.

Notes change what hooks give afterwards (blocks, cues, ids). Packets of one run without notes show
every session without the notes of the turns before; to show them, write and replay in rounds:
`--sessions-from 0 --sessions-to 5`, then `--notes FILE --sessions-from 5 --sessions-to 10`, ….
"""

from __future__ import annotations

import json
import os
import threading

from replays.replay import CHARS_PER_TOKEN, Given, Replay, Session, spoken
from replays.told import PROTOCOL

README = """\
Each folder is one session of a real conversation with a coding assistant; each file in it is one
turn. You are that assistant. Read the files of a session in the order of their numbers, one at a
time. Before you open the next one, write the note lines with which you would end this turn's
message, by the protocol that the session's first file tells (after "at the session's start"); most
turns have none. Do not look at later turns, other sessions' later files, or the project itself.

Ids appear as {id:words}. Copy them whole, with the braces, where the protocol asks for an id.

Write one JSON object a turn that has notes, one a line, with project, path and place as
index.jsonl gives them for the file:
{"project": "…", "path": "…", "place": 0, "lines": ["Noted …", "…"]}
"""


class Packets:
    """A folder of packets, with an index and the instruction for the writer."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.characters = self.files = 0
        self.protocol_told = False
        self._lock = threading.Lock()
        self._index = os.path.join(folder, "index.jsonl")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "README.txt"), "w", encoding="utf-8") as file:
            file.write(README)
        with open(self._index, "w", encoding="utf-8"):
            pass

    @property
    def tokens(self) -> int:
        """The size of all packets, four characters a token."""
        return self.characters // CHARS_PER_TOKEN

    def add(self, replay: Replay, number: int, session: Session, place: int, given: Given) -> None:
        """Write the packet of a turn."""
        name = os.path.join(replay.project.replace("/", "+"), f"{number:03}", f"{place:03}.txt")
        text = packet(replay, session, place, given)
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        entry = {"file": name, "project": replay.project, "path": session["path"], "place": place}
        with self._lock, open(self._index, "a", encoding="utf-8") as file:
            file.write(json.dumps(entry, ensure_ascii=False) + "\n")
            self.characters += len(text)
            self.files += 1
            self.protocol_told |= PROTOCOL in given.start


def packet(replay: Replay, session: Session, place: int, given: Given) -> str:
    """Return the text of a turn's packet."""
    turn = session["turns"][place]
    sections = (
        ("Loaded from MEMORY.md at the session's start", given.memory_md),
        ("Told to the assistant at the session's start", replay.ids.with_placeholders(given.start)),
        ("Told to the assistant with this prompt", replay.ids.with_placeholders(given.prompt)),
        ("The user", turn["prompt"]),
        ("The assistant", spoken(turn)),
    )
    head = f"Turn {place}"
    return "\n\n".join([head, *(f"=== {name} ===\n{text}" for name, text in sections if text)])
