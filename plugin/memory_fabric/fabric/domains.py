"""Which room of a project a memory belongs to: the agent's, else `general`."""

from __future__ import annotations

GENERAL = "general"
# Agents for everything have no room of their own.
GENERIC_AGENTS = frozenset(
    """general-purpose claude fork explore plan statusline-setup output-style-setup
    claude-code-guide""".split()
)


def domain_of_agent(agent_type: str) -> str:
    """The domain of what an agent of this type says: `code-reviewer` gives `code_reviewer`."""
    name = agent_type.rsplit(":", 1)[-1].strip().lower()
    if not name or name in GENERIC_AGENTS:
        return GENERAL
    return "_".join("".join(c if c.isalnum() else " " for c in name).split())[:80] or GENERAL
