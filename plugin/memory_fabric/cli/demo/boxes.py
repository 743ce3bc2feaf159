"""Boxes, colours and folded lines for the demonstration, with the standard library only."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Iterator, Sequence

MIN_WIDTH, MAX_WIDTH = 60, 100
LABEL_WIDTH = 8
BOLD, DIM, GREEN, CYAN, YELLOW, RED = "1", "2", "32", "36", "33", "31"


class Canvas:
    """Standard output with boxes; colour only where it is a terminal and NO_COLOR is unset."""

    def __init__(self) -> None:
        columns = shutil.get_terminal_size((MAX_WIDTH, 24)).columns
        self.width = max(MIN_WIDTH, min(MAX_WIDTH, columns))
        self.colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")

    def box(self, title: str, note: str, rows: Sequence[tuple[str, str, str]]) -> None:
        """Print a framed box; each row is a label, a text that is folded, and its colour."""
        end = f" {self.ink(note, DIM)} ─╮" if note else "─╮"
        taken = width_of(title) + (width_of(note) + 8 if note else 6)
        fill = "─" * max(1, self.width - taken)
        self.say(f"╭─ {self.ink(title, BOLD)} {fill}{end}")
        for label, text, colour in rows:
            for first, piece in self._folded(text):
                shown = self.ink(f"{label if first else '':<{LABEL_WIDTH}}", DIM)
                space = " " * max(0, self.width - 5 - LABEL_WIDTH - width_of(piece))
                self.say(f"│ {shown} {self.ink(piece, colour)}{space} │")
        self.say(f"╰{'─' * (self.width - 2)}╯")

    def heading(self, text: str) -> None:
        """Print the heading of a chapter."""
        self.say("")
        self.say(self.ink(text, BOLD, CYAN))

    def say(self, text: str = "") -> None:
        """Print a line unchanged."""
        sys.stdout.write(text + "\n")
        sys.stdout.flush()

    def ink(self, text: str, *styles: str) -> str:
        """Return the text in a style if colour is used."""
        codes = ";".join(style for style in styles if style)
        return f"\033[{codes}m{text}\033[0m" if self.colour and codes else text

    def _folded(self, text: str) -> Iterator[tuple[bool, str]]:
        room = self.width - 5 - LABEL_WIDTH
        lines = [
            piece
            for line in text.splitlines() or [""]
            for piece in textwrap.wrap(line, room, subsequent_indent="  ") or [""]
        ]
        for number, piece in enumerate(lines):
            yield number == 0, piece


def width_of(text: str) -> int:
    """Return the width of a text in terminal columns."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
