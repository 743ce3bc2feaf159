"""Frozen value types that hooks, recall, capture and the store share."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from memory_fabric.text import NOTED_AS, covers, cut, neutralised, one_line, same_form

# A function that shows the progress of a long task, given (done, total).
Progress = Callable[[int, int], object]


class RecordType(NamedTuple):
    """The traits of a type of record."""

    heading: str  # on memory pages
    is_open: bool = False  # its records may describe open work
    is_followed: bool = False  # its records may be practices to follow
    may_bind: bool = False  # its records may bind the calls that `When:` describes


# All types of records, in the order of their sections on memory pages.
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
# The kinds of notes, with the types of their records, in the order of the request for notes.
NOTE_KINDS = {
    "rule": "constraint", "decision": "decision", "preference": "preference", "fact": "note",
    "fix": "solution", "open": "question",
}  # fmt: skip
# Kinds of notes whose name is not that of the record's type.
TYPE_ALIASES = {word: kind for word, kind in NOTE_KINDS.items() if word != kind}
# Words that are shown to people instead of the names of types.
_SHOWN = {kind: word for word, kind in TYPE_ALIASES.items() if kind != "question"}
# All types but `session`, whose records are summaries that only hooks write.
STATED_TYPES = tuple(sorted(RECORD_TYPES - {"session"}))
_FOLLOWED = frozenset(kind for kind, row in RECORD_TYPE_TABLE.items() if row.is_followed)
# In the order in which the index `records_open` lists them, because SQLite compares the text.
OPEN_TYPES = tuple(sorted((t for t, row in RECORD_TYPE_TABLE.items() if row.is_open), reverse=True))
ENTITY_TYPES = frozenset(
    "agent technology pattern decision blocker component antipattern preference project tool "
    "person organisation place goal unknown".split()
)
SCOPES = ("local", "user", "team", "global")
# The scopes of records that outlast their session; local records do not.
LASTING_SCOPES = SCOPES[1:]
TRUST_ORDER = {"foreign": 0, "tool": 1, "assistant": 2, "user": 3}
SOURCES = frozenset(
    "prompt assistant subagent compaction mcp cli page ingest import journal".split()
)
# The source of other people's records; a key in `meta` of a database that has such records.
OTHERS, HAS_OTHERS = "journal", "others"
# The origin of a record that came through a shared log, whose server vouches for the author.
SHARED_LOG = "shared log"
# The origin of a change that was made on another machine of the same user.
OTHER_MACHINE = "another machine of yours"
# The source of texts ingested from other programs, and the prefix of their turns' ids.
INGEST = "ingest"
TYPED = ("prompt", "cli", "page")  # the sources whose texts were typed by a person
OUTCOMES = frozenset(("success", "failed", "neutral"))
# A reason that begins with this states what to do instead of something that failed.
INSTEAD = "instead: "
# Reasons that begin with one of these do not get a "because".
_LED_IN = (INSTEAD.lower(), "because ", "to ", "so ", "in order ", "due to ", "since ", "for ")
# Keys of a hit's metadata, and of the evidence of displayed (never of stored) records: the ids of
# newer records that contradict the record; and the files mentioned in it that have changed since
# then, as path -> "changed" or "gone".
SAID_BEFORE, CHANGED_FILES = "said_before", "changed_files"
# Key of a record's evidence: ids of the records that it contradicts but does not supersede.
CONTRADICTS = "contradicts"
# Keys of a record's evidence: when a rule applies; further words to find it; the user's words.
WHEN, ALSO, QUOTATION = "when", "also", "quotation"
# Keys of a note's evidence: the user agreed to a proposal of the assistant; and the time of the
# quoted prompt, until the transcript shows that a person typed the prompt.
AGREED, STAGED = "agreed", "staged"
# Key of a note's evidence: parts of `When:` that nobody typed; by themselves, they do not bind.
UNSAID = "unsaid"
RULE_TYPES = tuple(kind for kind, row in RECORD_TYPE_TABLE.items() if row.may_bind)
# Keys of a bound rule's evidence: the effect that the user chose; its `When:` while suspended.
EFFECT, LIFTED = "effect", "lifted"
# Keys of a record's evidence: its quotation may be shared; an owner of the team's space made the
# rule ask every member. Another member's record has these keys only if the server vouches for them.
RELEASED, FOR_TEAM = "released", "for_team"
# Keys of a candidate's evidence: the prompt that contains it, the assistant's text before the
# prompt, and the number of other sessions in which the user said almost the same.
PROMPT, BEFORE, AGAIN = "prompt", "before", "again"
# Key of a candidate's evidence: only the user may keep or drop it, because it may be pasted text.
PASTED = "pasted"
MAX_SHOWN_CHARS = 400  # the maximum length of a record's text in questions and notices
CONFIRMED = "confirmed"  # key of a record's evidence: when the user confirmed or reworded it
# Key of a record's evidence and of a session's notes: the client's key, except for Claude Code.
CLIENT = "client"
# Keys of an imported record's evidence: the name of the program or file from which it came, the
# file and line there, and the instruction file whose changes it follows.
IMPORTED, PLACE, LINE, INSTRUCTIONS = "imported", "place", "line", "instructions"
# The possible states of the registry when it is read: intact, missing, or damaged.
SOUND, LOST, DAMAGED = "", "lost", "damaged"
# How many steps a walk through the graph takes if the question does not specify it.
DEFAULT_DEPTH = 2
STORED_FROM, CANDIDATE_FROM, PROMOTED_FROM, GENERALIZABLE_FROM = 0.5, 0.3, 0.7, 0.8
# Replaces erased text in a turn after a purge; the row remains, so that no copy is read again.
ERASED = "[erased]"
_PLAIN, _SQUARE = str.maketrans("“”„", '"""'), str.maketrans("“”„()", '"""[]')
# A JSON object that may be changed, and one that must not be, such as an operation's payload.
Json = dict[str, Any]
Payload = Mapping[str, Any]


class Entity(NamedTuple):
    """A node of the graph: its name, its type, and its observations in the order of adding."""

    name: str
    type: str
    observations: tuple[str, ...] = ()


class Relation(NamedTuple):
    """A directed edge of the graph: `source` `type` `target`, for example "api uses Redis"."""

    source: str
    type: str
    target: str


class Graph(NamedTuple):
    """Entities and relations, each in the order of their creation."""

    entities: tuple[Entity, ...] = ()
    relations: tuple[Relation, ...] = ()


class Record(NamedTuple):
    """A memory that was stored deliberately. Its id and provenance are set when it is written. An
    empty field has no value; times are ISO 8601 in UTC.
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
    """Return the type of record for a word that is a type or the alias of a type."""
    return TYPE_ALIASES.get(kind, kind)


def shown_type(kind: str) -> str:
    """Return the word for a type that people and models see, e.g. `rule` for `constraint`."""
    return _SHOWN.get(kind, kind)


def may_close(new: Record, old: Record) -> bool:
    """Return True if a record may supersede another one; their texts are not compared."""
    if TRUST_ORDER.get(new.trust, 0) < TRUST_ORDER.get("user" if old.pinned else old.trust, 0):
        return False
    is_same_place = (new.scope, new.domain) == (old.scope, old.domain)
    is_visible = new.scope != "local" or new.session == old.session
    return is_same_place and is_visible and stated_at(old) <= stated_at(new)


def users_words(record: Record) -> str:
    """Return the user's own words that a note quotes; '' if there are none."""
    return str(record.evidence.get(QUOTATION) or "") if record.trust == "user" else ""


def worded(record: Record, max_chars: int = 0, *, why: bool = False) -> str:
    """Return a record's text: the user's own words, which are never cut, then the sentence."""
    if words := users_words(record):
        return words_first(words, record.what, record.why if why else "", max_chars)
    agreed = record.evidence.get(AGREED)
    text = text_with_reason(record) if why else record.what
    return f"{text} (agreed: {agreed})" if isinstance(agreed, str) else text


def shown(record: Record) -> str:
    """Return a record's text on one line, for questions and notices."""
    text = worded(record, MAX_SHOWN_CHARS) if users_words(record) else record.what
    return cut(neutralised(one_line(text)), MAX_SHOWN_CHARS)


def words_first(words: str, caption: str, why: str = "", max_chars: int = 0) -> str:
    """Return the user's words, then as much of the caption as fits into `max_chars` (0: all)."""
    parts_shown = [caption] if same_form(caption) != same_form(words) else []
    if why and not covers(f"{words} {caption}", why):
        parts_shown.insert(0, f"{caption} — {as_reason(why)}")
    if not parts_shown:
        return words
    parts: list[str] = []
    for part in caption.split(". "):
        # No new sentence begins at the dots of "e.g. Red" or "from 3.3. .. 9.3.".
        if parts and not (part[:1].isupper() and "." not in parts[-1][-2:]):
            parts[-1] += f". {part}"
        else:
            parts.append(part)
    parts_shown += [". ".join(parts[:end]) for end in range(len(parts) - 1, 0, -1)]
    for text in parts_shown:
        # A text with unbalanced brackets could imitate a quotation, so replace its brackets.
        depths = accumulate((sign == "(") - (sign == ")") for sign in text)
        text = text.translate(_PLAIN if min(depths, default=0) >= 0 else _SQUARE)
        line = f"“{words}{NOTED_AS}{text})"
        if not max_chars or len(line) <= max_chars:
            return line
    return f"“{words}”"


def by_words(records: Sequence[Record]) -> list[int]:
    """Return the indexes of records, with those adjacent that have the same words of the user."""
    first: dict[str, int] = {}
    words = ("" if SAID_BEFORE in record.evidence else users_words(record) for record in records)
    keys = [first.setdefault(said or str(place), place) for place, said in enumerate(words)]
    return sorted(range(len(keys)), key=keys.__getitem__)


def is_unconfirmed_import(record: Record) -> bool:
    """Return True if a record was imported from a program or file and nobody has confirmed it."""
    return record.trust == "tool" and IMPORTED in record.evidence


def contradicted(record: Record) -> tuple[str, ...]:
    """Return the ids of the older records that a record contradicts."""
    ids = record.evidence.get(CONTRADICTS)
    return tuple(map(str, ids)) if isinstance(ids, list | tuple) else ()


def newer_than(stated: Mapping[str, tuple[str, Sequence[str]]]) -> dict[str, list[str]]:
    """Map the id of each contradicted statement to the ids of newer statements that contradict it.
    `stated` maps the id of each statement to its time and the ids that it contradicts. If two
    statements have the same time, the one that contradicts the other counts as newer.
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
    """Map the id of each contradicted record to the ids of newer records that contradict it."""
    return newer_than({r.id: (stated_at(r), contradicted(r)) for r in records})


def marked_older(record: Record, newer: Sequence[str]) -> Record:
    """Return a copy of a record, for display only, with the ids of newer records against it."""
    return record._replace(evidence={**record.evidence, SAID_BEFORE: newer}) if newer else record


def stated_at(record: Record) -> str:
    """Return the time at which a record was stated, which may be before its creation."""
    return record.valid_from or record.created_at


def text_with_reason(record: Record) -> str:
    """Return a record's text, followed by the reason unless the text already contains it."""
    if not record.why or record.why.lower() in record.what.lower():
        return record.what
    return f"{record.what} — {as_reason(record.why)}"


def as_reason(why: str) -> str:
    """Return a reason so that it can follow a statement: "because …", "to …" or "instead: …"."""
    return why if why.lower().startswith(_LED_IN) else f"because {why}"


def verdict(record: Record) -> str:
    """Return `failed` or `worked` for a record, or ''; practices to follow count as `worked`."""
    if record.outcome == "failed" or record.type == "antipattern":
        return "failed"
    return "worked" if record.outcome == "success" or record.type in _FOLLOWED else ""


def lacks_lesson(record: Record) -> bool:
    """Return True if a record is about a failure, without a reason and without an alternative."""
    return verdict(record) == "failed" and not (record.why or "instead" in record.what.lower())


def contradict(a: Record, b: Record) -> bool:
    """Return True if one of two records is about a failure and the other one about a success."""
    return {verdict(a), verdict(b)} == {"failed", "worked"}


class Provenance(NamedTuple):
    """The author, source and time of a change, which mark its operations and records."""

    source: str
    trust: str = "assistant"
    session: str = ""
    agent: str = ""
    author: str = ""
    origin: str = ""
    at: str = ""
    domain: str = "general"


class Operation(NamedTuple):
    """A change of memory, in the form in which it is applied, journalled, queued and shared."""

    id: str
    kind: str
    payload: Mapping[str, Any]
    provenance: Provenance
    store: str = "project"


class Filters(NamedTuple):
    """The filters of a query. A result must match one value of every filter that is not empty."""

    domains: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    since: str = ""
    before: str = ""
    as_of: str = ""  # ISO 8601: the state of memory at that time


class Query(NamedTuple):
    """A parsed question."""

    text: str
    terms: tuple[str, ...] = ()  # the content words, in lower case and in order
    phrases: tuple[str, ...] = ()
    entity_hints: tuple[str, ...] = ()
    # Pairs (term, name) of a term and the known name that it means, by an alias or a misspelling.
    meant: tuple[tuple[str, str], ...] = ()
    intent: str = ""
    answer_type: str = ""
    filters: Filters = Filters()
    traverse: bool = False
    depth: int = DEFAULT_DEPTH
    past: bool = False  # about an earlier state, so that superseded records may answer it
    excluded: tuple[str, ...] = ()  # a text with one of these words is no result
    unasked: tuple[str, ...] = ()  # a text with one of these words is ranked lower
    asked: str = ""  # the question without filters and exclusions
    spans: tuple[tuple[str, str], ...] = ()  # around an event: first day, first day after
    unread: tuple[str, ...] = ()  # for the user: which words look like filters but are none


class Hit(NamedTuple):
    """A search result in normal form (BR-2). `relevance` and `score` are from 0 to 1."""

    id: str
    text: str
    source: str
    timestamp: str = ""  # '' if it is unknown
    relevance: float = 0.0
    entities: tuple[str, ...] = ()
    # By source: type, why, scope, domain, trust, record (its id), entityType, relations, session,
    # stale, days_since, superseded_by, matched (terms).
    metadata: Mapping[str, Any] = {}
    graph_relations: tuple[Relation, ...] = ()
    score: float = 0.0

    def marked(self, marks: Mapping[str, Any]) -> "Hit":
        """Return a copy of the hit with `marks` added to its metadata."""
        return self._replace(metadata={**self.metadata, **marks})


class Answer(NamedTuple):
    """Ranked hits, graph paths and failed sources; `notes` say how the question was parsed."""

    query: Query
    hits: tuple[Hit, ...] = ()
    paths: tuple[tuple[Relation, ...], ...] = ()
    failures: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class Project(NamedTuple):
    """A project: its id, name, root folder, local tier and keys."""

    id: str
    name: str
    root: str
    # By default `<main worktree>/.claude/memory`, or a folder in the home if that is unsuitable.
    local: str
    keys: tuple[str, ...]
    # The ids of projects to which this folder claims to belong without proof, or which own some of
    # its keys: a conflict that the user must resolve.
    others: tuple[str, ...] = ()


class Registry(NamedTuple):
    """The registry in the home, which maps each key to the id of its project."""

    keys: Mapping[str, str]  # from the projects' cards unless the state is SOUND
    settled: tuple[str, ...] = ()  # keys about which the user has decided
    undo: Mapping[str, Any] = {}  # changes of a folder's last link or split, by the folder's key
    # Keys of folders with a project of their own because claims prove nothing: as if settled.
    asked: tuple[str, ...] = ()
    state: str = SOUND  # or LOST or DAMAGED


class Trust(NamedTuple):
    """The claims that config.toml accepts: all of them, or those of folders below `roots`."""

    everywhere: bool = False
    roots: tuple[str, ...] = ()


class Identity(NamedTuple):
    """The keys of a folder as found in its files, the main worktree's root, and a display name."""

    own: tuple[str, ...]  # proved by the folder, the best key first
    root: str
    name: str
    # Unproved keys; they become keys of this project only if no other project has them.
    claims: tuple[str, ...] = ()
    pointer: str = ""  # of a repository elsewhere; it never becomes a key of this project
    also: tuple[str, ...] = ()  # of this folder before `git init`, or if `.git` is removed
    # The path of a linked worktree, to find the project after the worktree has been removed.
    place: str = ""

    @property
    def keys(self) -> tuple[str, ...]:
        """All keys under which the registry lists the folder."""
        return (*self.claims, *self.own)
