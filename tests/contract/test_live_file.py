"""MEMORY_FILE_PATH: the same file under our server and under the reference server."""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from contract.sides import Reference, answer, flood
from contract.story_steps import (
    ADA,
    API,
    BEN,
    KNOWS,
    ODD,
    OWNS,
    TEAM,
    USES,
    Step,
    add,
    create,
    entity,
    forget,
    graph,
    read,
    relate,
    relation,
    search,
    unrelate,
    unsay,
)
from memory_fabric.store.graph_file.merge_external import WINDOW_S
from servers.mcp_clients import Process
from waiting import until

PATIENCE_S = 60
WRITERS, WRITES = 2, 60


def lines(*things: dict[str, Any]) -> list[bytes]:
    """Entities and relations as the reference server writes them."""
    kinds = (("entity" if "name" in thing else "relation", thing) for thing in things)
    return [
        json.dumps({"type": kind, **thing}, ensure_ascii=False, separators=(",", ":")).encode()
        for kind, thing in kinds
    ]


def ended(content: bytes) -> bytes:
    """A content of the reference server with its last line ended, as ours writes it (MEM-17j)."""
    return content + b"\n" if content else content


def ours_on(file: Path, home: str = "home", **more: str) -> Process:
    """Our server on a file."""
    return Process(file.parent / home, **{"MEMORY_FILE_PATH": str(file), **more})


def played(side: Process, steps: Sequence[Step]) -> list[Any]:
    """The answers to the steps; the server has ended afterwards."""
    with side:
        side.greet()
        answers = [answer(side, step.tool, dict(step.arguments)) for step in steps]
        side.input.close()
        assert side.process.wait(PATIENCE_S) == 0
    return answers


CHANGES = {
    "nothing": (read(), search("ada"), create(), relate(), add(), forget("nobody"), unsay()),
    "more and less": (
        create(entity("e", "é🎉"), entity("ada", kind="robot")),
        relate(relation("e", "t", "ada"), KNOWS),
        add(("ada", ["third", "line\ntwo"])),
        forget("ben"),
        unsay(("api", ["listens on 8080"])),
        unrelate(OWNS),
    ),
    "everything": (forget("ada", "ben", "api", *ODD),),
}


@pytest.mark.behaviour("MEM-17a", "MEM-17b", "MEM-18a")
@pytest.mark.parametrize("changes", CHANGES.values(), ids=list(CHANGES))
def test_the_same_calls_produce_the_same_file_with_our_and_the_reference_server(
    tmp_path: Path, changes: tuple[Step, ...]
) -> None:
    odd = (entity(name, name, kind=name) for name in ODD)
    before = b"\n".join(lines(*TEAM, *odd, OWNS, USES, KNOWS))
    own, other = tmp_path / "own.jsonl", tmp_path / "other.jsonl"
    for file in (own, other):
        file.write_bytes(before)

    answers = [played(side, (*changes, read())) for side in (ours_on(own), Reference(other))]

    assert answers[0] == answers[1]
    # Where nothing was changed, ours writes nothing.
    assert own.read_bytes() in (other.read_bytes(), ended(other.read_bytes()))


@pytest.mark.behaviour("MEM-17a", "MEM-17b", "MEM-17j")
def test_a_missing_file_is_treated_as_an_empty_graph(tmp_path: Path) -> None:
    own, other = tmp_path / "own.jsonl", tmp_path / "other.jsonl"
    steps = (read(), create(*TEAM), relate(OWNS), read())

    answers = [played(side, steps) for side in (ours_on(own), Reference(other))]

    assert answers[0] == answers[1]
    assert other.read_bytes() == b"\n".join(lines(*TEAM, OWNS))
    assert own.read_bytes() == ended(other.read_bytes())


@pytest.mark.behaviour("MEM-17b", "MEM-17i")
def test_our_server_and_the_reference_server_can_take_turns_on_one_file(tmp_path: Path) -> None:
    file = tmp_path / "memory.jsonl"

    played(Reference(file), (create(ADA, API), relate(OWNS)))
    played(ours_on(file), (create(BEN), relate(USES)))
    (seen,) = played(Reference(file), (read(),))
    played(Reference(file), (forget("ben"),))
    # A moment after our write its lines would be taken for lost to a stale copy (MEM-17i).
    later_s = time.time() + WINDOW_S
    os.utime(file, (later_s, later_s))
    (again,) = played(ours_on(file), (read(),))

    assert seen.structure == graph(ADA, API, BEN, OWNS, USES)
    assert again.structure == graph(ADA, API, OWNS)


@pytest.mark.behaviour("MEM-17c")
def test_a_change_by_another_program_is_visible_to_the_next_call(tmp_path: Path) -> None:
    for start in (ours_on, Reference):
        file = tmp_path / f"{start.__name__}.jsonl"
        file.write_bytes(b"\n".join(lines(ADA)))
        with start(file) as side:
            side.greet()
            answer(side, "read_graph", {})

            file.write_bytes(b"\n".join(lines(ADA, API, OWNS)))
            grown = answer(side, "read_graph", {})
            file.write_bytes(b"\n".join(lines(API)))
            shrunk = answer(side, "search_nodes", {"query": "a"})

        assert grown.structure == graph(ADA, API, OWNS)
        assert shrunk.structure == graph(API)


@pytest.mark.behaviour("MEM-17g", "MEM-17e")
def test_a_new_file_is_written_while_the_server_runs_and_readable_only_by_its_user(
    tmp_path: Path,
) -> None:
    file = tmp_path / "memory.jsonl"
    with ours_on(file) as side:
        side.greet()
        side.call("create_entities", {"entities": [ADA]})

        def follows() -> bool:
            side.call("read_graph", {})
            return file.exists()

        until(follows, "the file follows")

        assert file.read_bytes().splitlines() == lines(ADA)
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.behaviour("MEM-17d")
def test_invalid_lines_of_the_file_are_set_aside_and_valid_lines_are_served(tmp_path: Path) -> None:
    bad = (b'{"type":"entity","na', b"null", b"[1]", b"\xff\xfe", b'{"type":"entity"}', b'"x"')
    file = tmp_path / "memory.jsonl"
    file.write_bytes(b"\n".join((*lines(ADA), *bad, *lines(API, OWNS))))
    with ours_on(file) as side:
        side.greet()
        seen = answer(side, "read_graph", {})
        answer(side, "create_entities", {"entities": [BEN]})
        side.input.close()
        assert side.process.wait(PATIENCE_S) == 0
        assert side.process.stderr is not None
        said = side.process.stderr.read().decode()

    assert seen.structure == graph(ADA, API, OWNS)
    assert "line 2" in said
    # It is somewhere still: nothing that a user wrote is lost.
    kept = [path for path in tmp_path.rglob("*.jsonl") if "set" in path.name or path == file]
    texts = [_unescaped(path) for path in kept]
    for line in bad:
        beginning = line[:12].decode("utf-8", "backslashreplace")
        assert any(beginning in text for text in texts), line


def _unescaped(path: Path) -> str:
    """The text of a file of JSON lines, as it was before it became JSON."""
    return path.read_text("utf-8", "backslashreplace").replace('\\"', '"').replace("\\\\", "\\")


@pytest.mark.behaviour("MEM-17d")
def test_a_file_with_a_byte_order_mark_blank_lines_or_crlf_is_read(tmp_path: Path) -> None:
    file = tmp_path / "memory.jsonl"
    with ours_on(file) as ours, Reference(file) as theirs:
        ours.greet()
        theirs.greet()
        for number, ending in enumerate((b"\n", b"\r\n", b"\n\n \n")):
            new = entity(f"e{number}")
            file.write_bytes(b"\xef\xbb\xbf" + ending.join((*lines(ADA, API, new, OWNS), b"")))

            assert answer(ours, "read_graph", {}).structure == graph(ADA, API, new, OWNS)
            assert answer(theirs, "read_graph", {}).failed


@pytest.mark.behaviour("MEM-17e")
def test_writing_preserves_the_symlink_mode_and_unknown_records_of_a_file(
    tmp_path: Path,
) -> None:
    note = b'{"type":"note","text":"mine"}'
    for start in (ours_on, Reference):
        file = tmp_path / f"real-{start.__name__}.jsonl"
        link = tmp_path / f"{start.__name__}.jsonl"
        file.write_bytes(b"\n".join((note, *lines(ADA))))
        file.chmod(0o600)
        link.symlink_to(file)

        played(start(link), (create(API),))

        is_ours = start is ours_on
        assert link.is_symlink() == is_ours
        assert (stat.S_IMODE(link.stat().st_mode) == 0o600) == is_ours
        assert (note in link.read_bytes()) == is_ours
        assert all(line in link.read_bytes() for line in lines(ADA, API))


@pytest.mark.behaviour("MEM-17f")
def test_the_graph_is_in_the_home_folder_if_no_file_path_is_configured(tmp_path: Path) -> None:
    played(Process(tmp_path / "home"), (create(ADA),))

    assert [path.name for path in (tmp_path / "home").rglob("*.db")] == ["graph.db"]
    assert not list((tmp_path / "project").rglob("memory*.json*"))


@pytest.mark.behaviour("MEM-17h")
def test_a_relative_file_path_is_resolved_against_the_project_folder(tmp_path: Path) -> None:
    played(Process(tmp_path / "home", MEMORY_FILE_PATH="my memory.jsonl"), (create(ADA),))

    assert (tmp_path / "project" / "my memory.jsonl").read_bytes().splitlines() == lines(ADA)


@pytest.mark.behaviour("MEM-18c")
def test_parallel_servers_on_one_file_lose_no_data_unlike_the_reference_server(
    tmp_path: Path,
) -> None:
    kept = []
    for start in (ours_on, Reference):
        file = tmp_path / f"{start.__name__}.jsonl"
        with ExitStack() as stack:
            sides = [stack.enter_context(start(file)) for _ in range(WRITERS)]
            for number, side in enumerate(sides):
                side.greet()
                flood(side, WRITES, f"{number}-")
            for side in sides:
                assert len({side.read()["id"] for _ in range(WRITES)}) == WRITES
                side.input.close()
            for side in sides:
                assert side.process.wait(PATIENCE_S) == 0
        kept.append(len(set(file.read_bytes().splitlines())))

    assert kept[0] == WRITERS * WRITES
    assert kept[1] < WRITERS * WRITES
