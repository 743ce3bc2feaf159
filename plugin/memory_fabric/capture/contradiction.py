"""Detection of contradictions between a new record and current records that it does not replace. To
avoid false reports, the rules may miss a contradiction. Both records must have the same subject,
and one must require what the other forbids, report the opposite outcome, assign another value, or
reject what the other chooses. Records with opposite outcomes must also share most words.
"""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import NamedTuple

from memory_fabric.capture import clauses
from memory_fabric.capture.changed_value import Sentence, is_changed, sentences
from memory_fabric.errors import DeadlinePassed, StoreUnavailable
from memory_fabric.ids import short_id
from memory_fabric.language.concepts import concepts
from memory_fabric.models import CONTRADICTS, RECORD_TYPES, Record, contradict, stated_at, verdict
from memory_fabric.models import contradicted as contradicts
from memory_fabric.patterns import pattern
from memory_fabric.recall.parse import parse
from memory_fabric.recall.render import low_trust_of
from memory_fabric.store.memory import Memory
from memory_fabric.store.queries.conditions import match_expression
from memory_fabric.store.records import about
from memory_fabric.text import STOPWORDS, cut, one_line, stem, words

MAX_LOOKED_AT = 30  # the maximum number of matches to compare, rarest shared words first
# Words that express only an obligation or a prohibition.
_MODALS = STOPWORDS | frozenset(
    "use uses used using always never must shall avoid forbidden allowed longer please let".split()
)
_CLAUSES = (
    r"[;.!?]\s+|, (?:but |and )?(?=use\b|we use\b|never\b|do not\b|don't\b|always\b)|[。；！]"
)
# Words such as "until", "trial" and "also", with which opposite statements may both be true.
_PARTIAL = r"\b(?:also|too|except|unless|for now|temporar\w+|until|trial|experiment\w*)\b"
MAX_SHOWN, MAX_LINE_CHARS = 3, 240
# Types of entities that can be a record's subject; not "component", which too many records share.
SUBJECTS = frozenset(("technology", "pattern", "tool"))
# Records have the same subject if they share at least MIN_WORDS words, and MIN_SHARE of the words
# of the shorter one. Stricter limits (…_UNNAMED) apply unless both mention known technologies.
MIN_SHARE, MIN_SHARE_UNNAMED = 0.5, 0.6
MIN_WORDS, MIN_WORDS_UNNAMED = 2, 3
ARTICLES = frozenset(("a", "an", "the", "any"))
_NO_CLAIM = [kind for kind, row in RECORD_TYPES.items() if not row.may_contradict]


class _Said(NamedTuple):
    """The actions and subjects that a record chooses or rejects, mostly as sets of word stems."""

    does: tuple[frozenset[str], ...] = ()  # required actions
    takes: tuple[frozenset[str], ...] = ()  # chosen subjects
    denies: tuple[frozenset[str], ...] = ()  # forbidden actions
    rejects: tuple[frozenset[str], ...] = ()  # rejected subjects
    first: tuple[str, ...] = ()  # the first two stems of the subject
    whole: tuple[Sentence, ...] = ()  # all sentences, to detect changed values


class _Subject(NamedTuple):
    names: tuple[str, ...] = ()  # the keys of known technologies in order
    stems: frozenset[str] = frozenset()
    opening: tuple[str, ...] = ()  # the first two stems of the text
    versions: Mapping[str, str] = {}  # {"redis": "6"} for "Redis 6"
    lacking: frozenset[str] = frozenset()  # the nouns after "without"


def beside(record: Record, against: Sequence[Record]) -> Record:
    """Return a copy of `record` whose evidence also lists `against` as contradicted records."""
    ids = dict.fromkeys((*contradicts(record), *(old.id for old in against)))
    evidence = {**record.evidence, CONTRADICTS: list(ids)}
    return record._replace(evidence=evidence) if against else record


def contradicting(memory: Memory, record: Record) -> list[Record]:
    """Return at most three current records that contradict this one; skip unreadable databases."""
    query = parse(" ".join([record.what, *record.alternatives]), plain=True)
    match = match_expression([word for c in concepts(query) for word in c.spellings])
    if not match:
        return []
    records: list[Record] = []
    for database in memory.databases():
        try:
            records += about(database, match, sorted(RECORD_TYPES), MAX_LOOKED_AT)
        except (DeadlinePassed, StoreUnavailable) as error:
            memory.fail(f"contradictions ({database.kind}): {error}")
    visible = [old for old in records if old.scope != "local" or old.session == record.session]
    return contradicted(record, visible)


def contradicted(record: Record, known: Sequence[Record]) -> list[Record]:
    """Return at most three records in `known` that contradict this one, opposite outcomes first."""
    opposite, said = opposed(record, known), _said(record)
    not_opposite = [old for old in known if old.id != record.id and old not in opposite]
    disagreeing = [old for old in not_opposite if _disagree(said, _said(old))]
    disagreeing.sort(key=stated_at, reverse=True)
    return [*opposite, *disagreeing][:MAX_SHOWN]


def is_choice_against(record: Record, old: Record) -> bool:
    """Return True if the records disagree on what to do, so that the new one may replace `old`."""
    return _disagree(_said(record), _said(old))


def _said(record: Record) -> _Said:
    if verdict(record) == "failed" or record.type in _NO_CLAIM:
        return _Said()
    text = clauses.without_reason(record.what)
    if pattern(_PARTIAL).search(text):
        return _Said()
    rejected = tuple(record.alternatives) or clauses.over_in(text)
    dropped = frozenset(clauses.subject(" ".join(rejected)))
    does, takes, denies = [], [], []
    for clause in pattern(_CLAUSES).split(text):
        if clauses.is_denied(clause) or (clauses.is_left(clause) and not rejected):
            denies.append(_content(clause))
        else:
            does.append(_content(clause) - dropped)
            takes.append(frozenset(clauses.subject(clause)) - dropped)
    first = tuple(one for one in clauses.subject(text) if one not in dropped)[:2]
    rejects = tuple(s for name in rejected if (s := frozenset(clauses.subject(name))))
    subjects, denied = tuple(filter(None, takes)), tuple(filter(None, denies))
    return _Said(tuple(does), subjects, denied, rejects, first, sentences(record.what))


def _content(clause: str) -> frozenset[str]:
    return frozenset(stem(clauses.key_of(word)) for word in words(clause) if word not in _MODALS)


def _disagree(a: _Said, b: _Said) -> bool:
    """Return True if one forbids or rejects what the other requires, or if their values differ."""
    pairs = ((a, b), (b, a))
    if any(denied <= done for one, other in pairs for denied in one.denies for done in other.does):
        return True
    for one, other in pairs:
        for rejected, taken in product(one.rejects, other.takes):
            # No disagreement if the remaining words (`mine`, `theirs`) show different purposes.
            mine = frozenset().union(*one.takes) - rejected - set(one.first[:1])
            theirs = taken - rejected
            has_purpose = not mine or not theirs or bool(mine & theirs)
            if rejected <= taken and rejected & set(other.first) and has_purpose:
                return True
    return is_changed(a.whole, b.whole)


def opposed(record: Record, known: Sequence[Record]) -> list[Record]:
    """Return at most three records in `known` with the opposite outcome, the most similar first."""
    about = _subject(record)
    rated: list[tuple[float, str, Record]] = []
    for old in (old for old in known if old.id != record.id and contradict(record, old)):
        other = _subject(old)
        is_other_release = any(other.versions.get(n, v) != v for n, v in about.versions.items())
        lacking = about.lacking | other.lacking
        is_without = about.lacking != other.lacking and lacking <= about.stems & other.stems
        if is_other_release or is_without:
            continue
        fewest = min(len(about.stems), len(other.stems))
        shared = len(about.stems & other.stems)
        share = shared / fewest if fewest else 0.0
        if about.names and other.names:
            is_near = about.names[0] in other.names and other.names[0] in about.names
            is_near = is_near and (share == 1 or (shared >= MIN_WORDS and share >= MIN_SHARE))
        else:
            is_near = shared >= MIN_WORDS_UNNAMED and share >= MIN_SHARE_UNNAMED
            same_opening = set(about.opening) == set(other.opening)
            is_near = is_near or (len(about.opening) == MIN_WORDS and same_opening)
        rated += [(share, stated_at(old), old)] if is_near and share else []
    rated.sort(key=lambda row: row[:2], reverse=True)
    return [old for *_, old in rated[:MAX_SHOWN]]


def as_line(record: Record) -> str:
    """Return a record as a line: `earlier, 2026-01-03: failed: Offset pagination … (1a2b3c4d)`."""
    text = cut(one_line(record.what), MAX_LINE_CHARS)
    claimed = low_trust_of(record) if record.trust == "foreign" else ""
    marks = ", ".join(filter(None, (short_id(record.id), claimed)))
    return f"earlier, {stated_at(record)[:10]}: {outcome_of(record)}: {text} ({marks})"


def outcome_of(record: Record) -> str:
    """Return `failed` or `worked`, or the record's type if the record has no outcome."""
    if verdict(record) == "failed":
        return "failed"
    return "worked" if record.outcome == "success" or record.type == "pattern" else record.type


def _subject(record: Record) -> _Subject:
    """Return the subject whose outcome a record reports; an empty one if it forbids something."""
    text = clauses.without_reason(record.what)
    rejected = frozenset(map(clauses.key_of, (*record.alternatives, *clauses.over_in(text))))
    followed = verdict(record) == "worked"
    if followed and clauses.is_denied(text):
        return _Subject()
    things = [e for e in record.entities if e.type in SUBJECTS]
    names = tuple(clauses.key_of(e.name) for e in things if clauses.key_of(e.name) not in rejected)
    stems = clauses.subject(text)
    if followed:
        rejections = [*record.alternatives]
        rejections += [e.name for e in things if clauses.key_of(e.name) in rejected]
        dropped = set(clauses.subject(" ".join(rejections)))
        stems = [stem for stem in stems if stem not in dropped]
    spoken = words(text)
    behind = (spoken[place + 1 :] for place, word in enumerate(spoken) if word == "without")
    lacking = [next((w for w in following if w not in ARTICLES), "") for following in behind]
    lacked = frozenset(clauses.subject(" ".join(lacking)))
    versions = {}
    before = ""
    for word in text.split():
        word = word.strip(",;:()")
        number = word.removeprefix("v")
        if before and number.replace(".", "").isdigit() and (before[0].isupper() or number != word):
            versions[before.lower()] = number
        before = word
    return _Subject(names, frozenset(stems), tuple(stems[:2]), versions, lacked)
