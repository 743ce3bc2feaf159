"""Memory pages of a memory: one of the project, one of what holds for the user everywhere."""

from __future__ import annotations

from memory_fabric.ids import short_id, timestamp
from memory_fabric.importing import page
from memory_fabric.models import IMPORTED, OTHERS, Record, stated_at, text_with_reason
from memory_fabric.store import records, signing
from memory_fabric.store.operations import rows
from memory_fabric.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from memory_fabric.store.database import Database
    from memory_fabric.store.memory import Memory

    Row = dict[str, Any]

USER_PAGE = "user"
# What a page leaves out: it is told by the command.
LEFT_OUT = (
    "Not in it: turns, the ledgers of sessions, local records, what others shared, the history of "
    "changes, and what was forgotten."
)


class Written(Value):
    """A page: the name of its file without ending, its text, its numbers of records and rows."""

    name: str
    text: str
    records: int
    entities: int
    relations: int


def pages(memory: Memory) -> list[Written]:
    """Return the pages of the databases that can be read. Raises StoreUnavailable, OSError."""
    return [_page(memory, database) for database in memory.databases()]


def page_name(name: str) -> str:
    """Return the name of a project as the head of a page can state it."""
    return name.replace("--", "- -")


def _page(memory: Memory, database: Database) -> Written:
    is_project = database.kind == "project" and memory.project is not None
    name = memory.project.name if is_project and memory.project else USER_PAGE
    found = records.find(database.connection, f"source <> '{OTHERS}' AND scope <> 'local'", (), -1)
    graph = _graph(database)
    title = f"Memories of {name}" if is_project else "Memories for all projects"
    lines = [
        f"{page.MARK}of {page_name(name)} -->",
        f"# {page.inline(title)}",
        "",
        f"Written on {timestamp()[:10]}. `memory-fabric import` reads it back: a text that you "
        "change is changed, an item that you add is added, one that you remove stays in memory.",
    ]
    for kind, heading in page.HEADINGS.items():
        some = [pair for pair in found if pair[0].type == kind]
        if some:
            lines += ["", f"## {heading}"]
        for record, _ in sorted(some, key=_order):
            lines += ["", *page.item_lines(record.what, record.why, _about(record), record.id)]
    direct = {row["id"] for row in graph["observations"] if not row["record"]}
    lines += _entities(graph, direct) + _relations(graph)
    data: list[Row] = [{"project": memory.project.id if is_project and memory.project else ""}]
    data += [_data_of(record, seen) for record, seen in found]
    texts = {record.id: text_with_reason(record) for record, _ in found}
    data += [_row_data(table, row, direct, texts) for table, some in graph.items() for row in some]
    signature = signing.signature({"lines": data}, signing.key_of(memory.settings.home))
    lines += ["", *page.data_lines(data, signature), ""]
    return Written(
        name, "\n".join(lines), len(found), len(graph["entities"]), len(graph["relations"])
    )


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


def _graph(database: Database) -> rows.Rows:
    """Return all rows of the graph that are this user's own."""
    c = database.connection
    return {
        "entities": rows.entities(c, "e.said_by = ''", ()),
        "observations": rows.observations(c, "o.source <> ?", (OTHERS,)),
        "relations": rows.relations(c, "r.said_by = ''", ()),
    }


def _entities(graph: rows.Rows, direct: set[int]) -> list[str]:
    said: dict[str, list[Row]] = {}
    for row in graph["observations"]:
        if row["id"] in direct:
            said.setdefault(row["entity"], []).append(row)
    lines = ["", f"## {page.ENTITIES}", ""] if graph["entities"] else []
    for row in graph["entities"]:
        names = ", ".join(alias for _, alias in row["aliases"])
        also = f", also called {names}" if names else ""
        lines.append(f"* **{page.inline(row['name'])}** ({page.inline(row['type'] + also)})")
        for one in said.get(row["name"], ()):
            lines += page.item_lines(one["text"], "", "", f"o{one['id']}", indent="  ")
    return lines


def _relations(graph: rows.Rows) -> list[str]:
    lines = ["", f"## {page.RELATIONS}", ""] if graph["relations"] else []
    for row in graph["relations"]:
        ends = [page.inline(row[end]) for end in ("from", "relationType", "to")]
        lines.append(f"* {ends[0]} → {ends[1]} → {ends[2]}")
    return lines


def _data_of(record: Record, seen: list[str]) -> Row:
    plain = records.as_object(Record(record.type, ""))
    whole = {
        name: part
        for name, part in records.as_object(record).items()
        if name in ("id", "type") or (name not in ("what", "why") and part != plain[name])
    }
    sums = [page.digest(record.what), page.digest(record.why)]
    return {"record": whole, "seen_in": seen, "sums": sums}


def _row_data(table: str, row: Row, direct: set[int], texts: Mapping[str, str]) -> Row:
    """Return a row of the graph without a text that stands in the page."""
    if table != "observations":
        return {table: row}
    plain = {name: part for name, part in row.items() if name != "text"}
    if row["id"] in direct:
        return {table: plain, "sums": [page.digest(row["text"])]}
    owner = next((o for o in (row["record"], *row["claims"]) if texts.get(o) == row["text"]), "")
    return {table: plain, "of": owner} if owner else {table: row}
