"""Operations on ingested texts: accept, finish, drop.

The row in the table `intake` keeps the text as it was received; the memories made of it are
operations of their own.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from typing import Any

from memory_fabric.models import Provenance

Result = tuple[dict[str, Any], list[dict[str, Any]]]

WAITING, WORKING, DONE, DEAD = "waiting", "working", "done", "dead"
# Fields that may differ when a client sends the same content again.
_NOT_CONTENT = frozenset(("idempotency_key", "created_at"))


def ingest(c: sqlite3.Connection, payload: Mapping[str, Any], by: Provenance) -> Result:
    """Queue an ingested text, once by its idempotency key.

    Result: `id`, and `repeated`, or `conflict` if the key was used for other content. `outcome` in
    the payload is the outcome of a text that had been processed before it was dropped.
    """
    value = payload["ingest"]
    key, body = str(value.get("idempotency_key") or ""), json.dumps(value, ensure_ascii=False)
    summed = digest(value)
    if key:
        known = c.execute(
            "SELECT id, digest, body, result FROM intake WHERE key = ?", (key,)
        ).fetchone()
        if known and known[0] != payload["id"]:
            said = {"id": known[0], "repeated": True, "ingest": json.loads(known[2])}
            said |= {"length": json.loads(known[3]).get("length", 0)} if known[3] else {}
            return said | ({} if known[1] == summed else {"conflict": True}), []
    outcome = payload.get("outcome")
    added = c.execute(
        "INSERT OR IGNORE INTO intake (id, key, digest, body, state, due_at, result, created_at, "
        "ended_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(payload["id"], key, summed, body, DONE if outcome else WAITING, ""),
            *(json.dumps(outcome) if outcome else "", by.at, by.at if outcome else ""),
        ),
    ).rowcount
    if not added:
        return {"id": payload["id"], "repeated": True, "ingest": dict(value)}, []
    back = {"kind": "drop_ingests", "payload": {"ids": [payload["id"]]}}
    return {"id": payload["id"], "ingest": dict(value)}, [back]


def ingested(c: sqlite3.Connection, payload: Mapping[str, Any], by: Provenance) -> Result:
    """Mark a text as processed, so that a replay does not process it again."""
    changed = c.execute(
        "UPDATE intake SET state = ?, worker = '', leased_until = '', error = '', result = ?, "
        "ended_at = ? WHERE id = ? AND state <> ?",
        (DONE, json.dumps(payload["outcome"]), by.at, payload["id"], DONE),
    ).rowcount
    return {"done": changed > 0}, []


def drop_ingests(c: sqlite3.Connection, payload: Mapping[str, Any], by: Provenance) -> Result:
    """Delete texts from the ingest queue in any state; records made of them stay."""
    back, dropped = [], 0
    for id_ in dict.fromkeys(payload["ids"]):
        row = c.execute("SELECT body, state, result FROM intake WHERE id = ?", (id_,)).fetchone()
        if row is None:
            continue
        dropped += c.execute("DELETE FROM intake WHERE id = ?", (id_,)).rowcount
        again = {"id": id_, "ingest": json.loads(row[0])}
        again |= {"outcome": json.loads(row[2])} if row[1] == DONE else {}
        back.append({"kind": "ingest", "payload": again})
    return {"dropped": dropped}, back


def digest(value: Mapping[str, Any]) -> str:
    """Return the hash that tells different contents under one key apart."""
    content = {name: part for name, part in value.items() if name not in _NOT_CONTENT}
    text = json.dumps(content, ensure_ascii=False, sort_keys=True)
    import hashlib  # late: it loads OpenSSL, and few hooks need it

    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
