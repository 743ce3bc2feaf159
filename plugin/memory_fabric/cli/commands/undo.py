"""undo: take back a change, the last one, or all of a session."""

from typing import Annotated, Any

import typer

from memory_fabric.cli import environment, show
from memory_fabric.cli.changes_table import show_changes
from memory_fabric.errors import BadInput
from memory_fabric.ids import short_id
from memory_fabric.store.history import changes, trace
from memory_fabric.store.history import undo as undoing
from memory_fabric.store.history.changes import Change
from memory_fabric.store.history.trace import DescribedChange
from memory_fabric.store.history.undo import Undone
from memory_fabric.store.memory import Memory

# More changes of one step are counted, not listed.
MAX_NAMED = 20


def undo(
    identifier: Annotated[
        str | None,
        typer.Argument(
            metavar="ID",
            help="The id of a change in `memory-fabric history`, or its last characters.",
        ),
    ] = None,
    last: Annotated[
        bool,
        typer.Option("--last", help="Undo the last change that is not undone yet."),
    ] = False,
    session: Annotated[
        str,
        typer.Option(
            metavar="ID",
            help="Show all changes of a session, newest first; with `--yes` undo them.",
        ),
    ] = "",
    step: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="Undo all changes that commands made with `--step NAME`."
        ),
    ] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Undo the changes of the preview.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Answer in JSON: the changes, and the result for each.")
    ] = False,
) -> int:
    """Undo a change; what others added or forgot since then stays.

    An undo is a change, too, and can be undone by its id. Without an id or `--last` it only shows
    what would be undone.
    """
    if sum(map(bool, (identifier, last, session, step))) > 1:
        raise BadInput(
            "--last",
            "An id, --last, --session and --step exclude each other.",
            remedy="Use one of them.",
        )
    with environment.open_memory() as memory:
        chosen = _chosen(memory, identifier, session, step)
        described = [trace.described(memory, change) for change in chosen]
        done = bool(identifier or last or step or yes) and (yes or not session)
        undone = undoing.undo(memory, chosen, environment.provenance()) if done else []
    if as_json:
        show.json_out(_as_json(described, undone))
    elif done:
        _say(described, undone)
    else:
        _show(described)
    return 0 if not undone or any(one.by for one in undone) else 1


def _chosen(memory: Memory, identifier: str | None, session: str, step: str) -> list[Change]:
    if session:
        return undoing.of_session(memory, session)
    if step:
        return undoing.of_step(memory, step)
    named = changes.by_id(memory, identifier) if identifier else undoing.last(memory)
    return changes.together(memory, named, is_named=bool(identifier))


def _show(described: list[DescribedChange]) -> None:
    show_changes([(one, _with_reason(one, undoing.prospect(one.change))) for one in described])
    show.line("This would be undone; nothing was changed. Use --yes to undo it.")


def _say(described: list[DescribedChange], undone: list[Undone]) -> None:
    done = [one for one in undone if one.by]
    if len(done) > MAX_NAMED:
        show.line(
            f"Undone: {len(done)} changes that were made together. "
            f"memory-fabric undo {short_id(done[-1].by)} redoes them."
        )
    for one, what in zip(undone, described, strict=True):
        if one.by and what.change.kind == changes.LEARN:
            show.line(f"Undone: {what.what.rstrip('.')}. Its turns are deleted.")
            show.line("memory-fabric learn reads them again; learn --undo is for all projects.")
            continue
        if one.by and len(done) > MAX_NAMED:
            continue
        if one.by:
            show.line(
                f"Undone: {what.what.rstrip('.')}. memory-fabric undo {short_id(one.by)} redoes it."
            )
            if what.change.kind == "ingest":
                show.line("Its turns stay until they expire, like those of sessions.")
        else:
            show.warn(f"not undone, {one.because}: {what.what}")


def _with_reason(one: DescribedChange, because: str) -> str:
    return f"(stays: {because}) {one.what}" if because else one.what


def _as_json(described: list[DescribedChange], undone: list[Undone]) -> dict[str, Any]:
    fates = {one.change.id: one for one in undone}
    rows = []
    for one in described:
        fate = fates.get(one.change.id)
        because = fate.because if fate else undoing.prospect(one.change)
        rows.append(trace.as_json(one) | {"undo": fate.by if fate else "", "because": because})
    return {"undone": sum(bool(one.by) for one in undone), "changes": rows}
