"""Long conversations as memories: a file of them, read, and written through the product itself.

The file is JSON (gzipped or not): `{"conversations": [{"id", "speakers", "sessions": [{"n",
"date"}], "turns": [{"id", "session", "speaker", "text", "caption"}], "observations": [{"id",
"session", "speaker", "text", "evidence"}], "questions": [{"id", "question", "category",
"evidence"}]}]}`.
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
from typing import Any

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "plugin"))

from memory_fabric.config import read_settings  # noqa: E402
from memory_fabric.models import Hit, Provenance  # noqa: E402
from memory_fabric.store.memory import Memory  # noqa: E402

UNITS = ("turn", "observation", "session")
# Questions are asked so long after the last session.
ASKED_AFTER = timedelta(days=7)
BATCH = 400

Conversation = Mapping[str, Any]


def read(path: str) -> list[Conversation]:
    """The conversations of a file."""
    with open(path, "rb") as stream:
        raw = stream.read()
    text = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
    return list(json.loads(text)["conversations"])


class World:
    """The memory of one conversation, and which of its documents a hit is."""

    def __init__(self, conversation: Conversation, unit: str, memory: Memory) -> None:
        self.conversation, self.unit, self.memory = conversation, unit, memory
        dates = [datetime.fromisoformat(s["date"]) for s in conversation["sessions"]]
        self._began = {
            str(s["n"]): at for s, at in zip(conversation["sessions"], dates, strict=True)
        }
        self.now = stamp(max(dates) + ASKED_AFTER)
        self._documents: dict[str, list[str]] = {}

    def fill(self) -> None:
        """Write the turns, or the observations, as the product keeps such things."""
        if self.unit == "observation":
            self._write_observations()
        else:
            self._write_turns()

    def documents(self, hits: Sequence[Hit]) -> list[str]:
        """Ids of the turns, observations or sessions that these hits are, best first."""
        found = [id_ for hit in hits for id_ in self._documents.get(_key(hit), ())]
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
        """Those with evidence: of the others nothing can be said."""
        return [q for q in self.conversation["questions"] if q["evidence"]]

    def texts(self) -> list[tuple[str, str]]:
        """(document id, text) of everything that was written, for plain baselines."""
        key = "observations" if self.unit == "observation" else "turns"
        return [
            (str(d["session"]) if self.unit == "session" else d["id"], _spoken(d))
            for d in self.conversation[key]
        ]

    def _write_turns(self) -> None:
        first = self.conversation["speakers"][0]
        number: dict[str, int] = {}
        episodes = []
        for turn in self.conversation["turns"]:
            session = str(turn["session"])
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

    def _write_observations(self) -> None:
        for said in self.conversation["observations"]:
            self._documents.setdefault(f"{said['speaker']}\n{said['text']}", []).append(said["id"])
        for session, began in self._began.items():
            mine = [o for o in self.conversation["observations"] if str(o["session"]) == session]
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
    """A fresh memory that holds this conversation; gone afterwards."""
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
            built = World(conversation, unit, memory)
            built.fill()
            yield built
        finally:
            memory.close()


def stamp(moment: datetime) -> str:
    """ISO 8601 in UTC; the file's times are of no zone."""
    return moment.replace(tzinfo=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _spoken(document: Mapping[str, Any]) -> str:
    """What was said, with who said it, and what a shared picture shows."""
    if "caption" not in document:
        return str(document["text"])
    caption = f" [shares a picture: {document['caption']}]" if document["caption"] else ""
    return f"{document['speaker']}: {document['text']}{caption}"


def _key(hit: Hit) -> str:
    if hit.source == "episodes":
        return hit.id
    return f"{hit.entities[0]}\n{hit.text}" if hit.entities else hit.text
