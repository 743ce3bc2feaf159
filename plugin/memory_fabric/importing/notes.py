"""Readers of memories that other programs store as Markdown: Claude Code, Codex, basic-memory.

- Claude Code: its auto memory is a folder `<config>/projects/<slug>/memory/` with topic files and
  their index MEMORY.md. A topic file's frontmatter has `name`, `description` and `type` (or
  `metadata.type`: user, feedback, project, reference); its body has `**Why:**` and
  `**How to apply:**`. Older files are plain Markdown. Index lines that link to a file are ignored.
- Codex: MEMORY.md in the folder `memories` of CODEX_HOME. It consists of blocks, each with its
  sessions (`cwd=…, updated_at=…`) and bullets (codex-rs/core/src/memories).
- basic-memory: notes with `- [category] text #tag (context)` and `- relation_type [[Target]]
  (context)`, as specified in NOTE-FORMAT.md of github.com/basicmachines-co/basic-memory. A note
  becomes an entity. Each observation, paragraph or other bullet becomes a record about the entity.
"""

import os
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

from memory_fabric.capture.statement import stated_type
from memory_fabric.errors import BadInput
from memory_fabric.importing import items, markdown
from memory_fabric.importing.items import Here, Item, Left, Text
from memory_fabric.models import STATED_TYPES, TYPE_ALIASES, Entity, Relation
from memory_fabric.store.tiers import memory_md
from memory_fabric.text import words

# To recognise a source, at most LOOKED_AT files of a folder and HEAD_CHARS of a text are parsed.
LOOKED_AT, HEAD_CHARS = 40, 64 << 10
MAIN, ENDINGS = "MEMORY.md", (".md",)
TYPES = {"feedback": "constraint", "user": "preference", "project": "note", "reference": "note"}
POINTERS = "lines of MEMORY.md that only point to a file"
WHY, HOW = "Why:", "How to apply:"
RAW, SUMMARIES = "raw_memories.md", "rollout_summaries"
SIGNS = (RAW, "memory_summary.md", SUMMARIES)
SESSIONS = "rollout_summary_files"
# Headings of sections with pointers and search terms instead of memories.
SEARCH_HEADINGS = (SESSIONS, "keywords", "rollout summary files")
# Maps basic-memory's categories of observations to record types that have another name.
CATEGORIES = {"choice": "decision", "todo": "question", "lesson": "pattern"}
CATEGORIES |= dict.fromkeys(("requirement", "convention"), "constraint")
CATEGORIES |= dict.fromkeys(("problem", "issue", "bug"), "problem")
# An observation of basic-memory: its category, text and context.
_OBSERVATION = re.compile(r"\[([^\[]{1,40}?)\] (.*?)(?: \(([^()]*)\))?", re.DOTALL)
NOTE_ENDINGS = (".md", ".markdown")
TIMES = ("updated", "modified", "updated_at", "date", "created", "created_at")


def time_of(value: Any) -> str:
    """Convert an ISO 8601 time or seconds since 1970 to ISO 8601 in UTC; '' for any other value."""
    try:
        if isinstance(value, str):
            at = datetime.fromisoformat(value.strip())
        elif isinstance(value, int | float) and value > 0:
            at = datetime.fromtimestamp(value, UTC)
        else:
            return ""
        at = at if at.tzinfo else at.replace(tzinfo=UTC)
        return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except (ValueError, OverflowError, OSError):
        return ""


def has_one(path: str, endings: tuple[str, ...], test: Callable[[str], bool]) -> bool:
    """Return True if at least one of the first LOOKED_AT files below a folder passes a test."""
    names = items.names_below(os.path.realpath(path), endings)[:LOOKED_AT]  # [] for a file
    texts = (items.read_one(path, name, Left()) for name in names)
    return any(text is not None and test(text.text) for text in texts)


def _headed(block: markdown.Block, *unsaid: str) -> str:
    statement = markdown.plain(block.text)
    return statement if block.heading in ("", *unsaid) else f"{block.heading}: {statement}"


def is_topic(text: str) -> bool:
    """Return True if a text has the frontmatter of one of Claude Code's topic files."""
    head, _ = markdown.frontmatter(text[: 8 << 10].split("\n"))
    return bool(head.get("name")) and _topic_type(head) in TYPES


def _topic_type(head: dict[str, str]) -> str:
    return head.get("type") or head.get("metadata.type") or ""


def is_auto_memory(path: str) -> bool:
    """Return True if a folder is Claude Code's auto memory, judging by its path or topic files."""
    real = os.path.realpath(path)
    above = os.path.basename(os.path.dirname(os.path.dirname(real)))
    if os.path.basename(real) == "memory" and above == "projects":
        return bool(items.names_below(real, ENDINGS))
    return has_one(real, ENDINGS, is_topic)


def read_auto_memory(path: str, here: Here, left: Left) -> Iterator[Item]:
    """Yield the statements in Claude Code's auto memory folder, or in a single file of it."""
    for text in items.read_at(path, ENDINGS, left):
        if text.name != MAIN and is_topic(text.text):
            yield _topic(text)
            continue
        contents = text.text
        if text.name == MAIN:
            parts = memory_md.parse(text.text)
            contents = parts.before + "\n" + parts.after
        for block in markdown.parse(contents).blocks:
            if text.name == MAIN and ".md)" in block.text:
                left.add(POINTERS, block.text)
                continue
            statement = _headed(block)
            kind = stated_type(markdown.plain(block.text))
            item = Item(statement, f"{text.name}\n{statement}", kind, at=text.changed_at)
            yield item._replace(place=text.name, line=block.line)


def _topic(text: Text) -> Item:
    page = markdown.parse(text.text)
    head = page.head
    texts: dict[str, list[str]] = {"": [], WHY: [], HOW: []}
    for block in page.blocks:
        part = ""
        for line in block.lines:
            plain = markdown.plain(line)
            part = next((name for name in (WHY, HOW) if plain.startswith(name)), part)
            texts[part].append(plain.removeprefix(part).strip())
    statement, why, how = (" ".join(texts[part]) for part in ("", WHY, HOW))
    statement = statement or head.get("description", "")
    statement = f"{statement} {HOW} {how}" if how else statement
    kind, about = _topic_type(head), f"{head.get('name', '')} {head.get('description', '')}"
    item = Item(statement, f"{text.name}\n{statement}", TYPES[kind], why, text.changed_at)
    return item._replace(category=kind, also=about, place=text.name)


def read_codex(path: str, here: Here, left: Left) -> Iterator[Item]:
    """Yield the statements in Codex's folder `memories` or its MEMORY.md. Raises BadInput."""
    is_folder = os.path.isdir(path)
    root, name = (path, MAIN) if is_folder else os.path.split(os.path.realpath(path))
    if not os.path.exists(os.path.join(root, name)):
        remedy = "Codex writes it when its memories are on; memory-fabric learn reads the sessions."
        raise BadInput("PATH", f"{path} has no {MAIN}.", remedy=remedy)
    material = [RAW] if os.path.exists(os.path.join(root, RAW)) else []
    material += items.names_below(os.path.join(root, SUMMARIES), ENDINGS)
    if is_folder and material:
        reason = "what MEMORY.md was made of (raw memories, summaries of sessions)"
        left.add(reason, material[0], len(material))
    if (main := items.read_one(root, name, left)) is None:
        return
    for folders, at, text, first in _groups(main.text.split("\n")):
        project = next((folder for folder in folders if here.is_stated(folder)), "")
        page = markdown.parse(text)
        about = filter(None, (page.head.get("description"), page.head.get("keywords")))
        item = Item("", "", at=at or main.changed_at, place=main.name, also=" ".join(about))
        item = item._replace(project=project or next(iter(folders), ""))
        for block in page.blocks:
            if not block.is_bullet or block.heading.casefold() in SEARCH_HEADINGS:
                continue
            what, is_liking = markdown.plain(block.text), "preference" in block.heading.casefold()
            if here.whole or project:
                kind = "preference" if is_liking else stated_type(what)
                item = item._replace(what=what, key=what, type=kind, category=block.heading)
                yield item._replace(line=first + block.line)
            else:
                left.add(items.ELSEWHERE if folders else items.UNSTATED, what)


def _groups(lines: list[str]) -> Iterator[tuple[list[str], str, str, int]]:
    """Yield (folders, last update, text, index of the first line) for each block of MEMORY.md. A
    block begins with frontmatter or with a top-level heading.
    """
    starts, is_inside, is_headed = [], False, False
    for at, line in enumerate(lines):
        if line.rstrip() == "---":
            behind = lines[at + 1 : at + 4]
            if not is_inside and any(SESSIONS in x or x.startswith("description:") for x in behind):
                starts.append(at)
                is_inside = True
            else:
                # A heading directly after the frontmatter does not begin another block.
                is_headed, is_inside = is_inside, False
        elif line.startswith("# ") and not is_inside and not is_headed:
            starts.append(at)
        if line.strip() and line.rstrip() != "---":
            is_headed = False
    starts = starts or [0]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        folders, times = [], []
        text = "\n".join(lines[start:end])
        # A block lists sessions as `cwd=…, updated_at=…`, separated by any of these characters.
        for part in text.translate(str.maketrans("();\n", ",,,,")).split(","):
            name, _, value = part.strip().partition("=")
            if name.split(" ")[-1] == "cwd" and value.strip():
                folders.append(value.strip())
            elif name == "updated_at":
                times.append(time_of(value))
        yield list(dict.fromkeys(folders)), max(times, default=""), text, start


def is_note(text: str) -> bool:
    """Return True for a basic-memory note: it has a permalink, or observations and relations."""
    page = markdown.parse(text[:HEAD_CHARS])
    if "permalink" in page.head:
        return True
    observed = any(_observation(block) for block in page.blocks)
    return observed and any(_relation(block) for block in page.blocks)


def read_notes(path: str, here: Here, left: Left) -> Iterator[Item | Relation]:
    """Yield the statements and relations in a folder of basic-memory notes, or in one note."""
    for text in items.read_at(path, NOTE_ENDINGS, left):
        page = markdown.parse(text.text)
        if page.head.get("type") == "schema":
            left.add("definitions of schemas", text.name)
            continue
        stem = os.path.splitext(os.path.basename(text.name))[0]
        title = page.head.get("title") or page.title or stem
        stated = next((at for name in TIMES if (at := time_of(page.head.get(name)))), "")
        kind = page.head.get("type") or page.head.get("entity_type") or "note"
        about = page.head.get("permalink") or text.name
        item = Item("", "", at=stated or text.changed_at, place=text.name)
        item = item._replace(entities=(Entity(title, kind),))
        for block in page.blocks:
            if related := _relation(block):
                yield Relation(title, *related)
                continue
            category, statement, context = _observation(block) or ("", "", "")
            name = category.casefold()
            name = CATEGORIES.get(name) or TYPE_ALIASES.get(name) or name
            if not category:
                statement = _headed(block, title, "Observations", "Relations")
            yield item._replace(
                what=statement,
                key=f"{about}\n{category}\n{statement}",
                type=name if name in STATED_TYPES else "note",
                category=category,
                also=" ".join(filter(None, (context, page.head.get("tags", "")))),
                line=block.line,
            )


def _observation(block: markdown.Block) -> tuple[str, str, str] | None:
    found = _OBSERVATION.fullmatch(block.text) if block.is_bullet else None
    if found is None or not found[1].strip():
        return None
    return found[1].strip(), markdown.plain(found[2]), found[3] or ""


def _relation(block: markdown.Block) -> tuple[str, str] | None:
    kind, _, behind_kind = block.text.partition("[[")
    target, end, behind = behind_kind.partition("]]")
    kind, behind = kind.strip().strip('"'), behind.strip()
    is_link = block.is_bullet and bool(end and target.strip()) and not kind.startswith("[")
    is_alone = not behind or behind.startswith(("(", "<!--", "#"))
    if not (is_link and is_alone and len(words(kind)) <= 3):
        return None
    return kind or "relates_to", target.split("|")[0].strip()
