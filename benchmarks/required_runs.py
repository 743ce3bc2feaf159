"""Rules with something to pass first, over labelled sequences of calls: violations and false holds.

    python3 benchmarks/required_runs.py tune|held|limits      figures, and every wrong decision
    python3 benchmarks/required_runs.py time                  CPU time, in bare starts of Python

The sequences are made of the parts in benchmarks/required_runs/SET.jsonl, written by hand in the
form in which assistants call tools; each part has its label: a run `passed`, a change is of a
`source`, a line of call and run lets the call be reached only if the run `passed`. A sequence is a
violation if its call would be made although the last run before it did not pass, or a source file
changed after it. Of `limits` each part is known as not noticed (docs/rules.md).

Every sequence is written as a transcript and decided by the code of the hook. A violation that is
not held, and a call that is held without one, is printed. The time is that of reading the
transcript and deciding.
Needs Python >= 3.11 and nothing else.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "plugin"))

from memory_fabric.config import read_settings  # noqa: E402
from memory_fabric.events import event_of  # noqa: E402
from memory_fabric.hooks.session.passed import unmet  # noqa: E402
from memory_fabric.models import Record  # noqa: E402
from memory_fabric.rules import matching  # noqa: E402
from memory_fabric.rules.bindings import bindings_of, required_by  # noqa: E402
from memory_fabric.rules.matching import BoundRule  # noqa: E402

PARTS = os.path.join(ROOT, "benchmarks", "required_runs")
FOLDER = "/project"
# Families whose pass a change of a source file does not undo.
LASTING = ("pull", "login", "containers")
STARTS = 5
Part = dict[str, Any]


class Sequence_(NamedTuple):
    """Calls with their results, the line that is about to be run, and its label."""

    shape: str
    when: str
    parts: tuple[Part, ...]
    line: str
    is_violation: bool


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures of one set."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("set", choices=("tune", "held", "limits", "time"))
    parser.add_argument("--quiet", action="store_true", help="only the figures")
    options = parser.parse_args(arguments)
    if options.set == "time":
        return time_decisions()
    with open(os.path.join(PARTS, f"{options.set}.jsonl"), encoding="utf-8") as file:
        parts = [json.loads(line) for line in file]
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    wrong, seconds = [], 0.0
    with tempfile.TemporaryDirectory() as folder:
        for one in sequences(parts):
            path = os.path.join(folder, "session.jsonl")
            write(one, path)
            began = time.perf_counter()
            is_held = decide(one, path)
            seconds += time.perf_counter() - began
            for shape in (one.shape, "all"):
                for place, is_so in enumerate(
                    (True, one.is_violation, is_held, is_held != one.is_violation)
                ):
                    counts[shape][place] += is_so
            if is_held != one.is_violation:
                wrong.append(one)
    report(counts, wrong, seconds, quiet=options.quiet)
    return 0


def sequences(parts: Sequence[Part]) -> Iterator[Sequence_]:
    """Yield the sequences that a set of parts makes; other parts are taken in turn."""

    def of(kind: str, family: str = "") -> list[Part]:
        return [p for p in parts if p["kind"] == kind and p.get("family", family) == family]

    changes, idle = itertools.cycle(of("change")), itertools.cycle(of("idle"))
    joins = of("join")
    for family in dict.fromkeys(p["family"] for p in parts if p["kind"] == "rule"):
        rules, runs = of("rule", family), of("run", family)
        passing, failing = ([r for r in runs if r["passed"] == is_so] for is_so in (True, False))
        lines = [(r["when"], c["command"]) for r in rules for c in of("call", family)]
        for when, line in lines:
            yield Sequence_("nothing before", when, (), line, True)
            for run in runs:
                is_late = not run["passed"]
                yield Sequence_("one run", when, (run,), line, is_late)
                yield Sequence_("a run, other calls", when, (run, *some(idle, 3)), line, is_late)
                yield Sequence_("change, run", when, (next(changes), run), line, is_late)
            for run in passing:
                change = next(changes)
                is_undone = change["source"] and family not in LASTING
                yield Sequence_("run, change", when, (run, *some(idle, 1), change), line, is_undone)
                again = (run, change, next(idle), run)
                yield Sequence_("run, change, run", when, again, line, False)
            for passed, failed in zip(passing, itertools.cycle(failing), strict=False):
                tries = "none" if failed.get("is_none") else "failed"
                if tries == "failed":
                    yield Sequence_("passed, failed", when, (passed, failed), line, True)
                yield Sequence_("failed, passed", when, (failed, passed), line, False)
            plain = [r for r in passing if r.get("is_plain")]
            for run, join in zip(itertools.cycle(plain), joins if plain else (), strict=False):
                joined = join["line"].format(run=run["command"], call=line)
                yield Sequence_("in one line", when, (), joined, not join["passed"])
            for run, ending in itertools.product(plain, ("passed", "failed", "running")):
                shape, behind = "in the background", {**run, "background": ending}
                yield Sequence_(shape, when, (behind,), line, ending != "passed")


def some(source: Iterator[Part], count: int) -> tuple[Part, ...]:
    """Return the next parts."""
    return tuple(itertools.islice(source, count))


def write(sequence: Sequence_, path: str) -> None:
    """Write the transcript of a sequence."""
    with open(path, "w", encoding="utf-8") as file:
        for place, part in enumerate(sequence.parts):
            for role, content in entries(part, f"toolu_{place}"):
                message = {"role": role, "content": content}
                file.write(json.dumps({"type": role, "message": message, "cwd": FOLDER}) + "\n")
        message = {"role": "user", "content": "Go on, please."}
        file.write(json.dumps({"type": "user", "message": message, "cwd": FOLDER}) + "\n")


def entries(part: Part, id_: str) -> Iterator[tuple[str, object]]:
    """Yield the roles and contents of a call, its result and its end in the background."""
    tool, given = part.get("tool", "Bash"), part.get("input", {"command": part.get("command")})
    yield "assistant", [{"type": "tool_use", "id": id_, "name": tool, "input": given}]
    output, ending = part.get("output", ""), part.get("background")
    if ending:
        output = f"Command running in background with ID: b{id_}. Output is being written to: /x."
    result = {"type": "tool_result", "tool_use_id": id_, "content": output}
    yield "user", [{**result, "is_error": part.get("error", False)}]
    told = {"passed": "completed (exit code 0)", "failed": "failed with exit code 1"}.get(
        str(ending)
    )
    if told:
        notice = (
            f"<tool-use-id>{id_}</tool-use-id>\n<summary>Background command “x” {told}</summary>"
        )
        yield "user", f"<task-notification>\n{notice}\n</task-notification>"


def decide(sequence: Sequence_, path: str) -> bool:
    """Return True if the hook would hold the line back for a user's rule."""
    settings = read_settings({"CLAUDE_PROJECT_DIR": FOLDER, "HOME": os.path.dirname(path)}, {})
    event = event_of(
        {
            "hook_event_name": "PreToolUse",
            "transcript_path": path,
            "cwd": FOLDER,
            "tool_name": "Bash",
            "tool_input": {"command": sequence.line},
        }
    )
    when = sequence.when
    rule = BoundRule(Record("constraint", "A rule"), bindings_of(when), required_by(when))
    applied = matching.applying([rule], matching.of_command(sequence.line, FOLDER), (FOLDER,))
    return bool(applied and unmet(event, settings, applied, (FOLDER,)))


def time_decisions() -> int:
    """Print the CPU time of decisions behind so many calls without a run, in starts of Python."""
    before = os.times()
    for _ in range(STARTS):
        subprocess.run([sys.executable, "-I", "-S", "-c", "pass"], check=True)
    after = os.times()
    start_s = sum(after[2:4]) - sum(before[2:4])
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "session.jsonl")
        for count in (0, 100, 1000, 3000):
            lines = (f"rg -n foo src | head -{n} && sed -n 1,20p src/a{n}.py" for n in range(count))
            parts = tuple({"command": line, "output": "x" * 2500} for line in lines)
            one = Sequence_("time", "commit, first pytest", parts, "git commit -m x", True)
            write(one, path)
            began = time.process_time()
            for _ in range(STARTS):
                decide(one, path)
            ratio = (time.process_time() - began) / start_s
            print(f"{count:>5,} calls, {os.path.getsize(path) >> 10:>6,} KB: {ratio:.1f} starts")
    return 0


def report(
    counts: dict[str, list[int]], wrong: Sequence[Sequence_], seconds: float, *, quiet: bool
) -> None:
    """Print the figures by shape, and each wrong decision once."""
    missed = sum(one.is_violation for one in wrong)
    for shape, (made, violations, held, mistakes) in counts.items():
        print(f"{shape:<20} {made:>6,} calls {violations:>6,} violations {held:>6,} held", end="")
        print(f" {mistakes:>5,} wrong")
    made, violations, held, _ = counts["all"]
    print(f"violations per 100 calls: {100 * violations / made:.1f} without, ", end="")
    print(f"{100 * missed / made:.2f} with the rules ({missed} not held)")
    false = len(wrong) - missed
    print(f"false holds: {false} of {held:,} held calls ({100 * false / max(1, held):.2f} %)")
    print(f"{1e3 * seconds / made:.2f} ms a call")
    lines = ("" if quiet else text_of(one) for one in wrong)
    for text in dict.fromkeys(filter(None, lines)):
        print(text)


def text_of(one: Sequence_) -> str:
    """Return a wrong decision in one line."""
    kind = "not held" if one.is_violation else "held wrongly"
    before = [str(p.get("command") or p.get("input")) for p in one.parts]
    return f"{kind} [{one.when}] {' … '.join([*before, one.line])}".replace("\n", "\\n")


if __name__ == "__main__":
    sys.exit(main())
