"""The table of sources for import: how to recognise and read each, and its usual location.

- claude-mem.db: the tables of observations, session summaries and directives, as created by
  migrations 4 (2025) to 35 (2026) of github.com/thedotmack/claude-mem.
- mem0: a JSON list of memories, or an object with this list in `results` or `memories`, as returned
  by `get_all()` and `GET /v1/memories/` (docs.mem0.ai).
"""

import json
import os
import re
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from urllib.parse import quote

from memory_fabric.capture.statement import stated_type
from memory_fabric.config import Settings
from memory_fabric.errors import BadInput, NotFound
from memory_fabric.ids import timestamp
from memory_fabric.importing import instructions, items, notes
from memory_fabric.importing.items import Here, Item, Left, Reading, unusable
from memory_fabric.models import Relation
from memory_fabric.store import files
from memory_fabric.store.tiers import memory_md
from memory_fabric.text import cut, one_line

HEAD_BYTES = 64 << 10
# Every graph file or journal (decisions.jsonl, operations.jsonl) contains one of these strings.
GRAPH_SIGNS = (
    *(f'"{name}"'.encode() for name in ("entityType", "relationType", "entities", "relations")),
    b'"what"',
    b'"provenance"',
)
DATABASE = "claude-mem.db"
# Rows of claude-mem have a few KB; reading a much larger row would only waste memory.
MAX_ROW_BYTES = 16 << 20
TYPES = {"decision": "decision", "bugfix": "solution"}
MAX_ALSO_CHARS = 1000
ENDS = (".", "!", "?", ":", ";", "。")
TABLES = ("observations", "session_summaries", "directives")
# Limits and JSON keys for mem0. A file of the maximum size contains some 100,000 memories.
MAX_BYTES = 32 << 20
LISTS = ("results", "memories")
TEXTS = ("memory", "text", "content", "data")
HEAD_CHARS = 4096
# Keys of `metadata` whose value names a project.
PROJECTS = ("project", "project_id", "repo", "repository", "app_id")
# mem0's default categories for facts about the user, and a pattern for how such facts begin.
_OF_PERSON = frozenset(
    """entertainment family fashion food health hobbies hobby identity milestones music personal
    personal_details personal_information preference preferences professional_details sports travel
    user_preferences""".split()
)
_PERSON = re.compile(
    r"(?:the )?user(?:['’]s)? |(?:his|her|my) |i(?:['’]m)? |name is |"
    r"(?:prefer|like|love|hate|dislike|enjoy|live|want|avoid)s? |is (?:an? |allergic |\d+ years)|"
    r"works (?:as|at|for) |has (?:an? |two |three )(?:\w+ )?(?:dog|cat|son|daughter|child|kid)",
    re.IGNORECASE,
)

Row = dict[str, Any]


def read_claude_mem(path: str, here: Here, left: Left) -> Iterator[Item]:
    """Yield the statements in claude-mem's database. Raises BadInput for any other database."""
    connection = _opened(path)
    try:
        rows = [
            (table, row)
            for table, columns in _columns(connection, path).items()
            for row in _rows(connection, table, "merged_into_project" in columns, here, left)
        ]
        if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'user_prompts'").fetchone():
            (number,) = connection.execute("SELECT count(*) FROM user_prompts").fetchone()
            if number:
                text = "prompts of sessions (memory-fabric learn reads the sessions themselves)"
                left.add(text, number=number)
    except sqlite3.Error as error:
        raise _unreadable(path, error) from error
    finally:
        connection.close()
    stated = [item for table, row in rows if (item := _item_of_row(table, row, left))]
    yield from sorted(stated, key=lambda item: item.at)


def _opened(path: str) -> sqlite3.Connection:
    address = f"file:{quote(path)}?mode=ro"
    try:
        connection = sqlite3.connect(address, uri=True, timeout=2.0)
        try:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.OperationalError as error:
            if getattr(error, "sqlite_errorname", "") != "SQLITE_CANTOPEN":
                raise
            # No write-ahead log can be made in this folder: read the file alone, which is complete.
            connection.close()
            connection = sqlite3.connect(f"{address}&immutable=1", uri=True)
    except sqlite3.Error as error:
        raise _unreadable(path, error) from error
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_ROW_BYTES)
    connection.text_factory = lambda data: data.decode("utf-8", "replace")
    return connection


def _unreadable(path: str, error: Exception) -> BadInput:
    name = getattr(error, "sqlite_errorname", "") or ""
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        problem, remedy = f"{path} is in use by another program.", "Stop claude-mem, and try again."
    elif name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        problem = f"{path} is damaged, or only half written ({error})."
        remedy = "Copy it with sqlite3 .recover, and import the copy."
    else:
        problem, remedy = f"{path} cannot be read: {error}.", "Check its permissions."
    return unusable(problem, remedy)


def _columns(connection: sqlite3.Connection, path: str) -> dict[str, set[str]]:
    """Return the columns of claude-mem's tables. Raises BadInput if their schema is unknown."""
    names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    tables = [row[0] for row in names]
    columns = {
        table: {row[1] for row in connection.execute(f'PRAGMA table_info("{table}")')}
        for table in TABLES
        if table in tables
    }
    observed = columns.get("observations", set())
    if {"project", "created_at_epoch"} <= observed and observed & {"title", "text"}:
        return columns
    named = ", ".join(sorted(tables)[:8]) or "none"
    text = f"{path} is a database, but not claude-mem's in a form that is known (tables: {named})."
    remedy = "Update memory-fabric, or export to one of the forms in docs/import.md."
    raise BadInput("PATH", text, remedy=remedy)


def _rows(
    connection: sqlite3.Connection, table: str, has_merged: bool, here: Here, left: Left
) -> Iterator[Row]:
    project = "coalesce(merged_into_project, project)" if has_merged else "project"
    projects = f"SELECT {project}, count(*) FROM {table} GROUP BY 1"
    for name, number in connection.execute(projects).fetchall():
        is_everywhere = here.whole or (table == "directives" and not _text(name))
        if not is_everywhere and not here.is_stated(_text(name)):
            left.add(items.ELSEWHERE, str(name or ""), number)
            continue
        found = connection.execute(f"SELECT * FROM {table} WHERE {project} IS ?", (name,))
        names = [column[0] for column in found.description]
        for row in found:
            # A column that is missing in some releases of claude-mem is read as None.
            yield defaultdict(lambda: None, zip(names, row, strict=True), of=_text(name))


def _item_of_row(table: str, row: Row, left: Left) -> Item | None:
    epoch = row["created_at_epoch"]
    is_time = isinstance(epoch, int | float) and 0 < epoch < 1e14
    at = timestamp(epoch / 1000 if epoch > 1e11 else epoch) if is_time else ""  # > 1e11: ms, else s
    number, project = f"{row['id']} {epoch}", row["of"]
    if table == "observations":
        title, subtitle, kind = _text(row["title"]), _text(row["subtitle"]), _text(row["type"])
        narrative = _text(row["narrative"]) or _text(row["text"])
        parts = filter(None, [title, "" if subtitle == title else subtitle, *_list(row["facts"])])
        ended = " ".join(part if part.endswith(ENDS) else f"{part}." for part in parts)
        if not (statement := ended or narrative):
            left.add(items.EMPTY)
            return None
        concepts = ", ".join(filter(None, _list(row["concepts"])))
        also = f"{concepts} {narrative if narrative != statement else ''}".strip()
        item = Item(statement, f"observation {number}", TYPES.get(kind, "note"), at=at)
        item = item._replace(project=project, category=kind)
        return item._replace(also=cut(also, MAX_ALSO_CHARS))
    if table == "session_summaries":
        learned, request = _text(row["learned"]), cut(_text(row["request"]), MAX_ALSO_CHARS)
        if learned:
            key, kind = f"summary {number}", "session summary"
            return Item(learned, key, at=at, project=project, category=kind, also=request)
        left.add("summaries of sessions in which nothing was learned", request)
        return None
    content = _text(row["content"])
    if row["status"] not in (None, "active"):
        left.add("directives that are switched off", content)
        return None
    key, scope = f"directive {number}", "team" if row["project"] else "user"
    directive = Item(content, key, "constraint", at=at, project=project, scope=scope)
    return directive._replace(category="directive")


def _text(value: Any) -> str:
    return one_line(value) if isinstance(value, str) else ""


def _list(value: Any) -> list[str]:
    """Return the items of a JSON list; any other text is returned as a list with one item."""
    if not isinstance(value, str) or not value.strip():
        return []
    try:
        parts = json.loads(value)
    except (ValueError, RecursionError):
        parts = None
    return [one_line(str(p)) for p in parts] if isinstance(parts, list) else [one_line(value)]


def is_mem0(head: str) -> bool:
    """Return True if `head`, the beginning of a file, looks like a JSON export of mem0."""
    bare = head.lstrip()
    if not bare.startswith(("[", "{")):
        return False
    try:
        return _memories(json.loads(head)) is not None
    except (ValueError, RecursionError):
        pass
    # The JSON is truncated or damaged, so decide by the field names at its beginning.
    start = bare[:HEAD_CHARS]
    if any(sign in start for sign in ('"entityType"', '"entities"', '"type":"relation"')):
        return False
    return bare.startswith("[") or any(f'"{name}"' in start for name in LISTS)


def _memories(value: Any) -> list[Any] | None:
    for _ in range(3):
        if isinstance(value, dict):
            value = next((value[name] for name in LISTS if name in value), None)
    is_list = isinstance(value, list)
    is_export = is_list and (not value or any(_memory_text(m) is not None for m in value))
    return value if is_export else None


def read_mem0(path: str, here: Here, left: Left) -> Iterator[Item]:
    """Yield the memories of a mem0 export. Raises BadInput, files.Refused, OSError."""
    data = files.read_bytes(path, MAX_BYTES) or b""
    try:
        memories = _memories(json.loads(data.decode("utf-8-sig", "replace")))
    except (ValueError, RecursionError) as error:
        raise unusable(f"{path} is not whole JSON: {error}.", "Export it again.") from error
    if memories is None:
        problem = f"{path} is JSON without memories of mem0."
        raise unusable(problem, "docs/import.md lists the forms.")
    for memory in memories:
        if (text := _memory_text(memory)) is None:
            left.add(items.UNREADABLE, str(memory))
        elif not text.strip():
            left.add(items.EMPTY)
        else:
            text, about = one_line(text), memory.get("metadata")
            about = about if isinstance(about, dict) else {}
            kinds = memory.get("categories") or about.get("category") or about.get("type") or ""
            kinds = ", ".join(map(str, kinds)) if isinstance(kinds, list) else str(kinds)
            owners = [str(memory[name]) for name in ("user_id", "agent_id") if memory.get(name)]
            project = next((str(about[name]) for name in PROJECTS if about.get(name)), "")
            kind, key = stated_type(text), f"memory {memory.get('id') or text}"
            is_personal = kind == "preference" or bool(_PERSON.match(text))
            is_personal |= not _OF_PERSON.isdisjoint(kinds.lower().split(", "))
            times = (notes.time_of(memory.get(name)) for name in ("updated_at", "created_at"))
            at = next(filter(None, times), "")
            item = Item(text, key, kind, "", at, project, one_line(kinds))
            scope = "user" if is_personal and not project else "team"
            yield item._replace(scope=scope, also=cut(" ".join(owners), 400))


def _memory_text(memory: Any) -> str | None:
    if not isinstance(memory, dict):
        return None
    return next((memory[name] for name in TEXTS if isinstance(memory.get(name), str)), None)


class Source(NamedTuple):
    """A kind of source: its key in records' evidence, display name and reader, and two tests.
    `is_folder` recognises a folder by its path, `is_page` a Markdown page by path and text.
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
    read_claude_mem,
    lambda path: os.path.isfile(os.path.join(path, DATABASE)),
)
CODEX = Source(
    "Codex memories",
    "Codex's memories",
    notes.read_codex,
    lambda path: any(os.path.exists(os.path.join(path, name)) for name in notes.SIGNS),
    lambda path, text: notes.SESSIONS in text and not notes.is_topic(text),
)
AUTO_MEMORY = Source(
    "auto memory",
    "Claude Code's auto memory",
    notes.read_auto_memory,
    notes.is_auto_memory,
    lambda path, text: (
        notes.is_topic(text)
        or (os.path.basename(path) == notes.MAIN and notes.is_auto_memory(os.path.dirname(path)))
    ),
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
    lambda path: notes.has_one(path, notes.NOTE_ENDINGS, notes.is_note),
    lambda path, text: notes.is_note(text),
)
MEM0 = Source("mem0", "an export of mem0", read_mem0)
# In order of precedence: the first source that recognises a folder or Markdown file is used.
SOURCES = (CLAUDE_MEM, CODEX, AUTO_MEMORY, INSTRUCTIONS, BASIC_MEMORY, MEM0)


def recognise(path: str) -> tuple[Source | None, str]:
    """Return the kind of source at a path (None for a graph file), and the path to read: `path` or,
    for claude-mem's folder, the database in it. Raises NotFound, BadInput, OSError.
    """
    if not os.path.exists(path):
        raise NotFound(path, f"The file {path} does not exist.", remedy="Check its path.")
    if not os.access(path, os.R_OK):
        raise BadInput("PATH", f"{path} cannot be read.", remedy="Check its permissions.")
    if os.path.isdir(path):
        source = next((source for source in SOURCES if source.is_folder(path)), None)
        if source is None:
            text = f"{path} is a folder without memories of a known form."
            remedy = "docs/import.md lists the forms; name a file in it."
            raise BadInput("PATH", text, remedy=remedy)
        return source, os.path.join(path, DATABASE) if source is CLAUDE_MEM else path
    try:
        with files.open_regular(path) as stream:
            head = stream.read(HEAD_BYTES)
    except files.NotRegular as error:
        text = f"{path} is not a regular file."
        raise BadInput("PATH", text, remedy="Name a file or a folder.") from error
    if head.startswith(b"SQLite format 3\0"):
        return CLAUDE_MEM, path
    text = head.decode("utf-8", "replace").removeprefix("\ufeff")
    is_markdown = path.lower().endswith((".md", ".markdown", ".mdc", ".txt"))
    if not is_markdown and not instructions.is_instructions(path):
        return MEM0 if is_mem0(text) else None, path
    source = next((source for source in SOURCES if source.is_page(path, text)), None)
    if source is None:
        remedy = "docs/import.md lists the forms; name it CLAUDE.md or AGENTS.md if it holds rules."
        raise BadInput("PATH", f"{path} is Markdown of no known form.", remedy=remedy)
    return source, path


def expect_graph(path: str, called: str) -> None:
    """Raise BadInput (about `called`) if a file is unlike the MCP reference server's graph file."""
    with files.open_regular(path) as stream:
        head = stream.read(HEAD_BYTES)
    if b"\0" in head:
        remedy = "Export it as text; docs/import.md lists the forms."
        raise unusable(f"{called} is no text in UTF-8.", remedy)
    if head.strip() and not any(sign in head for sign in GRAPH_SIGNS):
        raise unusable(f"{called} is no known form of memories.", "docs/import.md lists the forms.")


def find(settings: Settings, here: Here) -> list[tuple[Source, str]]:
    """Return (source, path) for each source found in a usual location of this project or user."""
    root = next(iter(here.roots), "")
    memory = memory_md.locate(settings.config_dir, root, settings.memory_md_off) if root else None
    places = [
        (CLAUDE_MEM, os.path.join(here.user_home, ".claude-mem", DATABASE)),
        *((INSTRUCTIONS, path) for path in (instructions.files_of(root) if root else ())),
        (AUTO_MEMORY, os.path.dirname(memory.path) if memory else ""),
        (INSTRUCTIONS, os.path.join(settings.config_dir, "CLAUDE.md")),
        (CODEX, os.path.join(here.codex_home, "memories")),
        # This folder is used without a test of its files: it is basic-memory's default for notes.
        (BASIC_MEMORY, os.path.join(here.user_home, "basic-memory")),
    ]
    return [
        (source, path)
        for source, path in places
        if os.path.isfile(path)
        or (os.path.isdir(path) and (source is BASIC_MEMORY or source.is_folder(path)))
    ]
