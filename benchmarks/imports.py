"""The cost of an import for a hook: processes that import one thing and end, in bare starts.

    python3 benchmarks/imports.py                     what hooks use, or do without
    python3 benchmarks/imports.py tomllib difflib

A bare start is `python -I -S -c pass` with the same interpreter, measured between the others. The
column "beside" is the cost in a process that has already what recall loads. Needs Python >= 3.11.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence

from processes import interpreter, quantile, timed

MODULES = (
    "typing dataclasses collections functools re json _json sqlite3 _sqlite3 datetime _datetime "
    "enum zlib contextlib logging"
).split()
LOADED = "import os, time, math, functools, itertools, operator, _json, _sqlite3, _datetime"
RUNS = 31


def measure(modules: Sequence[str], runs: int = RUNS) -> dict[str, tuple[float, float]]:
    """For each module its cost alone and beside what is loaded, in bare starts (medians)."""
    cases = {"": "pass", "loaded": LOADED}
    for module in modules:
        cases[f"{module} alone"] = f"import {module}"
        cases[f"{module} beside"] = f"{LOADED}, {module}"
    taken: dict[str, list[float]] = {name: [] for name in cases}
    with tempfile.TemporaryDirectory(prefix="memory-fabric-bench-") as folder:
        for _ in range(runs):
            for name, code in cases.items():
                # As a hook ends: what the interpreter would tidy up is no cost of an import.
                command = [interpreter(), "-I", "-S", "-c", f"{code}\nimport os; os._exit(0)"]
                taken[name].append(timed(command, {}, b"", folder).seconds)
    middle = {name: quantile(seconds, 0.5) for name, seconds in taken.items()}
    bare = middle[""]
    return {
        m: (
            (middle[f"{m} alone"] - bare) / bare,
            (middle[f"{m} beside"] - middle["loaded"]) / bare,
        )
        for m in modules
    }


def main() -> None:
    """Print the table."""
    found = measure(sys.argv[1:] or MODULES)
    print(f"{'import':16}{'alone':>8}{'beside':>8}   bare starts of {interpreter()}")
    for module, (alone, beside) in found.items():
        print(f"{module:16}{alone:8.2f}{beside:8.2f}")


if __name__ == "__main__":
    main()
