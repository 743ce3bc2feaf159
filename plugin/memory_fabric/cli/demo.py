"""Demonstration of two days of work with the real hooks, in a temporary home and project.

For each event, the command in hooks.json is run as the client would run it, and its real output is
displayed. Each scene ends with a claim that is checked; the exit code is 1 if a claim is false or a
hook fails. Only the standard library is needed, because scripts/demo runs this module.
"""

import os
import shutil
import sys
import tempfile
import textwrap
import time
from contextlib import closing
from typing import Any

from memory_fabric.cli.formatting import origin_facts
from memory_fabric.errors import FabricError
from memory_fabric.health.sandbox import HookResult, Sandbox
from memory_fabric.models import Provenance
from memory_fabric.store import files
from memory_fabric.store.history import changes, trace, undo
from memory_fabric.store.home.log import OUT_OF_TIME
from memory_fabric.store.memory import Memory
from memory_fabric.store.tiers import memory_md
from memory_fabric.store.upkeep import backup
from memory_fabric.store.upkeep.maintenance import LOCK

PROJECT = "orders-api"
MONDAY, TUESDAY, WEDNESDAY = (f"5e551011-0000-4000-8000-00000000000{n}" for n in (1, 2, 3))

RULE = "Never start the dev server, I run it myself."
NOTED_RULE = (
    "Understood.\n\n"
    "Noted rule: Never start the dev server; the user runs it himself. "
    'From: "Never start the dev server, I run it myself"'
)
DECISION = "Let's use MongoDB for the analytics DB."
NOTED_DECISION = (
    "Set up.\n\n"
    'Noted decision: The analytics DB uses MongoDB. From: "use MongoDB for the analytics DB"'
)
TASK = "The orders list times out. Please find out why and fix it."
FAILING = "pytest tests/test_orders.py"
FAILURE = "TimeoutError: GET /orders took 31 s"
PASSING = "1 passed in 0.4 s"
CHANGED_FILE = "src/orders/list.py"
ANSWER = (
    "Fixed: the orders list is paged by cursors now.\n\n"
    "Noted fix: TimeoutError of the orders test: page by cursors."
)

PARAPHRASE = "The orders test has a TimeoutError again. What was it last time?"
UNRELATED = "Which colour would you paint a garden shed?"
CORRECTION = "No, we use PostgreSQL for the analytics DB: we need window functions."
# `{id}` stands for the id of the memory to replace, which the output of the prompt hook contains.
NOTED_CORRECTION = (
    "Changed.\n\n"
    "Noted decision: The analytics DB uses PostgreSQL. Why: we need window functions. "
    'Instead of: {id}. From: "we use PostgreSQL for the analytics DB"'
)
AGENT = "database-engineer"
AGENT_TASK = "Write the migration for the analytics tables."

# Phrases by which a claim recognises a memory in the context that a session is given.
RULED, DECIDED, LESSON = "Never start the dev server", "uses MongoDB", "page by cursors"
CHOSEN, REASON = "uses PostgreSQL", "window functions"

LABEL_WIDTH = 8
BOLD, DIM, GREEN, CYAN, YELLOW, RED = "1", "2", "32", "36", "33", "31"
# Seconds to wait for the backup after a session (made by a detached process), and between checks.
BACKUP_WAIT_S, POLL_S = 5.0, 0.05
TOLD = "memory"


def say(text: str, *styles: str, label: str = "") -> None:
    """Print a paragraph of at most 80 columns, with `label`, if any, to its left. In a terminal, it
    is shown in `styles` (ANSI codes), unless NO_COLOR is set.
    """
    columns = max(40, min(80, shutil.get_terminal_size((80, 24)).columns))
    has_colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    for number, piece in enumerate(textwrap.wrap(text, columns - 10 * bool(label)) or [""]):
        margin = f" {'' if number else label:<{LABEL_WIDTH}} " if label else ""
        if has_colour and styles:
            piece = f"\033[{';'.join(styles)}m{piece}\033[0m"
        sys.stdout.write(f"{margin}{piece}\n")
    sys.stdout.flush()


class Demo:
    """A run of the demonstration; `failed` is the number of false claims."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox, self.failed = sandbox, 0

    def tell(self) -> bool:
        """Run all scenes of the demonstration; return True if all claims are true."""
        say("memory-fabric: two days in one project, through the real hooks", BOLD)
        say(f"“{TOLD}” is what Claude is given besides your words.", DIM)
        self._monday()
        self._look_back(self._tuesday())
        for line in self.sandbox.log():
            if OUT_OF_TIME not in line:  # a later hook completes work that ran out of time
                self._claim(False, f"the hooks' log is empty: {line}")
        return not self.failed

    def _monday(self) -> None:
        _heading("Monday")
        self._run_hook("SessionStart", MONDAY, source="startup")
        self._prompt(MONDAY, RULE)
        rule = self._answer(MONDAY, NOTED_RULE)
        self._prompt(MONDAY, DECISION)
        decision = self._answer(MONDAY, NOTED_DECISION)
        self._prompt(MONDAY, TASK)
        say(f"runs {FAILING}: {FAILURE}", label="Claude")
        say(f"changes {CHANGED_FILE}, runs it again: {PASSING}", label="Claude")
        changed = {"file_path": os.path.join(self.sandbox.project, CHANGED_FILE)}
        run = {"command": FAILING}
        calls = (("Bash", run, FAILURE), ("Edit", changed, "done"), ("Bash", run, PASSING))
        for number, (tool, arguments, output) in enumerate(calls):
            call = f"toolu_{number}"
            use = {"type": "tool_use", "id": call, "name": tool, "input": arguments}
            result = {"type": "tool_result", "tool_use_id": call, "content": output}
            self.sandbox.write(MONDAY, "assistant", [use])
            self.sandbox.write(MONDAY, "user", [{**result, "is_error": output == FAILURE}])
        self._answer(MONDAY, ANSWER)
        self._run_hook("SessionEnd", MONDAY, reason="prompt_input_exit")
        with closing(Memory.open(self.sandbox.settings())) as memory:
            paths = [database.path for database in memory.databases()]
        give_up = time.monotonic() + BACKUP_WAIT_S
        while not all(map(backup.list_backups, paths)) and time.monotonic() < give_up:
            time.sleep(POLL_S)
        with files.Locked(os.path.join(self.sandbox.settings().home, LOCK), BACKUP_WAIT_S):
            pass
        is_noted = "remembered rule" in rule.notice and "remembered decision" in decision.notice
        self._claim(is_noted, "Both notes are kept, each with a notice for you")

    def _tuesday(self) -> str:
        """Run Tuesday's session; return the id of its correction of Monday's decision, or ''."""
        _heading("Tuesday, in a new session, before the first prompt")
        start = self._run_hook("SessionStart", TUESDAY, source="startup")
        settings = self.sandbox.settings()
        notes = memory_md.locate(settings.config_dir, os.path.realpath(self.sandbox.project))
        lines = (files.read_text(notes.path) or "").splitlines()
        items = _items(start.context)
        items += [f"{line[2:]} (in MEMORY.md)" for line in lines if line.startswith("- ")]
        for item in items:
            say(item, CYAN, label=TOLD)
        is_known = RULED in "\n".join(items) and DECIDED in "\n".join(items)
        self._claim(is_known, "Monday's rule and decision are known")
        repeated = self._prompt(TUESDAY, PARAPHRASE).context
        self._claim(LESSON in repeated, "A problem met again brings the fix of last time")
        unrelated = self._prompt(TUESDAY, UNRELATED).context
        self._claim(not unrelated, "An unrelated prompt is told nothing")
        cue = self._prompt(TUESDAY, CORRECTION).context
        old = cue.partition("note Instead of: ")[2].rstrip(".")
        notice = self._answer(TUESDAY, NOTED_CORRECTION.format(id=old)).notice
        say(notice, YELLOW, label="notice")
        is_replaced = bool(old) and f"replaces {old}" in notice
        self._claim(is_replaced, "A correction replaces what was noted")
        say(f"asks a subagent: {AGENT_TASK}", label="Claude")
        task = {"subagent_type": AGENT, "description": "migration", "prompt": AGENT_TASK}
        call = {"tool_name": "Agent", "tool_use_id": "toolu_4", "tool_input": task}
        self._run_hook("PreToolUse", TUESDAY, **call)
        start = self._run_hook("SubagentStart", TUESDAY, agent_id="agent-1", agent_type=AGENT)
        self._show_told(start.context)
        is_current = CHOSEN in start.context and DECIDED not in start.context
        self._claim(is_current, "The subagent is told what holds now, and only that")
        return notice.partition(")")[0].rpartition("(")[2]

    def _look_back(self, id_: str) -> None:
        _heading(f"$ memory-fabric why {id_}")
        with closing(Memory.open(self.sandbox.settings())) as memory:
            origin = trace.why(memory, id_)
        assert isinstance(origin, trace.RecordTrace)
        facts = dict(origin_facts(origin))
        for name in ("why", "said by", "entities", "stored in"):
            if facts.get(name):
                say(f"{name}: {facts[name]}")
        says_why = REASON in facts.get("why", "") and "you" in facts.get("said by", "")
        self._claim(says_why and bool(origin.injections), "Every memory says why, who and when")
        _heading("$ memory-fabric undo --last")
        with closing(Memory.open(self.sandbox.settings())) as memory:
            chosen = changes.together(memory, undo.last(memory))
            described = [trace.described(memory, change).what for change in chosen]
            undone = undo.undo(memory, chosen, Provenance(source="cli", trust="user"))
        for what in described:
            say(f"Undone: {what}")
        start = self._run_hook("SessionStart", WEDNESDAY, source="startup")
        self._show_told(start.context)
        is_back = DECIDED in start.context and CHOSEN not in start.context
        is_undone = any(change.by for change in undone)
        self._claim(is_undone and is_back, "Wednesday's session is told Monday's decision again")

    def _answer(self, session: str, text: str) -> HookResult:
        say(text.rpartition("\n\n")[2], label="Claude")
        return self._run_hook("Stop", session, stop_hook_active=False, last_assistant_message=text)

    def _prompt(self, session: str, text: str) -> HookResult:
        say(text, BOLD, label="you")
        result = self._run_hook("UserPromptSubmit", session, prompt=text)
        self._show_told(result.context)
        return result

    def _show_told(self, context: str) -> None:
        for item in _items(context) or ["(nothing)"]:
            say(item, CYAN if context else DIM, label=TOLD)

    def _run_hook(self, name: str, session: str, **fields: Any) -> HookResult:
        result = self.sandbox.hook(name, session, **fields)
        if result.status or result.errors:
            self._claim(False, f"{name} works (exit code {result.status}: {result.errors.strip()})")
        return result

    def _claim(self, holds: bool, what: str) -> None:
        self.failed += not holds
        say(f"{'✓' if holds else '✗'} {what}", *([GREEN] if holds else [RED, BOLD]))


def main() -> int:
    """Run the demonstration; return 0 if all claims are true, otherwise 1."""
    source = os.path.join(os.path.dirname(__file__), "..", "..", "..")
    root = os.environ.get("CLAUDE_PLUGIN_ROOT", "").rstrip("/") or os.path.abspath(source)
    if not os.path.exists(os.path.join(root, "hooks.json")):
        sys.stderr.write("memory-fabric: the demo needs the plugin's folder, with hooks.json.\n")
        return 1
    folder = tempfile.mkdtemp(prefix="memory-fabric-demo-")
    try:
        sandbox = Sandbox(root, folder, PROJECT)
        with sandbox.without_installing():
            is_true = Demo(sandbox).tell()
    except FabricError as error:
        say(str(error), RED)
        is_true = False
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if not is_true:
        off = "MEMORY_FABRIC turns it off in this shell. " if not sandbox.settings().reads else ""
        say(f"The demo failed. {off}`memory-fabric doctor` says what is wrong.", RED)
        return 1
    # In a clone, scripts/package must first build the folder that is installed (see README).
    is_clone = os.path.exists(os.path.join(root, "scripts", "package"))
    first = "scripts/package dist/memory-fabric, then" if is_clone else ""
    say(f"Nothing is left behind. To install it: {first}".rstrip())
    # The user copies these lines, so they must not be wrapped.
    folder = os.path.join(root, "dist", "memory-fabric") if is_clone else root
    sys.stdout.write(f"  claude plugin marketplace add {folder}\n")
    sys.stdout.write("  claude plugin install memory-fabric@memory-fabric\n")
    return 0


def _heading(text: str) -> None:
    say("")
    say(text, BOLD)


def _items(context: str) -> list[str]:
    fence, _, after = context.partition("</memory-fabric>")
    if not after and "<memory-fabric>" not in fence:
        return [context] if context and "\n" not in context else []
    return [line.removeprefix("- ") for line in fence.splitlines() if line.startswith("- ")]


if __name__ == "__main__":
    sys.exit(main())
