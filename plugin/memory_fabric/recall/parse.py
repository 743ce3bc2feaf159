"""Parsing of a question into a Query: terms, names, intent, kind of answer, filters (BR-1). Every
text can be parsed: text without a special meaning is read as words to search for.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from memory_fabric import text as texts
from memory_fabric.language import vocabulary
from memory_fabric.language.vocabulary import PATTERNS, TECHNOLOGIES
from memory_fabric.language.word_lists import either, sections
from memory_fabric.language.word_lists import words as listed
from memory_fabric.models import DEFAULT_DEPTH, Filters, Query
from memory_fabric.text import STOPWORDS, cjk_pairs, name_key, words

MAX_CHARS = 64 << 10
MAX_TOKENS = 2000
# Maximum numbers per query: words (the rarest are searched for), likely names, and phrases.
MAX_TERMS, MAX_HINTS, MAX_PHRASES = 2000, 16, 8
MAX_NAME_CHARS = 80  # a longer name is probably pasted data
# The words that indicate each intent. The first intent with a word in the question is used.
INTENTS = tuple(
    (intent, listed("questions", intent))
    for intent in ("relationship", "decision", "problem", "preference", "pattern")
)
RELATION_WORDS = INTENTS[0][1]
# A prompt asks for an earlier state with one of LONG_PAST_WORDS. One of EARLIER_WORDS is enough
# only with "did" or "had", or if no word refers to the present. Thus neither "the test was slow"
# nor "what must pass before a release" asks for an earlier state.
LONG_PAST_WORDS = frozenset("previously formerly originally historically".split())
EARLIER_WORDS, PAST_AUXILIARIES = frozenset(("before", "earlier")), frozenset(("did", "had"))
# After one of these words, "used to" is not a past tense: "the tool that is used to deploy".
OF_TODAY = frozenset("is are be being been get gets getting was were".split())
SUBJECTS = frozenset("i we they you it he she who that".split())
_BREAKS = str.maketrans(
    {**dict.fromkeys(",;()[]{}\"'`<>|“”‘’", " "), **dict.fromkeys("!?。！？", ". ")}
)
_BULLETS = frozenset("-*•–—+#")
# Phrases that ask for a number, a time, a person, or the way to do something.
_RUNS = {
    kind: [f" {run} " for run in sections("questions")[kind]]
    for kind in ("how many", "when", "who", "how to")
}


def parse(text: str, *, now: str = "", plain: bool = False) -> Query:
    """Parse up to 64 KB of text into a query. Never fails. Relative times in filters (`since:7d`)
    need `now`, ISO 8601. With `plain`, the text is a prompt: nothing is read as a filter or phrase.
    """
    text = readable(text)
    question, filters, depth = text, Filters(), 0
    phrases = excluded = unasked = unread = tuple[str, ...]()
    if not plain:
        if ":" in text or "@global" in text:
            from memory_fabric.recall.filters import in_text  # late: rarely needed

            question, filters, depth, unread = in_text(text, now)
        question, phrases = _phrases(question)
        question, excluded, unasked = left_out(question)
    tokens = question.translate(_BREAKS).split()
    if len(tokens) > MAX_TOKENS:
        tokens = tokens[: MAX_TOKENS // 2] + tokens[-MAX_TOKENS // 2 :]
    # Agents may be written with a leading `@`, as in `@database-engineer`.
    names = [token.strip("@.:*").lower() for token in tokens]
    names = [name for name in dict.fromkeys(names) if 2 < len(name) <= MAX_NAME_CHARS]
    known = vocabulary.KNOWN_AGENTS
    agents = tuple(name for name in names if name in known or vocabulary.is_agent(name))
    lowered = {token.strip(".:").lower() for token in tokens}
    hints = _hints(tokens, agents)
    intent = next((intent for intent, cues in INTENTS if lowered & cues), "")
    if _has_any(_RUNS["how to"], question[:2000]):
        intent = "howto" if not lowered & RELATION_WORDS else "relationship"
    is_question, start = not plain or "?" in text, question[:400]
    return Query(
        text=text,
        terms=_content(question, agents),
        phrases=phrases,
        entity_hints=hints,
        intent=intent,
        answer_type=next((k for k in _RUNS if k != "how to" and _has_any(_RUNS[k], start)), ""),
        filters=filters,
        # Verbs such as "use" ask for relations only in a question: "Use Redis here" is an order.
        traverse=bool(depth or lowered & RELATION_WORDS)
        or bool(is_question and hints and lowered & listed("questions", "edges")),
        depth=depth or DEFAULT_DEPTH,
        past=is_question and _asks_for_the_past(tokens, lowered, plain=plain),
        excluded=excluded,
        unasked=unasked,
        asked=question,
        unread=unread,
    )


def readable(text: str) -> str:
    """Return up to 64 KB of the text, without NUL, lone surrogates and blocks from hooks."""
    return texts.without_injected(texts.encodable(text[:MAX_CHARS]).replace("\0", " "))


def _phrases(text: str) -> tuple[str, tuple[str, ...]]:
    if '"' not in text and "“" not in text:
        return text, ()
    quoted = re.findall(r'"([^"\n]{2,200})"|“([^”\n]{2,200})”', text)
    phrases = [" ".join((a or b).split()) for a, b in quoted]
    phrases = [phrase for phrase in phrases if any(c.isalnum() for c in phrase)]
    return text.replace('"', " "), tuple(dict.fromkeys(phrases))[:MAX_PHRASES]


def _content(text: str, agents: tuple[str, ...]) -> tuple[str, ...]:
    """Return the content words, without agents' names and parts of names ("Java" in JavaScript)."""
    for agent in agents:
        text = re.sub(re.escape(agent), " ", text, flags=re.IGNORECASE)
    parts: set[str] = set()
    if texts.camel_parts(text):
        known = filter(_known, dict.fromkeys(text.translate(_BREAKS).split()))
        parts = {part for word in known for part in texts.camel_parts(word)}.difference(words(text))
    content = [t for t in texts.terms(text) if len(t) <= MAX_NAME_CHARS and t not in parts]
    if agents and all(term in STOPWORDS for term in content):
        return ()
    return tuple(content[:MAX_TERMS])


def _hints(tokens: list[str], agents: tuple[str, ...]) -> tuple[str, ...]:
    hints = list(agents)
    plain = [token.strip(".:@*") for token in tokens]
    keys = [*map(name_key, plain)]
    at = 0
    while at < len(plain) and len(hints) < 2 * MAX_HINTS:
        # At the start of a sentence, list item or quotation, a capital does not indicate a name.
        first = at == 0 or tokens[at - 1].endswith((".", ":")) or tokens[at - 1] in _BULLETS
        for length in (3, 2):
            key = "".join(keys[at : at + length])
            name = TECHNOLOGIES.get(key) or PATTERNS.get(key) or ""
            if name and at + length <= len(plain):
                break
        else:
            length = 1
            name = plain[at] if len(plain[at]) <= MAX_NAME_CHARS else ""
            name = _known(name) or (name if _looks_like_a_name(name, first=first) else "")
        hints += [name] if name and name.lower() not in agents else []
        at += length
    return tuple(dict.fromkeys(hints))[:MAX_HINTS]


def _known(name: str) -> str:
    """Return the usual name of a technology or pattern; '' for unknown names and ordinary words."""
    key = name_key(name)
    canonical = TECHNOLOGIES.get(key) or PATTERNS.get(key) or ""
    return "" if key in vocabulary.ORDINARY and name != canonical else canonical


def _looks_like_a_name(name: str, *, first: bool) -> bool:
    lowered = name.lower()
    if lowered in vocabulary.PATTERN_HEADS:
        return True
    if not any(c.isalpha() for c in name) or lowered in STOPWORDS:
        return False
    if any(sign in name[1:-1] for sign in "-_./"):
        return True
    if name.islower() or not name.isascii():
        return False
    # CamelCase and ABBREVIATIONS are always names, other Capitalised words only inside a sentence.
    return not name[1:].islower() or (not first and len(name) > 2)


def _asks_for_the_past(tokens: list[str], lowered: set[str], *, plain: bool) -> bool:
    """Return True if a text asks for an earlier state; in a prompt (`plain`), fewer words count."""
    spelled = [token.lower() for token in tokens] if {"used", "to"} <= lowered else []
    for i in range(1, len(spelled)):  # find "used to do something"
        if spelled[i : i + 2] == ["used", "to"] and (
            spelled[i - 1] in SUBJECTS or not OF_TODAY.intersection(spelled[max(0, i - 4) : i])
        ):
            return True
    if not plain:
        return bool(lowered & listed("questions", "past"))
    in_past = lowered & PAST_AUXILIARIES or not lowered & listed("questions", "present")
    return bool(lowered & LONG_PAST_WORDS or (in_past and lowered & EARLIER_WORDS))


def _has_any(runs: Iterable[str], text: str) -> bool:
    spaced = f" {' '.join(words(texts.without_files(text)))} "
    return any(run in spaced for run in runs)


# Matches "other than the X" and similar phrases; its group is the unwanted word X.
_UNWANTED = (
    rf"(?i)(?<!\S)(?:{either('questions', 'other than')}),?\s+"
    r"(?:(?:the|a|an|our|my|any|in)\s+)*+(\S+)"
)
# Matches a word to exclude, such as `-redis`. Options (`-r`, `--verbose`) exclude nothing.
_EXCLUDED = r"(?<!\S)-[^\W\d_]\S*"
MIN_WORD_CHARS, MAX_LEFT_OUT = 3, 8


def left_out(text: str) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Split a question into the text to search for, words to exclude, and words to rank lower."""
    excluded: list[str] = []
    unasked: list[str] = []

    def without_unwanted(match: re.Match[str]) -> str:
        names = [word for word in words(match[1]) if word not in STOPWORDS]
        unasked.extend(names if len(unasked) < MAX_LEFT_OUT else ())
        return "" if names else match[0]

    def without_excluded(match: re.Match[str]) -> str:
        long_words = [word for word in words(match[0]) if len(word) >= MIN_WORD_CHARS]
        banned = long_words if len(excluded) < MAX_LEFT_OUT else []
        excluded.extend(banned)
        return "" if banned else match[0]

    text_left = re.sub(_UNWANTED, without_unwanted, text)
    text_left = re.sub(_EXCLUDED, without_excluded, text_left)
    text = " ".join(text_left.split()) if excluded or unasked else text
    out, worse = (tuple(dict.fromkeys(some))[:MAX_LEFT_OUT] for some in (excluded, unasked))
    return text, out, worse


# A text is pasted if it has at least PASTE_LINES lines and over PASTE_SHARE of them are not prose.
PASTE_LINES, PASTE_SHARE = 8, 0.6
PASTED_LINES = 7
# A sentence with fewer content words is joined to the sentence before it.
SENTENCE_TERMS = 3
WINDOW_TERMS = 32  # a text with more content words is probably about several subjects
_ENDS = ".;!?\n。！？；"


def may_hold_a_log(text: str) -> bool:
    """Return True if a prompt has enough lines to contain the log of a failure."""
    return text.count("\n") >= PASTED_LINES


def is_paste(text: str) -> bool:
    """Return True if most of the text is a log, a trace or code, not written by a person."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) < PASTE_LINES:
        return False
    return sum(map(_is_machine_line, lines)) > PASTE_SHARE * len(lines)


def written(text: str) -> str:
    """Return the lines of a prompt that a person wrote; in pasted text, the paragraphs of prose."""
    if not may_hold_a_log(text):
        return text
    if not is_paste(text):
        lines = (line for line in text.splitlines() if line.strip())
        return "\n".join(line for line in lines if not _is_machine_line(line.strip()))
    return "\n".join(
        paragraph
        for paragraph in "\n".join(line.strip() for line in text.splitlines()).split("\n\n")
        if not any(map(_is_machine_line, filter(None, paragraph.splitlines())))
    ).strip()


def sentences(text: str) -> Iterator[tuple[str, str]]:
    """Yield each sentence of a text with its end mark; a dot inside a word ends no sentence."""
    start = 0
    for at, sign in enumerate(text):
        if sign in _ENDS and (sign != "." or not text[at + 1 : at + 2].strip()):
            if at > start:
                yield text[start:at], sign
            start = at + 1
    yield text[start:], "."


@lru_cache(4)  # `relevance` and `floor` both split the question
def split(text: str) -> tuple[tuple[str, ...], bool]:
    """Return the sentences, and True if several have over WINDOW_TERMS content words in total."""
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
    """Return True if a line's start, end or characters show that it is code, a log or a trace."""
    line = line.removeprefix("- ")  # remove the marker of a list item
    if line[-1] in "{};\\" or line.startswith(
        ("at ", "File ", "Traceback", "+", "-", "|", "$", ">")
    ):
        return True
    letters = sum(c.isalpha() or c == " " for c in line)
    return line[0].isdigit() or line[0] == "[" or letters < 0.75 * len(line)
