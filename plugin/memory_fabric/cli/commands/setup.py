"""setup: our hooks where plugins cannot be installed, our server, and the command on the PATH."""

from __future__ import annotations

import difflib
import os
import shlex
from typing import Annotated, Any, Literal

import typer
from rich.text import Text

from memory_fabric.cli import environment, show
from memory_fabric.clients.claude_code import manifest, path_link, set_up
from memory_fabric.clients.claude_code.set_up import Change
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
}
Place = Literal["user", "project", "local"]


def setup(
    place: Annotated[
        Place | None,
        typer.Option(
            "--settings",
            help="Whose settings: `user` (settings.json in the client's folder; the default), "
            "`project` (`.claude/settings.json`, for all who have the repository) or `local` "
            "(`.claude/settings.local.json`, yours in this project).",
        ),
    ] = None,
    file: Annotated[
        str, typer.Option("--file", metavar="PATH", help="Another settings file instead.")
    ] = "",
    mcp: Annotated[
        bool,
        typer.Option(
            "--mcp",
            help="Also the MCP server: with `--settings project` in `.mcp.json`; else the command "
            "that adds it is shown, since that file is the client's own.",
        ),
    ] = False,
    shell: Annotated[
        bool,
        typer.Option(
            "--shell",
            help="Instead link `bin/memory-fabric` into a folder of your PATH: `~/.local/bin`, "
            "which is made if it is missing.",
        ),
    ] = False,
    folder: Annotated[
        str, typer.Option("--bin", metavar="FOLDER", help="With `--shell`: another folder.")
    ] = "",
    remove: Annotated[
        bool,
        typer.Option(
            "--remove",
            help="Take out what was set up: without `--settings` and `--file` from every file; "
            "with `--shell` the link.",
        ),
    ] = False,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Also where the installed plugin runs the same hooks, or from the plugin's copy.",
        ),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="`files` with the difference of each, `written`, `next` as JSON; it asks nothing, "
            "and writes only with `--yes`.",
        ),
    ] = False,
) -> int:
    """Set up the hooks in a settings file, where plugins cannot be installed.

    The same hooks as the plugin's, with the absolute path of their launcher. It shows the
    difference, asks, and writes it in one step; all else in the file stays as it is, byte for byte.
    What cannot be read (comments are not JSON) is refused with its line, and nothing is changed.
    Once more, there is nothing to do.

    `--remove` gives a file back byte for byte, if nobody changed it since, and else takes out our
    hooks only. Where the plugin is enabled, every hook would run twice: exit code 2. So it is in
    the copy that the client keeps of the plugin, since an update replaces that.

        bin/memory-fabric setup
        bin/memory-fabric setup --settings project --mcp
        bin/memory-fabric setup --shell
        bin/memory-fabric setup --remove
    """
    settings = environment.settings()
    root = environment.plugin_root() or settings.plugin_root
    if place and file:
        raise BadInput("--file", "Both --settings and --file: say one of them.")
    if folder and not shell:
        raise BadInput("--bin", "--bin belongs to --shell.", remedy="Say setup --shell --bin ....")
    if shell:
        if place or file or mcp:
            raise BadInput("--shell", "--shell only links the command.", remedy="Say it alone.")
        return _link(settings, root, folder, remove, as_json)
    if remove:
        changes = _removals(settings, root, place, file, mcp)
    else:
        changes = _additions(settings, root, place, file, mcp, force)
    following = _following(root, place, file, mcp and not remove)
    return _settle(settings, changes, following, remove=remove, yes=yes, as_json=as_json)


def removals(settings: Settings, root: str) -> list[Change]:
    """What would take everything out that setup wrote into files, and hooks of the user's own."""
    kinds = {m.path: m.kind for m in manifest.marks(settings.home) if m.kind in TAKES}
    own = _settings_file(settings, "user")
    if set_up.may_hold_hooks(own):
        kinds.setdefault(own, manifest.HOOKS)
    files = {os.path.realpath(path): path for path in kinds}  # one may have several names
    return [TAKES[kinds[path]](settings.home, path, root) for path in files.values()]


def difference(change: Change) -> list[str]:
    """The lines of a unified difference; keys and passwords in them are not shown."""
    before, after = (
        (side or b"").decode("utf-8", "replace").splitlines()
        for side in (change.before, change.after)
    )
    path = change.path
    lines = difflib.unified_diff(before, after, path, path, lineterm="", n=CONTEXT_LINES)
    return [redact(line) for line in lines]


def show_difference(change: Change) -> None:
    """The difference, coloured in a terminal."""
    for line in difference(change):
        style = STYLES.get(line[:1], "")
        show.console().print(Text(show.printable(line), style=style), soft_wrap=True)
    if change.after is None:
        show.line(f"{change.path} would go: it held nothing else.")


def _additions(
    settings: Settings, root: str, place: Place | None, file: str, mcp: bool, force: bool
) -> list[Change]:
    path = os.path.abspath(file) if file else _settings_file(settings, place or "user")
    enabled = set_up.enabled_plugin(
        [_settings_file(settings, "user"), *_others(settings, path, place)]
    )
    if enabled and not force:
        raise BadInput(
            "setup",
            f"{enabled} enables the plugin: every hook would run twice.",
            remedy="Uninstall the plugin (memory-fabric uninstall says how), or say --force.",
        )
    if _is_clients_copy(settings, root) and not force:
        raise BadInput(
            "setup",
            f"{root} is the client's own copy of the plugin, which an update replaces.",
            remedy="Run bin/memory-fabric setup in a checkout of your own, or say --force.",
        )
    changes = [set_up.with_hooks(settings.home, path, root)]
    if mcp and place == "project":
        changes.append(set_up.with_server(settings.home, _server_file(settings), root))
    return changes


def _is_clients_copy(settings: Settings, root: str) -> bool:
    """Whether the client keeps this copy, in a folder that is named after its version."""
    return root.startswith(os.path.join(settings.config_dir, "plugins", ""))


def _others(settings: Settings, path: str, place: Place | None) -> list[str]:
    """The settings that count beside the user's where these are written."""
    if place in ("project", "local"):
        return [_settings_file(settings, "project"), _settings_file(settings, "local")]
    return [path]


def _removals(
    settings: Settings, root: str, place: Place | None, file: str, mcp: bool
) -> list[Change]:
    if not (place or file):
        return removals(settings, root)
    path = os.path.abspath(file) if file else _settings_file(settings, place or "user")
    changes = [set_up.without_hooks(settings.home, path, root)]
    if mcp and place == "project":
        changes.append(set_up.without_server(settings.home, _server_file(settings), root))
    return changes


def _settings_file(settings: Settings, place: Place) -> str:
    if place == "user":
        return os.path.join(settings.config_dir, "settings.json")
    name = "settings.json" if place == "project" else "settings.local.json"
    return os.path.join(_project(settings), ".claude", name)


def _server_file(settings: Settings) -> str:
    return os.path.join(_project(settings), ".mcp.json")


def _project(settings: Settings) -> str:
    return identity.worktree_of(os.path.abspath(settings.project_dir))


def _following(root: str, place: Place | None, file: str, mcp: bool) -> list[str]:
    """What is left to the user to do."""
    if not mcp or place == "project":
        return []
    scope = "local" if place == "local" else "user"
    program = shlex.quote(os.path.join(root, "bin", "memory-fabric"))
    return [f"claude mcp add --scope {scope} memory -- {program} mcp"]


def _settle(
    settings: Settings,
    changes: list[Change],
    following: list[str],
    *,
    remove: bool,
    yes: bool,
    as_json: bool,
) -> int:
    """Show what would change, ask, and do it."""
    open_ = [change for change in changes if not change.is_none]
    told = [_as_json(change) for change in open_]
    if not as_json:
        for change in open_:
            show_difference(change)
    written = bool(open_) and (yes or not as_json)
    if written:
        question = "Take it out?" if remove else "Write it?"
        if not show.confirmed(question, yes):
            raise typer.Abort
        for change in open_:
            set_up.apply(settings.home, change)
    if as_json:
        show.json_out({"files": told, "written": written, "next": following})
    else:
        _say(open_, changes, following, remove)
    return 0


def _as_json(change: Change) -> dict[str, Any]:
    return {
        "file": change.path,
        "difference": "\n".join(difference(change)),
        "restores": change.restores,
    }


def _say(open_: list[Change], changes: list[Change], following: list[str], remove: bool) -> None:
    for change in open_:
        if change.restores:
            show.line(f"{change.path} is as it was before.")
        elif remove:
            show.line(f"Taken out of {change.path}; what was changed there since stays.")
        else:
            show.line(f"Written: {change.path}. memory-fabric setup --remove takes it out again.")
    if not open_:
        where = ", ".join(change.path for change in changes) or "nothing is set up."
        show.line(f"There is nothing to do: {where}")
    elif not remove:
        show.line("Sessions that start from now on have the hooks.")
        if any(_is_shared(change.path) for change in open_):
            show.line(
                "Whoever else has the repository needs memory-fabric at the same path; "
                "--settings local is for you alone."
            )
    for command in following:
        show.line(f"The server, by the client's own command:\n  {command}")


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
        told, is_new = f"Taken out: {path}", False
    else:
        path, is_new = path_link.put(settings.home, place, root)
        told = f"Linked: {path}" if is_new else f"There is nothing to do: {path}"
    known = os.path.normpath(place) in map(os.path.normpath, search_path(os.environ))
    if as_json:
        show.json_out({"link": path, "removed": remove, "new": is_new, "on_path": known})
        return 0
    show.line(told)
    if not remove and _is_clients_copy(settings, root):
        show.line("It leads to this version of the plugin: after an update, say it again.")
    if not remove and not known:
        line = f'export PATH={shlex.quote(place)}:"$PATH"'
        show.line(
            f"{place} is not on your PATH. Put this line into ~/.profile (or the file that your "
            f"shell reads at its start), and open a new shell:\n  {line}"
        )
    return 0


def _known_link(settings: Settings, path: str) -> str:
    """The link that was made, wherever it lies; else the usual place."""
    links = [m.path for m in manifest.marks(settings.home) if m.kind == manifest.LINK]
    return links[-1] if links and path not in links else path
