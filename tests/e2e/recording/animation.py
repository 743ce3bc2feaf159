"""An animated SVG of screens of a terminal: each frame beside the last, moved by one animation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple
from xml.sax.saxutils import escape

from e2e.recording.screen import Cell, Row, Style

# Pixels of a cell and of the space around the screen, and of the line with the title.
CELL_WIDTH, LINE_HEIGHT, FONT_SIZE = 8.4, 18, 14
PADDING, TITLE_HEIGHT = 16, 30
GROUND, COLOUR, DIM, TITLE_COLOUR = "#16181d", "#d6d9e0", "#8a8f99", "#e5c07b"
FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
# The sixteen colours of the terminal that have names; the rest of the palette is computed.
NAMED = (
    *("#1c1e24", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d6d9e0"),
    *("#5c6370", "#ff7b86", "#b5e08f", "#ffd68a", "#82c4ff", "#dd92f0", "#74d6e0", "#ffffff"),
)
# Characters that common fonts lack, and what is drawn in their place.
DRAWN_AS = str.maketrans({"\xa0": " ", "⎿": "└", "⏵": "▶"})
LEVELS = (0, 95, 135, 175, 215, 255)


class Frame(NamedTuple):
    """A screen, the seconds for which it is shown, and the title above it."""

    seconds: float
    title: str
    rows: tuple[Row, ...]


def animation(frames: Sequence[Frame], label: str) -> str:
    """Return the SVG; `label` says what it shows, for readers who do not see it."""
    width = round(len(frames[0].rows[0]) * CELL_WIDTH + 2 * PADDING)
    height = TITLE_HEIGHT + len(frames[0].rows) * LINE_HEIGHT + PADDING
    seconds = sum(frame.seconds for frame in frames)
    known: dict[Row, str] = {}
    strip = "".join(_frame(frame, n * width, known) for n, frame in enumerate(frames))
    rows = "".join(f'<g id="{name}">{"".join(_runs(row))}</g>' for row, name in known.items())
    last = -width * (len(frames) - 1)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" fill="{COLOUR}" role="img" '
        f'aria-label="{escape(label)}">\n'
        f"<title>{escape(label)}</title>\n<style>\n"
        f"text{{font:{FONT_SIZE}px {FONT};white-space:pre}}\n"
        f".film{{transform:translateX({last}px);animation:film {seconds:.2f}s steps(1) infinite}}\n"
        f"@keyframes film{{{''.join(_steps(frames, width, seconds))}}}\n"
        "@media (prefers-reduced-motion:reduce){.film{animation:none}}\n</style>\n"
        f"<defs>{rows}</defs>\n"
        f'<rect width="{width}" height="{height}" rx="8" fill="{GROUND}"/>\n'
        f'<svg width="{width}" height="{height}"><g class="film">{strip}</g></svg>\n</svg>\n'
    )


def _steps(frames: Sequence[Frame], width: int, seconds: float) -> Iterator[str]:
    at = 0.0
    for number, frame in enumerate(frames):
        yield f"{at / seconds:.3%}{{transform:translateX({-number * width}px)}}"
        at += frame.seconds
    yield f"100%{{transform:translateX({-(len(frames) - 1) * width}px)}}"


def _frame(frame: Frame, x: int, known: dict[Row, str]) -> str:
    """Draw a screen; rows that were drawn before are named, not repeated."""
    look = f'x="{PADDING}" y="20" fill="{TITLE_COLOUR}" font-weight="bold"'
    used = [f"<text {look}>{escape(frame.title)}</text>"]
    for number, row in enumerate(frame.rows):
        if any(cell.text.strip() or cell.style.ground or cell.style.inverse for cell in row):
            name = known.setdefault(row, f"r{len(known)}")
            y = TITLE_HEIGHT + number * LINE_HEIGHT
            used.append(f'<use href="#{name}" x="{PADDING}" y="{y}"/>')
    return f'<g transform="translate({x})">{"".join(used)}</g>'


def _runs(row: Row) -> Iterator[str]:
    """Draw the runs of one style in a row, each as wide as its cells."""
    for style, group in groupby(enumerate(row), key=lambda pair: pair[1].style):
        cells = list(group)
        start = cells[0][0] * CELL_WIDTH
        colour, ground = _colours(style)
        if ground:
            wide = len(cells) * CELL_WIDTH
            yield f'<rect x="{start:g}" width="{wide:g}" height="{LINE_HEIGHT}" fill="{ground}"/>'
        yield from _words([(n, cell) for n, cell in cells], style, colour)


def _words(cells: list[tuple[int, Cell]], style: Style, colour: str) -> Iterator[str]:
    while cells and not cells[0][1].text.strip():
        cells.pop(0)
    while cells and not cells[-1][1].text.strip():
        cells.pop()
    if not cells:
        return
    text = "".join(cell.text for _, cell in cells).translate(DRAWN_AS)
    attributes = "".join(
        part
        for wanted, part in (
            (colour != COLOUR, f' fill="{colour}"'),
            (style.bold, ' font-weight="bold"'),
            (style.italic, ' font-style="italic"'),
            (style.underlined, ' text-decoration="underline"'),
        )
        if wanted
    )
    x, wide = cells[0][0] * CELL_WIDTH, len(cells) * CELL_WIDTH
    yield (
        f'<text x="{x:g}" y="{FONT_SIZE}" textLength="{wide:g}" '
        f'lengthAdjust="spacingAndGlyphs"{attributes}>{escape(text)}</text>'
    )


def _colours(style: Style) -> tuple[str, str]:
    """Return the colours of text and ground; no ground is that of the picture."""
    colour = _rgb(style.colour) or (DIM if style.dim else COLOUR)
    ground = _rgb(style.ground)
    return (ground or GROUND, colour) if style.inverse else (colour, ground)


def _rgb(colour: str) -> str:
    if not colour or colour.startswith("#"):
        return colour
    number = int(colour)
    if number < 16:
        return NAMED[number]
    if number > 231:
        return "#" + f"{8 + (number - 232) * 10:02x}" * 3
    number -= 16
    return "#" + "".join(f"{LEVELS[number // 6**power % 6]:02x}" for power in (2, 1, 0))
