"""Claude Code's auto memory: topic files beside MEMORY.md in `<config>/projects/<slug>/memory/`.

A topic file has a frontmatter with `name`, `description` and `type` (or `metadata.type`): user,
feedback, project, reference. Its body may state `**Why:**` and `**How to apply:**`. Older ones are
plain Markdown. MEMORY.md itself is their index; lines in it that point to no file are read, too.
"""

import os
from collections.abc import Iterator

from memory_fabric.capture.confidence import NOTE
from memory_fabric.capture.statement import stated_type
from memory_fabric.importing import folders, markdown
from memory_fabric.importing.folders import Text
from memory_fabric.importing.items import MAX_WHAT_CHARS, Here, Item, Left, Reading
from memory_fabric.importing.markdown import Page
from memory_fabric.store.tiers import memory_md
from memory_fabric.text import cut

MAIN = "MEMORY.md"
ENDINGS = (".md",)
TYPES = {"feedback": "constraint", "user": "preference", "project": "note", "reference": "note"}
POINTERS = "lines of MEMORY.md that only point to a file"
WHY, HOW = "Why:", "How to apply:"


def is_topic(text: str) -> bool:
    """Return True if a Markdown text has the frontmatter of a topic file."""
    head, _ = markdown.frontmatter(text[: 8 << 10].split("\n"))
    kind = head.get("type") or head.get("metadata.type") or ""
    return bool(head.get("name") and kind in TYPES)


def is_folder(path: str) -> bool:
    """Return True for the folder `memory` of one of the client's projects."""
    real = os.path.realpath(path)
    above = os.path.basename(os.path.dirname(os.path.dirname(real)))
    is_own = os.path.basename(real) == "memory" and above == "projects"
    names = folders.names_below(real, ENDINGS)[:40] if os.path.isdir(real) else []
    if is_own:
        return bool(names)
    texts = (folders.read_one(real, name, Left()) for name in names)
    return any(one is not None and is_topic(one.text) for one in texts)


def read(path: str, here: Here) -> Reading:
    """Read the folder, or one topic file. Raises OSError."""
    left = Left()
    root, texts = folders.read_at(path, ENDINGS, left)
    items: list[Item] = []
    for text in texts:
        items += _index(text, left) if text.name == MAIN else _topic(text)
    return Reading(
        tuple(items), left=left.all, files=tuple(os.path.join(root, t.name) for t in texts)
    )


def _index(text: Text, left: Left) -> Iterator[Item]:
    parts = memory_md.parse(text.text)
    for block in markdown.parse(parts.before + "\n" + parts.after).blocks:
        if ".md)" in block.text:
            left.add(POINTERS, block.text)
            continue
        what = markdown.plain(block.text)
        headed = f"{block.heading}: {what}" if block.heading else what
        yield _item(text, headed, stated_type(what), line=block.line)


def _topic(text: Text) -> Iterator[Item]:
    page = markdown.parse(text.text)
    kind = page.head.get("type") or page.head.get("metadata.type") or ""
    if not is_topic(text.text):
        for block in page.blocks:
            what = markdown.plain(block.text)
            headed = f"{block.heading}: {what}" if block.heading else what
            yield _item(text, headed, stated_type(what), line=block.line)
        return
    what, why, how = _parts(page)
    what = what or page.head.get("description", "")
    if how:
        what = f"{what} {HOW} {how}"
    yield _item(
        text,
        what,
        TYPES[kind],
        why=why,
        category=kind,
        also=" ".join((page.head.get("name", ""), page.head.get("description", ""))),
    )


def _parts(page: Page) -> tuple[str, str, str]:
    """Return what a topic file says, why, and how to apply it."""
    said: dict[str, list[str]] = {"": [], WHY: [], HOW: []}
    for block in page.blocks:
        part = ""
        for line in block.lines:
            text = markdown.plain(line)
            part = next((name for name in (WHY, HOW) if text.startswith(name)), part)
            said[part].append(text.removeprefix(part).strip())
    what, why, how = (" ".join(said[part]) for part in ("", WHY, HOW))
    return what, why, how


def _item(
    text: Text,
    what: str,
    kind: str,
    *,
    why: str = "",
    category: str = "",
    also: str = "",
    line: int = 0,
) -> Item:
    return Item(
        what=cut(what, MAX_WHAT_CHARS),
        key=f"{text.name}\n{what}",
        type=kind,
        why=why,
        at=text.changed_at,
        category=category,
        also=also,
        place=text.name,
        line=line,
        confidence=NOTE,
    )
