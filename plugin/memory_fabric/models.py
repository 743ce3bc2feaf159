"""Frozen value types that hooks, recall, capture and the store share."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import accumulate
from typing import Any, NamedTuple

from memory_fabric.text import NOTED_AS, covers, cut, neutralised, one_line, same_form

# A function that reports the progress of a long task, given (done, total).
Progress = Callable[[int, int], object]


class RecordType(NamedTuple):
    """The properties of a record type: its heading, and how its records are used."""

    heading: str  # the type's heading on memory pages
    is_open: bool = False  # records of this type may describe open work
    is_followed: bool = False  # records of this type may be practices to follow
    may_bind: bool = False  # such a record may stop tool calls that match its `When:` condition
    may_contradict: bool = True  # such a record says what holds, which another one may deny
    fades: bool = False  # an old note of this type is a candidate again, if nobody confirmed it
    stale_days: int = 90  # after this time a record should be reviewed (BR-10)
    intents: tuple[str, ...] = ()  # the intents of questions for which it ranks higher


_practice = partial(RecordType, is_followed=True, may_bind=True)
# All record types, in the order of their sections on memory pages.
RECORD_TYPES = {
    "constraint": _practice("Rules", intents=("preference", "howto")),
    "preference": _practice("Preferences", stale_days=365, intents=("preference",)),
    "decision": _practice("Decisions", fades=True, intents=("decision",)),
    "note": RecordType("Facts", fades=True),
    "solution": RecordType("Fixes", is_followed=True, intents=("problem", "howto")),
    "pattern": _practice("Patterns", stale_days=180, intents=("pattern", "howto")),
    "antipattern": RecordType("Antipatterns", may_bind=True, intents=("problem", "pattern")),
    "problem": RecordType("Problems", may_contradict=False, intents=("problem",)),
    "blocker": RecordType("Blockers", is_open=True, may_contradict=False, intents=("problem",)),
    "question": RecordType("Open points", is_open=True, may_contradict=False, fades=True),
    "session": RecordType("Sessions", may_contradict=False),
}
# The kinds of notes and their record types, in the order used in the request for notes.
NOTE_KINDS = {
    "rule": "constraint", "decision": "decision", "preference": "preference", "fact": "note",
    "fix": "solution", "open": "question",
}  # fmt: skip
# Kinds of notes whose name differs from the name of the record type.
TYPE_ALIASES = {word: kind for word, kind in NOTE_KINDS.items() if word != kind}
# The names of types as shown to people, if not the stored ones: the first kind of each type.
_SHOWN = {kind: word for word, kind in reversed(TYPE_ALIASES.items()) if kind != "question"}
# All record types except `session`, whose records are summaries written only by hooks.
STATED_TYPES = tuple(sorted(RECORD_TYPES.keys() - {"session"}))
_FOLLOWED = frozenset(kind for kind, row in RECORD_TYPES.items() if row.is_followed)
# In the order of the index `records_open`, which SQLite uses only for queries with the same list.
OPEN_TYPES = tuple(sorted((t for t, row in RECORD_TYPES.items() if row.is_open), reverse=True))
ENTITY_TYPES = frozenset(
    "agent technology pattern decision blocker component antipattern preference project tool "
    "person organisation place goal unknown".split()
)
SCOPES = ("local", "user", "team", "global")
# All scopes except `local`, whose records end with their session.
LASTING_SCOPES = SCOPES[1:]
TRUST_ORDER = {"foreign": 0, "tool": 1, "assistant": 2, "user": 3}
SOURCES = frozenset(
    "prompt assistant subagent compaction mcp cli page ingest import journal".split()
)
# OTHERS: source of other people's records. HAS_OTHERS: key in `meta` of a database that has some.
OTHERS, HAS_OTHERS = "journal", "others"
# The origin of a record from a shared log, whose server vouches for the record's author.
SHARED_LOG = "shared log"
# The origin of a change made on another machine of the same user.
OTHER_MACHINE = "another machine of yours"
# The `source` of records, and the `place` of turns, that other programs sent for ingestion.
INGEST = "ingest"
TYPED = ("prompt", "cli", "page")  # sources of texts that a person typed
OUTCOMES = frozenset(("success", "failed", "neutral"))
# A reason with this prefix states what to do instead of something that failed.
INSTEAD = "instead: "
# A reason that begins with one of these is shown without an added "because".
_LED_IN = (INSTEAD.lower(), "because ", "to ", "so ", "in order ", "due to ", "since ", "for ")
# Keys of a hit's metadata or, for display only, of a record's evidence. SAID_BEFORE: the ids of
# newer records that contradict this record. CHANGED_FILES: the files that the record mentions and
# that have changed since, each mapped to "changed" or "gone".
SAID_BEFORE, CHANGED_FILES = "said_before", "changed_files"
# Key of a record's evidence: the ids of records that it contradicts but does not supersede.
CONTRADICTS = "contradicts"
# Keys of evidence. WHEN: when a rule applies. ALSO: more search words. QUOTATION: the user's words.
WHEN, ALSO, QUOTATION = "when", "also", "quotation"
# Keys of a note's evidence. AGREED: the assistant's proposal and the user's consent. STAGED: the
# time of the quoted prompt, only until a transcript shows who sent this prompt.
AGREED, STAGED = "agreed", "staged"
# Key of a note's evidence: the parts of its condition (`When:`) that the user did not type. Until
# the user confirms the rule, these parts stop no calls.
UNSAID = "unsaid"
RULE_TYPES = tuple(kind for kind, row in RECORD_TYPES.items() if row.may_bind)
# Keys of a rule's evidence. EFFECT: the user's choice of what happens to matching tool calls.
# LIFTED: the rule's condition, moved here from WHEN while the user has suspended the rule.
EFFECT, LIFTED = "effect", "lifted"
# Keys of a record's evidence. RELEASED: its quotation may be shared. FOR_TEAM: an owner of the team
# wants all members asked before calls that match the rule; the server must confirm the ownership.
RELEASED, FOR_TEAM = "released", "for_team"
# Keys of a candidate's evidence: the prompt that contains it, the assistant's text before this
# prompt, and the number of other sessions in which the user said almost the same.
PROMPT, BEFORE, AGAIN = "prompt", "before", "again"
# Key of a candidate's evidence: it may be pasted text, so only the user may accept or reject it.
PASTED = "pasted"
MAX_SHOWN_CHARS = 400  # the maximum length of a record's text in questions and notices
CONFIRMED, RESTATED = "confirmed", "restated"  # evidence: when the user confirmed, repeated it
# Key for the client (`codex`) in evidence of records and in session notes; unset for Claude Code.
CLIENT = "client"
# Keys of an imported record's evidence: the program or file that it came from, the file and the
# line there, and the instruction file whose changes it follows.
IMPORTED, PLACE, LINE, INSTRUCTIONS = "imported", "place", "line", "instructions"
# Possible states of the registry when read: intact, missing, or damaged.
SOUND, LOST, DAMAGED = "", "lost", "damaged"
# The number of steps of a graph traversal if the question does not specify it.
DEFAULT_DEPTH = 2
STORED_FROM, CANDIDATE_FROM, PROMOTED_FROM, GENERALIZABLE_FROM = 0.5, 0.3, 0.7, 0.8
# A purge replaces a turn's text with this. The row stays, so that the turn is not stored again.
ERASED = "[erased]"
_PLAIN, _SQUARE = str.maketrans("“”„", '"""'), str.maketrans("“”„()", '"""[]')
# `Json` objects may be modified; a `Payload`, such as that of an operation, must not be.
Json = dict[str, Any]
Payload = Mapping[str, Any]


class Entity(NamedTuple):
    """A node of the graph: its name, its type, and its observations, oldest first."""

    name: str
    type: str
    observations: tuple[str, ...] = ()


class Relation(NamedTuple):
    """A directed edge of the graph: `source` `type` `target`, for example "api uses Redis"."""

    source: str
    type: str
    target: str


class Graph(NamedTuple):
    """Entities and relations, each in order of creation."""

    entities: tuple[Entity, ...] = ()
    relations: tuple[Relation, ...] = ()


class Record(NamedTuple):
    """A stored statement, such as a decision or a rule. Its id and provenance are set when it is
    written. An empty field means that there is no value. Times are ISO 8601 in UTC.
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
    """Return the record type for a word, which is the name of a type or an alias."""
    return TYPE_ALIASES.get(kind, kind)


def shown_type(kind: str) -> str:
    """Return the name of a type as shown to people and models, e.g. `rule` for `constraint`."""
    return _SHOWN.get(kind, kind)


def may_close(new: Record, old: Record) -> bool:
    """Return True if `new` may supersede `old` by trust, scope and time; texts are not compared."""
    if TRUST_ORDER.get(new.trust, 0) < TRUST_ORDER.get("user" if old.pinned else old.trust, 0):
        return False
    is_same_place = (new.scope, new.domain) == (old.scope, old.domain)
    is_visible = new.scope != "local" or new.session == old.session
    return is_same_place and is_visible and stated_at(old) <= stated_at(new)


def users_words(record: Record) -> str:
    """Return the user's own words that a note quotes; '' if there are none."""
    return str(record.evidence.get(QUOTATION) or "") if record.trust == "user" else ""


def worded(record: Record, max_chars: int = 0, *, why: bool = False) -> str:
    """Return a record's text, with its reason if `why`. The user's words come first, never cut."""
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
    """Return the user's full words, then what of `caption` and `why` fits `max_chars` (0: all)."""
    parts_shown = [caption] if same_form(caption) != same_form(words) else []
    if why and not covers(f"{words} {caption}", why):
        parts_shown.insert(0, f"{caption} — {as_reason(why)}")
    if not parts_shown:
        return words
    parts: list[str] = []
    for part in caption.split(". "):
        # The dots in "e.g. Red" or "from 3.3. .. 9.3." do not end a sentence.
        if parts and not (part[:1].isupper() and "." not in parts[-1][-2:]):
            parts[-1] += f". {part}"
        else:
            parts.append(part)
    parts_shown += [". ".join(parts[:end]) for end in range(len(parts) - 1, 0, -1)]
    for text in parts_shown:
        # An unmatched `)` in a text could seem to end the quotation: turn its brackets into [].
        depths = accumulate((sign == "(") - (sign == ")") for sign in text)
        text = text.translate(_PLAIN if min(depths, default=0) >= 0 else _SQUARE)
        line = f"“{words}{NOTED_AS}{text})"
        if not max_chars or len(line) <= max_chars:
            return line
    return f"“{words}”"


def by_words(records: Sequence[Record]) -> list[int]:
    """Return indexes that sort the records so that those with the same quotation are adjacent."""
    first: dict[str, int] = {}
    words = ("" if SAID_BEFORE in record.evidence else users_words(record) for record in records)
    keys = [first.setdefault(said or str(place), place) for place, said in enumerate(words)]
    return sorted(range(len(keys)), key=keys.__getitem__)


def is_unconfirmed_import(record: Record) -> bool:
    """Return True if a record was imported from a program or file and is not confirmed."""
    return record.trust == "tool" and IMPORTED in record.evidence


def contradicted(record: Record) -> tuple[str, ...]:
    """Return the ids of the older records that a record contradicts."""
    ids = record.evidence.get(CONTRADICTS)
    return tuple(map(str, ids)) if isinstance(ids, list | tuple) else ()


def newer_than(stated: Mapping[str, tuple[str, Sequence[str]]]) -> dict[str, list[str]]:
    """Map the id of each older statement to the ids of newer ones, if one contradicts the other.
    `stated` maps each statement's id to its time and the ids that it contradicts. At equal times,
    the contradicting one is newer; if both contradict each other, the first in `stated`.
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
    """Return a copy of a record for display, with the ids of newer records that contradict it."""
    return record._replace(evidence={**record.evidence, SAID_BEFORE: newer}) if newer else record


def stated_at(record: Record) -> str:
    """Return the time when a record was stated, which may be before its creation."""
    return record.valid_from or record.created_at


def text_with_reason(record: Record) -> str:
    """Return a record's text with its reason, unless the text already contains the reason."""
    if not record.why or record.why.lower() in record.what.lower():
        return record.what
    return f"{record.what} — {as_reason(record.why)}"


def as_reason(why: str) -> str:
    """Word a reason so that it can follow a statement: "because …", "to …" or "instead: …"."""
    return why if why.lower().startswith(_LED_IN) else f"because {why}"


def verdict(record: Record) -> str:
    """Return "failed" for a failure or antipattern, "worked" for a success, rule etc., else ''."""
    if record.outcome == "failed" or record.type == "antipattern":
        return "failed"
    return "worked" if record.outcome == "success" or record.type in _FOLLOWED else ""


def lacks_lesson(record: Record) -> bool:
    """Return True if a record describes a failure but gives neither a reason nor an alternative."""
    return verdict(record) == "failed" and not (record.why or "instead" in record.what.lower())


def contradict(a: Record, b: Record) -> bool:
    """Return True if, of two records on one subject, one says "failed" and the other "worked"."""
    return {verdict(a), verdict(b)} == {"failed", "worked"}


class Provenance(NamedTuple):
    """The author, source and time of a change, which are stored in its operations and records."""

    source: str
    trust: str = "assistant"
    session: str = ""
    agent: str = ""
    author: str = ""
    origin: str = ""
    at: str = ""
    domain: str = "general"


class Operation(NamedTuple):
    """A change to memory, in the form in which it is applied, journalled, queued and shared."""

    id: str
    kind: str
    payload: Mapping[str, Any]
    provenance: Provenance
    store: str = "project"


class Filters(NamedTuple):
    """The filters of a query. A result must match one value of each filter that is not empty."""

    domains: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    since: str = ""
    before: str = ""
    as_of: str = ""  # ISO 8601: search the state of memory at that time


class Query(NamedTuple):
    """A parsed question."""

    text: str
    terms: tuple[str, ...] = ()  # the content words, in lower case and in order
    phrases: tuple[str, ...] = ()
    entity_hints: tuple[str, ...] = ()
    # Pairs (term, name): the known name that a term means, by an alias or a misspelling.
    meant: tuple[tuple[str, str], ...] = ()
    intent: str = ""
    answer_type: str = ""
    filters: Filters = Filters()
    traverse: bool = False
    depth: int = DEFAULT_DEPTH
    past: bool = False  # asks about an earlier state, so superseded records may match
    excluded: tuple[str, ...] = ()  # texts with one of these words are not results
    unasked: tuple[str, ...] = ()  # texts with one of these words are ranked lower
    asked: str = ""  # the question without filters and exclusions
    spans: tuple[tuple[str, str], ...] = ()  # periods ("after a move"): (first day, day after last)
    unread: tuple[str, ...] = ()  # notes for the user on words that only look like filters


class Hit(NamedTuple):
    """A search result in a uniform format (BR-2). `relevance` and `score` are from 0 to 1."""

    id: str
    text: str
    source: str
    timestamp: str = ""  # '' if unknown
    relevance: float = 0.0
    entities: tuple[str, ...] = ()
    # Depending on the source: type, why, scope, domain, trust, record (its id), entityType,
    # relations, session, stale, days_since, superseded_by, matched (terms).
    metadata: Mapping[str, Any] = {}
    graph_relations: tuple[Relation, ...] = ()
    score: float = 0.0

    def marked(self, marks: Mapping[str, Any]) -> "Hit":
        """Return a copy of the hit with `marks` added to its metadata."""
        return self._replace(metadata={**self.metadata, **marks})


class Answer(NamedTuple):
    """Ranked hits, graph paths and failed sources; `notes` explain how the question was parsed."""

    query: Query
    hits: tuple[Hit, ...] = ()
    paths: tuple[tuple[Relation, ...], ...] = ()
    failures: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class Project(NamedTuple):
    """A project: its id, name, root folder, folder for local memories, and registry keys."""

    id: str
    name: str
    root: str
    # The local tier's folder: `<main worktree>/.claude/memory` or, if unsuitable, one in the home.
    local: str
    keys: tuple[str, ...]
    # The ids of other projects that this folder claims without proof, or that own some of its keys.
    # The user must resolve this conflict.
    others: tuple[str, ...] = ()


class Registry(NamedTuple):
    """The registry in the home, which maps each key to the id of its project."""

    keys: Mapping[str, str]  # the project's id by key; if not SOUND, rebuilt from `project.json`s
    settled: tuple[str, ...] = ()  # keys that decide before others: user's choices, and `asked`
    undo: Mapping[str, Any] = {}  # by folder key: how to undo its last link or split of projects
    # Keys in `settled` of folders that claim a project, but are separate until the user decides.
    asked: tuple[str, ...] = ()
    state: str = SOUND  # SOUND, LOST or DAMAGED


class Trust(NamedTuple):
    """The folders that config.toml lets join a known project unasked: all (`everywhere`) or those
    below `roots`. They must state its git remote, or have a `.git` file pointing to its repository.
    """

    everywhere: bool = False
    roots: tuple[str, ...] = ()


class Identity(NamedTuple):
    """A folder as the project registry lists it: keys, root of the main worktree, shown name."""

    own: tuple[str, ...]  # keys that certainly mean this folder, best key first
    root: str
    name: str
    # Keys that other folders may state, too (git remote); used only if no other project has them.
    claims: tuple[str, ...] = ()
    pointer: str = ""  # key of the repository to which `.git` points, unproven; not in `keys`
    also: tuple[str, ...] = ()  # keys that the folder may have had before `.git` was added or lost
    # The path of a linked worktree, for finding the project after the worktree is removed.
    place: str = ""

    @property
    def keys(self) -> tuple[str, ...]:
        """Return all keys under which the registry lists the folder."""
        return (*self.claims, *self.own)
