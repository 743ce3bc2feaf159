"""The client's memory files as a source of recall, without the block that memory-fabric writes.

MEMORY.md without this block, and the Markdown files next to it, are read for each search, because
they are small and nothing reports their changes. Their text is not stored. It has not passed
capture, so it is redacted and its tags are neutralised here, before any other use.
"""

import os
from collections.abc import Iterator, Sequence

from memory_fabric.ids import timestamp
from memory_fabric.models import Filters
from memory_fabric.redaction.redact import redact
from memory_fabric.store.files import NotRegular, open_regular
from memory_fabric.store.memory import Memory
from memory_fabric.store.queries.search import Candidate
from memory_fabric.store.tiers import memory_md
from memory_fabric.text import cut, encodable, neutralised, one_line

SOURCE = "native"
MAIN = "MEMORY.md"
# Limits of one search. Reading so much takes milliseconds; the client shows only 24 KB of one file.
MAX_FILES, MAX_BYTES = 64, 256 * 1024
MAX_NOTE_CHARS = 1000
MAX_HEADING_CHARS = 120
# All notes count as the assistant's: the user writes these files, too, but nothing records who did.
TRUST = "assistant"
_BULLETS = ("- ", "* ", "+ ")
_CODE = ("```", "~~~")
# A bullet with at least this indentation belongs to the bullet above it.
_NESTED_FROM = 2


def candidates(memory: Memory, filters: Filters) -> tuple[list[Candidate], list[str]]:
    """Return matching notes of the project's client memory files, and messages about failures. A
    note's id is `native:<file>#<n>`. Notes have no domain, so a memory limited to domains has none.
    """
    project = memory.project
    # Notes have no agent, session or category, so no note matches a filter by these.
    lacking = filters.agents or filters.sessions or filters.categories
    own = ((filters.types, "note"), (filters.scopes, "team"), (filters.projects, ""))
    may_hold = not lacking and all(not wanted or value in wanted for wanted, value in own)
    if project is None or memory.domains is not None or not may_hold:
        return [], []
    settings, notes = memory.settings, list[Candidate]()
    place = memory_md.locate(settings.config_dir, project.root, settings.memory_md_off)
    if place.off_because:
        return [], []
    texts, failures = _texts(os.path.dirname(place.path))
    for name, text, changed_at in texts:
        is_after = changed_at >= filters.since  # always true if `since` is ''
        is_before = not filters.before or changed_at < filters.before
        if not (is_after and is_before) or (filters.as_of and changed_at > filters.as_of):
            continue
        about = {"type": "note", "trust": TRUST, "scope": "team", "place": name}
        for number, note in enumerate(split(text), start=1):
            id_ = f"{SOURCE}:{name}#{number}"
            notes.append(Candidate(id_, SOURCE, note, timestamp=changed_at, metadata=about))
    return notes, failures


def split(text: str) -> list[str]:
    """Split a text into one-line notes of at most MAX_NOTE_CHARS, redacted and neutralised. A note
    is a bullet (with nested lines) or a paragraph, each prefixed with its heading. A heading
    without text is also a note. Blocks of memory-fabric and one-line comments are skipped.
    """
    parts = memory_md.parse(text)
    # The whole text is redacted first, because a key or a private block may span several lines.
    whole = redact(f"{parts.before}\n{parts.after}")
    notes: list[str] = []
    for heading, body in _blocks(whole.split("\n")):
        note = f"{cut(heading, MAX_HEADING_CHARS)}: {body}" if heading else body
        if any(c.isalnum() for c in body):
            # Each note is redacted again: after a heading "Password", the next word is a secret.
            text_left = neutralised(redact(one_line(note)))
            while len(text_left) > MAX_NOTE_CHARS:
                space = text_left.rfind(" ", 1, MAX_NOTE_CHARS + 1)
                end = space if space > 0 else MAX_NOTE_CHARS
                notes.append(text_left[:end])
                text_left = text_left[end:].lstrip()
            notes += [text_left] if text_left else []
    return notes


def _texts(folder: str) -> tuple[list[tuple[str, str, str]], list[str]]:
    """Return (name, text, time of change) of each file, MEMORY.md first; and the failures."""
    root = os.path.realpath(folder)
    try:
        names = [n for n in os.listdir(root) if n.lower().endswith(".md") and n[0] != "."]
    except (FileNotFoundError, NotADirectoryError):
        return [], []
    except OSError as error:
        return [], [f"{SOURCE}: {error.strerror or error}"]
    names.sort(key=lambda name: (name != MAIN, name))
    texts, failures = list[tuple[str, str, str]](), list[str]()
    bytes_left, unread = MAX_BYTES, max(0, len(names) - MAX_FILES)
    for name in names[:MAX_FILES]:
        shown_name = neutralised(one_line(encodable(name)))
        try:
            content = _read(root, name, bytes_left) if bytes_left else (b"", 0.0, False)
            if content is None:
                continue
            data, changed_s, is_whole = content
            bytes_left, unread = bytes_left - len(data) if is_whole else 0, unread + (not is_whole)
            text = data.decode("utf-8-sig")
        except FileNotFoundError:
            continue  # the file was deleted after `listdir`
        except OSError as error:
            failures.append(f"{SOURCE} ({shown_name}): {error.strerror or error}")
            continue
        except UnicodeDecodeError:
            text = "\0"
        if "\0" in text:
            failures.append(f"{SOURCE} ({shown_name}): it is not UTF-8 text")
        elif text:
            texts.append((shown_name, text, timestamp(changed_s)))
    if unread:
        most = f"at most {MAX_FILES} files and {MAX_BYTES // 1024} KB are read"
        failures.append(f"{SOURCE}: {unread} files were not read, or not completely: {most}")
    return texts, failures


def _read(root: str, name: str, most: int) -> tuple[bytes, float, bool] | None:
    """Return at most `most` bytes of a file, its mtime (s), and whether this is the whole file."""
    path = os.path.realpath(os.path.join(root, name))
    if not path.startswith(os.path.join(root, "")):
        return None
    try:
        with open_regular(path) as stream:
            changed_s, data = os.fstat(stream.fileno()).st_mtime, stream.read(most + 1)
    except NotRegular:
        return None
    if len(data) <= most:
        return data, changed_s, True
    return data[: data.rfind(b"\n", 0, most) + 1], changed_s, False


def _blocks(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield (heading, text) of bullets and paragraphs, ("", heading) of a heading without text."""
    heading, level, code, is_alone = "", 0, "", False
    parts: list[str] = []
    for line in lines:
        bare = line.strip()
        if code or bare.startswith(_CODE):
            parts.append(bare)
            code = bare[:3] if not code else "" if bare.startswith(code) else code
            continue
        if bare.startswith("<!--") and bare.endswith("-->"):
            continue
        deep = len(bare) - len(bare.lstrip("#"))
        deep = deep if deep <= 6 and bare[deep : deep + 1] in (" ", "\t") else 0
        is_bullet = len(line) - len(line.lstrip()) < _NESTED_FROM and _without_bullet(bare) != bare
        if parts and (deep or _is_break(bare) or is_bullet):
            yield heading, " ".join(parts)
            parts, is_alone = [], False
        if deep:
            if is_alone and deep <= level:
                yield "", heading
            heading, level, is_alone = bare.strip("# \t").rstrip(":"), deep, True
        elif not _is_break(bare):
            parts.append(bare if parts else _without_bullet(bare))
    if parts:
        yield heading, " ".join(parts)
    elif is_alone:
        yield "", heading


def _is_break(bare: str) -> bool:
    """Return True for a blank line or a horizontal rule; the client writes rules around headers."""
    return not bare.strip("-*_=# \t")


def _without_bullet(bare: str) -> str:
    if bare.startswith(_BULLETS):
        return bare[2:].lstrip()
    number, dot, text = bare.partition(". ")
    return text.lstrip() if dot and number.isdigit() else bare
