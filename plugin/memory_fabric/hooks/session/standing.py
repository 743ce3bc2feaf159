"""Read and rank the records for the text at a session's start (see `recall.session_block`)."""

from collections.abc import Collection, Mapping

from memory_fabric.ids import timestamp
from memory_fabric.language.times import parsed
from memory_fabric.models import AGREED, OPEN_TYPES, OTHERS, Record, contradicted, stated_at
from memory_fabric.recall import session_block
from memory_fabric.recall.render import within_share
from memory_fabric.store import records
from memory_fabric.store.conversations import sessions
from memory_fabric.store.memory import Memory
from memory_fabric.store.schema import ACTIVE_CURRENT

HOLDS = f"{ACTIVE_CURRENT} AND scope <> 'local'"
STANDING_TYPES = (*session_block.RULE_TYPES, *session_block.DECISION_TYPES)
# Each query reads at most this many of the user's own rules, decisions and facts, newest first. The
# query for other people's records reads up to twice as many.
MAX_READ = 60
# Selects facts that the user stated or agreed to, or that were noted in several sessions.
_FACTS = (
    "type = 'note' AND (trust = 'user' OR sightings > 1 "
    f"OR json_extract(body, '$.evidence.{AGREED}') IS NOT NULL)"
)
_TYPES = ", ".join("?" * len(STANDING_TYPES))
_OWN = f"{HOLDS} AND (pinned = 1 OR (type IN ({_TYPES}) OR {_FACTS}) AND source <> ?)"
_OTHERS = f"{HOLDS} AND pinned = 0 AND type IN ({_TYPES}) AND source = '{OTHERS}'"
# A fix is shown in sessions that start within this many days, because its error may recur.
FIX_DAYS = 7
# Sources of the assistant's notes. An open question from one of these that nobody confirms or
# repeats is no longer shown after OPEN_FOR_SESSIONS later sessions with file changes.
NOTING = ("assistant", "subagent", "compaction", "mcp")
OPEN_FOR_SESSIONS = 3


def standing(
    memory: Memory, now: str, left_out: Collection[str] = (), seen: Collection[str] = ()
) -> session_block.Contents:
    """Return the current records for the text at a session's start, best first, except `left_out`
    and `seen`. `rules` has pinned records that are not decisions, `known` has facts and fixes of
    the week before `now` (ISO 8601), and `more` counts rules and decisions that did not fit.
    """
    # If the limit MAX_READ is reached, also read the pinned records and the user's statements.
    values = (*STANDING_TYPES, OTHERS)
    records_read = memory.find_records(_OWN, values, MAX_READ)
    for part in ("pinned = 1", "trust = 'user'") if len(records_read) == MAX_READ else ():
        records_read += memory.find_records(f"{_OWN} AND {part}", values, MAX_READ)
    records_read += _open(memory, "<>")
    sightings = records.sightings_of(memory.databases(), [r.id for r in records_read])
    current = [r for r in records_read if not _is_passed_over(memory, r, sightings)]
    # Also show newer records that contradict these. Such a record appears in the section of the
    # record that it contradicts (e.g. among the rules), and before it.
    stated = {record.id: stated_at(record) for record in current}
    newer = memory.find_records(*records.contradicting_any(list(stated))) if stated else []
    newer = [r for r in newer if any(stated.get(i, "9") <= stated_at(r) for i in contradicted(r))]
    current += newer
    kinds = {r.id: r.type for r in current}
    kinds |= {r.id: next(kinds[id_] for id_ in contradicted(r) if id_ in kinds) for r in newer}
    best = session_block.ranked(current, sightings)
    shown = session_block.still_new(best, left_out)
    is_decision = {r.id: kinds[r.id] in session_block.DECISION_TYPES for r in shown}
    is_rule = {r.id: kinds[r.id] in session_block.RULE_TYPES or r.pinned for r in shown}
    decisions = session_block.distinct([r for r in shown if is_decision[r.id]], MAX_READ)
    rules = [r for r in shown if is_rule[r.id] and not is_decision[r.id]]
    rules = session_block.distinct(rules, MAX_READ)
    facts = [r for r in shown if kinds[r.id] == "note" and not r.pinned]
    # Sort facts with numbers, addresses or paths first, because they are needed most often.
    facts.sort(key=lambda record: not any(c.isdigit() or c in "@/" for c in record.what))
    fixes = [r for r in _fixes(memory, now) if r.id not in left_out]
    latest = session_block.latest_of_session([*facts, *fixes])
    facts = [record for record in latest if record not in fixes]
    open_records = [r for r in shown if kinds[r.id] in OPEN_TYPES and not r.pinned]
    open_records += _open(memory, "=")
    # Read more records than are shown, because the newest may all be from the same author.
    shared = memory.find_records(_OTHERS, STANDING_TYPES, 2 * MAX_READ)
    others = [r for r in shared if r.id not in left_out]
    most = session_block.MAX_DECISIONS
    parts = (
        [r for r in open_records if r.id not in left_out][: session_block.MAX_OPEN],
        rules[: session_block.MAX_RULES],
        decisions[:most],
        [*facts[: session_block.MAX_FACTS], *(r for r in latest if r in fixes)],
        within_share(others, lambda r: r.author, most, beside_own=bool(best)),
    )
    more = len(rules) + len(decisions) - len(parts[1]) - len(parts[2])
    unseen = [tuple(session_block.still_new(part, seen)) for part in parts]
    asked, shown_rules, shown_decisions, known, of_others = unseen
    return session_block.Contents(asked, shown_rules, shown_decisions, known, of_others, more)


def _is_passed_over(memory: Memory, record: Record, sightings: Mapping[str, int]) -> bool:
    """Return True if OPEN_FOR_SESSIONS later sessions ignored this question of the assistant."""
    is_noted = record.source in NOTING and session_block.trust_of(record) == "assistant"
    if record.type not in OPEN_TYPES or not is_noted or sightings.get(record.id, 1) > 1:
        return False
    database, most = memory.session_database(), OPEN_FOR_SESSIONS
    return sessions.worked_since(database, record.created_at, record.session, most) >= most


def _open(memory: Memory, sign: str) -> list[Record]:
    """Return the newest unpinned questions and blockers, the user's ("<>") or others' ("=")."""
    # This literal list lets SQLite use the index `records_open`; `+` rules out `records_of_others`.
    types = ", ".join(f"'{kind}'" for kind in OPEN_TYPES)
    where = f"{HOLDS} AND pinned = 0 AND type IN ({types}) AND +source {sign} '{OTHERS}'"
    return memory.find_records(where, (), session_block.MAX_OPEN)


def _fixes(memory: Memory, now: str) -> list[Record]:
    """Return the newest fixes of the last FIX_DAYS days, except shared and imported fixes."""
    # Let SQLite use the index `records_by_time`; `+` keeps it from using `records_of_fixes`.
    recent = (
        f"{HOLDS} AND pinned = 0 AND +type = 'solution' AND trust IN ('user', 'assistant') "
        "AND source NOT IN (?, 'import') AND created_at > ?"
    )
    moment = parsed(now)
    since = timestamp(moment.timestamp() - FIX_DAYS * 24 * 3600) if moment else now
    return memory.find_records(recent, (OTHERS, since), session_block.MAX_FIXES)
