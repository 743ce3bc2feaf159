"""The answer of a tool, and its form on the wire."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from json.encoder import encode_basestring
from typing import Any, NamedTuple

# Answers of our own tools are text for a model's eyes: its attention is the budget.
MAX_ANSWER_CHARS = 4000
# Kept free for the line that says what was left out.
NOTE_CHARS = 100
# The JSON of a text; other scripts stay as they are.
quoted: Callable[[str], str] = encode_basestring


class Outcome(NamedTuple):
    """The texts of an answer, the structure beside them (None for text only), and its kind.

    `changed` says that the graph may differ from before: subscribers are told.
    """

    texts: tuple[str, ...]
    structure: Mapping[str, Any] | None = None
    failed: bool = False
    changed: bool = False


def failure(text: str) -> Outcome:
    """An answer that says what went wrong."""
    return Outcome((text,), failed=True)


def with_notes(outcome: Outcome, notes: Sequence[str]) -> Outcome:
    """The outcome with more to say: as texts, and in the note of a structure."""
    if not notes:
        return outcome
    outcome = outcome._replace(texts=(*outcome.texts, *notes))
    if outcome.structure is None:
        return outcome
    said = " ".join(filter(None, (str(outcome.structure.get("note", "")), *notes)))
    return outcome._replace(structure={**outcome.structure, "note": said})


def within(lines: Sequence[str], how_to_see_more: str, free: int = MAX_ANSWER_CHARS) -> str:
    """The first lines that fit, and how many were left out."""
    used, kept = 0, []
    for line in lines:
        used += len(line) + 1
        if used > free - NOTE_CHARS:
            break
        kept.append(line)
    left = len(lines) - len(kept)
    note = [f"{left} more left out for length: {how_to_see_more}"] if left else []
    return "\n".join([*kept, *note])


def wire(outcome: Outcome) -> dict[str, Any]:
    """The outcome as a `tools/call` result."""
    result: dict[str, Any] = {"content": [{"type": "text", "text": t} for t in outcome.texts]}
    if outcome.structure is not None:
        result["structuredContent"] = outcome.structure
    if outcome.failed:
        result["isError"] = True
    return result


def as_json(value: Any, margin: str = "\n") -> str:
    """The value as `JSON.stringify(value, null, 2)` writes it; `margin` begins each line."""
    if isinstance(value, str):
        return quoted(value)
    inner = margin + "  "
    # Most of a graph is texts: they are not worth a call each.
    if isinstance(value, dict) and value:
        items = [
            f"{inner}{quoted(k)}: {quoted(v) if isinstance(v, str) else as_json(v, inner)}"
            for k, v in value.items()
        ]
        return f"{{{','.join(items)}{margin}}}"
    if isinstance(value, list | tuple) and value:
        items = [inner + (quoted(v) if isinstance(v, str) else as_json(v, inner)) for v in value]
        return f"[{','.join(items)}{margin}]"
    return json.dumps(value)


def whole_text(value: Any) -> Any:
    """The same JSON value with lone surrogates in its texts as U+FFFD: UTF-8 cannot carry them."""
    if isinstance(value, str):
        if value.isascii():
            return value
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, list):
        return [whole_text(item) for item in value]
    if isinstance(value, dict):
        return {whole_text(key): whole_text(item) for key, item in value.items()}
    return value
