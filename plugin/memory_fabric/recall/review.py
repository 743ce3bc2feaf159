"""Records that await the user's decision, such as candidates, contradictions and stale records."""

from collections.abc import Iterable, Sequence
from contextlib import closing, suppress
from typing import NamedTuple

from memory_fabric import models
from memory_fabric.config import Settings
from memory_fabric.errors import NotFound, StoreUnavailable
from memory_fabric.ids import new_id, short_id, timestamp
from memory_fabric.language.times import days_between, parsed
from memory_fabric.models import RULE_TYPES, Hit, Progress, Project, Provenance, Record
from memory_fabric.recall.normalize import dedupe
from memory_fabric.recall.render import DEFAULT_DAYS, STALE_AFTER_DAYS, is_stale, limit_days
from memory_fabric.store.database import Database
from memory_fabric.store.history import candidates, changes, last_mentions, resolve
from memory_fabric.store.history.last_mentions import RECORD, AgedMemory, Mention
from memory_fabric.store.memory import Memory
from memory_fabric.store.projects import file_states, home_projects, registry_file
from memory_fabric.store.schema import ACTIVE_CURRENT
from memory_fabric.store.scoped_memory import without

CANDIDATE, CONTRADICTION, STALE, DUPLICATE = "candidate", "contradiction", "stale", "duplicate"
RULE, UNCONFIRMED, SHARED = "rule", "imported", "shared"
KINDS = (CANDIDATE, CONTRADICTION, RULE, STALE, DUPLICATE, UNCONFIRMED, SHARED)
MAX_IDS = 500  # the maximum number of ids in one query
MAX_READ = 5000  # the maximum number of records of each kind that are read
_LASTING = f"{ACTIVE_CURRENT} AND scope <> 'local' AND type <> 'session' AND source"
_CURRENT = f"{_LASTING} <> '{models.OTHERS}'"
_OF_OTHERS = f"{_LASTING} = '{models.OTHERS}' AND pinned = 0"


class Due(NamedTuple):
    """A record on which the user must decide, and the kind of decision."""

    kind: str
    record: Record
    others: tuple[Record, ...] = ()  # other records that the decision concerns
    days: int = 0  # the age of a stale record
    source: str = ""  # program or author; for a RULE, the parts of `When:` the user did not type


def due(memory: Memory, now: str, compared: int = MAX_READ) -> list[Due]:
    """List what to review at `now`, by KINDS; seek duplicates in the newest `compared` records."""
    current = memory.find_records(_CURRENT, (), MAX_READ)
    by_id = {record.id: record for record in current}
    due_items = [Due(CANDIDATE, record) for record in candidates.waiting(memory)]
    for record in current:
        # A contradiction awaits review until the user has confirmed one of the records.
        others = [by_id[id_] for id_ in models.contradicted(record) if id_ in by_id]
        others = [old for old in others if _confirmed_at(old) < record.created_at]
        if others and not _confirmed_at(record):
            due_items.append(Due(CONTRADICTION, record, tuple(others)))
    unsaid = ((record, _unsaid(record)) for record in current)
    due_items += [Due(RULE, record, source=", ".join(names)) for record, names in unsaid if names]
    by_id = {record.id: record for record in current if not models.is_unconfirmed_import(record)}
    aged = [old for old in stale(memory, now, limit=MAX_READ).shown if old.item.kind == RECORD]
    due_items += [Due(STALE, by_id[s.item.id], days=s.days) for s in aged if s.item.id in by_id]
    due_items += _duplicates(list(by_id.values())[:compared])
    due_items += brought(memory)
    seen: set[str] = set()
    first = []
    for one in due_items:
        if one.record.id not in seen:
            first.append(one)
            seen |= {one.record.id, *(other.id for other in one.others)}
    return first


def brought(memory: Memory, name: str | None = None) -> list[Due]:
    """Return unconfirmed records from all programs and colleagues, or from the one named `name`."""
    own = filter(models.is_unconfirmed_import, memory.find_records(_CURRENT, (), MAX_READ))
    waiting = [Due(UNCONFIRMED, r, source=str(r.evidence[models.IMPORTED])) for r in own]
    others = memory.find_records(_OF_OTHERS, (), MAX_READ)
    waiting += [Due(SHARED, r, source=r.author) for r in others if not _confirmed_at(r)]
    # An empty name, for example from an unset shell variable, selects nothing.
    return [w for w in waiting if name is None or (name and w.source.lower() == name.lower())]


def proposals(settings: Settings) -> list[tuple[Project, Record]]:
    """Return the candidates of all projects in this home, except those of isolated domains."""
    found: dict[str, tuple[Project, Record]] = {}
    isolated = sorted(settings.domains.isolated)
    for id_ in registry_file.project_ids(settings.home):
        with suppress(StoreUnavailable), closing(home_projects.memory_of(settings, id_)) as memory:
            waiting = candidates.waiting(without(memory, isolated) if isolated else memory)
            assert memory.project is not None
            found = {record.id: (memory.project, record) for record in waiting} | found
    return sorted(found.values(), key=lambda one: one[0].name)


def _unsaid(record: Record) -> list[str]:
    """Return the parts of a rule's `When:` that the user neither typed nor later confirmed."""
    evidence = record.evidence
    is_bound = record.type in RULE_TYPES and record.trust == "user" and evidence.get(models.WHEN)
    is_settled = _confirmed_at(record) or evidence.get(models.EFFECT)
    return list(map(str, evidence.get(models.UNSAID, ()))) if is_bound and not is_settled else []


def _duplicates(current: Sequence[Record]) -> Iterable[Due]:
    """Yield the newest of several nearly equal records, together with the older ones."""
    by_id = {record.id: record for record in current if not _confirmed_at(record)}
    groups: dict[tuple[object, ...], list[Hit]] = {}
    for record in by_id.values():
        alike = (record.scope, record.domain, models.verdict(record), record.type == "question")
        names = tuple(entity.name for entity in record.entities)
        text = models.text_with_reason(record)
        hit = Hit(record.id, text, "records", record.created_at, 1.0, names)
        groups.setdefault(alike, []).append(hit)
    for hits in groups.values():
        for hit in dedupe(hits):
            ids = [id_ for key, id_ in hit.metadata.items() if key.endswith("id")]
            if others := tuple(by_id[id_] for id_ in ids if id_ in by_id):
                yield Due(DUPLICATE, by_id[hit.id], others)


def asks_about(record: Record) -> str:
    """Return the `When:` of a rule that a team's owner set for the team; '' for other records."""
    is_asking = record.source == models.OTHERS and record.evidence.get(models.FOR_TEAM)
    return str(record.evidence.get(models.WHEN) or "") if is_asking else ""


def _confirmed_at(record: Record) -> str:
    return str(record.evidence.get(models.CONFIRMED) or "")


def records_with_changes(memory: Memory, types: Sequence[str] = ()) -> list[Record]:
    """Return current records whose files changed, newest first. Slow: all files are compared."""
    changed_files = file_states.all_changed(memory)
    wanted = frozenset(models.record_type(kind.lower()) for kind in types)
    records: list[Record] = []
    ids = list(changed_files)
    for at in range(0, len(ids), MAX_IDS):
        some = ids[at : at + MAX_IDS]
        marks = ", ".join("?" * len(some))
        records += memory.find_records(
            f"{ACTIVE_CURRENT} AND id IN ({marks})", tuple(some), MAX_IDS
        )
    records.sort(key=lambda record: (record.created_at, record.id), reverse=True)
    chosen = [record for record in records if not wanted or record.type in wanted]
    marked = ({**r.evidence, models.CHANGED_FILES: changed_files[r.id]} for r in chosen)
    return [r._replace(evidence=evidence) for r, evidence in zip(chosen, marked, strict=True)]


DAY_S = 24 * 3600
MAX_TEXT_CHARS = 240
# The maximum number of items that are pruned in one transaction, which keeps transactions short.
BATCH = 200
# An item is kept if one of these fields has changed since the item was shown.
_KEPT = ("type", "id", "newest", "observations")


class Stale(NamedTuple):
    """A stale entity or record, its age in days, and the limit for its type."""

    item: AgedMemory
    days: int
    limit_days: int


class Report(NamedTuple):
    """The oldest stale entities and records, up to a limit; `total` counts all stale ones."""

    shown: tuple[Stale, ...] = ()
    total: int = 0


class Pruned(NamedTuple):
    """The result of a prune: removed items, items kept because they changed, the id for `undo`."""

    removed: tuple[Stale, ...] = ()
    kept: tuple[Stale, ...] = ()
    undo: str = ""


def stale(
    memory: Memory,
    now: str,
    *,
    types: Sequence[str] = (),
    limit: int,
    older_than: int | None = None,
    named: Sequence[str] = (),
) -> Report:
    """Return up to `limit` entities and records that are stale at `now`, oldest first, with texts.
    `types` and `named` (names or ids), if given, limit the result. `older_than` (days) replaces the
    limits of the types. Raises NotFound for a name that is unknown or not stale.
    """
    old: list[Stale] = []
    wanted = frozenset(kind.lower() for kind in types)
    for database in memory.databases():
        limits = [days for days in (*STALE_AFTER_DAYS.values(), DEFAULT_DAYS) if days is not None]
        moment, youngest = parsed(now), min(limits) if older_than is None else older_than
        before = timestamp(moment.timestamp() - youngest * DAY_S) if moment else ""
        mentions_by_row = last_mentions.mentions(database, now)
        aged = last_mentions.entities(database, before)
        aged += last_mentions.records(database, before, now)
        judged = (_judged(a, mentions_by_row.get(a.row, ()), now, older_than) for a in aged)
        old += [one for one in judged if one is not None]
    old = [s for s in old if not wanted or s.item.type.lower() in wanted]
    old = _only(memory, old, named) if named else old
    old.sort(key=lambda s: (s.item.last_at, s.item.kind, s.item.store, s.item.row))
    shown = []
    for one in old[:limit]:
        own = memory.database(one.item.store, create=False)
        item = last_mentions.with_text(own, one.item, MAX_TEXT_CHARS) if own else one.item
        shown.append(one._replace(item=item))
    return Report(tuple(shown), len(old))


def prune(
    memory: Memory,
    shown: Sequence[Stale],
    by: Provenance,
    now: str,
    progress: Progress | None = None,
) -> Pruned:
    """Forget shown items not changed or mentioned since, as one change. Raises StoreUnavailable."""
    report = progress or (lambda done, of: None)
    batch = new_id()
    removed: list[Stale] = []
    for database in memory.databases():
        mentions_by_row = last_mentions.mentions(database, now)
        # Handle entities first, because removing a record may change its entities' observations.
        mine = [s for s in shown if s.item.store == database.kind]
        mine.sort(key=lambda s: s.item.kind != last_mentions.ENTITY)
        for at in range(0, len(mine), BATCH):
            some = _unchanged(database, mine[at : at + BATCH], mentions_by_row, now)
            if some:
                _forget(memory, database, some, by, batch, not removed)
            removed += some
            report(len(removed), len(shown))
    memory.flush()
    taken = {_key(s.item) for s in removed}
    kept = tuple(s for s in shown if _key(s.item) not in taken)
    return Pruned(tuple(removed), kept, _undo_id(memory, batch))


def _judged(
    item: AgedMemory, found: Iterable[Mention], now: str, own_limit: int | None
) -> Stale | None:
    """Return an item with its age; None if not stale or if a fresh or pinned record mentions it."""
    mentions = list(found) if item.kind == last_mentions.ENTITY else []
    for mention in mentions:
        if mention.pinned or not is_stale(mention.type, days_between(mention.at, now), own_limit):
            return None
    last = max([item.last_at, *(mention.at for mention in mentions)])
    days, limit = days_between(last, now), limit_days(item.type, own_limit)
    if days is None or limit is None or not is_stale(item.type, days, own_limit):
        return None
    return Stale(item._replace(last_at=last), int(days), limit)


def _unchanged(
    database: Database, shown: Sequence[Stale], mentions_by_row: dict[int, list[Mention]], now: str
) -> list[Stale]:
    fresh = last_mentions.reread(database, [s.item for s in shown], now)
    return [
        s
        for s, seen in zip(shown, fresh, strict=True)
        if seen is not None
        and all(getattr(s.item, field) == getattr(seen, field) for field in _KEPT)
        and (s.item.kind != last_mentions.ENTITY or s.item.name == seen.name)
        # The item may have lost relations to entities removed before it. A new relation keeps it.
        and seen.linked <= s.item.linked
        and seen.last_at <= s.item.last_at
        and not any(
            mention.pinned or mention.at > s.item.last_at
            for mention in mentions_by_row.get(s.item.row, ())
            if s.item.kind == last_mentions.ENTITY
        )
    ]


def _forget(
    memory: Memory, db: Database, some: Sequence[Stale], by: Provenance, batch: str, is_first: bool
) -> None:
    payload = {
        "ids": [s.item.id for s in some if s.item.kind == last_mentions.RECORD],
        "entityNames": [s.item.name for s in some if s.item.kind == last_mentions.ENTITY],
        "deletions": [],
        "batch": batch,
    }
    try:
        memory.write_now("forget", payload, by, store=db.kind)
    except StoreUnavailable as error:  # do not retry later: the memory may be in use by then
        problem = f"was pruned: {error.message.rstrip('.')}."
        back = f"memory-fabric undo {_undo_id(memory, batch)} brings back what went before."
        text = f"Nothing {problem}" if is_first else f"Not all of it {problem} {back}"
        raise StoreUnavailable(db.path, text, remedy=error.remedy or "Try again.") from error


def _undo_id(memory: Memory, batch: str) -> str:
    return next((short_id(change.id) for change in changes.of_batch(memory, batch)), "")


def _only(memory: Memory, found: Sequence[Stale], named: Sequence[str]) -> list[Stale]:
    chosen: dict[tuple[str, ...], Stale] = {}
    by_key = {_key(s.item): s for s in found}
    for text in named:
        meant = resolve.entities_meant(memory, text)
        keys: list[tuple[str, ...]] = [(last_mentions.ENTITY, *one) for one in meant]
        if not keys and resolve.looks_like_id(text):
            record, _, store = resolve.record_by_id(memory, text)
            keys = [(last_mentions.RECORD, store, record.id)]
        hits = {key: by_key[key] for key in keys if key in by_key}
        if not hits:
            what = "is not stale" if keys else "is neither a memory's id nor an entity's name"
            remedy = "memory-fabric stale shows what is; memory-fabric forget takes any."
            raise NotFound(text, f"{text!r} {what}; nothing was changed.", remedy=remedy)
        chosen |= hits
    return list(chosen.values())


def _key(item: AgedMemory) -> tuple[str, ...]:
    return item.kind, item.store, item.id or item.name
