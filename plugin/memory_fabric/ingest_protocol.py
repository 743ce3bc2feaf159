"""The ingest endpoint as sender and receiver agree on it: path, fields, limits."""

from __future__ import annotations

from typing import NamedTuple

PATH = "/v1/memory/ingest"
# The separator between two messages of one text.
BETWEEN = "---"
MAX_NAME_CHARS, MAX_DECISIONS, MAX_DECISION_CHARS = 256, 100, 4000


class Ingest(NamedTuple):
    """A text and its sender's statements about it, with defaults. Times are ISO 8601."""

    session_summary: str
    key_decisions: tuple[str, ...] = ()
    domain: str = "session"
    source_model: str = "claude-code-hook"
    confidence: float = 0.8
    project: str = ""
    session_id: str = ""
    idempotency_key: str = ""
    created_at: str = ""


LEFT_OUT = Ingest("")
