"""Keep sessions of agent-memory-bench in a memory: through the hooks, then by `learn`.

    .venv/bin/python benchmarks/agent_memory_bench/feed.py FOLDER CORPUS < paths

Standard input has one path of a session a line, below CORPUS. FOLDER is made anew; its memory is in
home/fabric afterwards. A session is JSON lines `{"role", "content", "ts", "tool_name"?,
"tool_input"?, "tool_result"?}` and ends with the user's decision, which nobody answers: it is
replayed as typed by a person, with the clock of its times if libfaketime is installed. Prints one
JSON object: what memory holds, and what `learn` added. Needs git and the packages of
`scripts/prepare venv`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "benchmarks"))

from replays.hooks import installed_clock  # noqa: E402
from replays.replay import Replay, rows  # noqa: E402

# What a sandbox's repository must name as its remote to be a folder of this project.
PROJECT = "agent-memory-bench/project"


def main(arguments: Sequence[str] | None = None) -> int:
    """Feed the sessions that standard input names, and print the report; 0."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", help="the folder to make, with home and memory")
    parser.add_argument("corpus", help="the folder of the sessions")
    options = parser.parse_args(arguments)
    paths = [line.strip() for line in sys.stdin if line.strip()]
    print(json.dumps(feed(options.folder, options.corpus, paths)))
    return 0


def feed(folder: str, corpus: str, paths: Sequence[str]) -> dict[str, Any]:
    """Replay the sessions in order of time and let `learn` read them; return the report.

    Raises ValueError for a session that is not of this form.
    """
    sessions = sorted((read_session(corpus, path) for path in paths), key=lambda s: s["when"])
    replay = Replay(folder, PROJECT, ROOT, installed_clock())
    for number, session in enumerate(sessions):
        for _ in replay.session(number, session, {}):
            pass  # nobody notes: the assistant of these sessions does not know of memory
    learned = _learn(replay)
    query = "SELECT type, count(*) AS number FROM records WHERE valid_to = '' GROUP BY type"
    counted = {row["type"]: row["number"] for row in rows(replay.hooks, query)}
    return {
        "sessions": len(sessions),
        "records": counted,
        "learned": learned,
        "timeouts": replay.hooks.times_out(),
    }


def read_session(corpus: str, path: str) -> dict[str, Any]:
    """Return a session as the replays have it: its turns, each a prompt and the blocks after it."""
    turns: list[dict[str, Any]] = []
    with open(os.path.join(corpus, path), encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                entry = json.loads(line)
                at = datetime.fromisoformat(entry["ts"]).timestamp()
                if entry["role"] == "user":
                    turns.append({"at": at, "prompt": entry["content"], "blocks": []})
                else:
                    turns[-1]["blocks"] += _blocks(entry)
            except (ValueError, LookupError, TypeError) as error:
                raise ValueError(f"{path}, line {number}: not a session's entry: {error}") from None
    if not turns:
        raise ValueError(f"{path} has no prompt: it is no session")
    return {"project": PROJECT, "path": path, "when": turns[0]["at"], "turns": turns}


def _blocks(entry: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if entry["content"]:
        yield {"type": "text", "text": entry["content"]}
    if "tool_name" in entry:
        given = json.loads(entry.get("tool_input") or "{}")
        output = str(entry.get("tool_result") or "")
        yield {"type": "tool", "name": entry["tool_name"], "input": given, "output": output}


def _learn(replay: Replay) -> dict[str, int]:
    """Let `learn` read the transcripts, as of sessions that ended long ago; return what it made."""
    projects = os.path.join(replay.hooks.home, ".claude", "projects")
    for folder, _, names in os.walk(projects):
        for name in names:
            os.utime(os.path.join(folder, name), (0, 0))
    done = subprocess.run(
        [os.path.join(ROOT, "bin", "memory-fabric"), "learn", "--run", "--json"],
        env=replay.hooks.environ | {"MEMORY_FABRIC_PYTHON": sys.executable},
        cwd=replay.hooks.project,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"memory-fabric learn failed: {done.stderr.strip()}")
    made = json.loads(done.stdout)["projects"]
    kinds = ("sessions", "turns", "notes", "fixes", "candidates")
    return {kind: sum(int(project.get(kind, 0)) for project in made) for kind in kinds}


if __name__ == "__main__":
    sys.exit(main())
