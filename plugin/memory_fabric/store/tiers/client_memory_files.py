"""Native notes as a source of recall: what stands in the client's memory folder and is not ours.

MEMORY.md without our fence, and the Markdown files beside it, read anew for each search: they are
small, and their writers tell nobody. Nothing of them is stored. They never came in through us, so
they are redacted and their tags made harmless here, before anything else sees their text.
"""

from __future__ import annotations

import os

from memory_fabric.ids import timestamp
from memory_fabric.redaction.redact import redact
from memory_fabric.store.files import NotRegular, open_regular
from memory_fabric.store.search import Candidate
from memory_fabric.store.tiers import memory_md
from memory_fabric.text import cut, encodable, neutralised, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memory_fabric.models import Filters
    from memory_fabric.store.memory import Memory

SOURCE = "native"
MAIN = "MEMORY.md"
# Far more than the client itself ever shows (24 KB of one file), and read within milliseconds.
MAX_FILES, MAX_BYTES = 64, 256 * 1024
MAX_NOTE_CHARS = 1000
MAX_HEADING_CHARS = 120
# The person and the assistant both write these files, and nothing tells who wrote what.
TRUST = "assistant"
_BULLETS = ("- ", "* ", "+ ")
_CODE = ("```", "~~~")
# A bullet that stands further in belongs to the one above it.
_NESTED_FROM = 2


def candidates(memory: Memory, filters: Filters) -> tuple[list[Candidate], list[str]]:
    """Every native note of this project that the filters allow, and the failures by name.

    Ids are `native:<file>#<n>`, times those of the files' last change. Nothing where the client's
    own switches turn its memory off, and where only some domains can be read: notes are of none.
    """
    project = memory.project
    if project is None or memory.domains is not None or not _may_hold(filters):
        return [], []
    settings = memory.settings
    place = memory_md.locate(settings.config_dir, project.root, settings.native_memory)
    if place.off_because:
        return [], []
    found: list[Candidate] = []
    texts, failures = _texts(os.path.dirname(place.path))
    for name, text, changed_at in texts:
        if not _is_within(filters, changed_at):
            continue
        found += [
            Candidate(
                id=f"{SOURCE}:{name}#{number}",
                source=SOURCE,
                text=note,
                timestamp=changed_at,
                metadata={"type": "note", "trust": TRUST, "scope": "team", "place": name},
            )
            for number, note in enumerate(split(text), start=1)
        ]
    return found, failures


def split(text: str) -> list[str]:
    """The notes of a text, redacted and harmless, each a line of at most MAX_NOTE_CHARS.

    A note is a bullet with what stands under it, or a paragraph, behind the heading over it; or a
    heading with nothing below. Our fences and comments of one line are left out.
    """
    parts = memory_md.parse(text)
    # As a whole first: a key or a private block reaches over many lines.
    whole = redact(f"{parts.before}\n{parts.after}")
    notes: list[str] = []
    for heading, body in _blocks(whole.split("\n")):
        said = f"{cut(heading, MAX_HEADING_CHARS)}: {body}" if heading else body
        if any(c.isalnum() for c in body):
            # Once more: a heading such as "Password" makes a secret of the word below it.
            notes += _pieces(neutralised(redact(one_line(said))))
    return notes


def _may_hold(filters: Filters) -> bool:
    """Whether notes can meet the filters: they have no agent or session, and no tag."""
    if filters.agents or filters.sessions:
        return False
    allowed = ((filters.types, "note"), (filters.scopes, "team"), (filters.projects, ""))
    return all(not wanted or own in wanted for wanted, own in allowed)


def _is_within(filters: Filters, changed_at: str) -> bool:
    after = not filters.since or changed_at >= filters.since
    before = not filters.before or changed_at < filters.before
    return after and before and (not filters.as_of or changed_at <= filters.as_of)


def _texts(folder: str) -> tuple[list[tuple[str, str, str]], list[str]]:
    """Name, text and time of last change of each file, MEMORY.md first; and the failures by name.

    Of all together MAX_BYTES are read, the last file only to the end of a line.
    """
    root = os.path.realpath(folder)
    try:
        names = [n for n in os.listdir(root) if n.lower().endswith(".md") and n[0] != "."]
    except (FileNotFoundError, NotADirectoryError):
        return [], []
    except OSError as error:
        return [], [f"{SOURCE}: {error.strerror or error}"]
    names.sort(key=lambda name: (name != MAIN, name))
    texts: list[tuple[str, str, str]] = []
    failures: list[str] = []
    left, unread = MAX_BYTES, max(0, len(names) - MAX_FILES)
    for name in names[:MAX_FILES]:
        shown = neutralised(one_line(encodable(name)))
        try:
            read = _read(root, name, left) if left else (b"", 0.0, False)
            if read is None:
                continue
            data, changed_s, is_whole = read
            left, unread = left - len(data) if is_whole else 0, unread + (not is_whole)
            text = data.decode("utf-8-sig")
        except FileNotFoundError:
            continue  # gone since we looked
        except OSError as error:
            failures.append(f"{SOURCE} ({shown}): {error.strerror or error}")
            continue
        except UnicodeDecodeError:
            text = "\0"
        if "\0" in text:
            failures.append(f"{SOURCE} ({shown}): it is not a text in UTF-8")
        elif text:
            texts.append((shown, text, timestamp(changed_s)))
    if unread:
        most = f"{MAX_FILES} files and {MAX_BYTES // 1024} KB are read"
        failures.append(f"{SOURCE}: {unread} files were not read, or not to their end: {most}")
    return texts, failures


def _read(root: str, name: str, most: int) -> tuple[bytes, float, bool] | None:
    """At most so many bytes of a file, its last change (s), and whether that is all of it.

    None for what is no file, or a link out of the folder. Raises OSError.
    """
    path = os.path.realpath(os.path.join(root, name))
    if not path.startswith(os.path.join(root, "")):
        return None
    try:
        stream = open_regular(path)
    except NotRegular:
        return None
    with stream:
        known = os.fstat(stream.fileno())
        data = stream.read(most + 1)
    if len(data) <= most:
        return data, known.st_mtime, True
    return data[: data.rfind(b"\n", 0, most) + 1], known.st_mtime, False


def _blocks(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Bullets and paragraphs, each with the heading over it; a heading alone as its own body."""
    heading, level, code, is_alone = "", 0, "", False
    held: list[str] = []
    for line in lines:
        bare = line.strip()
        if code or bare.startswith(_CODE):
            held.append(bare)
            code = bare[:3] if not code else "" if bare.startswith(code) else code
            continue
        if bare.startswith("<!--") and bare.endswith("-->"):
            continue
        deep = _level(bare)
        if held and (deep or _is_break(bare) or _is_bullet(line)):
            yield heading, " ".join(held)
            held, is_alone = [], False
        if deep:
            if is_alone and deep <= level:
                yield "", heading
            heading, level, is_alone = bare.strip("# \t").rstrip(":"), deep, True
        elif not _is_break(bare):
            held.append(bare if held else _without_bullet(bare))
    if held:
        yield heading, " ".join(held)
    elif is_alone:
        yield "", heading


def _level(bare: str) -> int:
    """How deep a heading stands, from 1; 0 for any other line."""
    level = len(bare) - len(bare.lstrip("#"))
    return level if level <= 6 and bare[level : level + 1] in (" ", "\t") else 0


def _is_break(bare: str) -> bool:
    """Whether a line is empty or a rule, as around the head of the client's own files."""
    return not bare.strip("-*_=# \t")


def _is_bullet(line: str) -> bool:
    bare = line.lstrip()
    return len(line) - len(bare) < _NESTED_FROM and _without_bullet(bare) != bare


def _without_bullet(bare: str) -> str:
    if bare.startswith(_BULLETS):
        return bare[2:].lstrip()
    number, dot, rest = bare.partition(". ")
    return rest.lstrip() if dot and number.isdigit() else bare


def _pieces(text: str) -> Iterator[str]:
    """The text in pieces, parted between words."""
    while len(text) > MAX_NOTE_CHARS:
        space = text.rfind(" ", 1, MAX_NOTE_CHARS + 1)
        end = space if space > 0 else MAX_NOTE_CHARS
        yield text[:end]
        text = text[end:].lstrip()
    if text:
        yield text
