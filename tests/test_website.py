"""The site of the documentation: every page, with links that lead somewhere."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from urllib.parse import urldefrag

import pytest

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "scripts/website"


def build(target: Path, script: Path = SCRIPT) -> subprocess.CompletedProcess[str]:
    return subprocess.run([script, target], capture_output=True, text=True)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of this checkout."""
    target = tmp_path_factory.mktemp("site") / "out"
    done = build(target)
    assert (done.returncode, done.stderr) == (0, "")
    return target


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The script in a checkout with one page, which has a heading and a link to each of two."""
    root = tmp_path / "checkout"
    (root / "scripts").mkdir(parents=True)
    shutil.copy(SCRIPT, root / "scripts/website")
    (root / ".venv").symlink_to(ROOT / ".venv")
    (root / "docs").mkdir()
    (root / "docs/page.md").write_text("# The `page`\n\n## Here\n\n## Here\n")
    return root


def test_every_documentation_page_is_on_the_website(site: Path) -> None:
    pages = {p.stem for p in (ROOT / "docs").rglob("*.md")} - {"README"}

    assert pages <= {p.stem for p in site.rglob("*.html")}
    assert '<h1 id="memory-fabric">' in (site / "index.html").read_text("utf-8")


def test_every_link_on_the_website_points_to_an_existing_file_and_heading(site: Path) -> None:
    texts = {page: page.read_text("utf-8") for page in site.rglob("*.html")}
    checked = 0
    for page, text in texts.items():
        for link in re.findall(r'(?:href|src)="((?![a-z]+:)[^"]+)"', text):
            path, anchor = urldefrag(link)
            file = (page.parent / path).resolve() if path else page
            assert file.is_file() and file.is_relative_to(site.resolve()), f"{page}: {link}"
            assert not anchor or f'id="{anchor}"' in file.read_text("utf-8"), f"{page}: {link}"
            checked += 1
    assert checked > 1000


def test_a_website_page_loads_nothing_from_the_network(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text("utf-8")
        assert "<style>" in text
        assert re.findall(r'<(?:script|link|iframe)\b|src="https?:', text) == []


@pytest.mark.parametrize(
    ("link", "told"),
    [
        ("docs/none.md", "leads to no file"),
        ("docs/page.md#there", "no heading of this name"),
        ("docs/page.md#here-2", "no heading of this name"),
        ("../outside.md", "leads to no file"),
        ("docs", "leads to no file"),
    ],
)
def test_a_broken_link_fails_the_website_build_and_is_reported(
    checkout: Path, link: str, told: str
) -> None:
    (checkout.parent / "outside.md").write_text("# Outside\n")
    (checkout / "README.md").write_text(f"# A\n\n[good](docs/page.md#here-1) [bad]({link})\n")

    done = build(checkout.parent / "out", checkout / "scripts/website")

    [line] = done.stderr.splitlines()
    assert done.returncode == 1
    assert line.startswith(f"scripts/website: README.md: {link}") and told in line


def test_the_website_build_refuses_a_folder_that_already_contains_files(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")

    done = build(tmp_path)

    assert done.returncode == 2 and str(tmp_path) in done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["mine.txt"]
