"""A machine with 100,000 operations of others: commands end in time, and at once with Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from memory_fabric.sharing.replica import space
from memory_fabric.sharing.team import ties
from memory_fabric.sharing.team.ties import Tie
from memory_fabric.store.database import open_database
from memory_fabric.store.home.switches import settings_of
from memory_fabric.store.memory import Memory
from store.support import database
from team.homes import SPACE, Home
from team.postgres import ANN
from waiting import GIVE_UP_S

PLUGIN = Path(__file__).parents[2] / "plugin"
OPERATIONS, RECORDS = 100_000, 70_000
NUMBERS = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count}) "
RECORD = (
    "INSERT INTO records (id, type, what, key, why, about, extra, body, confidence, trust, source, "
    "scope, domain, session, agent, status, created_at) "
    "SELECT printf('%08x-0000-7000-8000-000000000000', i), 'decision', 'Use port ' || i, i, '', "
    "'', '', json_object('author', 'bob'), 0.5, 'foreign', 'journal', 'team', 'general', '', '', "
    "'active', '2026-01-01T00:00:00.000Z' FROM n"
)
HEAD = (
    "INSERT INTO team_heads (op_id, key, author, origin, kind, base, clock, value, made_at, state, "
    "form) SELECT 'op' || i, printf('r:%08x-0000-7000-8000-000000000000', i), 'bob', 'm', "
    "'record', '', printf('%025x', i), '{}', '2026-01-01T00:00:00.000Z', 'theirs', 1 FROM n"
)
ENDLESS = """
import sys
from memory_fabric.store.database import open_database
database = open_database(sys.argv[1], "project", create=True)
database.connection.create_function("begun", 0, lambda: print("begun", flush=True) or 1)
database.rows(
    "WITH RECURSIVE n (i) AS (SELECT begun() UNION ALL SELECT i + 1 FROM n) SELECT sum(i) FROM n"
)
"""


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A home that is tied to a server that nobody runs, and read 100,000 operations from it."""
    folder = tmp_path_factory.mktemp("large")
    home = Home(folder, "ann", ANN)
    home.remember("The gateway retries three times")
    environ = {**home.hooks.environ, "CLAUDE_PROJECT_DIR": str(home.hooks.project)}
    memory = Memory.open(settings_of(environ))
    tied = database(memory, "project")
    space.begin(tied, SPACE, ANN)
    with tied.transaction() as c:
        c.execute(NUMBERS.format(count=RECORDS) + RECORD)
        c.execute(NUMBERS.format(count=OPERATIONS) + HEAD)
    memory.close()
    ties.save(str(home.home), Tie(home.project_id, f"host={folder} user={ANN}", SPACE, ANN))
    return home


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("status",), 0, "shared log: this project in shop"),
        (("status", "--json"), 0, f'"bob": {RECORDS}'),
        (("doctor",), 0, "shared log"),
        (("team", "status"), 1, f"bob {RECORDS}"),
        (("team", "leave"), 2, "--drop"),
    ],
)
def test_commands_on_a_large_shared_log_finish_within_the_time_limit(
    large: Home, words: tuple[str, ...], code: int, said: str
) -> None:
    """A look at all operations for each record took hours; a process has GIVE_UP_S."""
    done = large.start(*words)

    assert done.status == code, done.err
    assert said in done.out + done.err


def test_ctrl_c_interrupts_a_long_query(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", ENDLESS, str(tmp_path / "graph.db")],
        env={"PATH": os.defpath, "PYTHONPATH": str(PLUGIN)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None and process.stdout.readline() == "begun\n"

    process.send_signal(signal.SIGINT)
    process.communicate(timeout=GIVE_UP_S)

    assert process.returncode != 0


def test_interrupting_a_query_with_ctrl_c_raises_keyboard_interrupt(tmp_path: Path) -> None:
    made = open_database(str(tmp_path / "graph.db"), "project", create=True)
    assert made is not None
    made.connection.set_progress_handler(lambda: True, 1)

    with pytest.raises(KeyboardInterrupt):
        made.rows("SELECT count(*) FROM meta")
