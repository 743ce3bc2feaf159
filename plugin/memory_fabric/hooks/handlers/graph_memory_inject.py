"""SubagentStart: inject the memories that are relevant to a subagent's task and type."""

from memory_fabric.capture.notes import protocol
from memory_fabric.events import Event
from memory_fabric.hooks.reply import Reply
from memory_fabric.hooks.session.ledger import Ledger
from memory_fabric.recall.pipeline import Fabric

# The client's built-in search agents start without MEMORY.md (measured, docs/decisions/0009).
WITHOUT_NATIVE_NOTES = frozenset(("explore", "plan"))


def handle(event: Event, fabric: Fabric) -> Reply | None:
    """Inject memories into the context of a starting subagent. The event does not contain the task,
    so all saved tasks for this agent type are used, except those known to belong to another agent.
    Agents that start without MEMORY.md also get its records.
    """
    if not event.agent_type:
        return None
    ledger = Ledger(event, fabric)
    blind = event.agent_type.lower() in WITHOUT_NATIVE_NOTES
    tasks = ledger.tasks(event.agent_type)
    config, scoped = fabric.memory.settings.domains, fabric
    if (config.agents or config.isolated_agents or config.isolated) and fabric.domain.stated:
        from memory_fabric.store.scoped_memory import within  # imported late: few agents need it

        memory = within(fabric.memory, (fabric.domain.name,))
        scoped = type(fabric)(memory, fabric.now, fabric.similarity, agent_type=fabric.agent_type)
    agent, texts, offered = event.agent_id, [t for _, t in tasks], [id_ for id_, _ in tasks]
    shown = frozenset() if blind else fabric.memory.shown_ids(ledger.started_at)
    injection = scoped.inject_for_agent(
        event.agent_type, texts, session=event.session, seen=ledger.seen(agent), shown=shown
    )
    ids, text = injection.ids, injection.text
    words = protocol.for_agent(fabric.memory.settings, texts)
    note = ledger.receipt(ids, "subagent", agent=agent, offered=offered, text=text, own_words=words)
    return Reply(text, own_words=words, receipts=note)
