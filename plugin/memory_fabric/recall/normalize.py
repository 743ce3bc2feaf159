"""Conversion of candidates to uniform hits (BR-2), most relevant first. `metadata["coverage"]` is
the share of the question's words in the text, weighted by rarity (`relevance`).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from memory_fabric.language import concepts, negations
from memory_fabric.language.concepts import Concept
from memory_fabric.language.word_lists import words as listed
from memory_fabric.models import Hit, Query
from memory_fabric.recall.relevance import Measured, entities_of, measure
from memory_fabric.store.queries.search import Candidate
from memory_fabric.text import name_key, same_form, stem, words

MOST = 0.99  # the maximum relevance, except for an exact name
MAX_NAME_CHARS = 200
FOREIGN = "foreign"  # the trust of a memory from a shared journal


def normalize(
    candidates: Sequence[Candidate],
    query: Query,
    now: str,
    *,
    wide: bool = False,
    explain: bool = False,
    sessions: Mapping[str, float] = {},
    most: int = 0,
) -> list[Hit]:
    """Return hits in uniform form, most relevant first, without candidates that lack an exact
    phrase or contain an excluded word. `now` (ISO 8601) resolves times such as "last week". If
    `wide`, synonyms match, too. If `explain`, the metadata includes the `parts` of each relevance.
    `sessions` has a score (0-1) for each session that the question may continue. If `most` is set,
    only so many memories of each source, the best ones, become hits, to save time.
    """
    worthwhile = _worth_measuring(candidates, query)
    measured = measure(worthwhile, query, now, wide=wide, sessions=sessions)
    exact = _exact_names(query)
    for item in measured if exact else ():
        is_entity = item.candidate.source == "graph" and bool(item.candidate.entity)
        item.is_exact = is_entity and name_key(item.candidate.entity) in exact
    if most:
        # Several candidates may belong to one memory: a record and its observations.
        same: dict[str, list[Measured]] = {}
        measured.sort(key=lambda one: one.candidate.id)
        measured.sort(key=lambda one: (_relevance(one), one.candidate.timestamp), reverse=True)
        for item in measured:
            same.setdefault(item.candidate.id, []).append(item)
        memories = best_of_each_source(same.values(), most, _origin)
        measured = [item for memory in memories for item in memory]
    wanted = concepts.concepts(query)
    return most_relevant_first([_hit(item, wanted, explain) for item in measured])


def best_of_each_source(
    memories: Iterable[Any], most: int, origin: Callable[[Any], tuple[str, bool]]
) -> list[Any]:
    """Return the first `most` memories of each source, and in total half as many shared memories.
    `origin` returns a memory's source and whether it is shared.
    """
    counts: dict[str, int] = {}
    best = []
    for memory in memories:
        source, is_shared = origin(memory)
        source = "others" if is_shared else source
        counts[source] = counts.get(source, 0) + 1
        best += [memory] if counts[source] <= (max(1, most // 2) if is_shared else most) else []
    return best


def _origin(same: Sequence[Measured]) -> tuple[str, bool]:
    told = next((one for one in same if one.candidate.source == "records"), same[0]).candidate
    return told.source, told.metadata.get("trust") == FOREIGN


def most_relevant_first(hits: Sequence[Hit]) -> list[Hit]:
    """Sort hits by relevance, then newest first, then by id so that the order is deterministic."""
    ordered = sorted(hits, key=lambda hit: hit.id)
    ordered.sort(key=lambda hit: (hit.relevance, hit.timestamp), reverse=True)
    return ordered


def _worth_measuring(candidates: Sequence[Candidate], query: Query) -> list[Candidate]:
    """Drop entities that others repeat, and candidates without a phrase or with excluded words."""
    exact = _exact_names(query)
    whole = [c for c in candidates if c.metadata.get("whole_entity")]
    others = [c for c in candidates if not c.metadata.get("whole_entity")]
    spoken = {(c.store, c.entity) for c in others if c.source == "graph"}
    for c in others if whole else ():
        names = entities_of(c) if c.source == "records" else ()
        spoken.update((c.store, name) for name in names if name_key(name) not in exact)
    worthwhile = others + [c for c in whole if (c.store, c.entity) not in spoken]
    for phrase in query.phrases:
        spaced = f" {' '.join(words(phrase))} "
        worthwhile = [c for c in worthwhile if spaced in f" {' '.join(words(_whole_text(c)))} "]
    if query.excluded:
        out = frozenset(map(stem, query.excluded))
        worthwhile = [c for c in worthwhile if out.isdisjoint(concepts.stems_of(_whole_text(c)))]
    return worthwhile


def _whole_text(candidate: Candidate) -> str:
    why = candidate.metadata.get("why") or ""
    return f"{candidate.text} {why} {' '.join(entities_of(candidate))}"


def _exact_names(query: Query) -> tuple[str, ...]:
    """Treat the question as a name and return its normalized forms; () if over MAX_NAME_CHARS."""
    if len(query.asked) > MAX_NAME_CHARS:
        return ()
    return name_key(query.asked.strip(" ?!.\n\t")), name_key("".join(words(query.asked)))


def _hit(one: Measured, wanted: Sequence[Concept], explain: bool) -> Hit:
    candidate = one.candidate
    metadata: Mapping[str, Any] = {
        **candidate.metadata,
        "store": candidate.store,
        "coverage": round(1.0 if one.is_exact else one.covered, 4),
        "matched": [c.text for i, c in enumerate(wanted) if one.mask >> i & 1],
    }
    metadata = {**metadata, "replaces": one.replaces} if one.replaces else metadata
    if explain:
        metadata = {**metadata, "parts": {"exact name": 1.0} if one.is_exact else one.parts()}
    id_, text, source, at = candidate.id, candidate.text, candidate.source, candidate.timestamp
    return Hit(id_, text, source, at, _relevance(one), one.entities, metadata)


def _relevance(one: Measured) -> float:
    return 1.0 if one.is_exact else min(MOST, one.relevance)


DEFAULT_THRESHOLD = 0.85
# Words that may be added or left out without changing a statement.
FILLERS = listed("questions", "fillers")
_DUTY = "must"  # replaces "should", "shall" and "ought" before texts are compared
_DUTIES = frozenset((_DUTY, "should", "shall", "ought"))
_SIGNS = ",;:.!?…()[]{}\"'“”‘’`*"
# Words that reverse a statement: two texts contradict each other if only one has such a word.
NEGATIONS = negations.ALL | negations.CONTRACTED | frozenset("isn aren won avoid".split())


def collapse(hits: Sequence[Hit]) -> list[Hit]:
    """Merge hits of one id: the record, or else the first, gets all entities and matched words."""
    by_id: dict[str, Hit] = {}
    for hit in hits:
        first = by_id.setdefault(hit.id, hit)
        if first is hit:
            continue
        spoken = hit if hit.source == "records" and first.source != "records" else first
        relevance = max(first.relevance, hit.relevance)
        entities = dict.fromkeys(spoken.entities + first.entities + hit.entities)
        merged = spoken._replace(relevance=relevance, entities=tuple(entities))
        matched = [term for one in (first, hit) for term in one.metadata.get("matched") or ()]
        marks = {"matched": list(dict.fromkeys(matched))}
        by_id[hit.id] = merged.marked({"coverage": max(coverage(first), coverage(hit)), **marks})
    return list(by_id.values())


def one_of_each_entity(hits: Sequence[Hit]) -> list[Hit]:
    """Keep each entity's first hit; list its other observations in `also_observed` (BR-2)."""
    by_entity: dict[str, Hit] = {}
    more: dict[str, list[str]] = {}
    for hit in hits:
        id_ = public_id(hit)
        if by_entity.setdefault(id_, hit) is not hit and hit.text != by_entity[id_].text:
            more.setdefault(id_, []).append(hit.text)
    return [h.marked({"also_observed": more[i]}) if i in more else h for i, h in by_entity.items()]


def dedupe(hits: Sequence[Hit], threshold: float = DEFAULT_THRESHOLD) -> list[Hit]:
    """Merge near copies; return the remaining hits, most relevant first. Two hits are near copies
    if the Jaccard similarity of their words exceeds `threshold`. The merged hit has the more
    relevant text, the entities of both hits, and the other hit's metadata with the prefix
    `source_`. It is `cross_validated` if the other hit is from an independent source.
    """
    distinct: list[Hit] = []
    word_sets: list[frozenset[str]] = []
    by_word: dict[str, list[int]] = {}
    loosely = threshold < DEFAULT_THRESHOLD
    for hit in most_relevant_first(collapse(hits)):
        own = frozenset(words(hit.text))
        # A near copy shares at least one of the rarest words, so few hits need to be compared.
        rarest = sorted(own, key=lambda word: len(by_word.get(word, ())))
        selective = rarest[: max(1, int(len(own) * (1 - threshold)) + 2)]
        for place in sorted({place for word in selective for place in by_word.get(word, ())}):
            shared = len(own & word_sets[place])
            union = len(own) + len(word_sets[place]) - shared
            if shared > threshold * union and _may_merge(hit, distinct[place], loosely=loosely):
                distinct[place] = _merged(distinct[place], hit)
                break
        else:
            for word in own:
                by_word.setdefault(word, []).append(len(distinct))
            distinct.append(hit)
            word_sets.append(own)
    return distinct


def _may_merge(a: Hit, b: Hit, *, loosely: bool) -> bool:
    """Return True if two similar hits make the same statement; `loosely` ignores entity names."""
    if is_superseded(a) != is_superseded(b):
        return False
    tokens = _tokens(a.text), _tokens(b.text)
    differing = {word for token in tokens[0] ^ tokens[1] for word in words(token)}
    names = {word for hit in (a, b) for name in hit.entities for word in words(name)}
    if any(is_decisive(word, set() if loosely else names) for word in differing):
        return False
    first, second = ({stem(token) for token in some if token not in FILLERS} for some in tokens)
    return loosely or first <= second or second <= first


def is_decisive(word: str, names: set[str] | frozenset[str] = frozenset()) -> bool:
    """Return True if a word changes a statement: negation, number, single letter or in `names`."""
    is_one_letter = len(word) == 1 and word not in FILLERS
    return word in NEGATIONS or is_one_letter or word in names or any(map(str.isdigit, word))


def _tokens(text: str) -> frozenset[str]:
    bare = (token.strip(_SIGNS) for token in same_form(text).split())
    return frozenset(_DUTY if token in _DUTIES else token for token in bare) - {""}


def is_superseded(hit: Hit) -> bool:
    return bool(hit.metadata.get("superseded_by"))


def public_id(hit: Hit) -> str:
    """Return a hit's id; for an observation, `graph:<entity>`, which open_nodes accepts."""
    name, hash_sign, number = hit.id.rpartition("#")
    return name if hash_sign and number.isdigit() and hit.source == "graph" else hit.id


def coverage(hit: Hit) -> float:
    """Return the weighted share of the question's words that a hit contains."""
    return float(hit.metadata.get("coverage", 0.0))


def is_of_others(hit: Hit) -> bool:
    """Return True for a memory from another person's journal, which may be untrue."""
    return hit.metadata.get("trust") == FOREIGN


def _merged(kept: Hit, other: Hit) -> Hit:
    # Keep the user's memory rather than another person's copy, and a record rather than a turn.
    is_copy = is_of_others(kept) and not is_of_others(other)
    if is_copy or (kept.source == "episodes" and other.source == "records"):
        kept, other = other._replace(relevance=max(kept.relevance, other.relevance)), kept
    metadata: dict[str, Any] = dict(kept.metadata)
    prefix, number = "source_", 1
    while prefix + "id" in metadata:
        number += 1
        prefix = f"source_{number}_"
    metadata |= {prefix + name: value for name, value in other.metadata.items()}
    metadata |= {prefix + "id": other.id, prefix + "timestamp": other.timestamp}
    is_own_turn = (kept.source == "episodes") != (other.source == "episodes")
    is_same_source = is_own_turn and kept.metadata.get("session") == other.metadata.get("session")
    unsure = any(is_of_others(hit) or is_superseded(hit) for hit in (kept, other))
    if not (unsure or is_same_source):
        metadata["cross_validated"] = True
    names = dict.fromkeys(kept.entities + other.entities)
    return kept._replace(entities=tuple(names), metadata=metadata)
