"""The domain of a memory, and the limits of what isolated agents may read. The domain is the first
of these that is set: the caller's choice; the agent type's in config.toml; MEMORY_FABRIC_DOMAIN;
the folder's in config.toml; the domain named after the agent type; `general`.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from memory_fabric.config import Settings
from memory_fabric.domain_config import domain_name
from memory_fabric.language.word_lists import words as listed
from memory_fabric.patterns import pattern
from memory_fabric.redaction.redact import without_secrets
from memory_fabric.store.home import switches
from memory_fabric.store.memory import Memory
from memory_fabric.store.projects import identity
from memory_fabric.text import composed

SESSION = "session"  # the default domain of ingested texts
# The client's own agents: SEARCHERS only read or configure; GENERIC_AGENTS have no own domain.
SEARCHERS = frozenset("explore plan statusline-setup output-style-setup claude-code-guide".split())
GENERIC_AGENTS = SEARCHERS | {"general-purpose", "claude", "fork"}
GENERAL = "general"


class AgentDomain(NamedTuple):
    """A caller's domain. `stated`: config.toml isolates it, or sets it for the agent type."""

    name: str = GENERAL
    stated: bool = False
    isolated: bool = False


def stated_name(stated: str) -> str:
    """Return a specified domain name in normal form, with secrets redacted."""
    return domain_name(without_secrets(stated))


def domain_for(settings: Settings, agent_type: str = "", place: str = "") -> AgentDomain:
    """Return the domain of an agent type in the folder `place` (default: the session's folder): the
    agent type's domain if this domain or the type is isolated, otherwise the folder's domain if it
    is isolated. In all other cases, the order in the module's docstring applies.
    """
    config = settings.domains
    mapped = stated_for(agent_type, config.agents) or "" if agent_type else ""
    own = domain_of_agent(agent_type) if agent_type else GENERAL
    domain_name = mapped or own
    isolated_types = dict.fromkeys(config.isolated_agents, agent_type)
    isolates_type = bool(agent_type and stated_for(agent_type, isolated_types))
    if isolates_type or (domain_name != GENERAL and domain_name in config.isolated):
        return AgentDomain(domain_name, stated=True, isolated=True)
    local_domain = settings.domain or _domain_of_place(place or settings.project_dir, settings)
    if local_domain in config.isolated:
        return AgentDomain(local_domain, stated=True, isolated=True)
    name = mapped or local_domain or own
    return AgentDomain(name, stated=bool(mapped), isolated=name in config.isolated)


def isolates(settings: Settings) -> bool:
    return bool(settings.domains.isolated or settings.domains.isolated_agents)


def visible_from(memory: Memory, domain: AgentDomain) -> Memory:
    """Return the memory that a domain may read: an isolated domain reads only its own memories."""
    return _within(memory, domain.name) if domain.isolated else memory


def visible_to_process(memory: Memory) -> Memory:
    """Return the memory that a process outside an agent (e.g. a command) may read. This is one
    domain's memory if MEMORY_FABRIC_DOMAIN names an isolated domain. Otherwise, the process is the
    user's own and may read everything. Raises StoreUnavailable if the isolated domains are unknown.
    """
    if memory.settings.closed:
        raise switches.off_error(memory.settings)
    domain = memory.settings.domain
    return _within(memory, domain) if domain in memory.settings.domains.isolated else memory


def domain_of_agent(agent_type: str) -> str:
    """Return the domain named after an agent type: `code_reviewer` for `code-reviewer`."""
    name = agent_type.rsplit(":", 1)[-1].strip().lower()
    return GENERAL if name in ("", *GENERIC_AGENTS) else domain_name(name) or GENERAL


def plain_name(agent_type: str) -> str:
    """Return an agent type in lower case, hyphenated, and without the prefix of its plugin."""
    name = composed(agent_type.rstrip(":").rsplit(":", 1)[-1]).casefold()
    return "-".join("".join(c if c.isalnum() else " " for c in name).split())


def stated_for(agent_type: str, stated: Mapping[str, str]) -> str | None:
    """Return config.toml's value for an agent type, by its full name or else by its plain name."""
    if agent_type in stated:
        return stated[agent_type]
    name = plain_name(agent_type)
    return next((value for key, value in stated.items() if plain_name(key) == name), None)


def _domain_of_place(place: str, settings: Settings) -> str:
    if not settings.domains.paths or not place:
        return ""
    here = os.path.realpath(place)
    # A relative path in config.toml starts at the worktree of `place` or of its link's target.
    tops = {identity.worktree_of(here), identity.worktree_of(os.path.abspath(place))}
    domains = [(0, "")]
    for stated, domain in settings.domains.paths.items():
        is_home = stated == "~" or stated.startswith("~/")
        path = settings.user_home + stated[1:] if is_home else stated
        folders = [os.path.realpath(os.path.join(top, path)) for top in tops]
        around = [f for f in folders if here == f or here.startswith(f.rstrip(os.sep) + os.sep)]
        domains += [(len(folder), domain) for folder in around]
    return max(domains)[1]


def _within(memory: Memory, domain: str) -> Memory:
    # Imported late: most memories are not limited to a domain.
    from memory_fabric.store.scoped_memory import within

    return within(memory, (domain,))


WORD = "domain"
PLACING = frozenset("in within inside for from".split())
OUTSIDE = frozenset("not outside except beyond but never no without than".split())
ARTICLES = frozenset("the our my this".split())
MAX_WORDS, MAX_CHARS = 3, 4000
_TOKENS = r"[\w'’-]+|[^\w\s]|\n"
_QUOTED = r'"[^"\n]*"|“[^”\n]*”|`[^`\n]*`'


class Named(NamedTuple):
    """A domain that a question mentions, and the question without the mention (`rest`)."""

    domain: str
    rest: str


def named(text: str, memory: Memory) -> Named | None:
    """Return the known domain that a question mentions; None if it mentions none, or several."""
    if WORD not in text.lower() or len(text) > MAX_CHARS:
        return None
    places: dict[str, tuple[int, int]] = {}
    for name, start, end in _candidates(text):
        domain = domain_name(name)
        is_known = domain and domain not in listed("questions", "idioms of domains")
        if is_known and any(reader.has_domain(domain) for reader in memory.readers()):
            places.setdefault(domain, (start, end))
    if len(places) != 1:
        return None
    [(domain, (start, end))] = places.items()
    return Named(domain, f"{text[:start]} {text[end:]}".strip())


def _candidates(text: str) -> Iterable[tuple[str, int, int]]:
    """Yield each name next to the word "domain", with the start and the end of the mention."""
    # Quoted text is replaced by spaces, so that it is ignored and offsets remain valid.
    bare = pattern(_QUOTED).sub(lambda match: " " * len(match[0]), text)
    tokens = [(m[0], m.start(), m.end()) for m in pattern(_TOKENS).finditer(bare)]
    words = [token.lower() for token, _, _ in tokens]
    for at, word in enumerate(words):
        owned = word in (f"{WORD}'s", f"{WORD}’s")
        if word != WORD and not owned:
            continue
        for count in range(MAX_WORDS, 0, -1):
            first = at - count
            if first >= 0 and _is_mention(words, words[first:at], first, at + 1, owned=owned):
                yield " ".join(words[first:at]), _from(tokens, words, first), tokens[at][2]
            last = at + count + 1
            if owned or last > len(words):
                continue
            name = words[at + 1 : last]
            # After "domain", an identifier is always a name; other words only after a preposition.
            if _is_mention(words, name, at, last, behind=True):
                yield " ".join(name), _from(tokens, words, at), tokens[last - 1][2]


def _is_mention(
    words: Sequence[str],
    name: Sequence[str],
    first: int,
    after: int,
    *,
    owned: bool = False,
    behind: bool = False,
) -> bool:
    """Return True if `name` before (`behind`: after) the word "domain" means a domain."""
    whole, is_identifier = "_".join(name), len(name) == 1 and ("_" in name[0] or "-" in name[0])
    idioms = listed("questions", "idioms of domains")
    if whole in idioms or WORD in name or not all(word[0].isalnum() for word in name):
        return False
    before = first - 1 - (words[first - 1] in ARTICLES if first else 0)
    near = words[max(0, before - 1) : before + 1] if before >= 0 else ()
    if any(word in OUTSIDE or word.endswith(("n't", "n’t")) for word in near):
        return False
    is_placed = before >= 0 and words[before] in PLACING
    next_word = words[after] if after < len(words) else "."
    ends = owned or not next_word[0].isalnum() or next_word in listed("questions", "after a domain")
    if behind:
        return is_identifier or (is_placed and ends)
    return ends and (is_placed or owned or is_identifier)


def _from(tokens: Sequence[tuple[str, int, int]], words: Sequence[str], first: int) -> int:
    """Return the offset at which a mention begins, including preceding words such as "in the"."""
    while first and words[first - 1] in PLACING | ARTICLES:
        first -= 1
    return tokens[first][1]
