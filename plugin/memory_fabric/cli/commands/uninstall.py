"""uninstall: revert setup, and delete the memory on request."""

import sys
from dataclasses import dataclass

import typer

from memory_fabric.cli import environment, show
from memory_fabric.cli.commands import setup
from memory_fabric.cli.options import flag
from memory_fabric.clients import manifest, path_link, set_up
from memory_fabric.clients import uninstall as uninstalling
from memory_fabric.clients.set_up import Change
from memory_fabric.clients.uninstall import Belongings
from memory_fabric.config import Settings
from memory_fabric.errors import FabricError

COMMANDS = (
    "claude plugin uninstall memory-fabric@memory-fabric",
    "claude plugin marketplace remove memory-fabric",
)
SERVER_COMMAND = "claude mcp remove memory"
NOT_TOUCHED = "Transcripts of Claude Code are not touched."


@dataclass(frozen=True, slots=True)
class Plan:
    """The changes of client files, the links to remove, and the memory to delete and to keep."""

    changes: tuple[Change, ...]
    links: tuple[str, ...]
    gone: Belongings
    kept: Belongings

    @property
    def deletes(self) -> bool:
        """True if something is deleted that cannot be restored."""
        return bool(self.gone.home or self.gone.notes or self.gone.folders)


def uninstall(
    purge: bool = flag(
        "--purge",
        "Also delete the memory: the home, the lines of memory-fabric in every MEMORY.md, and the "
        "local folders of all projects, except what is kept.",
    ),
    keep_memory: bool = flag("--keep-memory", "With `--purge`: keep the home."),
    keep_notes: bool = flag("--keep-notes", "With `--purge`: keep the lines in MEMORY.md."),
    keep_folders: bool = flag(
        "--keep-folders", "With `--purge`: keep the local folders of projects."
    ),
    yes: bool = flag("--yes", "Do not ask."),
    as_json: bool = flag(
        "--json",
        "Answer in JSON: `restored`, `deleted`, `kept`, `stays` (with the reason), `next` and "
        "`done`; it does not ask, and changes something only with `--yes`.",
    ),
) -> int:
    """Revert setup, delete the memory if asked, show the last steps.

    Files that `memory-fabric setup` wrote are restored, byte for byte if they were not changed
    since. A terminal asks what to keep of the memory; otherwise all of it stays without `--purge`.
    From MEMORY.md and the folders of projects, only what memory-fabric wrote is removed; files
    that git tracks stay, since others share them.

        memory-fabric uninstall
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
    plan = _plan(settings, mine, *keeps)
    if plan.gone.home:
        for inner in (settings.user_home, settings.config_dir, settings.project_dir):
            uninstalling.check_home(plan.gone.home, inner)
    has_work = bool(plan.changes or plan.links or plan.deletes)
    if not as_json:
        _preview(plan)
    done = has_work and (yes or not as_json)
    question = "Delete all of it?" if plan.deletes else "Remove it?"
    if done:
        show.confirm(question, yes)
    stays = _carry_out(settings, plan) if done else []
    if as_json:
        return show.json_out(_as_json(plan, stays, done or not has_work))
    _say(plan, stays)
    return 0


def _keeps(belongings: object, question: str) -> bool:
    """Ask whether to keep something, unless there is nothing."""
    return not belongings or typer.confirm(question, default=True)


def _plan(settings: Settings, mine: Belongings, memory: bool, notes: bool, folders: bool) -> Plan:
    changes = setup.removals(settings, environment.plugin_root() or settings.plugin_root)
    marks = manifest.marks(settings.home)
    gone = Belongings(
        "" if memory else mine.home, () if notes else mine.notes, () if folders else mine.folders
    )
    kept = Belongings(
        mine.home if memory else "", mine.notes if notes else (), mine.folders if folders else ()
    )
    return Plan(
        tuple(change for change in changes if not change.is_none),
        tuple(mark.path for mark in marks if mark.kind == manifest.LINK),
        gone,
        kept,
    )


def _preview(plan: Plan) -> None:
    for change in plan.changes:
        setup.show_difference(change)
    show.lines(f"The link {path} will be removed." for path in plan.links)
    if plan.deletes:
        show.line("This deletes permanently:")
        show.lines(f"  {line}" for line in _listed(plan.gone))


def _carry_out(settings: Settings, plan: Plan) -> list[str]:
    """Apply the plan, the home last; return why anything could not be removed."""
    stays: list[str] = []
    for change in plan.changes:
        set_up.apply(settings.home, change)
    for path in plan.links:
        try:
            path_link.take(settings.home, path)
        except FabricError as error:
            stays.append(str(error))
    for note in plan.gone.notes:
        uninstalling.remove_lines(settings.home, note)
    for folder in plan.gone.folders:
        stays += uninstalling.remove_folder(folder)
    if plan.gone.home:
        uninstalling.remove_home(plan.gone.home)
    return stays


def _listed(of: Belongings) -> list[str]:
    lines = [f"lines in {note.path}" for note in of.notes]
    return [line for line in (of.home, *of.folders, *lines) if line]


def _as_json(plan: Plan, stays: list[str], done: bool) -> dict[str, object]:
    return {
        "restored": [*(change.path for change in plan.changes), *plan.links],
        "deleted": _listed(plan.gone),
        "kept": _listed(plan.kept),
        "stays": stays,
        "next": [*COMMANDS, SERVER_COMMAND],
        "done": done,
    }


def _say(plan: Plan, stays: list[str]) -> None:
    for change in plan.changes:
        how = "is restored" if change.restores else "has no hooks of memory-fabric any more"
        show.line(f"{change.path} {how}.")
    if plan.deletes:
        show.line(f"Deleted. {NOT_TOUCHED}")
    show.warn_all(stays)
    kept = _listed(plan.kept)
    if kept:
        show.line("The memory stays, and a new installation finds it again:")
        show.lines(f"  {line}" for line in kept)
        show.line("memory-fabric uninstall --purge deletes all of it.")
    show.line("To uninstall the plugin:")
    show.lines(f"  {command}" for command in COMMANDS)
    show.line(f"To remove a server that you added yourself: {SERVER_COMMAND}")
