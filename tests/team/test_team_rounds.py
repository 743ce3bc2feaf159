"""Random rounds over five machines and a real server: all end with the same set, nothing is lost.

`python3 benchmarks/team.py --only rounds` does many more.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

# Last: benchmarks/team.py has the name of this package.
sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

from team_log import rounds
from team_log.cluster import Server, server_of
from thorough import IS_THOROUGH

# Enough for a backup, a server set back to it, a crash and a move.
ROUNDS = 1200 if IS_THOROUGH else 80
SEED = 20


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """Run a server of its own, which is stopped and moved."""
    with server_of(rounds.MEMBERS) as made:
        yield made


def test_all_machines_end_with_the_same_records_and_no_acknowledged_record_is_lost(
    tmp_path: Path, server: Server
) -> None:
    found = rounds.run(str(tmp_path), server, ROUNDS, SEED)

    assert found.missing == ()
    assert found.differing == ()
    assert found.acknowledged > ROUNDS and found.records > ROUNDS / 10
    events = ("late commits", "server set back", "server moved", "ended by Interrupted")
    assert all(found.counts.get(event) for event in events), found.counts
