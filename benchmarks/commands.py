"""The cost of starting a command: whole processes of the command line, in bare starts.

    .venv/bin/python benchmarks/commands.py
    .venv/bin/python benchmarks/commands.py --runs 31

Each command works in a scratch home whose project remembers one decision. A bare start is
`python -I -S -c pass` with the same interpreter, measured between the others. Needs the packages of
the command line.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence

from processes import Sample, interpreter, quantile, timed

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ENTRY = "import sys; from memory_fabric.cli.main import main; sys.exit(main())"
REMEMBERED = "Use cursor-based pagination for all list endpoints"
COMMANDS = {
    "--help": ("--help",),
    "recall --help": ("recall", "--help"),
    "status": ("status",),
    "recall": ("recall", "which pagination?"),
    "recall --json": ("recall", "which pagination?", "--json"),
    "stale --older-than 0": ("stale", "--older-than", "0"),
    "what TAB asks": (),
}
COMPLETING = {
    "_MEMORY_FABRIC_COMPLETE": "complete_bash",
    "COMP_WORDS": "memory-fabric\nrec",
    "COMP_CWORD": "1",
}
RUNS = 15


def measure(runs: int) -> dict[str, tuple[float, float]]:
    """For each command the medians of time and of processor time, in those of bare starts."""
    taken: dict[str, list[Sample]] = {name: [] for name in ("", *COMMANDS)}
    with tempfile.TemporaryDirectory(prefix="memory-fabric-bench-") as folder:
        project = os.path.join(folder, "shop")
        os.makedirs(os.path.join(project, ".git"))
        environ = {
            "HOME": folder,
            "USER": "ann",
            "PATH": os.environ["PATH"],
            "CLAUDE_PROJECT_DIR": project,
            "PYTHONPATH": os.path.join(ROOT, "plugin"),
        }
        start = [sys.executable, "-c", ENTRY]
        timed([*start, "remember", REMEMBERED], environ, b"", folder)
        for _ in range(runs):
            bare = [interpreter(), "-I", "-S", "-c", "pass"]
            taken[""].append(timed(bare, {}, b"", folder))
            for name, words in COMMANDS.items():
                more = COMPLETING if not words else {}
                taken[name].append(timed([*start, *words], {**environ, **more}, b"", folder))
    middle = {name: _medians(samples) for name, samples in taken.items()}
    bare_s, bare_cpu_s = middle.pop("")
    return {name: (wall / bare_s, cpu / bare_cpu_s) for name, (wall, cpu) in middle.items()}


def _medians(samples: Sequence[Sample]) -> tuple[float, float]:
    wall = quantile([sample.seconds for sample in samples], 0.5)
    return wall, quantile([sample.cpu_seconds for sample in samples], 0.5)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=RUNS, help="how often each is started")
    found = measure(parser.parse_args().runs)
    print(f"{'command':24}{'time':>8}{'cpu':>8}   bare starts of {interpreter()}")
    for name, (wall, cpu) in found.items():
        print(f"{name:24}{wall:8.1f}{cpu:8.1f}")


if __name__ == "__main__":
    main()
