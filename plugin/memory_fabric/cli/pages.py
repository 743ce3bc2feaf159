"""Memory pages by command: written with `export --markdown`, read back with `import`."""

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from memory_fabric.cli import environment, progress, show
from memory_fabric.cli.output import write
from memory_fabric.errors import BadInput, StoreUnavailable
from memory_fabric.ids import timestamp
from memory_fabric.importing import page, page_restore, runs
from memory_fabric.importing.page_restore import Restoring
from memory_fabric.importing.run import FILE, new_batch
from memory_fabric.importing.runs import Run
from memory_fabric.recall.agent_domains import visible_to_process
from memory_fabric.store import files
from memory_fabric.text import many, one_line

SIGNS_IN_NAMES = "-_. "


def export(folder: str, *, force: bool, as_json: bool) -> int:
    """Write the pages of this project and the user into a folder."""
    if os.path.exists(folder) and not os.path.isdir(folder):
        raise BadInput("--markdown", f"{folder} is not a folder.", remedy="Name a folder.")
    with environment.open_memory() as whole:
        memory = visible_to_process(whole)
        with page.pages(memory) as written:
            if memory.failures:
                raise StoreUnavailable("", f"Nothing was exported: {'; '.join(memory.failures)}.")
            files.make_folder(os.path.abspath(folder))
            filled = (one for one in written if one.records or one.entities or one.relations)
            made = [_written(one, folder, force, quiet=as_json) for one in filled]
    if as_json:
        show.json_out({"pages": made, "left_out": page.LEFT_OUT})
        return 0
    for row in made:
        counts = ", ".join(
            (
                many(row["records"], "record"),
                f"{row['entities']} {'entity' if row['entities'] == 1 else 'entities'}",
                many(row["relations"], "relation"),
            )
        )
        show.line(f"{row['text']}: {counts}")
    show.line(page.LEFT_OUT if made else "Nothing is remembered yet; no page was written.")
    return 0


def _written(one: page.Written, folder: str, force: bool, *, quiet: bool) -> dict[str, Any]:
    """Write a page; return its name, path and numbers."""
    path = os.path.join(folder, f"{_file_name(one.name)}.md")
    with progress.bar(f"Writing {path}", quiet=quiet) as tell:
        write(path, _encoded(one, tell), force)
    numbers = {n: getattr(one, n) for n in ("records", "entities", "relations")}
    return {"name": one.name, "text": path, **numbers}


def _encoded(written: page.Written, tell: Callable[[int, int], object] | None) -> Iterator[bytes]:
    for done, part in enumerate(written.parts, start=1):
        yield part.encode("utf-8", "replace")
        if tell:
            tell(min(done, written.about_parts), written.about_parts)


def restore(paths: Sequence[str], *, mine: bool, anyway: bool, dry_run: bool, as_json: bool) -> int:
    """Say what pages bring, and bring it unless `dry_run`; `anyway` takes another project's."""
    batch = new_batch()
    rows = []
    with environment.open_memory() as memory:
        found = [_planned(memory, path, mine, anyway) for path in paths]
        for path, one in zip(paths, found, strict=True):
            rows.append(_as_json(path, one))
            if not as_json:
                _show(path, one)
        due = [one for one in found if _brings(one)]
        if due and not dry_run:
            folder = memory.settings.project_dir
            run = Run(batch, timestamp(), {folder: folder}, state="done")
            runs.save(memory.settings.home, run, FILE)
            for one in due:
                page_restore.store(memory, one, batch)
        failures = list(memory.failures)
    if as_json:
        show.json_out({"pages": rows, "stored": bool(due) and not dry_run, "failures": failures})
        return 0
    if dry_run:
        show.line("Nothing was changed. Without --dry-run it is imported.")
    elif not due:
        show.line("Nothing new in it; nothing was changed.")
    else:
        show.line("Imported. memory-fabric import --undo takes it back.")
    for failure in failures:
        show.warn(failure)
    return 0


def _planned(memory: Any, path: str, mine: bool, anyway: bool) -> Restoring:
    try:
        return page_restore.plan(memory, path, mine=mine, anyway=anyway)
    except OSError as error:
        raise BadInput(
            "PATH",
            f"{path} cannot be read: {error.strerror or error}.",
            remedy="Check its size and permissions. Nothing was imported.",
        ) from error


def _brings(one: Restoring) -> bool:
    graph = [table for table in page_restore.KEYS[1:] if one.rows.get(table)]
    return bool(one.records or one.removed or graph)


def _show(path: str, one: Restoring) -> None:
    graph = ", ".join(
        f"{len(one.rows[table])} {table}" for table in page_restore.KEYS[1:] if one.rows.get(table)
    )
    parts = [f"{one.restored} restored", f"{one.edited} edited", f"{one.added} added"]
    show.line(f"{path}: memories of {one.name}, {', '.join(parts)}", style="bold")
    if graph:
        show.line(f"  of the graph: {graph}")
    if one.had_trust:
        show.line(
            f"  {one.had_trust} state your trust, but this home did not write them as they are: "
            "they come without it. If they are your own words, use --mine."
        )
    for left in one.left:
        shown = "; ".join(f"“{one_line(text)}”" for text in left.examples)
        show.line(f"  left out, {left.reason}: {left.number}" + (f" ({shown})" if shown else ""))


def _as_json(path: str, one: Restoring) -> dict[str, Any]:
    return {
        "path": path,
        "of": one.name,
        "own": one.is_own,
        "restored": one.restored,
        "edited": one.edited,
        "added": one.added,
        "without_trust": one.had_trust,
        "graph": {table: len(one.rows.get(table, ())) for table in page_restore.KEYS[1:]},
        "left_out": [left._asdict() for left in one.left],
    }


def _file_name(name: str) -> str:
    """Return a name for a file from that of a project."""
    plain = "".join(c if c.isalnum() or c in SIGNS_IN_NAMES else "-" for c in name).strip(". ")
    return plain or "project"
