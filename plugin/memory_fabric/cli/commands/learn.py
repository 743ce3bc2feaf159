"""learn: read in the past sessions that clients still have, after a preview."""

import os
import sys
import time
from collections.abc import Sequence
from typing import Annotated

import typer

from memory_fabric import ids
from memory_fabric.cli import environment, formatting, progress, show, transcripts_report
from memory_fabric.config import Settings, captures, transcript_roots
from memory_fabric.errors import BadInput, NotFound
from memory_fabric.importing import past_sessions, runs
from memory_fabric.importing.learn import Reading, Result, condense
from memory_fabric.importing.past_sessions import Group, Session
from memory_fabric.importing.runs import undo
from memory_fabric.recall.agent_domains import visible_to_process
from memory_fabric.recall.request_context import visible_to
from memory_fabric.store import switches
from memory_fabric.text import first_of, many

MAX_NAMED = 5
DEFAULT_BUDGET = 8000
UNREAD = {
    past_sessions.GONE: "folder deleted or moved (--folder OLD=NEW says where it is now)",
    past_sessions.OFF: "capture is off for it",
    past_sessions.RUNNING: "in use, or changed within ten minutes: its own hooks read it",
}
ALL_READ = "Nothing to read: memory has all sessions."


def learn(
    run: Annotated[bool, typer.Option("--run", help="Read the sessions of the preview.")] = False,
    here: Annotated[
        bool, typer.Option("--here", help="Only the sessions of this folder's project.")
    ] = False,
    folder: Annotated[
        list[str] | None,
        typer.Option(
            "--folder",
            metavar="OLD=NEW",
            help="Where a folder of old sessions is now, if it was moved or renamed. It is "
            "remembered with `--run`; may be given several times.",
        ),
    ] = None,
    take_back: Annotated[
        bool,
        typer.Option(
            "--undo", help="Take the last run back: its memories and turns, in all projects."
        ),
    ] = False,
    condensed: Annotated[
        bool,
        typer.Option(
            "--condensed",
            help="Print this project's sessions in few words, newest first, for writing notes.",
        ),
    ] = False,
    budget: Annotated[
        int,
        typer.Option(
            metavar="TOKENS",
            min=0,
            help="With `--condensed`: the most tokens to print; 0 only says how many there are.",
        ),
    ] = DEFAULT_BUDGET,
    before: Annotated[
        str,
        typer.Option(
            metavar="TIME", help="With `--condensed`: only sessions that began before this time."
        ),
    ] = "",
    as_json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="Answer in JSON: sessions by project and state; with --run, what it made.",
        ),
    ] = False,
) -> int:
    """Read in the past sessions of Claude Code, Codex and Qwen Code, after a preview.

    Without an option it only shows what there is: how many sessions of which projects, since when,
    and which of them their client deletes soon; in a terminal it then asks whether to read them.
    Each project's sessions go into its own memory, in the order of time: turns, known fixes,
    and what you said again over sessions (as candidates). A run that was interrupted goes on where
    it was.

        memory-fabric learn --run
    """
    if run + take_back + condensed > 1:
        raise BadInput(
            "--run",
            "--run, --undo and --condensed exclude each other.",
            remedy="Use one of them.",
        )
    if condensed:
        return _condensed(budget, before, as_json)
    settings = _settings()
    if take_back:
        return _undo(settings, as_json)
    moved = _moved(folder or ())
    now_s = time.time()
    failed: list[str] = []
    found = past_sessions.make(settings, transcript_roots(os.environ), now_s, moved, failed)
    for because in failed:
        show.warn(f"could not be read: {because}")
    if here:
        found = past_sessions.of_folder(found, settings.project_dir, settings.home)
    chosen = [one for one in found if one.state in past_sessions.TO_READ]
    if not run:
        if as_json:
            show.json_out(past_sessions.as_json(found, now_s))
        else:
            _preview(found, settings, now_s)
        is_asked = chosen and not as_json and sys.stdin.isatty() and sys.stdout.isatty()
        if not (is_asked and typer.confirm("Read them now?")):
            return 0
    runs.note_moved(settings.home, moved)
    if not (chosen or as_json or runs.unfinished(settings.home)):
        left = _left_out(found)
        show.block("\n".join(["Nothing to read.", *left] if left else [ALL_READ]))
        return 0
    return _run(settings, chosen, as_json)


def _moved(stated: Sequence[str]) -> dict[str, str]:
    """Return the new places by the old ones. Raises BadInput."""
    moved = {}
    for text in stated:
        old, sign, new = text.partition("=")
        new = os.path.realpath(os.path.expanduser(new)) if new else ""
        if not (old and sign and os.path.isdir(new)):
            raise BadInput(
                "--folder",
                f"--folder {text} names no folder that exists." if sign else f"No = in {text}.",
                remedy="Use --folder OLD=NEW with the old path and the folder where it is now.",
            )
        moved[os.path.abspath(os.path.expanduser(old))] = new
    return moved


def _settings() -> Settings:
    """Return the settings. Raises BadInput or StoreUnavailable where nothing may be read in."""
    settings = environment.settings()
    if settings.domain in settings.domains.isolated and settings.domain:
        raise BadInput(
            "MEMORY_FABRIC_DOMAIN",
            f"This shell is limited to the domain {settings.domain}, and sessions are of others.",
            remedy="Unset MEMORY_FABRIC_DOMAIN.",
        )
    is_off = not switches.state(settings.home, switches.EVERYWHERE)["write"]
    if is_off or not captures(settings):
        raise switches.off_error(settings)
    return settings._replace(domain="", session="")


def _preview(found: Sequence[Session], settings: Settings, now_s: float) -> None:
    if not found:
        show.line("No sessions of Claude Code, Codex or Qwen Code were found on this machine.")
        return
    chosen = [one for one in found if one.state in past_sessions.TO_READ]
    size = sum(one.left for one in chosen)
    began = min(one.transcript.head.began_at for one in found)
    unread = f"{len(chosen)} not in memory yet ({_megabytes(size)})" if chosen else "none to read"
    show.line(
        f"{many(len(found), 'session')} of {transcripts_report.clients(found)} since {began[:10]}; "
        f"{unread}.",
        style="bold",
    )
    groups = past_sessions.groups(found)
    show.table(
        ("project", "sessions", "to read", "since", "deleted from", "folder"), map(_row, groups)
    )
    for line in _about(found, settings, now_s):
        show.line(line)
    if chosen:
        program = environment.program(settings)
        show.line(f"{program} learn --run reads them; learn --undo takes all of it back.")


def _row(group: Group) -> tuple[str, ...]:
    waiting = len(group.of(*past_sessions.TO_READ))
    since = formatting.when(group.sessions[0].transcript.head.began_at)[:10]
    deleted_s = past_sessions.first_deletion(group.sessions)
    deleted = formatting.when(ids.timestamp(deleted_s))[:10] if deleted_s else "-"
    place = group.place.root
    return group.place.name, str(len(group.sessions)), str(waiting or "-"), since, deleted, place


def _left_out(found: Sequence[Session]) -> list[str]:
    """Return what is left out, and why."""
    lines = []
    for state, because in UNREAD.items():
        some = [one for one in found if one.state == state]
        places = dict.fromkeys(
            one.place.root if state == past_sessions.GONE else one.place.name for one in some
        )
        names = first_of(places, MAX_NAMED)
        lines += [f"Left out, {because}: {many(len(some), 'session')} of {names}."] if some else []
    return lines


def _about(found: Sequence[Session], settings: Settings, now_s: float) -> list[str]:
    """Return what is left out and why, and what clients delete when."""
    lines = _left_out(found)
    if old := past_sessions.expired(found, settings, now_s):
        lines.append(
            f"{many(len(old), 'session')} older than {settings.episodes_keep_days} days: fixes "
            "and what was asked are kept, turns have expired ([episodes] keep_days in config.toml)."
        )
    lines += transcripts_report.deletions(found, now_s)
    return lines


def _condensed(budget: int, before: str, as_json: bool) -> int:
    with environment.open_memory() as whole:
        # Notes of it go into the domain of this folder, so it tells nothing that is isolated there.
        memory = visible_to(visible_to_process(whole).whole, "")
        found = condense(memory, budget, before)
        name = memory.project.name if memory.project else "no project"
        failures = list(memory.failures)
    for failure in failures:
        show.warn(failure)
    if as_json:
        show.json_out(found._asdict())
        return 0
    every = f"{many(found.all_sessions, 'session')} of {name}"
    if not budget:
        show.line(f"{every}: in condensed form about {found.all_tokens:,} tokens.")
        return 0
    show.line(
        f"{found.sessions} of {every}, newest first: about {found.tokens:,} tokens of "
        f"{found.all_tokens:,} (budget {budget:,})."
    )
    for line in found.lines:
        show.line(line)
    if found.before:
        show.line(f"Older ones: memory-fabric learn --condensed --before {found.before}")
    return 0


def _run(settings: Settings, chosen: Sequence[Session], as_json: bool) -> int:
    if not chosen and runs.unfinished(settings.home) is None:
        show.json_out({"run": "", "projects": [], "failures": []})
        return 0
    with runs.alone(settings.home), progress.bar("Reading", quiet=as_json) as tell:
        run = runs.begin(settings.home)
        result = Reading(settings, run, tell or _silent).read(chosen)
    if as_json:
        projects = [one._asdict() for one in result.projects]
        show.json_out({"run": result.run.batch, "projects": projects, "failures": result.failures})
    else:
        _report(result, settings)
    return 0


def _report(result: Result, settings: Settings) -> None:
    rows = [
        (one.name, *map(str, (one.sessions, one.turns, one.fixes, one.candidates)))
        for one in result.projects
    ]
    show.table(("project", "sessions", "turns", "fixes", "said again"), rows)
    if bad := sum(one.bad_lines for one in result.projects):
        show.warn(f"{many(bad, 'line')} could not be read and were passed over")
    for failure in result.failures:
        show.warn(failure)
    program = environment.program(settings)
    show.line(f"Memory has these sessions now; ask {program} recall '…', or in any new session.")
    show.line(f"{program} learn --undo takes all of it back.")


def _undo(settings: Settings, as_json: bool) -> int:
    run = runs.last(settings.home)
    if run is None:
        raise NotFound("", "Nothing was learned that is not undone.")
    with runs.alone(settings.home):
        taken = undo(settings, run, environment.provenance())
    if as_json:
        show.json_out({"run": run.batch, "projects": [one._asdict() for one in taken]})
    else:
        for one in taken:
            show.line(f"{one.name}: {many(one.changes, 'change')} taken back, turns deleted.")
    return 0


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"


def _silent(done: int, of: int) -> None:
    """Show no progress."""
