"""Fixes and files in the real client: a failing command brings its fix, a changed file its mark."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from e2e.harness.home import Home
from e2e.harness.result import Result, blocks
from e2e.harness.script import call
from e2e.harness.stub import Request

pytestmark = pytest.mark.e2e

FIX = 'deploy.sh stops with "force_https is not allowed" when a handler is set; use handler none'
SCRIPT = (
    "[ ! -e mended ] || exit 0\necho 'Error: force_https is not allowed for shop-web'\nexit 3\n"
)
DEPLOY = call("Bash", {"command": "sh ./deploy.sh", "description": "Deploy"})
HIDDEN = call("Bash", {"command": "sh ./deploy.sh | tail -5", "description": "Deploy"})
MEND = call("Bash", {"command": "touch mended", "description": "Mend"})
OTHER = call("Bash", {"command": "echo 'Error: unauthorized'; exit 4", "description": "Push"})
MARK = "(deploy.sh has changed since)"


@dataclass(frozen=True, slots=True)
class Story:
    """A session that notes a fix, and later ones; the requests after each failing command."""

    before: Result
    other: list[Request]
    failing: list[Request]
    again: list[Request]
    hidden: list[Request]
    changed: list[Request]


@pytest.fixture(scope="module")
def story(shared_home: Callable[[], Home]) -> Story:
    """Four sessions of one user in one project."""
    home = shared_home()
    home.attend()
    script = home.project / "deploy.sh"
    script.write_text(SCRIPT)
    with home.open() as session:
        session.say("Deploy it.", DEPLOY, MEND, DEPLOY, f"It works now.\n\nNoted fix: {FIX}.")
        before = session.end()
    (home.project / "mended").unlink()
    with home.open() as session:
        other = session.say("Push it.", OTHER, "No.")
        failing = session.say("Go ahead.", DEPLOY, "I see.")
        again = session.say("Once more.", DEPLOY, "I see.")
        session.end()
    with home.open() as session:
        hidden = session.say("Go ahead.", HIDDEN, "I see.")
        session.end()
    script.write_text(f"{SCRIPT}# by hand\n")
    with home.open() as session:
        changed = session.say("Go ahead.", DEPLOY, "I see.")
        session.end()
    return Story(before, other, failing, again, hidden, changed)


def told(requests: list[Request]) -> list[str]:
    """The lines that tell the fix at a failure; the last request holds the whole conversation."""
    at_failures = [block for block in blocks(requests[-1].text) if "about this failure" in block]
    return [line for block in at_failures for line in block.splitlines() if FIX[:40] in line]


def test_a_failing_command_is_given_its_known_fix_with_the_result(story: Story) -> None:
    [line] = told(story.failing)

    assert FIX in line and line.startswith("- [fix · ")


def test_a_different_failure_or_a_project_without_fixes_gets_no_fix(story: Story) -> None:
    assert told(story.other) == []
    assert not any("force_https" in block for block in blocks(story.before.all_text))


def test_a_fix_is_shown_once_per_session(story: Story) -> None:
    assert len(told(story.again)) == 1


def test_a_pipe_does_not_hide_a_failure(story: Story) -> None:
    assert len(told(story.hidden)) == 1


def test_a_fix_is_flagged_when_its_file_has_changed(story: Story) -> None:
    [line] = told(story.changed)

    assert line.endswith(MARK)
