"""A year of use: a thousand sessions in five projects, and what memory is worth month by month.

    python3 benchmarks/soak.py                              a table, and benchmarks/soak.json
    python3 benchmarks/soak.py --sessions 20 --out FILE     a small one
    python3 benchmarks/soak.py --histories DIR              other notes, prompts of conversations
    python3 benchmarks/soak.py --keep DIR                   and leave the memories there

workloads/year.py writes the script: it knows which statement holds when. The sessions are those of
one person with two machines (on the second, clones of two projects, whose records travel by git),
of Claude Code in two versions, Codex and Gemini CLI. One project begins with the memory that an
earlier version wrote (tests/hooks/handlers/home_of_5c9b80fb.db.gz). The clock is that of
tests/replay/fixed_clock.py. Of fifty sessions one is answered by the command of hooks.json, the
others by the same dispatcher in this process, as the session's server does it.

A line that is told is *true* if the statement in it holds; else *marked* if the line says so
(`said before` …), *aged* if it only says that it is old (`stale`), else *false*. `start true`
and `MEMORY.md true` are the true lines among true, aged and false ones, over all starts of a month;
`rules told` is the share of the user's rules in force that a start or MEMORY.md told; in the file,
`rules` has the numbers of told ones and of all by client. `x start` and `x prompt` are the
processor time of hooks on a copy of the memory, in the project with most events, in bare starts of
Python in the same run. Sizes are of the first machine, without backups. Needs Python >= 3.11 and
git.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime
from statistics import median
from typing import Any

from processes import interpreter, timed
from replays.hooks import ROOT
from replays.place import OTHERS, Place
from replays.replay import memory_md
from replays.told import block_parts, folded
from workloads.year import USER, Note, Session, Statement, Turn, Year

sys.path.insert(0, os.path.join(ROOT, "tests"))

from replay.fixed_clock import Clock

START = datetime(2025, 12, 1, 8, tzinfo=UTC).timestamp()
FIXTURE = os.path.join(ROOT, "tests", "hooks", "handlers", "home_of_5c9b80fb.db.gz")
BETWEEN_PROMPTS_S, BEFORE_END_S = 180, 30
LAUNCHED = 50
EXAMPLES = 12
MONTHS = 12
MARKS = ("said before", "superseded", "noted otherwise", "contradicts")
# A person answers one notice of three that asks which of two statements holds.
ANSWERED = 3
REPLACES = re.compile(r"`?replace ([0-9a-f]{8})`?")
PROMPT = "Fix the layout of the {} that was changed last week, and tell me what we settled on it."
Row = dict[str, Any]


class Judge:
    """Counts what was told of a project's statements in a month, and how much of it held."""

    def __init__(self) -> None:
        self.lines: dict[str, Counter[str]] = {"start": Counter(), "MEMORY.md": Counter()}
        self.examples: list[list[str]] = []
        self.chars: dict[str, list[int]] = {"start": [], "MEMORY.md": []}
        self.rules: Counter[tuple[str, bool]] = Counter()
        self.false: Counter[str] = Counter()

    def hear(
        self, session: Session, statements: Sequence[Statement], start: str, shown: str
    ) -> None:
        """Take a session's start: the memories of its block, and MEMORY.md."""
        told: set[int] = set()
        for name, text in (("start", start), ("MEMORY.md", shown)):
            self.chars[name].append(len(text))
            for line in text.splitlines():
                if line.startswith("- ["):
                    said = statement_in(line, statements)
                    found = verdict(said, line)
                    self.lines[name][found] += 1
                    told.add(id(said))
                    if found in ("false", "aged") and said:
                        cause = f"{name}: {said.ended} ({said.by})"
                        self.false[cause] += 1
                        self.examples.append([cause, line, said.after])
        rules = (s for s in statements if s.kind == "rule" and s.holds and s.by != "assistant")
        where = "the other machine" if session.machine else session.client
        for rule in (s for s in rules if s.project == session.project):
            self.rules[where, id(rule) in told] += 1


def statement_in(line: str, statements: Sequence[Statement]) -> Statement | None:
    """Return the longest statement whose sentence is in a line."""
    said = folded(line)
    found = [s for s in statements if s.is_in(said)]
    return max(found, key=lambda s: (len(s.text), s.since_s), default=None)


def verdict(said: Statement | None, line: str) -> str:
    """Return true, false, marked, aged or unknown."""
    if said is None:
        return "unknown"
    if said.holds:
        return "true"
    if any(mark in line for mark in MARKS):
        return "marked"
    return "aged" if "stale" in line else "false"


class Soak:
    """The year of one person, and what is measured of it."""

    def __init__(self, folder: str, year: Year, count: int, probes: int) -> None:
        self.year, self.folder, self.count, self.probes = year, folder, count, probes
        clock_file = os.path.join(folder, "clock")
        self.clock = Clock(clock_file, START)
        self.places: dict[tuple[str, int], Place] = {}
        for number, project in enumerate(year.projects):
            for machine in (0, 1) if number >= len(year.projects) - 2 else (0,):
                home = os.path.join(folder, f"machine-{machine}")
                own = os.path.join(folder, f"{number}-{machine}")
                self.places[project, machine] = Place(own, project, home, self.clock, clock_file)
        self.judge, self.now_s = Judge(), [START]
        self.kinds: Counter[str] = Counter()
        self.pushed: dict[str, int] = {}

    def run(self) -> Iterator[Row]:
        """Play the year; yield a row at the end of each month."""
        self._share()
        uninstall = self.clock.install()
        try:
            month = 1
            for session in self.year.sessions():
                while session.number >= month * self.count / MONTHS:
                    yield self.row(month)
                    month += 1
                self._session(session)
            yield self.row(month)
        finally:
            uninstall()

    def _session(self, session: Session) -> None:
        place = self.places[session.project, session.machine]
        place.client = session.client
        place.launched = session.number % LAUNCHED == 0 and session.client not in OTHERS
        self.kinds[session.client] += 1
        place.now_s = max(self.now_s[0] + BETWEEN_PROMPTS_S, session.at_s)
        self._pull(place, session)
        place.start(str(uuid.uuid5(uuid.NAMESPACE_URL, f"session {session.number}")))
        shown = memory_md(place) if session.client not in OTHERS else ""
        begun = place.fire("SessionStart", source="startup")
        memories = block_parts(begun.context).memories
        self.judge.hear(session, self.year.statements, memories, shown)
        self._settle(session, place, begun.notice)
        self._turns(session, place, [begun.context])
        if not session.is_broken_off:
            place.now_s += BEFORE_END_S
            place.fire("SessionEnd", reason="prompt_input_exit")
            place.maintain()
        self._push(place, session)
        self.now_s[0] = place.now_s
        if session.project == self.year.projects[0] and not place.started:
            self._make_older(place)
        place.started += 1

    def _settle(self, session: Session, place: Place, notice: str) -> None:
        """Answer, now and then, a notice that asks which of two statements holds."""
        asked = REPLACES.findall(notice)
        if asked and session.number % ANSWERED == 0:
            place.fire("UserPromptSubmit", prompt=f"replace {asked[0]}")
            self.kinds["contradictions settled"] += 1

    def _turns(self, session: Session, place: Place, told: list[str]) -> None:
        for number, turn in enumerate(self.year.turns(session, self.now_s)):
            place.now_s += BETWEEN_PROMPTS_S
            self.now_s[0] = place.now_s
            if session.is_compacted and number == 1:
                told.append(self._compact(place))
            if turn.forgets:
                id_ = self._id(place, turn.forgets)
                if id_ is None:
                    continue
                place.fire("UserPromptSubmit", prompt=f"forget {id_}")
                continue  # the client asks nobody, and nothing is written
            self._move(place, turn)
            told.append(place.fire("UserPromptSubmit", prompt=turn.prompt).context)
            place.typed(turn.prompt)
            lines = [self._line(place, note, "".join(told)) for note in turn.notes]
            if turn.by_subagent:
                self._subagent(place, turn)
            blocks = [
                *self._work(place, turn),
                {"type": "text", "text": "\n".join(["Done.", "", *lines])},
            ]
            last = place.answer(blocks)
            if not (session.is_broken_off and number == session.turns - 1):
                place.fire("Stop", last_assistant_message=last)

    def _line(self, place: Place, note: Note, told: str) -> str:
        """Return a note that names what it closes by its id, if the session was told it, or by its
        words.
        """
        if note.closes is None:
            return note.text
        id_ = self._id(place, note.closes)
        name = id_ if id_ and id_ in told else note.closes.text
        if note.text.startswith("Dropped:"):
            return note.text.replace("ID", name, 1)
        head, mark, rest = note.text.partition(" From: ")
        return f"{head} Instead of: {name}.{mark}{rest}"

    def _id(self, place: Place, said: Statement) -> str | None:
        """Return the short id of the record in force that has a statement."""
        memory = place.opened()
        try:
            for record in memory.find_records("status = 'active' AND valid_to = ''"):
                if said.is_in(folded(record.what)):
                    return record.id[-8:]
        finally:
            memory.close()
        return None

    def _work(self, place: Place, turn: Turn) -> list[dict[str, Any]]:
        """Return the calls of a turn; changes of files are made."""
        blocks: list[dict[str, Any]] = []
        if turn.command:
            quoted = turn.notes[0].text.split('"')[1]
            failed = {"type": "tool", "name": "Bash", "input": {"command": turn.command}}
            error = f"Error: {quoted}\n1 failed"
            if place.client not in OTHERS:
                called = {"tool_name": "Bash", "tool_input": failed["input"]}
                place.fire("PostToolUseFailure", **called, error=error)
            blocks.append({**failed, "output": error})
        if turn.path:
            path = os.path.join(place.project, turn.path)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "a", encoding="utf-8") as file:
                file.write(f"// {place.now_s}\n")
            edit = {"file_path": path, "old_string": "", "new_string": "//"}
            blocks.append({"type": "tool", "name": "Edit", "input": edit, "output": "updated"})
        if turn.command:
            blocks.append({**failed, "output": "1 passed"})
        return blocks

    def _move(self, place: Place, turn: Turn) -> None:
        old, new = (os.path.join(place.project, name) for name in turn.moves)
        if turn.moves[0] and os.path.isfile(old):
            os.makedirs(os.path.dirname(new), exist_ok=True)
            os.replace(old, new)

    def _subagent(self, place: Place, turn: Turn) -> None:
        if place.client in OTHERS:
            return
        agent = {"agent_id": f"a{place.events}", "agent_type": "general-purpose"}
        task = {
            "description": turn.prompt,
            "prompt": turn.prompt,
            "subagent_type": "general-purpose",
        }
        place.fire("PreToolUse", tool_name="Agent", tool_input=task)
        place.fire("SubagentStart", **agent)
        place.fire("SubagentStop", **agent, last_assistant_message=f"Done.\n\n{turn.by_subagent}")

    def _compact(self, place: Place) -> str:
        if place.client in OTHERS:
            return ""
        self.kinds["compactions"] += 1
        place.fire("PreCompact", trigger="auto")
        summary = "<summary>\n1. Primary Request: go on\n2. Pending: none\n</summary>"
        shown = {"isVisibleInTranscriptOnly": True, "isCompactSummary": True}
        place.write("user", summary, **shown)
        place.fire("PostCompact", compact_summary=summary, trigger="auto")
        return place.fire("SessionStart", source="compact").context

    def _share(self) -> None:
        """Let two machines share projects: a repository each, and `memory-fabric share on`."""
        for project in self.year.projects[-2:]:
            remote = os.path.join(self.folder, f"{project.rpartition('/')[2]}.git")
            subprocess.run(["git", "init", "-q", "--bare", "-b", "main", remote], check=True)
            for machine in (0, 1):
                place = self.places[project, machine]
                place.git("remote", "set-url", "origin", remote)
                place.git("checkout", "-q", "-B", "main")
                if machine == 0:
                    place.git("commit", "-q", "--allow-empty", "-m", "Begin")
                    place.git("push", "-q", "-u", "origin", "main")
                else:
                    place.git("fetch", "-q")
                    place.git("reset", "-q", "--hard", "origin/main")
                    place.git("branch", "-q", "-u", "origin/main")
                os.makedirs(os.path.join(place.project, ".claude"))
                words = [sys.executable, "-m", "memory_fabric.cli", "share", "on"]
                environ = place.environ | {"PYTHONPATH": os.path.join(ROOT, "plugin")}
                subprocess.run(
                    words, cwd=place.project, env=environ, check=True, capture_output=True
                )

    def _pull(self, place: Place, session: Session) -> None:
        """Bring in what the other machine has pushed."""
        if self.pushed.get(session.project, session.machine) != session.machine:
            place.git("add", "-A", ".claude")
            place.git("commit", "-q", "--allow-empty", "-m", "Records")
            place.git("pull", "-q", "--no-rebase", "--no-edit")

    def _push(self, place: Place, session: Session) -> None:
        """Commit and push what this machine has of a shared project."""
        if (session.project, 1) in self.places:
            place.git("add", "-A", ".claude")
            place.git("commit", "-q", "--allow-empty", "-m", "Records")
            place.git("push", "-q")
            self.pushed[session.project] = session.machine

    def _make_older(self, place: Place) -> None:
        """Give a project the memory that an earlier version left."""
        memory = place.opened()
        path = memory.databases()[0].path
        project_dir = os.path.dirname(path)
        memory.close()
        for name in os.listdir(project_dir):
            if name.startswith("graph.db"):
                os.unlink(os.path.join(project_dir, name))
        with gzip.open(FIXTURE) as packed, open(path, "wb") as file:
            shutil.copyfileobj(packed, file)
        with closing(sqlite3.connect(path)) as base:
            for what, trust in base.execute("SELECT what, trust FROM records"):
                by = USER if trust == "user" else "assistant"
                self.year.add(Statement(self.year.projects[0], "fact", what, by, START))

    def row(self, month: int) -> Row:
        """Return the figures at the end of a month, and begin the next."""
        judge, self.judge = self.judge, Judge()
        row: Row = {"month": month, "sessions": sum(p.started for p in self.places.values())}
        row |= self._sizes() | self._records() | self._speeds()
        for name, lines in judge.lines.items():
            judged = lines["true"] + lines["aged"] + lines["false"]
            row[f"{name} true"] = round(lines["true"] / judged, 3) if judged else None
            row[f"{name} lines"] = dict(sorted(lines.items()))
            chars = judge.chars[name]
            row[f"{name} chars"] = round(sum(chars) / len(chars)) if chars else 0
        told = sum(number for (_, is_told), number in judge.rules.items() if is_told)
        row["rules told"] = round(told / judge.rules.total(), 3) if judge.rules else None
        row["rules"] = {
            where: [judge.rules[where, True], judge.rules[where, True] + judge.rules[where, False]]
            for where in sorted({where for where, _ in judge.rules})
        }
        row["false by cause"] = dict(judge.false.most_common())
        row["examples"] = judge.examples[:: 1 + len(judge.examples) // EXAMPLES]
        row["out of time"] = next(iter(self.places.values())).times_out()
        return row

    def _sizes(self) -> Row:
        home = next(iter(self.places.values())).memory
        sizes: Counter[str] = Counter()
        for folder, _, names in os.walk(home):
            for name in names:
                kind = "backups" if "backups" in folder else _FILES.get(name.split("-")[0], "rest")
                sizes[kind] += os.path.getsize(os.path.join(folder, name))
        return {"kB": {kind: round(size / 1000) for kind, size in sorted(sizes.items())}}

    def _records(self) -> Row:
        """Return the number of records by state, over all projects of the first machine."""
        found: Counter[str] = Counter()
        holding = sum(s.holds for s in self.year.statements)
        for (_, machine), place in self.places.items():
            if machine == 0 and place.started:
                memory = place.opened()
                for database in memory.databases():
                    if os.path.basename(database.path) == "graph.db":
                        for name, sql in _COUNTED.items():
                            [count] = database.row(sql) or (0,)
                            found[name] += count
                memory.close()
        return {"records": dict(found), "statements": len(self.year.statements), "holding": holding}

    def _speeds(self) -> Row:
        """Return the cost of a start and a prompt in bare starts, on a copy of one memory."""
        place = max(
            (p for (_, machine), p in self.places.items() if machine == 0), key=lambda p: p.events
        )
        with tempfile.TemporaryDirectory(prefix="memory-fabric-bench-") as folder:
            copy = os.path.join(folder, "fabric")
            shutil.copytree(place.memory, copy)
            environ = place.environ | {"MEMORY_FABRIC_HOME": copy, "CLAUDE_PLUGIN_DATA": place.data}
            launch = [os.path.join(ROOT, "hooks", "launch")]
            ways: dict[str, list[float]] = {"bare": [], "start": [], "prompt": []}
            for run in range(self.probes):
                event = {"session_id": f"probe-{run}", "cwd": place.project, "transcript_path": ""}
                said = {
                    "start": {"hook_event_name": "SessionStart", "source": "startup"},
                    "prompt": {
                        "hook_event_name": "UserPromptSubmit",
                        "prompt": PROMPT.format("list"),
                    },
                }
                for way, seconds in ways.items():
                    words = launch if way in said else [interpreter(), "-I", "-S", "-c", "pass"]
                    data = json.dumps(event | said.get(way, {})).encode()
                    seconds.append(timed(words, environ, data, folder).cpu_seconds)
        return {
            f"x {way}": round(median(ways[way]) / median(ways["bare"]), 1) if ways[way] else None
            for way in ("start", "prompt")
        }


_FILES = {"graph.db": "database", "user.db": "database", "operations.jsonl": "journal"}
_COUNTED = {
    "active": "SELECT count(*) FROM records WHERE status = 'active' AND valid_to = ''",
    "closed": "SELECT count(*) FROM records WHERE valid_to <> ''",
    "candidates": "SELECT count(*) FROM records WHERE status = 'candidate' AND valid_to = ''",
    "said again": "SELECT count(*) FROM records WHERE status = 'candidate' AND valid_to = '' "
    "AND json_extract(body, '$.evidence.again') > 0",
    "contradictions": "SELECT count(*) FROM records AS n, "
    "json_each(n.body, '$.evidence.contradicts') AS c JOIN records AS o ON o.id = c.value "
    "WHERE n.status = 'active' AND n.valid_to = '' "
    "AND o.status = 'active' AND o.valid_to = ''",
    "turns": "SELECT count(*) FROM episodes",
    "operations": "SELECT count(*) FROM operations",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Play the year, print the table and write the figures; 0."""
    options = _options(arguments)
    before, here = dict(os.environ), os.getcwd()
    year = Year(options.histories, options.sessions, START, options.seed)
    folder = options.keep or tempfile.mkdtemp(prefix="memory-fabric-bench-")
    os.makedirs(folder, exist_ok=True)
    rows: list[Row] = []
    try:
        soak = Soak(folder, year, options.sessions, options.probes)
        print(HEAD, flush=True)
        for row in soak.run():
            rows.append(row)
            print(line(row), flush=True)
            write(options, soak, rows)
    finally:
        os.chdir(here)
        os.environ.clear()
        os.environ.update(before)
        if not options.keep:
            shutil.rmtree(folder)
    return 0


def write(options: argparse.Namespace, soak: Soak, rows: Sequence[Row]) -> None:
    """Write the figures of the months so far, and the processor time with that of processes."""
    events = sum(place.events for place in soak.places.values())
    about = {"sessions": options.sessions, "seed": options.seed, "events": events}
    about["processor_s"] = round(sum(os.times()[:4]))
    with open(options.out, "w", encoding="utf-8") as file:
        json.dump(about | {"kinds": dict(soak.kinds), "months": rows}, file, indent=1)
        file.write("\n")


HEAD = (
    "| month | kB | x start | x prompt | start chars | MEMORY.md chars | start true "
    "| MEMORY.md true | rules told | contradictions | candidates | said again | active | closed |\n"
    + "|---" * 14
    + "|"
)


def line(row: Row) -> str:
    """Return a month's line of the table."""
    records = row["records"]
    sizes = sum(size for kind, size in row["kB"].items() if kind != "backups")
    cells = [
        row["month"],
        sizes,
        row["x start"],
        row["x prompt"],
        row["start chars"],
        row["MEMORY.md chars"],
        _share(row["start true"]),
        _share(row["MEMORY.md true"]),
        _share(row["rules told"]),
        *(records[n] for n in ("contradictions", "candidates", "said again", "active", "closed")),
    ]
    return f"| {' | '.join(map(str, cells))} |"


def _share(share: float | None) -> str:
    return "–" if share is None else f"{share:.2f}"


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--sessions", type=int, default=1000, help="of the year (1,000)")
    add("--histories", default=os.path.join(ROOT, "benchmarks", "histories"), metavar="DIR")
    add("--seed", type=int, default=1)
    add("--probes", type=int, default=5, help="starts and prompts that are timed each month (5)")
    add("--out", default=os.path.join(ROOT, "benchmarks", "soak.json"), type=os.path.abspath)
    add("--keep", metavar="DIR", type=os.path.abspath, help="leave the memories there")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
