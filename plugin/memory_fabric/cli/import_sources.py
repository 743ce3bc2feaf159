"""Import from other programs and pages: show what is new and what is left out, then store it."""

import os
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from shlex import quote
from typing import Any

from memory_fabric.cli import environment, show
from memory_fabric.config import Settings, captures, transcript_roots
from memory_fabric.errors import BadInput, NotFound
from memory_fabric.ids import timestamp
from memory_fabric.importing import follow, page_restore, run, runs
from memory_fabric.importing import sources as recognised
from memory_fabric.importing.follow import Followings
from memory_fabric.importing.items import MAX_EXAMPLES, Here, here_of
from memory_fabric.importing.page_restore import Restoring
from memory_fabric.importing.run import FILE, Plan, Stored
from memory_fabric.importing.runs import Run, undo
from memory_fabric.importing.sources import INSTRUCTIONS, Source
from memory_fabric.models import IMPORTED, shown_type
from memory_fabric.store.files import Refused
from memory_fabric.store.home import switches
from memory_fabric.store.projects import instruction_files
from memory_fabric.text import many, one_line

UNCHANGED = "Nothing was changed. Without --dry-run it is imported."


def show_places(as_json: bool) -> int:
    """List the sources on this machine to import from, with a command for each."""
    with environment.open_memory() as memory:
        here = here_of(memory, transcript_roots(os.environ)["codex"])
        plans, problems = [], []
        for source, path in recognised.find(memory.settings, here):
            try:
                plans.append(run.plan(memory, source, path, here, {}))
            except (BadInput, OSError) as error:
                problems.append(f"{path}: {error}")
    name = here.name or "no project"
    if as_json:
        places = [_plan_as_json(plan) for plan in plans]
        return show.json_out({"project": name, "places": places, "problems": problems})
    if plans:
        rows = [(p.source.name, str(p.found), str(p.new), _command(p)) for p in plans]
        show.table(("found", "statements", f"new for {name}", "command"), rows)
        show.line("Nothing was changed. --dry-run shows what a command would leave out, and why.")
    elif not problems:
        others = "docs/import.md lists what can be imported: memory-fabric import PATH."
        show.line(f"Nothing to import for {name} was found on this machine. {others}")
    show.warn_all(problems)
    return 0


def import_from(
    sources: Sequence[tuple[Source, str]], *, every: bool, dry_run: bool, as_json: bool, yes: bool
) -> int:
    """Show what is new in the sources and what is left out; store the new part unless `dry_run`.

    Raises BadInput if another project of the same name may be meant; `yes` chooses this project.
    """
    roots = transcript_roots(os.environ)
    with environment.open_memory() as memory:
        settings = memory.settings
        is_off = not switches.state(settings.home, switches.EVERYWHERE)["write"]
        if not dry_run and (is_off or not captures(settings)):
            raise switches.off_error(settings)
        here, followed = here_of(memory, roots["codex"]), Followings()
        # Update followed instruction files first, so that their changed lines do not count as new.
        if not dry_run and (names := instruction_files.changed(memory)):
            followed = follow.update(memory, names)
        folders = run.folders_by_name(settings, roots) if every else {}
        plans = []
        for source, path in sources:
            try:
                plans.append(run.plan(memory, source, path, here, folders))
            except Refused as error:
                remedy = "Split it, or export less. Nothing was imported."
                raise BadInput("PATH", str(error), remedy=remedy) from error
            except OSError as error:
                raise _unreadable(path, error, "permissions") from error
        if not as_json:
            for plan in plans:
                _show_plan(plan)
        twins = run.twins(memory, here, plans, roots)
        if twins and not dry_run and not yes:
            raise _ambiguous(here, twins)
        stored: list[Stored] = []
        if not dry_run and any(plan.new or _relations(plan) for plan in plans):
            with show.progress_bar("Importing", quiet=as_json) as tell:
                stored = run.store(memory, plans, run.new_batch(), tell)
        for plan in () if dry_run else plans:
            if plan.source is INSTRUCTIONS:
                follow.begin(memory, plan.path)
    if as_json:
        pairs = zip_longest(plans, [result._asdict() for result in stored])
        rows = [_plan_as_json(plan) | {"stored": result} for plan, result in pairs]
        answer = {"imports": rows, "followed": followed._asdict(), "failures": memory.failures}
        return show.json_out({**answer, "same_name": twins})
    if twins and dry_run:
        show.warn(str(_ambiguous(here, twins)))
    if any(followed):
        show.line(f"Of changed instruction files: {followed.new} new, {followed.closed} closed.")
    show.line(UNCHANGED if dry_run else _outcome(stored, plans))
    show.warn_all(memory.failures)
    return 0


def _unreadable(path: str, error: OSError, what: str) -> BadInput:
    text = f"{path} cannot be read: {error.strerror or error}."
    return BadInput("PATH", text, remedy=f"Check its {what}. Nothing was imported.")


def _ambiguous(here: Here, twins: Sequence[str]) -> BadInput:
    also = ", ".join(twins[:MAX_EXAMPLES])
    text = f"The source names projects without their folder, and {also} may be meant as well as "
    remedy = "Look with --dry-run; --yes imports all of that name into this project."
    return BadInput("PATH", f"{text}{here.name}.", remedy=remedy)


def _relations(plan: Plan) -> int:
    return sum(len(part.relations) for part in plan.parts)


def _show_plan(plan: Plan) -> None:
    related = f", {many(_relations(plan), 'relation')}" if _relations(plan) else ""
    head = f"{plan.path}: {plan.source.name}, {many(plan.found, 'statement')}"
    show.line(f"{head}, {plan.new} new{related}", style="bold")
    for part in plan.parts:
        kinds = [shown_type(record.type) for record in part.records]
        if kinds:
            counts = ((kinds.count(kind), kind) for kind in sorted(set(kinds)))
            texts = (many(n, k) if k != "fix" or n == 1 else f"{n} fixes" for n, k in counts)
            show.line(f"  for {part.name}: {', '.join(texts)}")
    _show_left(plan.left)


def _show_left(left_out: Iterable[Any]) -> None:
    for cause in left_out:
        examples = "; ".join(f"“{one_line(text)}”" for text in cause.examples[:MAX_EXAMPLES])
        also = f" ({examples})" if examples else ""
        show.line(f"  left out, {cause.reason}: {cause.number}{also}")


def _outcome(stored: Sequence[Stored], plans: Sequence[Plan]) -> str:
    if not stored:
        return "Nothing new to import; nothing was changed."
    total = sum(result.records for result in stored)
    related = sum(result.relations for result in stored)
    also = f" and {many(related, 'relation')}" if related else ""
    new = (record for plan in plans for part in plan.parts for record in part.records)
    names = dict.fromkeys(str(record.evidence[IMPORTED]) for record in new)
    confirm = " ".join(f"--holds {quote(name)}" for name in names)
    return (
        f"Imported {total} {'memory' if total == 1 else 'memories'}{also}, without your trust: "
        "they are told with their source and bind nothing until you confirm them. memory-fabric "
        "import --undo takes them back."
        + (f" All of them hold: memory-fabric review {confirm}" if names else "")
    )


def _plan_as_json(plan: Plan) -> dict[str, Any]:
    fields = {"source": plan.source.key, "path": plan.path, "command": _command(plan)}
    fields |= show.fields(plan, "found new") | {"relations": _relations(plan)}
    projects = {part.name: len(part.records) for part in plan.parts}
    return fields | {"projects": projects, "left_out": [cause._asdict() for cause in plan.left]}


def _command(plan: Plan) -> str:
    home, path = os.path.expanduser("~"), plan.path
    shortened = f"~{quote(path[len(home) :])}" if path.startswith(home + os.sep) else quote(path)
    return f"memory-fabric import {shortened}"


def undo_last(settings: Settings, as_json: bool, file: str = FILE) -> int:
    """Undo the last import in all its projects, or the last run that another `file` lists."""
    last = runs.last(settings.home, file)
    if last is None:
        raise NotFound("", "Nothing was read in that is not taken back.")
    projects = undo(settings, last, environment.provenance(), file)
    if as_json:
        return show.json_out({"run": last.batch, "projects": [p._asdict() for p in projects]})
    for project in projects:
        stay = f"; {many(project.left, 'change')} could not be" if project.left else ""
        kept = f"; kept, since you accepted or changed them: {project.kept}" if project.kept else ""
        show.line(f"{project.name}: {many(project.changes, 'change')} taken back{stay}{kept}.")
    return 0


def restore_pages(
    paths: Sequence[str], *, mine: bool, here: bool, dry_run: bool, as_json: bool
) -> int:
    """Show what pages would restore; restore it unless `dry_run`. `here` accepts any project's."""
    batch = run.new_batch()
    with environment.open_memory() as memory:
        pages = []
        for path in paths:
            try:
                plan = page_restore.plan(memory, path, mine=mine, anyway=here)
            except OSError as error:
                raise _unreadable(path, error, "size and permissions") from error
            pages.append((path, plan))
        for path, page in () if as_json else pages:
            _show_page(path, page)
        due = [p for _, p in pages if p.records or p.removed or any(_graph(p).values())]
        if due and not dry_run:
            folder = memory.settings.project_dir
            record = Run(batch, timestamp(), {folder: folder}, state="done")
            runs.save(memory.settings.home, record, FILE)
            for page in due:
                page_restore.store(memory, page, batch)
    if as_json:
        rows = []
        for path, page in pages:
            fields = {"path": path, "of": page.name, "own": page.is_own}
            fields |= show.fields(page, "restored edited added")
            fields |= {"graph": dict.fromkeys(page_restore.KEYS[1:], 0) | _graph(page)}
            fields |= {"left_out": [omission._asdict() for omission in page.left]}
            rows.append(fields | {"without_trust": page.had_trust})
        stored = bool(due) and not dry_run
        return show.json_out({"pages": rows, "stored": stored, "failures": memory.failures})
    imported = "Imported. memory-fabric import --undo takes it back."
    nothing = "Nothing new in it; nothing was changed."
    show.line(UNCHANGED if dry_run else imported if due else nothing)
    show.warn_all(memory.failures)
    return 0


def _graph(page: Restoring) -> dict[str, int]:
    numbers = {table: len(page.rows.get(table, ())) for table in page_restore.KEYS[1:]}
    return {table: number for table, number in numbers.items() if number}


def _show_page(path: str, page: Restoring) -> None:
    parts = f"{page.restored} restored, {page.edited} edited, {page.added} added"
    show.line(f"{path}: memories of {page.name}, {parts}", style="bold")
    graph = ", ".join(f"{number} {table}" for table, number in _graph(page).items())
    if graph:
        show.line(f"  of the graph: {graph}")
    if page.had_trust:
        show.line(
            f"  {page.had_trust} state your trust, but this home did not write them as they are: "
            "they come without it. If they are your own words, use --mine."
        )
    _show_left(page.left)
