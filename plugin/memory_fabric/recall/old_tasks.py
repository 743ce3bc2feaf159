"""Search for a task of an earlier session that is similar to a new task, to be shown in one line.
The two must share rare words, because descriptions of the same work share names and subjects. Words
from anywhere in the earlier session count, because its answers mention files and causes.
"""

from collections.abc import Callable, Iterable, Sequence
from math import log
from typing import NamedTuple

from memory_fabric.language import concepts
from memory_fabric.language.proper_names import is_ordinary
from memory_fabric.models import Hit, Query
from memory_fabric.recall.floor import SPECIFIC
from memory_fabric.recall.inject import states
from memory_fabric.recall.retrieve import with_rarest_terms
from memory_fabric.store.conversations import sessions as conversations
from memory_fabric.store.memory import Memory
from memory_fabric.text import cut, first_of, one_line

# The prefix of a task's hit id, and the maximum share of sessions that contain a rare word.
TASK, RARE_SHARE = "task:", 0.2
# The number of shared rare words must be at least ENOUGH, and at least OF_TOPICS × the number of
# the prompt's topics. An ordinary English word counts only as the fraction ORDINARY of a word.
ENOUGH, OF_TOPICS, ORDINARY = 2.0, 0.2, 0.6
# The session must contain at least this share of the prompt's topics, weighted by rarity: SHARE, or
# SHARE_OF_FEW if fewer than FEW_SESSIONS sessions are stored.
SHARE, SHARE_OF_FEW, FEW_SESSIONS = 0.25, 0.5, 8
NEXT = 0.6  # if the second-best session weighs more than this share of the best, none is chosen
# Only if RARE or more words of a prompt are in 1 to FEW_TURNS turns each, search up to LIMIT turns.
LIMIT, FEW_TURNS, RARE = 24, 100, 2
TURNS = frozenset(("episodes",))
MAX_SESSIONS = 200
ENDS = ("solution", "decision")  # types of records that state the result of a task
MAX_ASKED_CHARS, MAX_END_CHARS, MAX_FILES = 130, 170, 3


class Task(NamedTuple):
    """An earlier task: its session, its request, and the rare words it shares with the prompt."""

    session: str
    request: Hit
    rare: tuple[str, ...]


def told(
    query: Query,
    memory: Memory,
    session: str,
    turns_of: Callable[[Query], Iterable[Hit]],
    told_hits: Sequence[Hit],
    is_known: Callable[[str], bool],
) -> Hit | None:
    """Return the earlier task that the prompt almost repeats, as a hit with one line: its request,
    result and files. Return None if no task certainly matches, or if the session knows the record
    of the result (`is_known` gets the record's id). `turns_of` finds past turns. `told_hits` are
    shown with the task: a result among them is left out of the line.
    """
    readers = memory.readers()
    query = with_rarest_terms(query, readers, TURNS)
    counts = [reader.rows_with(query.terms, TURNS) for reader in readers]
    numbers = [sum(count.get(term, 0) for count in counts) for term in query.terms]
    if sum(0 < number <= FEW_TURNS for number in numbers) < RARE:
        return None
    turns_of_others = (hit for hit in turns_of(query) if hit.metadata.get("session") != session)
    database = memory.session_database()
    task = nearest(turns_of_others, query, conversations.count_sessions(database, MAX_SESSIONS))
    if task is None:
        return None
    ended = closing(conversations.answer_to(database, task.request.id.partition(":")[2]), task.rare)
    where = "scope <> 'local' AND session = ? AND type <> 'session'"
    noted = memory.find_records(where, (task.session,))
    over = [note for note in noted if note.superseded_by or note.valid_to]
    for note in noted:
        is_end = note.type in ENDS and note.status == "active" and note not in over
        if is_end and any(word in note.what.lower() for word in task.rare):
            if is_known(note.id):
                return None
            is_told = any(hit.id == f"record:{note.id}" for hit in told_hits)
            ended = "" if is_told else f"{note.what} {note.why}"
            break
    files = conversations.load_notes(database, task.session).get("files")
    text = line(task.request.text, ended, files if isinstance(files, list) else ())
    # Skip the task if its line repeats an outdated record, or if a record contains its request.
    if any(states(text, note.what) for note in over) or any(
        states(note.what, task.request.text) for note in noted
    ):
        return None
    about = {"type": "earlier task", "trust": task.request.metadata.get("trust")}
    return Hit(f"{TASK}{task.session}", text, "records", task.request.timestamp, metadata=about)


def nearest(hits: Iterable[Hit], query: Query, sessions: int) -> Task | None:
    """Return the task, among turns of other sessions, that the prompt almost repeats, or None."""
    topics = {c.text for c in concepts.concepts(query) if c.strength >= SPECIFIC}
    turns: dict[str, list[Hit]] = {}
    for hit in hits:
        turns.setdefault(str(hit.metadata.get("session")), []).append(hit)
    shared_topics = {session: _held(found, topics) for session, found in turns.items()}
    counts = {topic: sum(topic in one for one in shared_topics.values()) for topic in topics}
    most = max(1.0, RARE_SHARE * sessions)
    weights = {t: log(1 + (sessions + 3) / (count + 0.5)) for t, count in counts.items()}
    ranked = []
    for session, found in shared_topics.items():
        few = sorted(topic for topic in found if counts[topic] <= most)
        # Count each name once: leave out words that are parts of other words.
        if rare := tuple(w for w in few if not any(w != other and w in other for other in few)):
            ranked.append((sum(weights[topic] for topic in rare), session, rare))
    ranked.sort(reverse=True)
    if not ranked:
        return None
    weight, session, rare = ranked[0]
    share = sum(weights[t] for t in shared_topics[session]) / sum(weights.values())
    least = SHARE if sessions >= FEW_SESSIONS else SHARE_OF_FEW
    if share < least or (len(ranked) > 1 and ranked[1][0] > NEXT * weight):
        return None
    requests = [hit for hit in turns[session] if hit.metadata.get("role") == "user"]
    number = sum(ORDINARY if is_ordinary(word) else 1.0 for word in rare)
    if number < max(ENOUGH, OF_TOPICS * len(topics)):
        return None
    request = max(requests, key=lambda hit: len(_held([hit], {*rare})), default=None)
    if request is None or not _held([request], {*rare}):
        return None
    return Task(session, request, rare)


def line(asked: str, ended: str, files: Sequence[str]) -> str:
    """Return an earlier task as one line: its request, its result and its files."""
    text = f"“{cut(one_line(asked), MAX_ASKED_CHARS)}”"
    text += f" ended with: {cut(one_line(ended), MAX_END_CHARS)}" if ended else ""
    names = [path.replace("\\", "/") for path in dict.fromkeys(files)]
    return f"{text} (files: {first_of(names, MAX_FILES)})" if names else text


def closing(answer: str, rare: Sequence[str]) -> str:
    """Return the last prose paragraph of an answer, preferably the last one with a `rare` word."""
    parts = (part.strip(" -*•\n") for part in "\n\n".join(answer.split("```")[::2]).split("\n\n"))
    prose = [part for part in parts if part[:1].isalnum() and part[-1] not in ":?{}"]
    about = [part for part in prose if any(word in part.lower() for word in rare)]
    return next(reversed(about or prose), "")


def _held(turns: Iterable[Hit], topics: Iterable[str]) -> set[str]:
    return {term for hit in turns for term in hit.metadata.get("matched", ())}.intersection(topics)
