"""Notes that wait in the queue while the graph cannot be written.

The place that was read in the transcript cannot be saved then, so each Stop reads them again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from memory_fabric.models import Record
from memory_fabric.store import journal, signing
from memory_fabric.store.memory import Memory
from memory_fabric.text import same_form


def is_queued(memory: Memory, record: Record, session: str) -> bool:
    """Return True if this session has queued a record with the same words."""
    if not session:
        return False
    sought = (session, record.type, same_form(record.what))
    for payload in _payloads(memory, "remember"):
        known = payload.get("record") or {}
        if (known.get("session"), known.get("type"), same_form(known.get("what", ""))) == sought:
            return True
    return False


def is_closing_queued(memory: Memory, record: Record) -> bool:
    """Return True if closing this record without a successor is queued."""
    links = [link for payload in _payloads(memory, "supersede") for link in payload["links"]]
    return any(link["id"] == record.id and not link["by"] for link in links)


def _payloads(memory: Memory, kind: str) -> Iterator[dict[str, Any]]:
    """Yield the payloads of waiting operations that this home has signed; mostly there are none."""
    folders = dict.fromkeys(map(memory.queue_folder, ("project", "user")))
    for folder in filter(journal.is_waiting, folders):
        key = signing.known_key(memory.settings.home)
        for line in journal.queued(folder)[0]:
            if line.get("kind") == kind and signing.is_ours(line, key):
                yield line["payload"]
