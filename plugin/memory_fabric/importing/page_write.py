"""Memory pages of a memory: one of the project, one of what holds for the user everywhere."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from typing import Any, NamedTuple

from memory_fabric.ids import short_id, timestamp
from memory_fabric.importing import page
from memory_fabric.models import IMPORTED, OTHERS, Record, stated_at, text_with_reason
from memory_fabric.store import records, signing
from memory_fabric.store.database import Database
from memory_fabric.store.memory import Memory
from memory_fabric.store.operations import rows

Row = dict[str, Any]


USER_PAGE = "user"
# What a page leaves out: it is told by the command.
LEFT_OUT = (
    "Not in it: turns, the ledgers of sessions, local records, what others shared, the history of "
    "changes, and what was forgotten."
)


# Rows that are read, and lines that are written, at once: a large graph is never held whole.
ROWS_AT_ONCE, LINES_AT_ONCE = 5_000, 5_000
# The rows of each table that are this user's own, and how they are read.
_OWN = {
    "entities": "said_by = ''",
    "relations": "said_by = ''",
    "observations": f"source <> '{OTHERS}'",
}
_READ = {
    "entities": rows.entities,
    "relations": rows.relations,
    "observations": rows.observations,
}


class Written(NamedTuple):
    """A page: the name of its file without ending, and its numbers of records and rows.

    `parts` are its lines, in parts of some thousand; they are read from the database as they are
    asked for, once, inside of `pages`.
    """

    name: str
    parts: Iterator[str]
    records: int
    entities: int
    relations: int
    observations: int

    @property
    def about_parts(self) -> int:
        """About the number of its parts: most rows have a line to read and one of data."""
        rows_ = self.records + self.entities + self.relations + self.observations
        return 2 * rows_ // LINES_AT_ONCE + 1


@contextmanager
def pages(memory: Memory) -> Iterator[list[Written]]:
    """Give the pages of the databases that can be read, until the end of the `with` block.

    Each is read in one transaction: what others change meanwhile is not in it. Raises
    StoreUnavailable, OSError.
    """
    databases = memory.databases()
    try:
        for database in databases:
            database.rows("BEGIN")
        yield [_page(memory, database) for database in databases]
    finally:
        for database in databases:
            if database.connection.in_transaction:
                database.rows("ROLLBACK")


def page_name(name: str) -> str:
    """Return the name of a project as the head of a page can state it."""
    return name.replace("--", "- -")


def _page(memory: Memory, database: Database) -> Written:
    is_project = database.kind == "project" and memory.project is not None
    name = memory.project.name if is_project and memory.project else USER_PAGE
    project = memory.project.id if is_project and memory.project else ""
    title = f"Memories of {name}" if is_project else "Memories for all projects"
    head = [f"{page.MARK}of {page_name(name)} -->", f"# {page.inline(title)}"]
    found = records.find(database.connection, f"source <> '{OTHERS}' AND scope <> 'local'", (), -1)
    lines = _lines(database, head, project, found, signing.key_of(memory.settings.home))
    counts = [database.row(f"SELECT count(*) FROM {t} WHERE {own}") for t, own in _OWN.items()]
    entities, relations, observations = (int(row[0]) if row else 0 for row in counts)
    return Written(name, _in_parts(lines), len(found), entities, relations, observations)


def _lines(
    database: Database,
    head: list[str],
    project: str,
    found: list[tuple[Record, list[str]]],
    key: bytes,
) -> Iterator[str]:
    yield from (
        *head,
        "",
        f"Written on {timestamp()[:10]}. `memory-fabric import` reads it back: a text that you "
        "change is changed, an item that you add is added, one that you remove stays in memory.",
    )
    for kind, heading in page.HEADINGS.items():
        some = [pair for pair in found if pair[0].type == kind]
        if some:
            yield from ("", f"## {heading}")
        for record, _ in sorted(some, key=_order):
            yield ""
            yield from page.item_lines(record.what, record.why, _about(record), record.id)
    yield from _entities(database)
    yield from _relations(database)
    yield ""
    sign = signing.ListSignature("lines", key)
    yield from page.data_lines(_data(database, project, found), sign)


def _in_parts(lines: Iterator[str]) -> Iterator[str]:
    while part := list(islice(lines, LINES_AT_ONCE)):
        yield "\n".join(part) + "\n"


def _data(database: Database, project: str, found: list[tuple[Record, list[str]]]) -> Iterator[Row]:
    """Yield what a page does not show: fields of records, rows of the graph."""
    yield {"project": project}
    for record, seen in found:
        yield _data_of(record, seen)
    texts = {record.id: text_with_reason(record) for record, _ in found}
    for row in _rows(database, "entities"):
        yield {"entities": row}
    for row in _rows(database, "observations"):
        yield _observation_data(row, texts)
    for row in _rows(database, "relations"):
        yield {"relations": row}


def _order(pair: tuple[Record, list[str]]) -> tuple[bool, tuple[int, ...]]:
    """Return the place of a record: current ones first, newest first."""
    record = pair[0]
    newest = tuple(-ord(c) for c in stated_at(record))
    return bool(record.valid_to or record.superseded_by), newest


def _about(record: Record) -> str:
    state = "" if record.status == "active" else record.status
    if record.superseded_by:
        state = f"replaced by {short_id(record.superseded_by)} on {record.valid_to[:10]}"
    elif record.valid_to:
        state = f"ended on {record.valid_to[:10]}"
    domain = "" if record.domain == "general" else f"domain {record.domain}"
    over = f"instead of {', '.join(record.alternatives)}" if record.alternatives else ""
    who = str(record.evidence.get(IMPORTED) or record.author or f"the {record.trust}")
    pinned = "pinned" if record.pinned else ""
    parts = (stated_at(record)[:10], f"{who}, by {record.source}", over, domain, pinned, state)
    return " · ".join(" ".join(part.split()) for part in parts if part)


def _rows(database: Database, table: str) -> Iterator[Row]:
    """Yield all rows of a table of the graph that are this user's own, in order of entry."""
    alias = table[0]
    condition = f"{alias}.{_OWN[table]} AND {alias}.id BETWEEN ? AND ?"
    for between in _ranges(database, table):
        yield from _READ[table](database.connection, condition, between)


def _ranges(database: Database, table: str) -> Iterator[tuple[int, int]]:
    """Yield ranges of row numbers, each of ROWS_AT_ONCE."""
    row = database.row(f"SELECT max(id) FROM {table}")
    most = int(row[0] or 0) if row else 0
    for first in range(1, most + 1, ROWS_AT_ONCE):
        yield first, first + ROWS_AT_ONCE - 1


def _entities(database: Database) -> Iterator[str]:
    c, own = database.connection, f"e.{_OWN['entities']}"
    is_headed = False
    for between in _ranges(database, "entities"):
        said: dict[str, list[Row]] = {}
        direct = f"o.source <> '{OTHERS}' AND o.record = '' AND o.entity BETWEEN ? AND ?"
        for row in rows.observations(c, direct, between):
            said.setdefault(row["entity"], []).append(row)
        for row in rows.entities(c, f"{own} AND e.id BETWEEN ? AND ?", between):
            if not is_headed:
                yield from ("", f"## {page.ENTITIES}", "")
                is_headed = True
            names = ", ".join(alias for _, alias in row["aliases"])
            also = f", also called {names}" if names else ""
            yield f"* **{page.inline(row['name'])}** ({page.inline(row['type'] + also)})"
            for one in said.get(row["name"], ()):
                yield from page.item_lines(one["text"], "", "", f"o{one['id']}", indent="  ")


def _relations(database: Database) -> Iterator[str]:
    is_headed = False
    for row in _rows(database, "relations"):
        if not is_headed:
            yield from ("", f"## {page.RELATIONS}", "")
            is_headed = True
        ends = [page.inline(row[end]) for end in ("from", "relationType", "to")]
        yield f"* {ends[0]} → {ends[1]} → {ends[2]}"


def _data_of(record: Record, seen: list[str]) -> Row:
    plain = records.as_object(Record(record.type, ""))
    whole = {
        name: part
        for name, part in records.as_object(record).items()
        if name in ("id", "type") or (name not in ("what", "why") and part != plain[name])
    }
    sums = [page.digest(record.what), page.digest(record.why)]
    return {"record": whole, "seen_in": seen, "sums": sums}


def _observation_data(row: Row, texts: Mapping[str, str]) -> Row:
    """Return an observation's row without a text that stands in the page."""
    plain = {name: part for name, part in row.items() if name != "text"}
    if not row["record"]:
        return {"observations": plain, "sums": [page.digest(row["text"])]}
    owner = next((o for o in (row["record"], *row["claims"]) if texts.get(o) == row["text"]), "")
    return {"observations": plain, "of": owner} if owner else {"observations": row}
