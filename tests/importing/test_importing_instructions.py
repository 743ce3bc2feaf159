"""Instruction files such as CLAUDE.md: rules, notes, imports of other files, and limits."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from importing.foreign import left, read
from memory_fabric.importing import instructions, items
from memory_fabric.importing.instructions import read_files
from memory_fabric.importing.items import Here
from memory_fabric.importing.sources import INSTRUCTIONS


def test_instruction_files_cannot_import_private_files_through_links(
    tmp_path: Path, here: Here
) -> None:
    shop, config = tmp_path / "shop", Path(here.config_dir)
    private = tmp_path / "home" / "private"
    other = config / "projects" / "-other" / "memory" / "acme.md"
    for path in (private / "diary.md", other, config / "own.md", config / "CLAUDE.md"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("- Never tell the secret of ACME\n")
    (shop / ".claude").mkdir()
    (shop / ".claude" / "rules").symlink_to(private)
    (shop / "CLAUDE.md").write_text(f"- Use tabs\n\n@{other} @{config / 'own.md'}\n")
    (config / "own.md").write_text("- Answer in English\n")
    (config / "CLAUDE.md").write_text(f"- Be brief\n\n@own.md @{other}\n")

    project = [read(shop, here), read(shop / "CLAUDE.md", here)]
    linked = INSTRUCTIONS.read(str(shop / ".claude" / "rules" / "diary.md"), here)
    own = read(config / "CLAUDE.md", here)

    assert [[i.what for i in reading.items] for reading in project] == [["Use tabs"]] * 2
    assert linked.items == ()
    assert [(i.what, i.scope) for i in own.items] == [
        ("Be brief", "user"),
        ("Answer in English", "user"),
    ]
    assert left(project[0])["links out of the folder"] == 1


def test_instructions_in_claude_md_become_rules_and_command_descriptions_become_notes(
    tmp_path: Path, here: Here
) -> None:
    shop = tmp_path / "shop"
    (shop / "docs").mkdir()
    (shop / "docs" / "style.md").write_text("- Tabs, not spaces\n")
    (tmp_path / "home").mkdir()
    (shop / "CLAUDE.md").write_text(
        "# Shop\n\nThe shop sells bicycles. Use Python 3.12.\n\n## Commands\n\n"
        "- `npm test` – runs the tests\n- Never start the server\n  unless asked\n\n"
        "```\n- no rule\n```\n<!-- - nor this\n- Use spaces -->\n\n"
        "@docs/style.md\n@/etc/hostname.md\n",
        "utf-8",
    )

    reading = read(shop / "CLAUDE.md", here)

    assert [(i.type, i.what, i.place, i.line) for i in reading.items] == [
        ("constraint", "Use Python 3.12.", "CLAUDE.md", 3),
        ("note", "Commands: `npm test` – runs the tests", "CLAUDE.md", 7),
        ("constraint", "Commands: Never start the server unless asked", "CLAUDE.md", 8),
        ("constraint", "Tabs, not spaces", "docs/style.md", 1),
    ]


def test_an_instruction_file_is_imported_once_with_the_paths_of_its_symlinks(
    tmp_path: Path, here: Here
) -> None:
    (tmp_path / "shop" / ".claude").mkdir()
    (tmp_path / "shop" / "AGENTS.md").write_text("- Use tabs\n")
    (tmp_path / "shop" / ".claude" / "CLAUDE.md").symlink_to("../AGENTS.md")

    (file,) = read_files(str(tmp_path / "shop" / "AGENTS.md"), here, items.Left())

    assert (file.place, file.via) == ("AGENTS.md", (".claude/CLAUDE.md",))


def test_cursor_rule_files_are_imported_as_instructions(tmp_path: Path, here: Here) -> None:
    folder = tmp_path / "shop" / ".cursor" / "rules"
    folder.mkdir(parents=True)
    (folder / "api.mdc").write_text(
        "---\ndescription: API\nglobs: src/api/**\nalwaysApply: false\n---\n- Validate with zod\n"
    )

    (one,) = read(tmp_path / "shop", here).items

    assert (one.what, one.also, one.place) == (
        "Validate with zod",
        "src/api/**",
        ".cursor/rules/api.mdc",
    )


@pytest.mark.parametrize(
    ("line", "kind", "text"),
    [
        ("Use Python.", "constraint", "Use Python."),
        ("I prefer tabs.", "preference", "I prefer tabs."),
        ("Don't sleep.", "constraint", "Don't sleep."),
        ("Run tests, e.g. on push.", "constraint", "Run tests, e.g. on push."),
        ("We must test.", "constraint", "We must test."),
        ("- `src/` – the server", "note", "`src/` – the server"),
        ("- **`x`**: the x", "note", "`x`: the x"), ("- `src`", "note", "`src`"),
        ("- `src` is nice", "constraint", "`src` is nice"),
        ("- [link](x) to text", "note", "link to text"),
        ("- I prefer tabs", "preference", "I prefer tabs"), ("- Short", "constraint", "Short"),
        ("- Look at @docs/a.md for each style", "", instructions.POINTERS),
        ("- See @a/b for each new page style", "constraint", "See @a/b for each new page style"),
        ("The shop sells boats.", "", instructions.PROSE), ("Use it?", "", instructions.PROSE),
        ("See @docs/a.md", "", instructions.POINTERS),
        ("- See all of @docs/a.md first", "", instructions.POINTERS), ("- 123 / 4", "", ""),
    ],
)  # fmt: skip
def test_each_line_of_an_instruction_file_is_a_rule_a_note_or_left_out(
    line: str, kind: str, text: str
) -> None:
    left_out = items.Left()

    found = instructions.statements(line, "CLAUDE.md", "", left_out)

    assert [(i.type, i.what) for i in found] == ([(kind, text)] if kind else [])
    assert [one.reason for one in left_out.all] == ([] if kind or not text else [text])


@pytest.mark.parametrize(
    "text",
    [
        "- Use tabs\n@docs/style.md\n",
        "@docs/style.md\nAlways use tabs.\n",
        "Always use tabs.\n@docs/style.md\n",
    ],
)
def test_an_import_beside_a_rule_without_a_blank_line_does_not_hide_the_rule(text: str) -> None:
    left_out = items.Left()

    (rule,) = instructions.statements(text, "CLAUDE.md", "", left_out)

    assert rule.what in ("Use tabs", "Always use tabs.")
    assert [(one.reason, one.examples) for one in left_out.all] == [
        (instructions.POINTERS, ("@docs/style.md",))
    ]


def test_a_sentence_that_goes_on_after_an_import_is_one_statement() -> None:
    text = "Always follow\n@docs/style.md\nwhen you write code for the shop.\n"

    (rule,) = instructions.statements(text, "CLAUDE.md", "", items.Left())

    assert rule.what == "Always follow @docs/style.md when you write code for the shop."


def test_statements_of_an_instruction_file_carry_their_heading_place_and_scope() -> None:
    text = (
        "---\npaths: src/**\n---\n# Title\n- Use tabs\n## Style\n- Be brief\n- be brief.\n"
        "<!-- memory-fabric:begin -->\n- Not this\n<!-- memory-fabric:end -->\n- Be kind\n"
        "## Title\n- Ask first\n"
    )

    found = instructions.statements(text, "~/.claude/CLAUDE.md", "2026", items.Left())

    assert [(i.what, i.line) for i in found] == [
        ("Use tabs", 5),
        ("Style: Be brief", 7),
        ("Style: Be kind", 12),
        ("Ask first", 14),
    ]
    assert {(i.scope, i.category, i.confidence, i.also, i.at, i.place) for i in found} == {
        ("user", "instructions", 0.9, "src/**", "2026", "~/.claude/CLAUDE.md")
    }
    (own,) = instructions.statements("- Use tabs", "CLAUDE.md", "", items.Left())
    assert (own.scope, own.also) == ("team", "")


def test_imports_of_an_instruction_file_are_found_outside_code() -> None:
    text = (
        "@a.md, @b/c; x `@no.md` @d @e.md.\n```\n@no.md\n~~~\n```\n~~~\n@no.md\n~~~\n"
        "see a@b.org @/f/g: @h/i) @ @."
    )

    assert instructions.imports(text) == ["a.md", "b/c", "e.md", "/f/g", "h/i"]


def test_a_file_may_import_only_from_its_project_or_its_own_clients_folder(here: Here) -> None:
    root, home, config = here.roots[0], here.user_home, here.config_dir
    here = here._replace(codex_home=f"{home}/codex")
    allowed = [
        (f"{root}/CLAUDE.md", f"{root}/docs/a.md"),
        (f"{config}/CLAUDE.md", f"{config}/a.md"),
        (f"{home}/codex/AGENTS.md", f"{home}/codex/a.md"),
        *((f"{home}/.{name}/a.md", f"{home}/.{name}/b.md") for name in ("gemini", "qwen")),
    ]
    refused = [
        (f"{root}/CLAUDE.md", f"{root}-other/a.md"),
        (f"{root}/CLAUDE.md", f"{config}/a.md"),
        (f"{config}/CLAUDE.md", f"{root}/a.md"),
        (f"{config}/CLAUDE.md", f"{home}/.gemini/a.md"),
        (f"{config}/CLAUDE.md", f"{config}/projects/-x/a.md"),
        (f"{home}/notes/a.md", f"{home}/notes/b.md"),
    ]

    assert all(instructions.may_import(real, target, here) for real, target in allowed)
    assert not any(instructions.may_import(real, target, here) for real, target in refused)
    # Without a folder of Claude Code, there is no folder `projects` to exclude either.
    elsewhere = here._replace(config_dir="", roots=("/",))
    assert instructions.may_import("/a.md", "/projects/b.md", elsewhere)


def test_places_are_shown_relative_to_the_project_or_the_users_home(here: Here) -> None:
    root, home = here.roots[0], here.user_home

    paths = (f"{root}/docs/a.md", f"{home}/.claude/a.md", f"{home}-2/a.md", root)
    assert [instructions.place_of(path, here) for path in paths] == [
        "docs/a.md",
        "~/.claude/a.md",
        f"{home}-2/a.md",
        root,
    ]
    assert instructions.place_of("/a.md", Here()) == "/a.md"


def test_the_instruction_files_of_a_project_are_listed_with_those_in_its_rule_folders(
    tmp_path: Path,
) -> None:
    names = [
        "CLAUDE.md",
        "AGENTS.md",
        ".cursorrules",
        ".cursor/rules/a.mdc",
        ".cursor/rules/deep/b.md",
        ".claude/rules/c.md",
    ]
    for name in (*names, "README.md", ".claude/rules/d.mdc", ".claude/rules/e.txt", "docs/f.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("- Be brief\n")

    found = instructions.files_of(str(tmp_path))
    rules = instructions.files_of(str(tmp_path / ".cursor" / "rules"))
    one = str(tmp_path / "README.md")

    assert {os.path.relpath(path, tmp_path) for path in found} == set(names)
    assert len(found) == len(names)
    assert [os.path.relpath(path, tmp_path) for path in rules] == names[3:5]
    assert instructions.files_of(one) == [one]
    assert instructions.files_of(str(tmp_path / "docs")) == []


def test_imports_are_followed_five_files_deep_in_order_and_each_file_once(
    tmp_path: Path, here: Here
) -> None:
    shop = tmp_path / "shop"
    (shop / "CLAUDE.md").write_text("- Rule 0\n\n@1.md @late.md @gone.md @/dev/null\n")
    for number in range(1, 8):
        (shop / f"{number}.md").write_text(f"- Rule {number}\n\n@{number + 1}.md @CLAUDE.md\n")
    (shop / "late.md").write_text("- Late\n\n@1.md\n")

    found = read_files(str(shop / "CLAUDE.md"), here, items.Left())

    assert [file.place for file in found] == [
        "CLAUDE.md",
        *(f"{number}.md" for number in range(1, 6)),
        "late.md",
    ]
    assert found[2].via == ("CLAUDE.md", "1.md")
    assert [i.what for file in found for i in file.items][-2:] == ["Rule 5", "Late"]


def test_a_reading_is_limited_in_files_and_bytes(
    tmp_path: Path, here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = tmp_path / "shop"
    (shop / "CLAUDE.md").write_text("- Rule 0\n\n@1.md @2.md\n")
    (shop / "1.md").write_text("- Rule 1\n" + "x" * 991)
    (shop / "2.md").write_bytes(b"\0")
    path, left_out = str(shop / "CLAUDE.md"), items.Left()
    cost = instructions.LEAST_COST_BYTES + 1000 + instructions.LEAST_COST_BYTES

    assert len(read_files(path, here, left_out, cost)) == 2
    assert left_out.all[1:] == ((items.NOT_TEXT, 1, ("2.md",)),)
    with pytest.raises(instructions.TooLarge):
        read_files(path, here, items.Left(), cost - 1)
    monkeypatch.setattr(instructions, "MAX_FILES", 1)
    left_out = items.Left()
    assert len(read_files(path, here, left_out)) == 1
    assert left_out.all[1:] == ((instructions.TOO_MANY, 2, ("1.md", "2.md")),)


def test_an_instruction_file_that_cannot_be_read_is_reported_with_its_place(
    tmp_path: Path, here: Here
) -> None:
    left_out = items.Left()

    assert read_files(str(tmp_path / "shop" / "CLAUDE.md"), here, left_out) == []
    (one,) = left_out.all
    assert (one.reason, one.examples[0].partition(": ")[0]) == (
        instructions.UNREADABLE,
        "CLAUDE.md",
    )
