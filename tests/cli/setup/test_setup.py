"""setup: what a person wrote into a settings file stays, byte for byte, coming and going."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pexpect
import pytest

from cli.shell import ROOT, Shell
from cli.terminal import interrupt
from command_line import run_here
from memory_fabric.clients import set_up

LAUNCH = str(ROOT / "hooks" / "launch")
ODD = (
    b'{\r\n   "model" :"opus",\r\n   "hooks": { "Stop": [ { "hooks": [ {"type":"command",'
    b'"command":"true"} ] } ] },\r\n\r\n   "env": {"A":"\\u00e9"}  }'
)


@pytest.fixture
def settings(shell: Shell) -> Path:
    """The user's settings.json; its folder exists, the file does not."""
    path = shell.user_home / ".claude" / "settings.json"
    path.parent.mkdir()
    return path


def hooks_in(path: Path) -> dict[str, list[dict[str, object]]]:
    """The hooks of a settings file by event."""
    found: dict[str, list[dict[str, object]]] = json.loads(path.read_bytes())["hooks"]
    return found


def expected_hooks() -> dict[str, list[dict[str, object]]]:
    """The hooks of hooks.json with the launcher's absolute path."""
    text = (ROOT / "hooks.json").read_text("utf-8").replace("${CLAUDE_PLUGIN_ROOT}", str(ROOT))
    found: dict[str, list[dict[str, object]]] = json.loads(text)["hooks"]
    return found


def plain(drawn: str) -> str:
    """Return what a terminal shows, without its colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", drawn)


def test_setup_writes_the_plugins_hooks_with_the_launchers_absolute_path(
    shell: Shell, settings: Path
) -> None:
    done = shell.run("setup", "--yes")

    assert (done.status, done.err) == (0, "")
    assert f'+            "command": "{LAUNCH}",' in done.out
    assert hooks_in(settings) == expected_hooks()


def test_setup_changes_nothing_the_second_time(shell: Shell, settings: Path) -> None:
    shell.run("setup", "--yes", "--json")
    before = settings.read_bytes()

    done = shell.run("setup")

    assert (done.status, done.out) == (
        0,
        f"Nothing to do: {settings}, {shell.user_home}/.claude.json\n",
    )
    assert settings.read_bytes() == before


def test_a_settings_path_to_a_pipe_or_folder_is_refused(shell: Shell, settings: Path) -> None:
    settings.mkdir()
    folder = shell.run("setup", "--yes")
    settings.rmdir()
    os.mkfifo(settings)
    pipe = shell.run("setup", "--yes")

    assert folder.status == pipe.status == 2
    assert f"{settings} is a folder." in folder.err
    assert f"{settings} is not a regular file." in pipe.err


@pytest.mark.parametrize("before", [None, b"", b"{}", b"{ }\n", b'\xef\xbb\xbf{"a": 1}', ODD])
def test_setup_remove_restores_the_settings_file_byte_for_byte(
    shell: Shell, settings: Path, before: bytes | None
) -> None:
    if before is not None:
        settings.write_bytes(before)
    shell.run("setup", "--yes", "--json")
    written = settings.read_bytes()

    done = shell.run("setup", "--remove", "--yes", "--json")

    assert LAUNCH.encode() in written
    assert done.status == 0, done.err
    assert (settings.read_bytes() if settings.exists() else None) == before


def test_a_setup_that_ended_right_after_the_write_can_be_removed(
    shell: Shell, settings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = set_up._note

    def fails_after_the_write(home: str, path: str, *new: set_up.Mark, keeps: bool = False) -> None:
        if not keeps:
            raise OSError("The process ended here.")
        note(home, path, *new, keeps=keeps)

    with monkeypatch.context() as patch:
        patch.setattr(set_up, "_note", fails_after_the_write)
        assert shell.run("setup", "--yes", "--no-mcp").status != 0
    assert LAUNCH in settings.read_text("utf-8")

    assert shell.run("setup", "--remove", "--yes").status == 0

    assert not settings.exists()


def test_setup_leaves_all_other_settings_bytes_unchanged(shell: Shell, settings: Path) -> None:
    settings.write_bytes(ODD)

    shell.run("setup", "--yes", "--json")

    inside = settings.read_bytes()
    assert inside.startswith(ODD[: ODD.index(b"} ] } ]") + 5])
    assert inside.endswith(b',\r\n\r\n   "env": {"A":"\\u00e9"}  }')
    assert hooks_in(settings)["Stop"][0] == {"hooks": [{"type": "command", "command": "true"}]}
    assert hooks_in(settings)["Stop"][1:] == expected_hooks()["Stop"]


def test_setup_remove_deletes_only_our_hooks_from_a_changed_settings_file(
    shell: Shell, settings: Path
) -> None:
    settings.write_bytes(ODD)
    shell.run("setup", "--yes", "--json")
    settings.write_bytes(settings.read_bytes().replace(b'"opus"', b'"sonnet"'))

    done = shell.run("setup", "--remove", "--yes")

    assert "later changes in it stay" in done.out
    assert json.loads(settings.read_bytes()) == {**json.loads(ODD), "model": "sonnet"}
    assert LAUNCH.encode() not in settings.read_bytes()


def test_hooks_of_a_moved_installation_are_replaced(shell: Shell, settings: Path) -> None:
    settings.write_bytes(b"{}\n")
    shell.run("setup", "--yes", "--json")
    old = settings.read_text("utf-8").replace(str(ROOT), "/old/memory-fabric")
    settings.write_text(old, "utf-8")

    done = shell.run("setup", "--yes")

    assert done.status == 0, done.err
    assert hooks_in(settings) == expected_hooks()


def test_setup_remove_also_deletes_hooks_added_by_hand(shell: Shell, settings: Path) -> None:
    settings.write_text(json.dumps({"hooks": expected_hooks(), "model": "x"}), "utf-8")

    again = shell.run("setup")
    done = shell.run("setup", "--remove", "--yes")

    assert str(settings) not in again.out
    assert done.status == 0, done.err
    assert settings.read_text("utf-8") == '{"model": "x"}'


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b'{\n  // my model\n  "model": "x"\n}\n', 2),
        (b'{\n  "model": "x",\n}\n', 3),
        (b'{"a": "\xff"}', 1),
        (b"[]", 1),
        (b'{"hooks": 1}', 1),
    ],
)
def test_setup_refuses_invalid_json_settings_and_shows_the_line_number(
    shell: Shell, settings: Path, content: bytes, line: int
) -> None:
    settings.write_bytes(content)

    done = shell.run("setup", "--yes")

    assert done.status == 2
    assert done.err.startswith(f"memory-fabric: {settings}, line {line}: ")
    assert done.err.count("\n") == 1
    assert settings.read_bytes() == content


@pytest.mark.parametrize("on", [True, False])
@pytest.mark.parametrize("where", ["user", "local"])
def test_setup_refuses_hooks_next_to_an_enabled_plugin_unless_forced(
    shell: Shell, settings: Path, where: str, on: bool
) -> None:
    enabled = json.dumps({"enabledPlugins": {"memory-fabric@memory-fabric": on}})
    local = shell.project / ".claude" / "settings.local.json"
    local.parent.mkdir()
    (settings if where == "user" else local).write_text(enabled, "utf-8")

    refused = shell.run("setup", "--settings", where, "--yes")
    forced = shell.run("setup", "--settings", where, "--yes", "--force")

    assert refused.status == (2 if on else 0)
    assert ("every hook would run twice" in refused.err) is on
    assert forced.status == 0


def test_project_and_local_settings_are_written_at_the_repository_root(shell: Shell) -> None:
    below = shell.project / "src" / "deep"
    below.mkdir(parents=True)

    for place in ("project", "local"):
        done = run_here(("setup", "--yes", "--settings", place), shell.environ, below)
        assert done.status == 0, done.err

    folder = shell.project / ".claude"
    assert hooks_in(folder / "settings.json") == expected_hooks()
    assert hooks_in(folder / "settings.local.json") == expected_hooks()
    assert shell.run("setup", "--remove", "--yes").status == 0
    assert not folder.exists()


def test_setup_adds_the_server_to_the_projects_file_and_remove_restores_it(shell: Shell) -> None:
    servers = shell.project / ".mcp.json"
    servers.write_bytes(b'{"mcpServers":{"other":{"command":"x"}}}\r\n')

    done = shell.run("setup", "--settings", "project", "--mcp", "--yes")
    inside = json.loads(servers.read_bytes())
    again = shell.run("setup", "--settings", "project", "--mcp", "--yes")
    shell.run("setup", "--remove", "--yes", "--json")

    assert done.status == 0, done.err
    program = str(ROOT / "bin" / "memory-fabric")
    assert inside["mcpServers"] == {
        "other": {"command": "x"},
        "memory": {"command": program, "args": ["mcp"]},
    }
    assert "Nothing to do" in again.out
    assert servers.read_bytes() == b'{"mcpServers":{"other":{"command":"x"}}}\r\n'


def test_setup_writes_nothing_if_another_server_is_named_memory(shell: Shell) -> None:
    servers = shell.project / ".mcp.json"
    servers.write_bytes(b'{"mcpServers": {"memory": {"command": "npx"}}}')

    done = shell.run("setup", "--settings", "project", "--mcp", "--yes")

    assert done.status == 2
    assert "has a server named memory already" in done.err
    assert not (shell.project / ".claude").exists()


def test_setup_in_user_scope_adds_the_server_to_the_clients_own_file(
    shell: Shell, settings: Path
) -> None:
    own = shell.user_home / ".claude.json"
    own.write_text('{"numStartups": 3}\n', "utf-8")

    shell.run("setup", "--yes", "--json")
    inside = json.loads(own.read_text("utf-8"))
    # The client writes its file anew all the time.
    own.write_text(json.dumps({**inside, "numStartups": 4}, indent=2), "utf-8")
    shell.run("setup", "--remove", "--yes", "--json")

    program = str(ROOT / "bin" / "memory-fabric")
    assert inside["mcpServers"] == {"memory": {"command": program, "args": ["mcp"]}}
    assert json.loads(own.read_text("utf-8")) == {"numStartups": 4}


def test_setup_writes_claude_json_to_the_folder_in_claude_config_dir(shell: Shell) -> None:
    shell.run("setup", "--yes", CLAUDE_CONFIG_DIR=str(shell.user_home / "own"))

    assert (shell.user_home / "own" / ".claude.json").exists()
    assert not (shell.user_home / ".claude.json").exists()


def test_setup_of_local_settings_prints_the_command_that_adds_the_server(
    shell: Shell,
) -> None:
    done = shell.run("setup", "--settings", "local", "--yes")

    assert f"  claude mcp add --scope local memory -- {ROOT}/bin/memory-fabric mcp\n" in done.out


def test_setup_adds_no_server_with_option_no_mcp_or_if_the_name_is_taken(
    shell: Shell, settings: Path
) -> None:
    own = shell.user_home / ".claude.json"
    shell.run("setup", "--no-mcp", "--yes", "--json")
    assert hooks_in(settings) == expected_hooks() and not own.exists()
    own.write_text('{"mcpServers": {"memory": {"command": "npx"}}}', "utf-8")

    done = shell.run("setup", "--yes")

    assert done.status == 0 and "npx" in own.read_text("utf-8")


def test_setup_with_json_writes_nothing_without_the_option_yes(
    shell: Shell, settings: Path
) -> None:
    preview = shell.run("setup", "--json").json
    before = settings.exists()
    done = shell.run("setup", "--json", "--yes").json

    assert (preview["written"], before, done["written"]) == (False, False, True)
    assert preview["files"][0]["file"] == str(settings)
    assert LAUNCH in preview["files"][0]["difference"]
    assert hooks_in(settings) == expected_hooks()


def test_setup_without_a_terminal_requires_yes(shell: Shell, settings: Path) -> None:
    done = shell.run("setup")

    assert done.status == 2
    assert done.err == "memory-fabric: Nothing was changed: this needs a confirmation. Use --yes.\n"
    assert not settings.exists()


@pytest.mark.parametrize("indent", [None, 2])
def test_the_diff_shown_by_setup_hides_an_api_key_in_the_settings(
    shell: Shell, settings: Path, indent: int | None
) -> None:
    key = "sk-" + "ant-api03-" + "A1b2C3d4" * 11
    settings.write_text(json.dumps({"env": {}, "KEY": key}, indent=indent), "utf-8")

    done = shell.run("setup", "--yes")

    assert done.status == 0
    assert key not in done.out
    assert LAUNCH in done.out
    assert key in settings.read_text("utf-8")


def test_hooks_work_in_an_installation_path_with_spaces(shell: Shell, tmp_path: Path) -> None:
    root = tmp_path / "My Programs" / "memory fabric"
    root.mkdir(parents=True)
    for name in ("hooks", "plugin", "bin", "hooks.json"):
        (root / name).symlink_to(ROOT / name)
    file = tmp_path / "a file.json"

    done = shell.run("setup", "--file", str(file), "--yes", PYTHONPATH=str(root / "plugin"))

    assert done.status == 0, done.err
    hook = hooks_in(file)["UserPromptSubmit"][0]["hooks"][0]  # type: ignore[index]
    assert hook["command"] == str(root / "hooks" / "launch")
    event = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "hello"}
    rang = subprocess.run(
        [hook["command"], *hook["args"]],
        input=json.dumps(event).encode(),
        env=shell.environ,
        cwd=shell.project,
        capture_output=True,
    )
    assert (rang.returncode, rang.stderr) == (0, b"")
    assert (shell.memory / "runtime" / "interpreter").exists()


def test_setup_shell_links_the_command_and_remove_deletes_the_link(shell: Shell) -> None:
    link = shell.user_home / ".local" / "bin" / "memory-fabric"

    done = shell.run("setup", "--shell")
    target = link.readlink()
    again = shell.run("setup", "--shell", "--json", PATH=f"{shell.environ['PATH']}:{link.parent}")
    out = shell.run("setup", "--shell", "--remove")

    assert done.status == 0
    assert f'export PATH={link.parent}:"$PATH"' in done.out
    assert target == ROOT / "bin" / "memory-fabric"
    assert again.json == {"link": str(link), "removed": False, "new": False, "on_path": True}
    assert out.status == 0
    assert not (shell.user_home / ".local").exists()
    assert shell.run("setup", "--shell", "--remove").status == 3


def test_a_foreign_file_at_the_commands_link_path_is_kept(shell: Shell, tmp_path: Path) -> None:
    place = tmp_path / "programs"
    place.mkdir()
    (place / "memory-fabric").write_text("#!/bin/sh\n", "utf-8")

    put = shell.run("setup", "--shell", "--bin", str(place))
    take = shell.run("setup", "--shell", "--remove", "--bin", str(place))

    assert (put.status, take.status) == (2, 2)
    assert "belongs to another program and was left alone" in put.err
    assert (place / "memory-fabric").read_text("utf-8") == "#!/bin/sh\n"


def test_a_command_link_to_a_deleted_installation_is_replaced(shell: Shell, tmp_path: Path) -> None:
    place = tmp_path / "programs"
    shell.run("setup", "--shell", "--bin", str(place))
    link = place / "memory-fabric"
    known = (shell.memory / "setup.json").read_text("utf-8")
    (shell.memory / "setup.json").write_text(known.replace(str(ROOT), "/gone"), "utf-8")
    link.unlink()
    link.symlink_to("/gone/bin/memory-fabric")

    done = shell.run("setup", "--shell", "--bin", str(place))

    assert done.status == 0, done.err
    assert link.readlink() == ROOT / "bin" / "memory-fabric"


def test_setup_from_the_plugin_cache_refuses_hooks_and_warns_about_links(
    shell: Shell, settings: Path
) -> None:
    copy = settings.parent / "plugins" / "cache" / "memory-fabric" / "1.0"
    copy.mkdir(parents=True)
    for name in ("hooks", "plugin", "bin", "hooks.json"):
        (copy / name).symlink_to(ROOT / name)

    hooks = shell.run("setup", "--yes", PYTHONPATH=str(copy / "plugin"))
    link = shell.run("setup", "--shell", PYTHONPATH=str(copy / "plugin"))

    assert hooks.status == 2
    assert "which an update replaces" in hooks.err
    assert link.status == 0
    assert "run this again after an update" in link.out


def test_setup_in_a_terminal_writes_after_the_answer_yes(shell: Shell, settings: Path) -> None:
    terminal = shell.terminal("setup")

    terminal.expect_exact("Write it? [y/N]:")
    coloured = str(terminal.before)
    terminal.sendline("y")
    terminal.expect(pexpect.EOF)

    assert "\x1b[32m+" in coloured
    assert "Written: " in plain(str(terminal.before))
    assert terminal.wait() == 0
    assert hooks_in(settings) == expected_hooks()


@pytest.mark.parametrize("how", ["no", "nothing", "Ctrl-C", "Ctrl-D"])
def test_setup_in_a_terminal_changes_nothing_unless_answered_yes(
    shell: Shell, settings: Path, how: str
) -> None:
    settings.write_bytes(ODD)
    terminal = shell.terminal("setup")

    terminal.expect_exact("Write it? [y/N]:")
    if how == "Ctrl-C":
        interrupt(terminal)
    else:
        if how == "Ctrl-D":
            terminal.sendcontrol("d")
        else:
            terminal.sendline({"no": "n", "nothing": ""}[how])
        terminal.expect(pexpect.EOF)

    assert "memory-fabric: stopped; nothing was changed." in str(terminal.before)
    assert terminal.wait() in (1, 130, -signal.SIGINT)
    assert settings.read_bytes() == ODD
    assert not os.path.exists(shell.memory / "setup.json")


@pytest.mark.parametrize(("place", "warns"), [("project", True), ("local", False), ("user", False)])
def test_only_setup_in_project_settings_warns_that_others_need_the_same_path(
    shell: Shell, place: str, warns: bool
) -> None:
    done = shell.run("setup", "--settings", place, "--yes")

    assert "New sessions will have the hooks." in done.out
    warning = "Other users of the repository need memory-fabric at the same path"
    assert (warning in done.out) is warns


def test_removing_a_setup_says_what_becomes_of_the_file(shell: Shell) -> None:
    shell.run("setup", "--settings", "project", "--yes")

    done = shell.run("setup", "--remove", "--yes")

    file = shell.project / ".claude" / "settings.json"
    assert f"{file} would be deleted: it held nothing else." in done.out
    assert f"{file} is as it was before.\n" in done.out
    assert "New sessions" not in done.out


def test_removing_a_setup_that_is_not_there_says_so(shell: Shell) -> None:
    done = shell.run("setup", "--remove", "--yes")

    assert (done.status, done.out) == (0, "Nothing to do: nothing is set up.\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--file", "x", "--settings", "user"), "Use either --settings or --file"),
        (("--shell", "--mcp"), "--shell only links the command"),
        (("--shell", "--client", "codex"), "--shell only links the command"),
        (("--client", "codex", "--settings", "user"), "--client has its own file"),
        (("--bin", "x"), "--bin needs --shell"),
    ],
)
def test_options_of_setup_that_exclude_each_other_are_refused(
    shell: Shell, words: tuple[str, ...], said: str
) -> None:
    done = shell.run("setup", *words, "--yes")

    assert (done.status, done.out) == (2, "")
    assert said in done.err
    assert not (shell.project / "x").exists()


def test_a_link_on_the_path_needs_no_line_in_the_profile(shell: Shell) -> None:
    folder = shell.user_home / ".local" / "bin"

    done = shell.run("setup", "--shell", PATH=f"{shell.environ['PATH']}:{folder}/")

    assert done.out == f"Linked: {folder / 'memory-fabric'}\n"
    assert shell.run("setup", "--shell", "--remove").out == f"Removed: {folder / 'memory-fabric'}\n"
