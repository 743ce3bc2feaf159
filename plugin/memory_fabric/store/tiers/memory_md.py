"""A block of memories in the client's own MEMORY.md, which the client loads into every session.

The file belongs to the user: no byte outside the block changes. Markers and ids are HTML comments
on separate lines; the client removes these and does not count them (measured, docs/hooks.md).
"""

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from memory_fabric.errors import StoreReadOnly, StoreUnavailable
from memory_fabric.models import SAID_BEFORE, Record, by_words, shown_type, users_words, worded
from memory_fabric.store import files
from memory_fabric.text import cut, folded, neutralised, one_line, unfolded, without_controls

# A function that receives the block's lines by id, and returns the ids of the lines to keep.
Keeps = Callable[[Mapping[str, str]], Collection[str]]

BEGIN, END = "<!-- memory-fabric:begin -->", "<!-- memory-fabric:end -->"
# Begin marker if the user's text has no final line break. One is added, and removed with the block.
BEGIN_JOINED = "<!-- memory-fabric:begin, with the line break above -->"
# Must not change: under another heading, existing blocks would count as text of the user.
HEADING = "## Remembered by memory-fabric"
# The heading of lines whose records are in no database: the file may have their only copy.
LACKED = "Not in this memory; `memory-fabric project adopt` restores:"
# The client shows 200 lines and 24.4 KB of the file; the block must be a small part of this.
MAX_BLOCK_LINES = 40
MAX_FILE_LINES = 200
MAX_FILE_BYTES = 24_000
MAX_LINE_CHARS = 300
# After a long quotation, the assistant's sentence is cut to this; the quotation is never cut.
CAPTION_CHARS = 200
# Larger files, which the client would not show, are neither read nor written.
MAX_READ_BYTES, MAX_SETTINGS_BYTES = 1 << 20, 4 << 20
# The bytes of markers, heading and empty line together, with a margin.
BLOCK_BYTES = 250
# A longer slug ends in a hash that only the client can compute, so its folder is not used.
MAX_SLUG_CHARS = 200
# Maximum number of attempts to rewrite the file, if others change it after it was read.
ATTEMPTS = 5

# Some editors put a byte order mark before the first line, which may be the block's.
BOM = "\ufeff"
_ID, _ID_ENDS, _ID_CHARS = "<!-- id: ", " -->", frozenset("0123456789abcdef-")


class MemoryFile(NamedTuple):
    """The path of MEMORY.md, and the reason why it must not be written ('' if it may be)."""

    path: str
    off_because: str = ""


class Parts(NamedTuple):
    """Parts of a MEMORY.md: the user's text `before` the block, the user's text `after` it or
    inside it, and the block's own `lines` by record id. `fenced` is True if there is a block.
    """

    before: str
    after: str
    lines: Mapping[str, str]
    fenced: bool


def locate(config_dir: str, project_root: str, off_by: str = "") -> MemoryFile:
    """Locate MEMORY.md as the client does; `off_by` is the variable that disabled it, if any."""
    own = os.path.join(project_root, ".claude")
    paths = [os.path.join(folder, "settings.json") for folder in (config_dir, own)]
    paths.append(os.path.join(own, "settings.local.json"))
    settings = [files.read_json(path, MAX_SETTINGS_BYTES) for path in paths]
    slug = slug_of(project_root)
    folder = os.path.join(config_dir, "projects", slug, "memory")
    # Read only from the user's settings: a repository must not choose where this package writes.
    stated = settings[0].get("autoMemoryDirectory")
    stated = os.path.expanduser(stated) if isinstance(stated, str) else ""
    is_chosen = os.path.isabs(stated)
    off_because = f"{off_by} is set" if off_by else ""
    if any(s.get("autoMemoryEnabled") is False for s in settings):
        off_because = off_because or "autoMemoryEnabled is false in settings.json"
    if len(slug) > MAX_SLUG_CHARS and not is_chosen:
        off_because = off_because or "the project's path is too long for a known folder name"
    return MemoryFile(os.path.join(stated if is_chosen else folder, "MEMORY.md"), off_because)


def slug_of(path: str) -> str:
    """Return the client's folder name for a path: each UTF-16 unit but A-Za-z0-9 becomes `-`."""
    plain = (c if c.isascii() and c.isalnum() else "-" if c < "\U00010000" else "--" for c in path)
    return "".join(plain)


def promote(
    notes: MemoryFile, records: Sequence[Record], lock: str, keeps: Keeps | None = None
) -> tuple[str, ...]:
    """Write the block with these records, most important first; return the ids of those that fit.
    The block may have lines for other records: those whose ids `keeps` returns stay, below the new
    lines, and the rest are dropped. Without records, nothing changes unless a block exists. If the
    user's own text leaves no space, the block is removed. `lock` is the path of a lock file outside
    the client's folder. Raises OSError, TimeoutError, StoreUnavailable, StoreReadOnly.
    """
    if not records and not parse(_read(notes.path)).fenced:
        return ()
    with files.Locked(lock):
        for _ in range(ATTEMPTS):
            before = _read(notes.path)
            text, ids = rewritten(before, records, keeps)
            if text == before or _replaced(notes.path, before, text):
                return ids
    raise StoreUnavailable(notes.path, f"{notes.path} keeps being changed by others.")


def shown_lines(notes: MemoryFile) -> Mapping[str, str]:
    """Return the lines of the block in MEMORY.md, by record id."""
    return parse(_read(notes.path)).lines


def rewritten(
    text: str, records: Sequence[Record], keeps: Keeps | None = None
) -> tuple[str, tuple[str, ...]]:
    """Return the text with its block replaced, and the ids of records that fit; see `promote`."""
    parts = parse(text)
    ids_given = {record.id for record in records}
    other_lines = {id_: line for id_, line in parts.lines.items() if id_ not in ids_given}
    staying = keeps(other_lines) if keeps and other_lines else ()
    lacked = [(line, id_) for id_, line in other_lines.items() if id_ in staying]
    other_text = parts.before + parts.after
    room_lines = min(MAX_BLOCK_LINES, MAX_FILE_LINES - other_text.count("\n") - 2) - 2
    room_bytes = MAX_FILE_BYTES - BLOCK_BYTES - len(other_text.encode("utf-8", "replace"))
    behind, ids_behind = _fitting(lacked, room_lines - bool(lacked), room_bytes)
    room_bytes -= sum(map(_size, behind))
    room_lines -= bool(lacked) + len(ids_behind)
    ordered = [records[place] for place in by_words(records)]
    whole = [_line(record) for record in ordered]
    pairs = zip(map(folded, whole, ["", *whole]), (r.id for r in ordered), strict=True)
    lines, ids = _fitting(pairs, room_lines, room_bytes)
    lines += [LACKED, *behind] if behind else []
    if not lines:
        return other_text, ()
    newline = "\r\n" if "\r\n" in text else "\n"
    joined = bool(parts.before) and not parts.before.endswith("\n")
    begin = newline + BEGIN_JOINED if joined else BEGIN
    block = newline.join([begin, HEADING, "", *lines, END]) + newline
    return parts.before + block + parts.after, tuple(ids)


def parse(text: str) -> Parts:
    """Split a MEMORY.md into its parts. A marker counts only on a line of its own. Several blocks
    are joined. A block without an end marker ends at the first line that does not have the form of
    a block's lines. An end marker without a begin marker is text of the user.
    """
    if BEGIN not in text and BEGIN_JOINED not in text:
        return Parts(text, "", {}, False)
    before, after, ours = list[str](), list[str](), dict[str, str]()
    fenced = joined = False
    # Only a line feed ends a line; `splitlines` would also split at other characters.
    *whole, last = text.split("\n")
    lines = [f"{line}\n" for line in whole] + ([last] if last else [])
    at = 0
    while at < len(lines):
        marker = _marker(lines[at])
        if marker not in (BEGIN, BEGIN_JOINED):
            (after if fenced else before).append(lines[at])
            at += 1
            continue
        joined = joined or (marker == BEGIN_JOINED and not fenced)
        fenced = True
        at, block, foreign = _block_at(lines, at + 1)
        ours |= block
        after += foreign
    head = "".join(before)
    if joined and not after:
        head = head.removesuffix("\n").removesuffix("\r")
    return Parts(head, "".join(after), ours, fenced)


def _block_at(lines: list[str], at: int) -> tuple[int, dict[str, str], list[str]]:
    """Return the index after the block at `at`, its lines by record id, and lines of the user."""
    marks = (BEGIN, BEGIN_JOINED, END)
    end = next((i for i in range(at, len(lines)) if _marker(lines[i]) in marks), len(lines))
    closed = end < len(lines) and _marker(lines[end]) == END
    at += at < end and _marker(lines[at]) == HEADING
    at += at < end and _marker(lines[at]) == ""
    ours, foreign = dict[str, str](), list[str]()
    while at < end:
        marker = _marker(lines[at + 1]) if at + 1 < end else ""
        id_ = marker[len(_ID) : -len(_ID_ENDS)]
        is_id = len(id_) == 36 and _ID_CHARS.issuperset(id_) and marker == f"{_ID}{id_}{_ID_ENDS}"
        if is_id and lines[at].startswith("- ["):
            if line := unfolded(_marker(lines[at]), next(reversed(ours.values()), "")):
                ours[id_] = line
            at += 1
        elif _marker(lines[at]) != LACKED:
            if not closed:
                return at, ours, foreign
            foreign.append(lines[at])
        at += 1
    return at + closed, ours, foreign


def _fitting(
    pairs: Iterable[tuple[str, str]], room_lines: int, room_bytes: int
) -> tuple[list[str], list[str]]:
    listed = [([line, f"{_ID}{id_}{_ID_ENDS}"], id_) for line, id_ in pairs]
    sizes = accumulate(sum(map(_size, lines)) for lines, _ in listed)
    fitting = [item for item, end in zip(listed, sizes, strict=True) if end <= room_bytes]
    fitting = fitting[: max(0, room_lines)]
    return [line for lines, _ in fitting for line in lines], [id_ for _, id_ in fitting]


def _size(line: str) -> int:
    """Return the number of bytes of a line, including the longest possible line end."""
    return len(line.encode("utf-8", "replace")) + 2


def _line(record: Record) -> str:
    words = users_words(record)
    text = worded(record, max(MAX_LINE_CHARS, len(words) + CAPTION_CHARS), why=True)
    text = neutralised(one_line(without_controls(text)))
    text = text if words else cut(text, MAX_LINE_CHARS)
    text = text.replace("<!--", "‹!--").replace("-->", "--›")
    since = ", noted otherwise since" if SAID_BEFORE in record.evidence else ""
    return f"- [{shown_type(record.type)} {record.created_at[:10]}{since}] {text}"


def _replaced(path: str, before: str, text: str) -> bool:
    parts = parse(before)
    if "\0" in parts.before + parts.after:
        raise StoreUnavailable(path, f"{path} is not UTF-8 text.")
    if before and not os.stat(path).st_mode & 0o200:
        raise StoreReadOnly(path, f"{path} is read-only.")

    def is_still(path: str) -> bool:
        """Return True if the text is still `before` and the file did not change during reading."""
        stamp = files.stamp(path)
        return _read(path) == before and files.stamp(path) == stamp

    return files.write_atomic(path, text.encode("utf-8", "surrogateescape"), still=is_still)


def _marker(line: str) -> str:
    return line.removeprefix(BOM).rstrip(" \t\r\n")


def _read(path: str) -> str:
    return (files.read_bytes(path, MAX_READ_BYTES) or b"").decode("utf-8", "surrogateescape")
