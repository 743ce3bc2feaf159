"""A terminal's screen: the part of ECMA-48 that Claude Code writes, applied to a grid of cells."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import Any, NamedTuple

# A control sequence, an operating system command, another escape, or one character.
TOKEN = re.compile(
    r"\x1b\[([<-?]*)([0-9;:]*)([ -/]*)([@-~])"
    r"|\x1b\](?:[^\x07\x1b]*)(?:\x07|\x1b\\)"
    r"|\x1b[PX^_](?:[^\x1b]*)\x1b\\"
    r"|\x1b(?![][PX^_])([ -/]*[0-~])"
    r"|([^\x1b])",
    re.DOTALL,
)
# Finals of sequences without an effect on what is shown: modes, questions and key protocols.
SILENT = "hlcnqtu"
TAB_COLUMNS = 8


class Style(NamedTuple):
    """Colours (numbers of the palette, or `#rrggbb`; empty for the default) and attributes."""

    colour: str = ""
    ground: str = ""
    bold: bool = False
    dim: bool = False
    italic: bool = False
    underlined: bool = False
    inverse: bool = False


class Cell(NamedTuple):
    """One character with its style; empty text is the right half of a wide character."""

    text: str = " "
    style: Style = Style()


BLANK = Cell()
Row = tuple[Cell, ...]
ATTRIBUTES: dict[int, dict[str, Any]] = {
    1: {"bold": True},
    2: {"dim": True},
    3: {"italic": True},
    4: {"underlined": True},
    7: {"inverse": True},
    22: {"bold": False, "dim": False},
    23: {"italic": False},
    24: {"underlined": False},
    27: {"inverse": False},
}


class Screen:
    """A grid of `rows` × `columns` cells and a cursor; `unknown` holds what was not understood."""

    def __init__(self, columns: int, rows: int) -> None:
        self.columns, self.rows = columns, rows
        self.unknown: list[str] = []
        self.style = Style()
        self.x = self.y = 0
        self._saved = (0, 0)
        self._rest = ""
        self._cells = [[BLANK] * columns for _ in range(rows)]
        self._moves: dict[str, Callable[[list[int]], None]] = {
            "A": lambda n: self._to(self.x, self.y - (n[0] or 1)),
            "B": lambda n: self._to(self.x, self.y + (n[0] or 1)),
            "C": lambda n: self._to(self.x + (n[0] or 1), self.y),
            "D": lambda n: self._to(self.x - (n[0] or 1), self.y),
            "G": lambda n: self._to((n[0] or 1) - 1, self.y),
            "d": lambda n: self._to(self.x, (n[0] or 1) - 1),
            "H": lambda n: self._to((n[1] or 1) - 1 if n[1:] else 0, (n[0] or 1) - 1),
            "J": self._erase_display,
            "K": self._erase_line,
            "X": lambda n: self._blank(self.y, self.x, self.x + (n[0] or 1)),
            "S": lambda n: self._scroll(n[0] or 1),
            "r": lambda n: self._to(0, 0),
        }

    @property
    def text(self) -> str:
        """The characters of all rows."""
        return "\n".join("".join(cell.text for cell in row).rstrip() for row in self._cells)

    def snapshot(self) -> tuple[Row, ...]:
        """Return the cells as they are now."""
        return tuple(tuple(row) for row in self._cells)

    def feed(self, stream: str) -> None:
        """Apply the output of a program; the beginning of a sequence waits for its rest."""
        stream, self._rest = self._rest + stream, ""
        at = 0
        while at < len(stream):
            found = TOKEN.match(stream, at)
            if found is None:
                self._rest = stream[at:]
                return
            self._apply(found)
            at = found.end()

    def _apply(self, found: re.Match[str]) -> None:
        private, numbers, between, final, escape, character = found.groups()
        if character:
            self._put(character)
        elif final:
            self._control(private + between, numbers, final)
        elif escape == "7":
            self._saved = (self.x, self.y)
        elif escape == "8":
            self._to(*self._saved)
        elif escape and escape not in ("=", ">", "(B"):
            self.unknown.append(found.group())

    def _control(self, kind: str, numbers: str, final: str) -> None:
        if final in SILENT:
            if kind == "?" and numbers == "1049":
                self._erase_display([2])
        elif kind:
            return  # a question or a mode of the keyboard, such as CSI > 1 u
        elif final == "m":
            self._colour([int(n or 0) for n in numbers.replace(":", ";").split(";")])
        elif final in self._moves:
            self._moves[final]([int(n or 0) for n in numbers.split(";")])
        else:
            self.unknown.append(f"CSI {numbers}{final}")

    def _put(self, character: str) -> None:
        if character == "\r":
            self.x = 0
        elif character == "\n":
            if self.y == self.rows - 1:
                self._scroll(1)
            self._to(self.x, self.y + 1)
        elif character == "\b":
            self._to(self.x - 1, self.y)
        elif character == "\t":
            self._to((self.x // TAB_COLUMNS + 1) * TAB_COLUMNS, self.y)
        elif character >= " ":
            self._write(character)

    def _write(self, character: str) -> None:
        wide = unicodedata.east_asian_width(character) in "WF"
        if unicodedata.combining(character) or character in "\u200d\ufe0f":
            return
        if self.x + wide >= self.columns:
            self._put("\r")
            self._put("\n")
        row = self._cells[self.y]
        row[self.x] = Cell(character, self.style)
        if wide:
            row[self.x + 1] = Cell("", self.style)
        self.x += 1 + wide

    def _to(self, x: int, y: int) -> None:
        self.x = min(max(x, 0), self.columns - 1)
        self.y = min(max(y, 0), self.rows - 1)

    def _scroll(self, lines: int) -> None:
        for _ in range(lines):
            del self._cells[0]
            self._cells.append([BLANK] * self.columns)

    def _blank(self, y: int, start: int, end: int) -> None:
        end = min(end, self.columns)
        self._cells[y][start:end] = [Cell(" ", Style(ground=self.style.ground))] * (end - start)

    def _erase_line(self, numbers: list[int]) -> None:
        start = 0 if numbers[0] else self.x
        self._blank(self.y, start, self.x + 1 if numbers[0] == 1 else self.columns)

    def _erase_display(self, numbers: list[int]) -> None:
        self._erase_line([2] if numbers[0] >= 2 else numbers)
        first, last = {0: (self.y + 1, self.rows), 1: (0, self.y)}.get(numbers[0], (0, self.rows))
        for y in range(first, last):
            self._blank(y, 0, self.columns)

    def _colour(self, numbers: list[int]) -> None:
        while numbers:
            number = numbers.pop(0)
            if number == 0:
                self.style = Style()
            elif number in ATTRIBUTES:
                self.style = self.style._replace(**ATTRIBUTES[number])
            elif number in (38, 48):
                self._set("colour" if number == 38 else "ground", _extended(numbers))
            elif number in (39, 49):
                self._set("colour" if number == 39 else "ground", "")
            elif number % 60 // 10 in (3, 4) and number % 10 < 8:
                bright = 8 if number >= 90 else 0
                self._set("colour" if number % 60 < 40 else "ground", str(number % 10 + bright))

    def _set(self, name: str, value: str) -> None:
        changed: dict[str, Any] = {name: value}
        self.style = self.style._replace(**changed)


def _extended(numbers: list[int]) -> str:
    """Take a colour of the palette or of 24 bits from the numbers after 38 or 48."""
    kind = numbers.pop(0) if numbers else 0
    if kind == 5 and numbers:
        return str(numbers.pop(0))
    red, green, blue = [*numbers, 0, 0, 0][:3]
    del numbers[:3]
    return f"#{red:02x}{green:02x}{blue:02x}"
