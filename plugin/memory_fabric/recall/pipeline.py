"""The recall pipeline: parse, correct spelling, retrieve, normalize. For a prompt, hooks drop hits
below the relevance floor, merge duplicates and rank. For a question, it also finds turns of related
sessions and texts alike in meaning. It then merges duplicates, raises hits with related entities,
ranks, replaces turns by records that they repeat, moves trusted statements up, and drops weak hits.
"""

from collections.abc import Container, Mapping, Sequence
from functools import partial
from typing import NamedTuple, Unpack

from memory_fabric import models
from memory_fabric.errors import FabricError
from memory_fabric.models import Answer, Filters, Hit, Query, Record
from memory_fabric.recall import inject, normalize, rank, render, retrieve
from memory_fabric.recall.floor import RARE, rare_terms
from memory_fabric.recall.inject import MAX_HITS, Known
from memory_fabric.recall.meant import dated, with_names_meant
from memory_fabric.recall.parse import parse, readable
from memory_fabric.recall.rank import Similarity
from memory_fabric.recall.render import mark_hits, mark_stale, newer_first
from memory_fabric.recall.request_context import RequestContext
from memory_fabric.recall.retrieve import EVERY_SOURCE, RECALL_LIMIT, with_rarest_terms
from memory_fabric.store.memory import Memory

DEFAULT_LIMIT = 10
# The maximum number of candidates per source for an injection, which contains only a few hits.
INJECT_LIMIT = 40
# How many hits beyond the limit are checked for related entities, which may raise their rank.
REFERENCED_EXTRA = 10
WORD = "domain"  # without this word, a text is not searched for the name of a domain
STANDS_FOR = "stands_for"  # metadata key of a newer hit: ids of contradicted hits that it replaces


class Injection(NamedTuple):
    """The text that a hook injects, and ids to record in the session's ledger once it is shown."""

    text: str = ""
    ids: tuple[str, ...] = ()


class Fabric(RequestContext):
    """Recall from a memory at time `now` (ISO 8601, UTC); `similarity` adds search by meaning."""

    def __init__(
        self, memory: Memory, now: str, similarity: Similarity | None = None, agent_type: str = ""
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
        """Return up to `limit` memories that best match a question, or the newest if it is empty.
        They match `filters` and the filters in the text. If the question names a domain, only this
        domain's memories are searched. Local records are found only in their own `session`. `as_of`
        (ISO 8601) overrides a time in the text. With a `depth` (1 to 3), relations in the graph are
        followed for that many steps, even if the question does not ask for them. With `explain`,
        the hits' metadata contains the parts of relevance and score. Raises DeadlinePassed.
        """
        from memory_fabric.recall import filters as filtering  # late: prompts have no filters

        query, against, notes = self._asked(text, filters or Filters(), as_of)
        query = query._replace(traverse=True, depth=depth) if depth else query
        if against:
            conflict = "nothing can be found: these filters exclude each other"
            return Answer(query, notes=(*notes, f"{conflict}: {'; '.join(against)}"))
        inner = self
        if query.filters.domains:
            # Imported late: most memories are not limited to a domain.
            from memory_fabric.store.scoped_memory import within

            scoped = within(self.memory, filtering.domains_of(query.filters))
            inner = Fabric(scoped, self.now, self.similarity)
        sought = query._replace(filters=filtering.for_store(query.filters, self.memory))
        readers = inner.memory.readers()
        sought = with_names_meant(with_rarest_terms(sought, readers, EVERY_SOURCE), readers)
        if query.terms or query.entity_hints or query.phrases:
            sought = dated(sought, readers, session)
            answer = inner._answer(sought, limit, session, explain=explain)
        else:
            answer = inner._newest(sought, limit, session)
        notes = (*notes, *answer.notes)
        under = filtering.described(query.filters)
        if under and not answer.hits:
            notes = (f"nothing was found under the filter ({under})", *notes)
        shown_query = answer.query._replace(filters=query.filters)
        from memory_fabric.recall.answering import with_times  # late: prompts do not need this

        marked = mark_hits(with_times(answer.hits, inner.memory), self.memory)
        # Redact again, because the stored text may be older than a redaction rule.
        hits = tuple(map(_without_secrets, marked))
        return answer._replace(query=shown_query, notes=notes, hits=hits)

    def _asked(
        self, text: str, beside: Filters, as_of: str
    ) -> tuple[Query, tuple[str, ...], tuple[str, ...]]:
        """Return (query with filters of `text` and `beside`, filter conflicts, notes to show)."""
        # Imported late: only questions have filters.
        from memory_fabric.recall.agent_domains import named
        from memory_fabric.recall.filters import merged

        query = parse(text, now=self.now)
        whole, against = merged(query.filters, beside)
        whole = whole._replace(as_of=as_of or whole.as_of)
        notes = query.unread
        if not whole.domains:
            domain = named(text, self.memory) if WORD in query.asked.lower() else None
            if domain is not None:
                query = parse(domain.rest, now=self.now)
                guessed = f"read as a question about the domain {domain.domain} alone"
                to_search_all = "without the word “domain” in it all domains are searched"
                notes = (*notes, f"{guessed}; {to_search_all}")
            domains = (domain.domain,) if domain else self.memory.domains or ()
            whole = whole._replace(domains=domains)
        return query._replace(text=readable(text), filters=whole), against, notes

    def hits_to_inject(
        self, text: str, *, session: str = "", max_hits: int = MAX_HITS, **known: Unpack[Known]
    ) -> list[Hit]:
        """Return the hits to inject for a prompt, best first, except `known` memories."""
        query = self.query_of_prompt(text)
        if inject.is_silent(query):
            return []
        candidates = self.injection_candidates(query, session=session)
        return self.chosen(candidates, query, max_hits=max_hits, **known)

    def chosen(
        self, hits: Sequence[Hit], query: Query, *, max_hits: int = MAX_HITS, **known: Unpack[Known]
    ) -> list[Hit]:
        """Choose hits to inject, except `known` ones; add fixes if a prompt may show a failure."""
        if inject.may_show_a_failure(query.text):

            def is_new(fix: Record) -> bool:
                is_own = known.get("here", "") == fix.session != ""
                is_said = is_own and fix.created_at > known.get("since", "")
                return not is_said and not _is_known(fix.id, known)

            # Imported late: few prompts contain a log.
            from memory_fabric.recall import known_fixes
            from memory_fabric.recall.for_agents import hit_of

            records = known_fixes.matching(query.text, self.memory, wanted=is_new)
            fixes = [hit_of(record) for record in records]
            fix_ids = {hit.id for hit in fixes}
            first = [hit._replace(relevance=1.0).marked({"symptom": True}) for hit in fixes]
            hits = [*first, *(hit for hit in hits if hit.id not in fix_ids)]
        hits = inject.above_floor(hits, query, **known)
        # Merge near copies only now, because comparing all candidates would take too long.
        hits = normalize.dedupe(hits, self.memory.settings.dedup_threshold)
        ranked = rank.rank(hits, self.now, past=query.past, intent=query.intent)
        chosen = inject.choose(ranked, query, max_hits=max_hits)
        if query.past:
            return newer_first(chosen)
        ordered = self._with_newer(chosen)
        # A newer record is shown instead of hits that it contradicts, unless they have more trust.
        chosen_ids = {hit.id for hit in chosen}
        added = {hit.metadata["record"]: hit for hit in ordered if hit.id not in chosen_ids}
        shown_hits: list[Hit] = []
        for hit in ordered:
            newer = [added[id_] for id_ in hit.metadata.get(models.SAID_BEFORE, ()) if id_ in added]
            if any(_trust(one) >= _trust(hit) for one in newer):
                at = next(place for place, one in enumerate(shown_hits) if one.id == newer[0].id)
                ids = (*shown_hits[at].metadata.get(STANDS_FOR, ()), hit.id)
                shown_hits[at] = shown_hits[at].marked({STANDS_FOR: ids})
            else:
                shown_hits.append(hit)
        return shown_hits

    def _with_newer(self, hits: Sequence[Hit]) -> list[Hit]:
        """Add newer records that contradict a hit, each before the hits that it contradicts."""
        from memory_fabric.store.records import contradicting_any  # late: few prompts have hits

        by_record = {str(h.metadata.get("record")): h for h in hits if h.source == "records"}
        if not by_record:
            return list(hits)
        contradicting: list[Record] = self.memory.find_records(*contradicting_any(list(by_record)))
        if not contradicting:
            return newer_first(hits)
        from memory_fabric.recall.for_agents import hit_of

        newer = []
        for record in contradicting:
            old = next(by_record[id_] for id_ in models.contradicted(record) if id_ in by_record)
            about = {k: old.metadata[k] for k in ("coverage", "matched") & old.metadata.keys()}
            hit = hit_of(record)._replace(relevance=old.relevance, score=old.score)
            newer.append(hit._replace(metadata={**about, **hit.metadata}))
        ordered = newer_first([*hits, *newer])
        # Omit an added record if an even newer record contradicts it.
        hit_ids, before = {hit.id for hit in hits}, models.SAID_BEFORE
        return [hit for hit in ordered if hit.id in hit_ids or before not in hit.metadata]

    def in_named_domain(self, text: str) -> "Fabric":
        """Return this pipeline, limited to the domain that a prompt explicitly names, if any."""
        if WORD not in text.lower():
            return self
        from memory_fabric.recall.agent_domains import named  # late: few prompts mention domains

        mention = named(text, self.memory)
        if not mention:
            return self
        # Imported late: most memories are not limited to a domain.
        from memory_fabric.store.scoped_memory import within

        return Fabric(within(self.memory, (mention.domain,)), self.now)

    def query_of_prompt(self, text: str) -> Query:
        """Parse a prompt, keep rarest words, resolve aliases and typos. Raises DeadlinePassed."""
        query = inject.query_of(text, self.now)
        if inject.is_silent(query):
            return query
        readers = self.memory.readers()
        query = with_rarest_terms(query, readers, inject.sources_for(query), retrieve.PROMPT_TERMS)
        return with_names_meant(query, readers)

    def injection_candidates(self, query: Query, *, session: str = "") -> list[Hit]:
        """Return candidates for injection, most relevant first. Raises DeadlinePassed."""
        sources = inject.sources_for(query)
        candidates, _, _ = self._found(query, session, INJECT_LIMIT, sources=sources)
        if not candidates:
            return []
        rare = rare_terms(candidates)
        # The limit may have cut off candidates: check that words are rare in the whole store, too.
        if rare and len(candidates) >= self.memory.settings.max_results:
            rare &= retrieve.terms_of_few_records(query, self.memory.readers())
        dated = mark_stale(candidates, self.now)
        marked = [hit.marked({RARE: rare & {*hit.metadata["matched"]}}) for hit in dated]
        return inject.with_conflicts(marked, query)

    def inject_for_prompt(
        self, text: str, *, session: str = "", begins: bool = False, **known: Unpack[Known]
    ) -> Injection:
        """Return the injection for a prompt; it is empty if no memory is certainly relevant. If the
        prompt names a domain, only its memories are injected, labelled with the domain. If the
        session's work `begins` with this prompt, a similar task of an earlier session is added.
        """
        scoped = self.in_named_domain(text)
        hits = scoped.hits_to_inject(text, session=session, **known)
        query = inject.query_of(text, self.now) if begins else None
        if query and not (any(hit.source == "episodes" for hit in hits) or inject.is_silent(query)):
            from memory_fabric.recall import old_tasks  # late: for first prompts only

            def turns_of(sought: Query) -> list[Hit]:
                return scoped._found(sought, session, old_tasks.LIMIT, sources=old_tasks.TURNS)[0]

            is_known = partial(_is_known, known=known)
            task = None
            try:
                task = old_tasks.told(query, scoped.memory, session, turns_of, hits, is_known)
            except FabricError as error:  # use only the hits
                if not hits:
                    raise
                scoped.memory.fail(f"earlier task: {error}")
            if task and task.id not in known.get("seen", ()):
                hits = [*hits, _without_secrets(task)]
        hits = mark_hits(hits, self.memory)
        return _injection(hits, scoped._headed(render.PROMPT_HEADING), inject.PROMPT_CHARS)

    def inject_for_agent(
        self, agent_type: str, tasks: Sequence[str] = (), session: str = "", **known: Unpack[Known]
    ) -> Injection:
        """Return a subagent's injection: hits for the open `tasks`, then for its type (BR-14)."""
        from memory_fabric.recall import for_agents  # imported late: only subagents need it

        def ask(text: str) -> list[Hit]:
            return self.hits_to_inject(text, session=session, max_hits=for_agents.MAX_HITS, **known)

        hits, max_chars = for_agents.for_agent(
            agent_type, tasks, memory=self.memory, ask=ask, now=self.now, **known
        )
        hits = mark_hits(self._with_newer(hits), self.memory)
        return _injection(hits, self._headed(render.AGENT_HEADING), max_chars)

    def _headed(self, heading: str) -> str:
        """Return the heading; if memory is limited to domains, a label naming them comes first."""
        label = render.filter_label(Filters(domains=self.memory.domains or ()))
        return f"{label}\n{heading}" if label else heading

    def _answer(self, query: Query, limit: int, session: str, *, explain: bool = False) -> Answer:
        found, paths, failures = self._found(query, session, RECALL_LIMIT, explain=explain)
        notes: tuple[str, ...] = ()
        if query.phrases and not found:
            quoted = ", ".join(f"“{phrase}”" for phrase in query.phrases)
            notes = (f"nothing holds {quoted}: searched for the words instead",)
            query = query._replace(phrases=())
            found, paths, failures = self._found(query, session, RECALL_LIMIT, explain=explain)
        from memory_fabric.recall import answering  # imported late: prompts do not need it

        found = normalize.one_of_each_entity(found)
        worth = answering.worth_ranking(found, limit + REFERENCED_EXTRA)
        at, then = retrieve.valid_at(query), query.filters.as_of or self.now
        around = retrieve.relations_around(worth, self.memory, at=at, filters=query.filters)
        boosted = rank.boost(worth, around, self.memory.settings.boost_factor)
        ranked = rank.rank(boosted, then, past=query.past, intent=query.intent)
        ordered = answering.settled_first(answering.folded(ranked), query, found)
        is_of_now = not (query.past or any(query.filters))
        ordered = self._with_newer(ordered) if is_of_now else newer_first(ordered)
        hits = answering.cut_off(ordered, query)[: max(0, limit)]
        if explain:
            hits = rank.with_score_parts(hits, then, past=query.past, intent=query.intent)
        failures = tuple(dict.fromkeys((*failures, *self.memory.failures)))
        return Answer(query, tuple(mark_stale(hits, then)), paths, failures, notes)

    def _found(
        self,
        query: Query,
        session: str,
        limit: int,
        *,
        explain: bool = False,
        sources: Container[str] = EVERY_SOURCE,
    ) -> tuple[list[Hit], tuple[retrieve.Path, ...], tuple[str, ...]]:
        """Return hits (best first), graph paths, errors. Near copies are merged for questions."""
        memory, settings = self.memory, self.memory.settings
        session, wide = session or settings.session, limit >= RECALL_LIMIT
        candidates, paths, failures = retrieve.retrieve(
            query, memory, now=self.now, session=session, limit=limit, wide=wide, sources=sources
        )
        sessions: Mapping[str, float] = {}
        if wide:
            from memory_fabric.recall import answering  # imported late: prompts do not need it

            carried = answering.continued(query, memory, candidates)
            sessions, failures = carried.scores, (*failures, *carried.failures)
            candidates += carried.candidates
        if self.similarity is not None:
            candidates += rank.near(query, memory, candidates, session, self.similarity)
        if wide:
            candidates = answering.without_empty_turns(candidates, query, session)
        # If similarity will reorder the hits, limit them only later: any may move to the front.
        most = settings.max_results if self.similarity is None else 0
        hits = normalize.normalize(
            candidates, query, self.now, wide=wide, explain=explain, sessions=sessions, most=most
        )
        hits = normalize.collapse(hits)
        if self.similarity is not None:
            hits = normalize.best_of_each_source(
                rank.rerank(hits, rank.measured(hits, query, memory.databases(), self.similarity)),
                settings.max_results,
                lambda hit: (hit.source, normalize.is_of_others(hit)),
            )
        return normalize.dedupe(hits, settings.dedup_threshold) if wide else hits, paths, failures

    def _newest(self, query: Query, limit: int, session: str) -> Answer:
        session = session or self.memory.settings.session
        # Read more rows than `limit`: some have excluded words or belong to the same entity.
        most = max(0, limit) * 10
        candidates, failures = retrieve.newest(query, self.memory, session=session, limit=most)
        hits = normalize.collapse(normalize.normalize(candidates, query, self.now))
        hits = normalize.one_of_each_entity(hits)[: max(0, limit)]
        hits.sort(key=lambda hit: hit.timestamp, reverse=True)
        marked = mark_stale(hits, query.filters.as_of or self.now)
        return Answer(query, tuple(marked), (), failures)


def _is_known(record: str, known: Known) -> bool:
    return f"record:{record}" in known.get("seen", ()) or record in known.get("shown", ())


def _trust(hit: Hit) -> int:
    return models.TRUST_ORDER.get(str(hit.metadata.get("trust")), 0)


# Metadata fields with text of people or tools, which may contain secrets.
SAID = ("why", "outcome", "category", "quote", "note", "quotation", "also_observed")


def _without_secrets(hit: Hit) -> Hit:
    from memory_fabric.redaction import redact  # imported late: many prompts have no hits

    said = {k: redact.all_without_secrets(v, {}) for k, v in hit.metadata.items() if k in SAID}
    return hit.marked(said)._replace(text=redact.without_secrets(hit.text))


def _injection(hits: Sequence[Hit], heading: str, max_chars: int) -> Injection:
    fitting = render.fitting(hits, heading=heading, max_chars=max_chars)
    text = render.render(fitting, heading=heading, max_chars=max_chars)
    conflicts = [f"{inject.CONFLICT}{hit.id}" for hit in fitting if hit.metadata.get("conflict")]
    instead = (id_ for hit in fitting for id_ in hit.metadata.get(STANDS_FOR, ()))
    return Injection(text, (*(hit.id for hit in fitting), *instead, *conflicts))
