"""Recognition of other programs' memories by place, name and text."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from importing.foreign import NOTE, TOPIC, ClaudeMem, codex_main
from memory_fabric.config import read_settings
from memory_fabric.errors import BadInput, NotFound
from memory_fabric.importing import sources
from memory_fabric.importing.items import Here
from memory_fabric.importing.sources import expect_graph, find, recognise

MEM0 = [
    "[]", '{"results": []}', '{"memories": [{"memory": "a"}]}', ' [{"data": "x"}]',
    '[{"id": 1}, {"content": "a"}]', '{"results": {"memories": [{"text": "a"}]}}',
    '{"results":{"results":{"results":[]}}}', '[{"memory":"cut', '{"results": [{"memory":"cut',
    '{"memories": [{"text":"cut',
]  # fmt: skip
NOT_MEM0 = [
    "", "memory", '[{"id": 1}]', '[{"memory": 1}]', '["memory"]', '{"memory": "a"}',
    '{"results": {}}', '{"songs": [{"cut', '[{"entityType": "cut',
    '{"entities": [], "results": [{"cut', '{"type":"relation", "memories": [{"cut',
]  # fmt: skip


@pytest.mark.parametrize("head", MEM0)
def test_json_with_memories_is_recognised_as_an_export_of_mem0_even_if_it_is_cut(head: str) -> None:
    assert sources.is_mem0(head)


@pytest.mark.parametrize("head", NOT_MEM0)
def test_other_json_is_not_recognised_as_an_export_of_mem0(head: str) -> None:
    assert not sources.is_mem0(head)


def test_a_folder_with_a_claude_mem_database_is_read_from_that_database(tmp_path: Path) -> None:
    ClaudeMem(tmp_path / "claude-mem.db").close()

    assert recognise(str(tmp_path)) == (sources.CLAUDE_MEM, str(tmp_path / "claude-mem.db"))


@pytest.mark.parametrize(
    ("name", "text", "source"),
    [
        ("x.json", '{"results": []}', sources.MEM0), ("x.jsonl", '{"type":"entity"}', None),
        ("x.MD", TOPIC, sources.AUTO_MEMORY),
        ("x.txt", codex_main(Path("/shop")), sources.CODEX),
        ("x.markdown", NOTE, sources.BASIC_MEMORY),
        ("CLAUDE.md", "Be brief.", sources.INSTRUCTIONS),
        (".cursorrules", "Be brief.", sources.INSTRUCTIONS),
        ("style.mdc", "Be brief.", sources.INSTRUCTIONS),
        (".claude/rules/a.md", "Be brief.", sources.INSTRUCTIONS),
        (".claude/rules/deep/a.md", "Be brief.", sources.INSTRUCTIONS),
        (".cursor/rules/a.md", "Be brief.", sources.INSTRUCTIONS),
        ("projects/-shop/memory/MEMORY.md", "- Be brief", sources.AUTO_MEMORY),
        ("permalink.md", "---\npermalink: a\n---\nText\n", sources.BASIC_MEMORY),
        ("both.md", "- [a] text\n- uses [[B]]\n", sources.BASIC_MEMORY),
    ],
)  # fmt: skip
def test_a_file_is_recognised_by_its_name_and_text(
    tmp_path: Path, name: str, text: str, source: sources.Source | None
) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")

    assert recognise(str(path)) == (source, str(path))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("MEMORY.md", "- Be brief"), ("projects/-shop/memory/other.md", "- Be brief"),
        ("other/-shop/memory/MEMORY.md", "- Be brief"), ("one.md", "- [a] text\n- [b] text\n"),
        ("two.md", "- uses [[B]]\n"), ("three.md", "---\nname: x\ntype: other\n---\nText\n"),
        ("four.md", "---\ntype: user\n---\nText\n"), (".claude/rules/a.txt", "Be brief."),
        ("claude/rules/a.md", "Be brief."),
    ],
)  # fmt: skip
def test_markdown_that_only_resembles_a_known_form_is_refused(
    tmp_path: Path, name: str, text: str
) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")

    with pytest.raises(BadInput, match="is Markdown of no known form"):
        recognise(str(path))


def test_a_file_of_unknown_format_is_refused_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "poem.md").write_text("Roses are red\n")
    os.symlink(tmp_path / "nowhere", tmp_path / "link")

    for name in ("empty", "poem.md"):
        with pytest.raises(BadInput, match=name):
            recognise(str(tmp_path / name))
    for name in ("none", "link"):
        with pytest.raises(NotFound, match=f"{name} does not exist"):
            recognise(str(tmp_path / name))


def test_a_graph_file_of_memory_fabric_is_not_recognised_as_a_foreign_format(
    tmp_path: Path,
) -> None:
    path = tmp_path / "memory.jsonl"
    path.write_text('{"type":"entity","name":"a","entityType":"t","observations":[]}\n')

    assert recognise(str(path)) == (None, str(path))


def test_pipes_and_binary_files_are_refused_before_they_are_parsed(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name, content in (("a", b"a\0b"), ("b", b"text"), ("c", b" \n"), ("d", b'{"what": 1}')):
        (tmp_path / name).write_bytes(content)

    with pytest.raises(BadInput, match="is not a regular file"):
        recognise(str(tmp_path / "pipe"))
    with pytest.raises(BadInput, match="mine is no text in UTF-8"):
        expect_graph(str(tmp_path / "a"), "mine")
    with pytest.raises(BadInput, match="mine is no known form"):
        expect_graph(str(tmp_path / "b"), "mine")
    expect_graph(str(tmp_path / "c"), "mine")
    expect_graph(str(tmp_path / "d"), "mine")


def test_sources_are_found_in_their_usual_places_and_only_there(tmp_path: Path) -> None:
    home, shop = tmp_path / "home", tmp_path / "shop"
    settings = read_settings({"HOME": str(home), "USER": "ann"}, {})
    here = Here("shop", (str(shop),), str(home), str(home / ".claude"), str(home / ".codex"))
    slug = str(shop).replace("/", "-").replace("_", "-").replace(".", "-")
    memory = home / ".claude" / "projects" / slug / "memory"
    places = [
        (sources.CLAUDE_MEM, home / ".claude-mem" / "claude-mem.db"),
        (sources.INSTRUCTIONS, shop / "CLAUDE.md"),
        (sources.INSTRUCTIONS, shop / ".cursor" / "rules" / "a.mdc"),
        (sources.AUTO_MEMORY, memory),
        (sources.INSTRUCTIONS, home / ".claude" / "CLAUDE.md"),
        (sources.CODEX, home / ".codex" / "memories"),
        (sources.BASIC_MEMORY, home / "basic-memory"),
    ]
    assert find(settings, here) == []
    for folder in (memory, home / ".codex" / "memories", home / "basic-memory"):
        folder.mkdir(parents=True)
    assert [source for source, _ in find(settings, here)] == [sources.BASIC_MEMORY]
    (memory / "MEMORY.md").write_text("- Be brief")
    (home / ".codex" / "memories" / "memory_summary.md").write_text("x")
    for _, path in places:
        if path.suffix:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("x")

    assert find(settings, here) == [(source, str(path)) for source, path in places]
    homeless = find(settings, here._replace(roots=()))
    assert [source for source, _ in homeless] == [
        sources.CLAUDE_MEM,
        sources.INSTRUCTIONS,
        sources.CODEX,
        sources.BASIC_MEMORY,
    ]
