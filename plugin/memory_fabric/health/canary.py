"""doctor --prove: store, recall and purge a test record through the real hooks and server."""

import json
import os
import secrets
import subprocess
import sys
import tempfile
from contextlib import closing
from typing import Any

from memory_fabric.health.check import Finding, fault, fine
from memory_fabric.health.sandbox import GIVE_UP_S, Sandbox
from memory_fabric.setup import packages
from memory_fabric.store.history.resolve import tiers_holding
from memory_fabric.store.memory import Memory
from memory_fabric.store.queries import counts
from memory_fabric.store.upkeep import filesystem

FIRST, SECOND, LAST = "prove-1", "prove-2", "prove-3"
AGENT = "general-purpose"
STATED = "Remember that the invoice archive must use {canary} because it never sleeps."
ASKED = "What must the invoice archive use?"
TIERS = ("graph", "decisions.jsonl", "MEMORY.md")
PROTOCOL = "2025-11-25"
REMEDY = "Run scripts/demo: it names the hook that fails."


def prove(root: str) -> list[Finding]:
    """Run all steps with a test record in a temporary home. Raises OSError if no hook starts."""
    deleted = tempfile.TemporaryDirectory(prefix="memory-fabric-prove-", ignore_cleanup_errors=True)
    with deleted as folder:
        sandbox = Sandbox(root, folder, "canary-cage")
        with sandbox.without_installing():
            canary = f"heron{secrets.token_hex(4)}"
            stated = sandbox.hook("UserPromptSubmit", FIRST, prompt=STATED.format(canary=canary))
            answer = sandbox.hook("UserPromptSubmit", SECOND, prompt=ASKED)
            task = {"description": "look it up", "prompt": ASKED, "subagent_type": AGENT}
            call = {"tool_name": "Agent", "tool_input": task, "tool_use_id": "prove"}
            sandbox.hook("PreToolUse", SECOND, **call)
            briefed = sandbox.hook("SubagentStart", SECOND, agent_id="prove", agent_type=AGENT)
            sandbox.hook("Stop", FIRST, stop_hook_active=False, last_assistant_message="Done.")
            with closing(Memory.open(sandbox.settings())) as memory:
                ids = [record.id for record in memory.find_records("1") if canary in record.what]
                holding = tiers_holding(memory, ids[0]) if ids else []
                has_turn = counts.has_turn(memory, canary)
            trace = "; ".join([*sandbox.log()[-3:], stated.errors, answer.errors]).strip("; ")
            to_session = f"given to another session in {answer.took_s * 1000:.0f} ms"
            steps = (
                ("canary goes in", bool(ids), f"stored in {stated.took_s * 1000:.0f} ms"),
                ("canary comes out", canary in answer.context, to_session),
                ("canary at a subagent", canary in briefed.context, "given to it at its start"),
                ("canary by Stop", has_turn, "its turn is kept from the transcript"),
                *((f"canary in {tier}", tier in holding, "there after Stop") for tier in TIERS),
            )
            return [
                *(_finding(name, is_well, text, trace) for name, is_well, text in steps),
                _served(sandbox, f"gull{canary[5:]}"),
                _forgotten(sandbox, canary, ids[0] if ids else ""),
            ]


def _served(sandbox: Sandbox, canary: str) -> Finding:
    name = "canary by the server"
    entity = {"name": canary, "entityType": "canary", "observations": ["It never sleeps."]}
    client = {"name": "memory-fabric doctor", "version": "1"}
    hello = {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": client}
    calls: tuple[tuple[str, dict[str, Any]], ...] = (
        ("initialize", hello),
        ("tools/list", {}),
        ("tools/call", {"name": "create_entities", "arguments": {"entities": [entity]}}),
        ("tools/call", {"name": "search_nodes", "arguments": {"query": canary}}),
    )
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        for number, (method, params) in enumerate(calls)
    ]
    lines.insert(1, json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}))
    try:
        process = _run(sandbox, "mcp", stdin="\n".join(lines) + "\n")
    except subprocess.TimeoutExpired:
        return _finding(name, False, "", f"the server did not answer within {GIVE_UP_S} s")
    replies = [json.loads(line) for line in process.stdout.splitlines() if line.startswith("{")]
    answers = {reply.get("id"): json.dumps(reply.get("result")) for reply in replies}
    is_created = "create_entities" in answers.get(1, "") and canary in answers.get(2, "")
    is_found = is_created and canary in answers.get(3, "")
    last_line = process.stderr.strip().rpartition("\n")[2]
    return _finding(name, is_found, "created and found by its tools", last_line)


def _forgotten(sandbox: Sandbox, canary: str, record: str) -> Finding:
    """Check that no file contains the purged text, and that other sessions are not given it."""
    process = _run(sandbox, "forget", record or canary, "--purge", "--yes")
    answer = sandbox.hook("UserPromptSubmit", LAST, prompt=ASKED)
    with closing(Memory.open(sandbox.settings())) as memory:
        folders = [memory.settings.home, *([memory.project.local] if memory.project else [])]
    files_left = filesystem.files_with(canary, folders)
    is_erased = process.returncode == 0 and not files_left
    is_gone = bool(record) and is_erased and canary not in answer.context
    trace = process.stderr.strip().rpartition("\n")[2] or ", ".join(files_left)
    text = "in no file and given to nobody any more"
    return _finding("canary is forgotten", is_gone, text, trace)


def _run(sandbox: Sandbox, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    source = os.path.join(sandbox.root, "plugin")
    return sandbox.run([sys.executable, "-I", "-c", packages.ENTRY, source, *words], stdin)


def _finding(name: str, is_well: bool, text: str, trace: str) -> Finding:
    finding = fine(text) if is_well else fault(trace or "it is not there", REMEDY)
    return finding._replace(name=name)
