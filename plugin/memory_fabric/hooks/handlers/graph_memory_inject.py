"""SubagentStart: inject the memories that a subagent's task and type need."""

from __future__ import annotations

from memory_fabric.capture.notes import protocol
from memory_fabric.events import Event
from memory_fabric.hooks.reply import Reply
from memory_fabric.hooks.session.ledger import Ledger
from memory_fabric.recall.pipeline import Fabric

# Measured (docs/decisions/0009): the client's own search agents start without MEMORY.md.
WITHOUT_NATIVE_NOTES = frozenset(("explore", "plan"))


def handle(event: Event, fabric: Fabric) -> Reply | None:
    """Inject memories into the context of a subagent that starts.

    Reads the tasks noted for its type, except those known to be another agent's; replies with
    memories for all these tasks within one budget, since the event does not say which task it is.

    Records in MEMORY.md are injected only for agents that start without that file. An agent whose
    type has a domain in config.toml gets the memory of that domain, labelled as such.
    """
    if not event.agent_type:
        return None
    ledger = Ledger(event, fabric)
    blind = event.agent_type.lower() in WITHOUT_NATIVE_NOTES
    tasks = ledger.tasks(event.agent_type)
    injection = _in_domain(fabric).inject_for_agent(
        event.agent_type,
        [text for _, text in tasks],
        session=event.session,
        seen=ledger.seen(event.agent_id),
        shown=frozenset() if blind else fabric.memory.shown_ids(ledger.started_at),
    )
    protocol_text = protocol.for_agent(fabric.memory.settings, [text for _, text in tasks])
    receipt = ledger.receipt(
        injection.ids,
        "subagent",
        agent=event.agent_id,
        offered=[id_ for id_, _ in tasks],
        text=injection.text,
        own_words=protocol_text,
    )
    return Reply(injection.text, own_words=protocol_text, receipts=receipt)


def _in_domain(fabric: Fabric) -> Fabric:
    """Limit recall to the domain that config.toml sets for this agent type, if any."""
    config = fabric.memory.settings.domains
    if not (config.agents or config.isolated_agents or config.isolated):
        return fabric
    domain = fabric.domain
    if not domain.stated:
        return fabric
    # Imported late: most memories are not limited to a domain.
    from memory_fabric.store.scoped_memory import within

    scoped = within(fabric.memory, (domain.name,))
    return type(fabric)(scoped, fabric.now, fabric.similarity, agent_type=fabric.agent_type)
