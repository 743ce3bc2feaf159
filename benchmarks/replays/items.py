"""Things to be judged from a replay: what was stored, told, cued, quoted, and not told.

An item has an id, its kind, the text as a reader sees it, and what a judge needs to know: the turn
that it came from, or the turns before it. Nothing in it tells whether the assistant took notes: its
id depends on these texts alone, and what would tell is in a row of its own (`keys.jsonl`).
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from replays.replay import Replay, Session, middle_cut, read_lines, rows, session_id, spoken
from replays.told import (
    Ids,
    block_parts,
    covered,
    cues_of,
    folded,
    memories_of,
    without_fences,
    words_of,
)

Row = dict[str, Any]
TABLES = {
    "records": "SELECT * FROM records ORDER BY seq",
    "entities": "SELECT * FROM entities ORDER BY id",
    "relations": """SELECT s.name AS source, r.type AS type, t.name AS target, r.record AS record
        FROM relations AS r JOIN entities AS s ON s.id = r.source JOIN entities AS t
        ON t.id = r.target ORDER BY r.id""",
}
PROMPT_CHARS, ANSWER_CHARS, SESSION_CHARS = 2000, 3000, 5000
# Turns before a prompt that a judge of its injection sees.
TURNS_BEFORE = 3
# Words that prompts in a language have, and those in others have not.
LANGUAGES = {
    "de": "der die das und nicht ist ein eine ich mit auf auch bitte wir noch",
    "en": "the and to is it that for you of this in we with not please",
    "es": "el la los que una por para con está es como quiero del se lo",
    "fr": "le les des est une pour dans pas je que nous avec sur il du",
    "ru": "и не на что это как в с по мне для но а же надо",
}
# The kinds of cues that are judged, by the words they begin with.
CUE_KINDS = {"On record": "on record", "Sounds like": "sounds like", "Says some": "sounds like"}
QUOTED = re.compile(r'\bFrom: *["“]')
# A note that names a candidate.
CANDIDATE = re.compile(r"From: \[([0-9a-f]{8})\]")
# Records that are no statement that was stored: they have figures of their own.
HOLDING = ("active", "candidate")
APART = ("session", "candidate")
FIXES = ("solution", "fix", "problem")


def dump(replay: Replay) -> None:
    """Write what is stored at the end, and what was told, into the project's folder."""
    for name, query in TABLES.items():
        write_lines(os.path.join(replay.folder, f"{name}.jsonl"), rows(replay.hooks, query))
    stored = read_lines(os.path.join(replay.folder, "records.jsonl"))
    candidates = (row for row in stored if row["status"] == "candidate")
    write_lines(os.path.join(replay.folder, "candidates.jsonl"), candidates)
    with open(os.path.join(replay.folder, "stored.txt"), "w", encoding="utf-8") as file:
        file.write(
            stored_text(replay.ids, read_lines(os.path.join(replay.folder, "records.jsonl")))
        )
    for path in replay.hooks.memory_files():
        shutil.copy(path, os.path.join(replay.folder, "MEMORY.md"))


def write_lines(path: str, found: Iterable[Mapping[str, Any]]) -> None:
    """Write objects as JSON lines."""
    with open(path, "w", encoding="utf-8") as file:
        for one in found:
            file.write(json.dumps(one, ensure_ascii=False) + "\n")


class Items:
    """The items of one project, and the keys that say what each one is."""

    def __init__(self, replay: Replay, sessions: Sequence[Session]) -> None:
        self.project, self._folder, self._ids = replay.project, replay.folder, replay.ids
        self._sessions = {session["path"]: session for session in sessions}
        self._paths = {session_id(self.project, path): path for path in self._sessions}
        self.log = list(read_lines(os.path.join(replay.folder, "log.jsonl")))
        self._records = {row["id"]: row for row in self._read("records")}
        self.late = replay.hooks.times_out()
        self._came_with = {id_: entry for entry in self.log for id_ in entry["new"]}
        self._began: dict[tuple[str, int], float] = {}
        for entry in self.log:
            if "place" in entry:
                self._began.setdefault((entry["path"], entry["place"]), entry["at"])
        self._memory_md = self._given = ""
        self.items: dict[str, Row] = {}
        self.keys: list[Row] = []

    def build(self, only: set[tuple[str, str]] | None) -> None:
        """Make all items, or only those that came from some sessions."""
        for row in self._records.values():
            about = {"source": source_of(row), "status": row["status"], "record": row["id"]}
            text = f"{mark_of(row)}{record_text(row)}"
            self._add("record", text, self._origin(row["id"]), only, type=row["type"], **about)
        for line in self._memory_lines():
            record = next((r["id"] for r in self._records.values() if r["what"] in line), "")
            self._add("memory_md", line, self._origin(record), only, record=record)
        for row in self._read("relations"):
            text = f"{row['source']} —{row['type']}→ {row['target']}"
            about = {"record": row["record"], "type": row["type"]}
            self._add("relation", text, self._origin(row["record"]), only, **about)
        for entry in self.log:
            self._told(entry, only)

    def conversation(self, only: set[tuple[str, str]] | None) -> str:
        """Return the sessions as far as they were replayed, for a list of what was settled."""
        parts = []
        replayed = [e for e in self.log if "place" in e]
        if only is not None:
            replayed = [e for e in replayed if (self.project, e["path"]) in only]
        turns = dict.fromkeys((e["path"], e["number"], e["place"]) for e in replayed)
        for path, number, place in turns:
            turn = self._sessions[path]["turns"][place]
            said = f"User: {turn['prompt']}\n\nAssistant: {spoken(turn)}"
            parts.append(f"# Session {number + 1}, prompt {place + 1}\n\n{said}\n")
        return "\n".join(parts)

    def _told(self, entry: Row, only: set[tuple[str, str]] | None) -> None:
        if entry["event"] == "SessionStart":
            self._memory_md = entry.get("memory_md", self._memory_md)
            self._given = entry["context"]
            memories = without_fences(block_parts(self._given).memories)
            if memories:
                beside = f"MEMORY.md, loaded beside it:\n{self._memory_md or '(empty)'}"
                at = (entry, f"{beside}\n\n{self._before(entry)}")
                self._add("session_start", memories, at, only)
        if entry["event"] == "UserPromptSubmit":
            self._told_with_prompt(entry, only)
        for line in entry.get("lines", ()):
            if QUOTED.search(line):
                at = (entry, self._before(entry))
                self._add("quotation", line, at, only, was_found=self._was_found(line, entry))

    def _told_with_prompt(self, entry: Row, only: set[tuple[str, str]] | None) -> None:
        told, before = entry["context"], self._before(entry)
        for line in cues_of(told).splitlines():
            for words, kind in CUE_KINDS.items():
                if line.startswith(words):
                    self._add("cue", line, (entry, before), only, source=kind)
        untold = self._untold(entry["number"])
        if memories_of(told):
            self._add("injection", memories_of(told), (entry, before), only)
        elif untold:
            heading = "On record from earlier sessions, and not told in this one:"
            context = "\n".join([before, "", heading, *untold])
            self._add("silence", "(nothing was told with this prompt)", (entry, context), only)
        self._given += f"\n{told}"

    def _untold(self, number: int) -> list[str]:
        """Return the records of earlier sessions that neither MEMORY.md nor the start told."""
        told = f"{self._memory_md}\n{self._given}"
        return [
            f"- {mark_of(row)}{record_text(row)}"
            for id_, row in self._records.items()
            if self._came_with[id_]["number"] < number
            and source_of(row) not in APART
            and id_[-8:] not in told
            and row["what"] not in told
        ]

    def _was_found(self, line: str, entry: Row) -> bool:
        """Return True if the note became a record with its quotation, as the user's or agreed."""
        said = folded(line)
        return any(
            row["trust"] == "user" or "agreed" in evidence_of(row)
            for id_, row in self._records.items()
            if self._came_with[id_]["path"] == entry["path"]
            and folded(row["what"]).rstrip(".") in said
        )

    def _add(
        self,
        kind: str,
        text: str,
        origin: tuple[Row, str],
        only: set[tuple[str, str]] | None,
        **about: object,
    ) -> None:
        entry, context = origin
        path = entry.get("path", "")
        if only is not None and (self.project, path) not in only:
            return
        item = {"kind": kind, "project": self.project, "text": self._ids.without(text)}
        whole = item | {"context": context}
        digest = hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()
        self.items[digest[:12]] = {"id": digest[:12], **whole}
        key = {"id": digest[:12], "kind": kind, "project": self.project, "path": path}
        key["language"] = language_of(self._sessions[path]) if path else ""
        self.keys.append({**key, "place": entry.get("place"), **about})

    def _origin(self, record: str) -> tuple[Row, str]:
        """Return the turn in which a record was stated, or its session, and what was said then."""
        row = self._records.get(record)
        path = self._paths.get(row["session"]) if row else None
        if row is None or path is None:
            return {}, "(not known)"
        turns = self._sessions[path]["turns"]
        place = None if row["type"] == "session" else self._place(row, path)
        entry = {"path": path, "place": place}
        if place is not None:
            shown = exchange(turns[place], f"{row['what']} {row['why']}")
            return entry, "\n\n".join([*self._quoted(row, turns[place]), shown])
        return entry, middle_cut("\n\n".join(map(exchange, turns)), SESSION_CHARS)

    def _quoted(self, row: Row, noted: Mapping[str, Any]) -> list[str]:
        """Return the turn that a record quotes, if it was not the one in which it was noted."""
        quoted = evidence_of(row).get("quotation", "")
        words = folded(quoted or self._candidate_of(row))
        if not words or words in folded(noted["prompt"]):
            return []
        turns = (turn for session in self._sessions.values() for turn in session["turns"])
        return [f"Earlier:\n{exchange(t)}" for t in turns if words in folded(t["prompt"])][:1]

    def _candidate_of(self, row: Row) -> str:
        """Return the words of the candidate that a note named in `From: [id]`, as told."""
        lines = (
            line for line in self._came_with[row["id"]].get("lines", ()) if row["what"] in line
        )
        named = next((m[1] for m in map(CANDIDATE.search, lines) if m), "")
        heard = re.compile(rf"\[{named}\] “(.+?)”") if named else None
        told = (heard.search(entry["context"]) for entry in self.log) if heard else ()
        return next((found[1] for found in told if found), "")

    def _place(self, row: Row, path: str) -> int | None:
        """Return the place of the turn that a record's time is in, else of the event it came with:
        a hook that ran out of time leaves the rest of a turn to a later one.
        """
        stated = json.loads(row["body"] or "{}").get("valid_from") or row["created_at"]
        at = datetime.fromisoformat(stated).timestamp()
        for entry in self.log:
            if entry["path"] == path and entry["event"] == "Stop" and at <= entry["at"] + 1:
                return int(entry["place"]) if at >= self._began[path, entry["place"]] else None
        came_with = self._came_with[row["id"]]
        return came_with.get("place") if came_with["path"] == path else None

    def _before(self, entry: Row) -> str:
        """Return the prompt that something was told with, and the turns before it."""
        turns = self._sessions[entry["path"]]["turns"]
        place = entry.get("place") or 0
        past = [exchange(turn) for turn in turns[max(0, place - TURNS_BEFORE) : place]]
        asked = f"User, now: {middle_cut(turns[place]['prompt'], PROMPT_CHARS)}" if turns else ""
        when = f"Session {entry['number'] + 1} of the project, prompt {place + 1}."
        return "\n\n".join([when, *past, asked])

    def _memory_lines(self) -> Iterator[str]:
        path = os.path.join(self._folder, "MEMORY.md")
        if not os.path.exists(path):
            return
        with open(path, encoding="utf-8") as file:
            yield from (line.strip() for line in file if line.startswith("- "))

    def _read(self, name: str) -> list[Row]:
        return list(read_lines(os.path.join(self._folder, f"{name}.jsonl")))


def exchange(turn: Mapping[str, Any], about: str = "") -> str:
    """Return a prompt and its answer for a judge, cut but for what a memory is about."""
    prompt = cut_around(turn["prompt"], about, PROMPT_CHARS)
    return f"User: {prompt}\nAssistant: {cut_around(spoken(turn), about, ANSWER_CHARS)}"


def cut_around(text: str, about: str, max_chars: int) -> str:
    """Return the text cut to about `max_chars`: its ends, and the line nearest to a statement."""
    if len(text) <= max_chars or not about:
        return middle_cut(text, max_chars)
    third = max_chars // 3
    near = max(text.splitlines(), key=lambda line: covered(about, words_of(line)))
    middle = max(third, text.index(near) - third // 2)
    end = max(middle + third, len(text) - third)
    return f"{text[:third]} […] {text[middle : middle + third]} […] {text[end:]}"


def language_of(session: Session) -> str:
    """Return the language of a session's prompts, by the words that it alone has; "en" if even."""
    said = [w for turn in session["turns"] for w in re.findall(r"\w+", turn["prompt"].casefold())]
    counted = {name: sum(w in words.split() for w in said) for name, words in LANGUAGES.items()}
    return max(("en", *LANGUAGES), key=lambda name: counted[name])


def evidence_of(row: Mapping[str, Any]) -> Row:
    """Return the evidence of a record; empty if it has none."""
    return dict(json.loads(row["body"] or "{}").get("evidence", {}))


def is_closed(row: Mapping[str, Any]) -> bool:
    """Return True if a record held once and does not any more."""
    return bool(row["superseded_by"] or row["valid_to"] or row["status"] not in HOLDING)


def mark_of(row: Mapping[str, Any]) -> str:
    """Return the mark of a record that does not hold, or not yet; '' of any other."""
    if row["superseded_by"]:
        return "[replaced later] "
    if row["valid_to"]:
        return "[dropped later] "
    return "" if row["status"] == "active" else f"[{row['status']}] "


def record_text(row: Mapping[str, Any]) -> str:
    """Return a record as a reader sees it: type, statement, reason, what it rejected, and the
    user's words.
    """
    why = f" — {row['why']}" if row["why"] and row["why"] not in row["what"] else ""
    rejected = json.loads(row["body"] or "{}").get("alternatives") or []
    instead = f" (instead of: {', '.join(rejected)})" if rejected else ""
    quotation = evidence_of(row).get("quotation", "") if row["trust"] == "user" else ""
    said = f" (user's words: “{quotation}”)" if quotation and quotation != row["what"] else ""
    return f"{row['type']}: {row['what']}{why}{instead}{said}"


def source_of(row: Mapping[str, Any]) -> str:
    """Return the row of the table that a record counts in."""
    if row["status"] == "candidate":
        return "candidate"
    if row["type"] == "session":
        return "session"
    if "noted" in evidence_of(row):
        return f"note, {row['trust']}'s trust"
    if row["type"] in FIXES and row["trust"] != "user":
        return "fix"
    return str(row["source"])


def sampled(items: Mapping[str, Row], keys: Iterable[Row], count: int, seed: int) -> list[Row]:
    """Return the items in an order that tells nothing, at most so many of each group (0: all).

    Session records and candidates are groups of their own, as each other kind is.
    """
    group_of = {key["id"]: _group(key) for key in keys}
    order = sorted(items)
    random.Random(seed).shuffle(order)
    left = dict.fromkeys(group_of.values(), count or len(order))
    drawn = []
    for id_ in order:
        left[group_of[id_]] -= 1
        if left[group_of[id_]] >= 0:
            drawn.append(items[id_])
    return drawn


def _group(key: Mapping[str, Any]) -> str:
    return key["source"] if key.get("source") in APART else str(key["kind"])


def stored_text(ids: Ids, records: Iterable[Mapping[str, Any]]) -> str:
    """Return all records as text, for judging which settled points are on record."""
    shown = [f"{mark_of(row)}{record_text(row)}" for row in records]
    return ids.without("\n".join(shown)) + "\n"
