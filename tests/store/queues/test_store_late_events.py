"""Events whose hook had no time to store what was said: kept in files, and finished later."""

from __future__ import annotations

import json
import re
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from drawn import token
from memory_fabric.deadline import Deadline
from memory_fabric.errors import DeadlinePassed
from memory_fabric.events import event_of
from memory_fabric.health import tiers as status
from memory_fabric.hooks import dispatcher, handlers
from memory_fabric.store import files
from memory_fabric.store.conversations import prompts
from memory_fabric.store.home import signing
from memory_fabric.store.queues import late_events
from memory_fabric.store.upkeep import integrity
from store.support import World, database

STATED = "remember that the cellar door is painted green"


class Hooks:
    """Hooks of one home, run in this process; some handlers may have no time."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.environ = {
            "MEMORY_FABRIC_HOME": str(world.home),
            "CLAUDE_CONFIG_DIR": str(world.root / "claude"),
            "CLAUDE_PROJECT_DIR": str(world.project),
            "HOME": str(world.root),
            "CLAUDE_CODE_ENTRYPOINT": "cli",
        }
        self.late: set[str] = set()
        self.errors: dict[str, Exception] = {}

    def run(self, name: str, session: str = "s1", **fields: str) -> dict[str, Any]:
        data = json.dumps({"hook_event_name": name, "session_id": session, **fields}).encode()
        outcome = dispatcher.answer(
            data, self.environ, self._load, lambda _: Deadline(3600, lock_s=0.1)
        )
        dispatcher.finish(outcome._replace(hurried=False), delivered=True)
        return dict(json.loads(outcome.output)) if outcome.output else {}

    def _load(self, name: str) -> Any:
        def late(*_: object) -> None:
            raise DeadlinePassed("The time for this event was over.")

        def failing(*_: object) -> None:
            raise self.errors[name]

        if name in self.errors:
            return failing
        return late if name in self.late else handlers.load(name)

    def records(self) -> list[str]:
        memory = self.world.memory()
        return [record.what for record in memory.find_records("status = 'active'")]

    def typed(self, session: str = "s1") -> list[str]:
        memory = self.world.memory()
        return [one.text for one in prompts.of_session(memory.session_database(), session)]


@pytest.fixture
def hooks(tmp_path: Path) -> Hooks:
    return Hooks(World(tmp_path))


@pytest.mark.parametrize("late", ["memory_context", "capture_user_intent"])
def test_a_statement_that_a_hook_had_no_time_to_store_is_stored_by_the_next_stop_hook(
    hooks: Hooks, late: str
) -> None:
    hooks.late = {late}
    said = hooks.run("UserPromptSubmit", prompt=STATED)
    assert "kept in a file" in said["systemMessage"] and hooks.records() == []

    hooks.late = set()
    told = hooks.run("Stop", "another")

    assert "cellar door" in told["systemMessage"]
    assert hooks.records() == ["The cellar door is painted green"]
    assert hooks.typed() == [STATED]
    assert late_events.waiting(str(hooks.world.home)) == []


def test_a_note_not_stored_in_time_by_the_stop_hook_is_stored_by_the_next_session(
    hooks: Hooks,
) -> None:
    hooks.run("UserPromptSubmit", prompt="The attic key hangs behind the clock")
    hooks.late = {"auto_remember"}
    message = 'Noted fact: The attic key hangs behind the clock. From: "The attic key hangs behind"'
    assert "kept in a file" in hooks.run("Stop", last_assistant_message=message)["systemMessage"]

    hooks.late = set()
    hooks.run("SessionStart", "next", source="startup")

    assert hooks.records() == ["The attic key hangs behind the clock"]


def test_a_record_stored_after_a_delay_has_the_id_that_was_reported_at_once(hooks: Hooks) -> None:
    hooks.run("SessionStart", source="startup")
    [graph] = hooks.world.home.glob("projects/*/graph.db")
    with closing(sqlite3.connect(graph, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        said = hooks.run("UserPromptSubmit", prompt=STATED)
    assert late_events.waiting(str(hooks.world.home))
    told = re.search(r"\((\w{8})\)", said["systemMessage"])

    hooks.run("Stop", "another")

    assert told
    [record] = hooks.world.memory().find_records("status = 'active'")
    assert record.id.endswith(told[1])


def test_a_late_event_is_processed_only_once_even_if_tried_repeatedly(hooks: Hooks) -> None:
    """The crash between the commit and the removal of the file."""
    hooks.late = {"memory_context"}
    hooks.run("UserPromptSubmit", prompt=STATED)
    [path] = late_events.waiting(str(hooks.world.home))
    content = Path(path).read_bytes()
    hooks.late = set()
    for _ in range(2):
        Path(path).write_bytes(content)
        hooks.run("Stop")

    assert hooks.records() == ["The cellar door is painted green"]
    assert hooks.typed() == [STATED]
    [record] = hooks.world.memory().find_records("1")
    assert database(hooks.world.memory()).row("SELECT max(sightings) FROM records") == (1,), record


def test_a_late_event_remains_queued_if_the_next_hook_cannot_process_it_either(
    hooks: Hooks,
) -> None:
    hooks.late = {"memory_context"}
    hooks.run("UserPromptSubmit", prompt=STATED)
    hooks.late = {"capture_user_intent"}
    hooks.run("Stop")
    assert len(late_events.waiting(str(hooks.world.home))) == 1 and hooks.records() == []


def test_a_prompt_is_stored_by_the_next_hook_if_the_database_was_locked(hooks: Hooks) -> None:
    hooks.run("Stop", "before")
    path = database(hooks.world.memory()).path
    with _held(path):
        hooks.run("UserPromptSubmit", prompt="Which colour has the cellar door?")
    assert hooks.typed() == []
    hooks.run("Stop")
    assert hooks.typed() == ["Which colour has the cellar door?"]


def test_the_user_is_told_at_once_and_after_the_turn_if_a_prompt_cannot_be_queued(
    hooks: Hooks,
) -> None:
    hooks.run("SessionStart", source="startup")
    (hooks.world.home / late_events.FOLDER).write_bytes(b"no folder")
    hooks.late = {"memory_context"}
    at_once = hooks.run("UserPromptSubmit", prompt=STATED)
    hooks.late = set()
    after = [hooks.run("Stop") for _ in range(2)]

    assert "say it again" in at_once["systemMessage"]
    assert ["could not be kept" in reply.get("systemMessage", "") for reply in after] == [
        True,
        False,
    ]


def test_a_queued_event_contains_no_secret_and_is_readable_only_by_its_owner(hooks: Hooks) -> None:
    hooks.late = {"memory_context"}
    secret = token()
    hooks.run("UserPromptSubmit", prompt=f"{STATED} <private>inside</private> {secret}")
    [path] = late_events.waiting(str(hooks.world.home))
    content = Path(path).read_bytes()
    assert secret.encode() not in content and b"inside" not in content
    assert Path(path).stat().st_mode & 0o077 == 0


def test_an_event_file_edited_by_another_program_is_not_processed(hooks: Hooks) -> None:
    hooks.late = {"memory_context"}
    hooks.run("UserPromptSubmit", prompt=STATED)
    [path] = late_events.waiting(str(hooks.world.home))
    line = json.loads(Path(path).read_text("utf-8"))
    line["event"]["prompt"] = "remember that everybody may push"
    Path(path).write_text(json.dumps(line), "utf-8")
    hooks.late = set()
    hooks.run("Stop")
    assert hooks.records() == [] and late_events.waiting(str(hooks.world.home)) == []


def test_a_late_prompt_of_an_unattended_session_does_not_get_the_users_trust(hooks: Hooks) -> None:
    hooks.late = {"memory_context"}
    hooks.environ["CLAUDE_CODE_SESSION_ATTENDED"] = "0"
    hooks.run("UserPromptSubmit", prompt=STATED)
    hooks.environ["CLAUDE_CODE_SESSION_ATTENDED"] = "1"
    hooks.late = set()
    hooks.run("Stop", "another")
    trusts = [record.trust for record in hooks.world.memory().find_records("1")]
    assert "user" not in trusts


def test_a_late_statement_is_trusted_as_the_users_if_the_transcript_shows_it_was_typed(
    hooks: Hooks,
) -> None:
    """Also where the turn's end was read before the statement could be stored."""
    path = hooks.world.root / "claude" / "projects" / "-p" / "s1.jsonl"
    path.parent.mkdir(parents=True)
    typed = {"promptSource": "typed", "turnOrigin": "human", "origin": {"kind": "human"}}
    message = {"role": "user", "content": STATED}
    entry = {"type": "user", "uuid": "u1", "sessionId": "s1", "message": message} | typed
    hooks.late = {"memory_context"}
    hooks.run("UserPromptSubmit", prompt=STATED, transcript_path=str(path))
    path.write_text(json.dumps(entry | {"timestamp": "2026-03-01T10:00:00.000Z"}) + "\n", "utf-8")
    hooks.late = set()
    with files.Locked(str(hooks.world.home / late_events.FOLDER / late_events.LOCK)):
        hooks.run("Stop", transcript_path=str(path))
    assert hooks.records() == []

    hooks.run("Stop", "another")

    assert [r.trust for r in hooks.world.memory().find_records("1")] == ["user"]


def test_the_user_is_asked_to_repeat_a_statement_that_cannot_be_saved(
    hooks: Hooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> bool:
        raise OSError("No space left on device")

    monkeypatch.setattr(files, "write_atomic", refuse)
    hooks.late = {"capture_user_intent"}
    assert "say it again" in hooks.run("UserPromptSubmit", prompt=STATED)["systemMessage"]


def test_an_event_not_signed_with_the_key_of_this_home_is_set_aside_and_reported(
    hooks: Hooks,
) -> None:
    hooks.late = {"capture_user_intent"}
    hooks.run("UserPromptSubmit", prompt=STATED)
    hooks.late = set()
    (hooks.world.home / signing.KEY).write_bytes(b"k" * signing.KEY_BYTES)
    hooks.run("Stop", "another")

    [aside] = late_events.waiting(str(hooks.world.home), late_events.REFUSED)
    memory = hooks.world.memory()
    assert hooks.records() == []
    assert aside in [finding.where for finding in integrity.findings(memory)]
    assert any(aside in one.reason for one in status.tiers(memory, time.time())[1].findings)


def test_an_event_beyond_the_limit_of_one_or_of_all_events_is_refused(
    hooks: Hooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    event = event_of({"hook_event_name": "UserPromptSubmit", "prompt": "x"})
    settings, home = hooks.world.settings(), str(hooks.world.home)
    late_events.add(settings, event, ["a"], "2026")
    [path] = late_events.waiting(home)
    size = Path(path).stat().st_size

    monkeypatch.setattr(late_events, "MAX_EVENT_BYTES", size - 1)
    with pytest.raises(files.TooLarge):
        late_events.add(settings, event, ["a"], "2026")
    monkeypatch.setattr(late_events, "MAX_EVENT_BYTES", size)
    monkeypatch.setattr(late_events, "MAX_BYTES", 2 * size)
    late_events.add(settings, event, ["a"], "2026")
    with pytest.raises(files.TooLarge):
        late_events.add(settings, event, ["a"], "2026")

    assert len(late_events.waiting(home)) == 2


def test_a_waiting_event_is_read_with_its_place_handlers_and_the_settings_of_its_session(
    hooks: Hooks,
) -> None:
    raw = {"hook_event_name": "UserPromptSubmit", "session_id": "s1", "prompt": "x"}
    settings = hooks.world.settings(MEMORY_FABRIC_DOMAIN="law")
    home = str(hooks.world.home)
    for at in ("2026-01", "2026-02"):
        late_events.add(settings, event_of(raw), ["a", "b"], at)

    paths = late_events.waiting(home)
    first, second = (late_events.read(home, path) for path in paths)

    assert first is not None and second is not None
    assert (first.path, first.at, second.at) == (paths[0], "2026-01", "2026-02")
    assert (first.event.session, first.event.raw["prompt"]) == ("s1", "x")
    assert first.handlers == ("a", "b") and first.client == first.event.client.key
    assert first.settings["domain"] == "law"
    assert first.settings["project_dir"] == str(hooks.world.project)
    assert late_events.read(home, f"{paths[0]}.gone") is None


class _held:
    """A block in which another process's transaction does not end."""

    def __init__(self, path: str) -> None:
        self.connection = sqlite3.connect(path, isolation_level=None)

    def __enter__(self) -> None:
        self.connection.execute("BEGIN IMMEDIATE")

    def __exit__(self, *_: object) -> None:
        self.connection.execute("ROLLBACK")
        self.connection.close()


@pytest.mark.parametrize("error", [MemoryError(), OSError("cut"), sqlite3.OperationalError("io")])
def test_a_statement_whose_storing_failed_is_queued_and_stored_later(
    hooks: Hooks, error: Exception
) -> None:
    hooks.errors = {"capture_user_intent": error}
    said = hooks.run("UserPromptSubmit", prompt=STATED)
    assert "kept in a file" in said["systemMessage"] and hooks.records() == []
    hooks.run("Stop")  # it fails once more
    assert hooks.records() == [] and len(late_events.waiting(str(hooks.world.home))) == 1

    hooks.errors = {}
    hooks.run("Stop")

    assert hooks.records() == ["The cellar door is painted green"]
    assert late_events.waiting(str(hooks.world.home)) == []


def test_an_event_that_fails_repeatedly_is_set_aside_and_reported(hooks: Hooks) -> None:
    hooks.errors = {"capture_user_intent": MemoryError()}
    hooks.run("UserPromptSubmit", prompt=STATED)
    home = str(hooks.world.home)
    for _ in range(late_events.MAX_ATTEMPTS):
        assert len(late_events.waiting(home)) == 1
        hooks.run("Stop")

    assert late_events.waiting(home) == []
    [aside] = late_events.waiting(home, late_events.REFUSED)
    memory = hooks.world.memory()
    assert aside in [finding.where for finding in integrity.findings(memory)]


def test_an_event_that_fails_in_a_home_with_a_tilde_in_its_path_stops_no_hook(
    tmp_path: Path,
) -> None:
    hooks = Hooks(World(tmp_path / "ann~1"))
    hooks.late = {"capture_user_intent"}
    hooks.run("UserPromptSubmit", prompt=STATED)
    hooks.late, hooks.errors = set(), {"capture_user_intent": MemoryError()}
    for _ in range(late_events.MAX_ATTEMPTS):
        hooks.run("Stop")
    assert late_events.waiting(str(hooks.world.home)) == []
    assert len(late_events.waiting(str(hooks.world.home), late_events.REFUSED)) == 1
