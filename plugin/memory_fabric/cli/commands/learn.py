"""Command learn: read the past sessions that clients have stored on disk, after a preview."""

import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import groupby

import typer

from memory_fabric.capture.edit import REMEMBERED, Edit, change, decision, request
from memory_fabric.cli import environment, formatting, show
from memory_fabric.cli.commands.import_export import undo_last
from memory_fabric.cli.commands.review import say_done, show_waiting
from memory_fabric.cli.options import exclusive, flag, option, repeated
from memory_fabric.config import Settings, captures, transcript_roots
from memory_fabric.errors import BadInput
from memory_fabric.health import work
from memory_fabric.ids import new_id, short_id, timestamp
from memory_fabric.importing import past_sessions, runs
from memory_fabric.importing.learn import Reading, condense
from memory_fabric.importing.past_sessions import Session
from memory_fabric.recall import review as reviewing
from memory_fabric.recall.agent_domains import visible_to_process
from memory_fabric.recall.request_context import visible_to
from memory_fabric.store.home import switches
from memory_fabric.store.projects import home_projects, identity, registry_file
from memory_fabric.text import first_of, many

MAX_NAMED = 5
UNREAD = {
    past_sessions.GONE: "folder deleted or moved (--folder OLD=NEW says where it is now)",
    past_sessions.OFF: "capture is off for it",
    past_sessions.RUNNING: "in use, or changed within ten minutes: its own hooks read it",
}


def learn(
    run: bool = flag("--run  Read the sessions of the preview."),
    here: bool = flag("--here  Only the sessions of this folder's project."),
    folder: list[str] | None = repeated("OLD=NEW  Where a moved folder of sessions is now."),
    take_back: bool = flag("--undo  Take the last run back, in all projects."),
    accept: list[str] | None = repeated("ID  Remember a proposal (or ID=TEXT), or a project's."),
    drop: list[str] | None = repeated("ID  Drop a proposal, or all of a project."),
    condensed: bool = flag("--condensed  Print the project's sessions in few words."),
    budget: int = option(
        "TOKENS  With --condensed: the most to print; 0 only counts.", 8000, min=0
    ),
    before: str = option("TIME  With `--condensed`: only sessions that began before this time."),
    as_json: bool = flag("--json  Answer in JSON: sessions by project and state, or the run."),
) -> int:
    """Read past sessions of Claude Code, Codex and Qwen Code into memory, after a preview.

    Without an option, list how many sessions each project has, since when, and which of them the
    client will soon delete; in a terminal, then ask whether to read them. Each project's memory
    gets the turns and fixes of its sessions, and proposals: rules and corrections that you typed,
    and what you said in several sessions. An interrupted run continues where it stopped.
    """
    text = "--run, --undo, --condensed, and --accept or --drop, exclude each other."
    exclusive("--run", text, run, take_back, condensed, accept or drop)
    if condensed:
        return _condensed(budget, before, as_json)
    settings = environment.settings()
    if settings.domain in settings.domains.isolated and settings.domain:
        text = f"This shell is limited to the domain {settings.domain}, and sessions are of others."
        raise BadInput("MEMORY_FABRIC_DOMAIN", text, remedy="Unset MEMORY_FABRIC_DOMAIN.")
    is_off = not switches.state(settings.home, switches.EVERYWHERE)["write"]
    if is_off or not captures(settings):
        raise switches.off_error(settings)
    settings = settings._replace(domain="", session="")
    if take_back:
        with runs.alone(settings.home):
            return undo_last(settings, as_json, runs.FILE)
    if accept or drop:
        return _decide(settings, accept or (), drop or (), as_json)
    moved = {}
    for pair in folder or ():
        old, sign, new = pair.partition("=")
        new = os.path.realpath(os.path.expanduser(new)) if new else ""
        if not (old and sign and os.path.isdir(new)):
            text = f"--folder {pair} names no folder that exists." if sign else f"No = in {pair}."
            remedy = "Use --folder OLD=NEW with the old path and the folder where it is now."
            raise BadInput("--folder", text, remedy=remedy)
        moved[os.path.abspath(os.path.expanduser(old))] = new
    now_s = time.time()
    failed: list[str] = []
    sessions = past_sessions.make(settings, transcript_roots(os.environ), now_s, moved, failed)
    show.warn_all(f"could not be read: {because}" for because in failed)
    if here:
        sessions = past_sessions.of_folder(sessions, settings.project_dir, settings.home)
    unread = past_sessions.to_read(sessions)
    if as_json and not run:
        return show.json_out(past_sessions.as_json(sessions, now_s))
    if not as_json and (unread or not run):
        _preview(sessions, unread, settings, now_s)
    if not run:
        _show_proposals(settings)
        program = environment.program(settings)
        if unread:
            show.line(f"{program} learn --run reads them; learn --undo takes all of it back.")
        asks = unread and sys.stdin.isatty() and sys.stdout.isatty()
        if not (asks and typer.confirm("Read them now?")):
            return 0
    runs.note_moved(settings.home, moved)
    if not (unread or as_json or runs.unfinished(settings.home)):
        reasons = list(_left_out(sessions))
        show.line("Nothing to read." if reasons else "Nothing to read: memory has all sessions.")
        show.lines(reasons)
        return 0
    return _run(settings, unread, as_json)


def _preview(
    sessions: Sequence[Session], unread: Sequence[Session], settings: Settings, now_s: float
) -> None:
    if not sessions:
        show.line("No sessions of Claude Code, Codex or Qwen Code were found on this machine.")
        return
    began = min(session.transcript.head.began_at for session in sessions)
    size = sum(session.left for session in unread)
    news = f"{len(unread)} not in memory yet ({size / 1e6:.1f} MB)" if unread else "none to read"
    number = many(len(sessions), "session")
    show.line(f"{number} of {work.clients_of(sessions)} since {began[:10]}; {news}.", "bold")
    rows = []
    for some in past_sessions.groups(sessions):
        place, waiting = some[0].place, past_sessions.to_read(some)
        since = formatting.when(some[0].transcript.head.began_at)[:10]
        times = (session.transcript.deleted_s for session in waiting)
        deleted_s = min(filter(None, times), default=0.0)
        deleted = formatting.when(timestamp(deleted_s))[:10] if deleted_s else "-"
        numbers = str(len(some)), str(len(waiting) or "-")
        rows.append((place.name, *numbers, since, deleted, place.root))
    show.table(("project", "sessions", "to read", "since", "deleted from", "folder"), rows)
    show.lines(_left_out(sessions))
    if old := past_sessions.expired(sessions, settings, now_s):
        show.line(
            f"{many(len(old), 'session')} older than {settings.episodes_keep_days} days: of these "
            "only fixes are kept, turns have expired ([episodes] keep_days in config.toml)."
        )
    show.lines(work.deletions(sessions, now_s))


def _left_out(sessions: Sequence[Session]) -> Iterator[str]:
    for state, because in UNREAD.items():
        places = [session.place for session in sessions if session.state == state]
        is_gone = state == past_sessions.GONE
        names = dict.fromkeys(place.root if is_gone else place.name for place in places)
        if places:
            number, places_named = many(len(places), "session"), first_of(names, MAX_NAMED)
            yield f"Left out, {because}: {number} of {places_named}."


def _condensed(budget: int, before: str, as_json: bool) -> int:
    with environment.open_memory() as whole:
        # Leave out isolated domains: an assistant's notes on this output go to the folder's domain.
        memory = visible_to(visible_to_process(whole).whole, "")
        condensed = condense(memory, budget, before)
        name = memory.project.name if memory.project else "no project"
    show.warn_all(memory.failures)
    if as_json:
        return show.json_out(condensed._asdict())
    every = f"{many(condensed.all_sessions, 'session')} of {name}"
    if not budget:
        show.line(f"{every}: in condensed form about {condensed.all_tokens:,} tokens.")
        return 0
    show.line(
        f"{condensed.sessions} of {every}, newest first: about {condensed.tokens:,} tokens of "
        f"{condensed.all_tokens:,} (budget {budget:,})."
    )
    show.lines(condensed.lines)
    if condensed.before:
        show.line(f"Older ones: memory-fabric learn --condensed --before {condensed.before}")
    return 0


def _run(settings: Settings, unread: Sequence[Session], as_json: bool) -> int:
    if not unread and runs.unfinished(settings.home) is None:
        return show.json_out({"run": "", "projects": [], "failures": []})
    with runs.alone(settings.home), show.progress_bar("Reading", quiet=as_json) as tell:
        result = Reading(settings, runs.begin(settings.home), tell or (lambda done, of: None))
        result.read(unread)
    if as_json:
        projects = [project._asdict() for project in result.projects]
        answer = {"run": result.run.batch, "projects": projects}
        return show.json_out(answer | {"failures": result.failures})
    rows = [(p[0], *map(str, p[1:5])) for p in result.projects]
    show.table(("project", "sessions", "turns", "fixes", "proposals"), rows)
    if bad := sum(project.bad_lines for project in result.projects):
        show.warn(f"{many(bad, 'line')} could not be read and were passed over")
    show.warn_all(result.failures)
    program = environment.program(settings)
    made = any(any(project[2:5]) for project in result.projects)
    asked = f"Memory has these sessions now; ask {program} recall '…', or in any new session."
    show.line(asked if made else "Nothing of these sessions was stored.")
    show.line(f"{program} learn --undo takes all of it back.")
    _show_proposals(settings)
    return 0


def _show_proposals(settings: Settings) -> None:
    """Print this project's proposals, and how many others have; print all if it has none."""
    proposed = reviewing.proposals(settings)
    place = identity.identify(os.path.realpath(settings.project_dir))
    here = registry_file.place_owner(registry_file.read_registry(settings.home), place)
    shown = [one for one in proposed if one[0].id == here] or proposed
    for name, some in groupby(shown, lambda one: one[0].name):
        waiting = [record for _, record in some]
        show_waiting(f"{name}: {many(len(waiting), 'proposal')} of what you said", waiting)
    listed = {project.id for project, _ in shown}
    if elsewhere := Counter(project.name for project, _ in proposed if project.id not in listed):
        names = ", ".join(f"{name} {count}" for name, count in elsewhere.items())
        show.line(
            f"{elsewhere.total()} more in other projects: {names}. learn in their folders lists "
            "them, and so does the page (memory-fabric serve --open, under Review)."
        )
    if proposed:
        show.line(
            f"{environment.program(settings)} learn --accept ID --accept 'ID=other words' --drop "
            "ID decides; a project's name means all of its proposals. Until then none is told."
        )


def _decide(settings: Settings, accept: Sequence[str], drop: Sequence[str], as_json: bool) -> int:
    """Accept and drop proposals by id or project in one step; do nothing if a name is unknown."""
    proposed, step = reviewing.proposals(settings), f"learn-{short_id(new_id())}"
    wanted: dict[str, tuple[bool, Edit]] = {}
    for keep, name in [(True, name) for name in accept] + [(False, name) for name in drop]:
        id_, _, words = name.partition("=")
        named = [r.id for project, r in proposed if id_ in (project.name, r.id, short_id(r.id))]
        if not named or not wanted.keys().isdisjoint(named) or (words and (named[1:] or not keep)):
            text = f"{id_} is no proposal and no project with one, or is named twice."
            raise BadInput("id", text, remedy="memory-fabric learn lists them.")
        wanted |= dict.fromkeys(named, (keep, request(text=words or None)))
    done, by = [], environment.provenance()
    for project, record in (one for one in proposed if one[1].id in wanted):
        keep, edit = wanted[record.id]
        with closing(home_projects.memory_of(settings, project.id)) as memory:
            memory.batch = step
            did = None if edit.text else decision(memory, record.id, by, keep=keep)()
            done.append(did or (REMEMBERED, change(memory, record.id, edit, (), by).new))
            memory.flush()
    say_done(done, as_json)
    if not as_json:
        show.line(f"In a project's folder memory-fabric undo --step {step} takes its part back.")
    return 0
