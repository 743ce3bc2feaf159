"""Figures of a judged replay: what was stored and told was worth, what was missed, what it cost."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from replays.items import APART, is_closed
from replays.replay import read_lines
from replays.told import block_parts, covered, cues_of, folded, memories_of, words_of
from scoring import mean, wilson

STORED = ("useful", "harmless", "junk", "misleading")
GRADES = {
    "memory_md": STORED,
    "injection": ("helpful", "neutral", "noise", "harmful"),
    "session_start": ("good", "mixed", "bad"),
    "relation": ("right", "weak", "wrong"),
    "cue": ("right", "wrong"),
    "quotation": ("yes", "partly", "no"),
    "silence": ("missed", "fine"),
}
TITLES = {
    "memory_md": "lines in MEMORY.md",
    "injection": "injections on prompts",
    "session_start": "session starts",
    "relation": "relations",
    "cue": "cues",
    "quotation": "quotations that say their note",
    "silence": "prompts with nothing told",
}
# Verdicts that are also counted together.
BAD = ("junk", "misleading")
POINTS = {"Y": "on record", "P": "in part", "N": "not on record"}
NOTED = re.compile(r"^\W*Noted \w+\W*:\**\s*(.*)$")
FIELD = re.compile(r"\b(?:Why|Instead of|When|For|From|Also):")
# A note is on record when a record has nearly all words of its sentence.
SAME_WORDS = 0.8

Row = Mapping[str, Any]


class Share(NamedTuple):
    """So many of a number, e.g. useful ones of judged ones."""

    hits: int
    total: int

    def __str__(self) -> str:
        low, high = wilson(self.hits, self.total)
        shown = f"{self.hits / self.total:.2f}" if self.total else "–"
        return f"{shown} ({self.hits} of {self.total}; {low:.2f}–{high:.2f})"


def print_figures(out: str, verdicts: Sequence[str], points: str | None, notes: str | None) -> None:
    """Print every figure that the run's files and the verdicts allow."""
    with open(os.path.join(out, "run.json"), encoding="utf-8") as file:
        run = json.load(file)
    said = [one for path in verdicts for one in read_lines(path)]
    judged = verdicts_of(said)
    keys = [key for key in read_lines(os.path.join(out, "keys.jsonl")) if key["drawn"]]
    check(judged, keys)
    missing = sum(key["id"] not in judged for key in keys)
    print(f"{run['data']}, revision {run['revision']}, notes: {run['notes'] or 'none'}")
    print(f"clock: {run['clock']}; {run['late']} hooks ran out of time")
    drawn = f"{run['drawn']} of {run['items']} items drawn, seed {run['seed']}"
    print(f"{drawn}; {missing} of {len(keys)} without a verdict; 95 % intervals by Wilson")
    for title, share in worth(keys, judged):
        print(f"{title:<44}{share}")
    starts = {key["id"] for key in keys if key["kind"] == "session_start"}.intersection(judged)
    misled = sum(one["id"] in starts and bool(one.get("misleading")) for one in said)
    print(f"{'session starts with a misleading line':<44}{Share(misled, len(starts))}")
    languages = sorted({key["language"] for key in keys} - {""})
    for language in languages if len(languages) > 1 else ():
        mine = [key for key in keys if key["language"] == language]
        for title, share in worth(mine, judged, parts=False):
            print(f"{f'{language}: {title}':<44}{share}")
    for title, share in recall(read_lines(points) if points else ()):
        print(f"{title:<44}{share}")
    projects = project_folders(out)
    records = {name: list(read_lines(f"{path}/records.jsonl")) for name, path in projects.items()}
    closed = [row for rows in records.values() for row in rows if is_closed(row)]
    print(f"{'records replaced or dropped':<44}{len(closed)}")
    if notes:
        print_lost(list(read_lines(notes)), records)
    only = run["sessions"] and {(project, path) for project, path in run["sessions"]}
    logs = {name: list(read_lines(f"{path}/log.jsonl")) for name, path in projects.items()}
    for title, figure in cost(logs, only):
        print(f"{title:<44}{figure}")


def verdicts_of(said: Iterable[Row]) -> dict[str, str]:
    """Return the verdict of each id; raises SystemExit for two different ones."""
    judged: dict[str, str] = {}
    for one in said:
        if judged.setdefault(one["id"], one["verdict"]) != one["verdict"]:
            raise SystemExit(f"two verdicts on {one['id']}")
    return judged


def check(judged: Mapping[str, str], keys: Iterable[Row]) -> None:
    """Raise SystemExit for a verdict that its kind of item cannot have."""
    for key in keys:
        verdict = judged.get(key["id"])
        if verdict is not None and verdict not in GRADES.get(key["kind"], STORED):
            raise SystemExit(f"“{verdict}” is no verdict on a {key['kind']} ({key['id']})")


def worth(
    keys: Sequence[Row], judged: Mapping[str, str], *, parts: bool = True
) -> Iterator[tuple[str, Share]]:
    """Yield the share of each verdict for each kind, and for its `parts` by source and type."""
    records = [key for key in keys if key["kind"] == "record"]
    stored = [key for key in records if key["source"] not in APART]
    yield from _shares("stored records", stored, judged, STORED)
    bad = [judged[key["id"]] in BAD for key in stored if key["id"] in judged]
    if stored:
        yield "stored records, junk or misleading", Share(sum(bad), len(bad))
    for name, words in (("source", "from"), ("type", "of type")) if parts else ():
        yield from _parts(name, words, stored, judged, STORED)
    for source in APART:
        mine = [key for key in records if key["source"] == source]
        yield from _shares(f"{source} records", mine, judged, STORED)
    for kind, grades in GRADES.items():
        mine = [key for key in keys if key["kind"] == kind]
        yield from _shares(TITLES[kind], mine, judged, grades)
        if parts and kind == "cue":
            yield from _parts("source", "of", mine, judged, grades)
        if parts and kind == "relation":
            yield from _parts("type", "of", mine, judged, grades)
        if parts and kind == "quotation":
            honest = [key for key in mine if judged.get(key["id"]) == "yes"]
            if honest:
                found = sum(key["was_found"] for key in honest)
                yield "… honest ones that were found", Share(found, len(honest))


def recall(points: Iterable[Row]) -> Iterator[tuple[str, Share]]:
    """Yield the shares of settled points, and of users' corrections, that are on record."""
    judged = list(points)
    groups = {
        "settled points": judged,
        "… said by the user": [point for point in judged if point.get("by") == "user"],
        "… work and findings": [point for point in judged if point.get("by") == "assistant"],
        "users' corrections": [point for point in judged if point.get("correction")],
    }
    for title, mine in groups.items():
        counted = Counter(point["verdict"] for point in mine)
        if set(counted) - set(POINTS):
            raise SystemExit(f"a point's verdict is Y, P or N, not {sorted(counted)}")
        for grade, name in POINTS.items():
            if mine:
                yield f"{title} {name}", Share(counted[grade], len(mine))


def print_lost(entries: Sequence[Row], records: Mapping[str, Sequence[Row]]) -> None:
    """Print the share of useful notes that are not on record, and which ones."""
    entries = [entry for entry in entries if entry["project"] in records]
    useful = [(entry["project"], text) for entry in entries for text in useful_notes(entry)]
    gone = [(p, text) for p, text in useful if not on_record(text, records[p])]
    print(f"{'useful notes that are not on record':<44}{Share(len(gone), len(useful))}")
    for project, text in gone:
        print(f"  {project}: {text[:100]}")


def useful_notes(entry: Row) -> list[str]:
    """Return the sentences of an answer's notes that were judged useful."""
    lines, verdicts = entry["lines"], entry.get("verdicts", ())
    pairs = zip(lines, verdicts, strict=False)
    useful = [line for line, verdict in pairs if verdict["verdict"] == "useful"]
    return [text for text in map(sentence, useful) if text]


def sentence(line: str) -> str:
    """Return what a note line says, without its fields; '' if it is no note."""
    match = NOTED.match(line)
    return FIELD.split(match[1])[0].strip() if match else ""


def on_record(text: str, records: Iterable[Row]) -> bool:
    """Return True if a record that is no candidate says nearly all of a sentence."""
    said = (f"{r['what']} {r['why']}" for r in records if r["status"] != "candidate")
    return any(
        folded(text) in folded(one) or covered(text, words_of(one)) >= SAME_WORDS for one in said
    )


def cost(
    logs: Mapping[str, Sequence[Row]], only: set[tuple[str, str]] | None = None
) -> Iterator[tuple[str, str]]:
    """Yield characters for each session, and the shares of prompts with cues, turns with notes."""
    events = [
        (project, event)
        for project, log in logs.items()
        for event in log
        if only is None or (project, event["path"]) in only
    ]
    sessions: dict[tuple[str, int], Counter[str]] = {}
    for project, event in events:
        spent = sessions.setdefault((project, event["number"]), Counter())
        if event["event"] == "SessionStart":
            spent.update({k: len(v) for k, v in block_parts(event["context"])._asdict().items()})
        if event["event"] == "UserPromptSubmit":
            spent["cues"] += len(cues_of(event["context"]))
            spent["additions to prompts"] += len(event["context"])
        spent["notes"] += sum(map(len, event.get("lines", ())))
    parts = ("memories", "debt", "protocol", "cues", "additions to prompts", "notes")
    spent_of = [{**dict(one), "fixed": one["debt"] + one["protocol"]} for one in sessions.values()]
    for part in (*parts, "fixed"):
        sizes = [one.get(part, 0) for one in spent_of]
        title = "protocol and debt" if part == "fixed" else part
        most = max(sizes, default=0)
        yield f"characters a session: {title}", f"{mean(sizes):,.0f} mean, {most:,} most"
    prompts = [event for _, event in events if event["event"] == "UserPromptSubmit"]
    turns = [event for _, event in events if event["event"] == "Stop"]
    told = sum(bool(memories_of(event["context"])) for event in prompts)
    yield "prompts with an injection", str(Share(told, len(prompts)))
    yield "prompts with a cue", str(Share(sum(map(_cued, prompts)), len(prompts)))
    yield "turns with a note", str(Share(sum(map(_noted, turns)), len(turns)))


def project_folders(out: str) -> dict[str, str]:
    """Return the folder of each replayed project by the project's name."""
    with open(os.path.join(out, "run.json"), encoding="utf-8") as file:
        names = json.load(file)["projects"]
    return {name: os.path.join(out, name.replace("/", "+")) for name in names}


def _parts(
    name: str, words: str, keys: Sequence[Row], judged: Mapping[str, str], grades: Sequence[str]
) -> Iterator[tuple[str, Share]]:
    """Yield the shares of the keys with each value of a field."""
    for value in sorted({key[name] for key in keys}):
        mine = [key for key in keys if key[name] == value]
        yield from _shares(f"… {words} {value}", mine, judged, grades)


def _shares(
    title: str, keys: Sequence[Row], judged: Mapping[str, str], grades: Sequence[str]
) -> Iterator[tuple[str, Share]]:
    counted = Counter(judged[key["id"]] for key in keys if key["id"] in judged)
    for grade in grades:
        if keys:
            yield f"{title}, {grade}", Share(counted[grade], counted.total())


def _cued(event: Row) -> bool:
    return bool(cues_of(event["context"]))


def _noted(event: Row) -> bool:
    return bool(event.get("lines"))
