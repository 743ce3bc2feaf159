"""candidates, review: confirm or drop what is no memory yet, and list what is due for review."""

from collections.abc import Callable, Sequence
from typing import Annotated

import typer

from memory_fabric.capture.people import for_everybody
from memory_fabric.cli import environment, formatting, review_report, show
from memory_fabric.errors import BadInput
from memory_fabric.ids import new_id, short_id, timestamp
from memory_fabric.models import Record, shown_type
from memory_fabric.store.history import candidates as store
from memory_fabric.store.memory import Memory
from memory_fabric.text import one_line

NOTHING = (
    "No candidates. A sentence that sounded like a rule or a decision, and that the assistant did "
    "not note, waits here until you keep or drop it."
)
NOTHING_GLOBAL = "No memory of this project or of yours is proposed for every project."
Done = tuple[str, Record]


def candidates(
    keep: Annotated[
        list[str] | None,
        typer.Option(
            "--keep",
            metavar="ID",
            help="Remember a candidate as your own statement; can be repeated.",
        ),
    ] = None,
    drop: Annotated[
        list[str] | None,
        typer.Option("--drop", metavar="ID", help="Forget a candidate; can be repeated."),
    ] = None,
    for_all: Annotated[
        bool,
        typer.Option(
            "--global",
            help="List memories that may hold in every project instead, without names, as they "
            "would be kept. --keep stores one with scope global, --drop leaves it in its project.",
        ),
    ] = False,
    step: environment.Step = "",
    as_json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="Answer in JSON: `candidates` or, with --global, `global`; with --keep or --drop "
            "`done` and `record` of the first, and `results` for all.",
        ),
    ] = False,
) -> int:
    """List sentences that were heard and not noted.

    Shows those first that you said again in other sessions, then the newest, each with the prompt
    and what the assistant had said before it. A candidate is not given to sessions as a memory, not
    found by `memory-fabric recall` and not written to MEMORY.md. It becomes a memory if you keep
    it, or if the assistant notes it with `From: [id]`, and is dropped after 90 days. One
    `memory-fabric undo` takes back everything that one command kept and dropped.
    """
    wanted = _wanted(keep or (), drop or ())
    with environment.open_memory(step=step) as memory:
        if wanted:
            memory.batch = step or new_id()
            settle = _settled_for_everybody if for_all else _settled
            done = [change() for change in [settle(memory, *one) for one in wanted]]
            memory.flush()
            _tell(done, as_json)
            return 0
        if for_all:
            proposed = [(r, *_as_kept(memory, r)) for r in store.for_everybody(memory)]
        else:
            found = store.waiting(memory)
            store.note_shown(memory, found, timestamp())
    if for_all:
        _show_global(proposed, as_json)
    elif as_json:
        missing = {"missing": store.MISSING}
        show.json_out({"candidates": [formatting.as_json(r) | missing for r in found]})
    else:
        _show(found)
    return 0


def _wanted(keep: Sequence[str], drop: Sequence[str]) -> list[tuple[str, bool]]:
    """Return each id with True if it is to be kept. Raises BadInput for one that is to be both."""
    both = [name for name in keep if name in drop]
    if both:
        raise BadInput("--keep", f"Use either --keep or --drop for {both[0]}, not both.")
    return [(name, name in keep) for name in dict.fromkeys((*keep, *drop))]


def _settled(memory: Memory, name: str, keep: bool) -> Callable[[], Done]:
    """Return the change that keeps or drops a candidate. Raises NotFound, BadInput."""
    from memory_fabric.capture.edit import decision  # not needed to list

    return decision(memory, name, environment.provenance(), keep=keep)


def _settled_for_everybody(memory: Memory, name: str, keep: bool) -> Callable[[], Done]:
    """Return the change that makes a memory global, or ends the proposal.

    Raises NotFound, BadInput.
    """
    found, by = store.named_for_everybody(memory, name), environment.provenance()
    record = found[0]
    if not keep:
        return lambda: ("left in its project", store.settle_for_everybody(memory, found, by))
    from memory_fabric.capture.people import for_everybody  # not needed to list

    cleaned = for_everybody(record._replace(id="", scope="global", pinned=False), memory)

    def change() -> Done:
        made = memory.remember(cleaned, by)
        if made is None:
            raise BadInput(
                "--keep",
                f"{short_id(record.id)} was forgotten in scope global.",
                remedy="State it again with remember --global.",
            )
        store.settle_for_everybody(memory, found, by, made.id)
        return "remembered for every project", made

    return change


def _as_kept(memory: Memory, record: Record) -> tuple[str, str]:
    """Return the text without names, or the reason why it cannot be kept for every project."""
    try:
        kept = for_everybody(record, memory)
    except BadInput as error:
        return "", str(error)
    return f"{kept.what} — {kept.why}" if kept.why else kept.what, ""


def _tell(done: Sequence[Done], as_json: bool) -> None:
    told = [{"done": what, "record": formatting.as_json(record)} for what, record in done]
    if as_json:
        show.json_out(told[0] | {"results": told})
        return
    for what, record in done:
        about = f"{shown_type(record.type)} {short_id(record.id)}, {one_line(record.what)}"
        show.line(f"{what.capitalize()}: {about}")


def _show(found: Sequence[Record]) -> None:
    if not found:
        show.line(NOTHING)
        return
    show.line("Heard, not noted", style="bold")
    columns = ("id", "type", "since", "said by", "what")
    show.table(columns, [_row(r) for r in found], optional=("said by",))
    show.line(f"Missing: {store.MISSING}. --keep ID remembers one, --drop ID forgets it.")


def _row(record: Record) -> Sequence[str]:
    return (
        short_id(record.id),
        shown_type(record.type),
        record.created_at[:10],
        formatting.speaker(record.source, record.trust),
        "\n".join(review_report.lines_of(record)),
    )


def _show_global(found: Sequence[tuple[Record, str, str]], as_json: bool) -> None:
    if as_json:
        told = [formatting.as_json(r) | {"as_kept": text, "refused": why} for r, text, why in found]
        show.json_out({"global": told})
    elif found:
        show.line("May hold in every project; without names", style="bold")
        rows = [
            (short_id(r.id), shown_type(r.type), text or f"refused: {why}")
            for r, text, why in found
        ]
        show.table(("id", "type", "as it would be kept"), rows)
        show.line("--keep ID --global keeps one for every project, --drop ID --global ends this.")
    else:
        show.line(NOTHING_GLOBAL)


def review(
    holds: Annotated[
        list[str] | None,
        typer.Option(
            "--holds",
            metavar="ID",
            help="Confirm a memory: it still holds, also next to one that seems to contradict or "
            "repeat it; can be repeated.",
        ),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            "--keep",
            metavar="ID",
            help="Keep a candidate as your own, a memory beside what contradicts it, or open one "
            "again that a note replaced or dropped; can be repeated.",
        ),
    ] = None,
    replace: Annotated[
        list[str] | None,
        typer.Option(
            "--replace",
            metavar="ID",
            help="Let a memory replace what it contradicts; can be repeated.",
        ),
    ] = None,
    limit: Annotated[
        int, typer.Option(min=1, max=100, metavar="N", help="The number of things to show.")
    ] = 3,
    step: environment.Step = "",
    as_json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="Answer in JSON: `due` (kind, record, others, days), `total` of each kind, and a "
            "new `step`; with a decision as `candidates --keep` does.",
        ),
    ] = False,
) -> int:
    """List what waits for your decision.

    These are candidates, contradictions, stale memories and near duplicates. Decide with
    `--keep`, `--replace` or `--holds`, `candidates --drop`, `edit --text`, `edit --instead-of`
    (which makes two one) or `forget`, and give each the step that is shown, so that one undo takes
    all of it back. What was confirmed or edited is due again when it is stale.
    """
    from memory_fabric.recall.review import due  # not needed for --help

    with environment.open_memory(step=step) as memory:
        if holds or keep or replace:
            memory.batch = step or new_id()
            done = _reviewed(memory, holds or (), keep or (), replace or ())
            memory.flush()
            _tell(done, as_json)
            return 0
        found = due(memory, timestamp())
        shown = [one.record for one in found[:limit] if one.record.status == "candidate"]
        store.note_shown(memory, shown, timestamp())
        failures = list(memory.failures)
    step = step or f"review-{short_id(new_id())}"
    if as_json:
        show.json_out(review_report.as_json(found, limit, step) | {"failures": failures})
    else:
        review_report.show_due(found, limit, step)
        for failure in failures:
            show.warn(failure)
    return 0


def _reviewed(
    memory: Memory, holds: Sequence[str], keep: Sequence[str], replace: Sequence[str]
) -> list[Done]:
    from memory_fabric.capture import edit  # not needed to list

    by = environment.provenance()
    done: list[Done] = [("confirmed", record) for record in edit.confirm_all(memory, holds, by)]
    done += [edit.keep(memory, name, by) for name in keep]
    return [*done, *(("replaced", edit.replace(memory, name, by)[0]) for name in replace)]
