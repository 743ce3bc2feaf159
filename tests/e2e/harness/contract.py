"""The contract with one release of Claude Code: what it does, beside what was recorded.

A prompt is typed in a terminal. A session of every event that hooks answer runs against a loopback
stub, with a hook that records its input and gives known replies; then sessions are asked for
MEMORY.md under each switch.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pexpect

from e2e.harness.home import REPOSITORY, Home
from e2e.harness.script import Script, call, delegate
from e2e.harness.stub import StubAPI
from e2e.harness.terminal import KEY, accept, end, type_in
from memory_fabric.clients.transcript import MARKS
from memory_fabric.config import NO_MEMORY_MD
from memory_fabric.health import delivery as receipts
from memory_fabric.hooks.table import HANDLERS
from waiting import GIVE_UP_S

Json = dict[str, Any]
RECORDED = REPOSITORY / "tests/events"
FACT = "The analytics DB is called heron."
TYPED, SAID, SCHEDULED = "typed in a terminal please", "said in print mode please", "on schedule"
BLOCKED, REFUSED = "a prompt that is blocked", "echo to-be-refused"
# The replies of hooks, by event, each with the word by which a request shows it.
TOLD = ("SessionStart", "UserPromptSubmit", "PostToolUse", "SubagentStart")
# A typed command has an event of its own only where there is one to expand; none is typed here.
NOT_CAUSED = frozenset(("UserPromptExpansion",))
HOOK = """
import json, os, sys, uuid
event = json.load(sys.stdin)
name = event["hook_event_name"]
path = f"{sys.argv[1]}/{uuid.uuid4()}"
with open(path, "w") as file:
    json.dump(event, file)
os.replace(path, path + ".json")
reply = {}
if name in %(told)r:
    reply = {"hookSpecificOutput": {"hookEventName": name, "additionalContext": f"told-{name}"}}
if event.get("prompt") == %(blocked)r:
    reply = {"decision": "block", "reason": "told-block"}
if name == "PreToolUse" and event["tool_input"].get("command") == %(refused)r:
    reply = {"hookSpecificOutput": {"hookEventName": name, "permissionDecision": "deny",
                                    "permissionDecisionReason": "told-PreToolUse"}}
print(json.dumps(reply))
"""


@dataclass(frozen=True, slots=True)
class Observed:
    """The behaviour of a release: the input of its hooks, entries of prompts by their text, whether
    each reply had its effect, and by switch whether its model saw MEMORY.md.
    """

    version: str
    events: Sequence[Json] = ()
    prompts: Mapping[str, Json] = field(default_factory=dict)
    replies: Mapping[str, bool] = field(default_factory=dict)
    shown: Mapping[str, bool] = field(default_factory=dict)


def observe(client: Path, folder: Path, *, whole: bool = True) -> Observed:
    """Run a release and return what it did; without `whole` no schedule and no switches.

    It waits up to two minutes for a schedule.
    """
    home = Home(folder / "machine", client)
    recorded = folder / "events"
    _install_hook(home, folder, recorded)
    said = subprocess.run([client, "--version"], capture_output=True, text=True, check=True)
    _type(home)  # first: the stub waits for a prompt in the transcripts, of which there is one now
    _write_memory_md(home)
    replies, shown = _story(home, schedule=whole)
    return Observed(
        said.stdout.split()[0],
        [json.loads(path.read_text("utf-8")) for path in recorded.glob("*.json")],
        _prompts(home),
        replies,
        {"none": shown, **(dict(_shown(home)) if whole else {})},
    )


def _install_hook(home: Home, folder: Path, recorded: Path) -> None:
    recorded.mkdir()
    program = folder / "hook.py"
    program.write_text(HOOK % {"told": TOLD, "blocked": BLOCKED, "refused": REFUSED}, "utf-8")
    words = {"command": sys.executable, "args": ["-I", str(program), str(recorded)]}
    group = [{"hooks": [{"type": "command", **words, "timeout": 60}]}]
    home.config.mkdir()
    (home.config / "settings.json").write_text(
        json.dumps({"hooks": dict.fromkeys(HANDLERS, group)})
    )


def _story(home: Home, *, schedule: bool) -> tuple[dict[str, bool], bool]:
    """Cause every event; return by reply whether it had its effect, and whether the model saw
    MEMORY.md.
    """
    look = call("Bash", {"command": "echo from-sub", "description": "s"})
    with home.open(Script(subagent=(look, "Looked."))) as session:
        session.say(SAID)
        session.say("run", call("Bash", {"command": "echo from-main", "description": "s"}))
        session.say("fail", call("Bash", {"command": "exit 3", "description": "s"}))
        refused = session.say("refuse", call("Bash", {"command": REFUSED, "description": "s"}))
        session.say("delegate", delegate("Have a look."))
        blocked = session.say(BLOCKED)
        session.say("/compact")
        if schedule:
            session.say(
                "schedule",
                call("ToolSearch", {"query": "select:CronCreate", "max_results": 1}),
                call("CronCreate", {"cron": "* * * * *", "recurring": False, "prompt": SCHEDULED}),
            )
            session.wait_for_turn()
        result = session.end()
    told = {name: f"told-{name}" in result.all_text for name in TOLD}
    replies = {
        **told,
        "a refusal by PreToolUse": "told-PreToolUse" in refused[-1].text,
        "a block by UserPromptSubmit": not [r for r in blocked if r.kind == "main"],
    }
    return replies, FACT in result.main_texts[0]


def _type(home: Home) -> None:
    """Type a prompt in a terminal."""
    accept(home)
    with StubAPI(Script(main=("heard-it",)), home.config / "projects") as stub:
        address = {"ANTHROPIC_BASE_URL": stub.url, "ANTHROPIC_API_KEY": KEY}
        terminal = pexpect.spawn(
            str(home.client),
            env=home.environment({**address, "TERM": "xterm-256color"}),
            cwd=str(home.project),
            dimensions=(50, 200),
            timeout=GIVE_UP_S,
            encoding="utf-8",
        )
        try:
            terminal.expect_exact("❯")
            type_in(terminal, TYPED, "heard-it")
        finally:
            end(terminal)


def _prompts(home: Home) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for path in home.config.glob("projects/*/*.jsonl"):
        for entry in map(json.loads, path.read_text("utf-8").splitlines()):
            content = entry.get("message", {}).get("content") if entry["type"] == "user" else None
            if content in (TYPED, SAID, SCHEDULED):
                found[content] = entry
    return found


def _write_memory_md(home: Home) -> None:
    folder = Path(receipts.folder_of(str(home.config), str(home.project)), "memory")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "MEMORY.md").write_text(f"- {FACT}\n", encoding="utf-8")


def _shown(home: Home) -> Iterator[tuple[str, bool]]:
    """Yield by switch whether a session's model saw MEMORY.md."""
    for name, value in (*((name, "1") for name in NO_MEMORY_MD), (NO_MEMORY_MD[0], "no")):
        told = home.session(Script(prompts=("hello",), env={name: value})).all_text
        yield f"{name}={value}", FACT in told


def recorded_events(folder: Path = RECORDED) -> list[Json]:
    """Return the recorded inputs of hooks."""
    return [json.loads(path.read_bytes()) for path in sorted(folder.rglob("*.json"))]


def differences(seen: Observed, recorded: Sequence[Json]) -> list[str]:
    """Return a line for each way in which a release does not keep the recorded contract."""
    return [
        *_of_events(seen.events, recorded),
        *_of_marks(seen.prompts),
        *(f"reply: {name} had no effect" for name, works in seen.replies.items() if not works),
        *_of_switches(seen.shown),
    ]


def additions(seen: Observed, recorded: Sequence[Json]) -> list[str]:
    """Return a line for each event with fields that no recording of it has."""
    known, given = _by_event(recorded), _by_event(seen.events)
    new = {
        name: {key for fields in given[name] for key in fields}
        - {key for fields in known[name] for key in fields}
        for name in sorted(given.keys() & known.keys())
    }
    return [f"{name}: new {', '.join(sorted(fields))}" for name, fields in new.items() if fields]


def _of_events(seen: Sequence[Json], recorded: Sequence[Json]) -> Iterator[str]:
    """Yield events that did not come, and fields in each recording that are gone or of a new type.

    Inputs and results of tools are compared with recordings of the same tool.
    """
    given, known = _by_event(seen), _by_event(recorded)
    yield from (f"{name}: did not come" for name in HANDLERS if name not in {*given, *NOT_CAUSED})
    for name in sorted(given.keys() & known.keys()):
        for key in sorted(set.intersection(*map(set, known[name]))):
            types = {fields[key] for fields in known[name]}
            for now in sorted({fields.get(key, "missing") for fields in given[name]} - types):
                yield f"{name}: {key} is {now}, recorded as {' or '.join(sorted(types))}"


def _of_marks(prompts: Mapping[str, Json]) -> Iterator[str]:
    """Yield prompts whose marks are not those that were measured (docs/hooks.md)."""
    expected: dict[str, tuple[str | None, ...]] = {
        TYPED: ("typed", "human", None),
        SAID: ("sdk", "sdk", None),
    }
    if SCHEDULED in prompts:
        expected[SCHEDULED] = ("system", "scheduled", "schedule_wakeup")
    for prompt, marks in expected.items():
        found = tuple(prompts.get(prompt, {}).get(key) for key in MARKS)
        if found != marks:
            yield f"mark: “{prompt}” has {dict(zip(MARKS, found, strict=True))}, recorded {marks}"


def _of_switches(shown: Mapping[str, bool]) -> Iterator[str]:
    for switch, is_shown in shown.items():
        if is_shown is switch.endswith("=1"):
            yield f"MEMORY.md: with {switch} it is {'shown' if is_shown else 'hidden'}"


def _by_event(events: Iterable[Json]) -> dict[str, list[dict[str, str]]]:
    """Return the fields of events with their types by the event's name; those of a tool's input
    and result by the name of event and tool.
    """
    found: dict[str, list[dict[str, str]]] = {}
    for event in events:
        name = event["hook_event_name"]
        found.setdefault(name, []).append({key: type(v).__name__ for key, v in event.items()})
        for part in ("tool_input", "tool_response"):
            if isinstance(event.get(part), dict):
                types = {f"{part}.{key}": type(v).__name__ for key, v in event[part].items()}
                found.setdefault(f"{name} {event['tool_name']} {part}", []).append(types)
    return found
