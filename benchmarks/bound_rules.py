"""Bound rules over real tool calls: what is held back, and is each of these calls meant?

    python3 benchmarks/bound_rules.py --data FILE               counts, and every call held back
    python3 benchmarks/bound_rules.py --data FILE --passed      also calls that name a rule and pass

FILE is a file of histories as benchmarks/histories.py reads it. All its shell commands and changes
of files are compared with two sets of rules, as the hook does: those of the kept notes
(benchmarks/histories/notes.jsonl) that have `When:`, in their own project; and a list of general
rules, in every project. A rule that is told holds back its first call of a session, one that asks
or denies each. The time is that of the comparison alone. Whether a call is meant is for the reader
to say: it is printed with its rule.
Needs Python >= 3.11 and nothing else.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "plugin"))

from memory_fabric.capture.notes.grammar import parse  # noqa: E402
from memory_fabric.models import Record  # noqa: E402
from memory_fabric.rules import matching  # noqa: E402
from memory_fabric.rules.bindings import COMMAND, bindings_of  # noqa: E402
from memory_fabric.rules.matching import BoundRule, applying  # noqa: E402

NOTES = os.path.join(ROOT, "benchmarks", "histories", "notes.jsonl")
KINDS = {"rule": "constraint", "preference": "preference", "decision": "decision"}
# A folder that stands for the project's.
FOLDER = "/project"
GENERAL = (
    ("npm run dev", "Never start the dev server; the user runs it himself"),
    ("npm run build", "The build is run by the user"),
    ("npm test", "Tests are run before anything else"),
    ("npm install <package>", "No package is added without a reason"),
    ("git push", "Pushes wait for a review"),
    ("git push --force", "Never force a push"),
    ("git reset --hard", "Work of others is not thrown away"),
    ("rm -rf", "Nothing is removed without asking"),
    ("docker compose up", "The containers are started by the user"),
    ("curl", "Requests go through the client"),
    ("commit", "Commits have one subject"),
    ("deploy", "Deploys are announced"),
    ("test", "Tests run on a copy of the data"),
    ("migration", "Migrations can be reversed"),
    ("adding a dependency", "Dependencies are pinned"),
    ("starting the dev server", "The dev server has its own port"),
    ("build", "Builds are made in the container"),
    ("release", "Releases have a changelog"),
    ("src/**", "The code is formatted"),
    ("src/api/**", "Handlers return problem+json"),
    ("docs/**", "Documents are short"),
    ("*.sql", "Statements are in capitals"),
    ("package.json", "Dependencies are pinned"),
    ("*.md", "Lines have at most 100 characters"),
)
MAX_SHOWN = 150


class Call(NamedTuple):
    """One tool call of a history."""

    project: str
    session: str
    tool: str
    given: dict[str, object]


class Held(NamedTuple):
    """A call that a rule means: `first` is False for repetitions in its session."""

    rule: BoundRule
    call: Call
    binding: str
    part: str
    first: bool


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures of both sets of rules."""
    options = _options(arguments)
    calls = list(calls_of(options.data))
    commands = sum(call.tool == matching.SHELL_TOOL for call in calls)
    projects = len({call.project for call in calls})
    print(
        f"{commands:,} commands and {len(calls) - commands:,} changes of files, {projects} projects"
    )
    for name, rules in (("kept notes", noted()), ("general rules", general(calls))):
        began = time.perf_counter()
        held = list(held_back(rules, calls))
        seconds = time.perf_counter() - began
        report(name, rules, held, calls, seconds, options)
    return 0


def calls_of(path: str) -> Iterator[Call]:
    """Yield the commands and changes of files of a file of histories, in its order."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            session: dict[str, Any] = json.loads(line)
            for turn in session["turns"]:
                for block in turn["blocks"]:
                    tool, given = block.get("name"), block.get("input") or {}
                    if tool == matching.SHELL_TOOL or tool in matching.FILE_TOOLS:
                        yield Call(session["project"], session["path"], tool, given)


def noted() -> dict[str, list[BoundRule]]:
    """Return by project the notes that bind something, as rules of the user."""
    found: dict[str, list[BoundRule]] = {}
    with open(NOTES, encoding="utf-8") as file:
        for line in file:
            entry = json.loads(line)
            for note in parse("\n".join(entry["lines"])).notes:
                bindings = bindings_of(note.when)
                if note.kind in KINDS and bindings:
                    record = Record(KINDS[note.kind], note.text, trust="user")
                    found.setdefault(entry["project"], []).append(BoundRule(record, bindings))
    return found


def general(calls: Sequence[Call]) -> dict[str, list[BoundRule]]:
    """Return the general rules for every project."""
    rules = [BoundRule(Record("constraint", said), bindings_of(when)) for when, said in GENERAL]
    return {call.project: rules for call in calls}


def held_back(rules: dict[str, list[BoundRule]], calls: Sequence[Call]) -> Iterator[Held]:
    """Yield every call that a rule of its project means."""
    seen: set[tuple[str, str, int]] = set()
    for call in calls:
        action = matching.action_of(call.tool, call.given, FOLDER)
        for rule in rules.get(call.project, ()):
            for one in applying([rule], action, (FOLDER,)):
                key = (call.project, call.session, id(rule))
                yield Held(rule, call, one.binding.text, one.part, key not in seen)
                seen.add(key)


def report(
    name: str,
    rules: dict[str, list[BoundRule]],
    held: Sequence[Held],
    calls: Sequence[Call],
    seconds: float,
    options: argparse.Namespace,
) -> None:
    """Print the figures of one set of rules, and each call held back."""
    distinct = {id(rule) for listed in rules.values() for rule in listed}
    first = sum(one.first for one in held)
    compared = sum(call.project in rules for call in calls)
    print(f"\n## {name}: {len(distinct)} rules, {compared:,} calls compared")
    print(f"{len(held):,} calls are meant; {first:,} of them are the first of their session")
    print(f"{seconds / max(1, compared) * 1e6:.0f} µs a call")
    for rule in {id(one.rule): one.rule for one in held}.values():
        mine = [one for one in held if one.rule is rule]
        print(f"\n{rule.record.what}  [{', '.join(b.text for b in rule.bindings)}]: {len(mine)}")
        for text in dict.fromkeys(f"{one.call.tool}: {_shown(one)}" for one in mine):
            print(f"    {text}")
    if options.passed:
        print("\ncalls that hold the words of a rule's command and pass")
        for text in dict.fromkeys(_passed(rules, held, calls)):
            print(f"    {text}")


def _shown(one: Held) -> str:
    part = " ".join(one.part.split()).removeprefix(FOLDER + "/")
    return part if len(part) <= MAX_SHOWN else part[:MAX_SHOWN] + " …"


def _passed(
    rules: dict[str, list[BoundRule]], held: Sequence[Held], calls: Sequence[Call]
) -> Iterator[str]:
    meant = {(id(one.rule), id(one.call)) for one in held}
    for call in calls:
        line = " ".join(str(call.given.get("command", "")).split())
        for rule in rules.get(call.project, ()):
            named = [b.text for b in rule.bindings if b.kind == COMMAND and b.text in line]
            if named and (id(rule), id(call)) not in meant:
                at = max(0, line.find(named[0]) - 60)
                yield f"[{named[0]}] … {line[at : at + MAX_SHOWN]}"


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", required=True, help="a gzipped file of histories")
    parser.add_argument("--passed", action="store_true", help="also list calls that are let pass")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
