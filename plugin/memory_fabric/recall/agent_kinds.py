"""What kind of agent a type names: what it works on, and whether it only looks for files."""

from __future__ import annotations

from memory_fabric.language.vocabulary import agent_terms
from memory_fabric.recall.agent_domains import GENERAL, domain_of_agent, plain_name
from memory_fabric.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# The client's own agents that read and set up, and words in the names of others that search.
SEARCHERS = frozenset("explore plan statusline-setup output-style-setup claude-code-guide".split())
SEARCHING_WORDS = frozenset(
    """search searcher searching find finder finding locate locator grep explore explorer lookup
    scout""".split()
)


class Kind(Value):
    """What is known of an agent type. Without `terms` and `domain` only its task is recalled for.

    `domain` is the room of what agents of this kind said; `searches` that they only look for files.
    """

    name: str
    terms: tuple[str, ...] = ()
    domain: str = ""
    searches: bool = False


def kind_of(agent_type: str, stated: Mapping[str, str], domain: str = "") -> Kind:
    """The kind of an agent type, by the terms that the user `stated` for it, else by its name; in
    the `domain` that config.toml gives it, else in that of its name.

    `plugin:Code_Reviewer` is known as itself, as `code-reviewer`, and by the words of that. Stated
    terms are used as they stand, also for an agent that searches; stated as empty, the kind has
    none: nothing is recalled but for its task.
    """
    name = plain_name(agent_type)
    said = _stated(agent_type, name, stated)
    if said is None and is_searcher(name):
        return Kind(name, searches=True)
    domain = domain or domain_of_agent(agent_type)
    own = domain if domain != GENERAL else ""
    if said is None:
        return Kind(name, agent_terms(name) if own else (), own)
    terms = tuple(dict.fromkeys(term for term in map(str.strip, said.split(",")) if term))
    return Kind(name, terms, own) if terms else Kind(name)


def is_searcher(name: str) -> bool:
    """Whether a plain name is that of an agent that only looks for things."""
    return name in SEARCHERS or not SEARCHING_WORDS.isdisjoint(name.split("-"))


def _stated(agent_type: str, name: str, stated: Mapping[str, str]) -> str | None:
    """What config.toml says for this type: under its whole name, or under its plain one."""
    if agent_type in stated:
        return stated[agent_type]
    return next((said for key, said in stated.items() if plain_name(key) == name), None)
