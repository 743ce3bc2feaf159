"""The fabric: the stages joined. parse → execute → normalize → dedupe → boost → rank."""

from __future__ import annotations

from memory_fabric.models import Answer, Filters, Query
from memory_fabric.recall import inject as push
from memory_fabric.recall import render
from memory_fabric.recall.boost import boost
from memory_fabric.recall.dedupe import collapse, dedupe, is_of_others
from memory_fabric.recall.normalize import normalize
from memory_fabric.recall.parse import parse
from memory_fabric.recall.rank import rank, with_score_parts
from memory_fabric.recall.request_context import RequestContext
from memory_fabric.recall.rerank import measured, rerank
from memory_fabric.recall.retrieve import (
    PULL_LIMIT,
    anchored,
    execute,
    newest,
    relations_around,
    standing_at,
)
from memory_fabric.recall.staleness import mark_stale
from memory_fabric.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Sequence
    from typing import Any

    from memory_fabric.models import Hit, Relation
    from memory_fabric.recall.rerank import Similarity
    from memory_fabric.store.memory import Memory

    Path = tuple[Relation, ...]

DEFAULT_LIMIT = 10
# Push shows a handful: fewer candidates a source keep the prompt's time for the person.
PUSH_LIMIT = 40
# Cross references change the order, so they are looked up for so many hits more than asked for.
REFERENCED_EXTRA = 10
# The word without which no question names a domain.
WORD = "domain"
NOTHING_UNDER = "nothing was found under the filter"
EXCLUDE_EACH_OTHER = "nothing can be found: these filters exclude each other"
NOT_SHOWN = frozenset(("matched", "entities", "relations", "promoted_at", "body"))


class Pushed(Value):
    """What a hook injects: fenced text, and the ids for the ledger once the text was delivered."""

    text: str = ""
    ids: tuple[str, ...] = ()


class Fabric(RequestContext):
    """Recall over one memory at one moment; `now` is ISO 8601 in UTC.

    With a `similarity` what is recalled is ranked by nearness of meaning, too (the warm path).
    """

    def __init__(
        self,
        memory: Memory,
        now: str,
        similarity: Similarity | None = None,
        *,
        agent_type: str = "",
    ) -> None:
        super().__init__(memory, now, agent_type)
        self.similarity = similarity

    def recall(
        self,
        text: str,
        *,
        limit: int = DEFAULT_LIMIT,
        filters: Filters | None = None,
        session: str = "",
        depth: int = 0,
        as_of: str = "",
        explain: bool = False,
    ) -> Answer:
        """The best memories for a question, at most `limit`; the newest for an empty one.

        `filters` and those in the text must both hold; `as_of` (ISO 8601) takes the place of the
        moment in it. With a `depth` (1 to 3) the graph is walked so far from what the question
        names, also where it does not ask for relations. With `explain` each hit's metadata holds
        the `parts` of its relevance and of its score. A domain that the question names in so many
        words confines it, too. Raises DeadlinePassed.
        """
        from memory_fabric.recall import filters as filtering  # no prompt has any

        asked = filtering.asked(text, self.memory, self.now, beside=filters, as_of=as_of)
        query = asked.query
        if depth:
            query = query._replace(traverse=True, depth=depth)
        if asked.against:
            return Answer(query, notes=(*asked.notes, f"{EXCLUDE_EACH_OTHER}: {asked.against}"))
        inner = self
        if query.filters.domains:
            from memory_fabric.store.domains.scoped_memory import (
                within,
            )  # most memories are never confined

            confined = within(self.memory, filtering.domains_of(query.filters))
            inner = Fabric(confined, self.now, self.similarity)
        sought = query._replace(filters=filtering.for_store(query.filters, self.memory))
        if query.terms or query.entity_hints or query.phrases:
            answer = inner._answer(sought, limit, session, explain=explain)
        else:
            answer = inner._newest(sought, limit, session)
        notes = (*asked.notes, *answer.notes)
        under = filtering.described(query.filters)
        if under and not answer.hits:
            notes = (f"{NOTHING_UNDER} ({under})", *notes)
        told = answer.query._replace(filters=query.filters)
        return without_secrets(answer._replace(query=told, notes=notes))

    def push(
        self,
        text: str,
        *,
        session: str = "",
        seen: Container[str] = frozenset(),
        shown: Container[str] = frozenset(),
        here: str = "",
        since: str = "",
    ) -> list[Hit]:
        """What is worth injecting for a prompt, best first (push.choose). Raises DeadlinePassed.

        `seen`, `shown`, `here` and `since` as in push.above_floor.
        """
        query = parse(text, now=self.now, plain=True)
        if push.is_silent(query):
            return []
        found = self.push_candidates(query, session=session)
        hits = push.above_floor(found, query, seen=seen, shown=shown, here=here, since=since)
        return push.choose(self._ranked(push.shortlist(hits), query)) if hits else []

    def in_room_named(self, text: str) -> Fabric:
        """The same for the one domain that a prompt names in so many words, if it names one."""
        if WORD not in text.lower():
            return self
        from memory_fabric.recall.domain_mentions import named  # few prompts have the word

        found = named(text, self.memory)
        if not found:
            return self
        from memory_fabric.store.domains.scoped_memory import (
            within,
        )  # most memories are never confined

        return Fabric(within(self.memory, (found.domain,)), self.now)

    def push_candidates(self, query: Query, *, session: str = "") -> list[Hit]:
        """What `push` chooses from, most relevant first. Raises DeadlinePassed."""
        found, _, _ = self._found(query, session, PUSH_LIMIT)
        return mark_stale(found, self.now)

    def push_for_prompt(
        self,
        text: str,
        *,
        session: str = "",
        seen: Container[str] = frozenset(),
        shown: Container[str] = frozenset(),
        here: str = "",
        since: str = "",
    ) -> Pushed:
        """The injection for a prompt; empty when nothing is above the floor. Where it names a
        domain in so many words, only of that, under its label.
        """
        room = self.in_room_named(text)
        hits = room.push(text, session=session, seen=seen, shown=shown, here=here, since=since)
        return _pushed(hits, room._headed(render.PROMPT_HEADING), push.PROMPT_CHARS)

    def push_for_agent(
        self,
        agent_type: str,
        tasks: Sequence[str] = (),
        *,
        session: str = "",
        seen: Container[str] = frozenset(),
        shown: Container[str] = frozenset(),
    ) -> Pushed:
        """The injection for a subagent: what its tasks ask for, then what its kind does (BR-14)."""
        from memory_fabric.recall.for_agents import for_agent  # only where a subagent starts

        def ask(text: str) -> list[Hit]:
            return self.push(text, session=session, seen=seen, shown=shown)

        hits, max_chars = for_agent(
            agent_type, tasks, memory=self.memory, ask=ask, now=self.now, seen=seen, shown=shown
        )
        return _pushed(hits, self._headed(render.AGENT_HEADING), max_chars)

    def _headed(self, heading: str) -> str:
        """The heading under the label of the only domains that can be read, if there are such."""
        label = render.filter_label(Filters(domains=self.memory.domains or ()))
        return f"{label}\n{heading}" if label else heading

    def _answer(self, query: Query, limit: int, session: str, *, explain: bool = False) -> Answer:
        query = anchored(query, self.memory, session=session)
        found, paths, failures = self._found(query, session, PULL_LIMIT, explain=explain)
        notes: tuple[str, ...] = ()
        if query.phrases and not found:
            notes = (f"nothing holds {_quoted(query.phrases)}: searched for the words instead",)
            query = query._replace(phrases=())
            found, paths, failures = self._found(query, session, PULL_LIMIT, explain=explain)
        hits = self._ranked(found[: limit + REFERENCED_EXTRA], query)[: max(0, limit)]
        if explain:
            hits = with_score_parts(hits, self._then(query), past=query.past)
        failures = tuple(dict.fromkeys((*failures, *self.memory.failures)))
        return Answer(query, tuple(mark_stale(hits, self._then(query))), paths, failures, notes)

    def _found(
        self, query: Query, session: str, limit: int, *, explain: bool = False
    ) -> tuple[list[Hit], tuple[Path, ...], tuple[str, ...]]:
        """Distinct hits, most relevant first, with the paths and failures of the search."""
        settings = self.memory.settings
        session = session or settings.session
        wide = limit >= PULL_LIMIT
        candidates, paths, failures = execute(
            query, self.memory, now=self.now, session=session, limit=limit, wide=wide
        )
        hits = collapse(normalize(candidates, query, self.now, wide=wide, explain=explain))
        if self.similarity is not None:
            hits = rerank(hits, measured(hits, query, self.similarity))
        hits = _best_of_each_source(hits, settings.max_results)
        return dedupe(hits, settings.dedup_threshold), paths, failures

    def _ranked(self, hits: Sequence[Hit], query: Query) -> list[Hit]:
        """The hits with their relations and scores, best first."""
        around = relations_around(hits, self.memory, at=standing_at(query), filters=query.filters)
        boosted = boost(hits, around, self.memory.settings.boost_factor)
        return rank(boosted, self._then(query), past=query.past)

    def _then(self, query: Query) -> str:
        """The moment that the question is about."""
        return query.filters.as_of or self.now

    def _newest(self, query: Query, limit: int, session: str) -> Answer:
        session = session or self.memory.settings.session
        # What holds an excluded word goes later: more are asked for.
        asked = max(0, limit) * (SPARE if query.excluded else 1)
        found, failures = newest(query, self.memory, session=session, limit=asked)
        hits = collapse(normalize(found, query, self.now))[: max(0, limit)]
        hits.sort(key=lambda hit: hit.timestamp, reverse=True)
        return Answer(query, tuple(mark_stale(hits, self._then(query))), (), failures)


# How many times as many are read where some of them may be left out.
SPARE = 10

# What of a hit's metadata people or tools have said.
SAID = ("why", "outcome", "category", "quote", "note")


def without_secrets(answer: Answer) -> Answer:
    """The answer by today's rules of redaction: a row may be older than a rule."""
    return answer._replace(hits=tuple(map(_without_secrets, answer.hits)))


def _without_secrets(hit: Hit) -> Hit:
    from memory_fabric.redaction import prefilter  # not for a prompt of which nothing is known

    metadata = {
        k: prefilter.without_secrets(v) if k in SAID else v for k, v in hit.metadata.items()
    }
    return hit._replace(text=prefilter.without_secrets(hit.text), metadata=metadata)


def answer_as_json(answer: Answer) -> dict[str, Any]:
    """The answer as the brief prints it (BR-6), with failures, paths and each result's metadata.

    What stands in them passes today's rules of redaction.
    """
    from memory_fabric.redaction import prefilter  # no hook asks for JSON

    known: dict[str, str] = {}
    sources: dict[str, int] = {}
    for hit in answer.hits:
        sources[hit.source] = sources.get(hit.source, 0) + 1
    found: dict[str, Any] = {
        "query": answer.query.text,
        "total_results": len(answer.hits),
        "sources": sources,
        "results": [prefilter.all_without_secrets(_result(hit), known) for hit in answer.hits],
        "paths": prefilter.all_without_secrets(
            [[_relation(r) for r in path] for path in answer.paths], known
        ),
        "failures": list(answer.failures),
        "notes": list(answer.notes),
    }
    from memory_fabric.recall.filters import as_object  # no hook asks for JSON

    filters = answer.query.filters
    label, stated, as_of = render.filter_label(filters), as_object(filters), filters.as_of
    found |= {"label": label} if label else {}
    found |= {"filters": prefilter.all_without_secrets(stated, known)} if stated else {}
    return found | ({"as_of": as_of} if as_of else {})


def _result(hit: Hit) -> dict[str, Any]:
    return {
        "id": _public_id(hit),
        "text": hit.text,
        "score": round(hit.score, 4),
        "relevance": round(hit.relevance, 4),
        "source": hit.source,
        "timestamp": hit.timestamp,
        "entities": list(hit.entities),
        "graph_relations": [_relation(r) for r in hit.graph_relations],
        "metadata": {k: v for k, v in hit.metadata.items() if k not in NOT_SHOWN},
    }


def _public_id(hit: Hit) -> str:
    """`graph:<entity>` for an observation: what open_nodes understands."""
    name, hash_sign, number = hit.id.rpartition("#")
    return name if hash_sign and number.isdigit() and hit.source == "graph" else hit.id


def _relation(relation: Sequence[str]) -> dict[str, str]:
    source, kind, target = relation
    return {"from": source, "relation": kind, "to": target}


def _best_of_each_source(hits: Sequence[Hit], most: int) -> list[Hit]:
    """At most so many of each source, in the order they came; half as many of others'."""
    counts: dict[str, int] = {}
    kept = []
    for hit in hits:
        theirs = is_of_others(hit)
        source = "others" if theirs else hit.source
        counts[source] = counts.get(source, 0) + 1
        if counts[source] <= (max(1, most // 2) if theirs else most):
            kept.append(hit)
    return kept


def _quoted(phrases: Sequence[str]) -> str:
    return ", ".join(f"“{phrase}”" for phrase in phrases)


def _pushed(hits: Sequence[Hit], heading: str, max_chars: int) -> Pushed:
    kept = render.fitting(hits, heading=heading, max_chars=max_chars)
    text = render.render(kept, heading=heading, max_chars=max_chars)
    return Pushed(text, tuple(hit.id for hit in kept))
