"""Own changes of a served file: single lines are edited, or the whole file is written."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from drawn import token
from memory_fabric.models import Entity
from memory_fabric.store.graph_file import exchange
from memory_fabric.store.graph_file.agreed import NOTHING, State, mark_of
from memory_fabric.store.graph_file.line_edits import MAX_OPERATIONS, Edits, edited, edits_since
from memory_fabric.store.memory import Memory
from store.serving import Served, edge, line, say, whole
from store.support import TOOL, World, create, database, entity, names, relation


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    served = Served(tmp_path)
    yield served
    served.close()


def test_unchanged_lines_keep_their_exact_bytes(served: Served) -> None:
    secret = token()
    odd = [
        b'{ "type": "entity", "name": "a", "entityType": "t", "observations": ["x"] }',
        line("b", "y", color="red") + b"\r",
        b'{"type":"entity","name":"caf\\u00e9","entityType":"t","observations":["z","z"]}',
        line("vault", f"holds {secret}"),
    ]
    other = row = b'{"type":"meta",  "version":1}'
    served.put(other, *odd, b'{"type":"note"}', edge("a", "uses", "b"), row)
    memory = served.open()

    memory.write(
        "add_observations", {"observations": [{"entityName": "a", "contents": ["new"]}]}, TOOL
    )
    memory.flush()

    assert served.lines == [
        other,
        line("a", "x", "new"),
        *odd[1:],
        b'{"type":"note"}',
        edge("a", "uses", "b"),
        row,
    ]
    memory.flush()
    served.path.unlink()
    assert secret.encode() not in served.world.all_bytes()


def test_a_deletion_leaves_all_other_lines_of_the_graph_file_unchanged(served: Served) -> None:
    rest = [line("a", "x"), line("c", color="red"), edge("a", "uses", "c")]
    served.put(rest[0], line("b", "y"), rest[1], edge("a", "uses", "b"), rest[2])
    memory = served.open()

    memory.write("delete_entities", {"entityNames": ["b"]}, TOOL)
    memory.flush()

    assert served.lines == rest


def test_a_change_of_the_graph_file_rewrites_only_the_affected_lines(served: Served) -> None:
    odd = b'{ "type": "entity", "name": "odd", "entityType": "t", "observations": [] }'
    served.put(line("a", "x"), odd, line("b", "y"))
    memory = served.open()

    say(memory, entity("new", "said", kind="t"))
    memory.write("create_relations", {"relations": [relation("new", "uses", "a")]}, TOOL)
    memory.flush()

    added = [line("new", "said"), edge("new", "uses", "a")]
    assert served.lines == [line("a", "x"), odd, line("b", "y"), *added]

    more = [{"entityName": name, "contents": ["more"]} for name in ("a", "odd")]
    memory.write("add_observations", {"observations": more}, TOOL)
    memory.write("delete_entities", {"entityNames": ["b"]}, TOOL)
    say(memory, entity("other", kind="t"))
    memory.write("delete_relations", {"relations": [relation("new", "uses", "a")]}, TOOL)
    memory.write("create_relations", {"relations": [relation("new", "has", "a")]}, TOOL)
    memory.flush()

    assert served.lines == [
        *(line("a", "x", "more"), line("odd", "more"), line("new", "said"), line("other")),
        edge("new", "has", "a"),
    ]
    assert memory.failures == served.told == []
    # Another start and another writer know all of it.
    served.overwrite(line("a", "x", "more"), line("odd", "more"), line("theirs"), later_s=6.0)
    assert names(whole(served.open()).entities) == ["a", "odd", "theirs"]


@pytest.mark.parametrize("is_replaced", [False, True])
def test_an_addition_by_a_killed_writer_is_in_the_file_after_the_next_start(
    served: Served, is_replaced: bool
) -> None:
    served.put(line("a", "x"), line("b"))
    memory = served.open()
    before = served.path.read_bytes()
    agreed = database(memory).row("SELECT value FROM meta WHERE key = 'mirror'")
    assert agreed is not None
    say(memory, entity("new", "said"), entity("other"))
    memory.flush()
    after = served.path.read_bytes()
    # As a kill leaves it: the file is the old or the new one, and nothing of it is agreed.
    with database(memory).transaction() as c:
        c.execute("UPDATE meta SET value = ? WHERE key = 'mirror'", agreed)
    memory.close()
    served.path.write_bytes(after if is_replaced else before)

    again = served.open()
    say(again, entity("last"))
    again.flush()

    assert served.path.read_bytes() == after + line("last", kind="component") + b"\n"
    assert names(whole(again).entities) == ["a", "b", "new", "other", "last"]
    assert served.told == []


def test_repeated_edits_leave_only_the_latest_lines_in_the_graph_file(served: Served) -> None:
    served.put(line("a"), line("b"))
    memory = served.open()
    for number in range(40):
        add = {"observations": [{"entityName": "a", "contents": [f"fact {number}"]}]}
        gone = {"deletions": [{"entityName": "a", "observations": [f"fact {number - 1}"]}]}
        memory.write("add_observations", add, TOOL)
        memory.write("delete_observations", gone, TOOL)
        memory.flush()

    assert served.lines == [line("a", "fact 39"), line("b")]
    memory.write(
        "delete_observations",
        {"deletions": [{"entityName": "a", "observations": ["fact 39"]}]},
        TOOL,
    )
    memory.flush()
    served.put(line("a", "theirs"), line("b"))

    assert whole(served.open()).entities == (Entity("a", "t", ("theirs",)), Entity("b", "t"))


def test_all_changes_reach_the_graph_file_even_if_there_are_very_many(served: Served) -> None:
    served.put(line("a", "x"), b"")
    memory = served.open()
    facts = [f"fact {number}" for number in range(MAX_OPERATIONS + 1)]
    for fact in facts:
        add = {"observations": [{"entityName": "a", "contents": [fact]}]}
        memory.write("add_observations", add, TOOL)
    say(memory, entity("last", kind="t"))
    memory.flush()

    assert served.lines == [line("a", "x", *facts), line("last")]


def forms(row: bytes) -> dict[str, bytes]:
    """Return a canonical line in the forms in which other programs may repeat it."""
    said = json.loads(row)
    return {
        "same": row,
        "ended by CR": row + b"\r",
        "with spaces": json.dumps(said).encode(),
        "in another order": json.dumps(dict(reversed(said.items()))).encode(),
    }


@pytest.mark.parametrize("first", ["plain", "with a byte order mark"])
@pytest.mark.parametrize("form", forms(line("")))
def test_a_deletion_removes_repeated_lines_however_their_json_is_written(
    served: Served, form: str, first: str
) -> None:
    mark = exchange.BOM if first != "plain" else b""
    rows = line("a", "secret", "x"), line("b", "secret"), edge("b", "uses", "b")
    repeated = [forms(row)[form] for row in rows]
    served.put(mark + rows[0], *rows[1:], line("rest"), *repeated, b"")
    memory = served.open()

    deletion = {"entityName": "a", "observations": ["secret"]}
    memory.write("delete_observations", {"deletions": [deletion]}, TOOL)
    memory.write("delete_relations", {"relations": [relation("b", "uses", "b")]}, TOOL)
    memory.write("delete_entities", {"entityNames": ["b"]}, TOOL)
    memory.flush()

    assert served.lines == [line("a", "x"), line("rest")]


def test_an_entity_whose_last_relation_was_deleted_gets_its_own_line_in_the_file(
    served: Served,
) -> None:
    served.put(line("a"), line("b"), edge("a", "uses", "x"), edge("b", "uses", "y"), b"")
    memory = served.open()

    memory.write("delete_relations", {"relations": [relation("b", "uses", "y")]}, TOOL)
    memory.flush()
    memory.write("delete_entities", {"entityNames": ["a"]}, TOOL)
    memory.flush()

    bare = [line(name, kind="unknown") for name in "yx"]
    assert served.lines == [line("b"), *bare]
    assert set(names(whole(memory).entities)) == {"b", "x", "y"}


@pytest.mark.parametrize("indent", [None, 2])
def test_an_addition_rewrites_a_graph_file_with_one_json_object_as_lines(
    served: Served, indent: int | None
) -> None:
    some = [{"name": name, "entityType": "t", "observations": ["x"]} for name in "ab"]
    served.put(json.dumps({"entities": some, "relations": []}, indent=indent).encode())
    memory = served.open()

    say(memory, entity("ours", kind="t"))
    memory.flush()

    expected = [line("a", "x"), line("b", "x"), line("ours")]
    assert served.lines == expected
    served.put(*expected, line("theirs"))
    assert names(whole(memory).entities) == ["a", "b", "ours", "theirs"]


def test_an_entity_keeps_existing_when_another_program_deletes_its_only_relation(
    served: Served,
) -> None:
    served.put(line("a"), edge("a", "uses", "x"), b"")
    memory = served.open()
    served.put(line("a"), b"")

    say(memory, entity("ours", kind="t"))
    memory.flush()

    assert served.lines == [line("a"), line("x", kind="unknown"), line("ours")]


A, B, NEW, EDGE, MORE = line("a"), line("b"), line("new"), edge("a", "u", "b"), edge("b", "u", "a")
SPACED = EDGE.replace(b'{"type":"relation"', b'{"type": "relation"')


def joined(*lines: bytes) -> bytes:
    return b"".join(part + b"\n" for part in lines)


def replacing(lines: Mapping[bytes, bytes]) -> Edits:
    return Edits(1, "o1", (), lines, {old: mark_of(old) for old in lines})


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ((), (NEW, MORE)),
        ((A,), (A, NEW, MORE)),
        ((A, EDGE), (A, NEW, EDGE, MORE)),
        ((A, SPACED), (A, NEW, SPACED, MORE)),
        ((A, SPACED, EDGE), (A, NEW, SPACED, EDGE, MORE)),
        ((A, EDGE, SPACED), (A, NEW, EDGE, SPACED, MORE)),
        ((EDGE, A, EDGE), (NEW, EDGE, A, EDGE, MORE)),
        ((SPACED, A), (NEW, SPACED, A, MORE)),
    ],
)
def test_new_entities_come_before_the_first_relation_and_new_relations_at_the_end(
    before: tuple[bytes, ...], after: tuple[bytes, ...]
) -> None:
    edits = Edits(1, "o1", (MORE, NEW))

    assert edited(joined(*before), edits) == joined(*after)
    assert edited(joined(*before).removesuffix(b"\n"), edits) == joined(*after)


def test_a_line_is_replaced_or_removed_only_if_it_occurs_exactly_once() -> None:
    for content in ((A, B, EDGE), (B, A, EDGE), (B, EDGE, A)):
        changed = tuple(NEW if part == A else part for part in content)
        rest = tuple(part for part in content if part != A)
        assert edited(joined(*content), replacing({A: NEW})) == joined(*changed)
        assert edited(joined(*content), replacing({A: b""})) == joined(*rest)
    for wrong in ((B, EDGE), (A, A, B), (B, A, A), (A, B, A), (B + A,), (A + b" ",)):
        assert edited(joined(*wrong), replacing({A: NEW})) is None


def test_a_line_in_another_form_is_found_by_its_digest() -> None:
    odd = {
        part: json.dumps(json.loads(part), ensure_ascii=True).encode()
        for part in (line("Zoë"), edge("Zoë", "u", "b"), A)
    }
    content = joined(B, *odd.values(), line("Zoë", "other"))

    for part, form in odd.items():
        edits = Edits(1, "o1", (), {part: NEW}, {part: mark_of(form)})
        assert edited(content, edits) == content.replace(form, NEW)
        assert edited(content + joined(form), edits) is None
        assert edited(joined(B), edits) is None


@pytest.fixture
def user(tmp_path: Path) -> Memory:
    return World(tmp_path).memory(CLAUDE_PROJECT_DIR="")


def unread() -> bytes:
    raise AssertionError("the agreed lines are not needed")


def test_changes_that_only_add_lines_need_no_agreed_lines(user: Memory) -> None:
    create(user, entity("a", kind="t"))
    edges = {"relations": [relation("a", "u", "new")]}
    user.write("create_relations", edges, TOOL)
    db = database(user, "user")
    [(seq, id_)] = db.rows("SELECT seq, id FROM operations ORDER BY seq DESC LIMIT 1")

    whole_edits = edits_since(db, NOTHING, unread)
    nothing = edits_since(db, State(None, "", seq, id_), unread)

    made = (A, line("new", kind="unknown"), edge("a", "u", "new"))
    assert whole_edits == Edits(seq, id_, made)
    assert nothing == Edits(seq, id_)
    user.write("create_entities", {"entities": [entity("x")]}, TOOL._replace(source="import"))
    assert edits_since(db, State(None, "", seq, id_), unread) == Edits(seq, id_)


def agreed_line(text: bytes, form: bytes) -> bytes:
    """Return a saved line: the digest of its form in the file, and its canonical text."""
    return mark_of(form).hex().encode() + b" " + text


def test_the_agreed_form_of_a_line_is_found_unless_it_was_removed_or_is_ambiguous(
    user: Memory,
) -> None:
    create(user, entity("a", kind="t"))
    db = database(user, "user")
    [(seq, id_)] = db.rows("SELECT seq, id FROM operations")
    state = State(None, "", seq, id_)
    said = {"observations": [{"entityName": "a", "contents": ["x"]}]}
    user.write("add_observations", said, TOOL)
    new, former, form, other_form = line("a", "x"), line("a", "y"), b"one form", b"another form"

    def replaced(*lines: bytes) -> Edits | None:
        edits = edits_since(db, state, lambda: joined(b"{}", *lines))
        return edits._replace(seq=0, operation="") if edits else None

    def found(text: bytes, form: bytes) -> Edits:
        return Edits(0, "", (), {text: new}, {text: mark_of(form)})

    saved, removed = agreed_line(A, form), b"- " + mark_of(form).hex().encode()
    unlike, other = agreed_line(line("ab"), b"x"), agreed_line(former, other_form)
    assert replaced(unlike, saved) == found(A, form)
    assert replaced(saved, removed) == replaced(unlike) == Edits(0, "", (new,))
    assert replaced(saved, other) is None
    assert replaced(saved, removed, other) == found(former, other_form)
    assert replaced(agreed_line(new, form)) == Edits(0, "")


def test_the_whole_file_is_written_after_other_kinds_of_changes(user: Memory) -> None:
    create(user, entity("a"))
    user.write("alias", {"entity": "a", "aliases": ["b"]}, TOOL, store="user")

    assert edits_since(database(user, "user"), NOTHING, unread) is None
