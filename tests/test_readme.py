"""README and docs: commands and files that they name exist, links lead somewhere."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import get_args

import pytest

from memory_fabric.cli.commands import review
from memory_fabric.cli.commands.setup import Client
from memory_fabric.cli.registry import COMMANDS
from memory_fabric.recall.render import DEFAULT_DAYS, STALE_AFTER_DAYS
from memory_fabric.setup import packages as installation

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    p
    for folder in (".", "docs", "docs/decisions", "hooks", "evals", "benchmarks/agent_memory_bench")
    for p in ROOT.joinpath(folder).glob("*.md")
)
README = (ROOT / "README.md").read_text("utf-8")
QUESTIONS = (ROOT / "docs/questions.md").read_text("utf-8")
FOLDED = " ".join(README.split())
TIERS = (ROOT / "docs/tiers.md").read_text("utf-8")
KNOWN = {command.name for command in COMMANDS}


def relative(page: Path) -> str:
    """Return the name of a page in a test's id."""
    return str(page.relative_to(ROOT))


def test_the_demo_and_test_scripts_in_the_readme_are_executable() -> None:
    for name in ("scripts/demo", "scripts/test"):
        assert f"\n{name}\n" in README
        assert os.access(ROOT / name, os.X_OK)


def test_the_readme_shows_two_ways_to_install_and_how_to_update() -> None:
    parts = "--sparse .claude-plugin bin hooks plugin skills"
    for source in (f"OWNER/REPO {parts}", '"$PWD/dist/memory-fabric"'):
        assert (
            f"claude plugin marketplace add {source}\n"
            "claude plugin install memory-fabric@memory-fabric\n"
        ) in README
    assert "`claude plugin update memory-fabric@memory-fabric`" in README
    assert "after `git pull` and `scripts/package dist/memory-fabric`" in README


def test_the_readme_gives_the_correct_number_and_size_of_packages() -> None:
    lock = (ROOT / "plugin/requirements.lock").read_text("utf-8")
    [(packages, megabytes)] = re.findall(r"need (\d+) packages \((\d+) MB\)", FOLDED)

    assert int(packages) == len(re.findall(r"^[a-z0-9-]+==", lock, re.MULTILINE))
    assert int(megabytes) == installation.SIZE_MB


def test_figures_on_the_questions_page_match_the_benchmarks() -> None:
    measured = set(_figures((ROOT / "docs/benchmarks.md").read_text("utf-8")))
    answers = " ".join(QUESTIONS.split())

    [(warm, *cold)] = re.findall(
        r"with 10,000 observations (\d+) ms .* answers, (\d+) to (\d+) ms elsewhere",
        answers,
    )
    [useful] = re.findall(
        r"in conversations of 12 real projects (\d+) % of what they stored was useful", answers
    )
    [kept] = re.findall(r"real coding sessions (\d+) % of the notes were useful", answers)
    [settled] = re.findall(r"useful, and (\d+) % of what was settled was on record", answers)
    assert {warm, *cold, useful, f"0.{kept}", f"0.{settled}"} <= measured


def test_the_readme_is_short_and_its_first_screen_shows_purpose_and_installation() -> None:
    lines = README.splitlines()
    first = "\n".join(lines[:40])

    assert len(README.split()) <= 700
    for needed in ("What you settle", "For people who", "claude plugin install", "session.svg)"):
        assert needed in first
    assert "| | memory-fabric | compared with |" in first
    assert len(re.findall(r"^!\[", README, re.MULTILINE)) == 1
    assert "## Where to look next\n" in README
    assert max(len(line) for line in lines if line[:1] not in "|!") <= 120


@pytest.mark.parametrize("client", get_args(Client))
def test_the_readme_lists_each_client_supported_by_setup(client: str) -> None:
    _, section = README.split("## Other clients\n")
    assert f"`{client}`" in section.split("\n## ")[0]


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_every_command_mentioned_in_the_documentation_exists(page: Path) -> None:
    text = re.sub(r"^```text\n.*?^```", "", page.read_text("utf-8"), flags=re.M | re.S)
    named = set(re.findall(r"(?:`|/|^)memory-fabric ([a-z]+)", text, re.M))

    assert named <= KNOWN


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_every_skill_mentioned_in_the_documentation_exists(page: Path) -> None:
    named = set(re.findall(r"/memory-fabric:([a-z-]+)", page.read_text("utf-8")))

    assert named <= {p.parent.name for p in ROOT.glob("skills/*/SKILL.md")}


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_every_relative_link_in_the_documentation_points_to_a_file(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#]+)\)", page.read_text("utf-8"))

    assert [t for t in targets if not (page.parent / t).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_every_shell_example_is_valid_in_a_posix_shell(page: Path) -> None:
    shell = shutil.which("dash") or "sh"

    for box in re.findall(r"^```sh\n(.*?)^```", page.read_text("utf-8"), re.M | re.S):
        read = subprocess.run((shell, "-n"), input=box, capture_output=True, text=True, check=False)
        assert read.returncode == 0, f"{read.stderr}{box}"


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_every_script_mentioned_in_the_documentation_exists(page: Path) -> None:
    named = set(
        re.findall(r"`((?:scripts|bin|hooks|benchmarks|evals)/[\w./-]+)", page.read_text("utf-8"))
    )

    package = ROOT / "plugin/memory_fabric"
    places = {name: (ROOT / name, package / name, package / f"{name}.py") for name in named}
    assert sorted(n for n, paths in places.items() if not any(p.exists() for p in paths)) == []


def test_every_figure_in_the_comparison_table_is_in_the_benchmarks() -> None:
    pages = ("docs/benchmarks.md", "docs/shown.md")
    measured = {n for page in pages for n in _figures((ROOT / page).read_text("utf-8"))}

    for page in (README, QUESTIONS):
        _, table = page.split("| | memory-fabric | compared with |\n", 1)
        rows = table.split("\n\n", 1)[0].splitlines()[1:]
        figures = {n for row in rows for cell in row.split("|")[2:] for n in _figures(cell)}
        assert len(figures) > 8
        assert sorted(figures - measured - {"0"}) == []


def _figures(text: str) -> list[str]:
    return re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.]|\.\d)", text.replace("**", ""))


def test_every_environment_variable_is_on_the_configuration_page() -> None:
    source = (ROOT / "plugin/memory_fabric/config.py").read_text("utf-8")
    page = (ROOT / "docs/configuration.md").read_text("utf-8")

    read = set(re.findall(r'"(MEMORY_FABRIC\w*)"', source))

    assert sorted(name for name in read if f"`{name}`" not in page) == []


@pytest.mark.parametrize(
    "told",
    [
        review.NOTHING_STALE,
        str(review.stale.__doc__),
        re.findall(r"No memory is deleted.*?never\.", TIERS, re.DOTALL)[0],
    ],
    ids=["stale", "help", "tiers"],
)
def test_the_documented_days_until_a_memory_is_stale_are_correct(told: str) -> None:
    ages = re.findall(r"(decision|technolog|pattern|preference|other|else)\D+?(\d+)", told.lower())

    words = {kind.rstrip("y"): days for kind, days in STALE_AFTER_DAYS.items() if days}
    words |= dict.fromkeys(("other", "else"), DEFAULT_DAYS)
    documented = {kind: int(days) for kind, days in ages}
    assert documented.items() <= words.items()
    assert {kind for kind, days in words.items() if days != DEFAULT_DAYS} <= documented.keys()
    assert documented.keys() & {"other", "else"}


def test_each_decision_page_has_a_unique_number_and_is_listed() -> None:
    pages = sorted(p.name for p in (ROOT / "docs/decisions").glob("0*.md"))
    listed = (ROOT / "docs/decisions/README.md").read_text("utf-8")

    assert len({name[:4] for name in pages}) == len(pages)
    assert re.findall(r"\((0\d{3}-[^)]+)\)", listed) == pages
