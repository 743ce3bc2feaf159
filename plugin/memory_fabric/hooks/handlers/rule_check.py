"""PreToolUse of Bash and of tools that change files: apply the rules that match the call."""

from collections.abc import Sequence

from memory_fabric import events
from memory_fabric.config import Settings
from memory_fabric.errors import StoreUnavailable
from memory_fabric.events import Event
from memory_fabric.hooks.reply import Reply
from memory_fabric.recall.request_context import RequestContext
from memory_fabric.rules import matching
from memory_fabric.rules.matching import Applied, BoundRule
from memory_fabric.store import files
from memory_fabric.store.conversations import sessions
from memory_fabric.store.home import launch_marks
from memory_fabric.store.memory import Memory

# At most this much of the transcript's end is searched for calls that the user declined.
MAX_LOOKED_BACK_BYTES = 1 << 20


def handle(event: Event, context: RequestContext) -> Reply | None:
    """Apply the rules that match a command or a file change: refuse the call, ask the user, or add
    context. A rule is shown once per session and agent. It asks the user only once, except about
    calls that cannot be undone, and after the user has declined a matching call. A rule that
    refuses only the first call is recorded as shown before the refusal is sent. If recording fails,
    the rule only adds context, because it would otherwise refuse every call. A rule with `First:
    pytest` has no effect if the last run of pytest passed and no source file has changed since.
    """
    memory = context.memory
    rules = [rule for rule in matching.load(memory) if rule.bindings]
    if not rules:
        _note_unbound(memory)
        return None
    folder = event.cwd or memory.settings.project_dir
    action = matching.action_of(event.text("tool_name"), dict(events.tool_input(event)), folder)
    roots = matching.roots_of(memory)
    applied = matching.applying(rules, action, roots)
    if any(rule.first for rule in applied):
        from memory_fabric.hooks.session import passed  # imported late: for rules with `First:`

        applied = passed.unmet(event, memory.settings, applied, roots)
    if not applied:
        return None
    if event.session:
        try:
            return _reply_once(event, context, rules, applied)
        except StoreUnavailable as error:
            memory.fail(f"ledger: {error}")
    return _reply(applied, applied, applied, memory.settings, may_hold_back=False)


def _reply_once(
    event: Event, context: RequestContext, rules: Sequence[BoundRule], applied: Sequence[Applied]
) -> Reply:
    """Return the reply of `_reply`, and record the rules in it that are new to this agent."""
    from memory_fabric.rules import effects  # imported late: needed only if a rule applies
    from memory_fabric.store.conversations import worth

    settings, database = context.memory.settings, context.memory.session_database()
    names = [name for rule in applied for name in _names(rule)]
    known_names = sessions.injected_of(database, event.session, event.agent_id, names)
    new = [one for one in applied if not known_names.issuperset(_names(one))]
    asking = [one for one in applied if one in new or one.is_final]
    others = [one for one in applied if one not in asking]
    if any(effects.effect_of(o.record, o.binding, settings) == effects.ASK for o in others):
        declined = _declined(event, context, rules)
        asking += [one for one in applied if one.record.id in declined]
    reply = _reply(applied, new, asking, settings)
    if new:
        text = "\n".join((reply.refusal, reply.context))
        of_records = [f"{worth.RECORD}{rule.record.id}" for rule in new]
        # A question shows the rule only to the user, and so uses none of the assistant's context.
        in_question = [worth.Item(name, "record", 0) for name in of_records if reply.question]
        used = {effects.effect_of(o.record, o.binding, settings) for o in applied}
        is_held = reply.refusal and effects.DENY not in used  # refused once; the model may retry
        is_asked = reply.question and not reply.refusal
        sessions.record_injections(
            database,
            event.session,
            event.agent_id,
            [name for rule in new for name in _names(rule)],
            worth.HELD if is_held else worth.QUESTION if is_asked else "rule",
            context.now,
            transcript=event.transcript_path,
            told=worth.items(of_records, text) or in_question,
        )
    return reply


def _declined(event: Event, context: RequestContext, rules: Sequence[BoundRule]) -> frozenset[str]:
    # Imported late: needed only if a rule may have to ask again.
    from memory_fabric.capture.command_output import NOT_ITS_FAULT
    from memory_fabric.clients.transcript import read_on

    start = max(0, files.size_of(event.transcript_path) - MAX_LOOKED_BACK_BYTES)
    turns = read_on(event.transcript_path, start, max_bytes=MAX_LOOKED_BACK_BYTES).turns
    results = [result for turn in turns for result in turn.results if result.is_error]
    refused = {one.tool_use_id for one in results if one.text.startswith(NOT_ITS_FAULT)}
    folder = event.cwd or context.memory.settings.project_dir
    roots = matching.roots_of(context.memory)
    tools = [tool for turn in turns for tool in turn.tools if tool.id in refused]
    actions = [matching.action_of(tool.name, dict(tool.input), folder) for tool in tools]
    applied = (one for action in actions for one in matching.applying(rules, action, roots))
    return frozenset(one.record.id for one in applied)


def _note_unbound(memory: Memory) -> None:
    databases = memory.whole.databases()
    states = [launch_marks.state_of_rules(database.connection) for database in databases]
    rules = matching.load(memory.whole, of_all_sessions=True)
    if len(rules) >= matching.MAX_RULES or any(rule.bindings for rule in rules):
        return
    for database, state in zip(databases, states, strict=True):
        try:
            with database.transaction(durable=False) as connection:
                launch_marks.note_unbound(connection, database.path, state)
        except StoreUnavailable:
            continue  # harmless: hooks/launch then starts Python for the next call, in vain


def _reply(
    applied: Sequence[Applied],
    new: Sequence[Applied],
    asking: Sequence[Applied],
    settings: Settings,
    *,
    may_hold_back: bool = True,
) -> Reply:
    """Return the reply to a call: refuse it if an `applied` rule denies it, show the `new` rules,
    ask about those in `asking`. If not `may_hold_back`, rules that refuse once just add context.
    """
    from memory_fabric.rules import effects  # imported late: needed only if a rule applies

    by_effect: dict[str, list[Applied]] = {}
    for rule in applied:
        effect = effects.effect_of(rule.record, rule.binding, settings)
        if effect == effects.DENY and rule.is_unseen:
            effect = effects.TELL  # it is unknown if `First:` passed: a denial might never end
        by_effect.setdefault(effect, []).append(rule)
    denied = by_effect.get(effects.DENY, [])
    to_ask = [rule for rule in by_effect.get(effects.ASK, []) if rule in asking]
    to_tell = [rule for rule in by_effect.get(effects.TELL, []) if rule in new]
    only = [rule for rule in by_effect.get(effects.CONTEXT, []) if rule in new]
    if not may_hold_back:
        to_tell, only = [], [*to_tell, *only]
    refusals = [matching.reason_denied(denied)] if denied else []
    refusals += [matching.reason_once(to_tell)] if to_tell else []
    question = matching.question(to_ask) if to_ask else ""
    context = matching.context_block(only) if only else ""
    return Reply(context, question=question, refusal="\n\n".join(refusals))


def _names(one: Applied) -> tuple[str, ...]:
    """Return a rule's ledger names: its id, and the id of the call where `First:` last passed."""
    return (f"rule:{one.record.id}", *([f"passed:{one.passed}"] if one.passed else []))
