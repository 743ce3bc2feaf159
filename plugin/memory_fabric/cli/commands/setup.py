"""setup: install hooks without the plugin, the MCP server, and the command on the PATH."""

import difflib
import os
import shlex
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import typer
from rich.text import Text

from memory_fabric.cli import environment, show
from memory_fabric.clients import hook_files, manifest, path_link, set_up
from memory_fabric.clients.hook_files import NEW_SESSIONS
from memory_fabric.clients.set_up import Change
from memory_fabric.config import Settings, search_path
from memory_fabric.errors import BadInput
from memory_fabric.redaction.redact import redact
from memory_fabric.store.projects import identity

SHELL_FOLDER = os.path.join(".local", "bin")
CONTEXT_LINES = 2
STYLES = {"+": "green", "-": "red", "@": "cyan"}
TAKES = {
    manifest.HOOKS: set_up.without_hooks,
    manifest.SERVER: set_up.without_server,
    manifest.FILE: set_up.without_file,
    manifest.CODEX: hook_files.without_codex_server,
}
Place = Literal["user", "project", "local"]
Client = Literal["codex", "qwen", "gemini", "cursor", "factory", "codebuddy", "opencode"]


def setup(
    place: Annotated[
        Place | None,
        typer.Option(
            "--settings",
            help="The settings file: `user` (settings.json in the client's folder; the default), "
            "`project` (`.claude/settings.json`, for all users of the repository) or `local` "
            "(`.claude/settings.local.json`, only for you in this project).",
        ),
    ] = None,
    file: Annotated[
        str, typer.Option("--file", metavar="PATH", help="Another settings file instead.")
    ] = "",
    client: Annotated[
        Client | None,
        typer.Option(
            "--client",
            help="For another client: into its own file of hooks (OpenCode: a plugin), with its "
            "names of events and tools. It says what is left to do there.",
        ),
    ] = None,
    mcp: Annotated[
        bool | None,
        typer.Option(
            "--mcp/--no-mcp",
            help="The MCP server, too, which also answers the hooks: into `.claude.json`, with "
            "`--settings project` into `.mcp.json`, with `--client` into Codex's and Qwen Code's "
            "file. By default unless another server is named `memory`; for other files the "
            "command that adds it is shown.",
        ),
    ] = None,
    statusline: Annotated[
        bool,
        typer.Option(
            "--statusline",
            help="Only the status line, also beside the plugin; an existing one is never replaced.",
        ),
    ] = False,
    shell: Annotated[
        bool,
        typer.Option(
            "--shell",
            help="Instead link `bin/memory-fabric` into a folder of your PATH: `~/.local/bin`, "
            "which is created if it is missing.",
        ),
    ] = False,
    folder: Annotated[
        str, typer.Option("--bin", metavar="FOLDER", help="With `--shell`: another folder.")
    ] = "",
    remove: Annotated[
        bool,
        typer.Option(
            "--remove",
            help="Remove what was set up: without `--settings` and `--file` from every file; "
            "with `--shell` the link.",
        ),
    ] = False,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Even if the installed plugin runs the same hooks, or this is the client's copy "
            "of the plugin.",
        ),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="Answer in JSON: `files` with the difference of each, `written`, `next`; it does "
            "not ask, and writes only with `--yes`.",
        ),
    ] = False,
) -> int:
    """Add hooks and MCP server to the client's files, for clients without plugins.

    These are the hooks of the plugin, with the absolute path of their launcher. It shows the
    difference, asks, and writes the file atomically; everything else in it stays byte for byte. A
    file that is not valid JSON (JSON has no comments) is rejected with the line, and nothing is
    changed. Running it again changes nothing.

    `--remove` restores a file byte for byte if it was not changed since, and otherwise removes
    only these hooks. Exit code 2 if the plugin is enabled, since every hook would run twice, and
    in the client's copy of the plugin, since an update replaces it.

        bin/memory-fabric setup
        bin/memory-fabric setup --settings project
        bin/memory-fabric setup --shell
        bin/memory-fabric setup --statusline
        bin/memory-fabric setup --client codex
        bin/memory-fabric setup --remove
    """
    settings = environment.settings()
    root = environment.plugin_root() or settings.plugin_root
    if place and file:
        raise BadInput("--file", "Use either --settings or --file, not both.")
    if folder and not shell:
        raise BadInput("--bin", "--bin needs --shell.", remedy="Use setup --shell --bin ....")
    if statusline and (mcp or client or shell):
        raise BadInput(
            "--statusline", "--statusline is set up alone.", remedy="Run setup once for each."
        )
    if shell:
        if place or file or mcp or client:
            raise BadInput("--shell", "--shell only links the command.", remedy="Use it alone.")
        return _link(settings, root, folder, remove, as_json)
    if client:
        if place:
            raise BadInput("--client", "--client has its own file.", remedy="Use --file at most.")
        path = os.path.abspath(file) if file else ""
        path = path or hook_files.path_of(client, os.environ, settings.user_home)
        if remove:
            changes = hook_files.removals(client, settings.home, path, root)
        else:
            changes = hook_files.changes(client, settings.home, path, root, mcp=mcp is not False)
        steps = [] if remove else _steps(settings, root, client)
        return _apply(settings, changes, [], steps, remove=remove, yes=yes, as_json=as_json)
    if statusline:
        change = _status_line(settings, root, place, file, remove)
        steps = _status_steps(settings, root)
        return _apply(settings, [change], [], steps, remove=remove, yes=yes, as_json=as_json)
    if remove:
        changes = _removals(settings, root, place, file)
    else:
        changes = _additions(settings, root, place, file, force)
        if mcp is not False:
            changes += _server(settings, root, place, file, insist=mcp is True)
    commands = [] if remove or mcp is False else _remaining_commands(root, place, changes)
    return _apply(settings, changes, commands, (), remove=remove, yes=yes, as_json=as_json)


def _status_line(
    settings: Settings, root: str, place: Place | None, file: str, remove: bool
) -> Change:
    path = os.path.abspath(file) if file else _settings_file(settings, place or "user")
    if remove:
        return set_up.without_status_line(settings.home, path)
    return set_up.with_status_line(settings.home, path, root)


def _status_steps(settings: Settings, root: str) -> list[str]:
    """Return what a person should know of the new status line."""
    steps = ["The client shows it from its next start, below the prompt."]
    if _is_clients_copy(settings, root):
        steps.append("It names this version of the plugin: run this again after an update.")
    return steps


def _steps(settings: Settings, root: str, client: Client) -> list[str]:
    """Return the steps that another client leaves to the person."""
    steps = [hook_files.FILES[client].todo]
    if _is_clients_copy(settings, root):
        steps.append("The hooks name this version of the plugin: run this again after an update.")
    return steps


def removals(settings: Settings, root: str) -> list[Change]:
    """Return the changes that remove everything setup wrote, and these hooks if added by hand."""
    kinds = {m.path: m.kind for m in manifest.marks(settings.home) if m.kind in TAKES}
    own = _settings_file(settings, "user")
    if set_up.may_hold_hooks(own):
        kinds.setdefault(own, manifest.HOOKS)
    files = {os.path.realpath(path): path for path in kinds}  # a file may have several names
    return [TAKES[kinds[path]](settings.home, path, root) for path in files.values()]


def difference(change: Change) -> list[str]:
    """Return the lines of a unified diff, with secrets redacted."""
    before, after = (
        (side or b"").decode("utf-8", "replace").splitlines()
        for side in (change.before, change.after)
    )
    path = change.path
    lines = difflib.unified_diff(before, after, path, path, lineterm="", n=CONTEXT_LINES)
    return [redact(line) for line in lines]


def show_difference(change: Change) -> None:
    """Print the diff of a change, coloured in a terminal."""
    for line in difference(change):
        style = STYLES.get(line[:1], "")
        show.console().print(Text(show.printable(line), style=style), soft_wrap=True)
    if change.after is None:
        show.line(f"{change.path} would be deleted: it held nothing else.")


def _additions(
    settings: Settings, root: str, place: Place | None, file: str, force: bool
) -> list[Change]:
    path = os.path.abspath(file) if file else _settings_file(settings, place or "user")
    enabled = set_up.enabled_plugin(
        [_settings_file(settings, "user"), *_others(settings, path, place)]
    )
    if enabled and not force and os.name == "posix":  # elsewhere the plugin's cannot be started
        raise BadInput(
            "setup",
            f"{enabled} enables the plugin: every hook would run twice.",
            remedy="Uninstall the plugin (memory-fabric uninstall says how), or use --force.",
        )
    if _is_clients_copy(settings, root) and not force:
        raise BadInput(
            "setup",
            f"{root} is the client's own copy of the plugin, which an update replaces.",
            remedy="Run bin/memory-fabric setup in a checkout of your own, or use --force.",
        )
    return [set_up.with_hooks(settings.home, path, root)]


def _server(
    settings: Settings, root: str, place: Place | None, file: str, *, insist: bool
) -> list[Change]:
    """Return the change that adds the server; none if its file is not known, or, without
    `insist`, if another server has its name.
    """
    path = _server_file(settings, place, file)
    try:
        return [set_up.with_server(settings.home, path, root)] if path else []
    except BadInput:
        if insist:
            raise
        return []


def _is_clients_copy(settings: Settings, root: str) -> bool:
    """Return True for the copy of the plugin that the client keeps in its own folder."""
    return root.startswith(os.path.join(settings.config_dir, "plugins", ""))


def _others(settings: Settings, path: str, place: Place | None) -> list[str]:
    """Return the settings files that apply together with the user's."""
    if place in ("project", "local"):
        return [_settings_file(settings, "project"), _settings_file(settings, "local")]
    return [path]


def _removals(settings: Settings, root: str, place: Place | None, file: str) -> list[Change]:
    if not (place or file):
        return removals(settings, root)
    path = os.path.abspath(file) if file else _settings_file(settings, place or "user")
    changes = [set_up.without_hooks(settings.home, path, root)]
    servers = _server_file(settings, place, file)
    if servers:
        changes.append(set_up.without_server(settings.home, servers, root))
    return changes


def _settings_file(settings: Settings, place: Place) -> str:
    if place == "user":
        return os.path.join(settings.config_dir, "settings.json")
    name = "settings.json" if place == "project" else "settings.local.json"
    return os.path.join(_project(settings), ".claude", name)


def _server_file(settings: Settings, place: Place | None, file: str) -> str:
    """Return the file of the servers that belong to these settings; '' where it is not known."""
    if place == "project":
        return os.path.join(_project(settings), ".mcp.json")
    if file or place == "local":
        return ""
    # Without a folder of its own the client keeps it beside the usual one.
    stated = os.environ.get("CLAUDE_CONFIG_DIR")
    folder = settings.config_dir if stated else os.path.dirname(settings.config_dir)
    return os.path.join(folder, ".claude.json")


def _project(settings: Settings) -> str:
    return identity.worktree_of(os.path.abspath(settings.project_dir))


def _remaining_commands(root: str, place: Place | None, changes: list[Change]) -> list[str]:
    """Return the commands that are left to the user, where the server's file is not known."""
    if len(changes) > 1:
        return []
    scope = "local" if place == "local" else "user"
    program = shlex.join(set_up.program_words(root))
    return [f"claude mcp add --scope {scope} memory -- {program} mcp"]


def _apply(
    settings: Settings,
    changes: list[Change],
    commands: list[str],
    steps: Sequence[str],
    *,
    remove: bool,
    yes: bool,
    as_json: bool,
) -> int:
    """Show the changes, ask, and apply them."""
    pending = [change for change in changes if not change.is_none]
    told = [_as_json(change) for change in pending]
    if not as_json:
        for change in pending:
            show_difference(change)
    written = bool(pending) and (yes or not as_json)
    if written:
        question = "Remove it?" if remove else "Write it?"
        if not show.confirmed(question, yes):
            raise typer.Abort
        for change in pending:
            set_up.apply(settings.home, change)
    if as_json:
        show.json_out({"files": told, "written": written, "next": [*commands, *steps]})
    else:
        _say(pending, changes, commands, steps or (NEW_SESSIONS,), remove)
    return 0


def _as_json(change: Change) -> dict[str, Any]:
    return {
        "file": change.path,
        "difference": "\n".join(difference(change)),
        "restores": change.restores,
    }


def _say(
    pending: list[Change],
    changes: list[Change],
    commands: list[str],
    steps: Sequence[str],
    remove: bool,
) -> None:
    for change in pending:
        if change.restores:
            show.line(f"{change.path} is as it was before.")
        elif remove:
            show.line(f"Removed from {change.path}; later changes in it stay.")
        else:
            show.line(f"Written: {change.path}. memory-fabric setup --remove reverts it.")
    if not pending:
        where = ", ".join(change.path for change in changes) or "nothing is set up."
        show.line(f"Nothing to do: {where}")
    elif not remove:
        for step in steps:
            show.line(step)
        if any(_is_shared(change.path) for change in pending):
            show.line(
                "Other users of the repository need memory-fabric at the same path; use "
                "--settings local to set it up only for yourself."
            )
    for command in commands:
        show.line(f"To add the server, run:\n  {command}")


def _is_shared(path: str) -> bool:
    folder, name = os.path.split(path)
    return name == "settings.json" and os.path.exists(os.path.join(folder, os.pardir, ".git"))


def _link(settings: Settings, root: str, folder: str, remove: bool, as_json: bool) -> int:
    place = os.path.abspath(os.path.expanduser(folder)) if folder else ""
    place = place or os.path.join(settings.user_home, SHELL_FOLDER)
    path = os.path.join(place, path_link.NAME)
    if remove:
        path = path if folder else _known_link(settings, path)
        path_link.take(settings.home, path)
        told, is_new = f"Removed: {path}", False
    else:
        path, is_new = path_link.put(settings.home, place, root)
        told = f"Linked: {path}" if is_new else f"Nothing to do: {path}"
    known = os.path.normpath(place) in map(os.path.normpath, search_path(os.environ))
    if as_json:
        show.json_out({"link": path, "removed": remove, "new": is_new, "on_path": known})
        return 0
    show.line(told)
    if not remove and _is_clients_copy(settings, root):
        show.line("It links this version of the plugin: run this again after an update.")
    if not remove and not known:
        line = f'export PATH={shlex.quote(place)}:"$PATH"'
        show.line(
            f"{place} is not on your PATH. Add this line to ~/.profile (or the startup file of "
            f"your shell), and open a new shell:\n  {line}"
        )
    return 0


def _known_link(settings: Settings, path: str) -> str:
    """Return the path of the link that was made, or the default path."""
    links = [m.path for m in manifest.marks(settings.home) if m.kind == manifest.LINK]
    return links[-1] if links and path not in links else path
