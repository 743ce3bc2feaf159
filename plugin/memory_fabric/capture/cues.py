"""Words and patterns of statements ("from now on"), and a quick check of a prompt for these words.
It runs on every prompt, so this module does not import the modules that parse sentences.
"""

from functools import cache
from typing import NamedTuple

from memory_fabric.events import is_machine_text
from memory_fabric.language.word_lists import filled
from memory_fabric.patterns import pattern

# Only the beginning and the end of a long prompt are read, because the middle is mostly pasted.
HEAD_CHARS, TAIL_CHARS = 1600, 800
ENOUGH = 2.0  # a sentence is captured if the weights of its cues add up to this
NUMBERED = ("\n2. ", "\n2) ")
_MACHINE = (
    "caveat:", "[request interrupted", "/", "@agent", "base directory for this skill",
    "this session is being continued", "implement the following plan",
    "implement the plan as specified",
)  # fmt: skip


class Cue(NamedTuple):
    """A hint of a statement to store: one of `words`, and `expression` if any, must match."""

    kind: str
    weight: float
    words: tuple[str, ...]
    expression: str

    def is_in(self, lowered: str) -> bool:
        if not any(word in lowered for word in self.words):
            return False
        return not self.expression or pattern(self.expression).search(lowered) is not None


class Form(NamedTuple):
    """A kind of statement: how to recognise it (by `words` and `expressions`) and store it."""

    name: str
    words: tuple[str, ...]
    expressions: tuple[str, ...]
    type: str = "constraint"
    scope: str = "team"
    kind: str = ""  # the kind of a fact about a person, such as "identity"
    content_words: int = 1  # the minimum number of content words in the sentence
    first: bool = False  # match only the first sentence of a prompt


@cache
def cues() -> dict[str, tuple[Cue, ...]]:
    """Return the cues by language; cues under the key `against` lower a sentence's total weight."""
    tables: dict[str, tuple[Cue, ...]] = {}
    for name, rows in filled("cues").items():
        if name != "parts":
            tables[name] = tuple(
                Cue(kind, float(weight), tuple(words.split("|")), expression.removeprefix("-"))
                for kind, weight, words, expression in (row.split("\t") for row in rows)
            )
    return tables


@cache
def forms() -> tuple[Form, ...]:
    """Return the forms of statements, in the order in which they are tried."""
    table: list[Form] = []
    for row in filled("stated_forms")["forms"]:
        if not row.startswith("form\t"):
            table[-1] = table[-1]._replace(expressions=(*table[-1].expressions, row))
            continue
        _, name, type_, scope, kind, count, place, words = row.split("\t")
        gate, kind = tuple(words.split("|")), kind.removeprefix("-")
        table.append(Form(name, gate, (), type_, scope, kind, int(count), place == "first"))
    return tuple(table)


@cache
def _gate() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return (ASCII words, other words) of all forms, and of cues that alone reach ENOUGH."""
    listed = {word for form in forms() for word in form.words}
    for name, of_language in cues().items():
        if name != "against":
            listed.update(word for cue in of_language if cue.weight >= ENOUGH for word in cue.words)
    return tuple(filter(str.isascii, listed)), tuple(w for w in listed if not w.isascii())


def may_hear(prompt: str) -> bool:
    """Return False if a prompt certainly contains nothing to remember; takes less than 1 ms."""
    lowered = typed_ends(prompt).lower().replace("’", "'")
    if is_machine_text(lowered) or lowered.lstrip().startswith(_MACHINE):
        return False  # the client's own text, or a typed command
    in_ascii, in_other_scripts = _gate()
    if any(word in lowered for word in (*NUMBERED, *in_ascii)):
        return True
    return not lowered.isascii() and any(word in lowered for word in in_other_scripts)


def typed_ends(prompt: str) -> str:
    """Return a short prompt unchanged, but only the beginning and the end of a long prompt."""
    if len(prompt) <= HEAD_CHARS + TAIL_CHARS:
        return prompt
    return f"{prompt[:HEAD_CHARS]}\n\n{prompt[-TAIL_CHARS:]}"
