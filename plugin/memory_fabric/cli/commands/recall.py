"""recall: search the memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from memory_fabric import ids
from memory_fabric.cli import environment, formatting, show
from memory_fabric.errors import StoreUnavailable
from memory_fabric.models import Answer, Filters, Hit, as_reason, shown_type, words_first
from memory_fabric.recall.agent_domains import visible_to_process
from memory_fabric.text import cut, one_line

if TYPE_CHECKING:
    from rich.text import Text

    from memory_fabric.recall.pipeline import Fabric

MAX_TEXT_CHARS = 400


def recall(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="QUERY",
            help="A question or words, with filters; by default the newest memories.",
        ),
    ] = None,
    limit: Annotated[
        int, typer.Option(metavar="N", min=1, max=1000, help="The maximum number of results.")
    ] = 10,
    depth: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=0,
            max=3,
            help="Follow relations 1 to 3 steps from the entities that the query names, and "
            "show the paths; by default, questions about relations follow two.",
        ),
    ] = 0,
    domain: Annotated[
        list[str] | None,
        typer.Option(
            "--domain", "--expert-domain", metavar="NAME", help="Only memories of this domain."
        ),
    ] = None,
    project: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TAG",
            help="Only memories with this tag; those without one have this project's name. No "
            "other project's memory is opened.",
        ),
    ] = None,
    kind: Annotated[
        list[str] | None,
        typer.Option("--type", metavar="TYPE", help="Only this type: `decision`, `pattern` …"),
    ] = None,
    agent: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only what an agent of this type said."),
    ] = None,
    scope: Annotated[
        list[str] | None,
        typer.Option(metavar="SCOPE", help="Only this scope: team, user, global, local."),
    ] = None,
    session: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="Only what was said in this session (its full id)."),
    ] = None,
    category: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only records of this category."),
    ] = None,
    since: Annotated[
        str,
        typer.Option(
            metavar="TIME", help="Only what was said at that time or later: `2026-01-15`, `30d`."
        ),
    ] = "",
    before: Annotated[
        str, typer.Option(metavar="TIME", help="Only what was said before that time.")
    ] = "",
    as_of: Annotated[
        str,
        typer.Option(
            metavar="TIME",
            help='Search the memory as it was then: `2026-01-15`, `2026-01`, `30d`, `"last '
            'month"`.',
        ),
    ] = "",
    explain: Annotated[
        bool,
        typer.Option(
            "--explain",
            help="Show the parts of the relevance and score of each result, and whether a prompt "
            "with these words would be given it; if not, or if it would be given nothing, the "
            "reason.",
        ),
    ] = False,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="Answer in JSON: query, intent, total_results, sources, results with id, text, "
            "score, relevance, source, timestamp, entities, graph_relations, metadata (`category`; "
            "`also_observed`, an entity's other observations that were found; "
            "`relation_timestamps` in the order of graph_relations); paths; failures; notes. With "
            "`--explain` also the words searched for, `parts` and `score_parts` in the metadata, "
            "`prompt` for each result, `silence`.",
        ),
    ] = False,
) -> int:
    """Search memories, best match first, or list the newest.

    Filters are options or part of the query: `type:decision`, `scope:user`,
    `domain:code_reviewer`, `project:frontend`, `agent:`, `session:`,
    `category:`, `since:2026-01-01`,
    `before:2026-06-01`. All of them must match; for a repeated option, or values separated by
    commas (`type:decision,pattern`, `domain:"legal advisor"`), any one. `in the code_reviewer
    domain` is a filter, too, if memory has such a domain. Results of one domain have the heading
    `[Domain-Filtered Memory (expert_domain=…)]`. If nothing matches the filters, it says so; the
    search is not widened.

    The query may also contain `as_of:2026-01-15` (the memory as it was then) and
    `"an exact phrase"`. If nothing contains the phrase, its words are searched for, and a note
    says so. `-redis` excludes memories with this word; "other than Redis" and "except for Redis"
    rank them lower. If MEMORY_FABRIC_DOMAIN names a domain that config.toml isolates, only this
    domain is searched. Exit code 3 when nothing was found.

        memory-fabric recall "which database for analytics?"
        memory-fabric recall "type:antipattern pagination" --limit 3
        memory-fabric recall "naming rules" --domain code_reviewer --project frontend
    """
    from memory_fabric.recall.pipeline import Fabric, answer_as_json
    from memory_fabric.semantic.measure import measure_for

    now, text = ids.timestamp(), " ".join(words or ())
    then = _moment(as_of, now) if as_of else ""
    filters = _filters(
        now,
        domain=domain,
        project=project,
        type=kind,
        agent=agent,
        scope=scope,
        session=session,
        category=category,
        since=since,
        before=before,
    )
    with environment.open_memory() as memory:
        fabric = Fabric(visible_to_process(memory), now, measure_for(memory.settings))
        if explain and text:
            return _explained(fabric, text, limit, depth, then, filters, as_json)
        answer = fabric.recall(text, limit=limit, depth=depth, as_of=then, filters=filters)
    # An unreadable client memory file is reported below; the memory itself was searched.
    failed = [name for name in answer.failures if not name.startswith("native")]
    if not answer.hits and failed:
        raise StoreUnavailable("", f"Nothing could be searched: {'; '.join(answer.failures)}")
    if as_json:
        show.json_out(answer_as_json(answer))
    else:
        _show(answer)
    return 0 if answer.hits else 3


def _explained(
    fabric: Fabric,
    text: str,
    limit: int,
    depth: int,
    as_of: str,
    filters: Filters,
    as_json: bool,
) -> int:
    from memory_fabric.cli import score_report
    from memory_fabric.recall.injection.explain import as_json as explained_as_json
    from memory_fabric.recall.injection.explain import explain_here
    from memory_fabric.recall.pipeline import answer_as_json

    explanation = explain_here(fabric, text, limit=limit, depth=depth, as_of=as_of, filters=filters)
    if as_json:
        show.json_out(explained_as_json(explanation, answer_as_json(explanation.answer)))
    else:
        _show_label(explanation.answer)
        score_report.show_explanation(explanation)
        _show_notes(explanation.answer)
    return 0 if explanation.answer.hits else 3


def _filters(now: str, **options: Sequence[str] | str | None) -> Filters:
    """Return the filters of the options. Raises BadInput for an invalid value."""
    from memory_fabric.recall import filters  # --help needs no fabric

    given = {name: value for name, value in options.items() if value}
    return filters.stated(given, now, field="--")


def _moment(text: str, now: str) -> str:
    from memory_fabric.language import times  # only for this option

    return times.stated(text, now, "--as-of")


def _show(answer: Answer) -> None:
    _show_label(answer)
    if answer.query.filters.as_of:
        show.line(f"The memory as it was on {formatting.when(answer.query.filters.as_of)}:", "dim")
    if answer.hits:
        rows = [_row(hit) for hit in answer.hits]
        columns = ("score", "kind", "date", "id", "memory")
        show.table(columns, rows, lines=2, optional=("score",))
    else:
        show.line("Nothing found.")
    _show_notes(answer)


def _show_label(answer: Answer) -> None:
    from memory_fabric.recall.render import filter_label  # --help needs no fabric

    label = filter_label(answer.query.filters)
    if label:
        show.line(label, "dim")


def _show_notes(answer: Answer) -> None:
    """Print the paths, the notes on the query, and what could not be searched."""
    from memory_fabric.recall.render import path_text  # --help needs no fabric

    for path in answer.paths:
        show.line(f"path: {path_text(path)}", "dim")
    for note in answer.notes:
        show.line(note, "dim")
    for failure in answer.failures:
        show.warn(f"not searched: {failure}")


def _row(hit: Hit) -> tuple[str | Text, ...]:
    from memory_fabric.recall.render import (  # --help needs no fabric
        changed_files,
        low_trust,
        replaced_by,
        words_of,
    )

    known = hit.metadata
    kind = shown_type(str(known.get("type") or known.get("entityType") or hit.source))
    files = changed_files(known).strip("()")
    marks = ["stale" if known.get("stale") else "", replaced_by(known), files]
    if known.get("trust") == "foreign":
        marks.insert(0, low_trust("foreign", known))
    marks = [mark for mark in marks if mark]
    text = show.styled("", "")
    for mark in marks:
        text.append(f"[{mark}] ", style="yellow")
    words = words_of(hit)
    said = cut(one_line("; ".join((hit.text, *known.get("also_observed", ())))), MAX_TEXT_CHARS)
    text.append(show.printable(words_first(words, said) if words else said))
    why = one_line(str(known.get("why") or ""))
    if why and why.lower() not in text.plain.lower():
        text.append(show.printable(f" — {as_reason(cut(why, MAX_TEXT_CHARS))}"))
    return f"{hit.score:.2f}", kind, hit.timestamp[:10] or "—", _reference(hit), text


def _reference(hit: Hit) -> str:
    """Return the id or name of a hit for why, pin, forget and history."""
    source, _, identifier = hit.id.partition(":")
    if hit.metadata.get("entityType") == "relation":
        return "—"
    return cut(identifier, 40) if source in ("graph", "native") else ids.short_id(identifier)
