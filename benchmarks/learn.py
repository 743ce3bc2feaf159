"""Past sessions read in: how fast, and how long a live session waits meanwhile.

    .venv/bin/python benchmarks/learn.py
    .venv/bin/python benchmarks/learn.py --sessions 1000 --prompts 20

A new user's machine in a scratch home: generated transcripts of the real form in four projects
(past_sessions.transcripts), then `memory-fabric learn`, `learn --run`, and a question about what
was settled a month ago in each project. While it runs, another process writes to one of the
projects like a prompt's hook, which waits 150 ms for other writers at most. Needs the packages of
the command line.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "plugin"))

from memory_fabric.config import read_settings  # noqa: E402
from memory_fabric.deadline import Deadline, running  # noqa: E402
from memory_fabric.errors import FabricError  # noqa: E402
from memory_fabric.models import Provenance  # noqa: E402
from memory_fabric.store.memory import Memory  # noqa: E402
from past_sessions.transcripts import PROJECTS, TOPICS, make  # noqa: E402
from processes import quantile  # noqa: E402

ENTRY = "import sys; from memory_fabric.cli.main import main; sys.exit(main())"
# Between two writes of the live session, and its limits, which are those of a prompt.
PAUSE_S, WALL_S, LOCK_S = 0.02, 1.5, 0.15


class Live(NamedTuple):
    """The live session's writes: seconds of each, and how many were refused for waiting."""

    seconds: list[float]
    refused: int


class Measured(NamedTuple):
    """One run: bytes, seconds by the clock and of the processor, and what it made."""

    size: int
    preview_s: float
    seconds: float
    cpu_s: float
    made: list[dict[str, Any]]
    live: Live
    known: int


def measure(folder: str, sessions: int, prompts: int) -> Measured:
    """Generate the transcripts in a scratch folder, read them in, and ask."""
    home, work = os.path.join(folder, "home"), os.path.join(folder, "work")
    made = make(os.path.join(home, ".claude"), work, sessions, datetime.now(UTC), prompts=prompts)
    environ = {
        "HOME": home,
        "USER": "ann",
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.path.join(ROOT, "plugin"),
    }
    place = os.path.join(work, PROJECTS[0])
    began = time.perf_counter()
    _run(environ, place, "learn")
    preview_s = time.perf_counter() - began
    before, began = _cpu_s(), time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-c", ENTRY, "learn", "--run", "--json"],
        env=environ,
        cwd=place,
        stdout=subprocess.PIPE,
    )
    live = _write_meanwhile(process, environ, place)
    out, _ = process.communicate()
    seconds, cpu_s = time.perf_counter() - began, _cpu_s() - before
    known = sum(_knows(environ, os.path.join(work, name), TOPICS[name]) for name in PROJECTS)
    return Measured(made.size, preview_s, seconds, cpu_s, json.loads(out)["projects"], live, known)


def _write_meanwhile(
    process: subprocess.Popen[bytes], environ: Mapping[str, str], place: str
) -> Live:
    """Write like a live session's hooks until the process ends."""
    seconds: list[float] = []
    refused = 0
    memory = Memory.open(read_settings(environ, {})._replace(project_dir=place))
    by = Provenance("assistant", trust="assistant", session="live")
    while process.poll() is None:
        number = len(seconds) + refused
        turn = {
            "id": f"live-{number}",
            "session": "live",
            "role": "user",
            "text": "Said while old sessions were read.",
            "created_at": "2026-01-01T00:00:00.000Z",
        }
        began = time.perf_counter()
        with running(Deadline(WALL_S, lock_s=LOCK_S)):
            memory.close()  # a hook opens the database for its event
            try:
                memory.write_now("add_episodes", {"episodes": [turn]}, by, store="project")
                seconds.append(time.perf_counter() - began)
            except FabricError:
                refused += 1
        time.sleep(PAUSE_S)
    memory.close()
    return Live(seconds, refused)


def _knows(environ: Mapping[str, str], place: str, topic: str) -> bool:
    """Return True if recall's first page has what was settled, asked for in some of its words."""
    question = " ".join(word for word in topic.split() if len(word) > 3)[:60]
    return topic in _run(environ, place, "recall", question, "--json")


def _run(environ: Mapping[str, str], place: str, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", ENTRY, *words],
        env=environ,
        cwd=place,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def report(found: Measured) -> Sequence[str]:
    """Return the lines of the result."""
    megabytes = found.size / 1e6
    total = {
        key: sum(int(one[key]) for one in found.made) for key in ("sessions", "turns", "fixes")
    }
    again = sum(int(one["candidates"]) for one in found.made)
    waits = sorted(found.live.seconds)
    return (
        f"{total['sessions']} sessions, {megabytes:.1f} MB; preview {found.preview_s:.1f} s",
        f"read in {found.seconds:.1f} s, {megabytes / found.seconds:.1f} MB a second; "
        f"processor {found.cpu_s:.1f} s, {megabytes / found.cpu_s:.1f} MB a second",
        f"made {total['turns']} turns, {total['fixes']} fixes, {again} said again; "
        f"{found.known} of {len(PROJECTS)} questions about last month answered",
        f"live writes meanwhile: {len(waits)}, refused {found.live.refused}; median "
        f"{quantile(waits, 0.5) * 1000:.0f} ms, 99 % {quantile(waits, 0.99) * 1000:.0f} ms, "
        f"longest {waits[-1] * 1000:.0f} ms",
    )


def main() -> None:
    """Print the result."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sessions", type=int, default=200, help="transcripts to generate")
    parser.add_argument("--prompts", type=int, default=8, help="prompts of a session, about")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="memory-fabric-bench-") as folder:
        for line in report(measure(folder, chosen.sessions, chosen.prompts)):
            print(line)


if __name__ == "__main__":
    main()
