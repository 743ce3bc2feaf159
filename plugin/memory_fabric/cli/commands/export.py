"""export: write the graph in the format of the reference memory server."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from memory_fabric.cli import environment, progress, show
from memory_fabric.cli.output import STREAM, write
from memory_fabric.errors import BadInput, StoreUnavailable
from memory_fabric.store.graph_file import exchange


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
        from memory_fabric.recall.agent_domains import seen_by_process

        memory = seen_by_process(whole)
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
