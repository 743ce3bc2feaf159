"""Command uninstall: revert setup and, if asked, delete all that this program has stored."""

import os
import shutil
import sys
from collections.abc import Sequence
from typing import NamedTuple

import typer

from memory_fabric.cli import environment, show
from memory_fabric.cli.commands.setup import removals, show_difference
from memory_fabric.cli.options import flag
from memory_fabric.clients import set_up
from memory_fabric.clients.set_up import Change
from memory_fabric.config import Settings
from memory_fabric.errors import BadInput, FabricError
from memory_fabric.models import Project
from memory_fabric.sharing.git import location
from memory_fabric.store import journal
from memory_fabric.store.files import lock_path, read_text
from memory_fabric.store.journal import BAD, CLAIMED, DECISIONS, QUEUE, REFUSED
from memory_fabric.store.projects import own_lines
from memory_fabric.store.projects.identity import LOCAL_FOLDER
from memory_fabric.store.projects.registry_file import REGISTRY, project_ids
from memory_fabric.store.tiers import file_locations, memory_md

# The home is deleted as a whole, but only if it contains one of these files. A folder `projects` is
# not sufficient, because other programs' folders may also contain one.
HOME_SIGNS = ("user.db", REGISTRY, "setup.json")
# Our files in a project's folder, except those for git; endings of their lock and temporary files.
OUR_NAMES, BESIDE = (DECISIONS, own_lines.NAME, QUEUE, CLAIMED, BAD, REFUSED), (".lock", ".tmp")
# Our files for git; a file is removed only if its content is exactly one of these texts.
OUR_TEXTS = {
    location.IGNORE: (location.HIDDEN, location.VISIBLE),
    location.ATTRIBUTES: (location.UNION_MERGE,),
}
UNINSTALL_COMMANDS = (
    "claude plugin uninstall memory-fabric@memory-fabric",
    "claude plugin marketplace remove memory-fabric",
)
SERVER_COMMAND = "claude mcp remove memory"


class Belongings(NamedTuple):
    """The stored data: home, MEMORY.md files with lines of memory, local folders in projects."""

    home: str
    notes: tuple[memory_md.MemoryFile, ...]
    folders: tuple[str, ...]

    def only(self, home: bool, notes: bool, folders: bool) -> "Belongings":
        """Return the parts whose argument is True; other parts are empty."""
        own_notes, own_folders = self.notes if notes else (), self.folders if folders else ()
        return Belongings(self.home if home else "", own_notes, own_folders)

    @property
    def lines(self) -> list[str]:
        """A line of text for each path that can be removed."""
        notes = [f"lines in {note.path}" for note in self.notes]
        return [line for line in (self.home, *self.folders, *notes) if line]


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
    since. With `--purge`, the memory is deleted, too. Without `--purge`, you are asked in a
    terminal which parts to keep; with `--yes` or without a terminal, all stay. Only what
    memory-fabric wrote is removed; files that git tracks stay, since others share them.

        memory-fabric uninstall --purge --keep-notes --yes
    """
    settings = environment.settings()
    mine = _belongings(settings)
    keeps = [not purge or keep for keep in (keep_memory, keep_notes, keep_folders)]
    if not (purge or yes or as_json) and sys.stdin.isatty():
        texts = (
            f"the memory itself ({mine.home})",
            f"the lines in MEMORY.md ({len(mine.notes)})",
            f"the records in folders of projects ({len(mine.folders)})",
        )
        keeps = [
            not part or typer.confirm(f"Keep {text}?", default=True)
            for part, text in zip(mine, texts, strict=True)
        ]
    changes = removals(settings, environment.plugin_root() or settings.plugin_root)
    changes = [change for change in changes if not change.is_none]
    links = [m.path for m in set_up.marks(settings.home) if m.kind == set_up.LINK]
    kept, gone = mine.only(*keeps), mine.only(*(not keep for keep in keeps))
    for inner in (settings.user_home, settings.config_dir, settings.project_dir):
        if gone.home:
            _check_home(gone.home, inner)
    has_work = bool(changes or links or any(gone))
    if not as_json:
        for change in changes:
            show_difference(change)
        show.lines(f"The link {path} will be removed." for path in links)
        if any(gone):
            show.lines(("This deletes permanently:", *(f"  {line}" for line in gone.lines)))
    carries_out = has_work and (yes or not as_json)
    if carries_out:
        show.confirm("Delete all of it?" if any(gone) else "Remove it?", yes)
    problems = _carry_out(settings, changes, links, gone) if carries_out else []
    if as_json:
        restored = [*(change.path for change in changes), *links]
        fields = {"restored": restored, "deleted": gone.lines, "kept": kept.lines}
        fields |= {"stays": problems, "next": [*UNINSTALL_COMMANDS, SERVER_COMMAND]}
        return show.json_out(fields | {"done": carries_out or not has_work})
    for change in changes:
        how = "is restored" if change.restores else "has no hooks of memory-fabric any more"
        show.line(f"{change.path} {how}.")
    if any(gone):
        show.line("Deleted. Transcripts of Claude Code are not touched.")
    show.warn_all(problems)
    if any(kept):
        show.line("The memory stays, and a new installation finds it again:")
        show.lines(f"  {line}" for line in kept.lines)
        show.line(f"{environment.program(settings)} uninstall --purge deletes all of it.")
    show.lines(("To uninstall the plugin:", *(f"  {line}" for line in UNINSTALL_COMMANDS)))
    show.line(f"To remove a server that you added yourself: {SERVER_COMMAND}")
    return 0


def _belongings(settings: Settings) -> Belongings:
    """Return what memory-fabric has stored; the field `home` is '' if that folder is missing."""
    home, roots = settings.home, sorted({root for _, root in file_locations.roots(settings.home)})
    folders = (os.path.join(root, LOCAL_FOLDER) for root in roots)
    paths = [memory_md.locate(settings.config_dir, root).path for root in roots]
    paths += [path for id_ in project_ids(home) for path in file_locations.written(home, id_)]
    notes = map(memory_md.MemoryFile, dict.fromkeys(paths))
    return Belongings(
        home if os.path.exists(home) else "",
        tuple(n for n in notes if memory_md.parse(read_text(n.path) or "").fenced),
        tuple(path for path in folders if os.path.isdir(path) and not os.path.islink(path)),
    )


def _check_home(path: str, within: str) -> None:
    """Raise BadInput if `path` is not a home of memory-fabric, or contains the folder `within`."""
    inner, real = os.path.realpath(within), os.path.realpath(path)
    if within and os.path.join(inner, "").startswith(os.path.join(real, "")):
        text = f"{path} holds {within}, not only memory; nothing was changed."
        remedy = "Use --keep-memory, and delete memory's files yourself."
        raise BadInput("MEMORY_FABRIC_HOME", text, remedy=remedy)
    if not any(os.path.exists(os.path.join(path, sign)) for sign in HOME_SIGNS):
        text = f"{path} does not look like a home of memory-fabric; it was left alone."
        raise BadInput("MEMORY_FABRIC_HOME", text, remedy="Delete it yourself if it is one.")


def _carry_out(
    settings: Settings, changes: Sequence[Change], links: Sequence[str], gone: Belongings
) -> list[str]:
    """Apply `changes`; delete the links and all in `gone`, the home last. Return error messages."""
    problems: list[str] = []
    for change in changes:
        set_up.apply(settings.home, change)
    for path in links:
        try:
            set_up.without_link(settings.home, path)
        except FabricError as error:
            problems.append(str(error))
    for note in gone.notes:
        memory_md.promote(note, (), lock_path(settings.home, note.path))
        if os.path.exists(note.path) and not os.path.getsize(note.path):
            os.unlink(note.path)
    for folder in gone.folders:
        problems += _remove_folder(folder)
    if gone.home:
        shutil.rmtree(os.path.realpath(gone.home))
        if os.path.islink(gone.home):
            os.unlink(gone.home)
    return problems


def _remove_folder(folder: str) -> list[str]:
    root = os.path.dirname(os.path.dirname(folder))
    is_tracked = location.is_tracked(Project("", os.path.basename(root), root, folder, ()))
    stays: list[str] = []
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        is_named = name in OUR_NAMES or journal.is_waiting_name(name)
        is_named |= name.startswith((*OUR_NAMES, journal.WAITING)) and name.endswith(BESIDE)
        text = (read_text(path) or "").replace("\r\n", "\n") if name in OUR_TEXTS else ""
        if is_tracked and name in location.PASSED:
            stays.append(f"{path} is tracked by git; git rm removes it for all who share it.")
        elif not (is_named or text in OUR_TEXTS.get(name, ())):
            stays.append(f"{path} was not written by memory-fabric.")
        elif os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        else:
            os.unlink(path)
    for empty in (folder, os.path.dirname(folder)):
        if not os.listdir(empty):
            os.rmdir(empty)
    return stays
