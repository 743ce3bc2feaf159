"""import, export: the file of the reference memory server, into memory and out of it."""

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
from memory_fabric.cli.output import STREAM
from memory_fabric.errors import BadInput, NotFound
from memory_fabric.models import Provenance
from memory_fabric.store.graph_file import exchange
from memory_fabric.store.graph_file.exchange import Imported

# A file came from other programs, which nobody vouches for line by line.
SAID_THERE = Provenance(source="import", trust="tool")
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
            help="What was new, variants of known names, names once forgotten, and the lines set "
            "aside, as JSON.",
        ),
    ] = False,
) -> int:
    """Merge the file of the reference knowledge-graph server into memory; what is there stays.

    Names stay exactly as they are, what exists gets the observations it lacks, secrets are
    redacted. A line that cannot be read is named with its number and kept in `set-aside.jsonl` in
    the home; the rest is imported. Of a file in which no line can be read nothing is kept. Exit
    code 1 when no line could be read, 3 when there is no such file.

        memory-fabric import ~/notes/memory.jsonl
    """
    bar = progress.bar("Importing", quiet=as_json)
    with _readable(source) as path, environment.open_memory() as memory, bar as tell:
        called = "standard input" if source == STREAM else ""
        told = exchange.import_file(memory, path, SAID_THERE, tell, called=called)
        memory.flush()
        failures = list(memory.failures)
    if as_json:
        show.json_out(_as_json(told, failures))
    else:
        _show(told)
        for failure in failures:
            show.complain(failure)
    return 1 if told.bad and not told.read else 0


@contextmanager
def _readable(source: str) -> Iterator[str]:
    """The path of a file that can be read twice, whatever the source is."""
    if source == STREAM:
        with tempfile.NamedTemporaryFile(prefix="memory-fabric-") as copy:
            shutil.copyfileobj(sys.stdin.buffer, copy)
            copy.flush()
            yield copy.name
        return
    if not os.path.exists(source):
        raise NotFound(source, f"There is no file {source}.", remedy="Check its path.")
    if not os.path.isfile(source):
        raise BadInput("FILE", f"{source} is no file.", remedy="Name a memory.jsonl.")
    if not os.access(source, os.R_OK):
        raise BadInput("FILE", f"{source} cannot be read.", remedy="Check its permissions.")
    yield source


def _as_json(told: Imported, failures: list[str]) -> dict[str, Any]:
    bad = [{"line": line.number, "because": line.because} for line in told.bad]
    return {**told._asdict(), "bad": bad, "failures": failures}


def _show(told: Imported) -> None:
    waiting = " Some of it waits in the queue." if told.queued else ""
    show.line(
        f"New: {told.entities} entities, {told.observations} observations, "
        f"{told.relations} relations, of {told.read} lines.{waiting}"
    )
    if told.ends:
        show.line(f"{told.ends} ends of relations were not described; they are of type unknown.")
    if told.others:
        show.line(
            f"{told.others} records are neither entity nor relation; they were left out. Those of "
            "decisions.jsonl come back by memory-fabric project adopt, in its project's folder."
        )
    for name, others in list(told.variants.items())[:MAX_SHOWN]:
        show.line(f"{name} is written almost like {', '.join(others)}; both are kept.")
    if told.forgotten:
        names = ", ".join(told.forgotten[:MAX_SHOWN])
        show.line(f"Forgotten earlier, and left out: {names}.")
    if told.bad:
        kept = f"were set aside in {told.set_aside}" if told.set_aside else "could not be read"
        show.complain(f"{len(told.bad)} lines {kept}:")
        for line in told.bad[:MAX_SHOWN]:
            show.complain(f"line {line.number}: {line.because}")
        if len(told.bad) > MAX_SHOWN:
            show.complain(f"and {len(told.bad) - MAX_SHOWN} more")
