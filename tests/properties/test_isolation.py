"""Isolation: whatever is written, nothing of another domain is ever read in an isolated one.

Every text, session and agent bears a mark of its domain, every name of an entity one of the domain
that first had it. A room shows no mark of another, and only names that it has spoken of itself, or
that a person joined with such a name.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from memory_fabric.capture.contradiction import contradicting
from memory_fabric.capture.mentions import KnownNames
from memory_fabric.errors import BadInput, NotFound
from memory_fabric.health import tiers as status
from memory_fabric.hooks.session.checkpoint import end_of_last
from memory_fabric.hooks.session.standing import standing
from memory_fabric.ids import new_id
from memory_fabric.models import Entity, Filters, Provenance, Record, Relation
from memory_fabric.recall import review
from memory_fabric.recall.explain import answer_as_json, explain
from memory_fabric.recall.pipeline import Fabric
from memory_fabric.servers.mcp import memory_tools, tools
from memory_fabric.store.forget import plan
from memory_fabric.store.graph_file import exchange
from memory_fabric.store.history import candidates, changes, last_mentions, resolve, trace
from memory_fabric.store.history import merge as merging
from memory_fabric.store.history import undo as undoing
from memory_fabric.store.memory import Memory
from memory_fabric.store.queries import counts, entity_search, graph, search
from memory_fabric.store.queries.reader import Reader
from memory_fabric.store.scoped_memory import within
from memory_fabric.store.tiers import client_memory_files
from memory_fabric.viewer.picture import overview, picture
from store.support import World
from thorough import examples

NOW = "2026-03-01T12:00:00.000Z"
DOMAINS = ("alpha", "beta", "general")
domains = st.sampled_from(DOMAINS)
stores = st.sampled_from(["project", "user"])
# Two spellings of each name are variants of one another.
NAMES = [f"{domain}{form}" for domain in DOMAINS for form in ("name1", "name-1", "name2")]
names = st.sampled_from([*NAMES, "Redis"])
numbers = st.integers(0, 30)
MARKS = re.compile(r"(alpha|beta|general)mark\d+")
NAMED = re.compile(r"(?:alpha|beta|general)name-?\d")
QUESTIONS = [
    *("", "redis", "type:note", "What is related to Redis?", "Why did we use Redis before?"),
    *("redis project:billing", "redis domain:alpha,beta,general", "in the beta domain: redis"),
    *("alphaname1 uses betaname1", "redis agent:alphamark0 session:betamark0", '"use redis"'),
]
questions = st.sampled_from(QUESTIONS)


class Rooms(RuleBasedStateMachine):
    """Random changes in several domains, and random looks from one of them."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.world = World(Path(self.folder.name))
        self.memory: Memory = self.world.memory()
        self.said = 0
        self.ids: list[str] = []
        self.spoken: dict[str, set[str]] = {domain: set() for domain in DOMAINS}

    def teardown(self) -> None:
        try:
            for domain in DOMAINS:
                for look in LOOKS:
                    self.look(domain, look)
        finally:
            self.memory.close()
            self.folder.cleanup()

    # --- what is written --------------------------------------------------------------------------

    def text(self, domain: str) -> str:
        self.said += 1
        return f"Use Redis for {domain}mark{self.said}"

    def by(self, domain: str, shares_session: bool = False) -> Provenance:
        session = "s1" if shares_session else f"{domain}mark0"
        at = f"2026-02-{1 + self.said % 28:02d}T10:00:00.000Z"
        return Provenance("prompt", "user", session, f"{domain}mark0", at=at, domain=domain)

    def writing(self, domain: str, inside: bool) -> Memory:
        return within(self.memory, (domain,)) if inside else self.memory

    def speak(self, domain: str, *some: str) -> None:
        """Of entities of these names; a record's name means the entity of any spelling."""
        keys = {name.replace("-", "") for name in some}
        self.spoken[domain].update(n for n in NAMES if n.replace("-", "") in keys)

    def told(self, domain: str, memory: Memory, result: Any) -> None:
        """Check that a change's answer in an isolated domain holds nothing of others either."""
        if memory is not self.memory:
            self.check(domain, repr(result))

    @rule(domain=domains, name=names, store=stores, inside=st.booleans())
    def create(self, domain: str, name: str, store: str, inside: bool) -> None:
        memory, said = self.writing(domain, inside), self.text(domain)
        item = {"name": name, "entityType": "technology", "observations": [said]}
        self.speak(domain, name)
        result = memory.write("create_entities", {"entities": [item]}, self.by(domain), store=store)
        self.told(domain, memory, result)

    @rule(domain=domains, source=names, end=names, inside=st.booleans())
    def relate(self, domain: str, source: str, end: str, inside: bool) -> None:
        memory = self.writing(domain, inside)
        edge = {"from": source, "to": end, "relationType": f"uses {self.text(domain)}"}
        self.speak(domain, source, end)
        result = memory.write("create_relations", {"relations": [edge]}, self.by(domain))
        self.told(domain, memory, result)

    @rule(domain=domains, name=names, inside=st.booleans())
    def observe(self, domain: str, name: str, inside: bool) -> None:
        memory = self.writing(domain, inside)
        item = {"entityName": name, "contents": [self.text(domain)]}
        try:
            result = memory.write("add_observations", {"observations": [item]}, self.by(domain))
        except NotFound:
            return
        self.speak(domain, name)
        self.told(domain, memory, result)

    @rule(
        domain=domains,
        known=st.lists(names, max_size=2, unique=True),
        scope=st.sampled_from(["team", "user", "local", "global"]),
        sure=st.sampled_from([0.9, 0.4]),
        kind=st.sampled_from(["decision", "note", "question"]),
        same=st.booleans(),
        closes=st.lists(numbers, max_size=2),
        inside=st.booleans(),
    )
    def remember(
        self,
        domain: str,
        known: list[str],
        scope: str,
        sure: float,
        kind: str,
        same: bool,
        closes: list[int],
        inside: bool,
    ) -> None:
        memory = self.writing(domain, inside)
        record = Record(
            kind,
            "Use Redis for all of it" if same else self.text(domain),
            why=f"because of {domain}mark0",
            entities=tuple(Entity(name, "technology") for name in known),
            relations=tuple(Relation(a, "uses", b) for a, b in pairwise(known)),
            confidence=sure,
            scope=scope,
            domain=domain,
        )
        self.speak(domain, *known)
        stored = memory.remember(record, self.by(domain), self.some(closes))
        self.told(domain, memory, stored)
        self.ids += [stored.id] if stored else []

    @rule(domain=domains, shares=st.booleans(), role=st.sampled_from(["user", "assistant"]))
    def speak_in_session(self, domain: str, shares: bool, role: str) -> None:
        by = self.by(domain, shares)
        turn = {"id": new_id(), "session": by.session, "role": role, "text": self.text(domain)}
        turn |= {"created_at": by.at, "agent": by.agent, "place": f"{domain}mark0"}
        self.memory.write("add_episodes", {"episodes": [turn]}, by)

    @rule(domain=domains, name=names, inside=st.booleans())
    def delete_entity(self, domain: str, name: str, inside: bool) -> None:
        memory = self.writing(domain, inside)
        self.speak(domain, name)
        result = memory.write("delete_entities", {"entityNames": [name]}, self.by(domain))
        self.told(domain, memory, result)

    @rule(domain=domains, number=numbers)
    def delete_something(self, domain: str, number: int) -> None:
        """One of all observations and relations, also one that another domain states."""
        whole = graph.read_all(self.memory.databases())
        texts = [(e.name, text) for e in whole.entities for text in e.observations]
        if texts and number % 2:
            name, text = texts[number % len(texts)]
            deletion = {"entityName": name, "observations": [text]}
            payload: dict[str, Any] = {"deletions": [deletion]}
            owner = MARKS.search(text)
            by = owner[1] if owner else domain  # who deletes a text has read it
            self.speak(by, name)
            self.memory.write("delete_observations", payload, self.by(by))
        elif whole.relations:
            source, kind, target = whole.relations[number % len(whole.relations)]
            owner = MARKS.search(kind)
            by = owner[1] if owner else domain
            self.speak(by, source, target)
            edge = {"from": source, "relationType": kind, "to": target}
            self.memory.write("delete_relations", {"relations": [edge]}, self.by(by))

    @rule(domain=domains, into=names, name=names)
    def merge(self, domain: str, into: str, name: str) -> None:
        try:
            planned = merging.plan(self.memory, into, [name])
        except (NotFound, BadInput):
            return
        merging.merge(self.memory, planned, self.by(domain))
        joined = {into, name, planned.into.name, *(part.name for part in planned.others)}
        self.speak(domain, *joined)
        for spoken in self.spoken.values():
            if spoken & joined:  # a person says that they are one
                spoken |= joined

    @rule(domain=domains, name=names, number=st.integers(1, 5))
    def alias(self, domain: str, name: str, number: int) -> None:
        try:
            alias = f"{domain}mark{number}alias"
            known = merging.change_aliases(self.memory, name, [alias], self.by(domain))
        except (NotFound, BadInput):
            return
        self.speak(domain, name, known.entity)
        if number % 2:
            merging.change_aliases(self.memory, name, [alias], self.by(domain), remove=True)

    @rule(domain=domains, some=st.lists(numbers, min_size=1, max_size=3))
    def forget(self, domain: str, some: list[int]) -> None:
        self.memory.forget(self.some(some), self.by(domain))

    @rule(domain=domains, name=names)
    def forget_named(self, domain: str, name: str) -> None:
        try:
            found = plan.find(self.memory, name)
        except NotFound:
            return
        self.speak(domain, name)
        plan.forget(self.memory, found, self.by(domain))

    @rule(number=numbers)
    def undo(self, number: int) -> None:
        """A person takes something back; who did that stands with what was taken back."""
        every = changes.read_all(self.memory)
        if every:
            chosen = every[number % len(every)]
            undoing.undo(self.memory, [chosen], Provenance("cli", "user", "s1", at=NOW))

    @rule()
    def flush(self) -> None:
        self.memory.flush()

    def some(self, places: Iterable[int]) -> list[str]:
        return [self.ids[place % len(self.ids)] for place in places if self.ids]

    # --- what is read -----------------------------------------------------------------------------

    @rule(domain=domains, look=st.deferred(lambda: st.sampled_from(LOOKS)))
    def look(self, domain: str, look: Look) -> None:
        scoped = within(self.memory, (domain,))
        ids = list(dict.fromkeys(self.ids))
        for found in look(scoped, ids):
            self.check(domain, found if isinstance(found, str) else repr(found))

    def check(self, domain: str, shown: str) -> None:
        lowered = shown.lower()
        assert {found[1] for found in MARKS.finditer(lowered)} <= {domain}, shown
        foreign = {n for n in NAMED.findall(lowered) if not n.startswith(domain)}
        assert foreign <= self.spoken[domain], shown


def tried(ask: Callable[..., Any], *arguments: Any, **named: Any) -> list[Any]:
    """Return what a function answers; nothing if it knows no such thing."""
    try:
        return [ask(*arguments, **named)]
    except (NotFound, BadInput):
        return []


def recalled(scoped: Memory, _ids: list[str]) -> Iterable[Any]:
    fabric = Fabric(scoped, NOW)
    for question in QUESTIONS:
        for depth, session in ((0, ""), (2, "s1")):
            answer = fabric.recall(question, limit=50, depth=depth, session=session, explain=True)
            yield answer_as_json(answer) | {"query": "", "filters": "", "label": "", "notes": ""}
        outcome = memory_tools.recall(scoped, {"query": question, "limit": 50}, Provenance("mcp"))
        yield [line for line in outcome.texts[0].split("\n") if line.startswith(("-", "Path"))]


def injected(scoped: Memory, _ids: list[str]) -> Iterable[Any]:
    fabric = Fabric(scoped, NOW)
    for prompt in ("How do we use Redis for caching?", "Which Redis in the beta domain?"):
        yield fabric.inject_for_prompt(prompt)
        yield explain(fabric, prompt, limit=20).verdicts
    yield fabric.inject_for_agent("database-engineer", ["Tune how we use Redis"])
    yield standing(scoped, NOW)
    yield end_of_last(scoped, "another session")


def by_tools(scoped: Memory, _ids: list[str]) -> Iterable[Any]:
    said_by = Provenance("mcp")
    yield tools.read_graph(scoped, {}, said_by)
    yield tools.open_nodes(scoped, {"names": [*NAMES, "Redis"]}, said_by)
    for query in ("redis", "re", "use", "betamark1", "alphaname", "generalmark1alias"):
        yield tools.search_nodes(scoped, {"query": query}, said_by)
    yield tools.whole_graph(scoped)
    for database in scoped.databases():
        yield (
            entity_search.find(database, "use redis"),
            list(entity_search.all_matching(database, "redis")),
        )
        yield list(entity_search.all_matching(database, "use redis"))


def histories(scoped: Memory, ids: list[str]) -> Iterable[Any]:
    yield trace.history(scoped, None, 100)
    for name in (*NAMES, "Redis", *ids, "generalmark1alias"):
        yield trace.history(scoped, name, 100), tried(trace.why, scoped, name)
        yield tried(memory_tools.history, scoped, {"name": name}, Provenance("mcp"))
        yield tried(plan.find, scoped, name), resolve.entities_meant(scoped, name)
    yield tried(undoing.last, scoped)
    for domain in scoped.domains or ():
        yield tried(undoing.of_session, scoped, f"{domain}mark0")


def pictures(scoped: Memory, _ids: list[str]) -> Iterable[Any]:
    yield overview(scoped, NOW)
    yield picture(scoped, NOW)
    yield status.tiers(scoped, 0.0)[0]


def lists(scoped: Memory, ids: list[str]) -> Iterable[Any]:
    yield scoped.find_records("1"), candidates.waiting(scoped), merging.all_aliases(scoped)
    yield [contradicting(scoped, record) for record in scoped.find_records("1")]
    yield list(KnownNames(scoped, "Use Redis with " + " ".join(NAMES)).values())
    yield (
        client_memory_files.candidates(scoped, Filters())[0],
        review.stale(scoped, "2030-01-01", limit=99),
    )
    yield exchange.export_lines(scoped.databases())
    for database in scoped.databases():
        yield graph.orphans(database), graph.variants(database)
        yield graph.alias_conflicts(database), counts.count_by_domain([database], 9).first
        aged = [*last_mentions.entities(database, "9"), *last_mentions.records(database, "9", NOW)]
        yield [last_mentions.with_text(database, one, 200) for one in aged]
        yield (
            Reader(database).records_by_id(ids or ["x"], search.EVERYTHING, ""),
            search.recent(database, 99),
        )
        yield search.episodes(database, '"redis"', 99, neighbours=True)
        for table in ("records", "episodes", "aliases", "operations", "intake"):
            yield database.rows(f"SELECT * FROM {table}")


Look = Callable[[Memory, list[str]], Iterable[Any]]
LOOKS: list[Look] = [recalled, injected, by_tools, histories, pictures, lists]

TestRooms = Rooms.TestCase
TestRooms.settings = settings(
    max_examples=examples(60, 5),
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
