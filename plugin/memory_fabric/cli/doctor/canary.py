"""doctor --prove: store, recall and forget a test record by the real hooks and server."""

import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from typing import Any

from memory_fabric.cli.demo.sandbox import GIVE_UP_S, Sandbox
from memory_fabric.cli.doctor.finding import FAULT, OK, Check
from memory_fabric.setup import packages
from memory_fabric.store.health import filesystem
from memory_fabric.store.history.resolve import tiers_holding
from memory_fabric.store.memory import Memory

FIRST, SECOND, LAST = "prove-1", "prove-2", "prove-3"
AGENT = "general-purpose"
STATED = "Remember that the invoice archive must use {canary} because it never sleeps."
ASKED = "What must the invoice archive use?"
TIERS = ("graph", "decisions.jsonl", "MEMORY.md")
PROTOCOL = "2025-11-25"


def prove(root: str) -> list[Check]:
    """Run each step with the test record, in a temporary home that is deleted afterwards.

    Raises OSError when the hooks cannot be started.
    """
    folder = tempfile.mkdtemp(prefix="memory-fabric-prove-")
    try:
        sandbox = Sandbox(root, folder, "canary-cage")
        with sandbox.without_installing():
            return _followed(sandbox, f"heron{secrets.token_hex(4)}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _followed(sandbox: Sandbox, canary: str) -> list[Check]:
    stated = sandbox.run_hook(
        sandbox.event("UserPromptSubmit", FIRST, prompt=STATED.format(canary=canary))
    )
    asked = sandbox.run_hook(sandbox.event("UserPromptSubmit", SECOND, prompt=ASKED))
    briefed = _briefed(sandbox)
    sandbox.run_hook(
        sandbox.event("Stop", FIRST, stop_hook_active=False, last_assistant_message="Done.")
    )
    found, held, kept = _stored(sandbox, canary)
    trace = "; ".join([*sandbox.log()[-3:], stated.errors, asked.errors]).strip("; ")
    checks = [
        _check("canary goes in", bool(found), f"stored in {stated.took_s * 1000:.0f} ms", trace),
        _check(
            "canary comes out",
            canary in asked.context,
            f"given to another session in {asked.took_s * 1000:.0f} ms",
            trace,
        ),
        _check("canary at a subagent", canary in briefed, "given to it at its start", trace),
        _check("canary by Stop", kept, "its turn is kept from the transcript", trace),
        *(_check(f"canary in {tier}", tier in held, "there after Stop", trace) for tier in TIERS),
        _served(sandbox, f"gull{canary[5:]}"),
    ]
    return [*checks, _forgotten(sandbox, canary, found)]


def _briefed(sandbox: Sandbox) -> str:
    """Return the context of a subagent whose task is the question."""
    task = {"description": "look it up", "prompt": ASKED, "subagent_type": AGENT}
    sandbox.run_hook(
        sandbox.event("PreToolUse", SECOND, tool_name="Agent", tool_input=task, tool_use_id="prove")
    )
    return sandbox.run_hook(
        sandbox.event("SubagentStart", SECOND, agent_id="prove", agent_type=AGENT)
    ).context


def _stored(sandbox: Sandbox, canary: str) -> tuple[str, list[str], bool]:
    """Return the test record's id, the tiers that hold it, and True if the turn is stored."""
    memory = Memory.open(sandbox.settings())
    try:
        found = [record.id for record in memory.find_records("1") if canary in record.what]
        held = tiers_holding(memory, found[0]) if found else []
        turn = "SELECT 1 FROM episodes WHERE role = 'user' AND instr(text, ?)"
        kept = any(db.row(turn, (canary,)) for db in memory.databases())
        return found[0] if found else "", held, kept
    finally:
        memory.close()


def _served(sandbox: Sandbox, canary: str) -> Check:
    """Check that the server's tools find an entity that they created."""
    name = "canary by the server"
    noted = {"name": canary, "entityType": "canary", "observations": ["It never sleeps."]}
    hello = {
        "protocolVersion": PROTOCOL,
        "capabilities": {},
        "clientInfo": {"name": "memory-fabric doctor", "version": "1"},
    }
    calls: tuple[tuple[str, dict[str, Any]], ...] = (
        ("initialize", hello),
        ("tools/list", {}),
        ("tools/call", {"name": "create_entities", "arguments": {"entities": [noted]}}),
        ("tools/call", {"name": "search_nodes", "arguments": {"query": canary}}),
    )
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        for number, (method, params) in enumerate(calls)
    ]
    lines.insert(1, json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}))
    try:
        done = _command(sandbox, "mcp", said="\n".join(lines) + "\n")
    except subprocess.TimeoutExpired:
        return _check(name, False, "", f"the server did not answer within {GIVE_UP_S} s")
    answers = {a.get("id"): json.dumps(a.get("result")) for a in map(json.loads, _objects(done))}
    created = "create_entities" in answers.get(1, "") and canary in answers.get(2, "")
    well = created and canary in answers.get(3, "")
    return _check(name, well, "created and found by its tools", _last_line(done.stderr))


def _forgotten(sandbox: Sandbox, canary: str, record: str) -> Check:
    """Check that no file holds it any more and that another session is not given it."""
    done = _command(sandbox, "forget", record or canary, "--purge", "--yes")
    asked = sandbox.run_hook(sandbox.event("UserPromptSubmit", LAST, prompt=ASKED))
    memory = Memory.open(sandbox.settings())
    folders = [memory.settings.home, *([memory.project.local] if memory.project else [])]
    memory.close()
    left = filesystem.files_with(canary, folders)
    well = bool(record) and done.returncode == 0 and not left and canary not in asked.context
    trace = _last_line(done.stderr) or ", ".join(left)
    return _check("canary is forgotten", well, "in no file and given to nobody any more", trace)


def _command(sandbox: Sandbox, *words: str, said: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command of this release in the temporary home."""
    source = os.path.join(sandbox.root, "plugin")
    return subprocess.run(
        [sys.executable, "-I", "-c", packages.ENTRY, source, *words],
        input=said,
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
        env=sandbox.environ,
        cwd=sandbox.project,
        timeout=GIVE_UP_S,
        check=False,
    )


def _objects(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [line for line in done.stdout.splitlines() if line.startswith("{")]


def _last_line(errors: str) -> str:
    return (errors.strip().splitlines() or [""])[-1]


def _check(name: str, well: bool, told: str, trace: str) -> Check:
    if well:
        return Check(name, OK, told)
    remedy = "Run scripts/demo: it names the hook that fails."
    return Check(name, FAULT, trace or "it is not there", remedy)
