"""Commands why, history and undo: where memories come from, what changed, and undoing changes."""

from collections.abc import Iterable, Sequence
from typing import Any

from memory_fabric.cli import environment, formatting, show
from memory_fabric.cli.options import AS_JSON, argument, exclusive, flag, option
from memory_fabric.errors import NotFound
from memory_fabric.ids import short_id
from memory_fabric.models import shown_type, worded
from memory_fabric.store.history import changes, trace
from memory_fabric.store.history import undo as undoing
from memory_fabric.store.history.changes import Change
from memory_fabric.store.history.undo import Undone
from memory_fabric.store.projects import file_states
from memory_fabric.text import cut, one_line

MAX_TEXT_CHARS = 120
# At most this many changes of one step are listed; the other changes are only counted.
MAX_NAMED = 20
# The beginning of an undo's description; the undo of an undo is shown as a redo.
UNDID = "undid: "
INJECTION = "session agent channel at"
FILE_STATES = {
    file_states.SAME: "is as it was",
    file_states.CHANGED: "has changed since",
    file_states.GONE: "is gone",
}


def why(
    name: str = argument("ID-OR-NAME  The id that recall shows, or an entity."),
    as_json: bool = AS_JSON,
) -> int:
    """Show where a memory comes from and which sessions were given it.

    Shows who stated it, when and where, or who deleted it, which tiers hold it, and which sessions
    and agents were given it; for an entity, the same for each observation.
    """
    with environment.open_memory() as memory:
        origin = trace.why(memory, name)
        files = {}
        if isinstance(origin, trace.RecordTrace):
            files = file_states.of_record(memory, origin.record.id)
    given: dict[str, Any] = {
        "given_to": [show.fields(given_to, INJECTION) for given_to in origin.injections]
    }
    given |= {"gone": trace.as_json(origin.deletion)} if origin.deletion else {}
    if isinstance(origin, trace.RecordTrace):
        record = origin.record
        if as_json:
            fields = formatting.as_json(record) | show.fields(origin, "store seen_in tiers")
            return show.json_out(fields | given | ({"files": files} if files else {}))
        head = f"{shown_type(record.type)} {short_id(record.id)}"
        show.line(f"{head}: {one_line(worded(record))}", "bold")
        states = "; ".join(f"{path} {FILE_STATES[state]}" for path, state in files.items())
        removed = ("removed", _deletion(origin.deletion))
        show.facts(*formatting.origin_facts(origin), ("files", states), removed)
        _show_injections(origin.injections)
    elif as_json:
        names = "text trust source session agent domain record at"
        observations = [
            show.fields(statement, names)
            | {"given_to": [show.fields(given_to, INJECTION) for given_to in statement.injections]}
            for statement in origin.statements
        ]
        entity = {"name": origin.name, "entityType": origin.type}
        entity |= show.fields(origin, "aliases store") | {"observations": observations}
        show.json_out(entity | given)
    else:
        _show_entity(origin)
    return 0


def _show_entity(origin: trace.EntityTrace) -> None:
    show.line(f"{origin.name} ({origin.type})", style="bold")
    show.facts(
        ("also called", ", ".join(origin.aliases)),
        ("stored in", f"the {origin.store}'s memory"),
        ("removed", _deletion(origin.deletion)),
    )
    rows = []
    for s in origin.statements:
        agent = f" (agent {s.agent})" if s.agent else ""
        session = f", session {s.session}" if s.session else ""
        speaker = f"{formatting.speaker(s.source, s.trust)}{agent}, by {s.source}{session}"
        if s.trust == "foreign":
            speaker = f"{s.agent or 'someone else'}, by {s.source}"
        text = cut(one_line(s.text), MAX_TEXT_CHARS)
        rows.append((formatting.when(s.at), speaker, short_id(s.record), text))
    if rows:
        show.table(("when", "said by", "memory", "observation"), rows)
    else:
        show.line("It has no observations.")
    of_records = (s.injections for s in origin.statements if s.record)
    _show_injections((*origin.injections, *(item for part in of_records for item in part)))


def _show_injections(injections: Iterable[trace.Injection]) -> None:
    unique = list(dict.fromkeys(injections))
    for injection in unique:
        agent = f", agent {injection.agent}," if injection.agent else ""
        show.line(
            f"given to session {injection.session}{agent} with a {injection.channel} block "
            f"on {formatting.when(injection.at)}"
        )
    if not unique:
        show.line("given to no session yet")


def _deletion(change: Change | None) -> str:
    if change is None:
        return ""
    return f"{change.what}, on {formatting.when(change.at)} by {changes.who(change.by)}"


def history(
    name: str | None = argument("NAME-OR-ID  An entity by any name, or a memory; else all.", None),
    limit: int = option("N  The maximum number of changes.", 20, min=1, max=10_000),
    as_json: bool = flag("--json  Answer in JSON: all fields of the changes."),
) -> int:
    """Show what changed and who changed it, newest first.

    Each change has an id for `memory-fabric undo`. Forgotten memories have a history, too.
    """
    with environment.open_memory() as memory:
        described = trace.history(memory, name, limit)
    if as_json:
        show.json_out([trace.as_json(change) for change in described])
    elif described:
        _show_changes((d, f"(undone) {d.what}" if d.undone else d.what) for d in described)
    elif not name:
        show.line("Nothing has changed yet.")
    if name and not described:
        text = f"There is no memory or entity {name!r}."
        raise NotFound(name, text, remedy="memory-fabric recall finds names.")
    return 0 if described else 3


def _show_changes(phrases: Iterable[tuple[Change, str]]) -> None:
    """Print changes and their descriptions, with the authors if there are several."""
    pairs = list(phrases)
    authors = {str(change.by.get("author") or "") for change, _ in pairs}
    rows = []
    for change, phrase in pairs:
        by = dict(change.by)
        if len(authors) < 2:
            by.pop("author", None)
        at = f"{change.at[:10]} {change.at[11:16]}"
        rows.append((at, short_id(change.id), changes.who(by), phrase))
    show.table(("when (UTC)", "id", "by", "what"), rows, lines=1)


def undo(
    identifier: str | None = argument("ID  The id of a change in `history`, or its end.", None),
    last: bool = flag("--last  Undo the last change that is not undone yet."),
    session: str = option("ID  Show changes of a session, newest first; with `--yes` undo them."),
    step: str = option("NAME  Undo all changes that commands made with `--step NAME`."),
    yes: bool = flag("--yes  Undo the changes of the preview."),
    as_json: bool = flag("--json  Answer in JSON: the changes, and the result for each."),
) -> int:
    """Undo a change; what others added or forgot since then stays.

    An undo is a change, too, and can be undone. Without an id or `--last` it is only shown.
    """
    text = "An id, --last, --session and --step exclude each other."
    exclusive("--last", text, identifier, last, session, step)
    with environment.open_memory() as memory:
        if session:
            chosen = undoing.of_session(memory, session)
        elif step:
            chosen = undoing.of_step(memory, step)
        else:
            first = changes.by_id(memory, identifier) if identifier else undoing.last(memory)
            chosen = changes.together(memory, first, is_named=bool(identifier))
        described = [trace.described(memory, change) for change in chosen]
        undoes = bool(identifier or last or step or yes) and (yes or not session)
        undone = undoing.undo(memory, chosen, environment.provenance()) if undoes else []
    if as_json:
        results = {result.change.id: result for result in undone}
        rows = []
        for entry in described:
            result = results.get(entry.id)
            because = result.because if result else undoing.prospect(entry)
            undo_id = result.by if result else ""
            rows.append(trace.as_json(entry) | {"undo": undo_id, "because": because})
        show.json_out({"undone": sum(bool(result.by) for result in undone), "changes": rows})
    elif undoes:
        _say_undone(described, undone)
    else:
        prospects = [(d, undoing.prospect(d)) for d in described]
        _show_changes((d, f"(stays: {why}) {d.what}" if why else d.what) for d, why in prospects)
        show.line("This would be undone; nothing was changed. Use --yes to undo it.")
    return 0 if not undone or any(result.by for result in undone) else 1


def _say_undone(described: Sequence[Change], undone: Sequence[Undone]) -> None:
    undo_ids = [result.by for result in undone if result.by]
    are_many = len(undo_ids) > MAX_NAMED
    if are_many:
        show.line(
            f"Undone: {len(undo_ids)} changes that were made together. "
            f"memory-fabric undo {short_id(undo_ids[-1])} redoes them."
        )
    for result, entry in zip(undone, described, strict=True):
        text = entry.what.rstrip(".")
        if not result.by:
            show.warn(f"not undone, {result.because}: {entry.what}")
        elif entry.kind == changes.LEARN:
            show.line(f"Undone: {text}. Its turns are deleted.")
            show.line("memory-fabric learn reads them again; learn --undo is for all projects.")
        elif text.startswith(UNDID) and not are_many:
            again = f"memory-fabric undo {short_id(result.by)} undoes it again."
            show.line(f"Redone: {text.removeprefix(UNDID)}. {again}")
        elif not are_many:
            show.line(f"Undone: {text}. memory-fabric undo {short_id(result.by)} redoes it.")
            if entry.kind == "ingest":
                show.line("Its turns stay until they expire, like those of sessions.")
