"""Commands recall, load, why, history and undo: query the memory, and undo its changes."""

from collections.abc import Iterable, Sequence
from typing import Any

from memory_fabric import ids
from memory_fabric.cli import environment, formatting, show
from memory_fabric.cli.options import AS_JSON, argument, exclusive, flag, option, repeated
from memory_fabric.errors import NotFound, StoreUnavailable
from memory_fabric.ids import short_id
from memory_fabric.models import Answer, Hit, as_reason, shown_type, worded, words_first
from memory_fabric.recall import render
from memory_fabric.recall.agent_domains import visible_to_process
from memory_fabric.store.history import changes, trace
from memory_fabric.store.history import undo as undoing
from memory_fabric.store.projects import file_states
from memory_fabric.text import cut, one_line

MAX_TEXT_CHARS, MAX_STATEMENT_CHARS, MAX_NAME_CHARS = 400, 120, 40
# The prefix of an undo's description; undoing such an undo is shown as a redo.
UNDID = "undid: "
INJECTION = "session agent channel at"
FILE_STATES = {
    file_states.SAME: "is as it was",
    file_states.CHANGED: "has changed since",
    file_states.GONE: "is gone",
}


def recall(
    words: list[str] | None = argument("QUERY  Words and filters; else the newest memories.", None),
    limit: int = option("N  The maximum number of results.", 10, min=1, max=1000),
    depth: int = option("N  Follow relations 1 to 3 steps, and show the paths.", 0, min=0, max=3),
    domain: list[str] | None = repeated("--domain --expert-domain NAME  Only this domain."),
    project: list[str] | None = repeated("TAG  Only this tag (untagged: the project's name)."),
    kind: list[str] | None = repeated("--type TYPE  Only this type: `decision`, `pattern` …"),
    agent: list[str] | None = repeated("NAME  Only what an agent of this type said."),
    scope: list[str] | None = repeated("SCOPE  Only this scope: team, user, global, local."),
    session: list[str] | None = repeated("ID  Only what was said in this session (full id)."),
    category: list[str] | None = repeated("NAME  Only records of this category."),
    since: str = option("TIME  Only what was said at that time or later: `2026-01-15`, `30d`."),
    before: str = option("TIME  Only what was said before that time."),
    as_of: str = option('TIME  Search memory as it was then: `2026-01-15`, `30d`, `"last month"`.'),
    explain: bool = flag("--explain  Show how results are scored, and if a prompt would get them."),
    as_json: bool = flag(
        "--json  Answer in JSON: query, intent, total_results, sources, results, paths, failures, "
        "notes; with `--explain` also the words searched for, `parts`, `prompt` and `silence`."
    ),
) -> int:
    """Search memories, best match first, or list the newest.

    Filters are options or part of the query: `type:decision,pattern`, `scope:user`, `agent:NAME`,
    `since:2026-01-01` … All filters must match, each with at least one of its values.

    The query may also contain `as_of:2026-01-15` (the memory as it was then), `"an exact phrase"`,
    `-redis` to exclude memories with this word, and "other than Redis" to rank these lower. If
    MEMORY_FABRIC_DOMAIN names an isolated domain, only it is searched. Exit code 3 if nothing fits.

        memory-fabric recall "type:antipattern pagination" --limit 3
    """
    # imported late: not needed for --help
    from memory_fabric.language import times
    from memory_fabric.recall import explain as explaining
    from memory_fabric.recall import filters
    from memory_fabric.recall.pipeline import Fabric
    from memory_fabric.semantic.measure import measure_for

    now, text = ids.timestamp(), " ".join(words or ())
    wanted: dict[str, Any] = {"domain": domain, "project": project, "type": kind, "agent": agent}
    wanted |= {"scope": scope, "session": session, "category": category}
    wanted |= {"since": since, "before": before}
    wanted = {name: value for name, value in wanted.items() if value}
    query: dict[str, Any] = {"limit": limit, "depth": depth}
    query["as_of"] = times.stated(as_of, now, "--as-of") if as_of else ""
    query["filters"] = filters.stated(wanted, now, field="--")
    with environment.open_memory() as memory:
        fabric = Fabric(visible_to_process(memory), now, measure_for(memory.settings))
        if explain and text:
            explained = explaining.explain_here(fabric, text, **query)
            if as_json:
                show.json_out(explaining.as_json(explained))
            else:
                _show_explained(explained)
            return 0 if explained.answer.hits else 3
        answer = fabric.recall(text, **query)
    # If only the client's own memory files are unreadable, a warning is enough.
    failed = [name for name in answer.failures if not name.startswith("native")]
    if not answer.hits and failed:
        raise StoreUnavailable("", f"Nothing could be searched: {'; '.join(answer.failures)}")
    if as_json:
        return show.json_out(explaining.answer_as_json(answer), 0 if answer.hits else 3)
    show.lines((render.filter_label(answer.query.filters),), "dim")
    if answer.query.filters.as_of:
        show.line(f"The memory as it was on {formatting.when(answer.query.filters.as_of)}:", "dim")
    if answer.hits:
        columns = ("score", "kind", "date", "id", "memory")
        show.table(columns, map(_row, answer.hits), lines=2, optional=("score",))
    else:
        show.line("Nothing found.")
    _show_notes(answer)
    return 0 if answer.hits else 3


def _show_notes(answer: Answer) -> None:
    show.lines((f"path: {render.path_text(path)}" for path in answer.paths), "dim")
    show.lines(answer.notes, "dim")
    show.warn_all(f"not searched: {failure}" for failure in answer.failures)


def _row(hit: Hit) -> tuple[Any, ...]:
    facts = hit.metadata
    marks = [
        render.low_trust("foreign", facts) if facts.get("trust") == "foreign" else "",
        "stale" if facts.get("stale") else "",
        render.replaced_by(facts),
        render.changed_files(facts).strip("()"),
    ]
    text = show.styled("", "")
    for mark in filter(None, marks):
        text.append(f"[{mark}] ", style="yellow")
    statement = one_line("; ".join((hit.text, *facts.get("also_observed", ()))))
    statement, words = cut(statement, MAX_TEXT_CHARS), render.words_of(hit)
    text.append(show.printable(words_first(words, statement) if words else statement))
    why = one_line(str(facts.get("why") or ""))
    if why and why.lower() not in text.plain.lower():
        text.append(show.printable(f" — {as_reason(cut(why, MAX_TEXT_CHARS))}"))
    # Show the id or name by which why, pin, forget and history can refer to this result.
    source, _, reference = hit.id.partition(":")
    if facts.get("entityType") == "relation":
        reference = "—"
    elif source in ("graph", "native"):
        reference = cut(reference, MAX_NAME_CHARS)
    else:
        reference = short_id(reference)
    kind = shown_type(str(facts.get("type") or facts.get("entityType") or hit.source))
    return f"{hit.score:.2f}", kind, hit.timestamp[:10] or "—", reference, text


def _show_explained(explained: Any) -> None:
    answer, verdicts = explained.answer, explained.verdicts
    show.lines((render.filter_label(answer.query.filters),), "dim")
    words = ", ".join(f"{word} ×{strength:g}" for word, strength in explained.words)
    show.line(f"searched for: {words or 'names and filters only'}", "dim")
    for rank, hit in enumerate(answer.hits, 1):
        _show_hit(rank, hit, verdicts.get(hit.id, ""))
    if not answer.hits:
        show.line("Nothing found.")
    if explained.silence:
        verdict = f"nothing: {explained.silence}"
    elif all(verdicts.get(hit.id) for hit in answer.hits):
        verdict = "none of these"
    else:
        verdict = "those marked so"
    show.line(f"A prompt with these words would be given {verdict}.")
    _show_notes(answer)


def _show_hit(rank: int, hit: Hit, verdict: str) -> None:
    from memory_fabric.recall.explain import GIVEN

    facts = hit.metadata
    kind = facts.get("type") or facts.get("entityType") or hit.source
    text = cut(one_line(hit.text), 200)
    day = hit.timestamp[:10] or "undated"
    show.line(f"{rank}. {hit.score:.3f}  [{kind}, {day}] {text}", "bold")
    replaces = short_id(facts["replaces"]) if facts.get("replaces") else ""
    about = (
        f"holds {', '.join(facts.get('matched', ())) or 'none of the words'}",
        render.replaced_by(facts),
        render.low_trust("foreign", facts) if facts.get("trust") == "foreign" else "",
        f"replaces {replaces}" if replaces else "",
        "stale" if facts.get("stale") else "",
        "said twice" if facts.get("cross_validated") else "",
        "names other known entities" if facts.get("cross_referenced") else "",
    )
    relevance = [f"{name} {value:.3f}" for name, value in facts.get("parts", {}).items()]
    if "similarity" in facts:
        relevance.append(f"similarity of meaning {facts['similarity']:.3f}")
    parts = facts.get("score_parts", {})
    factor = parts.get("times", 1.0)
    score = " + ".join(f"{name} {value:.3f}" for name, value in parts.items() if name != "times")
    texts = (
        "; ".join(filter(None, about)),
        f"relevance {hit.relevance:.3f} from {' + '.join(relevance) or 'nothing'}",
        f"score ({score}) × {factor:g}" if factor != 1.0 else f"score {score}",
        f"as a prompt: {f'not given: {verdict}' if verdict else GIVEN}",
    )
    show.lines((f"   {text}" for text in texts), "dim")


def load(as_json: bool = AS_JSON) -> int:
    """Show the memories that a session is given at its start.

    These are rules and preferences, the ten most important decisions, the three newest open
    questions or blockers, facts that you stated or agreed to or that recur, and fixes of the last
    week, even if MEMORY.md has them. An isolated domain in MEMORY_FABRIC_DOMAIN is shown alone.
    """
    from memory_fabric.hooks.session.standing import standing
    from memory_fabric.recall import session_block
    from memory_fabric.recall.session_block import mark_contents
    from memory_fabric.redaction.redact import without_secrets

    with environment.open_memory() as whole:
        memory = visible_to_process(whole)
        now = ids.timestamp()
        contents = mark_contents(standing(memory, now), memory)
    text = without_secrets(session_block.block(contents, now=now).text)
    if as_json:
        show.json_out({"text": text, "failures": memory.failures})
    else:
        show.block(text or "Nothing is remembered here yet.")
    show.warn_all(memory.failures)
    return 0 if text else 1 if memory.failures else 3


def why(
    name: str = argument("ID-OR-NAME  The id that recall shows, or an entity."),
    as_json: bool = AS_JSON,
) -> int:
    """Show where a memory comes from and which sessions were given it.

    The output says who stated or deleted it, when and where, which files and databases contain it,
    and which sessions and agents were given it; for an entity, it says so for each observation.
    """
    with environment.open_memory() as memory:
        origin = trace.why(memory, name)
        files = {}
        if isinstance(origin, trace.RecordTrace):
            files = file_states.of_record(memory, origin.record.id)
    given: dict[str, Any] = {"given_to": [show.fields(i, INJECTION) for i in origin.injections]}
    removed = ""
    if gone := origin.deletion:
        given |= {"gone": trace.as_json(gone)}
        removed = f"{gone.what}, on {formatting.when(gone.at)} by {changes.who(gone.by)}"
    if isinstance(origin, trace.RecordTrace):
        record = origin.record
        if as_json:
            fields = formatting.as_json(record) | show.fields(origin, "store seen_in tiers")
            return show.json_out(fields | given | ({"files": files} if files else {}))
        head = f"{shown_type(record.type)} {short_id(record.id)}"
        show.line(f"{head}: {one_line(worded(record))}", "bold")
        states = "; ".join(f"{path} {FILE_STATES[state]}" for path, state in files.items())
        show.facts(*formatting.origin_facts(origin), ("files", states), ("removed", removed))
        _show_injections(origin.injections)
    elif as_json:
        observations = [
            show.fields(statement, "text trust source session agent domain record at")
            | {"given_to": [show.fields(i, INJECTION) for i in statement.injections]}
            for statement in origin.statements
        ]
        entity = {"name": origin.name, "entityType": origin.type}
        entity |= show.fields(origin, "aliases store") | {"observations": observations}
        show.json_out(entity | given)
    else:
        _show_entity(origin, removed)
    return 0


def _show_entity(origin: trace.EntityTrace, removed: str) -> None:
    show.line(f"{origin.name} ({origin.type})", style="bold")
    show.facts(
        ("also called", ", ".join(origin.aliases)),
        ("stored in", f"the {origin.store}'s memory"),
        ("removed", removed),
    )
    rows = []
    for s in origin.statements:
        agent = f" (agent {s.agent})" if s.agent else ""
        session = f", session {s.session}" if s.session else ""
        speaker = f"{formatting.speaker(s.source, s.trust)}{agent}, by {s.source}{session}"
        if s.trust == "foreign":
            speaker = f"{s.agent or 'someone else'}, by {s.source}"
        text = cut(one_line(s.text), MAX_STATEMENT_CHARS)
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


def _show_changes(phrases: Iterable[tuple[changes.Change, str]]) -> None:
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
    """Undo a change, but not what others added or forgot since then.

    An undo can itself be undone. Without an id or an option, the last change is only shown.
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


def _say_undone(described: Sequence[changes.Change], undone: Sequence[undoing.Undone]) -> None:
    undo_ids = [result.by for result in undone if result.by]
    # If a step has more changes than this, only their number is printed.
    are_many = len(undo_ids) > 20
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
