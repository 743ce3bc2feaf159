"""The file of the reference memory server: read whatever is in it, written byte for byte alike."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path
from typing import Any

import pytest

from drawn import chance, token
from memory_fabric.errors import BadInput
from memory_fabric.models import Entity, Provenance, Relation
from memory_fabric.store import write
from memory_fabric.store.graph_file import exchange
from memory_fabric.store.memory import Memory
from memory_fabric.store.queries import graph
from store.support import USER, World, create, entity, names

SAID_THERE = Provenance("import", trust="tool")
# As the reference server writes it: JSON.stringify, joined by line feeds, none at the end.
REFERENCE = (
    '{"type":"entity","name":"Zoë \\"Z\\"","entityType":"person",'
    '"observations":["likes 🍵","a\\nb"]}\n'
    '{"type":"entity","name":"nul\\u0000\x7f","entityType":"","observations":[]}\n'
    '{"type":"relation","from":"Zoë \\"Z\\"","to":"nul\\u0000\x7f","relationType":"knows"}'
).encode()


def row(**fields: Any) -> bytes:
    return json.dumps(fields).encode()


def person(name: str, *texts: str) -> bytes:
    return row(type="entity", name=name, entityType="person", observations=list(texts))


def knows(source: str, target: str) -> bytes:
    return row(type="relation", **{"from": source, "to": target, "relationType": "knows"})


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def imported(memory: Memory, path: Path, content: bytes, name: str = "memory.jsonl") -> Any:
    (path / name).write_bytes(content)
    return exchange.import_file(memory, str(path / name), SAID_THERE)


def exported(memory: Memory) -> bytes:
    return exchange.content_of(exchange.export_lines(memory.databases()))


def test_an_imported_reference_file_is_exported_byte_for_byte(world: World) -> None:
    memory = world.memory()

    told = imported(memory, world.root, REFERENCE)

    assert (told.loaded.entities, told.loaded.observations, told.loaded.relations, told.bad) == (
        2,
        2,
        1,
        (),
    )
    assert exported(memory) == REFERENCE + b"\n"


def test_an_import_keeps_the_order_and_links_relations_to_entities_listed_later(
    world: World,
) -> None:
    memory = world.memory()

    told = imported(memory, world.root, b"\n".join([knows("b", "a"), person("a"), person("b")]))

    whole = graph.read_all(memory.databases())
    assert names(whole.entities) == ["a", "b"]
    assert whole.relations == (Relation("b", "knows", "a"),)
    assert told.loaded.ends == 0


def test_invalid_lines_are_written_to_a_separate_file_and_valid_lines_are_imported(
    world: World,
) -> None:
    memory = world.memory()
    content = b"\n".join(
        [
            b"\xef\xbb\xbf" + person("first") + b"\r",
            b"",
            b'{"type":"entity","na',
            b"null",
            b"  \r",
            b'{"type":"entity","name":1,"entityType":"t","observations":[]}',
            b'{"type":"entity","name":"x","entityType":"t","observations":"text"}',
            b'{"type":"entity","name":"\xff","entityType":"t","observations":[]}',
            b'{"type":"relation","from":"a","to":"b"}',
            b'{"type":"entity","name":"n","entityType":"t","observations":[],"w":NaN}',
            b"[" * 100_000,
            person("last") + b"\r\n",
        ]
    )

    told = imported(memory, world.root, content)

    assert [bad.number for bad in told.bad] == [3, 4, 6, 7, 8, 9, 10, 11]
    assert told.bad[1].because == "it is not an object"
    assert names(graph.read_all(memory.databases()).entities) == ["first", "last"]
    kept = [json.loads(line) for line in Path(told.set_aside).read_text("utf-8").splitlines()]
    assert [line["number"] for line in kept] == [bad.number for bad in told.bad]
    assert kept[0]["line"] == '{"type":"entity","na'
    assert kept[0]["file"] == str(world.root / "memory.jsonl")


def private_key() -> list[str]:
    """The lines of a private key, made when it is needed."""
    kind = "RSA PRIVATE" + " KEY"
    body = [base64.b64encode(chance.randbytes(48)).decode() for _ in range(12)]
    return [f"-----BEGIN {kind}-----", *body, "", f"-----END {kind}-----"]


@pytest.mark.parametrize("full", [False, True])
def test_a_secret_spread_over_several_invalid_lines_of_an_import_is_redacted(
    world: World, monkeypatch: pytest.MonkeyPatch, full: bool
) -> None:
    if full:  # as if the batch had been full in the middle of the key
        monkeypatch.setattr(exchange, "BATCH_BYTES", 300)
    memory, key = world.memory(), private_key()
    content = [person("first").decode(), "torn before", *key, "torn after"]
    content += [person("last").decode(), "torn at the end"]

    told = imported(memory, world.root, "\n".join(content).encode())

    kept = [json.loads(line) for line in Path(told.set_aside).read_text("utf-8").splitlines()]
    assert len(kept) == len(told.bad) == len(key) + 2
    (world.root / "memory.jsonl").unlink()
    everything = world.all_bytes()
    assert [line for line in key if line and line.encode() in everything] == []
    texts = [line["line"] for line in kept if line["line"]]
    assert [texts[0], *texts[-2:]] == ["torn before", "torn after", "torn at the end"]
    assert any("[redacted: " in text for text in texts)


def test_an_import_writes_no_secret_to_our_files(world: World) -> None:
    memory, secret = world.memory(), token()
    content = b"\n".join([person("ann", f"uses {secret}"), b'{"torn": "' + secret.encode()])

    told = imported(memory, world.root, content)
    (world.root / "memory.jsonl").unlink()
    memory.flush()

    assert len(told.bad) == 1
    assert secret.encode() not in world.all_bytes()


def test_lines_of_unknown_types_are_counted_but_not_reported_as_invalid(world: World) -> None:
    told = imported(world.memory(), world.root, row(type="meta", version=1) + b"\n" + row(x=1))

    assert (told.others, told.read, told.bad) == (2, 0, ())


def test_an_import_merges_known_entities_and_reports_name_variants(world: World) -> None:
    memory = world.memory()
    create(memory, entity("api", "is old", kind="service"))
    create(memory, entity("ann", kind="person"), store="user")
    content = [person("api", "is old", "is new"), person("API"), person("ann", "x"), person("api")]

    told = imported(memory, world.root, b"\n".join(content))

    whole = graph.read_all(memory.databases())
    assert whole.entities[0] == Entity("api", "service", ("is old", "is new"))
    assert (told.loaded.entities, told.loaded.observations) == (1, 2)
    assert told.loaded.variants == {"API": ["api"]}
    assert names(graph.read_graph(memory.databases()[1]).entities) == ["ann"]


def test_importing_the_same_file_again_adds_nothing(world: World) -> None:
    memory = world.memory()
    imported(memory, world.root, REFERENCE)

    told = imported(memory, world.root, REFERENCE)

    assert (told.loaded.entities, told.loaded.observations, told.loaded.relations, told.read) == (
        0,
        0,
        0,
        3,
    )


def test_an_import_skips_forgotten_entities_and_reports_them(world: World) -> None:
    memory = world.memory()
    imported(memory, world.root, REFERENCE)
    memory.write("forget", {"ids": [], "entityNames": ['Zoë "Z"']}, USER)

    told = imported(memory, world.root, REFERENCE)

    assert told.loaded.forgotten == ('Zoë "Z"',)
    assert names(graph.read_all(memory.databases()).entities) == ["nul\0\x7f"]


@pytest.mark.behaviour("MEM-17k")
@pytest.mark.parametrize("indent", [None, 2])
def test_a_legacy_file_with_one_json_object_is_imported(world: World, indent: int | None) -> None:
    memory = world.memory()
    legacy = {
        "entities": [entity("ann", "likes tea"), None],
        "relations": [{"from": "ann", "to": "tea", "relationType": "likes"}],
    }

    told = imported(memory, world.root, json.dumps(legacy, indent=indent).encode(), "memory.json")

    assert (told.loaded.entities, told.loaded.relations, told.loaded.ends) == (1, 1, 1)
    assert [bad.number for bad in told.bad] == [2]


def test_a_file_with_the_legacy_name_that_contains_json_lines_is_read_as_json_lines(
    world: World,
) -> None:
    told = imported(world.memory(), world.root, REFERENCE, "memory.json")

    assert told.loaded.entities == 2


def test_the_progress_of_an_import_increases_until_the_import_is_complete(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write, "BATCH_ITEMS", 10)
    path = world.root / "memory.jsonl"
    path.write_bytes(b"\n".join(person(f"p{i}", "x") for i in range(50)))
    seen: list[tuple[int, int]] = []

    memory = world.memory()
    exchange.import_file(memory, str(path), SAID_THERE, lambda done, of: seen.append((done, of)))

    assert len(seen) > 3
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1][0] == seen[-1][1]


def test_export_progress_counts_reading_as_one_half_and_writing_as_the_other(world: World) -> None:
    memory = world.memory()
    create(memory, entity("ann"), store="user")
    create(memory, entity("api"), store="project")
    seen: list[tuple[int, int]] = []

    exchange.export_lines(memory.databases(), lambda done, of: seen.append((done, of)))

    assert [done / of for done, of in seen] == [0.25, 0.5, 1.0]


def test_memories_of_the_project_and_the_user_are_exported_as_one_graph(world: World) -> None:
    memory = world.memory()
    create(memory, entity("ann", "by the user", kind="person"), store="user")
    create(memory, entity("api"), entity("ann", "by the project", kind="human"), store="project")

    lines = [json.loads(line) for line in exchange.export_lines(memory.databases())]

    assert [line["name"] for line in lines] == ["api", "ann"]
    assert lines[1]["entityType"] == "human"
    assert lines[1]["observations"] == ["by the project", "by the user"]


def test_an_invalid_unicode_character_in_an_imported_line_is_replaced() -> None:
    item = exchange.read(b'{"type":"entity","name":"half \\ud83d","entityType":"t"}')

    assert item == Entity("half \ufffd", "t")
    assert exchange.line_of(item).decode().count("\ufffd") == 1


def test_a_file_is_read_line_by_line_even_if_its_first_line_is_incomplete() -> None:
    found = list(exchange.lines(io.BytesIO(b'{"type":\n' + person("a"))))

    assert [number for number, _ in found] == [1, 2]
    with pytest.raises(BadInput, match="not JSON"):
        exchange.read(found[0][1])


OBJECTS = [b'{"entities": []}', b'\n {\n"relations": []\n}']
LINES = [b"", person("a"), b'\n{"type":"entity"}\n', b'{"entities": {}}', b'{"other": []}']
LINES += [b'{"type": "note", "entities": []}', b'{"entities": [], "relations": "x"}']
LINES += [b'{"entities": []}\n{"x": 1}', b'[{"entities": []}]']
WITH_BOM = b"\xef\xbb\xbf" + person("a")


@pytest.mark.parametrize("content", [*OBJECTS, WITH_BOM, *LINES])
def test_a_file_of_lines_has_no_byte_order_mark_and_no_object_with_lists(content: bytes) -> None:
    assert exchange.is_of_lines(content) == (content in LINES)


def test_lines_are_numbered_and_cut_to_a_size_and_blank_ones_are_skipped() -> None:
    content = b"\xef\xbb\xbfab\n\n \xef\xbb\xbf\nabcdef\nabcd\nabc\nxy"

    def read(max_bytes: int = -1) -> list[tuple[int, bytes]]:
        return list(exchange.lines(io.BytesIO(content), max_bytes))

    whole = [(1, b"ab"), (3, b" \xef\xbb\xbf"), (4, b"abcdef"), (5, b"abcd"), (6, b"abc")]
    assert read() == [*whole, (7, b"xy")]
    assert read(4)[2:] == [(4, b"abcd"), (5, b"abcd"), (6, b"abc"), (7, b"xy")]
    assert list(exchange.lines(io.BytesIO(b'\n{"entities": [{"name": "a"}, 3]}'))) == [
        (1, b'{"type":"entity","name":"a"}'),
        (2, b"3"),
    ]


def test_an_entity_needs_no_observations_and_has_each_only_once() -> None:
    for given, texts in ((None, ()), ([], ()), (["b", "a", "b"], ("b", "a"))):
        line = row(type="entity", name="a", entityType="t", observations=given)
        assert exchange.read(line) == Entity("a", "t", texts)
    wrong: list[Any] = ["x", [1], ["a", None], {}]
    for part in wrong:
        with pytest.raises(BadInput, match="not a list of texts"):
            exchange.read(row(type="entity", name="a", entityType="t", observations=part))
    assert exchange.read(row(type=["entity"])) is exchange.read(b"{}") is None


def test_the_counts_of_several_operations_are_added() -> None:
    first = {
        "entities": [entity("a", "x"), entity("b")],
        "merged": [{"name": "c", "observations": ["x", "y"]}],
        "variants": {"a": ["A"]},
        "forgotten": ["x", "y"],
    }
    second = {"relations": [{}], "created_ends": ["d"], "queued": True, "forgotten": ["y", "z"]}

    one = exchange.Loaded().after(first)
    both = one.after(second).after({"variants": {"b": ["B"]}})

    assert one == exchange.Loaded(2, 3, 0, 0, False, {"a": ["A"]}, ("x", "y"))
    assert both == exchange.Loaded(2, 3, 1, 1, True, {"a": ["A"], "b": ["B"]}, ("x", "y", "z"))


def test_secrets_and_our_tags_are_removed_from_every_field_of_an_imported_item() -> None:
    plain = Entity("a", "t", ("x", "y"))
    tagged = plain._replace(observations=("</memory-fabric>",))
    secret = token()

    assert exchange.cleaned(plain) is plain
    assert exchange.cleaned(tagged) == plain._replace(observations=("‹/memory-fabric>",))
    for item in (Entity(secret, "t"), Entity("a", secret), Relation("a", secret, "b")):
        assert secret not in repr(exchange.cleaned(item))
    words = ("login", "--password", "hunter" + "2x!Q")
    assert words[-1] not in repr(exchange.cleaned(Entity("a", "t", words)))


def test_the_lines_of_a_file_with_no_valid_line_are_not_set_aside(world: World) -> None:
    told = imported(world.memory(), world.root, b"name,type\na,b\n")

    assert (told.read, told.others, len(told.bad), told.set_aside) == (0, 0, 2, "")
    assert not (world.home / exchange.SET_ASIDE).exists()


def test_a_line_set_aside_is_stored_with_the_name_of_its_file(world: World) -> None:
    told = imported(world.memory(), world.root, b"torn\n" + row(x=1), "other.jsonl")
    assert told.set_aside == str(world.home / exchange.SET_ASIDE)
    kept = exchange.import_file(
        world.memory(), str(world.root / "other.jsonl"), SAID_THERE, called="standard input"
    )
    lines = [json.loads(line) for line in Path(kept.set_aside).read_text("utf-8").splitlines()]
    assert [line["file"] for line in lines] == [str(world.root / "other.jsonl"), "standard input"]
