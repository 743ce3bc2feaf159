"""Bound rules in the real client: told at the edit or command they are about, and in print mode.

That a terminal asks before a command: test_client_terminal.py.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from e2e.harness.home import Home
from e2e.harness.result import Result
from e2e.harness.script import call
from e2e.harness.stub import Request
from e2e.harness.tiers import tiers
from e2e.harness.wire import Cue, Turn
from memory_fabric.capture.notes.protocol import PROTOCOL, SUMMARY_REQUEST

pytestmark = pytest.mark.e2e

STYLE = "API handlers return problem+json"
SERVER = "Never start the dev server; the user runs the server himself"
SAID = "I'll run the server myself, don't start it."
NOTED = f'Done.\n\nNoted rule: {SERVER}. From: "{SAID.rstrip(".")}"'
LARGE = "x" * 400_000
HELD_BACK = "held this call back once"


CHECK = call("Bash", {"command": "sh check.sh", "description": "check"})
REPAIR = call("Bash", {"command": "mkdir repaired", "description": "repair"})
MARK = call("Bash", {"command": "touch marked.txt", "description": "mark"})
TOUCH = call("Bash", {"command": "cd . && touch made.txt", "description": "make a file"})


def remember(home: Home, what: str, *bound: str) -> str:
    """Remember a rule on the command line; return its short id."""
    done = home.fabric("remember", what, "--type", "rule", *bound, "--json")
    return str(json.loads(done)["id"])[-8:]


def write(path: Path, text: str = "made") -> Turn:
    return call("Write", {"file_path": str(path), "content": text})


@dataclass(frozen=True, slots=True)
class Held:
    """A session with rules: the last request after each prompt, and which files were there then."""

    home: Home
    ids: dict[str, str]
    texts: dict[str, str]
    files: dict[str, set[str]]
    result: Result


@pytest.fixture(scope="module")
def held(shared_home: Callable[[], Home]) -> Held:
    """A session with a rule about edits, one that is a ban, and one that wants a command first."""
    home = shared_home()
    home.attend()
    (home.project / "check.sh").write_text("[ -e repaired ]\n")
    api, web = home.project / "src/api/users.py", home.project / "src/web.py"
    ids = {
        "style": remember(home, STYLE, "--when", "src/api/**"),
        "ban": remember(home, "Files are made by hand", "--when", "`touch made.txt`"),
    }
    remember(
        home, "All is checked before it is marked",
        "--when", "`touch marked.txt`", "--first", "`sh check.sh`",
    )  # fmt: skip
    home.fabric("rules", "deny", ids["ban"])
    texts, files = {}, {}

    with home.open() as session:

        def say(name: str, prompt: str, *turns: Cue) -> None:
            *_, last = session.say(prompt, *turns)
            texts[name] = last.text
            files[name] = {p.name for p in home.project.rglob("*") if p.is_file()}

        say("other", "Write the page.", write(web), "Done.")
        say("refused", "Write the handler.", write(api), "Held back.")
        say("passed", "Then again.", write(api), "Done.")
        say("denied", "Make it.", TOUCH, "Refused.")
        say("denied again", "Again.", TOUCH, "Refused.")
        home.fabric("rules", "lift", ids["ban"])
        say("lifted", "Now?", TOUCH, "Done.")
        say("unchecked", "Check and mark it.", CHECK, MARK, "Held back.")
        say("checked", "Repair it, and mark it.", REPAIR, CHECK, MARK, "Done.")
        result = session.end()
    return Held(home, ids, texts, files, result)


def test_a_rule_refuses_a_matching_edit_once_and_allows_it_when_repeated(held: Held) -> None:
    refused = held.texts["refused"]

    assert HELD_BACK not in held.texts["other"] and "web.py" in held.files["other"]
    assert HELD_BACK in refused and STYLE in refused and held.ids["style"] in refused
    assert "users.py" not in held.files["refused"] and "users.py" in held.files["passed"]
    assert held.texts["passed"].count(HELD_BACK) == 1
    assert held.result.complaints == []


def test_a_call_denied_by_a_rule_of_the_user_is_refused_every_time(held: Held) -> None:
    denied = "the user has denied this call"

    counts = [held.texts[name].count(denied) for name in ("passed", "denied", "denied again")]
    assert 0 == counts[0] < counts[1] < counts[2]
    assert "made.txt" not in held.files["denied again"]
    assert held.texts["lifted"].count(denied) == counts[2] and "made.txt" in held.files["lifted"]


def test_a_call_is_refused_until_its_required_command_has_passed(held: Held) -> None:
    refused = held.texts["unchecked"].removeprefix(held.texts["lifted"])

    assert "`sh check.sh` comes first" in refused and HELD_BACK in refused
    assert "marked.txt" not in held.files["unchecked"] and "marked.txt" in held.files["checked"]


@dataclass(frozen=True, slots=True)
class Printed:
    """A session in print mode, and its requests for an edit that a rule is about, remembered
    after a large file was written.
    """

    home: Home
    editing: list[Request]
    result: Result


@pytest.fixture(scope="module")
def printed(shared_home: Callable[[], Home]) -> Printed:
    """Nobody sits at a session in print mode: it is told nothing of notes."""
    home = shared_home()
    with home.open() as session:
        session.say("Write it.", write(home.project / "large.txt", LARGE), "Done.")
        session.say(SAID, NOTED)
        session.say("/compact keep it short")
        remember(home, STYLE, "--when", "src/api/**")
        editing = session.say("Write it.", write(home.project / "src/api/users.py"), "Done.")
        return Printed(home, editing, session.end())


def test_a_rule_in_print_mode_informs_the_model_without_blocking_the_edit(printed: Printed) -> None:
    assert (printed.home.project / "src/api/users.py").exists()
    assert HELD_BACK not in printed.result.all_text
    first, last = (request.text for request in printed.editing if request.kind == "main")
    assert last.count(STYLE) == first.count(STYLE) + 1  # MEMORY.md shows it, too


def test_the_model_is_not_asked_for_notes_in_print_mode(printed: Printed) -> None:
    told = printed.result.all_text
    kept = tiers(printed.home)

    assert PROTOCOL not in told and SUMMARY_REQUEST not in told
    [record] = [record for record in kept.records if record.what == SERVER]
    assert record.trust == "assistant"
    assert SERVER[:-1] not in kept.notes.decode()


def test_a_large_write_succeeds_if_the_hook_does_not_read_its_input(printed: Printed) -> None:
    assert (printed.home.project / "large.txt").stat().st_size == len(LARGE)
    assert (printed.result.complaints, printed.result.exit_code) == ([], 0)
