"""Everything that memory shows to a model, verbatim, as docs/shown.md.

    python3 benchmarks/shown.py            print the page
    python3 benchmarks/shown.py --write    write it to docs/shown.md

A small memory is told through the real hooks (the commands of hooks.json) in a temporary home, and
the real server is asked for its tools. Tokens are counted as `memory-fabric worth` counts them.
Ids and dates are replaced by fixed ones of the same length, and temporary paths by others, so that
the page changes only with the product. Needs Python >= 3.11 and nothing else.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from typing import Any, NamedTuple

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "plugin"))

from memory_fabric.capture.notes.protocol import PROTOCOL  # noqa: E402
from memory_fabric.health.sandbox import HookResult, Sandbox  # noqa: E402
from memory_fabric.ids import timestamp  # noqa: E402
from memory_fabric.store.queries.counts import tokens  # noqa: E402

PAGE = os.path.join(ROOT, "docs", "shown.md")
EMPTY, MONDAY, TUESDAY = (f"5e551011-0000-4000-8000-00000000000{n}" for n in (1, 2, 3))
AGENT = "database-engineer"
UNRELATED = "Which colour would you paint a garden shed?"
RULE = "Never start the dev server, I run it myself."
CORRECTION = "No, we use PostgreSQL for the analytics DB, not MongoDB: we need window functions."
TASK = "Write the migration for the analytics tables."
PROBLEM = "The orders test has a TimeoutError again. What was it last time?"
WHERE = "Where were we?"
FAILING = "fly deploy"
ERROR = "Exit code 1\nError: force_https is not allowed for this service"
# What the person says, and the assistant's note.
NOTES = (
    (
        RULE,
        "Noted rule: Never start the dev server; the user runs it himself. When: npm run dev. "
        'From: "Never start the dev server"',
    ),
    (
        "API handlers return problem+json.",
        "Noted rule: API handlers return problem+json. When: src/api/**. "
        'From: "API handlers return problem+json"',
    ),
    (
        "Let's use MongoDB for the analytics DB.",
        'Noted decision: The analytics DB uses MongoDB. From: "use MongoDB for the analytics DB"',
    ),
    (
        "I prefer small commits.",
        'Noted preference: Commits are small. From: "I prefer small commits"',
    ),
    (
        "The orders test times out. Please find out why and fix it.",
        "Noted fix: `pytest tests/test_orders.py` fails with a TimeoutError when the orders list "
        "is paged by offsets; page it by cursors. Why: offsets read every row before the page.",
    ),
    (
        "Thanks. That is all for today.",
        "Noted open: The export of orders is still paged by offsets.\n"
        f'Noted fix: `{FAILING}` loops with "force_https is not allowed" when a TLS handler is '
        "set; remove the handler from fly.toml.",
    ),
)
CORRECTED = (
    "Noted decision: The analytics DB uses PostgreSQL. Why: we need window functions. "
    'Instead of: {id}. From: "we use PostgreSQL for the analytics DB"'
)
NOT_THE_MODEL = "Shown to you, not to the model."
# Lines of the table to which texts count.
START, PROMPTS, CALLS = "its start, with MEMORY.md", "four prompts", "two rules and a fix at calls"
SUBAGENT, COMPACTION = "a subagent", "a compaction"
HEAD = """\
# What your model is shown

Each text that memory-fabric adds to a session, word for word, from the real hooks over a small
memory. `python3 benchmarks/shown.py --write` writes this page, and a test compares it with what the
hooks say now. Ids and dates are replaced by fixed ones of the same length. Tokens are characters
divided by 4, as `memory-fabric worth` counts them.
"""
COST_NOTES = """\
Read once; a longer session reads them again from the client's prompt cache. A prompt without
relevant memories gets nothing, and no model is called that the client would not call anyway. The
prompt `notes off` ends the request for notes; `memory-fabric off` ends all that hooks add. Where a
client loads all tools at once, their schemas come on top (see the end).
"""
# In the place of the protocol where it is repeated.
REQUEST = f"Memory notes. … (the request for notes, {tokens(len(PROTOCOL))} tokens, as above)"
PREFIX = "mcp__plugin_memory-fabric_memory__"
ID = re.compile(r"\b[0-9a-f]{8}\b")  # one id in 43 has no letter
DATE = re.compile(r"\b20\d\d-\d\d-\d\d\b")


class Text(NamedTuple):
    """A text with its heading, when it is shown, and the line of the table that it counts to."""

    heading: str
    when: str
    shown: str
    counted_as: str = ""


class Server(NamedTuple):
    """Instructions of the MCP server, and name, description and whole JSON of each tool."""

    instructions: str
    tools: list[tuple[str, str, str]]


def main() -> None:
    """Print or write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write docs/shown.md")
    arguments = parser.parse_args()
    page = whole_page()
    if not arguments.write:
        sys.stdout.write(page)
        return
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(page)


def whole_page() -> str:
    """Return the page: the table of costs, then every text."""
    with tempfile.TemporaryDirectory(prefix="memory-fabric-shown-") as folder:
        sandbox = Sandbox(ROOT, folder, "orders-api")
        with sandbox.without_installing():
            texts = [*_empty(sandbox), *_monday(sandbox), *_tuesday(sandbox)]
        tools = _tools(sandbox)
        logged = sandbox.log()
        texts = [text._replace(shown=_fixed(text.shown, sandbox)) for text in texts]
    if logged:
        raise SystemExit(f"benchmarks/shown.py: the hooks logged: {logged}")
    skills = list(_skills())
    parts = [HEAD, _costs(texts, tools, skills), *_sections(texts)]
    return _with_fixed_ids("\n".join([*parts, _skill_section(skills), _tool_section(tools)]))


def _empty(sandbox: Sandbox) -> Iterator[Text]:
    start = _run(sandbox, "SessionStart", EMPTY, source="startup")
    yield Text("Start of a session, nothing remembered", "The request for notes.", start.context)
    yield Text("The first notice", NOT_THE_MODEL, start.notice)
    asked = _run(sandbox, "UserPromptSubmit", EMPTY, prompt=UNRELATED)
    yield Text("A prompt about which nothing is known", f"“{UNRELATED}”", asked.context)


def _monday(sandbox: Sandbox) -> Iterator[Text]:
    _run(sandbox, "SessionStart", MONDAY, source="startup")
    for number, (prompt, note) in enumerate(NOTES):
        cue = _run(sandbox, "UserPromptSubmit", MONDAY, prompt=prompt)
        stop = _run(
            sandbox,
            "Stop",
            MONDAY,
            stop_hook_active=False,
            last_assistant_message=f"Done.\n\n{note}",
        )
        if not number:
            yield Text("Beside a prompt that sounds like a rule", f"“{prompt}”", cue.context)
            yield Text("The notice of a note", NOT_THE_MODEL, stop.notice)
    _run(sandbox, "SessionEnd", MONDAY, reason="prompt_input_exit")


def _tuesday(sandbox: Sandbox) -> Iterator[Text]:
    def run(name: str, **fields: Any) -> str:
        return _run(sandbox, name, TUESDAY, **fields).context

    start = run("SessionStart", source="startup")
    yield Text(
        "Start of a session",
        "What MEMORY.md shows, which Claude Code loads itself, is not told again.",
        start,
        START,
    )
    yield Text(
        "MEMORY.md",
        "Loaded by Claude Code, written between two markers.",
        _memory_md(sandbox),
        START,
    )
    yield Text(
        "A prompt that asks where the last session ended",
        f"“{WHERE}” The same for “continue” as the first prompt of a session.",
        run("UserPromptSubmit", prompt=WHERE),
        PROMPTS,
    )
    yield Text(
        "A prompt that asks for what is known",
        f"“{PROBLEM}”",
        run("UserPromptSubmit", prompt=PROBLEM),
        PROMPTS,
    )
    cue = run("UserPromptSubmit", prompt=CORRECTION)
    yield Text("Beside a prompt that contradicts a memory", f"“{CORRECTION}”", cue, PROMPTS)
    note = CORRECTED.format(id=cue.rpartition(" ")[2].rstrip("."))
    stop = _run(
        sandbox, "Stop", TUESDAY, stop_hook_active=False, last_assistant_message=f"Done.\n\n{note}"
    )
    yield Text("The notice of a correction", NOT_THE_MODEL, stop.notice)
    fed = run("UserPromptSubmit", prompt="Go on, please.")
    yield Text("Beside the prompt after a note", "What became of the note.", fed, PROMPTS)
    call = {"subagent_type": AGENT, "description": "migration", "prompt": TASK}
    run("PreToolUse", tool_name="Agent", tool_use_id="toolu_1", tool_input=call)
    yield Text(
        "A subagent",
        f"Its task: “{TASK}”",
        run("SubagentStart", agent_id="agent-1", agent_type=AGENT),
        SUBAGENT,
    )
    yield from _calls(sandbox)
    summary = _run(sandbox, "PreCompact", TUESDAY, trigger="auto", custom_instructions=None)
    yield Text(
        "Before a compaction", "Added to the summariser's task.", summary.output.strip(), COMPACTION
    )
    yield Text(
        "After a compaction",
        "What the session itself had settled, and what it was doing.",
        run("SessionStart", source="compact"),
        COMPACTION,
    )


def _calls(sandbox: Sandbox) -> Iterator[Text]:
    ask = {"tool_name": "Bash", "tool_use_id": "toolu_2", "tool_input": {"command": "npm run dev"}}
    path = os.path.join(sandbox.project, "src/api/orders.py")
    edit = {"tool_name": "Edit", "tool_use_id": "toolu_3", "tool_input": {"file_path": path}}
    failed = {"tool_name": "Bash", "tool_use_id": "toolu_4", "tool_input": {"command": FAILING}}
    yield Text(
        "A rule that your own words forbid to break",
        "Before `npm run dev`. Claude Code asks you and shows this.",
        _reason(_run(sandbox, "PreToolUse", TUESDAY, **ask)),
        CALLS,
    )
    yield Text(
        "A rule at a call",
        "Before the first change of `src/api/orders.py`: held back once, with this as the reason.",
        _reason(_run(sandbox, "PreToolUse", TUESDAY, **edit)),
        CALLS,
    )
    told = _run(sandbox, "PostToolUseFailure", TUESDAY, **failed, error=ERROR, is_interrupt=False)
    yield Text(
        "A fix at a failing command",
        f"After `{FAILING}` failed with “force_https is not allowed”, once a session.",
        told.context,
        CALLS,
    )


def _reason(result: HookResult) -> str:
    """Return the reason of a decision about a call, else what was injected."""
    specific = result.reply.get("hookSpecificOutput") or {}
    return str(specific.get("permissionDecisionReason") or result.context)


def _run(sandbox: Sandbox, name: str, session: str, **fields: Any) -> HookResult:
    if name == "Stop":
        said = str(fields["last_assistant_message"])
        _write_entry(sandbox.transcript(session), session, "assistant", said)
    result = sandbox.hook(name, session, **fields)
    if result.status or result.errors:
        raise SystemExit(f"benchmarks/shown.py: {name} failed: {result.errors}")
    if name == "UserPromptSubmit":
        _write_entry(sandbox.transcript(session), session, "user", str(fields["prompt"]))
    return result


def _write_entry(path: str, session: str, role: str, text: str) -> None:
    """Write an entry of the transcript; that of a prompt shows that a person typed it."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    entry = {
        "type": role,
        "uuid": str(uuid.uuid4()),
        "sessionId": session,
        "timestamp": timestamp(),
        "promptSource": "typed" if role == "user" else "",
        "message": {"role": role, "content": [{"type": "text", "text": text}]},
    }
    with open(path, "a", encoding="utf-8") as file:
        file.write(json.dumps(entry) + "\n")


def _memory_md(sandbox: Sandbox) -> str:
    """Return the part of MEMORY.md that is ours, without its markers."""
    for folder, _, files in os.walk(os.path.join(sandbox.home, ".claude", "projects")):
        if "MEMORY.md" in files:
            with open(os.path.join(folder, "MEMORY.md"), encoding="utf-8") as file:
                return re.sub(r"<!--.*?-->\n?", "", file.read()).strip()
    return ""


def _fixed(text: str, sandbox: Sandbox) -> str:
    """Return the text with fixed dates, and paths of a person's home."""
    text = text.replace(sandbox.home, "/home/you").replace(sandbox.project, "/home/you/orders-api")
    return DATE.sub("2026-01-15", text.replace(ROOT, "/home/you/memory-fabric"))


def _with_fixed_ids(page: str) -> str:
    """Return the page with each id replaced by one that counts up."""
    known: dict[str, str] = {}

    def fixed(found: re.Match[str]) -> str:
        return known.setdefault(found.group(), f"{0x1A2B3C01 + len(known):08x}")

    return ID.sub(fixed, page)


def _sections(texts: list[Text]) -> Iterator[str]:
    """Yield a section for each text; the request for notes stands in full only in the first."""
    for number, text in enumerate(texts):
        counted = "" if text.when == NOT_THE_MODEL else f" {tokens(len(text.shown))} tokens."
        shown = text.shown.replace(PROTOCOL, REQUEST) if number else text.shown
        block = f"```text\n{shown}\n```\n" if shown else "Nothing.\n"
        yield f"## {text.heading}\n\n{text.when}{counted}\n\n{block}"


def _costs(texts: list[Text], server: Server, skills: list[tuple[str, str]]) -> str:
    """Return the table of tokens: an empty memory, and the session that is shown."""
    always = (
        ("the request for notes, at a session's start", PROTOCOL),
        ("names and descriptions of the skills", "\n".join(f"- {n}: {d}" for n, d in skills)),
        ("instructions of the MCP server", server.instructions),
        (
            f"names of its {len(server.tools)} tools",
            "\n".join(PREFIX + n for n, _, _ in server.tools),
        ),
    )
    counted = dict.fromkeys((START, PROMPTS, SUBAGENT, CALLS, COMPACTION), "")
    for text in texts:
        if text.counted_as:
            counted[text.counted_as] += text.shown
    whole = sum(len(shown) for _, shown in always)
    session = sum(map(len, counted.values()))
    rows = [
        *((what, tokens(len(shown))) for what, shown in always),
        ("**an installed, empty memory, each session**", tokens(whole)),
        ("an empty memory, each prompt", 0),
        ("an empty memory, each subagent: the request for notes", tokens(len(PROTOCOL))),
        *((f"the session below: {name}", tokens(len(shown))) for name, shown in counted.items()),
        ("**the session below, with skills and tools**", tokens(whole - len(PROTOCOL) + session)),
    ]
    lines = [f"| {what} | {number} |" for what, number in rows]
    return "\n".join(["| | tokens |", "|---|---|", *lines, "", COST_NOTES])


def _skill_section(skills: list[tuple[str, str]]) -> str:
    listed = "\n".join(f"- {name}: {description}" for name, description in skills)
    return f"## Skills\n\nClaude Code lists them in each session.\n\n```text\n{listed}\n```\n"


def _tool_section(server: Server) -> str:
    """Return what the server says of itself and of each tool."""
    rows = [
        f"**{name}** ({tokens(len(description))} tokens, {tokens(len(schema))} with its schema): "
        f"{description}"
        for name, description, schema in server.tools
    ]
    return (
        "\n\n".join(
            [
                "## The MCP server",
                "Its instructions are in each session:",
                f"```text\n{server.instructions}\n```",
                f"Claude Code gives the model the names of the tools (`{PREFIX}…`), and a tool's "
                "description and schema\nonce the model asks for it. Other clients may load all: "
                f"{tokens(sum(len(schema) for _, _, schema in server.tools))} tokens.",
                *rows,
                "",
            ]
        ).rstrip("\n")
        + "\n"
    )


def _tools(sandbox: Sandbox) -> Server:
    """Return what the real server says of itself and of its tools."""
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "shown", "version": "1"},
    }
    asked = (
        {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}},
    )
    done = subprocess.run(
        [os.path.join(ROOT, "bin", "memory-fabric"), "mcp"],
        input="".join(json.dumps(message) + "\n" for message in asked),
        capture_output=True,
        text=True,
        env=sandbox.environ,
        cwd=sandbox.project,
        timeout=60,
        check=True,
    )
    answers = {a.get("id"): a.get("result") for a in map(json.loads, done.stdout.splitlines())}
    listed = [
        (tool["name"], tool["description"], json.dumps(tool, ensure_ascii=False))
        for tool in answers[1]["tools"]
    ]
    return Server(answers[0]["instructions"], listed)


def _skills() -> Iterator[tuple[str, str]]:
    """Yield name and description of each skill that the client lists to the model."""
    folder = os.path.join(ROOT, "skills")
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name, "SKILL.md"), encoding="utf-8") as file:
            head = file.read().split("---")[1]
        if "disable-model-invocation: true" not in head:
            [description] = re.findall(r"^description: (.*)$", head, re.MULTILINE)
            yield f"memory-fabric:{name}", description


if __name__ == "__main__":
    main()
