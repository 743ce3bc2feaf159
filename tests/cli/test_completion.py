"""completion: a real bash completes commands, options and their values."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import pexpect
import pytest

from cli.shell import GIVE_UP_S, Shell

COMPLETE = """
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
function=$(complete -p memory-fabric | sed 's/.*-F \\([^ ]*\\).*/\\1/')
"$function" memory-fabric "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def bash(shell: Shell) -> Shell:
    """A shell whose PATH has the command."""
    folder = shell.user_home / "bin"
    folder.mkdir()
    program = folder / "memory-fabric"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m memory_fabric.cli "$@"\n', "utf-8")
    program.chmod(0o700)
    shell.environ["PATH"] = f"{folder}:{shell.environ['PATH']}"
    return shell


def completed(bash: Shell, script: str, *words: str) -> list[str]:
    """Return what bash would offer for the last of these words after this script."""
    done = subprocess.run(
        ["bash", "--norc", "-c", script + COMPLETE, "bash", *words],
        capture_output=True,
        text=True,
        env=bash.environ,
        cwd=bash.project,
        timeout=GIVE_UP_S,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


TABLE = [
    (("rec",), ["recall"]),
    (("pr",), ["project", "prune"]),
    (("recall", "--expl"), ["--explain"]),
    (("prune", "--ty"), ["--type"]),
    (("remember", "--type", "anti"), ["antipattern"]),
    (("stale", "--type", "dec"), ["decision"]),
    (("remember", "--scope", ""), ["local", "user", "team", "global"]),
    (("edit", "1a2b3c4d", "--scope", ""), ["user", "team", "global"]),
    (("edit", "1a2b3c4d", "--type", "rul"), ["rule"]),
    (("completion", "z"), ["zsh"]),
    (("unheard-of", "--x"), []),
]
# Answers as to bash's function, each in a process that has loaded what all need.
ANSWERING = """
import json, os, sys
import typer.completion
from memory_fabric.cli import app, main
for number, words in enumerate(json.loads(sys.argv[1])):
    if not os.fork():
        os.environ |= {"_MEMORY_FABRIC_COMPLETE": "complete_bash", "COMP_CWORD": str(len(words))}
        os.environ["COMP_WORDS"] = "\\n".join(("memory-fabric", *words))
        sys.stdout = open(f"answer{number}", "w", encoding="utf-8")
        try:
            main.main([])
        finally:
            sys.stdout.flush()
            os._exit(0)
    os.wait()
"""


@pytest.mark.parametrize(("words", "offered"), [TABLE[0], TABLE[3]])
def test_the_bash_script_completes_commands_options_and_values(
    bash: Shell, words: tuple[str, ...], offered: list[str]
) -> None:
    script = bash.run("completion", "bash").out
    assert completed(bash, script, "memory-fabric", *words) == offered


def test_bash_completion_offers_matching_commands_options_and_values(bash: Shell) -> None:
    asked = json.dumps([words for words, _ in TABLE])
    command = [sys.executable, "-c", ANSWERING, asked]

    subprocess.run(command, env=bash.environ, cwd=bash.project, timeout=GIVE_UP_S, check=True)

    answers = [bash.project / f"answer{number}" for number in range(len(TABLE))]
    offered = [answer.read_text("utf-8").split() for answer in answers]
    assert offered == [expected for _, expected in TABLE]


def test_pressing_tab_in_a_terminal_completes_the_command_line(bash: Shell) -> None:
    terminal = pexpect.spawn(
        "bash",
        ["--norc", "-i"],
        env={**bash.environ, "TERM": "dumb", "PS1": "> "},
        cwd=str(bash.project),
        encoding="utf-8",
        timeout=GIVE_UP_S,
    )
    terminal.sendline('eval "$(memory-fabric completion bash)"; echo rea""dy')
    terminal.expect("ready")

    terminal.send("memory-fabric domai\t--hel\t")

    terminal.expect("memory-fabric domains --help")
    terminal.kill(signal.SIGKILL)
    terminal.wait()


@pytest.mark.parametrize(("variable", "name"), [("complete_zsh", "zsh"), ("complete_fish", "fish")])
def test_completion_for_zsh_and_fish_offers_matching_commands(
    bash: Shell, variable: str, name: str
) -> None:
    script = bash.run("completion", name)
    asked = {"_TYPER_COMPLETE_ARGS": "memory-fabric rec", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}

    answer = bash.run(_MEMORY_FABRIC_COMPLETE=variable, **asked)

    assert script.status == 0 and f"_MEMORY_FABRIC_COMPLETE={variable}" in script.out
    assert "recall" in answer.out and "status" not in answer.out


def test_completion_refuses_an_unknown_shell(shell: Shell) -> None:
    done = shell.run("completion", "tcsh")

    assert done.status == 2 and "tcsh" in done.err
