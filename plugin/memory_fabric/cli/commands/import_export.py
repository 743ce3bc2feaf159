"""import, export: the graph in the format of the reference memory server."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from memory_fabric.cli import environment, progress, show
from memory_fabric.cli.output import STREAM, write
from memory_fabric.errors import BadInput, NotFound, StoreUnavailable
from memory_fabric.models import Provenance
from memory_fabric.store.graph_file import exchange
from memory_fabric.store.graph_file.exchange import Imported

# The file was written by other programs, so its statements are not the user's.
PROVENANCE = Provenance(source="import", trust="tool")
MAX_SHOWN = 20


def import_file(
    source: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="`memory.jsonl`, or an old `memory.json`; - is standard input."
        ),
    ],
    as_json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="Answer in JSON: what was new, variants of known names, forgotten names, and the "
            "lines set aside.",
        ),
    ] = False,
) -> int:
    """Merge a file of the reference knowledge-graph server into memory; existing memories stay.

    Names stay exactly as they are, existing entities get the observations they lack, and secrets
    are redacted. A line that cannot be read is reported with its number and kept in
    `set-aside.jsonl` in the home; the rest is imported. If no line can be read, nothing is kept,
    and the exit code is 1. Exit code 3 if the file does not exist.

        memory-fabric import ~/notes/memory.jsonl
    """
    bar = progress.bar("Importing", quiet=as_json)
    with _readable(source) as path, environment.open_memory() as memory, bar as tell:
        called = "standard input" if source == STREAM else ""
        imported = exchange.import_file(memory, path, PROVENANCE, tell, called=called)
        memory.flush()
        failures = list(memory.failures)
    if as_json:
        show.json_out(_as_json(imported, failures))
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
    if not os.path.exists(source):
        raise NotFound(source, f"The file {source} does not exist.", remedy="Check its path.")
    if not os.path.isfile(source):
        raise BadInput("FILE", f"{source} is not a regular file.", remedy="Name a memory.jsonl.")
    if not os.access(source, os.R_OK):
        raise BadInput("FILE", f"{source} cannot be read.", remedy="Check its permissions.")
    yield source


def _as_json(imported: Imported, failures: list[str]) -> dict[str, Any]:
    bad = [{"line": line.number, "because": line.because} for line in imported.bad]
    return {**imported._asdict(), "bad": bad, "failures": failures}


def _show(imported: Imported) -> None:
    waiting = " Some changes wait in the queue." if imported.queued else ""
    show.line(
        f"New: {imported.entities} entities, {imported.observations} observations, "
        f"{imported.relations} relations, of {imported.read} lines.{waiting}"
    )
    if imported.ends:
        show.line(
            f"{imported.ends} ends of relations were not described; they got the type unknown."
        )
    if imported.others:
        show.line(
            f"{imported.others} records are neither entity nor relation; they were left out. To "
            "restore "
            "those of decisions.jsonl, run memory-fabric project adopt in its project's folder."
        )
    for name, others in list(imported.variants.items())[:MAX_SHOWN]:
        show.line(f"{name} is spelled almost like {', '.join(others)}; both are kept.")
    if imported.forgotten:
        names = ", ".join(imported.forgotten[:MAX_SHOWN])
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
    as_json: Annotated[
        bool, typer.Option("--json", help="Answer in JSON: the file and its number of lines.")
    ] = False,
) -> int:
    """Write the graph of this project and the user in the format of the reference server.

    One JSON object per line. If MEMORY_FABRIC_DOMAIN names an isolated domain, only this domain is
    written.

        memory-fabric export memory.jsonl
    """
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
