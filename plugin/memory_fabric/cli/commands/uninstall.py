"""uninstall: take back what was set up, ask what of the memory shall stay, say the rest."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Annotated

import typer

from memory_fabric.cli import environment, show
from memory_fabric.cli.commands import setup
from memory_fabric.clients.claude_code import manifest, path_link, set_up
from memory_fabric.clients.claude_code import uninstall as leaving
from memory_fabric.clients.claude_code.set_up import Change
from memory_fabric.clients.claude_code.uninstall import Belongings
from memory_fabric.config import Settings
from memory_fabric.errors import FabricError

COMMANDS = (
    "claude plugin uninstall memory-fabric@memory-fabric",
    "claude plugin marketplace remove memory-fabric",
)
SERVER_COMMAND = "claude mcp remove memory"
NOT_TOUCHED = "Conversations that Claude Code keeps itself are not touched."


@dataclass(frozen=True, slots=True)
class Plan:
    """What would go: changes of the client's files, links, and of the memory what is not kept."""

    changes: tuple[Change, ...]
    links: tuple[str, ...]
    gone: Belongings
    kept: Belongings

    @property
    def deletes(self) -> bool:
        """Whether something goes that cannot be brought back."""
        return bool(self.gone.home or self.gone.notes or self.gone.folders)


def uninstall(
    purge: Annotated[
        bool,
        typer.Option(
            "--purge",
            help="Delete everything that was remembered, too: the home, our lines in every "
            "MEMORY.md, and the local folders of all projects, except for what is kept.",
        ),
    ] = False,
    keep_memory: Annotated[
        bool, typer.Option("--keep-memory", help="With `--purge`: keep the home.")
    ] = False,
    keep_notes: Annotated[
        bool, typer.Option("--keep-notes", help="With `--purge`: keep our lines in MEMORY.md.")
    ] = False,
    keep_folders: Annotated[
        bool,
        typer.Option("--keep-folders", help="With `--purge`: keep the local folders of projects."),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="`restored`, `deleted`, `kept`, `stays` (with the reason), `next` and `done` as "
            "JSON; it asks nothing, and changes something only with `--yes`.",
        ),
    ] = False,
) -> int:
    """Take back what was set up, delete what you do not keep, say how to take the plugin away.

    Files that `memory-fabric setup` wrote become what they were, byte for byte if nobody changed
    them since. In a terminal it asks what of the memory to keep; elsewhere all of it stays without
    `--purge`. Of a MEMORY.md only our lines go, of a project's folder only what we wrote; what git
    tracks there stays, since it belongs to all who share it.

        memory-fabric uninstall
        memory-fabric uninstall --purge --keep-notes --yes
    """
    settings = environment.settings()
    mine = leaving.belongings(settings)
    keeps = (not purge or keep_memory, not purge or keep_notes, not purge or keep_folders)
    if not (purge or yes or as_json) and sys.stdin.isatty():
        keeps = _asked(mine)
    plan = _plan(settings, mine, *keeps)
    if plan.gone.home:
        for inner in (settings.user_home, settings.config_dir, settings.project_dir):
            leaving.check_home(plan.gone.home, inner)
    work = bool(plan.changes or plan.links or plan.deletes)
    if not as_json:
        _preview(plan)
    done = work and (yes or not as_json)
    if done and not show.confirmed(_question(plan), yes):
        raise typer.Abort
    stays = _carry_out(settings, plan) if done else []
    if as_json:
        show.json_out(_as_json(plan, stays, done or not work))
    else:
        _say(plan, stays)
    return 0


def _asked(mine: Belongings) -> tuple[bool, bool, bool]:
    """What the person keeps: the home, the lines in MEMORY.md, the folders of projects."""
    return (
        not mine.home or typer.confirm(f"Keep the memory itself ({mine.home})?", default=True),
        not mine.notes
        or typer.confirm(f"Keep our lines in MEMORY.md ({len(mine.notes)})?", default=True),
        not mine.folders
        or typer.confirm(
            f"Keep the records in folders of projects ({len(mine.folders)})?", default=True
        ),
    )


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
    for path in plan.links:
        show.line(f"The link {path} goes.")
    if plan.deletes:
        show.line("This deletes for good:")
        for line in _listed(plan.gone):
            show.line(f"  {line}")


def _question(plan: Plan) -> str:
    return "Delete all of it?" if plan.deletes else "Take it out?"


def _carry_out(settings: Settings, plan: Plan) -> list[str]:
    """Do it; what stays although it was to go, each with its reason. The home goes last."""
    stays: list[str] = []
    for change in plan.changes:
        set_up.apply(settings.home, change)
    for path in plan.links:
        try:
            path_link.take(settings.home, path)
        except FabricError as error:
            stays.append(str(error))
    for note in plan.gone.notes:
        leaving.take_lines(settings.home, note)
    for folder in plan.gone.folders:
        stays += leaving.take_folder(folder)
    if plan.gone.home:
        leaving.take_home(plan.gone.home)
    return stays


def _listed(of: Belongings) -> list[str]:
    lines = [f"our lines in {note.path}" for note in of.notes]
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
        how = "is as it was before" if change.restores else "holds nothing of ours any longer"
        show.line(f"{change.path} {how}.")
    if plan.deletes:
        show.line(f"Deleted. {NOT_TOUCHED}")
    for reason in stays:
        show.complain(reason)
    kept = _listed(plan.kept)
    if kept:
        show.line("Memory stays where it is, and a new installation finds it again:")
        for line in kept:
            show.line(f"  {line}")
        show.line("memory-fabric uninstall --purge deletes all of it.")
    show.line("To take the plugin away:")
    for command in COMMANDS:
        show.line(f"  {command}")
    show.line(f"A server that you added yourself: {SERVER_COMMAND}")
