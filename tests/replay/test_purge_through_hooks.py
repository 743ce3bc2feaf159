"""forget --purge of words that came by real hooks: afterwards no byte of ours holds them."""

from __future__ import annotations

from pathlib import Path

import pytest

from replay.hook_runner import HereRunner, HookRunner, content
from replay.test_no_secret_bytes import command, run_hook, say, theirs

# No rule of redaction knows it: it looks like any product's name.
WORDS = "tangerine-walrus"
SPELLED = (WORDS, WORDS.upper(), "tangerine\\u002dwalrus", "tangerine%2Dwalrus")


@pytest.fixture
def hooks(tmp_path: Path) -> HookRunner:
    hooks = HookRunner(tmp_path)
    (hooks.project / ".git").mkdir()
    return hooks


def holding(hooks: HookRunner) -> list[str]:
    """Files of ours that hold the words; the client's own transcript may."""
    return [
        str(path.relative_to(hooks.folder))
        for path in hooks.folder.rglob("*")
        if path.parent != theirs(hooks).parent
        and any(text.encode().lower() in content(path).lower() for text in SPELLED)
    ]


def lived_through(hooks: HookRunner) -> None:
    """The words come by a prompt, by turns and in a failing command; copies of it all are made."""
    run_hook(
        hooks, "UserPromptSubmit", prompt="We decided to use Postgres for the shop on port 8080."
    )
    run_hook(
        hooks, "UserPromptSubmit", prompt=f"We decided to use {WORDS} because it is our login."
    )
    say(hooks, "user", f"The login is {WORDS}, and the port of the shop is 8080.")
    deploy = {"command": f"deploy --as {WORDS} --to staging"}
    say(hooks, "assistant", {"type": "tool_use", "id": "t1", "name": "Bash", "input": deploy})
    failed = f"Exit code 1\nError: {WORDS.title()} was refused by the gateway"
    result = {"type": "tool_result", "tool_use_id": "t1", "content": failed, "is_error": True}
    say(hooks, "user", result)
    say(hooks, "assistant", f"I will use {WORDS} for the gateway. The shop listens on 8080.")
    noted = f'Noted fact: The gateway knows {WORDS}. Why: {WORDS} logs in. From: "is {WORDS}, and"'
    run_hook(hooks, "Stop", last_assistant_message=noted, stop_hook_active=False)
    assert command(hooks, "remember", f"The gateway is opened with {WORDS}").returncode == 0
    assert command(hooks, "backup").returncode == 0


def test_words_captured_by_hooks_remain_in_no_file_after_a_purge(hooks: HookRunner) -> None:
    lived_through(hooks)
    assert command(hooks, "forget", WORDS, "--yes", "--all").returncode == 0
    before = holding(hooks)
    assert any(path.endswith("graph.db") for path in before), before
    assert any("backups" in path for path in before), before
    assert any(path.endswith("operations.jsonl") for path in before), before

    preview = command(hooks, "forget", "--purge", WORDS)
    done = command(hooks, "forget", "--purge", WORDS, "--yes", "--all")

    assert preview.returncode == 0, preview.stderr
    assert done.returncode == 0, done.stderr
    assert holding(hooks) == []
    for said in (preview.stdout, preview.stderr, done.stdout, done.stderr):
        assert WORDS not in said.lower()
    recalled = command(hooks, "recall", "shop gateway 8080 Postgres")
    assert "8080" in recalled.stdout and "Postgres" in recalled.stdout
    assert WORDS not in recalled.stdout.lower()
    assert command(hooks, "check").returncode == 0
    for event in ("Stop", "SessionEnd"):
        run_hook(hooks, event, last_assistant_message="Done.")
    run_hook(hooks, "SessionStart", source="startup", session_id="s2")
    assert holding(hooks) == []


def test_purged_words_of_a_running_turn_do_not_return_when_it_ends(tmp_path: Path) -> None:
    hooks = HereRunner(tmp_path)
    (hooks.project / ".git").mkdir()
    hooks.environ["MEMORY_FABRIC_FORWARD_URL"] = "http://127.0.0.1:9"
    run_hook(hooks, "SessionStart", source="startup")
    prompt = f"From now on use {WORDS} as our login."
    run_hook(hooks, "UserPromptSubmit", prompt=prompt)
    say(hooks, "user", prompt)
    calls = {"Bash": {"command": f"deploy --as {WORDS}"}, "Edit": {"file_path": f"/{WORDS}.py"}}
    for name, arguments in calls.items():
        say(hooks, "assistant", {"type": "tool_use", "id": name, "name": name, "input": arguments})
    failed = {"content": f"Exit code 1\nError: {WORDS} was refused", "is_error": True}
    say(hooks, "user", {"type": "tool_result", "tool_use_id": "Bash", **failed})
    say(hooks, "assistant", f"It is refused.\nNoted fact: The gateway refuses {WORDS}.")

    done = command(hooks, "forget", "--purge", WORDS, "--yes", "--all")
    say(hooks, "assistant", "The shop listens on 8080.")
    for event in ("Stop", "SessionEnd"):
        run_hook(hooks, event, last_assistant_message="The shop listens on 8080.")

    assert done.returncode == 0, done.stderr
    assert holding(hooks) == []
    assert "8080" in command(hooks, "recall", "shop").stdout
