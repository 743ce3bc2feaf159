"""Values that a sentence says were changed ("from 500 to 2,000 EUR"), and older ones of them."""

from __future__ import annotations

from memory_fabric.capture.closing.wording import content_stems, key_of
from memory_fabric.language.patterns import pattern
from memory_fabric.text import STOPWORDS, stem, words
from memory_fabric.values import Value

_NUMBER = r"\d(?:[\d.,_]*\d)?"
_UNIT = r"%|[A-Za-z€$£]+"
_SETTING = (
    r"\b(?:raised|lowered|reduced|extended|shortened|lengthened|bumped|cut|set|tightened|relaxed|"
    r"loosened|lifted|trimmed)\b|(?:^|\b(?:is|are|was|were|been|got|we|i|we've) )(?:now )?"
    r"(?:widened|increased|changed|grown|shrunk|doubled|halved|narrowed)\b"
)
# What is measured changes by itself.
_MEASURED = (
    r"\b(?:coverage|latency|throughput|usage|traffic|load|errors?|failures?|score|costs?)\b"
    r"(?! (?:limit|threshold|minimum|maximum|target|budget|retention))"
)
_CHANGED = (
    rf"\bfrom (?P<old>{_NUMBER})\s?(?P<unit>{_UNIT})?? (?:up |down )?to (?P<new>{_NUMBER})"
    rf"(?:\s?(?P<unit_now>{_UNIT}))?(?=$|[\s,;.)])"
)
_RAISED = (
    r"\b(?:raised?|bump(?:ed)?|upgraded?|lifted|lowered|updated|went up|moved up)\b[^.;]{0,80}?"
    r"\bto (?P<name>[A-Za-z][\w.+#-]*(?: [A-Z]\w*)?) v?(?P<version>\d[\w.]*)"
)
_VERSIONED = r"(?P<name>[A-Za-z][\w.+#-]*(?: [A-Z]\w*)?) v?(?P<version>\d[\w.]*)"
_SET_BEFORE = (
    r"(?::|\b(?:is|are|on|runs?|uses?|use|targets?|supports?|least|requires?|needs?|with|by|"
    r"minimum|min|pinned to|stays at)) (?:at least |the |an? )?$"
)
_THRESHOLD = (
    r"(?:above|over|below|under|beyond|within|than|up to|at most|at least|most|least|exceed\w*|"
    r"limit\w*(?: \w+)?|maximum|minimum|max|min|of) $"
)
# Nouns of settings; what they are of is the subject.
_SETTINGS = frozenset(
    map(
        stem,
        """window limit threshold size lifetime retention period timeout interval sampling rate
        cap ceiling quota budget minimum maximum min max number amount length duration version
        raise raised widen widened lower lowered increase increased reduce reduced extend extended
        shorten shortened cut grow grown went up down changed set bump bumped upgrade upgraded
        lift lifted updated deployment target double doubled halve tightened relaxed""".split(),
    )
)
_ENDS = ({"min", "minimum", "least"}, {"max", "maximum", "most"})


class Change(Value):
    """A changed value: `subject` are stems of what it is of; `old` with `unit` is the number left.

    For a version `name` is the key of what has it and `new` the version now. `ends` tells a minimum
    (0) or a maximum (1).
    """

    subject: frozenset[str] = frozenset()
    old: str = ""
    unit: str = ""
    name: str = ""
    new: str = ""
    ends: frozenset[int] = frozenset()


def change(clause: str) -> Change | None:
    """The change that a clause speaks of, if it is one that somebody made."""
    if not any(c.isdigit() for c in clause):  # spares a hook the expressions
        return None
    number = pattern(_CHANGED).search(clause)
    if number and pattern(_SETTING).search(clause) and not pattern(_MEASURED).search(clause):
        unit = number["unit"] or number["unit_now"] or ""
        about = clause[: number.start()] + " " + clause[number.end() :]
        subject = content_stems(about) - _SETTINGS
        return Change(subject, _plain(number["old"]), _unit(unit), "", "", _ends(clause))
    raised = pattern(_RAISED).search(clause)
    if not raised:
        return None
    about = clause[: raised.start("name")] + " " + _weighed(clause[raised.end() :])
    name = raised["name"]
    subject = content_stems(pattern(_VERSIONED, 0).sub(" ", about)) - _SETTINGS - _stems(name)
    return Change(subject, name=key_of(name), new=raised["version"], ends=_ends(clause))


def holds_old_value(text: str, changed: Change) -> bool:
    """Whether a sentence asserts the very value that was left, of the same thing."""
    if pattern(r"\b(?:not|never|no longer)\b|n't\b").search(text):
        return False
    if changed.name:
        return _holds_version(text, changed)
    numbers = list(pattern(rf"(?P<n>{_NUMBER})\s?(?P<unit>{_UNIT})?").finditer(text))
    at = [m for m in numbers if _plain(m["n"]) == changed.old and _unit(m["unit"]) == changed.unit]
    if len(at) != 1 or len(numbers) > 2 or not changed.unit:
        return False
    if _disagree(changed.ends, _ends(text)):
        return False
    if not changed.subject:
        return bool(pattern(_THRESHOLD).search(text[: at[0].start()]))
    return changed.subject <= content_stems(text)


def _holds_version(text: str, changed: Change) -> bool:
    for match in pattern(_VERSIONED).finditer(text):
        if key_of(match["name"].split()[-1]) != changed.name and key_of(match["name"]) != (
            changed.name
        ):
            continue
        start = match.start("version") - len(match["name"].split()[-1]) - 1
        before = text[:start]
        if before and not pattern(_SET_BEFORE).search(before):
            continue
        if f"{changed.new}.".startswith(f"{match['version']}."):
            continue
        if not before and len(text) > match.end() + 12:
            continue
        about = content_stems(before + text[match.end() :]) - _SETTINGS
        if changed.ends == _ends(text) and changed.subject <= about:
            return True
    return False


def _weighed(tail: str) -> str:
    """What is behind counts up to the next clause; a weak word there says: not all."""
    tail = pattern(r"[,;]|\.\s", 0).split(tail)[0]
    return tail if content_stems(tail) or not set(words(tail)) - STOPWORDS else f"{tail} elsewhere"


def _stems(name: str) -> frozenset[str]:
    return frozenset(map(stem, words(name)))


def _plain(number: str) -> str:
    return number.replace(",", "").replace("_", "")


def _unit(unit: str | None) -> str:
    return stem((unit or "").lower())


def _ends(text: str) -> frozenset[int]:
    told = set(words(text))
    return frozenset(i for i, ends in enumerate(_ENDS) if ends & told)


def _disagree(one: frozenset[int], other: frozenset[int]) -> bool:
    return bool(one and other and not one & other)
