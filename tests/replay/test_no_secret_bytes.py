"""C10: no file that hooks write ever holds a secret, checked on the bytes."""

from __future__ import annotations

import base64
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from command_line import run_here
from drawn import chance, token
from memory_fabric.config import read_settings
from memory_fabric.store.memory import Memory
from replay.hook_runner import ROOT, HereRunner, HookRunner, content

Way = Callable[[HookRunner, str], None]
DECISION = "We decided to use {} for the API key of Stripe because it works."
NOTED = "Noted decision: {0} is the API key of Stripe. Why: {0} works. Also: {0} key"
SERVE = "from memory_fabric.servers.mcp.stdio_server import main; main()"


@pytest.fixture
def hooks(tmp_path: Path, request: pytest.FixtureRequest) -> HookRunner:
    """Hooks that are answered in this process, or another kind of runner that is the parameter."""
    hooks: HookRunner = getattr(request, "param", HereRunner)(tmp_path)
    (hooks.project / ".git").mkdir()
    return hooks


def run_hook(hooks: HookRunner, name: str, **fields: Any) -> None:
    path = str(theirs(hooks))
    event = {"hook_event_name": name, "session_id": "s1", "transcript_path": path, **fields}
    assert hooks.run(event).status == 0


def theirs(hooks: HookRunner) -> Path:
    """The client's own transcript: not ours, and allowed to hold what was said."""
    return hooks.folder / "theirs" / "transcript.jsonl"


def say(hooks: HookRunner, role: str, *blocks: dict[str, Any] | str) -> None:
    path = theirs(hooks)
    path.parent.mkdir(exist_ok=True)
    content = [{"type": "text", "text": b} if isinstance(b, str) else b for b in blocks]
    entry = {
        "type": role,
        "uuid": chance.randbytes(8).hex(),
        "sessionId": "s1",
        "timestamp": "2026-03-01T10:00:00.000Z",
        "cwd": str(hooks.project),
        "message": {"role": role, "content": content},
    }
    with path.open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(entry) + "\n")


def prompt(hooks: HookRunner, secret: str) -> None:
    run_hook(hooks, "UserPromptSubmit", prompt=DECISION.format(secret))


def transcript(hooks: HookRunner, secret: str) -> None:
    command = f"curl -H 'Authorization: Bearer {secret}' https://x.example"
    say(hooks, "user", DECISION.format(secret))
    say(
        hooks,
        "assistant",
        f"The root cause was that {secret} had expired.",
        {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": command}},
        {"type": "tool_use", "id": "t2", "name": "Edit", "input": {"file_path": f"/{secret}.py"}},
    )
    failed = {"type": "tool_result", "tool_use_id": "t1", "content": secret, "is_error": True}
    say(hooks, "user", failed)
    say(
        hooks,
        "assistant",
        {"type": "tool_use", "id": "t3", "name": "Bash", "input": {"command": command}},
    )
    say(hooks, "user", {"type": "tool_result", "tool_use_id": "t3", "content": f"ok {secret}"})
    say(hooks, "assistant", NOTED.format(secret))
    noted = f'{NOTED.format(secret)}. From: "{DECISION.format(secret)}"'
    run_hook(hooks, "Stop", last_assistant_message=noted, stop_hook_active=False)


def subagent(hooks: HookRunner, secret: str) -> None:
    text = NOTED.format(secret)
    run_hook(
        hooks, "SubagentStop", agent_id="a", agent_type="reviewer", last_assistant_message=text
    )


def summary(hooks: HookRunner, secret: str) -> None:
    text = f"<summary>\n{NOTED.format(secret)}\n</summary>"
    run_hook(hooks, "PostCompact", trigger="auto", compact_summary=text)


def checkpoint(hooks: HookRunner, secret: str) -> None:
    todo = {"todos": [{"content": f"rotate {secret}", "status": "pending", "activeForm": secret}]}
    say(hooks, "user", f"Rotate {secret} in the config, please.")
    say(hooks, "assistant", {"type": "tool_use", "id": "t", "name": "TodoWrite", "input": todo})
    run_hook(hooks, "PreCompact", trigger="auto")


def task(hooks: HookRunner, secret: str) -> None:
    asked = {"prompt": f"Log in with {secret}", "description": secret, "subagent_type": "tester"}
    run_hook(hooks, "PreToolUse", tool_name="Agent", tool_use_id="t", tool_input=asked)


def bridge(hooks: HookRunner, secret: str) -> None:
    entity = {"name": f"api {secret}", "entityType": secret, "observations": [f"key {secret}"]}
    run_hook(
        hooks, "PostToolUse", tool_name="mcp__x__create_entities", tool_input={"entities": [entity]}
    )
    link = {"from": secret, "to": f"b {secret}", "relationType": secret}
    run_hook(
        hooks, "PostToolUse", tool_name="mcp__x__create_relations", tool_input={"relations": [link]}
    )
    said = {"entityName": f"c {secret}", "contents": [secret]}
    asked = {"observations": [said]}
    run_hook(hooks, "PostToolUse", tool_name="mcp__x__add_observations", tool_input=asked)


def command(hooks: HookRunner, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    done = run_here(words, {**hooks.environ, **more}, hooks.project)
    return subprocess.CompletedProcess(words, done.status, done.out, done.err)


def remember(hooks: HookRunner, secret: str) -> None:
    done = command(hooks, "remember", f"Use {secret} for Stripe", "--category", secret)
    assert done.returncode == 0, done.stderr
    command(hooks, "alias", "stripe", secret)


def imported(hooks: HookRunner, secret: str) -> None:
    lines = [
        {"type": "entity", "name": f"n {secret}", "entityType": "x", "observations": [secret]},
        {"type": "relation", "from": f"n {secret}", "to": "b", "relationType": secret},
    ]
    path = theirs(hooks).parent / "memory.jsonl"
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(map(json.dumps, lines)) + f"\ntorn {secret}\n")
    command(hooks, "import", str(path))


def serve(hooks: HookRunner, calls: list[tuple[str, dict[str, Any]]], **more: str) -> list[Any]:
    """The answers of the server to these calls of tools."""
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}}
    hello["clientInfo"] = {"name": "t", "version": "0"}
    asked = [("initialize", hello)]
    asked += [("tools/call", {"name": name, "arguments": given}) for name, given in calls]
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": n, "method": method, "params": params})
        for n, (method, params) in enumerate(asked)
    ]
    lines.insert(1, json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}))
    done = subprocess.run(
        [sys.executable, "-c", SERVE],
        input="\n".join(lines) + "\n",
        env={**hooks.environ, "PYTHONPATH": str(ROOT / "plugin"), **more},
        capture_output=True,
        text=True,
        check=True,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len([a for a in answers if "result" in a]) == len(asked), done.stdout
    return answers


def tools(secret: str) -> list[tuple[str, dict[str, Any]]]:
    """Every tool that takes a text, given the secret wherever there is room for it."""
    entity = {"name": f"n {secret}", "entityType": secret, "observations": [f"o {secret}"]}
    link = {"from": "api", "to": f"b {secret}", "relationType": secret}
    more = {"entityName": "api", "contents": [secret, f'{{"password": "{secret}"}}']}
    api = {"name": "api", "entityType": "service", "observations": []}
    gone = {"entityName": "api", "observations": [secret]}
    return [
        ("create_entities", {"entities": [entity, api]}),
        ("create_relations", {"relations": [link]}),
        ("add_observations", {"observations": [more]}),
        ("add_observations", {"observations": [{"entityName": secret, "contents": ["x"]}]}),
        ("search_nodes", {"query": secret}),
        ("open_nodes", {"names": [secret]}),
        ("read_graph", {}),
        ("recall", {"query": secret}),
        ("remember", {"text": f"Use {secret} for Stripe", "why": secret, "entities": [secret]}),
        ("history", {"name": secret}),
        ("forget", {"query": secret}),
        ("delete_observations", {"deletions": [gone]}),
        ("delete_relations", {"relations": [link]}),
        ("delete_entities", {"entityNames": [secret]}),
    ]


def server(hooks: HookRunner, secret: str) -> None:
    answers = serve(hooks, tools(secret))
    failed = [a for a in answers[1:] if a["result"].get("isError")]
    assert len(failed) < len(answers) / 2, failed


def served_file(hooks: HookRunner, secret: str) -> None:
    """The file is the user's, what we keep beside it is ours."""
    path = theirs(hooks).parent / "memory.jsonl"
    path.parent.mkdir(exist_ok=True)
    line = {"type": "entity", "name": "theirs", "entityType": "x", "observations": [secret]}
    path.write_text(json.dumps(line) + "\n")
    serve(hooks, tools(secret), MEMORY_FILE_PATH=str(path))


def queued(hooks: HookRunner, secret: str) -> None:
    """While another process writes, what is said waits in a file."""
    run_hook(hooks, "UserPromptSubmit", prompt="We decided to use Redis because it is fast.")
    (path,) = hooks.memory.glob("projects/*/graph.db")
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    run_hook(hooks, "UserPromptSubmit", prompt=DECISION.format(secret))
    assert list(hooks.project.rglob("graph-queue.*-*.jsonl"))
    assert found_in(hooks, secret) == []
    holder.execute("ROLLBACK")
    holder.close()


def complained(hooks: HookRunner, secret: str) -> None:
    """Errors and their log name what came in."""
    run_hook(hooks, "Brewed", prompt=secret, source=secret)
    hooks.run(f'{{"hook_event_name": "Token {secret}"}}'.encode())
    run_hook(hooks, "Stop", transcript_path=7, last_assistant_message=[secret])
    command(hooks, "forget", secret)
    command(hooks, "why", secret)
    assert hooks.log


WAYS: list[Way] = [
    prompt, transcript, subagent, summary, checkpoint, task, bridge, remember, imported, server,
    served_file, queued, complained,
]  # fmt: skip


def forms(secret: str) -> Iterator[bytes]:
    """The secret as it is, percent-encoded, and in base64 wherever it may begin in a group."""
    yield secret.encode()
    yield quote(secret).encode()
    for before in range(3):
        whole = base64.b64encode(b"x" * before + secret.encode())
        yield whole[4:-4]


def found_in(hooks: HookRunner, secret: str) -> list[str]:
    """Files of ours that hold the secret in any form."""
    wanted = list(forms(secret))
    found = []
    for folder, _, names in os.walk(hooks.folder):
        if Path(folder) == theirs(hooks).parent:
            continue
        for name in names:
            path = Path(folder) / name
            if any(form in content(path) for form in wanted):
                found.append(str(path.relative_to(hooks.folder)))
    return found


def everything(hooks: HookRunner) -> bytes:
    return b"\0".join(content(path) for path in hooks.folder.rglob("*"))


@pytest.mark.parametrize(
    ("hooks", "way"),
    [(HookRunner, transcript), *((HereRunner, way) for way in WAYS)],
    ids=lambda value: value.__name__,
    indirect=["hooks"],
)
def test_a_secret_seen_by_hooks_is_in_no_file_of_memory(hooks: HookRunner, way: Way) -> None:
    secret = token()

    way(hooks, secret)
    during = found_in(hooks, secret)
    for name in ("Stop", "SessionEnd"):
        run_hook(hooks, name, last_assistant_message="Done.")
    run_hook(hooks, "SessionStart", source="startup")
    command(hooks, "backup")
    command(hooks, "export", str(hooks.folder / "exported.jsonl"))

    assert during == []
    assert found_in(hooks, secret) == []
    assert b"[redacted: " in everything(hooks)


def test_the_search_for_a_leaked_secret_finds_each_encoded_form(hooks: HookRunner) -> None:
    secret = token()
    for number, form in enumerate(forms(secret)):
        (hooks.folder / f"leak-{number}").write_bytes(b"..." + form + b"...")

    assert len(found_in(hooks, secret)) == 5


def test_a_secret_stored_by_an_older_release_is_redacted_when_shown(hooks: HookRunner) -> None:
    """They were stored before a rule knew them: neither a prompt nor recall gives them out."""
    secret = token()
    run_hook(
        hooks,
        "UserPromptSubmit",
        prompt="We decided to use Stripe with the payment KEYTEXT because it works well.",
    )
    memory = Memory.open(read_settings(hooks.environ, {}))
    database = memory.database("project", create=False)
    assert database is not None
    with database.transaction() as c:
        c.execute("UPDATE records SET what = replace(what, 'KEYTEXT', ?)", (secret,))
        c.execute("UPDATE observations SET text = replace(text, 'KEYTEXT', ?)", (secret,))
    memory.close()

    asked = {"session_id": "s2", "prompt": "How do we use Stripe for payment?"}
    given = hooks.run({"hook_event_name": "UserPromptSubmit", **asked})
    start = hooks.run({"hook_event_name": "SessionStart", "session_id": "s3", "source": "startup"})
    recalled = command(hooks, "recall", "Stripe payment", "--json")
    loaded = command(hooks, "load")
    by_tool = serve(hooks, [("recall", {"query": "Stripe payment"})])

    for said in (given.context, start.context, recalled.stdout, loaded.stdout, str(by_tool)):
        assert "[redacted: token]" in said
        assert secret not in said
