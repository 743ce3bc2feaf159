"""Bound rules through the hook that the client starts before a command or a change of a file."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from memory_fabric.clients import transcript
from memory_fabric.config import read_settings
from memory_fabric.models import EFFECT, QUOTATION, WHEN, Provenance, Record
from memory_fabric.store.home import launch_marks
from memory_fabric.store.memory import Memory
from replay.hook_runner import TESTS, HereRunner, HookRunner

SERVER = "Never start the dev server; the user runs it himself"
STYLE = "API handlers return problem+json"
QUOTE = "I'll run it myself, never start the dev server"


START = {"hook_event_name": "SessionStart", "session_id": "s1", "source": "startup"}


@pytest.fixture
def hooks(tmp_path: Path) -> HookRunner:
    """The hooks of a started session, answered in this process."""
    hooks = HereRunner(tmp_path)
    hooks.run(START)
    return hooks


@pytest.fixture
def launched(tmp_path: Path) -> HookRunner:
    """The hooks of a started session, by the command of hooks.json: it may start no Python."""
    hooks = HookRunner(tmp_path)
    hooks.run(START)
    return hooks


def remember(hooks: HookRunner, what: str, when: str, trust: str = "user", **more: Any) -> Record:
    """Store a rule as a note with a checked quotation would be."""
    evidence = {WHEN: when, **more.pop("evidence", {})}
    record = Record("constraint", what, confidence=0.85, evidence=evidence, **more)
    memory = Memory.open(read_settings(hooks.environ, {}))
    stored = memory.remember(record, Provenance("assistant", trust=trust, session="earlier"))
    memory.close()
    assert stored is not None
    return stored


def bash(hooks: HookRunner, command: str, session: str = "s1", **more: Any) -> dict[str, Any]:
    """Return the hook's output before a command, with its `permissionDecision`."""
    return tool(hooks, "Bash", {"command": command}, session, **more)


def tool(
    hooks: HookRunner, name: str, given: dict[str, Any], session: str = "s1", **more: Any
) -> dict[str, Any]:
    environ = more.pop("environ", {})
    event = {
        **json.loads((TESTS / "events" / "PreToolUse.json").read_text("utf-8")),
        "session_id": session,
        "cwd": str(hooks.project),
        "tool_name": name,
        "tool_input": given,
        "agent_id": "",
        "agent_type": "",
        **more,
    }
    result = hooks.run(event, environ)
    assert (result.status, result.stderr) == (0, "")
    specific: dict[str, Any] = (result.reply or {}).get("hookSpecificOutput", {})
    return specific


def test_a_rule_refuses_the_first_matching_call_of_a_session_only(
    hooks: HookRunner,
) -> None:
    rule = remember(hooks, STYLE, "src/api/**", evidence={QUOTATION: "use problem+json"})
    edit = {"file_path": str(hooks.project / "src/api/users.py"), "old_string": "a"}

    first = tool(hooks, "Edit", edit)
    again = tool(hooks, "Edit", edit)
    elsewhere = tool(hooks, "Write", {"file_path": str(hooks.project / "src/web.py")}, "s2")
    later = tool(hooks, "Write", edit, "s2")

    assert first["permissionDecision"] == "deny"
    reason = first["permissionDecisionReason"]
    assert all(said in reason for said in (STYLE, rule.id[-8:], "use problem+json", "src/api/**"))
    assert "it passes" in reason
    assert again == elsewhere == {}
    assert later["permissionDecision"] == "deny"


def test_a_command_forbidden_by_the_user_asks_for_permission_once_per_session(
    launched: HookRunner,
) -> None:
    rule = remember(launched, SERVER, "npm run dev", evidence={QUOTATION: QUOTE})

    asked = bash(launched, "cd web && npm run dev &")

    assert asked["permissionDecision"] == "ask"
    assert QUOTE in asked["permissionDecisionReason"]
    assert f"`lift {rule.id[-8:]}`" in asked["permissionDecisionReason"]
    assert "memory-fabric rules" not in asked["permissionDecisionReason"]
    assert bash(launched, "npm run dev") == bash(launched, "npm run build") == {}
    assert bash(launched, "npm run dev", "s2")["permissionDecision"] == "ask"


@pytest.mark.parametrize(
    ("when", "command"),
    [
        ("git push", "git push origin main"),
        ("deploying", "npm run deploy"),
        ("deploying", "fly deploy"),
        ("release", "npm publish"),
        ("`rm -rf`", "rm -rf build"),
        ("deleting", "docker volume rm shop"),
        ("src/old/**", "rm src/old/x.py"),
        ("make clean-data", "make clean-data && git push"),
    ],
)
def test_the_user_is_asked_every_time_about_a_call_that_cannot_be_undone(
    hooks: HookRunner, when: str, command: str
) -> None:
    remember(hooks, SERVER, when, evidence={EFFECT: "ask"})
    is_own = "make" not in when

    asked = [bash(hooks, command).get("permissionDecision") for _ in range(3)]

    assert asked == (["ask"] * 3 if is_own else ["ask", None, None])


def test_a_command_that_the_user_declined_asks_for_permission_again(
    hooks: HookRunner,
) -> None:
    remember(hooks, SERVER, "npm run dev", evidence={EFFECT: "ask"})
    path = hooks.transcript("declined")
    command = {"command": "npm run dev"}
    use = {"type": "tool_use", "id": "t1", "name": "Bash", "input": command}
    refusal = "The user doesn't want to proceed with this tool use."
    result = {"type": "tool_result", "tool_use_id": "t1", "is_error": True, "content": refusal}
    more = {"transcript_path": str(path)}

    first = bash(hooks, "npm run dev", **more)
    lines = [
        {"type": role, "uuid": role, "sessionId": "s1", "message": {"role": role, "content": [it]}}
        for role, it in (("assistant", use), ("user", result))
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))

    assert first["permissionDecision"] == "ask"
    assert bash(hooks, "cd web; npm run dev", **more)["permissionDecision"] == "ask"
    assert bash(hooks, "npm run build", **more) == {}


def test_the_transcript_is_read_once_even_if_several_rules_match_a_call(
    hooks: HookRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    for rule in (SERVER, STYLE):
        remember(hooks, rule, "npm run dev", evidence={EFFECT: "ask"})
    read: list[str] = []

    def read_on(path: str, *given: Any, **more: Any) -> transcript.Reading:
        read.append(path)
        return whole(path, *given, **more)

    whole = transcript.read_on
    monkeypatch.setattr(transcript, "read_on", read_on)
    first = bash(hooks, "npm run dev")["permissionDecision"]

    assert (first, bash(hooks, "npm run dev")) == ("ask", {})
    assert len(read) == 1


def test_a_rule_with_effect_deny_refuses_a_matching_call_every_time(hooks: HookRunner) -> None:
    remember(hooks, STYLE, "git push --force", evidence={EFFECT: "deny"})

    refused = [bash(hooks, "git push -f origin main") for _ in range(2)]

    assert [one["permissionDecision"] for one in refused] == ["deny", "deny"]
    assert "The user can lift it" in refused[1]["permissionDecisionReason"]


@pytest.mark.parametrize(
    "environ",
    [
        {"CLAUDE_CODE_SESSION_ATTENDED": "0"},
        {"CLAUDE_CODE_ENTRYPOINT": "sdk-py"},
    ],
)
@pytest.mark.parametrize("effect", ["", "deny", "ask"])
def test_a_rule_is_shown_but_refuses_nothing_when_no_person_is_present(
    hooks: HookRunner, environ: dict[str, str], effect: str
) -> None:
    evidence = {EFFECT: effect} if effect else {}
    remember(hooks, SERVER, "npm run dev", evidence=evidence)

    told = bash(hooks, "npm run dev", environ=environ)

    assert "permissionDecision" not in told and SERVER in told["additionalContext"]
    assert bash(hooks, "npm run dev", environ=environ) == {}


def test_a_rule_noted_only_by_the_assistant_is_shown_but_refuses_no_call(hooks: HookRunner) -> None:
    remember(hooks, SERVER, "npm run dev", trust="assistant")

    told = bash(hooks, "npm run dev")

    assert "permissionDecision" not in told
    assert "noted by the assistant" in told["additionalContext"]


def test_a_rule_refuses_the_first_matching_call_of_each_agent(hooks: HookRunner) -> None:
    remember(hooks, STYLE, "commit")

    first = bash(hooks, "git commit -m x")
    by_agent = [bash(hooks, "git commit -m x", agent_id="a1", agent_type="x") for _ in range(2)]

    assert first["permissionDecision"] == by_agent[0]["permissionDecision"] == "deny"
    assert by_agent[1] == {}


def test_a_rule_with_user_scope_applies_in_every_project(hooks: HookRunner) -> None:
    remember(hooks, STYLE, "git push", scope="user")

    assert bash(hooks, "git push")["permissionDecision"] == "deny"


def test_no_call_is_refused_if_the_refusal_cannot_be_recorded(hooks: HookRunner) -> None:
    remember(hooks, STYLE, "git push")

    told = [bash(hooks, "git push", session="") for _ in range(2)]

    assert all("permissionDecision" not in one for one in told)
    assert STYLE in told[0]["additionalContext"]


def test_no_call_is_refused_while_memory_is_disabled_or_damaged(launched: HookRunner) -> None:
    remember(launched, STYLE, "git push")

    assert bash(launched, "git push", environ={"MEMORY_FABRIC": "off"}) == {}
    [graph] = launched.memory.glob("projects/*/graph.db")
    graph.write_bytes(b"no database" * 1000)
    assert bash(launched, "git push") == {}


def test_the_launcher_starts_python_for_a_tool_call_only_if_a_rule_exists(
    launched: HookRunner,
) -> None:
    broken = {"CLAUDE_PLUGIN_DATA": str(launched.folder / "none"), "PATH": "/nonexistent"}
    interpreter = Path(launched.environ["CLAUDE_PLUGIN_DATA"]) / "interpreter"
    before = interpreter.read_text()
    interpreter.write_text("/nonexistent/python\n")
    assert bash(launched, "git push", environ=broken) == {}  # nothing looked for a Python
    assert not (launched.folder / "none").exists()
    interpreter.write_text(before)

    remember(launched, STYLE, "git push")

    assert bash(launched, "git push")["permissionDecision"] == "deny"


def test_a_rule_stored_after_an_unhandled_event_still_applies(launched: HookRunner) -> None:
    (launched.memory / "config.toml").write_text("write = false\n")
    launched.run({"hook_event_name": "PostToolUse", "session_id": "s1", "tool_name": "Question"})
    (launched.memory / "config.toml").unlink()

    remember(launched, STYLE, "git push")

    assert bash(launched, "git push")["permissionDecision"] == "deny"


def test_rules_apply_again_once_an_invalid_config_is_corrected(launched: HookRunner) -> None:
    remember(launched, STYLE, "git push")
    config = launched.memory / "config.toml"
    config.write_text("[domains.legal]\nisolate = = true\n")

    closed = bash(launched, "git push")
    config.write_text("[domains.legal]\nisolate = true\n")

    assert closed == {}
    assert bash(launched, "git push")["permissionDecision"] == "deny"


def test_rules_apply_again_from_the_next_prompt_once_reading_is_enabled(
    launched: HookRunner,
) -> None:
    remember(launched, STYLE, "git push")
    config = launched.memory / "config.toml"
    config.write_text("read = false\n")
    off = [bash(launched, "git push") for _ in range(2)]
    config.unlink()

    launched.say("Push it, please.")

    assert off == [{}, {}]
    assert bash(launched, "git push")["permissionDecision"] == "deny"


def test_a_rule_without_a_command_starts_python_for_the_first_call_only(
    launched: HookRunner,
) -> None:
    remember(launched, STYLE, "working on the lists")
    [mark] = launched.memory.glob("projects/*/has-rules")

    assert bash(launched, "ls") == {}
    assert not mark.exists()
    launched.say("Which lists are there?")
    assert not mark.exists()

    remember(launched, SERVER, "npm run dev")
    assert mark.exists()


def test_a_rule_hidden_from_one_agent_still_refuses_calls_of_another(launched: HookRunner) -> None:
    config = '[domains.legal]\nisolate = true\nagents = ["lawyer"]\n'
    (launched.memory / "config.toml").write_text(config)
    remember(launched, STYLE, "git push", domain="legal")

    hidden = bash(launched, "git push")
    seen = bash(launched, "git push", agent_id="a1", agent_type="lawyer")

    assert hidden == {}
    assert seen["permissionDecision"] == "deny"


def test_a_rule_with_local_scope_applies_only_in_its_own_session(hooks: HookRunner) -> None:
    rule = remember(hooks, STYLE, "git push", scope="local")
    assert rule.session == "earlier"

    other = bash(hooks, "git push")
    own = bash(hooks, "git push", rule.session)

    assert other == {}
    assert own["permissionDecision"] == "deny"


def test_a_rule_that_refuses_a_call_is_recorded_once_as_shown(
    hooks: HookRunner,
) -> None:
    rule = remember(hooks, STYLE, "git push")
    for _ in range(2):
        bash(hooks, "git push")

    memory = Memory.open(read_settings(hooks.environ, {}))
    rows = memory.session_database().rows(
        "SELECT memory, channel, kind FROM told WHERE memory <> ''"
    )
    memory.close()

    assert rows == [(f"record:{rule.id}", "held", "constraint")]


def test_a_session_in_a_subfolder_finds_the_rules_of_its_project(launched: HookRunner) -> None:
    (launched.project / ".git").mkdir()
    sub = launched.project / "apps" / "web"
    sub.mkdir(parents=True)
    environ = {"CLAUDE_PROJECT_DIR": str(sub)}
    assert bash(launched, "ls", "s3", environ=environ) == {}  # notes the place
    remember(launched, STYLE, "apps/web/src/**")
    path = launch_marks.place_path(str(launched.memory), str(sub))

    told = tool(launched, "Edit", {"file_path": "src/x.ts"}, "s3", environ=environ, cwd=str(sub))

    assert os.path.exists(path)
    assert told["permissionDecision"] == "deny"


def test_a_secret_in_a_rule_is_not_shown_with_the_refusal(hooks: HookRunner) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    remember(hooks, f"Deploys use the token {secret}", "git push")

    assert secret not in json.dumps(bash(hooks, "git push"))
