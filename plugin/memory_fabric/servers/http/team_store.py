"""The HTTP application's store for a team's shared log: data for the page, and the ingest queue.

The queue is a table of the database. A worker locks a row while it processes the text (FOR UPDATE
SKIP LOCKED), in one transaction with the role of the member who sent the text. If the worker dies,
the text stays in the queue. Only the records made from a text are stored in the log, never turns.
"""

import asyncio
import sys
import threading
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from memory_fabric import __version__, errors, ids
from memory_fabric.capture.remember import state
from memory_fabric.ingest import parts
from memory_fabric.ingest_protocol import Ingest
from memory_fabric.language import times
from memory_fabric.language.concepts import concepts
from memory_fabric.recall.explain import answer_as_json
from memory_fabric.recall.pipeline import Fabric
from memory_fabric.redaction import redact
from memory_fabric.servers.http import guard, requests, routes, team_access, team_keys, team_rows
from memory_fabric.servers.http.ingest import Outcome
from memory_fabric.servers.http.responses import Job, answered
from memory_fabric.servers.http.team_memory import TeamMemory, undo_last
from memory_fabric.servers.http.team_rows import COUNTED, Row
from memory_fabric.sharing.server.connect import Connection
from memory_fabric.store import write
from memory_fabric.store.operations.ingest import digest
from memory_fabric.store.queues import ingest_queue
from memory_fabric.text import cut, name_key, neutralised, one_line
from memory_fabric.viewer.picture import age_of, presentable

# Maximum numbers sent to the page, so that it draws and searches smoothly. Recall searches all.
LIMITS = {"records": 2000, "entities": 3000, "observations": 5000, "relations": 5000}
SHOWN = (
    "id type what why alternatives outcome category scope domain trust author source agent "
    "confidence pinned valid_from valid_to superseded_by"
).split()
# Seconds at shutdown for the worker to finish its text.
CLOSE_GRACE_S = 2.0
ACCEPT = (
    "INSERT INTO memory_fabric.ingested (id, space, domain, idempotency_key, digest, body, length) "
    "VALUES (%s, %s, %s, %s, %s, %s::jsonb, %s) ON CONFLICT DO NOTHING RETURNING id"
)
KNOWN = (
    "SELECT id, digest, length, domain FROM memory_fabric.ingested "
    "WHERE space = %s AND idempotency_key = %s"
)
STATE = (
    "SELECT id::text, state, domain, length, attempts, error, "
    "to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"'), "
    "coalesce(to_char(ended_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"'), ''), "
    "records FROM memory_fabric.ingested WHERE space = %s AND id = %s"
)
MEMBERS = "SELECT memory_fabric.members_with_texts(%s)"
CLAIM = (
    "SELECT id, body, attempts, domain, "
    "to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"') "
    "FROM memory_fabric.ingested WHERE space = %s AND state = 'waiting' AND due_at <= now() "
    "ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED"
)
DONE = (
    "UPDATE memory_fabric.ingested SET state = 'done', body = NULL, error = '', records = %s, "
    "attempts = attempts + 1, ended_at = now() WHERE id = %s"
)
FAILED = (
    "UPDATE memory_fabric.ingested SET attempts = attempts + 1, error = %s, "
    "state = CASE WHEN attempts + 1 >= %s THEN 'dead' ELSE state END, "
    "due_at = now() + make_interval(secs => least(%s * 2 ^ attempts, %s)) WHERE id = %s"
)


class TeamStore(routes.Store):
    """The store of the application for one space; `holder` is the hexadecimal digest of a key."""

    def __init__(self, access: team_access.Access) -> None:
        self._access, self._worker = access, Worker(access)
        self.page = {"picture": picture, "recall": explained, "projects": projects}
        self.page |= {"history": history, "status": self._status}
        self.more_routes = [Route("/v1/memory/undo", self._undo, methods=["POST"])]

    async def begin(self) -> None:
        self._worker.start()

    async def end(self) -> None:
        await asyncio.to_thread(self._worker.close, CLOSE_GRACE_S)
        await asyncio.to_thread(self._access.close)

    async def admit(self, holder: str) -> None:
        await self._access.read(holder, lambda _: None)

    async def answer(self, holder: str, job: Job, project: str = "") -> Response:
        """Return a read-only job's result, cached by the job's parameters except the time `now`."""
        question = None
        if isinstance(job, partial) and job.func != self._status:
            question = (job.func, *(item for item in job.keywords.items() if item[0] != "now"))
        body = await self._access.read(holder, lambda memory: answered(memory, job).body, question)
        return Response(body, media_type=requests.JSON_TYPE)

    async def accept(self, holder: str, ingest: Ingest) -> Outcome:
        outcome = await self._access.ask(holder, partial(accept, ingest=ingest))
        if isinstance(outcome, ingest_queue.Accepted):
            self._worker.due.set()
        return outcome

    async def ingested(self, holder: str, id_: str) -> ingest_queue.QueuedText | None:
        return await self._access.ask(holder, partial(find, id_=id_))

    async def reasons(self) -> list[str]:
        """Return why the database cannot be used; an empty list if it responds."""
        try:
            access = self._access
            await access.in_thread(lambda: access.primary.run(lambda c: c.execute("SELECT 1")))
        except Exception as error:  # noqa: BLE001 - whatever it is, it is not ready
            return [str(error)]
        return []

    def mcp_manager(self, max_bytes: int) -> Any:
        """Return the handler of MCP requests; it answers each request independently."""
        from memory_fabric.servers.http import team_tools  # slow to import

        return team_tools.manager(self._access, max_bytes)

    def _status(self, memory: Any) -> dict[str, Any]:
        log_status = status(memory)
        if reason := self._access.without_replica:
            text = f"The replica is not asked, the primary answers: {reason}"
            remedy = "Look at the server of --read; it is asked again by itself."
            log_status["tiers"][0]["findings"].append({"reason": text, "remedy": remedy})
        return log_status

    async def _undo(self, request: Request) -> Response:

        def undo(memory: TeamMemory) -> Response:
            return answered(memory, lambda _: {"undone": undo_last(memory)})

        return await self._access.ask(request.scope[guard.HOLDER], undo)


def accept(memory: TeamMemory, ingest: Ingest) -> Outcome:
    """Add a text to the ingest queue; the text is durable once the transaction is committed."""
    body = write.cleaned(ingest._asdict() | {"key_decisions": list(ingest.key_decisions)})
    domain = body["domain"] = memory.domain_of(str(body["domain"]))
    hashed, length = digest(body), len(body["session_summary"])
    text, key = orjson.dumps(body).decode(), ingest.idempotency_key
    values = (ids.new_id(), memory.space, domain, key, hashed, text, length)
    new = memory.reader.query(ACCEPT, values)
    if new:
        return ingest_queue.Accepted(str(new[0][0]), length, domain)
    [(id_, stored_hash, length, domain)] = memory.reader.query(KNOWN, (memory.space, key))
    if stored_hash != hashed:
        return ingest_queue.IdempotencyConflict(str(id_))
    return ingest_queue.Accepted(str(id_), length, domain, repeated=True)


def find(memory: TeamMemory, id_: str) -> ingest_queue.QueuedText | None:
    """Return the state of a text that the caller sent for ingest; None if the id is unknown."""
    rows = memory.reader.query(STATE, (memory.space, id_))
    return ingest_queue.QueuedText(*rows[0]) if rows else None


class Worker(threading.Thread):
    """A thread that processes queued texts; set `due` so that it checks the queue at once."""

    def __init__(self, access: team_access.Access) -> None:
        super().__init__(name="ingest", daemon=True)
        self._access = access
        self.due, self._ending = threading.Event(), threading.Event()

    def close(self, timeout_s: float) -> None:
        """Stop the thread after its current text; wait at most `timeout_s` seconds for its end."""
        self._ending.set()
        self.due.set()
        if self.is_alive():
            self.join(timeout_s)

    def run(self) -> None:
        """Process texts until `close` is called."""
        last_error = ""
        while not self._ending.is_set():
            try:
                rows = self._access.primary.run(
                    lambda c: c.execute(MEMBERS, (self._access.space,)).fetchall()
                )
                for (member,) in rows:
                    while not self._ending.is_set() and self._process_next(str(member)):
                        pass
                last_error = ""
            except Exception as error:  # noqa: BLE001 - the texts of others are processed all the same
                if str(error) != last_error:  # a repeated error is printed only once
                    print(f"memory-fabric: ingest: {error}", file=sys.stderr)  # noqa: T201
                last_error = str(error)
            self.due.wait(1.0)  # look every second: other servers do not set `due`
            self.due.clear()

    def _process_next(self, member: str) -> bool:
        claimed: list[str] = []

        def process(connection: Connection) -> bool:
            with connection.transaction():
                memory = self._memory(connection, member)
                rows = connection.execute(CLAIM, (memory.space,)).fetchall()
                if not rows:
                    return False
                id_, body, attempts, domain, at = rows[0]
                claimed.append(str(id_))
                # All records belong to the text's domain, even if one of its lines states another.
                memory = self._memory(connection, member, "" if domain == "general" else domain)
                fields = {name: value for name, value in body.items() if name in Ingest._fields}
                fields["key_decisions"] = tuple(fields.get("key_decisions", ()))
                text = ingest_queue.Claimed(str(id_), Ingest(**fields), attempts, at)
                by, ids_ = parts.provenance(text), dict[str, None]()
                for record in parts.records(text, {}):
                    stored, _ = state(memory, record._replace(scope="team"), by)
                    ids_ |= {stored.id: None} if stored is not None else {}
                connection.execute(DONE, (list(ids_), id_))
                return True

        def note_failure(connection: Connection) -> None:
            with connection.transaction():
                self._memory(connection, member)
                pauses_s = (ingest_queue.FIRST_RETRY_S, ingest_queue.MOST_RETRY_S)
                values = (reason, ingest_queue.MAX_ATTEMPTS, *pauses_s, claimed[0])
                connection.execute(FAILED, values)

        try:
            return self._access.primary.run(process)
        except Exception as error:
            if not claimed:
                raise
            # Members can insert any content into the table, so processing can raise any error.
            message = str(error) if isinstance(error, errors.FabricError) else type(error).__name__
            reason = cut(one_line(message), ingest_queue.MAX_ERROR_CHARS)
        self._access.primary.run(note_failure)
        return True

    def _memory(self, connection: Connection, member: str, domain: str = "") -> TeamMemory:
        holder = team_keys.Holder(self._access.space, member, "ingest", domain)
        return self._access.memory_of(connection, holder)


def picture(memory: TeamMemory) -> dict[str, Any]:
    """Return the team's newest memories for the page, in the JSON format of viewer.picture."""
    now = ids.timestamp()
    shown = {name: memory.reader.newest(kind, LIMITS[name]) for name, kind in COUNTED.items()}
    fields = (team_rows.record_fields(row, memory.member) for row in shown["records"])
    records = [record for record in fields if record is not None]
    entities = _entities(shown, records, memory.member, now)
    numbers = {name: number for number, name in enumerate(entities)}
    by_key = {name_key(name): number for name, number in numbers.items()}
    sizes = {name: len(rows) for name, rows in shown.items()} | {"records": len(records)}
    counts = memory.reader.counts()
    left_out = {name: max(0, counts[name] - count) for name, count in sizes.items()}
    place = {"name": memory.space, "id": memory.space}
    whole = {"version": __version__, "made_at": now, "live": True, "project": place, "changes": []}
    whole |= {"entities": list(entities.values())}
    whole |= {"relations": _relations(shown["relations"], numbers)}
    whole |= {"records": [_record(record, by_key, now) for record in records]}
    whole |= {"tiers": status(memory)["tiers"], "left_out": left_out | {"changes": 0}}
    return presentable(whole)


def explained(memory: TeamMemory, q: str, limit: int, as_of: str) -> dict[str, Any]:
    """Return the best `limit` matches of `q` as of the time `as_of`, and the words searched for."""
    now = ids.timestamp()
    then = times.stated(as_of, now, "as_of") if as_of else ""
    answer = Fabric(memory, now).recall(q, limit=limit, as_of=then, explain=bool(q))
    searched = [{"word": c.text, "strength": c.strength} for c in concepts(answer.query)]
    return answer_as_json(answer) | {"searched": searched, "silence": ""}


def projects(_memory: TeamMemory) -> dict[str, Any]:
    """Return an empty list of projects, which the page requests: a team has only one memory."""
    return {"projects": [], "served": ""}


def status(memory: TeamMemory) -> dict[str, Any]:
    """Return the shared log's state in the form of a local memory's status, with a single tier."""
    tier: dict[str, Any] = {"tier": "graph", "state": "healthy", "counts": memory.reader.counts()}
    tier |= {"where": f"the space {memory.space} of a shared log", "findings": [], "backup": None}
    tier |= {"written_at": "", "read_at": ids.timestamp(), "queue": {"count": 0, "oldest_s": 0.0}}
    return {"tiers": [tier]}


def history(memory: TeamMemory, name: str, limit: int) -> list[dict[str, Any]]:
    """Return up to `limit` statements on an entity, newest first, in the form of local changes."""
    keys = [row.key for row in memory.reader.about([name])] if name else []
    changes = []
    for author, at, kind, value in memory.reader.versions(keys, limit):
        what = neutralised(redact.without_secrets(team_rows.said_of(kind, value)))
        by = {"author": author, "trust": team_rows.trust_of(author, memory.member)}
        change = {"id": f"{author} {at}", "kind": kind, "at": at, "what": what, "by": by}
        changes.append(change | {"undone": value is None})
    return changes


def _entities(
    shown: Mapping[str, Iterable[Row]], records: Iterable[dict[str, Any]], member: str, now: str
) -> dict[str, dict[str, Any]]:
    """Map names to entities for the page: those in `shown` rows, and those that records mention."""
    entities: dict[str, dict[str, Any]] = {}

    def named(name: str, type_: str = "", domain: str = "general", at: str = "") -> dict[str, Any]:
        unstated = {"aliases": [], "observations": [], "trust": team_rows.FOREIGN, "at": at}
        basic = {"name": name, "type": type_ or "unknown", "domain": domain}
        entity = entities.setdefault(name, basic | unstated | {"scope": team_rows.SCOPE})
        entity["at"] = max(entity["at"], at)
        return entity

    for row in shown["entities"]:
        statement = team_rows.said_in(row)
        if statement is not None:
            entity = named(statement.name, statement.type, statement.domain, statement.created_at)
            trust = team_rows.trust_of(row.author, member)
            entity |= {"aliases": list(statement.aliases), "trust": trust}
    for row in shown["observations"]:
        statement = team_rows.said_in(row)
        if statement is not None:
            entity = named(statement.name, "", statement.domain, statement.created_at)
            trust = team_rows.trust_of(row.author, member)
            observation = {"text": statement.text, "at": statement.created_at, "trust": trust}
            observation |= {"source": row.author, "domain": statement.domain}
            observation |= {"scope": team_rows.SCOPE, "session": "", "agent": "", "record": ""}
            entity["observations"].append(observation)
    for row in shown["relations"]:
        relation = team_rows.relation_in(row)
        for end in (relation.source, relation.target) if relation is not None else ():
            named(end)
    for record in records:
        for name, kind in record["entities"]:
            named(name, kind, record["domain"], record["created_at"])
    for entity in entities.values():
        entity |= age_of(entity["type"], entity["at"], now)
    return dict(list(entities.items())[: LIMITS["entities"]])


def _relations(rows: Iterable[Row], numbers: dict[str, int]) -> list[dict[str, Any]]:
    relations = []
    for row in rows:
        relation = team_rows.relation_in(row)
        if relation is not None and {relation.source, relation.target} <= numbers.keys():
            shown = {"from": numbers[relation.source], "to": numbers[relation.target]}
            about = {"type": relation.type, "at": str(row.value.get("created_at") or "")}
            about |= {"domain": str(row.value.get("domain") or "general"), "record": ""}
            relations.append(shown | about)
    return relations


def _record(value: dict[str, Any], by_key: dict[str, int], now: str) -> dict[str, Any]:
    age = age_of(value["type"], value["created_at"], now)
    about = (by_key.get(name_key(name)) for name, _ in value["entities"])
    shown = {name: value[name] for name in SHOWN}
    shown |= {"short_id": ids.short_id(value["id"]), "session": "", "status": "active"}
    shown |= {"stale": age["stale"] and not value["pinned"], "days": age["days"]}
    shown |= {"at": value["created_at"], "changed_files": {}}
    return shown | {"entities": [number for number in about if number is not None]}
