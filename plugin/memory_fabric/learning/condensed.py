"""A project's sessions in few words, for an assistant that writes notes of them.

What was asked is in the user's words, cut, and so are the closing words of each answer.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from memory_fabric.capture.notes.typed_text import typed_words
from memory_fabric.hooks.session.last_session import closing
from memory_fabric.redaction.prefilter import without_secrets
from memory_fabric.store.conversations import sessions
from memory_fabric.store.database import Database
from memory_fabric.store.memory import Memory
from memory_fabric.text import cut, first_of, one_line

CHARS_PER_TOKEN = 4
MAX_ASKED_CHARS, MAX_ANSWER_CHARS, MAX_FILES, MAX_PROMPTS = 280, 200, 6, 40


class Condensed(NamedTuple):
    """Sessions as lines, newest first, and what they cost: tokens of these and of all.

    `before` is the time from which on the next call goes on with older ones; '' after the last.
    """

    lines: tuple[str, ...]
    sessions: int
    tokens: int
    all_sessions: int
    all_tokens: int
    before: str = ""


def condense(memory: Memory, budget: int, before: str = "") -> Condensed:
    """Return the newest sessions of a project that fit into a budget of tokens.

    `before` leaves out sessions that began at this time (ISO 8601) or later. The first is shown in
    any case, cut to the budget.
    """
    shown: list[str] = []
    count = spent = total = sessions = 0
    oldest = ""
    is_full = budget <= 0
    for database in memory.databases():
        if database.kind != "project":
            continue
        for session, began_at in _sessions(database, before):
            # Lines that are only counted pass no rules of redaction, which take most of the time.
            lines = _told(database, session, began_at, one_line if is_full else _shown)
            if not lines:
                continue
            size = sum(len(line) + 1 for line in lines)
            total, sessions = total + size, sessions + 1
            limit = budget * CHARS_PER_TOKEN
            if is_full or (count and spent + size > limit):
                is_full = True
                continue
            lines = lines if size <= limit else _cut(lines, limit)
            shown += lines
            count, spent, oldest = count + 1, spent + min(size, limit), began_at
    more = oldest if count < sessions else ""
    return Condensed(tuple(shown), count, _tokens(spent), sessions, _tokens(total), more)


def _sessions(database: Database, before: str) -> list[tuple[str, str]]:
    """Return each session that still has turns, and its start, newest first."""
    found = database.rows(
        "SELECT session, min(created_at) AS began FROM episodes GROUP BY session "
        "HAVING ? = '' OR began < ? ORDER BY began DESC",
        (before, before),
    )
    return [(session, began_at) for session, began_at in found]


def _told(
    database: Database, session: str, began_at: str, clean: Callable[[str], str]
) -> list[str]:
    """Return the lines of a session, each text of it cleaned; none if it asked for nothing."""
    turns = database.rows(
        "SELECT role, text FROM episodes WHERE session = ? ORDER BY created_at, id", (session,)
    )
    lines = _lines(turns, clean)
    if not lines:
        return []
    head = f"## {began_at[:16].replace('T', ' ')}, session {session[:8]}"
    return [head, *lines, *_made(database, session, clean)]


def _lines(turns: Sequence[tuple[str, str]], clean: Callable[[str], str]) -> list[str]:
    """Return a line for each prompt, with the closing words of its answer."""
    lines: list[str] = []
    asked = answer = ""
    for role, text in [*turns, ("user", "")]:
        if role == "assistant":
            answer = text
            continue
        if asked:
            told = closing(answer, MAX_ANSWER_CHARS)
            lines.append(f"- asked: {cut(asked, MAX_ASKED_CHARS)}")
            lines += [f"  answered: {clean(told)}"] if told else []
        asked, answer = clean(typed_words(text)), ""
    return lines[: 2 * MAX_PROMPTS]


def _made(database: Database, session: str, clean: Callable[[str], str]) -> list[str]:
    """Return what memory has of the session already: its fixes and notes, and changed files."""
    rows = database.rows(
        "SELECT type, what FROM records WHERE session = ? AND type <> 'session' "
        "AND status = 'active' AND scope <> 'local' ORDER BY seq",
        (session,),
    )
    files = [clean(str(file)) for file in sessions.load_notes(database, session).get("files", ())]
    changed = [f"- changed: {first_of(files, MAX_FILES)}"] if files else []
    return [*(f"- on record ({type_}): {clean(what)}" for type_, what in rows), *changed]


def _shown(text: str) -> str:
    """Return a stored text as it may be shown now: a rule for secrets may be newer than it."""
    return one_line(without_secrets(text))


def _cut(lines: Sequence[str], chars: int) -> list[str]:
    kept: list[str] = []
    for line in lines:
        chars -= len(line) + 1
        if chars < 0:
            break
        kept.append(line)
    return kept or [cut(lines[0], max(1, chars))]


def _tokens(chars: int) -> int:
    return -(-chars // CHARS_PER_TOKEN)
