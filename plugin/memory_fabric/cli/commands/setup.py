"""Command setup: install the MCP server, a link on the PATH, and hooks without the plugin."""

import difflib
import os
import shlex
from typing import Literal

from rich.text import Text

from memory_fabric.cli import environment, show
from memory_fabric.cli.options import exclusive, flag, option
from memory_fabric.clients import hook_files, set_up
from memory_fabric.clients import settings as client_settings
from memory_fabric.clients.table import CLIENTS
from memory_fabric.config import Settings, search_path
from memory_fabric.errors import BadInput
from memory_fabric.redaction.redact import redact
from memory_fabric.store.files import read_json
from memory_fabric.store.projects import identity

STYLES = {"+": "green", "-": "red", "@": "cyan"}
TAKES = {
    set_up.HOOKS: set_up.without_hooks,
    set_up.SERVER: set_up.without_hooks,
    set_up.FILE: set_up.without_file,
    set_up.CODEX: hook_files.without_codex_server,
}
THIS_VERSION = "this version of the plugin: run this again after an update."
Place = Literal["user", "project", "local"]
Client = Literal["codex", "qwen", "gemini", "cursor", "factory", "codebuddy", "opencode"]
NEVER_RUN = "made from its documentation, never run with the client itself (docs/clients.md)."


def setup(
    place: Place | None = option(
        "--settings  `user` (settings.json in the client's folder; the default), `project` "
        "(`.claude/settings.json`) or `local` (`.claude/settings.local.json`).",
        None,
    ),
    file: str = option("PATH  Another settings file instead."),
    client: Client | None = option("For another client: into its own file of hooks.", None),
    mcp: bool | None = option(
        "--mcp/--no-mcp  The MCP server, too, which also answers the hooks: into `.claude.json`, "
        "`.mcp.json` (project) or the client's file. By default unless another has its name.",
        None,
    ),
    shell: bool = flag(
        "--shell  Instead link the command into a folder of your PATH: ~/.local/bin."
    ),
    folder: str = option("--bin FOLDER  With `--shell`: another folder."),
    remove: bool = flag(
        "--remove  Remove what was set up, by default from every file; or the link."
    ),
    force: bool = flag("--force  Even beside the plugin, or from the client's copy of the plugin."),
    yes: bool = flag("--yes  Do not ask."),
    as_json: bool = flag("--json  Answer in JSON, without asking; writes only with `--yes`."),
) -> int:
    """Add hooks and MCP server to the client's files, for clients without plugins.

    The hooks are those of the plugin, with the absolute path of their launcher. The command shows
    the difference, asks, and writes the file; everything else in the file stays byte for byte. A
    file that is not valid JSON is rejected, with the number of the invalid line. A second run
    changes nothing.

    `--remove` restores a file byte for byte if it has not changed since, and otherwise removes only
    these hooks. Exit code 2 if the plugin is enabled, or if this is the client's copy of it.

        bin/memory-fabric setup --settings project
        bin/memory-fabric setup --shell
        bin/memory-fabric setup --client codex
    """
    settings = environment.settings()
    root = environment.plugin_root() or settings.plugin_root
    exclusive("--file", "Use either --settings or --file, not both.", place, file, remedy="")
    if folder and not shell:
        raise BadInput("--bin", "--bin needs --shell.", remedy="Use setup --shell --bin ....")
    others, alone = bool(place or file or mcp or client), "Use it alone."
    exclusive("--shell", "--shell only links the command.", shell, others, remedy=alone)
    exclusive("--client", "--client has its own file.", client, place, remedy="Use --file at most.")
    if shell:
        return _link(settings, root, folder, remove, as_json)
    own, servers = _files(settings, place, file)
    commands: list[str] = []
    steps: list[str] = []
    if client:
        path = own if file else hook_files.path_of(client, os.environ, settings.user_home)
        if remove:
            changes = hook_files.removals(client, settings.home, path, root)
        else:
            changes = hook_files.changes(client, settings.home, path, root, mcp=mcp is not False)
            steps = [hook_files.FILES[client].todo]
            if not (hook_files.FILES[client].is_run or all(c.is_none for c in changes)):
                untried = f"{CLIENTS[client].name}: {NEVER_RUN}"
                steps.append(untried) if as_json else show.line(untried)
            steps += [f"The hooks name {THIS_VERSION}"] if _is_clients_copy(settings, root) else []
    elif remove and not (place or file):
        changes = removals(settings, root)
    elif remove:
        paths = [own, servers] if servers else [own]
        changes = [set_up.without_hooks(settings.home, path, root) for path in paths]
    else:
        _expect_no_plugin(settings, root, own, place, force)
        changes = [set_up.with_hooks(settings.home, own, root)]
        try:
            if servers and mcp is not False:
                changes.append(set_up.with_hooks(settings.home, servers, root, {}, has_server=True))
        except BadInput:  # another server has the name "memory"
            if mcp:
                raise
        if mcp is not False and len(changes) == 1:
            scope = "local" if place == "local" else "user"
            program = shlex.join(set_up.program_words(root))
            commands = [f"claude mcp add --scope {scope} memory -- {program} mcp"]
    return _apply(settings, changes, commands, steps, remove=remove, yes=yes, as_json=as_json)


def removals(settings: Settings, root: str) -> list[set_up.Change]:
    """Return the changes that revert setup; hooks that the user added by hand are removed, too."""
    kinds = {m.path: m.kind for m in set_up.marks(settings.home) if m.kind in TAKES}
    own, _ = _files(settings)
    if set_up.may_hold_hooks(own):
        kinds.setdefault(own, set_up.HOOKS)
    files = {os.path.realpath(path): path for path in kinds}  # two paths may lead to one file
    return [TAKES[kinds[path]](settings.home, path, root) for path in files.values()]


def difference(change: set_up.Change) -> list[str]:
    """Return a change of a file as the lines of a unified diff, with secrets redacted."""
    sides = ((side or b"").decode("utf-8", "replace") for side in (change.before, change.after))
    before, after = (side.splitlines() for side in sides)
    path = change.path
    lines = difflib.unified_diff(before, after, path, path, lineterm="", n=2)
    return [redact(line) for line in lines]


def show_difference(change: set_up.Change) -> None:
    """Print the diff of a change to a file, coloured in a terminal."""
    console = show.console()
    for line in difference(change):
        console.print(Text(show.printable(line), style=STYLES.get(line[:1], "")), soft_wrap=True)
    if change.after is None:
        show.line(f"{change.path} would be deleted: it held nothing else.")


def _expect_no_plugin(
    settings: Settings, root: str, path: str, place: Place | None, force: bool
) -> None:
    """Raise BadInput if the plugin is enabled or `root` is the client's copy, unless `force`."""
    paths = [path]  # all settings files that apply here
    if place in ("project", "local"):
        paths = [_files(settings, "project")[0], _files(settings, "local")[0]]
    paths.insert(0, _files(settings)[0])
    layers = [client_settings.Layer("", file, read_json(file)) for file in paths]
    enabled = [file for is_on, file in client_settings.plugins(layers).values() if is_on]
    if enabled and not force and os.name == "posix":  # on Windows, the plugin's hooks do not run
        text = f"{enabled[-1]} enables the plugin: every hook would run twice."
        remedy = "Uninstall the plugin (memory-fabric uninstall says how), or use --force."
        raise BadInput("setup", text, remedy=remedy)
    if _is_clients_copy(settings, root) and not force:
        text = f"{root} is the client's own copy of the plugin, which an update replaces."
        remedy = "Run bin/memory-fabric setup in a checkout of your own, or use --force."
        raise BadInput("setup", text, remedy=remedy)


def _is_clients_copy(settings: Settings, root: str) -> bool:
    return root.startswith(os.path.join(settings.config_dir, "plugins", ""))


def _files(settings: Settings, place: Place | None = None, file: str = "") -> tuple[str, str]:
    """Return the settings file (`file` or that of `place`) and the file of MCP servers (or '')."""
    project = identity.worktree_of(os.path.abspath(settings.project_dir))
    if place == "project":
        return os.path.join(project, ".claude", "settings.json"), os.path.join(project, ".mcp.json")
    if place == "local":
        return os.path.join(project, ".claude", "settings.local.json"), ""
    if file:
        return os.path.abspath(file), ""
    # Without CLAUDE_CONFIG_DIR, Claude Code stores .claude.json beside its configuration folder.
    stated = os.environ.get("CLAUDE_CONFIG_DIR")
    folder = settings.config_dir if stated else os.path.dirname(settings.config_dir)
    return os.path.join(settings.config_dir, "settings.json"), os.path.join(folder, ".claude.json")


def _apply(
    settings: Settings,
    changes: list[set_up.Change],
    commands: list[str],
    steps: list[str],
    *,
    remove: bool,
    yes: bool,
    as_json: bool,
) -> int:
    pending = [change for change in changes if not change.is_none]
    rows = [
        {"file": c.path, "difference": "\n".join(difference(c)), "restores": c.restores}
        for c in pending
    ]
    if not as_json:
        for change in pending:
            show_difference(change)
    is_written = bool(pending) and (yes or not as_json)
    if is_written:
        show.confirm("Remove it?" if remove else "Write it?", yes)
        for change in pending:
            set_up.apply(settings.home, change)
    if as_json:
        return show.json_out({"files": rows, "written": is_written, "next": [*commands, *steps]})
    if not pending:
        show.line(f"Nothing to do: {', '.join(c.path for c in changes) or 'nothing is set up.'}")
    for change in pending:
        if change.restores:
            show.line(f"{change.path} is as it was before.")
        elif remove:
            show.line(f"Removed from {change.path}; later changes in it stay.")
        else:
            show.line(f"Written: {change.path}. memory-fabric setup --remove reverts it.")
    if pending and not remove:
        show.lines(steps or (hook_files.NEW_SESSIONS,))
        shared = (c.path for c in pending if os.path.basename(c.path) == "settings.json")
        folders = (os.path.dirname(os.path.dirname(path)) for path in shared)
        if any(os.path.exists(os.path.join(folder, ".git")) for folder in folders):
            show.line(
                "Other users of the repository need memory-fabric at the same path; use "
                "--settings local to set it up only for yourself."
            )
    show.lines(f"To add the server, run:\n  {command}" for command in commands)
    return 0


def _link(settings: Settings, root: str, folder: str, remove: bool, as_json: bool) -> int:
    place = os.path.abspath(os.path.expanduser(folder)) if folder else ""
    place = place or os.path.join(settings.user_home, os.path.join(".local", "bin"))
    if remove:
        path, is_new = os.path.join(place, set_up.LINK_NAME), False
        links = [m.path for m in set_up.marks(settings.home) if m.kind == set_up.LINK]
        if not folder and links and path not in links:
            path = links[-1]
        set_up.without_link(settings.home, path)
        text = f"Removed: {path}"
    else:
        path, is_new = set_up.with_link(settings.home, place, root)
        text = f"Linked: {path}" if is_new else f"Nothing to do: {path}"
    on_path = os.path.normpath(place) in map(os.path.normpath, search_path(os.environ))
    if as_json:
        return show.json_out({"link": path, "removed": remove, "new": is_new, "on_path": on_path})
    show.line(text)
    if not remove and _is_clients_copy(settings, root):
        show.line(f"It links {THIS_VERSION}")
    if not remove and not on_path:
        line = f'export PATH={shlex.quote(place)}:"$PATH"'
        show.line(
            f"{place} is not on your PATH. Add this line to ~/.profile (or the startup file of "
            f"your shell), and open a new shell:\n  {line}"
        )
    return 0
