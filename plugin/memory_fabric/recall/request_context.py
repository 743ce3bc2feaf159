"""The context in which handlers answer a request: the memory, the time and the agent."""

from __future__ import annotations

from memory_fabric.config import Settings
from memory_fabric.models import Provenance
from memory_fabric.store.memory import Memory

TYPE_CHECKING = False
if TYPE_CHECKING:  # imported by the functions that need it: isolation is rare
    from memory_fabric.recall.agent_domains import AgentDomain


class RequestContext:
    """A memory at the time `now` (ISO 8601, UTC), as one agent sees it; `pipeline.Fabric` adds
    recall. `agent_type` is the type of the agent that makes the request, '' for the main session.
    If config.toml isolates this type, `memory` contains only what it may see (`visible_to`).
    `launched` are the settings, if saved, of the folder where the session started. If `is_past`, an
    old session is read: new records get its times, and the present state of files is ignored.
    """

    def __init__(
        self,
        memory: Memory,
        now: str,
        agent_type: str = "",
        launched: Settings | None = None,
        *,
        is_past: bool = False,
    ) -> None:
        self.memory, self.now, self.agent_type = memory, now, agent_type
        self._launched, self.is_past = launched, is_past

    @property
    def domain(self) -> AgentDomain:
        """The agent's domain (`general` by default), and whether config.toml isolates it."""
        # Imported late: recall for a prompt does not use the domain.
        from memory_fabric.recall.agent_domains import domain_for

        return domain_for(self._launched or self.memory.settings, self.agent_type)

    def by(self, source: str, session: str, trust: str = "assistant") -> Provenance:
        """Return the provenance of a session's statements, with the context's agent and domain."""
        agent, domain = self.agent_type, self.domain.name
        return Provenance(source, trust=trust, session=session, agent=agent, domain=domain)

    def for_agent(self, agent_type: str, launched: Settings | None = None) -> RequestContext:
        """Return an agent type's context; `launched` are the settings of its session, if saved."""
        visible = visible_to(self.memory.whole, agent_type, launched)
        return RequestContext(visible, self.now, agent_type, launched, is_past=self.is_past)


def visible_to(memory: Memory, agent_type: str, launched: Settings | None = None) -> Memory:
    """Return the part of a memory that hooks may show to an agent type ('' is the main session)."""
    config = memory.settings.domains
    if not (config.isolated or config.isolated_agents):
        return memory
    # Imported late: few users isolate domains.
    from memory_fabric.recall.agent_domains import domain_for, visible_from

    domain = domain_for(launched or memory.settings, agent_type)
    if domain.isolated or not config.isolated:
        return visible_from(memory, domain)
    # Imported late: most memories are not limited to a domain.
    from memory_fabric.store.scoped_memory import without

    return without(memory, sorted(config.isolated - {domain.name}))
