"""The cases of evals/ in the real client, with a stub in place of the model."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

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


def test_every_eval_case_is_tested() -> None:
    names = {path.parent.name for path in (REPOSITORY / "evals").glob("*/case.yaml")}

    assert {case.name for case in CASES} == names and len(names) == 7


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_memory_reaches_the_model_only_with_the_plugin_and_graders_judge_correctly(
    case: Case, tmp_path: Path, marketplace: Path
) -> None:
    graders = {path.stem for path in (REPOSITORY / "evals" / case.name / "graders").glob("*.md")}

    evaluated = evaluate(case, tmp_path, marketplace)

    first = [sent.text for sent in evaluated.requests if WRITTEN not in sent.text]
    [with_plugin] = [text for text in first if blocks(text)]
    [without] = [text for text in first if not blocks(text)]
    assert case.told in "".join(blocks(with_plugin))
    assert case.told not in without and "memory-fabric" not in without
    assert [run["error"] for run in evaluated.arms.values()] == [None, None]
    # The stub writes the right file only where it was told.
    assert evaluated.verdicts("with") == dict.fromkeys(graders, True)
    assert evaluated.verdicts("without") == dict.fromkeys(graders, False)
