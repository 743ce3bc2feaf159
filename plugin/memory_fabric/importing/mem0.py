"""Exports of mem0: a JSON list of memories, or an object with `results` or `memories`.

`get_all()` and `GET /v1/memories/` of docs.mem0.ai: `id`, `memory`, `user_id`, `agent_id`,
`metadata`, `categories`, `created_at`, `updated_at`.
"""

import json
from datetime import UTC, datetime
from typing import Any

from memory_fabric.capture.confidence import NOTE
from memory_fabric.capture.statement import stated_type
from memory_fabric.errors import BadInput
from memory_fabric.importing.items import (
    EMPTY,
    MAX_WHAT_CHARS,
    UNREADABLE,
    Here,
    Item,
    Left,
    Reading,
)
from memory_fabric.patterns import pattern
from memory_fabric.store import files
from memory_fabric.text import cut, one_line

# Some 100,000 memories.
MAX_BYTES = 32 << 20
LISTS = ("results", "memories")
TEXTS = ("memory", "text", "content", "data")
# Keys of `metadata` that name a project.
PROJECTS = ("project", "project_id", "repo", "repository", "app_id")
MAX_ALSO_CHARS = 400
# Default categories of mem0, and beginnings of its sentences, that are about the person.
_OF_PERSON = frozenset(
    """entertainment family fashion food health hobbies hobby identity milestones music personal
    personal_details personal_information preference preferences professional_details sports travel
    user_preferences""".split()
)
_PERSON = (
    r"(?:the )?user(?:['’]s)? |(?:his|her|my) |i(?:['’]m)? |name is |"
    r"(?:prefer|like|love|hate|dislike|enjoy|live|want|avoid)s? |is (?:an? |allergic |\d+ years)|"
    r"works (?:as|at|for) |has (?:an? |two |three )(?:\w+ )?(?:dog|cat|son|daughter|child|kid)"
)


def memories(value: Any) -> list[Any] | None:
    """Return the list of memories in a parsed file; None if it is no export."""
    for _ in range(3):
        if isinstance(value, dict):
            value = next((value[name] for name in LISTS if name in value), None)
    if not isinstance(value, list):
        return None
    told = [one for one in value if isinstance(one, dict)]
    return value if not value or any(_said(one) is not None for one in told) else None


def read(path: str, here: Here) -> Reading:
    """Read an export. Raises BadInput, files.Refused, OSError."""
    data = files.read_bytes(path, MAX_BYTES) or b""
    try:
        return _reading(path, memories(json.loads(data.decode("utf-8-sig", "replace"))))
    except (ValueError, RecursionError) as error:
        raise BadInput(
            "PATH",
            f"{path} is not whole JSON: {error}.",
            remedy="Export it again. Nothing was imported.",
        ) from error


def _reading(path: str, found: list[Any] | None) -> Reading:
    if found is None:
        remedy = "docs/import.md lists the forms. Nothing was imported."
        raise BadInput("PATH", f"{path} is JSON without memories of mem0.", remedy=remedy)
    left, items = Left(), []
    for one in found:
        said = _said(one) if isinstance(one, dict) else None
        if said is None:
            left.add(UNREADABLE, str(one))
        elif not said.strip():
            left.add(EMPTY)
        else:
            items.append(_item(one, one_line(said)))
    return Reading(tuple(items), left=left.all, files=(path,))


def _said(one: dict[str, Any]) -> str | None:
    for name in TEXTS:
        if isinstance(one.get(name), str):
            return str(one[name])
    return None


def _item(one: dict[str, Any], said: str) -> Item:
    about = one.get("metadata")
    about = about if isinstance(about, dict) else {}
    kinds = one.get("categories") or about.get("category") or about.get("type") or ""
    kinds = ", ".join(map(str, kinds)) if isinstance(kinds, list) else str(kinds)
    whose = [str(one[name]) for name in ("user_id", "agent_id") if one.get(name)]
    stated = next((str(about[name]) for name in PROJECTS if about.get(name)), "")
    kind = stated_type(said)
    is_personal = kind == "preference" or not _OF_PERSON.isdisjoint(kinds.lower().split(", "))
    is_personal = is_personal or bool(pattern(_PERSON).match(said))
    return Item(
        what=cut(said, MAX_WHAT_CHARS),
        key=f"memory {one.get('id') or said}",
        type=kind,
        scope="user" if is_personal and not stated else "team",
        at=time_of(one.get("updated_at")) or time_of(one.get("created_at")),
        project=stated,
        category=one_line(kinds),
        also=cut(" ".join(whose), MAX_ALSO_CHARS),
        confidence=NOTE,
    )


def time_of(value: Any) -> str:
    """Return a time in ISO 8601 with any offset, or in seconds, as UTC; '' for anything else."""
    try:
        if isinstance(value, str):
            found = datetime.fromisoformat(value.strip())
        elif isinstance(value, int | float) and value > 0:
            found = datetime.fromtimestamp(value, UTC)
        else:
            return ""
        found = found if found.tzinfo else found.replace(tzinfo=UTC)
        return found.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except (ValueError, OverflowError, OSError):
        return ""
