"""Operations that delete entities, observations and relations, and `forget`, which also deletes
records and turns, and sets tombstones. The inverse, `restore`, skips rows forgotten meanwhile.
"""

from collections import Counter
from collections.abc import Sequence
from sqlite3 import Connection
from typing import Any

from memory_fabric.ids import short_id
from memory_fabric.models import Payload, Provenance
from memory_fabric.store import records
from memory_fabric.store.operations import kind, remember, restore, rows, tombstones
from memory_fabric.store.operations.kind import Kind, Result, step
from memory_fabric.text import many

# The domains to which a deletion is limited; None for no limit.
Domains = Sequence[str] | None


def delete_entities(c: Connection, payload: Payload, by: Provenance) -> Result:
    """Delete entities and their rows; `only` limits this to some domains. Ignore unknown names."""
    only = payload.get("only")
    removed, handed = rows.nothing(), []
    of_entity = f"o.entity = ? AND {_within(only, 'o')}"
    touching = f"(r.source = ?1 OR r.target = ?1) AND {_within(only, 'r')}"
    for name in dict.fromkeys(payload["entityNames"]):
        for entity in rows.entities(c, "e.name = ?", (name,)):
            values, mine = (entity["id"], *(only or ())), rows.nothing()
            mine["observations"] = rows.observations(c, of_entity, values)
            mine["relations"] = rows.relations(c, touching, values)
            handed += _leave_to_others(c, mine, only)
            rows.remove(c, mine)
            if only is None or (entity["domain"] in only and rows.orphans(c, (name,))):
                rows.remove(c, rows.nothing() | {"entities": [entity]})
                mine["entities"] = [entity]
            for table, some in mine.items():
                removed[table] += some
    tables = ("relations", "observations")
    touched = [end for table in tables for end in restore.ends_in(table, removed[table])]
    result = {"deleted": len(removed["entities"]), "relations": len(removed["relations"])}
    return result | {"touched": touched}, [step("restore", **removed), *restore.op(handed)]


def delete_observations(c: Connection, payload: Payload, by: Provenance) -> Result:
    """Delete observations; `only` limits this to some domains. Ignore unknown observations."""
    only = payload.get("only")
    where = "o.entity = ? AND substr(o.text, 1, 48) = substr(?, 1, 48) AND o.text = ? AND "
    where, matches = where + _within(only, "o"), []
    for item in payload["deletions"]:
        entity = rows.entity_id(c, item["entityName"])
        for text in dict.fromkeys(item["observations"] if entity is not None else ()):
            matches += rows.observations(c, where, (entity, text, text, *(only or ())))
    return _delete(c, "observations", matches, only)


def delete_relations(c: Connection, payload: Payload, by: Provenance) -> Result:
    """Delete existing relations, but not the entities at their ends; see `delete_entities`."""
    only = payload.get("only")
    matches = [row for item in payload["relations"] for row in rows.relation_of(c, item)]
    matches = [row for row in matches if only is None or row["domain"] in only]
    return _delete(c, "relations", matches, only)


def forget(c: Connection, payload: Payload, by: Provenance) -> Result:
    """Forget entities, observations, turns, and records with the graph rows that they added. An
    undo restores everything except turns, because operations do not contain their text. The content
    can be stored again by a later statement, but not by the replay of an older one. If the payload
    has `only`, other domains are unaffected.
    """
    result, inverse = _forget_records(c, payload, by)
    only = payload.get("only")
    for uuid in dict.fromkeys(payload.get("turns") or ()):
        row = c.execute("SELECT domain FROM episodes WHERE uuid = ?", (uuid,)).fetchone()
        if only is None or row is None or row[0] in only:
            said = "trim(prompts.text, char(32, 9, 10, 13))"
            is_cut = f"length(e.text) > 8192 AND instr({said}, rtrim(e.text, '…')) = 1"
            turn = "SELECT 1 FROM episodes AS e WHERE e.uuid = ? AND e.session = prompts.session"
            its = f"EXISTS ({turn} AND (e.text = {said} OR {is_cut}))"
            c.execute(f"DELETE FROM prompts WHERE {its}", (uuid,))
            result["deleted"] += c.execute("DELETE FROM episodes WHERE uuid = ?", (uuid,)).rowcount
            # Without a tombstone, a second reading of the transcript would add the turn again.
            tombstones.put(c, tombstones.of_turn(uuid), 0, by.at)
    deletions, names = payload.get("deletions") or (), payload.get("entityNames") or ()
    if not deletions and not names:
        return result, inverse
    texts = ((item["entityName"], text) for item in deletions for text in item["observations"])
    buried = [tombstones.of_observation(*pair) for pair in texts]
    for name in names:
        for entity in rows.entities(c, "e.name = ?", (name,)) or [{"aliases": ()}]:
            buried += map(tombstones.of_entity, (name, *(pair[1] for pair in entity["aliases"])))
        for row in rows.observations(c, "e.name = ?", (name,)):
            buried.append(tombstones.of_observation(name, row["text"]))
    if only is not None:  # a tombstone has no domain, so it would apply to other domains, too
        buried = []
    single, undo_single = delete_observations(c, {"deletions": deletions, "only": only}, by)
    whole, undo_whole = delete_entities(c, {"entityNames": names, "only": only}, by)
    new = [row for id_ in dict.fromkeys(buried) for row in tombstones.put(c, id_, 0, by.at)]
    result["deleted"] += single["deleted"] + whole["deleted"]
    result["touched"] += [*single["touched"], *whole["touched"]]
    return result, [*tombstones.op([], new), *undo_whole, *undo_single, *inverse]


def _forget_records(c: Connection, payload: Payload, by: Provenance) -> Result:
    """Delete records and their graph rows. What they superseded becomes valid again, or gets their
    successor. The inverse does not restore `local` records. With `bury` False, set no tombstones.
    """
    undo, touched, buried = list[dict[str, Any]](), list[str](), list[list[Any]]()
    links: list[remember.Link] = []
    count, bury, only = 0, payload.get("bury") is not False, payload.get("only")
    for id_ in dict.fromkeys(payload["ids"]):
        stored = records.find(c, "id = ?", (id_,))
        if only is not None and any(record.domain not in only for record, _ in stored):
            continue
        count += len(stored)
        for record, seen_in in stored:
            links += remember.reopen(c, record)
            lifted = remember.remove_from_graph(c, record)
            touched += remember.names_of(record)
            touched += [end for table in lifted for end in restore.ends_in(table, lifted[table])]
            if record.scope != "local":
                undo.append(remember.put_op(record, seen_in, lifted))
        c.execute("DELETE FROM records WHERE id = ?", (id_,))
        if bury and not any(record.scope == "local" for record, _ in stored):
            key = remember.key_sum(stored[-1][0]) if stored else 0
            buried += tombstones.put(c, id_, key, by.at)
    # Undo in reverse order: a row stated by two of the records was deleted with the last of them.
    inverse = [*tombstones.op([], buried), *undo[::-1], *remember.links_back(links)]
    return {"deleted": count, "touched": touched}, inverse


def _delete(c: Connection, table: str, matches: Sequence[rows.Row], only: Domains) -> Result:
    # The payload may list the same row twice.
    removed = rows.nothing() | {table: list({row["id"]: row for row in matches}.values())}
    handed = _leave_to_others(c, removed, only)
    rows.remove(c, removed)
    result = {"deleted": len(removed[table]), "touched": restore.ends_in(table, removed[table])}
    return result, [step("restore", **removed), *restore.op(handed)]


def _leave_to_others(c: Connection, removed: rows.Rows, only: Domains) -> list[restore.Group]:
    """If a record of another domain also states a row, attribute the row to that record and take it
    out of `removed`. Return groups with which `restore.replace` can undo this.
    """
    groups: list[restore.Group] = []
    domain = "SELECT domain FROM records WHERE id = ?"
    for table in ("observations", "relations") if only is not None else ():
        for row in list(removed[table]):
            for record in row["claims"]:
                stated_in = c.execute(domain, (record,)).fetchone()
                if stated_in and stated_in[0] not in (only or ()):
                    rows.hand_to(c, rows.nothing() | {table: [row]}, record)
                    groups.append(restore.group(table, rows.by_number(c, table, row["id"]), [row]))
                    removed[table].remove(row)
                    break
    return groups


def _within(only: Domains, alias: str) -> str:
    return "1" if only is None else f"{alias}.domain IN ({', '.join('?' * len(only))})"


def _describe_entities(payload: Payload, inverse: Sequence[Payload]) -> str:
    tables = ("observations", "relations")
    numbers = (len(kind.parts_of(inverse, "restore", table)) for table in tables)
    return f"deleted {kind.named(payload['entityNames'])}{kind.counted(*numbers)}"


def _describe_observations(_: Payload, inverse: Sequence[Payload]) -> str:
    counts = Counter(row["entity"] for row in kind.parts_of(inverse, "restore", "observations"))
    phrases = (f"deleted {many(n, 'observation')} of {name}" for name, n in counts.items())
    return kind.joined(list(phrases)) or "deleted nothing"


def _describe_forget(payload: Payload, inverse: Sequence[Payload]) -> str:
    former = {record["id"]: record for record in kind.former_records(inverse)}
    parts = [kind.record_phrase(former[i]) if i in former else short_id(i) for i in payload["ids"]]
    parts += payload.get("entityNames") or ()
    for item in payload.get("deletions") or ():
        parts.append(f"{many(len(item['observations']), 'observation')} of {item['entityName']}")
    if payload.get("moved_to"):
        return f"moved to scope {payload['moved_to']}: {kind.joined(parts)}"
    turns = payload.get("turns") or ()
    parts += [many(len(turns), "turn")] if turns else []
    return f"forgot {kind.joined(parts) or 'nothing'}"


_ONLY = kind.options(only=[str])
_FORGOTTEN = kind.options(
    bury=bool, batch=str, entityNames=[str], deletions=[kind.TEXTS], turns=[str], only=[str]
)
KINDS = {
    "delete_entities": Kind(
        {"entityNames": [str], **_ONLY},
        delete_entities,
        _describe_entities,
        items=("entityNames", ()),
    ),
    "delete_observations": Kind(
        {"deletions": [kind.TEXTS], **_ONLY},
        delete_observations,
        _describe_observations,
        items=("deletions", ("entityName",)),
    ),
    "delete_relations": Kind(
        {"relations": [kind.RELATION], **_ONLY},
        delete_relations,
        lambda payload, _: f"deleted the relation {kind.relation_phrases(payload['relations'])}",
        items=("relations", ("from", "to")),
    ),
    "forget": Kind({"ids": [str], **_FORGOTTEN}, forget, _describe_forget),
}
