"""The plan of a purge: words, names, ids and texts, kept on disk until all of it is erased."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from memory_fabric.models import Record
from memory_fabric.store.database import Database
from memory_fabric.store.forget import plan as forget_plan
from memory_fabric.store.forget.plan import Found
from memory_fabric.store.forget.scrub_log import PurgeTarget, is_specific
from memory_fabric.store.memory import Memory

Plan = Mapping[str, Any]


def planned(memory: Memory, found: Found) -> dict[str, Any]:
    """Return the plan in a form that JSON can hold."""
    said = (found.words,) if found.words else ()
    words = PurgeTarget(words=said, exact=found.exact, inside=found.inside).asked
    return {
        "request": found.text,
        "words": [*said],
        "exact": found.exact,
        "inside": found.inside,
        "turns": [turn.id for turn in found.turns],
        "project_dir": memory.settings.project_dir,
        "everywhere": found.everywhere
        or any(_is_personal(memory, record) for record in found.records)
        or "user" in {e.store for e in found.entities} | {o.store for o in found.observations},
        "ids": [record.id for record in found.records],
        "texts": [
            text
            for text in texts_of(found)
            # Texts with the words are found by the words, and a turn that quotes them keeps the
            # rest.
            if is_specific(text) and not words.is_in(text)
        ],
        "stores": {db.kind: _part(db, found) for db in memory.databases()},
        "short": sum(not is_specific(text) and not words.is_in(text) for text in texts_of(found)),
        "memories": len(found),
    }


def target_in(plan: Plan, memory: Memory, database: Database) -> PurgeTarget:
    """Return what a plan removes from one database: names only from that in which they were
    found.
    """
    own = database.path == memory.path_of(database.kind)
    part = plan["stores"].get(database.kind, {}) if own else {}
    names = frozenset(part.get("names", ()))
    # The project's ledger notes what it was given of the user's memory.
    given = {name for other in plan["stores"].values() for name in other["names"]}
    given -= {row[0] for row in database.rows("SELECT name FROM entities")} - names
    return PurgeTarget(
        ids=frozenset(plan["ids"]),
        names=names,
        said=frozenset((name, text) for name, text in part.get("said", ())),
        given=frozenset(given),
        turns=frozenset(plan.get("turns", ())),
        **asked(plan),
    )


def asked(plan: Plan) -> dict[str, Any]:
    """Return the fields of PurgeTarget that are the same for every database and file."""
    return {
        "texts": tuple(plan["texts"]),
        "words": tuple(plan.get("words", ())),
        "exact": bool(plan.get("exact")),
        "inside": bool(plan.get("inside")),
    }


def texts_of(found: Found) -> list[str]:
    """Return every text that was found: what and why of records, observations, turns."""
    texts = [text for r in found.records for text in (r.what, r.why) if text]
    texts += [text for e in found.entities for text in e.observations]
    texts += [o.text for o in found.observations]
    texts += [turn.text for turn in found.turns]
    return list(dict.fromkeys(texts))


def _part(database: Database, found: Found) -> dict[str, Any]:
    entities = [e for e in found.entities if e.store == database.kind]
    said = [[e.name, text] for e in entities for text in e.observations]
    said += [[o.entity, o.text] for o in found.observations if o.store == database.kind]
    names = [name for e in entities for name in (e.name, *_aliases(database, e.name))]
    payload = forget_plan.payload_for(database, replace(found, turns=()))
    return {"names": list(dict.fromkeys(names)), "said": said, "forget": payload}


def _aliases(database: Database, name: str) -> list[str]:
    """Return aliases of an entity that are not the name of another one."""
    rows = database.rows(
        "SELECT a.alias FROM aliases AS a JOIN entities AS e ON e.id = a.entity "
        "WHERE e.name = ? AND a.alias NOT IN (SELECT name FROM entities)",
        (name,),
    )
    return [row[0] for row in rows]


def _is_personal(memory: Memory, record: Record) -> bool:
    """True if the record is in the user's memory, which every project sees."""
    user = memory.database("user", create=False)
    return bool(user and user.row("SELECT 1 FROM records WHERE id = ?", (record.id,)))
