"""Read past sessions into the memories of their projects, in the order of time.

Each session goes the way of a live one (`session.follow_transcript`), in small steps of which each
is durable: a run that was killed goes on where it was.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from memory_fabric import ids
from memory_fabric.capture.confidence import CANDIDATE
from memory_fabric.capture.notes.quotation import around
from memory_fabric.capture.prompts.detector import heard, said_again
from memory_fabric.capture.prompts.gate import may_hear
from memory_fabric.client import CLAUDE_CODE
from memory_fabric.clients import transcripts
from memory_fabric.clients.table import client_of
from memory_fabric.config import SDK, Settings
from memory_fabric.errors import NotFound
from memory_fabric.hooks.session.follow_transcript import follow, launched, read_to
from memory_fabric.hooks.session.turn_notes import (
    HEARD_TYPES,
    MAX_BEFORE_CHARS,
    earlier_prompts,
    noted_before,
)
from memory_fabric.learning import runs
from memory_fabric.learning.plan import Session
from memory_fabric.learning.runs import Run
from memory_fabric.models import AGAIN, BEFORE, PROMPT, Provenance, Record
from memory_fabric.recall.request_context import RequestContext
from memory_fabric.store import switches
from memory_fabric.store.conversations import sessions
from memory_fabric.store.domains.scoped_memory import within, without
from memory_fabric.store.memory import Memory
from memory_fabric.store.projects import home_projects
from memory_fabric.text import cut, one_line

# Candidates expire after so many days anyway, and of long histories the newest prompts say enough.
MAX_PROMPTS, MAX_MADE = 5000, 40

# One step: what others wait for at most is its longest transaction.
MAX_BYTES, MAX_CHARS = 2 << 20, 48 << 10
# Memories that are kept open.
MAX_OPEN = 8


class Done(NamedTuple):
    """The counts of what a run made in one project."""

    name: str
    sessions: int = 0
    turns: int = 0
    fixes: int = 0
    candidates: int = 0
    bad_lines: int = 0


class Result(NamedTuple):
    """The run, what it made by project, and what failed."""

    run: Run
    projects: list[Done]
    failures: list[str]


class Reading:
    """One run over sessions; `tell` is called with the bytes read and those of all."""

    def __init__(self, settings: Settings, run: Run, tell: Callable[[int, int], object]) -> None:
        self._settings, self.run, self._tell = settings, run, tell
        self._memories: dict[tuple[str, bool, str], Memory] = {}
        self._begun: set[str] = set()
        self._done_bytes = self._all_bytes = 0
        self._bad: dict[str, int] = {}
        self.failures: list[str] = []

    def read(self, chosen: Sequence[Session]) -> Result:
        """Read these sessions, and finish each project after its last one; also those that an
        interrupted run left. Raises StoreUnavailable, OSError.
        """
        self._all_bytes = sum(one.left for one in chosen)
        last = {one.place.key: one for one in chosen}
        count: dict[str, int] = {}
        made = []
        try:
            for one in chosen:
                key = one.place.key
                count[key] = count.get(key, 0) + 1
                memory = self._session(one)
                if last[key] is one:
                    made.append(self._finish(memory, count[key], self._bad.get(key, 0)))
            rest = [id_ for id_ in self.run.folders if id_ not in self.run.finished]
            made += [done for id_ in rest if (done := self._rest(id_)) is not None]
        finally:
            for memory in self._memories.values():
                memory.close()
        self._note(self.run._replace(state="done"))
        return Result(self.run, made, self.failures)

    def _rest(self, id_: str) -> Done | None:
        """Finish a project that an interrupted run left; None if this home no longer has it.

        Its folder may have been deleted since, so it is opened by its id.
        """
        client = client_of(CLAUDE_CODE.key)
        settings = self._settings._replace(session="", attended=True, entrypoint="", client=client)
        try:
            memory = home_projects.memory_of(settings, id_)
        except NotFound:
            return None
        try:
            memory.batch = self.run.batch
            memory.session_database()  # opened to write, before views of it are
            _begin(memory, self.run.batch)
            return self._finish(memory, 0, 0)
        finally:
            memory.close()

    def _session(self, one: Session) -> Memory:
        """Read one session to its end; return the memory of its project."""
        head, path = one.transcript.head, one.transcript.path
        context = self._context(one)
        memory = context.memory
        settings = memory.settings
        notes: dict[str, Any] = {"attended": head.is_attended, **settings.client.mark}
        if settings.domains.configured:
            notes |= launched(settings, head.agent, notes)
        seen_at = ids.timestamp(one.transcript.changed_s)
        sessions.adopt(
            memory.whole.session_database(),
            head.session,
            path,
            self.run.batch,
            started_at=head.began_at or seen_at,
            seen_at=seen_at,
            notes=notes,
        )
        reader = transcripts.Reader(one.transcript)
        begun, before = self._done_bytes, -1
        reached = read_to(memory, head.session)
        while before != reached < one.transcript.size:
            before = reached
            follow(context, head.session, path, MAX_BYTES, MAX_CHARS, is_here=False, read=reader)
            reached = read_to(memory, head.session)
            self._done_bytes += max(0, reached - before)
            self._tell(self._done_bytes, self._all_bytes)
        sessions.finish(memory.whole.session_database(), head.session)
        self._done_bytes = begun + one.left
        if reader.trouble:
            self.failures.append(f"{path}: {reader.trouble}")
        self._bad[one.place.key] = self._bad.get(one.place.key, 0) + reader.bad
        return memory.whole

    def _context(self, one: Session) -> RequestContext:
        """Return the context of a session, as its hooks would have had it."""
        head = one.transcript.head
        memory = self._opened(
            head.folder, is_attended=head.is_attended, client=one.transcript.client
        )
        context = RequestContext(memory, ids.timestamp(), is_past=True).for_agent(head.agent)
        context.memory.batch = self.run.batch
        return context

    def _opened(
        self, folder: str, *, is_attended: bool = True, client: str = CLAUDE_CODE.key
    ) -> Memory:
        """Return the memory of a folder's project for sessions that began there."""
        key = (folder, is_attended, client)
        memory = self._memories.pop(key, None) or self._open(*key)
        self._memories[key] = memory
        while len(self._memories) > MAX_OPEN:
            self._memories.pop(next(iter(self._memories))).close()
        return memory

    def _open(self, folder: str, is_attended: bool, client: str) -> Memory:
        memory = Memory.open(
            self._settings._replace(
                project_dir=folder,
                session="",
                attended=is_attended,
                entrypoint="" if is_attended else SDK,
                client=client_of(client),
            )
        )
        memory.batch = self.run.batch
        assert memory.project is not None
        id_ = memory.project.id
        if self.run.folders.get(id_) is None or id_ in self.run.finished:
            finished = tuple(one for one in self.run.finished if one != id_)
            folders = {**self.run.folders, id_: folder}
            self._note(self.run._replace(folders=folders, finished=finished))
        if id_ not in self._begun:
            self._begun.add(id_)
            _begin(memory, self.run.batch)
        return memory

    def _finish(self, memory: Memory, sessions_read: int, bad: int) -> Done:
        """Look for what was said again, bring the other tiers up to date, and count."""
        assert memory.project is not None
        for visible in _views(memory):
            visible.batch = self.run.batch
            keep_said_again(visible)
        drop_file_states(memory, self.run.batch)
        memory.flush()
        name, id_ = memory.project.name, memory.project.id
        self.failures += [f"{name}: {text}" for text in memory.failures]
        memory.failures.clear()
        self._note(self.run._replace(finished=(*self.run.finished, id_)))
        made = counted(memory, self.run.batch)
        return made._replace(name=name, sessions=sessions_read, bad_lines=bad)

    def _note(self, run: Run) -> None:
        self.run = run
        runs.save(self._settings.home, run)


def _views(memory: Memory) -> list[Memory]:
    """Return the memory without its isolated domains, and each of these alone."""
    isolated = sorted(memory.settings.domains.isolated)
    if not isolated:
        return [memory]
    return [without(memory, isolated), *(within(memory, (one,)) for one in isolated)]


def counted(memory: Memory, batch: str) -> Done:
    """Return what a run has made in a project: turns, fixes, candidates."""
    database = memory.session_database()
    row = database.row(
        "SELECT coalesce(sum(json_array_length(value)), 0) FROM meta WHERE key >= ? AND key < ?",
        (f"learned {batch} turns ", f"learned {batch} turns!"),
    )
    turns = int(row[0]) if row else 0
    row = database.row(
        "SELECT count(DISTINCT CASE WHEN r.type = 'solution' THEN r.id END), "
        "count(DISTINCT CASE WHEN r.status = 'candidate' THEN r.id END) "
        "FROM operations AS o JOIN records AS r ON r.id = json_extract(o.payload, '$.record.id') "
        "WHERE instr(o.payload, ?1) > 0 AND json_extract(o.payload, '$.batch') = ?1",
        (batch,),
    )
    fixes, candidates = map(int, row or (0, 0))
    return Done("", 0, turns, fixes, candidates)


def drop_file_states(memory: Memory, batch: str) -> None:
    """Keep no versions of files for past records: those of today are not those of then."""
    with memory.session_database().transaction(durable=False) as c:
        c.execute(
            "DELETE FROM files_due WHERE record IN (SELECT json_extract(payload, '$.record.id') "
            "FROM operations WHERE instr(payload, ?1) > 0 "
            "AND json_extract(payload, '$.batch') = ?1)",
            (batch,),
        )


def _begin(memory: Memory, batch: str) -> None:
    """Write the operation that undo takes a project's turns back with, once."""
    database = memory.database("project", create=False)
    found = database and database.row(
        "SELECT 1 FROM operations WHERE kind = 'learn' AND json_extract(payload, '$.batch') = ?",
        (batch,),
    )
    if not found:
        by = Provenance("cli", trust="user")
        memory.write_now("learn", {"batch": batch}, by, store="project")


def keep_said_again(memory: Memory) -> list[Record]:
    """Store as candidates the sentences that the user typed in several sessions of a project, as
    far as this view of its memory shows them.

    They have no trust of the user's: in transcripts other texts pass as typed, so a person keeps
    them, not the assistant's reference to them. Returns the new ones.
    """
    rows = memory.session_database().rows(
        "SELECT id, session, text, created_at, domain FROM episodes WHERE role = 'user' "
        "ORDER BY created_at DESC, id DESC LIMIT ?",
        (MAX_PROMPTS,),
    )
    off = switches.notes_off_times(*memory.switched_by)
    made: list[Record] = []
    sentences: list[str] = []
    for id_, session, text, at, domain in rows:
        was_off = any(since <= at < until for since, until in off)
        found = heard(text) if may_hear(text) and not was_off else None
        if found is None or said_again(found.sentence, sentences):
            continue
        times = said_again(found.sentence, earlier_prompts(memory, session, found.sentence))
        if not times or noted_before(memory, found.sentence):
            continue
        sentences.append(found.sentence)
        evidence = {
            PROMPT: around(found.sentence, text) or one_line(text),
            BEFORE: cut(one_line(_said_before(memory, session, id_)), MAX_BEFORE_CHARS),
            AGAIN: times,
        }
        record = Record(
            type=HEARD_TYPES[found.kind],
            what=found.sentence,
            confidence=CANDIDATE,
            evidence={key: value for key, value in evidence.items() if value},
        )
        by = Provenance("prompt", trust="assistant", session=session, domain=domain)
        stored = memory.remember(record, by, at=at)
        made += [stored] if stored is not None else []
        if len(made) == MAX_MADE:
            break
    return made


def _said_before(memory: Memory, session: str, id_: int) -> str:
    row = memory.session_database().row(
        "SELECT text FROM episodes WHERE session = ? AND id < ? AND role = 'assistant' "
        "ORDER BY id DESC LIMIT 1",
        (session, id_),
    )
    return str(row[0])[-MAX_BEFORE_CHARS:] if row else ""
