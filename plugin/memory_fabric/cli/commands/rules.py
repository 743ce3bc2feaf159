"""rules: list bound rules, try a call against them, and set what they do."""

import os
from typing import Annotated, Any

import typer

from memory_fabric.cli import environment, option_values, show
from memory_fabric.cli.option_values import RULE_ACTIONS
from memory_fabric.config import in_client
from memory_fabric.errors import BadInput
from memory_fabric.ids import new_id, short_id, timestamp
from memory_fabric.models import LIFTED, WHEN, Record, users_words, worded
from memory_fabric.recall.agent_domains import visible_to_process
from memory_fabric.rules import bound, effects, matching
from memory_fabric.rules.bindings import bindings_of
from memory_fabric.rules.bound import BoundRule
from memory_fabric.store.memory import Memory
from memory_fabric.store.schema import ACTIVE_CURRENT
from memory_fabric.text import cut, many, one_line

COLUMNS = ("id", "does", "told", "bound to", "rule")
MAX_SHOWN_CHARS = 160
CHANGES = (*effects.EFFECTS, effects.LIFT)


def rules(
    action: Annotated[
        str,
        typer.Argument(
            metavar="[list|test|tell|ask|deny|lift]",
            help="list: the rules that are bound to something (the default). test: which of them "
            "are about a command. tell: hold the first such call of a session back. ask: ask "
            "before each. deny: refuse each. lift: unbind the rule.",
            autocompletion=option_values.rule_actions,
        ),
    ] = "list",
    named: Annotated[
        str,
        typer.Argument(
            metavar="[COMMAND|ID]",
            help="With test: a command line, in quotes. With tell, ask, deny, lift: an id.",
        ),
    ] = "",
    path: Annotated[
        str, typer.Option(metavar="FILE", help="With test: a file that would be changed.")
    ] = "",
    as_json: show.AsJson = False,
) -> int:
    """List the rules bound to commands, paths or activities.

    A rule, decision or preference binds by its field `When:` (`remember --when`, `edit --when`, a
    note). By itself it holds the first such call of a session back and says why; if your own words
    forbid the thing, it asks, once a session or before each call that pushes, deploys, publishes or
    deletes. Only you can change that: in a shell that Claude Code started, tell,
    ask, deny and lift change nothing. `memory-fabric undo` takes each of them back. docs/rules.md
    says what cannot be noticed.

        memory-fabric rules
        memory-fabric rules test 'npm run dev'
        memory-fabric rules test --path src/api/users.py
        memory-fabric rules lift 1a2b3c4d
    """
    if action not in RULE_ACTIONS:
        raise BadInput(
            "rules", f"{action!r} is no action of rules.", remedy=f"Use {', '.join(RULE_ACTIONS)}."
        )
    if action == "test":
        return _test(named, path, as_json)
    if action in CHANGES:
        return _change(action, named, as_json)
    with environment.open_memory() as whole:
        memory = visible_to_process(whole)
        found = bound.load(memory)
        lifted = memory.find_records(f"{ACTIVE_CURRENT} AND instr(body, '\"{LIFTED}\"') > 0")
        lifted = [record for record in lifted if record.evidence.get(LIFTED)]
        told = _times_told(memory)
    if as_json:
        rows = [_as_json(rule) | {"told": told.get(rule.record.id, 0)} for rule in found]
        show.json_out({"rules": rows, "lifted": [_lifted_as_json(one) for one in lifted]})
    else:
        _list(found, lifted, told)
    return 0 if found or lifted else 3


def _list(found: list[BoundRule], lifted: list[Record], told: dict[str, int]) -> None:
    binding = [rule for rule in found if rule.bindings]
    if binding:
        rows = [_row(rule, told.get(rule.record.id, 0)) for rule in binding]
        show.table(COLUMNS, rows, lines=1, optional=("told",))
    else:
        show.line("No rule is bound to a command, path or activity.", "dim")
    for rule in found:
        if not rule.bindings:
            when = cut(str(rule.record.evidence[WHEN]), MAX_SHOWN_CHARS)
            show.line(f"{short_id(rule.record.id)} binds nothing: {when!r} names no call.", "dim")
    for record in lifted:
        id_, when = short_id(record.id), cut(str(record.evidence[LIFTED]), MAX_SHOWN_CHARS)
        show.line(
            f"{id_} is lifted ({when}); memory-fabric rules tell {id_} binds it again.", "dim"
        )


def _row(rule: BoundRule, told: int) -> tuple[str, ...]:
    record = rule.record
    kinds = dict.fromkeys(effects.stated_effect(record, binding) for binding in rule.bindings)
    shown = ", ".join(binding.text for binding in rule.bindings)
    return (
        short_id(record.id),
        ", ".join(kinds),
        str(told),
        cut(shown, 60),
        one_line(worded(record)) if users_words(record) else cut(record.what, MAX_SHOWN_CHARS),
    )


def _as_json(rule: BoundRule) -> dict[str, Any]:
    record = rule.record
    return {
        "id": record.id,
        "type": record.type,
        "what": record.what,
        "words": users_words(record),
        "trust": record.trust,
        "scope": record.scope,
        "when": record.evidence.get(WHEN, ""),
        "binds": [
            {
                "kind": binding.kind,
                "text": binding.text,
                "folder": binding.folder,
                "platform": binding.platform,
                "effect": effects.stated_effect(record, binding),
            }
            for binding in rule.bindings
        ],
    }


def _lifted_as_json(record: Record) -> dict[str, Any]:
    return {"id": record.id, "what": record.what, "when": record.evidence[LIFTED]}


def _times_told(memory: Memory) -> dict[str, int]:
    """Return in how many sessions of this project each rule was told, by its id."""
    database = memory.database("project", create=False)
    sql = "SELECT memory, count(*) FROM injections WHERE memory LIKE 'rule:%' GROUP BY memory"
    rows = database.rows(sql) if database else []
    return {str(name).removeprefix("rule:"): int(count) for name, count in rows}


def _test(command: str, path: str, as_json: bool) -> int:
    if bool(command.strip()) == bool(path):
        raise BadInput(
            "rules test",
            "rules test needs a command or --path, not both.",
            remedy="For instance: memory-fabric rules test 'npm run dev'.",
        )
    with environment.open_memory() as whole:
        memory = visible_to_process(whole)
        found, roots = bound.load(memory), bound.roots_of(memory)
    tool, given = ("Edit", {"file_path": path}) if path else ("Bash", {"command": command})
    action = matching.action_of(tool, dict(given), os.getcwd())
    applied = bound.applying(found, action, roots)
    meant = {one.record.id for one in applied}
    others = [rule for rule in found if rule.record.id not in meant]
    results = [(one, effects.stated_effect(one.record, one.binding)) for one in applied]
    if as_json:
        rows = [
            {"id": one.record.id, "what": one.record.what, "effect": effect}
            | {"bound_to": one.binding.text, "part": one.part}
            for one, effect in results
        ]
        read = [" ".join(call.words) for call in action.calls]
        not_meant = [{"id": rule.record.id, "because": _why_not(rule)} for rule in others]
        show.json_out(
            {"applies": rows, "others": not_meant, "commands": read, "paths": list(action.paths)}
        )
        return 0 if applied else 3
    for one, effect in results:
        show.line(
            f"{short_id(one.record.id)} {effects.DOES[effect]}: {one_line(worded(one.record))}",
            "bold",
        )
        show.line(f"  bound to {one.binding.text}, here: {cut(one.part, MAX_SHOWN_CHARS)}")
    if not applied:
        show.line("No rule is about this.", "dim")
    for rule in others:
        show.line(f"{short_id(rule.record.id)} is not: {_why_not(rule)}.", "dim")
    return 0 if applied else 3


def _why_not(rule: BoundRule) -> str:
    if not rule.bindings:
        return f"its When: {str(rule.record.evidence[WHEN])!r} names no command, path or activity"
    bindings = [f"{one.text} in {one.folder}" if one.folder else one.text for one in rule.bindings]
    return f"bound to {', '.join(bindings)}"


def _change(action: str, name: str, as_json: bool) -> int:
    """Set the effect of a rule, or unbind it; as one change that undo takes back."""
    if not name:
        raise BadInput(
            "rules", f"rules {action} needs an id.", remedy="memory-fabric rules lists the ids."
        )
    if in_client(os.environ):
        raise BadInput(
            "rules",
            "Nothing was changed: only the user may decide how a rule binds.",
            remedy=f"Run memory-fabric rules {action} {name} in a terminal outside Claude Code.",
        )
    from memory_fabric.capture import edit as editing  # not needed to list rules

    with environment.open_memory() as whole:
        memory, by = visible_to_process(whole), environment.provenance()
        memory.batch = whole.batch = new_id()
        old = editing.editable(memory, name)
        new = effects.set_by_user(old.record, action, by.at or timestamp())
        is_same = new == old.record
        if not is_same:
            editing.save(memory, old, new, by)
            whole.flush()
        failures = list(whole.failures)
    rule = bound.BoundRule(new, bindings_of(str(new.evidence.get(WHEN) or "")))
    if as_json:
        show.json_out(_as_json(rule) | {"changed": not is_same, "failures": failures})
        return 0
    id_ = short_id(new.id)
    if action == effects.LIFT:
        show.line(f"{'Already' if is_same else 'Now'} lifted: {id_}, {one_line(worded(new))}")
    else:
        shown = ", ".join(binding.text for binding in rule.bindings)
        show.line(f"{id_} {effects.DOES[action]} ({many(len(rule.bindings), 'binding')}: {shown}).")
    for failure in failures:
        show.warn(failure)
    return 0
