"""Measure what is told where memory has no answer, an old one, a contrary or a neighbouring one.

    python3 benchmarks/harm.py
    python3 benchmarks/harm.py --json
    python3 benchmarks/harm.py --out FILE      also each prompt with what it was told

Five sets of 40 rules and facts (harm_sets.py), each in a memory of its own, stored as notes of the
assistant and asked for in a later session, through the commands of hooks.json:

- present: the record is about what the prompt works on; `right` is the share that is told, at the
  session's start or with the prompt.
- absent: memory has 40 records on other things; `wrong` is the share of prompts that are told any.
- adjacent: memory has a record on a thing of nearly the same name; `wrong` as above.
- superseded: a second note replaced the first; `right` is the share of prompts that are told the
  newer one, `wrong` the share that are told the older one without a mark that it is replaced.
- contradictory: the prompt asks for what the record rejects; `right` is the share that is told so,
  marked.

Needs Python >= 3.11 and git.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from replays.hooks import Hooks
from replays.told import block_parts, memories_of
from workloads.harm_sets import CASES, Case

NOTES_PER_TURN = 5
MARK_OF_CONFLICT, MARK_OF_REPLACED = "contradicts this prompt", "superseded"


class Told(NamedTuple):
    """A prompt, what it was told, and whether that was right or wrong."""

    prompt: str
    told: str
    right: bool
    wrong: bool


class Row(NamedTuple):
    """A line of the table; shares from 0 to 1, None where the set cannot tell."""

    name: str
    prompts: int
    right: float | None
    wrong: float | None
    silent: float
    chars: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table, or the report as JSON; 0."""
    options = _options(arguments)
    found = {name: list(run(name)) for name in options.sets}
    rows = [row(name, told) for name, told in found.items()]
    if options.out:
        with open(options.out, "w", encoding="utf-8") as file:
            json.dump({n: [t._asdict() for t in told] for n, told in found.items()}, file, indent=1)
    if options.json:
        print(json.dumps([one._asdict() for one in rows], indent=1))
        return 0
    print("| | prompts | right | wrong | told nothing | characters |")
    print("|---|---|---|---|---|---|")
    for one in rows:
        shares = [_percent(share) for share in (one.right, one.wrong, one.silent)]
        print(f"| {one.name} | {one.prompts} | {' | '.join(shares)} | {one.chars:.0f} |")
    return 0


def run(name: str) -> Iterator[Told]:
    """Store the notes of a set in a memory of its own and yield what each prompt was told."""
    with tempfile.TemporaryDirectory(prefix="memory-fabric-bench-") as folder:
        hooks = Hooks(folder, f"shop/{name}")
        _note(hooks, [case.older for case in CASES] if name == "superseded" else [])
        _note(hooks, [case.note(name) for case in CASES])
        hooks.start("later")
        start = block_parts(hooks.fire("SessionStart", source="startup").context).memories
        known = start
        for case in CASES:
            prompt = case.prompt(name)
            told = memories_of(hooks.fire("UserPromptSubmit", prompt=prompt).context)
            known += f"\n{told}"
            yield Told(prompt, told, *_judged(name, case, known, told))


def row(name: str, told: Sequence[Told]) -> Row:
    """Return the table's line of a set."""
    has_answer = name not in ("absent", "adjacent")
    return Row(
        name=name,
        prompts=len(told),
        right=_share([one.right for one in told]) if has_answer else None,
        wrong=_share([one.wrong for one in told]),
        silent=_share([not one.told for one in told]),
        chars=sum(len(one.told) for one in told) / len(told),
    )


def _judged(name: str, case: Case, known: str, told: str) -> tuple[bool, bool]:
    """Return whether the right thing was told, and whether a wrong one was."""
    lines = told.splitlines()
    if name in ("absent", "adjacent"):
        return False, any(line.startswith("- ") for line in lines)
    if name == "superseded":
        old = [x for x in known.splitlines() if case.statement(case.old) in x]
        return case.statement(case.new) in known, any(MARK_OF_REPLACED not in x for x in old)
    if name == "contradictory":
        marked = [line for line in lines if MARK_OF_CONFLICT in line]
        return any(case.new in line for line in marked), any(
            case.new not in line for line in marked
        )
    return case.statement(case.new) in known, False


def _note(hooks: Hooks, notes: Sequence[str]) -> None:
    """Let the assistant end turns with these notes, a few each, in a session of their own."""
    for first in range(0, len(notes), NOTES_PER_TURN):
        hooks.start(str(uuid.uuid4()))
        hooks.fire("SessionStart", source="startup")
        hooks.fire("UserPromptSubmit", prompt="Please go on.")
        hooks.write("user", "Please go on.", promptSource="typed", turnOrigin="human")
        lines = notes[first : first + NOTES_PER_TURN]
        last = hooks.answer([{"type": "text", "text": "\n".join(("Done.", "", *lines))}])
        hooks.fire("Stop", last_assistant_message=last)


def _share(found: Sequence[bool]) -> float:
    return sum(found) / len(found)


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.0f} %"


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    sets = ("present", "absent", "adjacent", "superseded", "contradictory")
    parser.add_argument("--sets", nargs="+", choices=sets, default=sets)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--out", type=os.path.abspath, help="each prompt with what it was told")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
