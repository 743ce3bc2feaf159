"""Memory pages: memories as Markdown for people to edit, one page per project and one for the user.
Items are grouped under headings by kind. Each item has its text, its reason, a line with its date,
author and state, and a comment with its id. The comment at the page's end has one JSON object per
line, with all other fields. Instead of the texts it has checksums, which show edits.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from sqlite3 import Connection
from typing import Any, NamedTuple

from memory_fabric import models
from memory_fabric.ids import short_id, timestamp
from memory_fabric.models import IMPORTED, OTHERS, Record, stated_at
from memory_fabric.store import files, records
from memory_fabric.store.database import Database
from memory_fabric.store.home import signing
from memory_fabric.store.memory import Memory
from memory_fabric.store.operations import rows

MARK = "<!-- memory-fabric page 1 "
DATA = "<!-- memory-fabric data"
USER_PAGE = "user"
ENTITIES, RELATIONS = "Entities", "Relations"
TYPES = {row.heading: kind for kind, row in models.RECORD_TYPES.items()}
WHY = "*Why:* "
# A sentence that informs the reader which memories a page does not contain.
LEFT_OUT = (
    "Not in it: turns, the ledgers of sessions, local records, what others shared, the history of "
    "changes, and what was forgotten."
)
# The line with an item's date, author and state, and its id.
_ID_LINE = re.compile(r"(?:\*.*\*)?\s*<!-- ([^<]*) -->\s*")
# Beginnings of lines that Markdown or a page would interpret, and the same in escaped form.
_TO_ESCAPE = re.compile(r"^(?:(?=[-#+*>|=~`\\\t])|([0-9]+)(?=\\*\.))")
_ESCAPED = re.compile(r"^(?:\\(?=[-#+*>|=~`\\\t])|([0-9]+)\\(?=\\*\.))")
_ENTITIES_OUT = (("&", "&amp;"), ("<", "&lt;"), ("\r", "&#13;"))
# The number of lines in a part of a page; parts avoid holding a large graph in memory.
LINES_AT_ONCE = 5_000

Row = Mapping[str, Any]
# A record, and the sessions in which it was stated.
Seen = tuple[Record, list[str]]


class Item(NamedTuple):
    """An item on a page: its text, its reason, and its id ('' if a person added the item)."""

    heading: str
    what: str
    why: str = ""
    id: str = ""


class Found(NamedTuple):
    """A parsed page. Its last comment has data rows, a signature, and `torn` unreadable lines."""

    head: str
    items: tuple[Item, ...]
    data: tuple[Row, ...]
    signature: str = ""
    torn: int = 0


class Written(NamedTuple):
    """A page to write: file name without extension, text, numbers of records and rows. `parts`
    yields the text in pieces of a few thousand lines, once, inside the `with` block of `pages`.
    """

    name: str
    parts: Iterator[str]
    records: int
    entities: int
    relations: int
    observations: int

    @property
    def about_parts(self) -> int:
        """Estimate the number of `parts`: an item has about one visible line and one data line."""
        number = self.records + self.entities + self.relations + self.observations
        return 2 * number // LINES_AT_ONCE + 1


def digest(text: str) -> str:
    """Return the checksum of a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def page_name(name: str) -> str:
    """Return a project's name, altered if necessary so that it cannot end an HTML comment."""
    return name.replace("--", "- -")


def item_lines(what: str, why: str, about: str, id_: str, indent: str = "") -> list[str]:
    """Return the lines of an item on a page; `about` describes its date, author and state."""
    within = indent + "  "
    lines = []
    for begin, text in ((f"{indent}- ", what), *([(f"{within}{WHY}", why)] if why else [])):
        # Escape the text, so that Markdown and `read` treat each of its lines as plain text.
        for sign, code in _ENTITIES_OUT:
            text = text.replace(sign, code)
        for number, line in enumerate(text.split("\n")):
            line = _TO_ESCAPE.sub(lambda match: f"{match[1] or ''}\\", line)
            line = "&#32;" + line[1:] if line[:1] == " " else line
            line = line[:-1] + "&#32;" if line.endswith(" ") else line
            lines.append((within if number and line else "" if number else begin) + line)
    about = f"*{inline(about)}* " if about else ""
    return [*lines, f"{within}{about}<!-- {id_} -->"]


def data_lines(data: Iterable[Row], sign: signing.ListSignature) -> Iterator[str]:
    """Yield the lines of a page's last comment: its data rows as JSON, and their signature."""
    yield DATA
    for row in data:
        sign.add(row)
        yield _json(row)
    yield _json({"signature": sign.close()})
    yield "-->"


def _json(row: Row) -> str:
    text = json.dumps(row, ensure_ascii=False)
    for sign in ("<", ">", "\u2028", "\u2029", "\x85"):
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def inline(text: str) -> str:
    """Escape a text, so that it cannot end its line, a comment or an emphasis."""
    for sign, code in (*_ENTITIES_OUT, ("*", "&#42;"), ("\n", " ")):
        text = text.replace(sign, code)
    return text


def read(text: str) -> Found:
    """Parse a page, which may have been edited by hand, and count the damaged lines of its data."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    end = next((at for at in reversed(range(len(lines))) if lines[at] == DATA), len(lines))
    data: list[Row] = []
    signature, torn = "", 0
    for line in lines[end + 1 :]:
        if line == "-->":
            break
        if (row := files.parsed(line)) is None:
            torn += bool(line.strip())
        elif "signature" in row:
            signature = str(row["signature"])
        else:
            data.append(row)
    head = lines[0].removeprefix(MARK).removesuffix("-->").strip()
    return Found(head, tuple(_items(lines[1:end])), tuple(data), signature, torn)


def _items(lines: Sequence[str]) -> Iterator[Item]:
    heading, at = "", 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if line.startswith("## "):
            heading = line[3:].strip()
        bare = line.lstrip(" ")
        if not f"{bare} ".startswith("- "):  # an editor may shorten an empty `- ` to `-`
            continue
        indent = line[: len(line) - len(bare)]
        within = indent + "  "
        what, why, id_ = [line[len(within) :]], [], ""
        texts = what
        while at < len(lines):
            line = lines[at]
            inner = line.removeprefix(within) if line.startswith(within) else line.lstrip(" ")
            found = _ID_LINE.fullmatch(inner)
            if found and (id_ := found[1].strip()):
                at += 1
                break
            bare = line.lstrip(" ")
            is_outside = bool(bare) and len(line) - len(bare) <= len(indent)
            if line.startswith(("# ", "## ")) or f"{bare} ".startswith("- ") or is_outside:
                break  # the item ends here, without a line with its id
            at += 1
            # An editor may have stripped the space after `*Why:*`.
            if f"{inner} ".startswith(WHY) and texts is what:
                texts = why = [inner[len(WHY) :]]
            else:
                texts.append(inner)
        while texts and not id_ and not texts[-1].strip():
            texts.pop()
        yield Item(heading, _plain(what), _plain(why), id_)


def _plain(lines: Sequence[str]) -> str:
    # Ignore trailing spaces, which editors strip; a line that really ends with one has `&#32;`.
    stripped = (line.rstrip(" ") for line in lines)
    text = "\n".join(_ESCAPED.sub(lambda match: match[1] or "", line) for line in stripped)
    for sign, code in ((" ", "&#32;"), *reversed(_ENTITIES_OUT)):
        text = text.replace(code, sign)
    return text


@contextmanager
def pages(memory: Memory) -> Iterator[list[Written]]:
    """Return a context manager that yields one page for each readable database. Each database is
    read in one transaction, so later changes are unseen. Raises StoreUnavailable, OSError.
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


def _page(memory: Memory, database: Database) -> Written:
    project = memory.project if database.kind == "project" else None
    name = project.name if project else USER_PAGE
    title = f"Memories of {name}" if project else "Memories for all projects"
    c = database.connection
    own = records.find(c, f"source <> '{OTHERS}' AND scope <> 'local'", (), -1)
    sign = signing.ListSignature("lines", signing.key_of(memory.settings.home))
    data = _data(c, project.id if project else "", own)
    about = (
        f"Written on {timestamp()[:10]}. `memory-fabric import` reads it back: a text that you "
        "change is changed, an item that you add is added, one that you remove stays in memory."
    )
    lines = chain(
        (f"{MARK}of {page_name(name)} -->", f"# {inline(title)}", "", about),
        _record_lines([record for record, _ in own]),
        _entity_lines(c),
        _relation_lines(c),
        ("",),
        data_lines(data, sign),
    )
    parts = iter(lambda: list(islice(lines, LINES_AT_ONCE)), [])
    name += "-project" if project and name.lower() == USER_PAGE else ""  # one file each
    return Written(name, ("\n".join(part) + "\n" for part in parts), len(own), *rows.count_own(c))


def _record_lines(own: Sequence[Record]) -> Iterator[str]:
    newest_first = sorted(own, key=stated_at, reverse=True)
    ordered = sorted(newest_first, key=lambda r: bool(r.valid_to or r.superseded_by))
    for heading, kind in TYPES.items():
        if of_kind := [record for record in ordered if record.type == kind]:
            yield from ("", f"## {heading}")
        for record in of_kind:
            yield ""
            state = "" if record.status == "active" else record.status
            if record.superseded_by:
                state = f"replaced by {short_id(record.superseded_by)} on {record.valid_to[:10]}"
            elif record.valid_to:
                state = f"ended on {record.valid_to[:10]}"
            author = str(record.evidence.get(IMPORTED) or record.author or f"the {record.trust}")
            parts = (
                stated_at(record)[:10],
                f"{author}, by {record.source}",
                f"instead of {', '.join(record.alternatives)}" if record.alternatives else "",
                "" if record.domain == "general" else f"domain {record.domain}",
                "pinned" if record.pinned else "",
                state,
            )
            about = " · ".join(" ".join(part.split()) for part in parts if part)
            yield from item_lines(record.what, record.why, about, record.id)


def _entity_lines(c: Connection) -> Iterator[str]:
    entities, head = rows.own(c, "entities"), ["", f"## {ENTITIES}", ""]
    stated = f"o.source <> '{OTHERS}' AND o.record = '' AND o.entity BETWEEN ? AND ?"
    while some := list(islice(entities, rows.ROWS_AT_ONCE)):
        observations: dict[str, list[dict[str, Any]]] = {}
        for row in rows.observations(c, stated, (some[0]["id"], some[-1]["id"])):
            observations.setdefault(row["entity"], []).append(row)
        for row in some:
            yield from head
            head, names = [], ", ".join(alias for _, alias in row["aliases"])
            also = f", also called {names}" if names else ""
            yield f"* **{inline(row['name'])}** ({inline(row['type'] + also)})"
            for said in observations.get(row["name"], ()):
                yield from item_lines(said["text"], "", "", f"o{said['id']}", indent="  ")


def _relation_lines(c: Connection) -> Iterator[str]:
    head = ["", f"## {RELATIONS}", ""]
    for row in rows.own(c, "relations"):
        yield from head
        head = []
        yield "* " + " → ".join(inline(row[end]) for end in ("from", "relationType", "to"))


def _data(c: Connection, project: str, own: Sequence[Seen]) -> Iterator[Row]:
    """Yield a page's data rows: its records (`own`) and the graph, without the texts it shows."""
    yield {"project": project}
    for record, seen in own:
        plain = records.as_object(Record(record.type, ""))
        fields = {
            name: part
            for name, part in records.as_object(record).items()
            if name in ("id", "type") or (name not in ("what", "why") and part != plain[name])
        }
        sums = [digest(record.what), digest(record.why)]
        yield {"record": fields, "seen_in": seen, "sums": sums}
    texts = {record.id: models.text_with_reason(record) for record, _ in own}
    for row in rows.own(c, "entities"):
        yield {"entities": row}
    for row in rows.own(c, "observations"):
        bare = {name: part for name, part in row.items() if name != "text"}
        owners = (row["record"], *row["claims"]) if row["record"] else ()
        owner = next((owner for owner in owners if texts.get(owner) == row["text"]), "")
        if not row["record"]:
            yield {"observations": bare, "sums": [digest(row["text"])]}
        else:
            yield {"observations": bare, "of": owner} if owner else {"observations": row}
    for row in rows.own(c, "relations"):
        yield {"relations": row}
