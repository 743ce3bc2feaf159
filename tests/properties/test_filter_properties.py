"""The law of filters: an answer holds what meets all of them, all of it, and nothing else.

What meets them is told by the rows themselves, read without any filter and judged here.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from drawn import built
from memory_fabric.domain_config import domain_name
from memory_fabric.ids import new_id
from memory_fabric.models import Entity, Provenance, Record, Relation
from memory_fabric.recall import filters as filtering
from memory_fabric.recall.pipeline import Fabric
from memory_fabric.store.database import Database
from memory_fabric.store.memory import Memory
from memory_fabric.store.queries import conditions, graph
from memory_fabric.store.scoped_memory import within
from recall.given import NOW, open_memory
from thorough import examples

OWN = "project"
SESSION = "s1"
# Nothing is one with anything else, and nothing is left out for its number.
ENVIRON = {"MEMORY_FABRIC_DEDUP_THRESHOLD": "1", "MEMORY_FABRIC_MAX_RESULTS": "1000"}
MANY = 900
domains = st.sampled_from(["general", "code_reviewer", "legal_advisor", "Legal"])
agents = st.sampled_from(["", "ui", "code-reviewer"])
sessions = st.sampled_from([SESSION, "s2"])
tags = st.sampled_from(["", OWN, "frontend"])
moments = st.sampled_from([f"2026-0{month}-15T10:00:00.000Z" for month in (1, 2)])
kinds = st.sampled_from(["decision", "technology", "pattern"])
ENTITIES = ["api", "cache", "queue"]
QUESTION = "deploys of api cache queue"
names = st.sampled_from(ENTITIES)
stores = st.sampled_from(["project", "user"])
people = built(
    Provenance,
    source=st.just("prompt"),
    trust=st.just("user"),
    session=sessions,
    agent=agents,
    at=moments,
    domain=domains,
)
records = st.tuples(
    st.just("record"),
    people,
    st.sampled_from(["decision", "pattern", "note"]),
    st.sampled_from(["team", "user", "global", "local"]),
    tags,
    st.lists(names, max_size=2, unique=True),
)
said = st.tuples(st.just("said"), people, names, kinds, stores)
edges = st.tuples(st.just("edge"), people, names, names, stores)
turns = st.tuples(st.just("turn"), people, tags, st.booleans())
rows = st.lists(st.one_of(records, said, edges, turns), min_size=5, max_size=14)


def some(*values: str) -> st.SearchStrategy[Any]:
    one = st.sampled_from(values)
    return one | st.lists(one, min_size=1, max_size=2)


VALUES: dict[str, st.SearchStrategy[Any]] = {
    "expert_domain": some("general", "Code Reviewer", "code_reviewer", "Legal", "nowhere"),
    "project": some("Project", "frontend", "Frontend", "elsewhere"),
    "type": some("decision", "pattern", "technology", "note"),
    "agent": some("ui", "code-reviewer"),
    "scope": some("team", "user", "global", "local"),
    "session": some(SESSION, "s2"),
    "since": st.sampled_from(["2026-01-10", "2026-02-01", "2026-03"]),
    "before": st.sampled_from(["2026-01-20", "2026-02-01", "2026-03"]),
}


@st.composite
def filters_stated(draw: st.DrawFn) -> dict[str, Any]:
    """One filter or two: most rows meet few, and more would test empty answers only."""
    keys = draw(st.lists(st.sampled_from(sorted(VALUES)), min_size=1, max_size=2, unique=True))
    return {key: draw(VALUES[key]) for key in keys}


# Several questions to one memory: filling it costs most.
several = st.lists(filters_stated(), min_size=6, max_size=6)


@contextmanager
def filled(stories: Sequence[tuple[Any, ...]]) -> Iterator[Memory]:
    with tempfile.TemporaryDirectory() as folder:
        memory = open_memory(Path(folder), **ENVIRON)
        for number, (kind, by, *what) in enumerate(stories):
            TELL[kind](memory, f"Deploys item{number} thing{number * 7}", by, *what)
        yield memory
        memory.close()


def tell_record(memory: Memory, text: str, by: Provenance, *what: Any) -> None:
    kind, scope, tag, known = what
    memory.remember(
        Record(
            kind,
            text,
            confidence=0.9,
            scope=scope,
            domain=by.domain,
            project=tag,
            entities=tuple(Entity(name, "technology") for name in known),
            relations=tuple(Relation(known[0], "needs", name) for name in known[1:]),
        ),
        by,
    )


def tell_said(memory: Memory, text: str, by: Provenance, *what: Any) -> None:
    name, kind, store = what
    item = {"name": name, "entityType": kind, "observations": [text]}
    memory.write("create_entities", {"entities": [item]}, by, store=store)


def tell_edge(memory: Memory, text: str, by: Provenance, *what: Any) -> None:
    source, target, store = what
    edge = {"from": source, "to": target, "relationType": f"uses_{by.domain}_{by.at[6]}"}
    memory.write("create_relations", {"relations": [edge]}, by, store=store)


def tell_turn(memory: Memory, text: str, by: Provenance, *what: Any) -> None:
    tag, matches = what
    turn = {"id": new_id(), "session": by.session, "role": "user", "created_at": by.at}
    turn |= {"agent": by.agent, "text": text if matches else text.replace("Deploys", "Sleeps")}
    memory.write("add_episodes", {"episodes": [turn]}, by)
    [db] = [db for db in memory.databases() if db.kind == "project"]
    db.connection.execute("UPDATE episodes SET project = ? WHERE uuid = ?", (tag, turn["id"]))


TELL = {"record": tell_record, "said": tell_said, "edge": tell_edge, "turn": tell_turn}


class Judge:
    """A judge of rows by their attributes: None is an attribute that they lack."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self.given = {k: [v] if isinstance(v, str) else v for k, v in given.items()}

    def meets(self, **attributes: str | None) -> bool:
        return all(self.holds(name, attributes[name]) for name in self.given)

    def holds(self, name: str, own: str | None) -> bool:
        values = self.given[name]
        if own is None:
            return False
        if name == "expert_domain":
            return any(own in (value, domain_name(value)) for value in values)
        if name == "project":
            return own.casefold() in [value.casefold() for value in values]
        if name in ("since", "before"):
            return own >= values[0] if name == "since" else own < values[0]
        return own in values


def all_of(db: Database, sql: str) -> list[dict[str, Any]]:
    cursor = db.connection.execute(sql)
    columns = [column[0] for column in cursor.description]
    return [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()]


def fitting(memory: Memory, judge: Judge, *, recent: bool = False) -> tuple[set[str], set[str]]:
    """Ids of hits that must be found, and of those that may be."""
    must, may = set[str](), set[str]()
    for db in memory.databases():
        place = "user" if db.kind == "user" else "team"
        known = {row["id"]: row for row in all_of(db, "SELECT * FROM records")}
        for row in known.values():
            row["tag"] = json.loads(row["body"])["project"] or own_tag(db)
            seen = row["scope"] != "local" or row["session"] == SESSION
            if row["status"] == "active" and seen and judge.meets(**attributes(row, row["type"])):
                must.add(f"record:{row['id']}")
        entities = {row["id"]: row for row in all_of(db, "SELECT * FROM entities")}
        for row in all_of(db, "SELECT * FROM observations"):
            entity, record = entities[row["entity"]], known.get(row["record"], {})
            row |= {"scope": record.get("scope", place), "tag": record.get("tag", own_tag(db))}
            if not judge.meets(**attributes(row, entity["type"])):
                continue
            id_ = f"graph:{entity['name']}#{row['id']}"
            if not row["record"]:
                must.add(id_)
            elif not recent or "type" in judge.given:
                must.add(f"record:{row['record']}")
        for row in entities.values():
            record = known.get(row["record"], {})
            row |= {"scope": record.get("scope", place), "tag": record.get("tag", own_tag(db))}
            row |= {"agent": None, "session": None}
            about = attributes(row, row["type"]) | times(row["updated_at"])
            # One is of each domain that speaks of it, and as old as what is said there.
            del about["expert_domain"]
            bare = Judge({k: v for k, v in judge.given.items() if k not in FREE})
            if bare.meets(**{k: v for k, v in about.items() if k in bare.given}):
                may.add(f"graph:{row['name']}")
        for row in all_of(db, "SELECT * FROM episodes"):
            row |= {"scope": "team", "tag": row["project"] or own_tag(db)}
            if not recent and judge.meets(**attributes(row, None)):
                (must if "Deploys" in row["text"] else may).add(f"episode:{row['uuid']}")
    return must, must | may


FREE = ("expert_domain", "since", "before")


def own_tag(db: Database) -> str | None:
    return OWN if db.kind == "project" else None


def times(at: str) -> dict[str, str]:
    return {"since": at, "before": at}


def attributes(row: Mapping[str, Any], kind: str | None) -> dict[str, Any]:
    about = {name: row[name] or None for name in ("agent", "session", "scope", "domain")}
    about |= {"type": kind, "project": row["tag"], **times(row["created_at"])}
    return about | {"expert_domain": about.pop("domain")}


def stated_edges(memory: Memory, judge: Judge) -> set[tuple[str, str, str]]:
    found = set()
    for db in memory.databases():
        name = {row["id"]: row["name"] for row in all_of(db, "SELECT * FROM entities")}
        known = {row["id"]: row for row in all_of(db, "SELECT * FROM records")}
        claims = all_of(db, "SELECT * FROM claims WHERE kind = 'relations'")
        for row in all_of(db, "SELECT * FROM relations"):
            sayers = [known[c["record"]] for c in claims if c["row"] == row["id"]]
            for record in sayers:
                record["tag"] = json.loads(record["body"])["project"] or own_tag(db)
            place = "user" if db.kind == "user" else "team"
            alone = row | {"agent": None, "session": None, "scope": place, "tag": own_tag(db)}
            own = {**times(row["created_at"]), "expert_domain": row["domain"]}
            abouts = [attributes(r, r["type"]) for r in sayers] or [attributes(alone, None)]
            if any(judge.meets(**about | own) for about in abouts):
                found.add((name[row["source"]], row["type"], name[row["target"]]))
    return found


@settings(max_examples=examples(40, 10), suppress_health_check=list(HealthCheck))
@given(rows, several)
def test_br19_an_answer_holds_all_that_meets_the_filters_and_nothing_else(
    stories: list[tuple[Any, ...]], asked: list[dict[str, Any]]
) -> None:
    with filled(stories) as memory:
        for given in asked:
            judge, filters = Judge(given), filtering.stated(given, NOW)
            must, may = fitting(memory, judge)
            fabric = Fabric(memory, NOW)

            found = fabric.recall(QUESTION, filters=filters, limit=MANY, session=SESSION)
            newest = fabric.recall("", filters=filters, limit=MANY, session=SESSION)

            ids = {hit.id for hit in found.hits}
            assert one_of_each(must) <= one_of_each(ids), (must - ids, given)
            assert ids <= may, (ids - may, given)
            expected = fitting(memory, judge, recent=True)[0]
            assert one_of_each({hit.id for hit in newest.hits}) == one_of_each(expected)


def one_of_each(ids: set[str]) -> set[str]:
    """Return the ids with an entity's observations as one: an entity is one result."""
    return {id_.partition("#")[0] for id_ in ids}


@settings(max_examples=examples(40, 10), suppress_health_check=list(HealthCheck))
@given(rows, several)
def test_edges_and_what_is_shown_of_them_meet_the_filters(
    stories: list[tuple[Any, ...]], asked: list[dict[str, Any]]
) -> None:
    with filled(stories) as memory:
        for given in asked:
            filters = filtering.stated(given, NOW)
            expected = stated_edges(memory, Judge(given))
            scoped = within(memory, filtering.domains_of(filters)) if filters.domains else memory
            inside = filtering.for_store(filters, memory)

            read = {
                tuple(edge)
                for db in scoped.databases()
                for edge in graph.relations_of(
                    db, ENTITIES, only=conditions.of_relations(db, inside)
                )
            }
            answer = Fabric(memory, NOW).recall(
                QUESTION, filters=filters, limit=MANY, depth=3, session=SESSION
            )

            shown = {tuple(edge) for path in answer.paths for edge in path}
            shown |= {tuple(edge) for hit in answer.hits for edge in hit.graph_relations}
            assert read == expected
            assert shown <= expected
