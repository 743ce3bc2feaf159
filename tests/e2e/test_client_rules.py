"""Bound rules in the real client: told at the edit they are about, asked about before a command."""

from __future__ import annotations

import json
from pathlib import Path

import pexpect
import pytest

from e2e.harness.home import Home, client_path
from e2e.harness.script import Script, call
from e2e.harness.stub import StubAPI
from e2e.harness.terminal import KEY, accept, end
from e2e.harness.wire import Turn
from waiting import GIVE_UP_S

pytestmark = pytest.mark.e2e

STYLE = "API handlers return problem+json"
SERVER = "Never start the dev server; the user runs the server himself"
HELD_BACK = "held this call back once"


def remember(home: Home, what: str, when: str) -> str:
    """Remember a rule on the command line; return its short id."""
    done = home.fabric("remember", what, "--type", "rule", "--when", when, "--json")
    return str(json.loads(done)["id"])[-8:]


def write(path: Path, text: str = "made") -> Turn:
    return call("Write", {"file_path": str(path), "content": text})


def test_a_rule_refuses_a_matching_edit_once_and_allows_it_when_repeated(
    home: Home,
) -> None:
    home.attend()
    id_ = remember(home, STYLE, "src/api/**")
    api, web = home.project / "src/api/users.py", home.project / "src/web.py"

    with home.open() as session:
        *_, other = session.say("Write the page.", write(web), "Done.")
        *_, refused = session.say("Write the handler.", write(api), "Held back.")
        was_there = api.exists()
        *_, passed = session.say("Then again.", write(api), "Done.")
        result = session.end()

    assert HELD_BACK not in other.text and web.exists()
    assert HELD_BACK in refused.text and STYLE in refused.text and id_ in refused.text
    assert not was_there and api.exists()
    assert passed.text.count(HELD_BACK) == 1
    assert result.complaints == []


def test_a_call_denied_by_a_rule_of_the_user_is_refused_every_time(home: Home) -> None:
    home.attend()
    id_ = remember(home, STYLE, "`touch *`")
    home.fabric("rules", "deny", id_)
    touch = call("Bash", {"command": "cd . && touch made.txt", "description": "make a file"})

    with home.open() as session:
        session.say("Make it.", touch, "Refused.")
        *_, again = session.say("Again.", touch, "Refused.")
        session.end()
    home.fabric("rules", "lift", id_)
    lifted = home.session(Script(prompts=("Now?",), main=(touch, "Done.")))

    assert "the user has denied this call" in again.text
    assert "denied this call" not in lifted.all_text.replace(again.text, "")
    assert (home.project / "made.txt").exists()


def test_a_call_is_refused_until_its_required_command_has_passed(home: Home) -> None:
    home.attend()
    (home.project / "check.sh").write_text("[ -e repaired ]\n")
    home.fabric(
        "remember", "All is checked before it is marked", "--type", "rule",
        "--when", "`touch made.txt`", "--first", "`sh check.sh`",
    )  # fmt: skip
    check = call("Bash", {"command": "sh check.sh", "description": "check"})
    repair = call("Bash", {"command": "mkdir repaired", "description": "repair"})
    touch = call("Bash", {"command": "touch made.txt", "description": "mark"})
    made = home.project / "made.txt"

    with home.open() as session:
        *_, refused = session.say("Check and mark it.", check, touch, "Held back.")
        was_there = made.exists()
        session.say("Repair it, and mark it.", repair, check, touch, "Done.")
        result = session.end()

    assert "`sh check.sh` comes first" in refused.text and HELD_BACK in refused.text
    assert not was_there and made.exists()
    assert result.complaints == []


def test_print_mode_gets_rules_with_the_result_and_nothing_is_refused(home: Home) -> None:
    remember(home, STYLE, "src/api/**")
    api = home.project / "src/api/users.py"

    result = home.session(Script(prompts=("Write it.",), main=(write(api), "Done.")))

    assert api.exists()
    assert HELD_BACK not in result.all_text
    assert STYLE in result.main_texts[-1]


def test_a_large_call_is_allowed_if_the_launcher_exits_without_reading_it(home: Home) -> None:
    large, path = "x" * 400_000, home.project / "large.txt"

    result = home.session(Script(prompts=("Write it.",), main=(write(path, large), "Done.")))

    assert path.stat().st_size == len(large)
    assert (result.complaints, result.exit_code) == ([], 0)


def test_a_command_that_the_users_words_forbid_asks_for_permission(home: Home) -> None:
    accept(home)
    remember(home, SERVER, "npm run dev")
    start = call("Bash", {"command": "touch started && npm run dev", "description": "start"})
    with StubAPI(Script(main=(start, "Left alone."))) as stub:
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
        try:
            terminal.expect_exact("memory-fabric is on")
            terminal.send("Start it, please.")
            terminal.expect_exact("please.")
            terminal.send("\r")
            terminal.expect("you.{1,12}have.{1,12}a.{1,12}rule.{1,12}about")
            terminal.send("\x1b")
            terminal.expect("Interrupted|rejected|doesn't")
        finally:
            end(terminal)

    assert not (home.project / "started").exists()
