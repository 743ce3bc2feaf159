"""Real conversations replayed through the hooks of a plugin, with the assistant's notes or without.

A line of the conversations (JSON, gzipped or not) is a session: `{"project", "path", "when",
"turns": [{"at", "prompt", "blocks": [{"type": "text", "text"} | {"type": "tool", "name", "input",
"output"}]}]}`, in order of time. A line of the notes is `{"project", "path", "place", "lines"}`:
the lines end the answer to that session's prompt number `place`, counted from 0.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import re
import shutil
import sqlite3
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from replays.hooks import Block, Hooks, Told
from replays.told import Ids, Unresolved

COMPACTED = "This session is being continued from a previous conversation"
# The client's own entries, which no hook of a prompt is called for.
NOT_TYPED = ("[Request interrupted", "<local-command", "<command-name>", "Caveat: ")
# Between sessions and between prompts whose time is not known.
BETWEEN_SESSIONS_S, BETWEEN_PROMPTS_S, BEFORE_END_S = 600, 180, 30
CHARS_PER_TOKEN = 4
# A field of a note that holds nothing but an id which this run did not tell.
UNRESOLVED_FIELD = re.compile(r"\s*\b(?:Instead of|From): *\[?\{id:[^{}]*\}\]?\.?")
# A tool's output, the middle left out, where a reader judges or writes notes.
OUTPUT_CHARS, INPUT_CHARS = 600, 300

Session = Mapping[str, Any]
Turn = Mapping[str, Any]


def session_id(project: str, path: str) -> str:
    """Return the id under which a session is replayed."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, project + path))


class Notes(NamedTuple):
    """The lines of an answer, and where the file of notes has them."""

    lines: tuple[str, ...]
    where: str


class Given(NamedTuple):
    """The texts that the assistant has before it answers a turn: MEMORY.md, which the client loads,
    and what hooks added at a session's start and with the prompt.
    """

    memory_md: str
    start: str
    prompt: str


def read_lines(path: str) -> Iterator[dict[str, Any]]:
    """Yield the objects of a file of JSON lines, gzipped or not."""
    with open(path, "rb") as stream:
        packed = stream.read(2) == b"\x1f\x8b"
    with gzip.open(path, "rt") if packed else open(path, encoding="utf-8") as lines:
        yield from (json.loads(line) for line in lines if line.strip())


def read_notes(path: str) -> dict[tuple[str, str, int], Notes]:
    """Return the notes of a file by project, path of the session and place of the prompt."""
    found: dict[tuple[str, str, int], Notes] = {}
    for number, one in enumerate(read_lines(path), 1):
        where = f"{os.path.basename(path)}, line {number}"
        found[one["project"], one["path"], one["place"]] = Notes(tuple(one["lines"]), where)
    return found


def spoken(turn: Turn) -> str:
    """Return the assistant's work and answer as text, long inputs and outputs cut."""
    parts = []
    for block in turn["blocks"]:
        if block["type"] == "text":
            parts.append(block["text"].strip())
            continue
        given = json.dumps(block["input"], ensure_ascii=False)
        parts.append(f"[{block['name']}] {middle_cut(given, INPUT_CHARS)}")
        output = middle_cut(block["output"].strip(), OUTPUT_CHARS)
        parts += [f"  | {line}" for line in output.splitlines()]
    return "\n".join(parts)


def middle_cut(text: str, max_chars: int) -> str:
    """Return the text with its middle left out if it is longer."""
    half = max_chars // 2
    return text if len(text) <= max_chars else f"{text[:half]} […] {text[-half:]}"


def picked(sessions: Sequence[Session], tokens: int, seed: int) -> set[tuple[str, str]]:
    """Return (project, path) of sessions drawn by the seed until the budget is used up.

    A token is taken for four characters. A session that no longer fits is passed over, so that
    long sessions are drawn less often.
    """
    order = [s for s in sessions if any(turn["blocks"] for turn in s["turns"])]
    random.Random(seed).shuffle(order)
    found: set[tuple[str, str]] = set()
    for session in order:
        size = sum(len(t["prompt"]) + len(spoken(t)) for t in session["turns"]) // CHARS_PER_TOKEN
        if size <= tokens:
            tokens -= size
            found.add((session["project"], session["path"]))
    return found


class Replay:
    """One project's sessions in order, with a log line for each event."""

    def __init__(
        self,
        folder: str,
        project: str,
        plugin: str,
        clock: str,
        *,
        lenient: bool = False,
        hooks_type: type[Hooks] = Hooks,
    ) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        self._lenient = lenient
        self.folder, self.project, self.ids = folder, project, Ids()
        self.hooks = hooks_type(folder, project, plugin, clock)
        self._seen: set[str] = set()
        self._log = os.path.join(folder, "log.jsonl")

    def session(
        self, number: int, session: Session, notes: Mapping[tuple[str, str, int], Notes]
    ) -> Iterator[tuple[int, Given]]:
        """Replay a session; yield each turn's place and what was given, before it is answered."""
        hooks = self.hooks
        hooks.start(session_id(self.project, session["path"]))
        hooks.now_s = max(hooks.now_s if number else 0, session["when"]) + BETWEEN_SESSIONS_S
        about = {"path": session["path"], "number": number}
        loaded = memory_md(hooks)
        shown = {**about, "memory_md": loaded}
        start = self._fire("SessionStart", shown, source="startup").context
        for place, turn in enumerate(session["turns"]):
            hooks.now_s = max(hooks.now_s + BETWEEN_PROMPTS_S, turn["at"] or 0.0)
            here = {**about, "place": place, "prompt": turn["prompt"]}
            again, added = self._prompt(turn["prompt"], here)
            yield place, Given(loaded, again or start, added)
            loaded = start = ""
            told = notes.get((self.project, session["path"], place), Notes((), ""))
            self._answer(turn, here, told)
        hooks.now_s += BEFORE_END_S
        self._fire("SessionEnd", about)

    def _prompt(self, prompt: str, here: Mapping[str, Any]) -> tuple[str, str]:
        """Give the user's entry; return what a compaction and what the prompt's hook told."""
        if prompt.startswith(COMPACTED):
            self._fire("PreCompact", here, trigger="auto")
            shown = {"isVisibleInTranscriptOnly": True, "isCompactSummary": True}
            self.hooks.write("user", prompt, **shown)
            self._fire("PostCompact", here, compact_summary=prompt, trigger="auto")
            return self._fire("SessionStart", here, source="compact").context, ""
        if prompt.startswith(NOT_TYPED):
            self.hooks.write("user", prompt)
            return "", ""
        told = self._fire("UserPromptSubmit", here, prompt=prompt)
        self.hooks.write("user", prompt, promptSource="typed")
        return "", told.context

    def _answer(self, turn: Turn, here: Mapping[str, Any], notes: Notes) -> None:
        lines = [x for x in (self._resolved(x, notes.where, here) for x in notes.lines) if x]
        blocks = with_lines(turn["blocks"], lines)
        last = self.hooks.answer(blocks)
        if blocks:
            self._fire("Stop", {**here, "lines": lines}, last_assistant_message=last)

    def _resolved(self, line: str, where: str, here: Mapping[str, Any]) -> str:
        try:
            return self.ids.resolved(line)
        except Unresolved as error:
            place = f"{self.project}, {here['path']}, prompt {here['place']}"
            text = f"{where} ({place}): no id was told with “{error}”: {line}"
            if not self._lenient:
                raise Unresolved(text) from error
            print(f"left out: {text}", flush=True)
            return UNRESOLVED_FIELD.sub("", line) if line.startswith("Noted") else ""

    def _fire(self, event: str, about: Mapping[str, Any], **fields: object) -> Told:
        told = self.hooks.fire(event, **fields)
        new = self._new_records()
        self.ids.know(self._seen)
        for text in (told.context, told.notice):
            self.ids.hear(text)
        entry = {"event": event, **about, "at": self.hooks.now_s, **told._asdict(), "new": new}
        with open(self._log, "a", encoding="utf-8") as file:
            file.write(json.dumps(entry, ensure_ascii=False) + "\n")
        return told

    def _new_records(self) -> list[str]:
        stored = [row["id"] for row in rows(self.hooks, "SELECT id FROM records ORDER BY seq")]
        new = [id_ for id_ in stored if id_ not in self._seen]
        self._seen.update(new)
        return new


def memory_md(hooks: Hooks) -> str:
    """Return MEMORY.md as the client loads it: without comments on lines of their own."""
    kept: list[str] = []
    for path in hooks.memory_files():
        with open(path, encoding="utf-8") as file:
            kept += [line for line in file if not line.startswith("<!--")]
    return "".join(kept).strip()


def with_lines(blocks: Sequence[Block], lines: Sequence[str]) -> list[Block]:
    """Return the answer with the lines at the end of its last text, or behind it if that was cut
    inside a code fence.
    """
    if not lines:
        return list(blocks)
    added = "\n".join(lines)
    if blocks and blocks[-1]["type"] == "text" and blocks[-1]["text"].count("```") % 2 == 0:
        last = {"type": "text", "text": f"{blocks[-1]['text']}\n\n{added}"}
        return [*blocks[:-1], last]
    return [*blocks, {"type": "text", "text": added}]


def rows(hooks: Hooks, query: str) -> list[dict[str, Any]]:
    """Return the rows of a query from each database of the replay, with the database's name."""
    found: list[dict[str, Any]] = []
    for path in hooks.databases():
        base = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        try:
            base.row_factory = sqlite3.Row
            named = {"database": os.path.basename(path)}
            found += [{**named, **dict(row)} for row in base.execute(query)]
        finally:
            base.close()
    return found
