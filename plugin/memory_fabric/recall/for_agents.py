"""What a subagent is given: what its tasks ask for, then what its kind works on (BR-14).

Which of several open tasks is an agent's own cannot be told when it starts (decision 0015): they
share one room, in turns, each best first.
"""

from __future__ import annotations

from memory_fabric.errors import DeadlinePassed, FabricError
from memory_fabric.language import concepts as asked
from memory_fabric.language import task_terms
from memory_fabric.models import Filters, Hit
from memory_fabric.recall import inject, render
from memory_fabric.recall.agent_kinds import kind_of
from memory_fabric.recall.parse import parse
from memory_fabric.store.fts_query import match_expression
from memory_fabric.text import CLOSE_FENCE, OPEN_FENCE, STOPWORDS, cut, one_line, stem, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Sequence

    from memory_fabric.models import Query, Record
    from memory_fabric.recall.agent_kinds import Kind
    from memory_fabric.store.memory import Memory

    Ask = Callable[[str], list[Hit]]

# An agent that only looks for files is given little, and only what is surely meant.
SEARCHER_CHARS, SEARCHER_HITS = 600, 2
STRONG_SHARED, STRONG_COVERAGE, STRONG_HELD = 2, 0.45, 0.6
# Open tasks of one type that are asked for; with more the room is too small for any.
MAX_TASKS = 8
# A task that found so much is not asked for by its description as well.
ENOUGH = 2
# A line below this says next to nothing beside its marks.
MIN_LINE_CHARS, MIN_TEXT_CHARS = 110, 30
# What holds until someone changes it is given to a kind first, then what else its work brought.
HOLDING = frozenset(("decision", "constraint", "preference", "pattern", "antipattern"))
OF_WORK = (*sorted(HOLDING), "note", "problem", "solution")
KIND_HITS = 4
FRAME_CHARS = len("\n".join((OPEN_FENCE, render.AGENT_HEADING, CLOSE_FENCE)))
# Matches and rows that are looked at, newest first: a kind's older records are left to its tasks.
NEWEST_MATCHES, NEWEST_ROWS = 60, 1000


def for_agent(
    agent_type: str,
    tasks: Sequence[str],
    *,
    memory: Memory,
    ask: Ask,
    now: str,
    seen: Container[str] = frozenset(),
    shown: Container[str] = frozenset(),
) -> tuple[list[Hit], int]:
    """The hits for an agent that starts, shortened where the room asks for it, and that room.

    `tasks` are those that may be its own; `ask` gives the hits of a text above the floor, best
    first. Of a memory that is confined to domains, its kind is given what lies in these.
    """
    domains = memory.domains or ()
    kind = kind_of(agent_type, memory.settings.agent_terms, domains[0] if domains else "")
    max_chars = SEARCHER_CHARS if kind.searches else inject.AGENT_CHARS
    room = max_chars - FRAME_CHARS
    room -= len(render.filter_label(Filters(domains=domains))) + 1 if domains else 0
    found = asked_for(tasks[:MAX_TASKS], ask, strong_at(now), searches=kind.searches)
    kept = shared(found, room, SEARCHER_HITS if kind.searches else inject.MAX_HITS)
    left = min(KIND_HITS, inject.MAX_HITS - len(kept))
    if left > 0 and (kind.terms or kind.domain):
        given = {hit.id for queue in found for hit in queue}
        fresh = [
            hit
            for hit in _of_kind_if_possible(kind, memory, needed=not kept)
            if hit.id not in given and hit.id not in seen and hit.metadata["record"] not in shown
        ]
        kept = with_more(kept, fresh[:left], room)
    return kept, max_chars


def _of_kind_if_possible(kind: Kind, memory: Memory, *, needed: bool) -> list[Hit]:
    """What a task has found is given also where the search for its kind fails, or has no time."""
    try:
        return of_kind(kind, memory)
    except FabricError as error:
        if needed:
            raise
        memory.fail(f"kind {kind.name}: {error}")
        return []


def asked_for(
    tasks: Sequence[str], ask: Ask, is_strong: Callable[[Hit, str], bool], *, searches: bool = False
) -> list[list[Hit]]:
    """What each task asks for, best first; tasks that found nothing are left out.

    Where the time runs out, what was found so far stands. With `searches` every hit is strong.
    """
    found: list[list[Hit]] = []
    tasks = tuple(dict.fromkeys(tasks))
    for task in tasks:
        hits: dict[str, Hit] = {}
        try:
            for question, strict, enough in _asked(task, alone=len(tasks) == 1):
                if len(hits) >= enough:
                    break
                for hit in ask(question):
                    if not (strict or searches) or is_strong(hit, question):
                        hits.setdefault(hit.id, _as_stated(hit))
        except DeadlinePassed:
            if not (found or hits):
                raise
            return [*found, list(hits.values())] if hits else found
        if hits:
            found.append(list(hits.values()))
    return found


def _asked(task: str, *, alone: bool) -> Iterator[tuple[str, bool, int]]:
    """Questions for a task; whether only what is strong answers one; and how many hits spare it.

    Its subject, then its few words of description, which mean little but when all are met; the
    whole of a long one, which costs the most, only where nothing was found and no other task
    shares the time.
    """
    questions = task_terms.questions(task)
    yield from ((question, False, 1) for question in questions[:1])
    title = task_terms.title(task)
    if title:
        yield title, True, ENOUGH
    if alone:
        yield from ((question, False, 1) for question in questions[1:])


def strong_at(now: str) -> Callable[[Hit, str], bool]:
    """Whether a hit is surely meant by a question that is asked now."""
    queries: dict[str, Query] = {}

    def strong(hit: Hit, question: str) -> bool:
        if question not in queries:
            queries[question] = parse(question, now=now, plain=True)
        return is_strong(hit, queries[question])

    return strong


def is_strong(hit: Hit, query: Query) -> bool:
    """Whether a fact shares two specific words with the question, and most of what either says."""
    if hit.source == "episodes":
        return False
    concepts = asked.concepts(query)
    specific = {c.text for c in concepts if c.strength >= inject.SPECIFIC}
    if len(specific.intersection(hit.metadata.get("matched", ()))) < STRONG_SHARED:
        return False
    stems = {s for c in concepts for s in c.stems}
    own = {stem(w) for w in words(hit.text) if w not in STOPWORDS and w not in asked.WEAK}
    held = len(own & stems) / len(own) if own else 0.0
    return float(hit.metadata.get("coverage", 0.0)) >= STRONG_COVERAGE or held >= STRONG_HELD


def shared(queues: Sequence[Sequence[Hit]], room: int, max_hits: int) -> list[Hit]:
    """Hits of all queues in turns, each queue best first, within `room` characters of lines.

    Every queue gets its best as long as there is room for a line; where those of all queues do not
    fit as they are, the longest are shortened. What follows comes whole, or not at all, and only up
    to `max_hits`. No hit comes twice: one that two queues share serves both.
    """
    turns = in_turns(queues)
    first = turns[0] if turns else []
    kept = shortened(first[: room // (MIN_LINE_CHARS + 1)], room)
    rest = [hit for turn in turns[1:] for hit in turn]
    return with_more(kept, rest[: max(0, max_hits - len(kept))], room)


def in_turns(queues: Sequence[Sequence[Hit]]) -> list[list[Hit]]:
    """The hits by the turn in which their queue offers them, each hit in its first turn only."""
    given: set[str] = set()
    turns = []
    for place in range(max(map(len, queues), default=0)):
        turn = []
        for queue in queues:
            if place < len(queue) and queue[place].id not in given:
                given.add(queue[place].id)
                turn.append(queue[place])
        if turn:
            turns.append(turn)
    return turns


def shortened(hits: Sequence[Hit], room: int) -> list[Hit]:
    """The hits, the longest of them cut so that all lines together fit into the room.

    The shortest are served first, and leave to the longer ones what they do not need.
    """
    lines = sorted((len(render.hit_line(hit)) + 1, place) for place, hit in enumerate(hits))
    share: dict[int, int] = {}
    for done, (length, place) in enumerate(lines):
        share[place] = min(length, room // (len(lines) - done))
        room -= share[place]
    fitting = (within(hit, share[place] - 1) for place, hit in enumerate(hits))
    return [hit for hit in fitting if hit is not None]


def within(hit: Hit, max_chars: int) -> Hit | None:
    """The hit with a line of at most `max_chars`: without its reason, then with less of its text.

    None where hardly anything of the text would be left.
    """
    if len(render.hit_line(hit)) <= max_chars:
        return hit
    hit = hit._replace(text=one_line(hit.text), metadata={**hit.metadata, "why": ""})
    if hit.source != "graph":  # there the name is how the memory can be found again
        hit = hit._replace(entities=())
    while (over := len(render.hit_line(hit)) - max_chars) > 0:
        left = min(len(hit.text), render.MAX_TEXT_CHARS) - over
        if left < MIN_TEXT_CHARS:
            return None
        hit = hit._replace(text=cut(hit.text, left))
    return hit


def with_more(kept: Sequence[Hit], more: Iterable[Hit], room: int) -> list[Hit]:
    """Those kept, and of the others, in order, each that still fits whole."""
    out = list(kept)
    room -= sum(len(render.hit_line(hit)) + 1 for hit in out)
    for hit in more:
        length = len(render.hit_line(hit)) + 1
        if length <= room:
            out.append(hit)
            room -= length
    return out


def of_kind(kind: Kind, memory: Memory) -> list[Hit]:
    """Records that name one of the kind's terms, or come from agents of this kind.

    Pinned ones first, then what holds, then the rest; the newest first of each.
    """
    marks = ", ".join("?" * len(OF_WORK))
    holding = (
        f"status = 'active' AND superseded_by = '' AND valid_to = '' AND scope <> 'local' "
        f"AND type IN ({marks})"
    )
    found: list[Record] = []
    match = match_expression(kind.terms)
    if match:
        found += memory.find_records(
            "seq IN (SELECT rowid FROM records_fts WHERE records_fts MATCH ? "
            f"ORDER BY rowid DESC LIMIT {NEWEST_MATCHES}) AND {holding}",
            (match, *OF_WORK),
            NEWEST_MATCHES,
        )
    if kind.domain:
        found += memory.find_records(
            f"seq > (SELECT max(seq) FROM records) - {NEWEST_ROWS} AND domain = ? AND {holding}",
            (kind.domain, *OF_WORK),
            inject.MAX_HITS + KIND_HITS,
        )
    ordered = sorted(found, key=lambda record: (record.created_at, record.id), reverse=True)
    ordered.sort(key=lambda record: (not record.pinned, record.type not in HOLDING))
    return list({record.id: _hit(record) for record in ordered}.values())


def _as_stated(hit: Hit) -> Hit:
    """The hit under the names that its record states; search adds those that stand around it."""
    named = hit.metadata.get("entities")
    return hit._replace(entities=tuple(named)) if named and hit.source == "records" else hit


def _hit(record: Record) -> Hit:
    about = {
        "type": record.type,
        "why": record.why,
        "scope": record.scope,
        "domain": record.domain,
        "trust": record.trust,
        "author": record.author,
        "record": record.id,
    }
    return Hit(
        id=f"record:{record.id}",
        text=record.what,
        source="records",
        timestamp=record.created_at,
        entities=tuple(entity.name for entity in record.entities),
        metadata=about,
    )
