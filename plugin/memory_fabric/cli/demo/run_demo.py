"""A two-session story through the real hooks, on a temporary home and project.

    python3 -m memory_fabric.cli.demo.run_demo   (scripts/demo sets PYTHONPATH)

Every box is one hook: the command of hooks.json, started as the client starts it. The box shows
what the hook stored, read back from the databases and files, and what the model would be given.
It needs the standard library only. The exit code is 1 if a memory did not arrive.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from memory_fabric.cli.demo import story
from memory_fabric.cli.demo.boxes import BOLD, CYAN, DIM, GREEN, RED, YELLOW, Canvas
from memory_fabric.cli.demo.sandbox import HookResult, Sandbox
from memory_fabric.errors import FabricError
from memory_fabric.ids import short_id, timestamp
from memory_fabric.notes import protocol
from memory_fabric.store import backup, files, journal
from memory_fabric.store.health.maintenance import LOCK
from memory_fabric.store.memory import Memory
from memory_fabric.store.tiers import memory_md

# A detached process makes the backup after a session's end.
BACKUP_WAIT_S, POLL_S = 5.0, 0.05
PROTOCOL_AGAIN = "Memory notes. … (as at the start of session 1)"


@dataclass(frozen=True, slots=True)
class Seen:
    """Snapshot of the files on disk."""

    records: dict[str, str] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    decisions: int = 0
    notes: tuple[str, ...] = ()
    checkpoint: str = ""


class Demo:
    """One run of the demonstration: the output of each hook, and the expectations that failed."""

    def __init__(self, sandbox: Sandbox, canvas: Canvas) -> None:
        self.sandbox, self.canvas = sandbox, canvas
        self.seen = Seen()
        self.arrived: list[tuple[bool, str]] = []
        # For each prompt: the seconds of its hook, and of a bare start of Python just before.
        self.took: list[tuple[float, float]] = []
        self.told_protocol = False

    def tell(self) -> bool:
        """Run the whole story; return True if everything arrived."""
        self.canvas.say("Each box is one hook, run as Claude Code runs it.")
        self.canvas.say(
            "stored: what is on disk now. model: what Claude is given. shown: your notice."
        )
        self._first_session()
        self._second_session()
        return self._verdict()

    def _first_session(self) -> None:
        session = story.FIRST
        self.canvas.heading("Session 1: a day's work")
        self._run_hook("SessionStart", session, source="startup")
        heard = self._prompt(session, story.RULE)
        self._expect("note it" in heard.context, "a prompt that sounds like a rule gets a cue")
        noted = self._answer(session, story.NOTED_RULE)
        self._expect(story.RULED in noted.notice, "the note is kept, and its notice says so")
        self._prompt(session, story.DECISION)
        self._answer(session, story.NOTED_DECISION)
        self._prompt(session, story.TASK)
        _write_transcript(self.sandbox, session)
        self._answer(session, story.ANSWER)
        self.canvas.heading("The conversation grows too long and is compacted")
        self._run_hook("PreCompact", session, trigger="auto", custom_instructions=None)
        back = self._run_hook("SessionStart", session, source="compact")
        self._expect(story.DECIDED in back.context, "the decision is back after the compaction")
        self._run_hook("PostCompact", session, trigger="auto", compact_summary=story.SUMMARY)
        self._run_hook("SessionEnd", session, reason="prompt_input_exit")
        _wait_for_backup(self.sandbox)

    def _second_session(self) -> None:
        session = story.SECOND
        self.canvas.heading("Session 2: another day, an empty context")
        start = self._run_hook("SessionStart", session, source="startup")
        loaded = "\n".join((start.context, *self._client_loads()))
        both = story.RULED in loaded and story.DECIDED in loaded
        self._expect(both, "session 2 starts with what session 1 noted")
        self._correct(session)
        asked = self._prompt(session, story.PARAPHRASE)
        self._expect(story.LESSON in asked.context, "a problem met again brings its solution")
        other = self._prompt(session, story.UNRELATED)
        self._expect(not other.context, "an unrelated prompt brings nothing")
        task = {
            "subagent_type": story.AGENT,
            "description": "migration",
            "prompt": story.AGENT_TASK,
        }
        self._run_hook(
            "PreToolUse", session, tool_name="Agent", tool_use_id="toolu_1", tool_input=task
        )
        agent = self._run_hook("SubagentStart", session, agent_id="agent1", agent_type=story.AGENT)
        current = story.CHOSEN in agent.context and story.DECIDED not in agent.context
        self._expect(current, f"the subagent {story.AGENT} is given the corrected decision")

    def _correct(self, session: str) -> None:
        cue = self._prompt(session, story.CORRECTION).context
        id_ = cue.partition("note Instead of: ")[2].rstrip(".")
        done = self._answer(session, story.NOTED_CORRECTION.format(id=id_))
        replaced = bool(id_) and f"replaces {id_}" in done.notice
        self._expect(replaced, "a correction replaces what was noted, by the id that its cue named")

    def _answer(self, session: str, text: str) -> HookResult:
        return self._run_hook("Stop", session, stop_hook_active=False, last_assistant_message=text)

    def _prompt(self, session: str, text: str) -> HookResult:
        bare_s = self.sandbox.bare_start_s()
        result = self._run_hook("UserPromptSubmit", session, prompt=text)
        self.took.append((result.took_s, bare_s))
        return result

    def _run_hook(self, name: str, session: str, **fields: Any) -> HookResult:
        result = self.sandbox.run_hook(self.sandbox.event(name, session, **fields))
        now = _look(self.sandbox, session)
        rows = [(who, text, BOLD) for who, text in _spoken(fields)]
        rows += [(what, line, GREEN) for what, line in _difference(self.seen, now)]
        context = result.context or result.plain
        if protocol.PROTOCOL in context and self.told_protocol:
            context = context.replace(protocol.PROTOCOL, PROTOCOL_AGAIN)
        self.told_protocol = self.told_protocol or protocol.PROTOCOL in context
        rows.append(("model", context or "(nothing)", CYAN if context else DIM))
        if result.notice:
            rows.append(("shown", result.notice, YELLOW))
        if result.status or result.errors:
            rows.append(("fault", f"exit {result.status} {result.errors}", RED))
        source = f" ({fields['source']})" if "source" in fields else ""
        self.canvas.box(name + source, "", rows)
        self.seen = now
        return result

    def _client_loads(self) -> tuple[str, ...]:
        """Print in a box what the client itself gives the model: MEMORY.md."""
        text = files.read_text(_notes(self.sandbox).path) or ""
        kept = [line for line in text.splitlines() if not line.startswith("<!--")]
        if any(kept):
            rows = [("model", "\n".join(line for line in kept if line), CYAN)]
            self.canvas.box("MEMORY.md", "loaded by Claude Code itself", rows)
        return tuple(kept)

    def _expect(self, arrived: bool, what: str) -> None:
        self.arrived.append((arrived, what))

    def _verdict(self) -> bool:
        self.canvas.heading("What arrived")
        for arrived, what in self.arrived:
            mark = self.canvas.ink("✓", GREEN) if arrived else self.canvas.ink("✗", RED, BOLD)
            self.canvas.say(f"  {mark} {what}")
        self.canvas.say(self.canvas.ink(f"  {_cost(self.took)}", DIM))
        for line in self.sandbox.log():
            self.canvas.say(self.canvas.ink(f"  log: {line}", DIM))
        return all(arrived for arrived, _ in self.arrived)


def main() -> int:
    """Run the demonstration; return 0 if everything arrived, else 1."""
    canvas = Canvas()
    root = os.environ.get("CLAUDE_PLUGIN_ROOT", "").rstrip("/") or _root()
    if not os.path.exists(os.path.join(root, "hooks.json")):
        sys.stderr.write("memory-fabric: the demo needs the plugin's folder, with hooks.json.\n")
        return 1
    folder = tempfile.mkdtemp(prefix="memory-fabric-demo-")
    try:
        sandbox = Sandbox(root, folder, story.PROJECT)
        with sandbox.without_installing():
            arrived = Demo(sandbox, canvas).tell()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if not arrived:
        off = "MEMORY_FABRIC turns it off in this shell. " if not sandbox.settings().reads else ""
        canvas.say(f"\nThe memory did not arrive. {off}`memory-fabric doctor` says what is wrong.")
        return 1
    _invite(canvas, root)
    return 0


def _cost(took: list[tuple[float, float]]) -> str:
    """Return the median time of prompt hooks, in bare starts of Python at the same time."""
    ratio = statistics.median(hook_s / bare_s for hook_s, bare_s in took)
    bare_s = statistics.median(bare_s for _, bare_s in took)
    return (
        f"A prompt's hook took {ratio:.1f} bare starts of Python, the median of {len(took)}; "
        f"a bare start (python -I -S -c pass) took {bare_s * 1000:.0f} ms just now."
    )


def _invite(canvas: Canvas, root: str) -> None:
    canvas.heading("Your turn")
    canvas.say(f"  claude plugin marketplace add {root}")
    canvas.say("  claude plugin install memory-fabric@memory-fabric")
    canvas.say("")
    canvas.say("This demo left nothing behind: its home and project are deleted again.")


def _root() -> str:
    return os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", "..", ".."))


def _look(sandbox: Sandbox, session: str) -> Seen:
    """Return a snapshot; empty if files cannot be read."""
    memory = Memory.open(sandbox.settings())
    try:
        found = memory.find_records("1")
        counts: dict[str, int] = {}
        checkpoint = ""
        for database in memory.databases():
            for table in ("entities", "relations", "episodes"):
                row = database.row(f"SELECT count(*) FROM {table}")
                counts[table] = counts.get(table, 0) + (int(row[0]) if row else 0)
            row = database.row("SELECT checkpoint FROM sessions WHERE id = ?", (session,))
            checkpoint = str(row[0]) if row and row[0] else checkpoint
        lines, _ = files.read_lines(_decisions(memory))
    except FabricError:
        return Seen()
    finally:
        memory.close()
    shown = {
        r.id: f"{r.type} {short_id(r.id)} ({r.confidence:.2f}, {r.trust}): {r.what}" for r in found
    }
    return Seen(shown, counts, len(lines), memory_md.shown_ids(_notes(sandbox)), checkpoint)


def _difference(before: Seen, now: Seen) -> list[tuple[str, str]]:
    """Return what is new on disk, as pairs of a word and a line."""
    rows = [
        ("stronger" if id_ in before.records else "stored", text)
        for id_, text in now.records.items()
        if before.records.get(id_) != text
    ]
    grown = [
        f"{number - before.counts.get(name, 0)} {name}"
        for name, number in now.counts.items()
        if number > before.counts.get(name, 0)
    ]
    if now.decisions > before.decisions:
        grown.append(f"decisions.jsonl +{now.decisions - before.decisions}")
    if set(now.notes) - set(before.notes):
        grown.append(f"MEMORY.md +{len(set(now.notes) - set(before.notes))}")
    if grown:
        rows.append(("", "and " + ", ".join(grown)))
    if now.checkpoint and now.checkpoint != before.checkpoint:
        rows.append(("stored", "a checkpoint: the open task, the files, the last words"))
    return rows


def _spoken(fields: dict[str, Any]) -> list[tuple[str, str]]:
    asked = fields.get("tool_input")
    texts = (
        ("you", fields.get("prompt")),
        ("claude", fields.get("last_assistant_message")),
        ("task", asked.get("prompt") if isinstance(asked, dict) else None),
        ("summary", fields.get("compact_summary")),
    )
    return [(who, text) for who, text in texts if isinstance(text, str)]


def _decisions(memory: Memory) -> str:
    return os.path.join(memory.queue_folder("project"), journal.DECISIONS)


def _notes(sandbox: Sandbox) -> memory_md.MemoryFile:
    settings = sandbox.settings()
    return memory_md.locate(settings.config_dir, os.path.realpath(sandbox.project), True)


def _wait_for_backup(sandbox: Sandbox) -> None:
    """Wait until the detached process after the session's end has finished or had no work."""
    memory = Memory.open(sandbox.settings())
    paths = [database.path for database in memory.databases()]
    memory.close()
    give_up = time.monotonic() + BACKUP_WAIT_S
    while not all(map(backup.list_backups, paths)) and time.monotonic() < give_up:
        time.sleep(POLL_S)
    with files.Locked(os.path.join(sandbox.settings().home, LOCK), BACKUP_WAIT_S):
        return


def _write_transcript(sandbox: Sandbox, session: str) -> None:
    """Write the transcript of session 1: the prompts, a failing test, its repair."""
    entries: list[dict[str, Any]] = []

    def add(role: str, content: Any) -> None:
        message = {"role": role, "content": content}
        number = len(entries) + 1
        entries.append(
            {
                "type": role,
                "uuid": f"00000000-0000-4000-8000-{number:012d}",
                "isSidechain": False,
                "cwd": sandbox.project,
                "sessionId": session,
                "timestamp": timestamp(),
                "message": message,
            }
        )

    turns = ((story.RULE, story.NOTED_RULE), (story.DECISION, story.NOTED_DECISION))
    for prompt, answer in turns:
        add("user", prompt)
        add("assistant", [{"type": "text", "text": answer}])
    add("user", story.TASK)
    _run(add, "toolu_1", story.FAILING, story.FAILURE, failed=True)
    changed = {"file_path": os.path.join(sandbox.project, story.CHANGED_FILE)}
    add("assistant", [{"type": "tool_use", "id": "toolu_2", "name": "Edit", "input": changed}])
    add("user", [{"type": "tool_result", "tool_use_id": "toolu_2", "content": "done"}])
    _run(add, "toolu_3", story.FAILING, "1 passed in 0.4 s", failed=False)
    add("assistant", [{"type": "text", "text": story.ANSWER}])
    path = sandbox.transcript(session)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(entry) + "\n" for entry in entries)


def _run(
    add: Callable[[str, Any], None], tool: str, command: str, output: str, *, failed: bool
) -> None:
    asked = {"type": "tool_use", "id": tool, "name": "Bash", "input": {"command": command}}
    add("assistant", [asked])
    answer = {"type": "tool_result", "tool_use_id": tool, "content": output, "is_error": failed}
    add("user", [answer])


if __name__ == "__main__":
    sys.exit(main())
