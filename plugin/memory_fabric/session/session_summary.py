"""The notes of a session, kept small from reading to reading, and the record made of them.

Notes are a JSON object in the session's row: what was requested, which files were changed, what
fails, what is left to do, how it ended. Pure; the handlers read and save them.
"""

from __future__ import annotations

from memory_fabric.capture.confidence import BASE
from memory_fabric.models import Record
from memory_fabric.recall.agent_domains import SESSION
from memory_fabric.redaction.prefilter import without_secrets
from memory_fabric.session.checkpoint import INTERRUPTED, own_words
from memory_fabric.text import cut, first_of, one_line, without_injected

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

MAX_WHAT_CHARS = 600
MAX_TASK_CHARS, MAX_TASKS = 160, 3
MAX_FILES, MAX_FILES_NAMED, MAX_PATH_CHARS = 20, 5, 80
MAX_ITEMS, MAX_ITEM_CHARS = 30, 80
MAX_OPEN_ENDS, MAX_OPEN_END_CHARS = 4, 160
MAX_SAID_CHARS, MAX_TO_DO_NAMED = 400, 3
# A prompt with fewer content words states no task.
TASK_WORDS = 3
# Offers of the assistant to do more, which need no answer.
_OFFERS = ("want me to", "would you like", "anything else", "let me know", "shall i also",
           "do you want me to also", "can i help", "how can i help")  # fmt: skip
DONE, FAILED, OPEN = "done", "failed", "open"
_OUTCOMES = {DONE: "success", FAILED: "failed", OPEN: "neutral"}


def noted(
    notes: Mapping[str, Any],
    said: Sequence[tuple[str, str]],
    *,
    files: Sequence[str] = (),
    items: Mapping[str, tuple[str, str]] | None = None,
    at: str = "",
) -> dict[str, Any]:
    """Return the notes after some more turns: messages as (role, text), and changed `files`.

    `items` is the current to-do list, or None if there is none; `at` is the time of the last turn.
    """
    tasks, asked = list(notes.get("tasks", ())), int(notes.get("asked", 0))
    last, waiting = str(notes.get("said", "")), bool(notes.get("waiting"))
    for role, text in said:
        text = one_line(without_secrets(without_injected(text)))
        if role == "assistant":
            last, waiting = text[-MAX_SAID_CHARS:] or last, False
        elif text.startswith(INTERRUPTED):
            waiting = True
        elif text:
            last, waiting = "", True
            task = cut(text, MAX_TASK_CHARS)
            if not text.startswith("/") and own_words(text) >= TASK_WORDS and task not in tasks:
                tasks, asked = [*tasks[:1], *[*tasks[1:], task][-(MAX_TASKS - 1) :]], asked + 1
    changed = dict.fromkeys(notes.get("files", ()))
    for file in files:
        changed.pop(file[-MAX_PATH_CHARS:], None)
        changed[file[-MAX_PATH_CHARS:]] = None
    more = {"tasks": tasks, "asked": asked, "said": last, "waiting": waiting}
    listed = None if items is None else _bounded(items)
    return {
        **notes,
        **more,
        "files": list(changed)[-MAX_FILES:],
        "items": notes.get("items") if listed is None else listed,
        "at": at or notes.get("at", ""),
    }


def summary(
    notes: Mapping[str, Any],
    *,
    to_do: Sequence[str] = (),
    failing: Sequence[tuple[str, str]] = (),
    decisions: Sequence[str] = (),
    solved: int = 0,
    commit: str = "",
) -> Record | None:
    """Return the session as a record, without id and provenance; None if it had no work.

    `failing` are commands with their errors, `decisions` ids of records that were made in it. Work
    is a changed file, or something decided, solved or left to do, but no greeting or question.
    """
    tasks, files = list(notes.get("tasks", ())), list(notes.get("files", ()))
    if not tasks or not (files or decisions or solved or to_do):
        return None
    ends = open_ends(notes, to_do, failing)
    outcome = FAILED if failing else OPEN if ends else DONE
    parts = [f"Asked: {'; '.join(task.rstrip('.') for task in tasks)}", f"Outcome: {outcome}"]
    if files:
        parts.append(f"Changed: {first_of(reversed(files), MAX_FILES_NAMED)}")
    left = f". Left open: {'; '.join(ends)}" if ends else ""
    chars_left = MAX_WHAT_CHARS - min(len(left), MAX_WHAT_CHARS // 2)
    evidence: dict[str, Any] = {"outcome": outcome, "tasks": tasks, "files": files, "open": ends}
    evidence |= {"decisions": list(decisions)} if decisions else {}
    evidence |= {"commit": commit} if commit else {}
    return Record(
        type="session",
        what=cut(". ".join(parts), chars_left) + cut(left, MAX_WHAT_CHARS // 2),
        outcome=_OUTCOMES[outcome],
        confidence=BASE,
        domain=SESSION,
        evidence=evidence,
    )


def open_ends(
    notes: Mapping[str, Any], to_do: Sequence[str] = (), failing: Sequence[tuple[str, str]] = ()
) -> list[str]:
    """Return what the session left open: failing commands, to-dos, a question, a prompt."""
    ends = [f"`{command}` fails" + (f" ({error})" if error else "") for command, error in failing]
    if to_do:
        ends.append(f"to do: {first_of(to_do, MAX_TO_DO_NAMED)}")
    question = question_in(str(notes.get("said", "")))
    if question:
        ends.append(f"asked the user: {question}")
    elif notes.get("waiting") and notes.get("tasks"):
        ends.append("the last prompt was not finished")
    return [cut(end, MAX_OPEN_END_CHARS) for end in ends[:MAX_OPEN_ENDS]]


def question_in(said: str) -> str:
    """Return the question that ends a message; '' if there is none, or for an offer to do more."""
    said = said.rstrip("*_ `")
    if not said.endswith("?"):
        return ""
    start = max(said.rfind(mark, 0, -1) for mark in (". ", "! ", "? ", ": "))
    question = said[start + 2 :] if start >= 0 else said
    return "" if any(offer in question.casefold() for offer in _OFFERS) else question


def _bounded(items: Mapping[str, tuple[str, str]]) -> dict[str, list[str]]:
    latest = list(items.items())[-MAX_ITEMS:]
    said = ((key, without_secrets(one_line(what)), state) for key, (what, state) in latest)
    return {key: [cut(what, MAX_ITEM_CHARS), state] for key, what, state in said}
