"""forget: a preview first, then, on a yes, one memory or those that were shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from memory_fabric.cli import here, named, show
from memory_fabric.errors import BadInput, NotFound
from memory_fabric.ids import short_id
from memory_fabric.models import Entity, Record
from memory_fabric.store import graph, search
from memory_fabric.store.memory import Memory
from memory_fabric.text import cut, one_line, stem, terms, words

MAX_FOUND = 50
MAX_TEXT_CHARS = 120
STAYS = "Journals and backups keep their copies; past conversations are not touched."
AsJson = Annotated[bool, typer.Option("--json", help="Answer in JSON, for programs.")]


@dataclass(frozen=True, slots=True)
class Found:
    """What a request to forget would take away."""

    records: tuple[Record, ...]
    entities: tuple[Entity, ...] = ()

    def __len__(self) -> int:
        return len(self.records) + len(self.entities)


def forget(
    what: Annotated[
        list[str], typer.Argument(metavar="ID-OR-TEXT", help="An id, an entity's name, or words.")
    ],
    yes: Annotated[bool, typer.Option("--yes", help="Forget what the preview shows.")] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="With --yes: also when several memories match.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Show what would be forgotten; with --yes forget it."""
    text = " ".join(what)
    with here.open_memory() as memory:
        found = _found(memory, text)
        if not found:
            raise NotFound(
                text, f"Nothing matches {text!r}.", remedy="memory-fabric recall finds it."
            )
        if yes and len(found) > 1 and not everything:
            raise BadInput(
                "--yes",
                f"{len(found)} memories match {text!r}; nothing was forgotten.",
                remedy="Name one by its id, or say --all.",
            )
        gone = _forgotten(memory, found) if yes else 0
    if as_json:
        show.json_out(_as_json(found, gone))
    else:
        _show(found, gone if yes else None)
    return 0


def _found(memory: Memory, text: str) -> Found:
    if named.looks_like_id(text):
        return Found((named.record_by_id(memory, text)[0],))
    records = tuple(_holding(memory, text))
    # An entity only goes by its own exact name: words in a sentence must not take nodes away.
    entities = [e for db in memory.databases() for e in graph.open_nodes(db, [text]).entities]
    own = {f"{r.what} — because {r.why}" if r.why else r.what for r in records}
    left = [
        e._replace(observations=tuple(o for o in e.observations if o not in own)) for e in entities
    ]
    return Found(records, tuple(left))


def _holding(memory: Memory, text: str) -> list[Record]:
    """Records that hold every content word of the text."""
    asked = {stem(t) for t in terms(text)}
    match = search.match_expression(terms(text))
    if not match:
        return []
    ids = [
        str(candidate.metadata["record"])
        for database in memory.databases()
        for candidate in search.records(database, match, MAX_FOUND, session=memory.settings.session)
    ]
    found = [r for id_ in ids for r in memory.find_records("id = ?", (id_,))]
    return [r for r in found if asked <= {stem(w) for w in words(f"{r.what} {r.why}")}]


def _forgotten(memory: Memory, found: Found) -> int:
    gone = memory.forget([r.id for r in found.records], here.said_here())
    if found.entities:
        names = {"entityNames": [e.name for e in found.entities]}
        gone += int(memory.write("delete_entities", names, here.said_here()).get("deleted", 0))
    memory.flush()
    return gone


def _as_json(found: Found, gone: int) -> dict[str, Any]:
    return {
        "forgotten": gone,
        "records": [named.as_json(r) for r in found.records],
        "entities": [
            {"name": e.name, "entityType": e.type, "observations": list(e.observations)}
            for e in found.entities
        ],
    }


def _show(found: Found, gone: int | None) -> None:
    rows = [
        (short_id(r.id), r.type, r.created_at[:10], cut(one_line(r.what), MAX_TEXT_CHARS))
        for r in found.records
    ]
    rows += [
        ("", f"entity ({e.type})", "", f"{e.name}, {len(e.observations)} observations of its own")
        for e in found.entities
    ]
    show.table(("id", "kind", "date", "memory"), rows)
    if gone is None:
        show.line("This would be forgotten; nothing was changed. Say --yes to forget it.")
    else:
        show.line(f"Forgotten: {gone}. {STAYS}")
