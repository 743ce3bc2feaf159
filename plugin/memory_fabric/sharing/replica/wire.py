"""Operations as they travel between machines: the state of one row, by one author.

An operation says what its author now says under a key: a record, or a row of the graph. Its `base`
names the author's operations that it replaces, so that a reader knows which of two is newer without
asking a clock: operations of one author and key that nothing replaces are its *heads*. More than
one head means that two machines wrote without knowing of each other.
"""

import hashlib
from collections.abc import Mapping
from typing import Any, NamedTuple

# The form of payloads that this release writes; a reader keeps a newer one for a later release.
FORM = 1
RECORD, ENTITY, OBSERVATION, RELATION = "record", "entity", "observation", "relation"
# An encrypted operation of a user's own machines, and the demand to erase what a key holds.
SEALED, PURGE = "sealed", "purge"
KINDS = (RECORD, ENTITY, OBSERVATION, RELATION, SEALED, PURGE)
# The longest payload, as JSON in UTF-8; the server refuses longer ones, too.
MAX_PAYLOAD_BYTES = 256 << 10


class TeamOperation(NamedTuple):
    """One operation of a shared log.

    `origin` is the id of a machine, `author` the member's name, which the server sets (empty while
    the operation waits here). `value` is None if the author withdraws what the key held. `clock`
    sorts concurrent operations; times are ISO 8601 UTC. `proof` authenticates it among the machines
    of one user, `sealed` replaces `value` where only these may read it.
    """

    op_id: str
    origin: str
    kind: str
    key: str
    value: Mapping[str, Any] | None
    base: tuple[str, ...] = ()
    clock: str = ""
    made_at: str = ""
    author: str = ""
    proof: str = ""
    sealed: str = ""
    form: int = FORM


class Position(NamedTuple):
    """A place in a shared log: everything up to it was read.

    `tx` and `seq` are those of the last operation that was read, `last` is its id; `epoch` counts
    how often the log was moved to another server.
    """

    epoch: int = 0
    tx: int = 0
    seq: int = 0
    last: str = ""


def key_of_record(id_: str) -> str:
    """Return the key of a record."""
    return f"r:{id_}"


def key_of_entity(name: str) -> str:
    """Return the key of an entity."""
    return f"e:{_digest(name)}"


def key_of_observation(name: str, text: str) -> str:
    """Return the key of one observation of an entity."""
    return f"o:{_digest(name, text)}"


def key_of_relation(source: str, kind: str, target: str) -> str:
    """Return the key of a relation."""
    return f"l:{_digest(source, kind, target)}"


def _digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode("utf-8", "replace")).hexdigest()
