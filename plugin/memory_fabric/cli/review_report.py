"""Records due for review, as lines for people and the model, and as JSON."""

from collections.abc import Sequence
from typing import Any

from memory_fabric.cli import formatting, show
from memory_fabric.ids import short_id
from memory_fabric.models import BEFORE, PROMPT, Record, shown_type, users_words, worded
from memory_fabric.recall.review import CANDIDATE, CONTRADICTION, DUPLICATE, KINDS, STALE, Due
from memory_fabric.store.history import candidates
from memory_fabric.text import cut, many, one_line

MAX_TEXT_CHARS = 160
NAMES = {
    CANDIDATE: "candidate",
    CONTRADICTION: "contradiction",
    STALE: "stale memory",
    DUPLICATE: "near duplicate",
}
# What a person does about one: commands of memory-fabric, with the ids below.
DECISIONS = {
    CANDIDATE: "candidates --keep ID, or --drop ID",
    CONTRADICTION: "edit ID --instead-of ID, or review --holds ID",
    STALE: "review --holds ID, edit ID, or forget ID",
    DUPLICATE: "edit ID --instead-of ID, or review --holds ID",
}


def lines_of(candidate: Record) -> list[str]:
    """Return the words of a candidate, and those around it."""
    again = candidates.said_again(candidate)
    said = one_line(worded(candidate))
    said = said if users_words(candidate) else cut(said, MAX_TEXT_CHARS)
    lines = [f"{said} (said again in {many(again, 'other session')})" if again else said]
    prompt, before = (one_line(str(candidate.evidence.get(key) or "")) for key in (PROMPT, BEFORE))
    if prompt and prompt != one_line(candidate.what):
        lines.append(f"prompt: {cut(prompt, 2 * MAX_TEXT_CHARS)}")
    if before:
        lines.append(f"before it: {cut(before, MAX_TEXT_CHARS)}")
    return lines


def show_due(found: Sequence[Due], limit: int, step: str) -> None:
    """Print the first ones, the number of the others, and how to undo what is decided."""
    if not found:
        show.line("Nothing is due for review.")
        return
    for one in found[:limit]:
        age = f", {one.days} days old" if one.days else ""
        show.line(f"{NAMES[one.kind]}{age}: {DECISIONS[one.kind]}", style="bold")
        for record in (one.record, *one.others):
            head, *more = lines_of(record)
            about = f"{shown_type(record.type)}, {record.scope}, by the {record.trust}, "
            show.line(f"  {short_id(record.id)} ({about}{record.created_at[:10]}): {head}")
            if record.why:
                show.line(f"    because: {cut(one_line(record.why), MAX_TEXT_CHARS)}")
            for line in more if one.kind == CANDIDATE else ():
                show.line(f"    {line}")
    left = found[limit:]
    if left:
        show.line(f"{_counted(left)} more (--limit)", style="dim")
    show.line(
        f"Changes with --step {step} are one step: memory-fabric undo --step {step} takes all of "
        "it back."
    )


def _counted(found: Sequence[Due]) -> str:
    counts = ((sum(one.kind == kind for one in found), kind) for kind in KINDS)
    plural = (many(number, NAMES[kind]) for number, kind in counts if number)
    return ", ".join(plural).replace("memorys", "memories")


def as_json(found: Sequence[Due], limit: int, step: str) -> dict[str, Any]:
    """Return the first ones, how many there are of each kind, and the step as a JSON object."""
    return {
        "due": [
            {
                "kind": one.kind,
                "record": formatting.as_json(one.record),
                "others": [formatting.as_json(other) for other in one.others],
                "days": one.days,
            }
            for one in found[:limit]
        ],
        "total": {kind: sum(one.kind == kind for one in found) for kind in KINDS},
        "step": step,
    }
