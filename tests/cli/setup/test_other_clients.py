"""setup --client: hooks in the files of other clients, coming and going."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any, get_args

import pytest

from cli.shell import ROOT, Done, Shell
from memory_fabric.cli.commands.setup import Client
from memory_fabric.clients.hook_files import FILES
from memory_fabric.clients.table import CLIENTS
from memory_fabric.hooks.table import HANDLERS

LAUNCH = str(ROOT / "hooks" / "launch")
PLACES = {
    "codex": ".codex/hooks.json",
    "qwen": ".qwen/settings.json",
    "gemini": ".gemini/settings.json",
    "cursor": ".cursor/hooks.json",
    "factory": ".factory/settings.json",
    "codebuddy": ".codebuddy/settings.json",
    "opencode": ".config/opencode/plugins/memory-fabric.js",
}
OF_JSON = sorted(set(PLACES) - {"opencode"})
USERS = (
    b'{\r\n  "theme" :"dark",\r\n  "hooks": {"Stop": [{"hooks": '
    b'[{"type":"command","command":"true"}]}]}}'
)
FLAT = b'{"version": 1, "hooks": {"stop": [{"command": "true"}]}, "odd" : 1}'


def set_up(shell: Shell, client: str, *more: str) -> Done:
    """Set a client up without a drawing of the difference, which takes longer than all the rest."""
    return shell.run("setup", "--client", client, *more, "--yes", "--json")


def hooks_in(path: Path) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = json.loads(path.read_bytes())["hooks"]
    return found


def commands_in(path: Path) -> list[tuple[str, dict[str, Any]]]:
    """Each hook of memory-fabric with its event."""
    hooks = [
        (event, hook)
        for event, groups in hooks_in(path).items()
        for group in groups
        for hook in group.get("hooks", [group])
    ]
    return [(event, hook) for event, hook in hooks if LAUNCH in hook["command"]]


@pytest.mark.parametrize("client", OF_JSON)
def test_setup_writes_hooks_that_name_their_client_and_have_a_handler(
    shell: Shell, client: str
) -> None:
    done = shell.run("setup", "--client", client, "--yes")

    path = shell.user_home / PLACES[client]
    found = commands_in(path)
    assert (done.status, done.err) == (0, "")
    assert FILES[client].todo in done.out
    assert (
        {"SessionStart", "UserPromptSubmit", "Stop"}
        <= {CLIENTS[client].events.get(event, event) for event, _ in found}
        <= set(HANDLERS)
    )
    assert all(hook["command"].startswith(f"MEMORY_FABRIC_CLIENT={client} ") for _, hook in found)


@pytest.mark.parametrize("client", sorted(PLACES))
def test_setup_of_a_client_changes_nothing_the_second_time(shell: Shell, client: str) -> None:
    path = shell.user_home / PLACES[client]
    set_up(shell, client)
    before = path.read_bytes()

    done = shell.run("setup", "--client", client)

    assert done.status == 0 and done.out.startswith(f"Nothing to do: {path}")
    assert path.read_bytes() == before


TOML = b'model = "x"  # mine\n\n[mcp_servers.other]\ncommand = "y"\n'


@pytest.mark.parametrize("before", [None, b"", TOML, TOML.rstrip()])
@pytest.mark.parametrize("edited", [False, True])
def test_setup_adds_the_server_to_codex_and_remove_restores_the_file(
    shell: Shell, before: bytes | None, edited: bool
) -> None:
    path = shell.user_home / ".codex" / "config.toml"
    path.parent.mkdir()
    if before is not None:
        path.write_bytes(before)

    set_up(shell, "codex")
    found = tomllib.loads(path.read_text("utf-8"))["mcp_servers"]["memory"]
    added = b'\n[projects."/x"]\ntrust_level = "trusted"\n' if edited else b""
    path.write_bytes(path.read_bytes() + added)
    set_up(shell, "codex", "--remove")

    assert (found["command"], found["args"]) == (str(ROOT / "bin" / "memory-fabric"), ["mcp"])
    assert "MEMORY_FABRIC_HOME" in found["env_vars"]
    left = path.read_bytes() if path.exists() else None
    if edited:
        assert tomllib.loads((left or b"").decode()) == tomllib.loads(
            ((before or b"") + added).decode()
        )
    else:
        assert left == before


@pytest.mark.parametrize("client", ["codex", "qwen"])
def test_setup_of_a_client_does_not_replace_a_foreign_server_named_memory(
    shell: Shell, client: str
) -> None:
    name = "config.toml" if client == "codex" else "settings.json"
    path = shell.user_home / f".{client}" / name
    path.parent.mkdir()
    toml, text = '[mcp_servers.memory]\ncommand = "npx"\n', '{"mcpServers": {"memory": {}}}'
    path.write_text(toml if client == "codex" else text, "utf-8")

    refused = shell.run("setup", "--client", client, "--yes")
    alone = shell.run("setup", "--client", client, "--no-mcp", "--yes")

    assert refused.status == 2 and "--no-mcp" in refused.err
    assert alone.status == 0 and commands_in(shell.user_home / PLACES[client])


def test_setup_for_qwen_adds_the_server_and_the_hooks(shell: Shell) -> None:
    set_up(shell, "qwen")

    found = json.loads((shell.user_home / PLACES["qwen"]).read_bytes())
    program = str(ROOT / "bin" / "memory-fabric")
    assert found["mcpServers"] == {"memory": {"command": program, "args": ["mcp"]}}


@pytest.mark.parametrize("before", [None, b"", b"{}", USERS, FLAT])
@pytest.mark.parametrize("client", OF_JSON)
def test_setup_remove_restores_the_file_of_a_client_byte_for_byte(
    shell: Shell, client: str, before: bytes | None
) -> None:
    path = shell.user_home / PLACES[client]
    if before is not None:
        path.parent.mkdir()
        path.write_bytes(before)
    set_up(shell, client)
    written = path.read_bytes()

    done = set_up(shell, client, "--remove")

    assert LAUNCH.encode() in written
    assert done.status == 0, done.err
    assert (path.read_bytes() if path.exists() else None) == before
    assert path.parent.exists() == (before is not None)


def test_setup_remove_without_a_client_restores_the_files_of_all_clients(shell: Shell) -> None:
    paths = {client: shell.user_home / PLACES[client] for client in OF_JSON}
    for client, path in paths.items():
        if client != "codex":  # whose folder and file are new
            path.parent.mkdir()
            path.write_bytes(USERS)
        set_up(shell, client)
        assert LAUNCH.encode() in path.read_bytes()

    done = shell.run("setup", "--remove", "--yes")

    assert done.status == 0, done.err
    assert not paths.pop("codex").parent.exists()
    assert {path.read_bytes() for path in paths.values()} == {USERS}


@pytest.mark.parametrize(("client", "users"), [("codex", USERS), ("cursor", FLAT)])
def test_setup_remove_deletes_only_our_hooks_from_a_changed_client_file(
    shell: Shell, client: str, users: bytes
) -> None:
    path = shell.user_home / PLACES[client]
    path.parent.mkdir()
    path.write_bytes(users)
    set_up(shell, client)
    path.write_bytes(path.read_bytes() + b"\n")

    done = shell.run("setup", "--client", client, "--remove", "--yes")

    assert "later changes in it stay" in done.out
    assert json.loads(path.read_bytes()) == json.loads(users)


def test_hook_timeouts_respect_the_unit_and_the_limit_of_each_client(shell: Shell) -> None:
    for client in ("codex", "qwen", "gemini", "cursor"):
        set_up(shell, client)

    def timeout(client: str, event: str) -> int:
        found = dict(commands_in(shell.user_home / PLACES[client]))
        return int(found[event].get("timeout", 0))

    assert (timeout("codex", "Stop"), timeout("codex", "SessionEnd")) == (20, 3)
    assert (timeout("qwen", "Stop"), timeout("qwen", "SessionEnd")) == (20_000, 5_000)
    assert timeout("gemini", "AfterAgent") == 20_000
    assert timeout("cursor", "afterAgentResponse") == 0


def test_hook_matchers_use_the_tool_names_of_each_client(shell: Shell) -> None:
    for client in ("codex", "qwen", "cursor", "factory"):
        set_up(shell, client)

    def matchers(client: str, event: str) -> str:
        groups = hooks_in(shell.user_home / PLACES[client])[event]
        return " ".join(group.get("matcher", "") for group in groups)

    assert "apply_patch" in matchers("codex", "PreToolUse")
    assert "run_shell_command" in matchers("qwen", "PreToolUse")
    assert "^(Bash|run_shell_command)$" in matchers("qwen", "PostToolUse")
    assert "^Bash$" in matchers("codex", "PostToolUse")
    assert "Bash|Shell" in matchers("cursor", "preToolUse")
    assert "Bash|Execute" in matchers("factory", "PreToolUse")


def test_the_hooks_file_for_cursor_contains_its_version(shell: Shell) -> None:
    set_up(shell, "cursor")

    assert json.loads((shell.user_home / PLACES["cursor"]).read_bytes())["version"] == 1


def test_setup_writes_hooks_to_the_path_given_with_the_option_file(
    shell: Shell, tmp_path: Path
) -> None:
    path = tmp_path / "repository/.codex/hooks.json"

    done = shell.run("setup", "--client", "codex", "--file", str(path), "--yes")

    assert done.status == 0 and LAUNCH in path.read_text()
    assert not (shell.user_home / ".codex").exists()


@pytest.mark.parametrize("more", [("--settings", "project"), ("--shell",)])
def test_setup_of_a_client_refuses_claude_code_options(shell: Shell, more: tuple[str, ...]) -> None:
    done = shell.run("setup", "--client", "codex", *more, "--yes")

    assert done.status == 2
    assert not (shell.user_home / ".codex").exists()


def test_uninstall_removes_the_hooks_of_other_clients(shell: Shell) -> None:
    for client in PLACES:
        set_up(shell, client)

    done = shell.run("uninstall", "--yes")

    assert done.status == 0, done.err
    assert [p for p in PLACES.values() if (shell.user_home / p).exists()] == []


@pytest.mark.parametrize("client", sorted(PLACES))
def test_setup_warns_first_if_the_client_was_never_tested(shell: Shell, client: str) -> None:
    page = (ROOT / "docs/clients.md").read_text("utf-8")
    [by] = re.findall(rf"^\| {CLIENTS[client].name} \|([^|]*)\|", page, re.MULTILINE)
    is_run = "the real client" in by

    asked = shell.run("setup", "--client", client, stdin="n\n")

    assert not (shell.user_home / PLACES[client]).exists()
    assert ("never run with the client itself" in " ".join(asked.out.split())) is not is_run


def test_the_option_client_of_setup_accepts_every_supported_client() -> None:
    assert set(get_args(Client)) == set(FILES) == set(CLIENTS) - {"claude-code"}


def test_the_opencode_plugin_is_removed_but_a_foreign_file_is_kept(shell: Shell) -> None:
    path = shell.user_home / PLACES["opencode"]
    set_up(shell, "opencode")
    written = path.read_text("utf-8")
    set_up(shell, "opencode", "--remove")
    was_removed = not path.exists()
    path.parent.mkdir(parents=True)
    path.write_text("export const Mine = async () => ({});\n")

    refused = shell.run("setup", "--client", "opencode", "--yes")
    removed = shell.run("setup", "--client", "opencode", "--remove", "--yes")

    assert f'const LAUNCHER = "{LAUNCH}";' in written and was_removed
    assert refused.status == 2 and "not memory-fabric's file" in refused.err
    assert removed.status == 0 and path.exists()
