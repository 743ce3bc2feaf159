"""What a command says of itself: its docstring, prose first, then the examples that it ends with.

The same text serves `--help` in a terminal, `--help` for a process, and docs/commands.md.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass

# What a paragraph begins with that keeps its lines where no terminal renders Markdown.
AS_IT_IS = "\b\n"
INDENT = "    "


@dataclass(frozen=True, slots=True)
class Told:
    """Paragraphs in Markdown, and from the first example on all that follows."""

    prose: str
    examples: str


def told_by(function: Callable[..., object]) -> Told:
    """What a command's docstring says."""
    return divided(inspect.getdoc(function) or "")


def divided(text: str) -> Told:
    """A text divided before its first example; a line that leads to it goes with it."""
    paragraphs = inspect.cleandoc(text).replace(AS_IT_IS, "").split("\n\n")
    first = next((n for n, part in enumerate(paragraphs) if part.startswith(INDENT)), None)
    if first is None:
        return Told("\n\n".join(paragraphs), "")
    if first > 1 and paragraphs[first - 1].endswith(":"):
        first -= 1
    return Told("\n\n".join(paragraphs[:first]), "\n\n".join(paragraphs[first:]))


def laid_out(text: str, *, rendered: bool) -> str:
    """The text for `--help`: rendered as Markdown, or with its examples kept line by line."""
    if rendered:
        return fenced(text)
    parts = text.split("\n\n")
    return "\n\n".join(AS_IT_IS + p if p.startswith(INDENT) else p for p in parts)


def fenced(text: str) -> str:
    """The text with its examples between fences, as a page of Markdown has them."""
    return "\n\n".join(_fenced(part) for part in text.split("\n\n"))


def _fenced(paragraph: str) -> str:
    if not paragraph.startswith(INDENT):
        return paragraph
    return f"```sh\n{inspect.cleandoc(paragraph)}\n```"
