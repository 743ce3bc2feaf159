"""Commands import and export: other programs' memories, graph files and Markdown pages.

An import first shows what is new and what is left out, and then stores the new memories.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from shlex import quote
from typing import Any

from memory_fabric.cli import environment, show
from memory_fabric.cli.options import argument, flag, option
from memory_fabric.cli.show import STREAM
from memory_fabric.config import Settings, captures, transcript_roots
from memory_fabric.errors import BadInput, NotFound, StoreUnavailable
from memory_fabric.ids import timestamp
from memory_fabric.importing import instructions, page_restore, run, runs, sources
from memory_fabric.importing import page as pages
from memory_fabric.importing.items import MAX_EXAMPLES, SOURCE, TRUST, Here, here_of
from memory_fabric.importing.sources import Source
from memory_fabric.models import IMPORTED, Provenance, shown_type
from memory_fabric.recall.agent_domains import visible_to_process
from memory_fabric.store import files
from memory_fabric.store.graph_file import exchange
from memory_fabric.store.home import switches
from memory_fabric.store.memory import Memory
from memory_fabric.store.projects import instruction_files
from memory_fabric.text import many, one_line

MAX_SHOWN = 20
UNCHANGED = "Nothing was changed. Without --dry-run it is imported."


def import_file(
    paths: list[str] | None = argument("[PATH]...  Files or folders; - is standard input.", None),
    dry_run: bool = flag("--dry-run  Only say what would be imported and left out."),
    every: bool = flag("--all  Import statements on other projects, each into its own memory."),
    mine: bool = flag("--mine  A page edited or written elsewhere is yours: it has your trust."),
    anyway: bool = flag("--here  Import a memory page of another project into this one."),
    yes: bool = flag("--yes  Import by the project's name even if another one here has it."),
    take_back: bool = flag("--undo  Take the last import back, in all projects."),
    as_json: bool = flag("--json  Answer in JSON: what was new, and what was left out and why."),
) -> int:
    """Import memories from claude-mem, basic-memory, mem0, CLAUDE.md and others.

    Without a path, list what can be imported on this machine. The format is recognised by the
    content (docs/import.md). The output first says what is left out, and why. Imported memories are
    not your own statements: sessions see them with their source, and they hold no tool call back.
    Their times are kept, secrets are redacted, and importing again adds only what is new.

    A file of the reference knowledge-graph server is merged into the graph: existing entities get
    the observations they lack. Lines that cannot be read are stored in `set-aside.jsonl` in the
    home; if none can be read, the exit code is 1. Exit code 3 if a file does not exist.

        memory-fabric import ~/.claude-mem/claude-mem.db --dry-run
    """
    if take_back:
        if paths or dry_run or every or mine or anyway:
            raise BadInput("--undo", "--undo takes no path.", remedy="Use it alone.")
        return undo_last(environment.settings(), as_json)
    if not paths:
        return _show_places(as_json)
    if paths == [STREAM]:
        return _import_graph(STREAM, dry_run, as_json)
    if all(map(page_restore.is_page, paths)):
        return _restore_pages(paths, mine=mine, here=anyway, dry_run=dry_run, as_json=as_json)
    recognised = [sources.recognise(path) for path in paths]
    if recognised == [(None, paths[0])]:
        return _import_graph(paths[0], dry_run, as_json)
    for path, (kind, _) in zip(paths, recognised, strict=True):
        if kind is None:
            text = f"{path} is not of a form that can be imported with others."
            raise BadInput("PATH", text, remedy="Import it alone; it is read as a graph file.")
    pairs = [(kind, path) for kind, path in recognised if kind is not None]
    return _import_from(pairs, every=every, dry_run=dry_run, as_json=as_json, yes=yes)


def _import_graph(source: str, dry_run: bool, as_json: bool) -> int:
    if dry_run:
        text = "A graph file is read line by line, so there is no preview of it."
        remedy = "Import it, and take it back with memory-fabric undo if need be."
        raise BadInput("--dry-run", text, remedy=remedy)
    with (
        tempfile.NamedTemporaryFile(prefix="memory-fabric-") as copy,
        environment.open_memory() as memory,
        show.progress_bar("Importing", quiet=as_json) as tell,
    ):
        path, called = source, ""
        if source == STREAM:  # the import reads twice: copy standard input to a file
            shutil.copyfileobj(sys.stdin.buffer, copy)
            copy.flush()
            path, called = copy.name, "standard input"
        sources.expect_graph(path, called or source)
        # Another program wrote the file, so its statements do not get the user's trust.
        by = Provenance(SOURCE, trust=TRUST)
        imported = exchange.import_file(memory, path, by, tell, called=called)
        memory.flush()
    code = 1 if imported.bad and not imported.read else 0
    if as_json:
        bad = [{"line": line.number, "because": line.because} for line in imported.bad]
        counts = imported._asdict()
        counts |= counts.pop("loaded")._asdict()
        show.json_out({**counts, "bad": bad, "failures": memory.failures})
        return code
    loaded = imported.loaded
    waiting = " Some changes wait in the queue." if loaded.queued else ""
    show.line(
        f"New: {loaded.entities} entities, {loaded.observations} observations, "
        f"{loaded.relations} relations, of {imported.read} lines.{waiting}"
    )
    if loaded.ends:
        show.line(f"{loaded.ends} ends of relations were not described; they got the type unknown.")
    if imported.others:
        show.line(
            f"Left out: {many(imported.others, 'record')} of neither entities nor relations. For "
            "those of decisions.jsonl, run memory-fabric project adopt in its project's folder."
        )
    for name, spellings in list(loaded.variants.items())[:MAX_SHOWN]:
        show.line(f"{name} is spelled almost like {', '.join(spellings)}; both are kept.")
    if loaded.forgotten:
        names = ", ".join(loaded.forgotten[:MAX_SHOWN])
        show.line(f"Left out, because forgotten earlier: {names}.")
    if imported.bad:
        place = imported.set_aside
        fate = f"set aside in {place}" if place else "not readable"
        show.warn(f"{many(len(imported.bad), 'line')} {fate}:")
        show.warn_all(f"line {line.number}: {line.because}" for line in imported.bad[:MAX_SHOWN])
        if len(imported.bad) > MAX_SHOWN:
            show.warn(f"and {len(imported.bad) - MAX_SHOWN} more")
    show.warn_all(memory.failures)
    return code


def _show_places(as_json: bool) -> int:
    with environment.open_memory() as memory:
        here = here_of(memory, transcript_roots(os.environ)["codex"])
        plans, problems = [], []
        for source, path in sources.find(memory.settings, here):
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


def _import_from(
    chosen: Sequence[tuple[Source, str]], *, every: bool, dry_run: bool, as_json: bool, yes: bool
) -> int:
    """Show what is new in the sources and what is left out; store the new part unless `dry_run`.

    Raises BadInput if another project has the same name, unless `yes` or `dry_run` is set.
    """
    roots = transcript_roots(os.environ)
    with environment.open_memory() as memory:
        settings = memory.settings
        is_off = not switches.state(settings.home, switches.EVERYWHERE)["write"]
        if not dry_run and (is_off or not captures(settings)):
            raise switches.off_error(settings)
        here, followed = here_of(memory, roots["codex"]), instructions.Followings()
        # First update imports from files that changed, or their changed lines would count as new.
        if not dry_run and (names := instruction_files.changed(memory)):
            followed = instructions.update(memory, names)
        folders = run.folders_by_name(settings, roots) if every else {}
        plans = []
        for source, path in chosen:
            with _reporting(path):
                plans.append(run.plan(memory, source, path, here, folders))
        if not as_json:
            for plan in plans:
                _show_plan(plan)
        twins = run.twins(memory, here, plans, roots)
        if twins and not dry_run and not yes:
            raise _ambiguous(here, twins)
        stored: list[dict[str, Any]] = []
        if not dry_run and any(plan.new or _relations(plan) for plan in plans):
            with show.progress_bar("Importing", quiet=as_json) as tell:
                stored = run.store(memory, plans, run.new_batch(), tell)
        for plan in () if dry_run else plans:
            if plan.source is sources.INSTRUCTIONS:
                instructions.begin(memory, plan.path)
    if as_json:
        pairs = zip_longest(plans, stored)
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


@contextmanager
def _reporting(path: str) -> Iterator[None]:
    """Raise BadInput if the `with` block fails to read the file `path`."""
    try:
        yield
    except OSError as error:
        text = f"{path} cannot be read: {error.strerror or error}."
        remedy = "Check its size and permissions. Nothing was imported."
        raise BadInput("PATH", text, remedy=remedy) from error


def _ambiguous(here: Here, twins: Sequence[str]) -> BadInput:
    also = ", ".join(twins[:MAX_EXAMPLES])
    text = f"The source names projects without their folder, and {also} may be meant as well as "
    remedy = "Look with --dry-run; --yes imports all of that name into this project."
    return BadInput("PATH", f"{text}{here.name}.", remedy=remedy)


def _relations(plan: run.Plan) -> int:
    return sum(len(part.relations) for part in plan.parts)


def _show_plan(plan: run.Plan) -> None:
    related = f", {many(_relations(plan), 'relation')}" if _relations(plan) else ""
    head = f"{plan.path}: {plan.source.name}, {many(plan.found, 'statement')}"
    show.line(f"{head}, {plan.new} new{related}", style="bold")
    for part in plan.parts:
        if kinds := [shown_type(record.type) for record in part.records]:
            counts = ((kinds.count(kind), kind) for kind in sorted(set(kinds)))
            texts = (many(n, k) if k != "fix" or n == 1 else f"{n} fixes" for n, k in counts)
            show.line(f"  for {part.name}: {', '.join(texts)}")
    _show_left(plan.left)


def _show_left(left_out: Iterable[Any]) -> None:
    for cause in left_out:
        examples = "; ".join(f"“{one_line(text)}”" for text in cause.examples[:MAX_EXAMPLES])
        also = f" ({examples})" if examples else ""
        show.line(f"  left out, {cause.reason}: {cause.number}{also}")


def _outcome(stored: Sequence[dict[str, Any]], plans: Sequence[run.Plan]) -> str:
    if not stored:
        return "Nothing new to import; nothing was changed."
    total, related = (sum(one[name] for one in stored) for name in ("records", "relations"))
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


def _plan_as_json(plan: run.Plan) -> dict[str, Any]:
    fields = {"source": plan.source.key, "path": plan.path, "command": _command(plan)}
    fields |= show.fields(plan, "found new") | {"relations": _relations(plan)}
    projects = {part.name: len(part.records) for part in plan.parts}
    return fields | {"projects": projects, "left_out": [cause._asdict() for cause in plan.left]}


def _command(plan: run.Plan) -> str:
    home, path = os.path.expanduser("~"), plan.path
    shortened = f"~{quote(path[len(home) :])}" if path.startswith(home + os.sep) else quote(path)
    return f"memory-fabric import {shortened}"


def undo_last(settings: Settings, as_json: bool, file: str = run.FILE) -> int:
    """Undo the last run that `file` lists, by default the last import; report it by project."""
    if (last := runs.last(settings.home, file)) is None:
        raise NotFound("", "Nothing was read in that is not taken back.")
    projects = runs.undo(settings, last, environment.provenance(), file)
    if as_json:
        return show.json_out({"run": last.batch, "projects": [p._asdict() for p in projects]})
    for project in projects:
        stay = f"; {many(project.left, 'change')} could not be" if project.left else ""
        kept = f"; kept, since you accepted or changed them: {project.kept}" if project.kept else ""
        show.line(f"{project.name}: {many(project.changes, 'change')} taken back{stay}{kept}.")
    return 0


def _restore_pages(
    paths: Sequence[str], *, mine: bool, here: bool, dry_run: bool, as_json: bool
) -> int:
    """Show pages' memories; restore them unless `dry_run`. `here` allows other projects' pages."""
    batch = run.new_batch()
    with environment.open_memory() as memory:
        pages = []
        for path in paths:
            with _reporting(path):
                pages.append((path, page_restore.plan(memory, path, mine=mine, anyway=here)))
        for path, page in () if as_json else pages:
            parts = f"{page.restored} restored, {page.edited} edited, {page.added} added"
            show.line(f"{path}: memories of {page.name}, {parts}", style="bold")
            if graph := ", ".join(f"{number} {table}" for table, number in _graph(page).items()):
                show.line(f"  of the graph: {graph}")
            if page.had_trust:
                show.line(
                    f"  {page.had_trust} state your trust, but this home did not write them as "
                    "they are: they come without it. If they are your own words, use --mine."
                )
            _show_left(page.left)
        due = [p for _, p in pages if p.records or p.removed or any(_graph(p).values())]
        if due and not dry_run:
            folder = memory.settings.project_dir
            record = runs.Run(batch, timestamp(), {folder: folder}, state="done")
            runs.save(memory.settings.home, record, run.FILE)
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


def _graph(page: page_restore.Restoring) -> dict[str, int]:
    numbers = {table: len(page.rows.get(table, ())) for table in page_restore.KEYS[1:]}
    return {table: number for table, number in numbers.items() if number}


def export(
    target: str = argument("FILE  The file; by default, or with -, standard output.", STREAM),
    force: bool = flag("--force  Replace an existing file."),
    markdown: str = option("FOLDER  Write all memories as pages: one of the project, and user.md."),
    as_json: bool = flag("--json  Answer in JSON: the files and what is in them."),
) -> int:
    """Write the graph in the reference server's format, or all memories as Markdown.

    The graph has one JSON object per line. With `--markdown`, each page contains the records by
    kind, and the graph. `import` reads pages back without loss, including your edits of their
    texts. If MEMORY_FABRIC_DOMAIN names an isolated domain, only this domain is written.

        memory-fabric export --markdown notes
    """
    if markdown:
        if target != STREAM:
            raise BadInput("FILE", "--markdown names the folder.", remedy="Leave the file out.")
        if os.path.exists(markdown) and not os.path.isdir(markdown):
            raise BadInput("--markdown", f"{markdown} is not a folder.", remedy="Name a folder.")
        with environment.open_memory() as whole:
            memory = visible_to_process(whole)
            with pages.pages(memory) as written:
                _expect_all(memory)
                files.make_folder(os.path.abspath(markdown))
                filled = (p for p in written if p.records or p.entities or p.relations)
                rows = [_write_page(page, markdown, force, quiet=as_json) for page in filled]
        if as_json:
            return show.json_out({"pages": rows, "left_out": pages.LEFT_OUT})
        for row in rows:
            entities = f"{row['entities']} {'entity' if row['entities'] == 1 else 'entities'}"
            counts = (many(row["records"], "record"), entities, many(row["relations"], "relation"))
            show.line(f"{row['text']}: {', '.join(counts)}")
        show.line(pages.LEFT_OUT if rows else "Nothing is remembered yet; no page was written.")
        return 0
    if target == STREAM and as_json:
        raise BadInput("--json", "Standard output is used for the graph.", remedy="Name a file.")
    with environment.open_memory() as whole, show.progress_bar("Exporting", quiet=as_json) as tell:
        memory = visible_to_process(whole)
        lines = exchange.export_lines(memory.databases(), tell)
        _expect_all(memory)
    content = exchange.content_of(lines)
    if target == STREAM:
        sys.stdout.buffer.write(content)
        return 0
    show.write_file(target, content, force)
    if as_json:
        return show.json_out({"file": os.path.abspath(target), "lines": len(lines)})
    show.line(f"{many(len(lines), 'line')} in {target}.")
    return 0


def _expect_all(memory: Memory) -> None:
    if memory.failures:
        raise StoreUnavailable("", f"Nothing was exported: {'; '.join(memory.failures)}.")


def _write_page(page: pages.Written, folder: str, force: bool, *, quiet: bool) -> dict[str, Any]:
    plain = "".join(c if c.isalnum() or c in "-_. " else "-" for c in page.name)
    path = os.path.join(folder, f"{plain.strip('. ') or 'project'}.md")
    with show.progress_bar(f"Writing {path}", quiet=quiet) as tell:

        def encoded() -> Iterator[bytes]:
            for number, part in enumerate(page.parts, start=1):
                yield part.encode("utf-8", "replace")
                if tell:
                    tell(min(number, page.about_parts), page.about_parts)

        show.write_file(path, encoded(), force)
    return {"name": page.name, "text": path} | show.fields(page, "records entities relations")
