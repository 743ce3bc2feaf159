"""The words of the house as frozen values: what hooks, fabric and store hand to one another."""

from __future__ import annotations

from memory_fabric.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

RECORD_TYPES = frozenset(
    "decision preference constraint pattern antipattern problem solution blocker question note "
    "session".split()
)
ENTITY_TYPES = frozenset(
    "agent technology pattern decision blocker component antipattern preference project tool "
    "unknown".split()
)
SCOPES = ("local", "user", "team", "global")
TRUST_ORDER = {"foreign": 0, "tool": 1, "assistant": 2, "user": 3}
SOURCES = frozenset("prompt assistant subagent compaction mcp cli ingest import journal".split())
# The source of records that a shared journal of others brought, and the key of `meta` by which a
# database tells that it has any.
OTHERS, HAS_OTHERS = "journal", "others"
# The source of what other programs bring in, and the place of their turns.
INGEST = "ingest"
OUTCOMES = frozenset(("success", "failed", "neutral"))
# Types of what is followed because somebody found it good.
FOLLOWED = frozenset("decision preference constraint pattern solution".split())
# How the reason of what failed begins where it says what to do instead.
INSTEAD = "instead: "

# Steps of a walk through the graph where a question states none.
DEFAULT_DEPTH = 2

STORED_FROM = 0.5
CANDIDATE_FROM = 0.3
PROMOTED_FROM = 0.7
GENERALIZABLE_FROM = 0.8


class Entity(Value):
    """A node of the graph: a name, a type, and atomic observations in the order they came."""

    name: str
    type: str
    observations: tuple[str, ...] = ()


class Relation(Value):
    """A directed edge in active voice: `source` `type` `target`, e.g. api uses Redis."""

    source: str
    type: str
    target: str


class Graph(Value):
    """Entities in creation order, and relations in creation order."""

    entities: tuple[Entity, ...] = ()
    relations: tuple[Relation, ...] = ()


class Record(Value):
    """One thing remembered on purpose. Fields without a value are empty; times are ISO 8601 UTC.

    A record fresh from capture has no id and no provenance; the write path fills both.
    """

    type: str
    what: str
    why: str = ""
    alternatives: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    tradeoffs: tuple[str, ...] = ()
    entities: tuple[Entity, ...] = ()
    relations: tuple[Relation, ...] = ()
    outcome: str = "neutral"
    category: str = ""
    confidence: float = 0.5
    generalizable: bool = False
    id: str = ""
    trust: str = "assistant"
    source: str = "assistant"
    scope: str = "team"
    domain: str = "general"
    project: str = ""
    session: str = ""
    agent: str = ""
    author: str = ""
    origin: str = ""
    created_at: str = ""
    valid_from: str = ""
    valid_to: str = ""
    superseded_by: str = ""
    pinned: bool = False
    status: str = "active"
    evidence: Mapping[str, Any] = {}


def may_close(new: Record, old: Record) -> bool:
    """Whether a record may take the place of another: trust, scope, domain and time, not words.

    Who pinned a record vouches for it: only the user closes that. Scopes do not reach into one
    another, a local record not into another session, and what was said earlier closes nothing
    later, whenever it is read.
    """
    trust = "user" if old.pinned else old.trust
    if TRUST_ORDER.get(new.trust, 0) < TRUST_ORDER.get(trust, 0):
        return False
    if (new.scope, new.domain) != (old.scope, old.domain):
        return False
    if new.scope == "local" and new.session != old.session:
        return False
    return stated_at(old) <= stated_at(new)


def stated_at(record: Record) -> str:
    """When something was said, which may be before it was read."""
    return record.valid_from or record.created_at


def said(record: Record) -> str:
    """What a record says, with its reason where that does not stand in it already."""
    if not record.why or record.why.lower() in record.what.lower():
        return record.what
    return f"{record.what} — {as_reason(record.why)}"


def as_reason(why: str) -> str:
    """A reason as it stands behind what it is for: "because …", or "instead: …"."""
    return why if why.startswith(INSTEAD) else f"because {why}"


def verdict(record: Record) -> str:
    """How it turned out: `failed`, `worked` (also for what is followed), or empty."""
    if record.outcome == "failed" or record.type == "antipattern":
        return "failed"
    return "worked" if record.outcome == "success" or record.type in FOLLOWED else ""


def lacks_lesson(record: Record) -> bool:
    """Whether something failed, and nothing says why or what to do instead."""
    told = record.why or "instead" in record.what.lower()
    return verdict(record) == "failed" and not told


def contradict(a: Record, b: Record) -> bool:
    """Whether one says that something failed and the other that it worked."""
    return {verdict(a), verdict(b)} == {"failed", "worked"}


class Provenance(Value):
    """Who says it, where, and when: stamped on every operation and record of one write."""

    source: str
    trust: str = "assistant"
    session: str = ""
    agent: str = ""
    author: str = ""
    origin: str = ""
    at: str = ""
    domain: str = "general"


class Operation(Value):
    """One change of memory, as it is written, journalled, queued, replayed and shared."""

    id: str
    kind: str
    payload: Mapping[str, Any]
    provenance: Provenance
    store: str = "project"


class Filters(Value):
    """What a query is confined to; empty fields do not filter. All that are set must hold, of the
    values of one any.

    `as_of` (ISO 8601) asks what memory held at that moment.
    """

    domains: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    since: str = ""
    before: str = ""
    as_of: str = ""


class Query(Value):
    """A parsed question. `terms` are lower-case content words in the order they were asked.

    `past` tells that it asks how things were: what was replaced may be the answer. `spans` are
    stretches of time, as (first day, first day after), that it means besides those that it names.
    What holds an `excluded` word is no answer, what holds an `unasked` one is a worse one. `asked`
    is the text without filters and without what it says that it does not ask for. `unread` are
    sentences about what looks like a filter and is none.
    """

    text: str
    terms: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    entity_hints: tuple[str, ...] = ()
    intent: str = ""
    answer_type: str = ""
    filters: Filters = Filters()
    traverse: bool = False
    depth: int = DEFAULT_DEPTH
    global_only: bool = False
    past: bool = False
    spans: tuple[tuple[str, str], ...] = ()
    excluded: tuple[str, ...] = ()
    unasked: tuple[str, ...] = ()
    asked: str = ""
    unread: tuple[str, ...] = ()


class Hit(Value):
    """One result in normal form (BR-2). `relevance` and `score` lie in 0–1; a time may be empty.

    `metadata` holds what its source knows of it: type, why, scope, domain, trust, record id,
    entityType, relations, session, stale, days_since, superseded_by, matched (terms).
    """

    id: str
    text: str
    source: str
    timestamp: str = ""
    relevance: float = 0.0
    entities: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = {}
    graph_relations: tuple[Relation, ...] = ()
    score: float = 0.0


class Answer(Value):
    """What recall gives back: ranked hits, the walked paths, and the names of failed sources.

    `notes` say how the question was read where a person would wonder.
    """

    query: Query
    hits: tuple[Hit, ...] = ()
    paths: tuple[tuple[Relation, ...], ...] = ()
    failures: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class Project(Value):
    """One project: its id and name, the folder its local tier lies in, and the keys it is known by.

    `local` is `<main worktree>/.claude/memory`, or a folder in home where that would be wrong or
    a link leads elsewhere.
    `others` are the ids of other projects that some of its keys belong to: a conflict to settle,
    or projects that this folder claims to be of and is not taken for.
    """

    id: str
    name: str
    root: str
    local: str
    keys: tuple[str, ...]
    others: tuple[str, ...] = ()


# How the registry was found: as it was written, in the form of releases without a checksum, gone,
# or other than it was written.
SOUND, OLD, LOST, DAMAGED = "", "old", "lost", "damaged"


class Registry(Value):
    """Which key belongs to which project's id; `settled` keys somebody decided by hand.

    `undo` has, by a folder's own key, what its last settling changed (see `settling`). `asked` are
    keys of folders that got a project of their own because their claims prove nothing; they are
    settled, too, until the user says otherwise. `earlier` are keys of places that were known
    before claims were told from proofs: each stays what it was. `state` is SOUND, OLD, LOST or
    DAMAGED; in all but the first the projects' cards were asked.
    """

    keys: Mapping[str, str]
    settled: tuple[str, ...] = ()
    undo: Mapping[str, Any] = {}
    asked: tuple[str, ...] = ()
    earlier: tuple[str, ...] = ()
    state: str = SOUND


class Trust(Value):
    """Claims that the home's config.toml lets count: all of them, or those below some folders."""

    everywhere: bool = False
    roots: tuple[str, ...] = ()


class Identity(Value):
    """What a folder's files tell: its keys, the main worktree's root, and a name for people.

    `own` keys are proved by the place, best first; `claims` are only stated, and become this
    project's where they are nobody's. `pointer` is the key of a repository of another place, which
    never becomes this one's. `also` are keys of the same place from before `git init` or after
    `.git` was taken away. `place` is the path of a linked worktree. It is noted, so that the
    project can be told when the worktree has been removed, but decides nothing while something
    lies there.
    """

    own: tuple[str, ...]
    root: str
    name: str
    claims: tuple[str, ...] = ()
    pointer: str = ""
    also: tuple[str, ...] = ()
    place: str = ""

    @property
    def keys(self) -> tuple[str, ...]:
        """All keys under which the folder is registered."""
        return (*self.claims, *self.own)
