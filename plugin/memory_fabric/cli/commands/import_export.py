"""Commands import and export: other programs' memories, graph files and Markdown pages."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from memory_fabric.cli import environment, import_sources, show
from memory_fabric.cli.options import argument, flag, option
from memory_fabric.cli.show import STREAM
from memory_fabric.errors import BadInput, StoreUnavailable
from memory_fabric.importing import page as pages
from memory_fabric.importing.page_restore import is_page
from memory_fabric.importing.sources import expect_graph, recognise
from memory_fabric.models import Provenance
from memory_fabric.recall.agent_domains import visible_to_process
from memory_fabric.store import files
from memory_fabric.store.graph_file import exchange
from memory_fabric.store.graph_file.exchange import Imported
from memory_fabric.store.memory import Memory
from memory_fabric.text import many

# Imported statements lack the user's trust, because other programs wrote the file.
PROVENANCE = Provenance(source="import", trust="tool")
MAX_SHOWN = 20
UNREADABLE = "could not be read"


def import_file(
    sources: list[str] | None = argument("[PATH]...  Files or folders; - is standard input.", None),
    dry_run: bool = flag("--dry-run  Only say what would be imported and left out."),
    every: bool = flag("--all  Import statements on other projects, each into its own memory."),
    mine: bool = flag("--mine  A page edited or written elsewhere is yours: it has your trust."),
    anyway: bool = flag("--here  Import a memory page of another project into this one."),
    yes: bool = flag("--yes  Import by the project's name even if another one here has it."),
    take_back: bool = flag("--undo  Take the last import back, in all projects."),
    as_json: bool = flag("--json  Answer in JSON: what was new, and what was left out and why."),
) -> int:
    """Import memories of claude-mem, basic-memory, mem0, CLAUDE.md and others.

    Without a path it shows what there is on this machine. The form is recognised by the content
    (docs/import.md). It says first what it leaves out and why. Imported memories have no trust of
    yours: they are told with their source, and bind nothing. Their times are kept, secrets are
    redacted, and importing again adds only what is new.

    A file of the reference knowledge-graph server is merged into the graph: existing entities get
    the observations they lack, and lines that cannot be read are kept in `set-aside.jsonl` in the
    home; if none can be read, the exit code is 1. Exit code 3 if a file does not exist.

        memory-fabric import ~/.claude-mem/claude-mem.db --dry-run
    """
    if take_back:
        if sources or dry_run or every or mine or anyway:
            raise BadInput("--undo", "--undo takes no path.", remedy="Use it alone.")
        return import_sources.undo_last(environment.settings(), as_json)
    if not sources:
        return import_sources.show_places(as_json)
    if sources == [STREAM]:
        return _import_graph(STREAM, dry_run, as_json)
    if all(is_page(source) for source in sources):
        return import_sources.restore_pages(
            sources, mine=mine, here=anyway, dry_run=dry_run, as_json=as_json
        )
    recognised = [recognise(source) for source in sources]
    if recognised == [(None, sources[0])]:
        return _import_graph(sources[0], dry_run, as_json)
    for source, (kind, _) in zip(sources, recognised, strict=True):
        if kind is None:
            text = f"{source} is not of a form that can be imported with others."
            raise BadInput("PATH", text, remedy="Import it alone; it is read as a graph file.")
    pairs = [(kind, path) for kind, path in recognised if kind is not None]
    return import_sources.import_from(pairs, every=every, dry_run=dry_run, as_json=as_json, yes=yes)


def _import_graph(source: str, dry_run: bool, as_json: bool) -> int:
    if dry_run:
        text = "A graph file is read line by line, so there is no preview of it."
        remedy = "Import it, and take it back with memory-fabric undo if need be."
        raise BadInput("--dry-run", text, remedy=remedy)
    bar = show.progress_bar("Importing", quiet=as_json)
    with _readable(source) as path, environment.open_memory() as memory, bar as tell:
        called = "standard input" if source == STREAM else ""
        expect_graph(path, called or source)
        imported = exchange.import_file(memory, path, PROVENANCE, tell, called=called)
        memory.flush()
    if as_json:
        bad = [{"line": line.number, "because": line.because} for line in imported.bad]
        counts = imported._asdict()
        counts |= counts.pop("loaded")._asdict()
        show.json_out({**counts, "bad": bad, "failures": memory.failures})
    else:
        _show(imported)
        show.warn_all(memory.failures)
    return 1 if imported.bad and not imported.read else 0


@contextmanager
def _readable(source: str) -> Iterator[str]:
    """Yield the path of a file that can be read twice; standard input is copied to a file."""
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
            "restore those of decisions.jsonl, run memory-fabric project adopt in its project's "
            "folder."
        )
    for name, spellings in list(loaded.variants.items())[:MAX_SHOWN]:
        show.line(f"{name} is spelled almost like {', '.join(spellings)}; both are kept.")
    if loaded.forgotten:
        names = ", ".join(loaded.forgotten[:MAX_SHOWN])
        show.line(f"Left out, because forgotten earlier: {names}.")
    bad, place = imported.bad, imported.set_aside
    if bad:
        show.warn(f"{len(bad)} lines {f'were set aside in {place}' if place else UNREADABLE}:")
        show.warn_all(f"line {line.number}: {line.because}" for line in bad[:MAX_SHOWN])
        if len(bad) > MAX_SHOWN:
            show.warn(f"and {len(bad) - MAX_SHOWN} more")


def export(
    target: str = argument("FILE  The file; by default, or with -, standard output.", STREAM),
    force: bool = flag("--force  Replace an existing file."),
    markdown: str = option("FOLDER  Write all memories as pages: one of the project, and user.md."),
    as_json: bool = flag("--json  Answer in JSON: the files and what is in them."),
) -> int:
    """Write the graph as the reference server does, or all memories as Markdown.

    The graph is one JSON object per line. With `--markdown` each page has the records by kind, and
    the graph; `import` reads it back without loss, and edits of its texts with it. If
    MEMORY_FABRIC_DOMAIN names an isolated domain, only this domain is written.

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
    show.line(f"{len(lines)} lines in {target}.")
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
