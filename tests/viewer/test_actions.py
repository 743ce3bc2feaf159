"""Changes where one sees the memory: by keyboard on the served page, by commands in a file."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from cli.shell import Shell
from memory_fabric.models import LASTING_SCOPES
from memory_fabric.viewer import page as page_module
from servers.http.http_server import Serving, serving
from viewer.conftest import Opener, expect_value, wait
from viewer.waits import contradict, hear

CURSORS = "Use cursor-pagination for the orders-api"
UTC = "Always use UTC in the audit-log"
NOTES_STAY = """
    const { setTimeout } = window;
    window.setTimeout = (work, ms, ...more) => setTimeout(work, ms === 6000 ? 1e6 : ms, ...more);
"""
HEARD = ("The exporter keeps its templates in S3", "Ship every Friday")


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """A shell in a project with memories, two candidates and a contradiction."""
    shell = Shell(tmp_path)
    shell.remember("--why", "offsets are slow", CURSORS)
    shell.remember("The order-service uses cursor-pagination")
    old = shell.remember("The order archive is in MongoDB")["id"]
    contradict(shell, old, "The order archive is in Postgres")
    shell.remember(UTC)
    for said in HEARD:
        hear(shell, said)
    return shell


@pytest.fixture
def server(shell: Shell) -> Iterator[Serving]:
    """A server of its memory."""
    with serving(shell) as found:
        yield found


@pytest.fixture
def page(open_page: Opener, server: Serving) -> Page:
    """The page behind the printed address; no script may fail in it."""
    open_page.ignored.add("console")  # the browser says there that a change was refused
    # Notes stay: on a slow machine their seconds could be over before the next key.
    return open_page.visit(server.address, init_script=NOTES_STAY)


def whats(shell: Shell) -> set[str]:
    """The words of all current records."""
    records = shell.run("viz", "--json").json["records"]
    return {r["what"] for r in records if not r["superseded_by"]}


def press(page: Page, name: str) -> None:
    """Press the button of this accessible name with the keyboard."""
    button = page.get_by_role("button", name=name, exact=True)
    button.focus()
    page.keyboard.press("Enter")


def tab_to(page: Page, wanted: Locator) -> None:
    """Press Tab until an element has the focus, once it is there."""
    expect(wanted).to_be_visible()
    for _ in range(20):
        page.keyboard.press("Tab")
        if wanted.evaluate("node => node === document.activeElement"):
            return
    raise AssertionError("Tab does not lead there.")


def expect_focused(page: Page, name: str) -> None:
    """Until what has the focus has this accessible name."""
    expect(page.locator(":focus")).to_have_accessible_name(name)


def until_said(page: Page, words: str) -> None:
    """Until the live region says these words, and the view stands again.

    Then the region is emptied, so that the same words said again are told from these.
    """
    expect(page.locator("#said")).to_contain_text(words)
    wait(page)
    page.locator("#said").evaluate("said => said.replaceChildren()")


def test_a_memory_can_be_edited_by_keyboard_and_an_invalid_field_is_reported(
    page: Page, shell: Shell
) -> None:
    page.keyboard.press("t")
    press(page, f"Edit: {CURSORS}")
    dialog = page.get_by_role("dialog", name="Edit")
    expect(dialog).to_be_visible()
    what = page.get_by_label("What", exact=True)
    expect(what).to_be_focused()

    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect_focused(page, f"Edit: {CURSORS}")
    expect_value(page, "memoryFabric.view", "timeline")
    page.keyboard.press("Enter")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("alert")).to_have_text(re.compile("Nothing was changed."))
    page.keyboard.press("Control+a")
    page.keyboard.type(" . ")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("alert")).to_contain_text("text is empty. Give a sentence")
    expect(what).to_be_focused()
    expect(what).to_have_attribute("aria-invalid", "true")
    page.keyboard.press("Control+a")
    page.keyboard.type("Use keyset pagination")
    page.keyboard.press("Tab")
    page.keyboard.press("Control+a")
    page.keyboard.type("it's faster")
    tab_to(page, page.get_by_role("button", name="Save"))
    page.keyboard.press("Enter")

    until_said(page, "Changed: decision")
    expect_focused(page, "Edit: Use keyset pagination")
    expect(page.locator("#outcome")).to_contain_text("Use keyset pagination")
    (record,) = [
        r for r in shell.run("viz", "--json").json["records"] if r["what"].startswith("Use keyset")
    ]
    assert (record["why"], record["source"]) == ("it's faster", "page")


def test_a_conflicting_change_is_shown_and_the_text_being_typed_is_kept(
    page: Page, shell: Shell
) -> None:
    page.keyboard.press("t")
    press(page, f"Edit: {CURSORS}")
    (id_,) = [r["id"] for r in shell.run("viz", "--json").json["records"] if r["what"] == CURSORS]
    theirs = "Use cursors for every list"
    shell.run("edit", id_, "--text", theirs, "--type", "constraint")

    page.get_by_label("What", exact=True).fill("Use keyset pagination")
    page.keyboard.press("Control+Enter")

    expect(page.get_by_role("alert")).to_contain_text(f"It says now: {theirs}")
    expect(page.get_by_label("What", exact=True)).to_have_value("Use keyset pagination")
    expect(page.get_by_label("Type", exact=True)).to_have_value("constraint")
    assert theirs in whats(shell)
    press(page, "Save mine instead")
    until_said(page, "Changed: rule")
    assert "Use keyset pagination" in whats(shell)
    shell.run("edit", id_, "--text", theirs)
    press(page, "Pin: Use keyset pagination")
    expect(page.get_by_role("alert")).to_contain_text("was changed since it was shown")
    expect(page.get_by_role("button", name=f"Pin: {theirs}")).to_be_focused()


def test_a_memory_can_be_pinned_forgotten_and_restored_by_keyboard(
    page: Page, shell: Shell
) -> None:
    page.keyboard.press("t")
    press(page, f"Pin: {CURSORS}")
    until_said(page, "Pinned: decision")
    expect_focused(page, f"Unpin: {CURSORS}")

    press(page, f"Forget: {UTC}")
    dialog = page.get_by_role("dialog", name="Forget")
    expect(dialog.get_by_role("listitem")).to_have_text(re.compile(UTC))
    expect(dialog).to_contain_text("the turn in which it was said can still be found")
    tab_to(page, dialog.get_by_role("button", name="Forget", exact=True))
    page.keyboard.press("Enter")
    until_said(page, "Forgotten: rule")
    expect(dialog).to_be_hidden()
    assert UTC not in whats(shell)

    page.keyboard.press("u")
    last = page.get_by_role("dialog", name="Undo the last change")
    expect(last.get_by_role("listitem")).to_contain_text("forgot")
    tab_to(page, last.get_by_role("button", name="Undo"))
    page.keyboard.press("Enter")
    until_said(page, "Undone: ")
    assert UTC in whats(shell)
    press(page, "Redo")
    until_said(page, "Undone: ")
    assert UTC not in whats(shell)


def test_an_entity_can_be_merged_forgotten_and_restored_by_keyboard(
    page: Page, shell: Shell, server: Serving
) -> None:
    page.goto(f"http://127.0.0.1:{server.port}/#/entity/orders-api")
    wait(page)
    press(page, "Merge: orders-api")
    expect(page.get_by_label("Other entity")).to_be_focused()
    page.keyboard.type("order-service")
    page.keyboard.press("Enter")
    table = page.get_by_role("dialog").get_by_role("table")
    expect(table.get_by_role("row")).to_have_count(3)
    tab_to(page, page.get_by_role("button", name="Merge", exact=True))
    page.keyboard.press("Enter")
    until_said(page, "order-service: now orders-api")
    expect(page.locator(".facts")).to_contain_text("order-service")

    undo = page.locator("#history").get_by_role("button", name=re.compile("^Undo: ")).first
    undo.focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Undo")
    tab_to(page, dialog.get_by_role("button", name="Undo"))
    page.keyboard.press("Enter")
    until_said(page, "Undone: ")
    press(page, "Forget: orders-api")
    expect(page.get_by_role("dialog").get_by_role("listitem")).to_contain_text("orders-api")
    press(page, "Forget")
    until_said(page, "Forgotten: orders-api")
    names = {e["name"] for e in shell.run("viz", "--json").json["entities"]}
    assert "orders-api" not in names and "order-service" in names


def test_typed_text_is_kept_if_saving_fails_because_the_server_has_stopped(
    page: Page, server: Serving
) -> None:
    page.keyboard.press("t")
    press(page, f"Edit: {CURSORS}")
    page.get_by_label("What", exact=True).fill("Use keyset pagination")
    server.process.kill()
    server.process.wait()

    page.keyboard.press("Control+Enter")

    expect(page.get_by_role("alert")).to_contain_text("Start it again with memory-fabric serve")
    expect(page.get_by_label("What", exact=True)).to_have_value("Use keyset pagination")


def words_of(command: str) -> list[str]:
    """The words that a shell makes of a command, without the program."""
    program = 'mf() { printf "%s\\0" "$@"; }'
    script = f"{program}\nmf {command.removeprefix('memory-fabric ')}\n"
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
    return done.stdout.split("\0")[:-1]


def test_commands_copied_from_a_saved_page_quote_special_characters_correctly(
    shell: Shell, open_page: Opener, tmp_path: Path
) -> None:
    odd = "Don't use `$HOME` or \"x\"; it's --unsafe: a\\'; touch x # \\\\d"
    shell.remember(odd)
    target = tmp_path / "memory.html"
    shell.run("viz", "--out", str(target), "--no-open")
    page = open_page.apart(f"{target.as_uri()}#/timeline")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])

    def copied(name: str, row: str) -> list[str]:
        """The words of a command that was copied by keyboard."""
        if not page.get_by_role("button", name=name, exact=True).count():
            words = name.removeprefix("Commands: ").replace("`", "")
            page.get_by_role("link", name=words, exact=True).focus()
            page.keyboard.press("Enter")
        press(page, name)
        dialog = page.get_by_role("dialog", name="Commands")
        copy = dialog.get_by_role("button", name=f"Copy: {row}", exact=True)
        tab_to(page, copy)
        page.keyboard.press("Enter")
        expect(copy).to_have_text("Copied")
        expect(dialog.get_by_role("status")).to_have_text("Copied.")
        text = str(page.evaluate("navigator.clipboard.readText()"))
        page.keyboard.press("Escape")
        expect(dialog).to_be_hidden()
        expect_focused(page, name)
        assert text.startswith("memory-fabric ")
        quoted = [part for part in re.findall(r"\\.|'[^']*'", text) if part[0] == "'"]
        assert not any("\\" in part for part in quoted)  # fish has escapes within quotes
        return words_of(text)

    def runs(name: str, row: str) -> str:
        done = shell.run(*copied(name, row))
        assert done.status == 0, done.err
        return done.out

    expect(page.get_by_role("button", name=f"Commands: {CURSORS}")).to_have_count(0)
    expect(page.get_by_role("button", name=f"Pin: {CURSORS}")).to_have_count(0)
    edit = copied(f"Commands: {odd}", "Edit")
    assert edit[2] == f"--text={odd}"
    assert shell.run(*edit).status == 2  # the words are those that it has
    assert shell.run(*edit[:2], f"{edit[2]}, ever").status == 0
    assert f"{odd}, ever" in whats(shell)
    assert "Pinned" in runs(f"Commands: {CURSORS}", "Pin")
    assert "nothing was changed" in runs(f"Commands: {UTC}", "Show what forgetting it takes away")
    assert "Forgotten: 1" in runs(f"Commands: {UTC}", "Forget")
    page.keyboard.press("r")
    assert "Remembered" in runs(f"Commands: {HEARD[0]}", "Keep")
    assert "Forgotten" in runs(f"Commands: {HEARD[1]}", "Drop")
    choice = "Commands: The order archive is in Postgres / The order archive is in MongoDB"
    assert "Confirmed" in runs(choice, "Keep both")
    page.keyboard.press("u")
    expect(page.get_by_role("dialog")).to_contain_text("Undo the last change")
    undo = page.get_by_role("dialog").locator("code").last.text_content() or ""
    assert "Undone" in shell.run(*words_of(undo)).out
    page.keyboard.press("Escape")
    page.goto(f"{target.as_uri()}#/entity/order-service")
    wait(page)
    assert "Forgotten" in runs("Commands: order-service", "Forget")


def test_the_edit_form_offers_the_same_scopes_as_the_edit_command() -> None:
    script = (Path(str(page_module.ASSETS)) / "actions.js").read_text("utf-8")
    scopes = re.findall(r"LASTING_SCOPES = table\(\{(.*?)\}\)", script, re.DOTALL)

    assert set(re.findall(r"^  (\w+):", scopes[0], re.MULTILINE)) == set(LASTING_SCOPES)
