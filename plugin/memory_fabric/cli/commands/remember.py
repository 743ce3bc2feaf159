"""Commands remember, edit, pin, merge and alias: store and change the user's statements."""

import shlex
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import typer

from memory_fabric import models
from memory_fabric.capture import contradiction
from memory_fabric.cli import environment, formatting, show
from memory_fabric.cli.options import AS_JSON, STEP, argument, flag, option, repeated
from memory_fabric.errors import BadInput, StoreUnavailable
from memory_fabric.ids import new_id, short_id
from memory_fabric.models import LASTING_SCOPES, STATED_TYPES, Record, shown_type, worded
from memory_fabric.recall.agent_domains import domain_for, stated_name, visible_to_process
from memory_fabric.rules.bindings import bindings_of
from memory_fabric.store.history import changes, resolve
from memory_fabric.store.history import merge as merging
from memory_fabric.store.history.trace import graph_rows
from memory_fabric.store.memory import Memory
from memory_fabric.text import cut, many, one_line, without_controls

MAX_TEXT_CHARS, MAX_WHAT_CHARS = 16 << 10, 400
# The types of records that the commands accept, including aliases.
RECORD_TYPES = (*STATED_TYPES, *models.TYPE_ALIASES)


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

    Stating the same words again strengthens the known memory, and adds a reason or lesson that it
    lacks. With the opposite outcome, they become another memory. Up to three memories that
    contradict the new one are shown, not changed. If one of them is another choice, the command
    that replaces it is shown, too.

    The domain is the first of these: `--domain`; the agent's or else this folder's in config.toml;
    one named after the agent; `general`. An isolated domain in MEMORY_FABRIC_DOMAIN prevails.

    In a terminal, the command asks what to do instead if a failure has neither reason nor lesson.
    Exit code 2 for an empty text, for a text that is only a secret, and with `--global` for a word
    that may name a person, company or place.

        memory-fabric remember --failed --instead "use cursors" "Offsets time out"
        memory-fabric remember "Use pnpm instead of npm" --instead-of 1a2b3c4d
    """
    # imported late: not needed for --help
    from memory_fabric.redaction.redact import redact
    from memory_fabric.rules.required import stated_first

    kind, scope = _checked(
        kind, scope, success=success, failed=failed, instead=instead, for_all=for_all
    )
    text, left_out = _cut(_text(words), "text")
    reason, _ = _cut(one_line(why), "reason")
    # Two optional fields: when the record applies, and other words to find it by.
    applies = redact(one_line(stated_first(when, first)))
    beside = {models.WHEN: applies, models.ALSO: redact(one_line(also))}
    stated = Record(
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
            question = "What to do instead?"
            lesson = typer.prompt(question, default="", show_default=False, prompt_suffix=" ")
            complete = _completed(memory, stated._replace(why=_with_lesson("", lesson)))
        from memory_fabric.capture.remember import after, state  # late: only for valid input

        by = environment.provenance()._replace(agent=agent, domain=complete.domain)
        stored, is_new = state(memory, after(complete, replaced), by, [r.id for r in replaced])
        if stored is None:
            text = "The record was written but cannot be found."
            raise StoreUnavailable("", text, remedy="Run memory-fabric doctor.")
        memory.flush()
        lacks_lesson = failed and models.lacks_lesson(stored)
        _confirm(memory, stored, not is_new, left_out, lacks_lesson, as_json)
    return 0


def _checked(
    kind: str, scope: str, *, success: bool, failed: bool, instead: str, for_all: bool
) -> tuple[str, str]:
    """Return the record's type ('': infer it) and scope. Raises BadInput if options conflict."""
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
    if kind and kind not in STATED_TYPES:
        remedy = f"Use {', '.join(RECORD_TYPES)}."
        raise BadInput("--type", f"There is no type {kind!r}.", remedy=remedy)
    if scope and scope not in models.SCOPES:
        remedy = f"Use {', '.join(models.SCOPES)}."
        raise BadInput("--scope", f"There is no scope {scope!r}.", remedy=remedy)
    if for_all and scope not in ("", "global"):
        text = f"--global contradicts --scope {scope}."
        raise BadInput("--global", text, remedy="Use one of them.")
    kind = kind or ("pattern" if success else "antipattern" if failed else "")
    return kind, "global" if for_all else scope or "team"


def _text(words: list[str] | None) -> str:
    from memory_fabric.redaction.redact import says_only_secrets  # not needed for --help

    text = " ".join(words or ())
    if text.strip() == show.STREAM:
        text = sys.stdin.buffer.read(8 << 20).decode("utf-8", "replace")
    text = one_line(without_controls(text))
    # No search could find a text without letters and digits.
    if not any(map(str.isalnum, text)):
        remedy = 'Give a text: remember "We chose X because Y".'
        raise BadInput("text", "The text is empty.", remedy=remedy)
    if says_only_secrets(text):
        reason = "The text is only a secret, and secrets are not stored."
        raise BadInput("text", reason, remedy="State where the secret is kept instead.")
    return text


def _cut(text: str, name: str) -> tuple[str, int]:
    """Shorten a long text and print a warning; return the text and the number of characters cut."""
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


def _replaced(memory: Memory, names: Sequence[str], stated: Record) -> list[Record]:
    records = [resolve.record_by_id(memory, name)[0] for name in names]
    for old in records:
        if (old.scope, old.domain) != (stated.scope, stated.domain):
            text = f"{short_id(old.id)} has the scope {old.scope} and the domain {old.domain}, "
            text += f"the new memory {stated.scope} and {stated.domain}."
            remedy = f"Add --scope {old.scope} --domain {old.domain}, or forget it instead."
            raise BadInput("--instead-of", text, remedy=remedy)
    return records


def _completed(memory: Memory, stated: Record) -> Record:
    from memory_fabric.capture import remember as capturing
    from memory_fabric.redaction.redact import redact

    # Redact before entities are extracted: out of context, a secret may not be recognised.
    text, why = redact(stated.what), redact(stated.why)
    record = capturing.stated(memory, text, type=stated.type, why=why)
    outcome = stated.outcome if stated.outcome != "neutral" else record.outcome
    return record._replace(outcome=outcome, **show.fields(stated, "category scope domain evidence"))


def _confirm(
    memory: Memory, stored: Record, repeated: bool, left_out: int, lacks_lesson: bool, as_json: bool
) -> None:
    """Print what was stored, how it relates to other memories, and what is missing."""
    rows = graph_rows(memory, stored, repeated=repeated)
    tiers = resolve.tiers_holding(memory, stored.id)
    replaced = memory.find_records("superseded_by = ?", (stored.id,))
    opposite = contradiction.contradicting(memory, stored)
    if as_json:
        others = [
            {"id": r.id, "short_id": short_id(r.id), "date": models.stated_at(r)[:10]}
            | {"outcome": contradiction.outcome_of(r), "what": r.what}
            | {"text": contradiction.as_line(r)}
            for r in opposite
        ]
        fields: dict[str, Any] = {"repeated": repeated, "tiers": tiers, "failures": memory.failures}
        fields |= {"new_entities": list(rows.new), "known_entities": list(rows.known)}
        fields |= {"observations": rows.observations, "left_out_chars": left_out}
        fields |= {"replaces": [record.id for record in replaced], "opposite": others}
        fields |= {"asks": "lesson"} if lacks_lesson else {}
        show.json_out(formatting.as_json(stored) | fields)
        return
    head = "Already known, now stronger" if repeated else "Remembered"
    show.line(f"{head}: {shown_type(stored.type)} {short_id(stored.id)}", style="bold")
    types = {entity.name: entity.type for entity in stored.entities}
    new, known = (
        ", ".join(f"{name} ({types.get(name, 'unknown')})" for name in names)
        for names in (rows.new, rows.known)
    )
    numbers = ((rows.observations, "observation"), (rows.relations, "relation"))
    graph = ", ".join(many(number, noun) for number, noun in numbers if number)
    scope = f"{stored.scope}, confidence {stored.confidence:.2f}"
    own = (("new entities", new), ("known entities", known), ("graph", graph))
    _show_facts(stored, tiers, replaced, *own, ("domain", stored.domain), ("scope", scope))
    show.lines(map(contradiction.as_line, opposite), "yellow")
    quoted = shlex.quote(stored.what) if len(stored.what) <= MAX_WHAT_CHARS else "the same words"
    # The suggested commands include the scope and the domain unless they are the defaults.
    place = f" --scope {stored.scope}" if stored.scope != "team" else ""
    place += f" --domain {stored.domain}" if stored.domain != "general" else ""
    if old := next((r for r in opposite if contradiction.is_choice_against(stored, r)), None):
        text = cut(one_line(old.what), MAX_WHAT_CHARS).rstrip(".")
        command = f"memory-fabric remember {quoted}{place} --instead-of {short_id(old.id)}"
        show.line(f"On record: [{short_id(old.id)}] {text}. Replace it: {command}")
    if lacks_lesson:
        command = f"memory-fabric remember --failed --instead '…'{place} {quoted}"
        show.line(f"It has no lesson yet. Add what to do instead with {command}")
    show.warn_all(memory.failures)


def _show_facts(
    record: Record, tiers: list[str], replaced: Iterable[Record], *own: tuple[str, str]
) -> None:
    when = str(record.evidence.get(models.WHEN) or "")
    if when and record.type in models.RULE_TYPES:
        calls = ", ".join(f"{binding.kind} {binding.text}" for binding in bindings_of(when))
        when += f" ({f'binds: {calls}' if calls else 'binds no call: see docs/rules.md'})"
    show.facts(
        ("what", cut(record.what, MAX_WHAT_CHARS)),
        ("why", cut(record.why, MAX_WHAT_CHARS)),
        ("when", when),
        *own,
        ("relations", "; ".join(f"{r.source} {r.type} {r.target}" for r in record.relations)),
        ("replaces", "; ".join(f"{r.what} ({short_id(r.id)})" for r in replaced)),
        ("stored in", ", ".join(tiers)),
    )


def edit(
    identifier: str = argument("ID  The id that recall shows."),
    text: str | None = option("WORDS  The new wording, as a whole sentence.", None),
    kind: str | None = option(f"--type T  {', '.join(STATED_TYPES)}.", None, RECORD_TYPES),
    scope: str | None = option("S  user, team, or global (anonymised).", None, LASTING_SCOPES),
    why: str | None = option("REASON  The new reason; '' removes it.", None),
    when: str | None = option("PLACE  Command, path or activity it is for; '' removes it.", None),
    first: str | None = option("C  Command or activity that must pass first; '' removes it.", None),
    instead_of: list[str] | None = repeated("ID  Close this memory in favour of the edited one."),
    step: str = STEP,
    as_json: bool = flag("--json  Answer in JSON: the memory, `was`, `replaces`, `tiers`, `undo`."),
) -> int:
    """Change the words, type, scope or reason of a memory.

    New words count as your statement: their entities and relations are read again, and a candidate
    becomes a memory. Memories of others, of a single session, and replaced ones cannot be edited.

        memory-fabric edit 1a2b3c4d --text "Use cursors" --why "offsets time out"
    """
    from memory_fabric.capture import edit as editing  # imported late: not needed for --help
    from memory_fabric.capture.edit import request
    from memory_fabric.rules.required import stated_first

    when = when if first is None else stated_first(when, first)
    wanted = request(text=text, kind=kind, scope=scope, why=why, when=when, prefix="--")
    if wanted == editing.Edit() and not instead_of:
        text = f"Nothing to change in {identifier} was given."
        remedy = "Use --text, --type, --scope, --why, --when, --first or --instead-of."
        raise BadInput("--text", text, remedy=remedy)
    with environment.open_memory(step=step) as whole:
        memory, by = visible_to_process(whole), environment.provenance()
        memory.batch = whole.batch = step or new_id()
        old, new, replaced = editing.change(memory, identifier, wanted, instead_of or (), by)
        whole.flush()
        tiers, failures = resolve.tiers_holding(memory, new.id), list(whole.failures)
        new_changes = changes.of_batch(whole, whole.batch)
        newest = short_id(new_changes[0].id) if new_changes else "--last"
        undo = f"memory-fabric undo {f'--step {step}' if step else newest}"
    if as_json:
        fields = {"was": formatting.as_json(old), "replaces": [r.id for r in replaced]}
        fields |= {"tiers": tiers, "undo": undo, "failures": failures}
        return show.json_out(formatting.as_json(new) | fields)
    show.line(f"Changed: {shown_type(new.type)} {short_id(new.id)}", style="bold")
    kinds, scopes = (shown_type(old.type), shown_type(new.type)), (old.scope, new.scope)
    _show_facts(
        new,
        tiers,
        replaced,
        ("before", cut(old.what, MAX_WHAT_CHARS) if old.what != new.what else ""),
        ("type", " → ".join(kinds) if len(set(kinds)) > 1 else ""),
        ("scope", " → ".join(scopes) if len(set(scopes)) > 1 else ""),
        ("entities", ", ".join(f"{e.name} ({e.type})" for e in new.entities)),
    )
    show.line(f"{undo} takes this back.")
    show.warn_all(failures)
    return 0


def pin(
    identifier: str = argument("ID  The id that recall shows."),
    off: bool = flag("--off  Unpin it."),
    as_json: bool = AS_JSON,
) -> int:
    """Show a memory at the start of every session, before newer memories."""
    with environment.open_memory() as memory:
        record = resolve.pin(memory, identifier, environment.provenance(), off=off)
        memory.flush()
    if as_json:
        return show.json_out(formatting.as_json(record))
    about = f"{shown_type(record.type)} {short_id(record.id)}, {one_line(worded(record))}"
    show.line(f"{'Not pinned' if off else 'Pinned'}: {about}")
    return 0


def merge(
    into: str = argument("INTO  The entity to keep."),
    names: list[str] = argument("NAME...  The entities to merge into it."),
    yes: bool = flag("--yes  Merge the entities of the preview."),
    step: str = STEP,
    as_json: bool = flag("--json  Answer in JSON: the merged entities."),
) -> int:
    """Show which entities would be merged; with `--yes` merge them.

    Their observations and relations move to the first, and their names become its aliases;
    `memory-fabric undo` separates them again.
    """
    with environment.open_memory(step=step) as memory:
        plan = merging.plan(memory, into, names)
        result = merging.merge(memory, plan, environment.provenance()) if yes else {}
        if yes:
            memory.flush()
    if as_json:
        parts = [
            {"name": p.name, "entityType": p.type, "observations": p.observations}
            for p in plan.others
        ]
        is_merged = bool(result) and not result.get("queued")
        return show.json_out({"merged": is_merged, "into": plan.into.name, "names": parts})
    every = (plan.into, *plan.others)
    rows = [(p.name, p.type, str(p.observations), str(p.relations)) for p in every]
    show.table(("entity", "type", "observations", "relations"), rows)
    gone = ", ".join(part.name for part in plan.others)
    if yes:
        show.line(f"{gone}: now {plan.into.name}. memory-fabric undo --last separates them.")
    else:
        show.line(f"{gone} would become {plan.into.name}; nothing was changed. --yes merges them.")
    return 0


def alias(
    entity: str = argument("ENTITY  An entity; by default all.", ""),
    names: list[str] | None = argument("NAME...  Names to add; by default they are listed.", None),
    remove: list[str] | None = repeated("NAME  Remove this name from it."),
    as_json: bool = AS_JSON,
) -> int:
    """Show or add other names by which an entity is found.

    A name that belongs to another entity is reported and skipped; if all of them do, nothing is
    changed. The graph tools do not use aliases.
    """
    if names and remove:
        text = "Names cannot be added and removed at once."
        raise BadInput("--remove", text, remedy="Use one command for each.")
    with environment.open_memory() as memory:
        if changed := names or remove:
            by, removes = environment.provenance(), bool(remove)
            aliases = [merging.change_aliases(memory, entity, changed, by, remove=removes)]
            memory.flush()
        else:
            aliases = merging.all_aliases(memory, entity)
    if as_json:
        rows = [
            {"entity": a.entity, "aliases": list(a.names), "store": a.store}
            | ({"refused": dict(a.refused)} if a.refused else {})
            for a in aliases
        ]
        show.json_out(rows)
    elif any(a.names for a in aliases):
        show.table(("entity", "also called"), [(a.entity, ", ".join(a.names)) for a in aliases])
    else:
        show.line("No entity has another name." if not entity else "It has no other name.")
    show.warn_all(why for a in aliases for why in a.refused.values())
    return 0
