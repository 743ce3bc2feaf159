from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

import soak_curves

MONTHS = json.loads(Path(soak_curves.FIGURES).read_text("utf-8"))["months"]


def test_the_curves_in_the_documentation_are_drawn_from_the_published_figures() -> None:
    assert Path(soak_curves.PICTURE).read_text("utf-8") == soak_curves.drawn(MONTHS)


def test_each_curve_has_a_point_inside_the_picture_for_each_month() -> None:
    shares = soak_curves.curves(MONTHS).values()

    assert {len(points) for points in shares} == {12}
    assert all(0 <= share <= 1 for points in shares for share in points)
