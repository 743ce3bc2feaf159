"""The benchmark of redaction: its floors hold, and it would see a rule that is missing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"
sys.path.insert(0, str(FOLDER))

import redaction  # noqa: E402 - the benchmark's own folder is where its modules are found
from credentials import SHAPES, WRITTEN, WRITTEN_HELD  # noqa: E402
from lookalikes import HARMLESS  # noqa: E402

TUNE, HELD = "tune", "held"


def test_every_credential_of_the_tuned_half_is_found() -> None:
    half = redaction.measured(redaction.ours, TUNE, 1)

    assert half["missed"] == []
    assert half["alarmed"] == []


def test_the_floors_of_the_held_half_are_kept(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(FOLDER / "redaction.py"), "--each", "1", "--check"],
        capture_output=True,
        text=True,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        check=False,
    )

    assert done.returncode == 0, done.stdout
    assert "ours, held" in done.stdout


def test_who_redacts_nothing_finds_nothing_and_who_redacts_all_alarms_always() -> None:
    nothing = redaction.measured(list, HELD, 1)
    everything = redaction.measured(lambda texts: ["" for _ in texts], HELD, 1)

    assert nothing["found"].hits == 0 and nothing["alarms"].hits == 0
    assert everything["found"].hits == everything["found"].of
    assert everything["alarms"].hits == everything["alarms"].of


@pytest.mark.parametrize("left", ["abcdefgh", "xxbcdefghix"])
def test_half_a_credential_is_not_found(left: str) -> None:
    case = redaction.Case("shape", "a", "prose", "abcdefghij", "")

    assert not redaction.is_found(case, f"rest {left}")
    assert redaction.is_found(case, "rest abcdefg defghij")


def test_the_halves_share_no_form() -> None:
    assert not WRITTEN.keys() & WRITTEN_HELD.keys()
    assert len(SHAPES) > 50 and len(HARMLESS) > 30
