"""Purge of operations in the local copy of a shared log; `outbox.demand_purge` purges the log."""

import json
import sqlite3

from memory_fabric.sharing.replica import heads, outbox, own, wire
from memory_fabric.store.forget import scrub_log


def scrub(c: sqlite3.Connection, target: scrub_log.PurgeTarget) -> int:
    """Blank the stored operations that contain purged text; return how many were blanked. Queue
    demands that the log erases the ones of this user, too.
    """
    keys = {wire.key_of(wire.RECORD, id_) for id_ in target.ids}
    keys |= {wire.key_of(wire.ENTITY, name) for name in target.names}
    keys |= {wire.key_of(wire.OBSERVATION, *pair) for pair in target.said}
    stated = heads.where(c, "value <> '' OR payload <> ''")
    purged = [head for head in stated if head.key in keys or _holds(head, target)]
    # Also blank heads of entities that purged records mention and that are already deleted here.
    names = {str(pair[0]) for head in purged for pair in (head.stated or {}).get("entities") or ()}
    there = "SELECT 1 FROM entities WHERE name = ?"
    gone = {wire.key_of(wire.ENTITY, n) for n in names if not c.execute(there, (n,)).fetchone()}
    purged += [head for head in stated if head.key in gone and head not in purged]
    for head in purged:
        blank = head._replace(value="", payload="")
        if head.state == heads.UNREAD:
            blank = blank._replace(state=heads.REFUSED, payload="It was purged.")
        heads.put(c, [blank])
    # Also demand the erasure of withdrawn statements: other machines' operation logs may have them.
    known = [*purged, *(head for some in heads.of_keys(c, keys).values() for head in some)]
    outbox.demand_purge(c, dict.fromkeys(head.key for head in known if head.is_own))
    met = json.dumps([*keys, *(head.key for head in purged)])
    c.execute(f"DELETE FROM team_heads WHERE state = 'asked' AND key {heads.ANY_OF}", (met,))
    return len(purged)


def clear_due(c: sqlite3.Connection, target: scrub_log.PurgeTarget) -> None:
    """Drop rows with purged text from the send queue. Call `scrub` first, to withdraw sent text."""
    due = c.execute("SELECT kind, key FROM team_due WHERE kind NOT LIKE '%record'").fetchall()
    for kind, key in due:
        key_of_gone = own.key_of_gone(c, kind.removeprefix(own.FORGOTTEN), key)
        register = heads.where(c, "key = ?", (key_of_gone,))
        is_unsent = key_of_gone and not any(head.is_own and head.value for head in register)
        if is_unsent or any(target.is_in(name) or target.is_name(name) for name in json.loads(key)):
            c.execute("DELETE FROM team_due WHERE kind = ? AND key = ?", (kind, key))


def _holds(head: heads.Head, target: scrub_log.PurgeTarget) -> bool:
    if head.payload and target.is_in(head.payload):
        return True
    value = head.stated
    if value is None or scrub_log.marked(value, target.sought) != value:
        return value is not None
    names = [value.get(name) for name in ("name", "entity", "from", "to")]
    names += [pair[0] for pair in value.get("entities") or ()]
    return any(isinstance(name, str) and target.is_name(name) for name in names)
