"""Limits on what a memory scoped to some domains may change: nothing in other domains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memory_fabric.errors import NotFound
from memory_fabric.models import Provenance
from memory_fabric.store.graph import existing
from memory_fabric.store.memory import Memory

# Kinds of changes that add to entities, and that delete; both are limited to the caller's domains.
_ADDING = frozenset(("create_entities", "create_relations", "add_observations"))
_TAKING = frozenset(("delete_entities", "delete_observations", "delete_relations", "forget"))


def limited(
    memory: Memory, kind: str, payload: Mapping[str, Any], by: Provenance
) -> tuple[dict[str, Any], Provenance]:
    """Return a change and its provenance limited to the memory's domains.

    What it adds gets one of these domains; what it deletes is only looked for there. Raises
    NotFound for an entity that is not visible.
    """
    domains, kept = memory.domains or (), dict(payload)
    if domains and by.domain not in domains:
        by = by._replace(domain=domains[0])
    if kind == "add_observations":
        _require_visible(memory, [item["entityName"] for item in payload["observations"]])
    record = payload.get("record")
    if isinstance(record, dict) and record.get("domain") not in domains:
        kept["record"] = {**record, "domain": by.domain}
    if kind in _ADDING:
        kept["apart"] = True
    if kind in _TAKING:
        kept["only"] = list(domains)
    return kept, by


def _require_visible(memory: Memory, names: Sequence[str]) -> None:
    known = {name for database in memory.databases() for name in existing(database, names)}
    unseen = next((name for name in names if name not in known), None)
    if unseen is not None and not memory.unavailable:
        raise NotFound(unseen, f"Entity with name {unseen} not found")
