"""The package's frozen values, which hooks, recall, capture and store hand to one another."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from memory_fabric.text import NOTED_AS, covers, cut, neutralised, one_line, same_form

# Reports the progress of a long task: how much is done, of how much.
Progress = Callable[[int, int], object]


class RecordType(NamedTuple):
    """The heading of a type of record on memory pages, and its traits.

    An open point of work `is_open`. A type that `is_followed` describes a practice to follow. Only
    records of a type that `may_bind` bind the calls which their `When:` names.
    """

    heading: str
    is_open: bool = False
    is_followed: bool = False
    may_bind: bool = False


# All types of records, in the order of memory pages.
RECORD_TYPE_TABLE = {
    "constraint": RecordType("Rules", is_followed=True, may_bind=True),
    "preference": RecordType("Preferences", is_followed=True, may_bind=True),
    "decision": RecordType("Decisions", is_followed=True, may_bind=True),
    "note": RecordType("Facts"),
    "solution": RecordType("Fixes", is_followed=True),
    "pattern": RecordType("Patterns", is_followed=True, may_bind=True),
    "antipattern": RecordType("Antipatterns", may_bind=True),
    "problem": RecordType("Problems"),
    "blocker": RecordType("Blockers", is_open=True),
    "question": RecordType("Open points", is_open=True),
    "session": RecordType("Sessions"),
}
RECORD_TYPES = frozenset(RECORD_TYPE_TABLE)
# The kinds of notes with the types of their records, in the order of the request for notes.
NOTE_KINDS = {
    "rule": "constraint",
    "decision": "decision",
    "preference": "preference",
    "fact": "note",
    "fix": "solution",
    "open": "question",
}
# Other names of record types: those that only notes use.
TYPE_ALIASES = {word: kind for word, kind in NOTE_KINDS.items() if word != kind}
# The words under which people read a type.
_SHOWN = {kind: word for word, kind in TYPE_ALIASES.items() if kind != "question"}
# Without `session`: these records are summaries that only hooks write.
STATED_TYPES = tuple(sorted(RECORD_TYPES - {"session"}))
_FOLLOWED = frozenset(kind for kind, row in RECORD_TYPE_TABLE.items() if row.is_followed)
# As in the condition of the index `records_open`, which SQLite compares word for word.
OPEN_TYPES = tuple(sorted((t for t, row in RECORD_TYPE_TABLE.items() if row.is_open), reverse=True))
ENTITY_TYPES = frozenset(
    "agent technology pattern decision blocker component antipattern preference project tool "
    "person organisation place goal unknown".split()
)
SCOPES = ("local", "user", "team", "global")
# A record of scope local ends with its session.
LASTING_SCOPES = SCOPES[1:]
TRUST_ORDER = {"foreign": 0, "tool": 1, "assistant": 2, "user": 3}
SOURCES = frozenset(
    "prompt assistant subagent compaction mcp cli page ingest import journal".split()
)
# The source of records from a shared journal of others, and the key of `meta` by which a database
# says that it has any.
OTHERS, HAS_OTHERS = "journal", "others"
# The origin of a record that came by a shared log, whose server knows its author.
SHARED_LOG = "shared log"
# The origin of changes that another machine of this user made.
OTHER_MACHINE = "another machine of yours"
# The source of texts that other programs ingest, and the prefix of their turns' ids.
INGEST = "ingest"
# Sources of a person's own words.
TYPED = ("prompt", "cli", "page")
OUTCOMES = frozenset(("success", "failed", "neutral"))
# The beginning of a reason that names the alternative to a failure.
INSTEAD = "instead: "
# Beginnings of reasons that need no "because".
_LED_IN = (INSTEAD.lower(), "because ", "to ", "so ", "in order ", "due to ", "since ", "for ")

# The key of a record's evidence: ids of records that it contradicts and that stay beside it.
CONTRADICTS = "contradicts"

# The key of a hit's metadata, and of a record's evidence while it is shown (never stored): the ids
# of newer records that contradict it.
SAID_BEFORE = "said_before"

# Keys of a record's evidence: the command, path or activity in which a rule applies, other words by
# which it is found, and the user's own words.
WHEN, ALSO, QUOTATION = "when", "also", "quotation"
# Keys of a note's evidence: that the user agreed to the assistant's proposal; and the time of the
# quoted prompt while no entry of the transcript shows yet that a person typed it.
AGREED, STAGED = "agreed", "staged"
# The key of a note's evidence: the parts of `When:` that nobody typed, which do not bind by
# themselves.
UNSAID = "unsaid"
RULE_TYPES = tuple(kind for kind, row in RECORD_TYPE_TABLE.items() if row.may_bind)
# Keys of a bound rule's evidence: the effect that the user set, and `When:` while it is lifted.
EFFECT, LIFTED = "effect", "lifted"
# Keys of a record's evidence: its quotation may be shared; an owner of the team's space has the
# rule ask everybody. Of another's record they stand only where the log's server vouches for it.
RELEASED, FOR_TEAM = "released", "for_team"
# Keys of a candidate's evidence: the prompt in which it was heard, the assistant's text before that
# prompt, and the number of other sessions in which the user said nearly the same.
PROMPT, BEFORE, AGAIN = "prompt", "before", "again"
# The key of a candidate's evidence: only the user may keep or drop it, since it may be pasted.
PASTED = "pasted"
# The number of characters that questions and notices show of a record.
MAX_SHOWN_CHARS = 400
# The key of a record's evidence: the time at which the user confirmed or reworded it.
CONFIRMED = "confirmed"
# The key of a record's evidence, and of a session's notes: the client (`clients.table`), if it was
# not Claude Code.
CLIENT = "client"
# Keys of an imported record's evidence: the name of the program or file that it is from, the file
# and the line in it, and the file of instructions that it follows.
IMPORTED, PLACE, LINE, INSTRUCTIONS = "imported", "place", "line", "instructions"

# The key of a hit's metadata, and of a record's evidence while it is shown (never stored): named
# files that have changed since, as path -> "changed" or "gone".
CHANGED_FILES = "changed_files"

# The depth of a graph walk if a question states none.
DEFAULT_DEPTH = 2

STORED_FROM = 0.5
CANDIDATE_FROM = 0.3
PROMOTED_FROM = 0.7
GENERALIZABLE_FROM = 0.8
# Replaces the text that a purge erased from a turn. The row stays, so that no copy is read again.
ERASED = "[erased]"


_PLAIN, _SQUARE = str.maketrans("“”„", '"""'), str.maketrans("“”„()", '"""[]')
# A JSON object, and one that is only read, such as the payload of an operation.
Json = dict[str, Any]
Payload = Mapping[str, Any]


class Entity(NamedTuple):
    """A node of the graph: a name, a type, and single observations in the order they were added."""

    name: str
    type: str
    observations: tuple[str, ...] = ()


class Relation(NamedTuple):
    """A directed edge in active voice: `source` `type` `target`, e.g. api uses Redis."""

    source: str
    type: str
    target: str


class Graph(NamedTuple):
    """Entities in creation order, and relations in creation order."""

    entities: tuple[Entity, ...] = ()
    relations: tuple[Relation, ...] = ()


class Record(NamedTuple):
    """A memory that was saved deliberately, without id and provenance until it is written.

    Empty fields have no value; times are ISO 8601 UTC.
    """

    type: str
    what: str
    why: str = ""
    alternatives: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    tradeoffs: tuple[str, ...] = ()
    entities: tuple[Entity, ...] = ()
    relations: tuple[Relation, ...] = ()
    outcome: str = "neutral"
    category: str = ""
    confidence: float = 0.5
    generalizable: bool = False
    id: str = ""
    trust: str = "assistant"
    source: str = "assistant"
    scope: str = "team"
    domain: str = "general"
    project: str = ""
    session: str = ""
    agent: str = ""
    author: str = ""
    origin: str = ""
    created_at: str = ""
    valid_from: str = ""
    valid_to: str = ""
    superseded_by: str = ""
    pinned: bool = False
    status: str = "active"
    evidence: Mapping[str, Any] = {}


def record_type(kind: str) -> str:
    """Return the type of record that a type or another name of it means."""
    return TYPE_ALIASES.get(kind, kind)


def shown_type(kind: str) -> str:
    """Return the word under which people and models read a type: `rule` for `constraint`."""
    return _SHOWN.get(kind, kind)


def may_close(new: Record, old: Record) -> bool:
    """Return True if a record may replace another by trust, scope, domain and time.

    The words are not compared. Only the user closes a pinned record. Scopes are separate, a local
    record closes none of another session, and an older statement never closes a newer one, no
    matter when it is read.
    """
    trust = "user" if old.pinned else old.trust
    if TRUST_ORDER.get(new.trust, 0) < TRUST_ORDER.get(trust, 0):
        return False
    if (new.scope, new.domain) != (old.scope, old.domain):
        return False
    if new.scope == "local" and new.session != old.session:
        return False
    return stated_at(old) <= stated_at(new)


def users_words(record: Record) -> str:
    """Return the user's words that are on record for a note; '' where none are."""
    return str(record.evidence.get(QUOTATION) or "") if record.trust == "user" else ""


def worded(record: Record, max_chars: int = 0, *, why: bool = False) -> str:
    """Return the text of a record, the user's words before the assistant's sentence about them.

    With `why` the reason follows the sentence. The user's words are never cut: see `words_first`.
    """
    words = users_words(record)
    if words:
        return words_first(words, record.what, record.why if why else "", max_chars)
    agreed = record.evidence.get(AGREED)
    text = text_with_reason(record) if why else record.what
    return f"{text} (agreed: {agreed})" if isinstance(agreed, str) else text


def shown(record: Record) -> str:
    """Return the words of a record as questions and notices name it, in one line."""
    text = worded(record, MAX_SHOWN_CHARS) if users_words(record) else record.what
    return cut(neutralised(one_line(text)), MAX_SHOWN_CHARS)


def words_first(words: str, caption: str, why: str = "", max_chars: int = 0) -> str:
    """Return the user's words, then as much of the assistant's sentence as fits in `max_chars`.

    The first of these that fits follows: the sentence with its reason, without it, its first parts,
    nothing. 0 means no limit. A sentence that equals the user's words is shown once.
    """
    quoted = f"“{words}”"
    parts_shown = [caption] if same_form(caption) != same_form(words) else []
    if why and not covers(f"{words} {caption}", why):
        parts_shown.insert(0, f"{caption} — {as_reason(why)}")
    if not parts_shown:
        return words
    parts: list[str] = []
    for part in caption.split(". "):
        # Not within "e.g. Red" or "from 3.3. .. 9.3.".
        if parts and not (part[:1].isupper() and "." not in parts[-1][-2:]):
            parts[-1] += f". {part}"
        else:
            parts.append(part)
    parts_shown += [". ".join(parts[:end]) for end in range(len(parts) - 1, 0, -1)]
    for text in parts_shown:
        # A text cannot end its brackets and then quote the user as their words are.
        depths = accumulate((sign == "(") - (sign == ")") for sign in text)
        text = text.translate(_PLAIN if min(depths, default=0) >= 0 else _SQUARE)
        line = f"“{words}{NOTED_AS}{text})"
        if not max_chars or len(line) <= max_chars:
            return line
    return quoted


def by_words(records: Sequence[Record]) -> list[int]:
    """Return positions of records: each is followed by records with the same words of the user.
    Records that a newer one contradicts are not moved.
    """
    first: dict[str, int] = {}
    words = ("" if SAID_BEFORE in record.evidence else users_words(record) for record in records)
    keys = [first.setdefault(said or str(place), place) for place, said in enumerate(words)]
    return sorted(range(len(keys)), key=keys.__getitem__)


def is_unconfirmed_import(record: Record) -> bool:
    """Return True for a statement of a program or instruction file that nobody confirmed."""
    return record.trust == "tool" and IMPORTED in record.evidence


def contradicted(record: Record) -> tuple[str, ...]:
    """Return the ids of the older records that a record contradicts."""
    ids = record.evidence.get(CONTRADICTS)
    return tuple(map(str, ids)) if isinstance(ids, list | tuple) else ()


def newer_than(stated: Mapping[str, tuple[str, Sequence[str]]]) -> dict[str, list[str]]:
    """Return the ids of the newer statements that contradict a statement, by its id.

    `stated` maps the id of a statement to its time and the ids that it contradicts. Of two
    statements with the same time, the statement that names the other is the newer one.
    """
    newer: dict[str, list[str]] = {}
    for id_, (at, other_ids) in stated.items():
        for other_id in other_ids:
            if other_id in stated and other_id != id_:
                old, new = (id_, other_id) if stated[other_id][0] > at else (other_id, id_)
                if new not in newer.get(old, ()) and old not in newer.get(new, ()):
                    newer.setdefault(old, []).append(new)
    return newer


def newer_records(records: Iterable[Record]) -> dict[str, list[str]]:
    """Return, by record id, the ids of the newer records among these that contradict the record."""
    return newer_than({r.id: (stated_at(r), contradicted(r)) for r in records})


def marked_older(record: Record, newer: Sequence[str]) -> Record:
    """Return a record to be shown, not stored, with the ids of newer records that contradict it."""
    return record._replace(evidence={**record.evidence, SAID_BEFORE: newer}) if newer else record


def stated_at(record: Record) -> str:
    """Return the time of a statement, which may be earlier than that of its record."""
    return record.valid_from or record.created_at


def text_with_reason(record: Record) -> str:
    """Return the text of a record, with its reason unless the text contains it already."""
    if not record.why or record.why.lower() in record.what.lower():
        return record.what
    return f"{record.what} — {as_reason(record.why)}"


def as_reason(why: str) -> str:
    """Return a reason in the form that follows a statement: "because …", "to …", "instead: …"."""
    return why if why.lower().startswith(_LED_IN) else f"because {why}"


def verdict(record: Record) -> str:
    """Return the outcome of a record: `failed`, `worked` (also for practices to follow), or ''."""
    if record.outcome == "failed" or record.type == "antipattern":
        return "failed"
    return "worked" if record.outcome == "success" or record.type in _FOLLOWED else ""


def lacks_lesson(record: Record) -> bool:
    """Return True for a failure without a reason and without an alternative."""
    is_explained = record.why or "instead" in record.what.lower()
    return verdict(record) == "failed" and not is_explained


def contradict(a: Record, b: Record) -> bool:
    """Return True if one record says that something failed and the other that it worked."""
    return {verdict(a), verdict(b)} == {"failed", "worked"}


class Provenance(NamedTuple):
    """The author, source and time of a write, stamped on each of its operations and records."""

    source: str
    trust: str = "assistant"
    session: str = ""
    agent: str = ""
    author: str = ""
    origin: str = ""
    at: str = ""
    domain: str = "general"


class Operation(NamedTuple):
    """One change of memory, as it is written, journalled, queued, replayed and shared."""

    id: str
    kind: str
    payload: Mapping[str, Any]
    provenance: Provenance
    store: str = "project"


class Filters(NamedTuple):
    """The filters of a query; empty ones do not filter.

    A result must pass every filter that is set, and passes one by matching any of its values.
    `as_of` (ISO 8601) asks for the content of memory at that time.
    """

    domains: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    since: str = ""
    before: str = ""
    as_of: str = ""


class Query(NamedTuple):
    """A parsed question. `terms` are lower-case content words in the order of the question.

    `past` is true for a question about an earlier state, which replaced records may answer. `spans`
    are periods that it mentions besides those of its filters, as (first day, first day after). A
    text with an `excluded` word is no answer; a text with an `unasked` word is ranked lower.
    `asked` is the text without filters and without the parts that it excludes. `unread` are
    sentences for the user about parts that look like filters but are not.
    """

    text: str
    terms: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    entity_hints: tuple[str, ...] = ()
    # Terms that mean a known name by an alias or a spelling mistake, as (term, name).
    meant: tuple[tuple[str, str], ...] = ()
    intent: str = ""
    answer_type: str = ""
    filters: Filters = Filters()
    traverse: bool = False
    depth: int = DEFAULT_DEPTH
    global_only: bool = False
    past: bool = False
    spans: tuple[tuple[str, str], ...] = ()
    excluded: tuple[str, ...] = ()
    unasked: tuple[str, ...] = ()
    asked: str = ""
    unread: tuple[str, ...] = ()


class Hit(NamedTuple):
    """One result in normal form (BR-2).

    `relevance` and `score` are from 0 to 1; a time may be empty.
    `metadata` depends on the source: type, why, scope, domain, trust, record id, entityType,
    relations, session, stale, days_since, superseded_by, matched (terms).
    """

    id: str
    text: str
    source: str
    timestamp: str = ""
    relevance: float = 0.0
    entities: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = {}
    graph_relations: tuple[Relation, ...] = ()
    score: float = 0.0

    def marked(self, marks: Mapping[str, Any]) -> "Hit":
        """Return the hit with these marks added to its metadata."""
        return self._replace(metadata={**self.metadata, **marks})


class Answer(NamedTuple):
    """Ranked hits, walked paths, and failed sources; `notes` say how the question was read."""

    query: Query
    hits: tuple[Hit, ...] = ()
    paths: tuple[tuple[Relation, ...], ...] = ()
    failures: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class Project(NamedTuple):
    """One project: its id and name, the folder of its local tier, and its keys.

    `local` is `<main worktree>/.claude/memory`, or a folder in home if that would be wrong or is a
    link to elsewhere. `others` are the ids of other projects that some of its keys belong to: a
    conflict for the user to resolve, or projects that this folder claims to belong to without
    proof.
    """

    id: str
    name: str
    root: str
    local: str
    keys: tuple[str, ...]
    others: tuple[str, ...] = ()


# The state of the registry as it was read: as written, missing, or altered.
SOUND, LOST, DAMAGED = "", "lost", "damaged"


class Registry(NamedTuple):
    """The project id of each key, as home's registry stores them; the user decided `settled` keys.

    `undo` has, by a folder's own key, the changes of its last project link or split. `asked` are
    keys of folders that got a project of their own because their claims prove nothing; they count
    as settled, too, until the user decides. `state` is SOUND, LOST or DAMAGED; unless it is SOUND,
    the keys were read from the projects' cards.
    """

    keys: Mapping[str, str]
    settled: tuple[str, ...] = ()
    undo: Mapping[str, Any] = {}
    asked: tuple[str, ...] = ()
    state: str = SOUND


class Trust(NamedTuple):
    """The claims that config.toml in the home accepts: all, or those of folders below `roots`."""

    everywhere: bool = False
    roots: tuple[str, ...] = ()


class Identity(NamedTuple):
    """The keys of a folder as its files show them, the main worktree's root, and a display name.

    The folder proves its `own` keys, best first. `claims` are only stated, and become keys of this
    project if no other project has them. `pointer` is the key of a repository elsewhere, which
    never becomes a key of this project. `also` are keys of the same folder from before `git init`
    or after `.git` was removed. `place` is the path of a linked worktree: by it the project is
    still known after the worktree was removed; while the path exists, it decides nothing.
    """

    own: tuple[str, ...]
    root: str
    name: str
    claims: tuple[str, ...] = ()
    pointer: str = ""
    also: tuple[str, ...] = ()
    place: str = ""

    @property
    def keys(self) -> tuple[str, ...]:
        """All keys under which the folder is registered."""
        return (*self.claims, *self.own)
