"""Ordinary texts of this machine: parts of documentation, code and configuration as installed.

A part is some lines of a file that begin and end at a blank line, at most `MAX_CHARS` long. Files
are drawn evenly by kind, then by folder, so that no large package fills the sample. The same
machine gives the same texts.
"""

from __future__ import annotations

import os
import random
import sysconfig
from collections.abc import Iterator, Mapping, Sequence

MAX_CHARS, MIN_CHARS, MAX_LINES, MAX_BYTES = 1600, 40, 40, 400_000
HERE = os.path.dirname(os.path.abspath(__file__))
REPOSITORY = os.path.dirname(os.path.dirname(HERE))
FOLDERS = (
    sysconfig.get_path("stdlib"),
    sysconfig.get_path("purelib"),
    "/usr/share/doc",
    "/usr/share/perl",
    "/usr/lib/node_modules",
    "/usr/include",
    "/etc",
    os.path.join(REPOSITORY, "tests", "e2e", "node_modules"),
    os.path.join(REPOSITORY, ".venv", "lib"),
)
KINDS: Mapping[str, tuple[str, ...]] = {
    "documentation": (".md", ".rst", ".txt", ".html", "README", "NEWS", "changelog"),
    "code": (".py", ".js", ".ts", ".mjs", ".pyi", ".h", ".c", ".pl", ".pm", ".sh", ".go", ".rb"),
    "configuration": (".json", ".toml", ".yaml", ".yml", ".ini", ".cfg", ".conf", ".xml"),
}
# Texts that hold keys on purpose, and files of accounts.
NOT_ORDINARY = (
    "detect_secrets",
    "gitleaks",
    "/ssl/private",
    "shadow",
    "/test/certdata",
    "memory_fabric",
)


def texts(count: int, seed: int = 1) -> list[tuple[str, str]]:
    """Return `count` pairs of kind and text, the same on the same machine."""
    chance = random.Random(seed)
    by_kind = {kind: _by_folder(ends) for kind, ends in KINDS.items()}
    drawn: dict[str, str] = {}
    while len(drawn) < count:
        kind = (*KINDS,)[len(drawn) % len(KINDS)]
        folders = by_kind[kind]
        path = chance.choice(folders[chance.choice((*folders,))])
        part = _part(path, chance)
        if part is not None:
            drawn.setdefault(part, kind)
    return [(kind, part) for part, kind in drawn.items()]


def _by_folder(ends: tuple[str, ...]) -> dict[str, Sequence[str]]:
    found: dict[str, list[str]] = {}
    for path in _files():
        if path.endswith(ends):
            root = next(f for f in FOLDERS if f and path.startswith(f))
            first = "/".join(path[len(root) :].split("/")[:3])
            found.setdefault(f"{root}{first}", []).append(path)
    return {folder: sorted(paths) for folder, paths in sorted(found.items())}


def _files() -> Iterator[str]:
    for folder in filter(None, FOLDERS):
        for root, folders, names in os.walk(folder):
            folders.sort()
            for name in sorted(names):
                path = os.path.join(root, name)
                if not any(part in path for part in NOT_ORDINARY) and os.path.isfile(path):
                    yield path


def _part(path: str, chance: random.Random) -> str | None:
    """Return some lines of a file from a blank line on, or none if they are no text."""
    try:
        if os.path.getsize(path) > MAX_BYTES:
            return None
        with open(path, encoding="utf-8") as stream:
            lines = stream.read().split("\n")
    except (OSError, UnicodeDecodeError):
        return None
    start = chance.randrange(len(lines))
    while start and lines[start - 1].strip():
        start -= 1
    part: list[str] = []
    for line in lines[start : start + MAX_LINES]:
        if sum(map(len, part)) + len(line) > MAX_CHARS or (not line.strip() and len(part) > 6):
            break
        part.append(line)
    text = "\n".join(part).strip("\n")
    return text if len(text) >= MIN_CHARS else None
