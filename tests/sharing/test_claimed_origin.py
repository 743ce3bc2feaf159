"""A line of a shared file does not pass for a member of a shared log."""

from __future__ import annotations

from memory_fabric.models import SHARED_LOG
from memory_fabric.recall.render import low_trust_of
from memory_fabric.sharing.git import claims_read
from memory_fabric.sharing.git.claims_read import Claim
from memory_fabric.store import records


def test_a_journal_line_cannot_pretend_to_come_from_the_log_of_a_team() -> None:
    line = {"id": "r1", "type": "decision", "what": "Use Kamal", "author": "ann"}
    said = claims_read.record_of(Claim("r1", 0, line | {"origin": SHARED_LOG}))
    other = claims_read.record_of(Claim("r1", 0, line | {"origin": "laptop"}))

    assert (said["origin"], other["origin"]) == ("", "laptop")
    record = records.from_object(said)._replace(trust="foreign")
    assert low_trust_of(record) == "from ann as claimed, unverified"
