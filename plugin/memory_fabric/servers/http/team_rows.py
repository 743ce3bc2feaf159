"""Rows of the shared log as candidates of recall, checked like the records of git sharing.

What the caller said has the trust that it was said with; what others said is theirs ("foreign").
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from memory_fabric.models import CONFIRMED, CONTRADICTS, Relation
from memory_fabric.sharing.git import claims_read
from memory_fabric.sharing.replica import wire
from memory_fabric.sharing.replica.heads import NAMELESS
from memory_fabric.store.queries.search import Candidate

STORE = "team"
SCOPE = "team"
FOREIGN, BY_TOOL = "foreign", "tool"
MAX_NAME_CHARS = claims_read.MAX_PART_CHARS
# Of the caller's own part of a record.
TRUSTS = frozenset(("user", "assistant", "tool"))


class Row(NamedTuple):
    """A row of the log: its id and place, author, kind, key and value; `score` in a search."""

    op_id: str
    seq: int
    author: str
    kind: str
    key: str
    value: Mapping[str, Any]
    score: float = 0.0


class Said(NamedTuple):
    """A statement about an entity, or the entity itself; `name` is the entity's."""

    name: str
    text: str
    type: str = ""
    aliases: tuple[str, ...] = ()
    domain: str = "general"
    created_at: str = ""


def record_candidate(row: Row, member: str) -> Candidate | None:
    """Return a record as a candidate; None for a value that is no record of its key."""
    value = record_fields(row, member)
    if value is None:
        return None
    evidence = value["evidence"]
    metadata = {
        "record": value["id"],
        **{name: value[name] for name in _SHOWN},
        "said_in": value["source"],
        "session": "",
        "promoted_at": "",
        "entities": [name for name, _ in value["entities"]],
        **{key: evidence[key] for key in (CONFIRMED, CONTRADICTS) if evidence.get(key)},
    }
    return Candidate(
        id=f"record:{value['id']}",
        source="records",
        text=value["what"],
        timestamp=value["created_at"],
        bm25=row.score,
        metadata=metadata,
        store=STORE,
    )


_SHOWN = (
    "type why confidence trust scope domain agent pinned valid_to superseded_by relations "
    "alternatives outcome category author project"
).split()


def record_fields(row: Row, member: str) -> dict[str, Any] | None:
    """Return the fields of the row's record as `member` may see them; None if the row holds no
    record of a team.
    """
    value, id_ = row.value, row.value.get("id")
    is_record = claims_read.is_id(id_) and row.key == wire.key_of_record(str(id_))
    if not is_record or not claims_read.is_of_a_team(value):
        return None
    fields = claims_read.record_of(claims_read.Claim(value["id"], 0, value))
    own: Any = value.get("own") if row.author == member else None
    own = own if isinstance(own, dict) else {}
    evidence, confidence = own.get("evidence"), own.get("confidence")
    is_share = isinstance(confidence, int | float) and not isinstance(confidence, bool)
    trust = own.get("trust") if own.get("trust") in TRUSTS else BY_TOOL
    return fields | {
        "author": author_of(row),
        "trust": trust if row.author == member else FOREIGN,
        "source": claims_read.name_in(own.get("source")) or "journal",
        "scope": SCOPE,
        "agent": claims_read.name_in(value.get("agent")),
        "project": claims_read.name_in(value.get("project") or own.get("project")),
        "pinned": own.get("pinned") is True,
        "relations": [],
        "evidence": evidence if isinstance(evidence, dict) else {},
        "confidence": confidence if is_share and 0 <= confidence <= 1 else fields["confidence"],
    }


def observation_candidate(row: Row, member: str) -> Candidate | None:
    """Return an observation as a candidate; None for a value that is none."""
    statement = said_in(row)
    if statement is None or not statement.text:
        return None
    metadata = {
        "trust": trust_of(row.author, member),
        "said_in": "mcp",
        **dict.fromkeys(("session", "agent", "record", "superseded_by", "valid_to"), ""),
    }
    return _candidate(row, statement, f"graph:{statement.name}#{row.seq}", statement.text, metadata)


def entity_candidate(row: Row, texts: Iterable[str]) -> Candidate | None:
    """Return an entity as a candidate, with these texts of it."""
    statement = said_in(row)
    if statement is None:
        return None
    text = "; ".join(texts) or f"{statement.name} ({statement.type})"
    return _candidate(row, statement, f"graph:{statement.name}", text, {"whole_entity": True})


def _candidate(row: Row, said: Said, id_: str, text: str, metadata: dict[str, Any]) -> Candidate:
    return Candidate(
        id=id_,
        source="graph",
        entity=said.name,
        text=text,
        timestamp=said.created_at,
        bm25=row.score,
        metadata={
            "entityType": said.type,
            "author": author_of(row),
            "domain": said.domain,
            "scope": SCOPE,
            **metadata,
        },
        store=STORE,
    )


def said_in(row: Row) -> Said | None:
    """Return the statement of a row about an entity; None for a row of another kind."""
    value = row.value
    name = claims_read.plain_text(
        value.get("name" if row.kind == wire.ENTITY else "entity"), MAX_NAME_CHARS
    )
    if not name:
        return None
    aliases = value.get("aliases")
    return Said(
        name,
        claims_read.plain_text(value.get("text"), claims_read.MAX_WHAT_CHARS),
        claims_read.plain_text(value.get("type"), MAX_NAME_CHARS),
        tuple(a for a in aliases if isinstance(a, str)) if isinstance(aliases, list) else (),
        claims_read.name_in(value.get("domain")) or "general",
        claims_read.moment(value.get("created_at")),
    )


def relation_in(row: Row) -> Relation | None:
    """Return the relation in a row; None for a row of another kind."""
    ends = [
        claims_read.plain_text(row.value.get(name), MAX_NAME_CHARS)
        for name in ("from", "relationType", "to")
    ]
    return Relation(*ends) if all(ends) else None


def ends_of(row: Row) -> tuple[str, ...]:
    """Return the names at both ends of the relation in a row; none for a row of another kind."""
    relation = relation_in(row)
    return (relation.source, relation.target) if relation is not None else ()


def names_in(row: Row) -> frozenset[str]:
    """Return the names that a row of the graph is about."""
    fields = {wire.ENTITY: ("name",), wire.RELATION: ("from", "to")}.get(row.kind, ("entity",))
    return frozenset(str(row.value[name]) for name in fields if name in row.value)


def author_of(row: Row) -> str:
    """Return the author's name as it may stand in a rendered line."""
    return claims_read.name_in(row.author) or NAMELESS


def trust_of(author: str, member: str) -> str:
    """Return the trust of a row of the graph for a member."""
    return BY_TOOL if author == member else FOREIGN


def said_of(kind: str, value: object) -> str:
    """Return a statement as one sentence; of a withdrawn or erased statement, that it is gone."""
    if not isinstance(value, dict):
        return "(withdrawn, or kept no longer)"
    if kind == wire.RECORD:
        return str(value.get("what"))
    if kind == wire.RELATION:
        return " ".join(str(value.get(name)) for name in ("from", "relationType", "to"))
    if kind == wire.ENTITY:
        return f"{value.get('name')} ({value.get('type')})"
    return f"{value.get('entity')}: {value.get('text')}"
