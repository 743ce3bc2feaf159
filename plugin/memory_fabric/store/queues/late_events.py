"""Events that a hook could not finish in time, each in a file in home that only the owner can read.

    late/<order>-<id>.jsonl           waiting; deleted when a later event has finished it
    late/<order>-<id>~<n>.jsonl       waiting; failed n times
    late/<order>-<id>.jsonl.refused   set aside: not signed by this home's key, or failed too often

Adding an event needs no lock and no database, because both may be unavailable when many sessions
write at the same time.
"""

import os
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from memory_fabric import ids
from memory_fabric.config import Settings
from memory_fabric.events import Event, event_of
from memory_fabric.store import files
from memory_fabric.store.home import signing

FOLDER, LOCK, REFUSED = "late", "late.lock", ".refused"
# Size limits of one event and of all waiting events; beyond them, an event is not stored.
MAX_EVENT_BYTES, MAX_BYTES = 1 << 20, 64 << 20
# An event that failed this often is set aside; failures for lack of time do not count.
MAX_ATTEMPTS = 4
# Fields that identify the event's session, agent and folder and contain no text of the user.
_PLACE = ("hook_event_name", "session_id", "cwd", "transcript_path", "agent_id", "agent_type")
# Settings from the session's environment; others are read when the event is processed later.
_SETTINGS = "project_dir attended foreign entrypoint author origin domain notes ci".split()


class Late(NamedTuple):
    """A waiting event with its time (ISO 8601), the handlers left to run, and session settings."""

    path: str
    event: Event
    at: str
    handlers: tuple[str, ...]
    client: str
    settings: Mapping[str, Any]


def add(settings: Settings, event: Event, handlers: Sequence[str], at: str) -> None:
    """Store an event without its secrets; on return, it is safely on disk. Raises OSError."""
    from memory_fabric.redaction.redact import redacted_object  # imported late: rarely needed

    folder = os.path.join(settings.home, FOLDER)
    place = {key: event.raw[key] for key in _PLACE if key in event.raw}
    raw, key = {**redacted_object(event.raw), **place}, event.client.key
    line = {"event": raw, "at": at, "handlers": list(handlers), "client": key}
    line |= {"settings": {name: getattr(settings, name) for name in _SETTINGS}}
    line |= {"signature": signing.signature(line, signing.key_of(settings.home))}
    data = files.json_line(line).encode("utf-8", "replace")
    bytes_waiting = sum(map(files.size_of, waiting(settings.home)))
    if len(data) > MAX_EVENT_BYTES or bytes_waiting + len(data) > MAX_BYTES:
        raise files.TooLarge(f"What waits in {folder}", MAX_BYTES)
    path = os.path.join(folder, f"{time.time_ns():016x}-{ids.new_id()[-12:]}.jsonl")
    files.write_atomic(path, data)
    files.sync_folder(folder)


def waiting(home: str, ending: str = ".jsonl") -> list[str]:
    """Return the paths of waiting events, oldest first; the ending REFUSED selects refused ones."""
    folder = os.path.join(home, FOLDER)
    names = files.names_in(folder)
    return [os.path.join(folder, name) for name in names if name.endswith(ending)]


def put_off(path: str) -> None:
    """Count another failure of an event; after too many, set its file aside. Raises OSError."""
    whole, _, count = os.path.basename(path).removesuffix(".jsonl").partition("~")
    failed = int(count or 0) + 1
    ending = f".jsonl{REFUSED}" if failed == MAX_ATTEMPTS else f"~{failed}.jsonl"
    os.replace(path, os.path.join(os.path.dirname(path), whole + ending))


def read(home: str, path: str) -> Late | None:
    """Return a waiting event; None if the file is gone or is not signed by this home."""
    line = files.read_json(path, 2 * MAX_EVENT_BYTES)
    raw, settings = line.get("event"), line.get("settings")
    is_ours = signing.is_ours(line, signing.known_key(home))
    if not (is_ours and isinstance(raw, dict) and isinstance(settings, dict)):
        return None
    at, client = str(line.get("at", "")), str(line.get("client", ""))
    own = {name: settings[name] for name in _SETTINGS if name in settings}
    return Late(path, event_of(raw), at, files.text_list(line.get("handlers")), client, own)
