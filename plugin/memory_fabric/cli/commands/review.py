"""Commands candidates, review, stale and prune: memories that need a decision or are outdated."""

from collections import Counter
from collections.abc import Sequence
from shlex import quote
from typing import Any

from memory_fabric import models
from memory_fabric.cli import environment, formatting, show
from memory_fabric.cli.options import AS_JSON, STEP, argument, flag, option, repeated
from memory_fabric.errors import BadInput, NotFound
from memory_fabric.ids import new_id, short_id, timestamp
from memory_fabric.recall import review as reviewing
from memory_fabric.recall.render import changed_files
from memory_fabric.store.history import candidates as store
from memory_fabric.store.memory import Memory
from memory_fabric.text import cut, many, one_line

NOTHING = (
    "No candidates. A sentence that sounded like a rule or a decision, and that the assistant did "
    "not note, waits here until you keep or drop it."
)
MAX_TEXT_CHARS = 160
# The name of each kind of item in a review, and the commands with which the user decides.
TWO = "edit ID --instead-of ID, or review --holds ID"
BROUGHT_BY = "review --holds ID, or forget ID; all of {0}: --holds or --drop {0}"
WITH_RULE = "review --holds ID, so that it binds, edit ID --when, or forget ID"
KINDS = {
    reviewing.CANDIDATE: ("candidate", "candidates --keep ID, or --drop ID"),
    reviewing.CONTRADICTION: ("contradiction", TWO),
    reviewing.STALE: ("stale memory", "review --holds ID, edit ID, or forget ID"),
    reviewing.DUPLICATE: ("near duplicate", TWO),
    reviewing.RULE: ("rule that waits for your word", WITH_RULE),
    reviewing.UNCONFIRMED: ("imported memory", BROUGHT_BY),
    reviewing.SHARED: ("shared memory", BROUGHT_BY),
}
Done = tuple[str, models.Record]
# By default, list at most LISTED memories, and prune at most LIMIT.
LISTED, LIMIT = 20, 50
MAX_STALE_CHARS, MAX_NAME_CHARS = 100, 40
TYPES = sorted(models.ENTITY_TYPES.union(models.RECORD_TYPES, models.TYPE_ALIASES))
NOTHING_STALE = (
    "Nothing is stale: decisions are after 90 days, technologies 120, patterns 180, preferences "
    "365, others 90; agents and pinned memories never."
)
ONLY_TYPES = option("--type T  Only this type of record or entity; can be repeated.", None, TYPES)
OLDER_THAN = option("DAYS  Stale after this many days, for every type except agents.", None, min=0)
LIMIT_HELP = "N  The maximum number, oldest first."


def candidates(
    keep: list[str] | None = repeated("ID  Remember a candidate as your own statement."),
    drop: list[str] | None = repeated("ID  Forget a candidate."),
    step: str = STEP,
    as_json: bool = flag("--json  Answer in JSON: `candidates`, or `done`, `record`, `results`."),
) -> int:
    """List your sentences that may be rules or decisions, but were not noted.

    Sentences that you repeated in other sessions come first, then the newest. Recall does not
    return these candidates. A candidate becomes a memory if you keep it, or if the assistant notes
    it with `From: [id]`. It is dropped after 90 days.
    """
    keep, drop = keep or [], drop or []
    for name in keep:
        if name in drop:
            raise BadInput("--keep", f"Use either --keep or --drop for {name}, not both.")
    names = dict.fromkeys((*keep, *drop))
    with environment.open_memory(step=step) as memory:
        if names:
            from memory_fabric.capture.edit import decision  # imported late: not needed for lists

            memory.batch, by = step or new_id(), environment.provenance()
            changes = [decision(memory, name, by, keep=name in keep) for name in names]
            decisions = [change() for change in changes]
            memory.flush()
            say_done(decisions, as_json)
            return 0
        waiting = store.waiting(memory)
        store.note_shown(memory, waiting, timestamp())
    if as_json:
        missing = {"missing": store.MISSING}
        show.json_out({"candidates": [formatting.as_json(r) | missing for r in waiting]})
    elif waiting:
        show_waiting("Heard, not noted", waiting)
        show.line(f"Missing: {store.MISSING}. --keep ID remembers one, --drop ID forgets it.")
    else:
        show.line(NOTHING)
    return 0


def show_waiting(heading: str, waiting: Sequence[models.Record]) -> None:
    """Print a heading and a table of candidates."""
    show.line(heading, style="bold")
    rows = []
    for r in waiting:
        by, text = formatting.speaker(r.source, r.trust), "\n".join(_lines_of(r))
        rows.append((short_id(r.id), models.shown_type(r.type), r.created_at[:10], by, text))
    show.table(("id", "type", "since", "said by", "what"), rows, optional=("said by",))


def say_done(decisions: Sequence[Done], as_json: bool) -> None:
    if as_json:
        rows = [{"done": did, "record": formatting.as_json(record)} for did, record in decisions]
        show.json_out(rows[0] | {"results": rows})
        return
    for decision, record in decisions[:LISTED]:
        about = f"{models.shown_type(record.type)} {short_id(record.id)}, {one_line(record.what)}"
        show.line(f"{decision.capitalize()}: {about}")
    if len(decisions) > LISTED:
        show.line(f"and {len(decisions) - LISTED} more")


def _lines_of(candidate: models.Record) -> list[str]:
    times = store.said_again(candidate)
    text = one_line(models.worded(candidate))
    text = text if models.users_words(candidate) else cut(text, MAX_TEXT_CHARS)
    lines = [f"{text} (said again in {many(times, 'other session')})" if times else text]
    said = candidate.evidence.get
    prompt, before = (one_line(str(said(key) or "")) for key in (models.PROMPT, models.BEFORE))
    if prompt and prompt != one_line(candidate.what):
        lines.append(f"prompt: {cut(prompt, 2 * MAX_TEXT_CHARS)}")
    if before:
        lines.append(f"before it: {cut(before, MAX_TEXT_CHARS)}")
    return lines


def review(
    base: str = argument("[BASE]  With --branch: the branch that this one goes into.", ""),
    branch: bool = flag("--branch  Show, as Markdown, what this branch changes in shared records."),
    holds: list[str] | None = repeated(
        "ID  Confirm that a memory holds; the name of a program or colleague means all of theirs."
    ),
    drop: list[str] | None = repeated("NAME  Forget unconfirmed memories of a program or person."),
    keep: list[str] | None = repeated(
        "ID  Keep a candidate, a memory beside what contradicts it, or open a replaced one again."
    ),
    replace: list[str] | None = repeated("ID  Let a memory replace what it contradicts."),
    limit: int = option("N  The number of things to show.", 3, min=1, max=100),
    step: str = STEP,
    as_json: bool = flag(
        "--json  Answer in JSON: what is `due`, `total` of each kind, a new `step`."
    ),
) -> int:
    """List what waits for your decision.

    These are candidates, contradictions, rules with words in `When:` that you never typed, stale
    memories, near duplicates, and memories from other programs and colleagues. Decide with
    `--keep`, `--replace`, `--holds`, `--drop`, `candidates --drop`, `edit` or `forget`. The output
    names a `--step`: if you add it to each of these commands, one undo reverts all of them.
    """
    from memory_fabric.capture import edit  # imported late: not needed for --help

    if base and not branch:
        raise BadInput("BASE", f"{base} says nothing without --branch.", remedy="Add --branch.")
    with environment.open_memory(step=step) as memory:
        if branch:
            return _show_branch(memory, base, as_json)
        if holds or keep or replace or drop:
            memory.batch, by = step or new_id(), environment.provenance()
            names = (holds or []) + (drop or [])
            of = {name: [one.record for one in reviewing.brought(memory, name)] for name in names}
            dropping = [record for name in drop or () for record in of[name]]
            if drop and not dropping:
                raise BadInput("--drop", f"Nothing of {drop[0]} waits to be confirmed.")
            held = [id_ for name in holds or () for id_ in [r.id for r in of[name]] or [name]]
            decisions: list[Done] = [("confirmed", r) for r in edit.confirm_all(memory, held, by)]
            decisions += [edit.keep(memory, name, by) for name in keep or ()]
            decisions += [("replaced", edit.replace(memory, id_, by)[0]) for id_ in replace or ()]
            gone = [r for r in dropping if r.id not in {other.id for _, other in decisions}]
            memory.forget([record.id for record in gone], by)
            decisions += [(edit.FORGOTTEN, record) for record in gone]
            memory.flush()
            say_done(decisions, as_json)
            return 0
        items = reviewing.due(memory, timestamp())
        candidates = [i.record for i in items[:limit] if i.record.status == "candidate"]
        store.note_shown(memory, candidates, timestamp())
    step = step or f"review-{short_id(new_id())}"
    if as_json:
        due = []
        for item in items[:limit]:
            record, others = formatting.as_json(item.record), map(formatting.as_json, item.others)
            due.append({**show.fields(item, "kind days"), "record": record, "others": list(others)})
        total = {kind: sum(item.kind == kind for item in items) for kind in reviewing.KINDS}
        counts = {"total": total, "step": step, "failures": memory.failures}
        return show.json_out({"due": due, **counts})
    _show_due(items, limit, step)
    show.warn_all(memory.failures)
    return 0


def _show_branch(memory: Memory, base: str, as_json: bool) -> int:
    from memory_fabric.cli.commands import share  # imported late: only for --branch

    if memory.project is None:
        raise NotFound("project", "This folder has no project whose records could be shared.")
    report = share.of_branch(memory.project, base)
    if as_json:
        return show.json_out(share.report_as_json(report))
    show.lines(share.markdown(report))
    return 0


def _show_due(items: Sequence[reviewing.Due], limit: int, step: str) -> None:
    if not items:
        show.line("Nothing is due for review.")
        return
    for item in items[:limit]:
        age = f", {item.days} days old" if item.days else ""
        name, decisions = KINDS[item.kind]
        show.line(f"{name}{age}: {decisions.format(quote(item.source))}", style="bold")
        for record in (item.record, *item.others):
            head, *more = _lines_of(record)
            by = formatting.speaker(record.source, record.trust)
            if item.kind == reviewing.SHARED:
                by = record.author or "somebody"
            about = f"{models.shown_type(record.type)}, {record.scope}, by {by}, "
            show.line(f"  {short_id(record.id)} ({about}{record.created_at[:10]}): {head}")
            if reviewing.asks_about(record):
                asked = f"asks you before {reviewing.asks_about(record)}, for {record.author}"
                show.line(f"    {asked}; forget ends that")
            if record.why:
                show.line(f"    because: {cut(one_line(record.why), MAX_TEXT_CHARS)}")
            show.lines(f"    {line}" for line in (more if item.kind == reviewing.CANDIDATE else ()))
    if len(items) > limit:
        kinds = [item.kind for item in items[limit:]]
        counts = (many(kinds.count(k), KINDS[k][0]) for k in reviewing.KINDS if k in kinds)
        show.line(f"{', '.join(counts).replace('memorys', 'memories')} more (--limit)", "dim")
        kinds_brought = (reviewing.UNCONFIRMED, reviewing.SHARED)
        brought = Counter(one.source for one in items[limit:] if one.kind in kinds_brought)
        for name, number in brought.items():
            show.line(f"all {number} of {name}: --holds or --drop {quote(name)}", "dim")
    show.line(f"Changes of --step {step} are one: memory-fabric undo --step {step} takes all back.")


def stale(
    types: list[str] | None = ONLY_TYPES,
    limit: int = option(LIMIT_HELP, LISTED, min=1),
    older_than: int | None = OLDER_THAN,
    files: bool = flag("--files  Only memories that name a file which has changed since."),
    as_json: bool = AS_JSON,
) -> int:
    """List memories that were not mentioned for a long time, or whose files changed.

    Decisions are stale after 90 days, technologies after 120, patterns after 180, preferences after
    365, and other types after 90, counted from the last observation; the oldest come first. Agents
    and pinned memories are never stale. Last come memories that name a changed or missing file.
    """
    with environment.open_memory() as memory:
        report = reviewing.Report()
        chosen: dict[str, Any] = {"limit": limit, "older_than": older_than}
        if not files:
            report = reviewing.stale(memory, timestamp(), types=types or (), **chosen)
        altered = reviewing.records_with_changes(memory, types or ())
    if as_json:
        rows = [
            {"id": record.id, "short_id": short_id(record.id), "type": record.type}
            | {"what": record.what, "files": record.evidence[models.CHANGED_FILES]}
            for record in altered[:limit]
        ]
        counts = {"changed_files": rows, "total_changed_files": len(altered)}
        stale_rows = {"total": report.total, "stale": list(map(_stale_as_json, report.shown))}
        show.json_out({**stale_rows, **counts, "failures": memory.failures})
    else:
        if report.shown or not altered:
            nothing = "No memory names a file that has changed since." if files else NOTHING_STALE
            _show_report(report, nothing)
        if altered:
            show.line("Files that these memories name have changed since:", "bold")
            table = []
            for record in altered[:limit]:
                text = one_line(models.worded(record, MAX_STALE_CHARS))
                text += f" {changed_files(record.evidence)}"
                table.append((short_id(record.id), models.shown_type(record.type), text))
            show.table(("id", "type", "memory"), table, lines=2)
            if len(altered) > limit:
                show.line(f"and {len(altered) - limit} older ones (--limit)", "dim")
            show.line("Still true: memory-fabric review --holds ID. Else: edit ID, or forget ID.")
        show.warn_all(memory.failures)
    return 0 if report.shown or altered else 1 if memory.failures else 3


def _show_report(report: reviewing.Report, nothing: str = NOTHING_STALE) -> None:
    if not report.shown:
        show.line(nothing)
        return
    rows = []
    for item, days in ((stale.item, str(stale.days)) for stale in report.shown):
        text = cut(one_line(item.text), MAX_STALE_CHARS)
        text = text if item.text else f"no observations; relations: {item.relations}"
        if item.id:
            rows.append((short_id(item.id), models.shown_type(item.type), days, text))
        else:
            name = cut(one_line(item.name), MAX_NAME_CHARS)
            rows.append(("—", f"entity ({item.type})", days, f"{name}: {text}"))
    show.table(("id", "type", "days", "memory"), rows, lines=1, optional=("id",))
    more = report.total - len(report.shown)
    if more > 0:
        show.line(f"and {more} more recent ones (--limit)", "dim")


def _stale_as_json(stale: reviewing.Stale) -> dict[str, Any]:
    item = stale.item
    fields = show.fields(item, "kind id name type store last_at")
    fields |= show.fields(stale, "days limit_days")
    fields |= {"short_id": short_id(item.id), "last_observation": item.text}
    return fields if item.id else fields | show.fields(item, "observations relations")


def prune(
    names: list[str] | None = argument("[NAME-OR-ID]...  Only these stale memories.", None),
    types: list[str] | None = ONLY_TYPES,
    limit: int = option(LIMIT_HELP, LIMIT, min=1),
    older_than: int | None = OLDER_THAN,
    yes: bool = flag("--yes  Prune without asking."),
    as_json: bool = AS_JSON,
) -> int:
    """Show stale memories, ask, and then remove exactly these.

    Memories that are mentioned in the meantime stay. One undo, whose command is printed, restores
    all of them. With `--json`, the command does not ask, and needs `--yes` to change anything.
    """
    now = timestamp()
    with environment.open_memory() as memory:
        most = max(limit, len(names or ()))
        chosen: dict[str, Any] = {"types": types or (), "named": names or ()}
        report = reviewing.stale(memory, now, limit=most, older_than=older_than, **chosen)
        show.warn_all(memory.failures)
        if not as_json:
            _show_report(report)
            if not report.shown:
                return 3
            number = "this" if len(report.shown) == 1 else f"these {len(report.shown)}"
            show.confirm(f"Remove {number} from memory?", yes)
        pruned = reviewing.Pruned()
        if yes or not as_json:
            with show.progress_bar("Pruning", quiet=as_json) as tell:
                pruned = reviewing.prune(memory, report.shown, environment.provenance(), now, tell)
    if as_json:
        shown, kept = (list(map(_stale_as_json, rows)) for rows in (report.shown, pruned.kept))
        undo = f"memory-fabric undo {pruned.undo}" if pruned.undo else ""
        outcome = {"total": report.total, "stale": shown, "pruned": len(pruned.removed)}
        show.json_out(outcome | {"changed_meanwhile": kept, "undo": undo})
        return 0 if report.shown else 3
    if pruned.kept:
        items = (stale.item for stale in pruned.kept)
        names = [short_id(i.id) or cut(one_line(i.name), MAX_NAME_CHARS) for i in items]
        show.warn(f"kept, because changed since it was shown: {', '.join(names)}")
    if pruned.undo:
        undo = f"memory-fabric undo {pruned.undo}"
        show.line(f"Pruned: {len(pruned.removed)}. {undo} restores all of it.")
    else:
        show.line("Nothing was pruned.")
    return 0
