"""The estimate, by words, of what the assistant used of what it was told.

A memory counts as used if its id, or its distinctive words, stand in what the assistant said or did
next: in a sentence of its answer, or in the input of a tool. Words of the prompt prove nothing, nor
do words that every other sentence has. It is no proof: a rule that is kept without a word is not
seen, and one that is broken in its own words is.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from memory_fabric.clients.transcript import Turn
from memory_fabric.ids import short_id
from memory_fabric.language.concepts import WEAK
from memory_fabric.language.vocabulary import ORDINARY, PATTERNS, TECHNOLOGIES
from memory_fabric.store import graph
from memory_fabric.store.conversations import prompts, sessions, worth
from memory_fabric.store.database import Database
from memory_fabric.store.memory import Memory
from memory_fabric.text import STOPWORDS, camel_parts, name_key, stem, words

# What was told further back is no longer judged.
MAX_PROMPTS_BACK, MAX_ROWS = 20, 80
# The most that is read of one turn, of one input of a tool, and of one memory.
MAX_CHARS, MAX_INPUT_CHARS, MAX_MEMORY_CHARS = 32 << 10, 4000, 1200
# Of a past turn no more is told.
MAX_TURN_CHARS = 280
# A name, path or command proves as much as three other words in one sentence; a name that another
# memory has as well, half of it.
NAME, SHARED_NAME, WORD = 1.0, 0.5, 0.34
ENOUGH = 1.0
# Of a memory with many words the sentence must have this share; of ten, at most.
SHARE, MAX_COUNTED = 0.4, 10
# A name in so many turns of a project, and this share of them, says nothing there.
COMMON_TURNS, COMMON_SHARE = 20, 0.03
MIN_WORD_CHARS, MIN_EXACT_CHARS = 3, 5
# The word after these is what a memory says not to use.
AGAINST = frozenset("not never no without avoid than of over".split())


class Signs(NamedTuple):
    """The parts of a memory by which its use is seen.

    `exact` are its paths, commands and other compounds, folded; `names` and `words` are stems.
    """

    id: str
    exact: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()


def judge(memory: Memory, session: str, turns: Sequence[Turn], now: str) -> None:
    """Save which of the memories that a session was told these turns used.

    The turns are the new part of its transcript, in order. What was not used may still be used by
    later turns.
    """
    work = [text for turn in turns if turn.role == "assistant" for text in _done(turn)]
    if not work:
        return
    database = memory.session_database()
    prompt = int(sessions.field(database, session, "prompts") or 0)
    rows = worth.not_used_yet(database, session, "", prompt - MAX_PROMPTS_BACK, MAX_ROWS)
    if not rows:
        return
    texts = _texts(memory, {id_ for _, id_ in rows})
    user_text = " ".join(turn.text for turn in turns if turn.role == "user")[:MAX_CHARS]
    told = {id_: signs(id_, *told) for id_, told in texts.items()}
    # The project's name and the folders above it stand in every path.
    places = " ".join(
        {turn.cwd for turn in turns} | {memory.project.name if memory.project else ""}
    )
    common = _common(database, told.values(), work)
    used = used_of(told, work, f"{user_text} {places}", common)
    rows_with_text = [(row, id_) for row, id_ in rows if id_ in texts]
    worth.save_used(
        database,
        [row for row, _ in rows_with_text],
        {row for row, id_ in rows_with_text if id_ in used},
        now,
    )


def signs(id_: str, text: str, names: Iterable[str] = ()) -> Signs:
    """Return the signs of a memory with this text that is about these names."""
    text = text[:MAX_MEMORY_CHARS]
    exact = tuple(dict.fromkeys(_compounds(text)))
    tokens = words(text)
    rejected = {b for a, b in pairwise(tokens) if a in AGAINST}
    name_words = {word for name in names for word in words(name)}
    name_words |= {word for word in tokens if _is_name(word)}
    name_words |= {part for part in camel_parts(text) if len(part) > MIN_EXACT_CHARS}
    stems = {stem(word) for word in (*tokens, *name_words) if _says_something(word)}
    strong = {stem(word) for word in name_words - rejected if _says_something(word)}
    return Signs(short_id(id_), exact, frozenset(strong), frozenset(stems - strong))


def used_of(
    told: Mapping[str, Signs],
    done: Sequence[str],
    asked: str,
    common: Container[str] = frozenset(),
) -> set[str]:
    """Return the keys of the memories that the texts `done` use, beyond the words of the prompt.

    Of the names and compounds, those in `common` prove no more than any other word.
    """
    whole = "\n".join(done).casefold()
    asked_stems = {stem(word) for word in words(asked)}
    # A text names the memory's id, or has one of its compounds with a new word.
    used = {
        key
        for key, one in told.items()
        if one.id in whole
        or any(
            part in whole
            and part not in common
            and not asked_stems.issuperset(map(stem, words(part)))
            for part in one.exact
        )
    }
    unused = {key: signs_of_it for key, signs_of_it in told.items() if key not in used}
    holders: dict[str, list[str]] = {}
    for key, signs_of_it in told.items():
        for sign in (signs_of_it.names | signs_of_it.words) - asked_stems:
            holders.setdefault(sign, []).append(key)
    least = {
        key: SHARE * min(MAX_COUNTED, len((one.names | one.words) - asked_stems))
        for key, one in unused.items()
    }
    for text in done:
        shared: dict[str, list[float]] = {}
        for sign in {stem(word) for word in words(text)} & holders.keys():
            for key in holders[sign]:
                if key in unused:
                    is_name = sign in told[key].names and sign not in common
                    weight = (NAME if len(holders[sign]) == 1 else SHARED_NAME) if is_name else WORD
                    shared.setdefault(key, []).append(weight)
        for key, weights in shared.items():
            if max(weights) >= NAME or (sum(weights) >= ENOUGH and len(weights) >= least[key]):
                used.add(key)
                del unused[key]
        if not unused:
            break
    return used


def _common(database: Database, told: Iterable[Signs], done: Sequence[str]) -> set[str]:
    """Return the names and compounds in these texts that many turns of this project have."""
    whole = "\n".join(done).casefold()
    signs_found = {
        sign
        for signs_of_it in told
        for sign in (*signs_of_it.exact, *signs_of_it.names)
        if sign in whole
    }
    least = max(COMMON_TURNS, int(prompts.count_turns(database) * COMMON_SHARE))
    return {
        sign
        for sign in sorted(signs_found)[:MAX_ROWS]
        if prompts.count_turns_with(database, " ".join(words(sign)), least) >= least
    }


def _done(turn: Turn) -> Iterator[str]:
    """Yield the sentences of an answer, and the inputs of its tools line by line."""
    chars_left = MAX_CHARS
    for text in (turn.text, *(text for tool in turn.tools for text in _inputs(tool.input))):
        for line in text[:chars_left].replace(". ", "\n").split("\n"):
            if line.strip():
                yield line
        chars_left -= len(text)
        if chars_left <= 0:
            return


def _inputs(value: Any) -> Iterator[str]:
    """Yield the texts in the input of a tool, the beginning of long ones."""
    if isinstance(value, str):
        yield value[:MAX_INPUT_CHARS]
    elif isinstance(value, dict):
        for part in value.values():
            yield from _inputs(part)
    elif isinstance(value, list):
        for part in value[:MAX_ROWS]:
            yield from _inputs(part)


def _compounds(text: str) -> Iterator[str]:
    """Yield the paths, options, versions and quoted commands of a text, folded."""
    folded = text.casefold()
    for part in folded.split("`")[1::2]:
        if MIN_EXACT_CHARS <= len(part) <= MAX_INPUT_CHARS and " " in part:
            yield part
    for token in folded.split():
        token = token.strip(".,;:!?()[]{}\"'`“”‘’")
        if len(token) >= MIN_EXACT_CHARS and any(c in "/._:=@" for c in token[1:-1]):
            yield token


def _is_name(word: str) -> bool:
    """Return True for `utf8`, a long number, a technology or pattern that is no ordinary word."""
    key = name_key(word)
    if key in TECHNOLOGIES or key in PATTERNS:
        return word not in ORDINARY
    has_digit = any(map(str.isdigit, word))
    return _is_long_number(word) or (has_digit and any(map(str.isalpha, word)))


def _is_long_number(word: str) -> bool:
    """Return True for a number that is no amount and no year."""
    is_year = len(word) == 4 and word[:2] in ("19", "20")
    return word.isdigit() and len(word) > MIN_WORD_CHARS and not is_year


def _says_something(word: str) -> bool:
    if word in STOPWORDS or word in WEAK or (word.isdigit() and not _is_long_number(word)):
        return False
    return len(word) >= MIN_WORD_CHARS or not word.isascii()


def _texts(memory: Memory, ids: set[str]) -> dict[str, tuple[str, Sequence[str]]]:
    """Return text and names of these memories by their ledger ids, as far as they are known."""
    by_kind: dict[str, list[str]] = {}
    for id_ in ids:
        kind, _, name = id_.partition(":")
        by_kind.setdefault(kind, []).append(name)
    texts: dict[str, tuple[str, Sequence[str]]] = {}
    record_ids = by_kind.get("record", [])
    marks = ", ".join("?" * len(record_ids))
    for record in memory.find_records(f"id IN ({marks})", tuple(record_ids)) if record_ids else ():
        rejected = {name_key(name) for name in record.alternatives}
        names = [e.name for e in record.entities if e.type != "project"]
        names = [name for name in names if name_key(name) not in rejected]
        texts[f"record:{record.id}"] = (f"{record.what} {record.why}", names)
    turns = by_kind.get("episode", [])
    for uuid, text in prompts.texts_of_turns(memory.session_database(), turns):
        texts[f"episode:{uuid}"] = (text[:MAX_TURN_CHARS], ())
    for name in by_kind.get("graph", ()):
        # An observation is `NAME#ROW`; a whole entity or relation has its name for text.
        entity, _, number = name.rpartition("#")
        is_row = entity and number.isdigit()
        row = graph.observation(memory.databases(), entity, int(number)) if is_row else None
        other_text = entity if is_row else name
        texts[f"graph:{name}"] = (other_text, ()) if row is None else (row, (entity,))
    return texts
