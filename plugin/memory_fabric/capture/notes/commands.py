"""Prompts that are commands to memory: `undo`, `forget ID`, `keep`, `lift ID`, `notes off`. The
prompt hook executes them without the assistant, and reports the outcome in a notice to the user.
"""

from memory_fabric.capture import edit
from memory_fabric.capture.notes import debt
from memory_fabric.capture.notes.replaced import line, matching, named, with_id
from memory_fabric.capture.notes.typed import FORGET, KEEP, LAST, NOTES, OF_RULES, REPLACE, UNDO
from memory_fabric.errors import FabricError, NotFound
from memory_fabric.ids import new_id, short_id, timestamp
from memory_fabric.models import Provenance, Record
from memory_fabric.rules import effects
from memory_fabric.store.conversations import sessions
from memory_fabric.store.forget.plan import reopened
from memory_fabric.store.history import changes, trace
from memory_fabric.store.history import undo as undoing
from memory_fabric.store.home import switches
from memory_fabric.store.memory import Memory
from memory_fabric.store.schema import CURRENT
from memory_fabric.text import content_stems, cut, neutralised

MAX_SHOWN_CHARS = 160
# The maximum number of records that are suggested if no record matches with certainty.
MAX_MEANT = 3
# A shorter argument without a digit may be an ordinary word instead of an id: `keep face`.
SURE_CHARS = 8
# Sources of notes. Undoing a note's change also restores the statement that the note replaced.
NOTING = ("assistant", "compaction")


def run(memory: Memory, verb: str, argument: str, session: str, refused: str = "") -> str:
    """Execute a command, unless `refused` says why not; return the outcome as a sentence for the
    user. Return '' if the prompt may mean something else; the assistant then receives it.
    """
    by = Provenance("prompt", trust="user", session=session)
    is_plain = verb == NOTES or (verb == UNDO and argument in ("", LAST))
    try:
        records = [] if is_plain else _meant(memory, verb, argument, session)
        if refused and (is_plain or records):
            return f"not done {refused}"
        if verb == NOTES:
            return _switch_notes(memory, argument == "on")
        if is_plain:
            last = undoing.last(memory, "" if argument else session)
            return _undone(memory, changes.together(memory, last), by)
        if len(records) > 1:
            several = "; ".join(map(line, records))
            return f"not done: {argument} fits several ids, type more of it: {several}"
        if not records:
            is_word = len(argument) < SURE_CHARS and not any(map(str.isdigit, argument))
            is_word = is_word or " " in argument
            return "" if is_word else f"nothing was done: no memory has the id {argument}"
        if verb in OF_RULES:
            return _bind(memory, verb, records[0], by)
        if verb == UNDO:
            return _undo(memory, records[0], by)
        return _change(memory, verb, records[0], by)
    except (FabricError, OSError) as error:
        # A bare "undo" may refer to the assistant's work instead of memory.
        is_open = isinstance(error, NotFound) and (verb, argument) == (UNDO, "") and session
        return "" if is_open else f"not done: {error}"


def _meant(memory: Memory, verb: str, argument: str, session: str) -> list[Record]:
    """Return the records with this id or these words; for '', the session's only item to review."""
    if argument:
        is_words = " " in argument
        return named(memory, argument, surely=True) if is_words else with_id(memory, argument)
    waiting = debt.open_here(memory, session)
    asks = sessions.load_notes(memory.session_database(), session).get(sessions.ASKS)
    if len(waiting) != 1 or asks:
        return []
    [(new, old)] = waiting
    return ([new] if old else []) if verb == REPLACE else [old or new]


def perhaps_meant(memory: Memory, verb: str, argument: str, session: str) -> str:
    """Return a line for the assistant with the records that a command may mean, or ''."""
    if content_stems(argument):
        records = matching(memory, argument)
    elif verb == FORGET:
        own = f"{CURRENT} AND scope <> 'local' AND type <> 'session' AND session = ?"
        records = list(memory.find_records(own, (session,), MAX_MEANT))
    else:
        waiting = debt.open_here(memory, session) if verb != UNDO else ()
        records = [(old or new) if verb == KEEP else new for new, old in waiting]
    listed = "; ".join(map(line, records[:MAX_MEANT]))
    return f"To {verb} one of memory the user types `{verb} ID`: {listed}" if listed else ""


def _switch_notes(memory: Memory, on: bool) -> str:
    place = memory.project.id if memory.project else switches.EVERYWHERE
    switches.turn(memory.settings.home, place, (switches.NOTES,), on)
    where = f"in {memory.project.name}" if memory.project else "everywhere"
    if on:
        return f"notes are on {where}, from the next session on; `notes off` stops them"
    return (
        f"notes are off {where}: no line and nothing that you say is made a memory any more, only "
        "what you have remembered by a command; `notes on` brings them back"
    )


def _bind(memory: Memory, verb: str, record: Record, by: Provenance) -> str:
    old = edit.editable(memory, record.id)
    new = effects.set_by_user(old.record, verb, by.at or timestamp())
    if new != old.record:
        edit.save(memory, old, new, by)
        memory.flush()
    back = "tell" if verb == effects.LIFT else "lift"
    rule, id_ = line(new), short_id(new.id)
    return f"this rule {effects.does(new, verb)}: {rule}; `{back} {id_}` changes it"


def _change(memory: Memory, verb: str, record: Record, by: Provenance) -> str:
    memory.whole.batch = new_id()  # all changes of the command are undone together
    if verb == KEEP:
        outcome, record = edit.keep(memory, record.id, by)
        message = f"{outcome} {line(record)}"
    elif verb == REPLACE:
        new, old = edit.replace(memory, record.id, by)
        closed = "; ".join(map(line, old))
        message = f"{line(new)} replaces {closed}; `keep {short_id(old[0].id)}` takes it back"
    else:
        again = reopened(memory, [record])
        memory.forget([record.id], by)
        message = "; ".join(filter(None, (f"forgot {line(record)}", again)))
        message += f"{'' if again else ';'} `undo last` brings it back"
    memory.whole.batch = ""
    memory.flush()
    return message


def _undo(memory: Memory, record: Record, by: Provenance) -> str:
    where = "kind IN ('remember', 'supersede', 'put_record') AND instr(payload, ?) > 0"
    for change in changes.read_all(memory, where, (record.id,)):
        closed = [link["id"] for link in change.payload.get("links", ())]
        closed += change.payload.get("supersedes", ())
        # Skip changes that mention the record's id, but neither store nor close the record.
        is_about = record.id in (change.payload.get("record", {}).get("id"), *closed)
        if is_about and change.inverse and not (change.undone or change.settles):
            of_note = change.by.get("source") in NOTING
            together = changes.together(memory, change, is_named=True) if of_note else [change]
            return _undone(memory, together, by)
    return f"nothing was undone: no change is about {line(record)}"


def _undone(memory: Memory, chosen: list[changes.Change], by: Provenance) -> str:
    text = cut(neutralised(trace.described(memory, chosen[0]).what), MAX_SHOWN_CHARS).rstrip(".")
    [result, *_] = undoing.undo(memory, chosen, by)
    if not result.by:
        return f"nothing was undone: {result.because}"
    return f"undone: {text}; `memory-fabric undo {short_id(result.by)}` redoes it"
