"""Draw what a simulated year of use tells: docs/pictures/year.svg, from soak.json.

    python3 benchmarks/soak_curves.py

Shares from 0 to 1 by month: the lines at starts and in MEMORY.md that still hold, and the user's
rules that are told; and, as parts of their highest month, the size on disk and what a start costs.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))
FIGURES = os.path.join(HERE, "soak.json")
PICTURE = os.path.join(os.path.dirname(HERE), "docs", "pictures", "year.svg")
LEFT, TOP, WIDTH, HEIGHT, KEY_WIDTH = 40, 20, 480, 240, 190
STYLE = "font: 12px sans-serif; fill: #666"
COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#8c8c8c")


def curves(months: Sequence[Mapping[str, Any]]) -> dict[str, list[float]]:
    """Return the figures of each month by what they are, each from 0 to 1."""
    sizes = [month["kB"]["database"] + month["kB"]["journal"] for month in months]
    starts = [month["x start"] for month in months]
    return {
        "lines at starts that hold": [month["start true"] for month in months],
        "lines in MEMORY.md that hold": [month["MEMORY.md true"] for month in months],
        "rules in force that are told": [month["rules told"] for month in months],
        f"cost of a start, of {max(starts):.1f} starts": [x / max(starts) for x in starts],
        f"size, of {max(sizes) / 1000:.0f} MB": [size / max(sizes) for size in sizes],
    }


def drawn(months: Sequence[Mapping[str, Any]]) -> str:
    """Return the picture as SVG."""
    parts = [_text(LEFT - 8, _y(share) + 4, f"{share:g}", "end") for share in (0, 0.5, 1)]
    parts += [
        _line([(LEFT, _y(share)), (LEFT + WIDTH, _y(share))], "#ddd") for share in (0, 0.5, 1)
    ]
    places = [LEFT + WIDTH * place / (len(months) - 1) for place in range(len(months))]
    for month, x in zip(months, places, strict=True):
        parts.append(_text(x, TOP + HEIGHT + 18, str(month["month"]), "middle"))
    for place, (name, shares) in enumerate(curves(months).items()):
        points = [(x, _y(share)) for x, share in zip(places, shares, strict=True)]
        parts.append(_line(points, COLOURS[place]))
        y = TOP + 20 * place + 8
        parts.append(_line([(LEFT + WIDTH + 12, y), (LEFT + WIDTH + 30, y)], COLOURS[place]))
        parts.append(_text(LEFT + WIDTH + 36, y + 4, name, "start"))
    size = f"{LEFT + WIDTH + 36 + KEY_WIDTH} {TOP + HEIGHT + 28}"
    title = "<title>A simulated year of use, by month</title>"
    picture = "\n".join([title, *parts])
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}">\n{picture}\n</svg>\n'


def _y(share: float) -> float:
    return TOP + HEIGHT * (1 - share)


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" style="{STYLE}">{text}</text>'


def _line(points: Sequence[tuple[float, float]], colour: str) -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'


if __name__ == "__main__":
    with open(FIGURES, encoding="utf-8") as file:
        figures = json.load(file)["months"]
    with open(PICTURE, "w", encoding="utf-8") as file:
        file.write(drawn(figures))
