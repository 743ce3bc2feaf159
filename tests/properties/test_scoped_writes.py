"""Writes in a scoped memory leave every row of other domains as it was."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from memory_fabric.config import read_settings
from memory_fabric.errors import NotFound
from memory_fabric.ids import new_id
from memory_fabric.models import Entity, Provenance, Record, Relation
from memory_fabric.store.history import changes, undo
from memory_fabric.store.memory import Memory
from memory_fabric.store.scoped_memory import within
from thorough import examples

DOMAINS = ("alpha", "beta", "general")
domains = st.sampled_from(DOMAINS)
names = st.sampled_from(["api", "Redis", "rack"])
texts = st.sampled_from(["is fast", "is slow", "x" * 60])
kinds = st.sampled_from(["uses", "feeds"])
somebody = st.booleans()
# Of others' rows, all that says something: who brought them may change when he takes his word back.
ROWS = {
    "entities": "id, name, type, domain",
    "observations": "id, entity, text, trust, source, agent, domain",
    "relations": "id, source, type, target, domain",
    "records": "id, what, type, status, domain, valid_to, superseded_by, trust, pinned",
    "episodes": "uuid, text, domain",
}
# Rows that several domains can state.
SHARED = ("observations", "relations")


def _keys(rows: list[Any]) -> set[Any]:
    return {row[:3] for row in rows}


class Walls(RuleBasedStateMachine):
    """Changes by whoever is walled in a domain, and by others who say that they speak for one."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        home, project = Path(self.folder.name) / "home", Path(self.folder.name) / "shop"
        project.mkdir()
        environ = {"HOME": str(home), "CLAUDE_PROJECT_DIR": str(project)}
        self.memory = Memory.open(read_settings(environ, {}))
        self.memory.session_database().connection.execute("PRAGMA synchronous = OFF")
        self.ids: list[str] = []
        self.told = 0

    def teardown(self) -> None:
        self.memory.close()
        self.folder.cleanup()

    def change(self, domain: str, kind: str, payload: dict[str, Any], walled: bool) -> None:
        """Make the change, as somebody of a domain; inside he states that of somebody else."""
        if not walled:
            self.written(self.memory, kind, payload, domain)
            return
        before, of_others = self.rows(domain), DOMAINS[DOMAINS.index(domain) - 1]
        everything = self.rows("")
        own = {t: _keys(everything[t]) - _keys(before[t]) for t in SHARED}
        self.written(within(self.memory, (domain,)), kind, payload, of_others)
        after = self.rows(domain)
        # What two domains state is one row: the one that goes on stating it inherits it.
        kept = {t: [row for row in after[t] if row[:3] not in own[t]] for t in SHARED}
        assert {**after, **kept} == before

    def written(self, memory: Memory, kind: str, payload: dict[str, Any], domain: str) -> None:
        try:
            if kind == "remember":
                stored = memory.remember(payload["record"], by(domain), payload["supersedes"])
                self.ids += [stored.id] if stored else []
            elif kind == "forget":
                memory.forget(payload["ids"], by(domain))
            else:
                memory.write(kind, payload, by(domain))
        except NotFound:
            assert kind == "add_observations"

    def rows(self, domain: str) -> dict[str, list[Any]]:
        """All rows of other domains."""
        database = self.memory.session_database()
        select = "SELECT {} FROM {} WHERE domain <> ? ORDER BY 1"
        return {t: database.rows(select.format(c, t), (domain,)) for t, c in ROWS.items()}

    @rule(domain=domains, name=names, some=st.lists(texts, max_size=2), walled=somebody)
    def create(self, domain: str, name: str, some: list[str], walled: bool) -> None:
        entity = {"name": name, "entityType": "component", "observations": some}
        self.change(domain, "create_entities", {"entities": [entity]}, walled)

    @rule(domain=domains, source=names, kind=kinds, end=names, walled=somebody)
    def relate(self, domain: str, source: str, kind: str, end: str, walled: bool) -> None:
        edge = {"from": source, "relationType": kind, "to": end}
        self.change(domain, "create_relations", {"relations": [edge]}, walled)

    @rule(domain=domains, name=names, text=texts, walled=somebody)
    def observe(self, domain: str, name: str, text: str, walled: bool) -> None:
        said = {"observations": [{"entityName": name, "contents": [text]}]}
        self.change(domain, "add_observations", said, walled)

    @rule(domain=domains, text=texts, entity=names, end=names, which=st.data(), walled=somebody)
    def remember(
        self, domain: str, text: str, entity: str, end: str, which: st.DataObject, walled: bool
    ) -> None:
        record = Record(
            "decision",
            f"{entity} {text}",
            entities=(Entity(entity, "component"),),
            relations=(Relation(entity, "uses", end),),
            confidence=0.9,
            domain=domain,
        )
        closed = which.draw(st.lists(st.sampled_from(self.ids), max_size=2)) if self.ids else []
        payload = {"record": record, "supersedes": closed}
        self.change(domain, "remember", payload, walled)

    @rule(domain=domains, session=st.sampled_from(["s1", "s2"]), walled=somebody)
    def speak(self, domain: str, session: str, walled: bool) -> None:
        turn = {"id": new_id(), "session": session, "role": "user", "text": "Hello."}
        turn |= {"created_at": "2026-02-01T10:00:00.000Z"}
        self.change(domain, "add_episodes", {"episodes": [turn]}, walled)

    @rule(domain=domains, name=names, walled=somebody)
    def delete_entity(self, domain: str, name: str, walled: bool) -> None:
        self.change(domain, "delete_entities", {"entityNames": [name]}, walled)

    @rule(domain=domains, name=names, text=texts, walled=somebody)
    def delete_text(self, domain: str, name: str, text: str, walled: bool) -> None:
        said = {"deletions": [{"entityName": name, "observations": [text]}]}
        self.change(domain, "delete_observations", said, walled)

    @rule(domain=domains, source=names, kind=kinds, end=names, walled=somebody)
    def delete_edge(self, domain: str, source: str, kind: str, end: str, walled: bool) -> None:
        edge = {"from": source, "relationType": kind, "to": end}
        self.change(domain, "delete_relations", {"relations": [edge]}, walled)

    @rule(domain=domains, which=st.data(), walled=somebody)
    def forget(self, domain: str, which: st.DataObject, walled: bool) -> None:
        ids = which.draw(st.lists(st.sampled_from(self.ids), max_size=2)) if self.ids else []
        self.change(domain, "forget", {"ids": ids}, walled)

    @rule(domain=domains, name=names, some=st.lists(texts, min_size=1, max_size=2))
    def say_inside_and_take_it_back(self, domain: str, name: str, some: list[str]) -> None:
        before = self.rows("")
        entity = {"name": name, "entityType": "component", "observations": some}
        inside = within(self.memory, (domain,))
        inside.write("create_entities", {"entities": [entity]}, by(domain))
        last = changes.read_all(self.memory, limit=1)
        undo.undo(self.memory, last, Provenance("cli", "user"))
        assert self.rows("") == before


def by(domain: str) -> Provenance:
    return Provenance("mcp", trust="user", session="s1", domain=domain)


TestWalls = Walls.TestCase
TestWalls.settings = settings(
    max_examples=examples(60, 10),
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
