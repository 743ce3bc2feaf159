"""The words with which benchmarks/large.py runs each command of the registry."""

from __future__ import annotations

import glob
import json
import os
import sqlite3
from collections.abc import Mapping
from typing import NamedTuple

# Commands without a row, and why.
LEFT_OUT = {
    "serve": "it runs until Ctrl-C; benchmarks/serve.py measures its answers, a row its keys",
    "semantic": "`semantic on` downloads a model; a row shows its state",
    "team": "joining needs a server; benchmarks/team.py measures the exchange, a row its state",
    "demo": "it works in a home of its own, whatever the store holds",
}
# As the shell asks for the words that may follow.
COMPLETING = {
    "_MEMORY_FABRIC_COMPLETE": "complete_bash",
    "COMP_WORDS": "memory-fabric\nrec",
    "COMP_CWORD": "1",
}
INITIALIZE = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {}}
QUESTION = "how are timeouts of the scheduler handled when the connection is closed"


class Run(NamedTuple):
    """One row: its label, the words after `memory-fabric`, standard input, exit codes, variables.

    One that `changes` the memory is run once; the others as often as asked, and the middle counts.
    """

    label: str
    words: tuple[str, ...]
    given: str = ""
    changes: bool = False
    statuses: tuple[int, ...] = (0,)
    variables: Mapping[str, str] = {}

    @property
    def command(self) -> str:
        """The command of the registry, or an option that all have."""
        return self.words[0] if self.words else ""


class Samples(NamedTuple):
    """Ids and names in a store that the words of commands refer to."""

    records: tuple[str, ...]
    entities: tuple[str, ...]
    operation: str
    session: str


def samples_of(home: str) -> Samples:
    """Some memories of the project of a world."""
    paths = glob.glob(os.path.join(home, "projects", "project-*", "graph.db"))
    database = sqlite3.connect(f"file:{paths[0]}?mode=ro", uri=True)
    records = database.execute(
        "SELECT id FROM records WHERE status = 'active' ORDER BY seq LIMIT 5"
    ).fetchall()
    entities = database.execute(
        "SELECT e.name FROM entities AS e JOIN relations AS r ON r.source = e.id "
        "GROUP BY e.id ORDER BY e.id LIMIT 5"
    ).fetchall()
    operation = database.execute("SELECT id FROM operations ORDER BY seq DESC LIMIT 1").fetchone()
    session = database.execute("SELECT session FROM episodes ORDER BY id LIMIT 1").fetchone()
    database.close()
    return Samples(
        tuple(row[0] for row in records),
        tuple(row[0] for row in entities),
        operation[0],
        session[0] if session else "",
    )


def runs(samples: Samples, scratch: str) -> list[Run]:
    """Every row, in an order in which none spoils another: what deletes most comes last."""
    return [
        *_questions(samples),
        *_upkeep(scratch),
        *_switches(scratch),
        *_changes(samples, scratch),
    ]


def _questions(samples: Samples) -> list[Run]:
    entity, record = samples.entities[0], samples.records[0]
    found = (0, 3)
    return [
        Run("--help", ("--help",)),
        Run("what TAB asks", (), variables=COMPLETING),
        Run("recall, a question", ("recall", QUESTION), statuses=found),
        Run("recall, a name", ("recall", entity), statuses=found),
        Run("recall, a common word", ("recall", "value"), statuses=found),
        Run("recall --explain", ("recall", "--explain", QUESTION), statuses=found),
        Run("recall, the newest", ("recall",), statuses=found),
        Run("load", ("load",)),
        Run("history", ("history",)),
        Run("history NAME", ("history", entity)),
        Run("why ID", ("why", record)),
        Run("why NAME", ("why", entity)),
        Run("viz --mermaid", ("viz", "--mermaid")),
        Run("viz NAME --mermaid", ("viz", entity, "--mermaid")),
        Run("viz --no-open", ("viz", "--no-open")),
        Run("viz --json", ("viz", "--json")),
        Run("stale", ("stale",), statuses=found),
        Run("stale --older-than 0", ("stale", "--older-than", "0"), statuses=found),
        Run("domains", ("domains",)),
        Run("worth", ("worth",), statuses=found),
        Run(
            "forget, the preview", ("forget", "connection", "timeouts", "scheduler"), statuses=found
        ),
        Run("forget NAME, the preview", ("forget", samples.entities[1]), statuses=found),
        Run("prune, the preview", ("prune", "--older-than", "0", "--json"), statuses=found),
        Run("rules", ("rules",), statuses=found),
        Run("candidates", ("candidates",), statuses=found),
        Run("review", ("review",), statuses=found),
        Run("undo, the preview", ("undo", samples.operation)),
        Run("undo --session, the preview", ("undo", "--session", samples.session), statuses=found),
        Run("merge, the preview", ("merge", *samples.entities[:2])),
        Run("alias", ("alias",), statuses=found),
    ]


def _upkeep(scratch: str) -> list[Run]:
    graph = os.path.join(scratch, "export.jsonl")
    return [
        Run("status", ("status",), statuses=(0, 1)),
        Run("doctor", ("doctor",), statuses=(0, 1)),
        Run("queue", ("queue",), statuses=(0, 3)),
        Run("check", ("check",), statuses=(0, 1)),
        Run("learn, the preview", ("learn",), statuses=(0, 3)),
        Run("learn --condensed", ("learn", "--condensed"), statuses=(0, 3)),
        Run("export FILE", ("export", graph, "--force")),
        Run(
            "export --markdown", ("export", "--markdown", os.path.join(scratch, "pages"), "--force")
        ),
        Run("share", ("share",)),
        Run("team", ("team",)),
        Run("serve --list-keys", ("serve", "--list-keys")),
        Run("project", ("project",)),
        Run("project list", ("project", "list")),
        Run("semantic", ("semantic",), statuses=(0, 1, 3)),
        Run("completion", ("completion", "bash")),
        Run("hook SessionStart", ("hook",), given=_event()),
        Run("mcp, one search", ("mcp",), given=_search()),
        Run("statusline", ("statusline",), given="{}"),
    ]


def _switches(scratch: str) -> list[Run]:
    return [
        Run("off", ("off", "--here"), changes=True),
        Run("on", ("on", "--here"), changes=True),
        Run("share on", ("share", "on"), changes=True, statuses=(0, 1)),
        Run(
            "setup",
            ("setup", "--file", os.path.join(scratch, "settings.json"), "--force", "--yes"),
            changes=True,
        ),
    ]


def _changes(samples: Samples, scratch: str) -> list[Run]:
    first, second, third, fourth, *_ = samples.records
    graph = os.path.join(scratch, "given.jsonl")
    lines = [
        {
            "type": "entity",
            "name": f"brought in {number}",
            "entityType": "service",
            "observations": [f"It was brought in with {number} others."],
        }
        for number in range(100)
    ]
    with open(graph, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
    made = [
        Run("remember", ("remember", "Answers of the gateway are cached for a minute")),
        Run("edit", ("edit", first, "--text", "Answers of the gateway are cached for an hour")),
        Run("pin", ("pin", second)),
        Run("review --holds", ("review", "--holds", third)),
        Run("merge --yes", ("merge", *samples.entities[:2], "--yes")),
        Run("alias NAME ALIAS", ("alias", samples.entities[2], "the third one")),
        Run("undo --last", ("undo", "--last", "--yes")),
        Run("forget ID", ("forget", fourth, "--yes")),
        Run("prune of 50", ("prune", "--older-than", "0", "--yes"), statuses=(0, 3)),
        Run("import of 100", ("import", graph)),
        Run("sync", ("sync",)),
        Run("backup", ("backup",)),
        Run(
            "forget --purge",
            ("forget", "--purge", "gateway are cached", "--yes", "--all"),
            statuses=(0, 3),
        ),
        Run("repair", ("repair",)),
        Run("uninstall", ("uninstall", "--yes")),
    ]
    return [run._replace(changes=True) for run in made]


def _event() -> str:
    return json.dumps(
        {"hook_event_name": "SessionStart", "session_id": "large", "source": "startup"}
    )


def _search() -> str:
    """The lines of an MCP client that asks one question and ends."""
    asked = {"name": "search_nodes", "arguments": {"query": "scheduler timeout"}}
    lines = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": asked},
    ]
    return "".join(json.dumps(line) + "\n" for line in lines)
