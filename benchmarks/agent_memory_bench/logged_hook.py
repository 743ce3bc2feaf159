"""Run a hook of memory-fabric and log that it ran, for the admission gate of agent-memory-bench.

    python3 logged_hook.py EVENT [ARGUMENT ...] < event

Lies in the configuration folder of a session, beside the copied plugin; settings.json calls it for
each event. The hook's input, output and exit code stay as they are; a line of hook-ledger.jsonl
says what it printed. At a start, a repository without a remote gets the one of the memory's
project: each sandbox is another folder, and by its remote memory knows it as a clone.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time

CONFIG = os.path.dirname(os.path.abspath(__file__))
PLUGIN = os.path.join(CONFIG, "memory-fabric-plugin")
LEDGER = os.path.join(CONFIG, "hook-ledger.jsonl")
REMOTE = "git@example.invalid:agent-memory-bench/project.git"


def main() -> int:
    """Run the hook; return its exit code."""
    event, *arguments = sys.argv[1:]
    given = sys.stdin.buffer.read()
    if event == "SessionStart":
        _name_remote()
    began = time.monotonic()
    own = {
        "CLAUDE_PLUGIN_ROOT": PLUGIN,
        "CLAUDE_PLUGIN_DATA": os.path.join(CONFIG, "memory-fabric-data"),
    }
    done = subprocess.run(
        [os.path.join(PLUGIN, "hooks", "launch"), *arguments],
        input=given,
        capture_output=True,
        env=os.environ | own,
        check=False,
    )
    elapsed_ms = round((time.monotonic() - began) * 1000)
    _log(event, json.loads(given), done.returncode, done.stdout, elapsed_ms)
    sys.stdout.buffer.write(done.stdout)
    sys.stderr.buffer.write(done.stderr)
    return done.returncode


def _name_remote() -> None:
    git = ["git", "-C", os.environ["CLAUDE_PROJECT_DIR"], "remote"]
    listed = subprocess.run(git, capture_output=True, check=False)
    if listed.returncode == 0 and not listed.stdout.strip():
        subprocess.run([*git, "add", "origin", REMOTE], check=False)


def _log(event: str, given: dict[str, object], status: int, output: bytes, elapsed_ms: int) -> None:
    reply = json.loads(output) if output.strip().startswith(b"{") else {}
    context = str(reply.get("hookSpecificOutput", {}).get("additionalContext", ""))
    entry = {
        "event": event,
        "session_id": given.get("session_id"),
        "exit_code": status,
        # Of the text for the model: a notice for the user does not show that it was told.
        "output_sha256": hashlib.sha256(context.encode()).hexdigest() if context else "",
        "context_chars": len(context),
        "elapsed_ms": elapsed_ms,
    }
    with open(LEDGER, "a", encoding="utf-8") as file:
        file.write(json.dumps(entry) + "\n")


if __name__ == "__main__":
    sys.exit(main())
