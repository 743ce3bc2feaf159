"""Sessions written down with their replies, played again while the clock stands still.

`tests/goldens/sessions/<name>.jsonl` holds a session or several, one step a line:

    {"session": "monday"}                              what follows belongs to this session
    {"wait": 3600}                                     seconds pass
    {"file": "src/app.py", "text": "…"}                a file of the project
    {"event": "Stop", …fields…, "reply": {…} or null}  an event, and what its hook prints

A field that is not given has the recorded event's value. The transcript grows as the client's does:
by the entry of a prompt, or of a call that was refused, after its event, by calls of tools and
answers before theirs.
`tests/goldens/memory/<name>.jsonl` holds what is stored in the end, a line for each row and file.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from replay.fixed_clock import Clock
from replay.hook_runner import ROOT, TESTS, HookRunner
from replay.ways import Way

SESSIONS, MEMORY = TESTS / "goldens" / "sessions", TESTS / "goldens" / "memory"
START_S = datetime(2026, 3, 2, 9, tzinfo=UTC).timestamp()
BETWEEN_EVENTS_S = 30
REMOTE = '[remote "origin"]\n\turl = https://example.org/acme/shop.git\n'
UNDER_CLOCK = '#!/bin/sh\nshift 2\nexec "{python}" -I -S "{program}" "{clock}" "$@"\n'
# Size, time and number of a file; checksums of texts that name the folder.
FROM_RUN_TO_RUN = (
    (re.compile(r"\b\d+ \d{19} \d+\b"), "<stamp>"),
    (re.compile(r'(?<=\\"sum\\": \\")\d+|(?<=\\"mark\\": \\")[0-9a-f]{8}'), "<sum>"),
)
STAMPS = ("mtime_ns",)
# Files that hold nothing: locks, and what hooks/launch knows without Python.
NOT_STORED = (".lock", "unbound-rules", "@project")
# What tells which process answered: the folder of live servers, and their notes in `meta`.
LIVE, ANSWERED = "live", "answered:"

Step = dict[str, Any]


def names() -> list[str]:
    """The names of all written sessions."""
    return sorted(path.stem for path in SESSIONS.glob("*.jsonl"))


def read(path: Path) -> list[Step]:
    """The lines of a golden."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def write(path: Path, lines: list[Step]) -> None:
    """Write a golden."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    path.write_text(text, "utf-8")


class Replay:
    """A project with an empty memory, in which sessions are played; a context manager.

    Within it this process lives by the fixed clock, and so do the hooks that it starts.
    """

    def __init__(self, folder: Path, way: Way) -> None:
        self.hooks, self._way = HookRunner(folder), way
        self.clock = Clock(str(folder / "clock"), START_S)
        self._session, self._entries = "", 0
        self.hooks.environ |= {
            "USER": "ann",
            "CLAUDE_CODE_SESSION_ATTENDED": "1",
            "CLAUDE_CODE_ENTRYPOINT": "cli",
        }
        git = self.hooks.project / ".git"
        git.mkdir()
        (git / "config").write_text(REMOTE, "utf-8")
        interpreter = self.hooks.data / "interpreter"
        # Python under the clock, which the launcher starts.
        self.python = folder / "python"
        self.python.write_text(
            UNDER_CLOCK.format(
                python=interpreter.read_text("utf-8").strip(),
                program=Path(__file__).with_name("fixed_clock.py"),
                clock=folder / "clock",
            ),
            "utf-8",
        )
        self.python.chmod(0o700)
        interpreter.write_text(f"{self.python}\n", "utf-8")

    def __enter__(self) -> Replay:
        self._restore = self.clock.install()
        return self

    def __exit__(self, *error: object) -> None:
        self._restore()

    def play(self, steps: list[Step]) -> list[Step]:
        """The steps with the replies of now."""
        return [self._played(step) for step in steps]

    def play_all(self) -> None:
        """Play all written sessions, one after another."""
        for name in names():
            self.play(read(SESSIONS / f"{name}.jsonl"))

    def stored(self) -> list[Step]:
        """What the memory holds: the rows of its databases, and its other files as text."""
        found = [*self._rows(), *self._files()]
        return [json.loads(self.settled(json.dumps(line))) for line in found]

    def settled(self, text: str) -> str:
        """Return the text without what differs from run to run."""
        text = text.replace(str(self.hooks.folder), "<folder>").replace(str(ROOT), "<plugin>")
        slug = re.sub(r"[^A-Za-z0-9]", "-", str(self.hooks.folder))
        text = text.replace(slug, "<slug>")
        for pattern, kind in FROM_RUN_TO_RUN:
            text = pattern.sub(kind, text)
        return text

    def _played(self, step: Step) -> Step:
        if "session" in step:
            self._session, self._entries = step["session"], 0
        elif "wait" in step:
            self.clock.advance(step["wait"])
        elif "file" in step:
            path = self.hooks.project / step["file"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(step["text"], "utf-8")
        else:
            return {**step, "reply": self._answered(step)}
        return step

    def _answered(self, step: Step) -> Any:
        fields = {k: v for k, v in step.items() if k not in ("event", "reply")}
        name = step["event"]
        recorded = json.loads((TESTS / "events" / f"{name}.json").read_text("utf-8"))
        event = {
            **recorded,
            "session_id": self._session,
            "transcript_path": str(self._transcript),
            "cwd": str(self.hooks.project),
            **fields,
        }
        self.clock.advance(BETWEEN_EVENTS_S)
        self._transcribe_before(name, event)
        output = self._way(self.hooks, event).decode("ascii")
        blocked = '"decision": "block"' in output
        if name == "UserPromptSubmit" and not blocked:
            self._entry("user", event["prompt"], promptSource="typed", turnOrigin="human")
        if not output or name == "PreCompact":
            return output or None
        reply = json.loads(output)
        decided = reply.get("hookSpecificOutput", {})
        if decided.get("permissionDecision") == "deny":
            reason = decided["permissionDecisionReason"]
            refusal = f"PreToolUse:{event['tool_name']} hook error: {reason}"
            self._call({**event, "error": refusal}, failed=True)
        assert json.dumps(reply) == output  # so that equal replies are equal bytes
        return json.loads(self.settled(output))

    def _transcribe_before(self, name: str, event: Step) -> None:
        if name in ("PostToolUse", "PostToolUseFailure"):
            self._call(event, failed=name == "PostToolUseFailure")
        if name == "Stop":
            said = event["last_assistant_message"]
            self._entry("assistant", [{"type": "text", "text": said}])

    def _call(self, event: Step, *, failed: bool) -> None:
        id_, tool, given = (event[k] for k in ("tool_use_id", "tool_name", "tool_input"))
        use = {"type": "tool_use", "id": id_, "name": tool, "input": given}
        result = event["error"] if failed else event["tool_response"]
        text = result if isinstance(result, str) else result.get("stdout") or json.dumps(result)
        done = {"type": "tool_result", "tool_use_id": id_, "content": text, "is_error": failed}
        self._entry("assistant", [use])
        self._entry("user", [done], toolUseResult=result)

    @property
    def _transcript(self) -> Path:
        slug = re.sub(r"[^A-Za-z0-9]", "-", str(self.hooks.project))
        folder = self.hooks.user_home / ".claude" / "projects" / slug
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f"{self._session}.jsonl"

    def _entry(self, role: str, content: object, **marks: object) -> None:
        self._entries += 1
        name = f"{self._session} {self._entries}"
        at = datetime.fromtimestamp(self.clock.now_s(), UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        entry = {
            "type": role,
            "uuid": str(uuid.uuid5(uuid.NAMESPACE_URL, name)),
            "sessionId": self._session,
            "timestamp": at,
            "cwd": str(self.hooks.project),
            "isSidechain": False,
            "message": {"role": role, "content": content},
            **marks,
        }
        with self._transcript.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")
        os.utime(self._transcript, (self.clock.now_s(), self.clock.now_s()))

    def _rows(self) -> Iterator[Step]:
        for path in sorted(self.hooks.memory.rglob("*.db")):
            name = str(path.relative_to(self.hooks.memory))
            with sqlite3.connect(path) as database:
                database.row_factory = sqlite3.Row
                for table in _tables(database):
                    rows = [dict(row) for row in database.execute(f'SELECT * FROM "{table}"')]
                    for row in sorted(rows, key=repr):
                        if not str(row.get("key", "")).startswith(ANSWERED):
                            yield {"database": name, "table": table, "row": _plain(row)}
            database.close()

    def _files(self) -> Iterator[Step]:
        memory_md = self.hooks.user_home.rglob("MEMORY.md")
        live = self.hooks.memory / LIVE
        for path in sorted([*self.hooks.memory.rglob("*"), *memory_md]):
            if live in path.parents or path.name.endswith(NOT_STORED) or ".db" in path.name:
                continue
            if path.is_file():
                text = path.read_bytes().decode("utf-8", "backslashreplace")
                yield {"file": str(path.relative_to(self.hooks.folder)), "text": text}


def _tables(database: sqlite3.Connection) -> list[str]:
    """The tables that hold what was stored; indexes for the search follow from them."""
    found = database.execute(
        "SELECT name, sql LIKE 'CREATE VIRTUAL%' FROM sqlite_master WHERE type = 'table'"
    ).fetchall()
    indexes = [name for name, is_index in found if is_index]
    return sorted(
        name
        for name, _ in found
        if not name.startswith("sqlite_") and not any(name.startswith(i) for i in indexes)
    )


def _plain(row: Step) -> Step:
    """The columns of a row as JSON holds them."""
    if "offset" in row:  # in lines, whose length depends on the name of the folder
        read_bytes = Path(row["transcript"]).read_bytes()[: row["offset"]]
        row["offset"] = f"after {len(read_bytes.splitlines())} lines"
    return {
        key: value.hex() if isinstance(value, bytes) else 0 if key in STAMPS else value
        for key, value in row.items()
    }
