"""setup --statusline: beside the hooks and what a person wrote, taken back to the byte."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from cli.shell import ROOT, Shell

COMMAND = f"{shlex.quote(str(ROOT / 'bin' / 'memory-fabric'))} statusline"
LINE = {"type": "command", "command": COMMAND, "padding": 0}
WRITTEN = b'{\r\n   "model" :"opus",\r\n   "env": {"A":"\\u00e9"}  }'
OTHERS = b'{"statusLine": {"type": "command", "command": "~/bar.sh"}, "model": "opus"}'


@pytest.fixture
def settings(shell: Shell) -> Path:
    """The user's settings.json; its folder exists, the file does not."""
    path = shell.user_home / ".claude" / "settings.json"
    path.parent.mkdir()
    return path


def test_setup_adds_only_the_status_line_and_removes_it(shell: Shell, settings: Path) -> None:
    settings.write_bytes(WRITTEN)

    done = shell.run("setup", "--statusline", "--yes")
    found = json.loads(settings.read_bytes())
    again = shell.run("setup", "--statusline", "--yes")

    assert (done.status, found["statusLine"], "hooks" in found) == (0, LINE, False)
    assert "from its next start" in done.out and "Nothing to do" in again.out
    assert "as it was before" in shell.run("setup", "--statusline", "--remove", "--yes").out
    assert settings.read_bytes() == WRITTEN


@pytest.mark.parametrize("first", ["hooks", "line"])
def test_hooks_and_line_are_set_up_separately(shell: Shell, settings: Path, first: str) -> None:
    settings.write_bytes(WRITTEN)
    steps = [("setup", "--yes"), ("setup", "--statusline", "--yes")]
    for step in steps if first == "hooks" else reversed(steps):
        assert shell.run(*step).status == 0
    both = json.loads(settings.read_bytes())
    assert (both["statusLine"], len(both["hooks"])) == (LINE, len(hooks_of_plugin()))

    shell.run("setup", "--statusline", "--remove", "--yes")
    assert json.loads(settings.read_bytes()) == {k: both[k] for k in ("model", "env", "hooks")}
    shell.run("setup", "--statusline", "--yes")
    assert "as it was before" in shell.run("setup", "--remove", "--yes").out
    assert settings.read_bytes() == WRITTEN


def hooks_of_plugin() -> dict[str, object]:
    found: dict[str, object] = json.loads((ROOT / "hooks.json").read_bytes())["hooks"]
    return found


def test_another_status_line_is_kept_and_reported(shell: Shell, settings: Path) -> None:
    settings.write_bytes(OTHERS)

    done = shell.run("setup", "--statusline", "--yes")

    assert done.status == 2 and "has a status line already (line 1)" in done.err
    assert f"also print the output of {COMMAND}" in done.err
    assert settings.read_bytes() == OTHERS
    shell.run("setup", "--statusline", "--remove", "--yes")
    assert settings.read_bytes() == OTHERS


def test_remove_deletes_only_the_line_from_an_edited_file(shell: Shell, settings: Path) -> None:
    shell.run("setup", "--statusline", "--yes")
    edited = {**json.loads(settings.read_bytes()), "model": "opus"}
    settings.write_text(json.dumps(edited), "utf-8")

    assert shell.run("setup", "--statusline", "--remove", "--yes").status == 0
    assert json.loads(settings.read_bytes()) == {"model": "opus"}


def test_the_status_line_of_another_installation_is_replaced_and_uninstalled(
    shell: Shell, settings: Path
) -> None:
    older = {"type": "command", "command": "'/opt/memory-fabric 1/bin/memory-fabric' statusline"}
    settings.write_text(json.dumps({"statusLine": older}), "utf-8")

    shell.run("setup", "--statusline", "--yes")
    assert json.loads(settings.read_bytes())["statusLine"] == LINE
    shell.run("uninstall", "--yes")
    assert json.loads(settings.read_bytes()).get("statusLine") in (None, older)


def test_remove_deletes_a_settings_file_that_setup_created(shell: Shell, settings: Path) -> None:
    shell.run("setup", "--statusline", "--yes")
    assert shell.run("setup", "--remove", "--yes").status == 0
    assert not settings.exists()


def test_statusline_cannot_be_combined_with_other_options(shell: Shell, settings: Path) -> None:
    for other in (("--mcp",), ("--shell",), ("--client", "codex")):
        done = shell.run("setup", "--statusline", *other, "--yes")
        assert done.status == 2 and "--statusline is set up alone" in done.err
    assert not settings.exists()
