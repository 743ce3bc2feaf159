"""Exit codes, one line for a mistake, and a start that does not load what it does not need."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from cli.shell import ROOT, Shell
from memory_fabric import __version__
from memory_fabric.cli.main import ARGUMENTS, main
from memory_fabric.cli.registry import COMMANDS


def test_help_lists_every_command(shell: Shell) -> None:
    done = shell.run("--help")

    assert done.status == 0
    assert "completion for the current shell" not in done.out
    listed = {line.split()[0] for line in done.out.splitlines() if line.startswith("  ")}
    assert {command.name for command in COMMANDS} <= listed


def test_help_shows_full_command_summaries_in_groups_within_80_columns(shell: Shell) -> None:
    shown = shell.run("--help").out

    words = " ".join(shown.split())
    assert max(map(len, shown.splitlines())) <= 80
    for panel in {command.panel for command in COMMANDS}:
        assert f"\n{panel}:\n" in shown
    for command in COMMANDS:
        assert f" {command.name} {command.says} " in words


def test_help_lists_common_commands_before_rarely_used_commands(shell: Shell) -> None:
    shown = shell.run("--help").out

    first, _, rest = shown.partition("\nFor particular cases:\n")
    in_sight = {line.split()[0] for line in first.splitlines() if line.startswith("  ")}
    named = in_sight & {command.name for command in COMMANDS}
    assert {"recall", "remember", "forget", "undo", "review", "status", "doctor"} <= named
    assert len(named) <= 25
    assert "\n  completion " in rest and "\n  hook " in rest


def test_the_summary_of_each_command_matches_its_docstring() -> None:
    from importlib import import_module

    for command in COMMANDS:
        module = import_module(f"memory_fabric.cli.{command.module}")
        said = getattr(module, command.function).__doc__
        assert command.says == " ".join(said.strip().split("\n\n")[0].split()), command.name


def test_the_program_without_a_command_shows_the_help(shell: Shell) -> None:
    assert shell.run().out == shell.run("--help").out


def test_the_program_prints_its_version(shell: Shell) -> None:
    assert shell.run("--version").out == f"memory-fabric {__version__}\n"


@pytest.mark.parametrize(
    "words",
    [
        ("rember", "x"),
        ("recall", "--limit", "many"),
        ("recall", "--limit", "0"),
        ("remember", "--typo", "x"),
        ("remember",),
        ("remember", "  "),
        ("remember", "--success", "--failed", "x"),
        ("remember", "--type", "rumour", "x"),
        ("remember", "--scope", "galaxy", "x"),
        ("remember", "--scope", "user", "--global", "x"),
        ("remember", "--scope", "local", "x"),
        ("why",),
        ("forget",),
        ("setup",),
    ],
)
def test_a_user_error_prints_one_line_with_exit_code_2(
    shell: Shell, words: tuple[str, ...]
) -> None:
    done = shell.run(*words)

    assert done.status == 2
    assert done.out == "" or words[0] == "setup"
    assert done.err.startswith("memory-fabric: ")
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "status", "code", "name"),
    [
        (("rember", "x"), 2, "bad_input", ""),
        (("recall", "--limit", "many"), 2, "bad_input", "--limit"),
        (("remember", "--typo", "x"), 2, "bad_input", "--typo"),
        (("remember", "--success", "--failed", "x"), 2, "bad_input", "--success"),
        (("why", "01234567"), 3, "not_found", "01234567"),
        (("import", "absent.jsonl"), 3, "not_found", "absent.jsonl"),
    ],
)
def test_the_json_option_prints_an_error_with_code_name_and_remedy(
    shell: Shell, words: tuple[str, ...], status: int, code: str, name: str
) -> None:
    done = shell.run(*words, "--json")

    error = json.loads(done.err)["error"]
    plain = shell.run(*words)
    assert (done.status, plain.status, done.out) == (status, status, "")
    assert (error["code"], error["name"]) == (code, name)
    assert plain.err == f"memory-fabric: {error['message']} {error['remedy']}\n"
    assert error["remedy"]


def test_json_after_a_double_dash_is_an_argument_and_not_an_option(shell: Shell) -> None:
    after, before = shell.run("why", "--", "--json"), shell.run("why", "--json", "--", "nothing")

    assert after.err.startswith("memory-fabric: ")
    assert json.loads(before.err)["error"]["code"] == "not_found"


@pytest.mark.parametrize(
    "words",
    [("recall", "nothing", "of", "it"), ("why", "01234567"), ("forget", "unheard"), ("load",)],
)
def test_a_command_about_a_missing_item_exits_with_3(shell: Shell, words: tuple[str, ...]) -> None:
    assert shell.run(*words).status == 3


def test_an_invalid_config_file_is_reported_in_one_line(shell: Shell) -> None:
    shell.memory.mkdir(parents=True)
    (shell.memory / "config.toml").write_text("read = perhaps", "utf-8")

    done = shell.run("status")

    assert done.status == 2
    assert "config.toml cannot be read" in done.err
    assert done.err.count("\n") == 1


@pytest.mark.parametrize("command", ["status", "doctor", "domains", "recall"])
def test_the_error_for_a_broken_isolation_config_says_that_memory_is_off(
    shell: Shell, command: str
) -> None:
    shell.memory.mkdir(parents=True)
    broken = "[domains.legal]\nisolate = true\nread = perhaps"
    (shell.memory / "config.toml").write_text(broken, "utf-8")

    done = shell.run(command)

    assert done.status == 2
    assert "config.toml cannot be read" in done.err
    assert "until it is repaired, hooks and tools recall and store nothing" in done.err


def test_an_output_pipe_that_closes_early_causes_no_error(shell: Shell) -> None:
    shell.remember("Always use UTC in the logs")

    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m memory_fabric.cli history --json | head -c 1"],
        env=shell.environ,
        cwd=shell.project,
        capture_output=True,
        text=True,
    )

    assert done.stdout == "["
    assert done.stderr == ""


def loaded_by(*words: str) -> set[str]:
    """The modules that a command has loaded at its end."""
    code = (
        "import os, sys; from memory_fabric.cli.main import main; out = os.dup(1);"
        "os.dup2(os.open(os.devnull, os.O_WRONLY), 1); main(sys.argv[1:]);"
        "os.write(out, ' '.join(sys.modules).encode())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        env={"PYTHONPATH": str(ROOT / "plugin")},
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split())


def test_listing_commands_does_not_import_the_commands_or_the_database() -> None:
    for words in ([], ["--help"], ["rember"]):
        loaded = loaded_by(*words)

        assert not {f"memory_fabric.cli.{command.module}" for command in COMMANDS} & loaded
        assert not [name for name in loaded if name.startswith("memory_fabric.store")]
        assert "rich" not in loaded


@pytest.mark.parametrize("words", [("recall", "--help"), ("project", "--help")])
def test_command_help_does_not_import_the_on_off_commands_or_rich_tables(
    words: tuple[str, ...],
) -> None:
    assert not {"memory_fabric.cli.commands.switches", "rich.table"} & loaded_by(*words)


@pytest.mark.parametrize("heavy", ["mcp", "memory_fabric.fabric", "memory_fabric.hooks.handlers"])
def test_the_help_of_recall_imports_no_heavy_module(heavy: str) -> None:
    code = (
        "import sys; from memory_fabric.cli.main import main; main(['recall', '--help']);"
        f"sys.exit({heavy!r} in sys.modules)"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": str(ROOT / "plugin")}, capture_output=True
    )

    assert done.returncode == 0


@pytest.mark.parametrize("command", ["serve", "viz", "share"])
def test_help_for_serve_viz_and_share_imports_no_sync_or_contradiction_code(command: str) -> None:
    rare = {"memory_fabric.cli.commands.sync", "memory_fabric.capture.contradiction"}
    assert not rare & loaded_by(command, "--help")


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("postgresql://ann@db/shop", "HIDDEN"),
        ("host=db user=ann", "HIDDEN"),
        ("host = db user = ann", "HIDDEN"),
        ("--team= host=db", "--team=HIDDEN"),
        ("acid acorn actor", "HIDDEN"),
    ],
)
def test_serve_hides_the_database_address_from_the_process_list(
    typed: str, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    restarted: list[list[str]] = []

    def restart(_: str, words: list[str]) -> None:
        restarted.append(words)
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "environ", {})
    monkeypatch.setattr(os, "execv", restart)
    monkeypatch.setattr(sys, "orig_argv", ["python", "-m", "program", "serve", typed])
    with pytest.raises(KeyboardInterrupt):
        main(["serve", typed])

    assert restarted == [["python", "-m", "program", "serve", shown]]
    assert json.loads(os.environ[ARGUMENTS]) == ["serve", typed]


def test_the_hook_command_does_not_import_typer() -> None:
    code = (
        "import os, sys; sys.modules['typer'] = None; from memory_fabric.cli.main import main;"
        "main(['hook'])"
    )

    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(ROOT / "plugin"), "MEMORY_FABRIC": "off", "HOME": "/nonexistent"},
        input=b'{"hook_event_name": "UserPromptSubmit", "prompt": "hello"}',
        capture_output=True,
    )

    assert (done.returncode, done.stdout) == (0, b"")


def test_the_name_of_a_step_has_at_most_sixty_characters(shell: Shell) -> None:
    longest = "a" * 56 + "-._9"
    shell.remember("Use tabs", "--step", longest)

    refused = shell.run("remember", "Use spaces", "--step", "a" * 61)

    assert refused.status == 2 and "cannot name a step" in refused.err
    assert shell.run("undo", "--step", longest).status == 0


def test_an_error_without_a_remedy_names_the_help_of_the_command(shell: Shell) -> None:
    wrong = shell.run("queue", "show")
    unknown = shell.run("project", "adopt", "--yes")

    assert wrong.err.endswith(" See memory-fabric queue --help.\n")
    assert (unknown.status, wrong.status) == (3, 2)
    assert unknown.err.endswith(" See memory-fabric project --help.\n")


def test_an_error_of_the_operating_system_is_told_with_its_file_and_a_remedy(
    shell: Shell,
) -> None:
    shell.remember("Use tabs")
    (shell.project / "folder").write_text("", "utf-8")

    done = shell.run("export", "--markdown", "folder/pages", "--json")

    error = json.loads(done.err)["error"]
    assert (done.status, error["code"]) == (1, "failed")
    assert error["name"] == str(shell.project / "folder")
    assert error["message"] == f"{error['name']}: File exists."
    assert error["remedy"] == "The file exists already: move it away."


def test_the_program_does_not_restart_if_it_hid_its_arguments_already(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "environ", {ARGUMENTS: json.dumps(["serve", "--help"])})

    assert main(["serve", "HIDDEN"]) == 0

    assert ARGUMENTS not in os.environ
    assert "Usage: memory-fabric serve" in capsys.readouterr().out


def test_a_command_line_without_an_address_is_not_restarted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def restart(_: str, words: list[str]) -> None:
        raise AssertionError(words)

    monkeypatch.setattr(os, "execv", restart)
    monkeypatch.setattr(sys, "orig_argv", ["python", "-m", "program", "serve", "--help"])

    assert main(["serve", "--help"]) == 0
    monkeypatch.setattr(sys, "orig_argv", ["python", "-m", "other"])
    assert main(["recall", "--help", "a b c"]) == 0
    assert "Usage: memory-fabric serve" in capsys.readouterr().out
