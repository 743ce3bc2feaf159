"""Operations on ingested texts: accept a text, mark it as processed, drop it."""

import json
from collections.abc import Sequence
from sqlite3 import Connection

from memory_fabric.ids import short_id
from memory_fabric.models import Payload, Provenance
from memory_fabric.store.operations import kind
from memory_fabric.store.operations.kind import Kind, Result, step
from memory_fabric.store.queries.conditions import insert
from memory_fabric.text import many

WAITING, WORKING, DONE, DEAD = "waiting", "working", "done", "dead"
# Fields that may differ when a client sends the same content again.
_NOT_CONTENT = frozenset(("idempotency_key", "created_at"))


def ingest(c: Connection, payload: Payload, by: Provenance) -> Result:
    """Queue a text, unless its idempotency key is known: then the result has `repeated`, and also
    `conflict` if the content differs. With `outcome`, the text is stored as already processed.
    """
    value = payload["ingest"]
    key, body = str(value.get("idempotency_key") or ""), json.dumps(value, ensure_ascii=False)
    id_, content_digest, outcome = payload["id"], digest(value), payload.get("outcome")
    query = "SELECT id, digest, body, result FROM intake WHERE key = ?"
    earlier = c.execute(query, (key,)).fetchone() if key else None
    if earlier and earlier[0] != id_:
        result = {"id": earlier[0], "repeated": True, "ingest": json.loads(earlier[2])}
        result |= {"length": json.loads(earlier[3]).get("length", 0)} if earlier[3] else {}
        return result | ({} if earlier[1] == content_digest else {"conflict": True}), []
    row = {"id": id_, "key": key, "digest": content_digest, "body": body, "created_at": by.at}
    state, ended_at = (DONE, by.at) if outcome else (WAITING, "")
    row |= {"state": state, "ended_at": ended_at, "result": json.dumps(outcome) if outcome else ""}
    result = {"id": id_, "ingest": dict(value)}
    if not insert(c, "intake", row | {"due_at": ""}, "INSERT OR IGNORE"):
        return result | {"repeated": True}, []
    return result, [step("drop_ingests", ids=[id_])]


def ingested(c: Connection, payload: Payload, by: Provenance) -> Result:
    """Mark a text as processed, so that a replay does not process it again."""
    ended = "state = ?1, worker = '', leased_until = '', error = '', result = ?2, ended_at = ?3"
    update = f"UPDATE intake SET {ended} WHERE id = ?4 AND state <> ?1"
    values = (DONE, json.dumps(payload["outcome"]), by.at, payload["id"])
    return {"done": c.execute(update, values).rowcount > 0}, []


def drop_ingests(c: Connection, payload: Payload, by: Provenance) -> Result:
    """Delete texts from the ingest queue, in any state, but keep the records made from them."""
    back, dropped = [], 0
    for id_ in dict.fromkeys(payload["ids"]):
        row = c.execute("SELECT body, state, result FROM intake WHERE id = ?", (id_,)).fetchone()
        if row is None:
            continue
        dropped += c.execute("DELETE FROM intake WHERE id = ?", (id_,)).rowcount
        value = {"id": id_, "ingest": json.loads(row[0])}
        value |= {"outcome": json.loads(row[2] or '{"length": 0}')} if row[1] == DONE else {}
        back.append(step("ingest", **value))
    return {"dropped": dropped}, back


def digest(value: Payload) -> str:
    """Return a hash of a text's content, to compare two texts that have the same key."""
    content = {name: part for name, part in value.items() if name not in _NOT_CONTENT}
    text = json.dumps(content, ensure_ascii=False, sort_keys=True)
    import hashlib  # imported late: it loads OpenSSL, and few hooks need it

    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def _describe_ingest(payload: Payload, _: Sequence[Payload]) -> str:
    text = payload["ingest"]
    sender = text.get("source_model") or "another program"
    stated = text["session_summary"] or kind.named(text.get("key_decisions") or ())
    return f"ingested a text of {sender}: {stated}"


def _describe_ingested(payload: Payload, _: Sequence[Payload]) -> str:
    count = many(len(payload["outcome"].get("records", ())), "record")
    return f"processed the text {short_id(payload['id'])}: {count}"


_FIELDS = "domain source_model project session_id idempotency_key created_at".split()
_TEXT = kind.options(key_decisions=[str], **dict.fromkeys(_FIELDS, str)) | {"session_summary": str}
KINDS = {
    "ingest": Kind(
        {"id": str, "ingest": _TEXT, **kind.options(outcome=dict, batch=str)},
        ingest,
        _describe_ingest,
    ),
    "ingested": Kind({"id": str, "outcome": dict}, ingested, _describe_ingested),
    "drop_ingests": Kind(
        {"ids": [str]}, drop_ingests, lambda _, back: f"dropped {many(len(back), 'ingested text')}"
    ),
}
