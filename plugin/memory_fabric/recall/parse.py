"""Parsing of a question into a Query: terms, names, intent, expected answer, filters (BR-1).

Works on any text: a part without special meaning is read as words.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from memory_fabric.language.vocabulary import (
    KNOWN_AGENTS,
    ORDINARY,
    PATTERN_HEADS,
    PATTERNS,
    TECHNOLOGIES,
    is_agent,
)
from memory_fabric.models import (
    DEFAULT_DEPTH,
    ENTITY_TYPES,
    RECORD_TYPES,
    SCOPES,
    TYPE_ALIASES,
    Filters,
    Query,
)
from memory_fabric.text import (
    STOPWORDS,
    camel_parts,
    encodable,
    name_key,
    terms,
    without_files,
    without_injected,
    words,
)

MAX_CHARS = 64 << 10
MAX_TOKENS = 2000
# Of so many words the store says which are rare (retrieve.with_rarest_terms).
MAX_TERMS, MAX_HINTS, MAX_PHRASES = 2000, 16, 8
# A longer name is pasted data.
MAX_NAME_CHARS = 80

FILTER_FIELDS = {
    "domain": "domains",
    "expert_domain": "domains",
    "type": "types",
    "agent": "agents",
    "scope": "scopes",
    "session": "sessions",
    "project": "projects",
    "category": "categories",
}
FILTER_NAMES = frozenset((*FILTER_FIELDS, "since", "before", "as_of", "depth"))
TYPES = RECORD_TYPES | ENTITY_TYPES
# The values that filters accept, for notes on those that were read as words.
_MEANINGS = {
    "type": "takes decision, preference, pattern, problem and other types",
    "scope": f"takes {', '.join(SCOPES)}",
    "depth": "takes 1, 2 or 3",
    **dict.fromkeys(("since", "before", "as_of"), "takes a time, such as 2026-01-31 or 7d"),
}
_TOO_LONG = f"takes names of at most {MAX_NAME_CHARS} characters"

# The first row that shares a word with the question counts.
INTENTS = (
    ("relationship", frozenset("related relate relates relation relations relationship "
     "relationships connected connection connections connects linked depends depend dependency "
     "dependencies dependent".split())),
    ("decision", frozenset("decide decided decision decisions choose chose chosen choice why "
     "recommend recommended recommends recommendation rationale reason pick picked agreed settled "
     "instead".split())),
    ("problem", frozenset("problem problems issue issues bug bugs error errors fail fails failed "
     "failing failure broke broken crash crashes blocked blocker blockers wrong".split())),
    ("preference", frozenset("prefer prefers preferred preference preferences favourite favorite "
     "like likes style convention conventions".split())),
    ("pattern", frozenset("pattern patterns approach approaches practice practices antipattern "
     "way standard architecture".split())),
)  # fmt: skip
RELATION_WORDS = INTENTS[0][1]
# Together with a name these words ask for an edge of the graph (BR-8).
EDGE_WORDS = frozenset(
    """break breaks breaking impacts impacted use uses used using recommend recommends recommended
    require requires required enable enables enabled block blocks blocked prefer prefers
    preferred chose choose chosen affect affects affected own owns belongs""".split()
)
# In a question these words ask for an earlier state.
PAST_WORDS = frozenset(
    """was were had did previously formerly originally earlier historically before old former
    previous past ago replaced superseded""".split()
)
# In the course of work a test that "was slow" is no history, nor is "what must pass before a
# release": a prompt asks for the past with one of the first words, or with one of the second if it
# says something in the past tense or nothing in the present.
LONG_PAST_WORDS = frozenset("previously formerly originally historically".split())
EARLIER_WORDS, PAST_AUXILIARIES = frozenset(("before", "earlier")), frozenset(("did", "had"))
PRESENT_WORDS = frozenset(
    "should must can could do does will would is are need have has may might please i you".split()
)
# "The tool that is used to deploy" is about the present.
OF_TODAY = frozenset("is are be being been get gets getting was were".split())
SUBJECTS = frozenset("i we they you it he she who that".split())
_BREAKS = str.maketrans(
    {**dict.fromkeys(",;()[]{}\"'`<>|“”‘’", " "), **dict.fromkeys("!?。！？", ". ")}
)
_BULLETS = frozenset("-*•–—+#")
# The words after "how" in a question for a way, and in one for a number.
_WAYS = tuple(f" how {word} " for word in "do to can should would could does".split())
_AMOUNTS = tuple(f" how {word} " for word in "many much often long".split())
_MOMENTS = (
    " when ",
    *(f" {w} {unit} " for w in ("what", "which") for unit in "date day month year time".split()),
)
_PERSONS = (" who ", " whom ", " whose ")


def parse(
    text: str,
    *,
    known_agents: frozenset[str] = KNOWN_AGENTS,
    now: str = "",
    plain: bool = False,
) -> Query:
    """Parse the text into a query. Never fails; reads up to 64 KB.

    Relative times in filters (`since:7d`) need `now`, ISO 8601. With `plain` nothing is read as a
    filter or phrase: the text was not written as a search.
    """
    text = readable(text)
    question, filters, depth, global_only, unread = (
        (text, Filters(), 0, False, ()) if plain else _filters(text, now)
    )
    question, phrases = (question, ()) if plain else _phrases(question)
    question, excluded, unasked = (question, (), ()) if plain else _left_out(question)
    tokens = question.translate(_BREAKS).split()
    if len(tokens) > MAX_TOKENS:
        tokens = tokens[: MAX_TOKENS // 2] + tokens[-MAX_TOKENS // 2 :]
    agents = _agents(tokens, known_agents)
    content = _content(question, agents)
    lowered = {token.strip(".:").lower() for token in tokens}
    hints = _hints(tokens, agents)
    return Query(
        text=text,
        terms=content,
        phrases=phrases,
        entity_hints=hints,
        intent=_intent(lowered, question),
        answer_type=_answer_type(question),
        filters=filters,
        traverse=bool(depth)
        or _asks_for_edges(lowered, hints, is_question=not plain or "?" in text),
        depth=depth or DEFAULT_DEPTH,
        global_only=global_only,
        past=(not plain or "?" in text) and _asks_for_the_past(tokens, lowered, plain=plain),
        excluded=excluded,
        unasked=unasked,
        asked=question,
        unread=unread,
    )


def readable(text: str) -> str:
    """Return up to 64 KB of the text, without NUL, lone surrogates and injected blocks."""
    return without_injected(encodable(text[:MAX_CHARS]).replace("\0", " "))


def _filters(text: str, now: str) -> tuple[str, Filters, int, bool, tuple[str, ...]]:
    """Return the text without its filters, and their values.

    An unusable filter stays in the text as words, and a note says so.
    """
    if ":" not in text and "@global" not in text:
        return text, Filters(), 0, False, ()
    tokens_left: list[str] = []
    unread: list[str] = []
    by_name: dict[str, list[str]] = {}
    for token in _split_filters(text):
        name, colon, value = token.partition(":")
        name = name.lower()
        values = _filter_values(name, value, now) if colon else []
        if values:
            by_name.setdefault(name, []).extend(values)
        elif token.lower() == "@global":
            by_name["global"] = ["global"]
        else:
            tokens_left.append(token)
            bare = name.removeprefix("-")
            if colon and value.strip('",') and bare in FILTER_NAMES:
                unread.append(_unread(bare, token))
    if not by_name:
        return text, Filters(), 0, False, tuple(unread)
    depth = int(by_name.get("depth", ["0"])[-1])
    return " ".join(tokens_left), _as_filters(by_name), depth, "global" in by_name, tuple(unread)


def _unread(name: str, token: str) -> str:
    """Return the note on a filter that was read as words."""
    clipped = token if len(token) <= MAX_NAME_CHARS else f"{token[:MAX_NAME_CHARS]}…"
    why = f"{name} {_MEANINGS.get(name, _TOO_LONG)}"
    if token.startswith("-"):
        why = "nothing can be left out by a filter"
    return f"“{clipped}” is no filter and was read as words: {why}"


def _split_filters(text: str) -> list[str]:
    import re  # late: only for a question that may hold filters

    # A quoted value may hold spaces only right after a filter's colon or comma.
    names, value = "|".join(sorted(FILTER_NAMES)), r'(?:"[^"\n]{1,200}"|[^\s",]+)'
    pattern = rf"(?<!\S)(?:{names}):{value}(?:,{value})*,?(?!\S)|\S+"
    return re.findall(pattern, text, re.IGNORECASE)


def _filter_values(name: str, value: str, now: str) -> list[str]:
    if name not in FILTER_NAMES or not value:
        return []
    if name in ("since", "before", "as_of"):
        stamp = time_of(name, value.strip('"'), now)
        return [stamp] if stamp else []
    if name == "depth":
        return [value] if value in ("1", "2", "3") else []
    # Those at odd positions are quoted, and may hold commas.
    parts = value.split('"')
    values = [
        part for i, text in enumerate(parts) for part in ([text] if i % 2 else text.split(","))
    ]
    values = [part.strip() for part in values if part.strip()]
    if any(len(part) > MAX_NAME_CHARS for part in values):
        return []
    return closed_values(name, values) if name in ("type", "scope") else values


def time_of(name: str, value: str, now: str) -> str:
    """Return the time that the value of `since`, `before` or `as_of` means; '' for none."""
    if not value or len(value) > MAX_NAME_CHARS:
        return ""
    from memory_fabric.language import times  # late: only for a filter of time

    return times.moment(value, now) if name == "as_of" else times.boundary(value, now)


def closed_values(name: str, values: Iterable[str]) -> list[str]:
    """Return types or scopes in our spelling; [] if any of them is unknown."""
    lowered = [value.lower() for value in values]
    allowed: Container[str] = SCOPES
    if name == "type":
        allowed, lowered = TYPES, [_type(v) for v in lowered]
    return lowered if all(value in allowed for value in lowered) else []


def _type(value: str) -> str:
    """Return the type that a value means: itself, its singular, or the type of its alias."""
    if value in TYPES:
        return value
    value = value if value in TYPE_ALIASES else value.removesuffix("s")
    return TYPE_ALIASES.get(value, value)


def _as_filters(found: dict[str, list[str]]) -> Filters:
    fields: dict[str, list[str]] = {}
    for name, field in FILTER_FIELDS.items():
        fields.setdefault(field, []).extend(found.get(name, ()))
    if "global" in found:
        fields["scopes"] = ["global"]
    unique = {field: tuple(dict.fromkeys(values)) for field, values in fields.items()}
    return Filters(
        **unique,
        since=max(found.get("since", [""])),
        before=min(found.get("before", [""])),
        as_of=min(found.get("as_of", [""])),
    )


def _phrases(text: str) -> tuple[str, tuple[str, ...]]:
    if '"' not in text and "“" not in text:
        return text, ()
    import re  # late: only for a question with quotes

    quoted = re.findall(r'"([^"\n]{2,200})"|“([^”\n]{2,200})”', text)
    phrases = [" ".join((a or b).split()) for a, b in quoted]
    phrases = [phrase for phrase in phrases if any(c.isalnum() for c in phrase)]
    return text.replace('"', " "), tuple(dict.fromkeys(phrases))[:MAX_PHRASES]


def _left_out(text: str) -> tuple[str, tuple[str, ...], tuple[str, ...]]:

    return left_out(text)


def _agents(tokens: Iterable[str], known: frozenset[str]) -> tuple[str, ...]:
    """Return the agent names among the tokens, once each; `@database-engineer` counts."""
    agents: list[str] = []
    for token in tokens:
        name = token.strip("@.:*").lower()
        if 2 < len(name) <= MAX_NAME_CHARS and (name in known or is_agent(name)):
            agents.append(name)
    return tuple(dict.fromkeys(agents))


def _content(text: str, agents: tuple[str, ...]) -> tuple[str, ...]:
    """Return the content words in order, without those of agents' names."""
    if agents:
        for agent in agents:
            text = _without(text, agent)
    split = _parts_of_known(text)
    content = [term for term in terms(text) if len(term) <= MAX_NAME_CHARS and term not in split]
    if agents and all(term in STOPWORDS for term in content):
        return ()
    return tuple(content[:MAX_TERMS])


def _parts_of_known(text: str) -> frozenset[str]:
    """Return parts of names that are known as a whole: JavaScript is not Java."""
    parts = camel_parts(text)
    if not parts:
        return frozenset()
    whole = words(text)
    known = [
        part
        for word in dict.fromkeys(text.translate(_BREAKS).split())
        if _known(word)
        for part in camel_parts(word)
    ]
    return frozenset(known).difference(whole)


def _without(text: str, name: str) -> str:
    lowered, at = text.lower(), 0
    if len(lowered) != len(
        text
    ):  # Lower case changed the length of a letter: give up positions, keep words.
        return lowered.replace(name, " ")
    parts = []
    while (start := lowered.find(name, at)) >= 0:
        parts.append(text[at:start])
        at = start + len(name)
    return " ".join([*parts, text[at:]])


def _hints(tokens: list[str], agents: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names that the question may mean: agents first, then the others in order."""
    hints = list(agents)
    plain = [token.strip(".:@*") for token in tokens]
    keys = [*map(name_key, plain)]
    at = 0
    while at < len(plain) and len(hints) < 2 * MAX_HINTS:
        first = at == 0 or _ends_a_sentence(tokens[at - 1])
        name, length = _name_at(plain, keys, at, first=first)
        if name and name.lower() not in agents:
            hints.append(name)
        at += length
    return tuple(dict.fromkeys(hints))[:MAX_HINTS]


def _ends_a_sentence(token: str) -> bool:
    """Return True if the next token begins a sentence, an item or a quote."""
    return token.endswith((".", ":")) or token in _BULLETS


def _name_at(
    tokens: Sequence[str], keys: Sequence[str], at: int, *, first: bool
) -> tuple[str, int]:
    """Return the name that begins at this token, or '', and the number of tokens to advance.

    `keys` are those of the tokens; `first` means that a sentence begins here.
    """
    for count in (3, 2):
        if at + count <= len(tokens):
            key = "".join(keys[at : at + count])
            canonical = TECHNOLOGIES.get(key) or PATTERNS.get(key)
            if canonical:
                return canonical, count
    name = tokens[at]
    if not name or len(name) > MAX_NAME_CHARS:
        return "", 1
    return _known(name) or (name if _looks_like_a_name(name, first=first) else ""), 1


def _known(name: str) -> str:
    """Return our name for a technology or pattern; '' for none, or for an ordinary word."""
    key = name_key(name)
    canonical = TECHNOLOGIES.get(key) or PATTERNS.get(key) or ""
    return "" if key in ORDINARY and name != canonical else canonical


def _looks_like_a_name(name: str, *, first: bool) -> bool:
    lowered = name.lower()
    if lowered in PATTERN_HEADS:
        return True
    if not any(c.isalpha() for c in name) or lowered in STOPWORDS:
        return False
    inner = name[1:-1]
    if "-" in inner or "_" in inner or "." in inner or "/" in inner:
        return True
    if name.islower() or not name.isascii():
        return False
    # CamelCase and ABBREVIATIONS anywhere; a single capital only inside a sentence.
    return not name[1:].islower() or (not first and len(name) > 2)


def _asks_for_edges(lowered: set[str], hints: tuple[str, ...], *, is_question: bool) -> bool:
    """Return True if the graph is to be walked; "use Redis here" is an order, not a question."""
    return bool(lowered & RELATION_WORDS) or bool(is_question and hints and lowered & EDGE_WORDS)


def _asks_for_the_past(tokens: list[str], lowered: set[str], *, plain: bool) -> bool:
    """Return True if a search asks for an earlier state; for a prompt only if that is certain."""
    if _used_to(tokens, lowered):
        return True
    if not plain:
        return bool(lowered & PAST_WORDS)
    in_past = lowered & PAST_AUXILIARIES or not lowered & PRESENT_WORDS
    return bool(lowered & LONG_PAST_WORDS or (in_past and lowered & EARLIER_WORDS))


def _used_to(tokens: list[str], lowered: set[str]) -> bool:
    """Return True for the form "used to do something"."""
    if "used" not in lowered or "to" not in lowered:
        return False
    said = [token.lower() for token in tokens]
    return any(
        said[i : i + 2] == ["used", "to"]
        and (said[i - 1] in SUBJECTS or not OF_TODAY.intersection(said[max(0, i - 4) : i]))
        for i in range(1, len(said))
    )


def _intent(lowered: set[str], text: str) -> str:
    if _has_any(_WAYS, _spaced(without_files(text[:2000]))):
        return "howto" if not lowered & RELATION_WORDS else "relationship"
    return next((intent for intent, cues in INTENTS if lowered & cues), "")


def _answer_type(text: str) -> str:
    start = _spaced(without_files(text[:400]))
    if _has_any(_AMOUNTS, start):
        return "how many"
    if _has_any(_MOMENTS, start):
        return "when"
    return "who" if _has_any(_PERSONS, start) else ""


def _spaced(text: str) -> str:
    """Return the words of the text, each between spaces."""
    return f" {' '.join(words(text))} "


def _has_any(runs: Iterable[str], spaced: str) -> bool:
    return any(run in spaced for run in runs)


# Phrases before an unwanted thing, longest first.
_CUES = (
    ("other", "than"),
    ("apart", "from"),
    ("except", "for"),
    ("but", "not"),
    ("except",),
    ("excluding",),
    ("besides",),
)
_FIRST_WORDS = frozenset(cue[0] for cue in _CUES)
_ARTICLES = frozenset("the a an our my any in".split())
MIN_WORD_CHARS = 3
MAX_LEFT_OUT = 8


def left_out(text: str) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Return the text without its negations, the excluded words, and the words to rank lower."""
    tokens = text.split()
    tokens_left: list[str] = []
    out: list[str] = []
    unasked: list[str] = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        banned = _banned(token) if token[0] == "-" and len(out) < MAX_LEFT_OUT else []
        may_begin = token.lower().strip(",") in _FIRST_WORDS
        length = 1 if banned else _unasked(tokens, at) if may_begin else 0
        out += banned
        if not length:
            tokens_left.append(token)
        elif not banned and len(unasked) < MAX_LEFT_OUT:
            unasked += [w for w in words(tokens[at + length - 1]) if w not in STOPWORDS]
        at += length or 1
    text_left = " ".join(tokens_left) if len(tokens_left) < len(tokens) else text
    excluded, worse = dict.fromkeys(out), dict.fromkeys(unasked)
    return text_left, tuple(excluded)[:MAX_LEFT_OUT], tuple(worse)[:MAX_LEFT_OUT]


def _banned(token: str) -> list[str]:
    """Return the words of `-word`, given with its sign; an option such as `-r` or `--verbose` has
    none.
    """
    if not token[1:2].isalpha():
        return []
    return [word for word in words(token) if len(word) >= MIN_WORD_CHARS]


def _unasked(tokens: list[str], at: int) -> int:
    """Return the number of tokens from here that negate something; 0 for none."""
    for cue in _CUES:
        end = at + len(cue)
        if tuple(token.lower().strip(",") for token in tokens[at:end]) == cue:
            while end < len(tokens) and tokens[end].lower() in _ARTICLES:
                end += 1
            names_something = end < len(tokens) and any(
                w not in STOPWORDS for w in words(tokens[end])
            )
            return end + 1 - at if names_something else 0
    return 0
