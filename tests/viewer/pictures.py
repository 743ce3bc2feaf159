"""Pictures of memories as the page is given them: small ones with a story, large ones by number."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

NOW = datetime(2026, 11, 21, 10, tzinfo=UTC)
TYPES = ("technology", "pattern", "component", "decision", "agent", "tool", "preference")
TIERS = ("graph", "local", "native")
RELATIONS = ("uses", "depends_on", "requires", "used_for", "recommends")


def days_ago(days: float) -> str:
    """The moment so many days before a picture is made."""
    return (NOW - timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%S.000Z")


@dataclass
class Pictured:
    """A picture in the making; entities, records and changes are added by what tells them apart."""

    project: str = "shop"
    entities: list[dict[str, Any]] = field(default_factory=list)
    relations: list[dict[str, Any]] = field(default_factory=list)
    records: list[dict[str, Any]] = field(default_factory=list)
    changes: list[dict[str, Any]] = field(default_factory=list)
    tiers: list[dict[str, Any]] = field(default_factory=lambda: [tier(n) for n in TIERS])
    left_out: dict[str, int] = field(default_factory=dict)
    focus: str = ""

    def entity(
        self, name: str, kind: str = "technology", *said: str, days: float = 3, **more: Any
    ) -> int:
        """The number of a new entity with these observations."""
        trust = more.pop("trust", "user")
        observations = [
            {
                "text": text,
                "at": days_ago(days),
                "trust": trust,
                "source": "hook",
                "session": "session-1",
                "agent": "",
                "domain": "general",
                "scope": "team",
                "record": "",
            }
            for text in said
        ]
        entity = {
            "name": name,
            "type": kind,
            "domain": "general",
            "scope": "team",
            "trust": trust if said else "",
            "at": days_ago(days),
            "stale": days > 90,
            "days": int(days),
            "aliases": [],
            "observations": observations,
        }
        self.entities.append(entity | more)
        return len(self.entities) - 1

    def relation(self, source: int, kind: str, target: int, record: str = "") -> None:
        """Connect two entities, by the word of a record if one is named."""
        self.relations.append(
            {
                "from": source,
                "to": target,
                "type": kind,
                "at": days_ago(2),
                "domain": "general",
                "record": record,
            }
        )

    def record(self, what: str, kind: str = "decision", *, days: float = 3, **more: Any) -> str:
        """The id of a new record."""
        number = len(self.records) + 1
        identity = f"{number:08x}-9793-7a31-b01c-26048dc0{number:04x}"
        record = {
            "id": identity,
            "short_id": f"{number:08x}",
            "type": kind,
            "what": what,
            "why": "",
            "alternatives": [],
            "outcome": "neutral",
            "category": "",
            "scope": "team",
            "domain": "general",
            "trust": "user",
            "author": "ann",
            "source": "hook",
            "session": "session-1",
            "agent": "",
            "confidence": 0.9,
            "status": "active",
            "pinned": False,
            "at": days_ago(days),
            "valid_from": days_ago(days),
            "valid_to": "",
            "superseded_by": "",
            "stale": days > 90,
            "days": int(days),
            "entities": [],
        }
        self.records.append(record | more)
        return identity

    def change(self, what: str, *entities: int, days: float = 3, undone: bool = False) -> None:
        """Note a change of these entities."""
        number = len(self.changes) + 1
        self.changes.append(
            {
                "id": f"change-{number}",
                "short_id": f"c{number:07x}",
                "at": days_ago(days),
                "by": "ann cli",
                "what": what,
                "undone": undone,
                "entities": list(entities),
                "records": [],
            }
        )

    def made(self) -> dict[str, Any]:
        """The picture."""
        made: dict[str, Any] = {
            "version": "0.1.0",
            "made_at": NOW.strftime("%Y-%m-%dT%H:%M:%S.000Z"),
            "live": False,
            "project": {"name": self.project, "id": "shop-1"} if self.project else None,
            "entities": self.entities,
            "relations": self.relations,
            "records": sorted(self.records, key=lambda record: str(record["at"]), reverse=True),
            "changes": self.changes,
            "tiers": self.tiers,
            "left_out": {"entities": 0, "observations": 0, "records": 0, "changes": 0}
            | self.left_out,
        }
        return made | ({"focus": self.focus} if self.focus else {})


def tier(name: str, state: str = "healthy", *findings: tuple[str, str]) -> dict[str, Any]:
    """One tier as `status --json` prints it."""
    found: dict[str, Any] = {
        "tier": name,
        "state": state,
        "where": f"/home/ann/{name}",
        "counts": {"records": 7},
        "written_at": days_ago(1),
        "read_at": days_ago(0.5),
        "queue": {"count": 0, "oldest_s": 0.0},
        "findings": [
            {"state": state, "reason": reason, "remedy": remedy, "lines": []}
            for reason, remedy in findings
        ],
    }
    if name == "graph":
        found["backup"] = {"path": "/home/ann/backup", "age_s": 7200.0, "sound": True}
    return found


def shop() -> Pictured:
    """The memory of a small project: twenty entities, a dozen records, one replaced by another."""
    made = Pictured()
    shop = made.entity("shop", "project", "An online shop for spare parts", days=1)
    postgres = made.entity(
        "PostgreSQL",
        "technology",
        "Version 16 in production",
        "Needs pgvector for the semantic search",
        "Backups run at 03:00",
        days=2,
        aliases=["postgres", "psql"],
    )
    mongo = made.entity("MongoDB", "technology", "Was used until March", days=240)
    pgvector = made.entity("pgvector", "technology", "supports HNSW indexing", days=12)
    cursor = made.entity(
        "cursor-pagination", "pattern", "Use cursor-based pagination for scalability", days=5
    )
    offset = made.entity("offset-pagination", "antipattern", "Timeouts at 1M rows", days=200)
    lists = made.entity("list-endpoints", "component", "All return 50 items a page", days=5)
    api = made.entity("orders-api", "component", "FastAPI service with 14 endpoints", days=4)
    fastapi = made.entity("FastAPI", "technology", "Pinned to 0.115", days=30)
    engineer = made.entity(
        "database-engineer", "agent", "Recommends cursors", days=9, trust="assistant"
    )
    redis = made.entity("Redis", "technology", "Sessions and rate limits", days=20, trust="tool")
    pnpm = made.entity("pnpm", "tool", "The package manager of the frontend", days=15)
    npm = made.entity("npm", "tool", days=130)
    react = made.entity("React", "technology", "Version 19", days=44, scope="user")
    tests = made.entity(
        "test-first", "preference", "Write the failing test first", days=60, scope="user"
    )
    rag = made.entity("RAG", "pattern", "Search over manuals", days=12, trust="assistant")
    blocker = made.entity("webhook-retries", "blocker", "Payment webhooks arrive twice", days=2)
    payments = made.entity("payments", "component", "Stripe, with idempotency keys", days=2)
    docker = made.entity("Docker", "technology", "Compose for development", days=170)
    ann = made.entity("Ann", "person", "Maintains the shop", days=90, domain="people")
    for source, kind, target in (
        (shop, "chose", postgres),
        (shop, "chose", cursor),
        (cursor, "chose_over", offset),
        (lists, "uses", cursor),
        (api, "uses", fastapi),
        (api, "depends_on", postgres),
        (api, "contains", lists),
        (postgres, "requires", pgvector),
        (pgvector, "used_for", rag),
        (engineer, "recommends", cursor),
        (engineer, "uses", postgres),
        (postgres, "replaced", mongo),
        (api, "uses", redis),
        (pnpm, "replaced", npm),
        (shop, "uses", react),
        (shop, "uses", pnpm),
        (payments, "blocked_by", blocker),
        (payments, "depends_on", api),
        (shop, "contains", payments),
        (shop, "contains", api),
        (shop, "uses", docker),
        (ann, "prefers", tests),
        (ann, "maintains", shop),
    ):
        made.relation(source, kind, target)
    newer = made.record(
        "We use PostgreSQL for everything that is stored",
        days=80,
        why="one database to back up, and pgvector lives in it",
        alternatives=["MongoDB", "DynamoDB"],
        entities=[shop, postgres],
        pinned=True,
    )
    made.record(
        "Orders are stored in MongoDB",
        days=300,
        superseded_by=newer,
        valid_to=days_ago(80),
        entities=[mongo, shop],
    )
    made.record(
        "Use cursor-based pagination for all list endpoints",
        days=5,
        why="offset pagination timed out at 1M rows",
        alternatives=["offset pagination"],
        entities=[cursor, lists, shop],
        confidence=0.95,
    )
    made.record(
        "Payment webhooks arrive twice and charge twice",
        "blocker",
        days=2,
        entities=[blocker, payments],
    )
    made.record("Use pnpm here, not npm", "preference", days=15, entities=[pnpm, npm], scope="user")
    made.record(
        "Semantic search reads manuals through pgvector",
        "pattern",
        days=12,
        entities=[rag, pgvector],
        trust="assistant",
        confidence=0.7,
    )
    made.record(
        "Offset pagination caused timeouts at 1M rows",
        "antipattern",
        days=200,
        outcome="failed",
        entities=[offset],
    )
    made.record(
        "Should sessions live in Redis or in PostgreSQL?",
        "question",
        days=20,
        entities=[redis, postgres],
    )
    made.record(
        "Write the failing test first", "preference", days=60, entities=[tests], scope="user"
    )
    made.change("stored decision: cursor pagination", cursor, lists, days=5)
    made.change("remembered npm", npm, days=130, undone=True)
    made.change("merged psql into PostgreSQL", postgres, days=2)
    made.left_out = {"changes": 120}
    return made


def large(entities: int = 10_000, relations: int = 15_000, records: int = 0) -> Pictured:
    """A memory in communities around hubs, as large projects have; the same on every call."""
    dice = random.Random(7)
    made = Pictured("large")
    hubs = max(1, entities // 100)
    for number in range(entities):
        kind = TYPES[number % len(TYPES)]
        made.entity(
            f"{kind}-{number}",
            kind,
            f"Observation about {kind} {number}",
            days=dice.uniform(0, 300),
            trust=("user", "assistant", "tool")[number % 3],
        )
    for number in range(relations):
        hub = min(int(dice.paretovariate(1.1)) - 1, hubs - 1)
        near = hub if number % 5 else dice.randrange(hubs)
        source = number % entities if number < entities else dice.randrange(entities)
        community = [hub, near, (source % hubs)][number % 3]
        target = community if number % 4 else dice.randrange(entities)
        if source != target:
            made.relation(source, RELATIONS[number % len(RELATIONS)], target)
    for number in range(records):
        made.record(
            f"Record number {number} says that component {number % 97} is settled",
            days=number / 4,
            entities=[number % entities],
        )
    return made
