"""Table of the sources of import: how to recognise and read each, and its usual location."""

import os
from collections.abc import Callable, Iterator
from typing import NamedTuple

from memory_fabric.config import Settings
from memory_fabric.errors import BadInput, NotFound
from memory_fabric.importing import exports, instructions, notes
from memory_fabric.importing.items import Here, Item, Left, Reading
from memory_fabric.models import Relation
from memory_fabric.store import files
from memory_fabric.store.tiers import memory_md

HEAD_BYTES = 64 << 10
# One of these patterns occurs in each graph file and journal (decisions.jsonl, operations.jsonl).
GRAPH_SIGNS = (
    *(f'"{name}"'.encode() for name in ("entityType", "relationType", "entities", "relations")),
    b'"what"',
    b'"provenance"',
)
MARKDOWN = (".md", ".markdown", ".mdc", ".txt")


class Source(NamedTuple):
    """A kind of source: its key in evidence, its display name, its reader, and two tests. One test
    recognises a folder by its path, the other a Markdown page by path and text.
    """

    key: str
    name: str
    reader: Callable[[str, Here, Left], Iterator[Item | Relation]]
    is_folder: Callable[[str], bool] = lambda path: False
    is_page: Callable[[str, str], bool] = lambda path, text: False

    def read(self, path: str, here: Here) -> Reading:
        """Read a file or folder of this kind of source. Raises BadInput, files.Refused, OSError."""
        left = Left()
        parts = list(self.reader(path, here, left))
        relations = dict.fromkeys(part for part in parts if isinstance(part, Relation))
        items = tuple(part for part in parts if isinstance(part, Item))
        return Reading(items, tuple(relations), left.all)


CLAUDE_MEM = Source(
    "claude-mem",
    "claude-mem's database",
    exports.read_claude_mem,
    lambda path: os.path.isfile(os.path.join(path, exports.DATABASE)),
)
CODEX = Source(
    "Codex memories",
    "Codex's memories",
    notes.read_codex,
    notes.is_codex_folder,
    notes.is_codex_page,
)
AUTO_MEMORY = Source(
    "auto memory",
    "Claude Code's auto memory",
    notes.read_auto_memory,
    notes.is_auto_memory,
    notes.is_auto_memory_page,
)
INSTRUCTIONS = Source(
    "instructions",
    "instructions for assistants",
    lambda path, here, left: (
        item for file in instructions.read_files(path, here, left) for item in file.items
    ),
    lambda path: bool(instructions.files_of(path)),
    lambda path, text: instructions.is_instructions(path),
)
BASIC_MEMORY = Source(
    "basic-memory",
    "notes of basic-memory",
    notes.read_notes,
    notes.is_notes_folder,
    lambda path, text: notes.is_note(text),
)
MEM0 = Source("mem0", "an export of mem0", exports.read_mem0)
# In order of precedence: the first source that recognises a folder or page is used.
SOURCES = (CLAUDE_MEM, CODEX, AUTO_MEMORY, INSTRUCTIONS, BASIC_MEMORY, MEM0)


def recognise(path: str) -> tuple[Source | None, str]:
    """Return the source at a path (None for a graph file) and the path to read.

    Raises NotFound, BadInput, OSError.
    """
    if not os.path.lexists(path):
        raise NotFound(path, f"The file {path} does not exist.", remedy="Check its path.")
    if not os.path.exists(path):
        raise BadInput("PATH", f"{path} is a link to nothing.", remedy="Name the file itself.")
    if not os.access(path, os.R_OK):
        raise BadInput("PATH", f"{path} cannot be read.", remedy="Check its permissions.")
    if os.path.isdir(path):
        source = next((source for source in SOURCES if source.is_folder(path)), None)
        if source is None:
            text = f"{path} is a folder without memories of a known form."
            remedy = "docs/import.md lists the forms; name a file in it."
            raise BadInput("PATH", text, remedy=remedy)
        return source, os.path.join(path, exports.DATABASE) if source is CLAUDE_MEM else path
    try:
        with files.open_regular(path) as stream:
            head = stream.read(HEAD_BYTES)
    except files.NotRegular as error:
        text = f"{path} is not a regular file."
        raise BadInput("PATH", text, remedy="Name a file or a folder.") from error
    if head.startswith(exports.MAGIC):
        return CLAUDE_MEM, path
    text = head.decode("utf-8", "replace").removeprefix("\ufeff")
    if not path.lower().endswith(MARKDOWN) and not instructions.is_instructions(path):
        return MEM0 if exports.is_mem0(text) else None, path
    source = next((source for source in SOURCES if source.is_page(path, text)), None)
    if source is None:
        remedy = "docs/import.md lists the forms; name it CLAUDE.md or AGENTS.md if it holds rules."
        raise BadInput("PATH", f"{path} is Markdown of no known form.", remedy=remedy)
    return source, path


def expect_graph(path: str, called: str) -> None:
    """Raise BadInput if a file does not look like a graph file of the MCP reference server."""
    with files.open_regular(path) as stream:
        head = stream.read(HEAD_BYTES)
    problem, remedy = "is no known form of memories", "docs/import.md lists the forms."
    if b"\0" in head:
        problem, remedy = "is no text in UTF-8", f"Export it as text; {remedy}"
    elif not head.strip() or any(sign in head for sign in GRAPH_SIGNS):
        return
    raise BadInput("PATH", f"{called} {problem}.", remedy=f"{remedy} Nothing was imported.")


def find(settings: Settings, here: Here) -> list[tuple[Source, str]]:
    """Return this project's and the user's sources in their usual locations, with their paths."""
    root = next(iter(here.roots), "")
    memory = memory_md.locate(settings.config_dir, root, settings.memory_md_off) if root else None
    places = [
        (CLAUDE_MEM, os.path.join(here.user_home, ".claude-mem", exports.DATABASE)),
        *((INSTRUCTIONS, path) for path in (instructions.files_of(root) if root else ())),
        (AUTO_MEMORY, os.path.dirname(memory.path) if memory else ""),
        (INSTRUCTIONS, os.path.join(settings.config_dir, "CLAUDE.md")),
        (CODEX, os.path.join(here.codex_home, "memories")),
        # basic-memory's default folder for notes, whatever it contains.
        (BASIC_MEMORY, os.path.join(here.user_home, "basic-memory")),
    ]
    return [
        (source, path)
        for source, path in places
        if os.path.isfile(path)
        or (os.path.isdir(path) and (source is BASIC_MEMORY or source.is_folder(path)))
    ]
