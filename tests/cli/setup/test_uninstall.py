"""uninstall: everything is as it was before we came, byte for byte, or as much as was asked for."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from pathlib import Path

import pexpect
import pytest

from cli.shell import Shell
from cli.terminal import interrupt

DECISION = "We decided to use PostgreSQL for the analytics DB because it handles our query load."
ODD = (
    b'{\r\n\t"model" :"opus",  "hooks":{"Stop":[{"hooks":[{"type":"command","command":"true"}]}]}}'
)
NOTES = b"# Mine\r\n\r\n- tabs, not spaces\r\nno end"
SERVERS = b'{ "mcpServers": {"other": {"command": "x"}} }'
WAIT_S = 60.0
ROOT = Path(__file__).parents[3]


def everything(folder: Path) -> dict[str, bytes | str]:
    """Every file and link below a folder with what it holds."""
    found: dict[str, bytes | str] = {}
    for at, _, names in os.walk(folder):
        for path in (Path(at, name) for name in names):
            found[str(path)] = str(path.readlink()) if path.is_symlink() else path.read_bytes()
    return found


def live_in(shell: Shell) -> None:
    """Write what a person has before we come: settings, notes, a project of their own."""
    settings = shell.user_home / ".claude" / "settings.json"
    shell.notes.parent.mkdir(parents=True)
    settings.write_bytes(ODD)
    shell.notes.write_bytes(NOTES)
    (shell.project / ".mcp.json").write_bytes(SERVERS)
    (shell.project / "README.md").write_bytes(b"mine\r\n")
    (shell.project / ".gitignore").write_bytes(b"*.log")
    local = shell.project / ".claude" / "settings.local.json"
    local.parent.mkdir()
    local.write_bytes(b'{"permissions": {}}')


def ring(shell: Shell, event: str, **fields: object) -> None:
    """Run the hook of an event as the client would: the command that stands in the settings."""
    settings = json.loads((shell.user_home / ".claude" / "settings.json").read_bytes())
    hook = settings["hooks"][event][-1]["hooks"][0]
    known = {"hook_event_name": event, "session_id": "s-1", "cwd": str(shell.project)}
    done = subprocess.run(
        [hook["command"], *hook["args"]],
        input=json.dumps({**known, **fields}).encode(),
        env={
            **{k: v for k, v in shell.environ.items() if k != "PYTHONPATH"},
            "CLAUDE_PROJECT_DIR": str(shell.project),
        },
        cwd=shell.project,
        capture_output=True,
        timeout=WAIT_S,
    )
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.fixture
def filled(shell: Shell) -> Shell:
    """A shell whose project remembers something, also in its MEMORY.md and its folder."""
    shell.remember(DECISION)
    return shell


def test_uninstall_restores_every_byte_changed_by_setup_and_hooks(shell: Shell) -> None:
    live_in(shell)
    before = everything(shell.user_home.parent)
    for words in (["setup"], ["setup", "--settings", "project", "--mcp"], ["setup", "--shell"]):
        shell.run(*words, *([] if "--shell" in words else ["--yes"]))
    transcript = shell.user_home / ".claude" / "projects" / "-p" / "s.jsonl"
    transcript.parent.mkdir(parents=True)
    ring(shell, "UserPromptSubmit", prompt=DECISION)
    message = {"role": "user", "content": DECISION}
    transcript.write_text(json.dumps({"type": "user", "message": message}) + "\n", "utf-8")
    ring(shell, "Stop", stop_hook_active=False, transcript_path=str(transcript))
    transcript.unlink()
    transcript.parent.rmdir()
    shell.remember("Use cursor-based pagination for all list endpoints, because it scales")
    shared = shell.run("share", "on")
    between = everything(shell.user_home.parent)

    done = shell.run("uninstall", "--purge", "--yes")

    assert shared.status == 0
    assert b"PostgreSQL" in between[str(shell.notes)]
    assert str(shell.project / ".claude/memory/.gitattributes") in between
    assert (done.status, done.err) == (0, "")
    assert everything(shell.user_home.parent) == before
    assert not (shell.user_home / ".local").exists()


def test_a_purge_removes_the_lines_also_where_the_project_was_before_a_move(filled: Shell) -> None:
    notes = filled.notes
    filled.project = filled.project.rename(filled.project.parent / "renamed")
    known = filled.run("recall", "PostgreSQL")

    done = filled.run("uninstall", "--purge", "--yes")

    assert "PostgreSQL" in known.out and f"lines in {notes}" in done.out
    assert not notes.exists()


def test_uninstall_without_purge_removes_the_setup_and_keeps_the_memory(filled: Shell) -> None:
    settings = filled.user_home / ".claude" / "settings.json"
    settings.write_bytes(ODD)
    filled.run("setup", "--yes")
    filled.run("setup", "--shell")
    link = filled.user_home / ".local" / "bin" / "memory-fabric"

    done = filled.run("uninstall", "--yes")
    told = filled.run("uninstall", "--json").json

    assert (done.status, done.err) == (0, "")
    assert f"The link {link} will be removed.\n" in done.out and not link.is_symlink()
    assert f"{settings} is restored.\n" in done.out and settings.read_bytes() == ODD
    assert filled.database.exists()
    assert b"PostgreSQL" in filled.notes.read_bytes()
    assert "The memory stays" in done.out and f"  {filled.memory}\n" in done.out
    command = shlex.quote(str(ROOT / "bin/memory-fabric"))
    assert f"\n{command} uninstall --purge deletes all of it" in done.out
    assert (told["restored"], told["deleted"], told["stays"]) == ([], [], [])
    assert told["kept"][:2] == [str(filled.memory), str(filled.project / ".claude" / "memory")]


def test_uninstall_without_options_shows_the_steps_and_deletes_nothing(filled: Shell) -> None:
    done = filled.run("uninstall")

    assert done.status == 0
    assert "claude plugin uninstall memory-fabric@memory-fabric" in done.out
    assert str(filled.memory) in done.out
    assert filled.database.exists()


def test_uninstall_leaves_a_settings_file_with_comments_unchanged(filled: Shell) -> None:
    settings = filled.user_home / ".claude" / "settings.json"
    settings.write_bytes(b"{ // mine\n}")

    assert filled.run("uninstall", "--purge", "--yes").status == 0
    assert settings.read_bytes() == b"{ // mine\n}"


@pytest.mark.parametrize("keep", ["memory", "notes", "folders"])
def test_uninstall_purge_with_a_keep_option_deletes_all_other_data(
    filled: Shell, keep: str
) -> None:
    done = filled.run("uninstall", "--purge", f"--keep-{keep}", "--yes", "--json")

    left = {
        "memory": filled.memory.exists(),
        "notes": filled.notes.exists(),
        "folders": (filled.project / ".claude" / "memory").exists(),
    }
    assert left == {name: name == keep for name in left}
    assert len(done.json["kept"]) == 1
    assert done.json["done"] is True


def test_uninstall_json_without_yes_lists_files_and_deletes_nothing(filled: Shell) -> None:
    filled.run("setup", "--yes")

    told = filled.run("uninstall", "--purge", "--json").json

    assert told["done"] is False
    assert str(filled.memory) in told["deleted"]
    assert told["restored"] == [
        str(filled.user_home / ".claude" / "settings.json"),
        str(filled.user_home / ".claude.json"),
    ]
    assert filled.database.exists()
    assert (filled.user_home / ".claude" / "settings.json").exists()


def test_uninstall_purge_deletes_only_memory_fabrics_own_files(filled: Shell) -> None:
    text = filled.notes.read_bytes()
    filled.notes.write_bytes(b"# Mine\r\nkept\r\n" + text)
    mine = filled.project / ".claude" / "memory" / "decisions.jsonl.mine"
    mine.write_text("mine\n", "utf-8")
    left = mine.with_name("decisions.jsonl.12-34.tmp")
    left.write_text("torn", "utf-8")

    refused = filled.run("uninstall", "--purge")
    done = filled.run("uninstall", "--purge", "--yes")

    assert refused.status == 2
    assert done.status == 0
    assert done.err == f"memory-fabric: {mine} was not written by memory-fabric.\n"
    assert not filled.memory.exists()
    assert [str(path) for path in mine.parent.iterdir()] == [str(mine)]
    assert filled.notes.read_bytes() == b"# Mine\r\nkept\r\n"


def test_uninstall_purge_keeps_files_that_git_tracks(shell: Shell) -> None:
    git = ["git", "-c", "user.name=ann", "-c", "user.email=ann@example.com"]
    (shell.project / ".git").rmdir()
    subprocess.run([*git, "init", "-q"], cwd=shell.project, check=True)
    shell.remember(DECISION)
    shell.run("share", "on")
    subprocess.run([*git, "add", ".claude/memory"], cwd=shell.project, check=True)
    subprocess.run([*git, "commit", "-qm", "Share"], cwd=shell.project, check=True)

    done = shell.run("uninstall", "--purge", "--yes")

    status = subprocess.run(
        [*git, "status", "--porcelain"], cwd=shell.project, check=True, capture_output=True
    )
    assert status.stdout == b""
    assert "decisions.jsonl is tracked by git" in done.err
    assert not shell.memory.exists()


def test_uninstall_purge_refuses_a_folder_that_is_not_a_memory_home(shell: Shell) -> None:
    stranger = shell.user_home / "photos"
    stranger.mkdir()
    (stranger / "holiday.jpg").write_bytes(b"jpg")
    shell.environ["CLAUDE_PROJECT_DIR"] = "/"

    done = shell.run("uninstall", "--purge", "--yes", MEMORY_FABRIC_HOME=str(stranger))

    assert done.status == 2
    assert (stranger / "holiday.jpg").exists()


def test_uninstall_in_a_terminal_asks_what_to_keep(filled: Shell) -> None:
    filled.run("setup", "--yes")
    terminal = filled.terminal("uninstall")

    for question, answer in (
        ("Keep the memory itself", ""),
        ("Keep the lines in MEMORY.md (1)?", "n"),
        ("Keep the records in folders of projects (1)?", "y"),
        ("Delete all of it? [y/N]:", "y"),
    ):
        terminal.expect_exact(question)
        terminal.sendline(answer)
    terminal.expect(pexpect.EOF)

    assert terminal.wait() == 0
    assert filled.database.exists()
    assert not filled.notes.exists()
    assert (filled.project / ".claude" / "memory").exists()
    assert not (filled.user_home / ".claude" / "settings.json").exists()


@pytest.mark.parametrize(
    ("at", "how"),
    [
        ("Keep the memory itself", "Ctrl-C"),
        ("Delete all of it?", "Ctrl-C"),
        ("Delete all of it?", "no"),
    ],
)
def test_uninstall_changes_nothing_if_the_user_declines_or_presses_ctrl_c(
    filled: Shell, at: str, how: str
) -> None:
    filled.run("setup", "--yes")
    before = everything(filled.user_home.parent)
    terminal = filled.terminal("uninstall")

    terminal.expect_exact("Keep the memory itself")
    if at != "Keep the memory itself":
        for question in ("Keep the lines", "Keep the records", "Delete all of it?"):
            terminal.sendline("n")
            terminal.expect_exact(question)
    if how == "no":
        terminal.sendline("n")
        terminal.expect(pexpect.EOF)
    else:
        interrupt(terminal)

    assert "memory-fabric: stopped; nothing was changed." in str(terminal.before)
    terminal.wait()
    assert everything(filled.user_home.parent) == before


def test_uninstall_purge_refuses_a_folder_with_other_files(shell: Shell) -> None:
    (shell.user_home / "projects").mkdir()
    (shell.user_home / "registry.json").write_text("{}", "utf-8")
    before = everything(shell.user_home)

    home = shell.run("uninstall", "--purge", "--yes", MEMORY_FABRIC_HOME=str(shell.user_home))
    above = shell.run(
        "uninstall", "--purge", "--yes", MEMORY_FABRIC_HOME=str(shell.user_home.parent)
    )

    assert (home.status, above.status) == (2, 2)
    assert "not only memory" in home.err
    assert everything(shell.user_home) == before


def test_uninstall_purge_refuses_an_unrelated_folder_with_a_projects_subfolder(
    shell: Shell,
) -> None:
    work = shell.user_home / "work"
    (work / "projects").mkdir(parents=True)
    (work / "letter").write_text("dear", "utf-8")

    done = shell.run("uninstall", "--purge", "--yes", MEMORY_FABRIC_HOME=str(work))

    assert done.status == 2
    assert (work / "letter").read_text("utf-8") == "dear"


def test_uninstall_purge_deletes_a_symlinked_home_and_the_symlink(shell: Shell) -> None:
    real = shell.user_home / "disk"
    real.mkdir()
    shell.memory.parent.mkdir()
    shell.memory.symlink_to(real)
    shell.remember(DECISION)

    done = shell.run("uninstall", "--purge", "--yes")

    assert (done.status, done.err) == (0, "")
    assert not real.exists()
    assert not shell.memory.is_symlink()


def test_uninstall_purge_lists_what_it_deletes_and_keeps_nothing(filled: Shell) -> None:
    done = filled.run("uninstall", "--purge", "--yes")

    assert done.out.startswith(f"This deletes permanently:\n  {filled.memory}\n")
    assert "Deleted. Transcripts of Claude Code are not touched.\n" in done.out
    assert "The memory stays" not in done.out
    again = filled.run("uninstall", "--purge", "--yes")
    assert again.status == 0 and "permanently" not in again.out


def test_uninstall_names_the_program_without_its_path_if_it_is_on_the_path(filled: Shell) -> None:
    folder = filled.user_home / "programs"
    folder.mkdir()
    (folder / "memory-fabric").touch(0o755)

    done = filled.run("uninstall", "--yes", PATH=f"{folder}:{filled.environ['PATH']}")

    assert "\nmemory-fabric uninstall --purge deletes all of it.\n" in done.out
