"""Sixteen faults in small sizes: nothing acknowledged is lost, nothing known becomes unreadable.

`python3 benchmarks/faults.py` does the same in full size beside the reference server.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"
sys.path.insert(0, str(FOLDER))

import faults  # noqa: E402 - the benchmark's own folder is where its modules are found
from damage import Damage, Row, Scale  # noqa: E402
from thorough import IS_THOROUGH  # noqa: E402

SMALL = Scale(
    processes=(3,),
    writes=20,
    parallel=20,
    rounds=3 if IS_THOROUGH else 2,
    kills=3 if IS_THOROUGH else 2,
    long_chars=300_000,
    chain=120,
    flood=(12, 12) if IS_THOROUGH else (8, 4),
    at_once=not IS_THOROUGH,
    copied=True,
    stale_rounds=3 if IS_THOROUGH else 2,
    stale_known=300 if IS_THOROUGH else 100,
    reference=False,
    slack_s=6.0,  # other tests run beside it
)
# The longest first, so that nobody waits for it alone at the end.
ORDER = sorted(faults.FAULTS, key=lambda number: number not in (8, 7, 5))


@pytest.mark.parametrize("number", ORDER, ids=lambda n: faults.FAULTS[n].__name__)
def test_no_fault_loses_a_confirmed_write_or_makes_stored_data_unreadable(
    tmp_path: Path, number: int
) -> None:
    rows = list(faults.FAULTS[number](str(tmp_path), SMALL))

    harmed = [f"{row.fault}: {faults.harm(row.ours)}" for row in rows if row.ours.is_harmful]
    assert rows and not harmed, "\n".join(harmed)


def test_the_fault_benchmark_detects_lost_writes_of_the_compared_memory_server(
    tmp_path: Path,
) -> None:
    """A test that found no loss there would find none in ours."""
    [row] = faults.FAULTS[2](str(tmp_path), SMALL._replace(reference=True))

    assert row.theirs is not None
    assert row.theirs.acknowledged == SMALL.parallel
    assert row.theirs.lost > 0
    assert not row.ours.is_harmful


def test_the_faults_of_the_benchmark_are_numbered_without_gaps() -> None:
    assert list(faults.FAULTS) == list(range(1, 18))


@pytest.mark.parametrize(
    ("damage", "is_harmful"),
    [
        (Damage(5), False),
        (Damage(5, message="said so"), False),
        (Damage(5, lost=1), True),
        (Damage(5, unreadable=1), True),
        (Damage(5, broken=("took 90 s",)), True),
    ],
)
def test_a_benchmark_result_is_harmful_if_data_is_lost_or_unreadable_or_a_check_fails(
    damage: Damage, is_harmful: bool
) -> None:
    assert damage.is_harmful is is_harmful


def test_a_row_of_the_benchmark_table_shows_the_results_of_both_compared_servers() -> None:
    row = Row(1, "crowd", Damage(400), Damage(400, 192, 3, "oops", ("late",)))

    assert faults.line(row) == "| crowd | 400, 0 | 0 |  | 400, **192** | **3** | late; oops |"
    assert faults.line(row._replace(theirs=None)).endswith("| — | — | — |")


def test_the_fault_benchmark_runs_if_started_with_the_system_python(tmp_path: Path) -> None:
    """Started by a bare interpreter, it goes on in the project's own."""
    bare = os.path.realpath(getattr(sys, "_base_executable", "") or sys.executable)
    done = subprocess.run(
        [bare, str(FOLDER / "faults.py"), "--only", "2", "--json", "--check"],
        capture_output=True,
        text=True,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        check=False,
    )

    assert done.returncode == 0, done.stderr
    [row] = json.loads(done.stdout)["rows"]
    assert (row["number"], row["ours"]["lost"]) == (2, 0)
