"""uninstall: how to take the plugin away, what stays, and, with --purge, nothing."""

from __future__ import annotations

import os
import shutil
from typing import Annotated

import typer

from memory_fabric.cli import here, show
from memory_fabric.config import Settings
from memory_fabric.errors import BadInput
from memory_fabric.store import native
from memory_fabric.store.files import lock_path, read_text
from memory_fabric.store.projects import LOCAL_FOLDER, REGISTRY
from memory_fabric.store.purge import places

COMMANDS = (
    "claude plugin uninstall memory-fabric@memory-fabric",
    "claude plugin marketplace remove memory-fabric",
)
# What a folder must hold to be taken for our home: --purge deletes it as a whole.
HOME_SIGNS = ("projects", "user.db", REGISTRY)


def uninstall(
    purge: Annotated[
        bool, typer.Option("--purge", help="Delete everything that was remembered, everywhere.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> int:
    """Say how to take the plugin away, and what stays.

    With --purge everything that was remembered is deleted, too.
    """
    settings = here.settings()
    folders = _places(settings)
    if purge:
        _purge(settings, folders, yes)
    else:
        show.line("Memory stays where it is, and a new installation finds it again:")
        for path in (settings.home, *folders):
            show.line(f"  {path}")
        show.line("Our lines in MEMORY.md stay, too. --purge deletes all of it.")
    show.line("To take the plugin away:")
    for command in COMMANDS:
        show.line(f"  {command}")
    return 0


def _purge(settings: Settings, folders: list[str], yes: bool) -> None:
    notes = _fenced_notes(settings)
    show.line("This deletes for good:")
    for path in (settings.home, *folders):
        show.line(f"  {path}")
    for note in notes:
        show.line(f"  our lines in {note.path}")
    if not show.confirmed("Delete all of it?", yes):
        raise typer.Abort
    if os.path.exists(settings.home):
        _check_home(settings.home)
    for note in notes:
        native.promote(note, (), lock_path(settings.home, note.path))
        if os.path.exists(note.path) and not os.path.getsize(note.path):
            os.unlink(note.path)  # it held nothing but our lines
    for path in folders:
        shutil.rmtree(path)
        if not os.listdir(os.path.dirname(path)):
            os.rmdir(os.path.dirname(path))  # `.claude` held nothing but our folder
    if os.path.exists(settings.home):
        shutil.rmtree(settings.home)
    show.line("Deleted. Conversations that Claude Code keeps itself are not touched.")


def _check_home(path: str) -> None:
    """Raises BadInput for what does not look like our home: the variable may be wrong."""
    if not any(os.path.exists(os.path.join(path, sign)) for sign in HOME_SIGNS):
        raise BadInput(
            "MEMORY_FABRIC_HOME",
            f"{path} does not look like a home of memory-fabric; it was left alone.",
            remedy="Delete it yourself if it is one.",
        )


def _places(settings: Settings) -> list[str]:
    """The local folders of all known projects that still exist."""
    found = [os.path.join(root, LOCAL_FOLDER) for root in _roots(settings)]
    return [path for path in found if os.path.isdir(path)]


def _fenced_notes(settings: Settings) -> list[native.NativeNotes]:
    """Every MEMORY.md that holds our fence."""
    notes = [native.locate(settings.config_dir, root, True) for root in _roots(settings)]
    unique = {note.path: note for note in notes}
    return [note for note in unique.values() if native.parse(read_text(note.path) or "").fenced]


def _roots(settings: Settings) -> list[str]:
    """The folders of all known projects."""
    return sorted({root for _, root in places.roots(settings.home)})
