"""Fixes and files in the real client: a failing command brings its fix, a changed file its mark."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from e2e.harness.home import Home
from e2e.harness.result import Result, blocks
from e2e.harness.script import call
from e2e.harness.stub import Request
from e2e.harness.wire import Turn

pytestmark = pytest.mark.e2e

# Three scripts, each with a failure of its own and the fix that is noted for it.
FIX = 'deploy.sh stops with "force_https is not allowed" when a handler is set; use handler none'
PIPED_FIX = 'build.sh stops with "lockfile is frozen" when a package is new; run it with --update'
CHANGED_FIX = 'seed.sh stops with "seed_lock is held" when a worker is up; stop the worker first'
FAILURES = {
    "deploy.sh": "force_https is not allowed for shop-web",
    "build.sh": "lockfile is frozen at shop-web",
    "seed.sh": "seed_lock is held by shop-web",
}
MARK = "(seed.sh has changed since)"


def text_of(failure: str) -> str:
    """A script that fails until it is mended."""
    return f"[ ! -e mended ] || exit 0\necho 'Error: {failure}'\nexit 3\n"


def shell(command: str) -> Turn:
    """A turn in which the model runs a command."""
    return call("Bash", {"command": command, "description": "work"})


@dataclass(frozen=True, slots=True)
class Story:
    """A session that notes fixes, and a later one; the requests after each failing command."""

    before: Result
    other: list[Request]
    failing: list[Request]
    again: list[Request]
    hidden: list[Request]
    changed: list[Request]


@pytest.fixture(scope="module")
def story(shared_home: Callable[[], Home]) -> Story:
    """Two sessions of one user in one project; a script is changed between them."""
    home = shared_home()
    home.attend()
    for name, failure in FAILURES.items():
        (home.project / name).write_text(text_of(failure))
    with home.open() as session:
        run = [shell(f"sh ./{name}") for name in FAILURES]
        noted = "\n".join(f"Noted fix: {fix}." for fix in (FIX, PIPED_FIX, CHANGED_FIX))
        session.say("Deploy it.", *run, shell("touch mended"), *run, f"It works now.\n\n{noted}")
        before = session.end()
    (home.project / "mended").unlink()
    with (home.project / "seed.sh").open("a") as file:
        file.write("# by hand\n")
    with home.open() as session:
        unknown = shell("echo 'Error: unauthorized'; exit 4")
        other = session.say("Push it.", unknown, "No.")
        failing = session.say("Go ahead.", shell("sh ./deploy.sh"), "I see.")
        again = session.say("Once more.", shell("sh ./deploy.sh"), "I see.")
        hidden = session.say("Go ahead.", shell("sh ./build.sh | tail -5"), "I see.")
        changed = session.say("Go ahead.", shell("sh ./seed.sh"), "I see.")
        session.end()
    return Story(before, other, failing, again, hidden, changed)


def told(requests: list[Request], fix: str = FIX) -> list[str]:
    """The lines that tell a fix at a failure; the last request holds the whole conversation."""
    at_failures = [block for block in blocks(requests[-1].text) if "about this failure" in block]
    return [line for block in at_failures for line in block.splitlines() if fix[:40] in line]


def test_the_result_of_a_failing_command_comes_with_the_known_fix(story: Story) -> None:
    [line] = told(story.failing)

    assert FIX in line and line.startswith("- [fix · ")


def test_no_fix_is_shown_for_a_different_failure_or_in_a_project_without_fixes(
    story: Story,
) -> None:
    assert told(story.other) == []
    assert not any("about this failure" in block for block in blocks(story.before.all_text))


def test_a_fix_is_shown_once_per_session(story: Story) -> None:
    assert len(told(story.again)) == 1


def test_a_fix_is_shown_even_if_a_pipe_hides_the_failed_exit_code(
    story: Story,
) -> None:
    assert len(told(story.hidden, PIPED_FIX)) == 1


def test_a_fix_is_flagged_if_its_file_has_changed_since(story: Story) -> None:
    [line] = told(story.changed, CHANGED_FIX)

    assert line.endswith(MARK)
