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


def test_it_adds_the_status_line_only_and_takes_it_back(shell: Shell, settings: Path) -> None:
    settings.write_bytes(WRITTEN)

    done = shell.run("setup", "--statusline", "--yes")
    found = json.loads(settings.read_bytes())
    again = shell.run("setup", "--statusline", "--yes")

    assert (done.status, found["statusLine"], "hooks" in found) == (0, LINE, False)
    assert "from its next start" in done.out and "Nothing to do" in again.out
    assert "as it was before" in shell.run("setup", "--statusline", "--remove", "--yes").out
    assert settings.read_bytes() == WRITTEN


@pytest.mark.parametrize("first", ["hooks", "line"])
def test_hooks_and_line_come_and_go_apart(shell: Shell, settings: Path, first: str) -> None:
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


def test_another_status_line_stays_and_is_said(shell: Shell, settings: Path) -> None:
    settings.write_bytes(OTHERS)

    done = shell.run("setup", "--statusline", "--yes")

    assert done.status == 2 and "has a status line already (line 1)" in done.err
    assert f"also print the output of {COMMAND}" in done.err
    assert settings.read_bytes() == OTHERS
    shell.run("setup", "--statusline", "--remove", "--yes")
    assert settings.read_bytes() == OTHERS


def test_of_a_file_that_was_edited_since_only_the_line_goes(shell: Shell, settings: Path) -> None:
    shell.run("setup", "--statusline", "--yes")
    edited = {**json.loads(settings.read_bytes()), "model": "opus"}
    settings.write_text(json.dumps(edited), "utf-8")

    assert shell.run("setup", "--statusline", "--remove", "--yes").status == 0
    assert json.loads(settings.read_bytes()) == {"model": "opus"}


def test_a_line_of_another_copy_is_replaced_and_goes_with_uninstall(
    shell: Shell, settings: Path
) -> None:
    older = {"type": "command", "command": "'/opt/memory-fabric 1/bin/memory-fabric' statusline"}
    settings.write_text(json.dumps({"statusLine": older}), "utf-8")

    shell.run("setup", "--statusline", "--yes")
    assert json.loads(settings.read_bytes())["statusLine"] == LINE
    shell.run("uninstall", "--yes")
    assert json.loads(settings.read_bytes()).get("statusLine") in (None, older)


def test_a_file_that_it_made_is_deleted(shell: Shell, settings: Path) -> None:
    shell.run("setup", "--statusline", "--yes")
    assert shell.run("setup", "--remove", "--yes").status == 0
    assert not settings.exists()


def test_it_is_set_up_alone(shell: Shell, settings: Path) -> None:
    for other in (("--mcp",), ("--shell",), ("--client", "codex")):
        done = shell.run("setup", "--statusline", *other, "--yes")
        assert done.status == 2 and "--statusline is set up alone" in done.err
    assert not settings.exists()
