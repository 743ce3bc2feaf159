"""candidates, review: confirm or drop what is no memory yet, and list what is due for review."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from memory_fabric.capture.people import for_everybody
from memory_fabric.cli import environment, formatting, show
from memory_fabric.cli.options import Step, flag, option
from memory_fabric.errors import BadInput
from memory_fabric.ids import new_id, short_id, timestamp
from memory_fabric.models import BEFORE, PROMPT, Record, shown_type, users_words, worded
from memory_fabric.recall.review import CANDIDATE, CONTRADICTION, DUPLICATE, KINDS, STALE, Due
from memory_fabric.store.history import candidates as store
from memory_fabric.store.memory import Memory
from memory_fabric.text import cut, many, one_line

NOTHING = (
    "No candidates. A sentence that sounded like a rule or a decision, and that the assistant did "
    "not note, waits here until you keep or drop it."
)
NOTHING_GLOBAL = "No memory of this project or of yours is proposed for every project."
MAX_TEXT_CHARS = 160
NAMES = {
    CANDIDATE: "candidate",
    CONTRADICTION: "contradiction",
    STALE: "stale memory",
    DUPLICATE: "near duplicate",
}
# What a person does about one: commands of memory-fabric, with the ids below.
DECISIONS = {
    CANDIDATE: "candidates --keep ID, or --drop ID",
    CONTRADICTION: "edit ID --instead-of ID, or review --holds ID",
    STALE: "review --holds ID, edit ID, or forget ID",
    DUPLICATE: "edit ID --instead-of ID, or review --holds ID",
}
Done = tuple[str, Record]


def candidates(
    keep: list[str] | None = option(
        None, "ID", "Remember a candidate as your own statement; can be repeated."
    ),
    drop: list[str] | None = option(None, "ID", "Forget a candidate; can be repeated."),
    for_all: bool = flag(
        "--global",
        "List memories that may hold in every project instead, without names, as they would be "
        "kept. --keep stores one with scope global, --drop leaves it in its project.",
    ),
    step: Step = "",
    as_json: bool = flag(
        "--json",
        "Answer in JSON: `candidates` or, with --global, `global`; with --keep or --drop `done` "
        "and `record` of the first, and `results` for all.",
    ),
) -> int:
    """List sentences that were heard and not noted.

    Shows those first that you said again in other sessions, then the newest, each with the prompt
    and what the assistant had said before it. A candidate is not given to sessions as a memory, not
    found by `memory-fabric recall` and not written to MEMORY.md. It becomes a memory if you keep
    it, or if the assistant notes it with `From: [id]`, and is dropped after 90 days. One
    `memory-fabric undo` takes back everything that one command kept and dropped.
    """
    both = [name for name in keep or () if name in (drop or ())]
    if both:
        raise BadInput("--keep", f"Use either --keep or --drop for {both[0]}, not both.")
    names = dict.fromkeys((*(keep or ()), *(drop or ())))
    with environment.open_memory(step=step) as memory:
        if names:
            from memory_fabric.capture.edit import decision  # not needed to list

            memory.batch, by = step or new_id(), environment.provenance()
            changes = [
                _decision_for_everybody(memory, name, name in (keep or ()))
                if for_all
                else decision(memory, name, by, keep=name in (keep or ()))
                for name in names
            ]
            done = [change() for change in changes]
            memory.flush()
            _say_done(done, as_json)
            return 0
        if for_all:
            proposed = [(r, *_as_kept(memory, r)) for r in store.for_everybody(memory)]
        else:
            waiting = store.waiting(memory)
            store.note_shown(memory, waiting, timestamp())
    if for_all:
        _show_global(proposed, as_json)
    elif as_json:
        missing = {"missing": store.MISSING}
        show.json_out({"candidates": [formatting.as_json(r) | missing for r in waiting]})
    elif waiting:
        show.line("Heard, not noted", style="bold")
        columns = ("id", "type", "since", "said by", "what")
        show.table(columns, map(_row, waiting), optional=("said by",))
        show.line(f"Missing: {store.MISSING}. --keep ID remembers one, --drop ID forgets it.")
    else:
        show.line(NOTHING)
    return 0


def _decision_for_everybody(memory: Memory, name: str, keep: bool) -> Callable[[], Done]:
    """Return the change that makes a memory global, or ends the proposal.

    Raises NotFound, BadInput.
    """
    records, by = store.named_for_everybody(memory, name), environment.provenance()
    record = records[0]
    if not keep:
        return lambda: ("left in its project", store.settle_for_everybody(memory, records, by))
    cleaned = for_everybody(record._replace(id="", scope="global", pinned=False), memory)

    def change() -> Done:
        made = memory.remember(cleaned, by)
        if made is None:
            text = f"{short_id(record.id)} was forgotten in scope global."
            raise BadInput("--keep", text, remedy="State it again with remember --global.")
        store.settle_for_everybody(memory, records, by, made.id)
        return "remembered for every project", made

    return change


def _as_kept(memory: Memory, record: Record) -> tuple[str, str]:
    """Return the text without names, or the reason why it cannot be kept for every project."""
    try:
        kept = for_everybody(record, memory)
    except BadInput as error:
        return "", str(error)
    return f"{kept.what} — {kept.why}" if kept.why else kept.what, ""


def _say_done(done: Sequence[Done], as_json: bool) -> None:
    if as_json:
        rows = [{"done": what, "record": formatting.as_json(record)} for what, record in done]
        show.json_out(rows[0] | {"results": rows})
        return
    for what, record in done:
        about = f"{shown_type(record.type)} {short_id(record.id)}, {one_line(record.what)}"
        show.line(f"{what.capitalize()}: {about}")


def _row(record: Record) -> Sequence[str]:
    return (
        short_id(record.id),
        shown_type(record.type),
        record.created_at[:10],
        formatting.speaker(record.source, record.trust),
        "\n".join(_lines_of(record)),
    )


def _lines_of(candidate: Record) -> list[str]:
    """Return the words of a candidate, and those around it."""
    again = store.said_again(candidate)
    text = one_line(worded(candidate))
    text = text if users_words(candidate) else cut(text, MAX_TEXT_CHARS)
    lines = [f"{text} (said again in {many(again, 'other session')})" if again else text]
    prompt, before = (one_line(str(candidate.evidence.get(key) or "")) for key in (PROMPT, BEFORE))
    if prompt and prompt != one_line(candidate.what):
        lines.append(f"prompt: {cut(prompt, 2 * MAX_TEXT_CHARS)}")
    if before:
        lines.append(f"before it: {cut(before, MAX_TEXT_CHARS)}")
    return lines


def _show_global(proposed: Sequence[tuple[Record, str, str]], as_json: bool) -> None:
    if as_json:
        rows = [
            formatting.as_json(record) | {"as_kept": text, "refused": why}
            for record, text, why in proposed
        ]
        show.json_out({"global": rows})
    elif proposed:
        show.line("May hold in every project; without names", style="bold")
        show.table(
            ("id", "type", "as it would be kept"),
            (
                (short_id(record.id), shown_type(record.type), text or f"refused: {why}")
                for record, text, why in proposed
            ),
        )
        show.line("--keep ID --global keeps one for every project, --drop ID --global ends this.")
    else:
        show.line(NOTHING_GLOBAL)


def review(
    holds: list[str] | None = option(
        None,
        "ID",
        "Confirm a memory: it still holds, also next to one that seems to contradict or repeat "
        "it; can be repeated.",
    ),
    keep: list[str] | None = option(
        None,
        "ID",
        "Keep a candidate as your own, a memory beside what contradicts it, or open one again "
        "that a note replaced or dropped; can be repeated.",
    ),
    replace: list[str] | None = option(
        None, "ID", "Let a memory replace what it contradicts; can be repeated."
    ),
    limit: int = option(3, "N", "The number of things to show.", min=1, max=100),
    step: Step = "",
    as_json: bool = flag(
        "--json",
        "Answer in JSON: `due` (kind, record, others, days), `total` of each kind, and a new "
        "`step`; with a decision as `candidates --keep` does.",
    ),
) -> int:
    """List what waits for your decision.

    These are candidates, contradictions, stale memories and near duplicates. Decide with
    `--keep`, `--replace` or `--holds`, `candidates --drop`, `edit --text`, `edit --instead-of`
    (which makes two one) or `forget`, and give each the step that is shown, so that one undo takes
    all of it back. What was confirmed or edited is due again when it is stale.
    """
    from memory_fabric.capture import edit  # not needed for --help
    from memory_fabric.recall.review import due

    with environment.open_memory(step=step) as memory:
        if holds or keep or replace:
            memory.batch, by = step or new_id(), environment.provenance()
            confirmed = edit.confirm_all(memory, holds or (), by)
            done: list[Done] = [("confirmed", record) for record in confirmed]
            done += [edit.keep(memory, name, by) for name in keep or ()]
            done += [("replaced", edit.replace(memory, id_, by)[0]) for id_ in replace or ()]
            memory.flush()
            _say_done(done, as_json)
            return 0
        items = due(memory, timestamp())
        candidates = [i.record for i in items[:limit] if i.record.status == "candidate"]
        store.note_shown(memory, candidates, timestamp())
        failures = list(memory.failures)
    step = step or f"review-{short_id(new_id())}"
    if as_json:
        return show.json_out(
            {
                "due": [_due_as_json(item) for item in items[:limit]],
                "total": {kind: sum(item.kind == kind for item in items) for kind in KINDS},
                "step": step,
                "failures": failures,
            }
        )
    _show_due(items, limit, step)
    show.warn_all(failures)
    return 0


def _due_as_json(item: Due) -> dict[str, Any]:
    others = [formatting.as_json(other) for other in item.others]
    record = formatting.as_json(item.record)
    return {"kind": item.kind, "record": record, "others": others, "days": item.days}


def _show_due(items: Sequence[Due], limit: int, step: str) -> None:
    """Print the first ones, the number of the others, and how to undo what is decided."""
    if not items:
        show.line("Nothing is due for review.")
        return
    for item in items[:limit]:
        age = f", {item.days} days old" if item.days else ""
        show.line(f"{NAMES[item.kind]}{age}: {DECISIONS[item.kind]}", style="bold")
        for record in (item.record, *item.others):
            head, *more = _lines_of(record)
            about = f"{shown_type(record.type)}, {record.scope}, by the {record.trust}, "
            show.line(f"  {short_id(record.id)} ({about}{record.created_at[:10]}): {head}")
            if record.why:
                show.line(f"    because: {cut(one_line(record.why), MAX_TEXT_CHARS)}")
            show.lines(f"    {line}" for line in (more if item.kind == CANDIDATE else ()))
    if len(items) > limit:
        show.line(f"{_counted(items[limit:])} more (--limit)", style="dim")
    show.line(
        f"Changes with --step {step} are one step: memory-fabric undo --step {step} takes all of "
        "it back."
    )


def _counted(items: Iterable[Due]) -> str:
    kinds = [item.kind for item in items]
    counts = (many(kinds.count(kind), NAMES[kind]) for kind in KINDS if kind in kinds)
    return ", ".join(counts).replace("memorys", "memories")
