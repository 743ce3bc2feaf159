"""The final ranking (BR-5): (0.3 recency + 0.5 relevance + 0.2 authority) × a factor, which is
smaller for outdated memories. Recency counts only for hits almost as relevant as the best one:
otherwise, irrelevant new hits would rank above an old exact answer (docs/decisions/0019).
"""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Protocol

from memory_fabric.errors import DeadlinePassed, FabricError
from memory_fabric.language.times import days_between
from memory_fabric.models import RECORD_TYPES, Hit, Query, Relation
from memory_fabric.recall.normalize import MOST, most_relevant_first
from memory_fabric.recall.render import is_over
from memory_fabric.store.database import Database
from memory_fabric.store.memory import Memory
from memory_fabric.store.queries import search
from memory_fabric.store.queries.search import Candidate
from memory_fabric.text import name_key, words

RECENCY_WEIGHT, RELEVANCE_WEIGHT, AUTHORITY_WEIGHT = 0.3, 0.5, 0.2
RECENCY_DAYS, LEAST_RECENCY = 30, 0.1
# Recency does not count for a hit that is less relevant than the best hit by this much.
AS_RELEVANT = 0.05
CROSS_VALIDATED, IN_GRAPH, PLAIN = 1.3, 1.1, 1.0
# The authority is divided by this maximum so that a score is at most 1.
MOST_AUTHORITY = CROSS_VALIDATED
# The score of a replaced memory is multiplied by this, so it ranks below its replacement.
SUPERSEDED_FACTOR = 0.5
# The score of a turn is multiplied by this, so it ranks below a record of its result.
TURN_FACTOR = 0.85
TRUST_FACTORS = {"tool": 0.85, "foreign": 0.8}
# The intents of questions (parse.INTENTS) that each type of memories suits. Its relevance is then
# raised by AS_RELEVANT, so that it comes first among hits of about the same relevance.
INTENTS: dict[str, tuple[str, ...]] = {"relation": ("relationship",)}
INTENTS |= {kind: row.intents for kind, row in RECORD_TYPES.items()}


def rank(hits: Sequence[Hit], now: str, *, past: bool = False, intent: str = "") -> list[Hit]:
    """Score the hits and sort them, highest score first, then by relevance, time and id. If the
    question is about the `past`, replaced memories rank like current ones. Memories of the types
    that the `intent` asks for rank slightly higher.
    """
    most = max((hit.relevance for hit in hits), default=0.0)
    scored = [hit._replace(score=score(hit, now, most, past=past, intent=intent)) for hit in hits]
    scored.sort(key=lambda hit: hit.id)
    scored.sort(key=lambda hit: (hit.score, hit.relevance, hit.timestamp), reverse=True)
    return scored


def score(hit: Hit, now: str, most: float = 0.0, *, past: bool = False, intent: str = "") -> float:
    """Return a hit's score, 0 to 1. `most` is the best hit's relevance; see `rank` for the rest."""
    return sum(_summands(hit, now, most, intent)) * _factor(hit, now, past)


def with_score_parts(
    hits: Sequence[Hit], now: str, *, past: bool = False, intent: str = ""
) -> list[Hit]:
    """Add to each ranked hit the parts of its score: three summands and a factor."""
    most = max((hit.relevance for hit in hits), default=0.0)
    scored = []
    for hit in hits:
        values = (*_summands(hit, now, most, intent), _factor(hit, now, past))
        named_values = zip(("recency", "relevance", "authority", "times"), values, strict=True)
        parts = {name: round(value, 4) for name, value in named_values}
        scored.append(hit.marked({"score_parts": parts}))
    return scored


def _summands(hit: Hit, now: str, most: float, intent: str) -> tuple[float, float, float]:
    kind = str(hit.metadata.get("type") or hit.metadata.get("entityType") or "")
    relevance = min(1.0, hit.relevance + (AS_RELEVANT if intent in INTENTS.get(kind, ()) else 0.0))
    behind = max(0.0, most - relevance) / AS_RELEVANT
    fresh = LEAST_RECENCY + (recency(hit.timestamp, now) - LEAST_RECENCY) * max(0.0, 1 - behind)
    trusted = AUTHORITY_WEIGHT * authority(hit) / MOST_AUTHORITY
    return RECENCY_WEIGHT * fresh, RELEVANCE_WEIGHT * relevance, trusted


def _factor(hit: Hit, now: str, past: bool) -> float:
    over = SUPERSEDED_FACTOR if not past and is_over(hit, now) else 1.0
    turn_factor = TURN_FACTOR if hit.source == "episodes" else 1.0
    return over * turn_factor * TRUST_FACTORS.get(str(hit.metadata.get("trust", "")), 1.0)


def recency(stamp: str, now: str) -> float:
    """Return 1.0 for the present, declining to 0.1 after 27 days; 0.1 for an unknown time."""
    days = days_between(stamp, now)
    return LEAST_RECENCY if days is None else max(LEAST_RECENCY, 1 - days / RECENCY_DAYS)


def authority(hit: Hit) -> float:
    """Return a hit's authority: highest if independent sources agree, lowest for a past turn."""
    if hit.metadata.get("cross_validated"):
        return CROSS_VALIDATED
    return IN_GRAPH if hit.source in ("graph", "records") else PLAIN


DEFAULT_FACTOR = 1.2
MAX_RELATIONS, MAX_ENTITIES = 5, 8
# Shorter keys would occur in most texts.
MIN_KEY_CHARS = 2
Relations = Mapping[str, Sequence[Relation]]


def boost(
    hits: Sequence[Hit], relations_by_entity: Relations, factor: float = DEFAULT_FACTOR
) -> list[Hit]:
    """Raise the relevance of hits that have related entities, up to 1.0, and mark these hits as
    `cross_referenced`. A hit is raised if its text names an entity that it does not list and that
    has relations in the graph. A record is also raised if it lists an entity but does not state all
    of its relations. Every hit gets relations of its entities. Entities without relations do not
    count: in measurements, names that occur everywhere cost 2 points of recall.
    """
    names = {name_key(name): name for name, relations in relations_by_entity.items() if relations}
    return [_boosted(hit, names, relations_by_entity, factor) for hit in hits]


def keys_in(text: str) -> frozenset[str]:
    """Return the keys of possible names in a text: single words, and pairs of adjacent words."""
    text_words = words(text)
    pairs = map("".join, pairwise(text_words))
    return frozenset((*(word for word in text_words if len(word) >= MIN_KEY_CHARS), *pairs))


def _boosted(
    hit: Hit, names: Mapping[str, str], relations_by_entity: Relations, factor: float
) -> Hit:
    own = dict.fromkeys(map(name_key, hit.entities))
    mine = [names[key] for key in own if key in names]
    other_names = sorted(names[key] for key in keys_in(hit.text) if key in names and key not in own)
    stated_relations = [r for name in (*mine, *other_names) for r in relations_by_entity[name]]
    relations = tuple(dict.fromkeys(stated_relations))[:MAX_RELATIONS]
    if hit.source == "records":
        stated = {tuple(relation) for relation in hit.metadata.get("relations") or ()}
        new = [name for name in mine if not stated.issuperset(relations_by_entity[name])]
        other_names = new + other_names
    if not relations and not other_names:
        return hit
    ends = [end for r in relations for end in (r.source, r.target)] if mine else []
    added = [name for name in dict.fromkeys((*other_names, *ends)) if name_key(name) not in own]
    return hit._replace(
        relevance=min(1.0, hit.relevance * factor) if other_names else hit.relevance,
        entities=hit.entities + tuple(added[: max(0, MAX_ENTITIES - len(hit.entities))]),
        metadata={**hit.metadata, "cross_referenced": True} if other_names else hit.metadata,
        graph_relations=relations,
    )


class Similarity(Protocol):
    """A measure of similarity in meaning (semantic.measure); without a model, results are empty."""

    def nearest(
        self, database: Database, question: str, most: dict[str, int]
    ) -> list[tuple[str, int]]:
        """Return (table, row number) of the nearest rows, best first, up to `most[table]` each."""

    def similarities(
        self, databases: Sequence[Database], question: str, hits: Sequence[Hit]
    ) -> dict[str, float]:
        """Map hit ids to similarities from −1 to 1; hits of unknown similarity are left out."""


# Tuned on development conversations, where half or double this weight also improves the results.
WEIGHT = 1.5
# The weight for turns is lower, because turns express their meaning less clearly than records.
TURN_WEIGHT = 1.0
MEASURED = 200  # similarity is measured for this many hits; later hits would not move to the top


def rerank(hits: Sequence[Hit], similarity_by_id: Mapping[str, float]) -> list[Hit]:
    """Adjust relevance below 1.0 by similarity, which is added to the metadata, and sort anew."""
    if not similarity_by_id:
        return list(hits)
    moved = []
    for hit in hits:
        similarity = similarity_by_id.get(hit.id, math.nan)
        if math.isnan(similarity):
            moved.append(hit)
            continue
        nearness = max(-1.0, min(1.0, similarity))
        relevance = hit.relevance
        if relevance < 1.0:
            weight = TURN_WEIGHT if hit.source == "episodes" else WEIGHT
            relevance = 1 - (1 - relevance) * math.exp(-weight * nearness)
            relevance = max(0.0, min(MOST, relevance))
        moved.append(hit._replace(relevance=relevance).marked({"similarity": round(nearness, 4)}))
    return most_relevant_first(moved)


def measured(
    hits: Sequence[Hit], query: Query, databases: Sequence[Database], similarity: Similarity
) -> dict[str, float]:
    """Map the ids of the first MEASURED hits to their similarity to the question."""
    return similarity.similarities(databases, query.asked, hits[:MEASURED]) if hits else {}


# The maximum number of similar candidates per table.
MOST_NEAR = {"records": 30, "observations": 30, "episodes": 10}
SPARE = 10  # the number of rows is multiplied by this if filters or domains exclude some


def near(
    query: Query, memory: Memory, known: Sequence[Candidate], session: str, similarity: Similarity
) -> list[Candidate]:
    """Return candidates close to the question in meaning, except `known`. Raises DeadlinePassed."""
    if query.phrases:
        return []
    known_ids = {candidate.id for candidate in known}
    candidates: list[Candidate] = []
    for database in memory.databases():
        spare = SPARE if database.is_scoped or query.filters != search.EVERYTHING else 1
        most = {table: spare * count for table, count in MOST_NEAR.items()}
        try:
            nearest = similarity.nearest(database, query.asked, most)
            for table, count in MOST_NEAR.items():
                rows = [row for kind, row in nearest if kind == table]
                candidates += search.at_rows(database, table, rows, count, query.filters, session)
        except DeadlinePassed:
            raise
        except FabricError as error:
            memory.fail(f"meaning ({database.kind}): {error}")
    return [one for one in candidates if one.id not in known_ids]
