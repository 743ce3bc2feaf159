"""Command rules: list bound rules, test a tool call against them, and set their effects."""

import os
from typing import Any, Literal

from memory_fabric.cli import environment, show
from memory_fabric.cli.options import AS_JSON, argument, option
from memory_fabric.errors import BadInput
from memory_fabric.ids import new_id, short_id, timestamp
from memory_fabric.models import LIFTED, WHEN, users_words, worded
from memory_fabric.recall.agent_domains import visible_to_process
from memory_fabric.rules import effects, matching
from memory_fabric.rules.bindings import name_of
from memory_fabric.store.queries import counts
from memory_fabric.store.schema import ACTIVE_CURRENT
from memory_fabric.text import cut, many, one_line

MAX_SHOWN_CHARS = 160


def rules(
    action: Literal["list", "test", "tell", "ask", "deny", "lift"] = argument(
        "[list|test|tell|ask|deny|lift]  list: the rules that are bound to something (the "
        "default). test: which of them are about a command. tell: hold the first such call of a "
        "session back. ask: ask before each. deny: refuse each. lift: unbind the rule.",
        "list",
    ),
    named: str = argument("[COMMAND|ID]  With test: a command line, in quotes; else an id.", ""),
    path: str = option("FILE  With test: a file that would be changed."),
    as_json: bool = AS_JSON,
) -> int:
    """List the rules bound to commands, paths or activities.

    The field `When:` (`remember --when`, `edit --when`, a note) binds a rule, decision, preference
    or pattern. By default, the first matching call of a session is held back, with the rule as the
    reason. If your own words forbid the call, the client asks you: once a session, or before each
    call that pushes, deploys, publishes or deletes. Only you can change this, outside Claude Code.
    docs/rules.md lists calls that are not noticed.

        memory-fabric rules test 'npm run dev'
        memory-fabric rules lift 1a2b3c4d
    """
    if action == "test":
        return _test(named, path, as_json)
    if action != "list":
        return _change(action, named, as_json)
    with environment.open_memory() as whole:
        memory = visible_to_process(whole)
        loaded = matching.load(memory)
        lifted = memory.find_records(f"{ACTIVE_CURRENT} AND instr(body, '\"{LIFTED}\"') > 0")
        lifted = [r for r in lifted if r.evidence.get(LIFTED) and not r.evidence.get(WHEN)]
        times = counts.times_rules_told(memory)
    if as_json:
        rows = [_as_json(rule) | {"told": times.get(rule.record.id, 0)} for rule in loaded]
        free = [{"id": r.id, "what": r.what, "when": r.evidence[LIFTED]} for r in lifted]
        show.json_out({"rules": rows, "lifted": free})
    else:
        table = []
        for rule in (rule for rule in loaded if rule.bindings):
            r, number = rule.record, str(times.get(rule.record.id, 0))
            kinds = ", ".join(dict.fromkeys(effects.stated_effect(r, b) for b in rule.bindings))
            text = one_line(worded(r)) if users_words(r) else cut(r.what, MAX_SHOWN_CHARS)
            table.append((short_id(r.id), kinds, number, cut(_bindings(rule), 60), text))
        if table:
            columns = ("id", "does", "told", "bound to", "rule")
            show.table(columns, table, lines=1, optional=("told",))
        else:
            show.line("No rule is bound to a command, path or activity.", "dim")
        for unbound in (rule.record for rule in loaded if not rule.bindings):
            when = cut(str(unbound.evidence[WHEN]), MAX_SHOWN_CHARS)
            show.line(f"{short_id(unbound.id)} binds nothing: {when!r} names no call.", "dim")
        for record in lifted:
            id_, when = short_id(record.id), cut(str(record.evidence[LIFTED]), MAX_SHOWN_CHARS)
            again = f"memory-fabric rules tell {id_} binds it again."
            show.line(f"{id_} is lifted ({when}); {again}", "dim")
    return 0 if loaded or lifted else 3


def _bindings(rule: matching.BoundRule) -> str:
    first = (f"first {name_of(binding)}" for binding in rule.first)
    return ", ".join((*(binding.text for binding in rule.bindings), *first))


def _as_json(rule: matching.BoundRule) -> dict[str, Any]:
    record = rule.record
    bindings = [
        show.fields(binding, "kind text folder platform")
        | {"effect": effects.stated_effect(record, binding)}
        for binding in rule.bindings
    ]
    first = [show.fields(binding, "kind text folder platform") for binding in rule.first]
    fields = show.fields(record, "id type what trust scope")
    fields |= {"words": users_words(record), "when": record.evidence.get(WHEN, "")}
    return fields | {"binds": bindings, "first": first}


def _test(command: str, path: str, as_json: bool) -> int:
    if bool(command.strip()) == bool(path):
        text = "rules test needs a command or --path, not both."
        remedy = "For instance: memory-fabric rules test 'npm run dev'."
        raise BadInput("rules test", text, remedy=remedy)
    with environment.open_memory() as whole:
        memory = visible_to_process(whole)
        loaded, roots = matching.load(memory), matching.roots_of(memory)
    tool, arguments = ("Edit", {"file_path": path}) if path else ("Bash", {"command": command})
    action = matching.action_of(tool, dict(arguments), os.getcwd())
    applied = matching.applying(loaded, action, roots)
    applied_ids = {rule.record.id for rule in applied}
    reasons = {}
    for other in (rule for rule in loaded if rule.record.id not in applied_ids):
        calls = [f"{b.text} in {b.folder}" if b.folder else b.text for b in other.bindings]
        when = f"its When: {str(other.record.evidence[WHEN])!r} names no command, path or activity"
        reasons[other.record.id] = f"bound to {', '.join(calls)}" if calls else when
    results = [(rule, effects.stated_effect(rule.record, rule.binding)) for rule in applied]
    if as_json:
        rows = [
            {"id": rule.record.id, "what": rule.record.what, "effect": effect}
            | {"bound_to": rule.binding.text, "part": rule.part}
            for rule, effect in results
        ]
        commands = [" ".join(call.words) for call in action.calls]
        not_applied = [{"id": id_, "because": because} for id_, because in reasons.items()]
        answer = {"applies": rows, "others": not_applied, "commands": commands}
        return show.json_out(answer | {"paths": list(action.paths)}, 0 if applied else 3)
    for rule, effect in results:
        text = one_line(worded(rule.record))
        show.line(f"{short_id(rule.record.id)} {effects.does(rule.record, effect)}: {text}", "bold")
        show.line(f"  bound to {rule.binding.text}, here: {cut(rule.part, MAX_SHOWN_CHARS)}")
    if not applied:
        show.line("No rule is about this.", "dim")
    show.lines((f"{short_id(id_)} is not: {why}." for id_, why in reasons.items()), "dim")
    return 0 if applied else 3


def _change(action: str, name: str, as_json: bool) -> int:
    if not name:
        remedy = "memory-fabric rules lists the ids."
        raise BadInput("rules", f"rules {action} needs an id.", remedy=remedy)
    environment.require_user(f"rules {action} {name}", "how a rule binds")
    from memory_fabric.capture import edit as editing  # imported late: not needed for lists

    with environment.open_memory() as whole:
        memory, by = visible_to_process(whole), environment.provenance()
        memory.batch = whole.batch = new_id()
        old = editing.editable(memory, name)
        new = effects.set_by_user(old.record, action, by.at or timestamp())
        is_same = new == old.record
        if not is_same:
            editing.save(memory, old, new, by)
            whole.flush()
    rule = matching.bound(new)
    if as_json:
        return show.json_out(_as_json(rule) | {"changed": not is_same, "failures": whole.failures})
    id_ = short_id(new.id)
    if action == effects.LIFT:
        show.line(f"{'Already' if is_same else 'Now'} lifted: {id_}, {one_line(worded(new))}")
    else:
        number = many(len(rule.bindings), "binding")
        show.line(f"{id_} {effects.does(new, action)} ({number}: {_bindings(rule)}).")
    show.warn_all(whole.failures)
    return 0
