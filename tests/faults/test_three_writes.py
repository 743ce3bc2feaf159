"""The three writes of the hooks: a full disk in each, each tier gone, the user told once.

Hooks under a limit, and those at the same time, are processes of the command of hooks.json.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from command_line import run_here
from memory_fabric.ids import timestamp
from replay.hook_runner import ROOT, HereRunner, HookResult, HookRunner
from replay.hook_runner import command as hook_command
from thorough import IS_THOROUGH

POSTGRES = "Let's use PostgreSQL for the analytics database, it handles JSON well."
REDIS = "Let's use Redis for the job queue, it is simple."
KAFKA = "Let's use Kafka for the audit events, they are ordered."
# Turns under the limit, of which at most one is told that it cannot be written.
TURNS = 3 if IS_THOROUGH else 2
QUESTION = "What do we use for the job queue, Redis?"


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> tuple[HookRunner, Path]:
    """Hooks with a memory that holds the first rule in all three tiers, and its folder copied."""
    folder = tmp_path_factory.mktemp("three")
    hooks = HereRunner(folder / "here")
    (hooks.project / ".git").mkdir()
    settle(hooks, POSTGRES)
    assert "PostgreSQL" in notes(hooks).read_text()
    shutil.copytree(hooks.folder, folder / "kept", symlinks=True)
    return hooks, folder / "kept"


@pytest.fixture
def hooks(filled: tuple[HookRunner, Path]) -> HookRunner:
    """The hooks with that memory, put back to its place: a store knows the project's path."""
    hooks, kept = filled
    shutil.rmtree(hooks.folder)
    shutil.copytree(kept, hooks.folder, symlinks=True)
    return hooks


def stop(hooks: HookRunner, prepare: Callable[[], None] | None = None, **fields: Any) -> HookResult:
    event = {"hook_event_name": "Stop", "session_id": "s1", "last_assistant_message": "Done."}
    result = hooks.run({**event, **fields}, prepare=prepare)
    assert result.status == 0 and "Traceback" not in result.stderr
    return result


def noted(prompt: str) -> str:
    """An answer to a prompt that ends with its note."""
    rule = prompt.removeprefix("Let's use ").partition(",")[0]
    return f'Understood.\n\nNoted rule: Use {rule}. From: "{prompt}"'


def settle(hooks: HookRunner, prompt: str, session: str = "s1") -> HookResult:
    """A turn in which a rule is said and noted; what its Stop replied."""
    hooks.say(prompt, session)
    return stop(hooks, **ending(hooks, prompt, session))


def ending(hooks: HookRunner, prompt: str, session: str) -> dict[str, Any]:
    """The fields of the end of such a turn, whose transcript shows that the prompt was typed."""
    path = hooks.transcript(f"{session}.typed")
    entry = {"type": "user", "message": {"role": "user", "content": prompt}}
    with path.open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(entry) + "\n")
    message = {"last_assistant_message": noted(prompt)}
    return {"session_id": session, "transcript_path": str(path), **message}


def transcript(hooks: HookRunner, prompt: str) -> str:
    """The path of a transcript that holds such a turn."""
    path = hooks.transcript("transcript")
    turns = {"user": prompt, "assistant": noted(prompt)}
    lines = [
        {
            "type": role,
            "uuid": f"00000000-0000-4000-8000-00000000000{number}",
            "sessionId": "s1",
            "timestamp": timestamp(),
            "message": {"role": role, "content": [{"type": "text", "text": text}]},
        }
        for number, (role, text) in enumerate(turns.items())
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return str(path)


def start(hooks: HookRunner, session: str) -> HookResult:
    event = {"hook_event_name": "SessionStart", "session_id": session, "source": "startup"}
    return hooks.run(event)


def told(result: HookResult) -> str:
    return str((result.reply or {}).get("systemMessage", ""))


def notes(hooks: HookRunner) -> Path:
    slug = "".join(c if c.isascii() and c.isalnum() else "-" for c in str(hooks.project))
    return hooks.user_home / ".claude" / "projects" / slug / "memory" / "MEMORY.md"


def journal(hooks: HookRunner) -> Path:
    return hooks.project / ".claude" / "memory" / "decisions.jsonl"


def graph(hooks: HookRunner) -> Path:
    (path,) = hooks.memory.glob("projects/*/graph.db")
    return path


def command(hooks: HookRunner, *words: str) -> subprocess.CompletedProcess[str]:
    done = run_here(words, hooks.environ, hooks.project)
    return subprocess.CompletedProcess(words, done.status, done.out, done.err)


def lines(path: Path) -> list[str]:
    return [json.loads(line)["what"] for line in path.read_text("utf-8").splitlines()]


def limited(most_bytes: int) -> Callable[[], None]:
    """In the child: no file grows beyond this."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))

    return limit


@pytest.mark.parametrize("most_bytes", [0, 100, 3000, 9000, 40_000, 140_000])
def test_no_acknowledged_write_is_lost_if_the_disk_fills_up_during_any_write(
    hooks: HookRunner, most_bytes: int
) -> None:
    """The limit falls into the commit, its log, the queue, the journal or MEMORY.md.

    The note is in the transcript, too: what could not be stored is, once there is room.
    """
    prompt = {"hook_event_name": "UserPromptSubmit", "session_id": "s1", "prompt": REDIS}
    said = hooks.run(prompt, prepare=limited(most_bytes))
    with closing(sqlite3.connect(graph(hooks))) as kept:
        is_kept = (REDIS,) in kept.execute("SELECT text FROM prompts").fetchall()
    path = transcript(hooks, REDIS)
    full = limited(most_bytes)
    stops = [
        told(stop(hooks, full, transcript_path=path, last_assistant_message=noted(REDIS)))
        for _ in range(TURNS)
    ]

    after = stop(hooks, transcript_path=path)
    start(hooks, "s2")
    stop(hooks, session_id="s2")

    assert said.status == 0
    assert any("remembered" in text for text in (*stops, told(after)))
    assert "Redis" in command(hooks, "recall", QUESTION).stdout
    assert sum("cannot be" in text or "nothing was stored" in text for text in stops) <= 1
    assert "cannot be" not in told(after)
    assert "PostgreSQL" in notes(hooks).read_text()
    assert any("Redis" in what for what in lines(journal(hooks)))
    if is_kept:  # without the prompt, the quotation proves nothing
        assert "Redis" in notes(hooks).read_text()


def test_a_prompt_that_cannot_be_stored_is_reported_once(hooks: HookRunner) -> None:
    prompt = {"hook_event_name": "UserPromptSubmit", "session_id": "s1", "prompt": "Go on."}
    tellings = []
    for _ in range(3):
        hooks.run(prompt, prepare=limited(0))
        tellings.append(told(stop(hooks)))
    hooks.run(prompt)
    tellings.append(told(stop(hooks)))
    hooks.run(prompt, prepare=limited(0))
    tellings.append(told(stop(hooks)))

    expected = [True, False, False, False, True]
    assert ["a prompt could not be kept" in text for text in tellings] == expected


@pytest.mark.parametrize("tier", ["decisions.jsonl", "operations.jsonl"])
def test_a_journal_that_cannot_be_written_is_reported_once_and_completed_later(
    hooks: HookRunner, tier: str
) -> None:
    path = journal(hooks) if tier == "decisions.jsonl" else graph(hooks).with_name(tier)
    before = path.read_bytes()
    path.unlink()
    path.mkdir()

    tellings = [told(settle(hooks, REDIS)), *(told(stop(hooks)) for _ in range(2))]
    native = notes(hooks).read_text()
    path.rmdir()
    path.write_bytes(before)
    after = stop(hooks)

    assert ["journal" in text for text in tellings] == [True, False, False]
    assert "Redis" in native
    assert "Redis" in path.read_text() and path.read_bytes().startswith(before)
    assert "journal" not in told(after)


def test_an_unwritable_memory_md_stays_intact_and_is_updated_later(hooks: HookRunner) -> None:
    before = notes(hooks).read_bytes()
    hooks.say(REDIS)

    path = transcript(hooks, REDIS)
    full = limited(len(before))
    tellings = [told(stop(hooks, full, transcript_path=path)) for _ in range(TURNS)]
    whole = notes(hooks).read_bytes()
    beside = os.listdir(notes(hooks).parent)
    stop(hooks, transcript_path=path)

    assert whole == before and beside == ["MEMORY.md"]
    assert sum("MEMORY.md cannot be written" in text for text in tellings) <= 1
    assert "Redis" in notes(hooks).read_text()


def test_memory_md_is_reported_once_each_time_it_becomes_read_only(
    hooks: HookRunner,
) -> None:
    seen = []
    for decision in (REDIS, KAFKA):
        notes(hooks).chmod(0o444)
        seen += [told(settle(hooks, decision)), told(stop(hooks))]
        notes(hooks).chmod(0o600)
        stop(hooks)

    assert ["MEMORY.md cannot be written" in text for text in seen] == [True, False, True, False]
    assert "Redis" in notes(hooks).read_text() and "Kafka" in notes(hooks).read_text()


def test_a_database_deleted_in_use_is_restored_completely(hooks: HookRunner) -> None:
    for path in graph(hooks).parent.glob("graph.db*"):
        path.unlink()

    said = settle(hooks, REDIS)
    later = [told(said), *(told(start(hooks, session)) for session in ("s2", "s3"))]

    assert "nothing was stored" not in told(said)
    assert ["rebuilt" in text for text in later] == [True, False, False]
    given = command(hooks, "recall", "Redis or PostgreSQL?").stdout
    assert "Redis" in given and "PostgreSQL" in given


def test_a_project_folder_deleted_in_use_is_recreated(hooks: HookRunner) -> None:
    shutil.rmtree(hooks.project / ".claude")

    settle(hooks, REDIS)
    status = json.loads(command(hooks, "status", "--json").stdout)["tiers"][1]
    command(hooks, "repair")

    assert "1 record is in the graph" in status["findings"][0]["reason"]
    assert sorted("PostgreSQL" in what for what in lines(journal(hooks))) == [False, True]


def test_a_notes_folder_deleted_in_use_is_recreated(hooks: HookRunner) -> None:
    shutil.rmtree(notes(hooks).parent)

    stop(hooks)

    assert "PostgreSQL" in notes(hooks).read_text()


EDITOR = """
import os, sys, time
path, rounds = sys.argv[1], int(sys.argv[2])
for number in range(rounds):
    with open(path, "rb") as stream:
        text = stream.read()
    with open(path + ".edit", "wb") as stream:
        stream.write(b"- mine %d\\n" % number + text)
    os.replace(path + ".edit", path)
    print(number, flush=True)
    time.sleep(0.01)
"""


def test_a_concurrent_edit_of_the_notes_by_a_person_is_not_lost(
    hooks: HookRunner,
) -> None:
    """The editor's last version stays; it may itself overwrite our fence, which comes back."""
    editor = subprocess.Popen(
        [sys.executable, "-c", EDITOR, str(notes(hooks)), "60"], stdout=subprocess.PIPE
    )
    number = 0
    while editor.poll() is None or number < 2:
        settle(hooks, f"Let's use library{number} for part{number}, it is small.")
        number += 1
    editor.communicate()
    stop(hooks)

    text = notes(hooks).read_text()
    assert editor.returncode == 0
    assert [f"- mine {n}\n" in text for n in range(60)] == [True] * 60
    assert text.count("<!-- memory-fabric:begin -->") == 1
    assert f"library{number - 1}" in text


def test_two_concurrent_sessions_write_their_records_into_one_block_of_memory_md(
    hooks: HookRunner,
) -> None:
    events = []
    for session, text in (("a", REDIS), ("b", KAFKA)):
        hooks.say(text, session)
        events.append({"hook_event_name": "Stop", **ending(hooks, text, session)})
    command_line = hook_command("Stop", ROOT)
    processes = [
        subprocess.Popen(
            command_line, env=hooks.environ, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
        )
        for _ in events * 2
    ]
    for process, event in zip(processes, events * 2, strict=True):
        assert process.stdin is not None
        process.stdin.write(json.dumps(event).encode())
        process.stdin.close()
    assert [process.wait(60) for process in processes] == [0] * 4

    text = notes(hooks).read_text()
    assert (
        text.count("<!-- memory-fabric:begin -->") == text.count("<!-- memory-fabric:end -->") == 1
    )
    assert all(name in text for name in ("PostgreSQL", "Redis", "Kafka"))
