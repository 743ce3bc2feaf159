"""Long conversations as memories: a file of them, read, and written through the product itself.

The file is JSON (gzipped or not): `{"conversations": [{"id", "speakers", "sessions": [{"n",
"date"}], "turns": [{"id", "session", "speaker", "text", "caption"}], "observations": [{"id",
"session", "speaker", "text", "evidence"}], "questions": [{"id", "question", "category",
"evidence", "asked_in"}]}], "categories": {number: name}}`.

A question with `asked_in`, the number of a session, is asked in that session: only the sessions
before it are in memory then. The others are asked after the last session.
"""

from __future__ import annotations

import gzip
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "plugin"))

from memory_fabric.config import read_settings  # noqa: E402
from memory_fabric.models import Hit, Provenance  # noqa: E402
from memory_fabric.store.memory import Memory  # noqa: E402

UNITS = ("turn", "observation", "session")
ROLES = ("user", "assistant")
# Names of LoCoMo's categories, for files that have none.
LOCOMO_CATEGORIES = {
    1: "multi-hop",
    2: "temporal",
    3: "open-domain",
    4: "single-hop",
    5: "adversarial",
}
# Questions are asked so long after the last session.
ASKED_AFTER = timedelta(days=7)
BATCH = 400

Conversation = Mapping[str, Any]
Texts = list[tuple[str, str]]


class File(NamedTuple):
    """The conversations of a file, and the names of its categories of questions."""

    conversations: list[Conversation]
    categories: dict[int, str]

    def sampled(self, step: int) -> File:
        """Return the file with only each conversation's first of every `step` questions."""
        fewer: list[Conversation] = [
            {**c, "questions": c["questions"][::step]} for c in self.conversations
        ]
        return self._replace(conversations=fewer)


def read(path: str) -> File:
    """Read a file of conversations, gzipped or not."""
    with open(path, "rb") as stream:
        raw = stream.read()
    whole = json.loads(gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw)
    named = {int(number): name for number, name in whole.get("categories", {}).items()}
    return File(list(whole["conversations"]), named or LOCOMO_CATEGORIES)


class World:
    """The memory of one conversation, and which of its documents a hit is."""

    def __init__(self, conversation: Conversation, unit: str, memory: Memory) -> None:
        self.conversation, self.unit, self.memory = conversation, unit, memory
        dates = [datetime.fromisoformat(s["date"]) for s in conversation["sessions"]]
        self._began = {
            str(s["n"]): at for s, at in zip(conversation["sessions"], dates, strict=True)
        }
        self._after_all = stamp(max(dates) + ASKED_AFTER)
        self._documents: dict[str, list[str]] = {}
        self._waiting = list(self._began)

    def now(self, question: Mapping[str, Any]) -> str:
        """Return the time at which a question is asked, ISO 8601 in UTC."""
        session = str(question.get("asked_in", ""))
        return stamp(self._began[session]) if session in self._began else self._after_all

    def grow(self, question: Mapping[str, Any]) -> list[str]:
        """Write the sessions that were over when a question was asked; return their numbers."""
        asked_in = str(question.get("asked_in", ""))
        at = self._waiting.index(asked_in) if asked_in in self._waiting else None
        if at is None and asked_in in self._began:
            return []
        over, self._waiting = self._waiting[:at], self._waiting[at:] if at is not None else []
        self._write(over)
        return over

    def fill(self) -> None:
        """Write all sessions that are not written yet."""
        over, self._waiting = self._waiting, []
        self._write(over)

    def _write(self, sessions: Sequence[str]) -> None:
        """Write turns, or observations, of these sessions as the product keeps such things."""
        if self.unit == "observation":
            self._write_observations(sessions)
        else:
            self._write_turns(sessions)

    def documents(self, hits: Sequence[Hit]) -> list[str]:
        """Ids of the turns, observations or sessions that these hits are, best first."""
        keys = [key for hit in hits for key in _keys(hit)]
        found = [id_ for key in keys for id_ in self._documents.get(key, ())]
        return list(dict.fromkeys(found))

    def gold(self, question: Mapping[str, Any]) -> set[str]:
        """The documents that hold what the question asks for."""
        evidence = set(question["evidence"])
        if self.unit == "turn":
            return evidence
        if self.unit == "observation":
            said = self.conversation["observations"]
            return {o["id"] for o in said if evidence & set(o["evidence"])}
        turns = self.conversation["turns"]
        return {str(t["session"]) for t in turns if t["id"] in evidence}

    def questions(self) -> list[Mapping[str, Any]]:
        """Return all questions in the order of time: those asked after the last session last."""
        place = {session: i for i, session in enumerate(self._began)}
        last = len(place)
        return sorted(
            self.conversation["questions"],
            key=lambda q: place.get(str(q.get("asked_in", "")), last),
        )

    def texts(self, sessions: Sequence[str] | None = None, speaker: str = "") -> Texts:
        """Return (document id, text) of what these sessions hold, for plain rankers.

        Without `sessions` of all; with a `speaker` only what that one said.
        """
        key = "observations" if self.unit == "observation" else "turns"
        wanted = self._began if sessions is None else frozenset(sessions)
        return [
            (str(d["session"]) if self.unit == "session" else d["id"], _spoken(d))
            for d in self.conversation[key]
            if str(d["session"]) in wanted and speaker in ("", d["speaker"])
        ]

    def _write_turns(self, sessions: Sequence[str]) -> None:
        first = self.conversation["speakers"][0]
        wanted = frozenset(sessions)
        number: dict[str, int] = {}
        episodes = []
        for turn in self.conversation["turns"]:
            session = str(turn["session"])
            if session not in wanted:
                continue
            number[session] = number.get(session, 0) + 1
            document = session if self.unit == "session" else turn["id"]
            self._documents[f"episode:{turn['id']}"] = [document]
            episodes.append(
                {
                    "id": turn["id"],
                    "session": f"session {session}",
                    "role": "user" if turn["speaker"] == first else "assistant",
                    "text": _spoken(turn),
                    "created_at": stamp(self._began[session] + timedelta(minutes=number[session])),
                }
            )
        for start in range(0, len(episodes), BATCH):
            batch = {"episodes": episodes[start : start + BATCH]}
            self._wrote(self.memory.write("add_episodes", batch, Provenance("prompt", "user")))

    def _write_observations(self, sessions: Sequence[str]) -> None:
        for session in sessions:
            began = self._began[session]
            mine = [o for o in self.conversation["observations"] if str(o["session"]) == session]
            for said in mine:
                document = self._documents.setdefault(f"{said['speaker']}\n{said['text']}", [])
                document.append(said["id"])
            entities = [
                {
                    "name": speaker,
                    "entityType": "person",
                    "observations": [o["text"] for o in mine if o["speaker"] == speaker],
                }
                for speaker in dict.fromkeys(o["speaker"] for o in mine)
            ]
            by = Provenance("mcp", "assistant", session=f"session {session}", at=stamp(began))
            self._wrote(self.memory.write("create_entities", {"entities": entities}, by))

    def _wrote(self, result: Mapping[str, Any]) -> None:
        if result.get("queued"):
            raise SystemExit(f"the memory could not be built: {result}")


@contextmanager
def world(conversation: Conversation, unit: str, environ: Mapping[str, str]) -> Iterator[World]:
    """A fresh memory for this conversation, empty at first; gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="memory-fabric-bench-") as folder:
        for name in ("home", "project"):
            os.makedirs(os.path.join(folder, name))
        settings = read_settings(
            {
                "HOME": os.path.join(folder, "home"),
                "MEMORY_FABRIC_HOME": os.path.join(folder, "home", "memory"),
                "CLAUDE_PROJECT_DIR": os.path.join(folder, "project"),
                **environ,
            },
            {},
        )
        if settings.complaints:
            raise SystemExit("; ".join(settings.complaints))
        memory = Memory.open(settings)
        try:
            yield World(conversation, unit, memory)
        finally:
            memory.close()


def stamp(moment: datetime) -> str:
    """Return ISO 8601 in UTC; a time without a zone is read as UTC."""
    return moment.replace(tzinfo=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _spoken(document: Mapping[str, Any]) -> str:
    """Return what was said, with who said it, and what a shared picture shows.

    Turns with an assistant have no name before them: the product stores their role beside them.
    """
    if "caption" not in document or document["speaker"] in ROLES:
        return str(document["text"])
    caption = f" [shares a picture: {document['caption']}]" if document["caption"] else ""
    return f"{document['speaker']}: {document['text']}{caption}"


def _keys(hit: Hit) -> list[str]:
    """Return the documents of a hit: a turn, or the observations of an entity that are told."""
    if hit.source == "episodes":
        return [hit.id]
    texts = (hit.text, *hit.metadata.get("also_observed", ()))
    return [f"{hit.entities[0]}\n{text}" if hit.entities else text for text in texts]
