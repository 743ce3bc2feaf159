"""Operations for tests."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from memory_fabric.sharing.replica.wire import OBSERVATION, TeamOperation

# Appends one operation to a space: its name, the payload, and when it was made.
APPEND = (
    "SELECT memory_fabric.append(%s, ARRAY[gen_random_uuid()], ARRAY['machine1'],"
    " ARRAY['observation'], ARRAY[%s]::text[], ARRAY[%s]::timestamptz[])"
)


def operation(
    text: str = "The port is 5433",
    *,
    key: str = "",
    base: Sequence[str] = (),
    value: Mapping[str, Any] | None = None,
    **fields: Any,
) -> TeamOperation:
    """Return an operation that adds an observation."""
    given = {"kind": OBSERVATION, "origin": "machine1", "clock": "0" * 25} | fields
    return TeamOperation(
        op_id=str(uuid.uuid4()),
        key=key or f"o:{uuid.uuid4().hex}",
        value=value if value is not None else {"entity": "Database", "text": text},
        base=tuple(base),
        made_at="2026-01-02T03:04:05.678Z",
        **given,
    )


def texts(operations: Sequence[TeamOperation]) -> list[str]:
    """Return what each operation says."""
    return [operation.value["text"] for operation in operations if operation.value]
