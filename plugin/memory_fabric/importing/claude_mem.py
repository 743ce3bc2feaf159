"""claude-mem's database `claude-mem.db`: observations, summaries of sessions, directives.

Its tables as of its migrations 4 (2025) to 35 (2026): `src/services/sqlite/schema.sql` in
github.com/thedotmack/claude-mem. Columns that a release lacks are taken as empty.
"""

import json
import sqlite3
from collections.abc import Iterator
from typing import Any

from memory_fabric.capture.confidence import NOTE
from memory_fabric.errors import BadInput
from memory_fabric.ids import timestamp
from memory_fabric.importing.items import (
    ELSEWHERE,
    EMPTY,
    MAX_WHAT_CHARS,
    Here,
    Item,
    Left,
    Reading,
)
from memory_fabric.text import cut, one_line

FILE = "claude-mem.db"
MAGIC = b"SQLite format 3\0"
BUSY_S = 2.0
# A row of claude-mem has some KB; a larger one would only fill the memory.
MAX_ROW_BYTES = 16 << 20
TYPES = {"decision": "decision", "bugfix": "solution"}
NOT_LEARNED = "summaries of sessions in which nothing was learned"
INACTIVE = "directives that are switched off"
PROMPTS = "prompts of sessions (memory-fabric learn reads the sessions themselves)"
_OBSERVATION = (
    "id project text type title subtitle facts narrative concepts merged_into_project "
    "created_at_epoch"
).split()
_SUMMARY = "id project request learned merged_into_project created_at_epoch".split()
_DIRECTIVE = "id project scope content status created_at_epoch".split()
MAX_ALSO_CHARS = 1000


def is_database(head: bytes) -> bool:
    """Return True if a file begins as a database of SQLite does."""
    return head.startswith(MAGIC)


def read(path: str, here: Here) -> Reading:
    """Read a database without changing it. Raises BadInput, also for another program's."""
    left = Left()
    connection = _opened(path)
    try:
        columns = _columns(connection, path)
        rows = list(_rows(connection, columns, here, left))
    except sqlite3.Error as error:
        raise _unreadable(path, error) from error
    finally:
        connection.close()
    items = [item for table, row in rows for item in _ITEMS[table](row, left)]
    items.sort(key=lambda item: item.at)
    return Reading(tuple(items), left=left.all, files=(path,))


def _opened(path: str) -> sqlite3.Connection:
    from urllib.parse import quote  # late: only for a database

    address = f"file:{quote(path)}?mode=ro"
    try:
        connection = sqlite3.connect(address, uri=True, timeout=BUSY_S)
        try:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.OperationalError as error:
            if getattr(error, "sqlite_errorname", "") != "SQLITE_CANTOPEN":
                raise
            # A log that nobody can open for writing: the file itself is complete without it.
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
        told, remedy = f"{path} is in use by another program.", "Stop claude-mem, and try again."
    elif name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        told = f"{path} is damaged, or only half written ({error})."
        remedy = "Copy it with sqlite3 .recover, and import the copy."
    else:
        told, remedy = f"{path} cannot be read: {error}.", "Check its permissions."
    return BadInput("PATH", told, remedy=f"{remedy} Nothing was imported.")


def _columns(connection: sqlite3.Connection, path: str) -> dict[str, set[str]]:
    """Return the columns of each table. Raises BadInput for a database of another form."""
    tables = [
        row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    ]
    found = {
        table: {row[1] for row in connection.execute(f'PRAGMA table_info("{table}")')}
        for table in _ITEMS
        if table in tables
    }
    observed = found.get("observations", set())
    if {"project", "created_at_epoch"} <= observed and observed & {"title", "text"}:
        return found
    named = ", ".join(sorted(tables)[:8]) or "none"
    raise BadInput(
        "PATH",
        f"{path} is a database, but not claude-mem's in a form that is known (tables: {named}).",
        remedy="Update memory-fabric, or export to one of the forms in docs/import.md.",
    )


def _rows(
    connection: sqlite3.Connection, columns: dict[str, set[str]], here: Here, left: Left
) -> Iterator[tuple[str, dict[str, Any]]]:
    for table, wanted in _WANTED.items():
        known = columns.get(table)
        if not known:
            continue
        names = [f"{name}" if name in known else f"NULL AS {name}" for name in wanted]
        into = "merged_into_project" if "merged_into_project" in known else "NULL"
        projects = connection.execute(
            f"SELECT coalesce({into}, project), count(*) FROM {table} GROUP BY 1"
        ).fetchall()
        mine = [name for name, _ in projects if here.whole or _is_wanted(table, name, here)]
        for name, number in projects:
            if name not in mine:
                left.add(ELSEWHERE, str(name or ""), number)
        for name in mine:
            cursor = connection.execute(
                f"SELECT {', '.join(names)} FROM {table} WHERE coalesce({into}, project) IS ?",
                (name,),
            )
            for row in cursor:
                yield table, dict(zip(wanted, row, strict=True)) | {"of": _text(name)}
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'user_prompts'").fetchone():
        (number,) = connection.execute("SELECT count(*) FROM user_prompts").fetchone()
        if number:
            left.add(PROMPTS, number=number)


def _is_wanted(table: str, project: object, here: Here) -> bool:
    return here.is_stated(_text(project)) or (table == "directives" and not project)


def _observed(row: dict[str, Any], left: Left) -> Iterator[Item]:
    title, subtitle = _text(row["title"]), _text(row["subtitle"])
    facts = [fact for fact in _list(row["facts"]) if fact]
    narrative = _text(row["narrative"]) or _text(row["text"])
    said = [title, "" if subtitle == title else subtitle, *facts]
    what = " ".join(_sentence(part) for part in said if part) or narrative
    if not what:
        left.add(EMPTY)
        return
    concepts = [c for c in _list(row["concepts"]) if c]
    stated = _text(row["type"])
    yield Item(
        what=cut(what, MAX_WHAT_CHARS),
        key=f"observation {row['id']} {row['created_at_epoch']}",
        type=TYPES.get(stated, "note"),
        at=_time(row["created_at_epoch"]),
        project=row["of"],
        category=stated,
        also=cut(
            " ".join((", ".join(concepts), narrative if narrative != what else "")).strip(),
            MAX_ALSO_CHARS,
        ),
        confidence=NOTE,
    )


def _summarised(row: dict[str, Any], left: Left) -> Iterator[Item]:
    learned, request = _text(row["learned"]), _text(row["request"])
    if not learned:
        left.add(NOT_LEARNED, request)
        return
    yield Item(
        what=cut(learned, MAX_WHAT_CHARS),
        key=f"summary {row['id']} {row['created_at_epoch']}",
        at=_time(row["created_at_epoch"]),
        project=row["of"],
        category="session summary",
        also=cut(request, MAX_ALSO_CHARS),
        confidence=NOTE,
    )


def _directed(row: dict[str, Any], left: Left) -> Iterator[Item]:
    content = _text(row["content"])
    if row["status"] not in (None, "active"):
        left.add(INACTIVE, content)
        return
    yield Item(
        what=cut(content, MAX_WHAT_CHARS),
        key=f"directive {row['id']} {row['created_at_epoch']}",
        type="constraint",
        at=_time(row["created_at_epoch"]),
        project=row["of"],
        category="directive",
        scope="team" if row["project"] else "user",
        confidence=NOTE,
    )


_WANTED = {
    "observations": _OBSERVATION,
    "session_summaries": _SUMMARY,
    "directives": _DIRECTIVE,
}
_ITEMS = {
    "observations": _observed,
    "session_summaries": _summarised,
    "directives": _directed,
}


def _text(value: Any) -> str:
    return one_line(value) if isinstance(value, str) else ""


def _list(value: Any) -> list[str]:
    """Return the texts of a list in JSON; a text that is none is its only one."""
    if not isinstance(value, str) or not value.strip():
        return []
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return [one_line(value)]
    return [one_line(str(part)) for part in found] if isinstance(found, list) else [one_line(value)]


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?", ":", ";", "。")) else f"{text}."


def _time(epoch: Any) -> str:
    """Return the time of milliseconds, or seconds, since 1970; '' for anything else."""
    if not isinstance(epoch, int | float) or not 0 < epoch < 1e14:
        return ""
    return timestamp(epoch / 1000 if epoch > 1e11 else epoch)
