"""The relevance floor: a test before injection that a memory is certainly relevant to a prompt. The
test counts the rare words that a memory shares with the prompt. It never compares memories with
each other, so nothing is injected if the store has no answer.
"""

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence, Set
from functools import lru_cache

from memory_fabric.language import concepts, questions, times
from memory_fabric.language.concepts import FUNCTION_WORDS
from memory_fabric.models import Hit, Query
from memory_fabric.recall.normalize import coverage
from memory_fabric.recall.parse import parse, split
from memory_fabric.recall.relevance import weights_of
from memory_fabric.text import STOPWORDS, cjk_pairs, index_words, name_key, stem, words

RARE = "rare"  # the metadata key for words of the prompt that few memories contain
# A rare word is in at most this many memories. A memory seldom shares two of them by chance.
FEW_ROWS = 4
# A concept with at least this strength is a topic; weaker concepts are mostly actions.
SPECIFIC = 1.0
# A relevant memory shares RARE_SHARED rare words with the prompt. If the prompt has more than
# MANY_TOPICS topics, the memory must share SHARED_OF_MANY of them, because two may be shared by
# chance. If the prompt has at most FEW_TOPICS topics, one rare word may be enough.
RARE_SHARED, FEW_TOPICS, MANY_TOPICS, SHARED_OF_MANY = 2, 2, 12, 3
# The minimum share of a memory's words in a prompt; the share that counts as most of a prompt.
LEAST_HELD, MOST = 0.2, 0.6
# A request repeats a memory of at least LONG_MEMORY words if it contains this share of the words.
SAID_ITSELF, LONG_MEMORY = 0.75, 6
# The (weighted) share of the prompt that a memory must cover, unless it reaches HELD_FLOORS. The
# keys are numbers of rare words that both share; 2 also stands for more.
COVERAGE_FLOORS = {1: 0.45, 2: 0.1}
# A memory is relevant to a prompt of any length if the prompt contains this share of its words.
HELD_FLOORS = {1: 0.75, 2: 0.4}
# An unknown proper name is probably the subject of the prompt, so more words must be shared.
STRANGER_COVERAGE_FLOORS = {1: 0.7, 2: 0.4}
STRANGER_HELD_FLOORS = {1: 1.0, 2: 0.65}
# If the only shared rare word names the memory's entity, required shares are multiplied by this.
NAMED_EASE = 0.4
# Types of records about failures and their fixes. If the prompt reports no trouble, the required
# shares of these records are multiplied by WITHOUT_TROUBLE.
FIXES = frozenset(("solution", "problem"))
WITHOUT_TROUBLE = 1.5
EPISODE_COVERAGE, EPISODE_SPECIFIC = 0.4, 2
# One shared word is enough only if the sentence or the memory has at most this many words.
FEW_WORDS = 12
# The maximum number of a prompt's sentences that are compared with memories.
MAX_PARTS = 6
DAYS = frozenset((*times.MONTHS, *times.WEEKDAYS))
_NO_CONTENT = STOPWORDS | concepts.WEAK | FUNCTION_WORDS
TOO_LITTLE = "shares too little with the prompt"
NOTHING_RARE = "shares no rare word that says what the prompt is about"
NO_NEWS = "the prompt says it itself"
_reports_trouble = lru_cache(4)(questions.reports_trouble)


class Floor:
    """The floor for one prompt; a memory must be relevant to the prompt or to one of its sentences.
    With `talk`, the prompt asks for earlier conversations. With `is_paste`, the prompt is pasted
    text, for which only a fix of the failure in the text is injected.
    """

    def __init__(self, query: Query, hits: Sequence[Hit], *, talk: bool, is_paste: bool) -> None:
        self.past, self.talk, self.is_paste = query.past or talk, talk, is_paste
        self.text = query.text
        self.asks_for_relations = query.traverse and query.intent == "relationship"
        self._query, self._hits = query, hits
        self._said = questions.asked_by(query.text) if talk else frozenset[str]()
        sentences, is_long = split(query.asked)
        # If a request is next to log lines, only the request (`asked`) is split into sentences.
        is_part = is_long or query.asked != query.text
        self._whole = None if is_part else Part(query, hits, talk=talk)
        several = sentences if is_part or len(sentences) > 1 else ()
        self._sentences = {text: frozenset(map(stem, index_words(text))) for text in several}
        self._parts: dict[str, tuple[Part, Mapping[str, Hit]]] = {}
        # For each hit, the stems of its words and of the prompt's words that matched it.
        self._stems: dict[str, Set[str]] = {}
        for hit in hits if self._sentences else ():
            texts = (hit.text, str(hit.metadata.get("why") or ""), *hit.entities)
            matched = map(stem, hit.metadata.get("matched", ()))
            self._stems[hit.id] = concepts.stems_of(" ".join(texts)).union(matched)
        self._counts = Counter(word for some in self._stems.values() for word in some)

    def lacks(self, hit: Hit) -> str:
        """Return why a memory fits neither the prompt nor its nearest sentence; '' if it fits."""
        lacking = NOTHING_RARE if self._whole is None else self._whole.lacks(hit)
        # Find the sentence that shares the most and rarest words with the memory.
        nearest, most = "", 0.0
        own = self._stems.get(hit.id, frozenset()) - concepts.WEAK - STOPWORDS
        for text, sentence in self._sentences.items() if lacking else ():
            shared = own & sentence
            if len(shared) > 1 or (shared and min(len(own), len(sentence)) <= FEW_WORDS):
                weight = sum(1 / self._counts[word] for word in shared)
                nearest, most = (text, weight) if weight > most else (nearest, most)
        if not nearest or (nearest not in self._parts and len(self._parts) == MAX_PARTS):
            return lacking
        part, part_hits = self._part(nearest)
        return part.lacks(part_hits[hit.id]) if hit.id in part_hits else lacking

    def _part(self, text: str) -> tuple["Part", Mapping[str, Hit]]:
        """Return the sentence's requirements, and the hits that match it, with coverage, by id."""
        if text not in self._parts:
            sentence = parse(text, plain=True)
            # Ignore the words with which the prompt asks for earlier conversations.
            terms = tuple(term for term in sentence.terms if term not in self._said)
            names = [name for term, name in self._query.meant if term in terms]
            hints = (*sentence.entity_hints, *names)
            about = self._query._replace(asked=text, terms=terms, entity_hints=hints)
            wanted = concepts.concepts(about)
            matching = []
            for hit in self._hits:
                stems = self._stems[hit.id]
                if places := [i for i, c in enumerate(wanted) if not c.stems.isdisjoint(stems)]:
                    matching.append((hit, places))
            weights = weights_of(wanted, [sum(1 << i for i in places) for _, places in matching])
            hits = {}
            for hit, places in matching:
                covered = sum(weights[i] for i in places)
                matched = [wanted[i].text for i in places]
                hits[hit.id] = hit.marked({"coverage": covered, "matched": matched})
            self._parts[text] = Part(about, list(hits.values()), talk=self.talk), hits
        return self._parts[text]


class Part:
    """The requirements of one sentence of a prompt, or of the whole prompt, for memories."""

    def __init__(self, query: Query, hits: Sequence[Hit], *, talk: bool = False) -> None:
        self._asked = query.asked
        wanted = concepts.concepts(query)
        self.strengths: Mapping[str, float] = {c.text: c.strength for c in wanted}
        self.stems = frozenset(s for c in wanted for s in c.stems)
        self.names = concepts.name_keys(query.asked).union(map(name_key, query.entity_hints))
        if _names_a_stranger(query, hits):
            self.coverage, self.held = STRANGER_COVERAGE_FLOORS, STRANGER_HELD_FLOORS
        else:
            self.coverage, self.held = COVERAGE_FLOORS, HELD_FLOORS
        # Nouns with a number that the prompt and a hit share; hits with other numbers are excluded.
        marks = {t for t in query.terms if t.isdigit() or (len(t) == 1 and t.isascii())}
        numbered = _numbered(words(query.asked), marks)
        current = [hit for hit in hits if numbered and not hit.metadata.get("over")]
        numbers_of_hits = [_all_numbered(hit.text) for hit in current]
        self.numbered = {
            noun: numbers
            for noun, numbers in numbered.items()
            if any(numbers & in_hit.get(noun, set()) for in_hit in numbers_of_hits)
        }
        self.kind = "" if talk else questions.asked_kind(query.asked)
        self.topics = sum(c.strength >= SPECIFIC for c in wanted)
        self.topic_words = frozenset(c.text for c in wanted if self.strengths[c.text] >= SPECIFIC)

    def lacks(self, hit: Hit) -> str:
        """Return the reason why a memory is below the floor; '' if it reaches the floor."""
        shared = self.topics_in(hit)
        is_turn = hit.source == "episodes"
        # A memory that covers most of the prompt is relevant even without rare words.
        is_most = coverage(hit) >= MOST and len(shared) >= RARE_SHARED
        rare_words = shared if is_turn or is_most else hit.metadata.get(RARE, shared)
        rare = shared.intersection(rare_words)
        if not rare:
            return NOTHING_RARE
        numbers = _all_numbered(hit.text) if self.numbered else {}
        if any(numbers.get(noun, asked).isdisjoint(asked) for noun, asked in self.numbered.items()):
            return "is about another number or letter of the same"
        if is_turn and hit.text.rstrip().endswith("?"):
            return "a past turn that only asks"
        if is_turn:
            is_about = len(shared) >= min(self.topics, EPISODE_SPECIFIC)
            is_strong = coverage(hit) >= EPISODE_COVERAGE and is_about
            return "" if is_strong else "a past turn that shares too little"
        full_text = f"{hit.text} {hit.metadata.get('why') or ''}"
        if not questions.holds(self.kind, full_text, hit.entities):
            return "holds no answer of the kind that is asked for"
        parts = [part for word in words(hit.text) for part in cjk_pairs(word) or (word,)]
        own = frozenset(stem(word) for word in parts if word not in _NO_CONTENT)
        share = len(own & self.stems) / len(own) if own else 0.0
        if share >= SAID_ITSELF and len(own) >= LONG_MEMORY and "?" not in self._asked:
            return NO_NEWS
        is_fix = hit.metadata.get("type") in FIXES
        ease = WITHOUT_TROUBLE if is_fix and not _reports_trouble(self._asked) else 1.0
        needed = SHARED_OF_MANY if self.topics > MANY_TOPICS else RARE_SHARED
        is_about = len(rare) >= RARE_SHARED or len(shared) >= MOST * self.topics
        is_about = is_about and len(shared) >= needed
        # In scripts without spaces, half of all character pairs are not words: halve LEAST_HELD.
        least = LEAST_HELD / 2 if cjk_pairs(hit.text) else LEAST_HELD
        # A memory may match by the words of the memory that it replaces; then skip this test.
        is_held = share >= least or bool(hit.metadata.get("replaces"))
        if self.topics > FEW_TOPICS and not (is_about and is_held):
            return TOO_LITTLE
        if len(rare) == 1 and any(map(self._is_named, hit.entities)):
            ease *= NAMED_EASE
        number = min(len(rare), max(self.coverage))
        if coverage(hit) >= self.coverage[number] * ease or share >= self.held[number] * ease:
            return ""
        is_stranger = self.coverage is STRANGER_COVERAGE_FLOORS
        unknown = "shares too little with a prompt about somebody or something unknown"
        return unknown if is_stranger else TOO_LITTLE

    def topics_in(self, hit: Hit) -> frozenset[str]:
        """Return the prompt's topics in a memory, except words of the memory's project name."""
        name = words(str(hit.metadata.get("project") or ""))
        matched: Iterable[str] = hit.metadata.get("matched", ())
        return self.topic_words.intersection(matched).difference(name)

    def _is_named(self, name: str) -> bool:
        if name_key(name) in self.names:
            return name.lower() not in concepts.WEAK
        return any(self.strengths.get(word, 0.0) >= concepts.NAME_STRENGTH for word in words(name))


def rare_terms(hits: Iterable[Hit]) -> frozenset[str]:
    """Return the words of the prompt that occur in at most FEW_ROWS of these memories."""
    counts = Counter(term for hit in hits for term in hit.metadata.get("matched", ()))
    return frozenset(term for term, count in counts.items() if count <= FEW_ROWS)


def _all_numbered(text: str) -> dict[tuple[str, bool], set[str]]:
    text_words = words(text)
    return _numbered(text_words, {word for word in text_words if word.isdigit() or len(word) == 1})


def _numbered(found: Sequence[str], marks: Container[str]) -> dict[tuple[str, bool], set[str]]:
    """Map (noun's stem, True for "ticket 7", False for "7 tickets") to the numbers or letters."""
    numbered: dict[tuple[str, bool], set[str]] = {}
    for at, word in enumerate(found):
        if word not in marks:
            continue
        for neighbour, is_before in ((at - 1, True), (at + 1, False)):
            noun = found[neighbour] if 0 <= neighbour < len(found) else ""
            if len(noun) > 1 and noun not in STOPWORDS and not noun.isdigit():
                numbered.setdefault((stem(noun), is_before), set()).add(word)
    return numbered


def _names_a_stranger(query: Query, hits: Sequence[Hit]) -> bool:
    """Return True if the prompt has a proper name (`Caroline`) and no hit contains such a name."""
    names = [h for h in query.entity_hints if len(h) > 2 and h.istitle() and h.isalpha()]
    names = [name for name in names if name.lower() not in DAYS]
    if not names:
        return False
    asked_for = {word for name in names for word in words(name)}
    texts = (text for hit in hits for text in (hit.text, *hit.entities))
    return not any(word in asked_for for text in texts for word in words(text))
