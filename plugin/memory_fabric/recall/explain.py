"""Answers as JSON, and explanations: the parts of scores, and why hits are not injected."""

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from typing import Any, NamedTuple

from memory_fabric.language.concepts import concepts
from memory_fabric.models import Answer, Hit
from memory_fabric.recall import inject, render
from memory_fabric.recall.filters import as_object
from memory_fabric.recall.inject import Known
from memory_fabric.recall.normalize import public_id
from memory_fabric.recall.pipeline import Fabric
from memory_fabric.redaction import redact
from memory_fabric.store.conversations import sessions

# The verdict on a hit that a prompt would inject. The viewer's page searches for this text.
GIVEN = "would be given"
NOT_NEAR_THE_BEST = "far less relevant than the best, or beyond the number of hits"
NOT_A_CANDIDATE = "not among the best candidates of a prompt, which looks less far"
NO_SUBJECT = "no word of it says what it is about: a greeting, a nod, or an errand"
NOTHING_ABOVE = "nothing remembered shares enough with it"
NOTHING_FOUND = "nothing remembered holds any of its words"
# Metadata that only stages of recall use.
NOT_SHOWN = frozenset(("matched", "entities", "relations", "promoted_at", "body", "stated_at"))


class Explanation(NamedTuple):
    """An answer with the parts of its scores, and what a prompt of the same text would inject."""

    answer: Answer
    verdicts: Mapping[str, str] = {}  # by hit id: why a prompt would not inject it, or ''
    silence: str = ""  # why a prompt would inject no hit at all
    words: tuple[tuple[str, float], ...] = ()  # the words searched for, with their strengths


def explain(
    fabric: Fabric, text: str, *, session: str = "", known: Known | None = None, **question: Any
) -> Explanation:
    """Answer a question, and explain the answer. `question` is passed to Fabric.recall; `known`
    lists memories that the session has already seen. Raises DeadlinePassed.
    """
    answer = fabric.recall(text, session=session, explain=True, **question)
    words = tuple((c.text, c.strength) for c in concepts(answer.query))
    # Rank as hooks do: without the semantic model, filtered only by a domain that the prompt names.
    hooks = Fabric(fabric.memory, fabric.now).in_named_domain(text)
    query = hooks.query_of_prompt(text)
    if inject.is_silent(query):
        verdicts = dict.fromkeys((hit.id for hit in answer.hits), NO_SUBJECT)
        return Explanation(answer, verdicts, NO_SUBJECT, words)
    candidates = hooks.injection_candidates(query, session=session)
    against = inject.verdicts(candidates, query, **known or {})
    of_candidate = {hit.id: verdict for hit, verdict in zip(candidates, against, strict=True)}
    chosen = hooks.chosen(candidates, query, **known or {})
    ids = [hit.id for hit in answer.hits]
    verdicts = {id_: of_candidate.get(id_, NOT_A_CANDIDATE) or NOT_NEAR_THE_BEST for id_ in ids}
    verdicts |= {hit.id: "" for hit in chosen if hit.id in verdicts}
    silence = NOTHING_ABOVE if against or answer.hits else NOTHING_FOUND
    silence = inject.A_PASTE if inject.A_PASTE in against else silence
    if met := [verdict for verdict in against if verdict in (inject.GIVEN, inject.SHOWN)]:
        silence = f"what it is about is known ({met[0]})"
    return Explanation(answer, verdicts, "" if chosen else silence, words)


def explain_here(fabric: Fabric, text: str, **question: Any) -> Explanation:
    """Answer and explain for the current session. Raises DeadlinePassed, StoreUnavailable."""
    memory = fabric.memory
    session = memory.settings.session
    told_ids: Container[str] = frozenset()
    own_session = ""
    if session:
        database = memory.session_database()
        told_ids = sessions.injected(database, session, "")
        own_session = "" if sessions.load_checkpoint(database, session) else session
    known = Known(seen=told_ids, shown=memory.shown_ids(fabric.now), here=own_session)
    return explain(fabric, text, session=session, known=known, **question)


def as_json(explained: Explanation) -> dict[str, Any]:
    """Return an explained answer as a JSON object, including the explanation."""
    answer = answer_as_json(explained.answer)
    results = [
        {**result, "prompt": explained.verdicts.get(hit.id, "") or GIVEN}
        for result, hit in zip(answer["results"], explained.answer.hits, strict=True)
    ]
    searched = [{"word": word, "strength": strength} for word, strength in explained.words]
    return {**answer, "results": results, "searched": searched, "silence": explained.silence}


def answer_as_json(answer: Answer) -> dict[str, Any]:
    """Return an answer as a JSON object (BR-6), without secrets, with failures, paths and notes."""
    redacted: dict[str, str] = {}
    fields: dict[str, Any] = {
        "query": answer.query.text,
        "intent": answer.query.intent,
        "total_results": len(answer.hits),
        "sources": dict(Counter(hit.source for hit in answer.hits)),
        "results": [redact.all_without_secrets(_result(hit), redacted) for hit in answer.hits],
        "paths": redact.all_without_secrets(
            [[_relation(r) for r in path] for path in answer.paths], redacted
        ),
        "failures": list(answer.failures),
        "notes": list(answer.notes),
    }
    filters = answer.query.filters
    label, stated, as_of = render.filter_label(filters), as_object(filters), filters.as_of
    fields |= {"label": label} if label else {}
    fields |= {"filters": redact.all_without_secrets(stated, redacted)} if stated else {}
    return fields | ({"as_of": as_of} if as_of else {})


def _result(hit: Hit) -> dict[str, Any]:
    return {
        "id": public_id(hit),
        "text": hit.text,
        "score": round(hit.score, 4),
        "relevance": round(hit.relevance, 4),
        "source": hit.source,
        "timestamp": hit.timestamp,
        "entities": list(hit.entities),
        "graph_relations": [_relation(r) for r in hit.graph_relations],
        "metadata": {k: v for k, v in hit.metadata.items() if k not in NOT_SHOWN},
    }


def _relation(relation: Sequence[str]) -> dict[str, str]:
    source, kind, target = relation
    return {"from": source, "relation": kind, "to": target}
