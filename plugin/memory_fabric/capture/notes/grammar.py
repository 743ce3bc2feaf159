"""Notes in the assistant's text: `Noted rule: … Why: … From: "…"` and `Dropped: …`. A note is one
whole line outside code blocks. The next line belongs to the note if it begins with a field's name,
if it completes the quotation after `From:`, or if it is indented more deeply and the sentence has
not ended yet. Empty lines, other notes, list items, headings and code blocks end a note, so that it
contains no other prose. A note of over MAX_NOTE_CHARS is rejected, because a cut could change its
meaning. A note of over MAX_LINE_CHARS is not even parsed, so that parsing takes linear time.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from memory_fabric.models import NOTE_KINDS
from memory_fabric.patterns import pattern
from memory_fabric.rules.bindings import with_first
from memory_fabric.text import INJECTED_TAGS, neutralised, one_line

# The maximum length of a note without its quotation, and with its quotation.
MAX_NOTE_CHARS, MAX_LINE_CHARS = 600, 1000
MAX_CHARS = 1 << 20  # the maximum length of an assistant's text that is read
# The maximum number of lines of a note.
MAX_LINES = 6
# Values of `For:` that mean all of the user's projects.
_EVERYWHERE = frozenset(
    ("everywhere", "me", "all", "every project", "all projects", "all my projects")
)
# Sentences that mean that there is nothing to note.
_NOTHING = frozenset(("none", "nothing", "n/a", "na", "no", "null", "tbd"))
_MARKS = "*_`"
_M = r"[*_`]{0,6}"
# Bullets, headings and emphasis that may precede a label; struck-through notes do not match.
_LEAD = (
    r"(?:[\s>#+*_`\-=•·‣◦▪●○–—\u2190-\u2bff\ufe0f\U0001f300-\U0001faff]"
    r"|\d{1,3}[.)](?=\s)|\[[ xX]\](?=\s)){0,80}"
)
_LABEL = (
    rf"(?P<lead>{_LEAD})"
    rf"(?:noted(?P<middle>{_M})[ \t\u00a0]{{1,4}}{_M}(?P<kind>[^\W\d_]{{1,24}})|dropped)"
    rf"(?P<inside>{_M})[ \t\u00a0]{{0,2}}[:：](?P<after>{_M})"
)
_NOTE_ID = r"[0-9a-f]{8}[0-9a-f-]{0,28}"
_FIELD = (
    rf"{_M}(?<![^\W_])(?P<field>(?-i:W)hy|(?-i:I)nstead of|(?-i:W)hen|(?-i:F)or|(?-i:F)rom"
    rf"|(?-i:A)lso|(?-i:F)irst){_M}[:：]{_M}"
)
_FIELD_LINE = rf"\s{{0,60}}(?:[>*+•‣◦–—\-]|[ \t]){{0,20}}{_FIELD}"
# Quotations and code inside a sentence; field names inside them do not begin a field.
_SPANS = (
    r"(?<![^\s(（\[*_])\"(?=\S)[^\"]*\"|“[^”]*”|«[^»]*»|„[^“”]*[“”]|「[^」]*」|『[^』]*』"
    r"|(?<![^\s(（\[*_])'(?=\S)[^']*'(?!\w)|(?<![^\s(（\[*_])‘[^’]*’(?!\w)|`[^`]*`"
)
_OPEN_SPAN = r"“[^”\"]*\Z|«[^»]*\Z|„[^“”\"]*\Z|「[^」]*\Z|『[^』]*\Z|`[^`]*\Z"
_TOKEN = rf"(?P<span>{_SPANS})|{_FIELD}"
# Characters after which a field may begin; white space and emphasis may be in between.
_BOUNDARY = ".;!?…。；！？．｡।॥۔։።\"”“»«’'」』\n"
_CLOSINGS = {
    '"': '"”', "“": "”“\"", "„": "“”\"", "”": "”", "«": "»", "»": "«", "‹": "›", "「": "」",
    "『": "』", "'": "'’", "‘": "’'", "`": "`",
}  # fmt: skip
_CANDIDATE = rf"\[\s?({_NOTE_ID})\s?\]"
_ID = rf"\[?\s?({_NOTE_ID})\s?\]?"
# Punctuation, or a remark in parentheses, that may follow a quotation.
_AFTER_QUOTATION = r"(?:[\s.,;。；!?)*_`]|\([^()]{0,60}\)){0,20}"
_FENCE = r"(?P<fence>`{3,200}(?=[^`]{0,200}\Z)|~{3,200})"
_ITEM = r"\s{0,60}(?:[-*+•‣◦]\s|\d{1,3}[.)]\s|#{1,6}\s|`{3}|~{3}|\|)"


class Note(NamedTuple):
    """The fields of a note, without markdown."""

    kind: str
    text: str  # the sentence without the fields
    why: str = ""
    instead_of: str = ""  # the id or text of the replaced record
    when: str = ""  # with the value of `First:`, as in "npm publish, first npm test"
    also: str = ""
    everywhere: bool = False
    quotation: str = ""  # the text of `From:` without the outer quotation marks
    candidate: str = ""  # the id of `From: [id]`


class Parsed(NamedTuple):
    """The notes in a text, the values of `Dropped:` lines, and the sentences of overlong notes."""

    notes: tuple[Note, ...] = ()
    dropped: tuple[str, ...] = ()
    too_long: tuple[str, ...] = ()


def may_hold(text: str) -> bool:
    """Return False if a text certainly contains no note; a quick check before parsing."""
    folded = text.casefold()
    return "noted" in folded or "dropped" in folded


def parse(text: str) -> Parsed:
    """Parse the notes in an assistant's text, without duplicates. Ignore code blocks. Ignore notes
    that have an unknown kind or no sentence, or that contain a tag such as `<memory-fabric>`.
    """
    if not may_hold(text):
        return Parsed()
    notes: dict[Note, None] = {}
    dropped: dict[str, None] = {}
    too_long: dict[str, None] = {}
    for kind, body in _bodies(_shown(text[:MAX_CHARS])):
        note = _note(kind, body) if kind else None
        if not kind:
            dropped[_id_or_words(body)] = None
        elif note is not None and len(body) - len(note.quotation) > MAX_NOTE_CHARS:
            too_long[note.text] = None
        elif note is not None:
            notes[note] = None
    return Parsed(tuple(notes), tuple(dropped), tuple(too_long))


def without_notes(text: str) -> str:
    """Return the text without notes and without `Dropped:` lines."""
    if not may_hold(text):
        return text
    whole = text.splitlines()
    lines = _shown(text)
    prose, at = [], 0
    while at < len(lines):
        label = pattern(_LABEL).match(lines[at])
        if label:
            body = _body(lines[at], label)
            at += 1 + _continuation(lines[at], body, lines[at + 1 : at + 1 + MAX_LINES])
            while at < len(lines) and pattern(_FIELD_LINE).match(lines[at]):
                at += 1
        else:
            prose.append(whole[at])
            at += 1
    return "\n".join(prose)


def _shown(text: str) -> list[str]:
    """Return the text's lines, with code blocks and injected blocks replaced by empty lines."""
    visible: list[str] = []
    fences: list[tuple[str, int]] = []
    tag = ""
    for line in text.splitlines():
        bare = line.lstrip(" \t>")
        depth = line[: len(line) - len(bare)].count(">")
        if tag:
            tag = "" if f"</{tag}" in line.lower() else tag
            visible.append("")
            continue
        if fences and depth < fences[-1][1]:
            fences.clear()
        if _is_fence(bare, depth, fences) or fences:
            visible.append("")
            continue
        tag = next((tag for tag in INJECTED_TAGS if bare.lower().startswith(f"<{tag}")), "")
        visible.append("" if tag else line)
        tag = "" if f"</{tag}" in line.lower() else tag
    return visible


def _is_fence(bare: str, depth: int, fences: list[tuple[str, int]]) -> bool:
    """Return True if the line opens or closes a code block; update `fences` (marker, depth)."""
    if fences and depth != fences[-1][1]:
        return False
    item = pattern(r"(?:[-*+]|\d{1,3}[.)])\s{1,4}").match(bare)
    fence = pattern(_FENCE).match(bare, item.end() if item and not fences else 0)
    if not fence:
        return False
    marks, has_language = fence["fence"], bool(bare[fence.end() :].strip())
    # Models nest code blocks: a fence with a language, inside a block, opens another block.
    if not fences or (has_language and marks.startswith(fences[-1][0])):
        fences.append((marks, depth))
    elif marks.startswith(fences[-1][0]):
        fences.pop()
    return True


def _bodies(lines: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the kind of each valid note ("" for `Dropped:`), and the note's text."""
    at = 0
    while at < len(lines):
        line = lines[at]
        label = pattern(_LABEL).match(line)
        at += 1
        if not label:
            continue
        body = _body(line, label)
        while len(body) <= MAX_LINE_CHARS:
            more = _continuation(line, body, lines[at : at + MAX_LINES])
            if not more:
                break
            for following in lines[at : at + more]:
                marks = " \t>*+•‣◦–—-" if pattern(_FIELD_LINE).match(following) else " \t>"
                body += f"\n{following.lstrip(marks).rstrip()}"
            at += more
        kind = (label["kind"] or "").lower()
        is_readable = 0 < len(body) <= MAX_LINE_CHARS and any(map(str.isalnum, body))
        # Reject a note with a tag like `<memory-fabric>`: `neutralised` escapes it, adding a `‹`.
        is_safe = is_readable and neutralised(body).count("‹") == body.count("‹")
        if kind in ("", *NOTE_KINDS) and is_safe:
            yield kind, body


def _body(line: str, label: re.Match[str]) -> str:
    """Return the text after the label; emphasis (`**`) around the text or the line is removed."""
    lead, after = label["lead"], label["after"]
    closing = lead[len(lead.rstrip(_MARKS)) :][::-1]
    text = after + line[label.end() :].strip()
    if not closing or label["middle"] or label["inside"]:
        return text  # no emphasis, or emphasis of the label only
    return text.removeprefix(closing).lstrip() if after else text.removesuffix(closing).rstrip()


def _continuation(first: str, body: str, following: list[str]) -> int:
    """Return how many `following` lines belong to the note; `body` is its text so far."""
    line = following[0] if following else ""
    if not line.strip() or pattern(_LABEL).match(line):
        return 0
    if pattern(_FIELD_LINE).match(line):
        return 1
    quoted = _lines_to_close(body, following)
    if quoted or pattern(_ITEM).match(line.lstrip(">")):
        return quoted
    ends = body.rstrip(f"{_MARKS} \t)）]")[-1:]
    margins = [len(text) - len(text.lstrip(" \t>")) for text in (first, line)]
    return int(margins[1] >= margins[0] + 2 and not (ends and ends in _BOUNDARY))


def _lines_to_close(body: str, following: list[str]) -> int:
    """Return how many of the following lines complete the quotation after `From:`, or 0."""
    value = dict(_fields(body)).get("from", "")
    if value[:1] not in _CLOSINGS or _close(value) > 0:
        return 0
    for count, line in enumerate(following, 1):
        if not line.strip() or pattern(_LABEL).match(line):
            return 0
        value = f"{value}\n{line}"
        if len(value) > MAX_LINE_CHARS:
            return 0
        if _close(value) > 0:
            return count
    return 0


def _note(kind: str, body: str) -> Note | None:
    values: dict[str, str] = {}
    for name, value in _fields(body):
        values.setdefault(name, value)
    sentence = one_line(values.pop("", "")).rstrip(";； ")
    bare = sentence.rstrip(". ").lower()
    # A sentence with an unclosed quotation or code span is incomplete.
    is_open = pattern(_OPEN_SPAN).search(pattern(_SPANS).sub("", sentence))
    if not any(map(str.isalnum, bare)) or bare in _NOTHING or is_open:
        return None
    if bare.startswith("<") and bare.endswith(">"):
        return None  # a placeholder such as "<sentence with its subject>"
    quotation, candidate = source(values.get("from", ""))
    return Note(
        kind,
        sentence,
        why=_value(values.get("why", "")),
        instead_of=_id_or_words(values.get("instead of", "")),
        when=with_first(_value(values.get("when", "")), _value(values.get("first", ""))),
        also=_value(values.get("also", "")),
        everywhere=_unquoted(values.get("for", "")).lower() in _EVERYWHERE,
        quotation=quotation,
        candidate=candidate,
    )


def _fields(body: str) -> Iterator[tuple[str, str]]:
    """Yield ("", text before the first field), then the fields as (name, value), in order."""
    name, start, at = "", 0, 0
    names = set()
    tokens = pattern(_TOKEN)
    while True:
        if name == "from" and at == start:
            at += _close(body[start:]) + 1 if body[start : start + 1] in _CLOSINGS else 0
        token = tokens.search(body, at)
        if not token:
            yield name, body[start:].strip()
            return
        at = token.end()
        # A field follows a sentence's end or, inside another field, has a quoted value or an [id].
        before = body[: token.start()].rstrip(f" \t\u3000{_MARKS}")
        is_quoted = name and body[at:].lstrip()[:1] in ("[", *_CLOSINGS)
        if token["span"] or (before and before[-1] not in _BOUNDARY and not is_quoted):
            continue
        if token["field"].lower() == "first" and "when" not in names:
            continue
        yield name, body[start : token.start()].strip()
        name = token["field"].lower()
        names.add(name)
        start = at = len(body) - len(body[at:].lstrip(" \t\n\u3000*_"))


def _close(value: str) -> int:
    """Return the index in `value` where its opening quotation mark is closed, or 0 if nowhere."""
    closing = _CLOSINGS[value[0]]
    last = 0
    for at in range(1, len(value)):
        if value[at] in closing:
            skipped = pattern(_AFTER_QUOTATION).match(value, at + 1)
            end = skipped.end() if skipped else at + 1
            if end == len(value) or pattern(_FIELD).match(value, end):
                return at
            last = at if not value[at + 1 : at + 2].isalnum() else last
    return last


def source(value: str) -> tuple[str, str]:
    """Return a `From:` value as ("", id) or (quotation, ""); ("", "") for an unclosed quotation."""
    if candidate := pattern(_CANDIDATE).match(value):
        return "", candidate[1].lower()
    if value[:1] not in _CLOSINGS:
        return _value(value), ""
    end = _close(value)
    return (one_line(value[1:end]), "") if end else ("", "")


def _id_or_words(value: str) -> str:
    name = _unquoted(value)
    id_ = pattern(_ID).fullmatch(name)
    return id_[1].lower() if id_ else name


def _value(text: str) -> str:
    return one_line(text).rstrip(".;。； ")


def _unquoted(text: str) -> str:
    text = _value(text)
    if len(text) > 1 and text[0] in _CLOSINGS and text[-1] in _CLOSINGS[text[0]]:
        inner = text[1:-1]
        if not any(c in inner for c in _CLOSINGS[text[0]]):
            return _value(inner)
    return text
