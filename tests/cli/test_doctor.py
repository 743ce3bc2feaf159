"""doctor: each check finds what was broken on purpose, and --fix mends what is safe to mend."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli.shell import ROOT, Shell
from door.support import PYTHON, make_root, old_python, python_without_fts5, until
from memory_fabric import installation
from memory_fabric.config import read_settings
from memory_fabric.dispatcher import HANDLERS
from memory_fabric.models import Operation, Provenance
from memory_fabric.store import files, journal, seal
from memory_fabric.store.memory import Memory

DECISION = "Use cursor-based pagination for all list endpoints"
PLUGIN = "memory-fabric@memory-fabric"
USER, PROJECT, LOCAL = "user", "project", "local"
LAUNCH = str(ROOT / "hooks/launch")
OTHER_SERVER = {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-memory"]}
OUR_SERVER = {"command": str(ROOT / "bin/memory-fabric"), "args": ["mcp"]}


def look(shell: Shell, *options: str, **variables: str) -> dict[str, dict[str, Any]]:
    """What the doctor finds, by name."""
    done = shell.run("doctor", *options, "--json", **variables)
    checks = {check["name"]: check for check in done.json}
    assert done.status == int(any(check["state"] == "fault" for check in checks.values()))
    assert len(checks) == len(done.json)
    return checks


def settings_file(shell: Shell, scope: str) -> Path:
    """A settings file of the client."""
    name = "settings.local.json" if scope == LOCAL else "settings.json"
    folder = shell.user_home if scope == USER else shell.project
    path = folder / ".claude" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def configure(shell: Shell, scope: str, **values: Any) -> None:
    """Write a settings file of the client."""
    settings_file(shell, scope).write_text(json.dumps(values), "utf-8")


def hooks_for(*events: str, command: str = LAUNCH) -> dict[str, Any]:
    """Our hooks as a person writes them into settings.json."""
    hook = {"type": "command", "command": command, "args": [], "timeout": 5}
    return {event: [{"hooks": [hook]}] for event in events}


@pytest.fixture
def filled(shell: Shell) -> Shell:
    """A shell whose project remembers one thing, with the plugin enabled."""
    shell.remember(DECISION)
    configure(shell, USER, enabledPlugins={PLUGIN: True})
    return shell


# --- what Claude Code was told


def test_an_enabled_plugin_is_well_and_everything_belongs_to_an_area(filled: Shell) -> None:
    checks = look(filled)

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


def test_a_project_that_disables_the_plugin_is_named(filled: Shell) -> None:
    configure(filled, PROJECT, enabledPlugins={PLUGIN: False})

    check = look(filled)["hooks"]

    assert check["state"] == "warning" and str(settings_file(filled, PROJECT)) in check["told"]
    assert f"claude plugin enable {PLUGIN}" in check["remedy"]


def test_local_settings_win_over_those_of_the_project(filled: Shell) -> None:
    configure(filled, PROJECT, enabledPlugins={PLUGIN: False})
    configure(filled, LOCAL, enabledPlugins={PLUGIN: True})

    assert look(filled)["hooks"]["state"] == "ok"


@pytest.mark.parametrize("scope", [USER, PROJECT, LOCAL])
def test_hooks_by_hand_are_found_in_each_file_and_missing_events_are_named(
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
def test_the_remedy_for_missing_events_puts_them_in(shell: Shell, scope: str) -> None:
    configure(shell, scope, hooks=hooks_for("SessionStart", "UserPromptSubmit"))
    remedy = look(shell)["hook events"]["remedy"]
    assert remedy.startswith("memory-fabric ") and remedy.endswith(" puts them in.")

    done = shell.run(*remedy.removesuffix(" puts them in.").split()[1:], "--yes")

    assert done.status == 0, done.err
    assert look(shell)["hook events"]["state"] == look(shell)["hooks"]["state"] == "ok"


def test_all_hooks_by_hand_are_well(shell: Shell) -> None:
    configure(shell, USER, hooks=hooks_for(*HANDLERS))

    checks = look(shell)

    assert checks["hooks"]["state"] == checks["hook events"]["state"] == "ok"


def test_hooks_of_other_tools_are_not_taken_for_ours(shell: Shell) -> None:
    configure(shell, USER, hooks=hooks_for(*HANDLERS, command="/opt/other/hooks/launch"))

    assert "not in settings.json" in look(shell)["hooks"]["told"]


def install(shell: Shell, place: Path, source: Path) -> None:
    """What the client notes of an installation from a folder."""
    noted = shell.user_home / ".claude/plugins"
    noted.mkdir(parents=True)
    entry = {"scope": "user", "installPath": str(place)}
    known = {"version": 2, "plugins": {PLUGIN: [entry]}}
    (noted / "installed_plugins.json").write_text(json.dumps(known), "utf-8")
    sources = {"memory-fabric": {"installLocation": str(source)}}
    (noted / "known_marketplaces.json").write_text(json.dumps(sources), "utf-8")


def test_a_plugin_whose_folder_was_moved_away_is_a_fault(filled: Shell, tmp_path: Path) -> None:
    place, source = tmp_path / "cache", tmp_path / "clone"
    for folder in (place, source):
        folder.mkdir()
    never = look(filled)["plugin folder"]
    install(filled, place, source)
    there = look(filled)["plugin folder"]
    source.rename(tmp_path / "moved")
    moved = look(filled)["plugin folder"]

    assert never["state"] == "warning" and "has not noted" in never["told"]
    assert there["state"] == "ok"
    assert moved["state"] == "fault" and str(source) in moved["told"]
    assert "claude plugin marketplace add" in moved["remedy"]


def test_plugin_and_hooks_by_hand_together_run_twice(filled: Shell) -> None:
    configure(filled, PROJECT, hooks=hooks_for(*HANDLERS))

    check = look(filled)["hooks"]

    assert check["state"] == "warning" and "runs twice" in check["told"]
    assert str(settings_file(filled, PROJECT)) in check["remedy"]


def test_a_plugin_that_is_enabled_from_two_sources_is_told(filled: Shell) -> None:
    configure(filled, PROJECT, enabledPlugins={"memory-fabric@another": True})

    check = look(filled)["hooks"]

    assert check["state"] == "warning" and "memory-fabric@another" in check["told"]


def test_hooks_by_hand_in_two_ways_run_twice_and_equal_ones_once(shell: Shell) -> None:
    configure(shell, USER, hooks=hooks_for(*HANDLERS))
    configure(shell, PROJECT, hooks=hooks_for(*HANDLERS))
    alike = look(shell)["hooks"]
    configure(shell, PROJECT, hooks=hooks_for("Stop", command="memory-fabric hook"))
    differing = look(shell)["hooks"]

    assert alike["state"] == "ok"
    assert differing["state"] == "warning" and "twice: Stop" in differing["told"]


@pytest.mark.parametrize("scope", [USER, PROJECT, LOCAL])
def test_hooks_that_are_switched_off_for_all_are_a_fault(filled: Shell, scope: str) -> None:
    configure(filled, scope, disableAllHooks=True, enabledPlugins={PLUGIN: True})

    check = look(filled)["hooks allowed"]

    assert check["state"] == "fault" and str(settings_file(filled, scope)) in check["told"]


def test_a_settings_file_that_is_no_json_is_a_fault(filled: Shell) -> None:
    settings_file(filled, LOCAL).write_text('{"hooks": ', "utf-8")

    check = look(filled)["settings files"]

    assert check["state"] == "fault" and "settings.local.json" in check["told"]


@pytest.mark.parametrize("scope", [USER, PROJECT, LOCAL])
def test_another_server_named_memory_is_found_in_each_scope(filled: Shell, scope: str) -> None:
    known = {"mcpServers": {"memory": OTHER_SERVER}}
    if scope == PROJECT:
        (filled.project / ".mcp.json").write_text(json.dumps(known), "utf-8")
    else:
        state = known if scope == USER else {"projects": {str(filled.project): known}}
        (filled.user_home / ".claude.json").write_text(json.dumps(state), "utf-8")

    check = look(filled)["servers"]

    assert check["state"] == "warning" and f"({scope} scope" in check["told"]
    assert f"claude mcp remove memory -s {scope}" in check["remedy"]


def test_a_disabled_server_of_the_project_shadows_nothing(filled: Shell) -> None:
    known = {"mcpServers": {"memory": OTHER_SERVER}}
    (filled.project / ".mcp.json").write_text(json.dumps(known), "utf-8")
    configure(filled, LOCAL, disabledMcpjsonServers=["memory"])

    assert look(filled)["servers"]["state"] == "ok"


def test_our_server_by_hand_doubles_that_of_the_plugin(filled: Shell) -> None:
    known = {"mcpServers": {"graph": OUR_SERVER}}
    (filled.user_home / ".claude.json").write_text(json.dumps(known), "utf-8")
    doubled = look(filled)["servers"]
    configure(filled, USER)
    alone = look(filled)["servers"]

    assert doubled["state"] == "warning" and "doubled" in doubled["told"]
    assert alone["state"] == "ok"


@pytest.mark.parametrize(
    "rule",
    [
        "Bash(memory-fabric:*)",
        "mcp__plugin_memory-fabric_memory__recall",
        "mcp__plugin_memory-fabric_memory",
    ],
)
def test_a_rule_that_forbids_ours_is_told(filled: Shell, rule: str) -> None:
    configure(filled, PROJECT, permissions={"deny": ["Bash(rm:*)", rule]})

    check = look(filled)["permission rules"]

    assert check["state"] == "warning" and rule in check["told"] and "rm" not in check["told"]


def test_rules_for_a_server_that_is_gone_are_stale(filled: Shell) -> None:
    configure(filled, PROJECT, permissions={"allow": ["mcp__memory__read_graph"]})
    stale = look(filled)["permission rules"]
    known = {"mcpServers": {"memory": OUR_SERVER}}
    (filled.project / ".mcp.json").write_text(json.dumps(known), "utf-8")
    used = look(filled)["permission rules"]

    assert stale["state"] == "warning" and "mcp__plugin_memory-fabric_memory__" in stale["remedy"]
    assert used["state"] == "ok"


def test_variables_that_turn_memory_off_or_elsewhere_are_told(filled: Shell) -> None:
    configure(filled, PROJECT, env={"MEMORY_FABRIC": "off"})
    off = look(filled)["variables"]
    configure(filled, PROJECT)
    elsewhere = look(filled, MEMORY_FILE_PATH=str(filled.user_home / "memory.jsonl"))["variables"]

    assert off["state"] == "warning" and str(settings_file(filled, PROJECT)) in off["told"]
    assert elsewhere["state"] == "warning" and "this shell" in elsewhere["told"]


def test_a_variable_that_hides_memory_md_from_sessions_is_told(filled: Shell) -> None:
    configure(filled, USER, env={"CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1"})

    check = look(filled)["variables"]

    assert check["state"] == "warning" and "MEMORY.md" in check["told"]


def test_a_pipe_in_the_place_of_a_settings_file_holds_nobody_up(filled: Shell) -> None:
    os.mkfifo(settings_file(filled, PROJECT))

    check = look(filled)["settings files"]

    assert check["state"] == "fault" and str(settings_file(filled, PROJECT)) in check["told"]


def test_native_memory_that_is_switched_off_is_no_fault(filled: Shell) -> None:
    configure(filled, LOCAL, autoMemoryEnabled=False)

    checks = look(filled)

    assert checks["tier native"]["state"] == "warning"
    assert "autoMemoryEnabled" in checks["tier native"]["told"] and checks["tier native"]["remedy"]


@pytest.mark.parametrize(("version", "state"), [("2.1.328", "warning"), ("2.2.0", "ok")])
def test_the_release_of_the_client_is_read_from_its_newest_transcript(
    filled: Shell, version: str, state: str
) -> None:
    folder = filled.notes.parents[1]
    folder.mkdir(parents=True, exist_ok=True)
    entry = {"type": "user", "version": version, "message": {"role": "user", "content": "Hello"}}
    (folder / "session-1.jsonl").write_text(json.dumps(entry) + "\n", "utf-8")

    check = look(filled)["client version"]

    assert check["state"] == state and check["told"].startswith(version)


# --- installation


@pytest.fixture
def plugin(shell: Shell, tmp_path: Path) -> dict[str, str]:
    """Variables that name a plugin folder and a runtime folder of a test's own."""
    root, data = Path(make_root(str(tmp_path / "plugin-root"))), tmp_path / "data"
    shutil.copy(ROOT / "hooks.json", root)
    (root / "plugin/requirements.lock").write_text("", "utf-8")
    data.mkdir()
    return {"CLAUDE_PLUGIN_ROOT": str(root), "CLAUDE_PLUGIN_DATA": str(data)}


def test_an_event_that_hooks_json_lacks_is_a_fault(shell: Shell, plugin: dict[str, str]) -> None:
    path = Path(plugin["CLAUDE_PLUGIN_ROOT"]) / "hooks.json"
    whole = json.loads(path.read_text("utf-8"))
    del whole["hooks"]["Stop"]
    well = look(shell, **plugin)["plugin files"]
    path.write_text(json.dumps(whole), "utf-8")
    broken = look(shell, **plugin)["plugin files"]

    assert well["state"] == "ok"
    assert broken["state"] == "fault" and broken["told"].endswith("name Stop")


def test_a_launcher_that_lost_its_mode_is_a_fault(shell: Shell, plugin: dict[str, str]) -> None:
    launcher = Path(plugin["CLAUDE_PLUGIN_ROOT"]) / "hooks/launch"
    launcher.chmod(0o644)

    check = look(shell, **plugin)["plugin files"]

    assert check["state"] == "fault" and f"chmod +x {launcher}" in check["remedy"]


def test_a_remembered_interpreter_that_is_gone_is_forgotten(
    shell: Shell, plugin: dict[str, str]
) -> None:
    remembered = Path(plugin["CLAUDE_PLUGIN_DATA"]) / "interpreter"
    remembered.write_text("/nowhere/python3\n", "utf-8")

    found = look(shell, **plugin)["hooks' python"]
    fixed = look(shell, "--fix", **plugin)["hooks' python"]

    assert found["state"] == "warning" and found["fixable"] and "/nowhere" in found["told"]
    assert not remembered.exists()
    assert "is forgotten" in fixed["mended"][0] and "/nowhere" not in fixed["told"]


@pytest.mark.parametrize(("wrong", "why"), [(old_python, "3.9"), (python_without_fts5, "fts5")])
def test_an_interpreter_that_hooks_cannot_use_is_a_fault(
    shell: Shell, plugin: dict[str, str], wrong: Callable[[str], str], why: str
) -> None:
    data = Path(plugin["CLAUDE_PLUGIN_DATA"])
    (data / "interpreter").write_text(wrong(str(data / "python")) + "\n", "utf-8")

    found = look(shell, **plugin)["hooks' python"]
    fixed = look(shell, "--fix", **plugin)["hooks' python"]

    assert found["state"] == "fault" and found["fixable"] and why in found["told"]
    assert fixed["mended"] and not (data / "interpreter").exists()


def test_an_interpreter_that_hooks_can_use_is_well(shell: Shell, plugin: dict[str, str]) -> None:
    (Path(plugin["CLAUDE_PLUGIN_DATA"]) / "interpreter").write_text(PYTHON + "\n", "utf-8")

    assert look(shell, **plugin)["hooks' python"] == {
        "name": "hooks' python",
        "state": "ok",
        "told": PYTHON,
        "remedy": "",
        "area": "Installation",
        "fixable": False,
    }


def test_an_installation_that_broke_off_is_begun_again(
    shell: Shell, plugin: dict[str, str]
) -> None:
    data = plugin["CLAUDE_PLUGIN_DATA"]
    half = Path(data) / "env-cpython-300-00000000"
    half.mkdir()

    found = look(shell, **plugin)["packages"]
    fixed = look(shell, "--fix", **plugin)["packages"]
    until(lambda: not installation.is_running(data), "the installation ends")

    assert found["state"] == "warning" and found["fixable"] and half.name in found["told"]
    assert "started again" in fixed["mended"][0]
    assert not half.exists()


def test_a_failed_installation_is_a_fault_and_its_back_off_ends_with_fix(
    shell: Shell, plugin: dict[str, str]
) -> None:
    data = Path(plugin["CLAUDE_PLUGIN_DATA"])
    why = {"time": "2026-01-01", "environment": "env-x", "reason": "No network.", "remedy": ""}
    (data / "install-error").write_text(json.dumps(why), "utf-8")

    found = look(shell, **plugin)["packages"]
    look(shell, "--fix", **plugin)
    until(lambda: not installation.is_running(str(data)), "the installation ends")

    assert found["state"] == "fault" and "No network." in found["told"]
    assert "No network." not in installation.last_error(str(data))


# --- storage


def test_rights_of_others_are_found_and_taken_away(filled: Shell) -> None:
    filled.database.chmod(0o644)
    filled.memory.chmod(0o755)
    journal_ = filled.project / ".claude/memory/decisions.jsonl"
    journal_.chmod(0o664)

    found = look(filled)["permissions"]
    fixed = look(filled, "--fix")["permissions"]

    assert found["state"] == "warning" and found["fixable"]
    assert fixed["state"] == "ok" and fixed["mended"]
    modes = [path.stat().st_mode & 0o777 for path in (filled.database, filled.memory, journal_)]
    assert modes == [0o600, 0o700, 0o600]


def test_a_home_of_another_user_is_a_fault_that_its_owner_must_mend(filled: Shell) -> None:
    home = "/etc/default"
    if os.getuid() == 0:  # to root, that one is its own
        home = str(filled.memory)
        os.chown(home, 12345, 12345)

    check = look(filled, "--fix", MEMORY_FABRIC_HOME=home)["permissions"]

    assert check["state"] == "fault" and not check["fixable"]
    assert home in check["told"] and "chown" in check["remedy"]


def test_a_journal_that_git_shares_may_have_the_rights_that_git_gave_it(filled: Shell) -> None:
    filled.run("share", "on")
    path = filled.project / ".claude/memory/decisions.jsonl"
    path.chmod(0o644)

    fixed = look(filled, "--fix")["permissions"]

    assert fixed["state"] == "ok" and path.stat().st_mode & 0o777 == 0o644


def test_a_journal_that_a_team_committed_is_nobodys_secret(filled: Shell) -> None:
    folder = filled.project / ".claude/memory"
    (folder / ".gitignore").write_text("*\n!decisions.jsonl\n", "utf-8")
    (folder / "decisions.jsonl").chmod(0o644)

    assert look(filled)["permissions"]["state"] == "ok"


def test_a_full_disk_is_told(filled: Shell) -> None:
    # A file system without room, on every Linux.
    check = look(filled, MEMORY_FABRIC_HOME="/proc/memory-fabric")["disk"]

    assert check["state"] == "warning" and check["told"] == "0 MB free"


def test_half_written_files_are_removed_once_nobody_can_be_at_them(filled: Shell) -> None:
    old, new = filled.memory / "registry.json.1-2.tmp", filled.memory / "registry.json.3-4.tmp"
    for path in (old, new):
        path.write_text("{", "utf-8")
        path.chmod(0o600)
    os.utime(old, (time.time() - 7200, time.time() - 7200))

    found = look(filled)["leftovers"]
    fixed = look(filled, "--fix")["leftovers"]

    assert found["state"] == "warning" and old.name in found["told"]
    assert new.name not in found["told"]
    assert fixed["state"] == "ok" and not old.exists() and new.exists()


def test_changes_that_wait_are_applied(filled: Shell) -> None:
    entity = {"name": "api", "entityType": "service", "observations": ["It answers."]}
    memory = Memory.open(
        read_settings(filled.environ, {})._replace(project_dir=str(filled.project))
    )
    said = Provenance(source="test", at="2026-01-01T10:00:00.000Z")
    operation = Operation(
        "00000000-0000-7000-8000-000000000001",
        "create_entities",
        {"entities": [entity]},
        said,
        "project",
    )
    journal.enqueue(memory.queue_folder("project"), operation, seal.key_of(memory.settings.home))
    memory.close()

    found = look(filled)["queue"]
    fixed = look(filled, "--fix")["queue"]

    assert found["state"] == "warning" and found["fixable"]
    assert fixed["state"] == "ok" and "1 waiting changes are applied" in fixed["mended"]


def test_a_lost_journal_is_written_again_from_the_graph(filled: Shell) -> None:
    path = filled.project / ".claude/memory/decisions.jsonl"
    lines = files.read_lines(str(path))[0]
    path.unlink()

    found = look(filled)["tier local"]
    fixed = look(filled, "--fix")["tier local"]

    assert found["state"] == "warning" and found["fixable"]
    assert fixed["state"] == "ok" and "written again" in fixed["mended"][0]
    assert files.read_lines(str(path))[0] == lines


def test_an_index_that_does_not_fit_is_made_again(filled: Shell) -> None:
    with sqlite3.connect(filled.database) as connection:
        connection.execute("INSERT INTO records_fts (records_fts) VALUES ('delete-all')")
    connection.close()

    found = look(filled)["indexes"]
    fixed = look(filled, "--fix")["indexes"]

    assert found["state"] == "warning" and "records_fts" in found["told"]
    assert fixed["state"] == "ok" and "records_fts" in fixed["mended"][0]
    assert look(filled)["indexes"]["state"] == "ok"


def test_an_old_backup_is_told(filled: Shell) -> None:
    none = look(filled)["backups"]
    for path in filled.run("backup", "--json").json["made"]:
        os.utime(path, (time.time() - 20 * 86400, time.time() - 20 * 86400))

    old = look(filled)["backups"]

    assert none["state"] == "ok" and "none yet" in none["told"]
    assert old["state"] == "warning" and "20 days old" in old["told"]


def test_half_a_fence_in_memory_md_is_told_and_left_to_its_owner(filled: Shell) -> None:
    text = filled.notes.read_text("utf-8").replace("<!-- memory-fabric:end -->", "")
    filled.notes.write_text(text, "utf-8")

    fixed = look(filled, "--fix")["tier native"]

    assert fixed["state"] == "warning" and not fixed["fixable"] and "mended" not in fixed
    assert filled.notes.read_text("utf-8") == text


def test_a_damaged_database_is_left_to_repair(filled: Shell) -> None:
    filled.database.write_bytes(b"no database " * 400)
    before = filled.database.read_bytes()

    checks = look(filled, "--fix")

    assert checks["tier graph"]["state"] == "fault"
    assert "memory-fabric repair" in checks["tier graph"]["remedy"]
    assert filled.database.read_bytes() == before


# --- at work, and how it is shown


def test_the_last_session_is_the_last_in_which_a_hook_ran(filled: Shell) -> None:
    none = look(filled)["last session"]
    event = {"hook_event_name": "SessionStart", "session_id": "s-1", "source": "startup"}
    filled.run("hook", stdin=json.dumps(event), CLAUDE_PROJECT_DIR=str(filled.project))

    seen = look(filled)["last session"]

    assert none["state"] == "warning" and "no hook has ever run" in none["told"]
    assert seen["state"] == "ok" and time.strftime("%Y-%m-%d", time.gmtime()) in seen["told"]


def test_fix_changes_no_settings_of_the_client(filled: Shell) -> None:
    for scope in (USER, PROJECT, LOCAL):
        configure(filled, scope, hooks=hooks_for("Stop"), disableAllHooks=True)
        settings_file(filled, scope).chmod(0o644)
    (filled.user_home / ".claude.json").write_text("{}", "utf-8")
    theirs = [settings_file(filled, scope) for scope in (USER, PROJECT, LOCAL)]
    theirs.append(filled.user_home / ".claude.json")
    before = [(path.read_bytes(), path.stat().st_mode, path.stat().st_mtime_ns) for path in theirs]

    look(filled, "--fix")

    after = [(path.read_bytes(), path.stat().st_mode, path.stat().st_mtime_ns) for path in theirs]
    assert after == before


def test_people_see_areas_words_beside_symbols_and_the_sum(filled: Shell) -> None:
    filled.database.chmod(0o644)

    done = filled.run("doctor", PYTHONIOENCODING="utf-8")
    mended = filled.run("doctor", "--fix", PYTHONIOENCODING="utf-8")

    assert done.status == 0
    assert "\nClaude Code\n" in done.out and "✓ ok" in done.out and "! warning" in done.out
    last = done.out.splitlines()[-1]
    assert "checks: " in last and "fine" in last and "to look at" in last and "--fix" in last
    assert "mended: taken from others: the rights on " in mended.out


def test_a_terminal_without_unicode_gets_plain_symbols(shell: Shell) -> None:
    done = shell.run("doctor", PYTHONIOENCODING="ascii:backslashreplace")

    assert "+ ok" in done.out and "✓" not in done.out and "\\u2713" not in done.out


def test_the_doctor_makes_nothing_where_nothing_is(shell: Shell) -> None:
    data = shell.user_home / "runtime"

    look(shell, CLAUDE_PLUGIN_DATA=str(data))

    assert not data.exists()


def test_a_package_without_its_plugin_says_so_and_cannot_prove(
    tmp_path: Path, shell: Shell
) -> None:
    shutil.copytree(ROOT / "plugin", tmp_path / "alone/plugin")
    command = [sys.executable, "-m", "memory_fabric.cli", "doctor", "--prove"]
    environ = {**shell.environ, "PYTHONPATH": str(tmp_path / "alone/plugin")}

    done = subprocess.run(command, env=environ, cwd=shell.project, capture_output=True, text=True)

    assert done.returncode == 2 and "claude plugin install" in done.stderr


@pytest.mark.parametrize(
    ("module", "faults"),
    [
        ("handlers/recall_for_prompt.py", {"canary comes out"}),
        ("handlers/recall_for_agent.py", {"canary at a subagent"}),
        (
            "handlers/auto_remember.py",
            {"canary by Stop", "canary in decisions.jsonl", "canary in MEMORY.md"},
        ),
        ("servers/mcp_stdio.py", {"canary by the server"}),
        ("cli/forgetting.py", {"canary is forgotten"}),
    ],
)
def test_the_canary_dies_where_a_part_of_the_plugin_is_broken(
    shell: Shell, tmp_path: Path, module: str, faults: set[str]
) -> None:
    root = tmp_path / "broken"
    for name in ("hooks", "plugin"):
        shutil.copytree(ROOT / name, root / name)
    shutil.copy(ROOT / "hooks.json", root)
    (root / "plugin/memory_fabric" / module).write_text("raise OSError('cut')\n", "utf-8")

    checks = look(shell, "--prove", CLAUDE_PLUGIN_ROOT=str(root))

    canary = {name: check for name, check in checks.items() if name.startswith("canary")}
    assert {name for name, check in canary.items() if check["state"] == "fault"} == faults
    assert len(canary) == 9
    assert all("cut" in canary[name]["told"] for name in faults)
