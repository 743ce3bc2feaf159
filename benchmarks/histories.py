"""Memory over real conversations: a replay through the hooks, items to judge, and their figures.

    python3 benchmarks/histories.py --data FILE --out DIR [--project NAME]... [--jobs 2]
    python3 benchmarks/histories.py --data FILE --out DIR --loop LOOP     wait for a writer's notes
    python3 benchmarks/histories.py --answer LOOP/PROJECT < NOTES         who calls this each turn
    python3 benchmarks/histories.py --data FILE --out DIR --notes NOTES   replay with notes
    python3 benchmarks/histories.py --out DIR --verdicts FILE... [--points POINTS] [--notes NOTES]

In a loop a language model plays the assistant of a project: `--answer` takes the lines that end the
turn it has printed (none for most) and prints the next, with what the hooks told given all notes so
far; `--last` ends the project early. replays/loop.py has the files. LOOP/PROJECT/notes.jsonl can be
replayed later, and `--loop` with such `--notes` asks only for the turns that they lack. With
`--turns N` a packet has up to N turns, an approximation.

The forms of FILE and NOTES are in replays/replay.py. A note may hold `{id:words}`: the id that a
hook told last on a line with these words; if none did, the run fails and names the line. Notes of
another run may name ids that this one never told: with `--lenient` such a field, or `Dropped:`
line, is left out and printed.

DIR gets `items.jsonl` for judges, who must not see `keys.jsonl`, `run.json` or the folders of
projects (log of all events, records, candidates, entities, relations, MEMORY.md); and
PROJECT.conversation.md, from which one of them lists what was settled before he sees all records
in PROJECT/stored.txt. `--sample N` draws N items of each kind (session records and candidates are
kinds of their own), `--stretches TOKENS` sessions up to this size of conversation: the same
projects and seed draw the same. A loop has only these; else the others are replayed, not judged.

A verdict is `{"id", "verdict"}`: for records, and lines of MEMORY.md, useful, harmless, junk or
misleading (a record that was replaced or dropped says so, and is judged as what it said); for
injections helpful, neutral, noise or harmful; for session starts good, mixed or bad, with
`"misleading": true` for a misleading, stale or empty line; for relations right, weak or wrong; for
cues right or wrong ("On record" must name the record that the prompt is about); for quotations
yes, partly or no: they say what their note says; for prompts with nothing told (kind silence)
missed or fine.

A point is something settled, judged against the records: `{"id", "verdict": "Y" | "P" | "N", "by":
"user" | "assistant", "correction": true}` (on record, in part, not; said by the user, or the
assistant's work and findings; a correction by the user). With `"verdicts": [{"verdict"}]` for its
lines a file of notes also shows the useful notes that are not on record. Needs Python >= 3.11 and
git.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from replays.figures import print_figures
from replays.hooks import ROOT, installed_clock
from replays.items import Items, dump, sampled, write_lines
from replays.loop import Loop, Refused, exchange
from replays.replay import Notes, Replay, Session, picked, read_lines, read_notes
from replays.told import Unresolved

Key = tuple[str, str, int]


def main(argv: Sequence[str] | None = None) -> int:
    """Replay or print figures; 1 if the notes do not fit the conversations."""
    options = _options(argv)
    if options.answer:
        return _answer(options)
    if options.verdicts:
        print_figures(options.out, options.verdicts, options.points, options.notes)
        return 0
    try:
        replay_all(options)
    except Unresolved as error:
        print(f"histories: {error}", file=sys.stderr)
        return 1
    return 0


def _answer(options: argparse.Namespace) -> int:
    """Hand in the notes of standard input, and print the next packet."""
    notes = "" if sys.stdin.isatty() else sys.stdin.read()
    try:
        print(exchange(options.answer, notes, last=options.last))
    except Refused as error:
        print(f"histories: {error}", file=sys.stderr)
        return 1
    return 0


def replay_all(options: argparse.Namespace) -> None:
    """Replay the chosen projects and write what there is to judge; raises Unresolved."""
    everything = list(read_lines(options.data))
    projects = list(dict.fromkeys(s["project"] for s in everything))
    unknown = set(options.project or ()) - set(projects)
    if unknown:
        raise SystemExit(f"not in {options.data}: {', '.join(sorted(unknown))}")
    sessions = {
        project: [s for s in everything if s["project"] == project][: options.sessions_to]
        for project in options.project or projects
    }
    notes = read_notes(options.notes) if options.notes else {}
    _check(notes, everything)
    if not options.clock:
        print("clock: the machine's own; with libfaketime installed, the history's", flush=True)
    whole = [s for s in everything if s["project"] in sessions]
    only = picked(whole, options.stretches, options.seed) if options.stretches else None
    if options.loop and only is not None:
        sessions = {
            project: [s for s in mine if (project, s["path"]) in only]
            for project, mine in sessions.items()
        }
    os.makedirs(options.out, exist_ok=True)

    def run(project: str) -> Items:
        return _project(project, sessions[project], notes, only, options)

    # Projects of a loop wait for their writers, all at once.
    with ThreadPoolExecutor(len(sessions) if options.loop else options.jobs) as pool:
        done = list(pool.map(run, sessions))
    _write(done, options, only)


def _project(
    project: str,
    sessions: Sequence[Session],
    notes: dict[Key, Notes],
    only: set[tuple[str, str]] | None,
    options: argparse.Namespace,
) -> Items:
    began = time.monotonic()
    name = project.replace("/", "+")
    folder = os.path.join(os.path.abspath(options.out), name)
    loop = Loop(os.path.join(options.loop, name), options.turns) if options.loop else None
    replay = Replay(
        folder, project, os.path.abspath(options.plugin), options.clock, lenient=options.lenient
    )
    try:
        _replay(replay, sessions, notes, loop)
    finally:
        if loop:
            loop.end(f"There are no more turns of {project}.")
    dump(replay)
    items = Items(replay, sessions)
    items.build(only)
    with open(os.path.join(options.out, f"{name}.conversation.md"), "w", encoding="utf-8") as file:
        file.write(items.conversation(only))
    took = f"{len(sessions)} sessions in {time.monotonic() - began:.0f} s"
    print(f"{project}: {took}, {items.late} hooks out of time", flush=True)
    return items


def _replay(
    replay: Replay, sessions: Sequence[Session], notes: dict[Key, Notes], loop: Loop | None
) -> None:
    """Replay the sessions; a loop's notes are added to the others until its writer ends it."""
    for number, session in enumerate(sessions):
        if loop and loop.has_ended:
            return
        for place, given in replay.session(number, session, notes):
            if loop and loop.has_ended:
                return
            if loop:
                key = (replay.project, session["path"], place)
                notes[key] = loop.notes(replay, number, session, place, given, notes.get(key))


def _write(
    done: Sequence[Items],
    options: argparse.Namespace,
    only: set[tuple[str, str]] | None,
) -> None:
    items = {id_: item for project in done for id_, item in project.items.items()}
    every = [key for project in done for key in project.keys]
    drawn = sampled(items, every, options.sample, options.seed)
    write_lines(os.path.join(options.out, "items.jsonl"), drawn)
    kept = {item["id"] for item in drawn}
    keys = [{**key, "drawn": key["id"] in kept} for key in every]
    write_lines(os.path.join(options.out, "keys.jsonl"), keys)
    about: dict[str, Any] = {
        "data": os.path.basename(options.data),
        "notes": f"of a loop, {options.turns} turn(s) a packet"
        if options.loop
        else os.path.basename(options.notes or ""),
        "clock": "the history's" if options.clock else "the machine's",
        "sample": options.sample,
        "stretches": options.stretches,
        "seed": options.seed,
        "items": len(items),
        "drawn": len(drawn),
        "late": sum(project.late for project in done),
        "projects": [project.project for project in done],
        "sessions": only and sorted(only),
        "revision": _revision(options.plugin),
    }
    with open(os.path.join(options.out, "run.json"), "w", encoding="utf-8") as file:
        json.dump(about, file, indent=1)
    print(f"items: {len(drawn)} of {len(items)}, seed {options.seed}")


def _check(notes: Mapping[Key, Notes], sessions: Sequence[Session]) -> None:
    """Raise Unresolved for notes of a turn that the conversations do not have."""
    turns = {(s["project"], s["path"]): len(s["turns"]) for s in sessions}
    for (project, path, place), note in notes.items():
        if not 0 <= place < turns.get((project, path), 0):
            raise Unresolved(f"{note.where}: no prompt {place} in {project}, {path}")


def _revision(plugin: str) -> str:
    done = subprocess.run(
        ["git", "-C", plugin, "describe", "--always", "--dirty"],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip()


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add = parser.add_argument
    add("--data", metavar="FILE", help="conversations, one session a line")
    add("--out", metavar="DIR", help="what was stored and told, and items to judge")
    add("--project", action="append", metavar="NAME", help="only this one; may be repeated")
    add("--notes", metavar="FILE", help="lines that the assistant adds to its answers")
    add("--lenient", action="store_true", help="leave out what names an id that was not told")
    add("--loop", metavar="DIR", help="wait for the notes of each turn before the next")
    add("--turns", type=int, default=1, metavar="N", help="turns of a session in a loop's packet")
    add("--answer", metavar="DIR", help="hand in the notes of a loop's packet, print the next")
    add("--last", action="store_true", help="… and end that project's loop")
    add("--sessions-to", type=int, metavar="N", help="stop before this session of each project")
    add("--stretches", type=int, default=0, metavar="TOKENS", help="draw sessions up to this size")
    add("--sample", type=int, default=0, metavar="N", help="draw so many items of each kind")
    add("--seed", type=int, default=0)
    add("--jobs", type=int, default=2, help="projects at a time")
    add("--plugin", default=ROOT, metavar="DIR", help="another checkout of the plugin")
    add("--clock", default=installed_clock(), metavar="FILE", help="libfaketime, if elsewhere")
    add("--verdicts", nargs="+", metavar="FILE", help="print the figures of a judged run")
    add("--points", metavar="FILE", help="settled points, judged against the records")
    options = parser.parse_args(argv)
    if not options.answer and not (options.out and (options.data or options.verdicts)):
        parser.error("--out is needed with --data for a replay or --verdicts for figures")
    return options


if __name__ == "__main__":
    sys.exit(main())
