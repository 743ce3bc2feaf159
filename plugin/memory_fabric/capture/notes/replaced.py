"""The records that a note replaces. A note refers to a record by its id or by words of its text. A
record with the user's trust is closed only by a note that quotes the user's words on its subject.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import takewhile
from math import log

from memory_fabric import models
from memory_fabric.capture.clauses import is_denied, is_left, without_lead_in
from memory_fabric.capture.notes.typed import assents, tokens_of
from memory_fabric.capture.remember import kind_of
from memory_fabric.capture.segments import is_question, segments
from memory_fabric.ids import short_id
from memory_fabric.language.concepts import WEAK_STRENGTH, concepts, stems_of
from memory_fabric.models import Provenance, Query, Record
from memory_fabric.patterns import pattern
from memory_fabric.rules.effects import binds
from memory_fabric.store.memory import Memory
from memory_fabric.store.queries.conditions import match_expression, number_of_texts
from memory_fabric.store.records import about, key_of
from memory_fabric.store.schema import CURRENT
from memory_fabric.text import STOPWORDS, cjk_pairs, content_stems, same_form, stem, terms, words

MIN_ID_CHARS, MAX_LOOKED_AT = 6, 8
# A quotation repeats a record if it contains at least this share of the record's words.
MOSTLY = 0.8
# Minimum shares of words, weighted by rarity. Words mean a record if they include SAME of its
# words, and if the record has NAME_HELD of them. A sentence is about a record if it includes HELD
# of the record's words, and if the record has enough of the sentence's words. BESIDE_ONE is always
# enough. BESIDE_VALUE is enough if each lacks only one specific word of the other. BESIDE_TWO is
# enough if they share two rare words, and the sentence has SAME of the record's words or lacks only
# one specific word of it.
SAME, HELD, NAME_HELD = 0.6, 0.5, 0.5
BESIDE_TWO, BESIDE_VALUE, BESIDE_ONE = 0.25, 0.4, 0.6
# Sentences have the same subject if they share this many words and each has at most one other.
FRAME = 3
# Two sentences have the same subject if they begin with this many equal words, two of them rare.
LEADING = 3
# A word is common if more than COMMON_FROM texts, and more than this share of all, contain it.
COMMON_SHARE, COMMON_FROM = 0.1, 3
MAX_COUNTED = 1000
# Verbs that only express that a decision was made.
_STATING = frozenset(
    map(stem, "decide decided agree agreed settle settled choose chose chosen pick picked".split())
)
_SENTENCE_END = r"(?<=[.!?;:])\s+|(?<=[。！？；।])|\n+"
# Words that a sentence may add if it only repeats a record: "yes, we still use it".
_STILL = """still already indeed yet weiterhin immer noch bereits toujours encore déjà todavía aún
    ainda já"""
_UNSAID = assents().union(STOPWORDS, map(stem, _STILL.split())) - set("bcdefghjklmnopqrtuvwxyz")
# Words that make the order of two names significant: "X instead of Y".
_COMPARING = frozenset("instead not rather over statt anstatt lieber vez lugar plutôt lieu".split())
_PROMPT = "prompt"  # the source of records stated in prompts
_HEX = frozenset("0123456789abcdef-")
_OPEN = f"{CURRENT} AND scope <> 'local'"


def id_in(name: str) -> str:
    """Return the id in the value of `Instead of:` or `Dropped:`, without brackets, or ''."""
    bare = name.strip(" []`.'\"").lower().removeprefix("record:")
    return bare if len(bare) >= MIN_ID_CHARS and _HEX.issuperset(bare) else ""


def with_id(memory: Memory, ending: str) -> list[Record]:
    """Return the records whose id ends with `ending`, including replaced records."""
    return list(memory.find_records("scope <> 'local' AND id LIKE ?", (f"%{ending}",), 4))


def named(memory: Memory, name: str, text: str = "", *, surely: bool = False) -> list[Record]:
    """Return the current record that `name` (an id or words) means, in a list; [] if uncertain.
    Words mean a record if most of its rare words are in `name` or the note's `text`. With `surely`,
    the record must also have all words of `name`, and both or neither deny something.
    """
    if id_ := id_in(name):
        records = memory.find_records(f"{_OPEN} AND id LIKE ?", ("%" + id_,), 2)
        return list(records) if len(records) == 1 else []
    shared = Shared(memory)
    scored = []
    for record in matching(memory, name):
        # `name` may repeat the record's own words or the user's, as both are shown: compare both.
        in_words = [what for what in (models.users_words(record), record.what) if what]
        fitting = [what for what in in_words if _is_all_in(name, what)] if surely else []
        what = (fitting or [record.what])[0]
        if same_form(what) == same_form(name):
            return [record]
        share, number, *_ = shared(what, f"{name} {text}")
        is_near = number > 1 and share >= SAME and shared(name, what)[0] >= NAME_HELD
        if is_near and (fitting or not surely):
            scored.append((share, record.status == "active", record))
    scored.sort(key=lambda entry: entry[:2], reverse=True)
    is_unclear = len(scored) > 1 and scored[0][:2] == scored[1][:2]
    return [] if is_unclear else [record for *_, record in scored[:1]]


def _is_all_in(name: str, what: str) -> bool:
    is_in = content_stems(name) <= content_stems(what)
    return is_in and is_denied(name) == is_denied(without_lead_in(what))


class Shared:
    """Measures how much of a text another text contains; specific and rare words weigh more."""

    def __init__(self, memory: Memory) -> None:
        self._databases = memory.databases()
        name = memory.project.name if memory.project else ""
        self._unsaid = _STATING.union(map(stem, words(name)))
        self._texts = number_of_texts(self._databases)
        self._holding = lru_cache(MAX_COUNTED)(
            lambda spellings: number_of_texts(self._databases, match_expression(spellings))
        )

    def __call__(self, text: str, other: str) -> tuple[float, int, int, int, int]:
        """Return the weighted share of the words of `text` that `other` has, and four counts of
        words in `text`: shared; shared, rare and specific; missing and specific; missing.
        """
        held, total, weighed, number, strong, missing = stems_of(other), 0.0, 0.0, 0, 0, [0, 0]
        # Omit CJK runs of 3 or more characters: `terms` returns them as character pairs, too.
        parted = [t for t in terms(text.lower()) if t.isascii() or not cjk_pairs(t) or len(t) < 3]
        for concept in concepts(Query(text, tuple(parted))):
            if concept.stems <= self._unsaid:
                continue
            holding = self._holding(concept.spellings)
            weight = concept.strength * log(1 + (self._texts + COMMON_FROM) / (holding + 0.5))
            total += weight
            if not held & concept.stems:
                missing = [missing[0] + (concept.strength > WEAK_STRENGTH), missing[1] + 1]
            else:
                weighed, number = weighed + weight, number + 1
                is_rare = holding <= max(COMMON_FROM, COMMON_SHARE * self._texts)
                strong += is_rare and concept.strength > WEAK_STRENGTH
        return weighed / (total or 1.0), number, strong, missing[0], missing[1]

    def is_about(self, said: str, old: Record) -> bool:
        """Return True if `said` has a new statement (no question) on the subject of `old`."""
        texts = {old.what, str(old.evidence.get(models.QUOTATION) or old.what)}
        for sentence in filter(str.strip, pattern(_SENTENCE_END).split(said)):
            if is_question(sentence) or any(_confirms(sentence, text) for text in texts):
                continue
            for text in texts:
                share, number, strong, *missing = self(text, sentence)
                beside, _, _, *new = self(sentence, text)
                if number >= FRAME and missing[1] <= 1 and new[1] <= 1:
                    return True
                pairs = zip(words(sentence), words(text), strict=False)
                beginning = takewhile(lambda pair: stem(pair[0]) == stem(pair[1]), pairs)
                lead = " ".join(word for word, _ in beginning)
                _, leading, rare, *_ = self(lead, lead)
                if leading >= LEADING and rare > 1:
                    return True
                if number < 2 or not strong or share < HELD:
                    continue
                if strong > 1 and (share >= SAME or missing[0] == 1) and beside >= BESIDE_TWO:
                    return True
                if beside >= (BESIDE_VALUE if missing[0] == new[0] == 1 else BESIDE_ONE):
                    return True
        return False


def _confirms(sentence: str, text: str) -> bool:
    """Return True if a sentence only repeats a text, with the same denials and no new words."""
    tokens = tokens_of(sentence)
    stems, on_record = list(map(stem, tokens)), list(map(stem, tokens_of(text)))
    if set(stems) - set(on_record) - _UNSAID or is_left(sentence) != is_left(text):
        return False
    in_common = [word for word in stems if word in on_record]
    if in_common != on_record and not _COMPARING.isdisjoint(tokens):
        return False
    return is_denied(sentence) == is_denied(text)


def refusal(memory: Memory, new: Record, said: str, old: Record) -> str:
    """Return why a note that quotes the sentences `said` may not close a record; '' if it may."""
    if models.PASTED in old.evidence:
        return "waits for the user's yes"
    if old.pinned:
        return "pinned"
    if old.trust == "user":
        if binds(old):
            return "it binds"
        if models.TRUST_ORDER[new.trust] < models.TRUST_ORDER[old.trust] or not said:
            return "the user's"
        if not Shared(memory).is_about(said, old):
            return "the user's words are about something else"
    return "" if models.may_close(new, old) else f"of scope {old.scope}, domain {old.domain}"


def earlier(
    memory: Memory, note: Record, compared: Sequence[Record], said: str
) -> tuple[Record, ...]:
    """Return at most one record of another session, on the subject of `note`, that `note` may
    close. Records in `compared` are skipped. `said` are the user's words that the note quotes.
    """
    ids = {note.id, *(old.id for old in compared)}
    shared = Shared(memory)
    for old in matching(memory, note.what):
        if old.id in ids or old.status != "active" or old.session == note.session:
            continue
        share, _, strong, *_ = shared(old.what, note.what)
        is_near = strong > 1 and max(share, shared(note.what, old.what)[0]) >= HELD
        if is_near and not refusal(memory, note, said, old):
            return (old,)
    return ()


def stated_in(memory: Memory, said: str, session: str) -> list[Record]:
    """Return the records from this session's prompts whose words are in what the user `said`."""
    quoted = content_stems(said)
    stated = memory.find_records(f"{_OPEN} AND source = ? AND session = ?", (_PROMPT, session))
    pairs = [(record, content_stems(record.what)) for record in stated]
    return [record for record, own in pairs if own and len(own & quoted) >= MOSTLY * len(own)]


def is_restated(old: Record, note: Record) -> bool:
    """Return True if a note says what a prompt's record says, in other words."""
    stays = old.pinned or old.evidence.get(models.WHEN) or key_of(old.what) == key_of(note.what)
    return not stays and _restates(note, content_stems(old.what))


def noted_before(memory: Memory, sentence: str) -> Record | None:
    """Return an active record of trust "user" that quotes `sentence` and says the same, or None."""
    form, own = same_form(sentence), content_stems(sentence)
    for record in matching(memory, sentence):
        quotation = str(record.evidence.get(models.QUOTATION) or "")
        is_one = form in (same_form(s.text) for s in segments(quotation)) and _restates(record, own)
        is_quoted = is_one or same_form(quotation) == form
        if is_quoted and (record.trust, record.status) == ("user", "active"):
            return record
    return None


def _restates(note: Record, own: frozenset[str]) -> bool:
    """Return True if a note has at least half of the words in `own`, or if it has no others."""
    noted = content_stems(note.what)
    return 2 * len(own & noted) >= len(own) or (len(noted) > 1 and noted <= own)


def alternatives(instead_of: str) -> tuple[str, ...]:
    """Return the rejected alternative in an `Instead of:` value; empty if the value is an id."""
    return () if not instead_of or id_in(instead_of) else (instead_of.strip(" .'\"“”"),)


def candidate(memory: Memory, id_: str) -> Record | None:
    """Return the candidate with this id; None if unknown, or pasted and waiting for the user."""
    records = [r for r in named(memory, id_) if r.status == "candidate"]
    return next((record for record in records if models.PASTED not in record.evidence), None)


def discard(memory: Memory, old: Record, by: Provenance, *, bury: bool = True) -> None:
    """Delete a record; unless `bury` is False, a tombstone prevents storing its text again."""
    memory.write("forget", {"ids": [old.id], "bury": bury}, by, store=kind_of(memory, old))


def line(record: Record) -> str:
    """Return a record as notices show it: its id and its statement."""
    return f"{short_id(record.id)}: {models.shown(record)}"


def matching(memory: Memory, text: str) -> list[Record]:
    """Return records and candidates that share words with a text, the best matches first."""
    query = match_expression(terms(text)[:12])
    databases = memory.databases() if query else ()
    limits = (models.STATED_TYPES, MAX_LOOKED_AT)
    return [r for db in databases for r in about(db, query, *limits, candidates=True)]
