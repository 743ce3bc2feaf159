"""Ways to tell a session how the one before it ended, printed for people who judge them.

For sessions of recorded conversations (`replays.replay` has their form) that a later session of the
same project followed: (a) the closing words of the last answer with the last prompt, in a line that
every start would tell; (c) what a prompt is told that asks where the work ended. A line of the
output is `{"id", "way", "text", "next_prompt", "end_of_session"}`; the ids say neither project nor
way. It also counts (b), ends after which an `open` note would be asked for: without an answer, in
the midst of the work, or with an answer that says that something still fails.

    PYTHONPATH=plugin .venv/bin/python benchmarks/session_ends.py FILE --out ways.jsonl
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from memory_fabric.capture.stated_causes import admits_failure
from memory_fabric.hooks.session.checkpoint import closing, end_lines
from memory_fabric.text import cut, one_line

Session = Mapping[str, Any]

MAX_PROMPT_CHARS, MAX_CLOSING_CHARS, MAX_SHOWN_CHARS = 160, 300, 1500


def turns_of(session: Session) -> list[tuple[str, str]]:
    """Return the prompts and texts of a session as (role, text); the last text ends its answer."""
    turns: list[tuple[str, str]] = []
    for turn in session["turns"]:
        turns.append(("user", turn["prompt"]))
        texts = [block["text"] for block in turn["blocks"] if block["type"] == "text"]
        turns += [("assistant", text) for text in texts if text.strip()]
    return turns


def followed(sessions: Sequence[Session]) -> list[tuple[Session, Session]]:
    """Return each session with the next one of its project."""
    by_project: dict[str, list[Session]] = {}
    for session in sorted(sessions, key=lambda session: session["when"]):
        by_project.setdefault(session["project"], []).append(session)
    return [pair for some in by_project.values() for pair in pairwise(some)]


def line_of(session: Session) -> str:
    """Return the line of way (a); '' for a session without an answer to its last prompt."""
    role, answer = turns_of(session)[-1]
    if role != "assistant":
        return ""
    turn = session["turns"][-1]
    day = datetime.fromtimestamp(turn.get("at") or session["when"], UTC).date()
    asked = cut(one_line(turn["prompt"]), MAX_PROMPT_CHARS)
    said = closing(answer, MAX_CLOSING_CHARS)
    return f"Last session ({day}): the user: “{asked}”; the assistant: {said}" if said else ""


def asks_for_open(session: Session) -> bool:
    """Return True for an end after which way (b) would ask for an `open` note."""
    role, text = turns_of(session)[-1]
    return role != "assistant" or admits_failure(text) is not False


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("file", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sessions", type=int, default=40, help="sessions drawn")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with gzip.open(arguments.file, "rt", encoding="utf-8") as file:
        pairs = followed([json.loads(line) for line in file])
    drawn = random.Random(arguments.seed)
    chosen = drawn.sample(pairs, min(arguments.sessions, len(pairs)))
    items = []
    for session, later in chosen:
        shown = []
        for turn in session["turns"][-2:]:
            texts = [text for role, text in turns_of({"turns": [turn]}) if role == "assistant"]
            answers = [f"assistant: {cut(text, MAX_SHOWN_CHARS)}" for text in texts[-2:]]
            shown += [f"user: {cut(turn['prompt'], MAX_SHOWN_CHARS)}", *answers]
        beside = {
            "next_prompt": cut(later["turns"][0]["prompt"], MAX_SHOWN_CHARS),
            "end_of_session": shown,
        }
        ways = {"a": line_of(session), "c": "\n".join(end_lines(turns_of(session)))}
        items += [{"way": way, "text": text, **beside} for way, text in ways.items() if text]
    drawn.shuffle(items)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    with arguments.out.open("w", encoding="utf-8") as file:
        for number, item in enumerate(items):
            file.write(json.dumps({"id": f"e{number:03}", **item}, ensure_ascii=False) + "\n")
    open_ends = sum(asks_for_open(session) for session, _ in chosen)
    print(f"{len(chosen)} of {len(pairs)} sessions, {len(items)} texts in {arguments.out}")
    print(f"(b) an open note would be asked for after {open_ends} of {len(chosen)} sessions")


if __name__ == "__main__":
    main()
