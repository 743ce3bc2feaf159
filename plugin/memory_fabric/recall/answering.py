"""Finish an answer: merge turns, move trusted statements up, drop weak hits, score sessions."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from memory_fabric.errors import DeadlinePassed, FabricError, StoreUnavailable
from memory_fabric.language.concepts import WEAK, Concept, concepts, near_words
from memory_fabric.language.questions import asks_for_the_assistant
from memory_fabric.language.word_lists import words as listed
from memory_fabric.models import SAID_BEFORE, Hit, Query
from memory_fabric.recall.normalize import coverage, is_decisive, is_superseded
from memory_fabric.recall.rank import TRUST_FACTORS
from memory_fabric.store.memory import Memory
from memory_fabric.store.queries.search import Candidate
from memory_fabric.text import STOPWORDS, content_stems, stem, words

# A turn repeats a record of at least LEAST_WORDS words if it contains STATED_SHARE of them. A turn
# longer than MAX_TURN_CHARS is not merged, because it makes other statements, too.
STATED_SHARE, LEAST_WORDS, MAX_TURN_CHARS = 0.9, 3, 600


def folded(hits: Sequence[Hit]) -> list[Hit]:
    """Merge turns that repeat a record into the record, at the position of the first of them."""
    records = [(hit, content_stems(hit.text)) for hit in hits if hit.source == "records"]
    under: dict[str, list[str]] = {}
    hits_left: list[Hit] = []
    for hit in hits:
        is_short_turn = hit.source == "episodes" and len(hit.text) <= MAX_TURN_CHARS
        turn = content_stems(hit.text) if records and is_short_turn else frozenset()
        for record, own in records if turn else ():
            is_stated = len(own & turn) >= STATED_SHARE * len(own)
            if len(own) >= LEAST_WORDS and is_stated and not any(map(is_decisive, own - turn)):
                under.setdefault(record.id, []).append(hit.id)
                hits_left.append(record._replace(score=max(record.score, hit.score)))
                break
        else:
            hits_left.append(hit)
    once = {hit.id: hit for hit in hits_left}.values()
    return [h.marked({"said_in_turns": under[h.id]}) if h.id in under else h for h in once]


Vector = dict[str, float]
# A single sentence with fewer content words is a question, not a message in a conversation.
LEAST_CONCEPTS = 16
# A shorter word before a full stop is probably an abbreviation (`Dr.`), not the end of a sentence.
LEAST_LAST_WORD = 5
# Maximum numbers: sessions to read, sessions that add candidates, and turns of each such session.
MAX_SESSIONS, ADDED_SESSIONS, TURNS_OF_EACH = 100, 20, 3
SATURATION, LENGTH_SHARE = 2.0, 0.75
# A session's similarity to the BEST_FEW best sessions counts LIKENESS_WEIGHT times. The session's
# WORDS_OF_EACH heaviest words are compared with the WORDS_OF_BEST heaviest of those sessions.
LIKENESS_WEIGHT, BEST_FEW, WORDS_OF_BEST, WORDS_OF_EACH = 2.0, 5, 40, 100
# The extra weight of the newest session, and the number of sessions over which the weight decays.
NEWNESS_WEIGHT, NEWNESS_SESSIONS = 1.0, 20


class Continued(NamedTuple):
    """Sessions that a message may continue: scores (0-1) by id, turns of the best, and errors."""

    scores: Mapping[str, float] = {}
    candidates: tuple[Candidate, ...] = ()
    failures: tuple[str, ...] = ()


def is_message(query: Query) -> bool:
    """Return True if a query is a message in a conversation: several sentences or many words."""
    ends_a_sentence = any(
        word[-1] in "!?。！？" or (word[-1] == "." and len(word) >= LEAST_LAST_WORD)
        for word in query.asked.split()[:-1]
    )
    return ends_a_sentence or len(concepts(query)) >= LEAST_CONCEPTS


def continued(query: Query, memory: Memory, known: Sequence[Candidate]) -> Continued:
    """Score sessions a query may continue; find turns not in `known`. Raises DeadlinePassed."""
    if query.phrases or not is_message(query):
        return Continued()
    wanted = concepts(query)
    candidate_ids = {candidate.id for candidate in known}
    scores: dict[str, float] = {}
    added: list[Candidate] = []
    failures: list[str] = []
    for reader in memory.readers():
        try:
            turns = reader.turns_by_session([c.spellings for c in wanted], query.filters)
            ordered = sorted(turns, key=lambda one: -sum(s for _, s in turns[one][:TURNS_OF_EACH]))
            some = scored(reader.session_texts(ordered[:MAX_SESSIONS], query.filters), wanted)
            best = sorted(some, key=lambda one: some[one], reverse=True)[:ADDED_SESSIONS]
            rows = [row for session in best for row in turns[session][:TURNS_OF_EACH]]
            added += reader.turns_at(rows, query.filters)
        except DeadlinePassed:
            raise
        except FabricError as error:
            failures.append(f"episodes ({reader.kind}): {error}")
            continue
        scores |= some
    new = tuple(candidate for candidate in added if candidate.id not in candidate_ids)
    return Continued(scores, new, tuple(failures))


def scored(texts: Mapping[str, str], wanted: Sequence[Concept]) -> dict[str, float]:
    """Score sessions by their texts (best: 1). `texts` are oldest first; newer ones count more."""
    counts = {
        session: Counter(stem(word) for word in words(text) if word not in STOPWORDS)
        for session, text in texts.items()
    }
    sizes = {session: sum(words_of.values()) for session, words_of in counts.items()}
    mean = sum(sizes.values()) / len(sizes) if sizes else 1.0
    long = {s: SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * n / mean) for s, n in sizes.items()}
    total = dict.fromkeys(counts, 0.0)
    for concept in wanted:
        frequencies = {s: sum(c.get(w, 0) for w in concept.stems) for s, c in counts.items()}
        frequencies = {session: count for session, count in frequencies.items() if count}
        rarity = math.log(1 + (len(counts) - len(frequencies) + 0.5) / (len(frequencies) + 0.5))
        for session, count in frequencies.items():
            total[session] += rarity * count * (SATURATION + 1) / (count + long[session])
    matched = _share_of_best(total)
    likeness = _likeness(counts, matched)
    newest = len(texts) - 1
    return _share_of_best(
        {
            session: (matched[session] + LIKENESS_WEIGHT * likeness[session])
            * (1 + NEWNESS_WEIGHT * math.exp((i - newest) / NEWNESS_SESSIONS))
            for i, session in enumerate(texts)
        }
    )


def _likeness(counts: Mapping[str, Counter[str]], matched: Mapping[str, float]) -> dict[str, float]:
    """Return each session's cosine similarity to the best in `matched`, weighted by word rarity."""
    holding = Counter(word for words_of in counts.values() for word in words_of)
    vectors = {}
    for session, words_of in counts.items():
        weights = {
            word: (1 + math.log(count)) * math.log(1 + len(counts) / holding[word])
            for word, count in words_of.items()
            if holding[word] > 1 and len(word) > 2
        }
        vectors[session] = _heaviest(weights, WORDS_OF_EACH)
    subject: Vector = {}
    for session in sorted(matched, key=lambda one: matched[one], reverse=True)[:BEST_FEW]:
        for word, weight in vectors[session].items():
            subject[word] = subject.get(word, 0.0) + weight * matched[session] ** 2
    subject = _heaviest(subject, WORDS_OF_BEST)
    return {s: sum(w * v.get(word, 0.0) for word, w in subject.items()) for s, v in vectors.items()}


def _heaviest(weights: Vector, most: int) -> Vector:
    """Reduce a vector to its `most` heaviest words, and scale it to the length 1."""
    heavy = sorted(weights.items(), key=lambda pair: (-pair[1], pair[0]))[:most]
    length = math.sqrt(sum(weight * weight for _, weight in heavy)) or 1.0
    return {word: weight / length for word, weight in heavy}


def _share_of_best(scores: Mapping[str, float]) -> dict[str, float]:
    best = max(scores.values(), default=0.0) or 1.0
    return {session: score / best for session, score in scores.items()}


# If the first hit covers WHOLE of the question, hits that cover less than MUCH of it are dropped.
WHOLE, MUCH = 0.95, 0.4
# The first hit must match this many words, because any hit on the same subject may match one word.
CUT_OFF_LEAST_WORDS = 2


def cut_off(hits: Sequence[Hit], query: Query) -> list[Hit]:
    """Drop unrelated hits if the first hit is a record that completely answers the question."""
    first = hits[0] if hits else None
    if first is None or first.source != "records" or query.traverse:
        return list(hits)
    if coverage(first) < WHOLE or len(first.metadata.get("matched") or ()) < CUT_OFF_LEAST_WORDS:
        return list(hits)
    stays = frozenset(("similarity", SAID_BEFORE))
    return [hit for hit in hits if coverage(hit) >= MUCH or stays & hit.metadata.keys()]


_EMPTY = WEAK | STOPWORDS
MAX_EMPTY_CHARS = 80  # longer texts are assumed to have content
# The maximum length, in words, of a short command without content: "undo", "push it".
MAX_ERRAND_WORDS = 2
_ASKING = ("?", "？")


def without_empty_turns(
    candidates: Sequence[Candidate], query: Query, session: str = ""
) -> list[Candidate]:
    """Drop turns without content, and the user's questions in `session` or without new words."""
    if query.phrases:
        return list(candidates)
    asked: set[str] = set()
    for concept in concepts(query):
        asked.update(concept.stems, map(stem, near_words(concept)))
    kept = []
    for candidate in candidates:
        text, about = candidate.text.strip(), candidate.metadata
        is_turn = candidate.source == "episodes"
        turn_stems = {stem(word) for word in words(text) if word not in _EMPTY} if is_turn else ()
        is_users_question = is_turn and text.endswith(_ASKING) and about.get("role") == "user"
        is_here = bool(session) and about.get("session") == session
        if is_users_question and (is_here or asked.issuperset(turn_stems)):
            continue
        if is_turn and len(text) <= MAX_EMPTY_CHARS:
            # After a question, even a turn of one word may be an answer instead of a command.
            is_answer = candidate.before.rstrip().endswith(_ASKING)
            is_short = text.isascii() and len(text.split()) <= MAX_ERRAND_WORDS
            is_errand = is_short and not is_answer and asked.isdisjoint(turn_stems)
            if is_errand or not says_something(text):
                continue
        kept.append(candidate)
    return kept


def says_something(text: str) -> bool:
    """Return True if a text has words other than assent ("yes") and very common words."""
    assents = listed("questions", "assents")
    return any(word not in assents and word not in _EMPTY for word in words(text))


def with_times(hits: Sequence[Hit], memory: Memory) -> tuple[Hit, ...]:
    """Add `relation_timestamps` to hits: when each of their `graph_relations` was stated, or ''."""
    times = {relation: "" for hit in hits for relation in hit.graph_relations}
    for reader in memory.readers() if times else ():
        try:
            for relation, spans in times.items():
                times[relation] = max(spans, reader.stated_at(relation))
        except StoreUnavailable as error:
            memory.fail(f"graph ({reader.kind}): {error}")
    stamps = {h.id: [times[edge] for edge in h.graph_relations] for h in hits if h.graph_relations}
    added = {id_: {"relation_timestamps": stamped} for id_, stamped in stamps.items()}
    return tuple(hit.marked(added[hit.id]) if hit.id in added else hit for hit in hits)


# A settled statement (`_is_settled`) covers at least this share of the question's weight.
SETTLED_FIRST_MUCH = 0.4
MOST_SETTLED = 10  # at most this many settled hits are added by `worth_ranking`
# Among the first MOST_TURNS turns, the user's move up if the others seem to be an assistant's:
# their mean length is at least LONG_CHARS characters and LONGER times that of the prompts.
MOST_TURNS, LONG_CHARS, LONGER, HALF = 20, 400, 2.0, 0.5


def worth_ranking(hits: Sequence[Hit], most: int) -> list[Hit]:
    """Return the first `most` hits and up to MOST_SETTLED later ones that pass `_is_settled`."""
    return [*hits[:most], *[hit for hit in hits[most:] if _is_settled(hit)][:MOST_SETTLED]]


def settled_first(hits: Sequence[Hit], query: Query, found: Sequence[Hit]) -> list[Hit]:
    """Move settled statements (`_is_settled`) up. A settled statement is put before a user's
    statement in a turn if it covers at least as much of the query, and before any other turn or a
    question if it covers at least half as much. A moved hit gets the score of its new position.
    """
    if asks_for_the_assistant(query.text):
        return list(hits)
    turns = [hit for hit in found if hit.source == "episodes"]
    typed = [len(hit.text) for hit in turns if _is_users(hit)]
    answers = [len(hit.text) for hit in turns if not _is_users(hit)]
    if typed and answers:
        mean, mean_typed = sum(answers) / len(answers), sum(typed) / len(typed)
        hits = _users_first(hits) if mean >= max(LONG_CHARS, LONGER * mean_typed) else hits
    settled = [hit for hit in hits if _is_settled(hit)]
    placed: dict[str, Hit] = {}
    for hit in hits:
        needed = coverage(hit) * (1.0 if _is_users(hit) and not _asks(hit) else HALF)
        for record in settled if hit.source == "episodes" or _asks(hit) else ():
            if coverage(record) >= needed:
                placed.setdefault(record.id, record._replace(score=max(record.score, hit.score)))
        placed.setdefault(hit.id, hit)
    return list(placed.values())


def _users_first(hits: Sequence[Hit]) -> list[Hit]:
    """Move a user's statement before assistant turns if it covers at least half as much."""
    places = [i for i, hit in enumerate(hits) if hit.source == "episodes"][:MOST_TURNS]
    ordered: list[Hit] = []
    for turn in (hits[place] for place in places):
        place = len(ordered)
        while place and _is_users(turn) and not _asks(turn):
            before = ordered[place - 1]
            if _is_users(before) or coverage(turn) < HALF * coverage(before):
                break
            place -= 1
        ordered.insert(place, turn)
    moved = list(hits)
    for place, turn in zip(places, ordered, strict=True):
        moved[place] = turn._replace(score=hits[place].score)
    return moved


def _is_users(turn: Hit) -> bool:
    return turn.metadata.get("role") == "user"


def _is_settled(hit: Hit) -> bool:
    """Return True if a hit is a current, trusted statement that covers enough of the question."""
    if hit.source not in ("records", "graph") or coverage(hit) < SETTLED_FIRST_MUCH or _asks(hit):
        return False
    is_edge = hit.metadata.get("entityType") == "relation"
    return not (is_edge or is_superseded(hit) or hit.metadata.get("trust") in TRUST_FACTORS)


def _asks(hit: Hit) -> bool:
    """Return True if a hit is an open question, or if its text is a single question."""
    text = hit.text.strip()
    ends = (". ", "! ", "\n", "。")
    is_question = text.endswith(_ASKING) and not any(end in text for end in ends)
    return is_question or hit.metadata.get("type") == "question"
