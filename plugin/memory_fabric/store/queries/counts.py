"""Counts in the databases of a memory, or of one domain if the memory is limited to a domain."""

import json
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from memory_fabric.config import SDK, Settings
from memory_fabric.errors import DeadlinePassed, StoreUnavailable
from memory_fabric.ids import timestamp
from memory_fabric.models import INGEST, OTHERS, STORED_FROM
from memory_fabric.store.conversations.prompts import TYPED
from memory_fabric.store.conversations.worth import FIX, HELD, QUESTION, RECORD
from memory_fabric.store.database import Database
from memory_fabric.store.memory import Memory
from memory_fabric.store.schema import ACTIVE_CURRENT, CURRENT

TABLES = ("entities", "observations", "relations", "records", "episodes")
LAST_CHANGE = "SELECT max(created_at) FROM operations"
LAST_READ = (
    "SELECT max(at) FROM (SELECT max(created_at) AS at FROM injections "
    "UNION ALL SELECT max(loaded_at) FROM sessions)"
)
UNREAD = "unread sentences"
# The kind under which shown records are counted if no database contains them any more.
FORGOTTEN = "forgotten"
CHARS_PER_TOKEN = 4


def rows_of(databases: Sequence[Database]) -> dict[str, int]:
    """Map TABLES and `candidates` (unreviewed records) to their row counts in all databases."""
    tables = {name: name for name in TABLES}
    tables |= {"candidates": "records WHERE status = 'candidate'"}
    counts = [f"(SELECT count(*) FROM {table})" for table in tables.values()]
    numbers = [db.rows(f"SELECT {', '.join(counts)}")[0] for db in databases]
    return dict(zip(tables, map(sum, zip(*numbers, strict=True)), strict=False))


def newest(databases: Sequence[Database], query: str) -> str:
    """Return the newest time found by the query, LAST_CHANGE or LAST_READ; "" if there is none."""
    return max((row[0] for db in databases if (row := db.row(query)) and row[0]), default="")


def add_unread(memory: Memory, number: int) -> None:
    """Add `number` to the count of sentences that could not be parsed. Failures are only logged."""
    try:
        with memory.whole.session_database().transaction() as connection:
            added = "INSERT INTO meta (key, value) VALUES (?1, ?2) ON CONFLICT (key)"
            more = "DO UPDATE SET value = CAST(value AS INTEGER) + ?2"
            connection.execute(f"{added} {more}", (UNREAD, number))
    except (DeadlinePassed, StoreUnavailable) as error:
        memory.fail(f"graph: {error}")


def unread(memory: Memory) -> int:
    """Return how many sentences could not be parsed so far; 0 if the database cannot be read."""
    try:
        database = memory.whole.database("project", create=False)
        row = database and database.row("SELECT value FROM meta WHERE key = ?", (UNREAD,))
    except (DeadlinePassed, StoreUnavailable):
        return 0
    return int(row[0]) if row else 0


def times_rules_told(memory: Memory) -> dict[str, int]:
    """Map rule ids to the number of this project's sessions in which the rule was shown."""
    database = memory.database("project", create=False)
    of_rules = "FROM injections WHERE memory LIKE 'rule:%' GROUP BY memory"
    return dict(database.rows(f"SELECT substr(memory, 6), count(*) {of_rules}")) if database else {}


def has_turn(memory: Memory, words: str) -> bool:
    """Return True if a stored prompt of the user contains this text."""
    turn = "SELECT 1 FROM episodes WHERE role = 'user' AND instr(text, ?)"
    return any(db.row(turn, (words,)) for db in memory.databases())


class Share(NamedTuple):
    """Counts of the items shown and of their characters, for one kind of item or one channel."""

    name: str
    items: int = 0
    chars: int = 0


class Summary(NamedTuple):
    """Amounts of text shown to a project's sessions since a time (ISO 8601), the largest first."""

    since: str
    sessions: int
    kinds: tuple[Share, ...]
    channels: tuple[Share, ...]

    @property
    def total(self) -> Share:
        """Return the counts of items and characters, summed over all kinds."""
        return Share("", sum(s.items for s in self.kinds), sum(s.chars for s in self.kinds))


def tokens(chars: int) -> int:
    """Return an estimate of the number of tokens: four characters each, the average of prose."""
    return round(chars / CHARS_PER_TOKEN)


def told_since(memory: Memory, since: str) -> Summary:
    """Return how much text was shown to sessions since a time. Raises StoreUnavailable."""
    database, from_told = memory.session_database(), "FROM told WHERE created_at >= ?"
    columns = "channel, kind, memory"
    grouped = f"SELECT {columns}, count(*), sum(chars) {from_told} GROUP BY {columns}"
    rows = database.rows(grouped, (since,))
    ids = {str(row[2])[len(RECORD) :] for row in rows if not row[1]}
    of_ids = "SELECT r.id, r.type FROM json_each(?) AS j JOIN records AS r ON r.id = j.value"
    values = (json.dumps(sorted(ids)),)
    records = [row for db in memory.databases() for row in db.rows(of_ids, values)]
    types = {f"{RECORD}{id_}": str(kind) for id_, kind in records}
    kinds = _sums(Share(row[1] or types.get(row[2], FORGOTTEN), *row[3:]) for row in rows)
    channels = _sums(Share(row[0], *row[3:]) for row in rows)
    [(count,)] = database.rows(f"SELECT count(DISTINCT session) {from_told}", (since,))
    return Summary(since, count, kinds, channels)


def _sums(shares: Iterable[Share]) -> tuple[Share, ...]:
    sums: dict[str, Share] = {}
    for name, items, chars in shares:
        before = sums.get(name, Share(name))
        sums[name] = Share(name, before.items + items, before.chars + chars)
    return tuple(sorted(sums.values(), key=lambda share: (-share.chars, share.name)))


# Figures of the command `worth` (docs/worth.md): heading and meaning. None compares with sessions
# that had no memory. Memories shown through channels not in _BY_CHANNEL count as decisions.
FIGURES = {
    "held_not_run": ("held", "calls that a rule held back and that were not made after all"),
    "asked_not_run": ("asked", "calls that you were asked about by a rule and that were not made"),
    "fixes_applied": (
        "fixes",
        "told after an error, then used by a call, before its command passed",
    ),
    "decisions_named": (
        "decisions",
        "told, then named in an answer by id or in most of their words",
    ),
    "said_again": ("said again", "of all that your words put on record: what was there already"),
}
_BY_CHANNEL = {HELD: "held_not_run", QUESTION: "asked_not_run", FIX: "fixes_applied"}
LIMITS = (
    "This does not show that sessions went better by memory: none ran without it, and a rule, a "
    "fix or a decision may be kept for other reasons."
)
# SQL for the date of the Monday (UTC) of the week in which a row was created.
_MONDAY = "date(created_at, '-6 days', 'weekday 1')"


class Cases(NamedTuple):
    """Counts for a figure of FIGURES: e.g. a rule held `n` calls; `yes` of them were not made."""

    n: int = 0
    yes: int = 0


class WorthOfWeek(NamedTuple):
    """One week: its Monday (UTC), sessions, characters shown, and the `Cases` of each figure."""

    monday: str
    sessions: int
    chars: int
    figures: Mapping[str, Cases]


def worth_by_week(memory: Memory, since: str) -> list[WorthOfWeek]:
    """Return the figures for each week since a time (ISO 8601), the newest week first."""
    database = next((db for db in memory.databases() if db.kind == "project"), None)
    if database is None:
        return []
    cases: dict[str, dict[str, Cases]] = {}
    for week, channel, n, yes in database.rows(
        f"SELECT week, channel, count(*), sum(followed) FROM (SELECT {_MONDAY} AS week, "
        "max(followed) AS followed, CASE WHEN channel IN (?, ?, ?) THEN channel ELSE '' END AS "
        "channel, min(created_at) AS created_at FROM told WHERE created_at >= ? AND followed IS "
        "NOT NULL GROUP BY session, memory, 3) GROUP BY 1, 2",
        (*_BY_CHANNEL, since),
    ):
        cases.setdefault(week, {})[_BY_CHANNEL.get(channel, "decisions_named")] = Cases(n, yes)
    stated = _stated(memory, database, since)
    for week in {week for week, _ in stated}:
        repeated, first = stated[week, True], stated[week, False]
        cases.setdefault(week, {})["said_again"] = Cases(repeated + first, repeated)
    sums = f"SELECT {_MONDAY}, count(DISTINCT session), sum(chars) FROM told WHERE created_at >= ?"
    shown_by_week = {week: some for week, *some in database.rows(f"{sums} GROUP BY 1", (since,))}
    weeks = []
    for week in sorted(shown_by_week.keys() | cases.keys(), reverse=True):
        sessions, chars = shown_by_week.get(week, (0, 0))
        figures = {name: cases.get(week, {}).get(name, Cases()) for name in FIGURES}
        weeks.append(WorthOfWeek(week, sessions, chars, figures))
    return weeks


def _stated(memory: Memory, sessions: Database, since: str) -> Counter[tuple[str, bool]]:
    """Count the user's statements by (Monday, True if already recorded in another session)."""
    from memory_fabric.store.operations.kind import former_records  # no hook needs this import

    cases: dict[tuple[str, str], tuple[str, bool]] = {}
    # Statements are stored before it is known whether a person typed the prompt: look that up.
    prompts = "SELECT session, created_at FROM prompts WHERE origin = ? AND created_at >= ?"
    typed = set(sessions.rows(prompts, (TYPED, since)))
    for database in memory.databases():
        for week, session, at, trust, id_, confidence, inverse in database.rows(
            f"SELECT {_MONDAY}, session, created_at, json_extract(provenance, '$.trust'), "
            "json_extract(payload, '$.record.id'), json_extract(payload, '$.record.confidence'), "
            "inverse FROM operations WHERE kind = 'remember' AND created_at >= ? AND session <> '' "
            "AND json_extract(provenance, '$.source') IN ('prompt', 'assistant') "
            "AND coalesce(json_extract(payload, '$.past'), 0) = 0 ORDER BY seq",
            (since,),
        ):
            if trust != "user" and (session, at) not in typed:
                continue
            former = former_records(json.loads(inverse)) if inverse else []
            if former and former[0]["status"] == "active":
                is_elsewhere = former[0]["session"] != session
                cases.setdefault((session, former[0]["id"]), (week, is_elsewhere))
            elif not former and confidence >= STORED_FROM:
                cases.setdefault((session, id_), (week, False))
    return Counter(cases.values())


def worth_as_json(week: WorthOfWeek) -> dict[str, Any]:
    """Return a week's figures in the form used by `worth --json` and the page."""
    figures = {name: cases._asdict() for name, cases in week.figures.items()}
    numbers = {"week": week.monday, "sessions": week.sessions, "tokens": tokens(week.chars)}
    return {**numbers, **figures}


TABLES_BY_DOMAIN = ("entities", "relations", "observations", "records", "episodes")
CROSSING = "from from_domain relation to to_domain store".split()
_CROSSING = """
    FROM relations AS r JOIN entities AS s ON s.id = r.source JOIN entities AS t ON t.id = r.target
    WHERE s.domain <> t.domain
"""


class DomainCounts(NamedTuple):
    """`counts` pairs each domain with its row counts, in the order of TABLES_BY_DOMAIN. `crossings`
    counts relations between domains; `first` shows the first few, with the fields of CROSSING.
    """

    counts: tuple[tuple[str, tuple[int, ...]], ...] = ()
    crossings: int = 0
    first: tuple[dict[str, str], ...] = ()


def count_by_domain(databases: Sequence[Database], max_shown: int) -> DomainCounts:
    """Count the rows of these databases by domain. Raises StoreUnavailable."""
    counts: dict[str, list[int]] = {}
    crossings, first = 0, list[dict[str, str]]()
    for database in databases:
        for place, table in enumerate(TABLES_BY_DOMAIN):
            by_domain = f"SELECT domain, count(*) FROM {table} GROUP BY domain"
            for domain, number in database.rows(by_domain):
                counts.setdefault(domain, [0] * len(TABLES_BY_DOMAIN))[place] += number
        crossings += database.rows(f"SELECT count(*) {_CROSSING}")[0][0]
        fields = "s.name, s.domain, r.type, t.name, t.domain"
        oldest = f"SELECT {fields} {_CROSSING} ORDER BY r.id LIMIT ?"
        rows = database.rows(oldest, (max_shown - len(first),))
        first += [dict(zip(CROSSING, (*row, database.kind), strict=True)) for row in rows]
    numbers = tuple((domain, tuple(counts[domain])) for domain in sorted(counts))
    return DomainCounts(numbers, crossings, tuple(first))


DAY_S = 24 * 3600
WEEK_S = 7 * DAY_S
# The kinds of session starts at which the week's summary is shown.
WEEK_SOURCES = ("startup", "clear")
# The key in `meta` of the time at which the week's summary was last shown (ISO 8601).
WEEK_TOLD_AT = "week told at"
# SQL: this user's own notes; no session summaries, local, imported, ingested or others' records.
_OWN = f"type <> 'session' AND scope <> 'local' AND source NOT IN ('{OTHERS}','import','{INGEST}')"
_WEEK = (
    f"SELECT coalesce(sum(status = 'active' AND {_OWN} AND created_at >= ?1), 0), "
    f"coalesce(sum({_OWN} AND superseded_by <> '' AND valid_to >= ?1), 0), "
    f"coalesce(sum(status = 'candidate' AND {CURRENT} AND scope <> 'local'), 0) FROM records"
)
# Selects a row if the week's summary is due: none was shown since ?2 (a week ago), some record is
# older than ?3 (a day ago), and some note of this user is not older than ?2.
_WEEK_DUE = (
    "SELECT 1 WHERE coalesce((SELECT value FROM meta WHERE key = ?1), '') < ?2 "
    "AND (SELECT created_at FROM records ORDER BY created_at LIMIT 1) < ?3 "
    f"AND EXISTS (SELECT 1 FROM records WHERE created_at >= ?2 AND {_OWN})"
)
# Sets key ?1 of `meta`; the caller appends a test of the old value, so only one session succeeds.
_TAKE = "INSERT INTO meta VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = ?2 WHERE value"
# A key in `meta`. Value: the day when shared records were last shown, and the last `seq` checked.
ARRIVALS_TOLD = "arrivals told at"
# Selects records of others, and from this user's other machines, by the primary key (`seq`).
_ARRIVED = (
    f"SELECT id, iif(source = '{OTHERS}', coalesce(nullif(json_extract(body, '$.author'), ''), "
    "'somebody'), '') FROM records WHERE seq > ? AND seq <= ? "
    f"AND {ACTIVE_CURRENT} AND type <> 'session' AND (source = '{OTHERS}' OR EXISTS ("
    "SELECT 1 FROM team_heads AS t INDEXED BY team_heads_by_key "
    "WHERE t.key = 'r:' || records.id AND t.state = 'mine')) ORDER BY seq DESC"
)


class Week(NamedTuple):
    """Counts of records noted or replaced within seven days, and of candidates to review."""

    noted: int = 0
    replaced: int = 0
    to_review: int = 0


def week_due(memory: Memory, source: str, agent_type: str) -> Week:
    """Return the week's summary if it is due at this session start, and save that it was shown. All
    its numbers are 0 if no person sees the session, in a week without notes or candidates, within
    seven days of the last summary, and on the first day. Raises StoreUnavailable, DeadlinePassed.
    """
    if not (memory.settings.weekly and _is_for_person(memory.settings, source, agent_type)):
        return Week()
    now_s = time.time()
    since = timestamp(now_s - WEEK_S)
    database = memory.database("project", create=False) if memory.project else None
    due = (WEEK_TOLD_AT, since, timestamp(now_s - DAY_S))
    if database is None or not database.row(_WEEK_DUE, due):
        return Week()
    week = Week(*database.rows(_WEEK, (since,))[0])
    whole = memory.whole.session_database()
    if not any(week) or whole.read_only or whole.newer:
        return Week()
    with whole.transaction() as c:
        taken = c.execute(f"{_TAKE} < ?3", (WEEK_TOLD_AT, timestamp(now_s), since)).rowcount
    return week if taken else Week()


def _is_for_person(settings: Settings, source: str, agent_type: str) -> bool:
    """Return True if a person will see this start (`startup`, `clear`) and notices are enabled."""
    is_alone = settings.ci or not settings.attended or settings.entrypoint.startswith(SDK)
    is_wanted = source in WEEK_SOURCES and settings.notices == "all" and settings.writes
    return is_wanted and not (agent_type or is_alone)


class Arrival(NamedTuple):
    """A new record from sharing; `author` is '' if it came from another machine of this user."""

    id: str
    author: str


def arrived(memory: Memory, source: str, agent_type: str) -> list[Arrival]:
    """Return the records that sharing has added since the last call, newest first, and save that
    they were shown. Return [] if no person sees this start of a session (`source`, `agent_type`),
    if some were already shown today, or if nothing was saved yet: at the first start with sharing,
    all records are new. Raises StoreUnavailable, DeadlinePassed.
    """
    arrivals: list[Arrival] = []
    if not _is_for_person(memory.settings, source, agent_type):
        return arrivals
    today = time.strftime("%Y-%m-%d")
    for database in memory.whole.databases():  # the project's database is the first
        row = database.row("SELECT value FROM meta WHERE key = ?", (ARRIVALS_TOLD,))
        before = str(row[0]) if row else ""
        day, _, since = before.partition(" ")
        if day == today:
            break
        [(last,)] = database.rows("SELECT coalesce(max(seq), 0) FROM records")
        if since == str(last) or database.read_only or database.newer:
            continue
        new = database.rows(_ARRIVED, (int(since), last)) if since else []
        now = f"{today if new else day} {last}"
        with database.transaction() as c:
            if c.execute(f"{_TAKE} = ?3", (ARRIVALS_TOLD, now, before)).rowcount:
                arrivals += map(Arrival._make, new)
    return arrivals
