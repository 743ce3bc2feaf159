"""A new user's first day: from the installation to the first answer about last month.

    .venv/bin/python benchmarks/first_day.py
    .venv/bin/python benchmarks/first_day.py --sessions 400

A scratch home with generated transcripts of the real form (past_sessions.transcripts), of Claude
Code and Codex, in four projects, and a copy of this checkout as the marketplace. The real clients
run against loopback stubs of their APIs; packages come from the package index, as for a new user.
Needs what scripts/prepare installs for the end-to-end tests.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "plugin"), str(ROOT / "tests")]

from e2e.harness.first_day import SETTLED, FirstDay  # noqa: E402
from e2e.harness.home import Home, clone  # noqa: E402


def main() -> None:
    """Print each step with its seconds, and whether the answers have what was settled."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sessions", type=int, default=200, help="transcripts to generate")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="memory-fabric-bench-") as folder:
        day = FirstDay(Home(Path(folder, "machine")), chosen.sessions)
        print(f"{chosen.sessions} sessions, {day.size / 1e6:.1f} MB; load {os.getloadavg()[0]:.1f}")
        day.install(clone(Path(folder, "clone")))
        for step in (day.first_session, day.preview, day.learn):
            step()
        told = [day.recall(), day.ask_claude(), day.ask_codex()]
        for name, seconds in day.seconds.items():
            print(f"{seconds:6.1f} s  {name}")
        print(f"{sum(day.seconds.values()):6.1f} s  together")
        known = sum(SETTLED in " ".join(text.split()) for text in told)
        print(f"what was settled a month ago was told by {known} of 3: recall, Claude Code, Codex")


if __name__ == "__main__":
    main()
