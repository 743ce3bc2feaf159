"""Payloads of operations: JSON to and from the log.

{"v": 1, "key": ..., "base": [...], "clock": ..., "value": {...} or null, "proof": ...}
{"v": 1, "key": ..., "base": [...], "clock": ..., "sealed": ...}
"""

import json
from collections.abc import Collection
from typing import Any

from memory_fabric.sharing.replica.wire import FORM, MAX_PAYLOAD_BYTES, TeamOperation

# Ours have seven levels. Functions that call themselves for each would end at some hundred.
MAX_DEPTH = 50


def encode(operation: TeamOperation) -> str:
    """Return an operation's payload as JSON; raise ValueError if no server would take it."""
    payload: dict[str, Any] = {
        "v": operation.form,
        "key": operation.key,
        "base": list(operation.base),
        "clock": operation.clock,
    }
    if operation.sealed:
        payload["sealed"] = operation.sealed
    else:
        payload["value"] = operation.value
        if operation.proof:
            payload["proof"] = operation.proof
    text = json.dumps(payload, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    length = len(text.encode("utf-8"))  # a lone surrogate raises UnicodeEncodeError, a ValueError
    if length > MAX_PAYLOAD_BYTES:
        raise ValueError(f"the payload has {length} bytes, the limit is {MAX_PAYLOAD_BYTES}")
    return text


def decode(
    op_id: str, origin: str, author: str, kind: str, payload_json: str, made_at: str
) -> TeamOperation | None:
    """Return the operation of a row, or None if its payload is none.

    Of a later form everything is kept: `value` is then the whole payload.
    """
    try:
        payload = json.loads(payload_json)
    except (ValueError, RecursionError):
        return None
    if not isinstance(payload, dict) or _is_deep(payload):
        return None
    form, key, base = payload.get("v"), payload.get("key"), payload.get("base")
    if type(form) is not int or form < 1 or not isinstance(key, str):
        return None
    if not isinstance(base, list) or not _are_texts(base):
        return None
    value, sealed = payload.get("value"), payload.get("sealed", "")
    clock, proof = payload.get("clock", ""), payload.get("proof", "")
    if form > FORM:
        value, sealed, clock, proof = payload, "", "", ""
    if not isinstance(value, dict | None) or not _are_texts([sealed, clock, proof]):
        return None
    if value is None and not sealed and "value" not in payload:
        return None
    return TeamOperation(
        op_id=op_id,
        origin=origin,
        kind=kind,
        key=key,
        value=value,
        base=tuple(base),
        clock=clock,
        made_at=made_at,
        author=author,
        proof=proof,
        sealed=sealed,
        form=form,
    )


def _is_deep(value: object) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [part for one in level for part in _parts(one)]
        if not level:
            return False
    return True


def _parts(value: object) -> Collection[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _are_texts(values: list[object]) -> bool:
    return all(isinstance(value, str) for value in values)
