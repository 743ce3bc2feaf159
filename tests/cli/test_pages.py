"""export --markdown and the import of such pages by command."""

from __future__ import annotations

import stat

from cli.shell import Shell


def test_markdown_pages_can_be_exported_edited_imported_and_undone(shell: Shell) -> None:
    shell.remember("--type", "rule", "Use tabs, not spaces")
    shell.remember("--scope", "user", "I prefer short answers")

    done = shell.run("export", "--markdown", "pages")
    refused = shell.run("export", "--markdown", "pages")
    same = shell.run("import", "pages/shop.md", "pages/user.md")
    page = shell.project / "pages" / "shop.md"
    page.write_text(page.read_text("utf-8").replace("tabs, not spaces", "two spaces"), "utf-8")
    before = shell.run("import", "pages/shop.md", "--dry-run", "--mine")
    unasked = shell.run("import", "pages/shop.md")
    shell.run("import", "pages/shop.md", "--mine")
    edited = shell.run("recall", "spaces").out
    shell.run("import", "--undo")

    assert "shop.md: 1 record, 0 entities, 0 relations" in done.out
    assert "user.md: 1 record" in done.out
    assert "Not in it: turns, the ledgers of sessions" in done.out
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    assert refused.status == 2
    assert "--force" in refused.err
    assert "Nothing new in it" in same.out
    assert "0 restored, 1 edited, 0 added" in before.out
    assert "Use two spaces" in edited
    assert "--mine takes them" in unasked.out
    assert "nothing was changed" in unasked.out
    assert "Use tabs, not spaces" in shell.run("recall", "spaces").out


def test_importing_a_page_of_another_home_suggests_option_mine(shell: Shell) -> None:
    shell.remember("--type", "rule", "Use tabs, not spaces")
    shell.run("export", "--markdown", "pages")
    home = str(shell.user_home / "other")

    done = shell.run("import", "pages/shop.md", "--dry-run", MEMORY_FABRIC_HOME=home)
    mine = shell.run("import", "pages/shop.md", "--mine", "--json", MEMORY_FABRIC_HOME=home)

    assert "1 state your trust" in done.out
    assert "--mine" in done.out
    assert mine.json["pages"][0]["restored"] == 1
    assert "tabs" in shell.run("load", MEMORY_FABRIC_HOME=home).out


def test_an_invalid_page_import_or_export_is_reported_in_one_line(shell: Shell) -> None:
    (shell.project / "torn.md").write_bytes(b"<!-- memory-fabric page 1 of x -->\n\xff")
    (shell.project / "file").write_text("")

    for words in (
        ("import", "torn.md"),
        ("export", "--markdown", "file"),
        ("export", "a.jsonl", "--markdown", "pages"),
    ):
        done = shell.run(*words)
        assert (done.status, len(done.err.splitlines())) == (2, 1), words


def test_exporting_an_empty_memory_writes_no_markdown_page(shell: Shell) -> None:
    done = shell.run("export", "--markdown", "pages")

    assert done.out == "Nothing is remembered yet; no page was written.\n"


def test_each_page_is_listed_with_what_it_contains(shell: Shell) -> None:
    entity = '{"type":"entity","name":"hub","entityType":"component","observations":[]}'
    shell.run("import", "-", stdin=entity)

    done = shell.run("export", "--markdown", "pages")
    told = shell.run("export", "--markdown", "pages", "--force", "--json").json

    assert done.out.startswith("pages/shop.md: 0 records, 1 entity, 0 relations\nNot in it: ")
    assert told["pages"] == [
        {"name": "shop", "text": "pages/shop.md", "records": 0, "entities": 1, "relations": 0}
    ]


def test_importing_a_page_restores_only_what_memory_lacks(shell: Shell) -> None:
    shell.remember("--type", "rule", "Use tabs, not spaces")
    shell.run("export", "--markdown", "pages")
    other_home = str(shell.user_home / "other")

    new = shell.run("import", "pages/shop.md", MEMORY_FABRIC_HOME=other_home)
    same = shell.run("import", "pages/shop.md", "--json").json

    assert new.out.startswith("pages/shop.md: memories of shop, 1 restored, 0 edited, 0 added\n")
    assert new.out.endswith("Imported. memory-fabric import --undo takes it back.\n")
    assert (same["stored"], same["pages"][0]["own"]) == (False, True)
    assert len(shell.run("viz", "--json").json["records"]) == 1


def test_a_project_named_user_and_the_user_have_a_page_each(shell: Shell) -> None:
    shell.project = shell.project.parent / "user"
    (shell.project / ".git").mkdir(parents=True)
    shell.remember("The orders are stored in PostgreSQL")
    shell.remember("I prefer tabs", "--scope", "user")

    done = shell.run("export", "--markdown", "notes", "--force")

    pages = [path.read_text("utf-8") for path in (shell.project / "notes").iterdir()]
    assert done.status == 0, done.err
    assert sum("PostgreSQL" in page for page in pages) == sum("tabs" in page for page in pages) == 1
