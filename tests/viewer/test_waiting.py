"""The one list of what waits: decided by keyboard, in bulk, and taken back, on the served page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from cli.shell import Shell
from command_line import run_here
from importing.foreign import ClaudeMem
from servers.http.http_server import Serving, serving
from viewer import waits
from viewer.conftest import Opener, expect_value, wait
from viewer.test_actions import expect_focused, press, until_said, whats

CANDIDATES = waits.HEARD[::-1]  # the newest first
CONTRADICTION = f"contradiction: {waits.POSTGRES} / {waits.MONGO}"


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """A shell in a project in which one of everything waits."""
    shell = Shell(tmp_path)
    waits.fill(shell)
    return shell


@pytest.fixture
def server(shell: Shell) -> Iterator[Serving]:
    """A server of its memory."""
    with serving(shell) as found:
        yield found


@pytest.fixture
def page(open_page: Opener, server: Serving) -> Page:
    """Its list of what waits; no script may fail in it."""
    open_page.ignored.add("console")  # the browser says there that a change was refused
    found = open_page.visit(server.address)
    found.keyboard.press("r")
    expect(found.get_by_role("heading", name="1 candidate in billing")).to_be_visible()
    return found


def kinds(shell: Shell) -> list[str]:
    """The kinds of what waits, as the command lists it."""
    return [one["kind"] for one in shell.run("review", "--limit", "50", "--json").json["due"]]


def count(page: Page) -> int:
    """The number in the bar."""
    found = page.locator("#tab-review .count")
    return int((found.text_content() or "").removesuffix(" due")) if found.count() else 0


def focus(page: Page, name: str) -> None:
    """Give the item of this name the focus."""
    page.get_by_role("article", name=name, exact=True).focus()


def test_the_review_view_lists_every_waiting_item_with_its_reason(page: Page) -> None:
    headings = page.locator("#main h2").all_inner_texts()
    reasons = page.locator(".due .due-why").all_inner_texts()

    assert headings == [
        "2 candidates",
        "1 contradiction",
        "1 rule that waits for your word",
        "1 stale memory",
        "1 near duplicate",
        "3 imported memories",
        "2 memories of colleagues",
        "1 candidate in billing",
    ]
    assert count(page) == len(reasons) == 12
    for words in (
        "nobody noted it",
        "Says otherwise than the older one",
        "You never typed “deploy”",
        "Not said or confirmed for",
        "Says nearly the same",
        "From claude-mem; ",
        "bob says so",
    ):
        assert any(words in reason for reason in reasons), words
    page.keyboard.press("t")
    expect(page.locator("#records .card").first).to_be_visible()
    expect(page.get_by_text("for your decision")).to_have_count(0)  # said once, in the bar


def test_review_items_can_be_decided_with_single_keys(page: Page, shell: Shell) -> None:
    page.keyboard.press("a")
    expect(page.locator("#said")).to_have_text("Move to one first, by j or k.")
    page.keyboard.press("j")
    expect_focused(page, CANDIDATES[0])
    page.keyboard.press("ArrowDown")
    expect_focused(page, CANDIDATES[1])
    page.keyboard.press("k")
    page.keyboard.press("a")
    until_said(page, "Remembered: decision")
    expect_focused(page, CANDIDATES[1])
    page.keyboard.press("d")
    until_said(page, "Forgotten: decision")
    expect_focused(page, CONTRADICTION)
    assert CANDIDATES[0] in whats(shell) and CANDIDATES[1] not in whats(shell)

    page.keyboard.press("Enter")
    until_said(page, "Confirmed: decision")
    expect_focused(page, waits.RULE)
    page.keyboard.press("u")
    until_said(page, "Undone: ")
    expect_focused(page, CONTRADICTION)
    page.keyboard.press("d")
    until_said(page, "Forgotten: decision")
    assert waits.POSTGRES not in whats(shell) and waits.MONGO in whats(shell)
    for said in ("Confirmed: rule", "Confirmed: decision", "Confirmed: decision"):
        page.keyboard.press("a")
        until_said(page, said)
    expect_focused(page, f"{waits.IMPORTED[2]}.")
    assert kinds(shell) == ["imported"] * 3 + ["shared"] * 2
    assert count(page) == 6


def test_a_dialog_opened_again_right_after_closing_keeps_its_fields(page: Page) -> None:
    focus(page, waits.STALE)
    page.keyboard.press("e")
    expect(page.get_by_label("What", exact=True)).to_be_focused()

    has_fields = page.evaluate("""() => new Promise((resolve) => {
        const dialog = document.getElementById("act");
        dialog.addEventListener("close", () => resolve(Boolean(dialog.querySelector("textarea"))));
        dialog.close();
        const pressed = new KeyboardEvent("keydown", { key: "e", bubbles: true, cancelable: true });
        document.activeElement.dispatchEvent(pressed);
    })""")

    assert has_fields


def test_the_key_e_edits_a_review_item_and_typing_in_a_field_triggers_no_shortcut(
    page: Page, shell: Shell
) -> None:
    focus(page, waits.STALE)
    page.keyboard.press("e")
    what = page.get_by_label("What", exact=True)
    expect(what).to_be_focused()
    page.keyboard.press("Escape")
    expect_focused(page, waits.STALE)
    page.keyboard.press("e")
    expect(what).to_be_focused()
    page.keyboard.press("Control+a")
    page.keyboard.type("adeu? Sessions are kept in Valkey")
    page.keyboard.press("Control+Enter")
    until_said(page, "Changed: decision")
    assert "adeu? Sessions are kept in Valkey" in whats(shell)
    expect(page.locator(".due[data-item]", has_text="Valkey")).to_have_count(0)
    waiting = count(page)

    page.locator("#find").focus()
    page.keyboard.type("ade u")

    expect(page.locator("#find")).to_have_value("ade u")
    assert count(page) == waiting and len(kinds(shell)) == waiting - 1
    focus(page, waits.OF_BOB[0])
    page.keyboard.press("e")
    expect(page.locator("#said")).to_have_text("Only its author can change it.")


def test_holding_down_a_key_decides_only_one_review_item(page: Page, shell: Shell) -> None:
    focus(page, CANDIDATES[0])

    page.keyboard.down("d")
    page.keyboard.down("d")  # as a keyboard repeats it
    until_said(page, "Forgotten: decision")
    page.keyboard.down("d")
    page.keyboard.up("d")

    expect_focused(page, CANDIDATES[1])
    assert kinds(shell).count("candidate") == 1


def test_all_memories_imported_from_one_program_can_be_decided_together(
    page: Page, shell: Shell
) -> None:
    database = ClaudeMem(shell.project / "more.db")
    for number in range(259):  # memory knows the first three by their numbers
        database.add("observations", project="shop", title=f"Shelf {number} holds part {number}")
    assert shell.run("import", str(database.close())).status == 0
    page.get_by_role("button", name="Read memory again").click()
    until_said(page, "Memory was read again.")
    press(page, "Confirm all 259 from claude-mem")
    dialog = page.get_by_role("dialog", name="Confirm all 259 from claude-mem?")
    expect(dialog).to_be_visible()
    page.keyboard.press("Escape")
    expect_focused(page, "Confirm all 259 from claude-mem")
    assert kinds(shell).count("imported") > 0

    page.keyboard.press("Enter")
    press(page, "Confirm all 259")
    until_said(page, "Confirmed: all 259 from claude-mem")

    assert "imported" not in kinds(shell)
    expect_focused(page, "Accept all 2 from bob")
    page.keyboard.press("u")
    until_said(page, "Undone: ")
    expect_focused(page, "Confirm all 259 from claude-mem")
    press(page, "Drop all 259 from claude-mem")
    press(page, "Drop all 259")
    until_said(page, "Forgotten: all 259 from claude-mem")
    assert not whats(shell) & set(waits.IMPORTED)
    assert count(page) == 9


def test_memories_accepted_from_a_colleague_are_still_marked_as_foreign(
    page: Page, shell: Shell
) -> None:
    expect(page.locator(".due .foot", has_text="from bob")).to_have_count(2)
    press(page, "Accept all 2 from bob")
    press(page, "Accept all 2")
    until_said(page, "Confirmed: all 2 from bob")

    assert "shared" not in kinds(shell)
    told = {r["what"]: r["trust"] for r in shell.run("viz", "--json").json["records"]}
    assert {told[said] for said in waits.OF_BOB} == {"foreign"}


def test_a_review_decision_on_a_memory_of_another_project_changes_that_project(
    page: Page, shell: Shell
) -> None:
    folder = shell.project.parent / "billing"

    def remembered() -> bool:
        found = run_here(("viz", "--json"), shell.environ, folder).json["records"]
        return waits.OF_BILLING in {record["what"] for record in found}

    focus(page, waits.OF_BILLING)
    page.keyboard.press("e")
    page.get_by_label("Why", exact=True).fill("customers complained")
    page.keyboard.press("Control+Enter")
    until_said(page, "Changed: decision")
    assert remembered() and waits.OF_BILLING not in whats(shell)
    assert count(page) == 11
    page.keyboard.press("u")
    until_said(page, "Undone: ")
    expect_focused(page, waits.OF_BILLING)
    page.keyboard.press("d")
    until_said(page, "Forgotten: decision")
    expect(page.get_by_role("heading", name="1 candidate in billing")).to_have_count(0)
    assert not remembered()


def test_confirming_a_review_item_that_changed_since_it_was_shown_is_refused(
    page: Page, shell: Shell
) -> None:
    focus(page, waits.STALE)
    (id_,) = [
        r["id"] for r in shell.run("viz", "--json").json["records"] if r["what"] == waits.STALE
    ]
    shell.run("edit", id_, "--text", "Sessions are kept in Valkey")

    page.keyboard.press("a")

    expect(page.get_by_role("alert")).to_contain_text("was changed since it was shown")
    expect(page.get_by_role("article", name=waits.STALE)).to_have_count(0)


def test_review_keys_are_listed_in_the_help_and_show_commands_on_a_saved_page(
    page: Page, shell: Shell, open_page: Opener, tmp_path: Path
) -> None:
    page.keyboard.press("?")
    expect(page.locator("#keys")).to_contain_text("in the review: drop")
    page.keyboard.press("Escape")
    target = tmp_path / "memory.html"
    shell.run("viz", "--out", str(target), "--no-open")
    written = open_page.apart(f"{target.as_uri()}#/review")

    focus(written, waits.STALE)
    written.keyboard.press("a")

    dialog = written.get_by_role("dialog", name="Commands")
    expect(dialog).to_contain_text("memory-fabric review --holds=")
    written.keyboard.press("Escape")
    expect_focused(written, waits.STALE)
    press(written, "Commands: all 3 from claude-mem")
    expect(dialog).to_contain_text("memory-fabric review --drop=claude-mem")


def test_the_heading_gets_the_focus_when_the_review_list_becomes_empty(
    open_page: Opener, tmp_path: Path
) -> None:
    shell = Shell(tmp_path)
    waits.hear(shell, waits.HEARD[0])
    with serving(shell) as server:
        page = open_page.visit(server.address)
        page.keyboard.press("r")
        page.keyboard.press("j")
        page.keyboard.press("d")
        until_said(page, "Forgotten: decision")

        expect(page.get_by_text("Nothing is due for review.")).to_be_visible()
        expect_focused(page, "Review")
        expect(page.locator("#tab-review .count")).to_have_count(0)
        expect_value(page, "memoryFabric.view", "review")


def test_the_review_list_shows_which_command_a_team_rule_asks_about(
    page: Page, shell: Shell
) -> None:
    waits.ask(shell, waits.OF_BOB[0], "git push")

    page.reload()
    wait(page)

    why = page.locator(".card.due", has_text=waits.OF_BOB[0]).locator(".due-why")
    expect(why).to_contain_text("bob, who owns the team's space, asks before: git push.")
