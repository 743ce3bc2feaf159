"""The files that the client reads: the manifests, hooks.json and what they name."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tomllib
from typing import Any

import memory_fabric
from launchers.support import ROOT, read, read_json
from memory_fabric.hooks.table import HANDLERS
from memory_fabric.servers.mcp.schema import TOOLS
from memory_fabric.store.home.launch_marks import FIXES, RULES

TOOL_EVENTS = ("PreToolUse", "PostToolUse", "PostToolUseFailure")
HOOK = "${CLAUDE_PLUGIN_ROOT}/hooks/launch"


def _json(*names: str) -> Any:
    return read_json(os.path.join(ROOT, *names))


def _entries() -> dict[str, Any]:
    hooks: dict[str, Any] = _json("hooks.json")["hooks"]
    return hooks


def _groups() -> list[tuple[str, Any]]:
    return [(event, group) for event, groups in _entries().items() for group in groups]


def test_all_manifests_have_the_same_version_and_name() -> None:
    plugin = _json(".claude-plugin", "plugin.json")
    marketplace = _json(".claude-plugin", "marketplace.json")

    assert plugin["version"] == memory_fabric.__version__
    assert plugin["name"] == marketplace["name"] == marketplace["plugins"][0]["name"]
    assert marketplace["plugins"][0]["source"] == "./"
    assert "version" not in marketplace["plugins"][0]  # a second one would drift


def test_the_manifest_points_to_the_top_level_hooks_file() -> None:
    assert _json(".claude-plugin", "plugin.json")["hooks"] == "./hooks.json"
    assert not os.path.exists(os.path.join(ROOT, "hooks", "hooks.json"))  # would load as well


def test_hooks_are_registered_for_exactly_the_events_with_a_handler() -> None:
    assert set(_entries()) == set(HANDLERS)


def test_every_registered_hook_calls_the_launcher_directly_with_a_short_timeout() -> None:
    for event, group in _groups():
        (hook,) = group["hooks"]
        assert (hook["type"], hook["command"]) == ("command", HOOK)
        # Uniting two memories may take long; a person has typed it and waits.
        longest = 60 if event == "UserPromptExpansion" else 20
        assert 1 <= hook["timeout"] <= longest
        assert set(hook) == {"type", "command", "args", "timeout"}


def test_only_hooks_for_frequently_used_tools_may_skip_starting_python() -> None:
    named = [
        (event, group["matcher"], group["hooks"][0]["args"])
        for event, group in _groups()
        if group["hooks"][0]["args"]
    ]

    assert named == [
        ("PreToolUse", "^(Bash|Edit|Write|MultiEdit|NotebookEdit)$", [RULES]),
        ("PostToolUse", "^Bash$", [FIXES]),
        ("PostToolUseFailure", "^Bash$", [FIXES]),
    ]
    assert all(len(groups) == 1 for event, groups in _entries().items() if event not in TOOL_EVENTS)


def test_a_tool_call_starts_at_most_one_hook_per_event() -> None:
    for event in TOOL_EVENTS:
        matchers = [re.compile(group["matcher"]) for group in _entries()[event]]
        for tool in ("Bash", "Edit", "Task", "AskUserQuestion", "mcp__mine__create_entities"):
            assert sum(bool(matcher.search(tool)) for matcher in matchers) <= 1


def test_hook_matchers_select_only_the_intended_tools_and_skills() -> None:
    matchers = {event: groups[0].get("matcher") for event, groups in _entries().items()}

    assert {event for event, matcher in matchers.items() if matcher} == {
        *TOOL_EVENTS,
        "UserPromptExpansion",
    }
    typed = re.compile(matchers["UserPromptExpansion"])
    assert typed.search("memory-fabric:project")
    assert not typed.search("memory-fabric:memory") and not typed.search("project")
    before = re.compile(matchers["PreToolUse"])
    ours = (f"mcp__plugin_memory-fabric_memory__{tool.name}" for tool in TOOLS)
    assert all(before.search(name) for name in ("Agent", "Task", *ours, "mcp__mine__recall"))
    others = ("TaskCreate", "SubAgent", "Bash", "mcp__memory__recalled", "recall")
    assert not any(before.search(name) for name in others)
    bridge = re.compile(matchers["PostToolUse"])
    assert bridge.fullmatch("mcp__memory__create_entities")
    assert bridge.fullmatch("mcp__plugin_ork_memory__delete_relations")
    assert not bridge.fullmatch("mcp__memory__read_graph")
    assert not bridge.fullmatch("Bash")


def test_the_mcp_server_named_memory_is_loaded_only_on_demand() -> None:
    server = _json(".claude-plugin", "plugin.json")["mcpServers"]["memory"]

    assert server["command"] == "${CLAUDE_PLUGIN_ROOT}/bin/memory-fabric"
    assert (server["args"], server["alwaysLoad"]) == (["mcp"], False)


def test_the_launch_files_are_executable_shell_scripts() -> None:
    for name in ("hooks/launch", "bin/memory-fabric"):
        path = os.path.join(ROOT, name)
        assert os.access(path, os.X_OK)
        assert read(path).startswith("#!/bin/sh\n")


def test_the_manual_setup_command_prints_hooks_with_an_absolute_path() -> None:
    guide = read(os.path.join(ROOT, "hooks", "README.md"))
    (command,) = re.findall(r"^    (sed .*)$", guide, re.MULTILINE)

    printed = subprocess.check_output(command, shell=True, cwd=ROOT, text=True)

    commands = [
        hook["command"]
        for groups in json.loads(printed)["hooks"].values()
        for group in groups
        for hook in group["hooks"]
    ]
    assert set(commands) == {os.path.join(os.path.abspath(ROOT), "hooks", "launch")}


def test_the_lock_files_pin_every_dependency_exactly_once_with_hashes() -> None:
    first, serve = (_pins(name) for name in ("requirements.lock", "serve.lock"))
    with open(os.path.join(ROOT, "pyproject.toml"), "rb") as file:
        wanted = tomllib.load(file)["project"]["dependencies"]

    names = {re.split(r"[<>=]", requirement)[0] for requirement in wanted}
    assert names <= first | serve
    assert not first & serve
    assert len(first) <= 12


def _pins(name: str) -> set[str]:
    """The packages of a lock, each of which has a hash."""
    lock = read(os.path.join(ROOT, "plugin", name))
    pins = re.findall(r"^([a-z0-9-]+)==\S+.*\\\n    --hash=sha256:[0-9a-f]{64}", lock, re.MULTILINE)
    assert len(pins) == len(set(pins)) == len(re.findall(r"^[a-z]", lock, re.MULTILINE))
    assert "://" not in lock
    return set(pins)
