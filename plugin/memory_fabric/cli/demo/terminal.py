"""Labelled lines of a terminal's width, for the demonstration; standard library only."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap

MIN_WIDTH, MAX_WIDTH = 40, 80
LABEL_WIDTH = 8
# Columns of one space before the label and one after it.
MARGIN = LABEL_WIDTH + 2
BOLD, DIM, GREEN, CYAN, YELLOW, RED = "1", "2", "32", "36", "33", "31"


class Terminal:
    """Standard output of at most 80 columns; colour only in a terminal and without NO_COLOR."""

    def __init__(self) -> None:
        columns = shutil.get_terminal_size((MAX_WIDTH, 24)).columns
        self.width = max(MIN_WIDTH, min(MAX_WIDTH, columns))
        self.colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")

    def heading(self, text: str) -> None:
        """Print a blank line and a heading."""
        self.say("")
        self.say(text, BOLD)

    def row(self, label: str, text: str, style: str = "") -> None:
        """Print a label and a text, folded beside it."""
        for number, piece in enumerate(self._folded(text, MARGIN)):
            shown = self.ink(f" {'' if number else label:<{LABEL_WIDTH}} ", DIM)
            sys.stdout.write(f"{shown}{self.ink(piece, style)}\n")
        sys.stdout.flush()

    def say(self, text: str, *styles: str) -> None:
        """Print a paragraph, folded."""
        for piece in self._folded(text, 0):
            sys.stdout.write(self.ink(piece, *styles) + "\n")
        sys.stdout.flush()

    def command(self, text: str) -> None:
        """Print a line to copy, unfolded."""
        sys.stdout.write(f"  {text}\n")

    def ink(self, text: str, *styles: str) -> str:
        """Return the text in a style if colour is used."""
        codes = ";".join(style for style in styles if style)
        return f"\033[{codes}m{text}\033[0m" if self.colour and codes else text

    def _folded(self, text: str, margin: int) -> list[str]:
        return textwrap.wrap(text, self.width - margin) or [""]
