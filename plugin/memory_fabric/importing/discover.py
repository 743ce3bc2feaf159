"""Sources to import on this machine for a project; nothing is changed."""

import os
from typing import NamedTuple

from memory_fabric.config import Settings
from memory_fabric.importing import auto_memory, claude_mem, codex_memories, instructions
from memory_fabric.importing.items import Here
from memory_fabric.importing.recognise import (
    AUTO_MEMORY,
    CLAUDE_MEM,
    CODEX,
    INSTRUCTIONS,
    Source,
)
from memory_fabric.store.tiers import memory_md

# Where basic-memory keeps its notes by default.
BASIC_MEMORY = "basic-memory"


class Place(NamedTuple):
    """A source that exists on this machine, and the path to import."""

    source: Source
    path: str


def find(settings: Settings, here: Here) -> list[Place]:
    """Return the sources of this project and user whose places are known."""
    places = []
    database = os.path.join(here.user_home, ".claude-mem", claude_mem.FILE)
    if os.path.isfile(database):
        places.append(Place(CLAUDE_MEM, database))
    for root in here.roots[:1]:
        places += [Place(INSTRUCTIONS, path) for path in instructions.files_of(root)]
        memory = memory_md.locate(settings.config_dir, root, settings.memory_md_off)
        folder = os.path.dirname(memory.path)
        if auto_memory.is_folder(folder):
            places.append(Place(AUTO_MEMORY, folder))
    own = os.path.join(settings.config_dir, "CLAUDE.md")
    if os.path.isfile(own):
        places.append(Place(INSTRUCTIONS, own))
    memories = os.path.join(here.codex_home, "memories")
    if codex_memories.is_folder(memories):
        places.append(Place(CODEX, memories))
    notes = os.path.join(here.user_home, BASIC_MEMORY)
    if os.path.isdir(notes):
        from memory_fabric.importing.recognise import BASIC_MEMORY as NOTES

        places.append(Place(NOTES, notes))
    return places
