"""The benchmark of recall from a large space, with a small one."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path

import pytest

# Last: benchmarks/team.py has the name of this package.
sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

from team_log import rounds, shared_server
from team_log.cluster import server_of

COUNT = 400


def test_the_benchmark_of_a_large_space_measures_requests_without_failures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_server, "WARM_UP_S", 0.1)
    with server_of(rounds.MEMBERS) as server:
        shared_server.fill(server, COUNT)
        with closing(shared_server.measured(str(tmp_path), server, (1,), 0.0)) as loads:
            load = next(loads)

    assert (load.failed, load.empty) == (0, 0) and load.per_s > 0
