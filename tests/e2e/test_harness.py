"""The harness sees what it must: without these, an absence in another test would prove nothing."""

from __future__ import annotations

import json
import sys

import pytest

from e2e.harness.home import CLIENT_VERSION, Home
from e2e.harness.result import CLOSE, OPEN, Result, injected
from e2e.harness.script import Script, call, delegate

pytestmark = pytest.mark.e2e

HOOK = """\
import json, sys
event = json.load(sys.stdin)
name = event["hook_event_name"]
words = f"<memory-fabric>\\ncontext of {name}\\n</memory-fabric>"
own = {"hookEventName": name, "additionalContext": words}
context = {} if name == "Stop" else {"hookSpecificOutput": own}
print(json.dumps({"systemMessage": f"notice of {name}", **context}))
"""
EVENTS = ("SessionStart", "UserPromptSubmit", "SubagentStart", "Stop")


@pytest.fixture(scope="module")
def talkative(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A plugin whose hooks say something at every event; the argument that loads it."""
    plugin = tmp_path_factory.mktemp("plugins") / "talkative"
    (plugin / ".claude-plugin").mkdir(parents=True)
    manifest = json.dumps({"name": "talkative"})
    (plugin / ".claude-plugin/plugin.json").write_text(manifest, encoding="utf-8")
    (plugin / "hook.py").write_text(HOOK, encoding="utf-8")
    run = {"type": "command", "command": sys.executable, "args": ["${CLAUDE_PLUGIN_ROOT}/hook.py"]}
    hooks = {"hooks": {event: [{"hooks": [run]}] for event in EVENTS}}
    (plugin / "hooks").mkdir()
    (plugin / "hooks/hooks.json").write_text(json.dumps(hooks), encoding="utf-8")
    return f"--plugin-dir={plugin}"


@pytest.fixture(scope="module")
def talk(tmp_path_factory: pytest.TempPathFactory, talkative: str) -> Result:
    """A session with a subagent, a command and a compaction under the talkative plugin."""
    script = Script(
        prompts=("First question", "/compact keep it short", "Second question"),
        main=(
            delegate("a task for another"),
            call("Bash", {"command": "echo said-by-bash", "description": "speak"}),
            "The first answer.",
        ),
        subagent=("The subagent's answer.",),
        arguments=(talkative,),
    )
    return Home(tmp_path_factory.mktemp("machine") / "talk").session(script)


def test_the_installed_client_has_the_pinned_version(empty_home: Home) -> None:
    assert empty_home.claude("--version").startswith(CLIENT_VERSION)


def test_the_harness_attributes_injected_text_to_the_right_hook_event(talk: Result) -> None:
    first = talk.main_texts[0]

    assert "context of SessionStart" in injected(first, "SessionStart")[0]
    assert "context of UserPromptSubmit" in injected(first, "UserPromptSubmit")[0]
    assert injected(first, "SubagentStart") == []


def test_the_harness_tells_session_subagent_and_compaction_requests_apart(
    talk: Result,
) -> None:
    [subagent] = talk.requests("subagent")
    [summary] = talk.requests("compact")

    assert subagent.agent
    assert injected(subagent.text, "SubagentStart") == [
        f"{OPEN}\ncontext of SubagentStart\n{CLOSE}"
    ]
    assert "keep it short" in summary.text
    assert "said-by-bash" in talk.main_texts[2]
    assert "The subagent's answer." in talk.main_texts[1]


def test_notices_are_shown_to_the_user_and_not_to_the_model(talk: Result) -> None:
    assert any("notice of UserPromptSubmit" in notice for notice in talk.notices)
    assert any("notice of Stop" in notice for notice in talk.notices)
    assert "notice of" not in talk.all_text


def test_every_hook_run_is_reported_with_its_exit_code(talk: Result) -> None:
    ran = [hook.event for hook in talk.hooks]

    assert set(ran) >= set(EVENTS)
    assert all(hook.exit_code == 0 for hook in talk.hooks)
    assert talk.complaints == []
    assert talk.exit_code == 0
