"""Merging of hits that say the same, with a mark if two sources agree (BR-3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from memory_fabric.language import negations
from memory_fabric.models import Hit
from memory_fabric.recall.normalize import FOREIGN, most_relevant_first
from memory_fabric.text import same_form, stem, words

DEFAULT_THRESHOLD = 0.85
# Words that do not change a statement.
FILLERS = frozenset(
    """a actually all also am an are be been being certainly definitely did do does here i is it its
    just my now our please really simply so surely that the then this was we were will would you
    your""".split()
)
# One word for a duty stands for another.
_DUTY = "must"
_DUTIES = frozenset((_DUTY, "should", "shall", "ought"))
_SIGNS = ",;:.!?…()[]{}\"'“”‘’`*"
# Words that change a statement: texts that differ in one contradict each other.
NEGATIONS = negations.ALL | negations.CONTRACTED | frozenset("isn aren won avoid".split())


def collapse(hits: Sequence[Hit]) -> list[Hit]:
    """Keep one hit for each id, in the same order: a copy of a record confirms nothing.

    The record itself is kept rather than its copies on entities, with all their entities and the
    best relevance.
    """
    by_id: dict[str, Hit] = {}
    for hit in hits:
        copy = by_id.get(hit.id)
        by_id[hit.id] = hit if copy is None else _copies_joined(copy, hit)
    return list(by_id.values())


def one_of_each_entity(hits: Sequence[Hit]) -> list[Hit]:
    """Keep the first of an entity's observations, with the others under `also_observed` (BR-2)."""
    by_entity: dict[str, Hit] = {}
    other_texts: dict[str, list[str]] = {}
    for hit in hits:
        id_ = public_id(hit)
        if by_entity.setdefault(id_, hit) is not hit and hit.text != by_entity[id_].text:
            other_texts.setdefault(id_, []).append(hit.text)
    return [
        hit._replace(metadata={**hit.metadata, "also_observed": other_texts[id_]})
        if id_ in other_texts
        else hit
        for id_, hit in by_entity.items()
    ]


def dedupe(hits: Sequence[Hit], threshold: float = DEFAULT_THRESHOLD) -> list[Hit]:
    """Merge near copies; return the remaining hits, most relevant first.

    Two hits are near copies when the Jaccard similarity of their words exceeds `threshold`. The
    merged hit has the text of the more relevant one, the entities of both, the metadata of the
    other under `source_`, and `cross_validated`; a shared journal confirms nothing, nor does the
    turn in which a record was stated. Below the default threshold texts may add words and names.
    """
    distinct: list[Hit] = []
    kept_words: list[frozenset[str]] = []
    by_word: dict[str, list[int]] = {}
    for hit in most_relevant_first(collapse(hits)):
        hit_words = frozenset(words(hit.text))
        twin = _twin(hit, hit_words, distinct, kept_words, by_word, threshold)
        if twin is None:
            for word in hit_words:
                by_word.setdefault(word, []).append(len(distinct))
            distinct.append(hit)
            kept_words.append(hit_words)
        else:
            distinct[twin] = _merged(distinct[twin], hit)
    return distinct


def _twin(
    hit: Hit,
    found: frozenset[str],
    kept: Sequence[Hit],
    kept_words: Sequence[frozenset[str]],
    by_word: Mapping[str, Sequence[int]],
    threshold: float,
) -> int | None:
    """Return the index of the first kept hit that says the same; None if there is none."""
    # A near copy lacks so few of the words that it has one of these; rare ones name few hits.
    rarest = sorted(found, key=lambda word: len(by_word.get(word, ())))
    selective = rarest[: max(1, int(len(found) * (1 - threshold)) + 2)]
    for i in sorted({i for word in selective for i in by_word.get(word, ())}):
        shared = len(found & kept_words[i])
        union = len(found) + len(kept_words[i]) - shared
        if shared > threshold * union and _may_merge(
            hit, kept[i], loosely=threshold < DEFAULT_THRESHOLD
        ):
            return i
    return None


def _may_merge(a: Hit, b: Hit, *, loosely: bool) -> bool:
    """Return True if two hits of nearly the same words are one statement; one may add a little.

    A different word, a denial, a number, a single letter or a name makes them two; `loosely` only
    a denial, a number or a single letter.
    """
    if is_superseded(a) != is_superseded(b):
        return False
    a_tokens, right = _tokens(a.text), _tokens(b.text)
    differing = {word for token in a_tokens ^ right for word in words(token)}
    names = {word for hit in (a, b) for name in hit.entities for word in words(name)}
    if any(is_decisive(word, set() if loosely else names) for word in differing):
        return False
    if loosely:
        return True
    stems = [{stem(token) for token in some if token not in FILLERS} for some in (a_tokens, right)]
    return stems[0] <= stems[1] or stems[1] <= stems[0]


def is_decisive(word: str, names: set[str] | frozenset[str] = frozenset()) -> bool:
    """Return True for a word that makes two statements of two texts if only one has it."""
    is_one_letter = len(word) == 1 and word not in FILLERS
    return word in NEGATIONS or is_one_letter or word in names or any(map(str.isdigit, word))


def _tokens(text: str) -> frozenset[str]:
    bare = (token.strip(_SIGNS) for token in same_form(text).split())
    return frozenset(_DUTY if token in _DUTIES else token for token in bare) - {""}


def is_superseded(hit: Hit) -> bool:
    """Return True if a newer memory replaced this one."""
    return bool(hit.metadata.get("superseded_by"))


def public_id(hit: Hit) -> str:
    """Return `graph:<entity>` for an observation, an id that open_nodes accepts."""
    name, hash_sign, number = hit.id.rpartition("#")
    return name if hash_sign and number.isdigit() and hit.source == "graph" else hit.id


def _copies_joined(first: Hit, other: Hit) -> Hit:
    spoken = other if other.source == "records" and first.source != "records" else first
    return spoken._replace(
        relevance=max(first.relevance, other.relevance),
        entities=tuple(dict.fromkeys(spoken.entities + first.entities + other.entities)),
        metadata={
            **spoken.metadata,
            "coverage": max(coverage(first), coverage(other)),
            "matched": list(dict.fromkeys([*_matched(first), *_matched(other)])),
        },
    )


def coverage(hit: Hit) -> float:
    """Return the share of the question's weight that a hit holds."""
    return float(hit.metadata.get("coverage", 0.0))


def _matched(hit: Hit) -> Sequence[str]:
    return tuple(hit.metadata.get("matched", ()))


def is_of_others(hit: Hit) -> bool:
    """Return True for a memory from a shared journal: it confirms nothing, its author may lie."""
    return hit.metadata.get("trust") == FOREIGN


def _merged(kept: Hit, other: Hit) -> Hit:
    # an own statement is kept rather than its copy, a record rather than the turn that says it
    is_copy = is_of_others(kept) and not is_of_others(other)
    if is_copy or (kept.source == "episodes" and other.source == "records"):
        kept, other = other._replace(relevance=max(kept.relevance, other.relevance)), kept
    metadata: dict[str, Any] = dict(kept.metadata)
    prefix = _free_prefix(metadata)
    metadata |= {prefix + name: value for name, value in other.metadata.items()}
    metadata |= {prefix + "id": other.id, prefix + "timestamp": other.timestamp}
    if _are_two_witnesses(kept, other):
        metadata["cross_validated"] = True
    return kept._replace(
        entities=tuple(dict.fromkeys(kept.entities + other.entities)), metadata=metadata
    )


def _free_prefix(metadata: Mapping[str, Any]) -> str:
    """Return the first free prefix of `source_`, `source_2_`, `source_3_` …"""
    prefix, number = "source_", 1
    while prefix + "id" in metadata:
        number += 1
        prefix = f"source_{number}_"
    return prefix


def _are_two_witnesses(a: Hit, b: Hit) -> bool:
    if is_superseded(a) or is_superseded(b) or is_of_others(a) or is_of_others(b):
        return False
    is_own_turn = (a.source == "episodes") != (b.source == "episodes")
    return not (is_own_turn and a.metadata.get("session") == b.metadata.get("session"))


Claim = TypeVar("Claim")

# The shares of the places, of all others together and of one author, beside one's own memories.
TOGETHER, EACH = 1 / 3, 1 / 5
# The share of one author where nothing of one's own is told.
EACH_ALONE = 1 / 2


def within_share(
    claims: Iterable[Claim], author: Callable[[Claim], str], places: int, *, beside_own: bool
) -> list[Claim]:
    """Return the first claims of others that fit in their share of the places, in order."""
    together = int(places * TOGETHER) if beside_own else places
    max_each = max(1, int(places * (EACH if beside_own else EACH_ALONE)))
    counts: dict[str, int] = {}
    within = []
    for claim in claims:
        name = author(claim)
        counts[name] = counts.get(name, 0) + 1
        if counts[name] <= max_each:
            within.append(claim)
    return within[:together]
