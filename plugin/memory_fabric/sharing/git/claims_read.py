"""Reader of a decisions.jsonl that anyone may have edited, as untrusted claims.

Limited to its last bytes, its newest records, and short texts. Unreadable lines are counted.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from memory_fabric.ids import checksum
from memory_fabric.models import ENTITY_TYPES, OUTCOMES, RECORD_TYPES, SHARED_LOG
from memory_fabric.store import files
from memory_fabric.text import cut, one_line

# Only the end of a larger file is read, where new lines are appended.
MAX_BYTES = 2 << 20
# Only the newest: a flood of others' records must not displace the user's own
# (docs/decisions/0020).
MAX_RECORDS = 1000
MAX_LINE_CHARS = 32 << 10
MAX_WHAT_CHARS, MAX_WHY_CHARS, MAX_PART_CHARS, MAX_NAME_CHARS = 2000, 1000, 300, 60
MAX_PARTS = 8
# Between the least confidence that is stored and the least that MEMORY.md shows.
LEAST_CONFIDENCE, MOST_CONFIDENCE = 0.5, 0.6
MARKERS = ("<<<<<<<", "=======", ">>>>>>>", "|||||||")
# Characters in names besides letters and digits: none that could end a mark in a rendered line.
IN_NAMES = " ._-@+"


class Claim(NamedTuple):
    """The last line of one id: the record's fields as in the line, or None if it was forgotten.

    `record_of` limits the fields. `sum` is a checksum of the line.
    """

    id: str
    sum: int
    record: Any = None


class Read(NamedTuple):
    """Claims in the order of their last lines, the number of unreadable lines, and the file's
    stamp.

    `numbers` are those of unreadable lines from the start of the file; empty if only its end was
    read.
    """

    claims: tuple[Claim, ...] = ()
    unreadable: int = 0
    numbers: tuple[int, ...] = ()
    stamp: str = ""


def stamp(path: str) -> str:
    """Return a value that changes with the file, by one stat; empty if it is no regular file."""
    try:
        found = os.lstat(path)
    except OSError:
        return ""
    return _stamp(found)


def read(path: str, max_bytes: int = MAX_BYTES) -> Read | None:
    """Read the claims of a file; None if it is missing or no regular file.

    Raises OSError.
    """
    found = read_end(path, max_bytes)
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
            last.pop(claim.id, None)  # the last line of an id decides its order, too
            last[claim.id] = claim
    return Read(tuple(last.values()), len(numbers), tuple(numbers) if whole else (), stamped)


def read_end(path: str, max_bytes: int = MAX_BYTES) -> tuple[bytes, bool, str] | None:
    """Return the last bytes of a file in whole lines, whether they are all of it, and its stamp.

    None for a link, a pipe, a device or a missing file. Raises OSError.
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
    """True if the file has conflict markers of an unfinished merge."""
    try:
        found = read_end(path)
    except OSError:
        return False
    if found is None:
        return False
    return any(line.startswith((b"<<<<<<<", b">>>>>>>")) for line in found[0].split(b"\n"))


def claim_in(line: str) -> Claim | None:
    """Return the claim in a line; None if this package could not have written it."""
    if len(line) > MAX_LINE_CHARS or line.startswith(MARKERS):
        return None
    value = files.parsed(line)
    if value is None or not is_id(value.get("id")):
        return None
    if value.get("forgotten") is True:
        return Claim(value["id"], checksum(line))
    return Claim(value["id"], checksum(line), value) if is_of_a_team(value) else None


def is_id(value: object) -> bool:
    """True for a value in the form of our ids: a longer one could end with the id of another
    record.
    """
    if not isinstance(value, str) or len(value) != 36:
        return False
    digits = value[:8] + value[9:13] + value[14:18] + value[19:23] + value[24:]
    return value[8] + value[13] + value[18] + value[23] == "----" and not digits.strip(_HEX)


def moment(value: object) -> str:
    """Return a time in the stored form (ISO 8601, UTC, milliseconds); empty for anything else."""
    if not isinstance(value, str) or len(value) != len(_FORM):
        return ""
    return value if value.translate(_AS_ZEROS) == _FORM else ""


_HEX = "0123456789abcdef"
_FORM = "0000-00-00T00:00:00.000Z"
_AS_ZEROS = str.maketrans("123456789", "000000000")


def is_of_a_team(value: Mapping[str, Any]) -> bool:
    """True for an active record of scope team with a text."""
    kind, what = value.get("type"), value.get("what")
    if not isinstance(kind, str) or kind not in RECORD_TYPES or not isinstance(what, str):
        return False
    if value.get("status", "active") != "active" or value.get("scope", "team") != "team":
        return False
    return bool(plain_text(what[:MAX_WHAT_CHARS], MAX_WHAT_CHARS))


def record_of(claim: Claim) -> dict[str, Any]:
    """Return the fields of a claim that are stored, checked and limited in length."""
    value = claim.record
    outcome = value.get("outcome")
    return {
        "id": value["id"],
        "type": value["type"],
        "what": plain_text(value["what"], MAX_WHAT_CHARS),
        "why": plain_text(value.get("why"), MAX_WHY_CHARS),
        **{name: _texts(value.get(name)) for name in ("alternatives", "constraints", "tradeoffs")},
        "entities": _entities(value.get("entities")),
        "outcome": outcome if isinstance(outcome, str) and outcome in OUTCOMES else "neutral",
        "category": name_in(value.get("category")),
        "domain": name_in(value.get("domain")) or "general",
        "confidence": _confidence(value.get("confidence")),
        "author": name_in(value.get("author")),
        "origin": _origin_in(value.get("origin")),
        "created_at": moment(value.get("created_at")),
        "valid_from": moment(value.get("valid_from")),
        "valid_to": moment(value.get("valid_to")),
        "superseded_by": value["superseded_by"] if is_id(value.get("superseded_by")) else "",
    }


def plain_text(value: object, max_chars: int) -> str:
    """Return the text on one line, without invisible characters and any that no index can hold."""
    if not isinstance(value, str):
        return ""
    if not value.isprintable():
        value = "".join(c if c.isprintable() else " " if c.isspace() else "" for c in value)
    return cut(one_line(value), max_chars)


def _texts(value: object) -> list[str]:
    if not isinstance(value, list):
        return []
    return [plain_text(part, MAX_PART_CHARS) for part in value[:MAX_PARTS] if isinstance(part, str)]


def name_in(value: object) -> str:
    """Return a name for the mark of a rendered line, which it must not end or imitate."""
    if not isinstance(value, str):
        return ""
    if value.isalnum() and len(value) <= MAX_NAME_CHARS:
        return value  # as most are
    kept = "".join(c if c.isalnum() or c in IN_NAMES else " " for c in value[: 4 * MAX_NAME_CHARS])
    return " ".join(kept.split())[:MAX_NAME_CHARS]


def _entities(value: object) -> list[list[str]]:
    if not isinstance(value, list):
        return []
    found = []
    for pair in value[:MAX_PARTS]:
        if isinstance(pair, list) and len(pair) == 2 and all(isinstance(p, str) for p in pair):
            name = plain_text(pair[0], MAX_PART_CHARS)
            if name:
                found.append([name, pair[1] if pair[1] in ENTITY_TYPES else "unknown"])
    return found


def _confidence(value: object) -> float:
    """Return the confidence within the bounds; the least for anything but a number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return LEAST_CONFIDENCE
    return float(min(MOST_CONFIDENCE, max(LEAST_CONFIDENCE, value)))


def _stamp(status: os.stat_result) -> str:
    if status.st_mode & files.FILE_KIND != files.REGULAR:
        return ""
    return f"{status.st_size} {status.st_mtime_ns} {status.st_ino}"


def _origin_in(value: Any) -> str:
    """Return a machine's name; no line of a file may pass for a shared log's."""
    name = name_in(value)
    return "" if name == SHARED_LOG else name
