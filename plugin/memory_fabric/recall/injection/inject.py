"""Selection of what hooks inject: only records certainly relevant to the prompt, none twice.

Past turns are told only to a prompt that asks for them, relations only to a question about
relations. `floor` decides which records a prompt is about.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from memory_fabric.language import concepts, negations, questions
from memory_fabric.language.vocabulary import TECHNOLOGIES
from memory_fabric.models import Hit, Query
from memory_fabric.recall.dedupe import is_of_others, within_share
from memory_fabric.recall.injection.floor import FIXES, SPECIFIC, Floor
from memory_fabric.recall.parse import parse
from memory_fabric.recall.parts import is_paste, may_hold_a_log, sentences, written
from memory_fabric.recall.retrieve import FOR_PROMPTS
from memory_fabric.text import STOPWORDS, stem, words

PROMPT_CHARS, AGENT_CHARS = 2000, 1200
# The most facts for a prompt; one more, if it is about so many subjects; and the most past turns.
MAX_HITS, MAX_SUBJECTS, MAX_EPISODES = 2, 3, 3
STATED_IN = 0.85
# A hit far below the best is not worth its characters.
SHARE_OF_BEST = 0.6
GIVEN, SHOWN = "given to this session before", "MEMORY.md shows it"
# The ledger's name of a record that was told as contradicting a prompt, which MEMORY.md or the
# session's start may have told before.
CONFLICT = "conflict:"
SAID_HERE = "said in this very session"
UNASKED_TURN = "a past turn, which a prompt gets only if it asks for the past"
UNASKED_RELATION = "a relation, which only a question about relations gets"
ANOTHER_FAILURE = "a fix of another failure than the prompt shows"
A_PASTE = "it is mostly a log, a trace or code"
# Signs of an error, for a text of a few long lines.
FAILED = ("rror:", "rror[", "rror [", "ERR", "xception", "Traceback", "FAIL", "panic", "fatal:")
FAILURE_CHARS = 200
FIRST_TERMS = 32
QUESTION_WORDS = ("what ", "which ", "who ", "how ")


# The words by which a prompt asks for the past; asked for at several steps of one prompt.
_words_of_past_talk = lru_cache(4)(questions.asked_by)


def query_of(text: str, now: str) -> Query:
    """Return the query of a prompt, without the words by which it asks for earlier sessions.

    All its words are searched for; names, times and requests are those of what a person wrote, not
    of a log beside it. The graph is walked only for a question about relations.
    """
    query = parse(text, now=now, plain=True)
    question = written(query.text)
    if question != query.text:
        query = parse(question, now=now, plain=True)._replace(text=query.text, terms=query.terms)
    talk_words = _words_of_past_talk(query.text)
    about = tuple(term for term in query.terms if term not in talk_words)
    asks = "?" in query.text or query.text.lower().startswith(QUESTION_WORDS)
    return query._replace(terms=about, traverse=query.traverse and asks)


def may_show_a_failure(text: str) -> bool:
    """Return True if a prompt may show what has failed: many lines, or a long one with an error."""
    if may_hold_a_log(text):
        return True
    return len(text) > FAILURE_CHARS and any(sign in text for sign in FAILED)


def with_conflicts(hits: Sequence[Hit], query: Query) -> list[Hit]:
    """Mark the current records that contradict what the prompt asks for."""
    if is_paste(query.text):
        return list(hits)
    clauses = requests(query.asked)
    return [
        hit._replace(metadata={**hit.metadata, "conflict": True})
        if hit.source == "records" and not hit.metadata.get("over") and contradicts(hit, clauses)
        else hit
        for hit in hits
    ]


def sources_for(query: Query) -> frozenset[str]:
    """Return the sources that are searched for a prompt: past turns only if it asks for them."""
    return FOR_PROMPTS | {"episodes"} if _words_of_past_talk(query.text) else FOR_PROMPTS


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
    asks for the past; of past turns, not the one in which a record was stated that is among the
    hits or known already.
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
    talk = bool(_words_of_past_talk(query.text))
    floor = Floor(query, hits, talk=talk, is_paste=is_paste(query.text) and not query.asked)

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
    metadata = hit.metadata
    is_kept = metadata.get("scope") == "local" or metadata.get("trust") == "tool"
    return metadata.get("session") == session and not is_kept


def _verdict(
    hit: Hit,
    floor: Floor,
    stated: Sequence[frozenset[str]],
    seen: Container[str],
    shown: Container[str],
) -> str:
    if hit.metadata.get("conflict"):
        return GIVEN if f"{CONFLICT}{hit.id}" in seen else ""
    if hit.id in seen:
        return GIVEN
    if (hit.metadata.get("record") or hit.id) in shown:
        return SHOWN
    if hit.metadata.get("type") == "session":
        return "what a session was about, which is there for those who ask"
    if hit.source == "episodes" and not floor.talk:
        return UNASKED_TURN
    if hit.metadata.get("entityType") == "relation":
        if len(hit.metadata.get("relations", ())) > 1:
            return ""  # only paths that the prompt asks for are candidates
        if not floor.asks_for_relations:
            return UNASKED_RELATION
    if hit.metadata.get("over") and not floor.past:
        return "replaced, or no longer valid"
    if hit.metadata.get("symptom"):
        return ""
    if hit.metadata.get("type") in FIXES and may_hold_a_log(floor.text):
        return ANOTHER_FAILURE
    lacking = A_PASTE if floor.is_paste else floor.lacks(hit)
    if not lacking and hit.source == "episodes" and _repeats(hit, stated):
        return "the turn in which a listed memory was stated"
    return lacking


def choose(hits: Sequence[Hit], query: Query, *, max_hits: int = MAX_HITS) -> list[Hit]:
    """Return the ranked hits that are worth their characters: facts first, then past turns.

    What contradicts the prompt comes first, then the best hit for each of its subjects; of the
    others, those far less relevant than the best own hit are left out. Shared ones follow the
    facts, as many as their share (`share_of_others`).
    """
    facts, theirs, turns = _sorted_out(hits)
    facts.sort(key=lambda hit: not hit.metadata.get("conflict"))
    subjects = _best_of_each_subject(facts, query)
    max_hits = max(max_hits, min(len(subjects), MAX_SUBJECTS))
    facts = [*subjects, *(hit for hit in _near_the_best(facts) if hit not in subjects)][:max_hits]
    near = _near_the_best(theirs, facts)
    shared = within_share(near, author_of, max_hits, beside_own=bool(facts))
    facts = facts[: max_hits - len(shared)] + shared
    return facts + _near_the_best(turns)[:MAX_EPISODES]


def _best_of_each_subject(hits: Sequence[Hit], query: Query) -> list[Hit]:
    """Return the first hit, and each that shares with the prompt what no hit before it shares.

    That is a name, or two words that say what the prompt is about.
    """
    strengths = {c.text: c.strength for c in concepts.concepts(query)}
    shared: set[str] = set()
    best: list[Hit] = []
    for hit in hits:
        fresh = {term for term in hit.metadata.get("matched", ()) if term not in shared}
        specific = [strengths[t] for t in fresh if strengths.get(t, 0.0) >= SPECIFIC]
        is_new = len(specific) > 1 or max(specific, default=0.0) > SPECIFIC
        if not best or is_new or hit.metadata.get("conflict"):
            best.append(hit)
            shared |= fresh
    return best


def author_of(hit: Hit) -> str:
    """Return the author of a shared memory."""
    return str(hit.metadata.get("author") or "")


def _sorted_out(hits: Sequence[Hit]) -> tuple[list[Hit], list[Hit], list[Hit]]:
    """Split hits into own facts, shared facts, and past turns."""
    facts = [hit for hit in hits if hit.source != "episodes"]
    return (
        [hit for hit in facts if not is_of_others(hit)],
        [hit for hit in facts if is_of_others(hit)],
        [hit for hit in hits if hit.source == "episodes"],
    )


def is_silent(query: Query) -> bool:
    """Return True if memory cannot know anything about the prompt: a greeting or a nod."""
    first = query._replace(terms=query.terms[:FIRST_TERMS])  # hardly ever are all of them weak
    return not query.traverse and not any(
        c.strength >= SPECIFIC for part in (first, query) for c in concepts.concepts(part)
    )


def states(text: str, statement: str) -> bool:
    """Return True if a text holds (nearly) all words of a statement."""
    own = _own_words(statement)
    return bool(own) and len(own & _own_words(text)) >= STATED_IN * len(own)


def _repeats(episode: Hit, stated: Sequence[frozenset[str]]) -> bool:
    """Return True if a turn holds (nearly) all words of a fact, so the fact was stated in it."""
    turn_words = _own_words(episode.text)
    return any(own and len(own & turn_words) >= STATED_IN * len(own) for own in stated)


def _own_words(text: str) -> frozenset[str]:
    return frozenset(stem(w) for w in words(text) if w not in STOPWORDS)


def _near_the_best(hits: Sequence[Hit], beside: Sequence[Hit] = ()) -> list[Hit]:
    most = max((hit.relevance for hit in (*hits, *beside)), default=0.0)
    return [hit for hit in hits if hit.relevance >= SHARE_OF_BEST * most]


# Types of records that say what is done, and the trust of those that count nothing against it.
KINDS = frozenset("constraint preference decision pattern note".split())
UNTRUSTED = frozenset(("tool", "foreign"))
MAX_SENTENCES = 40
# "Sin", "sans" and "sem" are left out: they deny a part of what is asked for, not all of it.
NEGATORS = negations.NEVER | negations.NOT | negations.CONTRACTED
NEGATORS |= frozenset("without без avoid stop mai".split())
# Words behind which a record names what it rejects.
_INSTEAD = (("instead", "of"), ("rather", "than"), ("in", "place", "of"), ("en", "lugar", "de"),
            ("en", "vez", "de"), ("em", "vez", "de"), ("au", "lieu", "de"), ("invece", "di"),
            ("statt",), ("anstatt",), ("anstelle", "von"), ("вместо",))  # fmt: skip
# Words of a clause that only say whether something is done.
_MODALS = STOPWORDS | frozenset(
    """use uses used using must shall should may can allowed forbidden longer please let always
    usar usa usen utiliser utilise utilisez verwenden verwende verwendet benutzen nutzen usare
    используй использовать gebruik gebruiken""".split()
)
# Verbs and prepositions right before what is used.
_USING = frozenset(
    """use uses using install add adopt switch migrate move run try with via through
    usa usar use usemos usá usando instala instalar con mit nutze nutzen benutze verwende
    verwenden installiere nimm utilise utiliser installe avec usare installa com instale
    используй использовать установи поставь gebruik met użyj""".split()
)
_BEFORE = 3
# Verbs of change may stand further before what is used: "move product photos over to Thumbor".
_CHANGING, _FAR_BEFORE = frozenset("switch move migrate port convert change".split()), 7
_SUBCOMMANDS = frozenset(
    "add audit build ci create exec init install publish remove run start test uninstall update "
    "upgrade".split()
)
# Words before what a choice is limited to; it is then no choice against others' use of the same.
_SCOPES = frozenset("for in on under at during für bei para pour per для".split())
_GENERIC = frozenset(
    "project projects repo repository code codebase app everything everywhere place all new".split()
)


class Sentence(NamedTuple):
    """A sentence of a prompt: its words in order, and their stems."""

    words: tuple[str, ...]
    stems: frozenset[str]


def requests(text: str) -> list[Sentence]:
    """Return the sentences of a prompt that ask for something to be done."""
    clauses = []
    for sentence, end in sentences(text):
        clause_words = words(sentence)
        if clause_words and end not in "?？" and NEGATORS.isdisjoint(clause_words):
            clauses.append(Sentence(tuple(clause_words), frozenset(map(stem, clause_words))))
    return clauses[:MAX_SENTENCES]


def contradicts(hit: Hit, asked: Sequence[Sentence]) -> bool:
    """Return True if a record says that something these sentences ask for is not done."""
    about = hit.metadata
    if about.get("type") not in KINDS or about.get("trust") in UNTRUSTED:
        return False
    hit_words = words(hit.text)
    rejected = [tuple(words(name)) for name in about.get("alternatives") or ()]
    rejected += _behind_instead(hit_words)
    denied = []
    if not NEGATORS.isdisjoint(hit_words):
        things = {part for name in hit.entities for part in words(name)}
        for clause in _denied_clauses(hit.text):
            if len(clause) > 1:
                denied.append(clause)
            elif clause[0] in things or clause[0] in TECHNOLOGIES:
                rejected.append(clause)
    stems = [frozenset(map(stem, clause)) for clause in denied]
    if any(clause <= sentence.stems for clause in stems for sentence in asked):
        return True
    subject = _subject(hit_words, rejected) if _SCOPES & set(hit_words) else frozenset()
    return any(
        _uses(sentence.words, name)
        for sentence in asked
        if not subject or subject & sentence.stems
        for name in rejected
        if name
    )


def _denied_clauses(text: str) -> Iterator[tuple[str, ...]]:
    """Yield the content words behind the negation of each clause of a record."""
    for sentence, _ in sentences(text):
        for clause in sentence.replace(" — ", ", ").replace(" but ", ", ").split(", "):
            clause_words = words(clause)
            at = next((i for i, word in enumerate(clause_words) if word in NEGATORS), -1)
            if at < 0:
                continue
            # "is never seeded": what is not done stands before it, too.
            behind = [w for w in clause_words[at + 1 :] if w not in _MODALS and w not in NEGATORS]
            before = [w for w in clause_words[:at] if w not in _MODALS and w not in NEGATORS]
            content = tuple(dict.fromkeys([*before, *behind] if before else behind))
            if content and behind:
                yield content


def _behind_instead(said: Sequence[str]) -> list[tuple[str, ...]]:
    behind: list[tuple[str, ...]] = []
    for at in range(len(said)):
        for phrase in _INSTEAD:
            if tuple(said[at : at + len(phrase)]) == phrase:
                name = next((w for w in said[at + len(phrase) :] if w not in _MODALS), "")
                behind.append((name,) if name else ())
    return behind


def _subject(said: Sequence[str], rejected: Sequence[Sequence[str]]) -> frozenset[str]:
    """Return the stems of what a choice is about: GraphQL for the mobile API, and nothing else."""
    out = {word for name in rejected for word in name}.union(_MODALS, _GENERIC, _SCOPES)
    return frozenset(stem(word) for word in said if word not in out)


def _uses(said: Sequence[str], name: Sequence[str]) -> bool:
    """Return True if a sentence uses something by name: "use npm", "npm install"."""
    size = len(name)
    for at in range(len(said) - size + 1):
        if tuple(said[at : at + size]) == tuple(name):
            before = said[max(0, at - _BEFORE) : at]
            after = said[at + size : at + size + 1]
            changed = "to" in before and _CHANGING & set(said[max(0, at - _FAR_BEFORE) : at])
            if changed or _USING & set(before) or _SUBCOMMANDS & set(after):
                return True
    return False
