"""What commands with `--json` say of the memory that all written sessions have left.

`tests/goldens/commands.jsonl` has a line for each: its words, exit status and answer. A word that
begins with `id:` stands for the id of the record whose text begins with the rest. They are run in
the order of the file on one memory, so that each sees what those before it have changed, in a
terminal of the person's own.
"""

from __future__ import annotations

import json
import sqlite3
from typing import Any

from command_line import run_here
from replay.hook_runner import TESTS
from replay.sessions import BETWEEN_EVENTS_S, Replay, Step

COMMANDS = TESTS / "goldens" / "commands.jsonl"
# Their values are the machine's: sizes of files, and the times at which the system wrote them.
OF_THE_MACHINE = ("bytes", "written_at")
# Of a check of the installation only its name and area are the product's alone.
OF_A_CHECK = ("name", "area")
DOCTOR = "doctor"


def answered(replay: Replay, line: Step) -> Step:
    """Return the line with what the command answers now."""
    words = [_meant(replay, word) for word in line["words"]]
    replay.clock.advance(BETWEEN_EVENTS_S)
    of_hooks = replay.hooks.environ.items()
    environ = {name: value for name, value in of_hooks if not name.startswith("CLAUDE")}
    done = run_here([*words, "--json"], environ, replay.hooks.project)
    answer: Any = _plain(json.loads(replay.settled(done.out))) if done.out else None
    if words[0] == DOCTOR:
        answer = [{key: check[key] for key in OF_A_CHECK} for check in answer]
        return {"words": line["words"], "answer": answer}
    told = {"error": replay.settled(done.err)} if done.err else {}
    return {"words": line["words"], "status": done.status, "answer": answer, **told}


def _meant(replay: Replay, word: str) -> str:
    what = word.removeprefix("id:")
    if what == word:
        return word
    [path] = replay.hooks.memory.glob("projects/*/graph.db")
    with sqlite3.connect(path) as database:
        query = "SELECT id FROM records WHERE substr(what, 1, ?) = ? ORDER BY seq"
        (id_,) = database.execute(query, (len(what), what)).fetchone()
    database.close()
    return str(id_)[-8:]


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {k: "<of the machine>" if k in OF_THE_MACHINE else _plain(v) for k, v in value.items()}
