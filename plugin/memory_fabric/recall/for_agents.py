"""Selection of memories for a subagent: first for its task, then for its kind (BR-14). When a
subagent starts, it is unknown which of several open tasks belongs to it (decision 0015). Therefore
memories are selected for all open tasks in turn, best first, within one budget.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import NamedTuple, Unpack

from memory_fabric import models
from memory_fabric.errors import DeadlinePassed, FabricError
from memory_fabric.language import concepts, task_terms
from memory_fabric.language.vocabulary import agent_terms
from memory_fabric.language.word_lists import words as listed
from memory_fabric.models import Filters, Hit, Record
from memory_fabric.recall import agent_domains, inject, render
from memory_fabric.recall.agent_domains import GENERAL, SEARCHERS, plain_name, stated_for
from memory_fabric.recall.floor import SPECIFIC
from memory_fabric.recall.normalize import is_of_others
from memory_fabric.recall.parse import parse
from memory_fabric.recall.render import within_share
from memory_fabric.store.memory import Memory
from memory_fabric.store.queries.conditions import marks, match_expression
from memory_fabric.store.schema import ACTIVE_CURRENT
from memory_fabric.text import CLOSE_FENCE, OPEN_FENCE, STOPWORDS, cut, one_line, stem, words

Ask = Callable[[str], list[Hit]]
MAX_HITS = 6
# Limits for an agent that only searches for files: it receives few hits, and only strong ones.
SEARCHER_CHARS, SEARCHER_HITS = 600, 2
STRONG_SHARED, STRONG_COVERAGE, STRONG_HELD = 2, 0.45, 0.6
# The maximum number of open tasks to search for; with more, each would get too little space.
MAX_TASKS = 8
# If a task's text yields this many hits, its short description is not searched for separately.
ENOUGH = 2
# A shorter line would have hardly any text besides its labels.
MIN_LINE_CHARS, MIN_TEXT_CHARS = 110, 30
# Types of records that are selected for a kind of agents; those that may bind come first.
OF_WORK = tuple(kind for kind in models.STATED_TYPES if kind not in models.OPEN_TYPES)
KIND_HITS = 4
FRAME_CHARS = len("\n".join((OPEN_FENCE, render.AGENT_HEADING, CLOSE_FENCE)))
# Limits for a kind: newest topic matches, newest rows for its domain. Tasks find older memories.
NEWEST_MATCHES, NEWEST_ROWS = 60, 1000


def for_agent(
    agent_type: str,
    tasks: Sequence[str],
    *,
    memory: Memory,
    ask: Ask,
    now: str,
    **known: Unpack[inject.Known],
) -> tuple[list[Hit], int]:
    """Return the hits to inject for a starting agent, shortened to fit its budget, and this budget
    in characters. `tasks` are the open tasks; one of them may be the agent's own. `ask` returns the
    hits that are certainly relevant to a text, best first.
    """
    domains = memory.domains or ()
    kind = kind_of(agent_type, memory.settings.agent_terms, domains[0] if domains else "")
    max_chars = SEARCHER_CHARS if kind.searches else inject.AGENT_CHARS
    chars_left = max_chars - FRAME_CHARS
    chars_left -= len(render.filter_label(Filters(domains=domains))) + 1 if domains else 0
    queues = asked_for(tasks[:MAX_TASKS], ask, strong_at(now), searches=kind.searches)
    chosen = shared(queues, chars_left, SEARCHER_HITS if kind.searches else MAX_HITS)
    free_places = min(KIND_HITS, MAX_HITS - len(chosen))
    if free_places > 0 and (kind.terms or kind.domain):
        seen, shown = known.get("seen", ()), known.get("shown", ())
        queued_ids = {hit.id for queue in queues for hit in queue}
        of_that_kind: list[Hit] = []
        try:
            of_that_kind = of_kind(kind, memory)
        except FabricError as error:  # use only the tasks' hits
            if not chosen:
                raise
            memory.fail(f"kind {kind.name}: {error}")
        new = [h for h in of_that_kind if h.id not in queued_ids and h.id not in seen]
        fresh = [hit for hit in new if hit.metadata["record"] not in shown]
        chosen = with_more(chosen, fresh[:free_places], chars_left)
    own = [hit for hit in chosen if not is_of_others(hit)]
    theirs = [hit for hit in chosen if is_of_others(hit)]
    shared_ones = within_share(theirs, inject.author_of, MAX_HITS, beside_own=bool(own))
    return [hit for hit in chosen if hit in own or hit in shared_ones], max_chars


def asked_for(
    tasks: Sequence[str], ask: Ask, is_strong: Callable[[Hit, str], bool], *, searches: bool = False
) -> list[list[Hit]]:
    """Return the hits for each task, best first, as far as the deadline allows. If `searches`, the
    agent only searches for files, and only hits with `is_strong` are returned.
    """
    queues: list[list[Hit]] = []
    tasks = tuple(dict.fromkeys(tasks))
    for task in tasks:
        hits: dict[str, Hit] = {}
        try:
            for question, strict, enough in _asked(task, alone=len(tasks) == 1):
                if len(hits) >= enough:
                    break
                for hit in ask(question):
                    if not (strict or searches) or is_strong(hit, question):
                        # Use the record's own entities: merging similar hits may have added more.
                        entities = hit.source == "records" and hit.metadata.get("entities")
                        names = tuple(entities or hit.entities)
                        hits.setdefault(hit.id, hit._replace(entities=names))
        except DeadlinePassed:
            if not (queues or hits):
                raise
            return [*queues, list(hits.values())] if hits else queues
        queues += [list(hits.values())] if hits else []
    return queues


def _asked(task: str, *, alone: bool) -> Iterator[tuple[str, bool, int]]:
    """Yield (question, True if only strong hits count, number of hits that make it unnecessary)."""
    questions = task_terms.questions(task)
    yield from ((question, False, 1) for question in questions[:1])
    if title := task_terms.title(task):
        yield title, True, ENOUGH
    if alone:
        yield from ((question, False, 1) for question in questions[1:])


def strong_at(now: str) -> Callable[[Hit, str], bool]:
    """Return a test that a hit is no turn and shares two topics and many words with a question."""
    query_of = cache(partial(parse, now=now, plain=True))

    def is_strong(hit: Hit, question: str) -> bool:
        wanted = concepts.concepts(query_of(question)) if hit.source != "episodes" else ()
        specific = {c.text for c in wanted if c.strength >= SPECIFIC}
        if len(specific.intersection(hit.metadata.get("matched", ()))) < STRONG_SHARED:
            return False
        stems = {s for c in wanted for s in c.stems}
        own = {stem(w) for w in words(hit.text) if w not in STOPWORDS and w not in concepts.WEAK}
        share = len(own & stems) / len(own) if own else 0.0
        return float(hit.metadata.get("coverage", 0.0)) >= STRONG_COVERAGE or share >= STRONG_HELD

    return is_strong


def shared(queues: Sequence[Sequence[Hit]], chars_left: int, max_hits: int) -> list[Hit]:
    """Select hits from all queues in turn, within `chars_left`; the best ones may be shortened."""
    by_id: dict[str, Hit] = {}
    for place in range(max(map(len, queues), default=0)):
        for queue in queues:
            if place < len(queue):
                by_id.setdefault(queue[place].id, queue[place])
    hits = list(by_id.values())
    count = len({queue[0].id for queue in queues if queue})
    lines = shortened(hits[:count][: chars_left // (MIN_LINE_CHARS + 1)], chars_left)
    return with_more(lines, hits[count:][: max(0, max_hits - len(lines))], chars_left)


def shortened(hits: Sequence[Hit], chars_left: int) -> list[Hit]:
    """Shorten the longest hits so that the lines of all hits fit into `chars_left` characters."""
    lines = sorted((len(render.hit_line(hit)) + 1, place) for place, hit in enumerate(hits))
    share: dict[int, int] = {}
    for place_in_order, (length, place) in enumerate(lines):
        share[place] = min(length, chars_left // (len(lines) - place_in_order))
        chars_left -= share[place]
    fitting = (within(hit, share[place] - 1) for place, hit in enumerate(hits))
    return [hit for hit in fitting if hit is not None]


def within(hit: Hit, max_chars: int) -> Hit | None:
    """Return the hit shortened to a line of `max_chars`; None if hardly any text would remain."""
    if len(render.hit_line(hit)) <= max_chars:
        return hit
    hit = hit._replace(text=one_line(hit.text), metadata={**hit.metadata, "why": ""})
    if hit.source != "graph":  # an entity's name stays, so that the model can look it up
        hit = hit._replace(entities=())
    while (over := len(render.hit_line(hit)) - max_chars) > 0:
        left = min(len(hit.text), render.MAX_TEXT_CHARS) - over
        if left < MIN_TEXT_CHARS:
            return None
        hit = hit._replace(text=cut(hit.text, left))
    return hit


def with_more(kept: Sequence[Hit], more: Iterable[Hit], chars_left: int) -> list[Hit]:
    """Append to the `kept` hits, in order, those of `more` that fit in full into `chars_left`."""
    out = list(kept)
    chars_left -= sum(len(render.hit_line(hit)) + 1 for hit in out)
    for hit in more:
        length = len(render.hit_line(hit)) + 1
        if length <= chars_left:
            out.append(hit)
            chars_left -= length
    return out


def of_kind(kind: "Kind", memory: Memory) -> list[Hit]:
    """Return the newest records on a kind's topics or of its domain, the pinned ones first."""
    holding = f"{ACTIVE_CURRENT} AND scope <> 'local' AND type IN ({marks(OF_WORK)})"
    records: list[Record] = []
    if match := match_expression(kind.terms):
        records += memory.find_records(
            "seq IN (SELECT rowid FROM records_fts WHERE records_fts MATCH ? "
            f"ORDER BY rowid DESC LIMIT {NEWEST_MATCHES}) AND {holding}",
            (match, *OF_WORK),
            NEWEST_MATCHES,
        )
    if kind.domain:
        records += memory.find_records(
            f"seq > (SELECT max(seq) FROM records) - {NEWEST_ROWS} AND domain = ? AND {holding}",
            (kind.domain, *OF_WORK),
            MAX_HITS + KIND_HITS,
        )
    ordered = sorted(records, key=lambda record: (record.created_at, record.id), reverse=True)
    ordered.sort(key=lambda record: (not record.pinned, record.type not in models.RULE_TYPES))
    return list({record.id: hit_of(record) for record in ordered}.values())


def hit_of(record: Record) -> Hit:
    copied = ("type", "why", "scope", "domain", "trust", "author")
    about = {name: getattr(record, name) for name in copied} | {
        "record": record.id,
        models.QUOTATION: record.evidence.get(models.QUOTATION, ""),
        models.CONTRADICTS: models.contradicted(record),
        "stated_at": models.stated_at(record),
    }
    names, id_ = tuple(entity.name for entity in record.entities), f"record:{record.id}"
    return Hit(id_, record.what, "records", record.created_at, entities=names, metadata=about)


class Kind(NamedTuple):
    """A kind of agents. Without terms and a domain, memories are selected only by task."""

    name: str
    terms: tuple[str, ...] = ()  # the agents' topics
    domain: str = ""  # the domain of these agents' memories
    searches: bool = False  # True for agents that only search for files


def kind_of(agent_type: str, stated: Mapping[str, str], domain: str = "") -> Kind:
    """Return the kind of an agent type. Its terms are those that the user set in config.toml
    (`stated`), or else follow from its name. A `domain` from config.toml takes precedence over one
    derived from the name. `stated` may list `plugin:Code_Reviewer` by this name or as
    `code-reviewer`. If the listed terms are empty, only the agent's task selects memories.
    """
    name = plain_name(agent_type)
    kind = stated_for(agent_type, stated)
    searching = listed("questions", "searching agents")
    if kind is None and (name in SEARCHERS or not searching.isdisjoint(name.split("-"))):
        return Kind(name, searches=True)
    domain = domain or agent_domains.domain_of_agent(agent_type)
    own = domain if domain != GENERAL else ""
    if kind is None:
        return Kind(name, agent_terms(name) if own else (), own)
    terms = tuple(dict.fromkeys(term for term in map(str.strip, kind.split(",")) if term))
    return Kind(name, terms, own) if terms else Kind(name)
