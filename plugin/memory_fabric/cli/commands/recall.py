"""Commands recall and load: search the memory, and show what a session is given at its start."""

from typing import Any

from memory_fabric import ids
from memory_fabric.cli import environment, formatting, show
from memory_fabric.cli.options import AS_JSON, argument, flag, option, repeated
from memory_fabric.errors import StoreUnavailable
from memory_fabric.models import Answer, Hit, as_reason, shown_type, words_first
from memory_fabric.recall import render
from memory_fabric.recall.agent_domains import visible_to_process
from memory_fabric.text import cut, one_line

MAX_TEXT_CHARS, MAX_EXPLAINED_CHARS, MAX_NAME_CHARS = 400, 200, 40


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
    `since:2026-01-01` … All of them must match; of several values any one. If nothing matches the
    filters, it says so; the search is not widened.

    The query may also contain `as_of:2026-01-15` (the memory as it was then) and
    `"an exact phrase"`. If nothing contains the phrase, its words are searched for, and a note
    says so. `-redis` excludes memories with this word; "other than Redis" ranks them lower. If
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
    # An unreadable memory file of the client is only a warning: the memory itself was searched.
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
    # The id or name that the commands why, pin, forget and history accept for this hit.
    source, _, reference = hit.id.partition(":")
    if facts.get("entityType") == "relation":
        reference = "—"
    elif source in ("graph", "native"):
        reference = cut(reference, MAX_NAME_CHARS)
    else:
        reference = ids.short_id(reference)
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
    text = cut(one_line(hit.text), MAX_EXPLAINED_CHARS)
    day = hit.timestamp[:10] or "undated"
    show.line(f"{rank}. {hit.score:.3f}  [{kind}, {day}] {text}", "bold")
    replaces = ids.short_id(facts["replaces"]) if facts.get("replaces") else ""
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

    The newest three open questions and blockers, rules and preferences, the ten decisions that
    matter most, facts of yours, and fixes of the last week. What MEMORY.md shows is not left out.
    If MEMORY_FABRIC_DOMAIN names an isolated domain, only memories of this domain.
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
