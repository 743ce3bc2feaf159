"""Hooks in a broken environment: each exits with 0, prints nothing, and logs the reason."""

from __future__ import annotations

import ctypes
import json
import os
import resource
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from drawn import chance
from memory_fabric.events import EMPTY
from memory_fabric.hooks.table import HANDLERS
from memory_fabric.setup import packages
from replay.hook_runner import GIVE_UP_S, ROOT, HookResult, HookRunner
from replay.ways import in_process

DECISION = "We decided to use PostgreSQL for the analytics database because it handles JSON well."
QUESTION = "Which database do we use for analytics, PostgreSQL or another?"
PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 24, 1, 2

EVENTS: list[dict[str, Any]] = [
    {"hook_event_name": name, "session_id": "s", "prompt": QUESTION, "agent_type": "x"}
    for name in HANDLERS
]
# Each fault meets these as the client starts them, and every event in a process that answers many.
STARTED = [
    e for e in EVENTS if e["hook_event_name"] in ("SessionStart", "UserPromptSubmit", "Stop")
]
# Answers events one after another, each with variables of its own, as the hook's process does.
ANSWER_ALL = """
import json, os, sys
sys.path.append(sys.argv[1])
from memory_fabric.hooks.dispatcher import run
for line in sys.stdin:
    event, environ = json.loads(line)
    print(json.dumps(run(json.dumps(event).encode(), os.environ | environ).decode()), flush=True)
"""


Run = Callable[[HookRunner, dict[str, Any]], HookResult]


def here(hooks: HookRunner, event: dict[str, Any]) -> HookResult:
    """The result of an event that is answered in this process."""
    return HookResult(0, in_process(hooks, event), "")


def started(hooks: HookRunner, event: dict[str, Any]) -> HookResult:
    """The result of an event that is answered as the client has it answered."""
    return hooks.run(event)


EACH = [
    pytest.param(run, event, id=f"{event['hook_event_name']}-{run.__name__}")
    for run, events in ((here, EVENTS), (started, STARTED))
    for event in events
]


def answered(
    hooks: HookRunner, homes: Sequence[Path], prepare: Callable[[], None], **fields: str
) -> list[HookResult]:
    """The results of EVENTS, each with its home, in one process that is prepared like a hook's."""
    lines = (
        json.dumps([event | fields, {"MEMORY_FABRIC_HOME": str(home)}])
        for event, home in zip(EVENTS, homes, strict=True)
    )
    done = subprocess.run(
        [packages.base_interpreter(), "-I", "-S", "-c", ANSWER_ALL, str(ROOT / "plugin")],
        input="\n".join(lines).encode(),
        capture_output=True,
        env=hooks.environ,
        cwd=hooks.project,
        preexec_fn=prepare,
        timeout=GIVE_UP_S,
        check=False,
    )
    assert done.returncode == 0
    replies = [json.loads(line).encode() for line in done.stdout.splitlines()]
    assert len(replies) == len(EVENTS)
    errors = done.stderr.decode("utf-8", "replace")
    return [HookResult(0, reply, errors) for reply in replies]


@pytest.fixture
def hooks(tmp_path: Path) -> HookRunner:
    return HookRunner(tmp_path)


@pytest.fixture
def remembering(tmp_path: Path) -> HookRunner:
    """Hooks with a memory that holds the decision."""
    hooks = HookRunner(tmp_path)
    hooks.settle(DECISION)
    return hooks


def graph_of(hooks: HookRunner) -> Path:
    (path,) = hooks.memory.glob("projects/*/graph.db")
    return path


def assert_open(result: HookResult) -> None:
    """The session goes on: status 0, one reply or none, nothing on stderr."""
    assert result.status == 0
    assert (result.reply or {}).keys() <= {"systemMessage", "hookSpecificOutput", "plain"}
    assert "Traceback" not in result.stderr


def assert_silent(result: HookResult) -> None:
    assert (result.status, result.stdout) == (0, b"")
    assert "Traceback" not in result.stderr


def obey_permissions() -> None:
    """In the child: root, too, meets the bits of a read-only folder."""
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
        libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)


def write_nothing() -> None:
    """In the child: every file is full."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", EMPTY),
        (b"\n", EMPTY),
        (b'{"hook_event_name": "UserPrompt', "Not readable as JSON"),
        (b'{"hook_event_name": "Stop", "x": "' + b"x" * (9 << 20) + b'"}', "More than 8 MB"),
        (b"\xff" * 1000, "Not readable as JSON"),
    ],
    ids=["nothing", "newline", "broken", "9 MB", "binary"],
)
def test_invalid_input_is_logged_and_gets_no_reply(
    hooks: HookRunner, data: bytes, said: str
) -> None:
    assert_silent(hooks.run(data))
    (line,) = hooks.log
    assert said in line


def test_a_closed_stdin_is_logged_and_gets_no_reply(hooks: HookRunner) -> None:
    assert_silent(hooks.run(EVENTS[1], prepare=lambda: os.close(0)))
    (line,) = hooks.log
    assert "no input" in line


def test_a_memory_is_shown_again_if_the_client_did_not_read_the_reply(
    remembering: HookRunner,
) -> None:
    prompt = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": QUESTION}
    assert_silent(remembering.run(prompt, prepare=_deaf))
    assert any("the client did not take the reply" in line for line in remembering.log)
    assert "PostgreSQL" in remembering.say(QUESTION, session="s").context


def _deaf() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    os.dup2(writer, 1)


@pytest.mark.parametrize(("run", "event"), EACH)
def test_hooks_do_not_fail_if_the_memory_folder_is_a_file(
    hooks: HookRunner, run: Run, event: dict[str, Any]
) -> None:
    hooks.memory.write_text("not a folder", "utf-8")
    assert_open(run(hooks, event))
    assert_open(run(hooks, {**event, "prompt": DECISION}))
    assert hooks.memory.read_text("utf-8") == "not a folder"


def test_an_impossible_memory_folder_path_is_reported_in_the_log(hooks: HookRunner) -> None:
    assert_open(
        hooks.run(
            {**EVENTS[1], "prompt": DECISION}, {"MEMORY_FABRIC_HOME": "/dev/null/memory-fabric"}
        )
    )
    assert hooks.log


def test_hooks_do_not_fail_with_an_empty_read_only_memory_folder(hooks: HookRunner) -> None:
    hooks.memory.mkdir()
    hooks.memory.chmod(0o500)
    results = answered(hooks, [hooks.memory] * len(EVENTS), obey_permissions)
    results += [hooks.run(event, prepare=obey_permissions) for event in STARTED]
    for result in results:
        assert_open(result)
    assert list(hooks.memory.iterdir()) == []


def test_recall_works_with_a_read_only_memory_folder(remembering: HookRunner) -> None:
    for path in [remembering.memory, *remembering.memory.rglob("*")]:
        path.chmod(0o500 if path.is_dir() else 0o400)
    prompt = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": QUESTION}
    result = remembering.run(prompt, prepare=obey_permissions)
    assert_open(result)
    assert "PostgreSQL" in result.context


def test_hooks_do_not_fail_if_no_folder_is_writable(hooks: HookRunner) -> None:
    for path in (hooks.folder, hooks.data, hooks.project, hooks.user_home):
        path.chmod(0o500)
    try:
        results = answered(hooks, [hooks.memory] * len(EVENTS), obey_permissions)
        results += [hooks.run(event, prepare=obey_permissions) for event in STARTED]
    finally:
        hooks.folder.chmod(0o700)
    for result in results:
        assert_open(result)


def test_hooks_do_not_fail_on_a_full_disk(remembering: HookRunner) -> None:
    whole = remembering.memory
    homes = [remembering.folder / str(event["hook_event_name"]) for event in EVENTS]
    for home in homes:
        shutil.copytree(whole, home)

    results = answered(remembering, homes, write_nothing)
    results += answered(remembering, homes, write_nothing, prompt=DECISION)

    after = {"hook_event_name": "UserPromptSubmit", "session_id": "after", "prompt": QUESTION}
    for result in results:
        assert_open(result)
    for home in homes:
        remembering.environ["MEMORY_FABRIC_HOME"] = str(home)
        assert "PostgreSQL" in here(remembering, after).context


def test_hook_processes_do_not_fail_on_a_full_disk(remembering: HookRunner) -> None:
    for event in STARTED:
        assert_open(remembering.run(event, prepare=write_nothing))
        assert_open(remembering.run({**event, "prompt": DECISION}, prepare=write_nothing))
    assert "PostgreSQL" in remembering.say(QUESTION, session="after").context


def test_hooks_do_not_fail_if_the_log_cannot_be_written(hooks: HookRunner) -> None:
    (hooks.memory / "logs").mkdir(parents=True)
    (hooks.memory / "logs" / "memory-fabric.log").symlink_to("/dev/full")
    assert_silent(hooks.run(b"{"))


@pytest.fixture
def locked(remembering: HookRunner) -> Iterator[HookRunner]:
    """Hooks whose database another process is writing."""
    holder = sqlite3.connect(graph_of(remembering), isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    yield remembering
    if holder.in_transaction:
        holder.execute("ROLLBACK")
    holder.close()


def test_recall_works_if_the_database_is_locked_during_a_session(remembering: HookRunner) -> None:
    start = {"hook_event_name": "SessionStart", "session_id": "s", "source": "startup"}
    assert "PostgreSQL" in remembering.run(start).context
    remembering.say("We decided to use Redis for the job queue since it is simple.", "other")
    holder = sqlite3.connect(graph_of(remembering), isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    try:
        result = remembering.say("Do we use Redis for the job queue?", session="s")
    finally:
        holder.close()
    assert_open(result)
    assert "Redis" in result.context


@pytest.mark.parametrize("source", ["startup", "resume"])
def test_a_session_that_starts_while_the_database_is_locked_is_shown_decisions(
    locked: HookRunner, source: str
) -> None:
    start = {"hook_event_name": "SessionStart", "session_id": "s", "source": source}
    assert "PostgreSQL" in locked.run(start).context


def test_recall_works_while_the_database_is_locked(locked: HookRunner) -> None:
    result = locked.say(QUESTION, session="s")
    assert_open(result)
    assert "PostgreSQL" in result.context
    assert locked.log


def test_a_decision_stated_while_the_database_is_locked_is_stored_later(
    remembering: HookRunner,
) -> None:
    holder = sqlite3.connect(graph_of(remembering), isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    assert_open(remembering.say("We decided to use Redis for the sessions, it is fast.", "s"))
    holder.execute("ROLLBACK")
    holder.close()
    remembering.run({"hook_event_name": "SessionStart", "session_id": "t", "source": "startup"})
    assert "Redis" in remembering.say("What did we decide about Redis and sessions?", "u").context


@pytest.mark.parametrize(("run", "event"), EACH)
def test_hooks_do_not_fail_while_the_database_is_locked_exclusively(
    remembering: HookRunner, run: Run, event: dict[str, Any]
) -> None:
    holder = sqlite3.connect(graph_of(remembering), isolation_level=None)
    holder.execute("PRAGMA locking_mode = EXCLUSIVE")
    holder.execute("BEGIN EXCLUSIVE")
    try:
        assert_open(run(remembering, event))
    finally:
        holder.close()


def _junk(path: Path) -> None:
    path.write_bytes(b"this is not a database " * 1000)


def _emptied(path: Path) -> None:
    path.write_bytes(b"")


def _torn(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))


def _half(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2 + 17])


DAMAGES: list[Callable[[Path], None]] = [_junk, _torn, _half]


@pytest.mark.parametrize(
    ("run", "event", "damage"),
    [(started, event, _torn) for event in STARTED]
    + [(here, event, damage) for event in EVENTS for damage in (*DAMAGES, _emptied)],
)
def test_hooks_do_not_fail_on_a_corrupt_database(
    remembering: HookRunner, run: Run, event: dict[str, Any], damage: Callable[[Path], None]
) -> None:
    _damaged(remembering, damage)
    assert_open(run(remembering, event))


@pytest.mark.parametrize(
    ("run", "damage"), [(started, _torn), *((here, damage) for damage in DAMAGES)]
)
def test_a_corrupt_database_is_set_aside_and_reported_once(
    remembering: HookRunner, run: Run, damage: Callable[[Path], None]
) -> None:
    prompt = {"hook_event_name": "UserPromptSubmit", "prompt": QUESTION}
    run(remembering, {"hook_event_name": "Stop", "session_id": "earlier"})
    _damaged(remembering, damage)
    run(remembering, {**prompt, "session_id": "s"})
    start = {"hook_event_name": "SessionStart", "source": "startup"}
    starts = [run(remembering, {**start, "session_id": s}) for s in ("t", "u")]
    told = ["set aside" in json.dumps(start.reply) for start in starts]
    assert told == [True, False]
    assert list(graph_of(remembering).parent.glob("graph.db.corrupt-*"))
    assert "PostgreSQL" in run(remembering, {**prompt, "session_id": "v"}).context


def _damaged(hooks: HookRunner, damage: Callable[[Path], None]) -> None:
    path = graph_of(hooks)
    database = sqlite3.connect(path)
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    for ending in ("-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)
    damage(path)


@pytest.mark.parametrize(("run", "event"), EACH)
def test_a_database_with_a_newer_schema_is_not_written(
    remembering: HookRunner, run: Run, event: dict[str, Any]
) -> None:
    _make_newer(graph_of(remembering))
    before = _rows(graph_of(remembering))
    assert_open(run(remembering, event))
    assert_open(run(remembering, {**event, "prompt": DECISION.replace("PostgreSQL", "MySQL")}))
    assert _rows(graph_of(remembering)) == before


def _make_newer(path: Path) -> None:
    database = sqlite3.connect(path)
    database.execute("PRAGMA user_version = 9999")
    database.close()


def _rows(path: Path) -> list[tuple[Any, ...]]:
    database = sqlite3.connect(path)
    try:
        return database.execute("SELECT id, created_at FROM operations ORDER BY id").fetchall()
    finally:
        database.close()


@pytest.mark.parametrize(
    "missing", ["plugin", "plugin/memory_fabric/store", "plugin/memory_fabric/text.py"]
)
def test_hooks_do_not_fail_if_files_of_the_plugin_are_missing(tmp_path: Path, missing: str) -> None:
    root = tmp_path / "plugin"
    for name in ("hooks", "plugin"):
        ignored = shutil.ignore_patterns("*.pyc.*")  # another process may be writing it
        shutil.copytree(ROOT / name, root / name, ignore=ignored)
    shutil.copy(ROOT / "hooks.json", root)
    path = root / missing
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()
    hooks = HookRunner(tmp_path / "world", root)
    for event in STARTED:
        assert_silent(hooks.run(event))


@pytest.mark.parametrize("folder", ["/nonexistent/project", "/dev/null", "relative", "", "/"])
def test_hooks_do_not_fail_with_an_invalid_project_folder(hooks: HookRunner, folder: str) -> None:
    hooks.environ["CLAUDE_PROJECT_DIR"] = folder
    for event in EVENTS:
        assert_open(here(hooks, event))
    for event in STARTED[1:]:
        assert_open(hooks.run(event))
    assert not (Path("/") / ".claude").exists()


def test_hooks_do_not_fail_with_almost_no_environment_variables(hooks: HookRunner) -> None:
    hooks.environ = {**dict.fromkeys(hooks.environ, ""), "HOME": str(hooks.user_home)}
    for event in EVENTS:
        assert_open(here(hooks, event))
    for event in STARTED:
        assert_open(hooks.run(event))


@pytest.mark.parametrize(
    ("run", "name"),
    [(started, "Stop"), *((here, name) for name in ("Stop", "SubagentStop", "PreCompact"))],
)
def test_hooks_do_not_fail_on_a_transcript_of_random_bytes(
    hooks: HookRunner, run: Run, name: str
) -> None:
    junk = hooks.folder / "junk.jsonl"
    junk.write_bytes(chance.randbytes(1 << 16) + b"\n{}\n[]\n" + b'{"type":"user","message":{}}\n')
    paths = {"transcript_path": str(junk), "agent_transcript_path": str(junk)}
    event = {"hook_event_name": name, "session_id": "s", "agent_type": "x", **paths}
    assert_open(run(hooks, event))


def test_hooks_do_not_fail_on_a_prompt_of_seven_megabytes(remembering: HookRunner) -> None:
    result = remembering.say(f"{DECISION} " + "word " * (7 << 20 >> 3), session="s")
    assert_open(result)
