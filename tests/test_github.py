""".github: the workflows run what exists, on three systems, with no more rights than needed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
FORMS = sorted(p for p in (GITHUB / "ISSUE_TEMPLATE").glob("*.yml") if p.stem != "config")


def read(path: Path) -> Any:
    """The content of a YAML file."""
    return yaml.safe_load(path.read_text("utf-8"))


def jobs(path: Path) -> dict[str, Any]:
    """The jobs of a workflow."""
    listed: dict[str, Any] = read(path)["jobs"]
    return listed


def name(path: Path) -> str:
    """A file's name in a test's id."""
    return path.name


def test_the_test_workflow_has_jobs_for_linux_macos_and_windows() -> None:
    listed = jobs(GITHUB / "workflows/tests.yml")

    systems = {job["runs-on"].partition("-")[0] for job in listed.values()}
    assert systems == {"ubuntu", "macos", "windows"}
    assert {"run": ".ci/run"} in listed["linux"]["steps"]


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=name)
def test_every_file_used_by_a_workflow_exists(workflow: Path) -> None:
    lines = [
        step["run"] for job in jobs(workflow).values() for step in job["steps"] if "run" in step
    ]
    named = re.findall(
        r"(?<![\w/.])((?:scripts|tests|hooks|\.ci)/[\w/.-]+|CHANGELOG\.md)", "\n".join(lines)
    )

    assert named
    assert [path for path in named if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=name)
def test_each_workflow_is_marked_as_never_run_and_has_minimal_permissions(workflow: Path) -> None:
    content = read(workflow)

    assert "has not been run" in workflow.read_text("utf-8").splitlines()[0]
    wanted = "write" if workflow.stem == "release" else "read"
    assert content["permissions"] == {"contents": wanted}
    uses = [s["uses"] for job in content["jobs"].values() for s in job["steps"] if "uses" in s]
    assert all(re.fullmatch(r"actions/[a-z-]+@v\d+", use) for use in uses)


@pytest.mark.parametrize("form", FORMS, ids=name)
def test_an_issue_form_has_the_required_fields_and_asks_for_the_version(form: Path) -> None:
    content = read(form)

    assert content["name"] and content["description"]
    fields = [field for field in content["body"] if field["type"] != "markdown"]
    assert len({field["id"] for field in fields}) == len(fields)
    assert all(field["attributes"]["label"] for field in fields)
    asks = any("version" in field["id"] for field in fields)
    assert asks == (form.stem != "wish")
