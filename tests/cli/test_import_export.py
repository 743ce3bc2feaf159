"""import, export: the reference server's file by command."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from cli.shell import Shell

GRAPH = (
    '{"type":"entity","name":"Zoë","entityType":"person","observations":["likes 🍵"]}\n'
    '{"type":"entity","name":"api","entityType":"service","observations":[]}\n'
    '{"type":"relation","from":"Zoë","to":"api","relationType":"runs"}'
)


@pytest.fixture
def source(shell: Shell) -> Path:
    """A file of the reference server."""
    path = shell.project / "memory.jsonl"
    path.write_text(GRAPH, "utf-8")
    return path


def test_export_reproduces_an_imported_graph_byte_for_byte(shell: Shell, source: Path) -> None:
    done = shell.run("import", "memory.jsonl")

    assert (done.status, done.err) == (0, "")
    assert done.out == "New: 2 entities, 1 observations, 1 relations, of 3 lines.\n"
    assert shell.run("export").out == GRAPH + "\n"
    assert shell.run("export", "-").out == GRAPH + "\n"


def test_recall_finds_imported_observations(shell: Shell, source: Path) -> None:
    shell.run("import", "memory.jsonl")

    assert "likes 🍵" in shell.run("recall", "Zoë").out


def test_a_graph_can_be_imported_from_standard_input(shell: Shell) -> None:
    done = shell.run("import", "-", "--json", stdin=GRAPH + "\nnull\n")

    assert (done.json["entities"], done.json["relations"]) == (2, 1)
    assert done.json["bad"] == [{"line": 4, "because": "it is not an object"}]
    kept = json.loads(Path(done.json["set_aside"]).read_text("utf-8"))
    assert kept["file"] == "standard input"


def test_import_lists_the_numbers_of_invalid_lines(shell: Shell, source: Path) -> None:
    source.write_text("{torn\n" + GRAPH + "\nnull\n", "utf-8")

    done = shell.run("import", "memory.jsonl")

    assert done.status == 0
    assert f"2 lines set aside in {shell.memory}/set-aside.jsonl" in done.err
    assert "line 1: it is not JSON" in done.err
    assert "line 5: it is not an object" in done.err
    assert " more" not in done.err


@pytest.mark.parametrize("number", [20, 21])
def test_at_most_twenty_invalid_lines_are_listed_and_the_others_counted(
    shell: Shell, source: Path, number: int
) -> None:
    source.write_text(GRAPH + "\n{torn" * number, "utf-8")

    said = shell.run("import", "memory.jsonl").err.splitlines()

    assert said[0].startswith(f"memory-fabric: {number} lines set aside in ")
    assert sum("it is not JSON" in line for line in said) == 20
    assert said[21:] == (["memory-fabric: and 1 more"] if number > 20 else [])


def test_an_import_names_what_was_forgotten_and_what_is_new(shell: Shell, source: Path) -> None:
    shell.run("import", "memory.jsonl")
    shell.run("forget", "Zoë", "--yes")

    again = shell.run("import", "memory.jsonl")

    assert again.out == (
        "New: 0 entities, 0 observations, 0 relations, of 3 lines.\n"
        "Left out, because forgotten earlier: Zoë.\n"
    )
    assert shell.run("import", "memory.jsonl", "--json").json["forgotten"] == ["Zoë"]


def test_a_graph_file_has_no_preview(shell: Shell, source: Path) -> None:
    done = shell.run("import", "memory.jsonl", "--dry-run")

    assert (done.status, done.out) == (2, "")
    assert "there is no preview of it" in done.err
    assert shell.run("export").out == ""


def test_import_reports_similar_names_and_unknown_record_types(shell: Shell, source: Path) -> None:
    rows = [
        {"type": "entity", "name": "API", "entityType": "t", "observations": []},
        {"type": "relation", "from": "API", "to": "nobody", "relationType": "knows"},
        {"type": "note"},
    ]
    shell.run("import", "memory.jsonl")
    source.write_text("\n".join(map(json.dumps, rows)), "utf-8")

    done = shell.run("import", "memory.jsonl")

    assert "API is spelled almost like api; both are kept." in done.out
    assert "1 ends of relations were not described; they got the type unknown." in done.out
    assert "Left out: 1 record of neither entities nor relations." in done.out


def test_importing_a_file_without_a_valid_line_fails(shell: Shell, source: Path) -> None:
    source.write_bytes(b"\x89PNG\n\x00\xff\n")

    done = shell.run("import", "memory.jsonl")
    assert done.status == 2 and len(done.err.splitlines()) == 1


def test_importing_a_missing_file_or_a_folder_fails_with_an_explanation(shell: Shell) -> None:
    missing, folder = shell.run("import", "none.jsonl"), shell.run("import", ".")

    assert (missing.status, folder.status) == (3, 2)
    assert missing.err == "memory-fabric: The file none.jsonl does not exist. Check its path.\n"
    assert "is a folder without memories of a known form" in folder.err


def test_import_is_refused_while_memory_is_off(shell: Shell, source: Path) -> None:
    shell.run("off")

    done = shell.run("import", "memory.jsonl")

    assert done.status == 1
    assert "memory-fabric on" in done.err


def test_export_creates_a_file_readable_only_by_its_owner(shell: Shell, source: Path) -> None:
    shell.run("import", "memory.jsonl")

    done = shell.run("export", "copy.jsonl", "--json")

    copy = shell.project / "copy.jsonl"
    assert done.json == {"file": str(copy), "lines": 3}
    assert copy.read_text("utf-8") == GRAPH + "\n"
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600


def test_export_replaces_a_file_only_with_force(shell: Shell, source: Path) -> None:
    shell.run("import", "memory.jsonl")
    copy = shell.project / "copy.jsonl"
    copy.write_text("precious")

    refused = shell.run("export", "copy.jsonl")
    kept = copy.read_text()
    forced = shell.run("export", "copy.jsonl", "--force")

    assert refused.status == 2
    assert "Use --force" in refused.err
    assert kept == "precious"
    assert forced.out == "3 lines in copy.jsonl.\n"
    assert copy.read_text("utf-8") == GRAPH + "\n"


def test_export_of_an_empty_memory_prints_nothing(shell: Shell) -> None:
    done = shell.run("export")

    assert (done.status, done.out, done.err) == (0, "", "")


@pytest.mark.parametrize("target", [".", "none/copy.jsonl"])
def test_export_to_an_invalid_path_is_refused(shell: Shell, target: str) -> None:
    done = shell.run("export", target)

    assert done.status == 2
    assert not (shell.project / "none").exists()


def test_export_to_standard_output_refuses_the_json_option(shell: Shell) -> None:
    assert shell.run("export", "--json").status == 2


def test_export_of_a_damaged_memory_writes_nothing(shell: Shell, source: Path) -> None:
    shell.run("import", "memory.jsonl")
    shell.database.write_bytes(b"no database " * 400)
    for ending in ("-wal", "-shm"):
        shell.database.with_name(shell.database.name + ending).unlink(missing_ok=True)

    done = shell.run("export", "copy.jsonl")

    assert done.status == 1
    assert "Nothing was exported" in done.err
    assert not (shell.project / "copy.jsonl").exists()


def test_import_refuses_an_unrelated_json_file_and_copies_nothing(shell: Shell) -> None:
    wrong = shell.project / "settings.json"
    wrong.write_text('{\n  "theme": "dark"\n}\n', "utf-8")

    done = shell.run("import", str(wrong))

    assert done.status == 2
    assert "is no known form of memories" in done.err and len(done.err.splitlines()) == 1
    assert not (shell.memory / "set-aside.jsonl").exists()
