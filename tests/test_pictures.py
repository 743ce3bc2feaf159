"""scripts/pictures makes the pictures of the documents with one command."""

from __future__ import annotations

import struct
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs/pictures"
SIZES = {
    "icon.png": (512, 512),
    "page-dark.png": (1280, 800),
    "page-light.png": (1280, 800),
}


def size(picture: Path) -> tuple[int, int]:
    """Width and height that a PNG states in its head."""
    head = picture.read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", head[16:24])
    return width, height


def test_one_command_creates_every_picture(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts/pictures", "--to", tmp_path],
        capture_output=True,
        text=True,
        timeout=240,
    )

    assert done.returncode == 0, done.stderr
    made = {picture.name: size(picture) for picture in tmp_path.iterdir()}
    assert made == SIZES


def test_the_icon_meets_the_requirements_of_the_plugin_directory() -> None:
    width, height = size(ROOT / ".claude-plugin/icon.png")

    assert width == height == SIZES["icon.png"][0] >= 512


@pytest.mark.parametrize("name", sorted({*SIZES, "session.svg"} - {"icon.png"}))
def test_every_picture_is_used_in_a_document(name: str) -> None:
    pages = (ROOT / "README.md", ROOT / "docs/viewer.md")

    assert (PICTURES / name).is_file()
    assert any(f"pictures/{name})" in page.read_text("utf-8") for page in pages)


def test_an_unknown_argument_is_refused() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts/pictures", "sculpture"], capture_output=True, text=True
    )

    assert done.returncode == 2
    assert "scripts/pictures " in done.stderr
