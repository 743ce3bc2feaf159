"""The own coding tasks: their form, and what the hidden tests accept and refuse."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import threading
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

from coding_tasks.repositories import NotFetched, fetch, repositories  # noqa: E402

TASKS = ROOT / "benchmarks/coding_tasks/tasks"
IDS = sorted(folder.name for folder in TASKS.iterdir())
# Beside the checkout's other caches, so that a second run needs no network.
ARCHIVES = ROOT / ".archives"
MAX_CHARS = {"prompt": 600, "text": 390}
KINDS = {"convention", "fix", "environment", "rejected"}
NOTE_KINDS = {"decision", "rule", "fix", "fact", "preference"}
STRATA = ("present", "changed", "adjacent", "absent")
# Runs one script after another, as `python3 SCRIPT` would, and forgets the modules of its folder.
RUNNER = """
import contextlib, io, json, os, runpy, sys, traceback, unittest
path = sys.path[1:]
for line in sys.stdin:
    folder, script = json.loads(line)
    os.chdir(folder)
    sys.argv, sys.path[:] = [script], [os.path.abspath(os.path.dirname(script)), *path]
    said, status = io.StringIO(), 0
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        try:
            runpy.run_path(script, run_name="__main__")
        except SystemExit as end:
            status = int(end.code or 0)
        except Exception:
            traceback.print_exc()
            status = 1
    for name, module in list(sys.modules.items()):
        if (getattr(module, "__file__", None) or "").startswith(os.getcwd()):
            del sys.modules[name]
    print(json.dumps([status, said.getvalue()]), flush=True)
"""
TIMEOUT_S = 60
TELLTALE = re.compile(r"\b(?:memor|remember|recall|notes?\b|rules?\b|convention|decid)", re.I)


def read(task: str) -> dict[str, Any]:
    return tomllib.loads((TASKS / task / "task.toml").read_text("utf-8"))


WITH_OLD = [task for task in IDS if "old" in read(task)]


@pytest.fixture
def solved(tmp_path: Path, task: str, patch: str | None) -> Path:
    """The repository of a task with the hidden tests, and with one of the patches or none."""
    folder = tmp_path / "repo"
    shutil.copytree(fetch(read(task)["repository"], ARCHIVES), folder)
    if patch:
        # Without the ceiling, git would take a repository around the folder for its own.
        subprocess.run(
            ["git", "apply", str(TASKS / task / patch)],
            cwd=folder,
            check=True,
            env={**os.environ, "GIT_CEILING_DIRECTORIES": str(tmp_path)},
        )
    shutil.copytree(TASKS / task / "hidden", folder, dirs_exist_ok=True)
    return folder


@pytest.fixture
def no_index(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pip read no configuration and no index."""
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", "")


Run = Callable[[list[str], Path], tuple[int, str]]


def run_apart(argv: list[str], folder: Path) -> tuple[int, str]:
    """Return the exit status and stderr of a command, run as scoring runs it."""
    done = subprocess.run(
        [sys.executable, *argv[1:]], cwd=folder, capture_output=True, text=True, timeout=TIMEOUT_S
    )
    return done.returncode, done.stderr


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    """The same from one process, which starts Python once for all of them."""
    with subprocess.Popen(
        [sys.executable, "-B", "-c", RUNNER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    ) as process:
        given, answers = process.stdin, process.stdout
        assert given is not None and answers is not None

        def run_there(argv: list[str], folder: Path) -> tuple[int, str]:
            _, script = argv
            print(json.dumps([str(folder), script]), file=given, flush=True)
            watch = threading.Timer(TIMEOUT_S, process.kill)
            watch.start()
            try:
                line = answers.readline()
            finally:
                watch.cancel()
            assert line, f"{script} ended the process, or took longer than {TIMEOUT_S} s"
            status, said = json.loads(line)
            return status, said

        yield run_there


def hidden_tests_pass(task: str, folder: Path, run: Run) -> bool:
    """Run the commands of a task; one that cannot even start its tests fails the test."""
    for argv in read(task)["commands"]:
        assert argv[0] == "python3"
        status, said = run(argv, folder)
        assert re.search(r"^Ran [1-9]\d* tests", said, re.M), said
        assert "ImportError" not in said, said
        if status:
            return False
    return True


@pytest.mark.parametrize(("task", "patch"), [(task, "solution.patch") for task in IDS])
def test_hidden_tests_accept_the_reference_solution_of_each_task(task: str, solved: Path) -> None:
    assert hidden_tests_pass(task, solved, run_apart)


@pytest.mark.parametrize(("task", "patch"), [(task, "naive.patch") for task in IDS])
def test_hidden_tests_accept_naive_solutions_only_of_tasks_without_a_recorded_fact(
    task: str, solved: Path, run: Run
) -> None:
    assert hidden_tests_pass(task, solved, run) == (read(task)["stratum"] == "absent")


@pytest.mark.parametrize(("task", "patch"), [(task, "old.patch") for task in WITH_OLD])
def test_hidden_tests_reject_a_solution_that_follows_the_outdated_fact(
    task: str, solved: Path, run: Run
) -> None:
    assert not hidden_tests_pass(task, solved, run)


@pytest.mark.parametrize(("task", "patch"), [(task, None) for task in IDS])
def test_hidden_tests_reject_the_repository_without_a_solution(
    task: str, solved: Path, run: Run
) -> None:
    statuses = [run(argv, solved)[0] for argv in read(task)["commands"]]

    assert any(statuses)


def test_each_category_has_five_tasks_and_each_repository_has_ten_tasks() -> None:
    tasks = [read(task) for task in IDS]

    assert Counter(task["stratum"] for task in tasks) == dict.fromkeys(STRATA, 5)
    assert Counter(task["repository"] for task in tasks) == dict.fromkeys(repositories(), 10)
    for stratum in STRATA:
        assert {task["kind"] for task in tasks if task["stratum"] == stratum} == KINDS


@pytest.mark.parametrize("task", IDS)
def test_a_prompt_is_short_and_does_not_mention_the_recorded_facts(task: str) -> None:
    prompt = read(task)["prompt"]

    assert 0 < len(prompt) <= MAX_CHARS["prompt"]
    assert "\n" not in prompt
    assert not TELLTALE.search(prompt)


@pytest.mark.parametrize("task", IDS)
def test_the_category_of_a_task_determines_its_facts_and_conversation(task: str) -> None:
    data = read(task)
    facts, old = data.get("facts", []), data.get("old", [])
    matters = data["stratum"] in ("present", "changed")

    assert len(facts) == (data["stratum"] != "absent")
    assert len(old) == matters
    assert bool(data.get("conversation")) == matters
    for note in facts + old:
        assert note["kind"] in NOTE_KINDS
        assert 0 < len(note["text"]) <= MAX_CHARS["text"]


@pytest.mark.parametrize("task", WITH_OLD)
def test_the_conversation_of_a_task_ends_with_the_user_paraphrasing_the_fact(task: str) -> None:
    data = read(task)
    turns = data["conversation"]

    assert 3 <= len(turns) <= 6
    roles = ["user" if place % 2 == 0 else "assistant" for place in range(len(turns))]
    assert [turn["role"] for turn in turns] == roles
    assert roles[-1] == "user"
    assert all(note["text"] not in turns[-1]["text"] for note in data["facts"])
    assert not re.search(r"\b(?:decision|rule):", turns[-1]["text"], re.I)


@pytest.mark.parametrize("task", IDS)
def test_patches_of_a_task_change_only_its_allowed_paths(task: str) -> None:
    allowed = tuple(read(task)["allowed_paths"])

    for patch in (TASKS / task).glob("*.patch"):
        touched = re.findall(r"^\+\+\+ b/(.+)$", patch.read_text("utf-8"), re.M)
        assert touched
        assert all(path.startswith(allowed) for path in touched)


def test_each_repository_has_thirty_unrelated_notes() -> None:
    notes = tomllib.loads((TASKS.parent / "notes.toml").read_text("utf-8"))

    names = [*repositories(), "memory-demo"]
    assert {name: len(rows) for name, rows in notes.items()} == dict.fromkeys(names, 30)
    for note in (note for rows in notes.values() for note in rows):
        assert note["kind"] in NOTE_KINDS
        assert 0 < len(note["text"]) <= MAX_CHARS["text"]


@pytest.mark.usefixtures("no_index")
def test_an_unreachable_package_index_is_reported_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(NotFetched, match=r"could not download humanize .* check the network"):
        fetch("humanize", tmp_path)

    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("no_index")
def test_a_downloaded_archive_with_an_unexpected_hash_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    links = tmp_path / "links"
    write_archive(links, repositories()["xmltodict"].version)
    monkeypatch.setenv("PIP_FIND_LINKS", str(links))

    with pytest.raises(NotFetched, match=r"has the SHA-256 \w{64}, repositories.toml says"):
        fetch("xmltodict", tmp_path / "cache")

    assert list((tmp_path / "cache").iterdir()) == []


def write_archive(folder: Path, version: str) -> None:
    """Write an archive named as xmltodict's, whose build backend is inside it."""
    folder.mkdir()
    backend = (
        "import os\n"
        "def prepare_metadata_for_build_wheel(folder, settings=None):\n"
        f"    name = 'xmltodict-{version}.dist-info'\n"
        "    os.mkdir(os.path.join(folder, name))\n"
        "    with open(os.path.join(folder, name, 'METADATA'), 'w') as file:\n"
        f"        file.write('Metadata-Version: 2.1\\nName: xmltodict\\nVersion: {version}\\n')\n"
        "    return name\n"
    )
    project = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    with tarfile.open(folder / f"xmltodict-{version}.tar.gz", "w:gz") as tar:
        for name, text in (("backend.py", backend), ("pyproject.toml", project)):
            member = tarfile.TarInfo(f"xmltodict-{version}/{name}")
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text.encode()))
