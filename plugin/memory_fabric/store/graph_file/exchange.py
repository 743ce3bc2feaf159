"""The file format of the reference memory server: one JSON object per line, parsed tolerantly.

`{"type":"entity","name","entityType","observations":[…]}`, `{"type":"relation","from","to",
"relationType"}` (MEM-17). Older files are one object with the lists `entities` and `relations`.
"""

import io
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO, NamedTuple

from memory_fabric import ids
from memory_fabric.errors import BadInput
from memory_fabric.models import Entity, Graph, Payload, Progress, Provenance, Relation
from memory_fabric.redaction.redact import may_hold_secret, redact
from memory_fabric.redaction.rules import is_command_line
from memory_fabric.store import files, write
from memory_fabric.store.base_memory import BaseMemory
from memory_fabric.store.database import Database
from memory_fabric.store.queries import graph
from memory_fabric.store.write import entity_object, relation_object

Item = Entity | Relation

BOM = b"\xef\xbb\xbf"
SET_ASIDE = "set-aside.jsonl"
# The number of lines between two progress reports, and the size of bad lines kept in memory.
BATCH_LINES, BATCH_BYTES = 2000, 4 << 20
# Size limits of a file that is one object, and of a line; parsing needs 15 times as much memory.
WHOLE_BYTES, MAX_LINE_BYTES = 64 << 20, 32 << 20
# Lines that are too long are cut to this length before they are saved as bad lines.
KEPT_BYTES = 4 << 10


class BadLine(NamedTuple):
    """A line that could not be parsed: its number, counted from 1, and the error."""

    number: int
    because: str


class Loaded(NamedTuple):
    """Counts of new rows; `ends` counts entities created only because a relation names them.
    `queued` is True if a change waits in the queue. `variants` maps new names to existing ones with
    another case or separators. `forgotten` lists names not added, as they were forgotten.
    """

    entities: int = 0
    observations: int = 0
    relations: int = 0
    ends: int = 0
    queued: bool = False
    variants: Mapping[str, Sequence[str]] = {}
    forgotten: tuple[str, ...] = ()

    def after(self, result: Payload) -> "Loaded":
        """Return these counts plus the counts in the result of another operation."""
        new = result.get("entities", ())
        stated = [*new, *result.get("merged", ())]
        return Loaded(
            self.entities + len(new),
            self.observations + sum(len(e["observations"]) for e in stated),
            self.relations + len(result.get("relations", ())),
            self.ends + len(result.get("created_ends", ())),
            self.queued or bool(result.get("queued")),
            {**self.variants, **result.get("variants", {})},
            tuple(dict.fromkeys((*self.forgotten, *result.get("forgotten", ())))),
        )


class Imported(NamedTuple):
    """An import's counts of items (`read`) and other lines; `set_aside` is a file of bad lines."""

    loaded: Loaded = Loaded()
    read: int = 0
    others: int = 0
    bad: tuple[BadLine, ...] = ()
    set_aside: str = ""


def lines(stream: BinaryIO, max_bytes: int = -1) -> Iterator[tuple[int, bytes]]:
    """Yield the number and content of each line that is not blank, cut to `max_bytes`. If the file
    is one object with lists of entities and relations, yield a line for each item of the lists.
    """
    whole = _whole(stream, max_bytes)
    if whole is not None:
        yield from enumerate(map(_dumped, whole), start=1)
        return
    for number, line in enumerate(iter(lambda: stream.readline(max_bytes), b""), start=1):
        if len(line) == max_bytes and not line.endswith(b"\n"):
            files.skip_line(stream)
        bare = line.removesuffix(b"\n")
        if number == 1:
            bare = bare.removeprefix(BOM)
        if bare.strip():
            yield number, bare


def is_of_lines(content: bytes) -> bool:
    """Return True if lines can be edited: the content is not a single object and has no BOM."""
    return not content.startswith(BOM) and _whole(io.BytesIO(content)) is None


def read(line: bytes) -> Item | None:
    """Parse the entity or relation of a line; return None for any other object. Raises BadInput."""
    try:
        value = _DECODER.decode(line.decode())
    except UnicodeDecodeError as error:
        raise BadInput("line", "it is not UTF-8") from error
    except (ValueError, RecursionError) as error:
        raise BadInput("line", "it is not JSON") from error
    if not isinstance(value, dict):
        raise BadInput("line", "it is not an object")
    kind = value.get("type")
    reader = _READERS.get(kind) if isinstance(kind, str) else None
    return reader(value) if reader else None


def line_of(item: Item) -> bytes:
    """Return an entity or relation as exactly the line that the reference server would write."""
    if isinstance(item, Entity):
        return _dumped({"type": "entity"} | entity_object(item))
    return _dumped({"type": "relation"} | relation_object(item))


def graph_lines(whole: Graph) -> list[bytes]:
    """Return the lines of a graph in the reference server's order: entities, then relations."""
    return [*map(line_of, whole.entities), *map(line_of, whole.relations)]


def export_lines(databases: Sequence[Database], progress: Progress | None = None) -> list[bytes]:
    """Merge these databases into one graph and return its lines. Raises StoreUnavailable."""
    tell = progress or (lambda _done, _of: None)
    parts = []
    for done, database in enumerate(databases, start=1):
        parts.append(graph.read_graph(database))
        tell(done, 2 * len(databases))
    whole = graph.merged(parts)
    items: list[Item] = [*whole.entities, *whole.relations]
    lines: list[bytes] = []
    for at in range(0, len(items), BATCH_LINES):
        lines += map(line_of, items[at : at + BATCH_LINES])
        tell(len(items) + len(lines), 2 * len(items))
    return lines


def content_of(lines: Iterable[bytes]) -> bytes:
    """Join lines into a file's content; also end the last line, so that programs can append."""
    return b"".join([line + b"\n" for line in lines])


def cleaned(item: Item) -> Item:
    """Return the item with redacted texts, as memory would store it."""
    if isinstance(item, Entity):
        # Storing may change a text: by redaction, or by removing a block marker of this program.
        texts = (*item[:2], *item.observations)
        may_change = any("<" in text or may_hold_secret(text) for text in texts)
        if not may_change and not is_command_line(item.observations):
            return item
        return _entity(write.cleaned(entity_object(item)))
    return _relation(write.cleaned(relation_object(item)))


def load(
    memory: BaseMemory,
    entities: Iterable[Entity],
    relations: Iterable[Relation],
    by: Provenance,
    report: Callable[[int], object] | None = None,
) -> Loaded:
    """Store entities with their observations, then relations; merge entities that exist already.
    Both arguments may be generators: only one operation is in memory at a time. `report` receives
    the count of stored items. Raises StoreUnavailable; a second call can complete the import.
    """
    loaded, items_done = Loaded(), 0
    for items in (entities, relations):
        for kind, payload in write.create_operations(items):
            loaded = loaded.after(memory.write(kind, payload, by))
            items_done += sum(map(len, payload.values()))
            if report:
                report(items_done)
    return loaded


def import_file(
    memory: BaseMemory,
    path: str,
    by: Provenance,
    progress: Progress | None = None,
    called: str = "",
) -> Imported:
    """Merge a graph file into memory; only equal names mean the same entity. Entities are stored
    first, so that both ends of a relation exist. Lines that are invalid or too long are saved in
    another file, with their origin: `called`, or else the path. Raises StoreUnavailable, OSError.
    """
    of = 2 * os.path.getsize(path)
    items = _FileItems(memory.settings.home, called or os.path.abspath(path))
    with files.open_regular(path) as first, files.open_regular(path) as second:
        report = lambda _: progress and progress(first.tell() + second.tell(), of)  # noqa: E731
        loaded = load(memory, items.entities(first), items.relations(second), by, report)
    if progress:
        progress(of, of)
    items.close()
    aside = items.path if items.bad and (items.read or items.others) else ""
    return Imported(loaded, items.read, items.others, tuple(items.bad), aside)


def set_aside(path: str, source: str, bad_lines: Iterable[tuple[BadLine, bytes]]) -> None:
    """Append bad lines to a file. Redact them as one: a secret may span lines. Raises OSError."""
    numbered = list(bad_lines)
    lines = [line.decode("utf-8", "backslashreplace") for _, line in numbered]
    redacted = redact("\n".join(lines)).split("\n") if lines else []
    if len(redacted) != len(lines):
        # A secret spanned lines, so their number changed. To keep the positions of the other lines,
        # put the text of all changed lines into the first of them, and leave the rest empty.
        most = min(len(lines), len(redacted)) - 1
        first = next((i for i in range(most) if lines[i] != redacted[i]), most)
        differing = (i for i in range(most - first) if lines[-1 - i] != redacted[-1 - i])
        after = next(differing, most - first)
        text = "\n".join(redacted[first : len(redacted) - after])
        empty = [""] * (len(lines) - first - after - 1)
        redacted = [*lines[:first], text, *empty, *lines[len(lines) - after :]]
    origin = {"file": source, "at": ids.timestamp()}
    rows = zip(numbered, redacted, strict=True)
    entries = ({"number": bad.number, "because": bad.because, "line": t} for (bad, _), t in rows)
    files.append_lines(path, (origin | entry for entry in entries))


class _FileItems:
    """The items of a file, their counts, and bad lines that have not been written yet."""

    def __init__(self, home: str, source: str) -> None:
        self.path, self._source = os.path.join(home, SET_ASIDE), source
        self.bad: list[BadLine] = []
        self._waiting: list[tuple[BadLine, bytes]] = []
        self.read = self.others = self._bytes = 0
        # True if the last line was valid: the next bad line is then not adjacent to earlier ones.
        self._apart = True

    def entities(self, stream: BinaryIO) -> Iterator[Entity]:
        """Yield the file's entities; count items, lines of another kind and bad lines."""
        for number, line in lines(stream, MAX_LINE_BYTES):
            try:
                if len(line) >= MAX_LINE_BYTES:
                    line = line[:KEPT_BYTES]
                    size = f"{MAX_LINE_BYTES:,} bytes: divide its observations"
                    raise BadInput("line", f"it is longer than {size}")
                item = read(line)
            except BadInput as error:
                # Adjacent bad lines are redacted as one text, so do not write them separately.
                if self._bytes >= BATCH_BYTES and (self._apart or not (self.read or self.others)):
                    self.close()
                self._apart = False
                self.bad.append(BadLine(number, error.message))
                self._waiting.append((self.bad[-1], line))
                self._bytes += len(line)
                continue
            self._apart = True
            self.others += item is None
            self.read += item is not None
            if isinstance(item, Entity):
                yield item

    def relations(self, stream: BinaryIO) -> Iterator[Relation]:
        """Yield only the relations; `entities` has already counted all items and bad lines."""
        for _, line in lines(stream, MAX_LINE_BYTES):
            try:
                item = read(line)
            except BadInput:
                continue
            if isinstance(item, Relation):
                yield item

    def close(self) -> None:
        """Write the bad lines, unless all lines are bad, since the file then has another format."""
        if self.read or self.others:
            set_aside(self.path, self._source, self._waiting)
        self._waiting, self._bytes = [], 0


def _whole(stream: BinaryIO, max_bytes: int = -1) -> list[Any] | None:
    """Return the items of a file that is one object; otherwise rewind the file and return None."""
    some = iter(lambda: stream.readline(max_bytes), b"")
    first = next((line for line in some if line.strip()), b"").removeprefix(BOM)
    records = None
    if first.lstrip().startswith(b"{") and ((value := _parsed(first)) is None or _is_graph(value)):
        stream.seek(0)
        text = stream.read(WHOLE_BYTES)
        value = None if stream.read(1) else _parsed(text.removeprefix(BOM))
        if value is not None and _is_graph(value):
            kinds = (("entity", "entities"), ("relation", "relations"))
            items = ((kind, item) for kind, name in kinds for item in value.get(name) or ())
            records = [{"type": k} | i if isinstance(i, dict) else i for k, i in items]
    if records is None:
        stream.seek(0)
    return records


def _is_graph(value: Payload) -> bool:
    parts = [value[name] for name in ("entities", "relations") if name in value]
    return bool(parts) and "type" not in value and all(isinstance(p, list) for p in parts)


def _parsed(text: bytes) -> dict[str, Any] | None:
    try:
        value = _DECODER.decode(text.decode())
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _entity(value: Payload) -> Entity:
    name, kind = _text(value, "name"), _text(value, "entityType")
    texts = value.get("observations")
    texts = [] if texts is None else texts
    if not (isinstance(texts, list) and all(isinstance(text, str) for text in texts)):
        raise BadInput("line", "its observations are not a list of texts")
    # An entity contains each text only once, as in the rest of the memory.
    return Entity(name, kind, tuple(dict.fromkeys(map(_whole_text, texts))))


def _relation(value: Payload) -> Relation:
    return Relation(_text(value, "from"), _text(value, "relationType"), _text(value, "to"))


def _text(value: Payload, name: str) -> str:
    text = value.get(name)
    if not isinstance(text, str):
        raise BadInput("line", f"its {name} is missing or not a text")
    return _whole_text(text)


def _whole_text(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _dumped(value: Any) -> bytes:
    return _ENCODER.encode(value).encode("utf-8", "replace")


def _refused(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


# Like `JSON.stringify`: without spaces, and with only the necessary escapes.
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_DECODER = json.JSONDecoder(parse_constant=_refused)
_READERS: dict[str, Callable[[Payload], Item]] = {"entity": _entity, "relation": _relation}
