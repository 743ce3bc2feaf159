"""The times at which a correction was made: each turn counts once, however often it is read.

`evidence["corrected"]` of a record holds the times. The prompt hook captures a turn when it is
said, and at Stop the transcript repeats it: a turn that is read later counts only if its session is
not known yet.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from memory_fabric.models import Record

CORRECTED, PIN, DECLINED = "corrected", "pin", "declined"
# The first corrections are enough to judge a rule.
MAX_TIMES = 20


def times(record: Record) -> list[str]:
    """Return the times at which the record was stated as a correction, in the order they
    were read.
    """
    found = record.evidence.get(CORRECTED)
    return [str(at) for at in found] if isinstance(found, list | tuple) else []


def is_declined(record: Record) -> bool:
    """True if the user declined to have this rule pinned."""
    return record.evidence.get(PIN) == DECLINED


def counted(old: Record, new: Record, session_known: bool) -> Mapping[str, Any]:
    """Return the evidence of a record after a repeat, with the new correction if it is one."""
    said = times(new)
    is_live = new.valid_from == new.created_at
    if not said or (session_known and not is_live):
        return old.evidence
    known = times(old)
    if len(known) >= MAX_TIMES or said[0] in known:
        return old.evidence
    return {**old.evidence, CORRECTED: [*known, said[0]]}
