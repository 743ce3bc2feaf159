"""Rows of a team's shared log, parsed as records, entities, observations and relations.

Functions in the database find the rows (sharing/server/schema/010_search.sql), which are read as
the requesting member, under the log's row-level security. Statements are untrusted input, checked
as in sharing by git. The caller's own records keep their `trust`; others' statements get "foreign".
"""

import sys
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from memory_fabric.errors import DeadlinePassed, FabricError, StoreUnavailable
from memory_fabric.models import CONFIRMED, CONTRADICTS, Relation
from memory_fabric.servers.http.responses import Forbidden
from memory_fabric.sharing.git import claims_read
from memory_fabric.sharing.replica import heads, wire
from memory_fabric.sharing.team import errors
from memory_fabric.store.queries.search import Candidate

STORE = SCOPE = "team"
FOREIGN, BY_TOOL = "foreign", "tool"
MAX_NAME_CHARS = claims_read.MAX_PART_CHARS
# The values of `trust` that are accepted in the caller's own records.
TRUSTS = frozenset(("user", "assistant", "tool"))
COUNTED = {"records": wire.RECORD, "entities": wire.ENTITY}
COUNTED |= {"observations": wire.OBSERVATION, "relations": wire.RELATION}


class Row(NamedTuple):
    """A row of the log with its sequence number, its id and, after a search, its score."""

    op_id: str
    seq: int
    author: str
    kind: str
    key: str
    value: Mapping[str, Any]
    score: float = 0.0


class Said(NamedTuple):
    """A statement read from a row: the entity `name`, or an observation (`text`) about it."""

    name: str
    text: str
    type: str = ""
    aliases: tuple[str, ...] = ()
    domain: str = "general"
    created_at: str = ""


def record_candidate(row: Row, member: str) -> Candidate | None:
    """Return the record in a row as a candidate for recall, or None if it is not valid."""
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
    """Return the record in a row as `member` may see it; None if it is not a valid team record."""
    value, id_ = row.value, row.value.get("id")
    is_record = claims_read.is_id(id_) and row.key == wire.key_of(wire.RECORD, id_)
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
    """Return the observation in a row as a candidate for recall, or None if it is not valid."""
    statement = said_in(row)
    if statement is None or not statement.text:
        return None
    metadata = dict.fromkeys(("session", "agent", "record", "superseded_by", "valid_to"), "")
    metadata |= {"trust": trust_of(row.author, member), "said_in": "mcp"}
    return _candidate(row, statement, f"graph:{statement.name}#{row.seq}", statement.text, metadata)


def entity_candidate(row: Row, texts: Iterable[str]) -> Candidate | None:
    """Return the entity in a row as a candidate; `texts` are observations that describe it."""
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


def shown_name(name: object) -> str:
    return claims_read.plain_text(name, MAX_NAME_CHARS)


def said_in(row: Row) -> Said | None:
    """Return the entity or observation in a row; None if the row does not name an entity."""
    value = row.value
    field = "name" if row.kind == wire.ENTITY else "entity"
    name = shown_name(value.get(field))
    if not name:
        return None
    aliases = value.get("aliases")
    return Said(
        name,
        claims_read.plain_text(value.get("text"), claims_read.MAX_WHAT_CHARS),
        shown_name(value.get("type")),
        tuple(a for a in aliases if isinstance(a, str)) if isinstance(aliases, list) else (),
        claims_read.name_in(value.get("domain")) or "general",
        claims_read.moment(value.get("created_at")),
    )


def relation_in(row: Row) -> Relation | None:
    """Return the relation in a row; None if an end or the type is missing."""
    ends = [shown_name(row.value.get(name)) for name in ("from", "relationType", "to")]
    return Relation(*ends) if all(ends) else None


def author_of(row: Row) -> str:
    """Return the name of a row's author, in a form that is safe within a line of text."""
    return claims_read.name_in(row.author) or heads.NAMELESS


def trust_of(author: str, member: str) -> str:
    """Return the `trust` of an entity or observation: "tool" from `member`, otherwise "foreign"."""
    return BY_TOOL if author == member else FOREIGN


def said_of(kind: str, value: object) -> str:
    """Return a statement as a line of text; "(withdrawn …)" if the value is None."""
    if not isinstance(value, dict):
        return "(withdrawn, or kept no longer)"
    if kind == wire.RECORD:
        return str(value.get("what"))
    if kind == wire.RELATION:
        return " ".join(str(value.get(name)) for name in ("from", "relationType", "to"))
    if kind == wire.ENTITY:
        return f"{value.get('name')} ({value.get('type')})"
    return f"{value.get('entity')}: {value.get('text')}"


def of_log(error: errors.TeamError) -> FabricError:
    """Return the FabricError for an error of the shared log, without the database's address."""
    if isinstance(error, errors.TooSlow):
        return DeadlinePassed("The database took too long for an answer.", remedy="Ask for less.")
    if isinstance(error, errors.ServerReadOnly):
        text = "The team's database accepts no writes now: it is a replica or in read-only mode."
        remedy = "Reading works; write again when the failover has ended."
        return StoreUnavailable("", text, remedy=remedy)
    if isinstance(error, errors.NotAMember | errors.NotAllowed):
        text = "The member of this key may not do this in the space."
        remedy = "Ask an owner of the space: memory-fabric team add MEMBER."
        return Forbidden(text, remedy=remedy)
    if isinstance(error, errors.NoAnswer | errors.ServerFull | errors.LoginFailed):
        remedy = "It comes back by itself as soon as the database answers."
        return StoreUnavailable("", "The team's database does not answer.", remedy=remedy)
    print(f"memory-fabric: {error}", file=sys.stderr)  # noqa: T201
    remedy = "The terminal of memory-fabric serve shows the error."
    return FabricError("The team's database could not answer this.", remedy=remedy)
