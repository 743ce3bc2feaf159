"""Read a project's past sessions into its memory, or condense them for an assistant's notes. Past
sessions are read by the same code as running sessions (`session.follow_transcript`), in
chronological order and in small durable steps, so that an interrupted run can be continued.
"""

import contextlib
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from memory_fabric import ids
from memory_fabric.capture.cues import may_hear
from memory_fabric.capture.notes.quotation import around
from memory_fabric.capture.notes.replaced import noted_before
from memory_fabric.capture.notes.typed import typed_words
from memory_fabric.capture.prompts import Heard, heard, said_again
from memory_fabric.capture.statement import CANDIDATE
from memory_fabric.client import CLAUDE_CODE
from memory_fabric.clients import transcripts
from memory_fabric.clients.table import client_of
from memory_fabric.config import SDK, Settings
from memory_fabric.errors import NotFound
from memory_fabric.hooks.session import turn_notes
from memory_fabric.hooks.session.checkpoint import closing
from memory_fabric.hooks.session.follow_transcript import follow, launched, read_to
from memory_fabric.importing import runs
from memory_fabric.importing.past_sessions import Session
from memory_fabric.importing.runs import Run
from memory_fabric.models import AGAIN, BEFORE, PROMPT, Provenance, Record
from memory_fabric.recall.request_context import RequestContext
from memory_fabric.redaction.redact import without_secrets
from memory_fabric.store import records
from memory_fabric.store.conversations import prompts, sessions
from memory_fabric.store.database import Database
from memory_fabric.store.home import switches
from memory_fabric.store.memory import Memory
from memory_fabric.store.operations import learn
from memory_fabric.store.projects import file_states, home_projects
from memory_fabric.store.scoped_memory import within, without
from memory_fabric.text import content_stems, cut, first_of, one_line

# The maximum number of prompts to compare, newest first, and of candidates to create.
MAX_PROMPTS, MAX_MADE = 5000, 40
# Limits for one reading step; they keep transactions short, so that other processes wait less.
MAX_BYTES, MAX_CHARS = 2 << 20, 48 << 10
# The maximum number of memories that are open at the same time.
MAX_OPEN = 8
# Limits of a condensed session: characters per prompt and answer, number of files and of prompts.
CHARS_PER_TOKEN = 4
MAX_ASKED_CHARS, MAX_ANSWER_CHARS, MAX_FILES, MAX_ASKED = 280, 200, 6, 40


class Done(NamedTuple):
    """The numbers of sessions, turns, fixes and candidates that a run stored in one project."""

    name: str
    sessions: int = 0
    turns: int = 0
    fixes: int = 0
    candidates: int = 0
    bad_lines: int = 0


class Reading:
    """One run of `learn`, with its results by project and its `failures`. `tell` is called to
    report progress: the number of bytes read so far and the total number.
    """

    def __init__(self, settings: Settings, run: Run, tell: Callable[[int, int], object]) -> None:
        self._settings, self.run, self._tell = settings, run, tell
        self._memories: dict[tuple[str, bool, str], Memory] = {}
        self._begun: set[str] = set()
        self._done_bytes = self._all_bytes = 0
        self._bad = Counter[str]()
        self.failures: list[str] = []
        self.projects: list[Done] = []

    def read(self, chosen: Sequence[Session]) -> None:
        """Read these sessions. After a project's last session, store the user's statements in its
        prompts as candidates (`_propose`). Finally, do this for projects that an interrupted run
        left unfinished. Raises StoreUnavailable, OSError.
        """
        self._all_bytes = sum(session.left for session in chosen)
        last = {session.place.key: session for session in chosen}
        count = Counter[str]()
        try:
            for session in chosen:
                key = session.place.key
                count[key] += 1
                memory = self._session(session)
                if last[key] is session:
                    self.projects.append(self._finish(memory, count[key], self._bad[key]))
            client = client_of(CLAUDE_CODE.key)
            settings = self._settings._replace(session="", attended=True, entrypoint="")
            for id_ in [id_ for id_ in self.run.folders if id_ not in self.run.finished]:
                try:
                    memory = home_projects.memory_of(settings._replace(client=client), id_)
                except NotFound:
                    continue
                with contextlib.closing(memory):
                    memory.batch = self.run.batch
                    memory.session_database()  # for writing, before `_finish` makes read-only views
                    _begin(memory, self.run.batch)
                    self.projects.append(self._finish(memory, 0, 0))
        finally:
            for memory in self._memories.values():
                memory.close()
        self._save(self.run._replace(state="done"))

    def _session(self, session: Session) -> Memory:
        head, path = session.transcript.head, session.transcript.path
        # Use the same context as the session's own hooks did.
        memory = self._memory(head.folder, head.is_attended, session.transcript.client)
        context = RequestContext(memory, ids.timestamp(), is_past=True).for_agent(head.agent)
        memory = context.memory
        memory.batch = self.run.batch
        settings = memory.settings
        notes: dict[str, Any] = {"attended": head.is_attended, **settings.client.mark}
        if settings.domains.configured:
            notes |= launched(settings, head.agent, notes)
        database = memory.whole.session_database()
        seen_at = ids.timestamp(session.transcript.changed_s)
        times = {"started_at": head.began_at or seen_at, "seen_at": seen_at}
        learn.adopt(database, head.session, path, self.run.batch, notes=notes, **times)
        reader = transcripts.Reader(session.transcript)
        begun, before = self._done_bytes, -1
        reached = read_to(memory, head.session)
        while before != reached < session.transcript.size:
            before = reached
            follow(context, head.session, path, MAX_BYTES, MAX_CHARS, is_here=False, read=reader)
            reached = read_to(memory, head.session)
            self._done_bytes += max(0, reached - before)
            self._tell(self._done_bytes, self._all_bytes)
        learn.finish(database, head.session)
        self._done_bytes = begun + session.left
        if reader.trouble:
            self.failures.append(f"{path}: {reader.trouble}")
        self._bad[session.place.key] += reader.bad
        return memory.whole

    def _memory(self, folder: str, is_attended: bool, client: str) -> Memory:
        """Return the memory of a folder's project, with the settings of a session there."""
        key = (folder, is_attended, client)
        if (memory := self._memories.pop(key, None)) is None:
            entrypoint = "" if is_attended else SDK
            settings = self._settings._replace(attended=is_attended, entrypoint=entrypoint)
            settings = settings._replace(project_dir=folder, session="", client=client_of(client))
            memory = Memory.open(settings)
            memory.batch = self.run.batch
            assert memory.project is not None
            id_, run = memory.project.id, self.run
            # Save this project in the log of runs, where an undo or a resumed run looks for it.
            if run.folders.get(id_) is None or id_ in run.finished:
                finished = tuple(other for other in run.finished if other != id_)
                self._save(run._replace(folders={**run.folders, id_: folder}, finished=finished))
            if id_ not in self._begun:
                self._begun.add(id_)
                _begin(memory, run.batch)
        self._memories[key] = memory
        while len(self._memories) > MAX_OPEN:
            self._memories.pop(next(iter(self._memories))).close()
        return memory

    def _finish(self, memory: Memory, sessions_read: int, bad: int) -> Done:
        assert memory.project is not None
        name, id_, batch = memory.project.name, memory.project.id, self.run.batch
        # Keep isolated domains apart: propose for all others together, then for each isolated one.
        isolated = sorted(memory.settings.domains.isolated)
        views = [within(memory, (domain,)) for domain in isolated]
        for view in (without(memory, isolated) if isolated else memory, *views):
            view.batch = batch
            _propose(view)
        file_states.drop_due(memory.session_database(), batch)
        memory.flush()
        self.failures += [f"{name}: {text}" for text in memory.failures]
        memory.failures.clear()
        self._save(self.run._replace(finished=(*self.run.finished, id_)))
        return Done(name, sessions_read, *learn.made_by(memory.session_database(), batch), bad)

    def _save(self, run: Run) -> None:
        self.run = run
        runs.save(self._settings.home, run)


def _begin(memory: Memory, batch: str) -> None:
    """Log that this `learn` run began, unless logged already; undoing this deletes its turns."""
    database = memory.database("project", create=False)
    if database is None or not learn.is_begun(database, batch):
        by = Provenance("cli", trust="user")
        memory.write_now("learn", {"batch": batch}, by, store="project")


def _propose(memory: Memory) -> None:
    """Store rules, corrections and repeated statements from the user's prompts as candidates. The
    most repeated statements come first, then the newest. Only the user's acceptance gives them the
    trust "user", because other text in a transcript may look as if the user had typed it.
    """
    database = memory.session_database()
    rows = prompts.newest_of_all(database, MAX_PROMPTS)
    off = switches.off_times(switches.NOTES, *memory.switched_by)
    found: list[tuple[int, Heard, tuple[Any, ...]]] = []
    sentences: list[str] = []
    for id_, session, text, at, domain in rows:
        was_off = any(since <= at < until for since, until in off)
        statement = heard(text) if may_hear(text) and not was_off else None
        if statement is None or said_again(statement.sentence, sentences):
            continue
        sentence = statement.sentence
        times = said_again(sentence, turn_notes.earlier_prompts(memory, session, sentence))
        # A rule or correction with enough words is understandable even if stated only once.
        stands_alone = statement.kind in ("rule", "correction") and len(content_stems(sentence)) > 2
        stands_alone = stands_alone and not sentence.rstrip().endswith("?")
        if (times or stands_alone) and not noted_before(memory, sentence):
            sentences.append(sentence)
            found.append((times, statement, (id_, session, text, at, domain)))
    found.sort(key=lambda one: -one[0])
    for times, statement, (id_, session, text, at, domain) in found[:MAX_MADE]:
        answer, most = prompts.answered_before(database, session, id_), turn_notes.MAX_BEFORE_CHARS
        evidence = {
            PROMPT: around(statement.sentence, text) or one_line(text),
            BEFORE: cut(one_line(answer[-most:]), most),
            AGAIN: times,
        }
        stated = {k: v for k, v in evidence.items() if v}
        kind, what = turn_notes.HEARD_TYPES[statement.kind], statement.sentence
        record = Record(kind, what, confidence=CANDIDATE, evidence=stated)
        by = Provenance("prompt", trust="assistant", session=session, domain=domain)
        memory.remember(record, by, at=at)


class Condensed(NamedTuple):
    """Condensed sessions, newest first. To get older sessions, pass `before` to `condense`."""

    lines: tuple[str, ...]
    sessions: int
    tokens: int
    all_sessions: int
    all_tokens: int
    before: str = ""


def condense(memory: Memory, budget: int, before: str = "") -> Condensed:
    """Return a project's newest sessions within a budget of tokens; the newest in any case, cut to
    the budget. With `before` (ISO 8601), only sessions that began earlier are considered.
    """
    lines_shown, oldest = list[str](), ""
    count = spent = total = number = 0
    is_full, limit = budget <= 0, budget * CHARS_PER_TOKEN
    for database in [database for database in memory.databases() if database.kind == "project"]:
        for session, began_at in prompts.kept_sessions(database, before):
            # Redact stored text again, because redaction rules may be newer. Only shown lines are
            # redacted, because redaction takes most of the time.
            redact = str if is_full else without_secrets
            if not (lines := _lines_of(database, session, began_at, redact)):
                continue
            size = sum(len(line) + 1 for line in lines)
            total, number = total + size, number + 1
            if not (is_full := is_full or (count > 0 and spent + size > limit)):
                sizes = accumulate(len(line) + 1 for line in lines)
                first = [line for line, end in zip(lines, sizes, strict=True) if end <= limit]
                lines_shown += first or [cut(lines[0], max(1, limit))]
                count, spent, oldest = count + 1, spent + min(size, limit), began_at
    tokens, all_tokens = (-(-chars // CHARS_PER_TOKEN) for chars in (spent, total))
    older = oldest if count < number else ""
    return Condensed(tuple(lines_shown), count, tokens, number, all_tokens, older)


def _lines_of(db: Database, session: str, began_at: str, redact: Callable[[str], str]) -> list[str]:
    """Return a session as lines: prompts, cut answers, records, changed files. [] if no prompts."""
    lines: list[str] = []
    asked = answer = ""
    for role, text in [*prompts.turns_of(db, session), ("user", "")]:
        if role == "assistant":
            answer = text
            continue
        if asked:
            ending = closing(answer, MAX_ANSWER_CHARS)
            lines.append(f"- asked: {cut(asked, MAX_ASKED_CHARS)}")
            lines += [f"  answered: {one_line(redact(ending))}"] if ending else []
        asked, answer = one_line(redact(typed_words(text))), ""
    if not lines:
        return []
    where = "session = ? AND type <> 'session' AND status = 'active' AND scope <> 'local'"
    known = records.find(db.connection, where, (session,), -1)
    changed = sessions.load_notes(db, session).get("files", ())
    files = [one_line(redact(str(file))) for file in changed]
    return [
        f"## {began_at[:16].replace('T', ' ')}, session {session[:8]}",
        *lines[: 2 * MAX_ASKED],
        *(f"- on record ({r.type}): {one_line(redact(r.what))}" for r, _ in reversed(known)),
        *([f"- changed: {first_of(files, MAX_FILES)}"] if files else []),
    ]
