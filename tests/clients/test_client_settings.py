"""Claude Code's settings and state files: their precedence, and memory-fabric's entries."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memory_fabric.clients import hook_files, set_up, settings
from memory_fabric.clients.settings import LOCAL, PROJECT, USER, Layer
from memory_fabric.config import Settings, read_settings
from memory_fabric.errors import BadInput

OURS = {"command": "/opt/memory-fabric/bin/memory-fabric", "args": ["mcp"]}


class Files:
    """The home of one user and one project, with the client's files."""

    def __init__(self, folder: Path) -> None:
        self.home, self.project = folder / "ann", folder / "shop"
        environ = {"HOME": str(self.home), "CLAUDE_PROJECT_DIR": str(self.project)}
        self.settings: Settings = read_settings(environ, {})
        self.config = Path(self.settings.config_dir)

    def write(self, path: Path, value: Any) -> str:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(value if isinstance(value, str) else json.dumps(value), "utf-8")
        return str(path)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


@pytest.mark.parametrize(
    ("text", "is_broken"), [("{}", False), (" \n", False), ("{", True), ("[]", True)]
)
def test_a_settings_file_is_broken_only_if_it_holds_something_else_than_an_object(
    files: Files, text: str, *, is_broken: bool
) -> None:
    files.write(files.config / "settings.json", text)
    (files.project / ".claude/settings.json").mkdir(parents=True)
    files.write(files.project / ".claude/settings.local.json", {"b": 2})

    layers = settings.layers(files.settings)

    assert [layer.scope for layer in layers] == [USER, PROJECT, LOCAL]
    assert [layer.broken for layer in layers] == [is_broken, True, False]
    assert [layer.values for layer in layers] == [{}, {}, {"b": 2}]


def test_a_project_in_the_users_home_has_no_settings_of_its_own(files: Files) -> None:
    at_home = files.settings._replace(project_dir=str(files.home))

    assert [layer.scope for layer in settings.layers(at_home)] == [USER, LOCAL]


def test_the_last_settings_file_decides_about_plugins_and_variables() -> None:
    layers = [
        Layer(USER, "u", {
            "enabledPlugins": {"memory-fabric@x": True, "memory-fabric@y": False, "other@x": True},
            "env": {"A": "1", "B": "2", "C": 3},
        }),
        Layer(PROJECT, "p", {"enabledPlugins": {"memory-fabric@x": False}, "env": {"A": "4"}}),
        Layer(LOCAL, "l", {"enabledPlugins": [], "env": "A"}),
    ]  # fmt: skip

    assert settings.plugins(layers) == {
        "memory-fabric@x": (False, "p"),
        "memory-fabric@y": (False, "u"),
    }
    assert settings.plugins(layers[:1])["memory-fabric@x"] == (True, "u")
    assert settings.variables(layers) == {"A": ("4", "p"), "B": ("2", "u")}


def test_permission_rules_are_listed_by_their_kinds() -> None:
    permissions = {"allow": ["a", 1], "deny": ["d"], "ask": "x"}
    layers = [Layer(USER, "u", {"permissions": permissions}), Layer(LOCAL, "l")]

    assert settings.rules(layers, "deny", "allow") == [("d", "u"), ("a", "u")]
    assert settings.rules(layers, "ask") == []


def test_hooks_added_by_hand_are_ours_by_their_path_or_the_package_next_to_them(
    files: Files,
) -> None:
    (files.home / "copy" / settings.SOURCE).mkdir(parents=True)
    copy = f"{files.home}/copy/hooks/launch"
    hooks = [
        {"command": "/opt/memory-fabric/hooks/launch rules"},
        {"command": copy, "args": ["fixes"]},
        {"command": f"{files.home}/other/hooks/launch"},
        {"command": "true"},
        {"command": 3},
        "x",
    ]
    layers = [Layer(USER, "u", {"hooks": {"Stop": [{"hooks": hooks}, 3], "End": {}}})]

    assert settings.hooks_by_hand(layers) == [
        settings.ByHand("Stop", "/opt/memory-fabric/hooks/launch", "u"),
        settings.ByHand("Stop", copy, "u"),
    ]


def test_the_commands_of_a_hooks_file_are_listed_by_event(files: Files) -> None:
    stop = [{"hooks": [{"command": "a", "args": ["b"]}]}]
    path = files.write(files.home / "hooks.json", {"hooks": {"Stop": stop, "End": []}})

    assert settings.events_of(path) == {"Stop": ["a b"], "End": []}
    assert settings.events_of(str(files.home / "missing")) == {}


def test_servers_are_found_in_every_file_with_their_scope_and_state(files: Files) -> None:
    of_project = {"a": OURS, "b": {"command": "x"}}
    of_local = {"c": {"command": "x", "args": ["-m", "memory_fabric.server"]}, "d": 3}
    projects = {
        str(files.project): {"mcpServers": of_local, "disabledMcpServers": ["off"]},
        "/elsewhere": {"mcpServers": {"f": OURS}},
    }
    of_user = {"mcpServers": {"e": {"command": 3}, "off": OURS}, "projects": projects}
    shared = files.write(files.project / ".mcp.json", {"mcpServers": of_project})
    state = files.write(files.home / ".claude.json", of_user)
    layers = [Layer(LOCAL, "l", {"disabledMcpjsonServers": ["b", "e"]})]

    found = settings.servers(files.settings, layers)

    assert [(s.name, s.scope, s.path, s.ours, s.enabled) for s in found] == [
        ("a", PROJECT, shared, True, True),
        ("b", PROJECT, shared, False, False),
        ("e", USER, state, False, True),
        ("off", USER, state, True, False),
        ("c", LOCAL, state, True, True),
        ("d", LOCAL, state, False, True),
    ]


def test_our_server_is_recognised_by_the_server_name_in_a_tool_name(files: Files) -> None:
    files.write(files.project / ".mcp.json", {"mcpServers": {"my mémory": OURS, "x": {}}})

    assert settings.is_our_server("my_m_mory", files.settings)
    assert settings.is_our_server("my mémory", files.settings)
    assert not settings.is_our_server("my-m_mory", files.settings)
    assert not settings.is_our_server("x", files.settings)


def test_missing_folders_of_an_installed_plugin_are_found(files: Files) -> None:
    plugins = files.config / "plugins"
    there, name = str(files.home), "memory-fabric@shop"
    entries: dict[str, Any] = {
        name: [{"installPath": "/missing/a"}, {"installPath": there}, 3],
        "memory-fabric@odd": {},
        "other@shop": [{}],
    }
    files.write(plugins / "installed_plugins.json", {"plugins": entries})
    places = {"shop": {"installLocation": "/missing/b"}, "odd": {"installLocation": there}}
    files.write(plugins / "known_marketplaces.json", places)

    assert settings.installed(str(files.config)) == {name: entries[name][:2]}
    assert settings.lost_folders(str(files.config), name) == ["/missing/a", "/missing/b"]
    assert settings.lost_folders(str(files.config), "memory-fabric@odd") == []


def installation(folder: Path, hooks: Any = ()) -> str:
    """Make an installation with a launcher, and return its root."""
    (folder / "hooks").mkdir(parents=True)
    launcher = folder / "hooks" / "launch"
    launcher.touch(0o755)
    (folder / "hooks.json").write_text(json.dumps({"hooks": dict(hooks)}))
    return str(folder)


def test_the_command_of_a_hook_names_its_client_and_its_folder(files: Files) -> None:
    root = installation(files.home / "my fabric")
    launcher = f"'{root}/hooks/launch'"

    assert hook_files.command("gemini", root, [], "posix") == (
        f"MEMORY_FABRIC_CLIENT=gemini {launcher}"
    )
    assert hook_files.command("codex", root, ["rules"], "posix") == (
        f'MEMORY_FABRIC_CLIENT=codex CLAUDE_PROJECT_DIR="$PWD" {launcher} rules'
    )
    windows = hook_files.command("codex", root, ["rules"], "nt")
    assert windows.endswith(f'"{root}/hooks/launch.py" --client codex rules')


def test_the_launcher_must_be_there_and_executable(files: Files) -> None:
    root = installation(files.home / "fabric")

    assert set_up.launcher(root) == f"{root}/hooks/launch"
    Path(root, "hooks/launch").unlink()
    for folder in (root, ""):
        with pytest.raises(BadInput, match="not installed next to this package"):
            set_up.launcher(folder)


def test_on_windows_hooks_and_the_server_run_without_a_shell(files: Files) -> None:
    hook = {"command": "${CLAUDE_PLUGIN_ROOT}/hooks/launch", "args": ["rules"]}
    root = installation(files.home / "fabric", [("Stop", [{"hooks": [hook]}])])

    [posix] = set_up.hook_groups(root, "posix")["Stop"][0]["hooks"]
    [windows] = set_up.hook_groups(root, "nt")["Stop"][0]["hooks"]

    assert posix == {"command": f"{root}/hooks/launch", "args": ["rules"]}
    assert windows["args"] == ["-I", "-S", f"{root}/hooks/launch.py", "rules"]
    assert set_up.program_words(root, "posix") == [f"{root}/bin/memory-fabric"]
    assert set_up.program_words(root, "nt")[-2:] == [f"{root}/hooks/launch.py", "--run"]


def test_the_hooks_file_of_a_client_is_in_its_own_folder_or_the_users_home() -> None:
    def path(client: str, **environ: str) -> str:
        return hook_files.path_of(client, environ, "/home/ann")

    assert path("codex") == path("codex", CODEX_HOME="") == "/home/ann/.codex/hooks.json"
    assert path("codex", CODEX_HOME="/c/./d") == "/c/d/hooks.json"
    assert path("gemini", CODEX_HOME="/c") == "/home/ann/.gemini/settings.json"
