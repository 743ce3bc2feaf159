"""Known technologies, patterns and agents: their names and kinds, and the agents' topics."""

from memory_fabric.language.word_lists import sections, word_table, words
from memory_fabric.text import name_key

_FILE = "vocabulary"
# Map the `name_key` of each name, and of each variant of a name, to the usual spelling.
TECHNOLOGIES, PATTERNS = word_table(_FILE, "technologies"), word_table(_FILE, "patterns")
# A hyphenated name ending with one of these words is a pattern: `token-pagination`, `jwt-auth`.
PATTERN_HEADS = words(_FILE, "pattern heads")
# Names that are also ordinary words (`go`, `react`); they count only if used like names.
ORDINARY = words(_FILE, "ordinary")
KNOWN_AGENTS = words(_FILE, "agents")
# A hyphenated name whose last part is a role is an agent: `payments-engineer`, `api-designer`.
AGENT_ROLES = words(_FILE, "roles")
_NOT_AGENT_STARTS = frozenset("non co ex pre per third anti multi single self full-time".split())
# More endings of agent names. Before one of these or a role, `go` or `react` is a technology.
_PERSONS = frozenset("expert pro dev guru agent".split())


def _terms(section: str) -> dict[str, tuple[str, ...]]:
    rows = (line.partition(" = ") for line in sections(_FILE)[section])
    return {key: tuple(terms.split(", ")) for keys, _, terms in rows for key in keys.split()}


# Topics of known agents by name, and of other agents by the words in their names (BR-14).
AGENT_TERMS, ROLE_TERMS = _terms("agent terms"), _terms("role terms")


def canonical(name: str) -> str:
    """Return the usual spelling of a technology or pattern; return any other name unchanged."""
    key = name_key(name)
    return TECHNOLOGIES.get(key) or PATTERNS.get(key) or name


def is_agent(name: str) -> bool:
    """Return True if a name is a known agent's, or is hyphenated and ends with a role."""
    if name in KNOWN_AGENTS:
        return True
    parts = name.split("-")
    if len(parts) < 2 or parts[-1] not in AGENT_ROLES or parts[0] in _NOT_AGENT_STARTS:
        return False
    return all(part.isalnum() and part.islower() for part in parts)


def entity_type(name: str) -> str:
    """Return the kind of a known name (`agent`, `technology` or `pattern`), or '' if unknown."""
    if is_agent(name):
        return "agent"
    key = name_key(name)
    if key in TECHNOLOGIES:
        return "technology"
    if key in PATTERNS:
        return "pattern"
    _, hyphen, head = name.rpartition("-")
    return "pattern" if hyphen and head.lower() in PATTERN_HEADS else ""


def agent_terms(agent_type: str) -> tuple[str, ...]:
    """Return the topics of a known agent type; for others, those of the known words in its name."""
    if terms := AGENT_TERMS.get(agent_type.lower()):
        return terms
    parts = agent_type.lower().replace("_", "-").split("-")
    is_person = parts[-1] in AGENT_ROLES or parts[-1] in _PERSONS
    terms_of_parts: list[str] = []
    for part in parts:
        technology = TECHNOLOGIES.get(part)
        terms_of_parts += [technology] if technology and (is_person or part not in ORDINARY) else []
        terms_of_parts += ROLE_TERMS.get(part, ())
    return tuple(dict.fromkeys(terms_of_parts))
