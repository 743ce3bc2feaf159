"""Reader of a decisions.jsonl that anyone may have edited, so its lines are untrusted claims. Only
the end of the file, with the newest records, is read, and long texts are shortened.
"""

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from memory_fabric import ids, text
from memory_fabric.models import ENTITY_TYPES, OUTCOMES, RECORD_TYPES, SHARED_LOG
from memory_fabric.store import files

# If a file is larger, only its end is read, because new lines are appended.
MAX_BYTES = 2 << 20
# Only the newest records of others are used: more would crowd out the user's own (decision 0046).
MAX_RECORDS = 1000
MAX_LINE_CHARS = 32 << 10
MAX_WHAT_CHARS, MAX_WHY_CHARS, MAX_PART_CHARS, MAX_NAME_CHARS = 2000, 1000, 300, 60
MAX_PARTS = 8
# Confidence limits for others' records: high enough to store, too low to show in MEMORY.md.
LEAST_CONFIDENCE, MOST_CONFIDENCE = 0.5, 0.6
MARKERS = ("<<<<<<<", "=======", ">>>>>>>", "|||||||")
# Characters allowed in names besides letters and digits; none of them can end an author's label.
IN_NAMES = " ._-@+"
_HEX = "0123456789abcdef"
_FORM = "0000-00-00T00:00:00.000Z"
_AS_ZEROS = str.maketrans("123456789", "000000000")


class Claim(NamedTuple):
    """A record's last line. `sum` is its checksum; `record` is None if the record was forgotten."""

    id: str
    sum: int
    record: Any = None


class Read(NamedTuple):
    """A file's claims and number of unreadable lines (see `claims_in`), and the file's `stamp`."""

    claims: tuple[Claim, ...] = ()
    unreadable: int = 0
    stamp: str = ""


def stamp(path: str) -> str:
    """Return a value that changes when the file changes; '' unless it is a regular file."""
    try:
        return _stamp(os.lstat(path))
    except OSError:
        return ""


def read(path: str) -> Read | None:
    """Read the claims in a file; return None unless it is a regular file. Raises OSError."""
    end = read_end(path)
    return None if end is None else Read(*claims_in(end[0]), end[1])


def claims_in(content: bytes) -> tuple[tuple[Claim, ...], int]:
    """Return a claim for each record's last line, in file order, and the number of bad lines."""
    last: dict[str, Claim] = {}
    unreadable = 0
    for line in content.decode("utf-8", "replace").split("\n"):
        line = line.strip("\ufeff \t\r")
        if not line:
            continue
        may_parse = len(line) <= MAX_LINE_CHARS and not line.startswith(MARKERS)
        value = files.parsed(line) if may_parse else None
        is_forgotten = value is not None and value.get("forgotten") is True
        if value is None or not is_id(value.get("id")) or not (is_forgotten or is_of_a_team(value)):
            unreadable += 1  # not written by this package
            continue
        last.pop(value["id"], None)  # inserting it again moves the record to the end
        last[value["id"]] = Claim(value["id"], ids.checksum(line), None if is_forgotten else value)
    return tuple(last.values()), unreadable


def read_end(path: str, max_bytes: int = MAX_BYTES) -> tuple[bytes, str] | None:
    """Return whole lines of a file's last `max_bytes`, and its stamp; None if it is not regular."""
    if not stamp(path):
        return None
    handle = os.open(path, os.O_RDONLY | files.NO_LINK | files.NO_WAIT)
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(handle)
        stamped = _stamp(status)
        if not stamped:
            return None
        start = max(0, status.st_size - max_bytes)
        file.seek(start)
        raw = file.read(max_bytes)
    return (raw.partition(b"\n")[2] if start else raw), stamped


def has_conflict(path: str) -> bool:
    """Return True if the file has conflict markers of an unfinished merge."""
    try:
        end = read_end(path)
    except OSError:
        return False
    lines = end[0].split(b"\n") if end is not None else []
    return any(line.startswith((b"<<<<<<<", b">>>>>>>")) for line in lines)


def is_id(value: object) -> bool:
    """Return True if the whole value is one id in this package's form."""
    if not isinstance(value, str) or len(value) != 36:
        return False
    digits = value[:8] + value[9:13] + value[14:18] + value[19:23] + value[24:]
    return value[8] + value[13] + value[18] + value[23] == "----" and not digits.strip(_HEX)


def moment(value: object) -> str:
    """Return the time if it has the stored format (ISO 8601, UTC, milliseconds), else ''."""
    if not isinstance(value, str) or len(value) != len(_FORM):
        return ""
    return value if value.translate(_AS_ZEROS) == _FORM else ""


def is_of_a_team(value: Mapping[str, Any]) -> bool:
    """Return True if the value is an active record with a text and the scope `team`."""
    kind, what = value.get("type"), value.get("what")
    if not isinstance(kind, str) or kind not in RECORD_TYPES or not isinstance(what, str):
        return False
    if value.get("status", "active") != "active" or value.get("scope", "team") != "team":
        return False
    return bool(what.strip() if what.isprintable() else plain_text(what, MAX_WHAT_CHARS))


def record_of(claim: Claim) -> dict[str, Any]:
    """Return the fields of a claim's record, validated and limited in length, ready to store."""
    value = claim.record
    outcome, origin = value.get("outcome"), name_in(value.get("origin"))
    confidence = value.get("confidence")
    if isinstance(confidence, bool) or not isinstance(confidence, int | float):
        confidence = LEAST_CONFIDENCE
    return {
        "id": value["id"],
        "type": value["type"],
        "what": plain_text(value["what"], MAX_WHAT_CHARS),
        "why": plain_text(value.get("why"), MAX_WHY_CHARS),
        **{
            name: [plain_text(p, MAX_PART_CHARS) for p in _parts(value, name) if isinstance(p, str)]
            for name in ("alternatives", "constraints", "tradeoffs")
        },
        "entities": _entities(value),
        "outcome": outcome if isinstance(outcome, str) and outcome in OUTCOMES else "neutral",
        "category": name_in(value.get("category")),
        "domain": name_in(value.get("domain")) or "general",
        "confidence": float(min(MOST_CONFIDENCE, max(LEAST_CONFIDENCE, confidence))),
        "author": name_in(value.get("author")),
        # A record in a file must not claim to come from a shared log.
        "origin": "" if origin == SHARED_LOG else origin,
        **{name: moment(value.get(name)) for name in ("created_at", "valid_from", "valid_to")},
        "superseded_by": value["superseded_by"] if is_id(value.get("superseded_by")) else "",
    }


def plain_text(value: object, max_chars: int) -> str:
    """Return the text on one line, without invisible characters, limited to `max_chars`."""
    if not isinstance(value, str):
        return ""
    if not value.isprintable():
        value = "".join(c if c.isprintable() else " " if c.isspace() else "" for c in value)
    return text.cut(text.one_line(value), max_chars)


def name_in(value: object) -> str:
    """Return the name without characters that could end or imitate the author's label in a line."""
    if not isinstance(value, str):
        return ""
    if value.isalnum() and len(value) <= MAX_NAME_CHARS:
        return value  # most names need no change
    plain = "".join(c if c.isalnum() or c in IN_NAMES else " " for c in value[: 4 * MAX_NAME_CHARS])
    return " ".join(plain.split())[:MAX_NAME_CHARS]


def _parts(value: Mapping[str, Any], name: str) -> list[Any]:
    return value[name][:MAX_PARTS] if isinstance(value.get(name), list) else []


def _entities(value: Mapping[str, Any]) -> list[list[str]]:
    entities = []
    for pair in _parts(value, "entities"):
        if isinstance(pair, list) and len(pair) == 2 and all(isinstance(p, str) for p in pair):
            name = plain_text(pair[0], MAX_PART_CHARS)
            if name:
                entities.append([name, pair[1] if pair[1] in ENTITY_TYPES else "unknown"])
    return entities


def _stamp(status: os.stat_result) -> str:
    if status.st_mode & files.FILE_KIND != files.REGULAR:
        return ""
    return f"{status.st_size} {status.st_mtime_ns} {status.st_ino}"
