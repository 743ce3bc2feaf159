"""PreToolUse of Bash and of tools that change files: apply the rules bound to such a call."""

from __future__ import annotations

from memory_fabric import events
from memory_fabric.errors import StoreUnavailable
from memory_fabric.reply import Reply
from memory_fabric.rules import bound, matching
from memory_fabric.store import launch_marks, sessions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory_fabric.events import Event
    from memory_fabric.recall.request_context import RequestContext
    from memory_fabric.rules.bound import Applied

CHANNEL = "rule"


def handle(event: Event, context: RequestContext) -> Reply | None:
    """Fires before a command or a change of a file, if memory holds bound rules.

    Reads the rules; replies with a refusal, a question or context if one of them is about the call.
    A rule that is told refuses once per session and agent. It is recorded before the refusal: where
    nothing can be recorded, it would refuse for ever, so it is only added as context.
    """
    memory = context.memory
    rules = [rule for rule in bound.load(memory) if rule.bindings]
    if not rules:
        for database in memory.whole.databases():
            launch_marks.note_unbound(database.connection, database.path)
        return None
    folder = event.cwd or memory.settings.project_dir
    action = matching.action_of(events.tool_name(event), dict(events.tool_input(event)), folder)
    applied = bound.applying(rules, action, bound.roots_of(memory))
    if not applied:
        return None
    # late: most calls have no rule
    from memory_fabric.rules import effects, messages

    by_effect: dict[str, list[Applied]] = {}
    for one in applied:
        effect = effects.effect_of(one.record, one.binding, memory.settings)
        by_effect.setdefault(effect, []).append(one)
    denied, asked = by_effect.get(effects.DENY, []), by_effect.get(effects.ASK, [])
    new, can_note = _new_to(event, context, applied)
    told = [one for one in by_effect.get(effects.TELL, []) if _name(one) in new]
    only = [one for one in by_effect.get(effects.CONTEXT, []) if _name(one) in new]
    if told and not can_note:
        told, only = [], [*told, *only]
    refusals = [messages.denied(denied)] if denied else []
    refusals += [messages.told(told)] if told else []
    return Reply(
        refusal="\n\n".join(refusals),
        question=messages.asked(asked) if asked else "",
        context=messages.context(only) if only else "",
    )


def _new_to(
    event: Event, context: RequestContext, applied: Sequence[Applied]
) -> tuple[frozenset[str], bool]:
    """Record the rules, and return those that this agent was not told, and if that was possible."""
    names = [_name(one) for one in applied]
    if not event.session:
        return frozenset(names), False
    try:
        database = context.memory.session_database()
        marks = ", ".join("?" * len(names))
        rows = database.rows(
            "SELECT memory FROM injections WHERE session = ? AND agent = ? "
            f"AND memory IN ({marks})",
            (event.session, event.agent_id, *names),
        )
        known = {str(row[0]) for row in rows}
        new = [name for name in names if name not in known]
        if new:
            # late: a rule is told once a session
            from memory_fabric.rules import messages
            from memory_fabric.store import worth

            given = [one for one in applied if _name(one) in new]
            lines = "\n".join(map(messages.line, given))
            sessions.record_injections(
                database,
                event.session,
                event.agent_id,
                new,
                CHANNEL,
                context.now,
                transcript=event.transcript_path,
                told=worth.items([f"record:{one.record.id}" for one in given], lines),
            )
    except StoreUnavailable as error:
        context.memory.fail(f"ledger: {error}")
        return frozenset(names), False
    return frozenset(new), True


def _name(one: Applied) -> str:
    """Return the ledger's name of a rule, other than that of its record, which a block may tell."""
    return f"rule:{one.record.id}"
