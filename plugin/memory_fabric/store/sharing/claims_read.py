"""A decisions.jsonl that anyone may have edited, as the claims that can be read in it.

Bounded: its last bytes, its newest records, and short texts. A line that cannot be read is counted.
"""

from __future__ import annotations

import os

from memory_fabric.ids import checksum
from memory_fabric.models import ENTITY_TYPES, OUTCOMES, RECORD_TYPES
from memory_fabric.store import files
from memory_fabric.text import cut, one_line
from memory_fabric.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

# Of a larger file the end is read: the file grows there.
MAX_BYTES = 2 << 20
# The newest; a flood of others must not drown what the user said (docs/decisions/0020).
MAX_RECORDS = 1000
MAX_LINE_CHARS = 32 << 10
MAX_WHAT_CHARS, MAX_WHY_CHARS, MAX_PART_CHARS, MAX_NAME_CHARS = 2000, 1000, 300, 60
MAX_PARTS = 8
# Between what is stored at all and what MEMORY.md would show.
LEAST_CONFIDENCE, MOST_CONFIDENCE = 0.5, 0.6
MARKERS = ("<<<<<<<", "=======", ">>>>>>>", "|||||||")
# What a name may hold beside letters and digits: nothing that could end a mark of a rendered line.
IN_NAMES = " ._-@+"


class Claim(Value):
    """What the file says last of one id: a record's fields as they stand in the line (`record_of`
    makes them ours), or None when it says forgotten. `sum` is a checksum of the line.
    """

    id: str
    sum: int
    record: Any = None


class Read(Value):
    """Claims in the order of their last lines, lines that could not be read, and the file's stamp.

    `numbers` count from the start of the file; empty when only its end was read.
    """

    claims: tuple[Claim, ...] = ()
    unreadable: int = 0
    numbers: tuple[int, ...] = ()
    stamp: str = ""


def stamp(path: str) -> str:
    """What changes with the file, by one stat; empty when there is no regular file."""
    try:
        found = os.lstat(path)
    except OSError:
        return ""
    return _stamp(found)


def read(path: str, max_bytes: int = MAX_BYTES) -> Read | None:
    """What the file says; None when there is none, or something that is no regular file.

    Raises OSError.
    """
    found = end_of(path, max_bytes)
    if found is None:
        return None
    raw, whole, stamped = found
    lines = raw.decode("utf-8", "replace").split("\n")
    last: dict[str, Claim] = {}
    numbers = []
    for number, line in enumerate(lines, start=1):
        line = line.strip("\ufeff \t\r")
        if not line:
            continue
        claim = claim_in(line)
        if claim is None:
            numbers.append(number)
        else:
            last.pop(claim.id, None)  # what is said last stands last
            last[claim.id] = claim
    return Read(tuple(last.values()), len(numbers), tuple(numbers) if whole else (), stamped)


def end_of(path: str, max_bytes: int = MAX_BYTES) -> tuple[bytes, bool, str] | None:
    """The last bytes of a file, whole lines only, whether they are all, and its stamp.

    None for a link, a pipe, a device and for nothing. Raises OSError.
    """
    flags = os.O_RDONLY | files.NO_LINK | files.NO_WAIT
    if not stamp(path):
        return None
    handle = os.open(path, flags)
    try:
        status = os.fstat(handle)
        stamped = _stamp(status)
        if not stamped:
            return None
        start = max(0, status.st_size - max_bytes)
        os.lseek(handle, start, os.SEEK_SET)
        parts, left = [], max_bytes
        while left and (part := os.read(handle, left)):
            parts.append(part)
            left -= len(part)
    finally:
        os.close(handle)
    raw = b"".join(parts)
    return (raw if not start else raw.partition(b"\n")[2]), not start, stamped


def has_conflict(path: str) -> bool:
    """Whether a merge stopped in the file and nobody has settled it yet."""
    try:
        found = end_of(path)
    except OSError:
        return False
    if found is None:
        return False
    return any(line.startswith((b"<<<<<<<", b">>>>>>>")) for line in found[0].split(b"\n"))


def claim_in(line: str) -> Claim | None:
    """What a line claims; None when it is nothing that we could have written."""
    if len(line) > MAX_LINE_CHARS or line.startswith(MARKERS):
        return None
    value = files.parsed(line)
    if value is None or not is_id(value.get("id")):
        return None
    if value.get("forgotten") is True:
        return Claim(value["id"], checksum(line))
    return Claim(value["id"], checksum(line), value) if _is_of_a_team(value) else None


def is_id(value: object) -> bool:
    """Whether this has the form of our ids: a longer one could end in the id of another record."""
    if not isinstance(value, str) or len(value) != 36:
        return False
    digits = value[:8] + value[9:13] + value[14:18] + value[19:23] + value[24:]
    return value[8] + value[13] + value[18] + value[23] == "----" and not digits.strip(_HEX)


def moment(value: object) -> str:
    """A time in our own form (ISO 8601, UTC, milliseconds); empty for anything else."""
    if not isinstance(value, str) or len(value) != len(_FORM):
        return ""
    fits = all(
        c.isascii() and c.isdigit() if f == "0" else c == f
        for c, f in zip(value, _FORM, strict=True)
    )
    return value if fits else ""


_HEX = "0123456789abcdef"
_FORM = "0000-00-00T00:00:00.000Z"


def _is_of_a_team(value: Mapping[str, Any]) -> bool:
    """Whether a line is an active record of scope team that says something."""
    kind, what = value.get("type"), value.get("what")
    if not isinstance(kind, str) or kind not in RECORD_TYPES or not isinstance(what, str):
        return False
    if value.get("status", "active") != "active" or value.get("scope", "team") != "team":
        return False
    return bool(_text(what[:MAX_WHAT_CHARS], MAX_WHAT_CHARS))


def record_of(claim: Claim) -> dict[str, Any]:
    """The fields of a claim that count, each in its form and length."""
    value = claim.record
    outcome = value.get("outcome")
    return {
        "id": value["id"],
        "type": value["type"],
        "what": _text(value["what"], MAX_WHAT_CHARS),
        "why": _text(value.get("why"), MAX_WHY_CHARS),
        **{name: _texts(value.get(name)) for name in ("alternatives", "constraints", "tradeoffs")},
        "entities": _entities(value.get("entities")),
        "outcome": outcome if isinstance(outcome, str) and outcome in OUTCOMES else "neutral",
        "category": _name(value.get("category")),
        "domain": _name(value.get("domain")) or "general",
        "confidence": _confidence(value.get("confidence")),
        "author": _name(value.get("author")),
        "origin": _name(value.get("origin")),
        "created_at": moment(value.get("created_at")),
        "valid_from": moment(value.get("valid_from")),
        "valid_to": moment(value.get("valid_to")),
        "superseded_by": value["superseded_by"] if is_id(value.get("superseded_by")) else "",
    }


def _text(value: object, max_chars: int) -> str:
    """The text on one line, without what no screen shows and no index can hold."""
    if not isinstance(value, str):
        return ""
    if not value.isprintable():
        value = "".join(c if c.isprintable() else " " if c.isspace() else "" for c in value)
    return cut(one_line(value), max_chars)


def _texts(value: object) -> list[str]:
    if not isinstance(value, list):
        return []
    return [_text(part, MAX_PART_CHARS) for part in value[:MAX_PARTS] if isinstance(part, str)]


def _name(value: object) -> str:
    """A name that stands in a mark of a rendered line: it must not end or imitate one."""
    if not isinstance(value, str):
        return ""
    kept = "".join(c if c.isalnum() or c in IN_NAMES else " " for c in value[: 4 * MAX_NAME_CHARS])
    return " ".join(kept.split())[:MAX_NAME_CHARS]


def _entities(value: object) -> list[list[str]]:
    if not isinstance(value, list):
        return []
    found = []
    for pair in value[:MAX_PARTS]:
        if isinstance(pair, list) and len(pair) == 2 and all(isinstance(p, str) for p in pair):
            name = _text(pair[0], MAX_PART_CHARS)
            if name:
                found.append([name, pair[1] if pair[1] in ENTITY_TYPES else "unknown"])
    return found


def _confidence(value: object) -> float:
    """Between the bounds; what is no number is the least."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return LEAST_CONFIDENCE
    return float(min(MOST_CONFIDENCE, max(LEAST_CONFIDENCE, value)))


def _stamp(status: os.stat_result) -> str:
    if status.st_mode & files.FILE_KIND != files.REGULAR:
        return ""
    return f"{status.st_size} {status.st_mtime_ns} {status.st_ino}"
