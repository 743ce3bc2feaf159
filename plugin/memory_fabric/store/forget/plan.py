"""Forget exactly what a preview showed: find what a request names, give it a code, check it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from memory_fabric.errors import BadInput, NotFound, StoreUnavailable
from memory_fabric.ids import checksum
from memory_fabric.models import Provenance, Record
from memory_fabric.store import search
from memory_fabric.store.database import Database
from memory_fabric.store.fts_query import match_expression
from memory_fabric.store.history import record_json, resolve
from memory_fabric.store.history.changes import MIN_ID_CHARS
from memory_fabric.store.memory import Memory
from memory_fabric.text import name_key, stem, terms, words

MAX_FOUND = 50
# Copies that forgetting leaves.
STAYS = (
    "Journals and backups keep copies, and the turn in which it was said can still be found; "
    "--purge erases these, too."
)
TURN_STAYS = "Backups keep copies, which --purge erases, too. It cannot be restored."
# Prefix of a turn's id in answers of `recall --json`.
TURN = "episode:"


@dataclass(frozen=True, slots=True)
class FoundEntity:
    """An entity to forget, with its observations that belong to no record, and its relations."""

    name: str
    type: str
    store: str
    observations: tuple[str, ...]
    relations: int


@dataclass(frozen=True, slots=True)
class FoundText:
    """A single observation to forget."""

    entity: str
    text: str
    store: str


@dataclass(frozen=True, slots=True)
class FoundTurn:
    """A turn of a past conversation to forget."""

    id: str
    role: str
    text: str
    at: str
    store: str


@dataclass(frozen=True, slots=True)
class Found:
    """The memories that a request to forget means. `code` identifies exactly these, as they are
    now.

    `records` are also those about a named entity alone, `kept` those that are also about others.
    For a purge `words` are searched for everywhere, `exact` in this case only, `inside` also in
    longer words, `everywhere` also in other projects; empty for an id and for plain forgetting.
    """

    text: str
    records: tuple[Record, ...] = ()
    entities: tuple[FoundEntity, ...] = ()
    observations: tuple[FoundText, ...] = ()
    turns: tuple[FoundTurn, ...] = ()
    kept: tuple[Record, ...] = ()
    words: str = ""
    exact: bool = False
    inside: bool = False
    everywhere: bool = False

    def __len__(self) -> int:
        memories = len(self.records) + len(self.entities) + len(self.observations)
        return memories + len(self.turns)

    @property
    def code(self) -> str:
        """Eight hexadecimal digits that change when anything that was found changes."""
        parts = [f"record\t{r.id}\t{r.what}\t{r.why}" for r in self.records]
        parts += [
            "\t".join(("entity", e.store, e.name, str(e.relations), *e.observations))
            for e in self.entities
        ]
        parts += [f"observation\t{o.store}\t{o.entity}\t{o.text}" for o in self.observations]
        parts += [f"turn\t{t.store}\t{t.id}\t{t.text}" for t in self.turns]
        if self.words:
            parts.append(f"words\t{self.words}\t{self.exact}\t{self.inside}")
        parts += ["everywhere"] if self.everywhere else []
        return f"{checksum(chr(10).join(sorted(parts))):08x}"


def as_json(found: Found) -> dict[str, Any]:
    """Return what was found as a JSON object, with its code."""
    return {
        "code": found.code,
        "records": [record_json.as_json(r) for r in found.records],
        "kept": [record_json.as_json(r) for r in found.kept],
        "entities": [
            {"name": e.name, "entityType": e.type, "observations": list(e.observations)}
            for e in found.entities
        ],
        "observations": [{"entityName": o.entity, "text": o.text} for o in found.observations],
        "turns": [{"id": t.id, "role": t.role, "at": t.at, "text": t.text} for t in found.turns],
    }


def find(memory: Memory, text: str) -> Found:
    """Return the memories that a request to forget names; nothing is changed.

    An id means one record or turn; else the entity of exactly this name or alias, with the records
    about it alone; else records that hold all of the words, and observations that hold all of them
    and belong to no record. Raises NotFound.
    """
    if resolve.looks_like_id(text) or text.startswith(TURN):
        found = by_id(memory, text)
    elif entities := entities_meant(memory, text):
        about = _records_about(memory, entities)
        keys = {name_key(entity.name) for entity in entities}
        alone = tuple(r for r in about if keys.issuperset(map(name_key, named_in(r))))
        kept = tuple(r for r in about if r not in alone)
        found = Found(text, alone, tuple(entities), kept=kept)
    else:
        found = Found(text, _records(memory, text), observations=_observations(memory, text))
    if not found:
        raise NotFound(text, f"Nothing matches {text!r}.", remedy="memory-fabric recall finds it.")
    return found


def by_id(memory: Memory, text: str) -> Found:
    """Return the record, or else the turn, that an id or its end names.

    Raises NotFound, and BadInput if several ids end alike.
    """
    try:
        return Found(text, (resolve.record_by_id(memory, text.removeprefix(TURN))[0],))
    except NotFound:
        turns = _turns(memory, text)
        if not turns:
            raise
    if len(turns) > 1:
        ids = ", ".join(turn.id for turn in turns)
        raise BadInput("id", f"{text!r} fits several ids: {ids}.", remedy="Type more of the id.")
    return Found(text, turns=tuple(turns))


def confirmed(memory: Memory, text: str, code: str) -> Found:
    """Return what the request names if the code still fits. Raises NotFound, BadInput."""
    found = find(memory, text)
    if found.code != code:
        raise BadInput(
            "code",
            f"The code {code!r} does not fit what {text!r} means now; nothing was forgotten.",
            remedy="Look at a new preview, and confirm its code.",
        )
    return found


def forget(memory: Memory, found: Found, provenance: Provenance) -> int:
    """Forget exactly what was found, in one operation per database; return the number of memories.

    Raises BadInput if any of them has changed since, StoreUnavailable if the change had to be
    queued. The other tiers are updated afterwards.
    """
    confirmed(memory, found.text, found.code)
    count = sum(_forget_in(memory, database, found, provenance) for database in memory.databases())
    memory.flush()
    return count


def payload_for(database: Database, found: Found) -> dict[str, list[object]]:
    """Return the payload of the operation that forgets what was found in one database."""
    ids = [
        r.id for r in found.records if database.row("SELECT 1 FROM records WHERE id = ?", (r.id,))
    ]
    names = [e.name for e in found.entities if e.store == database.kind]
    said = [
        {"entityName": o.entity, "observations": [o.text]}
        for o in found.observations
        if o.store == database.kind
    ]
    turns = [t.id for t in found.turns if t.store == database.kind]
    payload: dict[str, list[object]] = {
        "ids": [*ids],
        "entityNames": [*names],
        "deletions": [*said],
    }
    return payload | {"turns": [*turns]} if turns else payload


def _forget_in(memory: Memory, database: Database, found: Found, provenance: Provenance) -> int:
    payload = payload_for(database, found)
    if not any(payload.values()):
        return 0
    result = memory.write("forget", payload, provenance, store=database.kind)
    if result.get("queued"):
        raise StoreUnavailable(
            database.path,
            f"It will be forgotten later: {result.get('because')}",
            remedy="memory-fabric sync does it when the memory can be written.",
        )
    return sum(map(len, payload.values()))


def entities_meant(memory: Memory, text: str) -> list[FoundEntity]:
    """Return the entities of exactly this name or alias."""
    found = []
    for store, name in resolve.entities_meant(memory, text):
        database = memory.database(store, create=False)
        if database:
            found += entities_named(database, [name])
    return found


def entities_named(database: Database, names: Iterable[str]) -> list[FoundEntity]:
    """Return the entities of these names in one database, with everything that is deleted with
    them.
    """
    found = []
    for name in names:
        row = database.row(
            "SELECT id, type, (SELECT count(*) FROM relations AS r "
            "WHERE r.source = e.id OR r.target = e.id) FROM entities AS e WHERE name = ?",
            (name,),
        )
        if not row:
            continue
        own = database.rows(
            "SELECT text FROM observations WHERE entity = ? AND record = '' ORDER BY id", (row[0],)
        )
        said = tuple(o[0] for o in own)
        found.append(FoundEntity(name, row[1], database.kind, said, row[2]))
    return found


def named_in(record: Record) -> list[str]:
    """Return the names of the entities that a record is about, without its project."""
    return [entity.name for entity in record.entities if entity.type != "project"]


def _records_about(memory: Memory, entities: Iterable[FoundEntity]) -> list[Record]:
    """Return the records that state something about these entities, each once."""
    ids: dict[str, None] = {}
    for entity in entities:
        database = memory.database(entity.store, create=False)
        said = "SELECT id FROM entities WHERE name = ?"
        stated = f"SELECT record FROM observations WHERE record <> '' AND entity = ({said})"
        ids |= dict.fromkeys(
            row[0] for row in (database.rows(stated, (entity.name,)) if database else ())
        )
    return [record for id_ in ids for record in memory.find_records("id = ?", (id_,))]


def _turns(memory: Memory, text: str) -> list[FoundTurn]:
    ending = resolve.id_part(text.removeprefix(TURN))
    if len(ending) < MIN_ID_CHARS:
        return []
    return [
        FoundTurn(uuid, role, said, at, database.kind)
        for database in memory.databases()
        for uuid, role, said, at in database.rows(
            "SELECT uuid, role, text, created_at FROM episodes WHERE uuid LIKE ?", (f"%{ending}",)
        )
    ]


def _records(memory: Memory, text: str) -> tuple[Record, ...]:
    """Return records that hold every content word of the text."""
    match, asked = match_expression(terms(text)), _stems(text)
    if not match:
        return ()
    ids = [
        str(candidate.metadata["record"])
        for database in memory.databases()
        for candidate in search.records(database, match, MAX_FOUND, session=memory.settings.session)
    ]
    found = [r for id_ in ids for r in memory.find_records("id = ?", (id_,))]
    return tuple(r for r in found if asked <= _all_stems(f"{r.what} {r.why}"))


def _observations(memory: Memory, text: str) -> tuple[FoundText, ...]:
    """Return observations of no record that, with their entity's name, hold every content word."""
    match, asked = match_expression(terms(text)), _stems(text)
    if not match:
        return ()
    found = [
        FoundText(candidate.entity, candidate.text, database.kind)
        for database in memory.databases()
        for candidate in search.observations(database, match, MAX_FOUND)
        if not candidate.metadata["record"]
    ]
    return tuple(
        o
        for o in found
        if asked & _all_stems(o.text) and asked <= _all_stems(f"{o.entity} {o.text}")
    )


def _stems(text: str) -> set[str]:
    return {stem(t) for t in terms(text)}


def _all_stems(text: str) -> set[str]:
    return {stem(w) for w in words(text)}
