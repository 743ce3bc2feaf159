"""Recognition of a source by its content, and the table of the readers."""

import json
import os
from collections.abc import Callable
from typing import NamedTuple

from memory_fabric.errors import BadInput, NotFound
from memory_fabric.importing import (
    auto_memory,
    basic_memory,
    claude_mem,
    codex_memories,
    instructions,
    mem0,
)
from memory_fabric.importing.items import Here, Reading
from memory_fabric.store import files

Read = Callable[[str, Here], Reading]


HEAD_BYTES = 64 << 10
# One of these is in each graph file, and in a journal (decisions.jsonl, operations.jsonl).
GRAPH_SIGNS = (
    *(f'"{name}"'.encode() for name in ("entityType", "relationType", "entities", "relations")),
    b'"what"',
    b'"provenance"',
)
MARKDOWN = (".md", ".markdown", ".mdc", ".txt")


class Source(NamedTuple):
    """A kind of source: its key in evidence, its name for people, and its reader."""

    key: str
    name: str
    read: Read


CLAUDE_MEM = Source("claude-mem", "claude-mem's database", claude_mem.read)
MEM0 = Source("mem0", "an export of mem0", mem0.read)
BASIC_MEMORY = Source("basic-memory", "notes of basic-memory", basic_memory.read)
AUTO_MEMORY = Source("auto memory", "Claude Code's auto memory", auto_memory.read)
CODEX = Source("Codex memories", "Codex's memories", codex_memories.read)
INSTRUCTIONS = Source("instructions", "instructions for assistants", instructions.read)

SOURCES = (CLAUDE_MEM, MEM0, BASIC_MEMORY, AUTO_MEMORY, CODEX, INSTRUCTIONS)


def recognise(path: str) -> tuple[Source | None, str]:
    """Return the source at a path, None for a graph file of the reference server, and the path to
    read. Raises NotFound, BadInput, OSError.
    """
    if not os.path.lexists(path):
        raise NotFound(path, f"The file {path} does not exist.", remedy="Check its path.")
    if not os.path.exists(path):
        raise BadInput("PATH", f"{path} is a link to nothing.", remedy="Name the file itself.")
    if not os.access(path, os.R_OK):
        raise BadInput("PATH", f"{path} cannot be read.", remedy="Check its permissions.")
    return _folder(path) if os.path.isdir(path) else _file(path)


def _folder(path: str) -> tuple[Source | None, str]:
    database = os.path.join(path, claude_mem.FILE)
    if os.path.isfile(database):
        return CLAUDE_MEM, database
    for source, is_it in (
        (CODEX, codex_memories.is_folder),
        (AUTO_MEMORY, auto_memory.is_folder),
        (INSTRUCTIONS, lambda path: bool(instructions.files_of(path))),
        (BASIC_MEMORY, basic_memory.is_folder),
    ):
        if is_it(path):
            return source, path
    raise BadInput(
        "PATH",
        f"{path} is a folder without memories of a known form.",
        remedy="docs/import.md lists the forms; name a file in it.",
    )


def _file(path: str) -> tuple[Source | None, str]:
    try:
        with files.open_regular(path) as stream:
            head = stream.read(HEAD_BYTES)
    except files.NotRegular as error:
        raise BadInput(
            "PATH", f"{path} is not a regular file.", remedy="Name a file or a folder."
        ) from error
    if claude_mem.is_database(head):
        return CLAUDE_MEM, path
    text = head.decode("utf-8", "replace").removeprefix("\ufeff")
    if path.lower().endswith(MARKDOWN) or instructions.is_instructions(path):
        return _page(path, text), path
    return (MEM0 if _is_mem0(path, text) else None), path


def expect_graph(path: str, called: str) -> None:
    """Raise BadInput for a file that does not look like a graph file of the reference server."""
    with files.open_regular(path) as stream:
        head = stream.read(HEAD_BYTES)
    told, remedy = "is no known form of memories", "docs/import.md lists the forms."
    if b"\0" in head:
        told, remedy = "is no text in UTF-8", "Export it as text; docs/import.md lists the forms."
    elif not head.strip() or any(sign in head for sign in GRAPH_SIGNS):
        return
    raise BadInput("PATH", f"{called} {told}.", remedy=f"{remedy} Nothing was imported.")


def _page(path: str, text: str) -> Source:
    name = os.path.basename(path)
    if auto_memory.is_topic(text):
        return AUTO_MEMORY
    if codex_memories.is_main(text):
        return CODEX
    if instructions.is_instructions(path):
        return INSTRUCTIONS
    if name == auto_memory.MAIN and auto_memory.is_folder(os.path.dirname(path)):
        return AUTO_MEMORY
    if basic_memory.is_note(text):
        return BASIC_MEMORY
    raise BadInput(
        "PATH",
        f"{path} is Markdown of no known form.",
        remedy="docs/import.md lists the forms; name it CLAUDE.md or AGENTS.md if it holds rules.",
    )


def _is_mem0(path: str, head: str) -> bool:
    """Return True for one JSON value that holds memories; lines of the graph hold entities."""
    bare = head.lstrip()
    if not bare.startswith(("[", "{")):
        return False
    try:
        return mem0.memories(json.loads(head)) is not None
    except (ValueError, RecursionError):
        pass
    # Longer than its beginning, or torn: decided by the first names in it.
    start = bare[:4096]
    if '"entityType"' in start or '"entities"' in start or '"type":"relation"' in start:
        return False
    return bare.startswith("[") or any(f'"{name}"' in start for name in mem0.LISTS)
