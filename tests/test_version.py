"""One version, everywhere."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

from memory_fabric import __version__

ROOT = Path(__file__).parents[1]


def test_the_plugin_manifest_has_the_version_of_the_package() -> None:
    manifest = json.loads((ROOT / ".claude-plugin/plugin.json").read_text("utf-8"))

    assert manifest["version"] == __version__


def test_any_version_in_the_marketplace_file_equals_that_of_the_package() -> None:
    market = json.loads((ROOT / ".claude-plugin/marketplace.json").read_text("utf-8"))

    stated = [p.get("version", __version__) for p in market["plugins"]]
    stated.append(market.get("metadata", {}).get("version", __version__))
    assert set(stated) == {__version__}


def test_pyproject_takes_the_version_from_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))

    assert project["project"].get("version", __version__) == __version__
    if "version" not in project["project"]:
        assert project["tool"]["hatch"]["version"]["path"] == "plugin/memory_fabric/__init__.py"


def test_the_changelog_has_a_section_for_this_version() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")

    assert re.search(rf"^## {re.escape(__version__)}\b", changelog, re.MULTILINE)


def test_the_unreleased_section_of_the_changelog_is_short() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    _, _, changes = changelog.partition("## Unreleased\n")
    lines = changes.partition("\n## ")[0].splitlines()

    assert len([line for line in lines if line.strip()]) <= 40
    assert len(changes.partition("\n## ")[0].split()) <= 900


def test_no_file_tells_users_to_install_the_unrelated_pypi_package_of_this_name() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    places = ("README.md", "CONTRIBUTING.md", "docs", "plugin", "skills", "hooks", "benchmarks")
    pages = [
        page
        for place in places
        for page in (ROOT / place, *(ROOT / place).rglob("*"))
        if page.suffix in {".md", ".py", ".toml", ".txt", ".js"}
    ]

    sent = re.compile(
        r"(?:pip|pipx|uv tool) install ['\"]?memory-fabric|uvx memory-fabric|--from memory-f"
    )
    assert project["name"] == "agent-memory-fabric"
    assert len(pages) > 500
    assert [page for page in pages if sent.search(page.read_text("utf-8"))] == []
