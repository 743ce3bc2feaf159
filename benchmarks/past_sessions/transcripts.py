"""Transcripts of the real form, generated: as Claude Code 2.1 writes them, with its bookkeeping.

`past_sessions.rollouts` has the same sessions in Codex's form. The form is that of
tests/events/transcript.jsonl: one block of a message in each entry, results of
tools twice (for the model and for the client), attachments and the state of requests between them.
Prompts, answers and the number of tools are as long and as many as in real coding conversations
(some 570 characters, 2,400 characters and five for each prompt), results of tools 2,500 bytes: what
was said is about a twelfth of the bytes.
"""

from __future__ import annotations

import json
import os
import random
import re
import uuid
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

CODEX_EVERY = 5
PROJECTS = ("billing", "storefront", "atlas", "fieldnotes")
# A month ago each project settled one thing that a user asks for later.
TOPICS = {
    "billing": "the invoice export writes CSV with semicolons because Excel in Germany needs them",
    "storefront": "the product search moved from Algolia to Meilisearch because of the price",
    "atlas": "map tiles are cached for seven days because the tile server limits requests",
    "fieldnotes": "notes are synced with automerge because the old merge lost lines",
}
SAID_AGAIN = "I always start the dev server myself, never start it for me."
ERRORS = (
    ("pytest tests/test_{0}.py", "AssertionError: expected {1} items in {0}, got {2}"),
    ("npm run build", "error TS2339: Property '{0}Total' does not exist on type 'Row{1}'"),
    ("cargo test {0}", "thread 'main' panicked at src/{0}.rs:{1}: index out of bounds {2}"),
)
THINGS = """invoice ledger parser router cache session upload webhook index scheduler report export
import tax currency layout theme gallery search basket payment shipping address profile login token
backup restore migration query schema worker queue mailer template locale calendar chart legend tile
marker layer sensor reading sample note folder sync merge conflict draft editor toolbar""".split()
VERBS = "rename split move speed simplify test document extend validate log retry paginate".split()
WORDS = """the value of this field was read before it was written so the second call saw the old
state and returned early which hid the failure from the user until the page was loaded again with an
empty list while the server had already answered with all rows that were asked for""".split()


class Made(NamedTuple):
    """The files that were made, and their size in bytes."""

    paths: list[str]
    size: int


def make(
    folder: str,
    work: str,
    sessions: int,
    now: datetime,
    *,
    prompts: int = 8,
    tool_bytes: int = 2500,
    days: float = 29,
    seed: int = 7,
    codex: str = "",
) -> Made:
    """Write `sessions` transcripts of four projects below `folder`, the client's config folder.

    The projects are folders in `work`. The sessions spread over the last `days` days; a session has
    about `prompts` prompts, a tool's result about `tool_bytes` bytes. With `codex`, a CODEX_HOME,
    every fifth one is Codex's.
    """
    from past_sessions.rollouts import Rollout  # late: it has the same sessions

    dice = random.Random(seed)
    paths, size = [], 0
    for number in range(sessions):
        project = PROJECTS[number % len(PROJECTS)]
        place = os.path.join(work, project)
        os.makedirs(os.path.join(place, ".git"), exist_ok=True)
        began = now - timedelta(days=days * (1 - number / sessions), minutes=30)
        session = str(uuid.UUID(int=dice.getrandbits(128), version=4))
        writer: Session = Session(dice, session, place, began, tool_bytes)
        path = os.path.join(folder, writer.path)
        if codex and number % CODEX_EVERY == CODEX_EVERY - 1:
            writer = Rollout(dice, session, place, began, tool_bytes)
            path = os.path.join(codex, writer.path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            for entry in writer.entries(project, number, dice.randint(prompts // 2, prompts * 2)):
                file.write(json.dumps(entry, separators=(",", ":"), ensure_ascii=False) + "\n")
        ended = writer.at.timestamp()
        os.utime(path, (ended, ended))
        paths.append(path)
        size += os.path.getsize(path)
    return Made(paths, size)


class Session:
    """Writes the entries of one session in Claude Code's form."""

    def __init__(
        self, dice: random.Random, session: str, place: str, began: datetime, tool_bytes: int
    ) -> None:
        self._dice, self._session, self._place = dice, session, place
        self.at, self._tool_bytes, self._parent = began, tool_bytes, ""
        # A session is about few things.
        self._things = dice.sample(THINGS, 5)

    @property
    def path(self) -> str:
        """The path of the transcript below the client's folder."""
        inside = re.sub(r"[^A-Za-z0-9]", "-", self._place)
        return os.path.join("projects", inside, f"{self._session}.jsonl")

    def entries(self, project: str, number: int, prompts: int) -> Iterator[dict[str, Any]]:
        """Yield the entries of a session with so many prompts."""
        yield from self._head()
        for place in range(prompts):
            thing, verb = self._pick(self._things), self._pick(VERBS)
            asked = f"Please {verb} the {thing} of {project}, since {self._prose(9)}."
            asked += "".join(f" Then {self._pick(VERBS)} {self._prose(14)}." for _ in range(6))
            if place == 0 and number // len(PROJECTS) % 7 == 3:
                asked += f" {SAID_AGAIN}"
            yield from self._user(asked)
            yield from self._text(f"I will {verb} the {thing} first. {self._sentences(3)}")
            yield from self._work(thing)
            yield from self._text(self._sentences(8))
            if place == 1:
                yield from self._failure(thing, number)
            told = f"The {thing} is done: I had to {verb} it, since {self._prose(12)}.\n\n"
            told += f"- {self._sentences(4)}\n- {self._sentences(4)}\n\n{self._sentences(6)}"
            if place == 0 and number < len(PROJECTS):
                told = f"We settled this: {TOPICS[project]}. {told}"
            yield from self._text(told)
            yield from self._end(asked)

    def _work(self, thing: str) -> Iterator[dict[str, Any]]:
        for _ in range(self._dice.randint(2, 5)):
            path = os.path.join(self._place, "src", f"{thing}.py")
            name, given = self._dice.choice(
                (
                    ("Read", {"file_path": path}),
                    ("Grep", {"pattern": thing, "path": self._place}),
                    ("Bash", {"command": f"rg -n {thing} src", "description": "search"}),
                    ("Edit", {"file_path": path, "old_string": "a = 1", "new_string": "a = 2"}),
                )
            )
            yield from self._tool(name, given, self._code(self._tool_bytes))

    def _failure(self, thing: str, number: int) -> Iterator[dict[str, Any]]:
        command, error = self._dice.choice(ERRORS)
        command = command.format(thing)
        error = error.format(thing, number, number + 1)
        yield from self._tool("Bash", {"command": command}, f"{error}\n1 failed", failed=True)
        path = os.path.join(self._place, "src", f"{thing}.py")
        yield from self._text(f"The failure was caused by an off-by-one error in the {thing} loop.")
        yield from self._tool(
            "Edit", {"file_path": path, "old_string": "<", "new_string": "<="}, "ok"
        )
        yield from self._tool("Bash", {"command": command}, "12 passed")

    def _tool(
        self, name: str, given: dict[str, Any], output: str, *, failed: bool = False
    ) -> Iterator[dict[str, Any]]:
        id_ = f"toolu_{self._dice.getrandbits(60):015x}"
        block = {"type": "tool_use", "id": id_, "name": name, "input": given}
        yield self._assistant(block)
        result = {"tool_use_id": id_, "type": "tool_result", "content": output, "is_error": failed}
        yield self._entry(
            "user",
            message={"role": "user", "content": [result]},
            # The client's own copy, with the parts of the result.
            toolUseResult={"stdout": output, "stderr": "", "interrupted": False, "isImage": False},
            sourceToolAssistantUUID=self._parent,
            permissionDecision={"decision": "accept", "source": "config"},
        )

    def _head(self) -> Iterator[dict[str, Any]]:
        yield {
            "type": "queue-operation",
            "operation": "enqueue",
            "timestamp": self._time(),
            "sessionId": self._session,
        }
        yield from (self._attachment(kind, 900) for kind in ("hook_success", "environment"))
        yield self._attachment("skill_listing", 6000)

    def _end(self, asked: str) -> Iterator[dict[str, Any]]:
        """Yield the bookkeeping at the end of an answer."""
        yield self._entry("system", subtype="stop_hook_summary", hookCount=1, hookInfos=[])
        yield {"type": "last-prompt", "lastPrompt": asked, "sessionId": self._session}

    def _user(self, text: str) -> Iterator[dict[str, Any]]:
        yield self._entry(
            "user",
            message={"role": "user", "content": text},
            promptId=self._uuid(),
            promptSource="typed",
            turnOrigin="human",
        )
        yield self._attachment("todo_reminder", 400)
        yield from self._request()

    def _text(self, text: str) -> Iterator[dict[str, Any]]:
        yield self._assistant({"type": "text", "text": text})

    def _assistant(self, block: dict[str, Any]) -> dict[str, Any]:
        usage = {"input_tokens": 100, "cache_creation_input_tokens": 0, "output_tokens": 10}
        message = {
            "id": f"msg_{self._dice.getrandbits(60):015x}",
            "type": "message",
            "role": "assistant",
            "model": "claude-opus-5-5",
            "content": [block],
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": usage | {"service_tier": "standard", "iterations": [], "speed": "standard"},
        }
        return self._entry("assistant", message=message, requestId=self._uuid(), effort="medium")

    def _request(self) -> Iterator[dict[str, Any]]:
        told = {"role": "user", "content": [{"type": "text", "text": self._prose(120)}]}
        yield {
            "type": "api-request-blob",
            "sessionId": self._session,
            "hash": f"{self._dice.getrandbits(256):064x}",
            "message": told,
        }
        tail = [f"{self._dice.getrandbits(256):064x}" for _ in range(6)]
        yield {"type": "api-request", "sessionId": self._session, "tail": tail, "keep": 0}

    def _attachment(self, kind: str, size: int) -> dict[str, Any]:
        content = self._prose(size // 10)
        return self._entry(
            "attachment",
            attachment={"type": kind, "content": content},
            rendered=[{"content": f"<system-reminder>\n{content}\n</system-reminder>"}],
            renderedRole="system",
        )

    def _entry(self, kind: str, **more: Any) -> dict[str, Any]:
        parent, self._parent = self._parent, self._uuid()
        return {
            "parentUuid": parent or None,
            "isSidechain": False,
            **more,
            "type": kind,
            "uuid": self._parent,
            "timestamp": self._time(),
            "userType": "external",
            "entrypoint": "cli",
            "cwd": self._place,
            "sessionId": self._session,
            "version": "2.1.329",
            "gitBranch": "main",
        }

    def _time(self) -> str:
        self.at += timedelta(seconds=self._dice.randint(1, 20))
        return self.at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.") + "000Z"

    def _uuid(self) -> str:
        return str(uuid.UUID(int=self._dice.getrandbits(128), version=4))

    def _prose(self, words: int) -> str:
        picked = (self._pick(self._things if i % 7 == 3 else WORDS) for i in range(words))
        return " ".join(picked)

    def _sentences(self, number: int) -> str:
        return " ".join(f"{self._prose(15).capitalize()}." for _ in range(number))

    def _pick(self, some: Sequence[str]) -> str:
        return some[self._dice.getrandbits(16) % len(some)]

    def _code(self, size: int) -> str:
        thing = self._pick(self._things)
        lines, length = [], 0
        while length < size:
            number = self._dice.getrandbits(12)
            name = self._pick(self._things)
            lines.append(f"{number:>6}\tdef {name}_{number}(rows): return [{thing} for r in rows]")
            length += len(lines[-1])
        return "\n".join(lines)
