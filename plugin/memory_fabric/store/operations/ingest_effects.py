"""What other programs bring in, as operations: taken in, worked off, dropped.

The row in `intake` keeps the text as it came; what was made of it are operations of their own.
"""

from __future__ import annotations

from memory_fabric import jsontext

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping
    from typing import Any

    from memory_fabric.models import Provenance

    Result = tuple[dict[str, Any], list[dict[str, Any]]]

WAITING, WORKING, DONE, DEAD = "waiting", "working", "done", "dead"
# What is no part of the content: who sends the same again may say it at another time.
_ASIDE = frozenset(("idempotency_key", "created_at"))


def ingest(c: sqlite3.Connection, payload: Mapping[str, Any], by: Provenance) -> Result:
    """A text to be worked off, once by its idempotency key.

    Result: `id`, and `repeated`, or `conflict` when the key stands for another content. An
    `outcome` in the payload is that of a text that had been worked off before it was dropped.
    """
    value = payload["ingest"]
    key, body = str(value.get("idempotency_key") or ""), jsontext.dumps(value, ensure_ascii=False)
    summed = digest(value)
    if key:
        known = c.execute(
            "SELECT id, digest, body, result FROM intake WHERE key = ?", (key,)
        ).fetchone()
        if known and known[0] != payload["id"]:
            said = {"id": known[0], "repeated": True, "ingest": jsontext.loads(known[2])}
            said |= {"length": jsontext.loads(known[3]).get("length", 0)} if known[3] else {}
            return said | ({} if known[1] == summed else {"conflict": True}), []
    outcome = payload.get("outcome")
    added = c.execute(
        "INSERT OR IGNORE INTO intake (id, key, digest, body, state, due_at, result, created_at, "
        "ended_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(payload["id"], key, summed, body, DONE if outcome else WAITING, ""),
            *(jsontext.dumps(outcome) if outcome else "", by.at, by.at if outcome else ""),
        ),
    ).rowcount
    if not added:
        return {"id": payload["id"], "repeated": True, "ingest": dict(value)}, []
    back = {"kind": "drop_ingests", "payload": {"ids": [payload["id"]]}}
    return {"id": payload["id"], "ingest": dict(value)}, [back]


def ingested(c: sqlite3.Connection, payload: Mapping[str, Any], by: Provenance) -> Result:
    """A text was worked off; a replay knows by it that nothing is left to do."""
    changed = c.execute(
        "UPDATE intake SET state = ?, worker = '', leased_until = '', error = '', result = ?, "
        "ended_at = ? WHERE id = ? AND state <> ?",
        (DONE, jsontext.dumps(payload["outcome"]), by.at, payload["id"], DONE),
    ).rowcount
    return {"done": changed > 0}, []


def drop_ingests(c: sqlite3.Connection, payload: Mapping[str, Any], by: Provenance) -> Result:
    """Texts leave the intake, whatever became of them; records that came of them stay."""
    back, gone = [], 0
    for id_ in dict.fromkeys(payload["ids"]):
        row = c.execute("SELECT body, state, result FROM intake WHERE id = ?", (id_,)).fetchone()
        if row is None:
            continue
        gone += c.execute("DELETE FROM intake WHERE id = ?", (id_,)).rowcount
        again = {"id": id_, "ingest": jsontext.loads(row[0])}
        again |= {"outcome": jsontext.loads(row[2])} if row[1] == DONE else {}
        back.append({"kind": "ingest", "payload": again})
    return {"dropped": gone}, back


def digest(value: Mapping[str, Any]) -> str:
    """What tells one content from another under the same key."""
    from memory_fabric.digests import sha256  # only where something comes in

    content = {name: part for name, part in value.items() if name not in _ASIDE}
    text = jsontext.dumps(content, ensure_ascii=False, sort_keys=True)
    return sha256(text.encode("utf-8", "replace"))
