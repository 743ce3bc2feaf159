"""Tier 3: a block in the client's own MEMORY.md, which it loads into every session by itself.

The file belongs to the user: outside the block not a byte changes. Markers and ids are HTML
comments on lines of their own, which the client strips and does not count (measured,
docs/hooks.md).
"""

from __future__ import annotations

import os

from memory_fabric.errors import StoreReadOnly, StoreUnavailable
from memory_fabric.models import QUOTATION, text_with_reason
from memory_fabric.store import files
from memory_fabric.text import cut, neutralised, one_line, same_form, without_controls
from memory_fabric.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory_fabric.models import Record

BEGIN, END = "<!-- memory-fabric:begin -->", "<!-- memory-fabric:end -->"
# Begins a block after a last line without end: the line break before the block belongs to it.
BEGIN_JOINED = "<!-- memory-fabric:begin, with the line break above -->"
HEADING = "## Remembered by memory-fabric"
# The client shows 200 lines and 24.4 KB of the file; the block is a small part of that.
MAX_BLOCK_LINES = 40
MAX_FILE_LINES = 200
MAX_FILE_BYTES = 24_000
MAX_LINE_CHARS = 300
# A larger file, which the client would not show, is neither read nor written.
MAX_READ_BYTES, MAX_SETTINGS_BYTES = 1 << 20, 4 << 20
# Markers, heading and the empty line, with a margin.
BLOCK_BYTES = 250
# Longer slugs end in a hash that only the client knows, so their folder is not used.
MAX_SLUG_CHARS = 200
# Attempts to rewrite the file if others change it between reading and replacing.
ATTEMPTS = 5

_ID, _ID_ENDS, _ID_CHARS = "<!-- id: ", " -->", frozenset("0123456789abcdef-")


class MemoryFile(Value):
    """The path of MEMORY.md, and the reason if it must not be written."""

    path: str
    off_because: str = ""


class Parts(Value):
    """MEMORY.md in parts: the user's text before and after the block, and the ids in the block.

    Lines in the block that this package did not write are at the beginning of `after`.
    """

    before: str
    after: str
    ids: tuple[str, ...]
    fenced: bool


def locate(config_dir: str, project_root: str, switched_on: bool) -> MemoryFile:
    """Return the MEMORY.md of a project, by the client's slug rule and settings."""
    own = os.path.join(project_root, ".claude")
    settings = [
        files.read_json(os.path.join(folder, name), MAX_SETTINGS_BYTES)
        for folder, name in (
            (config_dir, "settings.json"),
            (own, "settings.json"),
            (own, "settings.local.json"),
        )
    ]
    slug = slug_of(project_root)
    folder = os.path.join(config_dir, "projects", slug, "memory")
    # Only the user's settings: a repository must not choose where this package writes.
    stated = settings[0].get("autoMemoryDirectory")
    stated = os.path.expanduser(stated) if isinstance(stated, str) else ""
    if os.path.isabs(stated):
        folder = stated
    path = os.path.join(folder, "MEMORY.md")
    if not switched_on:
        return MemoryFile(path, "CLAUDE_CODE_DISABLE_AUTO_MEMORY is set")
    if any(s.get("autoMemoryEnabled") is False for s in settings):
        return MemoryFile(path, "autoMemoryEnabled is false in settings.json")
    if len(slug) > MAX_SLUG_CHARS and folder != stated:
        return MemoryFile(path, "the project's path is too long for a known folder name")
    return MemoryFile(path)


def slug_of(path: str) -> str:
    """Return the client's folder name for a path: `-` for every UTF-16 unit but A-Z, a-z, 0-9."""
    return "".join(
        c if c.isascii() and c.isalnum() else "-" if c < "\U00010000" else "--" for c in path
    )


def promote(notes: MemoryFile, records: Sequence[Record], lock: str) -> tuple[str, ...]:
    """Write the block with these records, most important first; return the ids in it.

    Without records and without a block nothing changes; if the user's own text leaves no space, the
    block is removed. `lock` is a lock file outside the client's folder. Raises OSError,
    TimeoutError, StoreUnavailable, StoreReadOnly.
    """
    if not records and not parse(_read(notes.path)).fenced:
        return ()
    with files.Locked(lock):
        for _ in range(ATTEMPTS):
            found = _read(notes.path)
            text, ids = rewritten(found, records)
            if text == found or _replaced(notes.path, found, text):
                return ids
    raise StoreUnavailable(notes.path, f"{notes.path} keeps being changed by others.")


def shown_ids(notes: MemoryFile) -> tuple[str, ...]:
    """Return the ids of the records that are in the block now."""
    return parse(_read(notes.path)).ids


def rewritten(text: str, records: Sequence[Record]) -> tuple[str, tuple[str, ...]]:
    """Return the text with its block replaced by one of these records, and the ids in it."""
    parts = parse(text)
    lines, ids = _chosen(records, parts.before + parts.after)
    if not lines:
        return parts.before + parts.after, ()
    newline = "\r\n" if "\r\n" in text else "\n"
    joined = bool(parts.before) and not parts.before.endswith("\n")
    begin = newline + BEGIN_JOINED if joined else BEGIN
    fence = newline.join([begin, HEADING, "", *lines, END]) + newline
    return parts.before + fence + parts.after, ids


def parse(text: str) -> Parts:
    """Split the text into parts. Only markers on lines of their own count.

    All of several blocks count. A block without an end marker reaches as far as its lines have the
    block's form. An end marker without a beginning is the user's text.
    """
    if BEGIN not in text and BEGIN_JOINED not in text:
        return Parts(text, "", (), False)
    before: list[str] = []
    after: list[str] = []
    ids: list[str] = []
    fenced = joined = False
    lines = _lines(text)
    at = 0
    while at < len(lines):
        marker = _marker(lines[at])
        if marker not in (BEGIN, BEGIN_JOINED):
            (after if fenced else before).append(lines[at])
            at += 1
            continue
        joined = joined or (marker == BEGIN_JOINED and not fenced)
        fenced = True
        at, found, foreign = _block_at(lines, at + 1)
        ids += found
        after += foreign
    head = "".join(before)
    if joined and not after:
        head = head.removesuffix("\n").removesuffix("\r")
    return Parts(head, "".join(after), tuple(ids), fenced)


def _block_at(lines: list[str], at: int) -> tuple[int, list[str], list[str]]:
    """Return the end of the block that began before line `at`, its ids, and foreign lines in it."""
    marks = (BEGIN, BEGIN_JOINED, END)
    end = next((i for i in range(at, len(lines)) if _marker(lines[i]) in marks), len(lines))
    closed = end < len(lines) and _marker(lines[end]) == END
    at += at < end and _marker(lines[at]) == HEADING
    at += at < end and _marker(lines[at]) == ""
    ids: list[str] = []
    foreign: list[str] = []
    while at < end:
        id_ = _id_in(_marker(lines[at + 1])) if at + 1 < end else ""
        if id_ and lines[at].startswith("- ["):
            ids.append(id_)
            at += 2
        elif closed:
            foreign.append(lines[at])
            at += 1
        else:
            return at, ids, foreign
    return at + closed, ids, foreign


def _chosen(records: Sequence[Record], others: str) -> tuple[list[str], tuple[str, ...]]:
    """Return lines for as many records as fit in the file with the other text, and their ids."""
    room_lines = min(MAX_BLOCK_LINES, MAX_FILE_LINES - others.count("\n") - 2) - 2
    room_bytes = MAX_FILE_BYTES - BLOCK_BYTES - len(others.encode("utf-8", "replace"))
    lines: list[str] = []
    ids: list[str] = []
    for record in records:
        pair = [_line(record), f"<!-- id: {record.id} -->"]
        room_bytes -= sum(len(line.encode("utf-8", "replace")) + 2 for line in pair)
        if len(ids) >= room_lines or room_bytes < 0:
            break
        lines += pair
        ids.append(record.id)
    return lines, tuple(ids)


def _line(record: Record) -> str:
    text = text_with_reason(record)
    quotation = str(record.evidence.get(QUOTATION) or "")
    if quotation and same_form(quotation) not in same_form(text):
        text = f"{text} (“{quotation}”)"
    text = cut(neutralised(one_line(without_controls(text))), MAX_LINE_CHARS)
    text = text.replace("<!--", "‹!--").replace("-->", "--›")
    return f"- [{record.type} {record.created_at[:10]}] {text}"


def _replaced(path: str, before: str, text: str) -> bool:
    """Replace the file unless it was changed meanwhile; True if it was replaced."""
    parts = parse(before)
    if "\0" in parts.before + parts.after:
        raise StoreUnavailable(path, f"{path} is not UTF-8 text.")
    if before and not os.stat(path).st_mode & 0o200:
        raise StoreReadOnly(path, f"{path} is read-only.")
    data = text.encode("utf-8", "surrogateescape")
    return files.write_atomic(path, data, 0o600, still=lambda: _is_still(path, before))


def _is_still(path: str, before: str) -> bool:
    """Return True if the file holds this text, and was not replaced while that was read."""
    known = _version(path)
    return _read(path) == before and _version(path) == known


def _version(path: str) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def _lines(text: str) -> list[str]:
    """Return the lines with their ends; only a line feed ends one."""
    *whole, rest = text.split("\n")
    return [line + "\n" for line in whole] + ([rest] if rest else [])


def _id_in(marker: str) -> str:
    """Return the id in a marker; empty if it is another line."""
    id_ = marker[len(_ID) : -len(_ID_ENDS)]
    known = len(id_) == 36 and _ID_CHARS.issuperset(id_)
    return id_ if known and marker == f"{_ID}{id_}{_ID_ENDS}" else ""


def _marker(line: str) -> str:
    return line.rstrip(" \t\r\n")


def _read(path: str) -> str:
    return (files.read_bytes(path, MAX_READ_BYTES) or b"").decode("utf-8", "surrogateescape")
