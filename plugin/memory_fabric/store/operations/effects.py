"""The table of effects: the function that applies each kind of operation to a database.

An effect runs inside the transaction of `write`; its payload has been redacted and has the shape
that `shapes` demands. It returns its result and its inverse: a list of `{"kind", "payload"}` that,
applied in order, restores the former state. `touched` in a result names entities that may have
become orphans.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from typing import Any

from memory_fabric.models import Provenance
from memory_fabric.store.operations import (
    create_effects,
    deletions,
    forget_effects,
    ingest_effects,
    learn_effects,
    merge_effects,
    others_effects,
    record_effects,
    supersede_effects,
    tombstones,
)
from memory_fabric.text import index_extra

Result = tuple[dict[str, Any], list[dict[str, Any]]]
Effect = Callable[[sqlite3.Connection, Mapping[str, Any], Provenance], Result]


def add_episodes(c: sqlite3.Connection, payload: Mapping[str, Any], by: Provenance) -> Result:
    """Add turns of a session, each once by its uuid; forgotten turns are skipped.

    A `batch` is the run that reads past sessions: undoing it deletes the turns.
    """
    added = []
    for item in payload["episodes"]:
        if tombstones.is_set(c, tombstones.of_turn(item["id"])):
            continue
        cursor = c.execute(
            "INSERT OR IGNORE INTO episodes (uuid, session, role, text, extra, place, agent, "
            "domain, project, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                item["id"],
                item["session"],
                item["role"],
                item["text"],
                index_extra(item["text"]),
                str(item.get("place") or ""),
                str(item.get("agent") or ""),
                by.domain,
                str(item.get("project") or ""),
                item["created_at"],
            ),
        )
        added += [item["id"]] if cursor.rowcount > 0 else []
    if payload.get("batch"):
        learn_effects.mark_turns(c, payload["batch"], added)
    return {"added": len(added)}, []


def undo(c: sqlite3.Connection, payload: Mapping[str, Any], by: Provenance) -> Result:
    """Apply the steps of an inverse in order; the inverse of this repeats the original
    operation.
    """
    summary: dict[str, Any] = {"steps": len(payload["steps"]), "touched": []}
    back: list[dict[str, Any]] = []
    for step in payload["steps"]:
        result, inverse = EFFECTS[step["kind"]](c, step["payload"], by)
        summary["touched"] += result.get("touched", ())
        back = inverse + back
    return summary, back


def purged(c: sqlite3.Connection, payload: Mapping[str, Any], by: Provenance) -> Result:
    """Do nothing: the content of this operation was erased and must not be applied again."""
    return {}, []


EFFECTS: dict[str, Effect] = {
    "create_entities": create_effects.create_entities,
    "create_relations": create_effects.create_relations,
    "add_observations": create_effects.add_observations,
    "delete_entities": deletions.delete_entities,
    "delete_observations": deletions.delete_observations,
    "delete_relations": deletions.delete_relations,
    "restore": deletions.restore,
    "remove_orphans": deletions.remove_orphans,
    "remember": record_effects.remember,
    "put_record": record_effects.put_record,
    "supersede": supersede_effects.supersede,
    "forget": forget_effects.forget,
    "tombstones": tombstones.tombstones,
    "alias": merge_effects.alias,
    "unalias": merge_effects.unalias,
    "put_aliases": merge_effects.put_aliases,
    "merge": merge_effects.merge,
    "replace_rows": merge_effects.replace_rows,
    "undo": undo,
    "purged": purged,
    "add_episodes": add_episodes,
    "take_in": others_effects.store_others,
    "let_go": others_effects.drop_others,
    "ingest": ingest_effects.ingest,
    "ingested": ingest_effects.ingested,
    "drop_ingests": ingest_effects.drop_ingests,
    "learn": learn_effects.learn,
    "unlearn": learn_effects.unlearn,
}
