"""Random rounds over five machines and a real repository: all end with the same rows.

`python3 benchmarks/team.py --only git --rounds 10000` does many more.
"""

from __future__ import annotations

import sys
from pathlib import Path

# Last: benchmarks/team.py has the name of a package of tests.
sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

from team_log import git_rounds
from thorough import IS_THOROUGH

# Enough for a repository that is saved, set back, rewritten and made again.
ROUNDS = 400 if IS_THOROUGH else 45
REPOSITORY_EVERY = 10
SEED = 20


def test_all_machines_have_the_same_rows_and_lose_none_after_random_faults(tmp_path: Path) -> None:
    found = git_rounds.run(str(tmp_path), ROUNDS, SEED, REPOSITORY_EVERY)

    assert found.missing == ()
    assert found.differing == ()
    assert found.acknowledged > ROUNDS / 5 and found.records > ROUNDS / 20
    events = ("set back", "rewritten", "made again")
    assert all(found.counts.get(f"repository {event}") for event in events), found.counts
    assert found.counts["ended by Interrupted"] and found.counts["killed"], found.counts
