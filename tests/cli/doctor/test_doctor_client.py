"""doctor: what Claude Code was told, in each of its settings files."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from cli.doctor.doctoring import (
    LOCAL,
    OTHER_SERVER,
    OUR_SERVER,
    PLUGIN,
    PROJECT,
    USER,
    configure,
    hooks_for,
    look,
    settings_file,
)
from cli.shell import ROOT, Shell
from memory_fabric.hooks.table import HANDLERS


def test_doctor_accepts_an_enabled_plugin_and_groups_checks_in_four_areas(enabled: Shell) -> None:
    checks = look(enabled)

    assert checks["hooks"]["state"] == "ok" and PLUGIN in checks["hooks"]["told"]
    assert all(
        set(c) >= {"name", "state", "told", "remedy", "area", "fixable"} for c in checks.values()
    )
    assert {c["area"] for c in checks.values()} == {
        "Installation",
        "Claude Code",
        "At work",
        "Storage",
    }


def test_doctor_reports_a_project_that_disables_the_plugin(enabled: Shell) -> None:
    configure(enabled, PROJECT, enabledPlugins={PLUGIN: False})

    check = look(enabled)["hooks"]

    assert check["state"] == "warning" and str(settings_file(enabled, PROJECT)) in check["told"]
    assert f"claude plugin enable {PLUGIN}" in check["remedy"]


def test_doctor_applies_local_settings_over_project_settings(enabled: Shell) -> None:
    configure(enabled, PROJECT, enabledPlugins={PLUGIN: False})
    configure(enabled, LOCAL, enabledPlugins={PLUGIN: True})

    assert look(enabled)["hooks"]["state"] == "ok"


@pytest.mark.parametrize("scope", [USER, PROJECT, LOCAL])
def test_doctor_finds_hooks_in_every_settings_file_and_lists_missing_events(
    shell: Shell, scope: str
) -> None:
    configure(shell, scope, hooks=hooks_for("SessionStart", "UserPromptSubmit"))

    checks = look(shell)

    assert checks["hooks"]["state"] == "ok"
    assert str(settings_file(shell, scope)) in checks["hooks"]["told"]
    assert checks["hook events"]["state"] == "warning"
    assert "Stop" in checks["hook events"]["told"]
    assert "SessionStart" not in checks["hook events"]["told"]


@pytest.mark.parametrize("scope", [USER, PROJECT, LOCAL])
def test_the_suggested_command_adds_the_missing_hook_events(shell: Shell, scope: str) -> None:
    configure(shell, scope, hooks=hooks_for("SessionStart", "UserPromptSubmit"))
    remedy = look(shell)["hook events"]["remedy"]
    assert remedy.startswith("memory-fabric ") and remedy.endswith(" adds them.")

    done = shell.run(*remedy.removesuffix(" adds them.").split()[1:], "--yes")

    assert done.status == 0, done.err
    assert look(shell)["hook events"]["state"] == look(shell)["hooks"]["state"] == "ok"


def test_a_complete_set_of_manually_added_hooks_is_reported_as_ok(shell: Shell) -> None:
    configure(shell, USER, hooks=hooks_for(*HANDLERS))

    checks = look(shell)

    assert checks["hooks"]["state"] == checks["hook events"]["state"] == "ok"


def test_hooks_of_other_tools_do_not_count_as_hooks_of_memory_fabric(shell: Shell) -> None:
    configure(shell, USER, hooks=hooks_for(*HANDLERS, command="/opt/other/hooks/launch"))

    assert "not in settings.json" in look(shell)["hooks"]["told"]


def install(shell: Shell, place: Path, source: Path) -> None:
    """Write what the client notes of an installation from a folder."""
    noted = shell.user_home / ".claude/plugins"
    noted.mkdir(parents=True)
    entry = {"scope": "user", "installPath": str(place)}
    known = {"version": 2, "plugins": {PLUGIN: [entry]}}
    (noted / "installed_plugins.json").write_text(json.dumps(known), "utf-8")
    sources = {"memory-fabric": {"installLocation": str(source)}}
    (noted / "known_marketplaces.json").write_text(json.dumps(sources), "utf-8")


def test_a_plugin_whose_folder_has_moved_is_reported(enabled: Shell, tmp_path: Path) -> None:
    place, source = tmp_path / "cache", tmp_path / "clone"
    for folder in (place, source):
        folder.mkdir()
    never = look(enabled)["plugin folder"]
    install(enabled, place, source)
    there = look(enabled)["plugin folder"]
    source.rename(tmp_path / "moved")
    moved = look(enabled)["plugin folder"]

    assert never["state"] == "warning" and "does not list it" in never["told"]
    assert there["state"] == "ok"
    assert moved["state"] == "fault" and str(source) in moved["told"]
    assert "the clone was moved or deleted" in moved["told"]
    assert moved["remedy"].endswith(f"claude plugin marketplace add {ROOT}")


def test_doctor_warns_that_manual_hooks_run_twice_if_the_plugin_is_enabled(enabled: Shell) -> None:
    configure(enabled, PROJECT, hooks=hooks_for(*HANDLERS))

    check = look(enabled)["hooks"]

    assert check["state"] == "warning" and "runs twice" in check["told"]
    assert str(settings_file(enabled, PROJECT)) in check["remedy"]


def test_doctor_warns_about_a_plugin_enabled_from_two_sources(enabled: Shell) -> None:
    configure(enabled, PROJECT, enabledPlugins={"memory-fabric@another": True})

    check = look(enabled)["hooks"]

    assert check["state"] == "warning" and "memory-fabric@another" in check["told"]


def test_doctor_warns_if_two_settings_files_contain_different_hooks(shell: Shell) -> None:
    configure(shell, USER, hooks=hooks_for(*HANDLERS))
    configure(shell, PROJECT, hooks=hooks_for(*HANDLERS))
    alike = look(shell)["hooks"]
    configure(shell, PROJECT, hooks=hooks_for("Stop", command="memory-fabric hook"))
    differing = look(shell)["hooks"]

    assert alike["state"] == "ok"
    assert differing["state"] == "warning" and "twice: Stop" in differing["told"]


@pytest.mark.parametrize("scope", [USER, PROJECT, LOCAL])
def test_disabled_hooks_are_reported_as_a_fault(enabled: Shell, scope: str) -> None:
    configure(enabled, scope, disableAllHooks=True, enabledPlugins={PLUGIN: True})

    check = look(enabled)["hooks allowed"]

    assert check["state"] == "fault" and str(settings_file(enabled, scope)) in check["told"]


def test_doctor_reports_a_settings_file_with_invalid_json(enabled: Shell) -> None:
    settings_file(enabled, LOCAL).write_text('{"hooks": ', "utf-8")

    check = look(enabled)["settings files"]

    assert check["state"] == "fault" and "settings.local.json" in check["told"]


@pytest.mark.parametrize("scope", [USER, PROJECT, LOCAL])
def test_doctor_reports_the_scope_of_another_server_named_memory(
    enabled: Shell, scope: str
) -> None:
    known = {"mcpServers": {"memory": OTHER_SERVER}}
    if scope == PROJECT:
        (enabled.project / ".mcp.json").write_text(json.dumps(known), "utf-8")
    else:
        state = known if scope == USER else {"projects": {str(enabled.project): known}}
        (enabled.user_home / ".claude.json").write_text(json.dumps(state), "utf-8")

    check = look(enabled)["servers"]

    assert check["state"] == "warning" and f"({scope} scope" in check["told"]
    assert f"claude mcp remove memory -s {scope}" in check["remedy"]


def test_a_disabled_mcp_server_of_the_project_is_ignored(enabled: Shell) -> None:
    known = {"mcpServers": {"memory": OTHER_SERVER}}
    (enabled.project / ".mcp.json").write_text(json.dumps(known), "utf-8")
    configure(enabled, LOCAL, disabledMcpjsonServers=["memory"])

    assert look(enabled)["servers"]["state"] == "ok"


def test_doctor_warns_if_a_second_memory_server_was_added_by_hand(enabled: Shell) -> None:
    known = {"mcpServers": {"graph": OUR_SERVER}}
    (enabled.user_home / ".claude.json").write_text(json.dumps(known), "utf-8")
    doubled = look(enabled)["servers"]
    configure(enabled, USER)
    alone = look(enabled)["servers"]

    assert doubled["state"] == "warning" and "appear twice" in doubled["told"]
    assert alone["state"] == "ok"


@pytest.mark.parametrize(
    "rule",
    [
        "Bash(memory-fabric:*)",
        "mcp__plugin_memory-fabric_memory__recall",
        "mcp__plugin_memory-fabric_memory",
    ],
)
def test_a_permission_rule_that_denies_memory_tools_is_reported(enabled: Shell, rule: str) -> None:
    configure(enabled, PROJECT, permissions={"deny": ["Bash(rm:*)", rule]})

    check = look(enabled)["permission rules"]

    assert check["state"] == "warning" and rule in check["told"] and "rm:" not in check["told"]


def test_doctor_warns_about_permission_rules_for_a_missing_server(enabled: Shell) -> None:
    configure(enabled, PROJECT, permissions={"allow": ["mcp__memory__read_graph"]})
    stale = look(enabled)["permission rules"]
    known = {"mcpServers": {"memory": OUR_SERVER}}
    (enabled.project / ".mcp.json").write_text(json.dumps(known), "utf-8")
    used = look(enabled)["permission rules"]

    assert stale["state"] == "warning" and "mcp__plugin_memory-fabric_memory__" in stale["remedy"]
    assert used["state"] == "ok"


def test_doctor_warns_about_variables_that_disable_or_relocate_memory(enabled: Shell) -> None:
    configure(enabled, PROJECT, env={"MEMORY_FABRIC": "off"})
    off = look(enabled)["variables"]
    configure(enabled, PROJECT)
    elsewhere = look(enabled, MEMORY_FILE_PATH=str(enabled.user_home / "memory.jsonl"))["variables"]

    assert off["state"] == "warning" and str(settings_file(enabled, PROJECT)) in off["told"]
    assert elsewhere["state"] == "warning" and "this shell" in elsewhere["told"]


def test_a_variable_that_hides_memory_md_from_sessions_is_reported(enabled: Shell) -> None:
    configure(enabled, USER, env={"CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1"})

    check = look(enabled)["variables"]

    assert check["state"] == "warning" and "MEMORY.md" in check["told"]


def test_a_named_pipe_as_settings_file_is_reported_without_blocking_doctor(enabled: Shell) -> None:
    os.mkfifo(settings_file(enabled, PROJECT))

    check = look(enabled)["settings files"]

    assert check["state"] == "fault" and str(settings_file(enabled, PROJECT)) in check["told"]


def test_doctor_warns_if_automatic_memory_is_disabled_in_claude_code(enabled: Shell) -> None:
    configure(enabled, LOCAL, autoMemoryEnabled=False)

    checks = look(enabled)

    assert checks["tier native"]["state"] == "warning"
    assert "autoMemoryEnabled" in checks["tier native"]["told"] and checks["tier native"]["remedy"]


TYPED = {"promptSource": "typed", "turnOrigin": "human"}


def newest_prompt(shell: Shell, version: str, **marks: str) -> dict[str, Any]:
    """Write a transcript with one prompt, and return the check of the client's release."""
    folder = shell.notes.parents[1]
    folder.mkdir(parents=True, exist_ok=True)
    message = {"role": "user", "content": "Hello"}
    entry = {"type": "user", "version": version, "message": message, **marks}
    (folder / "session-1.jsonl").write_text(json.dumps(entry) + "\n", "utf-8")
    return look(shell)["client version"]


@pytest.mark.parametrize(("version", "state"), [("2.1.328", "warning"), ("2.2.0", "ok")])
def test_the_version_of_the_client_is_read_from_its_newest_transcript(
    enabled: Shell, version: str, state: str
) -> None:
    check = newest_prompt(enabled, version, **TYPED)

    assert check["state"] == state and check["told"].startswith(version)


@pytest.mark.parametrize(
    ("marks", "named"),
    [
        ({**TYPED, "promptSource": "voice"}, "promptSource=voice"),
        ({}, "no promptSource, turnOrigin, wakeupSource"),
    ],
)
def test_doctor_warns_if_the_origin_of_prompts_cannot_be_recognised(
    enabled: Shell, marks: dict[str, str], named: str
) -> None:
    check = newest_prompt(enabled, "2.2.0", **marks)

    assert check["state"] == "warning" and named in check["told"]
    assert "assistant's trust" in check["remedy"]


def test_doctor_warns_about_hooks_set_up_without_the_mcp_server(shell: Shell) -> None:
    configure(shell, USER, hooks=hooks_for("Stop"))
    found = look(shell)["servers"]
    assert found["state"] == "warning" and "memory-fabric setup" in found["remedy"]

    shell.run("setup", "--yes")

    assert look(shell)["servers"]["state"] == "ok"


@pytest.mark.parametrize(("ways", "state"), [("", "ok"), ("W" * 30, "ok"), ("N" * 30, "warning")])
def test_doctor_warns_if_no_server_answers_the_hooks(shell: Shell, ways: str, state: str) -> None:
    (shell.memory / "live").mkdir(parents=True)
    (shell.memory / "live" / "ways").write_text(ways)

    found = look(shell)["hooks answered"]

    assert found["state"] == state
    assert ("no server listened: 30" in found["told"]) is (state == "warning")
