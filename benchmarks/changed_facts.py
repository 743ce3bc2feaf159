"""Measure what is told of a fact whose value changed, where the newer note does not name the older.

    .venv/bin/python benchmarks/changed_facts.py
    .venv/bin/python benchmarks/changed_facts.py --json
    .venv/bin/python benchmarks/changed_facts.py --plugin CLONE     another version
    .venv/bin/python benchmarks/changed_facts.py --out FILE         also what was told of each

Pairs in English, Spanish, French and German (workloads/value_pairs.py). All older statements are
made in sessions of one memory, then all newer ones, through the commands of hooks.json: as notes of
the assistant, or typed by the user ("Decision: …", in the language of the fact). A later session is
told something at its start, in MEMORY.md, with a prompt on each fact, and answers `recall`. `wrong`
is the share of facts of which a channel tells the older statement without the newer one, before it,
or without a mark. Additive pairs both hold: `marked` is the number of those that are said to
contradict each other.

Needs git and the packages of `scripts/prepare venv`.
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import sys
import tempfile
import uuid
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from replays.hooks import ROOT, Hooks
from replays.told import block_parts, memories_of
from workloads.value_pairs import ADDITIVE, CHANGED, Changed

NOTES_PER_TURN = 5
MARKS = ("said before", "superseded", "noted otherwise", "contradicts")
CHANNELS = ("start", "MEMORY.md", "prompt", "recall")
OPENINGS = {
    "English": "Decision: ",
    "Spanish": "Decisión: ",
    "French": "Décision : ",
    "German": "Entscheidung: ",
}
BY_ASSISTANT, BY_USER = "noted by the assistant", "stated by the user"


class Row(NamedTuple):
    """A line of the table: how many facts a channel tells in newer and older form, and wrongly."""

    name: str
    facts: int
    new: int
    old: int
    wrong: int


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table, or the report as JSON; 0."""
    options = _options(arguments)
    told = {name: run(name, options.plugin) for name in (BY_ASSISTANT, BY_USER)}
    rows = [row(f"{name}: {c}", told[name], c) for name in told for c in CHANNELS]
    marked = marked_pairs(options.plugin)
    if options.out:
        with open(options.out, "w", encoding="utf-8") as file:
            json.dump({"told": told, "marked": marked}, file, indent=1, ensure_ascii=False)
    if options.json:
        found = {"rows": [one._asdict() for one in rows], "pairs": len(ADDITIVE)}
        print(json.dumps(found | {"marked": len(marked)}, indent=1))
        return 0
    print("| | facts | newer told | older told | wrong |")
    print("|---|---|---|---|---|")
    for one in rows:
        print(f"| {one.name} | {one.facts} | {one.new} | {one.old} | {one.wrong / one.facts:.2f} |")
    print(f"\nadditive pairs: {len(ADDITIVE)}, marked: {len(marked)}")
    return 0


def run(name: str, plugin: str = ROOT) -> list[dict[str, str]]:
    """Store the older statements, then the newer ones; return what each channel tells of a fact."""
    with tempfile.TemporaryDirectory(prefix="memory-fabric-bench-") as folder:
        hooks = Hooks(folder, "acme/facts", plugin)
        opening = OPENINGS if name == BY_USER else {}
        for said in ("old", "new"):
            texts = [f"{opening.get(one.language, '')}{getattr(one, said)}" for one in CHANGED]
            _store(hooks, name, texts)
        hooks.start("later")
        start = block_parts(hooks.fire("SessionStart", source="startup").context).memories
        shown = "".join(map(_contents, hooks.memory_files()))
        return [
            {
                "start": start,
                "MEMORY.md": shown,
                "prompt": memories_of(hooks.fire("UserPromptSubmit", prompt=one.prompt).context),
                "recall": _recalled(hooks, one.prompt),
            }
            for one in CHANGED
        ]


def _is_told(statement: str, line: str) -> bool:
    return statement.casefold() in line.casefold()


def row(name: str, told: Sequence[Mapping[str, str]], channel: str) -> Row:
    """Return the table's line of a channel."""
    lines = [(one, found[channel].splitlines()) for one, found in zip(CHANGED, told, strict=True)]
    return Row(
        name,
        len(lines),
        sum(any(_is_told(one.new, line) for line in some) for one, some in lines),
        sum(any(_is_told(one.old, line) for line in some) for one, some in lines),
        sum(is_wrong(one, some) for one, some in lines),
    )


def is_wrong(fact: Changed, lines: Sequence[str]) -> bool:
    """Return True if lines tell the older statement alone, first, or without a mark."""
    old = [place for place, line in enumerate(lines) if _is_told(fact.old, line)]
    new = [place for place, line in enumerate(lines) if _is_told(fact.new, line)]
    if not old:
        return False
    return not new or old[0] < new[0] or any(is_unmarked(lines[place]) for place in old)


def is_unmarked(line: str) -> bool:
    """Return True if a line has no mark that its memory is the older one."""
    return not any(mark in line for mark in MARKS)


def marked_pairs(plugin: str = ROOT) -> list[tuple[str, str]]:
    """Note both of each additive pair; return the pairs of which one is said to contradict one."""
    with tempfile.TemporaryDirectory(prefix="memory-fabric-bench-") as folder:
        hooks = Hooks(folder, "acme/pairs", plugin)
        _store(hooks, BY_ASSISTANT, list(dict.fromkeys(x for pair in ADDITIVE for x in pair)))
        rows = [row for path in hooks.databases() for row in _records(path)]
    texts = {id_: what for id_, what, _ in rows}
    against = {(what, texts.get(id_, "")) for _, what, ids in rows for id_ in ids}
    return sorted(against)


def _store(hooks: Hooks, name: str, texts: Sequence[str]) -> None:
    """Let sessions state these, a few in each."""
    for first in range(0, len(texts), NOTES_PER_TURN):
        hooks.start(str(uuid.uuid4()))
        hooks.fire("SessionStart", source="startup")
        some = texts[first : first + NOTES_PER_TURN]
        if name == BY_USER:
            for text in some:
                _turn(hooks, f"{text}.", "I will.")
        else:
            notes = [f"Noted fact: {text}." for text in some]
            _turn(hooks, "Please go on.", "\n".join(("Done.", "", *notes)))
        hooks.fire("SessionEnd", reason="prompt_input_exit")


def _turn(hooks: Hooks, prompt: str, answer: str) -> None:
    hooks.fire("UserPromptSubmit", prompt=prompt)
    hooks.write("user", prompt, promptSource="typed", turnOrigin="human")
    last = hooks.answer([{"type": "text", "text": answer}])
    hooks.fire("Stop", last_assistant_message=last)


def _records(path: str) -> list[tuple[str, str, list[str]]]:
    """Return the records of a database: id, text, ids of what they contradict."""
    connection = sqlite3.connect(path)
    rows = connection.execute("SELECT id, what, body FROM records").fetchall()
    connection.close()
    return [(id_, what, json.loads(b)["evidence"].get("contradicts", [])) for id_, what, b in rows]


def _recalled(hooks: Hooks, question: str) -> str:
    """Return a line for each result of recall but accounts of whole sessions, with its mark."""
    lines = []
    for found in json.loads(hooks.command("recall", "--json", question))["results"]:
        about = found["metadata"]
        if about.get("type") == "session":
            continue
        marks = [m for m in MARKS if about.get(m.replace(" ", "_")) or about.get(f"{m}_by")]
        lines.append(f"{found['text']} {' '.join(marks)}")
    return "\n".join(lines)


def _contents(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--plugin", type=os.path.abspath, default=ROOT)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--out", type=os.path.abspath, help="also what was told of each")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
