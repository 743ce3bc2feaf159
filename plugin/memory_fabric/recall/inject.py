"""Selection of what hooks inject: only memories certainly relevant to the prompt, none twice.

The floor is absolute: it counts the specific words of the prompt in a memory, and never compares
memories, so that a store without an answer stays silent.
"""

from __future__ import annotations

from memory_fabric.language import concepts
from memory_fabric.recall.dedupe import is_of_others
from memory_fabric.text import STOPWORDS, name_key, stem, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence

    from memory_fabric.models import Hit, Query

PROMPT_CHARS, AGENT_CHARS = 2000, 1200
MAX_HITS, MAX_EPISODES = 6, 3
# The most hits from shared journals in addition to own ones, which they never displace.
MAX_OTHERS = 2
# A concept of this strength is a topic; weaker words are actions.
SPECIFIC = 1.0
# The share of the prompt's weight that a memory must hold, by the number of shared specific words.
COVERAGE_FLOORS = {1: 0.45, 2: 0.1, 3: 0.06}
# A memory of which the prompt holds half the words is relevant, however long the prompt is.
HELD_FLOORS = {1: 0.75, 2: 0.4, 3: 0.3}
# A prompt with an unknown proper name is mostly about that name: a memory that shares other words
# with it must share many.
STRANGER_COVERAGE_FLOORS = {1: 0.7, 2: 0.4, 3: 0.3}
STRANGER_HELD_FLOORS = {1: 1.0, 2: 0.65, 3: 0.5}
# A prompt that names the memory's entity needs fewer other words, the fewer memories share that
# entity: "pytest" identifies the only rule about pytest, but "React" none of fifty.
NAMED_EASE, RARELY_NAMED_EASE = 0.6, 0.4
RARE_HITS = 5
EPISODE_COVERAGE, EPISODE_SPECIFIC = 0.4, 2
STATED_IN = 0.85
# A hit far below the best is not worth its characters.
SHARE_OF_BEST = 0.6
GIVEN, SHOWN = "given to this session before", "MEMORY.md shows it"
SAID_HERE = "said in this very session"
TOO_LITTLE = "shares too little with the prompt"
ANOTHER_NUMBER = "is about another number or letter of the same"
STRANGER = "shares too little with a prompt about somebody or something unknown"
# A paste is recognised by its shape: this many lines, most of them not sentences.
PASTE_LINES, PASTE_SHARE = 8, 0.6


def above_floor(
    hits: Sequence[Hit],
    query: Query,
    *,
    seen: Container[str] = frozenset(),
    shown: Container[str] = frozenset(),
    here: str = "",
    since: str = "",
) -> list[Hit]:
    """Return the hits that this prompt is certainly about, in the same order; often none.

    `seen` are ids of hits that the session's model already has, `shown` ids of records that
    MEMORY.md shows. Statements of the session `here` are known to its model, unless they are older
    than `since`, its last compaction (ISO 8601 or ''). Outdated memories count only if the question
    asks for the past; past turns only if they are strong, and not the turn in which a record was
    stated that is among the hits or known already.
    """
    if is_silent(query):
        return []
    against = verdicts(hits, query, seen=seen, shown=shown, here=here, since=since)
    return [hit for hit, verdict in zip(hits, against, strict=True) if not verdict]


def verdicts(
    hits: Sequence[Hit],
    query: Query,
    *,
    seen: Container[str] = frozenset(),
    shown: Container[str] = frozenset(),
    here: str = "",
    since: str = "",
) -> list[str]:
    """Return for each hit the reason why it is not injected for this prompt; '' for the others."""
    floor = _Floor(query, hits)
    stated = [_own_words(hit.text) for hit in hits if hit.source != "episodes"]
    return [
        SAID_HERE
        if here and _is_from(here, hit) and hit.timestamp > since
        else _verdict(hit, floor, stated, seen, shown)
        for hit in hits
    ]


def _is_from(session: str, hit: Hit) -> bool:
    """Return True if a hit was said in this session, so its model knows it.

    Local records are excluded, since they are saved to be returned; those of tools, too, since they
    may never have been shown.
    """
    known = hit.metadata
    is_kept = known.get("scope") == "local" or known.get("trust") == "tool"
    return known.get("session") == session and not is_kept


def _verdict(
    hit: Hit,
    floor: _Floor,
    stated: Sequence[frozenset[str]],
    seen: Container[str],
    shown: Container[str],
) -> str:
    if hit.id in seen:
        return GIVEN
    if (hit.metadata.get("record") or hit.id) in shown:
        return SHOWN
    if hit.metadata.get("type") == "session":
        return "what a session was about, which is there for those who ask"
    if hit.metadata.get("over") and not floor.past:
        return "replaced, or no longer valid"
    lacking = floor.lacks(hit)
    if not lacking and hit.source == "episodes" and _repeats(hit, stated):
        return "the turn in which a listed memory was stated"
    return lacking


def shortlist(hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits above the floor that ranking could still choose, most relevant first.

    These are twice as many facts as are shown, twice as many shared ones, and twice as many past
    turns.
    """
    facts, theirs, said = _sorted_out(hits)
    return facts[: 2 * MAX_HITS] + theirs[: 2 * MAX_HITS] + said[: 2 * MAX_EPISODES]


def choose(hits: Sequence[Hit], *, max_hits: int = MAX_HITS) -> list[Hit]:
    """Return the ranked hits that are worth their characters: facts first, then past turns.

    Hits far less relevant than the best own hit are left out. Of shared ones at most two follow the
    facts, or more if there are no own facts.
    """
    facts, theirs, said = _sorted_out(hits)
    facts = _near_the_best(facts)[:max_hits]
    shared = _near_the_best(theirs, facts)[: MAX_OTHERS if facts else max_hits]
    facts = facts[: max_hits - len(shared)] + shared
    return facts + _near_the_best(said)[: min(MAX_EPISODES, max_hits - len(facts))]


def _sorted_out(hits: Sequence[Hit]) -> tuple[list[Hit], list[Hit], list[Hit]]:
    """Split hits into own facts, shared facts, and past turns."""
    facts = [hit for hit in hits if hit.source != "episodes"]
    return (
        [hit for hit in facts if not is_of_others(hit)],
        [hit for hit in facts if is_of_others(hit)],
        [hit for hit in hits if hit.source == "episodes"],
    )


def is_silent(query: Query) -> bool:
    """Return True if memory cannot know anything about the prompt: a greeting, a paste, a nod."""
    return not any(c.strength >= SPECIFIC for c in concepts.concepts(query)) or is_paste(query.text)


def is_paste(text: str) -> bool:
    """Return True if the text is mostly a log, a trace or code rather than written by a person."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) < PASTE_LINES:
        return False
    return sum(map(_is_machine_line, lines)) > PASTE_SHARE * len(lines)


class _Floor:
    """The requirements of one prompt for a memory."""

    def __init__(self, query: Query, hits: Sequence[Hit]) -> None:
        self.past = query.past
        self.strengths: Mapping[str, float] = {c.text: c.strength for c in concepts.concepts(query)}
        self.stems = frozenset(s for c in concepts.concepts(query) for s in c.stems)
        self.names = concepts.name_keys(query.asked) | {
            name_key(hint) for hint in query.entity_hints
        }
        if _names_a_stranger(query, hits):
            self.coverage, self.held = STRANGER_COVERAGE_FLOORS, STRANGER_HELD_FLOORS
        else:
            self.coverage, self.held = COVERAGE_FLOORS, HELD_FLOORS
        self.numbered = _answered(_numbered(words(query.asked), _marks(query)), hits)
        self.sharing: dict[str, int] = {}
        for hit in hits:
            for key in set(map(name_key, hit.entities)):
                self.sharing[key] = self.sharing.get(key, 0) + 1

    def lacks(self, hit: Hit) -> str:
        """Return what the memory does not share with the prompt; '' if it is above the floor."""
        specific = self._specific(hit)
        if not specific:
            return "shares no word that says what the prompt is about"
        if self._is_of_another_number(hit.text):
            return ANOTHER_NUMBER
        if hit.source == "episodes":
            return self._lacks_as_episode(hit, specific)
        ease = self._ease(hit)
        shared = min(specific, max(self.coverage))
        if _coverage(hit) >= self.coverage[shared] * ease:
            return ""
        if self._held(hit.text) >= self.held[shared] * ease:
            return ""
        return STRANGER if self.coverage is STRANGER_COVERAGE_FLOORS else TOO_LITTLE

    def _lacks_as_episode(self, hit: Hit, specific: int) -> str:
        if hit.text.rstrip().endswith("?"):
            return "a past turn that only asks"
        strong = _coverage(hit) >= EPISODE_COVERAGE and specific >= EPISODE_SPECIFIC
        return "" if strong else "a past turn that shares too little"

    def _is_of_another_number(self, text: str) -> bool:
        """Return True if a text has another number for a noun than the prompt."""
        other = _all_numbered(text) if self.numbered else {}
        return any(
            noun in other and other[noun].isdisjoint(asked_for)
            for noun, asked_for in self.numbered.items()
        )

    def _specific(self, hit: Hit) -> int:
        matched: Iterable[str] = hit.metadata.get("matched", ())
        return sum(self.strengths.get(term, 0.0) >= SPECIFIC for term in matched)

    def _ease(self, hit: Hit) -> float:
        """Return the factor of the floor for a hit whose entities the prompt names."""
        sharing = [
            self.sharing.get(name_key(name), 1) for name in hit.entities if self._is_named(name)
        ]
        if not sharing:
            return 1.0
        return RARELY_NAMED_EASE if min(sharing) <= RARE_HITS else NAMED_EASE

    def _is_named(self, name: str) -> bool:
        """Return True if the prompt names this entity: whole, or by a name in it (`pagination`)."""
        if name_key(name) in self.names:
            return name.lower() not in concepts.WEAK
        return any(self.strengths.get(word, 0.0) >= concepts.NAME_STRENGTH for word in words(name))

    def _held(self, text: str) -> float:
        """Return the share of the memory's own content words that the prompt holds."""
        own = {stem(w) for w in words(text) if w not in STOPWORDS and w not in concepts.WEAK}
        return len(own & self.stems) / len(own) if own else 0.0


def _marks(query: Query) -> set[str]:
    """Return the numbers and single letters of the prompt."""
    return {term for term in query.terms if term.isdigit() or (len(term) == 1 and term.isascii())}


def _answered(
    asked_for: dict[tuple[str, bool], set[str]], hits: Sequence[Hit]
) -> dict[tuple[str, bool], set[str]]:
    """Return the nouns whose very number a hit has: hits with another number are then not meant."""
    if not asked_for:
        return {}
    known = [_all_numbered(hit.text) for hit in hits if not hit.metadata.get("over")]
    return {
        noun: numbers
        for noun, numbers in asked_for.items()
        if any(numbers & one.get(noun, set()) for one in known)
    }


def _all_numbered(text: str) -> dict[tuple[str, bool], set[str]]:
    found = words(text)
    return _numbered(found, {word for word in found if word.isdigit() or len(word) == 1})


def _numbered(found: Sequence[str], marks: Container[str]) -> dict[tuple[str, bool], set[str]]:
    """Return nouns with the numbers and letters before ("7 minutes") or after them ("ticket 7")."""
    numbered: dict[tuple[str, bool], set[str]] = {}
    for at, word in enumerate(found):
        if word not in marks:
            continue
        for other, is_before in ((at - 1, True), (at + 1, False)):
            noun = found[other] if 0 <= other < len(found) else ""
            if len(noun) > 1 and noun not in STOPWORDS and not noun.isdigit():
                numbered.setdefault((stem(noun), is_before), set()).add(word)
    return numbered


def _names_a_stranger(query: Query, hits: Sequence[Hit]) -> bool:
    """Return True if the prompt has proper names (`Caroline`, `Qdrant`), and no hit holds any."""
    names = [
        hint
        for hint in query.entity_hints
        if len(hint) > 2 and hint[0].isupper() and hint[1:].islower()
    ]
    if not names:
        return False
    asked_for = {word for name in names for word in words(name)}
    return not any(
        word in asked_for
        for hit in hits
        for text in (hit.text, *hit.entities)
        for word in words(text)
    )


def _coverage(hit: Hit) -> float:
    return float(hit.metadata.get("coverage", 0.0))


def _repeats(episode: Hit, stated: Sequence[frozenset[str]]) -> bool:
    """Return True if a turn holds (nearly) all words of a fact, so the fact was stated in it."""
    said = _own_words(episode.text)
    return any(own and len(own & said) >= STATED_IN * len(own) for own in stated)


def _own_words(text: str) -> frozenset[str]:
    return frozenset(stem(w) for w in words(text) if w not in STOPWORDS)


def _near_the_best(hits: Sequence[Hit], beside: Sequence[Hit] = ()) -> list[Hit]:
    most = max((hit.relevance for hit in (*hits, *beside)), default=0.0)
    return [hit for hit in hits if hit.relevance >= SHARE_OF_BEST * most]


def _is_machine_line(line: str) -> bool:
    """Return True for a line that ends, begins or is built like code, a log or a trace."""
    if line[-1] in "{};\\" or line.startswith(
        ("at ", "File ", "Traceback", "+", "-", "|", "$", ">")
    ):
        return True
    letters = sum(c.isalpha() or c == " " for c in line)
    return line[0].isdigit() or line[0] == "[" or letters < 0.75 * len(line)
