"""Selection of the memories that hooks inject: only certainly relevant ones, and each only once.
Past turns are injected only for a prompt that asks for them, relations only for a question about
relations. `floor` decides which memories are relevant to a prompt.
"""

from collections.abc import Container, Iterator, Sequence
from functools import lru_cache
from itertools import product
from typing import TypedDict, Unpack

from memory_fabric.language import concepts, negations, questions
from memory_fabric.language.vocabulary import TECHNOLOGIES
from memory_fabric.language.word_lists import sections
from memory_fabric.language.word_lists import words as listed
from memory_fabric.models import Hit, Query
from memory_fabric.recall.floor import FIXES, SPECIFIC, Floor
from memory_fabric.recall.normalize import is_of_others
from memory_fabric.recall.parse import is_paste, may_hold_a_log, parse, sentences, written
from memory_fabric.recall.render import within_share
from memory_fabric.recall.retrieve import FOR_PROMPTS
from memory_fabric.text import STOPWORDS, content_stems, stem, words

PROMPT_CHARS, AGENT_CHARS = 2000, 1200
# Limits per prompt: MAX_HITS facts (MAX_SUBJECTS if on several subjects), MAX_EPISODES past turns.
MAX_HITS, MAX_SUBJECTS, MAX_EPISODES = 2, 3, 3
STATED_IN = 0.85
# A further hit needs at least this share of the best hit's relevance to be injected.
SHARE_OF_BEST = 0.6
GIVEN, SHOWN = "given to this session before", "MEMORY.md shows it"
# In a session's ledger of injected memories, this prefix marks records injected because they
# contradict a prompt. A record is injected once for this reason, even if it was shown before.
CONFLICT = "conflict:"
UNASKED_TURN = "a past turn, which a prompt gets only if it asks for the past"
UNASKED_RELATION = "a relation, which only a question about relations gets"
A_PASTE = "it is mostly a log, a trace or code"
# Texts that indicate an error in a prompt with few but long lines.
FAILED = ("rror:", "rror[", "rror [", "ERR", "xception", "Traceback", "FAIL", "panic", "fatal:")
FAILURE_CHARS = 200
FIRST_TERMS = 32
QUESTION_WORDS = ("what ", "which ", "who ", "how ")
# Cached: several steps need the words by which a prompt refers to earlier sessions.
_words_of_past_talk = lru_cache(4)(questions.asked_by)


def query_of(text: str, now: str) -> Query:
    """Parse a prompt into a query, without words that refer to earlier sessions ("last time").
    Names, times and requests are read only from what a person wrote, not from a log pasted into the
    prompt. Relations in the graph are followed only if a question asks about relations.
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
    """Return True if a prompt has many lines, or is long and contains an error ("Traceback")."""
    if may_hold_a_log(text):
        return True
    return len(text) > FAILURE_CHARS and any(sign in text for sign in FAILED)


def with_conflicts(hits: Sequence[Hit], query: Query) -> list[Hit]:
    """Return all hits; current records that contradict a request in the prompt get `conflict`."""
    if is_paste(query.text):
        return list(hits)
    clauses = requests(query.asked)
    return [
        hit.marked({"conflict": True})
        if hit.source == "records" and not hit.metadata.get("over") and contradicts(hit, clauses)
        else hit
        for hit in hits
    ]


def sources_for(query: Query) -> frozenset[str]:
    """Return the sources to search for a prompt; past turns only if the prompt asks for them."""
    return FOR_PROMPTS | {"episodes"} if _words_of_past_talk(query.text) else FOR_PROMPTS


class Known(TypedDict, total=False):
    """Memories already in context: injected, in MEMORY.md, or from this session after `since`."""

    seen: Container[str]  # ids of injected hits
    shown: Container[str]  # ids of records in MEMORY.md
    here: str  # the session's id
    since: str  # the time of the session's last compaction (ISO 8601), or ''


def above_floor(hits: Sequence[Hit], query: Query, **known: Unpack[Known]) -> list[Hit]:
    """Return, in order, the certainly relevant hits that are not `known`. There are often none."""
    if is_silent(query):
        return []
    against = verdicts(hits, query, **known)
    return [hit for hit, verdict in zip(hits, against, strict=True) if not verdict]


def verdicts(hits: Sequence[Hit], query: Query, **known: Unpack[Known]) -> list[str]:
    """Return for each hit a reason against injecting it ("MEMORY.md shows it"), or '' if none."""
    talk = bool(_words_of_past_talk(query.text))
    floor = Floor(query, hits, talk=talk, is_paste=is_paste(query.text) and not query.asked)
    stated = [content_stems(hit.text) for hit in hits if hit.source != "episodes"]
    return [_verdict(hit, floor, stated, known) for hit in hits]


def _verdict(hit: Hit, floor: Floor, stated: Sequence[frozenset[str]], known: Known) -> str:
    seen, about = known.get("seen", ()), hit.metadata
    # Exclude neither local records, which are for this session, nor tools', which may be new to it.
    is_kept = about.get("scope") == "local" or about.get("trust") == "tool"
    is_from_here = known.get("here") and about.get("session") == known["here"] and not is_kept
    if is_from_here and hit.timestamp > known.get("since", ""):
        return "said in this very session"
    if about.get("conflict"):
        return GIVEN if f"{CONFLICT}{hit.id}" in seen else ""
    if hit.id in seen:
        return GIVEN
    if (about.get("record") or hit.id) in known.get("shown", ()):
        return SHOWN
    if about.get("type") == "session":
        return "what a session was about, which is there for those who ask"
    if hit.source == "episodes" and not floor.talk:
        return UNASKED_TURN
    if about.get("entityType") == "relation":
        if len(about.get("relations", ())) > 1:
            return ""  # accept: a path of relations is found only if the prompt asks for it
        if not floor.asks_for_relations:
            return UNASKED_RELATION
    if about.get("over") and not floor.past:
        return "replaced, or no longer valid"
    if about.get("symptom"):
        return ""
    if about.get("type") in FIXES and may_hold_a_log(floor.text):
        return "a fix of another failure than the prompt shows"
    lacking = A_PASTE if floor.is_paste else floor.lacks(hit)
    turn_stems = content_stems(hit.text if hit.source == "episodes" and not lacking else "")
    if turn_stems and any(own and _holds(turn_stems, own) for own in stated):
        return "the turn in which a listed memory was stated"
    return lacking


def choose(hits: Sequence[Hit], query: Query, *, max_hits: int = MAX_HITS) -> list[Hit]:
    """Return the hits to inject: at most `max_hits` facts (or one on each subject, up to
    MAX_SUBJECTS, if that is more), then past turns. Facts that contradict the prompt come first,
    then the best one on each subject. Other hits are left out if far less relevant than the best.
    Of the facts, other people's come last and get only a share of the places (`within_share`).
    """
    turns = [hit for hit in hits if hit.source == "episodes"]
    facts = [hit for hit in hits if hit.source != "episodes" and not is_of_others(hit)]
    theirs = [hit for hit in hits if hit.source != "episodes" and is_of_others(hit)]
    facts.sort(key=lambda hit: not hit.metadata.get("conflict"))
    # Take the first fact, and each that matches a name or two topics that no taken fact matches.
    strengths = {c.text: c.strength for c in concepts.concepts(query)}
    shared_terms: set[str] = set()
    subjects: list[Hit] = []
    for hit in facts:
        fresh = {term for term in hit.metadata.get("matched", ()) if term not in shared_terms}
        specific = [strengths[t] for t in fresh if strengths.get(t, 0.0) >= SPECIFIC]
        is_new = len(specific) > 1 or max(specific, default=0.0) > SPECIFIC
        if not subjects or is_new or hit.metadata.get("conflict"):
            subjects.append(hit)
            shared_terms |= fresh
    max_hits = max(max_hits, min(len(subjects), MAX_SUBJECTS))
    facts = [*subjects, *(hit for hit in _near_the_best(facts) if hit not in subjects)][:max_hits]
    near = _near_the_best(theirs, facts)
    shared = within_share(near, author_of, max_hits, beside_own=bool(facts))
    facts = facts[: max_hits - len(shared)] + shared
    return facts + _near_the_best(turns)[:MAX_EPISODES]


def author_of(hit: Hit) -> str:
    return str(hit.metadata.get("author") or "")


def is_silent(query: Query) -> bool:
    """Return True if a prompt has no topic to search for, for example a greeting or an assent."""
    first = query._replace(terms=query.terms[:FIRST_TERMS])  # a few terms usually suffice
    return not query.traverse and not any(
        c.strength >= SPECIFIC for part in (first, query) for c in concepts.concepts(part)
    )


def states(text: str, statement: str) -> bool:
    """Return True if a text contains nearly all content words of a statement."""
    own = content_stems(statement)
    return bool(own) and _holds(content_stems(text), own)


def _holds(stems: frozenset[str], own: frozenset[str]) -> bool:
    return len(own & stems) >= STATED_IN * len(own)


def _near_the_best(hits: Sequence[Hit], beside: Sequence[Hit] = ()) -> list[Hit]:
    most = max((hit.relevance for hit in (*hits, *beside)), default=0.0)
    return [hit for hit in hits if hit.relevance >= SHARE_OF_BEST * most]


# Types of records that can contradict a request, unless the record's trust is in UNTRUSTED.
KINDS = frozenset("constraint preference decision pattern note".split())
UNTRUSTED = frozenset(("tool", "foreign"))
MAX_SENTENCES = 40
# "sin", "sans" and "sem" are left out, because they negate only a part of a request.
NEGATORS = negations.NEVER | negations.NOT | negations.CONTRACTED
NEGATORS |= frozenset("without без avoid stop mai".split())
# Phrases that introduce the alternative that a record rejects.
_INSTEAD = [tuple(line.split()) for line in sections("questions")["instead of"]]
# Words that only express whether or how far an action is required ("must"), not which action.
_MODALS = STOPWORDS | listed("questions", "modal verbs")
# A verb such as "use" may be this many words before the name: "use our own Redis".
_BEFORE = 3
# Verbs of change, which may be further away: "move product photos over to Thumbor".
_CHANGING, _FAR_BEFORE = frozenset("switch move migrate port convert change".split()), 7
# Prepositions that limit a choice: "npm, not yarn, for docs" rejects yarn only for docs.
_SCOPES = frozenset("for in on under at during für bei para pour per для".split())
Sentence = tuple[list[str], frozenset[str]]  # a sentence's words in order, and their stems


def requests(text: str) -> list[Sentence]:
    """Return the sentences of a prompt that may request an action: no questions or negations."""
    stated = (words(sentence) for sentence, end in sentences(text) if end not in "?？")
    clauses = [said for said in stated if said and NEGATORS.isdisjoint(said)]
    return [(said, frozenset(map(stem, said))) for said in clauses[:MAX_SENTENCES]]


def contradicts(hit: Hit, asked: Sequence[Sentence]) -> bool:
    """Return True if a record forbids or rejects an action that one of these sentences requests."""
    about = hit.metadata
    if about.get("type") not in KINDS or about.get("trust") in UNTRUSTED:
        return False
    hit_words = words(hit.text)
    rejected = [tuple(words(name)) for name in about.get("alternatives") or ()]
    for at, phrase in product(range(len(hit_words)), _INSTEAD):
        behind = hit_words[at + len(phrase) :]
        if tuple(hit_words[at : at + len(phrase)]) == phrase:
            rejected.append(tuple([word for word in behind if word not in _MODALS][:1]))
    denied = []
    if not NEGATORS.isdisjoint(hit_words):
        things = {part for name in hit.entities for part in words(name)}
        for clause in _denied_clauses(hit.text):
            if len(clause) > 1:
                denied.append(clause)
            elif clause[0] in things or clause[0] in TECHNOLOGIES:
                rejected.append(clause)
    stems = [frozenset(map(stem, clause)) for clause in denied]
    if any(clause <= sentence_stems for clause in stems for _, sentence_stems in asked):
        return True
    subject = _subject(hit_words, rejected) if _SCOPES & set(hit_words) else frozenset()
    fitting = [said for said, stems in asked if not subject or subject & stems]
    return any(_uses(said, name) for said in fitting for name in rejected if name)


def _denied_clauses(text: str) -> Iterator[tuple[str, ...]]:
    for sentence, _ in sentences(text):
        for clause in sentence.replace(" — ", ", ").replace(" but ", ", ").split(", "):
            clause_words = words(clause)
            at = next((i for i, word in enumerate(clause_words) if word in NEGATORS), -1)
            if at < 0:
                continue
            # The negation may stand between the denied words: "the shop is never seeded".
            behind = [w for w in clause_words[at + 1 :] if w not in _MODALS and w not in NEGATORS]
            before = [w for w in clause_words[:at] if w not in _MODALS and w not in NEGATORS]
            content = tuple(dict.fromkeys([*before, *behind] if before else behind))
            if content and behind:
                yield content


def _subject(said: Sequence[str], rejected: Sequence[Sequence[str]]) -> frozenset[str]:
    """Return a record's subject: the stems of its words that are neither common nor `rejected`."""
    places = listed("questions", "places")
    out = {word for name in rejected for word in name}.union(_MODALS, _SCOPES, places)
    return frozenset(stem(word) for word in said if word not in out)


def _uses(said: Sequence[str], name: Sequence[str]) -> bool:
    """Return True if a sentence requests the use of the named thing: "use npm", "npm install"."""
    size = len(name)
    for at in range(len(said) - size + 1):
        if tuple(said[at : at + size]) == tuple(name):
            before = said[max(0, at - _BEFORE) : at]
            after = said[at + size : at + size + 1]
            changed = "to" in before and _CHANGING & set(said[max(0, at - _FAR_BEFORE) : at])
            uses, commands = listed("questions", "uses"), listed("questions", "subcommands")
            if changed or uses & set(before) or commands & set(after):
                return True
    return False
