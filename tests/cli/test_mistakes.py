"""Whatever goes wrong, a command says it in one line that helps, with its documented exit code."""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from cli.shell import GIVE_UP_S, ROOT, Done, Shell
from memory_fabric.cli.registry import COMMANDS
from memory_fabric.config import read_settings
from memory_fabric.models import Provenance
from memory_fabric.store.memory import Memory

DOCUMENTED = (0, 1, 2, 3)
# What each command is given so that it gets to its work. The doors answer in another protocol.
WORDS: Mapping[str, Sequence[str]] = {
    "recall": ("pagination",),
    "why": ("01234567",),
    "remember": ("Use UTC in all logs because machines move",),
    "forget": ("pagination", "--yes"),
    "pin": ("01234567",),
    "undo": ("--last",),
    "merge": ("Redis", "Valkey", "--yes"),
    "alias": ("Redis", "valkey"),
    "import": ("notes.jsonl",),
    "export": ("out.jsonl",),
    "semantic": ("status",),
    "setup": ("--yes",),
    "uninstall": ("--purge", "--yes"),
    "mcp": ("--help",),
    "hook": ("--help",),
    "serve": ("--help",),
    "demo": ("--help",),
    "statusline": ("--help",),
}
NAMES = [command.name for command in COMMANDS]
# One of each way to work: the same code stands before all of them.
SOME = ("recall", "remember", "forget", "status", "doctor", "sync", "import", "setup", "uninstall")
TAKES_NONE = ("load", "candidates", "status", "repair", "off", "setup", "uninstall")


def helps(done: Done, *codes: int) -> None:
    """Assert that standard error is one line of ours, with a remedy, if the command failed."""
    assert "Traceback" not in done.err + done.out
    assert done.status in (codes or DOCUMENTED), done.err
    if done.err.startswith("{"):
        error = json.loads(done.err)["error"]
        assert error["message"] and error["remedy"], done.err
        return
    for line in done.err.splitlines():
        assert line.startswith("memory-fabric: "), done.err
    if done.status in (1, 2) and done.err:
        assert len(done.err.splitlines()) == 1, done.err
        assert len(re.findall(r"[.?:;)] \S", done.err)) >= 2, f"no remedy: {done.err}"


def words_of(name: str) -> list[str]:
    """A command with words that bring it to its work."""
    return [name, *WORDS.get(name, ())]


@pytest.fixture(autouse=True)
def a_file_to_import(shell: Shell) -> None:
    """Write the file that `import` of the table reads."""
    line = '{"type": "entity", "name": "Redis", "entityType": "technology", "observations": []}'
    (shell.project / "notes.jsonl").write_text(line, "utf-8")


def fill(shell: Shell) -> None:
    """Let the project remember something, without a process of its own."""
    environ = {**shell.environ, "CLAUDE_PROJECT_DIR": str(shell.project)}
    memory = Memory.open(read_settings(environ, {}))
    entity = {"name": "Redis", "entityType": "technology", "observations": ["pagination"]}
    memory.write("create_entities", {"entities": [entity]}, Provenance("mcp"))
    memory.flush()
    memory.close()


@pytest.mark.parametrize("name", NAMES)
def test_an_unknown_option_is_refused_in_one_line(shell: Shell, name: str) -> None:
    done = shell.run(name, "--no-such-option")

    helps(done, 2)
    assert f"See memory-fabric {name} --help." in done.err


@pytest.mark.parametrize("name", TAKES_NONE)
def test_surplus_arguments_are_refused_in_one_line(shell: Shell, name: str) -> None:
    helps(shell.run(name, "too", "many", "words"), 2)


@pytest.mark.parametrize(
    "words",
    [
        ("why",),
        ("forget",),
        ("pin",),
        ("merge", "Redis"),
        ("remember",),
        ("alias", "--remove"),
        ("recall", "--limit"),
        ("setup", "--file"),
    ],
)
def test_a_missing_argument_or_value_is_refused(shell: Shell, words: tuple[str, ...]) -> None:
    helps(shell.run(*words), 2)


@pytest.mark.parametrize(
    "words",
    [
        ("recall", "--limit", "many"),
        ("recall", "--as-of", "whenever", "x"),
        ("history", "--limit", "0"),
        ("remember", "--type", "rumour", "x"),
        ("remember", "--scope", "galaxy", "x"),
        ("share", "sideways"),
        ("semantic", "sideways"),
        ("setup", "--settings", "ours"),
        ("setup", "--shell", "--file", "x"),
        ("setup", "--bin", "x"),
        ("undo", "--last", "--session", "s"),
        ("repair", "--yes=maybe"),
        ("recall", "--limit", "9" * 400),
    ],
)
def test_a_value_of_the_wrong_type_is_refused(shell: Shell, words: tuple[str, ...]) -> None:
    helps(shell.run(*words), 2)


@pytest.mark.parametrize(
    "words",
    [
        ("recall", "x", "--limit", "1001"),
        ("recall", "x", "--depth", "4"),
        ("history", "--limit", "10001"),
        ("review", "--limit", "101"),
        ("worth", "--days", "91"),
        ("viz", "x", "--mermaid", "--depth", "4"),
    ],
)
def test_a_number_above_the_maximum_of_its_option_is_refused(
    shell: Shell, words: tuple[str, ...]
) -> None:
    helps(shell.run(*words), 2)


@pytest.mark.parametrize(
    "words",
    [
        ("why", "01234567"),
        ("pin", "01234567"),
        ("undo", "01234567"),
        ("undo", "--session", "none"),
        ("forget", "01234567", "--yes"),
        ("forget", "unheard", "--purge", "--yes"),
        ("candidates", "--keep", "01234567"),
        ("candidates", "--drop", "01234567"),
        ("merge", "Nobody", "Nothing", "--yes"),
        ("alias", "Nobody", "no-one"),
        ("history", "nothing"),
        ("import", "absent.jsonl"),
        ("setup", "--shell", "--remove"),
    ],
)
def test_an_unknown_item_is_reported_with_a_remedy(shell: Shell, words: tuple[str, ...]) -> None:
    done = shell.run(*words)

    helps(done, 3)
    assert len(re.findall(r"[.?:;)] \S", done.err)) >= 2, f"no remedy: {done.err}"


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("rember", "remember"), ("recal", "recall"), ("statsu", "status"), ("uninstal", "uninstall")],
)
def test_the_error_for_an_unknown_command_suggests_the_nearest_command(
    shell: Shell, typed: str, meant: str
) -> None:
    done = shell.run(typed, "x")

    helps(done, 2)
    assert f"Did you mean '{meant}'" in done.err


def test_the_error_for_an_unknown_option_suggests_the_nearest_option(shell: Shell) -> None:
    done = shell.run("recall", "--limt", "3")

    helps(done, 2)
    assert "--limit" in done.err


@pytest.mark.parametrize("place", ["folder", "pipe", "binary", "below a file", "without rights"])
@pytest.mark.parametrize(
    "words", [("import",), ("export", "--force"), ("setup", "--yes", "--file")]
)
def test_an_invalid_file_path_is_refused(shell: Shell, words: tuple[str, ...], place: str) -> None:
    path = shell.project / "there"
    if place == "folder":
        path.mkdir()
    elif place == "pipe":
        os.mkfifo(path)
    elif place == "binary":
        path.write_bytes(bytes(range(256)) * 40)
    elif place == "below a file":
        path.write_text("", "utf-8")
        path = path / "below"
    else:  # not even root may write there
        path = Path("/proc/self/no-such-file")
    fill(shell)

    done = shell.run(*words, str(path))

    if words[0] == "export" and place == "binary":
        assert (done.status, done.err) == (0, "")  # replaced, as asked
    else:
        helps(done, 1, 2, 3)


@pytest.mark.parametrize("name", NAMES)
def test_every_command_reports_an_invalid_config_file(shell: Shell, name: str) -> None:
    shell.memory.mkdir(parents=True)
    (shell.memory / "config.toml").write_text("read = perhaps", "utf-8")

    done = shell.run(*words_of(name))

    helps(done)
    assert done.status == 2 or "--help" in WORDS.get(name, ())


@pytest.mark.parametrize("name", NAMES)
def test_no_command_shows_a_traceback_for_a_damaged_database(shell: Shell, name: str) -> None:
    fill(shell)
    for path in (shell.database, shell.memory / "user.db"):
        path.write_bytes(b"no database " * 400)

    done = shell.run(*words_of(name))

    assert "Traceback" not in done.err + done.out
    assert done.status in DOCUMENTED
    for line in done.err.splitlines():
        assert line.startswith("memory-fabric: ")


def users_home_is_a_file(shell: Shell) -> dict[str, str]:
    path = shell.user_home.parent / "file"
    path.write_text("a file", "utf-8")
    return {"HOME": str(path)}


def home_cannot_be_made(shell: Shell) -> dict[str, str]:
    return {"MEMORY_FABRIC_HOME": "/proc/self/no-such-folder"}


def projects_are_a_file(shell: Shell) -> dict[str, str]:
    shell.memory.mkdir(parents=True)
    (shell.memory / "projects").write_text("a file", "utf-8")
    return {}


def no_home(shell: Shell) -> dict[str, str]:
    """HOME is unset; what else names a place leads into the test's own folder."""
    del shell.environ["HOME"]
    return {
        "MEMORY_FABRIC_HOME": str(shell.memory),
        "CLAUDE_CONFIG_DIR": str(shell.user_home / ".claude"),
    }


def an_empty_home(shell: Shell) -> dict[str, str]:
    return {"HOME": "", **no_home(shell)}


def local_folder_is_a_file(shell: Shell) -> dict[str, str]:
    (shell.project / ".claude").write_text("a file", "utf-8")
    return {}


def folder_is_gone(shell: Shell) -> dict[str, str]:
    fill(shell)
    return {"CLAUDE_PROJECT_DIR": str(shell.project / "no" / "such" / "folder")}


@pytest.mark.parametrize("name", NAMES)
def test_every_command_reports_that_its_home_folder_is_a_file(shell: Shell, name: str) -> None:
    shell.memory.parent.mkdir(parents=True)
    shell.memory.write_text("a file", "utf-8")

    done = shell.run(*words_of(name))

    helps(done)
    assert done.status == 2 or "--help" in WORDS.get(name, ())


@pytest.mark.parametrize(
    "wrong",
    [
        users_home_is_a_file,
        home_cannot_be_made,
        projects_are_a_file,
        no_home,
        an_empty_home,
        local_folder_is_a_file,
        folder_is_gone,
    ],
)
@pytest.mark.parametrize("name", SOME)
def test_commands_show_no_traceback_for_a_missing_or_unusable_folder(
    shell: Shell, name: str, wrong: Callable[[Shell], dict[str, str]]
) -> None:
    variables = wrong(shell)

    done = shell.run(*words_of(name), **variables)

    assert "Traceback" not in done.err + done.out
    assert done.status in DOCUMENTED
    for line in done.err.splitlines():
        assert line.startswith("memory-fabric: ")
    if wrong is users_home_is_a_file:
        helps(done, 2)


def raw(shell: Shell, script: str, *words: str | bytes, **variables: str) -> Done:
    """A command behind redirections of a shell, whatever bytes its words are."""
    done = subprocess.run(
        ["sh", "-c", f'"$@" {script}', "sh", sys.executable, "-m", "memory_fabric.cli", *words],
        env={**shell.environ, **variables},
        cwd=shell.project,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=GIVE_UP_S,
    )
    return Done(
        done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8")
    )


def test_remember_fails_and_stores_nothing_if_standard_output_is_closed(shell: Shell) -> None:
    done = raw(shell, ">&-", *words_of("remember"))

    helps(done, 1)
    assert not shell.memory.exists()


@pytest.mark.parametrize("words", [("export",), ("pin", "--help")])
def test_writing_output_to_a_full_device_is_reported(shell: Shell, words: tuple[str, ...]) -> None:
    fill(shell)

    done = raw(shell, ">/dev/full", *words)

    helps(done, 1)
    assert "No space left on device." in done.err


def test_an_interactive_command_with_closed_stdin_causes_no_traceback(shell: Shell) -> None:
    done = raw(shell, "<&-", *words_of("setup"))

    assert "Traceback" not in done.err + done.out
    assert done.status in DOCUMENTED


@pytest.mark.parametrize("words", [("remember", "-"), ("import", "-")])
def test_commands_that_read_input_report_closed_or_binary_input(
    shell: Shell, words: tuple[str, ...]
) -> None:
    helps(raw(shell, "<&-", *words))
    helps(raw(shell, "</dev/null", *words))
    (shell.project / "noise").write_bytes(bytes(range(256)) * 9)
    noise = raw(shell, "<noise", *words)
    assert noise.status in (0, 1, 2)
    assert all(line.startswith("memory-fabric: ") for line in noise.err.splitlines())


def test_closed_standard_error_does_not_change_the_exit_code(shell: Shell) -> None:
    assert raw(shell, "2>&-", "recall", "--limit", "many").status == 2


@pytest.mark.parametrize("name", ["recall", "why", "forget", "history", "remember", "import"])
def test_no_command_crashes_on_arguments_that_are_not_utf_8(shell: Shell, name: str) -> None:
    word = b"caf\xff\xfe because"
    is_own_process = name == "remember"

    done = raw(shell, "", name, word) if is_own_process else shell.run(name, os.fsdecode(word))

    assert "Traceback" not in done.err + done.out
    assert done.status in DOCUMENTED


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_recall_works_if_the_output_encoding_cannot_represent_a_character(
    shell: Shell, encoding: str
) -> None:
    shell.remember("Use 東京 as the region because ñandú")

    done = raw(shell, "", "recall", "region", PYTHONIOENCODING=encoding)

    assert (done.status, done.err) == (0, "")
    assert "region" in done.out


def test_a_deleted_working_folder_is_reported_in_one_line(shell: Shell, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    script = f'cd {gone} && rmdir {gone} && exec "$@"'

    done = subprocess.run(
        ["sh", "-c", script, "sh", sys.executable, "-m", "memory_fabric.cli", "status"],
        env=shell.environ,
        capture_output=True,
        text=True,
    )

    helps(Done(done.returncode, done.stdout, done.stderr), 2)


def test_a_failed_export_on_a_full_disk_leaves_no_file(shell: Shell) -> None:
    """The limit of a process takes the place of a full disk, for root, too."""
    fill(shell)

    done = subprocess.run(
        [sys.executable, "-m", "memory_fabric.cli", "export", "out.jsonl"],
        env=shell.environ,
        cwd=shell.project,
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)),
    )

    helps(Done(done.returncode, done.stdout, done.stderr), 1)
    assert not (shell.project / "out.jsonl").exists()


def test_a_backup_on_a_full_disk_says_that_the_disk_may_be_full(shell: Shell) -> None:
    fill(shell)

    done = subprocess.run(
        [sys.executable, "-m", "memory_fabric.cli", "backup"],
        env=shell.environ,
        cwd=shell.project,
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000)),
    )

    helps(Done(done.returncode, done.stdout, done.stderr), 1)
    assert "may be full" in done.stderr


BROKEN = """\
import sys
sys.path.insert(0, {plugin!r})
import memory_fabric.cli.environment
del memory_fabric.cli.environment.settings
from memory_fabric.cli.main import main
sys.exit(main({words!r}))
"""


@pytest.mark.parametrize("home", ["", "/proc/self/no-such-folder"])
def test_an_internal_error_prints_one_line_and_saves_its_traceback(shell: Shell, home: str) -> None:
    code = BROKEN.format(plugin=str(ROOT / "plugin"), words=["status"])

    done = subprocess.run(
        [sys.executable, "-c", code],
        env=shell.environ | ({"MEMORY_FABRIC_HOME": home} if home else {}),
        cwd=shell.project,
        capture_output=True,
        text=True,
    )

    helps(Done(done.returncode, done.stdout, done.stderr), 1)
    assert "this is a bug in memory-fabric (NameError: " in done.stderr
    kept = shell.memory / "logs" / "faults.log"
    if home:
        assert "could not be saved" in done.stderr
    else:
        assert str(kept) in done.stderr
        assert "Traceback (most recent call last)" in kept.read_text("utf-8")
        assert kept.stat().st_mode & 0o777 == 0o600


WARNS = """\
import sys, warnings
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "typer":
            warnings.warn("typer is going to change", FutureWarning)
sys.meta_path.insert(0, Finder())
"""


def test_warnings_of_python_packages_are_hidden_from_the_user(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(WARNS, "utf-8")
    path = f"{tmp_path}:{shell.environ['PYTHONPATH']}"

    quiet = shell.run("status", PYTHONPATH=path)
    asked = shell.run("status", PYTHONPATH=path, PYTHONWARNINGS="default")

    assert quiet.err == ""
    assert "typer is going to change" in asked.err
