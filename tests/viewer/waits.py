"""Memories in which something waits for a person's decision, and one with some of everything."""

from __future__ import annotations

import json
from copy import copy
from pathlib import Path
from typing import Any

from cli.shell import Shell
from command_line import run_here
from importing.foreign import ClaudeMem
from memory_fabric.config import read_settings
from memory_fabric.models import CONTRADICTS, FOR_TEAM, UNSAID, WHEN, Provenance, Record
from memory_fabric.store import records
from memory_fabric.store.memory import Memory

CURSORS = "Use cursor-pagination for the orders-api"
HEARD = ("The exporter keeps its templates in S3", "Ship every Friday")
MONGO, POSTGRES = "The order archive is in MongoDB", "The order archive is in Postgres"
RULE = "Say what a deploy changes"
STALE = "Sessions are kept in Redis"
NIGHTLY = (
    "Deploys to staging run every night at two",
    "Deploys to staging now run every night at two",
)
IMPORTED = ("The queue is Redis", "Payments are retried with a delay", "Logs are kept for a month")
OF_BOB = ("Events go through Kafka", "Carts expire after a day")
OF_BILLING = "Never send an invoice twice"
JOURNAL = ".claude/memory/decisions.jsonl"
OLD = "2020-01-01T00:00:00.000Z"


def memory_of(shell: Shell) -> Memory:
    """The memory of the shell's project, as hooks have it."""
    environ = {**shell.environ, "CLAUDE_PROJECT_DIR": str(shell.project)}
    return Memory.open(read_settings(environ, {}))


def hear(shell: Shell, said: str) -> str:
    """Have a candidate heard; its id."""
    by = Provenance("prompt", trust="user", session="a-session-0001")
    heard = memory_of(shell).remember(Record("decision", said, confidence=0.4), by)
    assert heard is not None
    return str(heard.id)


def contradict(shell: Shell, old: str, said: str) -> str:
    """Remember what contradicts an older record; its id."""
    memory, by = memory_of(shell), Provenance("cli", trust="user")
    made = memory.remember(Record("decision", said, confidence=0.9), by)
    assert made is not None
    new = records.as_object(made._replace(evidence={CONTRADICTS: [old]}))
    memory.write("put_record", {"record": new, "seen_in": [""]}, by, store="project")
    return str(made.id)


def put(shell: Shell, what: str, kind: str = "decision", **fields: Any) -> str:
    """Store a record of the user as it is; its id."""
    memory, by = memory_of(shell), Provenance("cli", trust="user")
    made = memory.remember(Record(kind, what, confidence=0.9), by)
    assert made is not None
    record = records.as_object(made._replace(**fields))
    memory.write("put_record", {"record": record, "seen_in": [""]}, by, store="project")
    memory.close()
    return str(made.id)


def bring(shell: Shell) -> None:
    """Have a program's memory imported, and what a colleague shared by git read."""
    database = ClaudeMem(shell.user_home / ".claude-mem" / "claude-mem.db")
    for title in IMPORTED:
        database.add("observations", project="shop", title=title)
    done = shell.run("import", str(database.close()))
    assert done.status == 0, done.err
    assert shell.run("share", "on").status == 0
    read(shell, colleague(shell, *OF_BOB))


def colleague(shell: Shell, *said: str) -> str:
    """Memories of bob, who has a home of his own; the lines of his journal."""
    folder = shell.user_home.parent / f"bob {len(list(shell.user_home.parent.iterdir()))}"
    bob = Shell(folder)
    bob.environ["USER"] = "bob"
    for words in said:
        bob.remember(words)
    assert bob.run("sync").status == 0
    return (bob.project / JOURNAL).read_text("utf-8")


def read(shell: Shell, lines: str) -> None:
    """Have a session start after git brought these lines."""
    with (shell.project / JOURNAL).open("a", encoding="utf-8") as stream:
        stream.write(lines)
    start = {"hook_event_name": "SessionStart", "session_id": "s-1", "source": "startup"}
    done = shell.run("hook", stdin=json.dumps(start | {"cwd": str(shell.project)}))
    assert done.status == 0, done.err


def ask(shell: Shell, said: str, when: str) -> None:
    """Have a colleague's memory ask before calls, as the exchange stores an owner's rule."""
    memory = memory_of(shell)
    [record] = memory.find_records("what = ?", (said,))
    database = memory.database("project", create=False)
    assert database is not None
    evidence = {WHEN: when, FOR_TEAM: True}
    with database.transaction() as c:
        records.put(c, record._replace(evidence=evidence), [])
    memory.close()


def elsewhere(shell: Shell) -> Path:
    """Another project of the home, with a candidate; its folder."""
    folder = shell.project.parent / "billing"
    (folder / ".git").mkdir(parents=True)
    assert run_here(("remember", "Invoices are in cents"), shell.environ, folder).status == 0
    billing = copy(shell)
    billing.project = folder
    hear(billing, OF_BILLING)
    return folder


def fill(shell: Shell) -> None:
    """Fill the memory."""
    shell.remember("--why", "offsets are slow", CURSORS)
    shell.remember("The order-service uses cursor-pagination")
    for said in HEARD:
        hear(shell, said)
    contradict(shell, shell.remember(MONGO)["id"], POSTGRES)
    put(shell, RULE, "constraint", evidence={WHEN: "deploy", UNSAID: ["deploy"]})
    put(shell, STALE, created_at=OLD, valid_from=OLD)
    for said in NIGHTLY:
        put(shell, said)
    bring(shell)
    elsewhere(shell)
