"""Command remember: store a statement of the user, and confirm what was stored."""

import shlex
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import typer

from memory_fabric import models
from memory_fabric.capture import contradiction
from memory_fabric.cli import environment, formatting, show
from memory_fabric.cli.options import RECORD_TYPES, STEP, argument, flag, option, repeated
from memory_fabric.errors import BadInput, StoreUnavailable
from memory_fabric.ids import short_id
from memory_fabric.recall.agent_domains import domain_for, stated_name, visible_to_process
from memory_fabric.store.history import resolve
from memory_fabric.store.history.trace import GraphRows, graph_rows
from memory_fabric.store.memory import Memory
from memory_fabric.text import cut, many, one_line, without_controls

MAX_TEXT_CHARS = 16 << 10
MAX_WHAT_CHARS = 400
LESSON = "What to do instead?"


class Confirmation(NamedTuple):
    """A stored record, with facts about it that the user should know."""

    record: models.Record
    repeated: bool
    graph_rows: GraphRows
    tiers: list[str]
    replaced: list[models.Record]
    opposite: list[models.Record]
    failures: list[str]
    left_out: int  # number of characters that were cut off
    lacks_lesson: bool  # The attempt failed, and no text says what to do instead.


def remember(
    words: list[str] | None = argument("TEXT  The text to remember; - reads standard input.", None),
    success: bool = flag("--success  It worked: a pattern."),
    failed: bool = flag("--failed  It failed: an antipattern."),
    for_all: bool = flag("--global  For every project, without names of people, hosts and places."),
    kind: str = option(
        f"--type T  {', '.join(RECORD_TYPES)}; else inferred.", choices=RECORD_TYPES
    ),
    scope: str = option("S  local, user, team (the default) or global.", choices=models.SCOPES),
    why: str = option("REASON  The reason, if the text does not contain it."),
    instead: str = option("LESSON  With `--failed`: what to do instead."),
    instead_of: list[str] | None = repeated("ID  The memory that this one replaces."),
    when: str = option("W  The command, path or activity in which it applies, e.g. `npm test`."),
    first: str = option("C  With `--when`: the command or activity that has to pass before."),
    also: str = option("WORDS  Other words by which it should be found."),
    category: str = option("WORD  A word to sort it by, e.g. database."),
    agent: str = option("NAME  The agent that said it or that it is about."),
    domain: str = option("--domain --expert-domain NAME  Its domain, or the agent's or folder's."),
    step: str = STEP,
    as_json: bool = flag("--json  Answer in JSON: the stored record, and what is shown about it."),
) -> int:
    """Remember a decision, a rule, what worked or failed.

    The same words again strengthen the known memory, and add a reason or lesson that it lacks; with
    the opposite outcome they are another memory. Up to three memories that contradict it are shown,
    and not changed; for one that states another choice, also the command that replaces it.

    Its domain is `--domain`, else that of `--agent` or this folder in config.toml, else that of
    the agent's name, else `general`; always that of MEMORY_FABRIC_DOMAIN if this is isolated.

    For a failure without a reason or lesson, a terminal first asks what to do instead; else the
    last line shows how to add it. A text of more than 16,384 characters is cut at a word. Exit code
    2 for an empty text, for one that is only a secret, and with `--global` for a word that may name
    a person, company or location.

        memory-fabric remember --failed --instead "use cursors" "Offsets time out"
        memory-fabric remember "Use pnpm instead of npm" --instead-of 1a2b3c4d
    """
    # imported late: not needed for --help
    from memory_fabric.redaction.redact import redact
    from memory_fabric.rules.required import stated_first

    stated_text = _text(words)
    kind, scope = _checked(
        kind, scope, success=success, failed=failed, instead=instead, for_all=for_all
    )
    text, left_out = _cut(stated_text, "text")
    reason, _ = _cut(one_line(why), "reason")
    # Two fields of the record: when it applies, and other words by which it can be found.
    applies = redact(one_line(stated_first(when, first)))
    beside = {models.WHEN: applies, models.ALSO: redact(one_line(also))}
    stated = models.Record(
        type=kind,
        what=text,
        why=_with_lesson(reason, instead),
        outcome="success" if success else "failed" if failed else "neutral",
        category=category,
        scope=scope,
        evidence={key: _cut(value, key)[0] for key, value in beside.items() if value},
    )
    with environment.open_memory(step=step) as whole:
        own, stated_domain = domain_for(whole.settings, agent), stated_name(domain)
        if domain and not stated_domain:
            text = f"{domain!r} is not a domain name."
            raise BadInput("--domain", text, remedy="Use letters and digits, as in legal_advisor.")
        memory = visible_to_process(whole)
        memory.batch = step
        stated = stated._replace(domain=stated_domain or own.name)
        if stated.scope == "local" and not memory.settings.session:
            text = "Scope local is for one session, and this shell is not part of one."
            remedy = "Use it inside Claude Code, or use another scope."
            raise BadInput("--scope", text, remedy=remedy)
        replaced = _replaced(memory, instead_of or (), stated)
        complete = _completed(memory, stated)
        is_terminal = sys.stdin.isatty() and sys.stdout.isatty()
        if failed and models.lacks_lesson(complete) and not as_json and is_terminal:
            lesson = typer.prompt(LESSON, default="", show_default=False, prompt_suffix=" ")
            stated = stated._replace(why=_with_lesson("", lesson))
            complete = _completed(memory, stated)
        from memory_fabric.capture.remember import state  # imported late: needed for valid texts

        provenance = environment.provenance()._replace(agent=agent, domain=complete.domain)
        stored, is_new = state(memory, complete, provenance, replaced)
        if stored is None:
            text = "The record was written but cannot be found."
            raise StoreUnavailable("", text, remedy="Run memory-fabric doctor.")
        memory.flush()
        confirmation = Confirmation(
            stored,
            not is_new,
            graph_rows(memory, stored, repeated=not is_new),
            resolve.tiers_holding(memory, stored.id),
            memory.find_records("superseded_by = ?", (stored.id,)),
            contradiction.contradicting(memory, stored),
            memory.failures,
            left_out,
            failed and models.lacks_lesson(stored),
        )
    if as_json:
        return show.json_out(_as_json(confirmation))
    _show(confirmation)
    return 0


def _checked(
    kind: str, scope: str, *, success: bool, failed: bool, instead: str, for_all: bool
) -> tuple[str, str]:
    """Return the record's type ('' to infer it) and scope. Raises BadInput if options conflict."""
    if success and failed:
        text = "--success and --failed contradict each other."
        raise BadInput("--success", text, remedy="Use one of them; two outcomes are two memories.")
    kind = models.record_type(kind)
    if (success and kind == "antipattern") or (failed and kind == "pattern"):
        text = f"{'--success' if success else '--failed'} and --type {kind} contradict each other."
        raise BadInput("--type", text, remedy="Use one of them.")
    if instead and not failed:
        text = "--instead is the lesson of a failure."
        raise BadInput("--instead", text, remedy="Add --failed, or give a reason with --why.")
    if kind and kind not in models.STATED_TYPES:
        text, types = f"There is no type {kind!r}.", ", ".join(RECORD_TYPES)
        raise BadInput("--type", text, remedy=f"Use {types}.")
    if scope and scope not in models.SCOPES:
        text, scopes = f"There is no scope {scope!r}.", ", ".join(models.SCOPES)
        raise BadInput("--scope", text, remedy=f"Use {scopes}.")
    if for_all and scope not in ("", "global"):
        text = f"--global contradicts --scope {scope}."
        raise BadInput("--global", text, remedy="Use one of them.")
    kind = kind or ("pattern" if success else "antipattern" if failed else "")
    return kind, "global" if for_all else scope or "team"


def _text(words: list[str] | None) -> str:
    from memory_fabric.redaction.redact import says_only_secrets  # imported late

    text = " ".join(words or ())
    if text.strip() == show.STREAM:
        text = sys.stdin.buffer.read(8 << 20).decode("utf-8", "replace")
    text = one_line(without_controls(text))
    # A text without a letter or digit could never be found.
    if not any(map(str.isalnum, text)):
        remedy = 'Give a text: remember "We chose X because Y".'
        raise BadInput("text", "The text is empty.", remedy=remedy)
    if says_only_secrets(text):
        reason = "The text is only a secret, and secrets are not stored."
        raise BadInput("text", reason, remedy="State where the secret is kept instead.")
    return text


def _cut(text: str, name: str) -> tuple[str, int]:
    """Shorten a long text with a warning; return the text and the number of characters cut off."""
    shortened = cut(text, MAX_TEXT_CHARS)
    left_out = len(text) - len(shortened.removesuffix("…")) if shortened != text else 0
    if left_out:
        show.warn(
            f"the {name} has {len(text)} characters and was cut at a word: {left_out} are left "
            f"out; the limit is {MAX_TEXT_CHARS}."
        )
    return shortened, left_out


def _with_lesson(why: str, instead: str) -> str:
    lesson, _ = _cut(one_line(instead), "lesson")
    return "; ".join(filter(None, (why, f"{models.INSTEAD}{lesson}" if lesson else "")))


def _replaced(memory: Memory, names: Sequence[str], stated: models.Record) -> list[str]:
    records = [resolve.record_by_id(memory, name)[0] for name in names]
    for old in records:
        if (old.scope, old.domain) != (stated.scope, stated.domain):
            text = f"{short_id(old.id)} has the scope {old.scope} and the domain {old.domain}, "
            text += f"the new memory {stated.scope} and {stated.domain}."
            remedy = f"Add --scope {old.scope} --domain {old.domain}, or forget it instead."
            raise BadInput("--instead-of", text, remedy=remedy)
    return [old.id for old in records]


def _completed(memory: Memory, stated: models.Record) -> models.Record:
    from memory_fabric.capture import remember as capturing
    from memory_fabric.redaction.redact import redact

    # Redact before extracting entities, because a secret may not be recognised out of context.
    text, why = redact(stated.what), redact(stated.why)
    record = capturing.stated(memory, text, type=stated.type, why=why)
    outcome = stated.outcome if stated.outcome != "neutral" else record.outcome
    return record._replace(outcome=outcome, **show.fields(stated, "category scope domain evidence"))


def _as_json(confirmation: Confirmation) -> dict[str, Any]:
    opposite = [
        {"id": r.id, "short_id": short_id(r.id), "date": models.stated_at(r)[:10]}
        | {"outcome": contradiction.outcome_of(r), "what": r.what, "text": contradiction.as_line(r)}
        for r in confirmation.opposite
    ]
    rows = confirmation.graph_rows
    fields = formatting.as_json(confirmation.record)
    fields |= show.fields(confirmation, "repeated tiers failures")
    fields |= {"new_entities": list(rows.new), "known_entities": list(rows.known)}
    fields |= {"observations": rows.observations, "left_out_chars": confirmation.left_out}
    fields |= {"replaces": [record.id for record in confirmation.replaced], "opposite": opposite}
    return fields | ({"asks": "lesson"} if confirmation.lacks_lesson else {})


def _show(confirmation: Confirmation) -> None:
    stored, rows = confirmation.record, confirmation.graph_rows
    head = "Already known, now stronger" if confirmation.repeated else "Remembered"
    show.line(f"{head}: {models.shown_type(stored.type)} {short_id(stored.id)}", style="bold")
    types = {entity.name: entity.type for entity in stored.entities}
    new, old_names = (
        ", ".join(f"{name} ({types.get(name, 'unknown')})" for name in names)
        for names in (rows.new, rows.known)
    )
    counts = ((rows.observations, "observation"), (rows.relations, "relation"))
    show.facts(
        ("what", cut(stored.what, MAX_WHAT_CHARS)),
        ("why", cut(stored.why, MAX_WHAT_CHARS)),
        ("new entities", new),
        ("known entities", old_names),
        ("relations", formatting.relations(stored)),
        ("graph", ", ".join(many(count, noun) for count, noun in counts if count)),
        ("when", formatting.applies_when(stored)),
        ("domain", stored.domain),
        ("scope", f"{stored.scope}, confidence {stored.confidence:.2f}"),
        ("replaces", formatting.replaced(confirmation.replaced)),
        ("stored in", ", ".join(confirmation.tiers)),
    )
    show.lines(map(contradiction.as_line, confirmation.opposite), "yellow")
    # Print the commands that replace a contradicting record and that add a lesson.
    quoted = shlex.quote(stored.what) if len(stored.what) <= MAX_WHAT_CHARS else "the same words"
    # Include the record's scope and domain in these commands unless they are the defaults.
    place = f" --scope {stored.scope}" if stored.scope != "team" else ""
    place += f" --domain {stored.domain}" if stored.domain != "general" else ""
    others = (r for r in confirmation.opposite if contradiction.is_choice_against(stored, r))
    if old := next(others, None):
        text = cut(one_line(old.what), MAX_WHAT_CHARS).rstrip(".")
        command = f"memory-fabric remember {quoted}{place} --instead-of {short_id(old.id)}"
        show.line(f"On record: [{short_id(old.id)}] {text}. Replace it: {command}")
    if confirmation.lacks_lesson:
        command = f"memory-fabric remember --failed --instead '…'{place} {quoted}"
        show.line(f"It has no lesson yet. Add what to do instead with {command}")
    show.warn_all(confirmation.failures)
