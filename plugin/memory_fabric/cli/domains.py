"""domains: what lies in which domain, and what reaches from one into another."""

from __future__ import annotations

from typing import Any

from memory_fabric.cli import here, show
from memory_fabric.store import by_domain as store
from memory_fabric.store.by_domain import ByDomain, Crossing

MAX_SHOWN = 10


def domains(as_json: show.AsJson = False) -> int:
    """Count entities, relations, observations and records by domain.

    A relation whose ends lie in different domains is contamination: what is asked for in one may
    lead into the other. They are counted, and the first are shown.
    """
    with here.open_memory() as memory:
        found = store.by_domain(memory.databases(), MAX_SHOWN)
        failures = list(memory.failures)
    if as_json:
        show.json_out({**_as_json(found), "failures": failures})
    else:
        _show(found)
        for failure in failures:
            show.complain(failure)
    return 0 if found.counts else 1 if failures else 3


def _as_json(found: ByDomain) -> dict[str, Any]:
    rows = [
        {"domain": name, **dict(zip(store.TABLES, numbers, strict=True))}
        for name, numbers in found.counts
    ]
    first = [
        {
            "from": one.source,
            "from_domain": one.source_domain,
            "relation": one.type,
            "to": one.target,
            "to_domain": one.target_domain,
            "store": one.store,
        }
        for one in found.first
    ]
    return {"domains": rows, "contamination": {"relations": found.crossings, "first": first}}


def _show(found: ByDomain) -> None:
    if not found.counts:
        show.line("Nothing is stored here yet.")
        return
    rows = [(name, *map(str, numbers)) for name, numbers in found.counts]
    show.table(("domain", *store.TABLES), rows)
    if not found.crossings:
        show.line("No relation reaches from one domain into another.")
        return
    show.line(f"Relations that reach from one domain into another: {found.crossings}")
    for one in found.first:
        show.line(f"  {_line(one)}")
    if found.crossings > len(found.first):
        show.line(f"  and {found.crossings - len(found.first)} more", "dim")


def _line(one: Crossing) -> str:
    return f"{one.source} ({one.source_domain}) {one.type} {one.target} ({one.target_domain})"
