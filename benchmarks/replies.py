"""Replies of two checkouts to the same histories: equal, or the differences.

    python3 benchmarks/replies.py --data FILE --before CHECKOUT [--after CHECKOUT]
    python3 benchmarks/replies.py --data FILE --before CHECKOUT --project NAME --sessions 3
    python3 benchmarks/replies.py --data FILE --before CHECKOUT --way launcher

The form of FILE, and of NOTES with the assistant's notes, is in replays/replay.py. Each checkout
answers every event with its own code, by a clock that stands still during an event and with ids
that count (tests/replay/fixed_clock.py), so that equal code says the same to the byte. By default
one process answers the events of a project, with `--way launcher` a process for each of them, as
the client starts it. The exit status is 1 if a reply differs. Needs Python >= 3.11 and git.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CLOCK = os.path.join(ROOT, "tests", "replay", "fixed_clock.py")
UNDER_CLOCK = '#!/bin/sh\nshift 2\nexec "{python}" -I -S "{program}" "{clock}" "$@"\n'
IN_PROCESS, LAUNCHER = "process", "launcher"
PROMPT_CHARS = 80


def main(argv: Sequence[str] | None = None) -> int:
    """Print what differs; 0 if nothing does."""
    options = _options(argv)
    if options.replay:
        replay(options)
        return 0
    from replays.replay import read_lines  # not in a replay: it takes the other checkout's code

    known = dict.fromkeys(session["project"] for session in read_lines(options.data))
    unknown = set(options.project or ()) - set(known)
    if unknown:
        raise SystemExit(f"not in {options.data}: {', '.join(sorted(unknown))}")
    with ThreadPoolExecutor(options.jobs) as pool, tempfile.TemporaryDirectory() as folder:
        runs = [
            [
                pool.submit(_answers, checkout, project, os.path.join(folder, side), options)
                for side, checkout in (("1", options.before), ("2", options.after))
            ]
            for project in options.project or known
        ]
        answers = [[run.result() for run in both] for both in runs]
    count = different = 0
    for before, after in answers:
        for one, other in zip(before, after, strict=True):
            count += 1
            if one["printed"] != other["printed"]:
                different += 1
                print("\n".join(difference(one, other)))
    print(f"{count - different} of {count} replies are equal")
    return 1 if different else 0


def difference(one: dict[str, Any], other: dict[str, Any]) -> Iterator[str]:
    """Yield the lines in which two replies to an event differ."""
    said = f" “{one['prompt'][:PROMPT_CHARS]}”" if one["prompt"] else ""
    yield f"\n{one['project']}, {one['path']}: {one['event']}{said}"
    yield from difflib.unified_diff(
        _lines(one["printed"]), _lines(other["printed"]), "before", "after", lineterm=""
    )


def replay(options: argparse.Namespace) -> None:
    """Print a line of JSON for each event of one project, answered by one checkout."""
    # The checkout's own code, before anything takes that of this one.
    plugin = os.path.abspath(options.replay)
    sys.path[:0] = [os.path.join(plugin, "plugin"), os.path.join(ROOT, "tests")]
    from memory_fabric.hooks import dispatcher
    from replay.fixed_clock import Clock
    from replays.hooks import Hooks
    from replays.replay import Replay, read_lines, read_notes

    class FixedHooks(Hooks):
        """Hooks that live by the fixed clock, and remember what they print."""

        def __init__(self, folder: str, name: str, checkout: str, clock: str) -> None:
            super().__init__(folder, name, checkout, clock)
            self.printed: list[dict[str, Any]] = []
            path = os.path.join(folder, "clock")
            self.clock = Clock(path, self.now_s)
            if options.way == LAUNCHER:
                self._start_under_clock(folder, path)

        def answered(self, event: str, data: bytes) -> tuple[bytes, str]:
            self.clock.advance(self.now_s - self.clock.now_s())
            if options.way == LAUNCHER:
                printed, error = super().answered(event, data)
            else:
                printed, error = dispatcher.run(data, self.environ), ""
            text = printed.decode().replace(options.folder, "<folder>").replace(plugin, "<plugin>")
            prompt = json.loads(data).get("prompt", "")
            self.printed.append({"event": event, "prompt": prompt, "printed": text})
            return printed, error

        def _start_under_clock(self, folder: str, clock: str) -> None:
            given = os.path.join(self.environ["CLAUDE_PLUGIN_DATA"], "interpreter")
            with open(given, encoding="utf-8") as file:
                python = file.read().strip()
            program = os.path.join(folder, "python")
            with open(program, "w", encoding="utf-8") as file:
                file.write(UNDER_CLOCK.format(python=python, program=CLOCK, clock=clock))
            os.chmod(program, 0o700)
            with open(given, "w", encoding="utf-8") as file:
                file.write(f"{program}\n")

    [project] = options.project
    replayed = Replay(options.folder, project, plugin, "", lenient=True, hooks_type=FixedHooks)
    hooks = replayed.hooks
    assert isinstance(hooks, FixedHooks)
    hooks.environ["MEMORY_FABRIC_AHEAD"] = "1"  # nothing is compiled beside it
    os.environ.clear()
    os.environ.update(hooks.environ)
    os.chdir(hooks.project)
    hooks.clock.install()
    notes = read_notes(options.notes) if options.notes else {}
    sessions = [s for s in read_lines(options.data) if s["project"] == project]
    for number, session in enumerate(sessions[: options.sessions]):
        for _ in replayed.session(number, session, notes):
            continue
        for line in hooks.printed:
            print(json.dumps({"project": project, "path": session["path"], **line}))
        hooks.printed.clear()


def _answers(
    checkout: str, project: str, folder: str, options: argparse.Namespace
) -> list[dict[str, Any]]:
    """The lines of `replay`, by a process of its own: it has the checkout's code."""
    command = [sys.executable, os.path.abspath(__file__), "--replay", checkout]
    command += ["--data", os.path.abspath(options.data), "--project", project, "--way", options.way]
    command += ["--folder", os.path.join(folder, project.replace("/", "+"))]
    if options.notes:
        command += ["--notes", os.path.abspath(options.notes)]
    if options.sessions is not None:
        command += ["--sessions", str(options.sessions)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith(b"{")]


def _lines(printed: str) -> list[str]:
    """A reply in lines, each behind the name of its field."""
    if not printed.startswith("{"):
        return printed.splitlines()
    found = []
    for name, value in json.loads(printed).items():
        fields = value if isinstance(value, dict) else {"": value}
        for part, text in fields.items():
            found += [f"{part or name}: {line}" for line in str(text).splitlines()]
    return found


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--data", required=True, metavar="FILE", help="conversations, one session a line")
    add("--before", metavar="DIR", help="a checkout")
    add("--after", default=ROOT, metavar="DIR", help="the other one; by default this one")
    add("--project", action="append", metavar="NAME", help="only this one; may be repeated")
    add("--sessions", type=int, metavar="N", help="only the first sessions of each project")
    add("--notes", metavar="FILE", help="lines that the assistant adds to its answers")
    add("--way", choices=(IN_PROCESS, LAUNCHER), default=IN_PROCESS)
    add("--jobs", type=int, default=2, help="replays at a time")
    add("--replay", metavar="DIR", help=argparse.SUPPRESS)
    add("--folder", metavar="DIR", help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if not (options.before or options.replay):
        parser.error("--before is needed")
    return options


if __name__ == "__main__":
    sys.exit(main())
