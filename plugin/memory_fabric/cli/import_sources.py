"""The import of other programs' memories: what there is, what is new, and what is left out."""

import os
from collections.abc import Sequence
from shlex import quote
from typing import Any

from memory_fabric.cli import environment, progress, show
from memory_fabric.config import Settings, captures, transcript_roots
from memory_fabric.errors import BadInput, NotFound
from memory_fabric.importing import follow, run, runs, sources
from memory_fabric.importing.follow import Followings
from memory_fabric.importing.items import MAX_EXAMPLES, Here, here_of
from memory_fabric.importing.run import Plan, Stored
from memory_fabric.importing.runs import undo
from memory_fabric.importing.sources import INSTRUCTIONS, Source
from memory_fabric.models import shown_type
from memory_fabric.store import instruction_files, switches
from memory_fabric.store.files import Refused
from memory_fabric.store.memory import Memory
from memory_fabric.text import many, one_line


def show_places(as_json: bool) -> int:
    """Say what there is to import on this machine for this project, and the command for each."""
    with environment.open_memory() as memory:
        here = here_of(memory, _codex_home())
        plans = []
        problems = []
        for source, path in sources.find(memory.settings, here):
            try:
                plans.append(run.plan(memory, source, path, here, {}))
            except (BadInput, OSError) as error:
                problems.append(f"{path}: {error}")
        name = here.name or "no project"
    if as_json:
        show.json_out(
            {"project": name, "places": [_plan_as_json(one) for one in plans], "problems": problems}
        )
        return 0
    if not plans and not problems:
        show.line(
            f"Nothing to import for {name} was found on this machine. docs/import.md lists what "
            "can be imported, such as an export of mem0: memory-fabric import PATH."
        )
    elif plans:
        rows = [(one.source.name, str(one.found), str(one.new), _command(one)) for one in plans]
        show.table(("found", "statements", f"new for {name}", "command"), rows)
        show.line("Nothing was changed. --dry-run shows what a command would leave out, and why.")
    for problem in problems:
        show.warn(problem)
    return 0


def import_found(
    found: Sequence[tuple[Source, str]],
    *,
    every: bool,
    dry_run: bool,
    as_json: bool,
    yes: bool = False,
) -> int:
    """Say what is new in these sources and what is left out, and store it unless `dry_run`.

    Raises BadInput without `yes` if another project has the name by which a source states this one.
    """
    with environment.open_memory() as memory:
        _expect_writing(memory.settings, dry_run)
        here = here_of(memory, _codex_home())
        followed = Followings() if dry_run else _follow(memory)
        others = run.folders_by_name(memory.settings, transcript_roots(os.environ)) if every else {}
        plans = [_planned(memory, source, path, here, others) for source, path in found]
        if not as_json:
            for one in plans:
                _show_plan(one)
        twins = run.namesakes(memory, here, plans, transcript_roots(os.environ))
        if twins and not dry_run and not yes:
            raise _ambiguous(here, twins)
        stored: list[Stored] = []
        if not dry_run and any(one.new or _relations(one) for one in plans):
            with progress.bar("Importing", quiet=as_json) as tell:
                stored = run.store(memory, plans, run.new_batch(), tell)
        if not dry_run:
            for one in plans:
                if one.source is INSTRUCTIONS:
                    follow.begin(memory, one.path)
        failures = list(memory.failures)
    if as_json:
        made = [one._asdict() for one in stored]
        rows = [
            _plan_as_json(plan) | {"stored": made[number] if made else None}
            for number, plan in enumerate(plans)
        ]
        answer = {"imports": rows, "followed": followed._asdict(), "failures": failures}
        show.json_out({**answer, "same_name": twins})
        return 0
    if twins and dry_run:
        show.warn(str(_ambiguous(here, twins)))
    if any(followed):
        show.line(
            f"Of instruction files that have changed: {followed.new} new, {followed.replaced} "
            f"replaced, {followed.closed} closed."
        )
    _report(plans, stored, dry_run)
    for failure in failures:
        show.warn(failure)
    return 0


def _ambiguous(here: Here, twins: Sequence[str]) -> BadInput:
    also = ", ".join(twins[:MAX_EXAMPLES])
    return BadInput(
        "PATH",
        f"The source names projects without their folder, and {also} may be meant as well as "
        f"{here.name}.",
        remedy="Look with --dry-run; --yes imports all of that name into this project.",
    )


def _follow(memory: Memory) -> Followings:
    """Bring records of instruction files up to date first: a changed line is not a new one."""
    names = instruction_files.changed(memory)
    return follow.update(memory, names) if names else Followings()


def undo_last(as_json: bool) -> int:
    """Take the last import back in all projects."""
    settings = environment.settings()
    last = runs.last(settings.home, run.FILE)
    if last is None:
        raise NotFound("", "Nothing was imported that is not taken back.")
    taken = undo(settings, last, environment.provenance(), run.FILE)
    if as_json:
        show.json_out({"run": last.batch, "projects": [one._asdict() for one in taken]})
    else:
        for one in taken:
            stay = f"; {many(one.left, 'change')} could not be" if one.left else ""
            show.line(f"{one.name}: {many(one.changes, 'change')} taken back{stay}.")
    return 0


def _codex_home() -> str:
    return transcript_roots(os.environ)["codex"]


def _planned(
    memory: Memory, source: Source, path: str, here: Here, others: dict[str, list[str]]
) -> Plan:
    try:
        return run.plan(memory, source, path, here, others)
    except Refused as error:
        raise BadInput(
            "PATH", str(error), remedy="Split it, or export less. Nothing was imported."
        ) from error
    except OSError as error:
        raise BadInput(
            "PATH",
            f"{path} cannot be read: {error.strerror or error}.",
            remedy="Check its permissions. Nothing was imported.",
        ) from error


def _expect_writing(settings: Settings, dry_run: bool) -> None:
    if dry_run:
        return
    is_off = not switches.state(settings.home, switches.EVERYWHERE)["write"]
    if is_off or not captures(settings):
        raise switches.off_error(settings)


def _relations(plan: Plan) -> int:
    return sum(len(part.relations) for part in plan.parts)


def _show_plan(plan: Plan) -> None:
    related = f", {many(_relations(plan), 'relation')}" if _relations(plan) else ""
    found = many(plan.found, "statement")
    show.line(
        f"{plan.path}: {plan.source.name}, {found}, {plan.new} new{related}",
        style="bold",
    )
    for part in plan.parts:
        kinds: dict[str, int] = {}
        for record in part.records:
            kind = shown_type(record.type)
            kinds[kind] = kinds.get(kind, 0) + 1
        if kinds:
            counts = ", ".join(_count(number, kind) for kind, number in sorted(kinds.items()))
            show.line(f"  for {part.name}: {counts}")
    for left in plan.left:
        shown = "; ".join(f"“{one_line(text)}”" for text in left.examples[:MAX_EXAMPLES])
        show.line(f"  left out, {left.reason}: {left.number}" + (f" ({shown})" if shown else ""))


def _count(number: int, kind: str) -> str:
    return f"{number} fixes" if kind == "fix" and number != 1 else many(number, kind)


def _report(plans: Sequence[Plan], stored: Sequence[Stored], dry_run: bool) -> None:
    if dry_run:
        show.line("Nothing was changed. Without --dry-run it is imported.")
    elif not stored:
        show.line("Nothing new to import; nothing was changed.")
    else:
        made = sum(one.records for one in stored)
        related = sum(one.relations for one in stored)
        also = f" and {many(related, 'relation')}" if related else ""
        show.line(
            f"Imported {made} {'memory' if made == 1 else 'memories'}{also}, without your trust: "
            "they are told with their source and bind nothing. memory-fabric import --undo takes "
            "them back."
        )


def _plan_as_json(plan: Plan) -> dict[str, Any]:
    return {
        "source": plan.source.key,
        "path": plan.path,
        "command": _command(plan),
        "found": plan.found,
        "new": plan.new,
        "relations": _relations(plan),
        "projects": {part.name: len(part.records) for part in plan.parts},
        "left_out": [one._asdict() for one in plan.left],
    }


def _command(plan: Plan) -> str:
    home = os.path.expanduser("~")
    path = plan.path
    shown = f"~{quote(path[len(home) :])}" if path.startswith(home + os.sep) else quote(path)
    return f"memory-fabric import {shown}"
