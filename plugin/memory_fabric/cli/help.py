"""The help text of a command: its docstring, divided into prose and the examples at its end.

The same text is used for `--help` and docs/commands.md.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass

# Click keeps the lines of a paragraph that begins with this.
VERBATIM = "\b\n"
INDENT = "    "


@dataclass(frozen=True, slots=True)
class HelpText:
    """The prose of a help text in Markdown, and its examples."""

    prose: str
    examples: str


def help_text_of(function: Callable[..., object]) -> HelpText:
    """Return the help text in the docstring of a command."""
    return split_examples(inspect.getdoc(function) or "")


def split_examples(text: str) -> HelpText:
    """Split a text before its first example, or before the line with a colon that introduces it."""
    paragraphs = inspect.cleandoc(text).replace(VERBATIM, "").split("\n\n")
    first = next((n for n, part in enumerate(paragraphs) if part.startswith(INDENT)), None)
    if first is None:
        return HelpText("\n\n".join(paragraphs), "")
    if first > 1 and paragraphs[first - 1].endswith(":"):
        first -= 1
    return HelpText("\n\n".join(paragraphs[:first]), "\n\n".join(paragraphs[first:]))


def format_help(text: str, *, rendered: bool) -> str:
    """Format a text for `--help`: as Markdown if it is rendered, else with verbatim examples."""
    if rendered:
        return with_fences(text)
    parts = text.split("\n\n")
    return "\n\n".join(VERBATIM + p if p.startswith(INDENT) else p for p in parts)


def with_fences(text: str) -> str:
    """Return the text with its examples in fenced code blocks."""
    return "\n\n".join(_fenced(part) for part in text.split("\n\n"))


def _fenced(paragraph: str) -> str:
    if not paragraph.startswith(INDENT):
        return paragraph
    return f"```sh\n{inspect.cleandoc(paragraph)}\n```"
