"""Processes and the server are killed, the network is cut: nothing acknowledged is missing.

`python3 benchmarks/team.py --only kills --kills 500` does more.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from thorough import IS_THOROUGH

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "team.py"
KILLS = 500 if IS_THOROUGH else 30


def test_all_machines_end_with_the_same_records_after_kills_crashes_and_partitions() -> None:
    """In a process of its own: it forks, which a process with threads must not."""
    words = ["--only", "kills", "--kills", str(KILLS), "--seed", "7", "--json"]

    done = subprocess.run(
        [sys.executable, str(BENCHMARK), *words], stdout=subprocess.PIPE, check=True, timeout=280
    )

    [*lines, _] = json.loads(done.stdout)["kills"]
    told = {line["thing"]: line["figure"] for line in lines}
    assert not [line for line in lines if line["wrong"]]
    assert (told["acknowledged and missing"], told["differences between machines"]) == ("0", "0")
    events = ("processes killed", "server crashed", "partition")
    assert all(event in told["of which"] for event in events), told
    assert int(told["records at the end"]) > KILLS / 2
