"""Codex's memories: the folder `memories` in CODEX_HOME, or its MEMORY.md.

Its files as codex-rs/core/src/memories and its templates describe them: MEMORY.md holds blocks,
each with the sessions that it comes from (`cwd=…, updated_at=…`) and bullets. raw_memories.md and
rollout_summaries/ are what it was made of, memory_summary.md is its index.
"""

import os
from collections.abc import Iterator
from typing import NamedTuple

from memory_fabric.capture.confidence import NOTE
from memory_fabric.capture.statement import stated_type
from memory_fabric.errors import BadInput
from memory_fabric.importing import folders, markdown
from memory_fabric.importing.items import (
    ELSEWHERE,
    MAX_WHAT_CHARS,
    UNREADABLE,
    UNSTATED,
    Here,
    Item,
    Left,
    Reading,
)
from memory_fabric.importing.mem0 import time_of
from memory_fabric.text import cut

MAIN, RAW, INDEX, SUMMARIES = (
    "MEMORY.md",
    "raw_memories.md",
    "memory_summary.md",
    "rollout_summaries",
)
SIGNS = (RAW, INDEX, SUMMARIES)
MADE_OF = "what MEMORY.md was made of (raw memories, summaries of sessions)"
# Headings of a block under which there are pointers and search words, not memories.
POINTERS = ("rollout_summary_files", "keywords", "rollout summary files")
THREAD = "## Thread `"


class _Source(NamedTuple):
    """The folders and the last time that a block states."""

    folders: tuple[str, ...] = ()
    at: str = ""


def is_folder(path: str) -> bool:
    """Return True for a folder that Codex keeps memories in."""
    return any(os.path.exists(os.path.join(path, name)) for name in SIGNS)


def is_main(text: str) -> bool:
    """Return True for the text of its MEMORY.md or raw_memories.md."""
    return "rollout_summary_files" in text or text.startswith("# Raw Memories")


def read(path: str, here: Here) -> Reading:
    """Read the folder, or one of its files. Raises BadInput, OSError."""
    left = Left()
    root = path if os.path.isdir(path) else os.path.dirname(os.path.realpath(path))
    names = [MAIN, RAW] if os.path.isdir(path) else [os.path.basename(path)]
    found = [name for name in names if os.path.exists(os.path.join(root, name))]
    if not found:
        raise BadInput(
            "PATH",
            f"{path} has neither {MAIN} nor {RAW}.",
            remedy="Codex writes them when its memories are on.",
        )
    main = folders.read_one(root, found[0], left)
    is_raw = found[0] == RAW or (main is not None and main.text.startswith("# Raw Memories"))
    split = _threads if is_raw else _groups
    blocks = list(split(main.text)) if main is not None else []
    others = [*found[1:], *folders.names_below(os.path.join(root, SUMMARIES), (".md",))]
    if os.path.isdir(path) and others:
        left.add(MADE_OF, others[0], len(others))
    items = []
    for source, page_text, first_line in blocks:
        page = markdown.parse(page_text)
        made = list(_items(source, page, found[0], first_line, main.changed_at if main else ""))
        project = next((one for one in source.folders if here.is_stated(one)), "")
        if not here.whole and not project:
            reason = ELSEWHERE if source.folders else UNSTATED
            for one in made:
                left.add(reason, one.what)
            continue
        items += [one._replace(project=project or next(iter(source.folders), "")) for one in made]
    if main is None and not left.all:
        left.add(UNREADABLE, found[0])
    return Reading(tuple(items), left=left.all, files=(os.path.join(root, found[0]),))


def _groups(text: str) -> Iterator[tuple[_Source, str, int]]:
    """Yield the blocks of MEMORY.md: each begins with a frontmatter, or with a first heading."""
    lines = text.split("\n")
    starts = _starts(lines)
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        part = lines[start:end]
        yield _source(part), "\n".join(part), start


def _starts(lines: list[str]) -> list[int]:
    found, inside, headed = [], False, False
    for at, line in enumerate(lines):
        if line.rstrip() == "---":
            if not inside and any(
                "rollout_summary_files" in one or one.startswith("description:")
                for one in lines[at + 1 : at + 4]
            ):
                found.append(at)
                inside = True
            else:
                # The heading right behind a frontmatter is the title of the same block.
                headed, inside = inside, False
        elif line.startswith("# ") and not inside and not headed:
            found.append(at)
        if line.strip() and line.rstrip() != "---":
            headed = False
    return found or [0]


def _threads(text: str) -> Iterator[tuple[_Source, str, int]]:
    """Yield the threads of raw_memories.md."""
    lines = text.split("\n")
    starts = [at for at, line in enumerate(lines) if line.startswith(THREAD)]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        stated = {}
        at = start + 1
        while at < end and ": " in lines[at] and not lines[at].startswith(("-", "#")):
            name, _, value = lines[at].partition(": ")
            stated[name.strip()] = value.strip()
            at += 1
        cwd = stated.get("cwd", "")
        source = _Source((cwd,) if cwd else (), time_of(stated.get("updated_at")))
        yield source, "\n".join(lines[at:end]), at


def _source(lines: list[str]) -> _Source:
    folders_, times = [], []
    for line in lines:
        for part in line.replace("(", ",").replace(")", ",").replace(";", ",").split(","):
            name, _, value = part.strip().partition("=")
            if name.split(" ")[-1] == "cwd" and value.strip():
                folders_.append(value.strip())
            elif name == "updated_at":
                times.append(time_of(value))
    return _Source(tuple(dict.fromkeys(folders_)), max(times, default=""))


def _items(
    source: _Source, page: markdown.Page, name: str, first_line: int, changed_at: str
) -> Iterator[Item]:
    about = page.head.get("description", "")
    for block in page.blocks:
        if not block.is_bullet or block.heading.casefold() in POINTERS:
            continue
        what = markdown.plain(block.text)
        yield Item(
            what=cut(what, MAX_WHAT_CHARS),
            key=f"{what}",
            type="preference" if "preference" in block.heading.casefold() else stated_type(what),
            at=source.at or changed_at,
            category=block.heading,
            also=" ".join(part for part in (about, page.head.get("keywords", "")) if part),
            place=name,
            line=first_line + block.line,
            confidence=NOTE,
        )
