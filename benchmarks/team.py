"""A team on a shared log in PostgreSQL: faults, counted, and speed.

    python3 benchmarks/team.py                        every part, in small sizes
    python3 benchmarks/team.py --only rounds --rounds 10000
    python3 benchmarks/team.py --check                exit status 1 if anything is missing
    python3 benchmarks/team.py --json

The server is a real PostgreSQL in a temporary folder; `scripts/prepare postgres` installs one.
"""

from __future__ import annotations

import os
import sys

# The server of the tests serves here, too: tests/team is the package `team`, and comes first.
sys.path.insert(
    0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tests")
)

from driver import PLUGIN, with_packages

if __name__ == "__main__":
    with_packages()
    sys.path.insert(0, PLUGIN)
    from team_log import command

    sys.exit(command.main(__doc__ or ""))
