"""The spool of items to forward, each in its own file in home, and the state of sending.

    forward/<id>.<key>.json   waiting; deleted when the receiver has accepted it
    forward/rejected/         items that the receiver refused permanently, with its answer
    forward/state.json        time and outcome of the last attempt, without any content

An item is `{"to": address, "place": project id, "body": {…}}`. Only `body` is sent, and only to the
item's own address: projects may have different receivers. Only the owner can read the files.
"""

import json
import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from memory_fabric import ids
from memory_fabric.errors import FabricError
from memory_fabric.redaction.redact import without_secrets
from memory_fabric.store import files

FOLDER, REJECTED, STATE = "forward", "rejected", "state.json"
# Limits of waiting and rejected items (which are not dropped silently); enough for weeks of use.
MAX_ITEMS, MAX_BYTES = 500, 32 << 20
# Seconds to wait for the lock. Other processes keep it only for the time of writing one file.
LOCK_S = 2.0
# The number of keys of sent items that are saved, in order to recognise repetitions.
KEPT_KEYS = 200
# The maximum back-off, even if the receiver asks for a longer one or the clock was set back.
MAX_WAIT_S = 24 * 3600


class SpoolFull(FabricError):
    """Raised if the spool is full; `waiting` and `rejected` count its items in these states."""

    def __init__(self, waiting: int, rejected: int) -> None:
        super().__init__(
            f"{waiting} items wait to be forwarded and {rejected} were rejected; there is no "
            "space for more, so new items are not forwarded.",
            remedy="`memory-fabric sync` sends what waits and says what is wrong.",
        )
        self.waiting, self.rejected = waiting, rejected


class Item(NamedTuple):
    """An item's id (UUIDv7) and file path, and the key by which receivers detect repeated items."""

    id: str
    key: str
    path: str


class Backlog(NamedTuple):
    """State of forwarding; times are ISO 8601 or ''. `dropped` counts items that did not fit."""

    waiting: int = 0
    elsewhere: tuple[str, ...] = ()
    oldest_at: str = ""
    rejected: int = 0
    refusal: str = ""
    last_success: str = ""
    last_error: str = ""
    remedy: str = ""
    error_at: str = ""
    next_at: str = ""
    dropped: int = 0


def folder_of(home: str) -> str:
    """Return the path of the spool's folder."""
    return os.path.join(home, FOLDER)


def waiting(home: str) -> list[Item]:
    """Return the items that wait to be sent, oldest first."""
    return _items(folder_of(home))


def rejected(home: str) -> list[Item]:
    """Return the items that a receiver refused permanently, oldest first."""
    return _items(os.path.join(folder_of(home), REJECTED))


def add(home: str, to: str, place: str, body: Mapping[str, Any], now_s: float) -> bool:
    """Add an item for the address `to` and project `place`. Return False if an item with the same
    idempotency key waits, was rejected or recently sent. Raises SpoolFull, OSError, TimeoutError.
    """
    key = str(body["idempotency_key"])
    with _locked(home):
        items, refused = waiting(home), rejected(home)
        if key in _sent(home) or any(i.key == key for i in (*items, *refused)):
            return False
        data = encoded({"to": to, "place": place, "body": body})
        bytes_left = MAX_BYTES - sum(files.size_of(item.path) for item in (*items, *refused))
        if len(items) + len(refused) >= MAX_ITEMS or len(data) > bytes_left:
            raise SpoolFull(len(items), len(refused))
        folder = folder_of(home)
        files.write_atomic(os.path.join(folder, f"{ids.new_id(now_s)}.{key}.json"), data)
        files.sync_folder(folder)
    return True


def read(item: Item) -> dict[str, Any]:
    """Return an item's content; empty if its file was deleted or cannot be read."""
    content = files.read_json(item.path, MAX_BYTES)
    return content if isinstance(content.get("body"), dict) else {}


def encoded(value: Mapping[str, Any]) -> bytes:
    """Serialise a JSON object in the form used both for storing and for sending it."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")


def mark_sent(home: str, item: Item, now_s: float) -> None:
    """Delete an item that was accepted, and save its key. Raises OSError, TimeoutError."""
    with _locked(home):
        keys, at = [*_sent(home), item.key][-KEPT_KEYS:], ids.timestamp(now_s)
        try:
            _change(home, last_success=at, failures=0, told_full=False, sent=keys)
        finally:
            files.remove(item.path)


def reject(home: str, item: Item, answer: Mapping[str, Any]) -> None:
    """Move a refused item to `rejected`, with the answer. Raises OSError, TimeoutError."""
    with _locked(home):
        content = read(item)
        if content:  # do not restore an item that was erased meanwhile
            path = os.path.join(folder_of(home), REJECTED, os.path.basename(item.path))
            files.write_atomic(path, encoded({**content, "answer": answer}))
        files.remove(item.path)


def set_aside(home: str, item: Item, why: str) -> None:
    """Move an unreadable item unchanged to `rejected`. Raises OSError, TimeoutError."""
    with _locked(home):
        folder = os.path.join(folder_of(home), REJECTED)
        files.make_folder(folder)
        if os.path.exists(item.path):
            os.replace(item.path, os.path.join(folder, os.path.basename(item.path)))
        _change(home, last_error=why, remedy="", error_at=ids.timestamp())


def state(home: str) -> dict[str, Any]:
    """Return the saved state of sending: last attempt, receiver, counters."""
    return files.read_json(os.path.join(folder_of(home), STATE))


def update_state(home: str, **changes: object) -> None:
    """Update fields of the saved state of sending. Raises OSError, TimeoutError."""
    with _locked(home):
        _change(home, **changes)


def count_dropped(home: str) -> bool:
    """Count a dropped item. Return True if it is the first one since an item was last sent."""
    with _locked(home):
        noted = state(home)
        _change(home, dropped=int(_number(noted.get("dropped"))) + 1, told_full=True)
    return noted.get("told_full") is not True


def is_due(home: str, to: str, now_s: float) -> bool:
    """Return True if an item waits and no back-off is in force for this address."""
    if not waiting(home):
        return False
    noted = state(home)
    return noted.get("to") != to or not 0 < _number(noted.get("next_at")) - now_s <= MAX_WAIT_S


def shown(to: str) -> str:
    """Return an address for messages, without its query, which may hold a token."""
    address, sign, _ = to.partition("?")
    return without_secrets(address) + (sign and "?HIDDEN")


def backlog(home: str, to: str) -> Backlog:
    """Return the state of forwarding; `elsewhere` has items' `shown` addresses other than `to`."""
    items, refused, noted = waiting(home), rejected(home), state(home)
    addresses = {str(read(item).get("to", "")) for item in items} - {to, ""}
    answer = files.read_json(refused[-1].path, MAX_BYTES).get("answer") if refused else {}
    next_s = _number(noted.get("next_at"))
    texts = ("last_success", "last_error", "remedy", "error_at")
    try:  # parse the time, with which an item's id begins
        oldest_s = int(items[0].id.replace("-", "")[:12], 16) / 1000 if items else 0.0
    except ValueError:
        oldest_s = 0.0
    return Backlog(
        waiting=len(items),
        elsewhere=tuple(sorted(set(map(shown, addresses)))),
        oldest_at=ids.timestamp(oldest_s) if items else "",
        rejected=len(refused),
        refusal=str(answer.get("told", "")) if isinstance(answer, dict) else "",
        next_at=ids.timestamp(next_s) if next_s and items else "",
        dropped=int(_number(noted.get("dropped"))),
        **{name: str(noted.get(name, "")) for name in texts},
    )


def erase(home: str, holds: Callable[[bytes], bool]) -> int:
    """Delete files whose bytes satisfy `holds`; return the count. Raises OSError, TimeoutError."""
    if not os.path.isdir(folder_of(home)):
        return 0
    with _locked(home):
        walked = os.walk(folder_of(home))
        paths = [os.path.join(folder, name) for folder, _, names in walked for name in names]
        found = [path for path in paths if not path.endswith(".lock")]
        found = [path for path in found if holds(files.read_bytes(path, MAX_BYTES) or b"")]
        for path in found:
            files.remove(path)
    return len(found)


def _items(folder: str) -> list[Item]:
    items = []
    for name in files.names_in(folder):
        id_, _, tail = name.partition(".")
        key, _, ending = tail.partition(".")
        # A key has only letters, digits and `-`, because it is sent in a header of the request.
        if ending == "json" and key and all(c.isalnum() or c == "-" for c in key):
            items.append(Item(id_, key, os.path.join(folder, name)))
    return items


def _locked(home: str) -> files.Locked:
    return files.Locked(os.path.join(folder_of(home), "spool.lock"), LOCK_S)


def _change(home: str, **changes: object) -> None:
    new = {**state(home), **changes}
    files.write_atomic(os.path.join(folder_of(home), STATE), files.pretty_json(new))


def _sent(home: str) -> list[Any]:
    keys = state(home).get("sent")
    return keys if isinstance(keys, list) else []


def _number(value: object) -> float:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else 0
