"""Find memories to forget, forget them if a preview's confirmation code still fits, plan purges."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from memory_fabric.errors import BadInput, NotFound, StoreUnavailable
from memory_fabric.ids import checksum, new_id, short_id
from memory_fabric.models import Provenance, Record, users_words
from memory_fabric.store.database import Database
from memory_fabric.store.forget.scrub_log import PurgeTarget, is_specific
from memory_fabric.store.history import resolve
from memory_fabric.store.history.changes import MIN_ID_CHARS
from memory_fabric.store.memory import Memory
from memory_fabric.store.queries import search
from memory_fabric.store.queries.conditions import match_expression
from memory_fabric.text import content_stems, cut, first_of, name_key, neutralised, one_line, terms

MAX_FOUND = 50
# The maximum number of memories that `reopened` lists, and of characters of each memory.
MAX_NAMES, MAX_CHARS = 4, 120
# Explanations, for the user, of copies that remain after forgetting.
STAYS = (
    "Journals and backups keep copies, and the turn in which it was said can still be found; "
    "--purge erases these, too."
)
TURN_STAYS = "Backups keep copies, which --purge erases, too. It cannot be restored."
# Prefix of a turn's id, as printed by `recall --json`.
TURN = "episode:"

_ALIASES = (
    "SELECT a.alias FROM aliases AS a JOIN entities AS e ON e.id = a.entity "
    "WHERE e.name = ? AND a.alias NOT IN (SELECT name FROM entities)"
)
# The observation in the words "ENTITY TEXT", with which the page forgets it.
_SAID = (
    "SELECT e.name, o.text FROM entities AS e JOIN observations AS o ON o.entity = e.id "
    "WHERE substr(?1, 1, length(e.name) + 1) = e.name || ' ' AND o.record = '' "
    "AND o.text = substr(?1, length(e.name) + 2)"
)
_IS_ENTITY = "SELECT 1 FROM entities WHERE name = ?"
PurgePlan = Mapping[str, Any]


class FoundEntity(NamedTuple):
    """An entity to forget, with its observations (not those of records) and number of relations."""

    name: str
    type: str
    store: str
    observations: tuple[str, ...]
    relations: int


class FoundText(NamedTuple):
    """A single observation to forget, with its entity's name and its database."""

    entity: str
    text: str
    store: str


class FoundTurn(NamedTuple):
    """A turn of a past conversation to forget."""

    id: str
    role: str
    text: str
    at: str
    store: str


@dataclass(frozen=True, slots=True)
class Found:
    """The memories that match a request. If the request names an entity, `records` are about this
    entity only; `kept` are also about others, and are not forgotten. A purge searches for `words`,
    which is "" for an id or for words in any order. `exact` compares case, `inside` also searches
    in longer words, `everywhere` in all projects.
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
        return len(self.records) + len(self.entities) + len(self.observations) + len(self.turns)

    @property
    def code(self) -> str:
        """Return eight hexadecimal digits that change if one of the matches changes."""
        stated = [("record", r.id, r.what, r.why) for r in self.records]
        parts = (*stated, *self.entities, *self.observations, *self.turns)
        options = (self.words, self.exact, self.inside, self.everywhere)
        return f"{checksum(chr(10).join(sorted(map(repr, (*parts, options))))):08x}"


def as_json(found: Found) -> dict[str, Any]:
    """Return the matches and their code as a JSON object."""
    return {
        "code": found.code,
        "records": [resolve.record_json(r) for r in found.records],
        "kept": [resolve.record_json(r) for r in found.kept],
        "entities": [
            {"name": e.name, "entityType": e.type, "observations": list(e.observations)}
            for e in found.entities
        ],
        "observations": [{"entityName": o.entity, "text": o.text} for o in found.observations],
        "turns": [{"id": t.id, "role": t.role, "at": t.at, "text": t.text} for t in found.turns],
    }


def find(memory: Memory, text: str) -> Found:
    """Return the memories that `text` means, tried in this order: an id; an entity's name or alias,
    with records about it alone; words that a memory must all contain. Raises NotFound, BadInput.
    """
    if names_id(text) or resolve.means_id(memory, text):
        found = by_id(memory, text)
    elif entities := entities_meant(memory, text):
        ids: dict[str, None] = {}
        of_entity = "entity = (SELECT id FROM entities WHERE name = ?)"
        stated = f"SELECT record FROM observations WHERE record <> '' AND {of_entity}"
        for entity in entities:
            if database := memory.database(entity.store, create=False):
                ids |= dict.fromkeys(row[0] for row in database.rows(stated, (entity.name,)))
        about = [record for id_ in ids for record in memory.find_records("id = ?", (id_,))]
        keys = {name_key(entity.name) for entity in entities}
        alone = tuple(r for r in about if keys.issuperset(map(name_key, named_in(r))))
        found = Found(text, alone, tuple(entities), kept=tuple(r for r in about if r not in alone))
    else:
        found = _by_words(memory, text)
    if not found:
        raise NotFound(text, f"Nothing matches {text!r}.", remedy="memory-fabric recall finds it.")
    return found


def names_id(text: str) -> bool:
    """Return True if a request can only be the id of a record or turn."""
    return resolve.looks_like_id(text) or text.startswith(TURN)


def by_id(memory: Memory, text: str) -> Found:
    """Return the record, or else the turn, whose id ends with `text`. Raises NotFound, BadInput."""
    ending = resolve.id_part(text.removeprefix(TURN))
    try:
        return Found(text, (resolve.record_by_id(memory, text.removeprefix(TURN))[0],))
    except NotFound:
        query = "SELECT uuid, role, text, created_at FROM episodes WHERE uuid LIKE ?"
        found = ((db, row) for db in memory.databases() for row in db.rows(query, (f"%{ending}",)))
        turns = [FoundTurn(id_, role, said, at, db.kind) for db, (id_, role, said, at) in found]
        if not turns or len(ending) < MIN_ID_CHARS:
            raise
    if len(turns) > 1:
        raise resolve.several_ids(text, (turn.id for turn in turns))
    return Found(text, turns=tuple(turns))


def confirmed(memory: Memory, text: str, code: str) -> Found:
    """Return the matches of a request. Raises NotFound; BadInput if their code is not `code`."""
    found = find(memory, text)
    if found.code != code:
        problem = f"The code {code!r} does not fit what {text!r} means now; nothing was forgotten."
        raise BadInput("code", problem, remedy="Look at a new preview, and confirm its code.")
    return found


def forget(memory: Memory, found: Found, provenance: Provenance) -> int:
    """Forget the matches; return the count. Raises BadInput, NotFound, StoreUnavailable."""
    confirmed(memory, found.text, found.code)
    count, payloads = 0, [(db, _payload_for(db, found)) for db in memory.databases()]
    payloads = [(db, payload) for db, payload in payloads if any(payload.values())]
    # One undo brings back what was forgotten in both databases.
    batch = {"batch": new_id()} if len(payloads) > 1 else {}
    for database, payload in payloads:
        result = memory.write("forget", payload | batch, provenance, store=database.kind)
        if result.get("queued"):
            problem = f"It will be forgotten later: {result.get('because')}"
            remedy = "memory-fabric sync does it when the memory can be written."
            raise StoreUnavailable(database.path, problem, remedy=remedy)
        count += sum(map(len, payload.values()))
    memory.flush()
    return count


def reopened(memory: Memory, records: Iterable[Record]) -> str:
    """Return a sentence on superseded memories that hold again once `records` are gone, or ''."""
    successors = {record.id: record.superseded_by for record in records}
    parts = []
    for id_ in successors:
        for old in memory.find_records("superseded_by = ?", (id_,)):
            by = id_
            for _ in successors:  # follow the chain of successors that are forgotten, too
                by = successors.get(by, by)
            if not by and old.id not in successors:
                parts.append((short_id(old.id), cut(neutralised(one_line(old.what)), MAX_CHARS)))
    if not parts:
        return ""
    named = first_of([f"{id_} “{what}”" for id_, what in parts], MAX_NAMES)
    return f"{named} {'holds' if len(parts) == 1 else 'hold'} again; `forget {parts[0][0]}` too?"


def entities_meant(memory: Memory, text: str) -> list[FoundEntity]:
    """Return the entities with exactly this name or alias."""
    meant = resolve.entities_meant(memory, text)
    databases = ((memory.database(store, create=False), name) for store, name in meant)
    return [entity for db, name in databases if db for entity in entities_named(db, [name])]


def entities_named(database: Database, names: Iterable[str]) -> list[FoundEntity]:
    """Return the entities with these names, each with the content that is deleted along with it."""
    entities = []
    for name in names:
        count = "SELECT count(*) FROM relations AS r WHERE r.source = e.id OR r.target = e.id"
        query = f"SELECT id, type, ({count}) FROM entities AS e WHERE name = ?"
        if row := database.row(query, (name,)):
            own = "SELECT text FROM observations WHERE entity = ? AND record = '' ORDER BY id"
            texts = tuple(text for (text,) in database.rows(own, (row[0],)))
            entities.append(FoundEntity(name, row[1], database.kind, texts, row[2]))
    return entities


def named_in(record: Record) -> list[str]:
    """Return the names of a record's entities, except entities of type `project`."""
    return [entity.name for entity in record.entities if entity.type != "project"]


def purge_plan(memory: Memory, found: Found) -> dict[str, Any]:
    """Return the plan of a purge as a value that can be saved as JSON."""
    words = (found.words,) if found.words else ()
    words_only = PurgeTarget(words=words, exact=found.exact, inside=found.inside)
    texts = [text for r in found.records for text in (r.what, r.why) if text]
    # Other notes may quote the same words, and keep them and the turn in which they were said.
    ids, quoting = {r.id for r in found.records}, "json_extract(body, '$.evidence.quotation') = ?"
    for said in filter(None, map(users_words, found.records)):
        alone = ids.issuperset(r.id for r in memory.find_records(quoting, (said,), -1))
        texts += [said] if alone else []
    texts += [text for e in found.entities for text in e.observations]
    texts += [o.text for o in found.observations] + [turn.text for turn in found.turns]
    # Texts with the request's words are not purged whole: only the words are removed from copies.
    texts = [text for text in dict.fromkeys(texts) if not words_only.is_in(text)]
    parts: dict[str, Any] = {}
    for db in memory.databases():
        names, statements = [], []
        for entity in (e for e in found.entities if e.store == db.kind):
            names += [entity.name, *(row[0] for row in db.rows(_ALIASES, (entity.name,)))]
            statements += [[entity.name, text] for text in entity.observations]
        statements += [[o.entity, o.text] for o in found.observations if o.store == db.kind]
        payload = _payload_for(db, replace(found, turns=()))
        names = list(dict.fromkeys(names))
        parts[db.kind] = {"names": names, "said": statements, "forget": payload}
    user = memory.database("user", create=False)
    # All projects use the user's memories, so a purge of such a memory must search all projects.
    personal = "SELECT 1 FROM records WHERE id = ?"
    return {
        "request": found.text,
        "words": [*words],
        "exact": found.exact,
        "inside": found.inside,
        "turns": [turn.id for turn in found.turns],
        "project_dir": memory.settings.project_dir,
        "everywhere": found.everywhere
        or any(user and user.row(personal, (record.id,)) for record in found.records)
        or "user" in {e.store for e in found.entities} | {o.store for o in found.observations},
        "ids": [record.id for record in found.records],
        "texts": list(filter(is_specific, texts)),
        "stores": parts,
        "short": sum(not is_specific(text) for text in texts),
        "memories": len(found),
    }


def target_of(plan: PurgePlan) -> PurgeTarget:
    """Return the words and texts that a plan removes from all databases and files."""
    texts, words = tuple(plan["texts"]), tuple(plan.get("words", ()))
    exact, inside = bool(plan.get("exact")), bool(plan.get("inside"))
    return PurgeTarget(texts=texts, words=words, exact=exact, inside=inside)


def target_in(plan: PurgePlan, memory: Memory, database: Database) -> PurgeTarget:
    """Return what a plan removes from `database`, including its list of injected memories."""
    own = database.path == memory.path_of(database.kind)
    part = plan["stores"].get(database.kind, {}) if own else {}
    names = frozenset(part.get("names", ()))
    # A project's list of injected memories also names memories of the user: purge these there, too.
    told_names = {name for store_part in plan["stores"].values() for name in store_part["names"]}
    told_names -= {name for name in told_names - names if database.row(_IS_ENTITY, (name,))}
    sets: dict[str, Any] = {"names": names, "given": frozenset(told_names)}
    sets |= {field: frozenset(plan.get(field, ())) for field in ("ids", "turns")}
    said = frozenset((name, text) for name, text in part.get("said", ()))
    return replace(target_of(plan), said=said, **sets)


def _payload_for(database: Database, found: Found) -> dict[str, list[Any]]:
    is_stored, kind = "SELECT 1 FROM records WHERE id = ?", database.kind
    texts = ((o.entity, o.text) for o in found.observations if o.store == kind)
    payload: dict[str, list[Any]] = {
        "ids": [r.id for r in found.records if database.row(is_stored, (r.id,))],
        "entityNames": [e.name for e in found.entities if e.store == kind],
        "deletions": [{"entityName": name, "observations": [text]} for name, text in texts],
    }
    turns = [t.id for t in found.turns if t.store == kind]
    return payload | ({"turns": turns} if turns else {})


def _by_words(memory: Memory, text: str) -> Found:
    """Return the records and single observations that contain every content word of the text."""
    match, wanted = match_expression(terms(text)), content_stems(text)
    said = [FoundText(e, o, d.kind) for d in memory.databases() for e, o in d.rows(_SAID, (text,))]
    # No search finds an observation of only stop words or signs, so it must be named exactly.
    if not (match and wanted) or (said and not any(content_stems(o.text) for o in said)):
        return Found(text, observations=tuple(said))
    records: list[Record] = []
    observations: list[FoundText] = []
    for database in memory.databases():
        for hit in search.records(database, match, MAX_FOUND, session=memory.settings.session):
            records += memory.find_records("id = ?", (str(hit.metadata["record"]),))
        hits = search.observations(database, match, MAX_FOUND)
        own_hits = (hit for hit in hits if not hit.metadata["record"])
        observations += [FoundText(hit.entity, hit.text, database.kind) for hit in own_hits]
    # Recall shows a record with the user's quotation, so the words may also be in the quotation.
    own = tuple(r for r in records if wanted <= content_stems(f"{r.what} {r.why} {users_words(r)}"))
    about = (o for o in observations if wanted & content_stems(o.text))
    held = tuple(o for o in about if wanted <= content_stems(f"{o.entity} {o.text}"))
    return Found(text, own, observations=held)
