"""The real client in a terminal, where a person types: notes without any setting of ours."""

from __future__ import annotations

import io
import json
import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass

import pexpect
import pytest

from e2e.harness.home import REPOSITORY, Home, client_path
from e2e.harness.script import Script, call
from e2e.harness.stub import Request, StubAPI
from e2e.harness.terminal import KEY, accept, end, type_in
from e2e.harness.tiers import Tiers, tiers
from memory_fabric.capture.notes.protocol import PROTOCOL
from waiting import GIVE_UP_S

pytestmark = pytest.mark.e2e

SAID = "I'll run the server myself, don't start it."
RULE = "Never start the dev server; the user runs the server himself"
WATCH = "Never start npm run watch; the user runs the watch task himself"
START = call("Bash", {"command": "touch started && npm run watch", "description": "start"})
NOTED = f'Understood.\n\nNoted rule: {RULE}. From: "{SAID}"'


@dataclass(frozen=True, slots=True)
class Typed:
    """The requests of a session in a terminal, what it kept, what the screen showed last and in
    all, and if a command ran that a rule forbids.
    """

    requests: list[Request]
    kept: Tiers
    shown: str
    screen: str
    started: bool


def show_status_line(home: Home) -> None:
    """Enter the status line into the user's settings, beside what the client keeps there."""
    path = home.config / "settings.json"
    known = json.loads(path.read_text("utf-8")) if path.exists() else {}
    command = f"{shlex.quote(str(REPOSITORY / 'bin/memory-fabric'))} statusline"
    known["statusLine"] = {"type": "command", "command": command}
    path.write_text(json.dumps(known), encoding="utf-8")


# The client moves the cursor over some blanks.
STATUS = re.compile("memory(?: |\x1b\\[1C)project: ")


@pytest.fixture(scope="module")
def typed(shared_home: Callable[[], Home]) -> Typed:
    """A rule is said and noted, a command meets another, and then notes are switched off."""
    home = shared_home()
    accept(home)
    home.fabric("remember", WATCH, "--type", "rule", "--when", "npm run watch")
    show_status_line(home)
    screen = io.StringIO()
    with StubAPI(Script(main=(NOTED, START)), home.config / "projects") as stub:
        terminal = pexpect.spawn(
            str(client_path()),
            ["--allowedTools", "Bash"],
            env=home.environment(
                {
                    "ANTHROPIC_BASE_URL": stub.url,
                    "ANTHROPIC_API_KEY": KEY,
                    "TERM": "xterm-256color",
                }
            ),
            cwd=str(home.project),
            dimensions=(50, 200),
            timeout=GIVE_UP_S,
            encoding="utf-8",
        )
        terminal.logfile_read = screen
        try:
            terminal.expect_exact("memory-fabric is on")
            type_in(terminal, SAID, "memory-fabric.{1,12}remembered")
            type_in(terminal, "Start it, please.", "you.{1,12}have.{1,12}a.{1,12}rule.{1,12}about")
            terminal.send("\x1b")
            terminal.expect("Interrupted|rejected|doesn't")
            type_in(terminal, "notes off", "blocked.{1,12}by.{1,12}hook")
            terminal.expect_exact("Original")
            shown = str(terminal.before)
            if not STATUS.search(screen.getvalue()):
                terminal.expect(STATUS)
        finally:
            end(terminal)
        started = (home.project / "started").exists()
        return Typed(list(stub.requests), tiers(home), shown, screen.getvalue(), started)


def test_a_rule_typed_in_a_terminal_session_is_noted_and_stored(
    typed: Typed,
) -> None:
    request, *_ = [request for request in typed.requests if request.kind == "main"]

    assert PROTOCOL in request.text
    assert "Sounds like a standing rule: note it if it is one." in request.text
    [record] = [record for record in typed.kept.records if record.what == RULE]
    assert (record.type, record.what, record.trust) == ("constraint", RULE, "user")
    assert RULE[:-1] in typed.kept.fence


def test_the_client_asks_before_running_a_command_forbidden_by_a_rule(typed: Typed) -> None:
    assert not typed.started


def test_the_outcome_of_a_memory_command_typed_as_a_prompt_is_shown(typed: Typed) -> None:
    assert "notes are off" in " ".join(typed.shown.replace("\x1b[1C", " ").split())


def test_the_status_line_is_shown_below_the_prompt(typed: Typed) -> None:
    assert STATUS.search(typed.screen)
