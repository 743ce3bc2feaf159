"""The extra through the real command line: on, off, absent, broken, out of date."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from cli.shell import ROOT, Done, Shell
from semantic import extra

NEAR = "Ann saw a dentist who gave her a filling"
FAR = ("Ann did a marathon", "Ann did the dishes", "Ann did her taxes", "Ann did a course")
QUESTION = "What did Ann do about her tooth pain?"


class Bare:
    """The same shell with an interpreter that lacks the extra, and a plugin's folder."""

    def __init__(self, shell: Shell, folder: Path) -> None:
        self.data = folder / "data"
        self.data.mkdir()
        site = extra.environment_without(folder / "site")
        self._environ = {
            **shell.environ,
            "PYTHONPATH": f"{ROOT / 'plugin'}:{site}",
            "CLAUDE_PLUGIN_DATA": str(self.data),
        }
        self._project = shell.project

    def run(self, *words: str) -> Done:
        """Run `memory-fabric` without the extra."""
        done = subprocess.run(
            extra.python("-m", "memory_fabric.cli", *words),
            capture_output=True,
            text=True,
            env=self._environ,
            cwd=self._project,
        )
        return Done(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def filled(shell: Shell) -> Shell:
    """A shell that knows what Ann did."""
    for text in (NEAR, *FAR):
        shell.remember(text, "--type", "note")
    return shell


@pytest.fixture
def bare(filled: Shell, tmp_path: Path) -> Bare:
    """The same memory without the extra."""
    return Bare(filled, tmp_path)


def found(done: Done) -> list[dict[str, Any]]:
    """The results of a recall."""
    assert (done.status, done.err) == (0, "")
    results: list[dict[str, Any]] = json.loads(done.out)["results"]
    return results


def test_recall_ranks_by_meaning_if_the_semantic_packages_are_installed(filled: Shell) -> None:
    results = found(filled.run("recall", QUESTION, "--json"))

    assert results[0]["text"] == NEAR
    assert all("similarity" in result["metadata"] for result in results)
    assert filled.run("semantic", "--json").json == {"state": "on", "why": ""}


def test_a_setting_in_config_toml_turns_semantic_search_off(filled: Shell) -> None:
    (filled.memory / "config.toml").write_text("semantic = false\n", "utf-8")

    results = found(filled.run("recall", QUESTION, "--json"))

    assert results[-1]["text"] == NEAR
    assert not any("similarity" in result["metadata"] for result in results)
    assert filled.run("semantic", "--json").json["state"] == "off"


def test_recall_works_without_the_semantic_packages_and_doctor_reports_no_problem(
    bare: Bare,
) -> None:
    results = found(bare.run("recall", QUESTION, "--json"))

    assert results[-1]["text"] == NEAR
    assert bare.run("semantic").out == "Not installed: recall matches words.\n"
    checks = {c["name"]: c for c in bare.run("doctor", "--json").json}
    assert (checks["semantic"]["state"], checks["semantic"]["told"]) == ("ok", "absent")


def test_semantic_off_deletes_the_installed_semantic_packages(bare: Bare) -> None:
    folder = extra.fill(bare.data)

    assert found(bare.run("recall", QUESTION, "--json"))[0]["text"] == NEAR
    assert bare.run("semantic", "on", "--json").json["state"] == "on"
    assert bare.run("semantic", "off", "--json").json["state"] == "absent"
    assert not folder.exists()
    assert found(bare.run("recall", QUESTION, "--json"))[-1]["text"] == NEAR


def test_semantic_packages_for_another_python_are_reported_and_not_used(bare: Bare) -> None:
    extra.fill(bare.data).rename(bare.data / "semantic-cpython-300-00000000")

    assert found(bare.run("recall", QUESTION, "--json"))[-1]["text"] == NEAR
    (check,) = [c for c in bare.run("doctor", "--json").json if c["name"] == "semantic"]
    assert check["state"] == "warning" and "semantic on" in check["remedy"]


def test_recall_works_with_broken_semantic_packages(bare: Bare) -> None:
    folder = extra.fill(bare.data)
    (folder / "tokenizers").unlink()
    (folder / "tokenizers").mkdir()
    (folder / "tokenizers/__init__.py").write_text("raise RuntimeError('not for here')", "utf-8")

    assert found(bare.run("recall", QUESTION, "--json"))[-1]["text"] == NEAR
    told = bare.run("semantic", "--json").json
    assert told["state"] == "broken" and "not for here" in told["why"]
    (check,) = [c for c in bare.run("doctor", "--json").json if c["name"] == "semantic"]
    assert check["state"] == "warning"


def test_semantic_off_does_not_remove_packages_installed_with_pip(shell: Shell) -> None:
    done = shell.run("semantic", "off")

    assert done.status == 1 and "semantic = false" in done.err


def test_the_semantic_command_refuses_an_unknown_argument(shell: Shell) -> None:
    assert shell.run("semantic", "maybe").status == 2
