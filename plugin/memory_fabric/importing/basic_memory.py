"""Folders of basic-memory: Markdown notes with observations and relations.

`- [category] text #tag (context)` and `- relation_type [[Target]] (context)`, as NOTE-FORMAT.md in
github.com/basicmachines-co/basic-memory says. A note is an entity; each observation is a record of
it. Other text of a note becomes one record for each paragraph or bullet.
"""

import os
from collections.abc import Iterator

from memory_fabric.capture.confidence import NOTE
from memory_fabric.importing import folders, markdown
from memory_fabric.importing.folders import Text
from memory_fabric.importing.items import MAX_WHAT_CHARS, Here, Item, Left, Reading
from memory_fabric.importing.markdown import Block, Page
from memory_fabric.importing.mem0 import time_of
from memory_fabric.models import RECORD_TYPES, TYPE_ALIASES, Entity, Relation
from memory_fabric.text import cut, words

ENDINGS = (".md", ".markdown")
# Categories of observations that mean a type of record under another name.
CATEGORIES = {
    "problem": "problem",
    "issue": "problem",
    "bug": "problem",
    "requirement": "constraint",
    "convention": "constraint",
    "choice": "decision",
    "todo": "question",
    "lesson": "pattern",
}
SCHEMAS = "definitions of schemas"
MAX_CATEGORY_CHARS = 40
TIMES = ("updated", "modified", "updated_at", "date", "created", "created_at")


def is_note(text: str) -> bool:
    """Return True if a Markdown text has this form: a permalink, or observations with relations."""
    page = markdown.parse(text[: 64 << 10])
    if "permalink" in page.head:
        return True
    observed = any(_observation(block) for block in page.blocks)
    return bool(observed and any(_relation(block) for block in page.blocks))


def is_folder(path: str) -> bool:
    """Return True if one of the first notes below a folder has this form."""
    left = Left()
    names = folders.names_below(os.path.realpath(path), ENDINGS)[:40]
    texts = (folders.read_one(path, name, left) for name in names)
    return any(one is not None and is_note(one.text) for one in texts)


def read(path: str, here: Here) -> Reading:
    """Read a folder, or one note. Raises OSError."""
    left = Left()
    root, texts = folders.read_at(path, ENDINGS, left)
    items: list[Item] = []
    relations: list[Relation] = []
    for text in texts:
        page = markdown.parse(text.text)
        if page.head.get("type") == "schema":
            left.add(SCHEMAS, text.name)
            continue
        stem = os.path.splitext(os.path.basename(text.name))[0]
        title = page.head.get("title") or page.title or stem
        items += _items(page, text, title)
        relations += _relations(page, title)
    names = tuple(os.path.join(root, text.name) for text in texts)
    return Reading(tuple(items), tuple(dict.fromkeys(relations)), left.all, names)


def _items(page: Page, text: Text, title: str) -> Iterator[Item]:
    stated = next((at for name in TIMES if (at := time_of(page.head.get(name)))), "")
    kind = page.head.get("type") or page.head.get("entity_type") or "note"
    about = page.head.get("permalink") or text.name
    for block in page.blocks:
        if _relation(block):
            continue
        category, what, context = _observation(block) or ("", "", "")
        if not category:
            what = markdown.plain(block.text)
            headed = block.heading and block.heading not in (title, "Observations", "Relations")
            what = f"{block.heading}: {what}" if headed else what
        yield Item(
            what=cut(what, MAX_WHAT_CHARS),
            key=f"{about}\n{category}\n{what}",
            type=_type(category),
            at=stated or text.changed_at,
            category=category,
            also=" ".join(part for part in (context, page.head.get("tags", "")) if part),
            place=text.name,
            line=block.line,
            confidence=NOTE,
            entities=(Entity(title, kind),),
        )


def _type(category: str) -> str:
    name = category.casefold()
    name = TYPE_ALIASES.get(name) or CATEGORIES.get(name) or name
    return name if name in RECORD_TYPES - {"session"} else "note"


def _observation(block: Block) -> tuple[str, str, str] | None:
    """Return category, text and context of `- [category] text #tag (context)`."""
    text = block.text
    if not block.is_bullet or not text.startswith("["):
        return None
    category, bracket, rest = text[1:].partition("] ")
    if not bracket or not category.strip() or "[" in category or len(category) > MAX_CATEGORY_CHARS:
        return None
    rest, context = rest.strip(), ""
    if rest.endswith(")"):
        head, sign, tail = rest.rpartition(" (")
        if sign and ")" not in tail[:-1]:
            rest, context = head.strip(), tail[:-1]
    return category.strip(), markdown.plain(rest), context


def _relation(block: Block) -> tuple[str, str] | None:
    """Return type and target of `- relation_type [[Target]]`."""
    if not block.is_bullet or "[[" not in block.text:
        return None
    kind, _, rest = block.text.partition("[[")
    target, end, behind = rest.partition("]]")
    kind = kind.strip().strip('"')
    if not end or not target.strip() or len(words(kind)) > 3 or kind.startswith("["):
        return None
    if behind.strip() and not behind.strip().startswith(("(", "<!--", "#")):
        return None
    return kind or "relates_to", target.split("|")[0].strip()


def _relations(page: Page, title: str) -> Iterator[Relation]:
    for block in page.blocks:
        found = _relation(block)
        if found:
            yield Relation(title, found[0], found[1])
