"""Lists of words and phrases, and the places in the code that name them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import memory_fabric
from memory_fabric.language import word_lists

PACKAGE = Path(str(memory_fabric.__file__)).parent
FILES = sorted((PACKAGE / "language" / "data").glob("*.txt"))
READERS = ("words", "sections", "either", "phrases", "filled", "listed", "word_table")


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.stem))
def test_each_word_list_mentions_its_source_and_has_no_duplicate_lines(file: Path) -> None:
    text = file.read_text("utf-8")
    sections = word_lists.sections(file.stem)

    assert "\n# Source: " in text
    assert sections and all(sections.values())
    assert [line for line in text.split("\n") if line != line.strip()] == []
    assert all(len(set(lines)) == len(lines) for lines in sections.values())


def test_comments_and_headings_are_not_read_as_words() -> None:
    words = word_lists.words("answers")

    assert {"twelve", "everyone", "until"} <= words
    assert words.isdisjoint({"#", "==", "source", "Source:", "numbers"})


def test_phrases_match_whole_words_except_in_scripts_without_spaces() -> None:
    expression = word_lists.phrases("statement", "preference")

    assert expression.startswith(r"\b(?:prefer")
    assert "|喜欢|" in expression


def test_references_to_other_word_lists_are_expanded() -> None:
    rows = word_lists.filled("person")["goal"]

    assert [row for row in rows if "<" in row.replace("(?<", "").replace("(?P<", "")] == []


def test_every_word_list_section_used_in_the_code_exists() -> None:
    missing = []
    for path in PACKAGE.rglob("*.py"):
        for call in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") in READERS:
                names = [str(a.value) for a in call.args if isinstance(a, ast.Constant)]
                file, *sections = names or ["", ""]
                if (PACKAGE / f"language/data/{file}.txt").is_file():
                    known = word_lists.sections(file)
                    missing += [(path.name, name) for name in sections if name not in known]

    assert missing == []
