"""The kind of an agent by its type: its terms, its domain, and if it only searches for files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from memory_fabric.language.vocabulary import agent_terms
from memory_fabric.recall.agent_domains import GENERAL, domain_of_agent, plain_name

# The client's own agents for reading and setting up, and words in the names of others that search.
SEARCHERS = frozenset("explore plan statusline-setup output-style-setup claude-code-guide".split())
SEARCHING_WORDS = frozenset(
    """search searcher searching find finder finding locate locator grep explore explorer lookup
    scout""".split()
)


class Kind(NamedTuple):
    """The terms and domain of an agent type; without any, only its task is recalled for.

    `domain` is that of memories from agents of this kind. Agents that `searches` only look for
    files.
    """

    name: str
    terms: tuple[str, ...] = ()
    domain: str = ""
    searches: bool = False


def kind_of(agent_type: str, stated: Mapping[str, str], domain: str = "") -> Kind:
    """Return the kind of an agent type, by the terms that the user `stated`, else by its name.

    Its domain is `domain`, from config.toml, else that of its name. `plugin:Code_Reviewer` is
    looked up by this name, as `code-reviewer`, and by the words of that. Stated terms are used
    unchanged, also for an agent that searches; if they are empty, nothing is recalled but for its
    task.
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
    """Return True for the plain name of an agent that only searches for files."""
    return name in SEARCHERS or not SEARCHING_WORDS.isdisjoint(name.split("-"))


def _stated(agent_type: str, name: str, stated: Mapping[str, str]) -> str | None:
    """Return config.toml's terms for this type, by its whole name or its plain one."""
    if agent_type in stated:
        return stated[agent_type]
    return next((said for key, said in stated.items() if plain_name(key) == name), None)
