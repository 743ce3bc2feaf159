"""Explanations of recall: the parts of each score, and the reasons why hits are not injected."""

from collections.abc import Container, Mapping, Sequence
from typing import Any, NamedTuple

from memory_fabric.language.concepts import concepts
from memory_fabric.models import Answer, Filters, Hit
from memory_fabric.recall.injection import inject
from memory_fabric.recall.pipeline import Fabric
from memory_fabric.store.conversations import sessions

# The verdict of a hit that a prompt would inject; the page compares with it.
GIVEN = "would be given"
NOT_NEAR_THE_BEST = "far less relevant than the best, or beyond the number of hits"
NOT_A_CANDIDATE = "not among the best candidates of a prompt, which looks less far"
NO_SUBJECT = "no word of it says what it is about: a greeting, a nod, or an errand"
NOTHING_ABOVE = "nothing remembered shares enough with it"
NOTHING_FOUND = "nothing remembered holds any of its words"


class Explanation(NamedTuple):
    """An answer with the parts of its scores, and what a prompt with these words would inject.

    `verdicts` holds for each hit's id the reason why a prompt would not inject it, or ''. `silence`
    is the reason why it would inject nothing at all, or ''. `words` are the words searched for,
    each with its strength.
    """

    answer: Answer
    verdicts: Mapping[str, str] = {}
    silence: str = ""
    words: tuple[tuple[str, float], ...] = ()


def explain(
    fabric: Fabric,
    text: str,
    *,
    limit: int,
    depth: int = 0,
    as_of: str = "",
    filters: Filters | None = None,
    session: str = "",
    seen: Container[str] = frozenset(),
    shown: Container[str] = frozenset(),
    here: str = "",
) -> Explanation:
    """Answer a question with explanations; the parameters are those of Fabric.recall and
    Fabric.hits_to_inject.

    Raises DeadlinePassed.
    """
    answer = fabric.recall(
        text,
        limit=limit,
        depth=depth,
        as_of=as_of,
        filters=filters,
        session=session,
        explain=True,
    )
    words = tuple((c.text, c.strength) for c in concepts(answer.query))
    # Hooks rank without a model, and only know the filter of a domain that the words name.
    hooks = Fabric(fabric.memory, fabric.now).in_named_domain(text)
    query = hooks.query_of_prompt(text)
    if inject.is_silent(query):
        verdicts = dict.fromkeys((hit.id for hit in answer.hits), NO_SUBJECT)
        return Explanation(answer, verdicts, NO_SUBJECT, words)
    candidates = hooks.injection_candidates(query, session=session)
    against = inject.verdicts(candidates, query, seen=seen, shown=shown, here=here)
    of_candidate = {hit.id: verdict for hit, verdict in zip(candidates, against, strict=True)}
    to_inject = hooks.hits_to_inject(text, session=session, seen=seen, shown=shown, here=here)
    told_ids = {hit.id for hit in to_inject}
    verdicts = {hit.id: _verdict(hit, of_candidate, told_ids) for hit in answer.hits}
    return Explanation(answer, verdicts, "" if told_ids else _silence(against), words)


def explain_here(
    fabric: Fabric,
    text: str,
    *,
    limit: int,
    depth: int = 0,
    as_of: str = "",
    filters: Filters | None = None,
) -> Explanation:
    """Explain an answer for the session of the settings, if any, with what it has read already.

    Raises DeadlinePassed and StoreUnavailable.
    """
    memory = fabric.memory
    session = memory.settings.session
    told_ids: Container[str] = frozenset()
    own_session = ""
    if session:
        database = memory.session_database()
        told_ids = sessions.injected(database, session, "")
        own_session = "" if sessions.load_checkpoint(database, session) else session
    return explain(
        fabric,
        text,
        limit=limit,
        depth=depth,
        as_of=as_of,
        filters=filters,
        session=session,
        seen=told_ids,
        shown=memory.shown_ids(fabric.now),
        here=own_session,
    )


def as_json(explained: Explanation, answer: dict[str, Any]) -> dict[str, Any]:
    """Return the answer's JSON form with the explanation in it."""
    hits = explained.answer.hits
    results = [
        {**result, "prompt": explained.verdicts.get(hit.id, "") or GIVEN}
        for result, hit in zip(answer["results"], hits, strict=True)
    ]
    searched = [{"word": word, "strength": strength} for word, strength in explained.words]
    return {**answer, "results": results, "searched": searched, "silence": explained.silence}


def _silence(against: Sequence[str]) -> str:
    told_verdicts = [verdict for verdict in against if verdict in (inject.GIVEN, inject.SHOWN)]
    if told_verdicts:
        return f"what it is about is known ({told_verdicts[0]})"
    if inject.A_PASTE in against:
        return inject.A_PASTE
    return NOTHING_ABOVE if against else NOTHING_FOUND


def _verdict(hit: Hit, of_candidate: Mapping[str, str], given: Container[str]) -> str:
    if hit.id in given:
        return ""
    return of_candidate.get(hit.id, NOT_A_CANDIDATE) or NOT_NEAR_THE_BEST
