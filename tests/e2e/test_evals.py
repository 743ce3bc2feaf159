"""The cases of evals/, with a stub as the model: one in the real client, all in process."""

from __future__ import annotations

import importlib.util
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from command_line import run_here
from e2e.harness.home import REPOSITORY, Home
from e2e.harness.result import blocks
from e2e.harness.script import Script, call
from e2e.harness.stub import Request, StubAPI
from e2e.harness.wire import Turn

pytestmark = pytest.mark.e2e

WORKSPACE = re.compile(r"/\S*/home/cwd\b")
WRITTEN = '"file_path"'


@dataclass(frozen=True, slots=True)
class Case:
    """A case's file, words of its memory, and the file as it must and as it must not be."""

    name: str
    path: str
    told: str
    right: str
    wrong: str


CASES = (
    Case("told-decision", "label.txt", "the bay first", "05.B12\n", "B12-05\n"),
    Case(
        *("superseded", "name.txt", "2025-12-31-stock.csv"),
        *("2026-03-09-stock.csv\n", "stock_20260309.csv\n"),
    ),
    Case(
        *("superseded-unlinked", "slip.txt", "kilograms with one decimal"),
        *("Parcel 4711\nWeight: 3.4 kg\n", "Parcel 4711\nWeight: 120 oz\n"),
    ),
    Case(
        *("adjacent", "ledger.csv", "keeps the cents"),
        *("item,price\nlamp,19.40\ncable,3.25\n", "item,price\nlamp,20\ncable,4\n"),
    ),
    Case(
        *("absent", "ledger.csv", "present tense"),
        *("item,price\nlamp,19.4\ncable,3.25\n", "cable,3.25\nlamp,19.4\n"),
    ),
    Case(
        *("rule-held", "deploy/queue.yaml", "# owner: warehouse"),
        *("# owner: warehouse\nkind: queue\nsize: 3\n", "kind: queue\nsize: 3\n"),
    ),
    Case(
        *("fix-told", "fixed.csv", "behind the last field"),
        *("order,bin;\n81,C3;\n82,D1;\n", "order,bin\n81,C3\n82,D1\n"),
    ),
)


@dataclass(frozen=True, slots=True)
class Evaluated:
    """An evaluated case: its result of each arm, and the requests that the model got."""

    arms: dict[str, dict[str, Any]]
    requests: list[Request]

    def verdicts(self, arm: str) -> dict[str, bool]:
        """The verdict of each grader on the file that was written in an arm."""
        return {grader["name"]: grader["passed"] for grader in self.arms[arm]["graders"]}


def obey(case: Case, request: str) -> Turn:
    """The turn of a model that writes the right file where memory tells it how, else the wrong."""
    if WRITTEN in request:
        return "Done."
    [workspace] = set(WORKSPACE.findall(request))
    content = case.right if case.told in request else case.wrong
    return call("Write", {"file_path": f"{workspace}/{case.path}", "content": content})


def evaluate(case: Case, root: Path, plugin: Path) -> Evaluated:
    """Run one case once with and once without the plugin."""
    home, report = Home(root / "machine"), root / "result.json"
    with StubAPI(Script(answers=lambda text: obey(case, text))) as stub:
        home.extra["ANTHROPIC_BASE_URL"] = stub.url
        home.extra["ANTHROPIC_API_KEY"] = "none-for-a-loopback-stub"
        home.claude(
            *("plugin", "eval", str(plugin), "--case", case.name, "--runs", "1"),
            *("--scaffold", "--trust-plugin", "--allow-tools", "Write", "--no-publish"),
            *("--threshold", "0", "--json", str(report), "--output-dir", str(root / "results")),
        )
        sent = [sent for sent in stub.requests if sent.kind == "main"]
    [result] = json.loads(report.read_text("utf-8"))["cases"]
    return Evaluated({arm: run for arm, [run] in result["arms"].items()}, sent)


def _seed() -> Any:
    """The module that settles a case's points."""
    spec = importlib.util.spec_from_file_location("seed", REPOSITORY / "evals/lib/seed.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Past(_seed().Past):  # type: ignore[misc]
    """The past sessions of a case, whose hooks run in this process."""

    def _fire(self, event: str, **fields: object) -> str:
        return str(self.reply(event, **fields).get("systemMessage", ""))

    def reply(self, event: str, **fields: object) -> dict[str, Any]:
        """Return what the hooks answer to an event."""
        given = {
            "hook_event_name": event,
            "session_id": self._id,
            "transcript_path": self._transcript,
            "cwd": self._workspace,
            **fields,
        }
        done = run_here(("hook",), self._environ, Path(self._workspace), json.dumps(given))
        reply: dict[str, Any] = json.loads(done.out or "{}")
        return reply

    def evaluated(self, prompt: str) -> str:
        """Return what hooks tell the model of a later session, which is as a run has it."""
        self._id = "evaluated"
        self._transcript = f"{self._transcripts}/evaluated.jsonl"
        del self._environ["CLAUDE_CODE_SESSION_ATTENDED"]
        self._environ["CLAUDE_CODE_DISABLE_CLAUDE_MDS"] = "1"
        start = self.reply("SessionStart", source="startup")
        self._write("user", prompt)
        replies = (start, self.reply("UserPromptSubmit", prompt=prompt))
        return "".join(
            r.get("hookSpecificOutput", {}).get("additionalContext", "") for r in replies
        )


@dataclass(frozen=True, slots=True)
class Grader:
    """A grader of a case: the file that it looks at, and the form that must be there or not."""

    path: str
    pattern: str
    wanted: bool

    def passes(self, content: str) -> bool:
        """True if the client would pass a file with this content."""
        return bool(re.search(self.pattern, content)) is self.wanted


def graders(case: Case) -> dict[str, Grader]:
    """Return the graders of a case by name; each is a regular expression."""
    found = {}
    for page in (REPOSITORY / "evals" / case.name / "graders").glob("*.md"):
        text = page.read_text("utf-8")
        [(path, pattern, match)] = re.findall(
            r"\A---\ntype: regex\ntarget: {source: file, path: (\S+)}\n"
            r"pattern: '([^'\n]+)'\n(match: not_contains\n)?---\n\Z",
            text,
        )
        found[page.stem] = Grader(path, pattern, not match)
    return found


def test_every_eval_case_of_the_repository_is_tested() -> None:
    names = {path.parent.name for path in (REPOSITORY / "evals").glob("*/case.yaml")}

    assert {case.name for case in CASES} == names and len(names) == 7


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_each_eval_prompt_is_shown_the_decision_of_earlier_sessions(
    case: Case, tmp_path: Path
) -> None:
    folder = REPOSITORY / "evals" / case.name
    (tmp_path / "home/cwd").mkdir(parents=True)
    past = Past(str(tmp_path / "home"), str(tmp_path / "home/cwd"))
    points = [line.split(" | ") for line in (folder / "points.txt").read_text("utf-8").splitlines()]

    notices = [past.session(said, noted) for said, noted in points]
    told = past.evaluated((folder / "prompt.md").read_text("utf-8"))

    assert ["remembered" in notice for notice in notices] == [True] * len(points)
    assert case.told in "".join(blocks(told))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_each_eval_grader_accepts_the_right_file_and_rejects_a_wrong_file(case: Case) -> None:
    found = graders(case)

    assert found and {grader.path for grader in found.values()} == {case.path}
    assert [grader.passes(case.right) for grader in found.values()] == [True] * len(found)
    assert [grader.passes(case.wrong) for grader in found.values()] == [False] * len(found)


def test_an_eval_passes_with_the_plugin_and_fails_without_it(
    tmp_path: Path, marketplace: Path
) -> None:
    """The case has a grader of either kind: a form that must be there, and one that must not."""
    [case] = [case for case in CASES if case.name == "superseded"]
    assert {grader.wanted for grader in graders(case).values()} == {True, False}

    evaluated = evaluate(case, tmp_path, marketplace)

    first = [sent.text for sent in evaluated.requests if WRITTEN not in sent.text]
    [with_plugin] = [text for text in first if blocks(text)]
    [without] = [text for text in first if not blocks(text)]
    assert case.told in "".join(blocks(with_plugin))
    assert case.told not in without and "memory-fabric" not in without
    assert [run["error"] for run in evaluated.arms.values()] == [None, None]
    # The stub writes the right file only where it was told.
    assert evaluated.verdicts("with") == dict.fromkeys(graders(case), True)
    assert evaluated.verdicts("without") == dict.fromkeys(graders(case), False)
