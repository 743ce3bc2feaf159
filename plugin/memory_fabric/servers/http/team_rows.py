"""Conversion of the shared log's rows into recall's candidates, validated as in git sharing.

The caller's own statements keep their trust; those of other members are "foreign".
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
# Values of trust that are accepted from the caller's own part of a record.
TRUSTS = frozenset(("user", "assistant", "tool"))


class Row(NamedTuple):
    """A row of the log: id, sequence number, author, kind, key, value; in a search a `score`."""

    op_id: str
    seq: int
    author: str
    kind: str
    key: str
    value: Mapping[str, Any]
    score: float = 0.0


class Said(NamedTuple):
    """An entity, or a statement about an entity; `name` is the entity's name."""

    name: str
    text: str
    type: str = ""
    aliases: tuple[str, ...] = ()
    domain: str = "general"
    created_at: str = ""


def record_candidate(row: Row, member: str) -> Candidate | None:
    """Return a row's record as a candidate; None if its value is not a valid record."""
    value = record_fields(row, member)
    if value is None:
        return None
    evidence = value["evidence"]
    metadata = {
        "record": value["id"],
        **{name: value[name] for name in _SHOWN},
        "said_in": value["source"],
        **dict.fromkeys(("session", "promoted_at"), ""),
        "entities": [name for name, _ in value["entities"]],
        **{key: evidence[key] for key in (CONFIRMED, CONTRADICTS) if evidence.get(key)},
    }
    id_, at = f"record:{value['id']}", value["created_at"]
    candidate = Candidate(id_, "records", value["what"], timestamp=at, store=STORE)
    return candidate._replace(bm25=row.score, metadata=metadata)


_SHOWN = (
    "type why confidence trust scope domain agent pinned valid_to superseded_by relations "
    "alternatives outcome category author project"
).split()


def record_fields(row: Row, member: str) -> dict[str, Any] | None:
    """Return a row's record as `member` may see it; None if it is no valid record of a team."""
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
    """Return a row's observation as a candidate; None if its value is not a valid one."""
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
    """Return a row's entity as a candidate whose text is made of these observations."""
    statement = said_in(row)
    if statement is None:
        return None
    text = "; ".join(texts) or f"{statement.name} ({statement.type})"
    return _candidate(row, statement, f"graph:{statement.name}", text, {"whole_entity": True})


def _candidate(row: Row, said: Said, id_: str, text: str, metadata: dict[str, Any]) -> Candidate:
    about = {"entityType": said.type, "author": author_of(row), "domain": said.domain}
    metadata = {**about, "scope": SCOPE, **metadata}
    candidate = Candidate(id_, "graph", text, said.name, timestamp=said.created_at, store=STORE)
    return candidate._replace(bm25=row.score, metadata=metadata)


def said_in(row: Row) -> Said | None:
    """Return a row's entity, or its statement about an entity; None if its value has no name."""
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
    """Return a row's relation; None for a row of another kind."""
    ends = [
        claims_read.plain_text(row.value.get(name), MAX_NAME_CHARS)
        for name in ("from", "relationType", "to")
    ]
    return Relation(*ends) if all(ends) else None


def author_of(row: Row) -> str:
    """Return the author's name in a form that is safe to show in a line of text."""
    return claims_read.name_in(row.author) or NAMELESS


def trust_of(author: str, member: str) -> str:
    """Return the trust of an author's graph row from the point of view of a member."""
    return BY_TOOL if author == member else FOREIGN


def said_of(kind: str, value: object) -> str:
    """Return a statement as a sentence; if withdrawn or erased, a sentence that says so."""
    if not isinstance(value, dict):
        return "(withdrawn, or kept no longer)"
    if kind == wire.RECORD:
        return str(value.get("what"))
    if kind == wire.RELATION:
        return " ".join(str(value.get(name)) for name in ("from", "relationType", "to"))
    if kind == wire.ENTITY:
        return f"{value.get('name')} ({value.get('type')})"
    return f"{value.get('entity')}: {value.get('text')}"
