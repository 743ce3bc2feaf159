"""The form of a memory page: a project's memories as Markdown that a person reads and edits.

Headings by kind; one item each: its text, its reason, one line on when, who and state, and its id
in a comment. A comment at the end holds what is not visible (one JSON object per line), and sums by
which an edited text is known. Text stands in the page once.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from memory_fabric.store.signing import ListSignature

MARK = "<!-- memory-fabric page 1 "
DATA = "<!-- memory-fabric data"
ENTITIES, RELATIONS = "Entities", "Relations"
# Headings by type of record, in the order of the page.
HEADINGS = {
    "constraint": "Rules",
    "preference": "Preferences",
    "decision": "Decisions",
    "note": "Facts",
    "solution": "Fixes",
    "pattern": "Patterns",
    "antipattern": "Antipatterns",
    "problem": "Problems",
    "blocker": "Blockers",
    "question": "Open points",
    "session": "Sessions",
}
TYPES = {heading: kind for kind, heading in HEADINGS.items()}
WHY = "*Why:* "
# Signs that would begin another block of Markdown, or a line of the page's own, at a line's start.
_AT_START = "#-+*>|=~`\\\t"
_ENTITIES_OUT = (("&", "&amp;"), ("<", "&lt;"), ("\r", "&#13;"))


class Item(NamedTuple):
    """An item as it stands in a page: its text, its reason, its id ('' if a person added it)."""

    heading: str
    what: str
    why: str = ""
    id: str = ""


class Found(NamedTuple):
    """A page that was read: its head, its items, the lines of its data, and its own signature."""

    head: str
    items: tuple[Item, ...]
    data: tuple[Mapping[str, Any], ...]
    signature: str = ""
    torn: int = 0


def digest(text: str) -> str:
    """Return the sum by which a text is known again."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def item_lines(what: str, why: str, about: str, id_: str, indent: str = "") -> list[str]:
    """Return the lines of an item; `about` is one line on when, who and state."""
    within = indent + "  "
    first, *rest = _escaped(what)
    lines = [f"{indent}- {first}", *(_indented(line, within) for line in rest)]
    if why:
        first, *rest = _escaped(why)
        lines += [f"{within}{WHY}{first}", *(_indented(line, within) for line in rest)]
    if about:
        return [*lines, f"{within}*{inline(about)}* <!-- {id_} -->"]
    return [*lines, f"{within}<!-- {id_} -->"]


def data_lines(rows: Iterable[Mapping[str, Any]], sign: ListSignature) -> Iterator[str]:
    """Yield the comment at the end of a page, one line for each row and the signature of all."""
    yield DATA
    for row in rows:
        sign.add(row)
        yield _json(row)
    yield _json({"signature": sign.close()})
    yield "-->"


def inline(text: str) -> str:
    """Return a text for within a line: no sign in it ends the line, a comment or the emphasis."""
    for sign, shown in (*_ENTITIES_OUT, ("*", "&#42;"), ("\n", " ")):
        text = text.replace(sign, shown)
    return text


def is_page(head: str) -> bool:
    """Return True if a text begins as a page does."""
    return head.startswith(MARK)


def read(text: str) -> Found:
    """Read a page, also one that was edited by hand. Lines of data that are torn are counted."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    end = next((at for at in reversed(range(len(lines))) if lines[at] == DATA), len(lines))
    data: list[Mapping[str, Any]] = []
    signature, torn = "", 0
    for line in lines[end + 1 :]:
        if line == "-->":
            break
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        if not isinstance(row, dict):
            torn += bool(line.strip())
        elif "signature" in row:
            signature = str(row["signature"])
        else:
            data.append(row)
    head = lines[0].removeprefix(MARK).removesuffix("-->").strip()
    return Found(head, tuple(_items(lines[1:end])), tuple(data), signature, torn)


def _items(lines: Sequence[str]) -> Iterator[Item]:
    heading, at = "", 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if line.startswith("## "):
            heading = line[3:].strip()
        if not _begins_item(line.lstrip(" ")):
            continue
        indent = " " * (len(line) - len(line.lstrip(" ")))
        within = indent + "  "
        what, why, held, id_ = [line[len(within) :]], [], None, ""
        held = what
        while at < len(lines):
            line = lines[at]
            inner = line.removeprefix(within) if line.startswith(within) else line.lstrip(" ")
            found = _id_in(inner)
            if found:
                id_ = found
                at += 1
                break
            if _ends_item(line, indent):
                break
            at += 1
            # An editor strips the space behind it where the reason begins with an empty line.
            if f"{inner} ".startswith(WHY) and held is what:
                why = [inner[len(WHY) :]]
                held = why
            else:
                held.append(inner)
        while held and not id_ and not held[-1].strip():
            held.pop()
        yield Item(heading, _plain(what), _plain(why), id_)


def _begins_item(bare: str) -> bool:
    """Return True for the first line of an item; an editor strips the space of an empty one."""
    return bare == "-" or bare.startswith("- ")


def _ends_item(line: str, indent: str) -> bool:
    """Return True for a line behind an item that has no line of its own at its end."""
    if line.startswith(("# ", "## ")):
        return True
    bare = line.lstrip(" ")
    return _begins_item(bare) or (bool(bare) and len(line) - len(bare) <= len(indent))


def _id_in(line: str) -> str:
    """Return the id in the last line of an item; '' for any other line."""
    head, sign, tail = line.rstrip().rpartition("<!-- ")
    if not sign or not tail.endswith(" -->"):
        return ""
    about = head.rstrip()
    is_own = not about or (about.startswith("*") and about.endswith("*"))
    return tail.removesuffix(" -->").strip() if is_own else ""


def _escaped(text: str) -> list[str]:
    """Return the lines of a text so that each stays what it is in Markdown and in `read`."""
    for sign, shown in _ENTITIES_OUT:
        text = text.replace(sign, shown)
    return [_escaped_line(line) for line in text.split("\n")]


def _escaped_line(line: str) -> str:
    number, rest = _numbered(line)
    if line[:1] and line[0] in _AT_START:
        line = "\\" + line
    elif number and rest.lstrip("\\").startswith("."):
        line = f"{number}\\{rest}"
    elif line[:1] == " ":
        line = "&#32;" + line[1:]
    return line[:-1] + "&#32;" if line.endswith(" ") else line


def _indented(line: str, within: str) -> str:
    return within + line if line else ""


def _plain(lines: Sequence[str]) -> str:
    """Return the text of escaped lines."""
    return _decoded("\n".join(map(_plain_line, lines)))


def _plain_line(line: str) -> str:
    # An editor strips spaces at the end; those of the text are written as `&#32;`.
    line = line.rstrip(" ")
    if line[:1] == "\\" and line[1:2] and line[1] in _AT_START:
        return line[1:]
    number, rest = _numbered(line)
    is_escaped = number and rest[:1] == "\\" and rest.lstrip("\\").startswith(".")
    return f"{number}{rest[1:]}" if is_escaped else line


def _numbered(line: str) -> tuple[str, str]:
    """Return the digits at the beginning of a line, and the rest."""
    rest = line.lstrip("0123456789")
    return line[: len(line) - len(rest)], rest


def _decoded(text: str) -> str:
    for sign, shown in ((" ", "&#32;"), *reversed(_ENTITIES_OUT)):
        text = text.replace(shown, sign)
    return text


def _json(row: Mapping[str, Any]) -> str:
    text = json.dumps(row, ensure_ascii=False)
    for sign in ("<", ">", "\u2028", "\u2029", "\x85"):
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text
