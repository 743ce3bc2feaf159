"""Operations in the form in which machines exchange them: the state of one row, by one author.

An operation is its author's current statement under a key: a record, or a row of the graph. Its
`base` lists the author's operations that it replaces, so a reader needs no clock to know which of
two operations is newer. An author's operations on a key that were not replaced are the *heads*. If
there are several heads, two machines wrote before they read each other's operations.

The payload in the log is JSON, with a `value` or, for the user's own machines only, `sealed`:

{"v": 1, "key": ..., "base": [...], "clock": ..., "value": {...} or null, "proof": ...}
"""

import hashlib
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, Protocol

# The payload version that this release writes. Newer payloads stay unread until an update.
FORM = 1
RECORD, ENTITY, OBSERVATION, RELATION = "record", "entity", "observation", "relation"
# SEALED: an operation encrypted for the user's own machines. PURGE: a demand to erase a key.
SEALED, PURGE = "sealed", "purge"
# DISMISSAL: the user forgot or purged others' statements. Only the user's machines can read it.
DISMISSAL = "dismissal"
KINDS = (RECORD, ENTITY, OBSERVATION, RELATION, SEALED, PURGE, DISMISSAL)
# For each kind, the prefix of its keys, and the fields from which the key is computed.
PREFIXES = {RECORD: "r", ENTITY: "e", OBSERVATION: "o", RELATION: "l", DISMISSAL: "d"}
NAMED_BY = {
    RECORD: ("id",), ENTITY: ("name",), OBSERVATION: ("entity", "text"),
    RELATION: ("from", "relationType", "to"), DISMISSAL: ("of",),
}  # fmt: skip
# The maximum size of a payload, as JSON in UTF-8; the server has the same limit.
MAX_PAYLOAD_BYTES = 256 << 10
# Limit of nesting. This package writes seven levels; hundreds would exceed the recursion limit.
MAX_DEPTH = 50
# Added to a withdrawal's `base` if the record was not forgotten, but moved or made `local`.
KEPT = "00000000-0000-0000-0000-000000000000"
# The lengths, in characters, of the three fields of a clock reading.
TIME_DIGITS, COUNTER_DIGITS, ORIGIN_CHARS = 13, 4, 8
_READING = TIME_DIGITS + COUNTER_DIGITS
# The role of a member who may add and remove members.
OWNER = "owner"


class TeamOperation(NamedTuple):
    """One operation in a shared log. `origin` is the id of a machine; `author` is the member's
    name, '' until the server sets it. `value` is None if the author withdraws the statement.
    `clock` sorts concurrent operations; times are ISO 8601 UTC. `proof` shows the user's machines
    that the operation is the user's own; `sealed` is the value, encrypted for these machines only.
    """

    op_id: str
    origin: str
    kind: str
    key: str
    value: Mapping[str, Any] | None
    base: tuple[str, ...] = ()
    clock: str = ""
    made_at: str = ""
    author: str = ""
    proof: str = ""
    sealed: str = ""
    form: int = FORM


class Position(NamedTuple):
    """A position in a shared log: the id of the `last` operation read, its sequence number `seq`,
    and its transaction `tx`. `epoch` counts how often the log was moved to another server.
    """

    epoch: int = 0
    tx: int = 0
    seq: int = 0
    last: str = ""


def key_of(kind: str, *names: Any) -> str:
    """Return a row's key in the log from its fields in NAMED_BY; '' unless all are strings."""
    if not _are_texts(names):
        return ""
    if kind == RECORD:
        return f"r:{names[0]}"
    digest = hashlib.sha256("\n".join(names).encode("utf-8", "replace")).hexdigest()
    return f"{PREFIXES[kind]}:{digest}"


def key_in(kind: str, value: Mapping[str, Any]) -> str:
    """Return a value's key in the log, computed by `key_of` from its fields in NAMED_BY."""
    return key_of(kind, *(value[name] for name in NAMED_BY[kind]))


def reading_after(last: str, now_ms: int, origin: str) -> str:
    """Return a reading of a hybrid logical clock (Kulkarni et al., 2014) that is later than `last`,
    even if the computer's clock was set back. Readings sort one user's operations as strings: the
    time in milliseconds, a counter within the millisecond, and the machine. `last` may be empty.
    """
    time_ms = counter = 0
    if is_reading(last):
        time_ms, counter = int(last[:TIME_DIGITS], 16), int(last[TIME_DIGITS:_READING], 16)
    if now_ms > time_ms:
        time_ms, counter = now_ms, 0
    elif counter < (1 << 4 * COUNTER_DIGITS) - 1:
        counter += 1
    else:
        time_ms, counter = time_ms + 1, 0
    ending = origin[-ORIGIN_CHARS:].rjust(ORIGIN_CHARS, "0")
    return f"{time_ms:0{TIME_DIGITS}x}{counter:0{COUNTER_DIGITS}x}{ending}"


def is_reading(text: object) -> bool:
    if not isinstance(text, str) or len(text) != _READING + ORIGIN_CHARS:
        return False
    return not text[:_READING].strip("0123456789abcdef")


def encode(operation: TeamOperation) -> str:
    """Return an operation's payload as JSON. Raises ValueError if a server would refuse it."""
    o = operation
    payload: dict[str, Any] = {"v": o.form, "key": o.key, "base": list(o.base), "clock": o.clock}
    payload |= {"sealed": o.sealed} if o.sealed else {"value": o.value}
    if o.proof and not o.sealed:
        payload["proof"] = o.proof
    text = json.dumps(payload, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    length = len(text.encode("utf-8"))  # raises UnicodeEncodeError, a ValueError, for a surrogate
    if length > MAX_PAYLOAD_BYTES:
        raise ValueError(f"the payload has {length} bytes, the limit is {MAX_PAYLOAD_BYTES}")
    return text


def decode(
    op_id: str, origin: str, author: str, kind: str, payload_json: str, made_at: str
) -> TeamOperation | None:
    """Parse a log row; None if invalid. For a newer version, `value` is the whole payload."""
    try:
        payload = json.loads(payload_json)
    except (ValueError, RecursionError):
        return None
    if not isinstance(payload, dict) or _is_deep(payload):
        return None
    form, key, base = payload.get("v"), payload.get("key"), payload.get("base")
    if type(form) is not int or form < 1 or not isinstance(key, str):
        return None
    if not isinstance(base, list) or not _are_texts(base):
        return None
    value = payload.get("value")
    clock, proof, sealed = (payload.get(name, "") for name in ("clock", "proof", "sealed"))
    if form > FORM:
        value, clock, proof, sealed = payload, "", "", ""
    if not isinstance(value, dict | None) or not _are_texts([clock, proof, sealed]):
        return None
    if value is None and not sealed and "value" not in payload:
        return None
    return TeamOperation(
        op_id, origin, kind, key, value, tuple(base), clock, made_at, author, proof, sealed, form
    )


def _is_deep(value: object) -> bool:
    level: list[object] = [value]
    for _ in range(MAX_DEPTH):
        holders = [part for part in level if isinstance(part, dict | list)]
        level = [part for h in holders for part in (h.values() if isinstance(h, dict) else h)]
        if not level:
            return False
    return True


def _are_texts(values: Collection[object]) -> bool:
    return all(isinstance(value, str) for value in values)


class Holder(NamedTuple):
    """An unfinished transaction that blocks other writers to a space. `pid` is None if it is a
    prepared transaction; `age_s` is None if this role may not see the age.
    """

    pid: int | None
    user: str
    application: str
    age_s: float | None


class SpaceState(NamedTuple):
    """A space's state: the caller's name and role ("owner" or "member"), and count of members."""

    epoch: int
    member: str
    role: str
    members: int
    held_by: Holder | None = None


class Member(NamedTuple):
    """A member of a space; `seen_at` is the hour in which the member last read the log."""

    name: str
    role: str
    added_at: datetime
    removed_at: datetime | None
    seen_at: datetime | None


class Log(Protocol):
    """The log of one space (in sharing.server or sharing.remote). Methods raise TeamError."""

    # The maximum number of operations in one push or pull.
    at_once: int

    def state(self) -> SpaceState:
        """Return the current state of the space."""

    def members(self) -> Sequence[Member]:
        """Return the current and former members of the space."""

    def holds(self, position: Position) -> bool:
        """Return False if the log, after a reset, no longer has the operations up to `position`."""

    def has(self, op_ids: Collection[str]) -> set[str]:
        """Return which of these ids the log contains, including ids of replaced operations."""

    def push(
        self,
        operations: Sequence[TeamOperation],
        refused: Callable[[str, str], object] | None = None,
    ) -> list[str]:
        """Append operations; return the accepted ids. Call `refused(id, reason)` for all others."""

    def pull(self, position: Position, limit: int) -> tuple[list[TeamOperation], Position]:
        """Return operations after a position, and the next position, unchanged at the log's end."""

    def purge(self, keys: Collection[str]) -> object:
        """Erase operations under these keys, and log the erasure."""

    def compact(self) -> object:
        """Erase operations that were replaced long ago."""
