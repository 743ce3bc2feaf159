"""Sentences that people wrote: Python's own docstrings, with names, numbers and dates put in.

A store of made-up words says little about indexes and ranking. The docstrings of the standard
library are there on every machine, some 10,000 sentences of ordinary technical English. To give
any number of different statements, a sentence is put into one of several frames.
"""

from __future__ import annotations

import ast
import os
import random
import sysconfig
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from workloads import prose

# Folders of the standard library that hold tests, copies of packages or generated tables.
LEFT_OUT = frozenset(
    ("test", "tests", "site-packages", "idlelib", "encodings", "lib2to3", "pydoc_data")
)

PEOPLE = "Amira Bruno Chen Dilara Emeka Freya Goran Hanna Ines Jonas Kofi Lena Mateo Nadia".split()
PLACES = (
    "billing search checkout inventory login reporting upload webhook export audit ledger gateway "
    "scheduler catalogue mailer archive metrics pricing refunds sessions"
).split()
FRAMES = (
    "{said}",
    "{said} ({place} {number})",
    "{person}: {said}",
    "In {place} since build {number}: {said}",
    "{said} {person} measured {number} ms with {name}.",
    "On {date} {person} wrote: {said}",
    "{said} See {name}, line {number}.",
    "{said} The {place} service needs this for case {number}.",
)


class Prose(NamedTuple):
    """Sentences and the qualified names of what they describe, both without repeats."""

    sentences: tuple[str, ...]
    names: tuple[tuple[str, str], ...]

    def statement(self, chance: random.Random) -> str:
        """A sentence in a frame; most are different from each other."""
        return chance.choice(FRAMES).format(
            said=chance.choice(self.sentences),
            place=chance.choice(PLACES),
            person=chance.choice(PEOPLE),
            name=chance.choice(self.names)[0],
            number=chance.randrange(1, 100_000),
            date=f"{chance.randrange(1, 29)} {chance.choice('March June October'.split())}",
        )


def read_prose(files: int | None = None) -> Prose:
    """The prose of this interpreter's standard library, or of its first files, in their order."""
    root = sysconfig.get_path("stdlib")
    names: dict[str, str] = {}
    for path in islice(_files(root), files):
        parts = path[len(root) + 1 :].removesuffix(".py").split(os.sep)
        with open(path, encoding="utf-8", errors="replace") as file:
            try:
                tree = ast.parse(file.read())
            except SyntaxError:
                continue
        for name, kind in _described(tree, ".".join(parts).removesuffix(".__init__")):
            names.setdefault(name, kind)
    return Prose(prose.sentences(files), tuple(names.items()))


def _files(root: str) -> Iterator[str]:
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(set(folders) - LEFT_OUT)
        for name in sorted(names):
            if name.endswith(".py") and not name.startswith("test_"):
                yield os.path.join(folder, name)


def _described(node: ast.AST, name: str) -> Iterator[tuple[str, str]]:
    """A module's, class's or function's name and kind, and those of its parts."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    if isinstance(node, documented):
        kind = {ast.Module: "module", ast.ClassDef: "class"}.get(type(node), "function")
        yield name, kind
        for part in node.body:
            if isinstance(part, documented[1:]):
                yield from _described(part, f"{name}.{part.name}")
