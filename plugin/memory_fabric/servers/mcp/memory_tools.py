"""The tools `recall`, `remember`, `forget` and `history`. Their answers are short texts without
structured content, because a model that receives both reads only the structured content.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memory_fabric import ids, models
from memory_fabric.errors import BadInput, StoreUnavailable
from memory_fabric.models import Answer, Entity, Hit, Provenance, Record
from memory_fabric.recall import filters as filtering
from memory_fabric.recall import render
from memory_fabric.servers.mcp.jsonrpc import MAX_ANSWER_CHARS, Outcome, within
from memory_fabric.store.forget import plan
from memory_fabric.store.history import resolve, trace
from memory_fabric.store.history.changes import Change
from memory_fabric.store.memory import Memory
from memory_fabric.text import cut, many, name_key, neutralised, one_line

MAX_HIT_CHARS, MAX_TEXT_CHARS = 700, 300
MAX_NAMES, MAX_NAME_CHARS = 4, 80
DEFAULT_LIMIT = 10
# `remember` gives this trust. Graph tools give less, as their statements may be copied from files.
REMEMBER_TRUST = "assistant"
EVERYWHERE = frozenset(("everywhere", "me", "all", "all projects", "every project"))
STORED = "Tiers: graph now; the local journal and MEMORY.md, where it belongs there, follow."
STORED_IN_FILE = "Stored; the graph file (MEMORY_FILE_PATH) follows."
DEFAULT_CHANGES, MAX_INJECTIONS = 20, 5
KEPT_OF_TURN = "Backups keep copies; a turn cannot be restored."
KEPT_COPIES = "Journals and backups keep copies; memory-fabric undo restores it."
IN_FILE = "Journals and backups keep copies; memory-fabric undo does not reach a graph file."
FORGOTTEN = "Not stored: this was forgotten, and only the user can bring it back."
KEPT = "Not replaced, since only the user can:"
HINT = "If this replaces it, call remember again with instead_of {id}."
LESSON_MISSING = 'No lesson is on record: the same text with why "instead: …" adds one.'


def recall(memory: Memory, arguments: Mapping[str, Any], said_by: Provenance) -> Outcome:
    """Return the best matches of all sources, one per line, and notes on omissions and failures."""
    from memory_fabric.recall.pipeline import Fabric  # imported late: many clients never recall
    from memory_fabric.recall.retrieve import GRAPH_REQUIRED
    from memory_fabric.semantic.measure import measure_for

    limit, depth = arguments.get("limit", DEFAULT_LIMIT), arguments.get("depth", 0)
    now, inside = ids.timestamp(), arguments.get(filtering.OBJECT, {})
    aside = {key: arguments[key] for key in filtering.KEYS if key in arguments}
    for twice in [key for key in aside if key in inside]:
        raise BadInput(twice, f"{twice} is stated twice.", remedy=f"Leave {filtering.OBJECT}.")
    filters = filtering.stated({**inside, **aside}, now)
    fabric = Fabric(memory, now, measure_for(memory.settings))
    answer = fabric.recall(arguments["query"], limit=limit, depth=depth, filters=filters)
    if fabric.similarity is not None:
        from memory_fabric.setup import extras  # needed only with the semantic extra

        extras.start_embedding_when_due(memory.settings, memory.databases())
    if GRAPH_REQUIRED in answer.failures and not memory.readers():
        raise StoreUnavailable("", f"Nothing could be searched: {'; '.join(answer.failures)}")
    text = _rendered(answer, limit)
    if said_by.session and memory.settings.writes:
        from memory_fabric.store.conversations import sessions, worth  # imported on the first call

        try:
            database = memory.session_database()
            items = worth.items([hit.id for hit in answer.hits], text)
            sessions.record_told(database, said_by.session, worth.ASKED_FOR, now, items)
        except StoreUnavailable:
            pass  # answer even if the recall cannot be recorded
    return Outcome((text,))


def remember(memory: Memory, arguments: Mapping[str, Any], said_by: Provenance) -> Outcome:
    """Store a statement, and return a confirmation of it. Raises BadInput."""
    from memory_fabric.capture.contradiction import beside
    from memory_fabric.capture.remember import after, state

    record = record_in(memory, arguments, said_by.domain)
    said_by = said_by._replace(trust=REMEMBER_TRUST)
    by, record, quoted = _by_words(memory, arguments, said_by, record)
    replaced = _replaced(memory, arguments, record)
    from memory_fabric.capture.notes.replaced import refusal  # imported late: rarely needed

    stated = record._replace(trust=by.trust, session=by.session, created_at="9999", valid_from="")
    not_closed = [old for old in replaced if refusal(memory, stated, quoted, old)]
    closed = [old for old in replaced if old not in not_closed]
    record = after(beside(record, not_closed), closed)
    stored, is_new = state(memory, record, by, [old.id for old in closed])
    if stored is None:
        return Outcome((FORGOTTEN,))
    return Outcome((_confirmation(memory, stored, not_closed, repeated=not is_new),), changed=True)


def record_in(memory: Memory, arguments: Mapping[str, Any], domain: str) -> Record:
    """Build a record in `domain` from `remember`'s arguments. Raises BadInput for invalid ones."""
    from memory_fabric.capture.remember import stated
    from memory_fabric.redaction.redact import redact, says_only_secrets

    if not any(map(str.isalnum, arguments["text"])):
        raise BadInput("text", "The text is empty.", remedy="State one fact in a full sentence.")
    if says_only_secrets(arguments["text"]):
        message = "The text is only a secret, and secrets are not stored."
        raise BadInput("text", message, remedy="State where the secret is kept instead.")
    # Redact before names are extracted: a name on its own might not be recognised as a secret.
    text, why = redact(one_line(arguments["text"])), redact(arguments.get("why", ""))
    rejected = [redact(name) for name in arguments.get("alternatives", ())]
    name = arguments.get("instead_of", "")
    if name and not resolve.looks_like_id(name.strip().strip("[]`.'\"")):
        rejected.append(redact(one_line(name)))
    kind = _one_of(arguments, "type", "kind")
    stated_record = stated(memory, text, type=kind, why=why, alternatives=rejected)
    # If redaction removed a name from the text, the name is or contains a secret.
    lost = {n for n in arguments.get("entities", ()) if n in arguments["text"] and n not in text}
    names = [name for name in map(redact, arguments.get("entities", ())) if name not in lost]
    unredacted = [name for name in names if "[redacted" not in name and name.strip()]
    # List the caller's entities first, with types from the text, then others found in the text.
    by_key = {name_key(entity.name): entity for entity in stated_record.entities}
    entities = [by_key.pop(name_key(n), Entity(n, "unknown")) for n in unredacted]
    beside = {models.WHEN: arguments.get("when"), models.ALSO: arguments.get("also")}
    evidence = {key: redact(one_line(text)) for key, text in beside.items() if text}
    record = stated_record._replace(entities=(*entities, *by_key.values()), evidence=evidence)
    pinned = arguments.get("pinned", False)
    return record._replace(scope=_scope(arguments), domain=domain, pinned=pinned)


def _by_words(
    memory: Memory, arguments: Mapping[str, Any], by: Provenance, record: Record
) -> tuple[Provenance, Record, str]:
    """Return (provenance, record, quotation or ''); if `from` quotes the user, trust can rise."""
    if not arguments.get("from") or by.agent:
        return by, record, ""
    from memory_fabric.capture.notes.grammar import Note, source
    from memory_fabric.capture.notes.keep import earned
    from memory_fabric.capture.statement import NOTE, USER_NOTE, with_reason
    from memory_fabric.hooks.session.turn_notes import said_by_user

    words, candidate = source(one_line(arguments["from"]))
    kind = _one_of(arguments, "type", "kind") or record.type
    stated = {name: arguments.get(name, "") for name in ("instead_of", "when", "also")}
    note = Note(kind, record.what, record.why, quotation=words, candidate=candidate, **stated)
    prompts = said_by_user(memory, by.session)
    earned_trust = earned(memory, note, prompts)
    if not earned_trust.words:
        return by, record, ""
    evidence = {**record.evidence, **earned_trust.evidence(note, prompts)}
    if earned_trust.candidate is not None:
        from memory_fabric.capture.notes.replaced import discard

        discard(memory, earned_trust.candidate, by, bury=False)
    score = with_reason(NOTE if earned_trust.is_staged else USER_NOTE, bool(record.why))
    noted = record._replace(evidence=evidence, confidence=score, valid_from=earned_trust.at)
    return by._replace(trust=earned_trust.trust), noted, earned_trust.quoted


def _one_of(arguments: Mapping[str, Any], first: str, second: str) -> str:
    """Return the type in either field, or ''. Raises BadInput if unknown or the fields differ."""
    stated = {models.record_type(arguments[n]) for n in (first, second) if arguments.get(n)}
    if unknown := sorted(stated.difference(models.STATED_TYPES)):
        type_names = ", ".join(sorted((*models.STATED_TYPES, *models.TYPE_ALIASES)))
        raise BadInput(second, f"There is no type {unknown[0]!r}.", remedy=f"Use {type_names}.")
    if len(stated) > 1:
        raise BadInput(second, f"{first} and {second} are one field.", remedy="State one of them.")
    return next(iter(stated), "")


def _scope(arguments: Mapping[str, Any]) -> str:
    scope: str = arguments.get("scope", "")
    if not arguments.get("for"):
        return scope or "team"
    if arguments["for"].strip().lower().rstrip(".") not in EVERYWHERE:
        raise BadInput("for", "for only takes everywhere.", remedy="Leave it out for this project.")
    if scope not in ("", "user"):
        raise BadInput("for", f"for everywhere contradicts scope {scope}.", remedy="Leave one.")
    return "user"


def _replaced(memory: Memory, arguments: Mapping[str, Any], record: Record) -> list[Record]:
    """Return the records that `instead_of` specifies by id or text. Raises NotFound, BadInput."""
    name = arguments.get("instead_of", "").strip().strip("[]`.'\"")
    if not name:
        return []
    if not resolve.looks_like_id(name):
        from memory_fabric.capture.notes.replaced import named  # imported late: rarely needed

        place, at = (record.scope, record.domain), record.valid_from or "9999"
        same = [o for o in named(memory, name, record.what) if (o.scope, o.domain) == place]
        # Words may also mean what the user said after the quoted words.
        return [old for old in same if models.stated_at(old) <= at]
    old = resolve.record_by_id(memory, name)[0]
    if (old.scope, old.domain) != (record.scope, record.domain):
        places = (f"scope {r.scope} and domain {r.domain!r}" for r in (old, record))
        message = "{} has {}, the new memory {}.".format(name, *places)
        raise BadInput("instead_of", message, remedy="State the same scope and domain.")
    return [old]


def _confirmation(memory: Memory, stored: Record, kept: Sequence[Record], *, repeated: bool) -> str:
    from memory_fabric.capture.contradiction import as_line, contradicting, is_choice_against

    came = trace.graph_rows(memory, stored, repeated=repeated)
    replaced = memory.find_records("superseded_by = ?", (stored.id,))
    against = [old for old in contradicting(memory, stored) if old not in kept]
    choice = next((old for old in against if is_choice_against(stored, old)), None)
    place = STORED_IN_FILE if memory.whole.mirror else STORED
    if not memory.find_records("id = ?", (stored.id,)):
        because = f": {'; '.join(memory.failures)}" if memory.failures else ""
        place = f"Waits in the queue until the graph can be written{because}"
    names = [f"{name} (new)" for name in came.new] + list(came.known)
    names_text = cut(", ".join(names or [e.name for e in stored.entities]) or "none", MAX_HIT_CHARS)
    added = f"{many(came.observations, 'observation')}, {many(came.relations, 'relation')}"
    lines = [
        f"{'Known already:' if repeated else 'Remembered as'} {named_record(stored)}",
        f"Entities: {names_text}" + (f"; in the graph: {added}" if came.observations else ""),
        place,
        *(f"Replaces {named_record(record)}" for record in replaced),
        *(f"{KEPT} {named_record(record)}" for record in kept),
        *(f"To the contrary: {neutralised(as_line(record))}" for record in against),
        HINT.format(id=ids.short_id(choice.id)) if choice else "",
        LESSON_MISSING if models.lacks_lesson(stored) else "",
    ]
    return within([line for line in lines if line], "history shows it.")


def named_record(record: Record) -> str:
    """Describe a record in one line: its type, short id, scope and text."""
    most = max(MAX_HIT_CHARS, len(models.users_words(record)) + 2)
    what = neutralised(cut(models.worded(record, most), most))
    return f"{_type_and_id(record)} (scope {record.scope}): {what}"


def _type_and_id(record: Record) -> str:
    return f"{models.shown_type(record.type)} {ids.short_id(record.id)}"


def _rendered(answer: Answer, limit: int) -> str:
    walked = {" ".join(relation) for path in answer.paths for relation in path}
    lines = [_hit_line(h) for h in answer.hits if h.id.removeprefix("graph:") not in walked]
    lines += [f"Path: {render.path_text(path)}" for path in answer.paths]
    then, label = answer.query.filters.as_of, render.filter_label(answer.query.filters)
    head = [label] if label else []
    notes = [f"The memory as it was on {then[:10]}."] if then else []
    notes += [f"Note: {neutralised(one_line(cut(note, MAX_HIT_CHARS)))}." for note in answer.notes]
    notes += [f"Not searched: {failure}" for failure in answer.failures]
    if not lines:
        return "\n".join([*head, "Nothing found.", *notes])
    room = MAX_ANSWER_CHARS - len("\n".join([*head, *notes]))
    if len(answer.hits) >= limit:
        notes.append(f"Only the best {limit}: a higher limit may show more.")
    return "\n".join([*head, within(lines, "ask more narrowly, or add a filter.", room), *notes])


def _hit_line(hit: Hit) -> str:
    metadata = hit.metadata
    kind = models.shown_type(str(metadata.get("type") or metadata.get("entityType") or hit.source))
    trust = str(metadata.get("trust") or "")
    said_by = f"said by {trust}" if trust else ""
    source, _, identifier = hit.id.partition(":")
    reference = ids.short_id(identifier)  # the id of a record or a turn
    if source in ("native", "graph"):  # native: a path; graph: ENTITY or ENTITY#OBSERVATION
        name = identifier if source == "native" else identifier.rpartition("#")[0] or identifier
        reference = _name(name)
    marks = [kind, hit.timestamp[:10], str(metadata.get("scope", ""))]
    marks.append(render.low_trust(trust, metadata) if trust == "foreign" else said_by)
    marks += ["stale" if metadata.get("stale") else "", render.replaced_by(metadata)]
    marks.append("" if kind == "relation" else reference)
    text = one_line("; ".join((hit.text, *metadata.get("also_observed", ()))))
    reason = one_line(str(metadata.get("why") or ""))
    if words := render.words_of(hit):
        text = models.words_first(words, text, reason, max(MAX_HIT_CHARS, len(words) + 2))
    elif reason and reason not in text:
        text += f" — {models.as_reason(reason)}"
    about = ", ".join(name for name in hit.entities[:MAX_NAMES] if name not in text)
    line = cut(text, max(MAX_HIT_CHARS, len(words) + 2))
    line += f" [{cut(about, MAX_NAME_CHARS)}]" if about else ""
    line = f"{line} {render.changed_files(metadata)}".rstrip()
    return f"- ({', '.join(mark for mark in marks if mark)}) {neutralised(line)}"


def forget(memory: Memory, arguments: Mapping[str, Any], said_by: Provenance) -> Outcome:
    """Preview the matches and return a code. With this code, forget them if they are unchanged."""
    what, code = arguments["what"], arguments.get("confirm", "")
    if code:
        matches = plan.confirmed(memory, what, code)
        forgotten = plan.forget(memory, matches, said_by)
        remark = KEPT_OF_TURN if matches.turns else IN_FILE if memory.whole.mirror else KEPT_COPIES
        return Outcome((f"Forgotten: {forgotten}. {remark}",), changed=True)
    found = plan.find(memory, what)
    lines = [f"- {_type_and_id(r)} of {r.created_at[:10]}: {_short(r.what)}" for r in found.records]
    lines += [
        f"- entity {_name(e.name)} ({_name(e.type)}) with "
        f"{many(len(e.observations), 'observation')} of its own and {many(e.relations, 'relation')}"
        for e in found.entities
    ]
    lines += [f"- observation of {_name(o.entity)}: {_short(o.text)}" for o in found.observations]
    lines += [
        f"- turn {ids.short_id(t.id)} of {t.at[:10]}, said by the {t.role}: {_short(t.text)}"
        for t in found.turns
    ]
    lines += [
        f"- stays, since it is also about others: {_type_and_id(r)}: {_short(r.what)}"
        for r in found.kept
    ]
    fitting = within(lines, f"In all, {len(found)} would go and {len(found.kept)} stay.")
    confirm = f'Nothing is forgotten yet. To forget this, call again with confirm "{found.code}".'
    return Outcome((f"{fitting}\n{confirm}",))


def history(memory: Memory, arguments: Mapping[str, Any], _said_by: Provenance) -> Outcome:
    """Return the origin and changes of an entity or record, and the sessions that were given it."""
    name, limit = arguments["name"], arguments.get("limit", DEFAULT_CHANGES)
    origin = trace.why(memory, name)
    lines = [
        *(_of_record(origin) if isinstance(origin, trace.RecordTrace) else _of_entity(origin)),
        *([f"It is gone: {_change_line(origin.deletion)}"] if origin.deletion else []),
    ]
    for injection in origin.injections[:MAX_INJECTIONS]:
        agent = f", agent {_name(injection.agent)}," if injection.agent else ""
        session, day = _name(injection.session), injection.at[:10]
        lines.append(f"given to session {session}{agent} by {injection.channel} on {day}")
    if (more := len(origin.injections) - MAX_INJECTIONS) > 0:
        lines.append(f"given {more} more times")
    lines += map(_change_line, trace.history(memory, name, limit))
    return Outcome((within(lines, "Ask the command line (memory-fabric history) for all."),))


def _of_record(origin: trace.RecordTrace) -> Iterator[str]:
    record = origin.record
    yield f"{_type_and_id(record)}: {_short(record.what)}"
    if record.why:
        yield f"reason: {_short(record.why)}"
    yield f"said by {_by(record._asdict(), record.created_at)}, confidence {record.confidence:.2f}"
    if len(origin.seen_in) > 1:
        yield f"seen in {len(origin.seen_in)} sessions"
    if origin.tiers:
        yield f"lies in {', '.join(origin.tiers)}"
    if record.superseded_by:
        yield f"superseded by {ids.short_id(record.superseded_by)}"


def _of_entity(origin: trace.EntityTrace) -> Iterator[str]:
    also = f", also called {', '.join(map(_name, origin.aliases))}" if origin.aliases else ""
    yield f"entity {_name(origin.name)} ({_name(origin.type)}){also}"
    for statement in origin.statements:
        known = {n: getattr(statement, n) for n in ("trust", "source", "session")}
        by = _by(known | {"author": statement.agent, "origin": models.SHARED_LOG}, statement.at)
        yield f"- {_short(statement.text)} (said by {by})"


def _change_line(change: Change) -> str:
    undone = ", undone" if change.undone else ""
    who = _by(change.by, change.at)
    return f"* {ids.short_id(change.id)} {_short(change.what)} ({who}{undone})"


def _by(known: Mapping[str, Any], at: str) -> str:
    session = str(known.get("session") or "")
    who, author = str(known.get("trust") or "unknown"), str(known.get("author") or "")
    if who == "foreign" and author:
        is_member = known.get("origin") == models.SHARED_LOG
        who = f"{cut(author, MAX_NAME_CHARS)}, {'' if is_member else 'as claimed, '}unverified,"
    through = f"through {known['source']}" if known.get("source") else ""
    inside = f"in session {cut(session, MAX_NAME_CHARS)}" if session else ""
    parts = (who, through, inside, f"on {at[:10]}" if at else "")
    return neutralised(" ".join(filter(None, parts)))


def _short(text: str) -> str:
    return neutralised(cut(one_line(text), MAX_TEXT_CHARS))


def _name(text: str) -> str:
    return neutralised(cut(one_line(text), MAX_NAME_CHARS))
