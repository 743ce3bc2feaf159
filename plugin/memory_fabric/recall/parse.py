"""Parsing of a question into a Query: terms, names, intent, expected answer, filters (BR-1).

Any text can be parsed: a part without special meaning is read as words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from memory_fabric.language.vocabulary import (
    KNOWN_AGENTS,
    ORDINARY,
    PATTERN_HEADS,
    PATTERNS,
    TECHNOLOGIES,
    is_agent,
)
from memory_fabric.models import DEFAULT_DEPTH, Filters, Query
from memory_fabric.text import (
    STOPWORDS,
    camel_parts,
    cjk_pairs,
    encodable,
    name_key,
    terms,
    without_files,
    without_injected,
    words,
)

MAX_CHARS = 64 << 10
MAX_TOKENS = 2000
# The most words of a query; the store finds the rare ones (retrieve.with_rarest_terms).
MAX_TERMS, MAX_HINTS, MAX_PHRASES = 2000, 16, 8
# A longer name is taken for pasted data.
MAX_NAME_CHARS = 80

# The intent is that of the first row that shares a word with the question.
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
# Together with a name, these words ask for an edge of the graph (BR-8).
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
# In a prompt neither a test that "was slow" nor "what must pass before a release" asks for the
# past. A prompt asks for the past with one of the first words, or with one of the second words if
# it has an auxiliary of the past or no word of the present.
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
# The words after "how" in a question for a way to do something, and in a question for a number.
_WAYS = tuple(f" how {word} " for word in "do to can should would could does".split())
_ANSWERS = (
    ("how many", tuple(f" how {word} " for word in "many much often long".split())),
    (
        "when",
        (
            " when ",
            *(f" {w} {u} " for w in ("what", "which") for u in "date day month year time".split()),
        ),
    ),
    ("who", (" who ", " whom ", " whose ")),
)


def parse(text: str, *, now: str = "", plain: bool = False) -> Query:
    """Parse the text into a query. Never fails; reads up to 64 KB.

    Relative times in filters (`since:7d`) need `now`, ISO 8601. With `plain` nothing is read as a
    filter or phrase, since the text was not written as a search.
    """
    text = readable(text)
    question, filters, depth, global_only = text, Filters(), 0, False
    phrases = excluded = unasked = unread = tuple[str, ...]()
    if not plain:
        if ":" in text or "@global" in text:
            from memory_fabric.recall.filters import in_text  # late: few texts have filters

            question, filters, depth, global_only, unread = in_text(text, now)
        question, phrases = _phrases(question)
        question, excluded, unasked = left_out(question)
    tokens = question.translate(_BREAKS).split()
    if len(tokens) > MAX_TOKENS:
        tokens = tokens[: MAX_TOKENS // 2] + tokens[-MAX_TOKENS // 2 :]
    # Names such as `@database-engineer` count, too.
    names = [token.strip("@.:*").lower() for token in tokens]
    agents = tuple(
        dict.fromkeys(
            name
            for name in names
            if 2 < len(name) <= MAX_NAME_CHARS and (name in KNOWN_AGENTS or is_agent(name))
        )
    )
    lowered = {token.strip(".:").lower() for token in tokens}
    hints = _hints(tokens, agents)
    intent = next((intent for intent, cues in INTENTS if lowered & cues), "")
    if _has_any(_WAYS, question[:2000]):
        intent = "howto" if not lowered & RELATION_WORDS else "relationship"
    is_question = not plain or "?" in text
    return Query(
        text=text,
        terms=_content(question, agents),
        phrases=phrases,
        entity_hints=hints,
        intent=intent,
        answer_type=next((kind for kind, runs in _ANSWERS if _has_any(runs, question[:400])), ""),
        filters=filters,
        # "Use Redis here" is an order, not a question.
        traverse=bool(depth or lowered & RELATION_WORDS)
        or bool(is_question and hints and lowered & EDGE_WORDS),
        depth=depth or DEFAULT_DEPTH,
        global_only=global_only,
        past=is_question and _asks_for_the_past(tokens, lowered, plain=plain),
        excluded=excluded,
        unasked=unasked,
        asked=question,
        unread=unread,
    )


def readable(text: str) -> str:
    """Return up to 64 KB of the text, without NUL, lone surrogates and injected blocks."""
    return without_injected(encodable(text[:MAX_CHARS]).replace("\0", " "))


def _phrases(text: str) -> tuple[str, tuple[str, ...]]:
    if '"' not in text and "“" not in text:
        return text, ()
    quoted = re.findall(r'"([^"\n]{2,200})"|“([^”\n]{2,200})”', text)
    phrases = [" ".join((a or b).split()) for a, b in quoted]
    phrases = [phrase for phrase in phrases if any(c.isalnum() for c in phrase)]
    return text.replace('"', " "), tuple(dict.fromkeys(phrases))[:MAX_PHRASES]


def _content(text: str, agents: tuple[str, ...]) -> tuple[str, ...]:
    """Return the content words in order, without agents' names and without parts of known names,
    since JavaScript is not Java.
    """
    for agent in agents:
        text = re.sub(re.escape(agent), " ", text, flags=re.IGNORECASE)
    parts: set[str] = set()
    if camel_parts(text):
        known = filter(_known, dict.fromkeys(text.translate(_BREAKS).split()))
        parts = {part for word in known for part in camel_parts(word)}.difference(words(text))
    content = [term for term in terms(text) if len(term) <= MAX_NAME_CHARS and term not in parts]
    if agents and all(term in STOPWORDS for term in content):
        return ()
    return tuple(content[:MAX_TERMS])


def _hints(tokens: list[str], agents: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names that the question may mean: agents first, then the other names in order."""
    hints = list(agents)
    plain = [token.strip(".:@*") for token in tokens]
    keys = [*map(name_key, plain)]
    at = 0
    while at < len(plain) and len(hints) < 2 * MAX_HINTS:
        # A sentence, a list item or a quotation begins here.
        first = at == 0 or tokens[at - 1].endswith((".", ":")) or tokens[at - 1] in _BULLETS
        name, length = _name_at(plain, keys, at, first=first)
        if name and name.lower() not in agents:
            hints.append(name)
        at += length
    return tuple(dict.fromkeys(hints))[:MAX_HINTS]


def _name_at(
    tokens: Sequence[str], keys: Sequence[str], at: int, *, first: bool
) -> tuple[str, int]:
    """Return the name that begins at this token, or '', and the number of tokens to skip. `keys`
    are the `name_key`s of the tokens; `first` means that a sentence begins here.
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
    """Return the canonical name of a technology or pattern; '' if unknown or an ordinary word."""
    key = name_key(name)
    canonical = TECHNOLOGIES.get(key) or PATTERNS.get(key) or ""
    return "" if key in ORDINARY and name != canonical else canonical


def _looks_like_a_name(name: str, *, first: bool) -> bool:
    lowered = name.lower()
    if lowered in PATTERN_HEADS:
        return True
    if not any(c.isalpha() for c in name) or lowered in STOPWORDS:
        return False
    if any(sign in name[1:-1] for sign in "-_./"):
        return True
    if name.islower() or not name.isascii():
        return False
    # CamelCase and ABBREVIATIONS anywhere; a word with one capital only inside a sentence.
    return not name[1:].islower() or (not first and len(name) > 2)


def _asks_for_the_past(tokens: list[str], lowered: set[str], *, plain: bool) -> bool:
    """Return True if a search asks for an earlier state, or a prompt (`plain`) certainly does."""
    spelled = [token.lower() for token in tokens] if {"used", "to"} <= lowered else []
    for i in range(1, len(spelled)):  # match "used to do something"
        if spelled[i : i + 2] == ["used", "to"] and (
            spelled[i - 1] in SUBJECTS or not OF_TODAY.intersection(spelled[max(0, i - 4) : i])
        ):
            return True
    if not plain:
        return bool(lowered & PAST_WORDS)
    in_past = lowered & PAST_AUXILIARIES or not lowered & PRESENT_WORDS
    return bool(lowered & LONG_PAST_WORDS or (in_past and lowered & EARLIER_WORDS))


def _has_any(runs: Iterable[str], text: str) -> bool:
    """Return True if a text contains one of these runs of words, each run between spaces."""
    spaced = f" {' '.join(words(without_files(text)))} "
    return any(run in spaced for run in runs)


# Phrases before something unwanted, longest first.
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
    """Return three values: the text without negations, excluded words, and words to rank lower."""
    tokens = text.split()
    tokens_left: list[str] = []
    out: list[str] = []
    unasked: list[str] = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        # An option such as `-r` or `--verbose` excludes nothing.
        is_minus = token[0] == "-" and token[1:2].isalpha() and len(out) < MAX_LEFT_OUT
        banned = [w for w in words(token) if len(w) >= MIN_WORD_CHARS] if is_minus else []
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


def _unasked(tokens: list[str], at: int) -> int:
    """Return the number of tokens from `at` on that negate something; 0 if none do."""
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


# A pasted text is recognised by its form: this number of lines, most of which are not sentences.
PASTE_LINES, PASTE_SHARE = 8, 0.6
PASTED_LINES = 7
# A sentence with fewer content words is joined with the previous sentence.
SENTENCE_TERMS = 3
# A text with more content words is hardly about one thing.
WINDOW_TERMS = 32
_ENDS = ".;!?\n。！？；"


def may_hold_a_log(text: str) -> bool:
    """Return True if a prompt has enough lines to contain a log of a failure."""
    return text.count("\n") >= PASTED_LINES


def is_paste(text: str) -> bool:
    """Return True if the text is mostly a log, a trace or code rather than written by a person."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) < PASTE_LINES:
        return False
    return sum(map(_is_machine_line, lines)) > PASTE_SHARE * len(lines)


def written(text: str) -> str:
    """Return the lines of a prompt that a person wrote; of a pasted text, its prose paragraphs."""
    if not may_hold_a_log(text):
        return text
    if not is_paste(text):
        lines = (line for line in text.splitlines() if line.strip())
        return "\n".join(line for line in lines if not _is_machine_line(line.strip()))
    stripped = "\n".join(line.strip() for line in text.splitlines())
    return "\n".join(
        paragraph
        for paragraph in stripped.split("\n\n")
        if not any(map(_is_machine_line, filter(None, paragraph.splitlines())))
    ).strip()


def sentences(text: str) -> Iterator[tuple[str, str]]:
    """Yield the sentences of a text, each with the character that ends it. A dot inside a word does
    not end a sentence.
    """
    start = 0
    for at, sign in enumerate(text):
        if sign in _ENDS and (sign != "." or not text[at + 1 : at + 2].strip()):
            if at > start:
                yield text[start:at], sign
            start = at + 1
    yield text[start:], "."


@lru_cache(4)  # relevance and the floor split the same message
def split(text: str) -> tuple[tuple[str, ...], bool]:
    """Return the sentences of a text, and True if it has more content words than WINDOW_TERMS."""
    found: list[str] = []
    sizes: list[int] = []
    for sentence, end in dict.fromkeys(sentences(text)):
        size = sum(word not in STOPWORDS for word in words(sentence)) + len(cjk_pairs(sentence))
        if found and min(size, sizes[-1]) < SENTENCE_TERMS:
            found[-1] += f"{sentence}{end}"
            sizes[-1] += size
        elif size:
            found.append(f"{sentence}{end}")
            sizes.append(size)
    return tuple(found), len(found) > 1 and sum(sizes) > WINDOW_TERMS


def _is_machine_line(line: str) -> bool:
    """Return True for a line that begins, ends or is built like code, a log or a trace."""
    line = line.removeprefix("- ")  # the mark of a list item
    if line[-1] in "{};\\" or line.startswith(
        ("at ", "File ", "Traceback", "+", "-", "|", "$", ">")
    ):
        return True
    letters = sum(c.isalpha() or c == " " for c in line)
    return line[0].isdigit() or line[0] == "[" or letters < 0.75 * len(line)
