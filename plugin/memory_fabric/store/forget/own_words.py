"""Words that every file of memory contains: names of tables and fields, kinds, markers, titles."""

from memory_fabric import models
from memory_fabric.ingest_protocol import Ingest
from memory_fabric.store import schema
from memory_fabric.store.conversations import sessions
from memory_fabric.store.operations.kinds import KINDS
from memory_fabric.store.queues import ingest_queue
from memory_fabric.store.tiers import memory_md

# Words without a constant: field names, and the word that joins a statement to its reason.
_OTHERS = """signature store forgotten body answer place text file number line at about idempotency
    tasks asked said waiting files items failing command words error cause attended because from to
    entityName entityType relationType relations contents observations seen_in evidence"""
_FIELDS = (models.Record, models.Provenance, models.Operation, models.Entity, Ingest)
_VALUES = (
    *(models.RECORD_TYPES, models.ENTITY_TYPES, models.SCOPES, models.TRUST_ORDER, models.SOURCES),
    *(models.OUTCOMES, sessions.CHANNELS, ingest_queue.STATES),
)
# A text that occurs in this vocabulary cannot be erased.
OWN_TEXT = "\n".join(
    (
        schema.whole(),
        *KINDS,
        *(field for kind in KINDS.values() for field in kind.shape),
        *(name for value in _FIELDS for name in value._fields),
        *(name for values in _VALUES for name in values),
        *(memory_md.BEGIN, memory_md.BEGIN_JOINED, memory_md.END, memory_md.HEADING),
        ingest_queue.PURGED,
        *_OTHERS.split(),
    )
)
