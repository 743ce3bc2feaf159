"""Commands setup and uninstall: hooks without the plugin, the MCP server, a link on the PATH."""

import difflib
import os
import shlex
import sys
from typing import Literal

import typer
from rich.text import Text

from memory_fabric.cli import environment, show
from memory_fabric.cli.options import exclusive, flag, option
from memory_fabric.clients import hook_files, manifest, set_up
from memory_fabric.clients import settings as client_settings
from memory_fabric.clients import uninstall as uninstalling
from memory_fabric.clients.hook_files import NEW_SESSIONS
from memory_fabric.clients.set_up import Change
from memory_fabric.clients.table import CLIENTS
from memory_fabric.clients.uninstall import Belongings
from memory_fabric.config import Settings, search_path
from memory_fabric.errors import BadInput, FabricError
from memory_fabric.redaction.redact import redact
from memory_fabric.store.files import read_json
from memory_fabric.store.projects import identity

STYLES = {"+": "green", "-": "red", "@": "cyan"}
TAKES = {
    manifest.HOOKS: set_up.without_hooks,
    manifest.SERVER: set_up.without_server,
    manifest.FILE: set_up.without_file,
    manifest.CODEX: hook_files.without_codex_server,
}
THIS_VERSION = "this version of the plugin: run this again after an update."
Place = Literal["user", "project", "local"]
Client = Literal["codex", "qwen", "gemini", "cursor", "factory", "codebuddy", "opencode"]
UNINSTALL_COMMANDS = (
    "claude plugin uninstall memory-fabric@memory-fabric",
    "claude plugin marketplace remove memory-fabric",
)
SERVER_COMMAND = "claude mcp remove memory"
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

    These are the hooks of the plugin, with the absolute path of their launcher. It shows the
    difference, asks, and writes the file; everything else in it stays byte for byte. A file that is
    not valid JSON is rejected with the line. Running it again changes nothing.

    `--remove` restores a file byte for byte if it was not changed since, and otherwise removes
    only these hooks. Exit code 2 beside the enabled plugin, and in the client's copy of it.

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
    path = os.path.abspath(file) if file else ""
    own = path or _settings_file(settings, place or "user")
    is_copy = _is_clients_copy(settings, root)
    commands: list[str] = []
    steps: list[str] = []
    if client:
        path = path or hook_files.path_of(client, os.environ, settings.user_home)
        if remove:
            changes = hook_files.removals(client, settings.home, path, root)
        else:
            changes = hook_files.changes(client, settings.home, path, root, mcp=mcp is not False)
            steps = [hook_files.FILES[client].todo]
            if not (hook_files.FILES[client].is_run or all(c.is_none for c in changes)):
                untried = f"{CLIENTS[client].name}: {NEVER_RUN}"
                steps.append(untried) if as_json else show.line(untried)
            steps += [f"The hooks name {THIS_VERSION}"] if is_copy else []
    elif remove and not (place or file):
        changes = removals(settings, root)
    elif remove:
        servers = _server_file(settings, place, file)
        changes = [set_up.without_hooks(settings.home, own, root)]
        changes += [set_up.without_server(settings.home, servers, root)] if servers else []
    else:
        _expect_no_plugin(settings, root, own, place, force)
        changes = [set_up.with_hooks(settings.home, own, root)]
        servers = _server_file(settings, place, file) if mcp is not False else ""
        try:
            changes += [set_up.with_server(settings.home, servers, root)] if servers else []
        except BadInput:  # Another server has this name.
            if mcp:
                raise
        if mcp is not False and len(changes) == 1:
            scope = "local" if place == "local" else "user"
            program = shlex.join(set_up.program_words(root))
            commands = [f"claude mcp add --scope {scope} memory -- {program} mcp"]
    return _apply(settings, changes, commands, steps, remove=remove, yes=yes, as_json=as_json)


def removals(settings: Settings, root: str) -> list[Change]:
    """Return the changes that undo setup and remove its hooks even if they were added by hand."""
    kinds = {m.path: m.kind for m in manifest.marks(settings.home) if m.kind in TAKES}
    own = _settings_file(settings, "user")
    if set_up.may_hold_hooks(own):
        kinds.setdefault(own, manifest.HOOKS)
    files = {os.path.realpath(path): path for path in kinds}  # one change per real file
    return [TAKES[kinds[path]](settings.home, path, root) for path in files.values()]


def difference(change: Change) -> list[str]:
    """Return a change of a file as the lines of a unified diff, with secrets redacted."""
    sides = ((side or b"").decode("utf-8", "replace") for side in (change.before, change.after))
    before, after = (side.splitlines() for side in sides)
    path = change.path
    lines = difflib.unified_diff(before, after, path, path, lineterm="", n=2)
    return [redact(line) for line in lines]


def show_difference(change: Change) -> None:
    """Print the diff of a change to a file, coloured in a terminal."""
    for line in difference(change):
        style = STYLES.get(line[:1], "")
        show.console().print(Text(show.printable(line), style=style), soft_wrap=True)
    if change.after is None:
        show.line(f"{change.path} would be deleted: it held nothing else.")


def _expect_no_plugin(
    settings: Settings, root: str, path: str, place: Place | None, force: bool
) -> None:
    """Raise BadInput, unless `force`, if the plugin is enabled or `root` is the client's copy."""
    paths = [path]  # settings files that the client reads together
    if place in ("project", "local"):
        paths = [_settings_file(settings, "project"), _settings_file(settings, "local")]
    paths.insert(0, _settings_file(settings, "user"))
    layers = [client_settings.Layer("", file, read_json(file)) for file in paths]
    enabled = [file for is_on, file in client_settings.plugins(layers).values() if is_on]
    if enabled and not force and os.name == "posix":  # on Windows the plugin's hooks do not run
        text = f"{enabled[-1]} enables the plugin: every hook would run twice."
        remedy = "Uninstall the plugin (memory-fabric uninstall says how), or use --force."
        raise BadInput("setup", text, remedy=remedy)
    if _is_clients_copy(settings, root) and not force:
        text = f"{root} is the client's own copy of the plugin, which an update replaces."
        remedy = "Run bin/memory-fabric setup in a checkout of your own, or use --force."
        raise BadInput("setup", text, remedy=remedy)


def _is_clients_copy(settings: Settings, root: str) -> bool:
    return root.startswith(os.path.join(settings.config_dir, "plugins", ""))


def _settings_file(settings: Settings, place: Place) -> str:
    if place == "user":
        return os.path.join(settings.config_dir, "settings.json")
    name = "settings.json" if place == "project" else "settings.local.json"
    project = identity.worktree_of(os.path.abspath(settings.project_dir))
    return os.path.join(project, ".claude", name)


def _server_file(settings: Settings, place: Place | None, file: str) -> str:
    """Return the client's MCP configuration file for this place; '' if it is unknown."""
    if place == "project":
        return os.path.join(
            identity.worktree_of(os.path.abspath(settings.project_dir)), ".mcp.json"
        )
    if file or place == "local":
        return ""
    # Without this variable, Claude Code stores the file next to its configuration folder.
    stated = os.environ.get("CLAUDE_CONFIG_DIR")
    folder = settings.config_dir if stated else os.path.dirname(settings.config_dir)
    return os.path.join(folder, ".claude.json")


def _apply(
    settings: Settings,
    changes: list[Change],
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
        show.lines(steps or (NEW_SESSIONS,))
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
        links = [m.path for m in manifest.marks(settings.home) if m.kind == manifest.LINK]
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


def uninstall(
    purge: bool = flag("--purge  Also delete the memory: home, lines in MEMORY.md, folders."),
    keep_memory: bool = flag("--keep-memory  With `--purge`: keep the home."),
    keep_notes: bool = flag("--keep-notes  With `--purge`: keep the lines in MEMORY.md."),
    keep_folders: bool = flag("--keep-folders  With `--purge`: keep local folders of projects."),
    yes: bool = flag("--yes  Do not ask."),
    as_json: bool = flag("--json  Answer in JSON, without asking; it needs `--yes` to act."),
) -> int:
    """Revert setup, delete the memory if asked, show the last steps.

    Files that `memory-fabric setup` wrote are restored, byte for byte if they were not changed
    since. A terminal asks what to keep of the memory; otherwise all of it stays without `--purge`.
    Only what memory-fabric wrote is removed; files that git tracks stay, since others share them.

        memory-fabric uninstall --purge --keep-notes --yes
    """
    settings = environment.settings()
    mine = uninstalling.belongings(settings)
    keeps = (not purge or keep_memory, not purge or keep_notes, not purge or keep_folders)
    if not (purge or yes or as_json) and sys.stdin.isatty():
        keeps = (
            _keeps(mine.home, f"Keep the memory itself ({mine.home})?"),
            _keeps(mine.notes, f"Keep the lines in MEMORY.md ({len(mine.notes)})?"),
            _keeps(mine.folders, f"Keep the records in folders of projects ({len(mine.folders)})?"),
        )
    changes = removals(settings, environment.plugin_root() or settings.plugin_root)
    changes = [change for change in changes if not change.is_none]
    links = [m.path for m in manifest.marks(settings.home) if m.kind == manifest.LINK]
    kept, gone = _only(mine, *keeps), _only(mine, *(not keep for keep in keeps))
    if gone.home:
        for inner in (settings.user_home, settings.config_dir, settings.project_dir):
            uninstalling.check_home(gone.home, inner)
    deletes = any(gone)
    has_work = bool(changes or links or deletes)
    if not as_json:
        for change in changes:
            show_difference(change)
        show.lines(f"The link {path} will be removed." for path in links)
        if deletes:
            show.line("This deletes permanently:")
            show.lines(f"  {line}" for line in _listed(gone))
    carries_out = has_work and (yes or not as_json)
    if carries_out:
        show.confirm("Delete all of it?" if deletes else "Remove it?", yes)
    problems = _carry_out(settings, changes, links, gone) if carries_out else []
    if as_json:
        restored = [*(change.path for change in changes), *links]
        following = [*UNINSTALL_COMMANDS, SERVER_COMMAND]
        fields = {"restored": restored, "deleted": _listed(gone), "kept": _listed(kept)}
        fields |= {"stays": problems, "next": following}
        return show.json_out(fields | {"done": carries_out or not has_work})
    for change in changes:
        how = "is restored" if change.restores else "has no hooks of memory-fabric any more"
        show.line(f"{change.path} {how}.")
    if deletes:
        show.line("Deleted. Transcripts of Claude Code are not touched.")
    show.warn_all(problems)
    if any(kept):
        show.line("The memory stays, and a new installation finds it again:")
        show.lines(f"  {line}" for line in _listed(kept))
        show.line(f"{environment.program(settings)} uninstall --purge deletes all of it.")
    show.line("To uninstall the plugin:")
    show.lines(f"  {command}" for command in UNINSTALL_COMMANDS)
    show.line(f"To remove a server that you added yourself: {SERVER_COMMAND}")
    return 0


def _keeps(belongings: object, question: str) -> bool:
    return not belongings or typer.confirm(question, default=True)


def _only(mine: Belongings, home: bool, notes: bool, folders: bool) -> Belongings:
    return Belongings(
        mine.home if home else "", mine.notes if notes else (), mine.folders if folders else ()
    )


def _carry_out(
    settings: Settings, changes: list[Change], links: list[str], gone: Belongings
) -> list[str]:
    """Apply the changes, and delete the links and `gone`, the home last; return the errors."""
    problems: list[str] = []
    for change in changes:
        set_up.apply(settings.home, change)
    for path in links:
        try:
            set_up.without_link(settings.home, path)
        except FabricError as error:
            problems.append(str(error))
    for note in gone.notes:
        uninstalling.remove_lines(settings.home, note)
    for folder in gone.folders:
        problems += uninstalling.remove_folder(folder)
    if gone.home:
        uninstalling.remove_home(gone.home)
    return problems


def _listed(of: Belongings) -> list[str]:
    lines = [f"lines in {note.path}" for note in of.notes]
    return [line for line in (of.home, *of.folders, *lines) if line]
