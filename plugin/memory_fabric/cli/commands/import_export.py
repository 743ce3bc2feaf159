"""import, export: memories of other programs, and the graph in the reference server's format."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from memory_fabric.cli import environment, import_sources, pages, progress, show
from memory_fabric.cli.output import STREAM, write
from memory_fabric.errors import BadInput, StoreUnavailable
from memory_fabric.importing.page_restore import is_page
from memory_fabric.importing.sources import expect_graph, recognise
from memory_fabric.models import Provenance
from memory_fabric.store.graph_file import exchange
from memory_fabric.store.graph_file.exchange import Imported

# The file was written by other programs, so its statements are not the user's.
PROVENANCE = Provenance(source="import", trust="tool")
MAX_SHOWN = 20


def import_file(
    sources: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PATH]...",
            help="Files or folders of other programs; - is a graph file on standard input. Without "
            "one it says what there is on this machine.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be imported and left out.")
    ] = False,
    every: Annotated[
        bool,
        typer.Option(
            "--all",
            help="Import what the source states of other projects, too, each into its own memory.",
        ),
    ] = False,
    mine: Annotated[
        bool,
        typer.Option(
            "--mine",
            help="A memory page (export --markdown) that was edited, or written elsewhere, is your "
            "own: edits are taken, and its memories have your trust.",
        ),
    ] = False,
    anyway: Annotated[
        bool,
        typer.Option("--here", help="Import a memory page of another project into this one."),
    ] = False,
    yes: Annotated[
        bool,
        typer.Option(
            "--yes",
            help="Import statements by the name of the project also where another project on this "
            "machine has the same name.",
        ),
    ] = False,
    take_back: Annotated[
        bool, typer.Option("--undo", help="Take the last import back, in all projects.")
    ] = False,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="Answer in JSON: what was new, and what was left out and why; for a graph file "
            "variants of known names, forgotten names, and the lines set aside.",
        ),
    ] = False,
) -> int:
    """Import memories of other programs: claude-mem, basic-memory, mem0, CLAUDE.md and others.

    The form is recognised by the content (docs/import.md). It says first what it leaves out and
    why. Imported memories have no trust of yours: they are told with their source, and bind
    nothing. Their times are kept, secrets are redacted, and importing again adds only what is new.

    A file of the reference knowledge-graph server is merged into the graph: names stay as they are,
    existing entities get the observations they lack, and lines that cannot be read are kept in
    `set-aside.jsonl` in the home; if none can be read, the exit code is 1. Exit code 3 if a file
    does not exist.

        memory-fabric import
        memory-fabric import ~/.claude-mem/claude-mem.db --dry-run
        memory-fabric import memory.jsonl
    """
    if take_back:
        if sources or dry_run or every or mine or anyway:
            raise BadInput("--undo", "--undo takes no path.", remedy="Use it alone.")
        return import_sources.undo_last(as_json)
    if not sources:
        return import_sources.show_places(as_json)
    if sources == [STREAM]:
        return _import_graph(STREAM, dry_run, as_json)
    if all(is_page(source) for source in sources):
        return pages.restore(sources, mine=mine, anyway=anyway, dry_run=dry_run, as_json=as_json)
    known = [recognise(source) for source in sources]
    if known == [(None, sources[0])]:
        return _import_graph(sources[0], dry_run, as_json)
    for source, (kind, _) in zip(sources, known, strict=True):
        if kind is None:
            raise BadInput(
                "PATH",
                f"{source} is not of a form that can be imported with others.",
                remedy="Import it alone; it is read as a graph file.",
            )
    found = [(kind, path) for kind, path in known if kind is not None]
    return import_sources.import_found(
        found, every=every, dry_run=dry_run, as_json=as_json, yes=yes
    )


def _import_graph(source: str, dry_run: bool, as_json: bool) -> int:
    if dry_run:
        raise BadInput(
            "--dry-run",
            "A graph file is read line by line, so there is no preview of it.",
            remedy="Import it, and take it back with memory-fabric undo if need be.",
        )
    bar = progress.bar("Importing", quiet=as_json)
    with _readable(source) as path, environment.open_memory() as memory, bar as tell:
        called = "standard input" if source == STREAM else ""
        expect_graph(path, called or source)
        imported = exchange.import_file(memory, path, PROVENANCE, tell, called=called)
        memory.flush()
        failures = list(memory.failures)
    if as_json:
        bad = [{"line": line.number, "because": line.because} for line in imported.bad]
        counted = imported._asdict()
        counted |= counted.pop("loaded")._asdict()
        show.json_out({**counted, "bad": bad, "failures": failures})
    else:
        _show(imported)
        for failure in failures:
            show.warn(failure)
    return 1 if imported.bad and not imported.read else 0


@contextmanager
def _readable(source: str) -> Iterator[str]:
    """Yield the path of a file that can be read twice; standard input is copied into one."""
    if source == STREAM:
        with tempfile.NamedTemporaryFile(prefix="memory-fabric-") as copy:
            shutil.copyfileobj(sys.stdin.buffer, copy)
            copy.flush()
            yield copy.name
        return
    yield source


def _show(imported: Imported) -> None:
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
            f"{imported.others} records are neither entity nor relation; they were left out. To "
            "restore "
            "those of decisions.jsonl, run memory-fabric project adopt in its project's folder."
        )
    for name, others in list(loaded.variants.items())[:MAX_SHOWN]:
        show.line(f"{name} is spelled almost like {', '.join(others)}; both are kept.")
    if loaded.forgotten:
        names = ", ".join(loaded.forgotten[:MAX_SHOWN])
        show.line(f"Left out, because forgotten earlier: {names}.")
    if imported.bad:
        kept = (
            f"were set aside in {imported.set_aside}" if imported.set_aside else "could not be read"
        )
        show.warn(f"{len(imported.bad)} lines {kept}:")
        for line in imported.bad[:MAX_SHOWN]:
            show.warn(f"line {line.number}: {line.because}")
        if len(imported.bad) > MAX_SHOWN:
            show.warn(f"and {len(imported.bad) - MAX_SHOWN} more")


def export(
    target: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="The file to write; by default, or with -, standard output."
        ),
    ] = STREAM,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    markdown: Annotated[
        str,
        typer.Option(
            "--markdown",
            metavar="FOLDER",
            help="Write all memories as pages to read: one of the project, and user.md.",
        ),
    ] = "",
    as_json: Annotated[
        bool, typer.Option("--json", help="Answer in JSON: the files and what is in them.")
    ] = False,
) -> int:
    """Write the graph in the format of the reference server, or all memories as Markdown.

    The graph is one JSON object per line. With `--markdown` each page has the records by kind, and
    the graph; `import` reads it back without loss, and edits of its texts with it. If
    MEMORY_FABRIC_DOMAIN names an isolated domain, only this domain is written.

        memory-fabric export memory.jsonl
        memory-fabric export --markdown notes
    """
    if markdown:
        if target != STREAM:
            raise BadInput("FILE", "--markdown names the folder.", remedy="Leave the file out.")
        return pages.export(markdown, force=force, as_json=as_json)
    if target == STREAM and as_json:
        raise BadInput("--json", "Standard output is used for the graph.", remedy="Name a file.")
    with environment.open_memory() as whole, progress.bar("Exporting", quiet=as_json) as tell:
        from memory_fabric.recall.agent_domains import visible_to_process

        memory = visible_to_process(whole)
        lines = exchange.export_lines(memory.databases(), tell)
        if memory.failures:
            raise StoreUnavailable("", f"Nothing was exported: {'; '.join(memory.failures)}.")
    content = exchange.content_of(lines)
    if target == STREAM:
        sys.stdout.buffer.write(content)
        return 0
    write(target, content, force)
    if as_json:
        show.json_out({"file": os.path.abspath(target), "lines": len(lines)})
    else:
        show.line(f"{len(lines)} lines in {target}.")
    return 0
